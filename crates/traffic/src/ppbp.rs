//! Poisson Pareto Burst Process: bursts arrive as a Poisson process, each lasts for a Pareto-distributed
//! time, and all active bursts send at the same rate (Zukerman, Neame and Addie, "Internet traffic
//! modeling and future technology implications", INFOCOM 2003). With a shape between 1 and 2 the
//! variance of the lengths is infinite, and the sum is long-range dependent: H = (3 - shape) / 2.
//!
//! [`Bursts`] is the process, [`PpbpSender`] generates its datagrams. A datagram leaves each time the
//! bursts together have sent its share since the one before, so that overlapping bursts are one stream of
//! evenly spaced datagrams. All times are whole nanoseconds; only the draws are real numbers.
//!
//! The generator for ns-3 (Ammar, Begin and Guérin-Lassous, SIMUTools 2011) interprets its parameters
//! differently from their names; [`Reading`] selects the interpretation.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use airlane_core::{Duration, Instant, Stream};

use crate::{Activity, ModulatedSender};

/// Maximum gap between bursts in ns-3's module: `Bound` of its exponential variable.
const MODULE_GAP_MAX_S: f64 = 3.0;
/// Maximum duration of a burst, about 30 years; a longer draw has no effect in any run.
const LENGTH_MAX_S: f64 = 1e9;
/// Additional capacity for bursts beyond the expected number.
const SPARE_BURSTS: usize = 64;

/// The interpretation of "mean active bursts" and "mean burst length".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// As in ns-3's module (`PPBP-application.cc`): the number of bursts that *begin* in a second, at most
    /// 3 s apart, and the *shortest* length (the scale of the Pareto distribution).
    Module,
    /// As their names say.
    Literal,
}

/// The parameters of the process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BurstParameters {
    /// Mean number of active bursts, as interpreted by `reading`.
    pub active: f64,
    /// Mean length of a burst, as interpreted by `reading`.
    pub length: Duration,
    /// Hurst parameter, between 0.5 and 1.
    pub hurst: f64,
    /// The interpretation of the first two.
    pub reading: Reading,
}

impl BurstParameters {
    /// Shape of the Pareto distribution: 3 - 2H.
    #[must_use]
    pub fn shape(&self) -> f64 {
        3.0 - 2.0 * self.hurst
    }

    /// Minimum duration of a burst in seconds: the scale of the Pareto distribution, whose mean is
    /// scale · shape / (shape - 1).
    #[must_use]
    pub fn scale_s(&self) -> f64 {
        let (length, shape) = (self.length.as_secs_f64(), self.shape());
        match self.reading {
            Reading::Module => length,
            Reading::Literal => length * (shape - 1.0) / shape,
        }
    }

    /// Mean length of a burst in seconds.
    #[must_use]
    pub fn mean_length_s(&self) -> f64 {
        self.scale_s() * self.shape() / (self.shape() - 1.0)
    }

    /// Mean of the exponential distribution of the gaps between bursts, in seconds.
    fn gap_s(&self) -> f64 {
        match self.reading {
            Reading::Module => 1.0 / self.active,
            Reading::Literal => self.mean_length_s() / self.active,
        }
    }

    /// Mean number of bursts that begin in a second.
    #[must_use]
    pub fn arrivals_per_s(&self) -> f64 {
        let m = self.gap_s();
        match self.reading {
            Reading::Literal => 1.0 / m,
            // The mean of an exponential variable that is redrawn while it exceeds b: m - b /
            // (e^(b/m) - 1).
            Reading::Module => 1.0 / (m - MODULE_GAP_MAX_S / (libm::exp(MODULE_GAP_MAX_S / m) - 1.0)),
        }
    }

    /// Mean number of active bursts in the steady state: Little's law.
    #[must_use]
    pub fn mean_active(&self) -> f64 {
        self.arrivals_per_s() * self.mean_length_s()
    }
}

/// The active bursts. None is active at the start.
#[derive(Clone, Debug)]
pub struct Bursts {
    parameters: BurstParameters,
    draws: Stream,
    next_begin: Instant,
    ends: BinaryHeap<Reverse<Instant>>,
}

impl Bursts {
    /// A process that begins at `start` without an active burst.
    #[must_use]
    pub fn new(parameters: BurstParameters, start: Instant, draws: Stream) -> Self {
        let room = 4 * parameters.mean_active() as usize + SPARE_BURSTS;
        let mut new = Self { parameters, draws, next_begin: start, ends: BinaryHeap::with_capacity(room) };
        new.next_begin = start + new.gap();
        new
    }

    fn gap(&mut self) -> Duration {
        let mean = self.parameters.gap_s();
        loop {
            let gap = self.draws.exponential(mean);
            if self.parameters.reading == Reading::Literal || gap <= MODULE_GAP_MAX_S {
                return seconds(gap);
            }
        }
    }

    /// Pareto by inversion: scale / u^(1/shape), u in (0, 1].
    fn length(&mut self) -> Duration {
        let u = 1.0 - self.draws.uniform();
        seconds(self.parameters.scale_s() / libm::pow(u, 1.0 / self.parameters.shape()))
    }
}

impl Activity for Bursts {
    fn active(&self) -> u64 {
        self.ends.len() as u64
    }

    fn next_change(&self) -> Instant {
        self.ends.peek().map_or(self.next_begin, |Reverse(end)| self.next_begin.min(*end))
    }

    /// A burst ends, or begins. At one instant the ends are first.
    fn change(&mut self) {
        if self.ends.peek().is_some_and(|Reverse(end)| *end <= self.next_begin) {
            self.ends.pop();
            return;
        }
        let begin = self.next_begin;
        let length = self.length();
        self.ends.push(Reverse(begin + length));
        self.next_begin = begin + self.gap();
    }
}

fn seconds(s: f64) -> Duration {
    Duration::from_nanos((s.min(LENGTH_MAX_S) * 1e9) as u64)
}

/// The datagrams of a Poisson Pareto Burst Process.
pub type PpbpSender = ModulatedSender<Bursts>;

#[cfg(test)]
mod tests;
