//! The congestion window, and the pushback: media gets a lower rate while more is in flight than the window.
//!
//! libwebrtc f3ae3eb, `goog_cc_network_control.cc`, `congestion_window_pushback_controller.cc`, and for what the encoder does
//! `video/video_stream_encoder.cc`.

use std::collections::VecDeque;

use airlane_core::{BitRate, Bytes, Duration};

use super::rate::during;
use super::settings::CongestionWindowSettings;

/// A reduction of the rate below this share has no effect on the encoder (`video_stream_encoder.cc`, `UpdateTargetBitrate`).
const REDUCTION_MIN: f64 = 0.01;

/// The window and what is in flight.
#[derive(Clone, Debug)]
pub(super) struct CongestionWindow {
    settings: CongestionWindowSettings,
    /// The longest RTT of each of the latest reports.
    round_trips: VecDeque<Duration>,
    window: Option<Bytes>,
    in_flight: Bytes,
    /// The share of the estimate that is left for media.
    factor: f64,
}

impl CongestionWindow {
    pub(super) const fn new(settings: CongestionWindowSettings) -> Self {
        Self { settings, round_trips: VecDeque::new(), window: None, in_flight: Bytes::ZERO, factor: 1.0 }
    }

    pub(super) fn add_round_trip(&mut self, rtt: Duration) {
        self.round_trips.push_back(rtt);
        if self.round_trips.len() > self.settings.reports {
            self.round_trips.pop_front();
        }
    }

    pub(super) const fn on_sent(&mut self, size: Bytes) {
        self.in_flight.0 += size.0;
    }

    pub(super) const fn set_in_flight(&mut self, bytes: Bytes) {
        self.in_flight = bytes;
    }

    /// The window of this estimate, half of which is the window before.
    pub(super) fn update(&mut self, estimate: BitRate) {
        let Some(rtt) = self.round_trips.iter().min() else { return };
        let window = during(estimate, *rtt + self.settings.queue);
        let window = self.window.map_or(window, |last| Bytes(u64::midpoint(window.0, last.0)));
        self.window = Some(window.max(self.settings.min));
    }

    /// The rate that the window leaves of an estimate. Each call moves it by a step.
    pub(super) fn media_rate(&mut self, estimate: BitRate) -> BitRate {
        let Some(window) = self.window.filter(|_| self.settings.enabled) else { return estimate };
        let fill = self.in_flight.0 as f64 / window.0 as f64;
        self.factor = if fill > 1.5 {
            self.factor * 0.9
        } else if fill > 1.0 {
            self.factor * 0.95
        } else if fill < 0.1 {
            1.0
        } else {
            (self.factor * 1.05).min(1.0)
        };
        let rate = BitRate((estimate.0 as f64 * self.factor) as u64);
        if rate < self.settings.rate_min { estimate.min(self.settings.rate_min) } else { rate }
    }

    /// The encoder's rate: each n-th frame is dropped, at most every second, and the rate is lower by as much.
    pub(super) fn encoder_rate(&self, estimate: BitRate, media: BitRate) -> BitRate {
        let reduction = estimate.0.saturating_sub(media.0);
        if reduction as f64 <= REDUCTION_MIN * estimate.0 as f64 {
            return estimate;
        }
        let interval = (estimate.0 / reduction).max(2);
        BitRate(estimate.0 - estimate.0 / interval)
    }
}
