//! A straight line at constant speed.

use airlane_core::{Instant, Stream};

use super::Velocity;
use crate::geometry::Position;

/// The direction of a straight line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Course {
    /// In degrees from the x axis (east) towards the y axis (north).
    Heading(f64),
    /// Through this point and beyond it. A UE that starts on the point goes east.
    Through(Position),
}

/// The speed of a UE; drawn once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SpeedLaw {
    /// A constant speed in m/s.
    Constant(f64),
    /// Normal distribution; repeated until the speed is above zero.
    Normal {
        /// Mean in m/s before the truncation; above zero.
        mean_mps: f64,
        /// Standard deviation in m/s before the truncation.
        deviation_mps: f64,
    },
}

impl SpeedLaw {
    /// Draws a speed in m/s.
    pub fn draw(self, stream: &mut Stream) -> f64 {
        match self {
            Self::Constant(speed) => speed,
            Self::Normal { mean_mps, deviation_mps } => {
                assert!(mean_mps > 0.0, "more than half of the draws must be kept");
                loop {
                    let speed = mean_mps + deviation_mps * stream.normal();
                    if speed > 0.0 {
                        return speed;
                    }
                }
            }
        }
    }
}

/// A UE on a straight line, from time zero on without end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    start: Position,
    velocity: Velocity,
}

impl Line {
    /// Starts at `start` at time zero.
    #[must_use]
    pub fn new(course: Course, speed_mps: f64, start: Position) -> Self {
        let angle = match course {
            Course::Heading(degrees) => degrees.to_radians(),
            Course::Through(point) => libm::atan2(point.y - start.y, point.x - start.x),
        };
        let velocity = Velocity { x: speed_mps * libm::cos(angle), y: speed_mps * libm::sin(angle) };
        Self { start, velocity }
    }

    /// The position at `now`.
    #[must_use]
    pub fn position_at(&self, now: Instant) -> Position {
        let seconds = now.as_secs_f64();
        Position {
            x: self.start.x + self.velocity.x * seconds,
            y: self.start.y + self.velocity.y * seconds,
            z: self.start.z,
        }
    }

    /// The velocity.
    #[must_use]
    pub const fn velocity(&self) -> Velocity {
        self.velocity
    }
}
