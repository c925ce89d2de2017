//! UEs: where they are and how they move.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tagged;
use crate::quantity::{Gain, Metres, Power, Time};

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
    /// Name of the cell that serves it from the start; none for the one that it receives best there.
    pub cell: Option<String>,
    /// Transmit power at most.
    pub tx_power: Power,
    /// Noise figure of its receiver.
    pub noise_figure: Gain,
    /// What the walls around it take.
    pub penetration_loss: Gain,
}

/// Where a UE may be at the start.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Placement {
    /// Anywhere in a disc.
    Disc(Disc),
}
tagged!(Placement by "kind" { "disc" => Disc(Disc) });

/// A disc.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Disc {
    /// Its centre; none for the cell that is named, or else the first.
    pub centre: Option<[Metres; 2]>,
    /// Its radius.
    pub radius: Metres,
    /// What is as likely everywhere.
    pub uniform: Uniform,
}

/// What is as likely everywhere in a disc.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Uniform {
    /// Each square metre.
    Area,
    /// Each distance from the centre, which is denser towards the middle.
    Distance,
}

/// How a UE moves.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Mobility {
    /// Not at all.
    Static,
    /// Flights and pauses of heavy-tailed length.
    LevyWalk(LevyWalk),
}
tagged!(Mobility by "kind" { "static" => Static, "levy-walk" => LevyWalk(LevyWalk) });

/// Flights and pauses of heavy-tailed length (Rhee et al., IEEE/ACM Trans. Networking 19(3), 2011)
/// inside a disc. Longer flights are faster, as that paper measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LevyWalk {
    /// Lengths of flights.
    pub flight: FlightLaw,
    /// Lengths of pauses.
    pub pause: PauseLaw,
    /// Centre of the disc that it never leaves; none for the cell that is named, or else the one nearest to
    /// its start.
    pub centre: Option<[Metres; 2]>,
    /// Radius of that disc.
    pub radius: Metres,
}

/// A stable law of lengths, cut off at both ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlightLaw {
    /// Exponent of the tail: above 0, at most 2.
    pub exponent: f64,
    /// Scale of the law.
    pub scale: Metres,
    /// Shortest.
    pub min: Metres,
    /// Longest.
    pub max: Metres,
}

/// A stable law of times, cut off at both ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseLaw {
    /// Exponent of the tail: above 0, at most 2.
    pub exponent: f64,
    /// Scale of the law.
    pub scale: Time,
    /// Shortest.
    pub min: Time,
    /// Longest.
    pub max: Time,
}
