//! Columns of a table of places: their headings and values.

use airlane_settings::{Tree, Value, read};
use serde::de::DeserializeOwned;

use super::projection::to_millimetres;
use super::table::{PlaceTable, Row, cut};
use crate::ScenarioError;
use crate::format::Origin;
use crate::quantity::{Frequency, Metres, Power, Speed};

/// A column that is known. Others are not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Id,
    Latitude,
    Longitude,
    X,
    Y,
    Height,
    Azimuths,
    TxPower,
    Frequency,
    UplinkFrequency,
    PathLossMap,
    Heading,
    Speed,
}

/// Headings of columns, in lower case and without units. The first of a column is its name.
const HEADINGS: [(Column, &[&str]); 13] = [
    (Column::Id, &["id", "name", "site", "site_id", "site_name", "ue", "user", "cell", "cell_id"]),
    (Column::Latitude, &["latitude", "lat"]),
    (Column::Longitude, &["longitude", "lon", "lng", "long"]),
    (Column::X, &["x", "east", "easting"]),
    (Column::Y, &["y", "north", "northing"]),
    (Column::Height, &["height", "antenna_height"]),
    (Column::Azimuths, &["azimuths", "azimuth"]),
    (Column::TxPower, &["tx_power", "power"]),
    (Column::Frequency, &["frequency", "downlink_frequency"]),
    (Column::UplinkFrequency, &["uplink_frequency"]),
    (Column::PathLossMap, &["path_loss_map"]),
    (Column::Heading, &["heading", "direction", "course"]),
    (Column::Speed, &["speed", "velocity"]),
];

/// Ends of headings, with the units that they name.
const UNITS: [(&str, &str); 10] = [
    ("_m", "m"),
    ("_metres", "m"),
    ("_deg", "deg"),
    ("_dbm", "dBm"),
    ("_w", "W"),
    ("_mhz", "MHz"),
    ("_ghz", "GHz"),
    ("_kmh", "km/h"),
    ("_km_h", "km/h"),
    ("_mps", "m/s"),
];

impl Column {
    pub(super) fn name(self) -> &'static str {
        HEADINGS.iter().find(|(column, _)| *column == self).map_or("", |(_, names)| names[0])
    }

    /// The column with this heading, and the unit in the heading: `Height [m]`, `tx_power_dbm`, `LAT`.
    pub(super) fn of_heading(heading: &str) -> Option<(Self, Option<&'static str>)> {
        let lower = heading.trim().to_lowercase();
        let parts = lower.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
        let plain = parts.collect::<Vec<_>>().join("_");
        let unit = UNITS.iter().find(|(end, _)| plain.ends_with(end));
        let (base, unit) = unit.map_or((plain.as_str(), None), |(end, unit)| {
            (plain.strip_suffix(end).unwrap_or(&plain), Some(*unit))
        });
        let (column, _) = HEADINGS.iter().find(|(_, names)| names.contains(&base))?;
        Some((*column, unit))
    }

    /// The rank of a heading among those of its column, from 0 for the first.
    pub(super) fn rank(heading: &str) -> usize {
        let plain = heading.trim().to_lowercase().replace([' ', '-'], "_");
        let ranks = HEADINGS.iter().filter_map(|(_, names)| names.iter().position(|name| *name == plain));
        ranks.min().unwrap_or(usize::MAX)
    }

    /// Whether a cell is one number, in which a comma can be a decimal one.
    pub(super) fn is_one_number(self) -> bool {
        !matches!(self, Self::Id | Self::Azimuths | Self::PathLossMap)
    }

    /// Whether it is a coordinate.
    pub(super) fn is_place(self) -> bool {
        matches!(self, Self::Latitude | Self::Longitude | Self::X | Self::Y)
    }
}

/// The coordinates of a row as they are in the file.
#[derive(Clone, Copy)]
pub(super) enum Place {
    Degrees(Origin),
    Metres([f64; 2]),
}

impl PlaceTable {
    /// The coordinates of a row. Where the file has both kinds, latitude and longitude count.
    pub(super) fn place(&self, row: &Row) -> Result<Place, ScenarioError> {
        if self.has(Column::Latitude) || self.has(Column::Longitude) {
            let latitude = self.degrees(row, Column::Latitude, 90.0)?;
            let longitude = self.degrees(row, Column::Longitude, 180.0)?;
            return Ok(Place::Degrees(Origin { latitude, longitude }));
        }
        let metres = |column: Column| {
            let number = self.number(row, column, "write metres, such as 120.5")?;
            let help = "it must be within 10000 km of (0, 0); subtract an offset from all rows";
            if number.abs() > 1e7 {
                return Err(self.wrong_cell(row, column, "out of range", help));
            }
            Ok(to_millimetres(number))
        };
        Ok(Place::Metres([metres(Column::X)?, metres(Column::Y)?]))
    }

    fn degrees(&self, row: &Row, column: Column, limit: f64) -> Result<f64, ScenarioError> {
        let help = format!("write degrees from -{limit} to {limit}, such as 48.1374");
        let number = self.number(row, column, &help)?;
        if number.abs() > limit {
            let help = format!("{help}; are latitude and longitude swapped, or the coordinates metres?");
            return Err(self.wrong_cell(row, column, "out of range", help));
        }
        Ok(number)
    }

    /// A finite number of a row.
    pub(super) fn number(&self, row: &Row, column: Column, help: &str) -> Result<f64, ScenarioError> {
        let Some(cell) = self.cell(row, column) else {
            let message = if self.has(column) { "the cell is empty" } else { "the file has no such column" };
            return Err(self.wrong_cell(row, column, message, help));
        };
        let number = cell.text.parse().ok().filter(|number: &f64| number.is_finite());
        number.ok_or_else(|| self.wrong_cell(row, column, "not a number", help))
    }

    /// A quantity of a row as text with its unit, if the cell is not empty. `unit` is that of a plain number, if no heading
    /// says another; without it, a plain number is an error.
    fn quantity<T: DeserializeOwned>(
        &self,
        row: &Row,
        column: Column,
        unit: Option<&str>,
        example: &str,
    ) -> Result<Option<T>, ScenarioError> {
        let Some(cell) = self.cell(row, column) else { return Ok(None) };
        let is_plain = cell.text.parse::<f64>().is_ok();
        let text = match cell.unit.or(unit) {
            Some(unit) if is_plain => format!("{} {unit}", cell.text),
            None if is_plain => {
                let help = format!("write it with its unit, such as {example}, or the unit in the heading");
                return Err(self.wrong_cell(row, column, "a number without a unit", help));
            }
            _ => cell.text.to_owned(),
        };
        let read = read(&Tree::unplaced(Value::Text(text)));
        read.map(Some).map_err(|e| self.wrong_cell(row, column, e.message, e.help))
    }

    pub(super) fn height(&self, row: &Row) -> Result<Option<Metres>, ScenarioError> {
        self.quantity(row, Column::Height, Some("m"), "25 m")
    }

    pub(super) fn tx_power(&self, row: &Row) -> Result<Option<Power>, ScenarioError> {
        self.quantity(row, Column::TxPower, None, "46 dBm")
    }

    pub(super) fn frequency(&self, row: &Row, column: Column) -> Result<Option<Frequency>, ScenarioError> {
        self.quantity(row, column, None, "1842.5 MHz")
    }

    pub(super) fn speed(&self, row: &Row) -> Result<Option<Speed>, ScenarioError> {
        self.quantity(row, Column::Speed, None, "50 km/h")
    }

    /// The name of the file with the path loss of a site, if the cell is not empty.
    pub(super) fn path_loss_map<'a>(&self, row: &'a Row) -> Option<&'a str> {
        self.cell(row, Column::PathLossMap).map(|cell| cell.text)
    }

    /// The direction of a movement, if the cell is not empty: degrees clockwise from north.
    pub(super) fn heading(&self, row: &Row) -> Result<Option<f64>, ScenarioError> {
        match self.cell(row, Column::Heading) {
            Some(cell) => self.compass(row, Column::Heading, cell.text).map(Some),
            None => Ok(None),
        }
    }

    /// The azimuths of sectors: degrees clockwise from north, between them blanks, commas, semicolons, bars or slashes.
    pub(super) fn azimuths(&self, row: &Row) -> Result<Vec<f64>, ScenarioError> {
        let text = self.cell(row, Column::Azimuths).map_or("", |cell| cell.text);
        let list = text.trim_start_matches('[').trim_end_matches(']');
        let parts = list.split([' ', ',', ';', '|', '/']).filter(|part| !part.is_empty());
        parts.map(|part| self.compass(row, Column::Azimuths, part)).collect()
    }

    /// Degrees clockwise from north as degrees from the first axis (east) towards the second (north).
    fn compass(&self, row: &Row, column: Column, text: &str) -> Result<f64, ScenarioError> {
        let number = text.trim_end_matches(['°', 'd', 'e', 'g']).trim_end().parse().ok();
        let Some(number) = number.filter(|degrees: &f64| (-360.0..=360.0).contains(degrees)) else {
            let help =
                "write degrees clockwise from north, from 0 to 360; several of a site as \"0 120 240\"";
            return Err(self.wrong_cell(row, column, format!("{:?} is not a direction", cut(text)), help));
        };
        Ok((90.0 - number).rem_euclid(360.0))
    }

    /// The id of a row for a name: other characters than letters, digits, blanks, `-` and `_` are replaced by `-`.
    pub(super) fn id(&self, row: &Row) -> Result<Option<String>, ScenarioError> {
        let Some(cell) = self.cell(row, Column::Id) else { return Ok(None) };
        let id: String = cell
            .text
            .chars()
            .map(|c| if c.is_alphanumeric() || "-_ ".contains(c) { c } else { '-' })
            .collect();
        if id.len() > 40 {
            return Err(self.wrong_cell(row, Column::Id, "too long", "it must have at most 40 bytes"));
        }
        Ok(Some(id))
    }
}
