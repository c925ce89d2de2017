//! The scenario format as types: what may stand in a file, and, once presets have filled it,
//! everything that a run needs to know.
//!
//! No field has a default here; the defaults are the preset files (`presets/*.toml`), so
//! that every value of a run is one that stands in a file somebody can read. `Option` means that
//! a thing may really be absent.

mod aqm;
mod cell;
mod flow;
mod handover;
mod layout;
mod middlebox;
mod output;
mod path;
mod rnis;
mod service;
mod ue;
mod video;

pub use aqm::*;
pub use cell::*;
pub use flow::*;
pub use handover::*;
pub use layout::*;
pub use middlebox::*;
pub use output::*;
pub use path::*;
pub use rnis::*;
pub use service::*;
pub use ue::*;
pub use video::*;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::Time;

/// Makes an enum readable as a table whose tag key names the variant, or as the bare name.
macro_rules! tagged {
    ($choice:ident by $tag:literal { $($name:literal => $variant:ident $(($settings:ty))?),+ $(,)? }) => {
        impl<'de> serde::Deserialize<'de> for $choice {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct Choice;
                impl<'de> serde::de::Visitor<'de> for Choice {
                    type Value = $choice;
                    fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                        write!(f, "a table with `{}`", $tag)
                    }
                    fn visit_enum<A: serde::de::EnumAccess<'de>>(self, access: A) -> Result<$choice, A::Error> {
                        let (name, variant) = access.variant::<String>()?;
                        match name.as_str() {
                            $($name => tagged!(@read variant, $choice, $variant $(, $settings)?),)+
                            _ => Err(serde::de::Error::unknown_variant(&name, &[$($name),+])),
                        }
                    }
                }
                from.deserialize_enum(concat!("tag:", $tag), &[$($name),+], Choice)
            }
        }
    };
    (@read $access:ident, $choice:ident, $variant:ident, $settings:ty) => {
        serde::de::VariantAccess::newtype_variant::<$settings>($access).map($choice::$variant)
    };
    (@read $access:ident, $choice:ident, $variant:ident) => {
        serde::de::VariantAccess::unit_variant($access).map(|()| $choice::$variant)
    };
}
pub(crate) use tagged;

/// A whole scenario. In a file, whatever is left out comes from the preset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resolved {
    /// The kind of network, which is also the preset that fills what the file leaves out.
    pub network: Network,
    /// How long and how often to look.
    pub run: Run,
    /// What to write beside the tables of every run.
    pub output: Output,
    /// Where many cells stand that are made of one `[[cell]]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layout: Option<Layout>,
    /// Cells; none in a wired network.
    pub cell: Vec<Cell>,
    /// Propagation between cells and UEs; none in a wired network.
    pub channel: Option<Channel>,
    /// The link between the server and the mobile core, or, wired, the host.
    pub internet: Internet,
    /// The path between the mobile core and the cells (S1-U); none in a wired network.
    pub backhaul: Option<Backhaul>,
    /// Functions in the path between the internet and the radio; none in a wired network.
    pub middlebox: Vec<Middlebox>,
    /// What tells servers how the radio of their UEs is; none without the section, nor in a wired network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rnis: Option<Rnis>,
    /// Handover of UEs from cell to cell; without it they stay where they started.
    pub handover: Option<Handover>,
    /// The links between cells (X2); none without handover.
    pub x2: Option<X2>,
    /// UEs; none in a wired network.
    pub ue: Vec<Ue>,
    /// Transport flows.
    pub flow: Vec<Flow>,
}

/// The kind of network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Network {
    /// LTE with the choices of ns-3.37, for comparison with it.
    #[serde(rename = "lena-3.37", alias = "lena")]
    Lena337,
    /// The same, with what ns-3 did when papers of about 2014 used it.
    #[serde(rename = "lena-2014")]
    Lena2014,
    /// LTE as deployed networks run it.
    #[serde(rename = "typical")]
    Typical,
    /// No radio: server, one link, host.
    #[serde(rename = "wired")]
    Wired,
}

/// How long and how often to look.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// When the run ends.
    pub duration: Time,
    /// What happens before it is left out of the summaries (not of the series).
    pub warmup: Time,
    /// The seed of a single run, and of the first of several.
    pub seed: u64,
    /// Width of the bins of the time series.
    pub series_bin: Time,
    /// Whether the positions of UEs are recorded, at the beginning of each bin.
    pub ue_series: bool,
}
