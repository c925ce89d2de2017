//! BBR, version 3 (draft-ietf-ccwg-bbr-06): version 1's model of rate and delay, with bounds that
//! come from loss.
//!
//! There are two models. The long-term model consists of the maximum delivery rate of the last two
//! probing cycles and the largest amount in flight that did not lose too much
//! ([`Bbr3::inflight_long`]). Bandwidth probing increases it. The short-term model is reduced in
//! each round trip with a loss, to the delivered amount or by 0.7, and is reset when the next probe
//! begins. [`cycle`] contains the probing cycle, [`loss`] the effects of losses.
//!
//! Choices where the draft leaves something open: the last samples of a probing phase end after one round
//! trip, once per cycle (§5.5.6; the pseudocode of §5.3.3.9 would advance the rate filter each round); a
//! negative prefix in §5.5.10.2 counts as zero; the state before a loss is saved once per recovery
//! (`save_before_loss`). ECN marks are ignored, because §3.7 specifies no response; [`marks`] has
//! that of google/bbr, as an option. Rates are in segments per microsecond times 2^24, gains in 1/256.

mod cycle;
mod loss;
mod marks;
#[cfg(test)]
mod tests;

use airlane_core::{BitRate, Duration, Instant, PathModel, Stream};

use super::max_filter::MaxFilter;
use super::{
    AckSample, CongestionController, DeliverySample, LossCause, LossEpisode, LostSegment, MarkSample, Needs,
    Phase, RateSample, Restart, SegmentWindow, Snapshot, TimeoutEpisode,
};

/// A gain of one.
const UNIT: u64 = 256;
/// One segment per microsecond.
const BW_UNIT: u64 = 1 << 24;
/// §5.3.1.1: 2.77, and §5.3.2: 0.5.
const STARTUP_GAIN: u64 = UNIT * 277 / 100;
const DRAIN_GAIN: u64 = UNIT / 2;
/// §5.6.1, the table: window gains of 2, 2.25 while probing up, 0.5 in ProbeRTT.
const WINDOW_GAIN: u64 = 2 * UNIT;
const UP_WINDOW_GAIN: u64 = UNIT * 9 / 4;
const PROBE_RTT_WINDOW_GAIN: u64 = UNIT / 2;
/// §5.3.3.1, §5.3.3.4: pacing at 0.9 and 1.25.
const DOWN_GAIN: u64 = UNIT * 9 / 10;
const UP_GAIN: u64 = UNIT * 5 / 4;
/// §2.10: probing cycles over which the maximum rate is taken.
const BANDWIDTH_CYCLES: u64 = 2;
/// §2.11: round trips over which the maximum aggregation is taken.
const EXTRA_ACKED_ROUNDS: u64 = 10;
/// §2.13: the minimum round trip is valid for 10 s; ProbeRTT starts after 5 s and lasts 200 ms.
const MIN_RTT_SPAN: Duration = Duration::from_secs(10);
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
const PROBE_RTT_SPAN: Duration = Duration::from_millis(200);
/// §2.7: the minimum window.
const WINDOW_MIN: u32 = 4;
/// §5.3.1.2: three round trips with less than a quarter of growth.
const FULL_ROUNDS: u32 = 3;
/// §5.3.2: Drain ends after at most this many round trips.
const DRAIN_ROUNDS: u64 = 3;
/// §5.6.2: 1 % below the estimate.
const MARGIN_PERCENT: u64 = 1;
/// §5.6.3: a burst is a millisecond at the pacing rate, at most 64 KiB, at least two segments.
const QUANTUM_MAX: u64 = 65_536;
const QUANTUM_MIN: u32 = 2;
/// RFC 6928: until this many segments are delivered the window always grows.
const INITIAL_WINDOW: u32 = 10;

/// The state of the controller (§5.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl Mode {
    /// Its name in the draft.
    const fn name(self) -> &'static str {
        match self {
            Self::Startup => "Startup",
            Self::Drain => "Drain",
            Self::Down => "ProbeBW_DOWN",
            Self::Cruise => "ProbeBW_CRUISE",
            Self::Refill => "ProbeBW_REFILL",
            Self::Up => "ProbeBW_UP",
            Self::ProbeRtt => "ProbeRTT",
        }
    }
    /// One of the four states of ProbeBW.
    const fn probes_bandwidth(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }
    /// True if it sends more than the measured rate of the path (§5.5.10, BBRIsProbingBW).
    const fn accelerates(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }
    /// Pacing gain and window gain (§5.6.1).
    const fn gains(self) -> (u64, u64) {
        match self {
            Self::Startup => (STARTUP_GAIN, WINDOW_GAIN),
            Self::Drain => (DRAIN_GAIN, WINDOW_GAIN),
            Self::Down => (DOWN_GAIN, WINDOW_GAIN),
            Self::Cruise | Self::Refill => (UNIT, WINDOW_GAIN),
            Self::Up => (UP_GAIN, UP_WINDOW_GAIN),
            Self::ProbeRtt => (UNIT, PROBE_RTT_WINDOW_GAIN),
        }
    }
}

/// Detects the plateau of the delivery rate (§5.3.1.2).
#[derive(Clone, Copy, Debug, Default)]
struct FullPipe {
    bandwidth: u64,
    rounds: u32,
    /// Whether it was found since the search began, and ever.
    now: bool,
    ever: bool,
}

impl FullPipe {
    /// Starts a new search, from this rate on.
    fn restart(&mut self, bandwidth: u64) {
        *self = Self { bandwidth, rounds: 0, now: false, ever: self.ever };
    }
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    mode: Mode,
    stream: Stream,
    // The model.
    max_bandwidth: MaxFilter,
    cycles: u64,
    /// Minimum round trip, and its time.
    min_rtt: Option<Duration>,
    min_rtt_at: Instant,
    extra_acked: MaxFilter,
    extra_since: Instant,
    extra_delivered: u64,
    /// Bounds from loss: of the rate and of the data in flight since the last probe, and the
    /// long-term bound of the data in flight; `None` for no bound.
    bandwidth_short: Option<u64>,
    inflight_short: Option<u32>,
    inflight_long: Option<u32>,
    // Round trips.
    rounds: u64,
    round_start: bool,
    next_round_delivered: u64,
    /// Delivered segments at the last ACK.
    delivered: u64,
    /// The newest rate sample, and whether the application limited it.
    latest: (u64, bool),
    full_pipe: FullPipe,
    drain_began: u64,
    cycle: cycle::Cycle,
    loss: loss::LossRound,
    /// The response to congestion marks, if there is one.
    marks: Option<Box<marks::Marks>>,
    // ProbeRTT.
    probe_rtt_min: Option<Duration>,
    probe_rtt_min_at: Instant,
    probe_rtt_expired: bool,
    probe_rtt_done: Option<Instant>,
    probe_rtt_round_done: bool,
    idle_restart: bool,
    // The pacing rate and the window.
    /// Bytes per second.
    pacing_rate: u64,
    has_seen_rtt: bool,
    prior_window: u32,
    prior_phase: Phase,
}

impl Bbr3 {
    /// A controller in its initial state; the stream randomizes the times of its probes.
    #[must_use]
    pub fn new(stream: Stream) -> Self {
        Self {
            mode: Mode::Startup,
            stream,
            max_bandwidth: MaxFilter::default(),
            cycles: 0,
            min_rtt: None,
            min_rtt_at: Instant::ZERO,
            extra_acked: MaxFilter::default(),
            extra_since: Instant::ZERO,
            extra_delivered: 0,
            bandwidth_short: None,
            inflight_short: None,
            inflight_long: None,
            rounds: 0,
            round_start: false,
            next_round_delivered: 0,
            delivered: 0,
            latest: (0, false),
            full_pipe: FullPipe::default(),
            drain_began: 0,
            cycle: cycle::Cycle::default(),
            loss: loss::LossRound::default(),
            marks: None,
            probe_rtt_min: None,
            probe_rtt_min_at: Instant::ZERO,
            probe_rtt_expired: false,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            pacing_rate: 0,
            has_seen_rtt: false,
            prior_window: 0,
            prior_phase: Phase::Open,
        }
    }

    /// The same, which responds to congestion marks as google/bbr does, once the minimum round trip was at most this.
    #[must_use]
    pub fn with_marks(mut self, rtt_max: Option<Duration>) -> Self {
        self.marks = rtt_max.map(|rtt_max| Box::new(marks::Marks::new(rtt_max)));
        self
    }

    /// The rate to send at (§5.5.10.3, BBRBoundBWForModel).
    fn bandwidth(&self) -> u64 {
        let max = self.max_bandwidth.get();
        self.bandwidth_short.map_or(max, |short| short.min(max))
    }

    fn start_round(&mut self, delivered: u64) {
        self.next_round_delivered = delivered;
    }

    /// §5.5.1, §5.5.5.
    fn update_bandwidth(&mut self, sample: &DeliverySample, rate: &RateSample) {
        self.round_start = rate.prior_delivered >= self.next_round_delivered;
        if self.round_start {
            self.start_round(sample.delivered);
            self.rounds += 1;
            self.cycle.rounds_since_probe += 1;
        }
        let bandwidth = delivery_rate(rate);
        if !rate.app_limited || bandwidth >= self.max_bandwidth.get() {
            self.max_bandwidth.update(BANDWIDTH_CYCLES, self.cycles, bandwidth);
        }
    }

    /// §5.5.9.
    fn update_extra_acked(&mut self, window: u32, sample: &DeliverySample) {
        let span = sample.now.saturating_since(self.extra_since).as_micros();
        let mut expected = ((u128::from(self.bandwidth()) * u128::from(span)) >> 24) as u64;
        if self.extra_delivered <= expected {
            self.extra_delivered = 0;
            self.extra_since = sample.now;
            expected = 0;
        }
        self.extra_delivered += u64::from(sample.newly_delivered);
        let extra = (self.extra_delivered - expected).min(u64::from(window));
        let rounds = if self.full_pipe.ever { EXTRA_ACKED_ROUNDS } else { 1 };
        self.extra_acked.update(rounds, self.rounds, extra);
    }

    /// §5.3.1.2.
    fn check_full_pipe(&mut self, rate: &RateSample) {
        if self.full_pipe.now || !self.round_start || rate.app_limited {
            return;
        }
        let bandwidth = delivery_rate(rate);
        if bandwidth >= self.full_pipe.bandwidth * 5 / 4 {
            self.full_pipe.restart(bandwidth);
            return;
        }
        self.full_pipe.rounds += 1;
        self.full_pipe.now = self.full_pipe.rounds >= FULL_ROUNDS;
        self.full_pipe.ever |= self.full_pipe.now;
    }

    /// §5.3.1.1, §5.3.2.
    fn check_startup_and_drain(&mut self, window: &SegmentWindow, sample: &DeliverySample) {
        if self.mode == Mode::Startup && self.full_pipe.ever {
            self.mode = Mode::Drain;
            self.drain_began = self.rounds;
        }
        if self.mode == Mode::Drain {
            let drained = sample.in_flight <= self.inflight(window, self.max_bandwidth.get(), UNIT);
            if drained || self.rounds > self.drain_began + DRAIN_ROUNDS {
                self.start_down(sample.now, sample.delivered);
            }
        }
    }

    // ProbeRTT (§5.3.4).

    fn update_min_rtt(&mut self, sample: &DeliverySample) {
        let now = sample.now;
        self.probe_rtt_expired = now > self.probe_rtt_min_at + PROBE_RTT_INTERVAL;
        if let Some(rtt) = sample.rtt
            && (self.probe_rtt_expired || self.probe_rtt_min.is_none_or(|min| rtt < min))
        {
            self.probe_rtt_min = Some(rtt);
            self.probe_rtt_min_at = now;
        }
        let expired = now > self.min_rtt_at + MIN_RTT_SPAN;
        if let Some(rtt) = self.probe_rtt_min
            && (expired || self.min_rtt.is_none_or(|min| rtt < min))
        {
            self.min_rtt = Some(rtt);
            self.min_rtt_at = self.probe_rtt_min_at;
        }
    }

    fn check_probe_rtt(&mut self, window: &mut SegmentWindow, sample: &DeliverySample) {
        if self.mode != Mode::ProbeRtt && self.probe_rtt_expired && !self.idle_restart {
            self.save_window(window);
            self.mode = Mode::ProbeRtt;
            self.probe_rtt_done = None;
            self.cycle.end_samples();
            self.start_round(sample.delivered);
        }
        if self.mode == Mode::ProbeRtt {
            if self.probe_rtt_done.is_some() {
                self.probe_rtt_round_done |= self.round_start;
                if self.probe_rtt_round_done {
                    self.check_probe_rtt_done(window, sample.now, sample.delivered);
                }
            } else if sample.in_flight <= self.probe_rtt_window() {
                self.probe_rtt_done = Some(sample.now + PROBE_RTT_SPAN);
                self.probe_rtt_round_done = false;
                self.start_round(sample.delivered);
            }
        }
        if sample.newly_delivered > 0 {
            self.idle_restart = false;
        }
    }

    fn check_probe_rtt_done(&mut self, window: &mut SegmentWindow, now: Instant, delivered: u64) {
        if self.probe_rtt_done.is_none_or(|done| now <= done) {
            return;
        }
        self.probe_rtt_min_at = now;
        window.segments = window.segments.max(self.prior_window);
        self.reset_short_term();
        if self.full_pipe.ever {
            self.start_down(now, delivered);
            self.mode = Mode::Cruise;
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn probe_rtt_window(&self) -> u32 {
        self.product(self.bandwidth(), PROBE_RTT_WINDOW_GAIN).max(WINDOW_MIN)
    }

    // Volumes (§5.6.4.2).

    /// Bandwidth times minimum round trip times a gain, in segments, rounded up.
    fn product(&self, bandwidth: u64, gain: u64) -> u32 {
        let Some(min_rtt) = self.min_rtt else { return INITIAL_WINDOW };
        let scaled = u128::from(bandwidth) * u128::from(min_rtt.as_micros()) * u128::from(gain);
        scaled.div_ceil(u128::from(UNIT * BW_UNIT)) as u32
    }

    fn quantize(&self, window: &SegmentWindow, segments: u32) -> u32 {
        let offload = 3 * self.quantum(window.segment_size());
        segments.max(offload).max(WINDOW_MIN) + if self.mode == Mode::Up { 2 } else { 0 }
    }

    fn inflight(&self, window: &SegmentWindow, bandwidth: u64, gain: u64) -> u32 {
        self.quantize(window, self.product(bandwidth, gain))
    }

    /// The target for the data in flight: the bandwidth-delay product, unless congestion reduced
    /// the window (§5.3.3.8).
    fn target_inflight(&self, window: &SegmentWindow) -> u32 {
        self.product(self.bandwidth(), UNIT).min(window.segments)
    }

    // The pacing rate and the window (§5.6).

    fn quantum(&self, segment_size: u32) -> u32 {
        let bytes = (self.pacing_rate / 1000).min(QUANTUM_MAX);
        ((bytes / u64::from(segment_size)) as u32).max(QUANTUM_MIN)
    }

    fn bytes_per_second(segment_size: u32, bandwidth: u64, gain: u64) -> u64 {
        let bytes = u128::from(bandwidth) * u128::from(segment_size) * u128::from(gain) / u128::from(UNIT);
        ((bytes * u128::from(1_000_000 / 100 * (100 - MARGIN_PERCENT))) >> 24) as u64
    }

    fn initial_pacing_rate(&mut self, window: &SegmentWindow, srtt: Option<Duration>) {
        self.has_seen_rtt = srtt.is_some();
        let micros = srtt.map_or(1000, |rtt| rtt.as_micros().max(1)); // a nominal millisecond
        let bytes = u64::from(window.segments) * u64::from(window.segment_size());
        self.pacing_rate = bytes * 1_000_000 / micros * STARTUP_GAIN / UNIT;
    }

    fn set_pacing_rate(&mut self, window: &SegmentWindow, srtt: Duration, gain: u64) {
        if !self.has_seen_rtt && !srtt.is_zero() {
            self.initial_pacing_rate(window, Some(srtt));
        }
        let rate = Self::bytes_per_second(window.segment_size(), self.bandwidth(), gain);
        if self.full_pipe.ever || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// §5.6.4.6.
    fn set_window(&mut self, window: &mut SegmentWindow, sample: &DeliverySample) {
        let (_, gain) = self.mode.gains();
        let extra = self.extra_acked.get() as u32;
        let target = self.quantize(window, self.product(self.bandwidth(), gain) + extra);
        let grown = window.segments + sample.newly_delivered;
        if self.full_pipe.ever {
            window.segments = grown.min(target);
        } else if window.segments < target || sample.delivered < u64::from(INITIAL_WINDOW) {
            window.segments = grown;
        }
        window.segments = window.segments.max(WINDOW_MIN);
        if self.mode == Mode::ProbeRtt {
            window.segments = window.segments.min(self.probe_rtt_window());
        }
        self.bound_window(window);
    }

    /// §5.6.4.7.
    fn bound_window(&self, window: &mut SegmentWindow) {
        let long = match self.mode {
            Mode::Cruise | Mode::ProbeRtt => self.inflight_with_headroom(),
            Mode::Down | Mode::Refill | Mode::Up => self.inflight_long,
            Mode::Startup | Mode::Drain => None,
        };
        let bound = long.unwrap_or(u32::MAX).min(self.inflight_short.unwrap_or(u32::MAX));
        window.segments = window.segments.min(bound.max(WINDOW_MIN));
    }

    /// §5.6.4.4.
    fn save_window(&mut self, window: &SegmentWindow) {
        let keeps = self.prior_phase < Phase::Recovery && self.mode != Mode::ProbeRtt;
        self.prior_window = if keeps { window.segments } else { self.prior_window.max(window.segments) };
    }
}

/// The rate of a sample, in segments per microsecond times 2^24.
fn delivery_rate(rate: &RateSample) -> u64 {
    rate.delivered * BW_UNIT / rate.interval.as_micros().max(1)
}

impl CongestionController for Bbr3 {
    fn needs(&self) -> Needs {
        Needs { marks: self.marks.is_some(), ..Needs::PATH_MODEL }
    }

    fn on_established(&mut self, window: &SegmentWindow, now: Instant, rtt: Option<Duration>) {
        self.min_rtt = rtt;
        self.min_rtt_at = now;
        self.probe_rtt_min = rtt;
        self.probe_rtt_min_at = now;
        self.extra_since = now;
        self.initial_pacing_rate(window, rtt);
    }

    /// §5.4.1.
    fn on_restart(&mut self, window: &mut SegmentWindow, restart: &Restart) {
        if !restart.app_limited {
            return;
        }
        self.idle_restart = true;
        self.extra_since = restart.now;
        self.extra_delivered = 0;
        if self.mode.probes_bandwidth() {
            self.set_pacing_rate(window, restart.srtt, UNIT);
        } else if self.mode == Mode::ProbeRtt {
            self.check_probe_rtt_done(window, restart.now, self.next_round_delivered);
        }
    }

    fn on_ack(&mut self, _: &mut SegmentWindow, _: &AckSample) {}

    /// §5.2.3, in the order of the draft.
    fn on_delivery(&mut self, window: &mut SegmentWindow, sample: &DeliverySample) {
        if self.prior_phase >= Phase::Recovery && sample.phase < Phase::Recovery {
            window.segments = window.segments.max(self.prior_window); // §5.6.4.4
            self.loss.end_recovery();
        }
        self.prior_phase = sample.phase;
        self.delivered = sample.delivered;
        self.round_start = false;
        if let Some(rate) = &sample.rate {
            self.latest = (delivery_rate(rate), rate.app_limited);
            self.update_latest(sample, rate);
            self.update_bandwidth(sample, rate);
            self.update_marks(window, sample, rate);
            self.update_congestion_signals(window);
            self.update_extra_acked(window.segments, sample);
            self.check_full_pipe(rate);
            self.check_startup_loss(sample, rate);
            self.check_startup_and_drain(window, sample);
            self.update_cycle(window, sample, rate);
        }
        self.update_min_rtt(sample);
        self.check_probe_rtt(window, sample);
        if let Some(rate) = &sample.rate {
            self.advance_latest(rate);
        }
        let (gain, _) = self.mode.gains();
        self.set_pacing_rate(window, sample.srtt, gain);
        self.set_window(window, sample);
    }

    fn on_marks(&mut self, _: &mut SegmentWindow, sample: &MarkSample) {
        if let Some(marks) = &mut self.marks {
            marks.on_marks(sample.marked_segments);
        }
    }

    fn on_segment_lost(&mut self, window: &mut SegmentWindow, lost: &LostSegment) {
        self.delivered = lost.delivered;
        self.handle_lost(window, lost);
    }

    fn threshold(&mut self, window: &SegmentWindow) -> u32 {
        window.ssthresh
    }

    fn on_loss(&mut self, window: &mut SegmentWindow, _: &LossEpisode, _: LossCause) {
        self.save_window(window);
        self.save_before_loss();
    }

    fn on_recovery_exit(&mut self, _: &mut SegmentWindow) {}

    fn on_timeout(&mut self, window: &mut SegmentWindow, timeout: &TimeoutEpisode) {
        if timeout.new_episode {
            self.save_window(window);
            self.save_before_loss();
        }
        self.prior_phase = Phase::Loss;
        window.restart_from(timeout.restart_segments);
    }

    fn on_undo(&mut self, window: &mut SegmentWindow, _: &Snapshot) {
        self.restore_after_spurious_loss(window);
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        Some(BitRate(self.pacing_rate * 8))
    }

    fn send_quantum(&self, segment_size: u32) -> u32 {
        self.quantum(segment_size)
    }

    fn path_model(&self, window: &SegmentWindow, in_flight: u32) -> Option<PathModel> {
        let bits = |rate: u64| {
            BitRate(((u128::from(rate) * u128::from(window.segment_size()) * 8_000_000) >> 24) as u64)
        };
        let (pacing, volume) = self.mode.gains();
        Some(PathModel {
            state: self.mode.name(),
            gains: [pacing, volume].map(|gain| gain as f64 / UNIT as f64),
            round: self.rounds,
            pacing_rate: BitRate(self.pacing_rate * 8),
            congestion_window: window.segments,
            in_flight,
            delivery_rate: bits(self.latest.0),
            app_limited: self.latest.1,
            max_bandwidth: bits(self.max_bandwidth.get()),
            min_rtt: self.min_rtt,
            target: self.inflight(window, self.max_bandwidth.get(), UNIT),
            extra_acked: self.extra_acked.get() as u32,
            bandwidth_short: self.bandwidth_short.map(bits),
            inflight_short: self.inflight_short,
            inflight_long: self.inflight_long,
            full_rounds: self.full_pipe.rounds,
            full_reached: self.full_pipe.ever,
        })
    }

    fn holds_back(&self) -> bool {
        self.mode == Mode::ProbeRtt
    }
}
