//! Blockage of the direct path by people and vehicles that cross it: screens whose edges diffract, as in model
//! B of TR 38.901 v17.0.0 clause 7.6.4.2.
//!
//! A blocker is a vertical screen on the ground. It moves at a constant speed on a line perpendicular to the
//! plan of the path and crosses it at a distance from the UE. The loss of each screen follows from the
//! geometry at each time ([`screen_loss`]), and the losses of several screens add up in dB. Blockers of a kind cross
//! as a Poisson process.
//!
//! The report places the blockers and attenuates each path of the channel by its own directions. A link
//! here has no directions: the direct path is attenuated, all others are not. Their power limits the depth.
//! Not included: blockers that stand still, blockage by the user's own body (model A), and blockers common to
//! several UEs.
//!
//! The gain is a function of time, position and seed, independent of how often it is queried.
//!
//! ```
//! use airlane_core::{Duration, Instant, Seeds};
//! use airlane_radio::blockage::{Blockage, BlockageLaw, Crossings, PathGeometry, Screen};
//!
//! let people = Crossings {
//!     screen: Screen::HUMAN,
//!     interval: Duration::from_secs(5),
//!     speed_m_s: 0.8,
//!     distance_m: (0.5, 2.0),
//! };
//! let law = BlockageLaw { crossings: vec![people], direct: 8.0 };
//! let mut blockage = Blockage::new(law, 28e9, Seeds::new(1), "ue/0/blockage".to_owned());
//! let path = PathGeometry { ground_m: 80.0, site_m: 10.0, ue_m: 1.5 };
//! let gains: Vec<f32> = (0..6000).map(|i| blockage.gain(Instant::from_millis(10 * i), path)).collect();
//! assert!(gains.iter().any(|gain| *gain < 0.5) && gains.iter().any(|gain| *gain > 0.99));
//! ```

mod screen;

use core::f64::consts::PI;

use airlane_core::{Duration, Instant, Seeds};

pub use screen::{PathGeometry, Screen, screen_loss};

use crate::path_loss::SPEED_OF_LIGHT;

/// Blockers of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossings {
    /// Size of the screens.
    pub screen: Screen,
    /// Mean time between two that cross.
    pub interval: Duration,
    /// Speed of the screens in m/s.
    pub speed_m_s: f64,
    /// Least and greatest distance from the UE at which they cross, in m; in between, uniform.
    pub distance_m: (f64, f64),
}

/// Parameters of blockage.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockageLaw {
    /// The kinds of blockers.
    pub crossings: Vec<Crossings>,
    /// Power of the direct path over that of all others, which are not blocked. Infinite if there are no others.
    pub direct: f64,
}

/// A blocker that crosses.
#[derive(Clone, Copy, Debug)]
struct Crossing {
    /// The time at which its middle is on the path.
    at: Instant,
    distance_m: f64,
}

/// The crossings of one kind within some windows of time.
#[derive(Clone, Debug)]
struct Windows {
    crossings: Crossings,
    /// Length of a window: a blocker has no effect outside of its own and the two next to it.
    length: Duration,
    /// The middle one of the three windows whose crossings are stored.
    middle: Option<u64>,
    stored: Vec<Crossing>,
}

/// Blockage between one UE and one site.
#[derive(Clone, Debug)]
pub struct Blockage {
    kinds: Vec<Windows>,
    /// Share of the direct path in the power.
    direct: f64,
    wavelength_m: f64,
    seeds: Seeds,
    name: String,
    /// The latest gains, of two times because reports and blocks are measured at different ones.
    held: [Option<(u64, PathGeometry, f32)>; 2],
}

/// Time is in steps of this: in 1 ms, a vehicle at 100 km/h moves by 3 cm.
const STEP: Duration = Duration::from_millis(1);

/// Distance of an edge from the path, in units of √(wavelength · distance from the UE), beyond which a blocker has
/// no effect: the loss of one is below 0.15 dB there.
const REACH: f64 = 10.0;

impl Blockage {
    /// Blockage of a link at this carrier, from streams of this name.
    ///
    /// # Panics
    /// If blockers stand still, or cross more often than every 10 ms.
    #[must_use]
    pub fn new(law: BlockageLaw, carrier_hz: f64, seeds: Seeds, name: String) -> Self {
        let wavelength_m = SPEED_OF_LIGHT / carrier_hz;
        let windows = |crossings: Crossings| {
            assert!(crossings.speed_m_s > 0.0, "blockers that stand still");
            assert!(crossings.interval >= Duration::from_millis(10), "a crowd: {:?}", crossings.interval);
            let (_, furthest) = crossings.distance_m;
            let reach = reach_m(wavelength_m, furthest) + crossings.screen.width_m / 2.0;
            let length = Duration::from_secs_f64(reach / crossings.speed_m_s).max(STEP);
            Windows { crossings, length, middle: None, stored: Vec::new() }
        };
        Self {
            kinds: law.crossings.into_iter().map(windows).collect(),
            direct: if law.direct.is_finite() { law.direct / (1.0 + law.direct) } else { 1.0 },
            wavelength_m,
            seeds,
            name,
            held: [None; 2],
        }
    }

    /// The factor of the received power at this time, one without blockers.
    pub fn gain(&mut self, at: Instant, path: PathGeometry) -> f32 {
        let step = (at - Instant::ZERO).as_nanos() / STEP.as_nanos();
        let known = self.held.iter().flatten().find(|(time, of, _)| *time == step && *of == path);
        if let Some((.., gain)) = known {
            return *gain;
        }
        let loss_db = self.loss_db(Instant::ZERO + STEP * step, path);
        let gain = (self.direct * libm::pow(10.0, -loss_db / 10.0) + 1.0 - self.direct) as f32;
        self.held = [Some((step, path, gain)), self.held[0]];
        gain
    }

    /// The loss of the direct path in dB.
    fn loss_db(&mut self, at: Instant, path: PathGeometry) -> f64 {
        let mut sum = 0.0;
        for (kind, windows) in self.kinds.iter_mut().enumerate() {
            let middle = (at - Instant::ZERO).as_nanos() / windows.length.as_nanos();
            if windows.middle != Some(middle) {
                windows.draw(middle, self.seeds, &format!("{}/{kind}", self.name));
            }
            let Crossings { screen, speed_m_s, .. } = windows.crossings;
            for crossing in &windows.stored {
                let apart = if at > crossing.at { at - crossing.at } else { crossing.at - at };
                let offset_m = speed_m_s * apart.as_secs_f64();
                let edge_m = offset_m - screen.width_m / 2.0;
                if edge_m < reach_m(self.wavelength_m, crossing.distance_m) {
                    sum += screen_loss(path, screen, (crossing.distance_m, offset_m), self.wavelength_m).0;
                }
            }
        }
        sum
    }
}

impl Windows {
    /// Draws the crossings of this window and of its two neighbours. Each window has its own stream.
    fn draw(&mut self, middle: u64, seeds: Seeds, name: &str) {
        (self.middle, self.stored) = (Some(middle), core::mem::take(&mut self.stored));
        self.stored.clear();
        let Crossings { interval, distance_m: (least, most), .. } = self.crossings;
        for window in middle.saturating_sub(1)..=middle + 1 {
            let mut stream = seeds.stream(&format!("{name}/{window}"));
            let mut within = 0.0;
            loop {
                within += stream.exponential(interval.as_secs_f64());
                if within >= self.length.as_secs_f64() {
                    break;
                }
                let at = Instant::ZERO + self.length * window + Duration::from_secs_f64(within);
                self.stored.push(Crossing { at, distance_m: stream.uniform_in(least, most) });
            }
        }
    }
}

/// How far from the path the edge of a blocker has an effect.
fn reach_m(wavelength_m: f64, distance_m: f64) -> f64 {
    REACH * (wavelength_m * distance_m).sqrt()
}

/// Argument of the diffraction by an edge from the excess of the path over it.
fn edge(excess_m: f64, wavelength_m: f64) -> f64 {
    libm::atan(PI / 2.0 * (PI / wavelength_m * excess_m.max(0.0)).sqrt()) / PI
}

#[cfg(test)]
mod tests;
