//! The sites of a layout, from a file.

use std::collections::BTreeSet;
use std::path::Path;

use airlane_settings::Place as Key;

use super::Source;
use super::column::{Column, Place};
use super::projection::{FARTHEST_M, Projection, from_zero, middle};
use super::table::PlaceTable;
use crate::ScenarioError;
use crate::check::CELLS_MAX;
use crate::format::{Map, Origin};
use crate::quantity::{Frequency, Metres, Power};

/// A site.
pub(crate) struct Site {
    /// The end of the name of its cells.
    pub(crate) id: String,
    /// Position in metres.
    pub(crate) at: [f64; 2],
    /// Settings of its cells that the file has.
    pub(crate) height: Option<Metres>,
    pub(crate) tx_power: Option<Power>,
    pub(crate) frequency: Option<Frequency>,
    pub(crate) uplink_frequency: Option<Frequency>,
    /// The file with its path loss, relative to the scenario file.
    pub(crate) path_loss_map: Option<String>,
    /// Directions of its sectors in degrees from the first axis towards the second; none if the file has none.
    pub(crate) azimuths: Vec<f64>,
}

/// The sites of a map, and its origin if it has one.
///
/// # Errors
/// If the file cannot be read or is invalid; `at` is the layout.
pub(crate) fn sites(
    map: &Map,
    source: Source<'_>,
    at: &Key<'_>,
) -> Result<(Vec<Site>, Option<Origin>), ScenarioError> {
    let (file, text) = source.text(&map.sites, &at.under("sites"))?;
    let table = PlaceTable::read(&text, &file, CELLS_MAX)?;
    let places: Vec<Place> = table.rows.iter().map(|row| table.place(row)).collect::<Result<_, _>>()?;
    let degrees: Vec<Origin> = places.iter().filter_map(Place::degrees).collect();
    let origin = map.origin.or_else(|| (!degrees.is_empty()).then(|| middle(&degrees)));
    let projection = origin.map(Projection::about);
    let mut ids = BTreeSet::new();
    let mut cells = BTreeSet::new();
    let mut sites = Vec::new();
    for (row, place) in table.rows.iter().zip(places) {
        let id = table.id(row)?.unwrap_or_else(|| row.number.to_string());
        if !ids.insert(id.clone()) {
            let help = "give each site its own id; a row may have several azimuths, as \"0 120 240\"";
            return Err(table.wrong_cell(row, Column::Id, "the id is used twice", help));
        }
        let site = Site {
            id,
            at: place.metres(projection.as_ref()),
            height: table.height(row)?,
            tx_power: table.tx_power(row)?,
            frequency: table.frequency(row, Column::Frequency)?,
            uplink_frequency: table.frequency(row, Column::UplinkFrequency)?,
            // In the file of sites, names are relative to that file.
            path_loss_map: table.path_loss_map(row).map(|name| beside(&map.sites, name)),
            azimuths: table.azimuths(row)?,
        };
        if origin.is_some() && from_zero(site.at) > FARTHEST_M {
            let (km, limit) = (from_zero(site.at) / 1e3, FARTHEST_M / 1e3);
            let help =
                format!("the limit is {limit} km from layout.origin, by default the middle of the sites");
            let message = format!("the site is {km:.0} km from the origin");
            return Err(table.wrong_cell(row, Column::Latitude, message, help));
        }
        let frequency = site.frequency.as_ref().map(ToString::to_string);
        let none = [f64::NAN];
        let directions = if site.azimuths.is_empty() { none.as_slice() } else { &site.azimuths };
        for azimuth in directions {
            let place = [site.at[0], site.at[1], *azimuth].map(f64::to_bits);
            let key = (place, frequency.clone(), site.path_loss_map.clone());
            if !cells.insert(key) {
                let column = if azimuth.is_nan() { Column::Id } else { Column::Azimuths };
                let help = "leave out one of them; cells of one position differ in azimuth or frequency";
                return Err(table.wrong_cell(
                    row,
                    column,
                    "a second cell has this position and azimuth",
                    help,
                ));
            }
        }
        sites.push(site);
    }
    Ok((sites, origin))
}

/// The path of a file that another one names relative to itself.
fn beside(file: &str, name: &str) -> String {
    Path::new(file).with_file_name(name).to_string_lossy().into_owned()
}

impl Place {
    fn degrees(&self) -> Option<Origin> {
        match self {
            Self::Degrees(degrees) => Some(*degrees),
            Self::Metres(_) => None,
        }
    }

    /// The position; with degrees there is a projection.
    pub(super) fn metres(self, projection: Option<&Projection>) -> [f64; 2] {
        match self {
            Self::Degrees(degrees) => projection.expect("degrees have an origin").metres(&degrees),
            Self::Metres(metres) => metres,
        }
    }
}
