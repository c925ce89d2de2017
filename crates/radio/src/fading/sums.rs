//! Power gains from the taps and their phasors at each frequency.
//!
//! With a tap `a + jb` and its phasor `c − js` above the middle, `c + js` below, the sum over the taps is
//! `Σ(ac + bs) + jΣ(bc − as)` above and `Σ(ac − bs) + jΣ(bc + as)` below: four sums serve two frequencies.
//! The vectors are explicit, since the compiler would use shorter ones or interleave the sums.

use pulp::Simd;

use super::oscillators::Values;
use super::profile::{Last, Phasors, REST};

/// The power at each frequency of a chunk, and at its mirror image. The first tap has no delay
/// (`Response::new` checks it), so its phasor is real and it is the first term of the sums.
#[inline(always)]
pub(super) fn powers<S: Simd, const POINTS: usize, const TAPS: usize, const PLACES: usize>(
    simd: S,
    taps: &Values<PLACES>,
    chunk: &[Phasors<POINTS>; TAPS],
) -> ([f32; POINTS], [f32; POINTS]) {
    let mut powers = ([0.0; POINTS], [0.0; POINTS]);
    if S::F32_LANES == 1 || !POINTS.is_multiple_of(S::F32_LANES) {
        put_lanes(taps, chunk, &mut powers);
    } else if POINTS.is_multiple_of(2 * S::F32_LANES) {
        for first in (0..POINTS / S::F32_LANES).step_by(2) {
            put_vectors::<S, 2, POINTS, TAPS, PLACES>(simd, first, (taps, chunk), &mut powers);
        }
    } else {
        for first in 0..POINTS / S::F32_LANES {
            put_vectors::<S, 1, POINTS, TAPS, PLACES>(simd, first, (taps, chunk), &mut powers);
        }
    }
    powers
}

/// Computes this many vectors of the powers, starting with this one: they share the computations per tap.
#[inline(always)]
fn put_vectors<S: Simd, const VECTORS: usize, const POINTS: usize, const TAPS: usize, const PLACES: usize>(
    simd: S,
    first: usize,
    (taps, chunk): (&Values<PLACES>, &[Phasors<POINTS>; TAPS]),
    (upper, lower): &mut ([f32; POINTS], [f32; POINTS]),
) {
    let (a, b) = (simd.splat_f32s(taps.re[0]), simd.splat_f32s(taps.im[0]));
    let mut sums = [[simd.splat_f32s(0.0); 4]; VECTORS];
    for (vector, [ac, _, bc, _]) in sums.iter_mut().enumerate() {
        let cos = S::as_simd_f32s(&chunk[0].cos).0[first + vector];
        (*ac, *bc) = (simd.mul_f32s(a, cos), simd.mul_f32s(b, cos));
    }
    #[expect(
        clippy::needless_range_loop,
        reason = "an iterator here costs 2 % of the instructions of urban-19"
    )]
    for tap in 1..TAPS {
        let phasors = &chunk[tap];
        let (a, b) = (simd.splat_f32s(taps.re[tap]), simd.splat_f32s(taps.im[tap]));
        for (vector, [ac, bs, bc, as_]) in sums.iter_mut().enumerate() {
            let cos = S::as_simd_f32s(&phasors.cos).0[first + vector];
            let sin = S::as_simd_f32s(&phasors.sin).0[first + vector];
            *ac = simd.add_f32s(*ac, simd.mul_f32s(a, cos));
            *bs = simd.add_f32s(*bs, simd.mul_f32s(b, sin));
            *bc = simd.add_f32s(*bc, simd.mul_f32s(b, cos));
            *as_ = simd.add_f32s(*as_, simd.mul_f32s(a, sin));
        }
    }
    let power = |re, im| simd.add_f32s(simd.mul_f32s(re, re), simd.mul_f32s(im, im));
    for (vector, [ac, bs, bc, as_]) in sums.into_iter().enumerate() {
        S::as_mut_simd_f32s(upper).0[first + vector] = power(simd.add_f32s(ac, bs), simd.sub_f32s(bc, as_));
        S::as_mut_simd_f32s(lower).0[first + vector] = power(simd.sub_f32s(ac, bs), simd.add_f32s(bc, as_));
    }
}

/// Computes all powers, if they do not fill a vector. Loops instead of closures, because the compiler need not compile
/// closures for the selected vector instructions.
#[inline(always)]
fn put_lanes<const POINTS: usize, const TAPS: usize, const PLACES: usize>(
    taps: &Values<PLACES>,
    chunk: &[Phasors<POINTS>; TAPS],
    powers: &mut ([f32; POINTS], [f32; POINTS]),
) {
    let mut sums = Sums { ac: [0.0; POINTS], bs: [0.0; POINTS], bc: [0.0; POINTS], as_: [0.0; POINTS] };
    for lane in 0..POINTS {
        sums.ac[lane] = taps.re[0] * chunk[0].cos[lane];
        sums.bc[lane] = taps.im[0] * chunk[0].cos[lane];
    }
    #[expect(clippy::needless_range_loop, reason = "an iterator here costs instructions, as above")]
    for tap in 1..TAPS {
        let (a, b, p) = (taps.re[tap], taps.im[tap], &chunk[tap]);
        for lane in 0..POINTS {
            sums.ac[lane] += a * p.cos[lane];
            sums.bs[lane] += b * p.sin[lane];
            sums.bc[lane] += b * p.cos[lane];
            sums.as_[lane] += a * p.sin[lane];
        }
    }
    *powers = sums.powers();
}

/// [`powers`] of the remaining pairs: their four sums interleaved.
#[inline(always)]
pub(super) fn last_powers<S: Simd, const TAPS: usize, const PLACES: usize>(
    simd: S,
    taps: &Values<PLACES>,
    phasors: &[Last; TAPS],
) -> ([f32; REST], [f32; REST]) {
    assert!((4 * REST).is_multiple_of(S::F32_LANES), "whole vectors");
    let (mut sums, parts) = ([0.0; 4 * REST], taps.parts());
    for (vector, sums) in S::as_mut_simd_f32s(&mut sums).0.iter_mut().enumerate() {
        for tap in 0..TAPS {
            let [a, b] = parts[tap];
            let factors = [a, b, a, b, a, b, a, b];
            let factors = S::as_simd_f32s(&factors).0[vector];
            let phasors = S::as_simd_f32s(&phasors[tap].0).0[vector];
            *sums = simd.add_f32s(*sums, simd.mul_f32s(factors, phasors));
        }
    }
    let [ac0, bs0, as0, bc0, ac1, bs1, as1, bc1] = sums;
    Sums { ac: [ac0, ac1], bs: [bs0, bs1], bc: [bc0, bc1], as_: [as0, as1] }.powers()
}

/// The products of taps and phasors, summed over the taps, at each frequency.
struct Sums<const POINTS: usize> {
    ac: [f32; POINTS],
    bs: [f32; POINTS],
    bc: [f32; POINTS],
    as_: [f32; POINTS],
}

impl<const POINTS: usize> Sums<POINTS> {
    /// The power at each frequency, and at its mirror image.
    #[inline(always)]
    fn powers(&self) -> ([f32; POINTS], [f32; POINTS]) {
        let (mut upper, mut lower) = ([0.0; POINTS], [0.0; POINTS]);
        for lane in 0..POINTS {
            let (re, im) = (self.ac[lane] + self.bs[lane], self.bc[lane] - self.as_[lane]);
            upper[lane] = re * re + im * im;
            let (re, im) = (self.ac[lane] - self.bs[lane], self.bc[lane] + self.as_[lane]);
            lower[lane] = re * re + im * im;
        }
        (upper, lower)
    }
}
