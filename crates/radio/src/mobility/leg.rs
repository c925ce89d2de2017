//! A leg of a path: a straight line at constant speed, or a pause.

use airlane_core::{Duration, Instant};

use super::Velocity;
use crate::geometry::Position;

/// A mobility model that consists of legs.
pub(super) trait Walker {
    /// The current leg.
    fn leg(&self) -> &Leg;

    /// Moves to the next leg.
    fn next_leg(&mut self);

    /// The leg at `now`, which must not be before the time of an earlier call.
    fn leg_at(&mut self, now: Instant) -> &Leg {
        assert!(now >= self.leg().begin, "a walker cannot be asked about its past");
        while now >= self.leg().end {
            self.next_leg();
        }
        self.leg()
    }

    /// The position at `now`, which must not be before the time of an earlier call.
    fn position_at(&mut self, now: Instant) -> Position {
        self.leg_at(now).position_at(now)
    }

    /// The velocity at `now`, which must not be before the time of an earlier call.
    fn velocity_at(&mut self, now: Instant) -> Velocity {
        self.leg_at(now).velocity()
    }
}

/// A straight line at constant speed, or a pause.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leg {
    pub(super) from: Position,
    pub(super) to: Position,
    pub(super) begin: Instant,
    /// Later than `begin`.
    pub(super) end: Instant,
}

impl Leg {
    /// The position at an instant of the leg.
    pub(super) fn position_at(&self, now: Instant) -> Position {
        let Self { from, to, begin, end } = self;
        let share = (now - *begin).as_secs_f64() / (*end - *begin).as_secs_f64();
        Position { x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share, z: from.z }
    }

    /// The constant velocity of the leg.
    pub(super) fn velocity(&self) -> Velocity {
        let seconds = (self.end - self.begin).as_secs_f64();
        Velocity { x: (self.to.x - self.from.x) / seconds, y: (self.to.y - self.from.y) / seconds }
    }
}

/// `now` plus the span, at least a nanosecond: a leg of zero duration would never end.
pub(super) fn later(now: Instant, span: Duration) -> Instant {
    now + span.max(Duration::from_nanos(1))
}
