//! The target: the estimate by loss, at most that by delay, within the bounds; less when feedback is late.
//!
//! libwebrtc f3ae3eb, `send_side_bandwidth_estimation.cc`. Each packet is reported here, so its older control by the loss of
//! RTCP receiver reports is left out, and so is the limit of REMB.

use airlane_core::{BitRate, Duration, Instant};

use super::loss_based::{LossBased, LossState};
use super::loss_settings::LossSettings;
use super::rate::{UNLIMITED, scaled};
use super::settings::RttBackoffSettings;
use crate::{Bounds, PacketReport};

/// Combines the estimates.
#[derive(Clone, Debug)]
pub(super) struct SendSide {
    backoff: RttBackoffSettings,
    bounds: Bounds,
    target: BitRate,
    delay_based: BitRate,
    loss_based: LossBased,
    loss_state: LossState,
    rtt: Duration,
    propagation: Option<PropagationRtt>,
    last_sent: Option<Instant>,
    decreased: Option<Instant>,
}

/// The least RTT of a report without the time for which the receiver held it.
#[derive(Clone, Copy, Debug)]
struct PropagationRtt {
    at: Instant,
    rtt: Duration,
}

impl SendSide {
    pub(super) fn new(backoff: RttBackoffSettings, loss: LossSettings, bounds: Bounds) -> Self {
        Self {
            backoff,
            bounds,
            target: bounds.start,
            delay_based: UNLIMITED,
            loss_based: LossBased::new(loss, bounds.min, bounds.max),
            loss_state: LossState::Delay,
            rtt: Duration::ZERO,
            propagation: None,
            last_sent: None,
            decreased: None,
        }
    }

    pub(super) const fn target(&self) -> BitRate {
        self.target
    }

    /// The least target.
    pub(super) const fn min(&self) -> BitRate {
        self.bounds.min
    }

    pub(super) const fn loss_state(&self) -> LossState {
        self.loss_state
    }

    pub(super) const fn rtt(&self) -> Duration {
        self.rtt
    }

    pub(super) const fn set_rtt(&mut self, rtt: Duration) {
        self.rtt = rtt;
    }

    pub(super) fn on_sent(&mut self, now: Instant) {
        if self.last_sent.is_none() {
            self.set_propagation_rtt(now, Duration::ZERO);
        }
        self.last_sent = Some(now);
    }

    pub(super) const fn set_propagation_rtt(&mut self, now: Instant, rtt: Duration) {
        self.propagation = Some(PropagationRtt { at: now, rtt });
    }

    /// Whether the RTT is too long. The time since the last report counts as far as packets were sent in it.
    pub(super) fn is_rtt_above_limit(&self) -> bool {
        let (Some(propagation), Some(last_sent)) = (self.propagation, self.last_sent) else { return false };
        last_sent.saturating_since(propagation.at) + propagation.rtt > self.backoff.limit
    }

    pub(super) fn set_acknowledged(&mut self, rate: Option<BitRate>) {
        self.loss_based.set_acknowledged(rate);
    }

    /// The result of a probe replaces the target.
    pub(super) fn set_target(&mut self, rate: BitRate) {
        self.delay_based = UNLIMITED;
        self.limit(rate);
    }

    pub(super) fn set_delay_based(&mut self, rate: BitRate) {
        self.delay_based = if rate == BitRate(0) { UNLIMITED } else { rate };
        self.limit(self.target);
    }

    pub(super) fn on_report(&mut self, now: Instant, packets: &[PacketReport], in_alr: bool) {
        self.loss_based.on_report(packets, self.delay_based, in_alr);
        self.update(now);
    }

    /// Chooses the target.
    pub(super) fn update(&mut self, now: Instant) {
        if self.is_rtt_above_limit() {
            let due = self.decreased.is_none_or(|at| now.saturating_since(at) >= self.backoff.interval);
            if due && self.target > self.backoff.floor {
                self.decreased = Some(now);
                self.limit(scaled(self.target, self.backoff.factor).max(self.backoff.floor));
            } else {
                self.limit(self.target);
            }
        } else if let Some(rate) = self.loss_based.rate() {
            self.loss_state = self.loss_based.state();
            self.limit(rate);
        } else if self.delay_based != UNLIMITED {
            // Too little was observed of loss: the start, in which probes raise the rate.
            self.limit(self.delay_based.max(self.target));
        } else {
            self.limit(self.target);
        }
    }

    fn limit(&mut self, rate: BitRate) {
        self.target = rate.min(self.delay_based).min(self.bounds.max).max(self.bounds.min);
    }
}
