//! The capacity of the link, learnt from the acknowledged rate at each overuse.
//!
//! libwebrtc f3ae3eb, `link_capacity_estimator.cc`.

use airlane_core::BitRate;

use super::rate::{UNLIMITED, kilobits};
use super::settings::LinkCapacitySettings;

/// A mean and its deviation, both in kbit/s.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkCapacity {
    settings: LinkCapacitySettings,
    estimate: Option<f64>,
    /// The variance divided by the estimate.
    deviation: f64,
}

impl LinkCapacity {
    pub(super) const fn new(settings: LinkCapacitySettings) -> Self {
        Self { settings, estimate: None, deviation: settings.deviation_min }
    }

    pub(super) fn estimate(&self) -> Option<BitRate> {
        self.estimate.map(from_kilobits)
    }

    /// The upper end of the range of the estimate.
    pub(super) fn upper(&self) -> BitRate {
        self.estimate.map_or(UNLIMITED, |estimate| from_kilobits(estimate + self.half_width(estimate)))
    }

    /// The lower end of the range of the estimate.
    pub(super) fn lower(&self) -> BitRate {
        self.estimate
            .map_or(BitRate(0), |estimate| from_kilobits((estimate - self.half_width(estimate)).max(0.0)))
    }

    pub(super) const fn reset(&mut self) {
        self.estimate = None;
    }

    pub(super) fn on_overuse(&mut self, acknowledged: BitRate) {
        let sample = kilobits(acknowledged);
        let weight = self.settings.smoothing;
        let estimate = self.estimate.map_or(sample, |last| (1.0 - weight) * last + weight * sample);
        let error = estimate - sample;
        let normalized = error * error / estimate.max(1.0);
        self.deviation = ((1.0 - weight) * self.deviation + weight * normalized)
            .clamp(self.settings.deviation_min, self.settings.deviation_max);
        self.estimate = Some(estimate);
    }

    fn half_width(&self, estimate: f64) -> f64 {
        self.settings.width * (self.deviation * estimate).sqrt()
    }
}

fn from_kilobits(rate: f64) -> BitRate {
    BitRate((rate * 1_000.0) as u64)
}
