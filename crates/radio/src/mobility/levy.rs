//! The truncated Levy walk of I. Rhee, M. Shin, S. Hong, K. Lee, S. J. Kim, S. Chong, "On the
//! Levy-walk nature of human mobility", IEEE/ACM Trans. Networking 19(3), 2011.
//!
//! A walk alternates flights and pauses. Flight lengths and pause times have the tail of a
//! symmetric stable law, cut off at both ends; directions are uniform; a flight of l metres
//! takes k l^(1−ρ) seconds, so that longer flights are faster.
//!
//! Here the walker stays in a disc: it is reflected at the rim, and the flight continues for the
//! rest of its length. This reflection, and that the walk starts with a flight, are our
//! assumptions.

use core::f64::consts::{FRAC_PI_2, PI};

use airlane_core::{Duration, Instant, Stream};

use super::Disc;
use super::leg::{Leg, Walker, later};
use crate::geometry::Position;

/// A symmetric stable law whose absolute value is truncated at both ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerLaw {
    /// Tail exponent: the density decreases as x^−(1+exponent). Above 0, at most 2.
    pub exponent: f64,
    /// Scale of the stable law.
    pub scale: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
}

/// Parameters of a truncated Levy walk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevyLaw {
    /// Flight length in metres.
    pub flight_m: PowerLaw,
    /// Pause time in seconds.
    pub pause_s: PowerLaw,
}

impl Default for LevyLaw {
    /// Scales and truncations are the defaults of the authors' generator (as in model `TLW` of
    /// BonnMotion 3): flights of 5 to 1000 m at scale 10 m, pauses of 10 s to 2 h at scale 1 s. The
    /// exponents 1.6 and 0.8 are an assumption: they are those of the package pymobility for this
    /// paper; the five measured sites differ.
    fn default() -> Self {
        Self {
            flight_m: PowerLaw { exponent: 1.6, scale: 10.0, min: 5.0, max: 1000.0 },
            pause_s: PowerLaw { exponent: 0.8, scale: 1.0, min: 10.0, max: 7200.0 },
        }
    }
}

impl PowerLaw {
    /// Number of rejected values after which a law counts as empty between its limits.
    const MAX_DRAWS: u32 = 1_000_000;

    /// Draws a value. Panics if the law has almost no probability between its limits.
    pub fn draw(&self, stream: &mut Stream) -> f64 {
        for _ in 0..Self::MAX_DRAWS {
            let x = self.scale * stable(self.exponent, stream).abs();
            if (self.min..=self.max).contains(&x) {
                return x;
            }
        }
        panic!("{self:?} leaves nothing between its cuts");
    }
}

/// A symmetric stable variable (J. M. Chambers, C. L. Mallows, B. W. Stuck, "A method for
/// simulating stable random variables", J. Am. Stat. Assoc. 71(354), 1976).
fn stable(exponent: f64, stream: &mut Stream) -> f64 {
    let v = PI * (stream.uniform() - 0.5);
    let w = stream.exponential(1.0);
    if exponent == 1.0 {
        return libm::tan(v);
    }
    libm::sin(exponent * v) / libm::pow(libm::cos(v), 1.0 / exponent)
        * libm::pow(libm::cos((1.0 - exponent) * v) / w, (1.0 - exponent) / exponent)
}

/// The duration in seconds of a flight of this many metres: k l^(1−ρ) with the paper's two fits, for
/// walks and, from 500 m, for rides. (Unverified. Three of the four constants are the same in
/// other code that cites the paper, and only 0.89 makes the fits meet near 500 m, at 61 and 67 s.)
pub(super) fn flight_seconds(length_m: f64) -> f64 {
    let (k, rho) = if length_m < 500.0 { (30.55, 0.89) } else { (0.76, 0.28) };
    k * libm::pow(length_m, 1.0 - rho)
}

/// A walker.
#[derive(Clone, Debug)]
pub struct LevyWalk {
    law: LevyLaw,
    disc: Disc,
    stream: Stream,
    leg: Leg,
    /// The rest of the flight after this leg; `None` in a pause.
    rest: Option<Flight>,
}

#[derive(Clone, Copy, Debug)]
struct Flight {
    /// Unit vector.
    direction: (f64, f64),
    metres: f64,
    metres_per_second: f64,
}

impl LevyWalk {
    /// A walker that starts at `start` at time zero and stays in `disc`, which must contain `start`
    /// and have a radius.
    #[must_use]
    pub fn new(law: LevyLaw, disc: Disc, start: Position, mut stream: Stream) -> Self {
        assert!(disc.radius_m > 0.0, "a walk needs room");
        assert!(disc.contains(&start), "{start:?} lies outside of {disc:?}");
        let flight = Flight::draw(&law, &mut stream);
        let (leg, rest) = fly(&disc, start, Instant::ZERO, flight);
        Self { law, disc, stream, leg, rest }
    }
}

impl Walker for LevyWalk {
    fn leg(&self) -> &Leg {
        &self.leg
    }

    fn next_leg(&mut self) {
        let Leg { to: here, end: now, .. } = self.leg;
        (self.leg, self.rest) = match self.rest {
            Some(flight) if flight.metres > 0.0 => fly(&self.disc, here, now, flight),
            Some(_) => {
                let pause = Duration::from_secs_f64(self.law.pause_s.draw(&mut self.stream));
                (Leg { from: here, to: here, begin: now, end: later(now, pause) }, None)
            }
            None => fly(&self.disc, here, now, Flight::draw(&self.law, &mut self.stream)),
        };
    }
}

impl Flight {
    fn draw(law: &LevyLaw, stream: &mut Stream) -> Self {
        let metres = law.flight_m.draw(stream);
        let angle = stream.uniform_in(0.0, 2.0 * PI);
        Self {
            direction: (libm::cos(angle), libm::sin(angle)),
            metres,
            metres_per_second: metres / flight_seconds(metres),
        }
    }
}

/// Moves to the rim or to the end of the flight, whichever is first. Returns that leg and the rest
/// of the flight.
fn fly(disc: &Disc, from: Position, begin: Instant, flight: Flight) -> (Leg, Option<Flight>) {
    let (px, py) = (from.x - disc.centre.x, from.y - disc.centre.y);
    let (ux, uy) = flight.direction;
    // |p + d u| = R, the solution ahead; from a point on the rim heading out it is zero.
    let along = px * ux + py * uy;
    let inside = disc.radius_m * disc.radius_m - (px * px + py * py);
    let to_rim = ((along * along + inside).max(0.0).sqrt() - along).max(0.0);
    let metres = flight.metres.min(to_rim);
    let to = Position { x: from.x + metres * ux, y: from.y + metres * uy, z: from.z };
    let span = Duration::from_secs_f64(metres / flight.metres_per_second);
    let direction =
        if to_rim < flight.metres { reflect(disc, &to, flight.direction) } else { flight.direction };
    let rest = Flight { direction, metres: flight.metres - metres, ..flight };
    (Leg { from, to, begin, end: later(begin, span) }, Some(rest))
}

/// The direction after hitting the rim at `point`. If the walker would move almost along the rim,
/// at less than a thousandth of a right angle, it turns to the centre instead. This bounds the
/// number of corners of a flight.
fn reflect(disc: &Disc, point: &Position, (ux, uy): (f64, f64)) -> (f64, f64) {
    let (nx, ny) = unit(point.x - disc.centre.x, point.y - disc.centre.y);
    let outwards = ux * nx + uy * ny;
    if outwards < FRAC_PI_2 / 1000.0 {
        return (-nx, -ny);
    }
    // Normalized each time: an error in length would grow from corner to corner.
    unit(ux - 2.0 * outwards * nx, uy - 2.0 * outwards * ny)
}

fn unit(x: f64, y: f64) -> (f64, f64) {
    let length = (x * x + y * y).sqrt();
    (x / length, y / length)
}
