//! The radio access technology of a cell as written, before presets fill in the rest.

use airlane_settings::Tree;

use crate::preset::NRDC;

/// LTE or NR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Technology {
    /// LTE.
    Lte,
    /// 5G NR.
    Nr,
}

impl Technology {
    /// That of the cells of a network which do not name one.
    pub(crate) fn of_network(network: &str) -> Self {
        if network.starts_with("nr-") || network == NRDC { Self::Nr } else { Self::Lte }
    }

    /// That of a cell of a network: its own, if it names one.
    pub(crate) fn of_cell(cell: &Tree, network: &str) -> Self {
        let radio = cell.get("radio");
        // An override below a bare name has left the name under an empty key.
        let name = radio.and_then(|radio| radio.get("kind").or(radio.get("")).unwrap_or(radio).text());
        match name {
            Some("nr") => Self::Nr,
            Some("lte") => Self::Lte,
            _ => Self::of_network(network),
        }
    }
}
