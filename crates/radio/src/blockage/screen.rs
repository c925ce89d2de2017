//! The loss of one screen: TR 38.901 v17.0.0 equations (7.6-29) and (7.6-30), for a direct path.
//!
//! The equations, their signs and the table of sizes were compared with the transcription of v19.4.0 in
//! github.com/MehdiZD97/3gpp-tr-library.

use airlane_core::Decibel;

use super::edge;

/// A vertical rectangle on the ground, perpendicular to the path in plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Screen {
    /// Width in m.
    pub width_m: f64,
    /// Height in m.
    pub height_m: f64,
}

impl Screen {
    /// A person (TR 38.901 v17.0.0 Table 7.6.4.2-5).
    pub const HUMAN: Self = Self { width_m: 0.3, height_m: 1.7 };
    /// A car (TR 38.901 v17.0.0 Table 7.6.4.2-5).
    pub const VEHICLE: Self = Self { width_m: 4.8, height_m: 1.4 };
}

/// A direct path between a site and a UE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathGeometry {
    /// Distance on the ground in m.
    pub ground_m: f64,
    /// Height of the site in m.
    pub site_m: f64,
    /// Height of the UE in m.
    pub ue_m: f64,
}

/// The loss of the path by a screen. `distance_m` is its distance from the UE along the ground, `offset_m` that of
/// its middle from the path, in plan. A screen behind the UE or the site has no effect.
///
/// Each view has its own projection of the path and of the edges: the plan for the two vertical edges, the elevation
/// for the upper and the lower edge.
#[must_use]
pub fn screen_loss(
    path: PathGeometry,
    screen: Screen,
    (distance_m, offset_m): (f64, f64),
    wavelength_m: f64,
) -> Decibel {
    let beyond_m = path.ground_m - distance_m;
    if distance_m <= 0.0 || beyond_m <= 0.0 {
        return Decibel(0.0);
    }
    // In plan the path is a straight line; the edges are at these distances from it.
    let over = |first: f64, second: f64| libm::hypot(distance_m, first) + libm::hypot(beyond_m, second);
    let half = screen.width_m / 2.0;
    let sides = [offset_m - half, offset_m + half].map(|aside| over(aside, aside) - path.ground_m);
    let widths = pair(sides, offset_m.abs() < half, wavelength_m);
    // In elevation, from the height of the UE and of the site to that of the edge.
    let straight_m = libm::hypot(path.ground_m, path.site_m - path.ue_m);
    let edges = [0.0, screen.height_m];
    let rises = edges.map(|height| over(height - path.ue_m, height - path.site_m) - straight_m);
    let there = path.ue_m + (path.site_m - path.ue_m) * distance_m / path.ground_m;
    let heights = pair(rises, (0.0..screen.height_m).contains(&there), wavelength_m);
    Decibel(-20.0 * libm::log10(1.0 - heights * widths))
}

/// The sum of the terms of two opposite edges, from the excess of the path over each. Where the path passes between
/// them both are positive; elsewhere the nearer one is negative.
fn pair(excess_m: [f64; 2], between: bool, wavelength_m: f64) -> f64 {
    let [first, second] = excess_m.map(|excess| edge(excess, wavelength_m));
    if between { first + second } else { (first - second).abs() }
}
