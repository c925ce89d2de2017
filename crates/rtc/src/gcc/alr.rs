//! The application-limited region (ALR): the application sends much less than the estimate.
//!
//! libwebrtc f3ae3eb, `alr_detector.cc` and `modules/pacing/interval_budget.cc`. The budget grows by the exact time between
//! packets; there by that time in whole milliseconds.

use airlane_core::{BitRate, Bytes, Instant};

use super::rate::scaled;
use super::settings::AlrSettings;

/// Detects the region by a budget of bytes, which grows with a share of the estimate and shrinks with each packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct AlrDetector {
    settings: AlrSettings,
    rate: BitRate,
    /// Bytes, negative if more was sent.
    unused: i64,
    last_sent: Option<Instant>,
    started: Option<Instant>,
}

impl AlrDetector {
    pub(super) const fn new(settings: AlrSettings) -> Self {
        Self { settings, rate: BitRate(0), unused: 0, last_sent: None, started: None }
    }

    /// When the region started; `None` outside of it.
    pub(super) const fn started(&self) -> Option<Instant> {
        self.started
    }

    pub(super) fn set_estimate(&mut self, estimate: BitRate) {
        self.rate = scaled(estimate, self.settings.usage);
        let budget = self.budget();
        self.unused = self.unused.clamp(-budget, budget);
    }

    pub(super) fn on_sent(&mut self, now: Instant, size: Bytes) {
        let Some(last) = self.last_sent.replace(now) else { return };
        let budget = self.budget();
        let growth = self.rate.bytes_in(now.saturating_since(last)).0 as i64;
        self.unused = (self.unused - size.0 as i64).max(-budget);
        self.unused = (self.unused + growth).min(budget);
        let share = if budget == 0 { 0.0 } else { self.unused as f64 / budget as f64 };
        if self.started.is_none() && share > self.settings.start {
            self.started = Some(now);
        } else if self.started.is_some() && share < self.settings.stop {
            self.started = None;
        }
    }

    fn budget(&self) -> i64 {
        self.rate.bytes_in(self.settings.window).0 as i64
    }
}
