//! The trend of the one-way delay: the slope of a line through the smoothed delays of the last groups.
//!
//! libwebrtc f3ae3eb, `trendline_estimator.cc`.

use std::collections::VecDeque;

use airlane_core::Instant;

use super::inter_arrival::GroupDelta;
use super::rate::whole_millis;
use super::settings::TrendlineSettings;

/// Fits the line.
#[derive(Clone, Debug)]
pub(super) struct Trendline {
    settings: TrendlineSettings,
    first_arrived: Option<i64>,
    accumulated: f64,
    smoothed: f64,
    history: VecDeque<Point>,
    trend: f64,
}

/// Arrival and smoothed delay of a group, both in ms.
#[derive(Clone, Copy, Debug)]
struct Point {
    arrived: f64,
    delay: f64,
}

impl Trendline {
    pub(super) fn new(settings: TrendlineSettings) -> Self {
        Self {
            settings,
            first_arrived: None,
            accumulated: 0.0,
            smoothed: 0.0,
            history: VecDeque::with_capacity(settings.window + 1),
            trend: 0.0,
        }
    }

    /// Adds a group; returns the trend, in ms of delay per ms of time: the share by which the rate exceeds the capacity, while
    /// a queue grows.
    pub(super) fn add(&mut self, delta: GroupDelta, arrived: Instant) -> f64 {
        let at = whole_millis(arrived);
        let first = *self.first_arrived.get_or_insert(at);
        let weight = self.settings.smoothing;
        self.accumulated += delta.arrived - delta.sent;
        self.smoothed = weight * self.smoothed + (1.0 - weight) * self.accumulated;
        self.history.push_back(Point { arrived: (at - first) as f64, delay: self.smoothed });
        if self.history.len() > self.settings.window {
            self.history.pop_front();
        }
        if self.history.len() == self.settings.window
            && let Some(slope) = self.slope()
        {
            self.trend = slope;
        }
        self.trend
    }

    /// The slope by least squares; `None` if all groups arrived at once.
    fn slope(&self) -> Option<f64> {
        let count = self.history.len() as f64;
        let mean_arrived = self.history.iter().map(|point| point.arrived).sum::<f64>() / count;
        let mean_delay = self.history.iter().map(|point| point.delay).sum::<f64>() / count;
        let (mut numerator, mut denominator) = (0.0, 0.0);
        for point in &self.history {
            let arrived = point.arrived - mean_arrived;
            numerator += arrived * (point.delay - mean_delay);
            denominator += arrived * arrived;
        }
        (denominator != 0.0).then(|| numerator / denominator)
    }
}
