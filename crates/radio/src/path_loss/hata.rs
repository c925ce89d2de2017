//! COST-231 Hata: Hata's formulas for Okumura's curves, extended to 2 GHz (COST Action 231,
//! "Digital mobile radio towards future generation systems", final report, EUR 18957, 1999,
//! §4.4.1).

use super::{Heights, RadioPath};

/// The density of buildings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum City {
    /// Medium-sized cities and suburban centres with medium tree density.
    Suburban,
    /// Metropolitan centres.
    Metropolitan,
}

/// The heights of the report's range of validity, which also has 1500 to 2000 MHz and 1 to 20 km.
pub(super) const HEIGHTS: Heights = Heights { site_m: 30.0..=200.0, ue_m: 1.0..=10.0 };

/// The loss in dB (final report, eq. 4.4.3).
pub(super) fn cost231(path: &RadioPath, frequency_hz: f64, city: City) -> f64 {
    let log_mhz = libm::log10(frequency_hz / 1e6);
    let log_site = libm::log10(path.site_height_m);
    // Hata's correction for the mobile's height in a small or medium-sized city (eq. 4.4.2); the
    // report also uses it in metropolitan centres, and adds C_m.
    let mobile = (1.1 * log_mhz - 0.7) * path.ue_height_m - (1.56 * log_mhz - 0.8);
    let c_m = match city {
        City::Suburban => 0.0,
        City::Metropolitan => 3.0,
    };
    let km = path.ground_m.max(1.0) / 1000.0;
    46.3 + 33.9 * log_mhz - 13.82 * log_site - mobile + (44.9 - 6.55 * log_site) * libm::log10(km) + c_m
}
