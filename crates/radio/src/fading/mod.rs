//! Multipath fading: the power gain of each PRB at any time.
//!
//! Tapped delay lines of TS 36.104 v8.9.0 Annex B.2 ([`Profile`]), each tap a sum of sinusoids
//! with Clarke's Doppler spectrum, transformed to the PRBs. A gain is a function of the stream
//! it was built from and of time alone: it does not matter when, how often or in which order it
//! is asked for, nothing drifts, and what is never asked for costs nothing.
//!
//! Phases are integers (fractions of a turn) and everything else is `f32` additions and
//! multiplications in a fixed order, so that the bits are the same on every machine, however wide
//! its vectors are; the loops are laid out for four and for eight lanes.
//!
//! Left out: line of sight, correlation between antennas, variation within a PRB and within a
//! slot. After 71 minutes a link repeats.
//!
//! ```
//! use std::sync::Arc;
//! use airlane_core::{Instant, Seeds};
//! use airlane_radio::{Fading, FrequencyGrid, Profile};
//!
//! let grid = Arc::new(FrequencyGrid::new(Profile::Eva, 100, 4)); // one per cell
//! let mut stream = Seeds::new(1).stream("cell/0/ue/0/fading");
//! let fading = Fading::new(&grid, 60.0 / 3.6, 2120e6, &mut stream);
//! let mut gains = [0.0; 100];
//! fading.gains(Instant::from_millis(40), &mut gains);
//! assert!(gains.iter().all(|&g| g >= 0.0));
//! ```

mod oscillators;
mod profile;

use core::ops::Range;
use std::sync::Arc;

use airlane_core::{Instant, Stream};

use pulp::{Simd, WithSimd};

use oscillators::{Taps, Values};
pub use profile::{FrequencyGrid, Profile};
use profile::{Last, PAIRS, Phasors, REST, Response, SINGLES};

use crate::path_loss::SPEED_OF_LIGHT;

/// The largest Doppler shift in Hz at this speed and carrier.
#[must_use]
pub fn max_doppler(speed_m_s: f64, carrier_hz: f64) -> f64 {
    speed_m_s.abs() * carrier_hz / SPEED_OF_LIGHT
}

/// The fading of one link.
#[derive(Clone, Debug)]
pub struct Fading {
    grid: Arc<FrequencyGrid>,
    taps: Taps,
}

impl Fading {
    /// A link whose ends move against each other at `speed_m_s`, drawn from its own stream. At
    /// rest it does not change.
    #[must_use]
    pub fn new(grid: &Arc<FrequencyGrid>, speed_m_s: f64, carrier_hz: f64, stream: &mut Stream) -> Self {
        let doppler = max_doppler(speed_m_s, carrier_hz);
        // Above this a microsecond is no longer short against a turn; light itself stays below
        // 100 kHz at LTE carriers for any vehicle.
        assert!(doppler < 100e3, "Doppler shift of {doppler} Hz");
        let taps = Taps::new(grid.taps(), doppler, stream);
        Self { grid: Arc::clone(grid), taps }
    }

    /// The grid it was made on.
    #[must_use]
    pub fn grid(&self) -> &FrequencyGrid {
        &self.grid
    }

    /// The linear power gain at the middle of each PRB, one on average.
    pub fn gains(&self, now: Instant, out: &mut [f32]) {
        self.evaluate(&self.grid.prbs, now, out);
    }

    /// The linear power gain at the middle of each resource block group. A last group with fewer
    /// PRBs is seen where its middle were if it had all.
    ///
    /// One point speaks for a group only where the channel is flat over it. Judged this way the
    /// worst of 25 groups has, at 25 dB, half an MCS too little in EPA and four in EVA: take
    /// [`Fading::gains`] for sub-band CQIs in EVA and ETU.
    pub fn gains_at_rbg(&self, now: Instant, out: &mut [f32]) {
        self.evaluate(&self.grid.rbgs, now, out);
    }

    /// [`Fading::gains`] of these PRBs alone, in their places of `out`, which has one for each
    /// PRB of the grid: cheaper when they are few. What is in the other places afterwards is not
    /// defined.
    pub fn gains_in(&self, now: Instant, prbs: impl Iterator<Item = Range<usize>>, out: &mut [f32]) {
        assert_eq!(out.len(), self.grid.prbs.points, "one gain per point of the grid");
        self.grid.arch.dispatch(Few { fading: self, micros: micros(now), prbs, out });
    }

    fn evaluate(&self, response: &Response, now: Instant, out: &mut [f32]) {
        assert_eq!(out.len(), response.points, "one gain per point of the grid");
        self.grid.arch.dispatch(All { taps: &self.taps, response, micros: micros(now), out });
    }
}

/// The time that a fading link counts in.
fn micros(now: Instant) -> u32 {
    (now.as_nanos() / 1000) as u32
}

/// The gains at all points of a response. A type and not a closure, which the compiler would not
/// be bound to compile for the vectors that it is dispatched to.
struct All<'a> {
    taps: &'a Taps,
    response: &'a Response,
    micros: u32,
    out: &'a mut [f32],
}

impl WithSimd for All<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match self.taps.len() {
            4 => self.compute::<S, 4>(simd),
            7 => self.compute::<S, 7>(simd),
            9 => self.compute::<S, 9>(simd),
            taps => unreachable!("a profile of {taps} taps"),
        }
    }
}

impl All<'_> {
    /// For so many taps, which spares loops their counting.
    #[inline(always)]
    fn compute<S: Simd, const TAPS: usize>(self, simd: S) {
        let Self { response, out, .. } = self;
        let mut taps = self.taps.at(self.micros);
        if let Some(turn) = &response.turn {
            for tap in 0..TAPS {
                let (a, b, c, s) = (taps.re[tap], taps.im[tap], turn.re[tap], turn.im[tap]);
                (taps.re[tap], taps.im[tap]) = (a * c - b * s, a * s + b * c);
            }
        }
        // Two chunks at a time, which share the work that is done once for a tap.
        let (twos, one) = response.phasors.as_chunks::<TAPS>().0.as_chunks::<2>();
        let mut first = 0;
        for [one, other] in twos {
            let [one, other] = Sums::of(&taps, [one, other]);
            put_pairs(out, first, one.powers());
            put_pairs(out, first + PAIRS, other.powers());
            first += 2 * PAIRS;
        }
        if let [one] = one {
            let [one] = Sums::of(&taps, [one]);
            put_pairs(out, first, one.powers());
            first += PAIRS;
        }
        if let Some(last) = response.last.first_chunk::<TAPS>() {
            put_pairs(out, first, last_powers(simd, &taps, last));
        }
    }
}

/// [`Sums::powers`] of the pairs that are left: their four sums side by side. In vectors by name, since the
/// compiler would make shorter ones.
#[inline(always)]
fn last_powers<S: Simd, const TAPS: usize>(
    simd: S,
    taps: &Values,
    phasors: &[Last; TAPS],
) -> ([f32; REST], [f32; REST]) {
    assert!((4 * REST).is_multiple_of(S::F32_LANES), "whole vectors");
    let mut sums = [0.0; 4 * REST];
    for (vector, sums) in S::as_mut_simd_f32s(&mut sums).0.iter_mut().enumerate() {
        for tap in 0..TAPS {
            let (a, b) = (taps.re[tap], taps.im[tap]);
            let factors = [a, a, b, b, b, b, a, a];
            let factors = S::as_simd_f32s(&factors).0[vector];
            let phasors = S::as_simd_f32s(&phasors[tap].0).0[vector];
            *sums = simd.add_f32s(*sums, simd.mul_f32s(factors, phasors));
        }
    }
    let [ac0, ac1, bs0, bs1, bc0, bc1, as0, as1] = sums;
    Sums { ac: [ac0, ac1], bs: [bs0, bs1], bc: [bc0, bc1], as_: [as0, as1] }.powers()
}

/// Writes the gains of the pairs from `first` on. Pair `j` is the points `pairs − 1 − j` and
/// `half + j`; of an odd number of points the first pair is the middle one, twice.
#[inline(always)]
fn put_pairs<const N: usize>(out: &mut [f32], first: usize, (upper, mut lower): ([f32; N], [f32; N])) {
    let (half, pairs) = (out.len() / 2, out.len().div_ceil(2));
    let (above, below) = (half + first, pairs - first);
    if first + N <= pairs {
        lower.reverse();
        out[below - N..below].copy_from_slice(&lower);
        out[above..above + N].copy_from_slice(&upper);
    } else {
        for lane in 0..pairs - first {
            out[below - 1 - lane] = lower[lane];
            out[above + lane] = upper[lane];
        }
    }
}

/// The gains of some PRBs.
struct Few<'a, I> {
    fading: &'a Fading,
    micros: u32,
    prbs: I,
    out: &'a mut [f32],
}

impl<I: Iterator<Item = Range<usize>>> WithSimd for Few<'_, I> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        match self.fading.taps.len() {
            4 => self.compute::<4>(),
            7 => self.compute::<7>(),
            9 => self.compute::<9>(),
            taps => unreachable!("a profile of {taps} taps"),
        }
    }
}

impl<I: Iterator<Item = Range<usize>>> Few<'_, I> {
    #[inline(always)]
    fn compute<const TAPS: usize>(self) {
        let Fading { taps, grid } = self.fading;
        let (values, mut last) = (taps.at(self.micros), usize::MAX);
        let (chunks, _) = grid.prbs.upwards.as_chunks::<TAPS>();
        for range in self.prbs {
            let chunks = chunks.iter().enumerate().take(range.end.div_ceil(SINGLES));
            for (chunk, phasors) in chunks.skip(range.start / SINGLES) {
                if chunk == last {
                    continue; // Neighbours share a chunk.
                }
                last = chunk;
                let ([sums], out) = (Sums::of(&values, [phasors]), &mut self.out[chunk * SINGLES..]);
                let (power, _) = sums.powers();
                match out.first_chunk_mut() {
                    Some(out) => *out = power,
                    None => out.iter_mut().zip(power).for_each(|(out, power)| *out = power),
                }
            }
        }
    }
}

/// The products of taps and phasors, summed over the taps, at each frequency of a chunk.
///
/// With a tap `a + jb` and its phasor `c − js` above the middle, `c + js` below, the sum above is
/// `Σ(ac + bs) + jΣ(bc − as)` and below `Σ(ac − bs) + jΣ(bc + as)`.
struct Sums<const N: usize> {
    ac: [f32; N],
    bs: [f32; N],
    bc: [f32; N],
    as_: [f32; N],
}

impl<const N: usize> Sums<N> {
    const ZERO: Self = Self { ac: [0.0; N], bs: [0.0; N], bc: [0.0; N], as_: [0.0; N] };

    /// Of several chunks. The first tap has no delay (`Response::new` checks it), so that its phasor
    /// is real and it begins the sums.
    #[inline(always)]
    fn of<const CHUNKS: usize, const TAPS: usize>(
        taps: &Values,
        phasors: [&[Phasors<N>; TAPS]; CHUNKS],
    ) -> [Self; CHUNKS] {
        let mut sums = [Self::ZERO; CHUNKS];
        // Loops and no closures, which the compiler would not be bound to compile for the vectors.
        for (sums, chunk) in sums.iter_mut().zip(&phasors) {
            for lane in 0..N {
                sums.ac[lane] = taps.re[0] * chunk[0].cos[lane];
                sums.bc[lane] = taps.im[0] * chunk[0].cos[lane];
            }
        }
        for tap in 1..TAPS {
            let (a, b) = (taps.re[tap], taps.im[tap]);
            for (sums, chunk) in sums.iter_mut().zip(&phasors) {
                let p = &chunk[tap];
                for lane in 0..N {
                    sums.ac[lane] += a * p.cos[lane];
                    sums.bs[lane] += b * p.sin[lane];
                    sums.bc[lane] += b * p.cos[lane];
                    sums.as_[lane] += a * p.sin[lane];
                }
            }
        }
        sums
    }

    /// The power at each frequency, and at its mirror image.
    #[inline(always)]
    fn powers(&self) -> ([f32; N], [f32; N]) {
        let (mut upper, mut lower) = ([0.0; N], [0.0; N]);
        for lane in 0..N {
            let (re, im) = (self.ac[lane] + self.bs[lane], self.bc[lane] - self.as_[lane]);
            upper[lane] = re * re + im * im;
            let (re, im) = (self.ac[lane] - self.bs[lane], self.bc[lane] + self.as_[lane]);
            lower[lane] = re * re + im * im;
        }
        (upper, lower)
    }
}

#[cfg(test)]
mod tests;
