//! The rate by delay: additive or multiplicative increase, multiplicative decrease.
//!
//! libwebrtc f3ae3eb, `modules/remote_bitrate_estimator/aimd_rate_control.cc`. A first rate is always given here, so the
//! estimate without one is left out, and so is the network state estimate, which no public code computes.

use airlane_core::{BitRate, Duration, Instant};

use super::link_capacity::LinkCapacity;
use super::overuse::BandwidthUsage;
use super::rate::{during, over, scaled};
use super::settings::{AimdSettings, LinkCapacitySettings};

/// The state of the control, outside of a decrease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Hold,
    Increase,
}

/// The control of the rate by delay.
#[derive(Clone, Debug)]
pub(super) struct Aimd {
    settings: AimdSettings,
    link_capacity: LinkCapacity,
    min: BitRate,
    rate: BitRate,
    /// The latest acknowledged rate.
    throughput: BitRate,
    state: State,
    changed: Option<Instant>,
    rtt: Duration,
}

impl Aimd {
    pub(super) fn new(
        settings: AimdSettings,
        link_capacity: LinkCapacitySettings,
        start: BitRate,
        min: BitRate,
    ) -> Self {
        Self {
            settings,
            link_capacity: LinkCapacity::new(link_capacity),
            min,
            rate: start.max(min),
            throughput: start,
            state: State::Hold,
            changed: None,
            rtt: settings.default_rtt,
        }
    }

    pub(super) const fn rate(&self) -> BitRate {
        self.rate
    }

    pub(super) const fn set_rtt(&mut self, rtt: Duration) {
        self.rtt = rtt;
    }

    /// Sets the rate, to the result of a probe for example.
    pub(super) fn set_rate(&mut self, now: Instant, rate: BitRate) {
        self.rate = rate.max(self.min);
        self.changed = Some(now);
    }

    /// Whether overuse lowers the rate now: once in an RTT, or at once if much less is acknowledged than sent.
    pub(super) fn may_decrease(&self, now: Instant, acknowledged: BitRate) -> bool {
        let interval =
            self.rtt.clamp(self.settings.decrease_interval_min, self.settings.decrease_interval_max);
        self.changed.is_none_or(|changed| now.saturating_since(changed) >= interval)
            || acknowledged < scaled(self.rate, self.settings.decrease_at_once)
    }

    /// Takes the state of the detector; returns the rate.
    pub(super) fn update(
        &mut self,
        now: Instant,
        usage: BandwidthUsage,
        acknowledged: Option<BitRate>,
    ) -> BitRate {
        self.throughput = acknowledged.unwrap_or(self.throughput);
        match usage {
            BandwidthUsage::Overusing => self.decrease(now),
            BandwidthUsage::Underusing => self.state = State::Hold,
            BandwidthUsage::Normal => {
                let last = match self.state {
                    State::Hold => now,
                    State::Increase => self.changed.unwrap_or(now),
                };
                self.state = State::Increase;
                self.increase(now, last);
            }
        }
        self.rate
    }

    fn increase(&mut self, now: Instant, last: Instant) {
        if self.throughput > self.link_capacity.upper() {
            self.link_capacity.reset();
        }
        let limit =
            BitRate(scaled(self.throughput, self.settings.limit_factor).0 + self.settings.limit_add.0);
        if self.rate < limit {
            let time = now.saturating_since(last);
            // Near a known capacity the rate grows by addition.
            let growth = match self.link_capacity.estimate() {
                Some(_) => (self.additive_per_second().0 as f64 * time.as_secs_f64()) as u64,
                None => self.multiplicative(time),
            };
            self.rate = BitRate(self.rate.0 + growth).min(limit).max(self.min);
        }
        self.changed = Some(now);
    }

    fn decrease(&mut self, now: Instant) {
        let mut rate = scaled(self.throughput, self.settings.backoff);
        if rate > self.settings.backoff_subtract {
            rate.0 -= self.settings.backoff_subtract.0;
        }
        if rate > self.rate
            && let Some(capacity) = self.link_capacity.estimate()
        {
            rate = scaled(capacity, self.settings.backoff);
        }
        self.rate = rate.min(self.rate).max(self.min);
        if self.throughput < self.link_capacity.lower() {
            self.link_capacity.reset();
        }
        self.link_capacity.on_overuse(self.throughput);
        self.state = State::Hold;
        self.changed = Some(now);
    }

    /// The additive increase: one average packet in two response times.
    pub(super) fn additive_per_second(&self) -> BitRate {
        let frame = during(self.rate, self.settings.frame_interval);
        let packets = frame.0.div_ceil(self.settings.packet_size.0).max(1);
        let packet = airlane_core::Bytes((frame.0 as f64 / packets as f64).round() as u64);
        let response = self.rtt + self.settings.detector_delay;
        over(packet, response + response).max(self.settings.additive_min)
    }

    /// The multiplicative increase of this time, in bit/s.
    fn multiplicative(&self, time: Duration) -> u64 {
        let seconds = time.min(self.settings.multiplicative_time_max).as_secs_f64();
        let factor = libm::pow(self.settings.multiplicative, seconds);
        scaled(self.rate, factor - 1.0).max(self.settings.multiplicative_min).0
    }
}
