//! Log-normal shadowing: the deviation from the path loss that buildings and hills cause,
//! correlated between nearby places.
//!
//! The loss is Gaussian in dB, and its correlation over a distance d is exp(-d / d_corr) (M.
//! Gudmundson, "Correlation model for shadow fading in mobile radio systems", Electronics Letters
//! 27(23), 1991). A UE's shadowing towards two sites is also correlated (TR 25.814 v7.1.0 Table
//! A.2.1.1-3: 0.5 between sites, 1 between the sectors of one): it is the sum of a part for the UE
//! and a part for the pair of UE and site.
//!
//! With Gudmundson's recursion along a path, the value at a place would depend on the number of
//! earlier queries, and the radio channels of two controllers would differ. Here it is a function
//! of place: a sum of plane waves whose wave numbers follow the spectrum of the exponential
//! correlation in two dimensions (X. Cai, G. B. Giannakis, "A two-dimensional channel simulation
//! model for shadowing processes", IEEE Trans. Vehicular Technology 52(6), 2003). It has that
//! correlation along any path, straight or not.
//!
//! Not included: heights (a UE's floor), and the correlation between UEs near each other: each has
//! its own fields.
//!
//! ```
//! use airlane_core::Seeds;
//! use airlane_radio::{Position, Shadowing};
//! use airlane_radio::shadowing::Field;
//!
//! let seeds = Seeds::new(1);
//! let own = Field::new(&mut seeds.stream("ue/0/shadowing"));
//! let site = Field::new(&mut seeds.stream("ue/0/site/0/shadowing"));
//! let shadowing = Shadowing::new(own, site, 0.5);
//! let here = shadowing.at(&Position::on_ground(100.0, 0.0), 50.0);
//! assert_eq!(here, shadowing.at(&Position::on_ground(100.0, 0.0), 50.0));
//! ```

use std::sync::Arc;

use airlane_core::Stream;
use pulp::{Arch, Simd, WithSimd};

use crate::geometry::Position;

/// Number of plane waves of a field: the excess kurtosis of their sum is -1.5 / 64.
const WAVES: usize = 64;

/// Places closer than this fraction of the correlation distance are treated as one: 0.25 m of 50 m.
/// The correlation over it is 0.995.
const GRAIN: f64 = 1.0 / 200.0;

/// Number of waves whose cosines are computed together: two AVX registers, or four of SSE.
const LANES: usize = 8;

/// A Gaussian field of unit variance whose correlation is exp(-d), d in units of the correlation
/// distance.
#[derive(Clone, Debug)]
pub struct Field {
    /// Wave numbers and phases, in radians.
    x: [f64; WAVES],
    y: [f64; WAVES],
    phase: [f64; WAVES],
    /// The widest vectors of this machine. Results do not depend on it.
    arch: Arch,
}

impl Field {
    /// Draws a field.
    pub fn new(stream: &mut Stream) -> Self {
        const TURN: f64 = 2.0 * core::f64::consts::PI;
        let none = [0.0; WAVES];
        let mut field = Self { x: none, y: none, phase: none, arch: Arch::new() };
        for index in 0..WAVES {
            // The two-dimensional Fourier transform of exp(-r) is 2π (1 + k²)^(-3/2); its share
            // within k is 1 - (1 + k²)^(-1/2). One wave is drawn from each 64th of the power.
            let outside = 1.0 - (index as f64 + stream.uniform()) / WAVES as f64;
            let k = (1.0 / (outside * outside) - 1.0).max(0.0).sqrt();
            let direction = stream.uniform_in(0.0, TURN);
            field.phase[index] = stream.uniform_in(0.0, TURN);
            let (sine, cosine) = libm::sincos(direction);
            (field.x[index], field.y[index]) = (k * cosine, k * sine);
        }
        field
    }

    /// The field at a place, in standard deviations.
    fn at(&self, x: f64, y: f64) -> f64 {
        self.arch.dispatch(Waves { field: self, x, y }) * (2.0 / WAVES as f64).sqrt()
    }
}

/// Computes the sum of a field's waves at a place. A type instead of a closure, because the
/// compiler need not compile a closure for the selected vector instructions.
struct Waves<'a> {
    field: &'a Field,
    x: f64,
    y: f64,
}

impl WithSimd for Waves<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        let Self { field, x, y } = self;
        let mut sums = [0.0; LANES];
        let chunks = field.x.chunks_exact(LANES).zip(field.y.chunks_exact(LANES));
        for ((kx, ky), phase) in chunks.zip(field.phase.chunks_exact(LANES)) {
            for lane in 0..LANES {
                sums[lane] += cosine(kx[lane] * x + ky[lane] * y + phase[lane]);
            }
        }
        sums.iter().sum()
    }
}

/// Cosine with an error of 4e-16 up to a million radians, and beyond that with the precision of the
/// angle itself. It uses additions and multiplications in a fixed order, so the bits are the same
/// everywhere, and several cosines at a time.
#[inline(always)]
fn cosine(angle: f64) -> f64 {
    /// π in two parts, the first of 33 bits, so that its small multiples are exact (W. J. Cody, W. Waite,
    /// "Software manual for the elementary functions", 1980).
    const PI: [f64; 2] = [2.0 * 1.570_796_326_734_125_6, 2.0 * 6.077_100_506_506_192e-11];
    /// 1.5 · 2^52: adding it to a number up to 2^51 rounds that number to an integer.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    let rounded = angle * core::f64::consts::FRAC_1_PI + ROUND;
    let half_turns = rounded - ROUND;
    // Limited to the range of the series, for waves so short that their angle has no precision left.
    let rest = ((angle - half_turns * PI[0]) - half_turns * PI[1]).clamp(-1.6, 1.6);
    // Taylor's series up to the 20th power: the remainder is below (π/2)^22 / 22! = 2e-17.
    let z = rest * rest;
    let p = 4.110_317_623_312_165e-19;
    let p = p * z - 1.561_920_696_858_622_6e-16;
    let p = p * z + 4.779_477_332_387_385e-14;
    let p = p * z - 1.147_074_559_772_972_5e-11;
    let p = p * z + 2.087_675_698_786_81e-9;
    let p = p * z - 2.755_731_922_398_589e-7;
    let p = p * z + 2.480_158_730_158_73e-5;
    let p = p * z - 1.388_888_888_888_889e-3;
    let p = p * z + 4.166_666_666_666_666_4e-2;
    let p = p * z - 0.5;
    let p = p * z + 1.0;
    // An odd number of half turns changes the sign.
    f64::from_bits(p.to_bits() ^ (rounded.to_bits() << 63))
}

/// A place in the resolution of the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grain(i64, i64);

impl Grain {
    /// The grain that contains a point, for a correlation distance in metres.
    #[must_use]
    pub fn of(point: &Position, correlation_m: f64) -> Self {
        let grain = |x: f64| libm::round(x / (GRAIN * correlation_m)) as i64;
        Self(grain(point.x), grain(point.y))
    }
}

/// The shadowing of one UE towards one site.
#[derive(Clone, Debug)]
pub struct Shadowing {
    common: Arc<Field>,
    site: Field,
    common_weight: f64,
    site_weight: f64,
}

impl Shadowing {
    /// From the field of the UE, the same towards each site and therefore shared, and the field of this site alone;
    /// `site_correlation` is the share of the first, 0 to 1.
    ///
    /// # Panics
    /// If the correlation is outside 0 to 1.
    #[must_use]
    pub fn new(common: impl Into<Arc<Field>>, site: Field, site_correlation: f64) -> Self {
        let common = common.into();
        assert!((0.0..=1.0).contains(&site_correlation), "a correlation of {site_correlation} between sites");
        let (common_weight, site_weight) = (site_correlation.sqrt(), (1.0 - site_correlation).sqrt());
        Self { common, site, common_weight, site_weight }
    }

    /// The shadowing of a UE at `point`, in standard deviations, when correlation falls to 1/e
    /// over `correlation_m` metres.
    #[must_use]
    pub fn at(&self, point: &Position, correlation_m: f64) -> f64 {
        self.at_grain(Grain::of(point, correlation_m))
    }

    /// The shadowing at a known grain.
    #[must_use]
    pub fn at_grain(&self, grain: Grain) -> f64 {
        self.with_common(self.common_at(grain), grain)
    }

    /// The part that is the same towards all sites.
    #[must_use]
    pub fn common_at(&self, Grain(x, y): Grain) -> f64 {
        self.common.at(x as f64 * GRAIN, y as f64 * GRAIN)
    }

    /// The sum, given that part.
    #[must_use]
    pub fn with_common(&self, common: f64, Grain(x, y): Grain) -> f64 {
        let (x, y) = (x as f64 * GRAIN, y as f64 * GRAIN);
        self.common_weight * common + self.site_weight * self.site.at(x, y)
    }
}

#[cfg(test)]
mod tests {
    use airlane_core::Seeds;

    use super::*;

    const RUNS: u64 = 4000;

    fn shadowing(seed: u64, site: u32) -> Shadowing {
        let seeds = Seeds::new(seed);
        let field = |name: &str| Field::new(&mut seeds.stream(name));
        Shadowing::new(field("ue/0/shadowing"), field(&format!("ue/0/site/{site}/shadowing")), 0.5)
    }

    /// Means over `RUNS` seeds of the products of the values that `f` gives.
    fn mean(f: impl Fn(u64) -> f64) -> f64 {
        (0..RUNS).map(f).sum::<f64>() / RUNS as f64
    }

    #[test]
    fn the_series_is_a_cosine() {
        for k in -200_000..200_000_i32 {
            // Small angles, angles next to quarter turns, and large ones.
            let near = f64::from(k) * core::f64::consts::FRAC_PI_2 + f64::from(k % 7) * 1e-9;
            for angle in [f64::from(k) * 1e-4, near, f64::from(k) * 4.999_999_13] {
                let error = (cosine(angle) - libm::cos(angle)).abs();
                assert!(error < 4e-16, "{angle}: {error}");
            }
        }
        assert_eq!(cosine(0.0), 1.0);
        // No wave exceeds one by much, however large its angle.
        assert!([1e12, 1e17, 1e300].iter().all(|&angle| cosine(angle).abs() < 1.01));
    }

    #[test]
    fn unit_gaussian_at_any_place() {
        let at = Position::on_ground(731.0, -212.0);
        let value = |seed| shadowing(seed, 0).at(&at, 50.0);
        // Standard errors over 4000 seeds: 1 / sqrt(n) = 0.016 for the mean, sqrt(2 / n) = 0.022
        // for the variance, sqrt(96 / n) = 0.155 for the fourth moment, whose expectation is
        // 3 - 1.5 / 64 * (0.5^2 + 0.5^2) = 2.988. Four of each.
        assert!(mean(value).abs() < 0.064);
        assert!((mean(|s| libm::pow(value(s), 2.0)) - 1.0).abs() < 0.09);
        assert!((mean(|s| libm::pow(value(s), 4.0)) - 2.988).abs() < 0.62);
        // Q(2) = 2.28 %, standard error 0.24 %.
        let tail = mean(|s| f64::from(u8::from(value(s) > 2.0)));
        assert!((tail - 0.0228).abs() < 0.0096, "{tail}");
    }

    #[test]
    fn correlation_falls_as_gudmundson_has_it() {
        // exp(-d / 50 m); the standard error of a product's mean is at most sqrt(2 / n) = 0.022.
        for (dx, dy) in [(5.0, 0.0), (0.0, 25.0), (30.0, 40.0), (-100.0, 0.0), (200.0, 0.0)] {
            let (a, b) = (Position::on_ground(40.0, 70.0), Position::on_ground(40.0 + dx, 70.0 + dy));
            let found = mean(|s| {
                let shadowing = shadowing(s, 0);
                shadowing.at(&a, 50.0) * shadowing.at(&b, 50.0)
            });
            let expected = libm::exp(-libm::hypot(dx, dy) / 50.0);
            println!("over ({dx}, {dy}) m: {found:.3}, expected {expected:.3}");
            assert!((found - expected).abs() < 0.07, "({dx}, {dy}): {found} against {expected}");
        }
    }

    #[test]
    fn one_path_through_one_field_is_correlated_alike() {
        // A walk of 100 km in steps of 5 m through one field: mean 0, variance 1, correlation
        // exp(-0.1), exp(-1). Independent segments: about 100 km / 100 m = 1000, so the standard
        // error is about 0.045; the finite number of waves (64) of one field adds the same amount.
        let shadowing = shadowing(7, 0);
        let values: Vec<f64> =
            (0..20_000).map(|k| shadowing.at(&Position::on_ground(5.0 * f64::from(k), 0.0), 50.0)).collect();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
        assert!(mean.abs() < 0.2 && (variance - 1.0).abs() < 0.3, "mean {mean}, variance {variance}");
        for (steps, expected) in [(1, 0.9048), (10, 0.3679)] {
            let sum: f64 = values.windows(steps + 1).map(|w| (w[0] - mean) * (w[steps] - mean)).sum();
            let found = sum / (n * variance);
            assert!((found - expected).abs() < 0.15, "{steps} steps: {found} against {expected}");
        }
    }

    #[test]
    fn two_sites_are_half_alike() {
        let at = Position::on_ground(10.0, 20.0);
        let product = |other| mean(|s| shadowing(s, 0).at(&at, 50.0) * shadowing(s, other).at(&at, 50.0));
        // Standard error below 0.022.
        assert!((product(1) - 0.5).abs() < 0.07, "{}", product(1));
        assert!((product(0) - 1.0).abs() < 0.09);
    }

    #[test]
    fn a_place_has_one_value_however_one_gets_there() {
        let shadowing = shadowing(3, 0);
        let there = Position::on_ground(33.3, 44.4);
        let first = shadowing.at(&there, 50.0);
        let way: f64 = (0..1000).map(|k| shadowing.at(&Position::on_ground(f64::from(k), 0.0), 50.0)).sum();
        assert!(way != 0.0);
        assert_eq!(shadowing.at(&there, 50.0), first);
        // A grain is 25 cm: a place 5 cm further is in the same grain, a place 50 cm further is not.
        assert_eq!(shadowing.at(&Position::on_ground(33.3 + 0.05, 44.4), 50.0), first);
        assert_ne!(shadowing.at(&Position::on_ground(33.3 + 0.5, 44.4), 50.0), first);
        // Doubling the correlation distance stretches the field.
        let stretched = Position::on_ground(66.6, 88.8);
        assert!((shadowing.at(&stretched, 100.0) - first).abs() < 1e-9);
    }
}
