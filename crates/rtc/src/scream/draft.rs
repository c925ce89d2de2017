//! SCReAM v2 as in the draft. Sections are those of draft-ietf-ccwg-rfc8298bis-screamv2 (see `settings.rs`).
//!
//! Where the draft leaves something open, or its text and its code differ, this is what the code here does:
//! - An increased queue delay counts as congestion for the multiplicative increase, as the text says ("A congestion event
//!   is either packet loss, ECN-CE marked packets or increased queue delay"); the code counts losses and marks only.
//!   Ericsson's implementation counts all three.
//! - A round-trip time lasts from the departure of a packet to the arrival of its report, with the time that the receiver
//!   held the report, as in Ericsson's implementation (EricssonResearch/scream c8f84c3, `ScreamV2Tx.cpp`).
//! - The window is updated on each report. Ericsson's implementation gathers the reports of up to 30 ms.
//! - The bytes in flight are observed in round trips of at least `VIRTUAL_RTT`, as in libwebrtc.

use airlane_core::{BitRate, Bytes, Duration, Instant};

use super::delay::{QueueDelay, virtual_alpha};
use super::flight::Acknowledged;
use super::loss::LossRate;
use super::marks::Alpha;
use super::media::{MediaQueue, media_rate, pacing_rate};
use super::settings::{
    BETA_LOSS, DraftOptions, RTT_GAIN, RTT_GAIN_LIMITED, ScreamSettings, VIRTUAL_RTT, WINDOW_STALE_RTTS,
};
use super::window::ReferenceWindow;
use crate::Bounds;
use crate::smooth::{ewma, ratio};

/// `BETA_ECN`. "Reference Window Update".
const BETA_ECN: f64 = 0.8;
/// The least factors of an L4S reduction and of an increase while the queue delay varies. "Reference Window Reduction" and
/// "Reference Window Increase".
const JITTER_LEAST_REDUCTION: f64 = 0.25;
const JITTER_LEAST_INCREASE: f64 = 0.1;
/// `ACKED_BITRATE_MARGIN` and `BACKOFF_SCALE_LOW_TARGET_RATE`. "Reference window undershoot at congestion".
const ACKNOWLEDGED_MARGIN: f64 = 0.8;
const UNDERSHOOT_SCALE: f64 = 0.25;
/// The part of the highest target from which on the window is bounded, and what is added to the round-trip time for it
/// (EricssonResearch/scream c8f84c3, `ScreamV2Tx.cpp`, `updateCwnd`).
const HIGHEST_TARGET: f64 = 0.95;
const RTT_MARGIN: Duration = Duration::from_millis(1);

/// What made a reduction necessary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Congestion {
    Loss,
    Mark,
    Delay,
}

/// The state of the draft's algorithm.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    settings: ScreamSettings,
    options: DraftOptions,
    bounds: Bounds,
    window: ReferenceWindow,
    delay: QueueDelay,
    alpha: Alpha,
    loss_rate: LossRate,
    smoothed_rtt: Option<Duration>,
    /// Marks and losses since the last reduction.
    marked: bool,
    lost: bool,
    acknowledged: AcknowledgedRate,
    media: MediaQueue,
    target: BitRate,
}

impl Draft {
    pub(super) fn new(settings: ScreamSettings, options: DraftOptions, bounds: Bounds) -> Self {
        let DraftOptions { reduce_jitter, correct_clock_drift, .. } = options;
        Self {
            settings,
            options,
            bounds,
            window: ReferenceWindow::new(&settings),
            delay: QueueDelay::new(settings.queue_delay_target, reduce_jitter, correct_clock_drift),
            alpha: Alpha::default(),
            loss_rate: LossRate::new(),
            smoothed_rtt: None,
            marked: false,
            lost: false,
            acknowledged: AcknowledgedRate::default(),
            media: MediaQueue::default(),
            target: bounds.start,
        }
    }

    pub(super) fn smoothed_rtt(&self) -> Duration {
        self.smoothed_rtt.unwrap_or(VIRTUAL_RTT)
    }

    pub(super) const fn target(&self) -> BitRate {
        self.target
    }

    /// The bytes that may be in flight. "Send Window Calculation".
    pub(super) fn send_window(&self) -> Bytes {
        self.window.send_window(self.delay.jitter_scale())
    }

    /// The rate of the pacer.
    pub(super) fn pacing_rate(&self) -> BitRate {
        let headroom = self.settings.pacing_headroom;
        pacing_rate(self.target, self.bounds.max, headroom, self.options.relaxed_pacing)
    }

    pub(super) const fn media(&mut self) -> &mut MediaQueue {
        &mut self.media
    }

    pub(super) fn note_in_flight(&mut self, in_flight: u64) {
        self.window.note_in_flight(in_flight);
    }

    /// A report with at least one packet that arrived.
    pub(super) fn update(&mut self, now: Instant, news: &Acknowledged) {
        let (Some(newest), Some(delays)) = (news.newest, news.delays) else { return };
        self.update_rtt(now.saturating_since(newest.sent.at));
        let rtt = self.smoothed_rtt();
        self.delay.update(now, delays, rtt);
        self.alpha.update_spaced(now, news.packets, news.marked_packets, rtt);
        self.acknowledged.update(now, news.advanced, rtt.max(self.media.frame_period() * 2));
        if self.options.tolerate_link_loss {
            self.loss_rate.update(news.packets, news.lost, self.window.mss_part());
        }
        self.marked |= news.marked_packets > 0;
        self.lost |= news.lost > 0;
        if news.marked_packets > 0 || news.lost > 0 {
            self.window.note_congestion(now);
        }

        let distance = self.window.distance();
        if let Some(congestion) = self.congestion(now, rtt) {
            self.reduce(now, congestion, distance);
        }
        self.increase(now, news, distance);
        if self.options.tolerate_link_loss {
            let bound = self.loss_rate.bound(now, rtt);
            self.window.set(self.window.bytes().min(bound));
        }
        self.window.end_round(now, rtt);
        self.limit_at_highest_target(rtt);
        self.update_target(now);
    }

    fn update_rtt(&mut self, sample: Duration) {
        self.smoothed_rtt = Some(self.smoothed_rtt.map_or(sample, |smoothed| {
            // A source that sends less than the window allows has a shorter round trip, which is no reason to raise the
            // target. "Discussion".
            let limited = self.window.allowed() < self.window.bytes() && sample < smoothed;
            ewma(smoothed, sample, if limited { RTT_GAIN_LIMITED } else { RTT_GAIN })
        }));
    }

    /// The congestion that reduces the window now, if any. "Reference Window Reduction".
    fn congestion(&mut self, now: Instant, rtt: Duration) -> Option<Congestion> {
        if !self.window.may_reduce(now, rtt) {
            return None;
        }
        let (average, target) = (self.delay.average(), self.settings.queue_delay_target);
        if self.lost {
            if !self.options.tolerate_link_loss {
                return Some(Congestion::Loss);
            }
            self.loss_rate.detect_policer(self.window.bytes(), average, target);
            if self.loss_rate.is_congestion(average, target) {
                return Some(Congestion::Loss);
            }
        }
        if self.marked {
            return Some(Congestion::Mark);
        }
        (average > target / 2).then_some(Congestion::Delay)
    }

    fn reduce(&mut self, now: Instant, congestion: Congestion, distance: f64) {
        let rtt = self.smoothed_rtt();
        self.window.mark_inflection(self.window.bytes());
        let kept = match congestion {
            Congestion::Loss => BETA_LOSS,
            Congestion::Mark if !self.options.l4s => BETA_ECN,
            Congestion::Mark => {
                let kept = 1.0 - self.scalable_reduction(distance, rtt);
                if self.window.unreduced_for(now, rtt, WINDOW_STALE_RTTS) {
                    self.window.set(self.window.bytes().min(self.window.previous_peak()));
                }
                kept
            }
            Congestion::Delay => {
                let alpha = virtual_alpha(self.delay.average(), self.settings.queue_delay_target);
                1.0 - spread(alpha / 2.0, rtt) * self.undershoot_scale()
            }
        };
        self.window.set(self.window.bytes() * kept);
        self.window.note_reduction(now);
        self.window.note_congestion(now);
        (self.marked, self.lost) = (false, false);
    }

    /// The part that an L4S mark takes away.
    fn scalable_reduction(&self, distance: f64, rtt: Duration) -> f64 {
        let mut part = spread(self.alpha.get() / 2.0, rtt) * self.undershoot_scale();
        if self.delay.latest() < self.settings.queue_delay_target / 4 {
            part *= ReferenceWindow::near_inflection(distance);
            part *= self.delay.jitter_scale().max(JITTER_LEAST_REDUCTION);
        }
        part
    }

    /// Less than 1 if the target is already below the acknowledged rate.
    fn undershoot_scale(&self) -> f64 {
        let acknowledged = self.acknowledged.bits_per_second * ACKNOWLEDGED_MARGIN;
        if self.options.reduce_undershoot && (self.target.bits_per_second() as f64) < acknowledged {
            UNDERSHOOT_SCALE
        } else {
            1.0
        }
    }

    /// "Reference Window Increase".
    fn increase(&mut self, now: Instant, news: &Acknowledged, distance: f64) {
        let rtt = self.smoothed_rtt();
        let increment = news.advanced.saturating_sub(news.marked) as f64
            * self.window.mss_part()
            * ratio(rtt, VIRTUAL_RTT).min(1.0)
            * ReferenceWindow::near_inflection(distance)
            * self.delay.jitter_scale().max(JITTER_LEAST_INCREASE)
            * self.window.multiplicative(now, rtt, distance);
        let grown = self.window.bytes() + increment;
        if increment > 0.0 && grown <= self.window.allowed() && self.target < self.bounds.max {
            self.window.set(grown);
            self.window.release_inflection();
        }
    }

    /// A window that no longer serves to raise the target is not to exceed the bytes in flight by much. "Reference Window
    /// Increase".
    fn limit_at_highest_target(&mut self, rtt: Duration) {
        let most = self.bounds.max.bits_per_second() as f64;
        if self.target.bits_per_second() as f64 > HIGHEST_TARGET * most {
            let bytes = most / 8.0 * (rtt + RTT_MARGIN).as_secs_f64();
            self.window.limit_to_history(self.settings.pacing_headroom * bytes);
        }
    }

    /// "Media Rate Control".
    fn update_target(&mut self, now: Instant) {
        let margin = self.options.rate_margin + self.media.margin();
        let rate = media_rate(&self.window, self.settings.mss, self.smoothed_rtt(), margin);
        let rate = if self.delay.drains(now) { rate / 2.0 } else { rate };
        self.target = BitRate(rate as u64).clamp(self.bounds.min, self.bounds.max);
    }
}

/// The part of a reduction, when reductions follow each other every [`VIRTUAL_RTT`] and the round trip is longer.
fn spread(part: f64, rtt: Duration) -> f64 {
    part / ratio(rtt, VIRTUAL_RTT).max(1.0)
}

/// `acked_bitrate`: the bytes that were acknowledged in about a round trip, or in two frames if that is longer.
#[derive(Clone, Debug, Default)]
struct AcknowledgedRate {
    bits_per_second: f64,
    bytes: u64,
    since: Instant,
}

impl AcknowledgedRate {
    fn update(&mut self, now: Instant, bytes: u64, window: Duration) {
        self.bytes += bytes;
        let span = now.saturating_since(self.since);
        if span >= window {
            self.bits_per_second = self.bytes as f64 * 8.0 / span.as_secs_f64().max(1e-9);
            (self.bytes, self.since) = (0, now);
        }
    }
}
