//! Mobility: the movement of UEs.

use airlane_radio::mobility::{Course, LevyLaw, PowerLaw, SpeedLaw};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ue::position;
use super::{Origin, tagged};
use crate::quantity::{Angle, Metres, Speed, SpeedVariance, Time};

/// Movement of a UE.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Mobility {
    /// No movement.
    Static,
    /// Straight line without end.
    Line(Line),
    /// Random waypoint: straight line to a random point of an area, a pause, then the next point.
    RandomWaypoint(RandomWaypoint),
    /// Random walk in a rectangle, as ns-3's RandomWalk2dMobilityModel: steps in random directions.
    RandomWalk(RandomWalk),
    /// Lévy walk: flights and pauses of heavy-tailed length.
    LevyWalk(LevyWalk),
    /// Movement trace from a file.
    Trace(MovementTrace),
}
tagged!(Mobility by "kind" {
    "static" => Static,
    "line" => Line(Line),
    "random-waypoint" => RandomWaypoint(RandomWaypoint),
    "random-walk" => RandomWalk(RandomWalk),
    "levy-walk" => LevyWalk(LevyWalk),
    "trace" => Trace(MovementTrace),
});

/// A straight line at constant speed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// Direction, measured from the x axis towards the y axis. Write either this or `towards`.
    pub heading: Option<Angle>,
    /// A point on the line. The UE continues beyond it.
    pub towards: Option<[Metres; 2]>,
    /// Speed. With a deviation or a variance, this is the mean of the normal distribution from which the
    /// speed of each UE is drawn. Values of zero and below are redrawn.
    pub speed: Speed,
    /// Standard deviation of the speed.
    pub speed_deviation: Option<Speed>,
    /// Variance of the speed.
    pub speed_variance: Option<SpeedVariance>,
}

/// Random waypoint: points are uniform in an area, speeds and pauses uniform between two bounds. Use a
/// warm-up: at the start, UEs are faster and farther from the centre than in the steady state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RandomWaypoint {
    /// Area of the points.
    pub area: Area,
    /// Speed. The minimum must be above zero: with zero, the mean speed decreases without end.
    pub speed: SpeedRange,
    /// Duration of pauses.
    pub pause: PauseRange,
}

/// Area of the points of a random waypoint model.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Area {
    /// In a disc.
    Disc(DiscArea),
    /// In a rectangle along the axes.
    Rectangle(Rectangle),
}
tagged!(Area by "kind" { "disc" => Disc(DiscArea), "rectangle" => Rectangle(Rectangle) });

/// A disc.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiscArea {
    /// Centre. By default, this is the serving cell.
    pub centre: Option<[Metres; 2]>,
    /// Radius.
    pub radius: Metres,
}

/// A rectangle along the axes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rectangle {
    /// The corner with the smallest coordinates.
    pub from: [Metres; 2],
    /// The corner with the largest coordinates.
    pub to: [Metres; 2],
}

/// Random walk: a uniform direction and speed for each step. At a side of the area, the UE is reflected and
/// continues its step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RandomWalk {
    /// Area in which the UE stays.
    pub area: Rectangle,
    /// Speed of a step. The minimum must be above zero.
    pub speed: SpeedRange,
    /// Length of a step, after which the UE changes its direction and its speed.
    pub step: Step,
}

/// Length of a step of a random walk.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Step {
    /// A distance.
    Distance(DistanceStep),
    /// A time.
    Time(TimeStep),
}
tagged!(Step by "kind" { "distance" => Distance(DistanceStep), "time" => Time(TimeStep) });

/// Steps of equal distance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DistanceStep {
    /// The distance along the path.
    pub length: Metres,
}

/// Steps of equal duration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimeStep {
    /// The duration.
    pub duration: Time,
}

/// Uniform distribution of speeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpeedRange {
    /// Minimum.
    pub min: Speed,
    /// Maximum.
    pub max: Speed,
}

/// Uniform distribution of pauses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseRange {
    /// Minimum.
    pub min: Time,
    /// Maximum.
    pub max: Time,
}

/// Movement trace: SUMO's floating car data (`sumo --fcd-output`, XML), or the format of ns-2's setdest, which SUMO's
/// traceExporter and BonnMotion also write. The trace sets the position at the start. Heights in it are not used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MovementTrace {
    /// Path of the file, relative to the scenario file.
    pub file: String,
    /// Number of the node in the trace. Further UEs of a group use the following numbers. The vehicles and persons of
    /// floating car data are numbered from 0, in the order in which they first occur.
    pub node: u32,
    /// Whether the coordinates of the trace are longitudes and latitudes in degrees (`sumo --fcd-output.geo`). By
    /// default, this is what the configuration in the head of SUMO's file says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub geographic: Option<bool>,
    /// The point that is (0, 0), for a trace with longitudes and latitudes. By default, it is that of `[layout]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// Flights and pauses of heavy-tailed length (Rhee et al., IEEE/ACM Trans. Networking 19(3), 2011)
/// inside a disc. Longer flights are faster, as that paper measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LevyWalk {
    /// Distribution of flight lengths.
    pub flight: FlightLaw,
    /// Distribution of pause durations.
    pub pause: PauseLaw,
    /// Centre of the disc in which the UE stays. By default, this is the cell of the key `cell`, or else the
    /// cell nearest to the start.
    pub centre: Option<[Metres; 2]>,
    /// Radius of the disc.
    pub radius: Metres,
}

/// Truncated stable distribution of lengths.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlightLaw {
    /// Exponent of the tail: above 0, at most 2.
    pub exponent: f64,
    /// Scale of the distribution.
    pub scale: Metres,
    /// Minimum.
    pub min: Metres,
    /// Maximum.
    pub max: Metres,
}

/// Truncated stable distribution of durations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseLaw {
    /// Exponent of the tail: above 0, at most 2.
    pub exponent: f64,
    /// Scale of the distribution.
    pub scale: Time,
    /// Minimum.
    pub min: Time,
    /// Maximum.
    pub max: Time,
}

pub(super) fn course(line: &Line, height: Metres) -> Course {
    match (line.heading, line.towards) {
        (Some(heading), _) => Course::Heading(heading.0),
        (None, Some(point)) => Course::Through(position(point, height)),
        (None, None) => unreachable!("checked when the scenario was resolved"),
    }
}

pub(super) fn speed_law(line: &Line) -> SpeedLaw {
    let mean_mps = line.speed.metres_per_second();
    let deviation = line.speed_deviation.or(line.speed_variance.map(|v| Speed(v.0.sqrt())));
    match deviation.map(Speed::metres_per_second) {
        None | Some(0.0) => SpeedLaw::Constant(mean_mps),
        Some(deviation_mps) => SpeedLaw::Normal { mean_mps, deviation_mps },
    }
}

pub(super) fn levy_law(walk: &LevyWalk) -> LevyLaw {
    let (flight, pause) = (&walk.flight, &walk.pause);
    let [scale, min, max] = [pause.scale, pause.min, pause.max].map(|time| time.0.as_secs_f64());
    LevyLaw {
        flight_m: PowerLaw {
            exponent: flight.exponent,
            scale: flight.scale.0,
            min: flight.min.0,
            max: flight.max.0,
        },
        pause_s: PowerLaw { exponent: pause.exponent, scale, min, max },
    }
}
