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

use oscillators::{MAX_TAPS, Taps, Values};
pub use profile::{FrequencyGrid, Profile};
use profile::{PAIRS, Phasors, Response, SINGLES};

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
    fn with_simd<S: Simd>(self, _: S) {
        let Self { response, out, .. } = self;
        let mut taps = self.taps.at(self.micros);
        if let Some(turn) = &response.turn {
            for tap in 0..MAX_TAPS {
                let (a, b, c, s) = (taps.re[tap], taps.im[tap], turn.re[tap], turn.im[tap]);
                (taps.re[tap], taps.im[tap]) = (a * c - b * s, a * s + b * c);
            }
        }
        // Two chunks at a time, which share the work that is done once for a tap.
        let mut chunks = response.phasors.chunks_exact(2 * self.taps.len());
        let mut first = 0;
        for two in &mut chunks {
            let (one, other) = two.split_at(self.taps.len());
            let [one, other] = Sums::of(&taps, [one, other]);
            put_pairs(out, first, &one);
            put_pairs(out, first + PAIRS, &other);
            first += 2 * PAIRS;
        }
        if !chunks.remainder().is_empty() {
            let [last] = Sums::of(&taps, [chunks.remainder()]);
            put_pairs(out, first, &last);
        }
    }
}

/// Writes the gains of the pairs from `first` on. Pair `j` is the points `pairs − 1 − j` and
/// `half + j`; of an odd number of points the first pair is the middle one, twice.
#[inline(always)]
fn put_pairs(out: &mut [f32], first: usize, sums: &Sums<PAIRS>) {
    let (half, pairs) = (out.len() / 2, out.len().div_ceil(2));
    let (upper, mut lower) = sums.powers();
    let (above, below) = (half + first, pairs - first);
    if first + PAIRS <= pairs {
        lower.reverse();
        out[below - PAIRS..below].copy_from_slice(&lower);
        out[above..above + PAIRS].copy_from_slice(&upper);
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
        let Fading { taps, grid } = self.fading;
        let (values, mut last) = (taps.at(self.micros), usize::MAX);
        for range in self.prbs {
            for chunk in range.start / SINGLES..range.end.div_ceil(SINGLES) {
                if chunk == last {
                    continue; // Neighbours share a chunk.
                }
                last = chunk;
                let phasors = &grid.prbs.upwards[chunk * taps.len()..][..taps.len()];
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
    fn of<const CHUNKS: usize>(taps: &Values, phasors: [&[Phasors<N>]; CHUNKS]) -> [Self; CHUNKS] {
        let mut sums = [Self::ZERO; CHUNKS];
        let count = phasors[0].len();
        let (re, im) = (&taps.re[..count], &taps.im[..count]);
        // Loops and no closures, which the compiler would not be bound to compile for the vectors.
        for (sums, chunk) in sums.iter_mut().zip(&phasors) {
            assert_eq!(chunk.len(), count, "a phasor for each tap");
            for lane in 0..N {
                sums.ac[lane] = re[0] * chunk[0].cos[lane];
                sums.bc[lane] = im[0] * chunk[0].cos[lane];
            }
        }
        for tap in 1..count {
            let (a, b) = (re[tap], im[tap]);
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
