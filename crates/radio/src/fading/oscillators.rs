//! Rayleigh taps as sums of sinusoids: functions of time only.

use airlane_core::Stream;
use pulp::Simd;

use super::arrivals::Arrivals;

/// Cosines per tap; each represents two waves.
pub(super) const OSCILLATORS: usize = 8;

/// Maximum number of taps of a profile.
pub(super) const MAX_TAPS: usize = 24;

/// Places of the taps of a profile: it has that many, the last ones silent.
pub(super) fn places(taps: usize) -> usize {
    match taps {
        ..=9 => taps,
        10..=16 => 16,
        17..=MAX_TAPS => MAX_TAPS,
        _ => panic!("no profile has so many taps"),
    }
}

/// The constant part of the first tap, relative to the standard deviation of the rest of that tap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Specular {
    /// The K-factor of the tap.
    pub(super) k_factor: f64,
    /// Doppler shift over the maximum one.
    pub(super) doppler: f64,
}

/// Units of phase per turn: phases are 32-bit fractions of a turn, whose overflow is the wrap-around.
pub(super) const TURN: f64 = 4_294_967_296.0;

/// The taps of one link: independent, nearly complex Gaussian processes with Clarke's Doppler
/// spectrum and mean power one.
///
/// `h(t) = Σ √(2/M) e^(jβ_m) cos(2π f_d t cos α_m + θ_m)`. Each term represents a pair of waves of
/// opposite Doppler shift, so that one cosine is enough for two. The arrival angles α are in a
/// quarter turn that is divided into M/2 cells. Each cell has two angles, mirrored about its middle
/// at a random distance that is the same in all cells. The ensemble autocorrelation is then J0, and
/// the time average over one run approximates the integral of J0 with a rule of second order,
/// accurate up to f_d τ = 1.5. The phases θ are random. The directions β are evenly spaced over
/// half a turn, so that I and Q have equal power and no correlation, and in bit-reversed order, so
/// that neighbouring frequencies have different directions. After Y. R. Zheng, C. Xiao, "Simulation
/// models with correct statistical properties for Rayleigh fading channels", IEEE Trans. Commun.
/// 51(6), 2003, with the angles mirrored where theirs are shifted.
///
/// Places beyond the last tap are zero. The state of four taps or of a multiple of eight is interleaved; of a
/// ninth tap, the oscillators are. In both cases the cosines fill the widest vectors.
#[derive(Clone, Debug)]
pub(super) struct Taps {
    places: usize,
    kept: Kept,
}

/// The stored form of taps, which depends on their number.
#[derive(Clone, Debug)]
enum Kept {
    Four(Box<(Angles<{ 4 * OSCILLATORS }>, Directions<4>)>),
    Eight(Box<(Angles<{ 8 * OSCILLATORS }>, Directions<8>)>),
    Nine(Box<(Angles<{ 9 * OSCILLATORS }>, Directions<8>, Directions<1>)>),
    Sixteen(Box<(Angles<{ 16 * OSCILLATORS }>, Directions<16>)>, Option<Rotation>),
    Most(Box<(Angles<{ MAX_TAPS * OSCILLATORS }>, Directions<MAX_TAPS>)>),
}

/// A rotating phasor of constant length.
#[derive(Clone, Copy, Debug)]
struct Rotation {
    length: f32,
    phase: u32,
    /// Phase per microsecond.
    step: u32,
}

/// Initial phases and frequencies of the oscillators of interleaved taps: the first oscillators of these
/// taps, then the second, and so on.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Angles<const N: usize> {
    /// θ.
    phase: [u32; N],
    /// Phase per microsecond.
    step: [u32; N],
}

impl<const N: usize> Angles<N> {
    const NONE: Self = Self { phase: [0; N], step: [0; N] };

    /// The cosine of each at this many microseconds; in one pass over plain arrays, because the
    /// compiler vectorizes only such loops.
    #[inline(always)]
    fn put_cosines(&self, micros: u32, cosines: &mut [f32; N]) {
        for (c, (phase, step)) in cosines.iter_mut().zip(self.phase.iter().zip(&self.step)) {
            *c = cosine(phase.wrapping_add(step.wrapping_mul(micros)));
        }
    }
}

/// √(2/M) e^(jβ) of interleaved taps, by oscillator: real and imaginary parts.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Directions<const N: usize> {
    re: [[f32; N]; OSCILLATORS],
    im: [[f32; N]; OSCILLATORS],
}

impl<const N: usize> Directions<N> {
    /// Writes the values of the taps from place `first` on; `cosines` are those of their oscillators. Uses
    /// explicit vectors where the taps fill them, since the compiler would interleave real and imaginary
    /// parts.
    #[inline(always)]
    fn put<S: Simd, const PLACES: usize>(
        &self,
        simd: S,
        cosines: &[f32],
        first: usize,
        values: &mut Values<PLACES>,
    ) {
        let (mut re, mut im) = ([0.0_f32; N], [0.0_f32; N]);
        let rows = cosines.as_chunks::<N>().0.iter().zip(self.re.iter().zip(&self.im));
        if S::F32_LANES > 1 && N.is_multiple_of(S::F32_LANES) {
            for vector in 0..N / S::F32_LANES {
                let (mut re_sum, mut im_sum) = (simd.splat_f32s(0.0), simd.splat_f32s(0.0));
                for (c, (to_re, to_im)) in rows.clone() {
                    let c = S::as_simd_f32s(c).0[vector];
                    re_sum = simd.add_f32s(re_sum, simd.mul_f32s(c, S::as_simd_f32s(to_re).0[vector]));
                    im_sum = simd.add_f32s(im_sum, simd.mul_f32s(c, S::as_simd_f32s(to_im).0[vector]));
                }
                S::as_mut_simd_f32s(&mut re).0[vector] = re_sum;
                S::as_mut_simd_f32s(&mut im).0[vector] = im_sum;
            }
        } else {
            for (c, (to_re, to_im)) in rows {
                for lane in 0..N {
                    re[lane] += c[lane] * to_re[lane];
                    im[lane] += c[lane] * to_im[lane];
                }
            }
        }
        values.re[first..first + N].copy_from_slice(&re);
        values.im[first..first + N].copy_from_slice(&im);
    }
}

impl<const N: usize> Directions<N> {
    /// Writes the values of all taps. The cosines are computed by oscillator: those of many taps do not fit into the
    /// registers.
    #[inline(always)]
    fn put_all<S: Simd, const ANGLES: usize, const PLACES: usize>(
        &self,
        simd: S,
        angles: &Angles<ANGLES>,
        micros: u32,
        values: &mut Values<PLACES>,
    ) {
        let (mut re, mut im) = ([0.0_f32; N], [0.0_f32; N]);
        let angles = angles.phase.as_chunks::<N>().0.iter().zip(angles.step.as_chunks::<N>().0);
        for ((phase, step), (to_re, to_im)) in angles.zip(self.re.iter().zip(&self.im)) {
            let mut cosines = [0.0; N];
            for (c, (phase, step)) in cosines.iter_mut().zip(phase.iter().zip(step)) {
                *c = cosine(phase.wrapping_add(step.wrapping_mul(micros)));
            }
            add_products(simd, &cosines, to_re, &mut re);
            add_products(simd, &cosines, to_im, &mut im);
        }
        values.re[..N].copy_from_slice(&re);
        values.im[..N].copy_from_slice(&im);
    }
}

/// Adds the products of two rows.
#[inline(always)]
fn add_products<S: Simd, const N: usize>(simd: S, a: &[f32; N], b: &[f32; N], sums: &mut [f32; N]) {
    let (sums, rest) = S::as_mut_simd_f32s(sums);
    let whole = N - rest.len();
    let factors = S::as_simd_f32s(a).0.iter().zip(S::as_simd_f32s(b).0);
    for (sum, (&a, &b)) in sums.iter_mut().zip(factors) {
        *sum = simd.add_f32s(*sum, simd.mul_f32s(a, b));
    }
    for (sum, (a, b)) in rest.iter_mut().zip(a[whole..].iter().zip(&b[whole..])) {
        *sum += a * b;
    }
}

/// Draws the next taps of a stream, at most `N`, the others zero; their angles start at place `first`.
fn draw<const N: usize, const ANGLES: usize>(
    (taps, max_doppler_hz): (usize, f64),
    stream: &mut Stream,
    (angles, first): (&mut Angles<ANGLES>, usize),
) -> Directions<N> {
    let mut directions = Directions { re: [[0.0; N]; OSCILLATORS], im: [[0.0; N]; OSCILLATORS] };
    for tap in 0..taps {
        let (aside, turned) = (stream.uniform(), stream.uniform());
        let Arrivals { steps, re, im } = Arrivals::new(aside, turned, max_doppler_hz);
        for m in 0..OSCILLATORS {
            let place = first + m * N + tap;
            (angles.phase[place], angles.step[place]) = (stream.bits() as u32, steps[m]);
            (directions.re[m][tap], directions.im[m][tap]) = (re[m], im[m]);
        }
    }
    directions
}

/// Draws all taps of a stream, at most `N`.
fn side_by_side<const N: usize, const ANGLES: usize>(
    taps: (usize, f64),
    stream: &mut Stream,
) -> Box<(Angles<ANGLES>, Directions<N>)> {
    let mut angles = Angles::NONE;
    let directions = draw(taps, stream, (&mut angles, 0));
    Box::new((angles, directions))
}

/// The values of all taps at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(32))]
pub(super) struct Values<const PLACES: usize> {
    pub(super) re: [f32; PLACES],
    pub(super) im: [f32; PLACES],
}

impl<const PLACES: usize> Values<PLACES> {
    pub(super) const ZERO: Self = Self { re: [0.0; PLACES], im: [0.0; PLACES] };

    /// Real and imaginary part of each.
    #[inline(always)]
    pub(super) fn parts(&self) -> [[f32; 2]; PLACES] {
        core::array::from_fn(|tap| [self.re[tap], self.im[tap]])
    }

    /// Multiplies each by its phasor.
    #[inline(always)]
    pub(super) fn turn<S: Simd>(&mut self, simd: S, by: &Values<MAX_TAPS>) {
        let (to_re, to_im) = (S::as_simd_f32s(&by.re).0, S::as_simd_f32s(&by.im).0);
        let (re, last_re) = S::as_mut_simd_f32s(&mut self.re);
        let (im, last_im) = S::as_mut_simd_f32s(&mut self.im);
        let whole = PLACES - last_re.len();
        for ((a, b), (&c, &s)) in re.iter_mut().zip(im).zip(to_re.iter().zip(to_im)) {
            let re = simd.sub_f32s(simd.mul_f32s(*a, c), simd.mul_f32s(*b, s));
            *b = simd.add_f32s(simd.mul_f32s(*a, s), simd.mul_f32s(*b, c));
            *a = re;
        }
        let phasors = by.re[whole..].iter().zip(&by.im[whole..]);
        for ((a, b), (c, s)) in last_re.iter_mut().zip(last_im).zip(phasors) {
            (*a, *b) = (*a * c - *b * s, *a * s + *b * c);
        }
    }
}

impl Taps {
    /// Independent taps with this maximum Doppler shift.
    pub(super) fn new(
        count: usize,
        specular: Option<Specular>,
        max_doppler_hz: f64,
        stream: &mut Stream,
    ) -> Self {
        assert!(
            specular.is_none() || places(count) == 16,
            "only profiles of 10 to 16 taps have a line of sight"
        );
        let kept = match count {
            ..=4 => Kept::Four(side_by_side((count, max_doppler_hz), stream)),
            5..=8 => Kept::Eight(side_by_side((count, max_doppler_hz), stream)),
            9 => {
                let mut angles = Angles::NONE;
                let eight = draw((8, max_doppler_hz), stream, (&mut angles, 0));
                let ninth = draw((1, max_doppler_hz), stream, (&mut angles, 8 * OSCILLATORS));
                Kept::Nine(Box::new((angles, eight, ninth)))
            }
            10..=16 => {
                let taps = side_by_side((count, max_doppler_hz), stream);
                let rotation = specular.map(|specular| Rotation {
                    length: specular.k_factor.sqrt() as f32,
                    phase: stream.bits() as u32,
                    step: (specular.doppler * max_doppler_hz * 1e-6 * TURN + 0.5) as u32,
                });
                Kept::Sixteen(taps, rotation)
            }
            _ => Kept::Most(side_by_side((count, max_doppler_hz), stream)),
        };
        Self { places: places(count), kept }
    }

    /// Number of places of taps.
    pub(super) const fn places(&self) -> usize {
        self.places
    }

    /// Each tap at this many microseconds, modulo 2^32: the process repeats after 71 minutes. `PLACES` is at least
    /// the number of places of the taps.
    #[inline(always)]
    pub(super) fn at<S: Simd, const PLACES: usize>(&self, simd: S, micros: u32) -> Values<PLACES> {
        let mut values = Values::ZERO;
        match &self.kept {
            Kept::Four(kept) => {
                let ((angles, directions), mut cosines) = (&**kept, [0.0; 4 * OSCILLATORS]);
                angles.put_cosines(micros, &mut cosines);
                directions.put(simd, &cosines, 0, &mut values);
            }
            Kept::Eight(kept) => {
                let ((angles, directions), mut cosines) = (&**kept, [0.0; 8 * OSCILLATORS]);
                angles.put_cosines(micros, &mut cosines);
                directions.put(simd, &cosines, 0, &mut values);
            }
            Kept::Nine(kept) => {
                let ((angles, eight, ninth), mut cosines) = (&**kept, [0.0; 9 * OSCILLATORS]);
                angles.put_cosines(micros, &mut cosines);
                let (of_eight, of_ninth) = cosines.split_at(8 * OSCILLATORS);
                eight.put(simd, of_eight, 0, &mut values);
                ninth.put(simd, of_ninth, 8, &mut values);
            }
            Kept::Sixteen(kept, rotation) => {
                let ((angles, directions), mut cosines) = (&**kept, [0.0; 16 * OSCILLATORS]);
                angles.put_cosines(micros, &mut cosines);
                directions.put(simd, &cosines, 0, &mut values);
                if let Some(Rotation { length, phase, step }) = rotation {
                    let phase = phase.wrapping_add(step.wrapping_mul(micros));
                    values.re[0] += length * cosine(phase);
                    values.im[0] += length * cosine(phase.wrapping_sub(1 << 30)); // the sine: a quarter later
                }
            }
            Kept::Most(kept) => {
                let (angles, directions) = &**kept;
                directions.put_all(simd, angles, micros, &mut values);
            }
        }
        values
    }
}

/// Cosine of a phase in units of 2^-32 turns, with an error below 1e-6. It uses plain arithmetic,
/// so the bits are the same everywhere.
#[inline(always)]
fn cosine(phase: u32) -> f32 {
    // Half turns in [-1, 1); cos(π x) = sin(π (1/2 − |x|)).
    let half_turns = phase as i32 as f32 * (1.0 / 2_147_483_648.0);
    let y = 0.5 - half_turns.abs();
    let z = y * y;
    // The minimax polynomial of degree seven for sin(π y) on ±1/2; its error is 6e-7.
    let p = -0.554_636_2;
    let p = p * z + 2.541_899;
    let p = p * z - 5.167_143;
    (p * z + 3.141_582) * y
}

#[cfg(test)]
mod tests {
    use pulp::Scalar;

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
        let taps = Taps::new(1, None, 100.0, &mut airlane_core::Seeds::new(1).stream("tap"));
        let Kept::Four(kept) = &taps.kept else { panic!("one tap is one of four") };
        let of_first = |rows: &[[f32; 4]]| rows.iter().map(|row| row[0]).collect::<Vec<_>>();
        let (re, im) = (of_first(&kept.1.re), of_first(&kept.1.im));
        let sum = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        // Mean power of I and of Q one half each, and uncorrelated: Σ re² / 2 = 1/2, Σ re im = 0.
        assert!((sum(&re, &re) - 1.0).abs() < 1e-6);
        assert!((sum(&im, &im) - 1.0).abs() < 1e-6);
        assert!(sum(&re, &im).abs() < 1e-6);
        // The places beyond the only tap are zero.
        let values = taps.at::<_, 9>(Scalar, 12_345);
        assert!(values.re[0] != 0.0 && values.im[0] != 0.0);
        assert!(values.re[1..].iter().chain(&values.im[1..]).all(|&v| v == 0.0));
    }

    #[test]
    fn a_tap_is_the_same_wherever_it_stands() {
        let taps = |count| Taps::new(count, None, 100.0, &mut airlane_core::Seeds::new(1).stream("tap"));
        let most = taps(MAX_TAPS).at::<_, MAX_TAPS>(Scalar, 98_765);
        for count in 1..=MAX_TAPS {
            let fewer = taps(count).at::<_, MAX_TAPS>(Scalar, 98_765);
            assert_eq!(fewer.re[..count], most.re[..count], "{count}");
            assert_eq!(fewer.im[..count], most.im[..count], "{count}");
            assert!(fewer.re[count..].iter().chain(&fewer.im[count..]).all(|&v| v == 0.0), "{count}");
        }
    }
}
