//! The detector of overuse: compares the trend of the delay with a threshold that adapts to it.
//!
//! libwebrtc f3ae3eb, `trendline_estimator.cc`. There the threshold falls faster than it rises; the draft of 2016
//! (draft-ietf-rmcat-gcc-02) had it the other way (unverified).

use airlane_core::Instant;

use super::rate::whole_millis;
use super::settings::TrendlineSettings;

/// How the sender uses the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BandwidthUsage {
    /// The delay neither rises nor falls.
    Normal,
    /// Queues are drained.
    Underusing,
    /// A queue grows.
    Overusing,
}

/// Detects overuse.
#[derive(Clone, Debug)]
pub(super) struct OveruseDetector {
    settings: TrendlineSettings,
    deltas: u32,
    threshold: f64,
    adapted: Option<i64>,
    time_over: Option<f64>,
    samples_over: u32,
    trend: f64,
    usage: BandwidthUsage,
}

impl OveruseDetector {
    pub(super) const fn new(settings: TrendlineSettings) -> Self {
        Self {
            settings,
            deltas: 0,
            threshold: settings.threshold,
            adapted: None,
            time_over: None,
            samples_over: 0,
            trend: 0.0,
            usage: BandwidthUsage::Normal,
        }
    }

    pub(super) const fn usage(&self) -> BandwidthUsage {
        self.usage
    }

    /// Takes the trend after a group that was sent `sent` ms after the one before, and arrived now.
    pub(super) fn add(&mut self, trend: f64, sent: f64, arrived: Instant) {
        self.deltas = (self.deltas + 1).min(self.settings.deltas_max);
        if self.deltas < 2 {
            return;
        }
        let modified = f64::from(self.deltas) * trend * self.settings.gain;
        if modified > self.threshold {
            self.over(trend, sent);
        } else {
            self.time_over = None;
            self.samples_over = 0;
            self.usage =
                if modified < -self.threshold { BandwidthUsage::Underusing } else { BandwidthUsage::Normal };
        }
        self.trend = trend;
        self.adapt(modified.abs(), whole_millis(arrived));
    }

    /// The trend exceeds the threshold: overuse if it has for some time and does not fall.
    fn over(&mut self, trend: f64, sent: f64) {
        // Of the time before the first such sample, half counts.
        let time = self.time_over.map_or(sent / 2.0, |time| time + sent);
        self.samples_over += 1;
        if time > self.settings.overuse_time && self.samples_over > 1 && trend >= self.trend {
            self.time_over = Some(0.0);
            self.samples_over = 0;
            self.usage = BandwidthUsage::Overusing;
        } else {
            self.time_over = Some(time);
        }
    }

    fn adapt(&mut self, modified: f64, now: i64) {
        let last = self.adapted.replace(now).unwrap_or(now);
        if modified > self.threshold + self.settings.adapt_offset_max {
            return;
        }
        let rate = if modified < self.threshold { self.settings.k_down } else { self.settings.k_up };
        let time = (now - last).min(self.settings.adapt_time_max) as f64;
        self.threshold = (self.threshold + rate * (modified - self.threshold) * time)
            .clamp(self.settings.threshold_min, self.settings.threshold_max);
    }
}
