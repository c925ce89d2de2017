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

use std::sync::Arc;

use airlane_core::{Instant, Stream};

use oscillators::Tap;
pub use profile::{FrequencyGrid, Profile};
use profile::{LANES, Response};

use crate::path_loss::SPEED_OF_LIGHT;

/// Most taps a profile has.
const MAX_TAPS: usize = 9;

/// The largest Doppler shift in Hz at this speed and carrier.
#[must_use]
pub fn max_doppler(speed_m_s: f64, carrier_hz: f64) -> f64 {
    speed_m_s.abs() * carrier_hz / SPEED_OF_LIGHT
}

/// The fading of one link.
#[derive(Clone, Debug)]
pub struct Fading {
    grid: Arc<FrequencyGrid>,
    taps: Vec<Tap>,
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
        let taps = (0..grid.taps()).map(|_| Tap::new(doppler, stream)).collect();
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

    /// The linear power gain at the middle of each resource block group.
    pub fn gains_at_rbg(&self, now: Instant, out: &mut [f32]) {
        self.evaluate(&self.grid.rbgs, now, out);
    }

    fn evaluate(&self, response: &Response, now: Instant, out: &mut [f32]) {
        assert_eq!(out.len(), response.points, "one gain per point of the grid");
        let mut taps = [(0.0, 0.0); MAX_TAPS];
        let taps = &mut taps[..self.taps.len()];
        let micros = (now.as_nanos() / 1000) as u32;
        for (value, tap) in taps.iter_mut().zip(&self.taps) {
            *value = tap.at(micros);
        }
        for (out, phasors) in out.chunks_mut(LANES).zip(response.phasors.chunks_exact(taps.len())) {
            let (mut re, mut im) = ([0.0_f32; LANES], [0.0_f32; LANES]);
            for (&(a, b), p) in taps.iter().zip(phasors) {
                for lane in 0..LANES {
                    re[lane] += a * p.re[lane] - b * p.im[lane];
                    im[lane] += a * p.im[lane] + b * p.re[lane];
                }
            }
            let mut power = [0.0; LANES];
            for lane in 0..LANES {
                power[lane] = re[lane] * re[lane] + im[lane] * im[lane];
            }
            out.copy_from_slice(&power[..out.len()]);
        }
    }
}

#[cfg(test)]
mod tests;
