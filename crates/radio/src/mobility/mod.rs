//! The position of a UE: placement at the start, and movement.
//!
//! The times of queries must not decrease. A late query passes through every leg in between, so the
//! path does not depend on the number of queries. Each walker has its own random stream.
//!
//! Not included: groups, streets, rotation of the device. Paths with any of these can be read from
//! a file ([`Movements`]).
//!
//! ```
//! use airlane_core::{Instant, Seeds};
//! use airlane_radio::mobility::{Disc, LevyLaw, Movement};
//! use airlane_radio::{Placement, Position};
//!
//! let disc = Disc { centre: Position::on_ground(0.0, 0.0), radius_m: 250.0 };
//! let seeds = Seeds::new(1);
//! let start = Placement::UniformInDistance.draw(&disc, &mut seeds.stream("ue/0/placement"));
//! let movement = Movement::LevyWalk(LevyLaw::default(), disc);
//! let mut ue = movement.begin(start, || seeds.stream("ue/0/mobility"));
//! assert!(disc.contains(&ue.position_at(Instant::from_millis(60_000))));
//! ```

mod fcd;
mod leg;
mod levy;
mod line;
mod movements;
mod path;
mod setdest;
mod walk;
mod waypoint;

use airlane_core::{Instant, Stream};

pub use levy::{LevyLaw, LevyWalk, PowerLaw};
pub use line::{Course, Line, SpeedLaw};
pub use movements::{Movements, MovementsError};
pub use path::{MovementPath, PathFollower};
pub use walk::{RandomWalk, Step, WalkLaw};
pub use waypoint::{Area, RandomWaypoint, WaypointLaw};

use crate::geometry::Position;
use leg::Walker;

/// The mobility model of a UE.
#[derive(Clone, Debug, PartialEq)]
pub enum Movement {
    /// No movement.
    Static,
    /// A straight line without end.
    Line(Course, SpeedLaw),
    /// From point to point of an area, with pauses.
    RandomWaypoint(WaypointLaw),
    /// Steps in random directions in a rectangle.
    RandomWalk(WalkLaw),
    /// A truncated Levy walk that stays in a disc.
    LevyWalk(LevyLaw, Disc),
    /// A path from a file, from its beginning; the start position is not used.
    Path(MovementPath),
}

impl Movement {
    /// Begins at `start` at time zero. Random movements call `stream` for their random stream.
    #[must_use]
    pub fn begin(&self, start: Position, stream: impl FnOnce() -> Stream) -> Mobility {
        match self {
            Self::Static => Mobility::Static(start),
            Self::Line(course, speed) => Mobility::Line(Line::new(*course, speed.draw(&mut stream()), start)),
            Self::RandomWaypoint(law) => Mobility::RandomWaypoint(RandomWaypoint::new(*law, start, stream())),
            Self::RandomWalk(law) => Mobility::RandomWalk(RandomWalk::new(*law, start, stream())),
            Self::LevyWalk(law, disc) => Mobility::LevyWalk(LevyWalk::new(*law, *disc, start, stream())),
            Self::Path(path) => Mobility::Path(PathFollower::new(path.clone(), start.z)),
        }
    }
}

impl Movement {
    /// The movement from this time on.
    #[must_use]
    pub fn begin_at(&self, at: Instant, start: Position, stream: impl FnOnce() -> Stream) -> Mobility {
        let begun = self.begin(start, stream);
        if at == Instant::ZERO || begun.is_static() { begun } else { Mobility::Later(at, Box::new(begun)) }
    }
}

/// The mobility of a UE, with its state.
#[derive(Clone, Debug)]
pub enum Mobility {
    /// No movement.
    Static(Position),
    /// A straight line.
    Line(Line),
    /// Random waypoint.
    RandomWaypoint(RandomWaypoint),
    /// Random walk.
    RandomWalk(RandomWalk),
    /// A truncated Levy walk.
    LevyWalk(LevyWalk),
    /// A path from a file.
    Path(PathFollower),
    /// A movement that began at this time.
    Later(Instant, Box<Self>),
}

impl Mobility {
    /// The position at `now`, which must not be before the time of an earlier call.
    pub fn position_at(&mut self, now: Instant) -> Position {
        match self {
            Self::Static(position) => *position,
            Self::Line(line) => line.position_at(now),
            Self::RandomWaypoint(walk) => walk.position_at(now),
            Self::RandomWalk(walk) => walk.position_at(now),
            Self::LevyWalk(walk) => walk.position_at(now),
            Self::Path(path) => path.position_at(now),
            Self::Later(at, movement) => movement.position_at(Instant::ZERO + now.saturating_since(*at)),
        }
    }

    /// The velocity at `now`, which must not be before the time of an earlier call of either kind.
    /// At a discontinuity, the velocity after it.
    pub fn velocity_at(&mut self, now: Instant) -> Velocity {
        match self {
            Self::Static(_) => Velocity::default(),
            Self::Line(line) => line.velocity(),
            Self::RandomWaypoint(walk) => walk.velocity_at(now),
            Self::RandomWalk(walk) => walk.velocity_at(now),
            Self::LevyWalk(walk) => walk.velocity_at(now),
            Self::Path(path) => path.velocity_at(now),
            Self::Later(at, movement) => movement.velocity_at(Instant::ZERO + now.saturating_since(*at)),
        }
    }

    /// True if the position never changes.
    #[must_use]
    pub fn is_static(&self) -> bool {
        match self {
            Self::Static(_) => true,
            Self::Line(_) | Self::RandomWaypoint(_) | Self::RandomWalk(_) | Self::LevyWalk(_) => false,
            Self::Path(path) => path.is_static(),
            Self::Later(_, movement) => movement.is_static(),
        }
    }
}

/// A velocity along the ground in m/s.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Velocity {
    /// Towards the east.
    pub x: f64,
    /// Towards the north.
    pub y: f64,
}

impl Velocity {
    /// The magnitude of the velocity.
    #[must_use]
    pub fn speed_mps(&self) -> f64 {
        (self.x * self.x + self.y * self.y).sqrt()
    }
}

/// A disc parallel to the ground, at the height of its centre.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Disc {
    /// The centre.
    pub centre: Position,
    /// Radius in metres.
    pub radius_m: f64,
}

impl Disc {
    /// True if the point is above, below or in the disc, with a tolerance of one micrometre for
    /// rounding.
    #[must_use]
    pub fn contains(&self, point: &Position) -> bool {
        self.centre.ground_distance(point) <= self.radius_m + 1e-6
    }
}

/// A regular hexagon parallel to the ground, with two of its sides perpendicular to the first axis:
/// the area around a site of a hexagonal grid whose rows are along that axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hexagon {
    /// The centre.
    pub centre: Position,
    /// The distance between opposite sides in metres, which is the distance of the grid's sites.
    pub width_m: f64,
}

impl Hexagon {
    /// Draws a point, uniform over its area.
    pub fn draw(&self, stream: &mut Stream) -> Position {
        // Three equal rhombi meet in the centre; each is between two alternate corners.
        let corner = self.width_m / 3.0_f64.sqrt();
        let (x, y) = (corner * 3.0_f64.sqrt() / 2.0, corner / 2.0);
        let corners = [[0.0, corner], [-x, -y], [x, -y]];
        let first = stream.below(3) as usize;
        let (a, b) = (corners[first], corners[(first + 1) % 3]);
        let (along, across) = (stream.uniform(), stream.uniform());
        Position {
            x: self.centre.x + along * a[0] + across * b[0],
            y: self.centre.y + along * a[1] + across * b[1],
            z: self.centre.z,
        }
    }
}

/// The distribution of start positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Uniform over the area of the disc.
    UniformInArea,
    /// Uniform distance from the centre: denser towards the centre.
    UniformInDistance,
}

impl Placement {
    /// Draws a point of the disc.
    pub fn draw(self, disc: &Disc, stream: &mut Stream) -> Position {
        let share = stream.uniform();
        let radius = disc.radius_m
            * match self {
                Self::UniformInArea => share.sqrt(),
                Self::UniformInDistance => share,
            };
        let angle = stream.uniform_in(0.0, 2.0 * core::f64::consts::PI);
        Position {
            x: disc.centre.x + radius * libm::cos(angle),
            y: disc.centre.y + radius * libm::sin(angle),
            z: disc.centre.z,
        }
    }
}

#[cfg(test)]
mod tests;
