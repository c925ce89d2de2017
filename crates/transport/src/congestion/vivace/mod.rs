//! PCC Vivace (M. Dong and others, "PCC Vivace: Online-Learning Congestion Control", NSDI 2018): a sending rate that
//! follows the gradient of a utility, which is measured by sending at several rates.
//!
//! The paper was not read (unverified). The law is that of the authors' later code (PCCproject/PCC-Uspace 30c2cfe1, branch master of 2020, `src/pcc`, with the
//! utility `Vivace`); names in parentheses are of it. A monitor interval is the minimum round trip and at least four
//! reliable samples of it. The utility of a rate x in Mbit/s is x^0.9 - 900 x max(0, dRTT/dt) - 11.35 x L, with the share
//! L of lost packets.
//!
//! - *Starting* doubles the rate each time the utility grows, and ends with half the rate.
//! - *Probing* sends three pairs of intervals at 1.05 and 0.95 of the rate, in random order. The rate goes up if two
//!   pairs say so, down if all three do, and else the pairs are sent again.
//! - *Moving* (`DECISION_MADE`) changes the rate by the gradient of the utility, more with each step in the same
//!   direction, within a bound that grows as steps reach it. When the utility falls, the last step is undone.
//!
//! Where this law differs:
//!
//! - The utility counts packets instead of bytes, at the size of a segment instead of 1500 bytes.
//! - Losses come with the acknowledgment that shows them, and gaps between acknowledgments are at least a microsecond.
//!   The authors' program reports losses alone, with a gap of zero. The mean ratio of gaps is infinite from then on; where
//!   the round trip is constant, no sample is reliable any more, and the rate never changes again.
//! - An acknowledgment without a round trip gives no sample; packets that never get a fate are not waited for.
//! - The handshake gives the first round trip, by which the first rate is scaled.
//! - Intervals of which less than half of the rate was sent raise no rate (RFC 9002 §7.8). The votes of the probes prefer more
//!   rate; without data to send they are chance, and the rate would grow without limit.
//! - The data in flight is at most two round trips of the rate, at least four segments, as in the authors' kernel module
//!   (PCCproject/PCC-Kernel 2eeadf09, `pcc_set_cwnd`). The code has no such bound.

mod intervals;
#[cfg(test)]
mod tests;
mod utility;

use airlane_core::{BitRate, Duration, Instant, Stream};

use self::intervals::{AckRtt, Feedback, MonitorInterval, MonitorIntervals};
use self::utility::UtilityFunction;
use super::{
    AckSample, CongestionController, DeliverySample, LossCause, LossEpisode, Needs, SegmentWindow, Snapshot,
    TimeoutEpisode, Transmission,
};

/// Share by which a pair of intervals differs from the rate (`kProbingStepSize`; ε in the paper).
const PROBE: f64 = 0.05;
/// Pairs of intervals (`kNumIntervalGroupsInProbingPrimary`).
const PAIRS: usize = 3;
/// Bits of a Mbit in gradients and steps (`kMegabit`). A gradient of 1 is a step of 1 Mbit/s
/// (`kUtilityGradientToRateChangeFactor`).
const MEGABIT: f64 = 1_048_576.0;
/// Exponent of the number of steps in one direction (`kRateChangeAmplifyExponent`).
const AMPLIFIER: f64 = 1.2;
/// The bound of a step as a share of the rate, and its increment (`kInitialMaxStepSize`, `kIncrementalStepSize`; the
/// paper's dynamic change boundary).
const STEP_MAX: f64 = 0.05;
const STEP_MAX_INCREMENT: f64 = 0.05;
/// The smallest step and the smallest rate in bits per second (`kMinRateChange`, `kMinSendingRate`).
const STEP_MIN: f64 = 500e3;
const RATE_MIN: f64 = 500e3;
/// The time in which the initial window is sent at first (`kInitialRtt`).
const INITIAL_RTT: Duration = Duration::from_millis(100);
/// Gain of the smoothed round trip (`UpdateRtt`).
const RTT_GAIN: u64 = 8;
/// Round trips of the rate in flight, and segments at least (PCC-Kernel, `pcc_set_cwnd`).
const WINDOW_RTTS: f64 = 2.0;
const WINDOW_MIN: f64 = 4.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Starting,
    Probing,
    Moving,
}

/// The utility at a rate in bits per second.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    rate: f64,
    utility: f64,
}

impl Measured {
    /// Whether this pair says that a higher rate is better.
    fn is_upwards(pair: &[Self]) -> bool {
        if pair[0].utility > pair[1].utility {
            pair[0].rate > pair[1].rate
        } else {
            pair[0].rate < pair[1].rate
        }
    }

    fn better(pair: &[Self]) -> Self {
        if pair[0].utility > pair[1].utility { pair[0] } else { pair[1] }
    }

    /// Differences of rate and utility.
    fn differences(self, other: Self) -> (f64, f64) {
        ((self.rate - other.rate).abs(), (self.utility - other.utility).abs())
    }

    /// The step for a difference of utility over one of the rate (`ComputeRateChange`).
    fn step(between: f64, gain: f64) -> f64 {
        if between > 0.0 { gain / (between / MEGABIT) * MEGABIT } else { 0.0 }
    }
}

/// The round trips of a connection.
#[derive(Clone, Copy, Debug)]
struct RoundTrips {
    smoothed: Duration,
    minimum: Duration,
    /// Time of the last sample.
    at: Instant,
}

impl RoundTrips {
    const fn new(now: Instant, rtt: Duration) -> Self {
        Self { smoothed: rtt, minimum: rtt, at: now }
    }

    fn add(&mut self, now: Instant, rtt: Duration) {
        self.smoothed = (self.smoothed * (RTT_GAIN - 1) + rtt) / RTT_GAIN;
        self.minimum = self.minimum.min(rtt);
        self.at = now;
    }
}

/// The controller. Rates are in bits per second.
#[derive(Clone, Debug)]
pub struct Vivace {
    mode: Mode,
    /// The rate; of probes, the middle.
    rate: f64,
    /// Direction of the current probe or of the steps.
    upwards: bool,
    /// Rounds in this mode.
    rounds: u32,
    /// The measurement that decided about the last change of the rate.
    latest: Measured,
    /// Increments of the bound of a step.
    increments: u32,
    intervals: MonitorIntervals,
    utility: UtilityFunction,
    rtt: Option<RoundTrips>,
    /// True once the first rate has been scaled by the round trip.
    scaled: bool,
    feedback: Feedback,
    stream: Stream,
}

impl Vivace {
    /// A controller in its initial state; the stream determines which interval of a pair is first.
    #[must_use]
    pub fn new(window: &SegmentWindow, stream: Stream) -> Self {
        Self {
            mode: Mode::Starting,
            rate: window.bytes().get() as f64 * 8.0 / INITIAL_RTT.as_secs_f64(),
            upwards: true,
            rounds: 1,
            latest: Measured::default(),
            increments: 0,
            intervals: MonitorIntervals::default(),
            utility: UtilityFunction::default(),
            rtt: None,
            scaled: false,
            feedback: Feedback::default(),
            stream,
        }
    }

    /// Scales the first rate by a first round trip below [`INITIAL_RTT`].
    fn scale(&mut self, rtt: Duration) {
        if !self.scaled && rtt < INITIAL_RTT {
            self.rate *= INITIAL_RTT.as_secs_f64() / rtt.as_secs_f64();
        }
        self.scaled = true;
    }

    /// Begins an interval with this packet (`MaybeSetSendingRate`, `CreateUsefulInterval`).
    fn begin_interval(&mut self, first: &Transmission) {
        let probes = if self.mode == Mode::Probing { 2 * PAIRS } else { 0 };
        let begun = self.intervals.useful();
        let mut rate = self.rate;
        if begun < probes {
            self.upwards = if begun.is_multiple_of(2) { self.stream.bits() & 1 == 1 } else { !self.upwards };
            rate *= if self.upwards { 1.0 + PROBE } else { 1.0 - PROBE };
        }
        let useful = self.rtt.is_some() && begun < probes.max(1);
        let duration_min = self.rtt.map_or(Duration::ZERO, |rtt| rtt.minimum);
        self.intervals.begin(rate, useful, duration_min, first);
    }

    /// The utilities of all intervals are available (`OnUtilityAvailable`). Intervals whose packets were sent at one
    /// instant say nothing about a rate (`HasInvalidUtility`).
    fn judge(&mut self, intervals: &[MonitorInterval], packet_bytes: f64) {
        if intervals.iter().any(|interval| interval.duration().is_zero()) {
            return;
        }
        let starting = self.mode == Mode::Starting;
        let mut measure = |interval: &MonitorInterval| Measured {
            rate: interval.rate,
            utility: self.utility.of(interval, packet_bytes, starting),
        };
        let measured: Vec<Measured> = intervals.iter().map(&mut measure).collect();
        let before = self.rate;
        match self.mode {
            Mode::Starting => self.judge_start(measured[0]),
            Mode::Probing => self.judge_probes(&measured),
            Mode::Moving => self.judge_step(measured[0]),
        }
        if !intervals.iter().all(MonitorInterval::is_used) {
            self.rate = self.rate.min(before);
        }
    }

    fn enter(&mut self, mode: Mode) {
        self.mode = mode;
        self.rounds = 1;
    }

    fn judge_start(&mut self, now: Measured) {
        if now.utility > self.latest.utility {
            self.rate *= 2.0;
            self.latest = now;
            self.rounds += 1;
        } else {
            self.rate /= 2.0;
            self.enter(Mode::Probing);
        }
    }

    /// The direction that the pairs agree on (`CanMakeDecision`).
    fn agreed(measured: &[Measured]) -> Option<bool> {
        let up = measured.chunks_exact(2).filter(|pair| Measured::is_upwards(pair)).count();
        let complete = measured.len() >= 2 * PAIRS;
        (complete && (up > PAIRS / 2 || up == 0)).then_some(up > 0)
    }

    fn judge_probes(&mut self, measured: &[Measured]) {
        if let Some(upwards) = Self::agreed(measured) {
            self.upwards = upwards;
            let agreeing = measured.chunks_exact(2).filter(|pair| Measured::is_upwards(pair) == upwards);
            self.latest = agreeing.clone().next_back().map_or(self.latest, Measured::better);
            let gain: f64 = agreeing.map(|pair| pair[0].differences(pair[1]).1).sum();
            let (between, _) = measured[0].differences(measured[1]);
            self.rate *= if upwards { 1.0 + PROBE } else { 1.0 - PROBE };
            self.increments = 0;
            self.rounds = 1;
            let step = self.bounded(Measured::step(between, gain / PAIRS as f64));
            self.step(step);
        } else {
            self.rounds += 1;
        }
        if (self.rounds > 1 || self.mode == Mode::Moving) && self.rate <= RATE_MIN {
            self.rate = RATE_MIN;
            self.increments = 0;
            self.enter(Mode::Starting);
        }
    }

    fn judge_step(&mut self, now: Measured) {
        let before = self.latest;
        let better = now.utility > before.utility && self.upwards == (now.rate > before.rate);
        let worse_back = now.utility < before.utility && self.upwards == (now.rate < before.rate);
        let (between, gain) = now.differences(before);
        let change = Measured::step(between, gain);
        if between > 0.0 && (better || worse_back) {
            self.rounds += 1;
            let step = self.bounded(change * self.amplifier());
            self.step(step);
            self.latest = now;
        } else {
            self.enter(Mode::Probing);
            let step = self.bounded(change * self.amplifier());
            self.rate += if self.upwards { -step } else { step };
            self.raise_to_least();
        }
    }

    /// The factor of a step after others in its direction, by the whole half of one more than their number
    /// (`ComputeRateChange`).
    fn amplifier(&self) -> f64 {
        libm::pow(f64::from(self.rounds.div_ceil(2)), AMPLIFIER)
    }

    /// A step within its bounds, which move with it (`ComputeRateChange`).
    fn bounded(&mut self, step: f64) -> f64 {
        let most = self.rate * (STEP_MAX + STEP_MAX_INCREMENT * f64::from(self.increments));
        let bounded = if step > most {
            self.increments += 1;
            most
        } else {
            self.increments = self.increments.saturating_sub(1);
            step
        };
        bounded.max(STEP_MIN)
    }

    /// Changes the rate in the direction (`EnterDecisionMade`).
    fn step(&mut self, step: f64) {
        self.rate += if self.upwards { step } else { -step };
        self.mode = Mode::Moving;
        if self.raise_to_least() {
            self.enter(Mode::Probing);
        }
    }

    /// Raises a rate below the smallest to it.
    fn raise_to_least(&mut self) -> bool {
        let below = self.rate < RATE_MIN;
        if below {
            self.rate = RATE_MIN;
            self.increments = 0;
        }
        below
    }

    /// The rate of the current interval.
    fn sending_rate(&self) -> f64 {
        self.intervals.rate().unwrap_or(self.rate)
    }

    /// Sets the window to its bound.
    fn apply(&self, window: &mut SegmentWindow) {
        let Some(rtt) = self.rtt else { return };
        let segment = f64::from(window.segment_size()) * 8.0;
        let in_flight = self.sending_rate() * rtt.smoothed.as_secs_f64() / segment;
        window.segments = (WINDOW_RTTS * in_flight).max(WINDOW_MIN) as u32;
    }
}

impl CongestionController for Vivace {
    fn needs(&self) -> Needs {
        Needs { transmissions: true, ..Needs::PATH_MODEL }
    }

    fn on_established(&mut self, _: &SegmentWindow, _: Instant, rtt: Option<Duration>) {
        if let Some(rtt) = rtt.filter(|rtt| !rtt.is_zero()) {
            self.scale(rtt);
        }
    }

    fn on_sent(&mut self, window: &mut SegmentWindow, packet: &Transmission) {
        if self.intervals.ends(packet.now, self.rtt.is_some()) {
            self.begin_interval(packet);
            self.apply(window);
        }
        self.intervals.on_sent(packet);
    }

    fn on_transmission_delivered(&mut self, number: u64) {
        self.feedback.delivered.push(number);
    }

    fn on_transmission_lost(&mut self, number: u64) {
        self.feedback.lost.push(number);
    }

    fn on_ack(&mut self, _: &mut SegmentWindow, _: &AckSample) {}

    fn on_delivery(&mut self, window: &mut SegmentWindow, sample: &DeliverySample) {
        let mut feedback = core::mem::take(&mut self.feedback);
        if let Some(latest) = sample.rtt.filter(|rtt| !rtt.is_zero()) {
            self.scale(latest);
            let gap = self.rtt.map_or(Duration::ZERO, |rtt| sample.now.saturating_since(rtt.at));
            let rtt = self.rtt.get_or_insert(RoundTrips::new(sample.now, latest));
            rtt.add(sample.now, latest);
            feedback.rtt = Some(AckRtt { latest, smoothed: rtt.smoothed, gap });
        }
        if let Some(intervals) = self.intervals.on_feedback(feedback) {
            self.judge(&intervals, f64::from(window.segment_size()));
        }
        self.apply(window);
    }

    fn threshold(&mut self, window: &SegmentWindow) -> u32 {
        window.segments
    }

    fn on_loss(&mut self, _: &mut SegmentWindow, _: &LossEpisode, _: LossCause) {}

    fn on_recovery_exit(&mut self, _: &mut SegmentWindow) {}

    /// A timeout is a probe: the next acknowledgment restores the window. The code has no response.
    fn on_timeout(&mut self, window: &mut SegmentWindow, timeout: &TimeoutEpisode) {
        window.restart_from(timeout.restart_segments);
    }

    fn on_undo(&mut self, window: &mut SegmentWindow, _: &Snapshot) {
        self.apply(window);
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        Some(BitRate(self.sending_rate() as u64))
    }
}
