//! Path loss: free space, log-distance, COST-231 Hata, and the macro and micro cells of 3GPP TR
//! 25.814 and TR 36.814.
//!
//! Each law was fitted to measurements in a range of distances, heights and carriers. Below the
//! range of distances, the loss is that at its lower end; above it, and for carriers outside, the
//! formula is extrapolated. COST-231 Hata, whose range begins at 1 km, is extrapolated below it,
//! but not below free space. (TR 36.814 with line of sight is up to 2.5 dB below free space within
//! 170 m; the table is used unchanged.) The caller must reject heights outside
//! ([`PathLoss::heights`]): some of the formulas are undefined there.
//!
//! The channel of TR 38.901 and TR 36.873 ([`crate::large_scale`]) is one of the laws, with an environment
//! height of 1 m. It is not limited at its nearest distance, because its 3D distance is that of the heights there.
//!
//! Not included: indoor micro cells, TR 36.814's outdoor-to-indoor part, its SMa scenario and its
//! Manhattan layout, and the minimum coupling loss of TR 36.942.

mod hata;
mod tr36814;

use core::ops::RangeInclusive;

use airlane_core::Decibel;

pub use hata::City;
use tr36814::MacroNlos;
pub use tr36814::{Scene, Surroundings};

use crate::geometry::Position;
use crate::large_scale::{ENVIRONMENT_HEIGHT_M, LargeScale};

/// Metres per second in vacuum (exact, SI).
pub const SPEED_OF_LIGHT: f64 = 299_792_458.0;

/// Loss at 1 km in dB and increase per decade of distance at 2 GHz: TR 25.814 v7.1.0 Table
/// A.2.1.1-3, which is TR 36.942 v8.4.0 §4.5.2 with the antenna 15 m above the roofs.
const MACRO_25814: (f64, f64) = (128.1, 37.6);
/// Minimum distance of UE and site in metres, same table.
const MACRO_25814_NEAREST_M: f64 = 35.0;

/// A law of path loss between isotropic antennas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PathLoss {
    /// Free space: (4 π d f / c)² (H. T. Friis, Proc. IRE 34(5), 1946).
    Friis {
        /// Carrier frequency in Hz.
        frequency_hz: f64,
    },
    /// `reference_loss` at `reference_m`, then ten times `exponent` dB per decade.
    LogDistance {
        /// Path-loss exponent; 2 is free space.
        exponent: f64,
        /// Distance in metres up to which the loss is `reference_loss`.
        reference_m: f64,
        /// Loss at `reference_m`.
        reference_loss: Decibel,
    },
    /// COST-231 Hata: 1 to 20 km, 1.5 to 2 GHz.
    Cost231Hata {
        /// Carrier frequency in Hz.
        frequency_hz: f64,
        /// The density of buildings.
        city: City,
    },
    /// The macro cell of TR 25.814 Table A.2.1.1-3 at 2 GHz, independent of the carrier: from 35 m.
    Macro25814,
    /// The cells of TR 36.814 Table B.1.2.1-1: 10 m to 5 km (UMi without line of sight to 2 km,
    /// RMa with it to 10 km), 0.45 to 6 GHz.
    Macro36814 {
        /// Carrier frequency in Hz.
        frequency_hz: f64,
        /// The scene, and its buildings and streets.
        surroundings: Surroundings,
    },
    /// A scenario of TR 38.901 (0.5 to 100 GHz) or TR 36.873.
    LargeScale(LargeScale),
}

/// The path between a site and a UE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RadioPath {
    /// From antenna to antenna in metres.
    pub distance_m: f64,
    /// Distance along the ground, metres.
    pub ground_m: f64,
    /// Height of the site's antenna above ground in metres.
    pub site_height_m: f64,
    /// Height of the UE's antenna above ground in metres.
    pub ue_height_m: f64,
    /// Whether there is a line of sight; used by TR 36.814 only.
    pub line_of_sight: bool,
}

impl RadioPath {
    /// The path between two points.
    #[must_use]
    pub fn between(site: &Position, ue: &Position, line_of_sight: bool) -> Self {
        Self {
            distance_m: site.distance(ue),
            ground_m: site.ground_distance(ue),
            site_height_m: site.z,
            ue_height_m: ue.z,
            line_of_sight,
        }
    }
}

/// Heights above ground in metres for which a law is valid.
#[derive(Clone, Debug, PartialEq)]
pub struct Heights {
    /// Heights of the site's antenna.
    pub site_m: RangeInclusive<f64>,
    /// Heights of the UE's antenna.
    pub ue_m: RangeInclusive<f64>,
}

/// The cache of [`PathLoss::loss_again`].
#[derive(Clone, Copy, Debug, Default)]
pub struct LossMemo(Option<MacroNlos>);

impl PathLoss {
    /// The loss over a path, never negative. Below c / (4 π f) (11 mm at 2120 MHz) the free-space
    /// formula would give a gain; the loss is 0 dB there. Below `reference_m`, log-distance has its
    /// reference loss.
    #[must_use]
    pub fn loss(&self, path: &RadioPath) -> Decibel {
        let loss = match *self {
            Self::Friis { frequency_hz } => free_space(path.distance_m, frequency_hz),
            Self::LogDistance { exponent, reference_m, reference_loss } => {
                let decades = if path.distance_m <= reference_m {
                    0.0
                } else {
                    libm::log10(path.distance_m / reference_m)
                };
                reference_loss.0 + 10.0 * exponent * decades
            }
            Self::Cost231Hata { frequency_hz, city } => {
                hata::cost231(path, frequency_hz, city).max(free_space(path.distance_m, frequency_hz))
            }
            Self::Macro25814 => {
                let km = path.ground_m.max(MACRO_25814_NEAREST_M) / 1000.0;
                MACRO_25814.0 + MACRO_25814.1 * libm::log10(km)
            }
            Self::Macro36814 { frequency_hz, surroundings } => {
                tr36814::loss(path, frequency_hz, &surroundings)
            }
            Self::LargeScale(model) => model.loss(path, ENVIRONMENT_HEIGHT_M).0,
        };
        Decibel(loss.max(0.0))
    }

    /// [`PathLoss::loss`] of this law, identical to the last bit, for repeated calls: reuses what it computed
    /// from heights that have not changed. `memo` must be used with one law only.
    #[must_use]
    pub fn loss_again(&self, path: &RadioPath, memo: &mut LossMemo) -> Decibel {
        match self {
            Self::Macro36814 { frequency_hz, surroundings } => {
                let loss = MacroNlos::loss_again(&mut memo.0, path, *frequency_hz, surroundings);
                Decibel(loss.max(0.0))
            }
            Self::Friis { .. }
            | Self::LogDistance { .. }
            | Self::Cost231Hata { .. }
            | Self::Macro25814
            | Self::LargeScale(_) => self.loss(path),
        }
    }

    /// The heights for which the law is valid; `None` if it does not depend on heights.
    #[must_use]
    pub fn heights(&self) -> Option<Heights> {
        match self {
            Self::Friis { .. } | Self::LogDistance { .. } | Self::Macro25814 => None,
            Self::Cost231Hata { .. } => Some(hata::HEIGHTS),
            Self::Macro36814 { surroundings, .. } => Some(tr36814::heights(surroundings.scene)),
            Self::LargeScale(model) => model.heights(),
        }
    }

    /// The probability of a line of sight between a site and a UE of this height at this distance along
    /// the ground; one for laws that do not distinguish the two cases.
    #[must_use]
    pub fn line_of_sight_probability(&self, ground_m: f64, ue_height_m: f64) -> f64 {
        match self {
            Self::Macro36814 { surroundings, .. } => {
                tr36814::line_of_sight_probability(surroundings.scene, ground_m)
            }
            Self::LargeScale(model) => model.line_of_sight_probability(ground_m, ue_height_m),
            Self::Friis { .. } | Self::LogDistance { .. } | Self::Cost231Hata { .. } | Self::Macro25814 => {
                1.0
            }
        }
    }

    /// The shadowing in the source of the law: its standard deviation, and the distance in metres
    /// at which its correlation is 1/e. `None` if the source has no shadowing.
    #[must_use]
    pub fn shadowing(&self, path: &RadioPath) -> Option<(Decibel, f64)> {
        match self {
            Self::Friis { .. } | Self::LogDistance { .. } | Self::Cost231Hata { .. } => None,
            // TR 25.814 v7.1.0 Table A.2.1.1-3.
            Self::Macro25814 => Some((Decibel(8.0), 50.0)),
            Self::Macro36814 { frequency_hz, surroundings } => {
                Some(tr36814::shadowing(path, *frequency_hz, surroundings.scene))
            }
            Self::LargeScale(model) => Some(model.shadowing(path, false)),
        }
    }
}

/// Free-space loss in dB, not below zero.
fn free_space(distance_m: f64, frequency_hz: f64) -> f64 {
    let factor = 4.0 * core::f64::consts::PI * distance_m * frequency_hz / SPEED_OF_LIGHT;
    if factor <= 1.0 { 0.0 } else { 20.0 * libm::log10(factor) }
}

#[cfg(test)]
mod tests;
