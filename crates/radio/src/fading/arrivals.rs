//! The Doppler shifts and the directions of the waves of a tap, which are drawn when a link is first heard.
//!
//! The angles of a tap differ by multiples of π/16, so that the sum of angles gives their cosines and sines from those
//! of two angles below π/8, for which a short series is enough. Each is known to be within [`ERROR`] of what `libm`
//! gives. Where rounding could hide less than that, `libm` decides: the bits are the same as if it was always asked.

use std::sync::LazyLock;

use super::oscillators::{OSCILLATORS, TURN};

/// Bound of the difference between a cosine or sine from the sum of angles and one by `libm`. Each of the two is within
/// the rounding errors of an angle below 10 (two units of 2^-50) and of a few operations on numbers up to one.
const ERROR: f64 = 1e-14;

/// Cosines and sines of the multiples of π/16 in a turn.
static SIXTEENTHS: LazyLock<[(f64, f64); 32]> = LazyLock::new(|| {
    core::array::from_fn(|k| {
        let (sine, cosine) = libm::sincos(core::f64::consts::PI * k as f64 / 16.0);
        (cosine, sine)
    })
});

/// The waves of one tap, one for each oscillator.
pub(super) struct Arrivals {
    /// Phase per microsecond.
    pub(super) steps: [u32; OSCILLATORS],
    /// √(2/M) e^(jβ).
    pub(super) re: [f32; OSCILLATORS],
    pub(super) im: [f32; OSCILLATORS],
}

impl Arrivals {
    /// For two draws from 0 to 1: the distance of the arrival angles from the edges of their cells, and the rotation of
    /// the directions.
    pub(super) fn new(aside: f64, turned: f64, max_doppler_hz: f64) -> Self {
        let (table, pi) = (&*SIXTEENTHS, core::f64::consts::PI);
        let amplitude = (2.0 / OSCILLATORS as f64).sqrt();
        // The turn in eighths of half a turn, and the rest.
        let eighths = turned * 16.0;
        let turn = eighths as usize;
        let rest = small(pi / 8.0 * (eighths - turn as f64));
        let within = [small(pi / 16.0 * aside), small(pi / 16.0 * (1.0 - aside))];
        let mut all = Self { steps: [0; OSCILLATORS], re: [0.0; OSCILLATORS], im: [0.0; OSCILLATORS] };
        for m in 0..OSCILLATORS {
            let (cosine, _) = sum(table[m], within[m % 2]);
            all.steps[m] =
                step(max_doppler_hz, cosine).unwrap_or_else(|| exact_step(m, aside, max_doppler_hz));
            let (cosine, sine) = sum(table[2 * (reversed(m) + turn) % 32], rest);
            let rounded = (round(amplitude * cosine), round(amplitude * sine));
            (all.re[m], all.im[m]) = match rounded {
                (Some(re), Some(im)) => (re, im),
                _ => exact_direction(m, turned),
            };
        }
        all
    }
}

/// Number of an oscillator with its bits in reverse order.
fn reversed(m: usize) -> usize {
    ((m as u32).reverse_bits() >> (32 - OSCILLATORS.ilog2())) as usize
}

/// Cosine and sine of an angle from 0 to π/8, by their series; the first term that is left out is below 1e-18.
fn small(angle: f64) -> (f64, f64) {
    let x = angle * angle;
    let of = |terms: [f64; 7]| terms.into_iter().rev().fold(1.0, |sum, next| 1.0 - x * next * sum);
    // Each factor is that between two terms.
    let cosine = of([1.0 / 2.0, 1.0 / 12.0, 1.0 / 30.0, 1.0 / 56.0, 1.0 / 90.0, 1.0 / 132.0, 1.0 / 182.0]);
    let sine = of([1.0 / 6.0, 1.0 / 20.0, 1.0 / 42.0, 1.0 / 72.0, 1.0 / 110.0, 1.0 / 156.0, 1.0 / 210.0]);
    (cosine, angle * sine)
}

/// Cosine and sine of the sum of two angles, of which these are known.
fn sum((c, s): (f64, f64), (cosine, sine): (f64, f64)) -> (f64, f64) {
    (c * cosine - s * sine, s * cosine + c * sine)
}

/// The phase per microsecond at this cosine of the arrival angle, if its error does not matter.
fn step(max_doppler_hz: f64, cosine: f64) -> Option<u32> {
    let of = |cosine: f64| (max_doppler_hz * cosine * 1e-6 * TURN + 0.5) as u32;
    let low = of(cosine - ERROR);
    (low == of(cosine + ERROR)).then_some(low)
}

/// Rounds a value, if its error does not matter.
fn round(value: f64) -> Option<f32> {
    let low = (value - ERROR) as f32;
    (low == (value + ERROR) as f32).then_some(low)
}

#[cold]
fn exact_step(m: usize, aside: f64, max_doppler_hz: f64) -> u32 {
    let within = if m.is_multiple_of(2) { aside } else { 1.0 - aside };
    let alpha = core::f64::consts::FRAC_PI_2 * (m as f64 + within) / OSCILLATORS as f64;
    (max_doppler_hz * libm::cos(alpha) * 1e-6 * TURN + 0.5) as u32
}

#[cold]
fn exact_direction(m: usize, turned: f64) -> (f32, f32) {
    let amplitude = (2.0 / OSCILLATORS as f64).sqrt();
    let beta = core::f64::consts::PI * (reversed(m) as f64 / OSCILLATORS as f64 + 2.0 * turned);
    let (sine, cosine) = libm::sincos(beta);
    ((amplitude * cosine) as f32, (amplitude * sine) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_exact(aside: f64, turned: f64, doppler: f64) {
        let Arrivals { steps, re, im } = Arrivals::new(aside, turned, doppler);
        for m in 0..OSCILLATORS {
            let direction = exact_direction(m, turned);
            assert_eq!(steps[m], exact_step(m, aside, doppler), "{m} of {aside} at {doppler} Hz");
            assert_eq!(
                (re[m].to_bits(), im[m].to_bits()),
                (direction.0.to_bits(), direction.1.to_bits()),
                "{m} of {turned}"
            );
        }
    }

    #[test]
    fn the_bits_are_those_of_the_library() {
        let mut stream = airlane_core::Seeds::new(1).stream("arrivals");
        for k in 0..50_000 {
            assert_exact(stream.uniform(), stream.uniform(), f64::from(k % 2_000));
        }
        // The edges, where cosines are zero or one.
        let least = 1.0 / (1_u64 << 53) as f64;
        for edge in 0..=16 {
            for beside in [0.0, least, 3.0 * least, 1e-12] {
                let draw = f64::from(edge) / 16.0;
                [draw + beside, draw - beside].into_iter().filter(|draw| (0.0..1.0).contains(draw)).for_each(
                    |draw| {
                        [0.0, 59.0, 99e3].into_iter().for_each(|doppler| assert_exact(draw, draw, doppler))
                    },
                );
            }
        }
    }

    #[test]
    fn the_difference_is_below_its_bound() {
        let mut stream = airlane_core::Seeds::new(2).stream("arrivals");
        let mut worst = 0.0_f64;
        for _ in 0..20_000 {
            let angle = core::f64::consts::PI / 8.0 * stream.uniform();
            let ((cosine, sine), (true_sine, true_cosine)) = (small(angle), libm::sincos(angle));
            worst = worst.max((cosine - true_cosine).abs()).max((sine - true_sine).abs());
        }
        assert!(worst < ERROR / 20.0, "{worst}");
    }
}
