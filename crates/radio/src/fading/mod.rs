//! Multipath fading: the power gain of each PRB at any time.
//!
//! Tapped delay lines of TS 36.104 v8.9.0 Annex B.2 ([`Profile`]), each tap a sum of sinusoids
//! with Clarke's Doppler spectrum, transformed to the PRBs. A gain is a function of the stream
//! it was built from and of time alone: it does not matter when, how often or in which order it
//! is asked for, nothing drifts, and what is never asked for costs nothing.
//!
//! Phases are integers (fractions of a turn) and everything else is `f32` additions and
//! multiplications in a fixed order, so that the bits are the same on every machine; the loops
//! are laid out for four-lane vectors.
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

use oscillators::{LANES, Taps, Values};
pub use profile::{FrequencyGrid, Profile};
use profile::{Phasors, Response};

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
        let response = &self.grid.prbs;
        assert_eq!(out.len(), response.points, "one gain per point of the grid");
        let taps = self.taps.at((now.as_nanos() / 1000) as u32);
        let mut last = usize::MAX;
        for range in prbs {
            for chunk in range.start / LANES..range.end.div_ceil(LANES) {
                if chunk == last {
                    continue; // Neighbours share a chunk.
                }
                last = chunk;
                let first = chunk * LANES;
                let phasors = &response.upwards[chunk * self.taps.len()..][..self.taps.len()];
                let powers = powers_at(&taps, phasors);
                if first + LANES <= out.len() {
                    out[first..first + LANES].copy_from_slice(&powers);
                } else {
                    out[first..].iter_mut().zip(powers).for_each(|(out, power)| *out = power);
                }
            }
        }
    }

    fn evaluate(&self, response: &Response, now: Instant, out: &mut [f32]) {
        assert_eq!(out.len(), response.points, "one gain per point of the grid");
        let mut taps = self.taps.at((now.as_nanos() / 1000) as u32);
        if let Some(turn) = &response.turn {
            for ((a, b), &(c, s)) in taps.re.iter_mut().zip(&mut taps.im).zip(turn) {
                (*a, *b) = (*a * c - *b * s, *a * s + *b * c);
            }
        }
        // Pair `j` is the points `pairs − 1 − j` and `half + j`; of an odd number of points the
        // first pair is the middle one, twice.
        let (half, pairs) = (response.points / 2, response.points.div_ceil(2));
        for (chunk, phasors) in response.phasors.chunks_exact(self.taps.len()).enumerate() {
            let (upper, lower) = powers(&taps, phasors);
            let first = chunk * LANES;
            let (above, below) = (half + first, pairs - first);
            if first + LANES <= pairs {
                let [a, b, c, d] = lower;
                out[below - LANES..below].copy_from_slice(&[d, c, b, a]);
                out[above..above + LANES].copy_from_slice(&upper);
            } else {
                for lane in 0..pairs - first {
                    out[below - 1 - lane] = lower[lane];
                    out[above + lane] = upper[lane];
                }
            }
        }
    }
}

/// Power of the summed taps at each frequency of a chunk, and at its mirror image.
///
/// With a tap `a + jb` and its phasor `c − js` above the middle, `c + js` below, the sum above is
/// `Σ(ac + bs) + jΣ(bc − as)` and below `Σ(ac − bs) + jΣ(bc + as)`.
#[inline]
fn powers(taps: &Values, phasors: &[Phasors]) -> ([f32; LANES], [f32; LANES]) {
    let (mut ac, mut bs, mut bc, mut as_) =
        ([0.0_f32; LANES], [0.0_f32; LANES], [0.0_f32; LANES], [0.0_f32; LANES]);
    for ((&a, &b), p) in taps.re.iter().zip(&taps.im).zip(phasors) {
        for lane in 0..LANES {
            ac[lane] += a * p.cos[lane];
            bs[lane] += b * p.sin[lane];
            bc[lane] += b * p.cos[lane];
            as_[lane] += a * p.sin[lane];
        }
    }
    let (mut upper, mut lower) = ([0.0; LANES], [0.0; LANES]);
    for lane in 0..LANES {
        let (re, im) = (ac[lane] + bs[lane], bc[lane] - as_[lane]);
        upper[lane] = re * re + im * im;
        let (re, im) = (ac[lane] - bs[lane], bc[lane] + as_[lane]);
        lower[lane] = re * re + im * im;
    }
    (upper, lower)
}

/// Power of the summed taps at each frequency of a chunk: the same additions in the same order as
/// [`powers`], and so the same bits.
#[inline]
fn powers_at(taps: &Values, phasors: &[Phasors]) -> [f32; LANES] {
    let (mut ac, mut bs, mut bc, mut as_) =
        ([0.0_f32; LANES], [0.0_f32; LANES], [0.0_f32; LANES], [0.0_f32; LANES]);
    for ((&a, &b), p) in taps.re.iter().zip(&taps.im).zip(phasors) {
        for lane in 0..LANES {
            ac[lane] += a * p.cos[lane];
            bs[lane] += b * p.sin[lane];
            bc[lane] += b * p.cos[lane];
            as_[lane] += a * p.sin[lane];
        }
    }
    let mut power = [0.0; LANES];
    for lane in 0..LANES {
        let (re, im) = (ac[lane] + bs[lane], bc[lane] - as_[lane]);
        power[lane] = re * re + im * im;
    }
    power
}

#[cfg(test)]
mod tests;
