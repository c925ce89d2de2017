//! A source that alternates between sending at a constant rate and silence, as ns-3's OnOffApplication.
//!
//! It begins off, as that application does. The durations on and off are drawn from separate streams, so that a
//! change of one does not change the draws of the other. [`OnOff`] is the process, [`OnOffSender`] generates its
//! datagrams.

use airlane_core::{Duration, Instant, Stream};

use crate::{Activity, ModulatedSender};

/// Maximum duration, about 30 years; a longer draw has no effect in any run.
const LENGTH_MAX_S: f64 = 1e9;

/// The distribution of the durations on or off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Period {
    /// All periods are equal.
    Constant(Duration),
    /// Uniform between two bounds.
    Uniform {
        /// The lower bound.
        min: Duration,
        /// The upper bound.
        max: Duration,
    },
    /// Exponential.
    Exponential {
        /// Mean of the distribution.
        mean: Duration,
    },
    /// Pareto: P(X > x) = (scale / x)^shape for x above the scale, which is mean · (shape - 1) / shape.
    Pareto {
        /// Mean of the distribution.
        mean: Duration,
        /// Shape of the distribution, above 1.
        shape: f64,
    },
}

impl Period {
    /// The expected value, in seconds.
    #[must_use]
    pub fn mean_s(&self) -> f64 {
        match *self {
            Self::Constant(length) => length.as_secs_f64(),
            Self::Uniform { min, max } => (min.as_secs_f64() + max.as_secs_f64()) / 2.0,
            Self::Exponential { mean } | Self::Pareto { mean, .. } => mean.as_secs_f64(),
        }
    }

    fn draw(&self, draws: &mut Stream) -> Duration {
        let seconds = match *self {
            Self::Constant(length) => return length,
            Self::Uniform { min, max } => draws.uniform_in(min.as_secs_f64(), max.as_secs_f64()),
            Self::Exponential { mean } => draws.exponential(mean.as_secs_f64()),
            Self::Pareto { mean, shape } => {
                // By inversion: scale / u^(1/shape), u in (0, 1].
                let scale = mean.as_secs_f64() * (shape - 1.0) / shape;
                scale / libm::pow(1.0 - draws.uniform(), 1.0 / shape)
            }
        };
        Duration::from_nanos((seconds.min(LENGTH_MAX_S) * 1e9) as u64)
    }
}

/// The state of the source.
#[derive(Clone, Debug)]
pub struct OnOff {
    periods: [Period; 2],
    draws: [Stream; 2],
    is_on: bool,
    next_change: Instant,
}

impl OnOff {
    /// A process that begins off at `start`. Periods and streams are those of off and on, in this order.
    #[must_use]
    pub fn new(periods: [Period; 2], start: Instant, draws: [Stream; 2]) -> Self {
        let mut new = Self { periods, draws, is_on: false, next_change: start };
        let length = new.length();
        new.next_change += length;
        new
    }

    /// Draws the duration of the current state.
    fn length(&mut self) -> Duration {
        let state = usize::from(self.is_on);
        self.periods[state].draw(&mut self.draws[state])
    }
}

impl Activity for OnOff {
    fn active(&self) -> u64 {
        u64::from(self.is_on)
    }

    fn next_change(&self) -> Instant {
        self.next_change
    }

    fn change(&mut self) {
        self.is_on = !self.is_on;
        let length = self.length();
        self.next_change += length;
    }
}

/// The datagrams of such a source.
pub type OnOffSender = ModulatedSender<OnOff>;

#[cfg(test)]
mod tests;
