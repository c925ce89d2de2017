//! Paths from a file: straight lines between knots.

use std::sync::Arc;

use airlane_core::{Duration, Instant};

use super::Velocity;
use crate::geometry::Position;

/// A movement that takes longer, in seconds, ends where the node is at that time: no run lasts as long.
const WAY_MAX_S: f64 = 1e9;

/// The position of a node over time: straight lines between knots, and no movement before the first
/// and after the last one. Two knots of one time are a jump.
#[derive(Clone, Debug, PartialEq)]
pub struct MovementPath(Arc<[Knot]>);

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Knot {
    pub(super) at: Instant,
    pub(super) x: f64,
    pub(super) y: f64,
}

/// A path to which orders are added by time.
#[derive(Debug)]
pub(super) struct PathBuilder {
    knots: Vec<Knot>,
}

impl PathBuilder {
    /// A node that stays at a place.
    pub(super) fn new([x, y]: [f64; 2]) -> Self {
        Self { knots: vec![Knot { at: Instant::ZERO, x, y }] }
    }

    /// The position at `at`, where the path turns; removes the knots after it.
    fn turn(&mut self, at: Instant) -> Knot {
        let here = match self.knots[..] {
            // The node is moving: every order adds at most two knots, the first of them in the past.
            [.., from, to] if to.at > at => {
                self.knots.pop();
                between(&from, &to, at)
            }
            [.., last] => Knot { at, ..last },
            [] => unreachable!("the first knot is never removed"),
        };
        if self.knots.last().is_none_or(|last| last.at < at) {
            self.knots.push(here);
        }
        here
    }

    /// Turns towards a point.
    pub(super) fn set_destination(&mut self, at: Instant, to: [f64; 2], speed_mps: f64) {
        let here = self.turn(at);
        let metres = distance([here.x, here.y], to);
        if speed_mps == 0.0 || metres == 0.0 {
            return;
        }
        let seconds = metres / speed_mps;
        let (dx, dy) = (to[0] - here.x, to[1] - here.y);
        let arrival = if seconds > WAY_MAX_S {
            let share = WAY_MAX_S / seconds;
            let at = at + Duration::from_secs_f64(WAY_MAX_S);
            Knot { at, x: here.x + dx * share, y: here.y + dy * share }
        } else {
            let span = Duration::from_secs_f64(seconds).max(Duration::from_nanos(1));
            Knot { at: at + span, x: to[0], y: to[1] }
        };
        self.knots.push(arrival);
    }

    /// Jumps to a point, and stays there.
    pub(super) fn place(&mut self, at: Instant, [x, y]: [f64; 2]) {
        let here = self.turn(at);
        if (here.x, here.y) == (x, y) {
            return;
        }
        if at == Instant::ZERO {
            self.knots.clear();
        }
        self.knots.push(Knot { at, x, y });
    }

    /// The position at `at`.
    pub(super) fn position_at(&self, at: Instant) -> [f64; 2] {
        match self.knots[..] {
            [.., from, to] if to.at > at => {
                let here = between(&from, &to, at);
                [here.x, here.y]
            }
            [.., last] => [last.x, last.y],
            [] => unreachable!("the first knot is never removed"),
        }
    }

    pub(super) fn finish(self) -> MovementPath {
        MovementPath(self.knots.into())
    }
}

/// Distance on the ground.
pub(super) fn distance(from: [f64; 2], to: [f64; 2]) -> f64 {
    let (dx, dy) = (to[0] - from[0], to[1] - from[1]);
    (dx * dx + dy * dy).sqrt()
}

fn between(from: &Knot, to: &Knot, at: Instant) -> Knot {
    let share = (at - from.at).as_secs_f64() / (to.at - from.at).as_secs_f64();
    Knot { at, x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share }
}

impl MovementPath {
    /// The path through these knots, of which there is at least one, in the order of time.
    pub(super) fn through(knots: Vec<Knot>) -> Self {
        Self(knots.into())
    }

    /// The path between the images of its knots.
    #[must_use]
    pub fn mapped(&self, image: impl Fn([f64; 2]) -> [f64; 2]) -> Self {
        let knot = |knot: &Knot| {
            let [x, y] = image([knot.x, knot.y]);
            Knot { at: knot.at, x, y }
        };
        Self(self.0.iter().map(knot).collect())
    }

    /// Coordinates of the knots.
    pub fn points(&self) -> impl Iterator<Item = [f64; 2]> {
        self.0.iter().map(|knot| [knot.x, knot.y])
    }

    /// The start position, at this height.
    #[must_use]
    pub fn start(&self, height_m: f64) -> Position {
        Position { x: self.0[0].x, y: self.0[0].y, z: height_m }
    }

    /// True if the path has no movement.
    #[must_use]
    pub fn is_static(&self) -> bool {
        self.0.iter().all(|knot| (knot.x, knot.y) == (self.0[0].x, self.0[0].y))
    }
}

/// A UE that follows a path.
#[derive(Clone, Debug)]
pub struct PathFollower {
    path: MovementPath,
    is_static: bool,
    height_m: f64,
    /// Number of knots passed.
    passed: usize,
}

impl PathFollower {
    /// Follows the path from time zero on, at this height.
    #[must_use]
    pub fn new(path: MovementPath, height_m: f64) -> Self {
        Self { is_static: path.is_static(), path, height_m, passed: 0 }
    }

    /// The position at `now`, which must not be before the time of an earlier call.
    pub fn position_at(&mut self, now: Instant) -> Position {
        let (from, to) = self.stretch(now);
        let here = if from.at == to.at { *to } else { between(from, to, now) };
        Position { x: here.x, y: here.y, z: self.height_m }
    }

    /// The velocity at `now`, which must not be before the time of an earlier call.
    pub fn velocity_at(&mut self, now: Instant) -> Velocity {
        let (from, to) = self.stretch(now);
        let seconds = (to.at - from.at).as_secs_f64();
        if seconds == 0.0 {
            return Velocity::default();
        }
        Velocity { x: (to.x - from.x) / seconds, y: (to.y - from.y) / seconds }
    }

    /// The knots before and after `now`; twice the same knot where the node does not move.
    fn stretch(&mut self, now: Instant) -> (&Knot, &Knot) {
        let knots = &self.path.0;
        let behind = self.passed.checked_sub(1).map_or(Instant::ZERO, |last| knots[last].at);
        assert!(now >= behind, "a walker cannot be asked about its past");
        while knots.get(self.passed).is_some_and(|knot| knot.at <= now) {
            self.passed += 1;
        }
        match self.passed {
            0 => (&knots[0], &knots[0]),
            passed => (&knots[passed - 1], &knots[passed.min(knots.len() - 1)]),
        }
    }

    /// True if the position never changes.
    #[must_use]
    pub const fn is_static(&self) -> bool {
        self.is_static
    }
}
