//! BBR, version 1: sends at the measured delivery rate of the path, with at most about two
//! bandwidth-delay products in flight (N. Cardwell et al., "BBR: Congestion-Based Congestion
//! Control", ACM Queue 14(5), 2016; draft-cardwell-iccrg-bbr-congestion-control-00), in Linux's
//! variant.
//!
//! The model of the path is the maximum delivery rate of the last ten round trips and the minimum
//! round trip of the last ten seconds. Four modes keep both up to date: Startup doubles the rate
//! until it stops growing, Drain empties the resulting queue, ProbeBW cycles the pacing gain over
//! eight phases of a round trip, and ProbeRTT reduces the window to four segments for 200 ms.
//!
//! Linux's additions to the draft are included: conservation of packets in the first round of
//! recovery, room for acknowledgments that come in bursts ([`aggregation`]), and detection of a
//! token-bucket policer ([`policer`]). The phase in which ProbeBW begins is drawn from the flow's
//! own stream. Rates are in segments per microsecond times 2^24, gains in 1/256.

mod aggregation;
mod policer;
#[cfg(test)]
mod tests;

use airlane_core::{BitRate, Duration, Instant, PathModel, Stream};

use super::max_filter::MaxFilter;
use super::{
    AckSample, CongestionController, DeliverySample, LossCause, LossEpisode, Needs, Phase, PhaseChange,
    Restart, SegmentWindow, Snapshot, TimeoutEpisode,
};
use aggregation::Aggregation;
use policer::Policer;

/// A gain of one.
const UNIT: u64 = 256;
/// One segment per microsecond.
const BW_UNIT: u64 = 1 << 24;
/// Draft §4.1.1: 2/ln 2, the minimum gain that doubles the rate each round trip.
const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;
/// Draft §4.3.2: its inverse.
const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
/// Draft §4.2.3.2: twice the estimated bandwidth-delay product may be in flight.
const WINDOW_GAIN: u64 = 2 * UNIT;
/// Draft §4.3.3: probe, drain, cruise.
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// Number of phases in which the cycle may start: all except the one that drains.
const CYCLE_CHOICES: u64 = 7;
/// Draft §4.1.1.3: round trips over which the maximum rate is taken.
const BANDWIDTH_ROUNDS: u64 = 10;
/// Draft §4.1.2: how long the minimum round trip is valid.
const MIN_RTT_WINDOW_MS: u64 = 10_000;
/// Draft §4.3.5: duration of ProbeRTT, and its window.
const PROBE_RTT_MS: u64 = 200;
const WINDOW_MIN: u32 = 4;
/// Draft §4.3.2.1: Startup ends after three round trips with less than a quarter of growth.
const FULL_GROWTH: u64 = UNIT * 5 / 4;
const FULL_ROUNDS: u32 = 3;
/// Pacing stays this far below the estimate, so that the queue can empty (Linux, 1 %).
const MARGIN_PERCENT: u64 = 1;
/// A burst is a millisecond at the pacing rate (Linux sk_pacing_shift 10), at least two segments
/// above this rate in bits per second, at least one below.
const BURST_SHIFT: u64 = 10;
const SLOW_RATE: u64 = 1_200_000;
/// Maximum burst in bytes: the size of a GSO packet.
const BURST_MAX: u64 = 65_536 - 1 - 320;
/// RFC 6928: until this many segments are delivered the window always grows.
const INITIAL_WINDOW: u64 = 10;

/// The mode of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBandwidth,
    ProbeRtt,
}

impl Mode {
    /// Its name in the draft (§4.3).
    const fn name(self) -> &'static str {
        match self {
            Self::Startup => "Startup",
            Self::Drain => "Drain",
            Self::ProbeBandwidth => "ProbeBW",
            Self::ProbeRtt => "ProbeRTT",
        }
    }
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Bbr {
    mode: Mode,
    stream: Stream,
    pacing_gain: u64,
    window_gain: u64,
    // The model.
    bandwidth: MaxFilter,
    /// The newest rate sample, and whether the application limited it.
    latest: (u64, bool),
    /// Minimum round trip in microseconds, and its time, in milliseconds.
    min_rtt_us: Option<u64>,
    min_rtt_at_ms: u64,
    policer: Policer,
    aggregation: Aggregation,
    /// Bytes per second.
    pacing_rate: u64,
    has_seen_rtt: bool,
    // Round trips, counted by delivered segments.
    rounds: u64,
    round_start: bool,
    next_round_delivered: u64,
    // Startup.
    full_bandwidth: u64,
    full_rounds: u32,
    filled_pipe: bool,
    // ProbeBW.
    cycle: usize,
    cycle_at: Instant,
    // ProbeRTT.
    probe_rtt_done_ms: Option<u64>,
    probe_rtt_round_done: bool,
    /// Restarting after the application had nothing to send.
    idle_restart: bool,
    // Recovery.
    prior_window: u32,
    prior_phase: Phase,
    conserve_packets: bool,
}

impl Bbr {
    /// A controller in its initial state; the stream determines the start of the first cycle.
    #[must_use]
    pub fn new(stream: Stream) -> Self {
        Self {
            mode: Mode::Startup,
            stream,
            pacing_gain: HIGH_GAIN,
            window_gain: HIGH_GAIN,
            bandwidth: MaxFilter::default(),
            latest: (0, false),
            min_rtt_us: None,
            min_rtt_at_ms: 0,
            policer: Policer::default(),
            aggregation: Aggregation::default(),
            pacing_rate: 0,
            has_seen_rtt: false,
            rounds: 0,
            round_start: false,
            next_round_delivered: 0,
            full_bandwidth: 0,
            full_rounds: 0,
            filled_pipe: false,
            cycle: 0,
            cycle_at: Instant::ZERO,
            probe_rtt_done_ms: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            prior_window: 0,
            prior_phase: Phase::Open,
            conserve_packets: false,
        }
    }

    /// The rate of the model, in segments per microsecond times 2^24.
    fn bw(&self) -> u64 {
        self.policer.rate().unwrap_or(self.bandwidth.get())
    }

    // The model (draft §4.1).

    fn update_bandwidth(&mut self, segment_size: u32, sample: &DeliverySample) {
        self.round_start = false;
        let Some(rate) = &sample.rate else { return };
        if rate.prior_delivered >= self.next_round_delivered {
            self.next_round_delivered = sample.delivered;
            self.rounds += 1;
            self.round_start = true;
            self.conserve_packets = false;
        }
        self.sample_policer(segment_size, sample, sample.newly_lost, rate.app_limited);
        let bw = rate.delivered * BW_UNIT / rate.interval.as_micros().max(1);
        self.latest = (bw, rate.app_limited);
        if !rate.app_limited || bw >= self.bandwidth.get() {
            self.bandwidth.update(BANDWIDTH_ROUNDS, self.rounds, bw);
        }
    }

    fn sample_policer(&mut self, segment_size: u32, sample: &DeliverySample, lost: u32, app_limited: bool) {
        let probing = self.mode == Mode::ProbeBandwidth;
        let episode = policer::Episode { sample, lost, app_limited, round_start: self.round_start, probing };
        match self.policer.sample(segment_size, &episode) {
            policer::Finding::None => {}
            policer::Finding::Policed => self.pacing_gain = UNIT,
            policer::Finding::TryAgain => self.enter_probe_bandwidth(sample.delivered_at),
        }
    }

    /// Draft §4.3.2.2.
    fn check_full_pipe(&mut self, sample: &DeliverySample) {
        let app_limited = sample.rate.as_ref().is_some_and(|r| r.app_limited);
        if self.filled_pipe || !self.round_start || app_limited {
            return;
        }
        if self.bandwidth.get() >= self.full_bandwidth * FULL_GROWTH / UNIT {
            self.full_bandwidth = self.bandwidth.get();
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.filled_pipe = self.full_rounds >= FULL_ROUNDS;
    }

    fn check_drain(&mut self, window: &mut SegmentWindow, sample: &DeliverySample) {
        let bandwidth = self.bandwidth.get();
        if self.mode == Mode::Startup && self.filled_pipe {
            self.mode = Mode::Drain;
            window.ssthresh = self.inflight(window.segment_size(), bandwidth, UNIT);
        }
        if self.mode == Mode::Drain {
            let in_net = self.in_network_at_departure(window.segment_size(), sample, sample.in_flight);
            if in_net <= self.inflight(window.segment_size(), bandwidth, UNIT) {
                self.enter_probe_bandwidth(sample.delivered_at);
            }
        }
    }

    fn update_min_rtt(&mut self, window: &mut SegmentWindow, sample: &DeliverySample) {
        let now_ms = milliseconds(sample.now);
        let expired = now_ms > self.min_rtt_at_ms + MIN_RTT_WINDOW_MS;
        if let Some(rtt) = sample.rtt
            && (expired || self.min_rtt_us.is_none_or(|min| rtt.as_micros() < min))
        {
            self.min_rtt_us = Some(rtt.as_micros());
            self.min_rtt_at_ms = now_ms;
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_window(window);
            self.probe_rtt_done_ms = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(window, sample, now_ms);
        }
        if sample.newly_delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// Draft §4.3.5: four segments for 200 ms and a round trip.
    fn probe_rtt(&mut self, window: &mut SegmentWindow, sample: &DeliverySample, now_ms: u64) {
        if self.probe_rtt_done_ms.is_some() {
            self.probe_rtt_round_done |= self.round_start;
            if self.probe_rtt_round_done {
                self.check_probe_rtt_done(window, now_ms, sample.delivered_at);
            }
        } else if sample.in_flight <= WINDOW_MIN {
            self.probe_rtt_done_ms = Some(now_ms + PROBE_RTT_MS);
            self.probe_rtt_round_done = false;
            self.next_round_delivered = sample.delivered;
        }
    }

    fn check_probe_rtt_done(&mut self, window: &mut SegmentWindow, now_ms: u64, delivered_at: Instant) {
        if self.probe_rtt_done_ms.is_none_or(|done| now_ms <= done) {
            return;
        }
        self.min_rtt_at_ms = now_ms;
        window.segments = window.segments.max(self.prior_window);
        if self.filled_pipe {
            self.enter_probe_bandwidth(delivered_at);
        } else {
            self.mode = Mode::Startup;
        }
    }

    // ProbeBW (draft §4.3.4).

    fn enter_probe_bandwidth(&mut self, delivered_at: Instant) {
        self.mode = Mode::ProbeBandwidth;
        self.cycle = CYCLE.len() - 1 - self.stream.below(CYCLE_CHOICES) as usize;
        self.advance_cycle(delivered_at);
    }

    fn advance_cycle(&mut self, delivered_at: Instant) {
        self.cycle = (self.cycle + 1) % CYCLE.len();
        self.cycle_at = delivered_at;
    }

    fn update_cycle(&mut self, segment_size: u32, sample: &DeliverySample) {
        if self.mode == Mode::ProbeBandwidth && self.phase_is_over(segment_size, sample) {
            self.advance_cycle(sample.delivered_at);
        }
    }

    fn phase_is_over(&self, segment_size: u32, sample: &DeliverySample) -> bool {
        let elapsed = sample.delivered_at.saturating_since(self.cycle_at).as_micros();
        let full_length = self.min_rtt_us.is_some_and(|min| elapsed > min);
        if self.pacing_gain == UNIT {
            return full_length;
        }
        let in_net = self.in_network_at_departure(segment_size, sample, sample.prior_in_flight);
        let bandwidth = self.bandwidth.get();
        if self.pacing_gain > UNIT {
            let reached = in_net >= self.inflight(segment_size, bandwidth, self.pacing_gain);
            return full_length && (sample.newly_lost > 0 || reached);
        }
        full_length || in_net <= self.inflight(segment_size, bandwidth, UNIT)
    }

    // The limit of the data in flight (draft §4.2.3).

    /// Bandwidth times minimum round trip times a gain, in segments, rounded up.
    fn product(&self, bw: u64, gain: u64) -> u32 {
        let Some(min_rtt) = self.min_rtt_us else { return INITIAL_WINDOW as u32 };
        let scaled = u128::from(bw) * u128::from(min_rtt) * u128::from(gain) / u128::from(UNIT);
        scaled.div_ceil(u128::from(BW_UNIT)) as u32
    }

    /// Adds three bursts, rounded to an even number (delayed ACKs), and two more segments while probing.
    fn quantize(&self, segment_size: u32, segments: u32) -> u32 {
        let even = (segments + 3 * self.burst(segment_size)).next_multiple_of(2);
        even + if self.mode == Mode::ProbeBandwidth && self.cycle == 0 { 2 } else { 0 }
    }

    fn inflight(&self, segment_size: u32, bw: u64, gain: u64) -> u32 {
        self.quantize(segment_size, self.product(bw, gain))
    }

    /// The segments in the network when the next segment may leave.
    fn in_network_at_departure(&self, segment_size: u32, sample: &DeliverySample, in_flight: u32) -> u32 {
        let wait = sample.next_send_at.saturating_since(sample.now).as_micros();
        let delivered = (u128::from(self.bw()) * u128::from(wait) / u128::from(BW_UNIT)) as u32;
        let probing = self.pacing_gain > UNIT;
        let then = in_flight + if probing { self.burst(segment_size) } else { 0 };
        then.saturating_sub(delivered)
    }

    /// A burst in segments.
    fn burst(&self, segment_size: u32) -> u32 {
        let least = if self.pacing_rate < SLOW_RATE / 8 { 1 } else { 2 };
        let bytes = (self.pacing_rate >> BURST_SHIFT).min(BURST_MAX);
        ((bytes / u64::from(segment_size)) as u32).max(least).min(0x7f)
    }

    // The pacing rate and the window.

    /// Bytes per second at a rate and a gain, reduced by the margin.
    fn bytes_per_second(segment_size: u32, bw: u64, gain: u64) -> u64 {
        let bytes = u128::from(bw) * u128::from(segment_size) * u128::from(gain) / u128::from(UNIT);
        ((bytes * u128::from(1_000_000 / 100 * (100 - MARGIN_PERCENT))) >> 24) as u64
    }

    fn initial_pacing_rate(&mut self, window: &SegmentWindow, srtt: Option<Duration>) {
        let rtt_us = match srtt {
            Some(rtt) => {
                self.has_seen_rtt = true;
                rtt.as_micros().max(1)
            }
            None => 1000, // a nominal millisecond, draft §4.2.1
        };
        let bw = u64::from(window.segments) * BW_UNIT / rtt_us;
        self.pacing_rate = Self::bytes_per_second(window.segment_size(), bw, HIGH_GAIN);
    }

    fn set_pacing_rate(&mut self, window: &SegmentWindow, srtt: Duration, bw: u64, gain: u64) {
        if !self.has_seen_rtt && !srtt.is_zero() {
            self.initial_pacing_rate(window, Some(srtt));
        }
        let rate = Self::bytes_per_second(window.segment_size(), bw, gain);
        if self.filled_pipe || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// Draft §4.2.3.4.
    fn save_window(&mut self, window: &SegmentWindow) {
        let keeps = self.prior_phase < Phase::Recovery && self.mode != Mode::ProbeRtt;
        self.prior_window = if keeps { window.segments } else { self.prior_window.max(window.segments) };
    }

    /// Draft §4.2.3.5: the window during packet conservation (`Err`), or the window with which to
    /// continue (`Ok`).
    fn modulate_for_recovery(&mut self, window: u32, sample: &DeliverySample) -> Result<u32, u32> {
        let (before, phase) = (self.prior_phase, sample.phase);
        let mut window = window;
        if sample.newly_lost > 0 {
            window = window.saturating_sub(sample.newly_lost).max(1);
        }
        if phase == Phase::Recovery && before != Phase::Recovery {
            self.conserve_packets = true;
            self.next_round_delivered = sample.delivered;
            window = sample.in_flight + sample.newly_delivered;
        } else if before >= Phase::Recovery && phase < Phase::Recovery {
            window = window.max(self.prior_window);
            self.conserve_packets = false;
        }
        self.prior_phase = phase;
        if self.conserve_packets {
            return Err(window.max(sample.in_flight + sample.newly_delivered));
        }
        Ok(window)
    }

    fn set_window(&mut self, window: &mut SegmentWindow, sample: &DeliverySample, bw: u64) {
        let acked = sample.newly_delivered;
        if acked > 0 {
            window.segments = match self.modulate_for_recovery(window.segments, sample) {
                Err(conserving) => conserving,
                Ok(segments) => self.approach_target(window, segments, acked, bw, sample),
            };
        }
        if self.mode == Mode::ProbeRtt {
            window.segments = window.segments.min(WINDOW_MIN);
        }
    }

    fn approach_target(
        &self,
        window: &SegmentWindow,
        segments: u32,
        acked: u32,
        bw: u64,
        sample: &DeliverySample,
    ) -> u32 {
        let extra = if self.filled_pipe { self.aggregation.window(bw) } else { 0 };
        let target = self.quantize(window.segment_size(), self.product(bw, self.window_gain) + extra);
        let segments = if self.filled_pipe {
            (segments + acked).min(target)
        } else if segments < target || sample.delivered < INITIAL_WINDOW {
            segments + acked
        } else {
            segments
        };
        segments.max(WINDOW_MIN)
    }

    fn update_gains(&mut self) {
        let policed = self.policer.rate().is_some();
        (self.pacing_gain, self.window_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBandwidth => (if policed { UNIT } else { CYCLE[self.cycle] }, WINDOW_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }
}

/// The current time in milliseconds, for the long spans.
const fn milliseconds(now: Instant) -> u64 {
    now.as_nanos() / 1_000_000
}

impl CongestionController for Bbr {
    fn needs(&self) -> Needs {
        Needs::PATH_MODEL
    }

    fn on_established(&mut self, window: &SegmentWindow, now: Instant, rtt: Option<Duration>) {
        self.min_rtt_us = rtt.map(Duration::as_micros);
        self.min_rtt_at_ms = milliseconds(now);
        self.aggregation.begin(now);
        self.initial_pacing_rate(window, rtt);
    }

    fn on_restart(&mut self, window: &mut SegmentWindow, restart: &Restart) {
        if !restart.app_limited {
            return;
        }
        self.idle_restart = true;
        self.aggregation.begin(restart.now);
        match self.mode {
            Mode::ProbeBandwidth => self.set_pacing_rate(window, restart.srtt, self.bw(), UNIT),
            Mode::ProbeRtt => {
                self.check_probe_rtt_done(window, milliseconds(restart.now), restart.now);
            }
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn on_ack(&mut self, _: &mut SegmentWindow, _: &AckSample) {}

    fn on_delivery(&mut self, window: &mut SegmentWindow, sample: &DeliverySample) {
        let segment_size = window.segment_size();
        self.update_bandwidth(segment_size, sample);
        if sample.rate.is_some() {
            let bw = self.bw();
            self.aggregation.update(bw, self.round_start, window.segments, sample);
        }
        self.update_cycle(segment_size, sample);
        self.check_full_pipe(sample);
        self.check_drain(window, sample);
        self.update_min_rtt(window, sample);
        self.update_gains();
        let bw = self.bw();
        self.set_pacing_rate(window, sample.srtt, bw, self.pacing_gain);
        self.set_window(window, sample, bw);
    }

    fn on_phase(&mut self, window: &SegmentWindow, change: &PhaseChange) {
        if change.phase == Phase::Loss
            && let Some(sample) = &change.delivery
        {
            self.prior_phase = Phase::Loss;
            self.full_bandwidth = 0;
            self.round_start = true; // a timeout ends a round trip
            self.sample_policer(window.segment_size(), sample, 1, false);
        }
    }

    fn threshold(&mut self, window: &SegmentWindow) -> u32 {
        window.ssthresh
    }

    fn on_loss(&mut self, window: &mut SegmentWindow, _: &LossEpisode, _: LossCause) {
        self.save_window(window);
    }

    fn on_recovery_exit(&mut self, _: &mut SegmentWindow) {}

    fn on_timeout(&mut self, window: &mut SegmentWindow, timeout: &TimeoutEpisode) {
        if timeout.new_episode {
            self.save_window(window);
        }
        window.restart_from(timeout.restart_segments);
    }

    fn on_undo(&mut self, _: &mut SegmentWindow, _: &Snapshot) {
        self.full_bandwidth = 0; // the slow-down was spurious: search for the plateau again
        self.full_rounds = 0;
        self.policer.forget();
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        Some(BitRate(self.pacing_rate * 8))
    }

    fn path_model(&self, window: &SegmentWindow, in_flight: u32) -> Option<PathModel> {
        let segment_size = window.segment_size();
        let bits =
            |rate: u64| BitRate(((u128::from(rate) * u128::from(segment_size) * 8_000_000) >> 24) as u64);
        Some(PathModel {
            state: self.mode.name(),
            gains: [self.pacing_gain, self.window_gain].map(|gain| gain as f64 / UNIT as f64),
            round: self.rounds,
            pacing_rate: BitRate(self.pacing_rate * 8),
            congestion_window: window.segments,
            in_flight,
            delivery_rate: bits(self.latest.0),
            app_limited: self.latest.1,
            max_bandwidth: bits(self.bandwidth.get()),
            min_rtt: self.min_rtt_us.map(Duration::from_micros),
            target: self.inflight(segment_size, self.bandwidth.get(), UNIT),
            extra_acked: self.aggregation.window(self.bw()),
            // This version has no bounds from loss.
            bandwidth_short: None,
            inflight_short: None,
            inflight_long: None,
            full_rounds: self.full_rounds,
            full_reached: self.filled_pipe,
        })
    }

    fn holds_back(&self) -> bool {
        self.mode == Mode::ProbeRtt
    }
}
