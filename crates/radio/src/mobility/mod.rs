//! Where a UE is: placement at the start, and movement.
//!
//! A moving thing is asked for its position at a time that never decreases; asked late, it goes
//! through every leg in between, so that the path does not depend on how often it is looked at.
//! Each walker owns its stream.
//!
//! Left out: vehicles, groups, streets, hand-held rotation.
//!
//! ```
//! use airlane_core::{Instant, Seeds};
//! use airlane_radio::mobility::{Disc, LevyLaw};
//! use airlane_radio::{LevyWalk, Mobility, Placement, Position};
//!
//! let disc = Disc { centre: Position::on_ground(0.0, 0.0), radius_m: 250.0 };
//! let mut stream = Seeds::new(1).stream("ue/0/mobility");
//! let start = Placement::UniformInDistance.draw(&disc, &mut stream);
//! let mut ue = Mobility::LevyWalk(LevyWalk::new(LevyLaw::default(), disc, start, stream));
//! assert!(disc.contains(&ue.position_at(Instant::from_millis(60_000))));
//! ```

mod levy;

use airlane_core::{Instant, Stream};

pub use levy::{LevyLaw, LevyWalk, PowerLaw};

use crate::geometry::Position;

/// How a UE moves.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "one per UE; a box would cost a load per look")]
pub enum Mobility {
    /// Not at all.
    Static(Position),
    /// A truncated Levy walk.
    LevyWalk(LevyWalk),
}

impl Mobility {
    /// The position at `now`, which may not lie before that of an earlier call.
    pub fn position_at(&mut self, now: Instant) -> Position {
        match self {
            Self::Static(position) => *position,
            Self::LevyWalk(walk) => walk.position_at(now),
        }
    }

    /// True if the position never changes.
    #[must_use]
    pub const fn is_static(&self) -> bool {
        matches!(self, Self::Static(_))
    }
}

/// A disc parallel to the ground, at the height of its centre.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Disc {
    /// The middle.
    pub centre: Position,
    /// Radius in metres.
    pub radius_m: f64,
}

impl Disc {
    /// True if the point lies over, under or in the disc, give or take a micrometre of rounding.
    #[must_use]
    pub fn contains(&self, point: &Position) -> bool {
        self.centre.ground_distance(point) <= self.radius_m + 1e-6
    }
}

/// Where a UE starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Every square metre of the disc is as likely.
    UniformInArea,
    /// Every distance from the centre is as likely: denser towards the middle.
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
