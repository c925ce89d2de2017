//! Random walk in a rectangle, as ns-3's RandomWalk2dMobilityModel: a random direction and speed for a given
//! time or distance, then the next ones. A UE that reaches a side is reflected there and continues for the rest
//! of its step.
//!
//! A point on a side is exactly on it, and no position is outside of the rectangle. A UE that begins a step on
//! a side and would leave the rectangle goes in the reflected direction.

use core::f64::consts::PI;

use airlane_core::{Duration, Instant, Stream};

use super::Velocity;
use super::leg::{Leg, Walker, later};
use crate::geometry::Position;

/// The end of a step, at which a walker changes its direction and speed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// After this time, above zero.
    Time(Duration),
    /// After this distance in metres, above zero.
    Distance(f64),
}

/// Parameters of a random walk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WalkLaw {
    /// The lower left and the upper right corner of the rectangle in metres.
    pub corners_m: [[f64; 2]; 2],
    /// Lowest and highest speed in m/s; above zero.
    pub speed_mps: [f64; 2],
    /// The length of a step.
    pub step: Step,
}

/// A UE on a random walk.
#[derive(Clone, Debug)]
pub struct RandomWalk {
    law: WalkLaw,
    stream: Stream,
    leg: Leg,
    /// The rest of the step after this leg, if a side divides it.
    rest: Option<(Velocity, Duration)>,
}

impl RandomWalk {
    /// Starts at `start` at time zero, which must be in the rectangle.
    #[must_use]
    pub fn new(law: WalkLaw, start: Position, mut stream: Stream) -> Self {
        assert!(law.speed_mps[0] > 0.0, "a step has an end");
        let [from, to] = law.corners_m;
        assert!((0..2).all(|axis| from[axis] < to[axis]), "a rectangle has an area");
        let inside = |value: f64, axis: usize| (from[axis]..=to[axis]).contains(&value);
        assert!(inside(start.x, 0) && inside(start.y, 1), "{start:?} is outside of the rectangle");
        let (velocity, span) = draw(&law, &mut stream);
        let (leg, rest) = walk(&law, (start, Instant::ZERO), velocity, span);
        Self { law, stream, leg, rest }
    }
}

impl Walker for RandomWalk {
    fn leg(&self) -> &Leg {
        &self.leg
    }

    fn next_leg(&mut self) {
        let Leg { to: here, end: now, .. } = self.leg;
        let (velocity, span) = self.rest.unwrap_or_else(|| draw(&self.law, &mut self.stream));
        (self.leg, self.rest) = walk(&self.law, (here, now), velocity, span);
    }

    /// Interpolation may be outside by a rounding error.
    fn position_at(&mut self, now: Instant) -> Position {
        let [from, to] = self.law.corners_m;
        let Position { x, y, z } = self.leg_at(now).position_at(now);
        Position { x: x.clamp(from[0], to[0]), y: y.clamp(from[1], to[1]), z }
    }
}

/// The velocity and the duration of a step.
fn draw(law: &WalkLaw, stream: &mut Stream) -> (Velocity, Duration) {
    let [lowest, highest] = law.speed_mps;
    let (speed, angle) = (stream.uniform_in(lowest, highest), stream.uniform_in(0.0, 2.0 * PI));
    let span = match law.step {
        Step::Time(span) => span,
        Step::Distance(metres) => Duration::from_secs_f64(metres / speed),
    };
    (Velocity { x: speed * libm::cos(angle), y: speed * libm::sin(angle) }, span)
}

/// Moves to the next side or to the end of the step, whichever is first. Returns that leg and the rest of the
/// step.
fn walk(
    law: &WalkLaw,
    (from, begin): (Position, Instant),
    velocity: Velocity,
    span: Duration,
) -> (Leg, Option<(Velocity, Duration)>) {
    let [low, high] = law.corners_m;
    let here = [from.x, from.y];
    // Away from the side on which the step begins.
    let mut speed = [velocity.x, velocity.y];
    for axis in 0..2 {
        if here[axis] == low[axis] && speed[axis] < 0.0 || here[axis] == high[axis] && speed[axis] > 0.0 {
            speed[axis] = -speed[axis];
        }
    }
    let side = |axis: usize| if speed[axis] > 0.0 { high[axis] } else { low[axis] };
    let until_side = [0, 1].map(|axis| match speed[axis] {
        0.0 => f64::INFINITY,
        speed => (side(axis) - here[axis]) / speed,
    });
    let first = until_side[0].min(until_side[1]);
    let seconds = span.as_secs_f64().min(first);
    let to = [0, 1].map(|axis| {
        if until_side[axis] <= seconds {
            side(axis)
        } else {
            (here[axis] + speed[axis] * seconds).clamp(low[axis], high[axis])
        }
    });
    let end = later(begin, Duration::from_secs_f64(seconds).min(span));
    let left = span.saturating_sub(end - begin);
    let rest = (first < span.as_secs_f64() && !left.is_zero())
        .then_some((Velocity { x: speed[0], y: speed[1] }, left));
    (Leg { from, to: Position { x: to[0], y: to[1], z: from.z }, begin, end }, rest)
}

#[cfg(test)]
mod tests;
