//! UEs: where they are and how they move.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tagged;
use crate::quantity::{Gain, Metres, Power, Speed, Time};

/// A UE, or a group of alike ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ue {
    /// Its name; UEs of a group are called `name-1`, `name-2`, ...
    pub name: String,
    /// How many there are.
    pub count: u32,
    /// Where it is at the start; either this or `placement`.
    pub position: Option<[Metres; 2]>,
    /// Where it may be at the start, drawn anew for each UE of a group and each seed.
    pub placement: Option<Placement>,
    /// How it moves.
    pub mobility: Mobility,
    /// Height of its antenna.
    pub height: Metres,
    /// Name of the cell that serves it; none for the nearest at the start.
    pub cell: Option<String>,
    /// Transmit power at most.
    pub tx_power: Power,
    /// Noise figure of its receiver.
    pub noise_figure: Gain,
}

/// Where a UE may be at the start.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Placement {
    /// Anywhere in a disc, each place as likely.
    Disc(Disc),
}
tagged!(Placement by "kind" { "disc" => Disc(Disc) });

/// A disc.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Disc {
    /// Its centre; none for the serving (or first) cell.
    pub centre: Option<[Metres; 2]>,
    /// Its radius.
    pub radius: Metres,
}

/// How a UE moves.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Mobility {
    /// Not at all.
    Static,
    /// Straight on.
    Linear(Linear),
    /// Flights and pauses of heavy-tailed length.
    LevyWalk(LevyWalk),
}
tagged!(Mobility by "kind" { "static" => Static, "linear" => Linear(Linear), "levy-walk" => LevyWalk(LevyWalk) });

/// Straight on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Linear {
    /// How fast.
    pub speed: Speed,
    /// Where to: degrees from the x axis towards the y axis.
    pub heading_degrees: f64,
}

/// Flights and pauses of heavy-tailed length (Rhee et al., IEEE/ACM Trans. Networking 19(3), 2011).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LevyWalk {
    /// Exponent of the flight lengths' tail.
    pub flight_exponent: f64,
    /// Shortest flight.
    pub flight_min: Metres,
    /// Longest flight.
    pub flight_max: Metres,
    /// Exponent of the pauses' tail.
    pub pause_exponent: f64,
    /// Shortest pause.
    pub pause_min: Time,
    /// Longest pause.
    pub pause_max: Time,
    /// Walking speed.
    pub speed: Speed,
    /// Centre of the disc that it never leaves; none for the serving (or first) cell.
    pub centre: Option<[Metres; 2]>,
    /// Radius of that disc.
    pub radius: Metres,
}
