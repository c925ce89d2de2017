//! Multipath fading: the power gain of each PRB at any time.
//!
//! Tapped delay lines of TS 36.104 v8.9.0 Annex B.2 and of TR 38.901 v16.1.0 clause 7.7.2 ([`Profile`]), each
//! tap a sum of sinusoids with Clarke's Doppler spectrum, transformed to the PRBs. A gain depends only on the random stream of
//! the link and on time. It is independent of the number and the order of queries, does not drift,
//! and costs nothing if it is not queried.
//!
//! Phases are integers (fractions of a turn). All other values are `f32` additions and
//! multiplications in a fixed order, so the bits are the same on every machine with any vector
//! width. The loops are laid out for four and for eight lanes.
//!
//! Not included: correlation between antennas, and variation within a PRB or a slot.
//! The fading of a link repeats after 71 minutes.
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

mod arrivals;
mod delay_lines;
mod oscillators;
mod profile;
mod sums;

use core::cell::OnceCell;
use core::ops::Range;
use std::sync::Arc;

use airlane_core::{Duration, Instant, Stream};

use pulp::{Simd, WithSimd};

pub use delay_lines::{DelayLine, Profile};
use oscillators::Taps;
pub use profile::FrequencyGrid;
use profile::{PAIRS, Phasors, Response, Upwards, WIDE};
use sums::{last_powers, powers};

use crate::path_loss::SPEED_OF_LIGHT;

/// The maximum Doppler shift in Hz at this speed and carrier.
#[must_use]
pub fn max_doppler(speed_m_s: f64, carrier_hz: f64) -> f64 {
    speed_m_s.abs() * carrier_hz / SPEED_OF_LIGHT
}

/// The product of maximum Doppler shift and time at which the autocorrelation of the power is 1/2. It is J0(2πx)² at the
/// product x, in Clarke's model.
const HALF_CORRELATION: f64 = 0.1793;

/// The fading of one link.
#[derive(Clone, Debug)]
pub struct Fading {
    grid: Arc<FrequencyGrid>,
    max_doppler_hz: f64,
    /// The stream from which the taps are drawn.
    stream: Stream,
    /// Drawn for the first gain.
    taps: OnceCell<Taps>,
}

impl Fading {
    /// A link whose ends have the relative speed `speed_m_s`, drawn from its own stream. At speed 0
    /// the gains are constant.
    #[must_use]
    pub fn new(grid: &Arc<FrequencyGrid>, speed_m_s: f64, carrier_hz: f64, stream: &mut Stream) -> Self {
        let fading = Self::on_demand(grid, speed_m_s, carrier_hz, stream.clone());
        let _ = fading.taps.set(fading.draw(stream));
        fading
    }

    /// Fading with a stream that nothing else draws from: the taps are drawn for the first gain. Among many cells most
    /// links are too weak to need one.
    #[must_use]
    pub fn on_demand(grid: &Arc<FrequencyGrid>, speed_m_s: f64, carrier_hz: f64, stream: Stream) -> Self {
        let max_doppler_hz = max_doppler(speed_m_s, carrier_hz);
        // Above this limit the phase change per microsecond is no longer small; the shift is below
        // 100 kHz at LTE carriers for any vehicle.
        assert!(max_doppler_hz < 100e3, "Doppler shift of {max_doppler_hz} Hz");
        Self { grid: Arc::clone(grid), max_doppler_hz, stream, taps: OnceCell::new() }
    }

    fn draw(&self, stream: &mut Stream) -> Taps {
        Taps::new(self.grid.scattered, self.grid.specular, self.max_doppler_hz, stream)
    }

    #[inline]
    fn taps(&self) -> &Taps {
        self.taps.get_or_init(|| self.draw(&mut self.stream.clone()))
    }

    /// The frequency grid.
    #[must_use]
    pub fn grid(&self) -> &FrequencyGrid {
        &self.grid
    }

    /// Whether the power is still correlated after this time, by one half or more (choice).
    #[must_use]
    pub fn is_coherent_over(&self, time: Duration) -> bool {
        self.max_doppler_hz * time.as_secs_f64() <= HALF_CORRELATION
    }

    /// The linear power gain at the middle of each PRB, one on average.
    pub fn gains(&self, now: Instant, out: &mut [f32]) {
        self.evaluate(&self.grid.prbs, now, out);
    }

    /// The linear power gain at the middle of each resource block group. For a last group with
    /// fewer PRBs, the point is the middle of a full group.
    ///
    /// One point represents a group only if the channel is flat over the group. With this
    /// approximation, the worst of 25 groups loses at 25 dB half an MCS in EPA and four in EVA. Use
    /// [`Fading::gains`] for sub-band CQIs in EVA and ETU.
    pub fn gains_at_rbg(&self, now: Instant, out: &mut [f32]) {
        self.evaluate(&self.grid.rbgs, now, out);
    }

    /// [`Fading::gains`] of these PRBs alone, at their places in `out`, which has one place for
    /// each PRB of the grid. It is cheaper if they are few. The other places are undefined
    /// afterwards.
    pub fn gains_in(&self, now: Instant, prbs: impl Iterator<Item = Range<usize>>, out: &mut [f32]) {
        assert_eq!(out.len(), self.grid.prbs.points, "one gain per point of the grid");
        let (taps, response) = (self.taps(), &self.grid.prbs);
        self.grid.arch.dispatch(Few { taps, response, micros: micros(now), prbs, out });
    }

    fn evaluate(&self, response: &Response, now: Instant, out: &mut [f32]) {
        assert_eq!(out.len(), response.points, "one gain per point of the grid");
        self.grid.arch.dispatch(All { taps: self.taps(), response, micros: micros(now), out });
    }
}

/// The time unit of fading: microseconds.
fn micros(now: Instant) -> u32 {
    (now.as_nanos() / 1000) as u32
}

/// Computes the gains at all points of a response. A type instead of a closure, because the
/// compiler need not compile a closure for the selected vector instructions.
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
        match self.taps.places() {
            4 => self.compute::<S, 4, 9>(simd),
            7 => self.compute::<S, 7, 9>(simd),
            9 => self.compute::<S, 9, 9>(simd),
            16 => self.compute::<S, 16, 16>(simd),
            24 => self.compute::<S, 24, 24>(simd),
            taps => unreachable!("a profile of {taps} taps"),
        }
    }
}

impl All<'_> {
    /// For a constant number of taps, so that the compiler can unroll the loops.
    #[inline(always)]
    fn compute<S: Simd, const TAPS: usize, const PLACES: usize>(self, simd: S) {
        let Self { response, out, .. } = self;
        let mut taps = self.taps.at::<S, PLACES>(simd, self.micros);
        if let Some(turn) = &response.turn {
            taps.turn(simd, turn);
        }
        let mut first = 0;
        for chunk in response.wide.as_chunks::<TAPS>().0 {
            put_pairs(out, first, powers(simd, &taps, chunk));
            first += WIDE;
        }
        // At most one chunk: a loop would prepare the taps for many.
        if let Some(chunk) = response.pairs.first_chunk::<TAPS>() {
            put_pairs(out, first, powers(simd, &taps, chunk));
            first += PAIRS;
        }
        if let Some(last) = response.last.first_chunk::<TAPS>() {
            put_pairs(out, first, last_powers(simd, &taps, last));
        }
    }
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
    taps: &'a Taps,
    response: &'a Response,
    micros: u32,
    prbs: I,
    out: &'a mut [f32],
}

impl<I: Iterator<Item = Range<usize>>> WithSimd for Few<'_, I> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match self.taps.places() {
            4 => self.compute::<S, 4, 9>(simd),
            7 => self.compute::<S, 7, 9>(simd),
            9 => self.compute::<S, 9, 9>(simd),
            16 => self.compute::<S, 16, 16>(simd),
            24 => self.compute::<S, 24, 24>(simd),
            taps => unreachable!("a profile of {taps} taps"),
        }
    }
}

impl<I: Iterator<Item = Range<usize>>> Few<'_, I> {
    #[inline(always)]
    fn compute<S: Simd, const TAPS: usize, const PLACES: usize>(self, simd: S) {
        match &self.response.upwards {
            Upwards::Narrow(phasors) => self.put::<S, _, TAPS, PLACES>(simd, phasors),
            Upwards::Wide(phasors) => self.put::<S, _, TAPS, PLACES>(simd, phasors),
        }
    }

    #[inline(always)]
    fn put<S: Simd, const POINTS: usize, const TAPS: usize, const PLACES: usize>(
        self,
        simd: S,
        phasors: &[Phasors<POINTS>],
    ) {
        let (values, mut last) = (self.taps.at::<S, PLACES>(simd, self.micros), usize::MAX);
        let (chunks, _) = phasors.as_chunks::<TAPS>();
        for range in self.prbs {
            let chunks = chunks.iter().enumerate().take(range.end.div_ceil(POINTS));
            for (chunk, phasors) in chunks.skip(range.start / POINTS) {
                if chunk == last {
                    continue; // Neighbours share a chunk.
                }
                last = chunk;
                let (power, _) = powers(simd, &values, phasors);
                let out = &mut self.out[chunk * POINTS..];
                match out.first_chunk_mut() {
                    Some(out) => *out = power,
                    None => out.iter_mut().zip(power).for_each(|(out, power)| *out = power),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
