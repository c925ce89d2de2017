//! Rayleigh taps as sums of sinusoids: functions of time and nothing else.

use airlane_core::Stream;

/// Cosines per tap, each standing for two waves.
pub(super) const OSCILLATORS: usize = 8;

/// Taps computed together: one SSE register.
const LANES: usize = 4;

/// Most taps a profile has, rounded up to whole registers.
pub(super) const MAX_TAPS: usize = 12;

/// Turns in one unit of phase: phases are 32-bit fractions of a turn and wrap by themselves.
const TURN: f64 = 4_294_967_296.0;

/// The taps of one link: independent, nearly complex Gaussian processes with Clarke's Doppler
/// spectrum and mean power one.
///
/// `h(t) = Σ √(2/M) e^(jβ_m) cos(2π f_d t cos α_m + θ_m)`. Each term stands for a pair of waves
/// of opposite Doppler, so that one cosine does for two. The arrival angles α lie in a quarter
/// turn cut into M/2 cells, two to a cell, mirrored about its middle at a random distance common
/// to all cells: the autocorrelation is J0 over the ensemble, and its time average in one run
/// integrates J0 by a rule of second order, close up to f_d τ = 1.5. The phases θ are random, the
/// directions β evenly spread over half a turn, so that I and Q have equal power and no
/// correlation, in bit-reversed order, so that neighbouring frequencies do not share a direction.
/// After Y. R. Zheng, C. Xiao, "Simulation models with correct statistical properties for Rayleigh
/// fading channels", IEEE Trans. Commun. 51(6), 2003, with the angles mirrored where theirs are
/// shifted.
///
/// Places beyond the last tap stay silent.
#[derive(Clone, Debug)]
pub(super) struct Taps {
    count: usize,
    fours: Vec<Four>,
}

/// Four taps, laid out for vectors: their first oscillators side by side, then their second, and so on.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Four {
    /// θ.
    phase: [u32; LANES * OSCILLATORS],
    /// Phase per microsecond.
    step: [u32; LANES * OSCILLATORS],
    /// √(2/M) e^(jβ) by oscillator: the real parts of the taps, then the imaginary ones.
    direction: [[f32; 2 * LANES]; OSCILLATORS],
}

impl Four {
    const SILENT: Self = Self {
        phase: [0; LANES * OSCILLATORS],
        step: [0; LANES * OSCILLATORS],
        direction: [[0.0; 2 * LANES]; OSCILLATORS],
    };
}

/// The values of all taps at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Values {
    pub(super) re: [f32; MAX_TAPS],
    pub(super) im: [f32; MAX_TAPS],
}

impl Taps {
    /// Independent taps of this largest Doppler shift.
    pub(super) fn new(count: usize, max_doppler_hz: f64, stream: &mut Stream) -> Self {
        assert!(count <= MAX_TAPS, "no profile has so many taps");
        let mut taps = Self { count, fours: vec![Four::SILENT; count.div_ceil(LANES)] };
        for tap in 0..count {
            taps.draw(tap, max_doppler_hz, stream);
        }
        taps
    }

    fn draw(&mut self, tap: usize, max_doppler_hz: f64, stream: &mut Stream) {
        let aside = stream.uniform();
        let turned = stream.uniform();
        let amplitude = (2.0 / OSCILLATORS as f64).sqrt();
        for m in 0..OSCILLATORS {
            let within = if m % 2 == 0 { aside } else { 1.0 - aside };
            let alpha = core::f64::consts::FRAC_PI_2 * (m as f64 + within) / OSCILLATORS as f64;
            let reversed = (m as u32).reverse_bits() >> (32 - OSCILLATORS.ilog2());
            let beta = core::f64::consts::PI * (f64::from(reversed) / OSCILLATORS as f64 + 2.0 * turned);
            let (four, lane) = (&mut self.fours[tap / LANES], tap % LANES);
            four.phase[m * LANES + lane] = stream.bits() as u32;
            four.step[m * LANES + lane] = (max_doppler_hz * libm::cos(alpha) * 1e-6 * TURN + 0.5) as u32;
            four.direction[m][lane] = (amplitude * libm::cos(beta)) as f32;
            four.direction[m][LANES + lane] = (amplitude * libm::sin(beta)) as f32;
        }
    }

    /// Number of taps.
    pub(super) const fn len(&self) -> usize {
        self.count
    }

    /// Each tap at this many microseconds, modulo 2^32: the process repeats after 71 minutes.
    #[inline(always)]
    pub(super) fn at(&self, micros: u32) -> Values {
        let mut values = Values::default();
        let places =
            values.re.as_chunks_mut::<LANES>().0.iter_mut().zip(values.im.as_chunks_mut::<LANES>().0);
        for (four, (re, im)) in self.fours.iter().zip(places) {
            // A pass of its own over plain arrays, since only such a loop becomes vectors.
            let mut cosines = [0.0_f32; LANES * OSCILLATORS];
            for (k, c) in cosines.iter_mut().enumerate() {
                *c = cosine(four.phase[k].wrapping_add(four.step[k].wrapping_mul(micros)));
            }
            let mut sums = [0.0_f32; 2 * LANES];
            for (c, direction) in cosines.as_chunks::<LANES>().0.iter().zip(&four.direction) {
                let twice = [c[0], c[1], c[2], c[3], c[0], c[1], c[2], c[3]];
                for lane in 0..2 * LANES {
                    sums[lane] += twice[lane] * direction[lane];
                }
            }
            re.copy_from_slice(&sums[..LANES]);
            im.copy_from_slice(&sums[LANES..]);
        }
        values
    }
}

/// Cosine of a phase in 2^-32 turns, to 1e-6: plain arithmetic, the same bits everywhere.
#[inline(always)]
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
        let taps = Taps::new(1, 100.0, &mut airlane_core::Seeds::new(1).stream("tap"));
        let sum = |f: &dyn Fn(&[f32; 2 * LANES]) -> f32| taps.fours[0].direction.iter().map(f).sum::<f32>();
        // Mean power of I and of Q one half each, and uncorrelated: Σ re² / 2 = 1/2, Σ re im = 0.
        assert!((sum(&|d| d[0] * d[0]) - 1.0).abs() < 1e-6);
        assert!((sum(&|d| d[LANES] * d[LANES]) - 1.0).abs() < 1e-6);
        assert!(sum(&|d| d[0] * d[LANES]).abs() < 1e-6);
        // The three places beyond the only tap are silent.
        let values = taps.at(12_345);
        assert!(values.re[0] != 0.0 && values.im[0] != 0.0);
        assert!(values.re[1..].iter().chain(&values.im[1..]).all(|&v| v == 0.0));
    }
}
