//! Latitudes and longitudes as positions in metres.
//!
//! The projection is azimuthal equidistant about an origin: a place is as far from the origin, and in the same direction, as
//! along the geodesic of the ellipsoid WGS 84 (J. P. Snyder, "Map Projections: A Working Manual", USGS Professional Paper
//! 1395, 1987, pp. 191-202; GeographicLib's class `AzimuthalEquidistant`). Lengths across this direction are too long by
//! (r/R)²/6 at the distance r, with the radius R of the Earth: 10^-5 at 50 km and 10^-3 at 500 km.

use airlane_radio::Position;
use geographiclib_rs::{Geodesic, InverseGeodesic};

use crate::format::Origin;

/// Maximum distance from the origin in metres, where lengths are too long by 0.1 %.
pub(crate) const FARTHEST_M: f64 = 500_000.0;

/// Positions in metres about an origin.
pub(crate) struct Projection {
    origin: Origin,
    ellipsoid: Geodesic,
}

impl Projection {
    pub(crate) fn about(origin: Origin) -> Self {
        Self { origin, ellipsoid: Geodesic::wgs84() }
    }

    /// The position towards the east and north in metres, rounded to the millimetre: positions are then readable, and do not
    /// depend on the last bits of a machine's sines.
    pub(crate) fn metres(&self, place: &Origin) -> [f64; 2] {
        let Origin { latitude, longitude } = self.origin;
        let (metres, azimuth_deg, _, _): (f64, f64, f64, f64) =
            self.ellipsoid.inverse(latitude, longitude, place.latitude, place.longitude);
        let azimuth = azimuth_deg.to_radians();
        [libm::sin(azimuth), libm::cos(azimuth)].map(|part| to_millimetres(metres * part))
    }
}

/// The length rounded to the millimetre.
pub(crate) fn to_millimetres(metres: f64) -> f64 {
    (metres * 1e3).round() / 1e3 + 0.0 // no negative zero
}

/// Distance from the point (0, 0) in metres.
pub(crate) fn from_zero([x, y]: [f64; 2]) -> f64 {
    Position::on_ground(x, y).ground_distance(&Position::on_ground(0.0, 0.0))
}

/// The middle of the smallest box around places, of which there is at least one. Longitudes are counted from the first
/// place, so that the box may cross the 180th meridian.
pub(crate) fn middle(places: &[Origin]) -> Origin {
    let first = places[0].longitude;
    let around = |longitude: f64| (longitude - first + 540.0).rem_euclid(360.0) - 180.0;
    let half = |values: &dyn Fn(&Origin) -> f64| {
        let low = places.iter().map(values).fold(f64::INFINITY, f64::min);
        let high = places.iter().map(values).fold(f64::NEG_INFINITY, f64::max);
        f64::midpoint(low, high)
    };
    let east = half(&|place| around(place.longitude)) + first;
    Origin {
        latitude: rounded(half(&|place| place.latitude)),
        longitude: rounded((east + 540.0).rem_euclid(360.0) - 180.0),
    }
}

/// Degrees with six digits, a tenth of a metre.
fn rounded(degrees: f64) -> f64 {
    (degrees * 1e6).round() / 1e6 + 0.0
}
