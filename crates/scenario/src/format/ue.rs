//! UEs: where they are and how they move.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tagged;
use crate::quantity::{Angle, Gain, Metres, Power, Speed, SpeedVariance, Time};

/// A UE, or a group of alike ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ue {
    /// Its name; UEs of a group are called `name-1`, `name-2`, ...
    pub name: String,
    /// How many there are.
    pub count: u32,
    /// Where it is at the start; either this or `placement`, unless a file says how it moves.
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
    /// When the first cell learns of its bearer, for `early_throttling`; none for its first packet.
    pub bearer_setup: Option<Time>,
    /// MCS of its downlink blocks whatever its channel is like, which decides only whether they decode:
    /// 0 to 28 (TS 36.213 §7.1.7.1). None for the one that link adaptation finds.
    #[schemars(range(max = 28))]
    pub fixed_mcs: Option<u8>,
}

/// Where a UE may be at the start.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Placement {
    /// Anywhere in a disc.
    Disc(Disc),
    /// Anywhere in the hexagons around the sites of all cells that serve, each square metre as likely.
    Hexagonal(Hexagons),
}
tagged!(Placement by "kind" { "disc" => Disc(Disc), "hexagonal" => Hexagonal(Hexagons) });

/// Hexagons side by side around the sites of all cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hexagons {
    /// From one site to the next; with a `[layout]`, its own if left out.
    pub inter_site_distance: Metres,
}

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
    /// In a straight line without end.
    Line(Line),
    /// To a point of an area in a straight line, a pause, and on to the next point.
    RandomWaypoint(RandomWaypoint),
    /// Flights and pauses of heavy-tailed length.
    LevyWalk(LevyWalk),
    /// As a file says.
    Trace(MovementTrace),
}
tagged!(Mobility by "kind" {
    "static" => Static,
    "line" => Line(Line),
    "random-waypoint" => RandomWaypoint(RandomWaypoint),
    "levy-walk" => LevyWalk(LevyWalk),
    "trace" => Trace(MovementTrace),
});

/// A straight line at constant speed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// Which way it leads, from the x axis towards the y axis; either this or `towards`.
    pub heading: Option<Angle>,
    /// A point that it leads through, and on behind it.
    pub towards: Option<[Metres; 2]>,
    /// Its speed; with a deviation or a variance, the mean of the normal law that each UE draws its
    /// speed from. Draws of zero and below are drawn anew.
    pub speed: Speed,
    /// Standard deviation of that law.
    pub speed_deviation: Option<Speed>,
    /// The same as a variance.
    pub speed_variance: Option<SpeedVariance>,
}

/// Random waypoint: points are uniform in an area, speeds and pauses uniform between two bounds.
/// Leave a warm-up out: at first, walkers are faster and farther from the middle than later on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RandomWaypoint {
    /// Where the points lie.
    pub area: Area,
    /// Speeds. The slowest one is above zero: with zero, the mean speed falls for ever.
    pub speed: SpeedRange,
    /// Pauses.
    pub pause: PauseRange,
}

/// Where the points of a random waypoint model lie.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Area {
    /// In a disc.
    Disc(DiscArea),
    /// In a rectangle along the axes.
    Rectangle(Rectangle),
}
tagged!(Area by "kind" { "disc" => Disc(DiscArea), "rectangle" => Rectangle(Rectangle) });

/// A disc to move in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiscArea {
    /// Its centre; none for the serving cell.
    pub centre: Option<[Metres; 2]>,
    /// Its radius.
    pub radius: Metres,
}

/// A rectangle to move in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rectangle {
    /// The corner with the smallest coordinates.
    pub from: [Metres; 2],
    /// The corner with the largest coordinates.
    pub to: [Metres; 2],
}

/// Speeds, each as likely.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpeedRange {
    /// Slowest.
    pub min: Speed,
    /// Fastest.
    pub max: Speed,
}

/// Pauses, each as likely.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseRange {
    /// Shortest.
    pub min: Time,
    /// Longest.
    pub max: Time,
}

/// Movements from a file as ns-2's setdest wrote it, and as SUMO's traceExporter and BonnMotion
/// write it. It also says where the UE starts; heights in it are not used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MovementTrace {
    /// The file, named from where the scenario is.
    pub file: String,
    /// The node whose movements the UE follows; the next UEs of a group follow the next numbers.
    pub node: u32,
}

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
