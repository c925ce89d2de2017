//! Delay and angle spreads of a link without antenna patterns, as the calibrations compare them (TR 38.901 Table
//! 7.8-2): the angle spread is the circular one of TR 25.996 v16.0.0 Annex A.

/// Root mean square of the deviation from the mean of `(value, power)` pairs.
pub(super) fn linear(points: &[(f64, f64)]) -> f64 {
    let (mut power, mut first, mut second) = (0.0, 0.0, 0.0);
    for &(value, weight) in points {
        power += weight;
        first += weight * value;
        second += weight * value * value;
    }
    let mean = first / power;
    libm::sqrt((second / power - mean * mean).max(0.0))
}

/// The circular angle spread in degrees of `(angle in degrees, power)` pairs.
///
/// The annex turns all angles by Δ, takes the deviation from the mean of the turned angles within half a turn, and
/// its minimum over Δ. At the minimum, the half-turns around the mean begin between two rays: it is the smallest
/// deviation from the mean over all places where the circle can be cut, which one pass over sorted angles gives.
pub(super) fn circular_deg(rays: &mut [(f64, f64)]) -> f64 {
    for (angle, _) in rays.iter_mut() {
        *angle -= 360.0 * libm::floor(*angle / 360.0);
    }
    rays.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut power, mut first, mut second) = (0.0, 0.0, 0.0);
    for &(angle, weight) in rays.iter() {
        power += weight;
        first += weight * angle;
        second += weight * angle * angle;
    }
    let mut least = f64::INFINITY;
    for &(angle, weight) in rays.iter() {
        let mean = first / power;
        least = least.min(second / power - mean * mean);
        // The next cut is behind this ray, which moves to the other end.
        first += weight * 360.0;
        second += weight * 360.0 * (2.0 * angle + 360.0);
    }
    libm::sqrt(least.max(0.0))
}

/// The angle spread of TR 38.901 Annex A in degrees, from the length of the mean of the unit vectors.
pub(super) fn logarithmic_deg(rays: &[(f64, f64)]) -> f64 {
    let (mut power, mut x, mut y) = (0.0, 0.0, 0.0);
    for &(angle, weight) in rays {
        power += weight;
        x += weight * libm::cos(angle.to_radians());
        y += weight * libm::sin(angle.to_radians());
    }
    let length = (libm::hypot(x, y) / power).min(1.0);
    libm::sqrt(-2.0 * libm::log(length)).to_degrees()
}
