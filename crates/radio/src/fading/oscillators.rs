//! One Rayleigh tap as a sum of sinusoids, a function of time and nothing else.

use airlane_core::Stream;

/// Sinusoids per tap.
pub(super) const OSCILLATORS: usize = 16;

/// Turns in one unit of phase: phases are 32-bit fractions of a turn and wrap by themselves.
const TURN: f64 = 4_294_967_296.0;

/// A complex Gaussian-like process with Clarke's Doppler spectrum and mean power one.
///
/// `h(t) = Σ √(2/M) e^(jβ_m) cos(2π f_d t cos α_m + θ_m)`. Each term stands for a pair of waves
/// of opposite Doppler, so that one cosine does for two. The arrival angles α lie in a quarter
/// turn cut into M/2 cells, two to a cell, mirrored about its middle at a random distance common
/// to all cells: the autocorrelation is J0 over the ensemble, and its time average in one run
/// integrates J0 by a rule of second order. The phases θ are random, the directions β evenly
/// spread over half a turn, so that I and Q have equal power and no correlation, in bit-reversed
/// order, so that neighbouring frequencies do not share a direction. After Y. R. Zheng, C. Xiao,
/// "Simulation models with correct statistical properties for Rayleigh fading channels", IEEE
/// Trans. Commun. 51(6), 2003, with the angles mirrored where theirs are shifted.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Tap {
    /// θ.
    phase: [u32; OSCILLATORS],
    /// Phase per microsecond.
    step: [u32; OSCILLATORS],
    re: [f32; OSCILLATORS],
    im: [f32; OSCILLATORS],
}

impl Tap {
    pub(super) fn new(max_doppler_hz: f64, stream: &mut Stream) -> Self {
        let aside = stream.uniform();
        let turned = stream.uniform();
        let amplitude = (2.0 / OSCILLATORS as f64).sqrt();
        let mut tap = Self {
            phase: [0; OSCILLATORS],
            step: [0; OSCILLATORS],
            re: [0.0; OSCILLATORS],
            im: [0.0; OSCILLATORS],
        };
        for m in 0..OSCILLATORS {
            let within = if m % 2 == 0 { aside } else { 1.0 - aside };
            let alpha = core::f64::consts::FRAC_PI_2 * (m as f64 + within) / OSCILLATORS as f64;
            let reversed = (m as u32).reverse_bits() >> (32 - OSCILLATORS.ilog2());
            let beta = core::f64::consts::PI * (f64::from(reversed) / OSCILLATORS as f64 + 2.0 * turned);
            tap.phase[m] = stream.bits() as u32;
            tap.step[m] = (max_doppler_hz * libm::cos(alpha) * 1e-6 * TURN + 0.5) as u32;
            tap.re[m] = (amplitude * libm::cos(beta)) as f32;
            tap.im[m] = (amplitude * libm::sin(beta)) as f32;
        }
        tap
    }

    /// The tap at this many microseconds, modulo 2^32: the process repeats after 71 minutes.
    #[inline]
    pub(super) fn at(&self, micros: u32) -> (f32, f32) {
        let (mut re, mut im) = ([0.0_f32; 4], [0.0_f32; 4]);
        for base in (0..OSCILLATORS).step_by(4) {
            for lane in 0..4 {
                let m = base + lane;
                let c = cosine(self.phase[m].wrapping_add(self.step[m].wrapping_mul(micros)));
                re[lane] += c * self.re[m];
                im[lane] += c * self.im[m];
            }
        }
        ((re[0] + re[1]) + (re[2] + re[3]), (im[0] + im[1]) + (im[2] + im[3]))
    }
}

/// Cosine of a phase in 2^-32 turns, to 1e-6: plain arithmetic, the same bits everywhere.
#[inline]
fn cosine(phase: u32) -> f32 {
    // Half turns in [-1, 1); cos(π x) = sin(π (1/2 − |x|)).
    let half_turns = phase as i32 as f32 * (1.0 / 2_147_483_648.0);
    let y = 0.5 - half_turns.abs();
    let z = y * y;
    // The polynomial of degree seven that errs least (6e-7) from sin(π y) on ±1/2.
    let p = -0.554_636_2;
    let p = p * z + 2.541_899;
    let p = p * z - 5.167_143;
    (p * z + 3.141_582) * y
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_polynomial_is_a_cosine() {
        for k in 0..100_000_u32 {
            let phase = k.wrapping_mul(42_949);
            let true_value = libm::cos(f64::from(phase) / TURN * 2.0 * core::f64::consts::PI);
            assert!((f64::from(cosine(phase)) - true_value).abs() < 1e-6, "{phase}");
        }
    }

    #[test]
    fn directions_balance() {
        let tap = Tap::new(100.0, &mut airlane_core::Seeds::new(1).stream("tap"));
        let sum = |f: &dyn Fn(usize) -> f32| (0..OSCILLATORS).map(f).sum::<f32>();
        // Mean power of I and of Q one half each, and uncorrelated: Σ re² / 2 = 1/2, Σ re im = 0.
        assert!((sum(&|m| tap.re[m] * tap.re[m]) - 1.0).abs() < 1e-6);
        assert!((sum(&|m| tap.im[m] * tap.im[m]) - 1.0).abs() < 1e-6);
        assert!(sum(&|m| tap.re[m] * tap.im[m]).abs() < 1e-6);
    }
}
