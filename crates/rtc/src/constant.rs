//! A sender that keeps its rate.

use airlane_core::{BitRate, Instant};

use crate::{Feedback, Pace, RateController, SentPacket};

/// Keeps one rate, whatever the feedback says.
#[derive(Clone, Copy, Debug)]
pub struct Constant {
    rate: BitRate,
}

impl Constant {
    /// A controller with this rate.
    #[must_use]
    pub const fn new(rate: BitRate) -> Self {
        Self { rate }
    }
}

impl RateController for Constant {
    fn on_sent(&mut self, _: &SentPacket) {}

    fn on_feedback(&mut self, _: Instant, _: &Feedback<'_>) {}

    fn target(&self) -> BitRate {
        self.rate
    }

    fn pace(&self) -> Pace {
        Pace { rate: None, window: None, padding: BitRate(0) }
    }
}
