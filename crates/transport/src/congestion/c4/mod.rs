//! C4, "Christian's congestion control" (C. Huitema and others, draft-huitema-ccwg-c4): a rate, the highest that was
//! delivered, and a limit of the data in flight by the maximum round trip, which includes the jitter of radio links.
//!
//! The law is that of the authors' code (private-octopus/picoquic 0a82f5f8, `picoquic/c4.c`); names in parentheses are
//! of it. Where the draft (version 4) differs: it has four eras of cruising, here two, and 1/4 as the reduction at a
//! loss, here up to 1/4 by the rate.
//!
//! An era is a round trip: it ends when a segment that was sent after its beginning is delivered. States:
//!
//! - *Initial* sends at twice the delivered rate, and ends when the rate has not grown for three eras, or two with an
//!   increased round trip, or at losses or marks.
//! - *Recovery*, an era at 15/16 of the rate, at whose end the growth of the probe or push before it is evaluated.
//! - *Cruising*, two eras at the rate.
//! - *Probing*, an era at 17/16; then recovery.
//! - *Pushing*, at about 5/4 (1256/1024), after a probe with growth; it continues while the rate grows by more than three
//!   quarters of the step.
//!
//! Left out: careful resume, which needs the rate of an earlier connection. Added: the sender paces at two segments in a
//! smoothed round trip at least, the minimum window, so that marks on every packet do not reduce the rate to zero.

mod response;
mod signals;
mod states;
#[cfg(test)]
mod tests;

use airlane_core::{BitRate, Duration, Instant, PathModel};

use self::signals::{MarkRate, delay_threshold_us, scaled};
use super::loss_rate::LossRate;
use super::{
    AckSample, CongestionController, DeliverySample, LossCause, LossEpisode, LostSegment, MarkSample, Needs,
    SegmentWindow, Snapshot, TimeoutEpisode,
};

/// Factors of the rate in 1/1024: C4_ALPHA_INITIAL, C4_ALPHA_RECOVER_1024, C4_ALPHA_RECOVER2_1024,
/// C4_ALPHA_CRUISE_1024, C4_ALPHA_PUSH_25, and of probing by default and after marks.
const INITIAL: u64 = 2048;
const RECOVER: u64 = 960;
const RECOVER_AGAIN: u64 = 896;
const CRUISE: u64 = 1024;
const PUSH: u64 = 1256;
const PROBE: u64 = 1088;
const PROBE_MARKED: u64 = 1056;
/// C4_MAX_RTT_MIN, C4_RTT_MARGIN_DELAY and C4_MAX_JITTER in microseconds.
const MAX_RTT_MIN_US: u64 = 1_000;
const RTT_MARGIN_US: u64 = 15_000;
const JITTER_MAX_US: u64 = 250_000;
/// C4_INITIAL_PACING in bytes per second.
const INITIAL_PACING: u64 = 0x2_0000;
/// PICOQUIC_CWIN_INITIAL in bytes.
const INITIAL_WINDOW: u64 = 15_360;
/// C4_PROBE_LEVEL_DEFAULT.
const LEVEL_DEFAULT: u32 = 1;
/// The largest burst in bytes (`c4_apply_rate_and_cwin`).
const QUANTUM_MAX: u64 = 0x1_0000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Initial,
    Recovery,
    Cruising,
    Probing,
    Pushing,
}

impl State {
    const fn name(self) -> &'static str {
        match self {
            Self::Initial => "Initial",
            Self::Recovery => "Recovery",
            Self::Cruising => "Cruising",
            Self::Probing => "Probing",
            Self::Pushing => "Pushing",
        }
    }
}

/// The controller. Rates are in bytes per second, times in microseconds.
#[derive(Clone, Debug)]
pub struct C4 {
    state: State,
    /// nominal_rate, nominal_max_rtt, running_min_rtt.
    rate: u64,
    max_rtt: u64,
    min_rtt: Option<u64>,
    /// alpha_1024_current and alpha_1024_previous.
    alpha: u64,
    alpha_before: u64,
    /// The window of Initial in bytes, and its acknowledgments and losses.
    initial_window: u64,
    startup_packets: u64,
    /// Segments delivered when the era began.
    era_delivered: u64,
    era_max_rtt: u64,
    era_min_rtt: Option<u64>,
    eras: u64,
    flat_eras: u32,
    cruise_left: u32,
    /// Marks (0), a probe (1), or pushes after growth (2 and 3).
    level: u32,
    /// push_rate_old and push_alpha: rate and factor before the growth that is judged.
    rate_before: u64,
    push_alpha: u64,
    was_not_limited: bool,
    notified: bool,
    marked_after_push: bool,
    initial_again: bool,
    /// recent_maximum_rate and recent_congestions.
    recent_rate: u64,
    recent_congestions: u32,
    peak_rate: u64,
    delay_threshold: u64,
    delay_excess: u64,
    losses: LossRate,
    marks: MarkRate,
    // The last values, for window and rate.
    delivered: u64,
    srtt: u64,
    latest: (u64, bool),
    pacing_rate: u64,
}

impl Default for C4 {
    fn default() -> Self {
        Self {
            state: State::Initial,
            rate: 0,
            max_rtt: 0,
            min_rtt: None,
            alpha: INITIAL,
            alpha_before: INITIAL,
            initial_window: INITIAL_WINDOW,
            startup_packets: 0,
            era_delivered: 0,
            era_max_rtt: 0,
            era_min_rtt: None,
            eras: 0,
            flat_eras: 0,
            cruise_left: 0,
            level: LEVEL_DEFAULT,
            rate_before: 0,
            push_alpha: INITIAL,
            was_not_limited: false,
            notified: false,
            marked_after_push: false,
            initial_again: false,
            recent_rate: 0,
            recent_congestions: 0,
            peak_rate: 0,
            delay_threshold: 0,
            delay_excess: 0,
            losses: LossRate::default(),
            marks: MarkRate::default(),
            delivered: 0,
            srtt: 0,
            latest: (0, false),
            pacing_rate: 0,
        }
    }
}

/// Bytes of a rate in a time in microseconds.
const fn bytes(rate: u64, us: u64) -> u64 {
    (rate as u128 * us as u128 / 1_000_000) as u64
}

// Measurements.
impl C4 {
    fn set_max_rtt(&mut self, us: u64) {
        self.max_rtt = us.max(MAX_RTT_MIN_US);
        self.delay_threshold = delay_threshold_us(self.rate, self.max_rtt);
    }

    /// A sample of the round trip (`c4_update_rtt`).
    fn on_rtt(&mut self, rtt: u64) {
        self.era_max_rtt = self.era_max_rtt.max(rtt);
        self.era_min_rtt = Some(self.era_min_rtt.map_or(rtt, |min| min.min(rtt)));
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
        if self.max_rtt == 0 {
            self.set_max_rtt(rtt);
            self.delay_excess = 0;
        } else {
            self.delay_excess = rtt.saturating_sub(self.max_rtt + self.delay_threshold);
        }
    }

    /// A sample of the delivery rate (`c4_handle_ack`).
    fn on_rate(&mut self, rate: u64, delivered: u64) {
        let before = self.rate;
        self.recent_rate = self.recent_rate.max(rate);
        self.peak_rate = self.peak_rate.max(rate);
        if rate > self.rate && !(self.state == State::Recovery && self.notified) {
            self.was_not_limited = true;
            self.rate = rate;
            self.delay_threshold = delay_threshold_us(self.rate, self.max_rtt);
        } else if delivered > bytes(before, self.min_rtt.unwrap_or(0)) {
            // More was delivered than the rate delivers in a minimum round trip: the application was not the limit.
            self.was_not_limited = true;
        }
    }

    /// The round trips of an era whose predecessor sent no more than the rate (`c4_update_min_max_rtt`).
    fn end_era_rtt(&mut self) {
        let Some(era_min) = self.era_min_rtt else { return };
        if self.alpha_before <= CRUISE {
            let min_rtt = match self.min_rtt {
                Some(min) if era_min >= min => (7 * min + era_min) / 8,
                _ => era_min,
            };
            self.min_rtt = Some(min_rtt);
            let era_max = self.era_max_rtt.min(min_rtt + JITTER_MAX_US);
            let max_rtt = if era_max > self.max_rtt { era_max } else { (7 * self.max_rtt + era_max) / 8 };
            self.set_max_rtt(max_rtt);
        } else {
            self.set_max_rtt(self.max_rtt);
        }
    }
}

// Window and rate.
impl C4 {
    /// Sets window and rate (`c4_apply_rate_and_cwin`).
    fn apply(&mut self, window: &mut SegmentWindow) {
        let segment = u64::from(window.segment_size());
        let mut pacing = scaled(self.alpha, self.rate);
        let known = self.max_rtt != 0 && self.rate != 0;
        let mut target = if known { bytes(pacing, self.max_rtt) } else { INITIAL_WINDOW };
        if self.state == State::Initial {
            target = target.max(self.initial_window);
            if self.startup_packets > 0 {
                pacing = pacing.max(INITIAL_PACING);
                if self.peak_rate > pacing {
                    pacing = u64::midpoint(pacing, self.peak_rate);
                    target = target.max(bytes(self.peak_rate, self.srtt) / 2);
                }
            }
            self.initial_window = target;
        } else {
            target += bytes(pacing, RTT_MARGIN_US.min(self.max_rtt / 4));
            if matches!(self.state, State::Probing | State::Pushing) {
                let more = bytes(scaled(self.alpha - CRUISE, self.rate), self.max_rtt);
                target += segment.saturating_sub(more);
            }
        }
        window.segments = ((target / segment) as u32).max(SegmentWindow::MIN_SSTHRESH);
        let slowest = u64::from(SegmentWindow::MIN_SSTHRESH) * segment * 1_000_000 / self.srtt.max(1);
        self.pacing_rate = pacing.max(slowest);
    }
}

impl CongestionController for C4 {
    /// Packets have ECT(1), as picoquic sends them with C4 (PICOQUIC_ECN_ECT_1).
    fn needs(&self) -> Needs {
        Needs { marks: true, scalable: true, ..Needs::PATH_MODEL }
    }

    fn on_established(&mut self, window: &SegmentWindow, _: Instant, rtt: Option<Duration>) {
        self.initial_window = u64::from(window.segments) * u64::from(window.segment_size());
        if let Some(rtt) = rtt.filter(|rtt| !rtt.is_zero()) {
            self.srtt = rtt.as_micros();
        }
    }

    fn on_ack(&mut self, _: &mut SegmentWindow, _: &AckSample) {}

    fn on_delivery(&mut self, window: &mut SegmentWindow, sample: &DeliverySample) {
        let segment = u64::from(window.segment_size());
        let in_use = u64::from(window.segments) * segment;
        self.delivered = sample.delivered;
        self.srtt = sample.srtt.as_micros();
        if let Some(rtt) = sample.rtt {
            self.on_rtt(rtt.as_micros().max(1));
            self.judge_delay();
        }
        if sample.newly_delivered > 0 {
            let mut era_over = false;
            let mut app_limited = false;
            if let Some(rate) = &sample.rate {
                let delivered = rate.delivered * segment;
                let bytes_per_second =
                    u128::from(delivered) * 1_000_000_000 / u128::from(rate.interval.as_nanos().max(1));
                self.latest = (bytes_per_second as u64, rate.app_limited);
                self.on_rate(bytes_per_second as u64, delivered);
                era_over = rate.prior_delivered >= self.era_delivered;
                app_limited = rate.app_limited;
            }
            if self.state == State::Initial {
                self.drive_initial(u64::from(sample.newly_delivered) * segment, era_over);
            } else {
                self.drive(in_use, era_over, app_limited);
            }
        }
        self.apply(window);
    }

    fn on_segment_lost(&mut self, window: &mut SegmentWindow, lost: &LostSegment) {
        if self.state == State::Recovery && lost.delivered_when_sent < self.era_delivered {
            return; // sent before recovery
        }
        if self.judge_loss(lost.number) {
            self.apply(window);
        }
    }

    fn on_marks(&mut self, window: &mut SegmentWindow, sample: &MarkSample) {
        self.marks.count(sample.delivered_segments.into(), sample.marked_segments.into());
        if sample.marked_segments > 0 {
            self.judge_marks();
            self.apply(window);
        }
    }

    /// Classic feedback: all that an acknowledgment with an echo delivers counts as marked.
    fn on_echo(&mut self, sample: &MarkSample) {
        self.marks.count(sample.delivered_segments.into(), sample.marked_segments.into());
    }

    fn on_ecn(&mut self, window: &mut SegmentWindow, _: &LossEpisode) {
        self.judge_marks();
        self.apply(window);
    }

    fn threshold(&mut self, window: &SegmentWindow) -> u32 {
        window.segments
    }

    fn on_loss(&mut self, _: &mut SegmentWindow, _: &LossEpisode, _: LossCause) {}

    fn on_recovery_exit(&mut self, _: &mut SegmentWindow) {}

    /// A timeout is a probe: the next acknowledgment restores the window.
    fn on_timeout(&mut self, window: &mut SegmentWindow, timeout: &TimeoutEpisode) {
        window.restart_from(timeout.restart_segments);
    }

    fn on_undo(&mut self, window: &mut SegmentWindow, _: &Snapshot) {
        self.apply(window);
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        (self.pacing_rate > 0).then(|| BitRate(self.pacing_rate * 8))
    }

    fn send_quantum(&self, segment_size: u32) -> u32 {
        (scaled(4, self.pacing_rate).min(QUANTUM_MAX) / u64::from(segment_size)).max(2) as u32
    }

    fn path_model(&self, window: &SegmentWindow, in_flight: u32) -> Option<PathModel> {
        let gain = self.alpha as f64 / 1024.0;
        Some(PathModel {
            state: self.state.name(),
            gains: [gain, gain],
            round: self.eras,
            pacing_rate: BitRate(self.pacing_rate * 8),
            congestion_window: window.segments,
            in_flight,
            delivery_rate: BitRate(self.latest.0 * 8),
            app_limited: self.latest.1,
            max_bandwidth: BitRate(self.rate * 8),
            min_rtt: self.min_rtt.map(Duration::from_micros),
            target: (bytes(self.rate, self.max_rtt) / u64::from(window.segment_size())) as u32,
            extra_acked: 0,
            bandwidth_short: None,
            inflight_short: None,
            inflight_long: None,
            full_rounds: self.flat_eras,
            full_reached: self.state != State::Initial,
        })
    }
}
