//! SCReAM v2 as in libwebrtc (`scream_v2.cc`, `delay_based_congestion_control.cc` and `scream_feedback.cc` in
//! `modules/congestion_controller/scream`, maitrungduc1410/webrtc f3ae3eb).
//!
//! Its cut of a stale window to the bytes in flight is left out: at f3ae3eb the time of the last reaction is set before
//! it is compared, so the cut never happens.

use airlane_core::{BitRate, Bytes, Duration, Instant};

use super::delay::virtual_alpha;
use super::flight::{Acknowledged, Arrival};
use super::loss::LossLevel;
use super::marks::Alpha;
use super::media::small_window_scale;
use super::settings::{BETA_LOSS, QUEUE_DELAY_GAIN, RTT_GAIN, RTT_GAIN_LIMITED, ScreamSettings, VIRTUAL_RTT};
use super::window::ReferenceWindow;
use crate::Bounds;
use crate::base_delay::BaseDelay;
use crate::smooth::{ewma, ratio};

/// `FeedbackHoldTimeAvgG`.
const HOLD_GAIN: f64 = 1.0 / 8.0;
/// `DelayMinAndLatencyDiffAvgG`.
const DELAY_GAIN: f64 = 1.0 / 32.0;
/// `QDelayMinThreshold` and `LatencyDiffThreshold`.
const DELAY_THRESHOLD: Duration = Duration::from_millis(10);
/// The scale is 0.1 at the threshold and 1 at a quarter of it.
const DELAY_SCALE_LEAST: f64 = 0.1;
const DELAY_SCALE_SLOPE: f64 = 1.2;
/// `QDelayDrainThreshold`: the queue counts as drained below.
const DRAINED: Duration = Duration::from_millis(5);
/// `QDelayDrainPeriod`.
const DRAIN_AFTER: Duration = Duration::from_secs(20);
/// `QDelayDrainRtts`, and the least time.
const DRAIN_RTTS: u64 = 5;
const DRAIN_LEAST: Duration = Duration::from_millis(100);
/// `AlrThreshold`.
const APPLICATION_LIMITED: f64 = 0.9;
/// `ReceivedRateWindow`.
const RECEIVED_WINDOW: Duration = Duration::from_millis(100);
/// `PacingRateReceivedFactor`.
const PACING_RECEIVED: f64 = 0.8;
/// The least smoothed round-trip time in the target.
const RTT_LEAST: Duration = Duration::from_millis(1);

/// The state of libwebrtc's algorithm.
#[derive(Clone, Debug)]
pub(super) struct Libwebrtc {
    settings: ScreamSettings,
    bounds: Bounds,
    window: ReferenceWindow,
    delay: Delay,
    alpha: Alpha,
    loss: LossLevel,
    received: ReceivedRate,
    smoothed_rtt: Option<Duration>,
    hold: Duration,
    drain_since: Option<Instant>,
    application_limited: bool,
    decreased_at: Option<Instant>,
    target: BitRate,
}

impl Libwebrtc {
    pub(super) fn new(settings: ScreamSettings, bounds: Bounds) -> Self {
        Self {
            settings,
            bounds,
            window: ReferenceWindow::new(&settings),
            delay: Delay::default(),
            alpha: Alpha::default(),
            loss: LossLevel::default(),
            received: ReceivedRate::default(),
            smoothed_rtt: None,
            hold: Duration::ZERO,
            drain_since: None,
            application_limited: false,
            decreased_at: None,
            target: bounds.start,
        }
    }

    pub(super) fn smoothed_rtt(&self) -> Duration {
        self.smoothed_rtt.unwrap_or(VIRTUAL_RTT)
    }

    pub(super) const fn target(&self) -> BitRate {
        self.target
    }

    /// When the window last became smaller.
    pub(super) const fn decreased_at(&self) -> Option<Instant> {
        self.decreased_at
    }

    /// The bytes that may be in flight (`max_data_in_flight`).
    pub(super) fn send_window(&self) -> Bytes {
        self.window.send_window(delay_scale(self.delay.least_average).max(0.0))
    }

    /// The rate of the pacer (`pacing_rate`).
    pub(super) fn pacing_rate(&self) -> BitRate {
        let target = self.target.bits_per_second() as f64 * self.settings.pacing_headroom;
        BitRate(target.max(self.received.bits_per_second.map_or(0.0, |rate| rate * PACING_RECEIVED)) as u64)
    }

    pub(super) fn note_in_flight(&mut self, in_flight: u64) {
        self.window.note_in_flight(in_flight);
    }

    /// A report with at least one packet that arrived. `held` is the time for which the receiver held it.
    pub(super) fn update(&mut self, now: Instant, news: &Acknowledged, held: Duration) {
        let (Some(first), Some(last), Some(delays)) = (news.first, news.last, news.delays) else { return };
        self.received.update(last.at, news.received);
        self.application_limited = self.allowed() < self.window.bytes()
            && self
                .received
                .bits_per_second
                .is_some_and(|rate| rate < APPLICATION_LIMITED * self.target.bits_per_second() as f64);
        let is_first = self.smoothed_rtt.is_none();
        self.update_rtt(now, first, last, held);
        self.delay.update(now, delays.least_ns, delays.most_ns);
        let rtt = self.smoothed_rtt();
        if is_first {
            self.window.set(self.bounds.start.bytes_in(rtt + self.hold).get() as f64);
        }
        self.alpha.update(news.packets, news.marked_packets);
        self.loss.update(now, news.lost, news.recovered, rtt);
        self.update_window(now, news, rtt);
        self.update_target(now, rtt);
        self.window.end_round(now, rtt);
    }

    fn update_rtt(&mut self, now: Instant, first: Arrival, last: Arrival, held: Duration) {
        let sample = now.saturating_since(last.sent.at).saturating_sub(held);
        let hold = last.at.saturating_since(first.at) + held;
        let gain = if self.application_limited { RTT_GAIN_LIMITED } else { RTT_GAIN };
        self.smoothed_rtt = Some(self.smoothed_rtt.map_or(sample, |smoothed| ewma(smoothed, sample, gain)));
        if !self.application_limited {
            self.hold = if self.hold.is_zero() { hold } else { ewma(self.hold, hold, HOLD_GAIN) };
        }
    }

    /// `max_allowed_ref_window`.
    fn allowed(&self) -> f64 {
        self.window.allowed().max(self.settings.min_window.get() as f64)
    }

    /// `UpdateRefWindow`.
    fn update_window(&mut self, now: Instant, news: &Acknowledged, rtt: Duration) {
        let marked = news.marked_packets > 0;
        let delayed =
            self.delay.average.is_some_and(|average| average > self.settings.queue_delay_target / 2);
        let lost = news.lost > 0 && (self.loss.congested() || delayed);
        let before = self.window.bytes();

        let reacts = (marked || delayed || lost) && self.window.may_reduce(now, rtt);
        if reacts {
            self.window.note_reduction(now);
            self.window.note_congestion(now);
            self.reduce(lost, marked, delayed, rtt);
        }
        if reacts || (!marked && !delayed && self.loss.clear()) {
            self.increase(now, news, rtt);
        }

        let after = self.window.bytes();
        if after > before {
            self.window.release_inflection();
        }
        if after < before {
            self.decreased_at = Some(now);
            self.window.mark_inflection(before);
        }
    }

    fn reduce(&mut self, lost: bool, marked: bool, delayed: bool, rtt: Duration) {
        let spread = ratio(rtt, VIRTUAL_RTT).max(1.0);
        let part = if lost {
            1.0 - BETA_LOSS
        } else if marked {
            let scale = if delayed {
                1.0
            } else {
                ReferenceWindow::near_inflection(self.window.distance())
                    * delay_scale(self.delay.least_average).max(DELAY_SCALE_LEAST)
            };
            self.alpha.get() / 2.0 / spread * scale
        } else {
            let average = self.delay.average.unwrap_or_default();
            virtual_alpha(average, self.settings.queue_delay_target) / 2.0 / spread
        };
        self.window.set(self.window.bytes() * (1.0 - part));
    }

    fn increase(&mut self, now: Instant, news: &Acknowledged, rtt: Duration) {
        let short = ratio(rtt + self.hold, VIRTUAL_RTT).min(1.0);
        let distance = self.window.distance();
        let scale = self.window.mss_part()
            * short
            * short
            * ReferenceWindow::near_inflection(distance)
            * delay_scale(self.delay.least_average).max(DELAY_SCALE_LEAST)
            * delay_scale(self.delay.spread_average).max(DELAY_SCALE_LEAST)
            * self.window.multiplicative(now, rtt, distance);
        // `acked_not_marked_size` has the packets of the report without a mark, lost ones among them.
        let unmarked = (news.received - news.marked + news.lost_bytes) as f64;
        let allowed = self.allowed();
        if self.window.bytes() < allowed {
            self.window.set((self.window.bytes() + unmarked * scale).min(allowed));
        }
    }

    /// `UpdateTargetRate`.
    fn update_target(&mut self, now: Instant, rtt: Duration) {
        let rtt = rtt.max(RTT_LEAST);
        let span = (rtt + self.hold).as_secs_f64();
        let mut rate = small_window_scale(&self.window) * self.window.bytes() * 8.0 / span;
        if self.delay.drained_in_time(now) {
            self.drain_since = None;
        } else {
            let since = *self.drain_since.get_or_insert(now);
            if now.saturating_since(since) < (rtt * DRAIN_RTTS).max(DRAIN_LEAST) {
                rate /= 2.0;
            } else {
                self.delay = Delay::default();
            }
        }
        self.target = BitRate(rate as u64).clamp(self.bounds.min, self.bounds.max);
    }
}

/// `ref_window_scale_factor_due_to_…`, without its lower bound: the smaller the delay, the closer to 1.
fn delay_scale(delay: Duration) -> f64 {
    (DELAY_SCALE_LEAST + DELAY_SCALE_SLOPE * (1.0 - ratio(delay, DELAY_THRESHOLD))).min(1.0)
}

/// `DelayBasedCongestionControl`.
#[derive(Clone, Debug, Default)]
struct Delay {
    base: BaseDelay,
    previous: Option<Duration>,
    average: Option<Duration>,
    least_average: Duration,
    spread_average: Duration,
    undrained_since: Option<Instant>,
}

impl Delay {
    /// The smallest and the largest one-way delay of a report's packets, in nanoseconds.
    fn update(&mut self, now: Instant, least_ns: i64, most_ns: i64) {
        let least = self.base.queue_delay(now, least_ns);
        self.undrained_since = (least > DRAINED).then(|| self.undrained_since.unwrap_or(now));
        let sample = self.previous.map_or(least, |previous| previous.min(least));
        self.previous = Some(least);
        self.average = Some(match self.average {
            Some(average) if sample >= average => ewma(average, sample, QUEUE_DELAY_GAIN),
            _ => sample,
        });
        let most = DELAY_THRESHOLD * 2;
        self.least_average = ewma(self.least_average, least.min(most), DELAY_GAIN);
        let spread = Duration::from_nanos((most_ns - least_ns) as u64);
        self.spread_average = ewma(self.spread_average, spread.min(most), DELAY_GAIN);
    }

    fn drained_in_time(&self, now: Instant) -> bool {
        self.undrained_since.is_none_or(|since| now.saturating_since(since) < DRAIN_AFTER)
    }
}

/// The rate at which packets arrive, by the clock of the receiver.
#[derive(Clone, Debug, Default)]
struct ReceivedRate {
    bits_per_second: Option<f64>,
    bytes: u64,
    since: Option<Instant>,
}

impl ReceivedRate {
    fn update(&mut self, arrived: Instant, bytes: u64) {
        let Some(since) = self.since else {
            self.since = Some(arrived);
            return;
        };
        self.bytes += bytes;
        let span = arrived.saturating_since(since);
        if span >= RECEIVED_WINDOW {
            self.bits_per_second = Some(self.bytes as f64 * 8.0 / span.as_secs_f64());
            (self.bytes, self.since) = (0, Some(arrived));
        }
    }
}
