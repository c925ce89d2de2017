//! Random waypoint: a straight line to a random point of an area, a pause, then a line to the next
//! point (D. B. Johnson, D. A. Maltz, "Dynamic source routing in ad hoc wireless networks", 1996).
//!
//! Points are uniform in the area; speeds and pauses are uniform between two limits. The lowest
//! speed must be above zero: with zero, the mean speed of all walkers decreases without limit (J.
//! Yoon, M. Liu, B. Noble, "Random waypoint considered harmful", INFOCOM 2003 §III). Even then it
//! decreases at first, as slow legs last longer, and walkers concentrate in the middle: exclude a
//! warm-up.

use airlane_core::{Duration, Instant, Stream};

use super::leg::{Leg, Walker, later};
use super::{Disc, Placement};
use crate::geometry::Position;

/// The area of the points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Area {
    /// In a disc.
    Disc(Disc),
    /// In a rectangle parallel to the axes, from its lower left to its upper right corner.
    Rectangle([f64; 2], [f64; 2]),
}

impl Area {
    fn draw(&self, height: f64, stream: &mut Stream) -> Position {
        match self {
            Self::Disc(disc) => Position { z: height, ..Placement::UniformInArea.draw(disc, stream) },
            Self::Rectangle([left, low], [right, high]) => {
                Position { x: stream.uniform_in(*left, *right), y: stream.uniform_in(*low, *high), z: height }
            }
        }
    }
}

/// Parameters of a random waypoint model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WaypointLaw {
    /// The area of the points.
    pub area: Area,
    /// Slowest and fastest speed in m/s; above zero.
    pub speed_mps: [f64; 2],
    /// Shortest and longest pause.
    pub pause: [Duration; 2],
}

/// A UE that moves from point to point.
#[derive(Clone, Debug)]
pub struct RandomWaypoint {
    law: WaypointLaw,
    stream: Stream,
    leg: Leg,
    /// True if the next leg is a pause.
    arrives: bool,
}

impl RandomWaypoint {
    /// Starts at `start` at time zero, without a pause.
    #[must_use]
    pub fn new(law: WaypointLaw, start: Position, mut stream: Stream) -> Self {
        assert!(law.speed_mps[0] > 0.0, "who stands still never arrives");
        let leg = go(&law, start, Instant::ZERO, &mut stream);
        Self { law, stream, leg, arrives: true }
    }
}

impl Walker for RandomWaypoint {
    fn leg(&self) -> &Leg {
        &self.leg
    }

    fn next_leg(&mut self) {
        let Leg { to: here, end: at, .. } = self.leg;
        let pauses = self.arrives && !self.law.pause[1].is_zero();
        self.leg = if pauses {
            let [shortest, longest] = self.law.pause.map(Duration::as_secs_f64);
            let pause = Duration::from_secs_f64(self.stream.uniform_in(shortest, longest));
            Leg { from: here, to: here, begin: at, end: later(at, pause) }
        } else {
            go(&self.law, here, at, &mut self.stream)
        };
        self.arrives = !pauses;
    }
}

/// The leg to a new point.
fn go(law: &WaypointLaw, from: Position, begin: Instant, stream: &mut Stream) -> Leg {
    let to = law.area.draw(from.z, stream);
    let [slowest, fastest] = law.speed_mps;
    let speed = stream.uniform_in(slowest, fastest);
    let span = Duration::from_secs_f64(from.ground_distance(&to) / speed);
    Leg { from, to, begin, end: later(begin, span) }
}
