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
//! - *Recovery*, an era at 15/16 of the rate, after which growth is judged.
//! - *Cruising*, two eras at the rate.
//! - *Probing*, an era at 17/16; then recovery.
//! - *Pushing*, at 5/4 while the rate grows by three quarters of that; after a probe that found more.
//!
//! Left out: careful resume, which needs the rate of an earlier connection. Added: the sender paces at two segments in a
//! smoothed round trip at least, the minimum window, so that marks on every packet do not end the transfer.

mod signals;
#[cfg(test)]
mod tests;

use airlane_core::{BitRate, Duration, Instant, PathModel};

use self::signals::{
    MarkRate, delay_threshold_us, loss_threshold, mark_threshold_1024, scaled, sensitivity_1024,
};
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
/// Addition to cruising where the round trip is below C4_MAX_RTT_MIN (`c4_enter_cruise`).
const CRUISE_SHORT: u64 = 48;
/// C4_MAX_RTT_MIN, C4_RTT_MARGIN_DELAY and C4_MAX_JITTER in microseconds.
const MAX_RTT_MIN_US: u64 = 1_000;
const RTT_MARGIN_US: u64 = 15_000;
const JITTER_MAX_US: u64 = 250_000;
/// C4_BETA_LOSS_1024: the largest reduction.
const BETA_MAX_1024: u64 = 256;
/// C4_NB_PACKETS_BEFORE_LOSS.
const PACKETS_BEFORE_LOSS: u64 = 20;
/// C4_NB_CRUISE_BEFORE_PUSH.
const CRUISE_ERAS: u32 = 2;
/// Eras without growth that end Initial (`c4_initial_handle_ack`).
const FLAT_ERAS: u32 = 3;
/// C4_INITIAL_PACING in bytes per second.
const INITIAL_PACING: u64 = 0x2_0000;
/// PICOQUIC_CWIN_INITIAL in bytes.
const INITIAL_WINDOW: u64 = 15_360;
/// C4_PROBE_LEVEL_DEFAULT; above C4_PROBE_LEVEL_MAX, Initial begins again.
const LEVEL_DEFAULT: u32 = 1;
const LEVEL_MAX: u32 = 3;
/// The delay step after which Initial begins again, once (`c4_handle_ack`).
const STEP_RTT_US: u64 = 50_000;
const STEP_RATE: u64 = 1_000_000;
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signal {
    Delay,
    Marks,
    Loss,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Growth {
    None,
    Slow,
    Fast,
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
            // More was under way than the rate carries: the path is the limit.
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

    /// Whether the rate has grown as it should after the factor that was tried (`c4_growth_evaluate`).
    fn growth(&self) -> Growth {
        let (before, tried) = (self.rate_before, scaled(self.push_alpha, self.rate_before));
        if self.push_alpha <= PROBE {
            return if self.rate > before && !self.notified { Growth::Fast } else { Growth::None };
        }
        if self.rate < (3 * before + tried) / 4 {
            Growth::None
        } else if self.rate > (before + 3 * tried) / 4 {
            Growth::Fast
        } else {
            Growth::Slow
        }
    }

    const fn reset_growth(&mut self) {
        self.notified = false;
        self.was_not_limited = false;
        self.rate_before = self.rate;
        self.push_alpha = self.alpha;
    }
}

// States.
impl C4 {
    fn begin_era(&mut self) {
        self.era_delivered = self.delivered;
        self.era_max_rtt = 0;
        self.era_min_rtt = None;
        self.alpha_before = self.alpha;
        self.marks.update();
        self.eras += 1;
    }

    fn enter_initial(&mut self, window: u64) {
        self.state = State::Initial;
        self.initial_window = window;
        self.level = LEVEL_DEFAULT;
        self.alpha = INITIAL;
        self.startup_packets = 0;
        self.begin_era();
        self.flat_eras = 0;
        self.marks.clear();
        self.reset_growth();
    }

    fn exit_initial(&mut self) {
        if self.rate == 0 {
            return;
        }
        let half = u128::from(self.initial_window / 2);
        self.set_max_rtt((half * 1_000_000 / u128::from(self.rate)) as u64);
        self.flat_eras = 0;
        self.level = LEVEL_DEFAULT;
        self.enter_recovery(false);
    }

    fn enter_recovery(&mut self, marked: bool) {
        if self.state == State::Initial {
            self.reset_growth();
        }
        if self.state != State::Recovery {
            self.marked_after_push = marked;
            self.state = State::Recovery;
            self.begin_era();
            self.alpha = RECOVER;
        }
    }

    /// The end of recovery judges the push or probe before it (`c4_exit_recovery`).
    fn exit_recovery(&mut self, window: u64) {
        if self.growth() != Growth::None {
            self.level += u32::from(!self.marked_after_push);
            self.recent_congestions = 0;
        } else {
            if self.was_not_limited {
                self.level = u32::from(!self.marked_after_push);
            }
            self.recent_congestions = if self.notified { self.recent_congestions + 1 } else { 0 };
            if self.recent_congestions >= 2 && self.recent_rate > 0 {
                self.rate = self.rate.min(self.recent_rate);
            }
        }
        self.recent_rate = 0;
        self.reset_growth();
        self.delay_excess = 0;
        self.losses.clear();
        self.marks.clear();
        if self.level > LEVEL_MAX {
            self.enter_initial(window);
        } else if self.level > LEVEL_DEFAULT {
            self.enter_pushing();
        } else {
            self.enter_cruising();
        }
    }

    fn enter_cruising(&mut self) {
        self.begin_era();
        if self.cruise_left == 0 {
            self.cruise_left = if self.level == 0 { 1 } else { CRUISE_ERAS };
        }
        self.alpha = CRUISE + if self.srtt < MAX_RTT_MIN_US { CRUISE_SHORT } else { 0 };
        self.state = State::Cruising;
    }

    fn enter_probing(&mut self) {
        self.alpha = if self.level == 0 { PROBE_MARKED } else { PROBE };
        self.push_alpha = self.alpha;
        self.begin_era();
        self.state = State::Probing;
    }

    fn enter_pushing(&mut self) {
        self.alpha = PUSH;
        self.state = State::Pushing;
        self.flat_eras = 0;
        self.reset_growth();
        self.begin_era();
    }

    /// An acknowledgment in Initial (`c4_initial_handle_ack`).
    fn drive_initial(&mut self, acked: u64, era_over: bool) {
        self.startup_packets += 1;
        self.initial_window += acked >> (3 * self.flat_eras);
        if !era_over {
            return;
        }
        if self.growth() != Growth::None {
            self.flat_eras = 0;
        } else if self.was_not_limited && self.rate > 0 {
            self.flat_eras += 1;
        }
        self.begin_era();
        if self.flat_eras >= FLAT_ERAS {
            self.exit_initial();
        } else {
            self.reset_growth();
        }
    }

    /// An acknowledgment after Initial.
    fn drive(&mut self, window: u64, era_over: bool, app_limited: bool) {
        if !era_over {
            if self.state == State::Pushing && self.growth() == Growth::Fast {
                self.reset_growth();
                self.begin_era();
                self.flat_eras = 0;
            }
            return;
        }
        self.end_era_rtt();
        let min_rtt = self.min_rtt.unwrap_or(0);
        let step = self.max_rtt > STEP_RTT_US && self.rate < STEP_RATE && 5 * min_rtt < 2 * self.max_rtt;
        if step && !self.initial_again {
            self.initial_again = true;
            self.enter_initial(window);
            return;
        }
        match self.state {
            State::Initial => {}
            State::Recovery => self.exit_recovery(window),
            State::Cruising => {
                self.cruise_left = self.cruise_left.saturating_sub(1);
                self.begin_era();
                if self.cruise_left == 0 && !app_limited {
                    self.enter_probing();
                }
            }
            State::Probing => self.enter_recovery(false),
            State::Pushing => {
                if self.growth() == Growth::Fast {
                    self.reset_growth();
                    self.begin_era();
                } else {
                    self.enter_recovery(false);
                }
            }
        }
    }
}

// Congestion.
impl C4 {
    /// The reduction for a signal, in 1/1024.
    fn beta(&self, signal: Signal) -> u64 {
        let over = |excess: u64, threshold: u64| (excess * 1024 / threshold.max(1)).min(BETA_MAX_1024);
        match signal {
            Signal::Loss => u64::midpoint(BETA_MAX_1024, scaled(sensitivity_1024(self.rate), BETA_MAX_1024)),
            Signal::Delay => over(self.delay_excess, self.delay_threshold),
            Signal::Marks => {
                let threshold = mark_threshold_1024(self.rate);
                over(self.marks.clone().update().saturating_sub(threshold), threshold)
            }
        }
    }

    /// `c4_notify_congestion`. A probe or push is only judged at its end.
    fn notify(&mut self, signal: Signal) {
        self.notified = true;
        let beta = self.beta(signal);
        if signal != Signal::Delay {
            self.delay_excess = 0;
        }
        if self.state == State::Recovery {
            if self.alpha == RECOVER {
                self.alpha = RECOVER_AGAIN;
                self.era_delivered = self.delivered; // recovery lasts longer
            }
            self.marked_after_push |= signal == Signal::Marks;
            return;
        }
        if !matches!(self.state, State::Probing | State::Pushing) {
            self.rate -= scaled(beta, self.rate);
            if signal == Signal::Loss {
                self.set_max_rtt(self.max_rtt - scaled(beta, self.max_rtt));
            }
        }
        self.enter_recovery(signal == Signal::Marks);
    }

    /// An increased round trip (`c4_initial_handle_rtt_excess`, `c4_handle_rtt_excess`).
    fn judge_delay(&mut self) {
        if self.delay_excess == 0 {
            return;
        }
        if self.state != State::Initial {
            if self.alpha_before > CRUISE {
                self.notify(Signal::Delay);
            }
        } else if self.flat_eras > 1 && self.rate_before >= self.rate {
            self.exit_initial();
        }
    }

    fn judge_marks(&mut self) {
        if self.marks.update() <= mark_threshold_1024(self.rate) {
            return;
        }
        if self.state == State::Initial {
            self.judge_delay();
        } else {
            self.notify(Signal::Marks);
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
        if self.losses.on_lost(lost.number) <= loss_threshold(self.rate) {
            return;
        }
        if self.state == State::Initial {
            self.startup_packets += 1;
            if self.startup_packets > PACKETS_BEFORE_LOSS {
                self.exit_initial();
            }
        } else {
            self.notify(Signal::Loss);
        }
        self.apply(window);
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
