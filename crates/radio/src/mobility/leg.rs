//! A stretch of a way: a straight line at constant speed, or a stay.

use airlane_core::{Duration, Instant};

use super::Velocity;
use crate::geometry::Position;

/// A straight line at constant speed, or a stay.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leg {
    pub(super) from: Position,
    pub(super) to: Position,
    pub(super) begin: Instant,
    /// After `begin`.
    pub(super) end: Instant,
}

impl Leg {
    /// The position at an instant of the leg.
    pub(super) fn position_at(&self, now: Instant) -> Position {
        let Self { from, to, begin, end } = self;
        let share = (now - *begin).as_secs_f64() / (*end - *begin).as_secs_f64();
        Position { x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share, z: from.z }
    }

    /// The velocity all along the leg.
    pub(super) fn velocity(&self) -> Velocity {
        let seconds = (self.end - self.begin).as_secs_f64();
        Velocity { x: (self.to.x - self.from.x) / seconds, y: (self.to.y - self.from.y) / seconds }
    }
}

/// `now` and at least a nanosecond: a leg of no time would never be left.
pub(super) fn later(now: Instant, span: Duration) -> Instant {
    now + span.max(Duration::from_nanos(1))
}
