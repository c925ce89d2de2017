//! Positions of UEs that are given one by one, and the point of a map that is (0, 0).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Line, Mobility};
use crate::quantity::{Angle, Metres, Speed};

/// The point of a map whose position is (0, 0), in WGS 84. The first coordinate of a position is towards the east, the
/// second towards the north.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// Latitude in degrees; south is negative.
    #[schemars(range(min = -90, max = 90))]
    pub latitude: f64,
    /// Longitude in degrees; west is negative.
    #[schemars(range(min = -180, max = 180))]
    pub longitude: f64,
}

impl Origin {
    /// Whether latitude and longitude are in their ranges.
    pub(crate) fn exists(&self) -> bool {
        self.latitude.abs() <= 90.0 && self.longitude.abs() <= 180.0
    }
}

/// Positions that are given one by one. `count` is their number, unless the group has fewer UEs: these have the first of
/// the positions. A resolved scenario contains the positions and no file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Points {
    /// Path of a CSV or GeoJSON file of positions, relative to the scenario file. Write either this or `points`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The point that is (0, 0), for a file with latitudes and longitudes. By default, it is that of `[layout]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The positions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub points: Option<Vec<Point>>,
}

/// A position of a UE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// The end of the name of the UE: `anna` in the group `user` is the UE `user-anna`. By default, it is the number of the
    /// position, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Position at the start.
    pub position: [Metres; 2],
    /// Height of the antenna. By default, it is that of the group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub height: Option<Metres>,
    /// Direction of a movement on a straight line, measured from the x axis towards the y axis, with `speed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heading: Option<Angle>,
    /// Speed of a movement on a straight line, in the place of the group's `mobility`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed: Option<Speed>,
}

impl Point {
    /// The movement on a straight line, if the position has one.
    pub(crate) fn mobility(&self) -> Option<Mobility> {
        let (heading, speed) = self.heading.zip(self.speed)?;
        let steady = Line {
            heading: Some(heading),
            towards: None,
            speed,
            speed_deviation: None,
            speed_variance: None,
        };
        Some(Mobility::Line(steady))
    }
}
