//! Path loss between vehicles (TR 37.885 v15.3.0 Table 6.2.1-1), for comparison with others. No scenario has a
//! sidelink.

use airlane_core::Decibel;

/// Surroundings of the vehicles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Road {
    /// A grid of streets.
    Urban,
    /// A highway.
    Highway,
}

/// The loss, and the standard deviation of its shadowing, at a 3D distance. Without line of sight, both roads have
/// the same formula.
#[must_use]
pub fn loss(road: Road, line_of_sight: bool, distance_m: f64, carrier_ghz: f64) -> (Decibel, Decibel) {
    let (at_1_m, slope, frequency, sigma) = match (road, line_of_sight) {
        (Road::Urban, true) => (38.77, 16.7, 18.2, 3.0),
        (Road::Highway, true) => (32.4, 20.0, 20.0, 3.0),
        (Road::Urban | Road::Highway, false) => (36.85, 30.0, 18.9, 4.0),
    };
    let loss = at_1_m + slope * libm::log10(distance_m) + frequency * libm::log10(carrier_ghz);
    (Decibel(loss), Decibel(sigma))
}
