//! The probing cycle (§5.3.3): Down drains, Cruise waits, Refill fills the path for a round trip, Up
//! probes for more bandwidth.

use airlane_core::{Duration, Instant};

use super::{Bbr3, DeliverySample, Mode, RateSample, SegmentWindow, UNIT, WINDOW_MIN, delivery_rate};

/// §5.3.3.8: time between probes, 2 s and up to one more second.
const WAIT_MIN: Duration = Duration::from_secs(2);
const WAIT_RANDOM_NS: u64 = 1_000_000_000;
/// §5.3.3.8: round trips after which a Reno flow would have probed.
const RENO_ROUNDS: u64 = 63;
/// §2.7: Cruise leaves 15 % of the long-term bound free.
const HEADROOM_PERCENT: u32 = 15;
/// §5.3.3.9: maximum number of doublings of the slope of Up.
const UP_ROUNDS_MAX: u32 = 30;

/// The phase of probing to which the current samples belong (§5.3.3.9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum AckPhase {
    /// No phase: all samples of a probe have arrived.
    #[default]
    Over,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

/// The state of the cycle.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cycle {
    began: Instant,
    wait: Duration,
    pub(super) rounds_since_probe: u64,
    ack_phase: AckPhase,
    /// Samples of the last probe are still arriving: a loss counts against it.
    pub(super) probe_samples: bool,
    up_rounds: u32,
    up_acks: u64,
    /// Segments acknowledged per segment of growth of the long-term bound.
    up_count: u64,
    /// The last Up lost too much (§5.3.3.6): the next one stops at the bound.
    pub(super) too_high: bool,
    /// Up was stopped at the bound: if no loss follows, another one starts at once.
    precautionary: bool,
}

impl Cycle {
    /// The next samples do not belong to a probe.
    pub(super) fn end_samples(&mut self) {
        self.ack_phase = AckPhase::Stopping;
    }
}

impl Bbr3 {
    pub(super) fn start_down(&mut self, now: Instant, delivered: u64) {
        self.loss.forget_latest();
        if let Some(marks) = &mut self.marks {
            marks.forget_round();
        }
        self.cycle.up_count = u64::MAX;
        // BBRPickProbeWait.
        self.cycle.rounds_since_probe = self.stream.below(2);
        self.cycle.wait = WAIT_MIN + Duration::from_nanos(self.stream.below(WAIT_RANDOM_NS));
        self.cycle.began = now;
        self.cycle.end_samples();
        self.start_round(delivered);
        self.mode = Mode::Down;
    }

    pub(super) fn start_refill(&mut self, delivered: u64) {
        self.reset_short_term();
        self.cycle.up_rounds = 0;
        self.cycle.up_acks = 0;
        self.cycle.precautionary = false;
        self.cycle.ack_phase = AckPhase::Refilling;
        self.start_round(delivered);
        self.mode = Mode::Refill;
    }

    fn start_up(&mut self, window: &SegmentWindow, delivered: u64, rate: &RateSample) {
        self.cycle.ack_phase = AckPhase::Starting;
        self.start_round(delivered);
        self.full_pipe.restart(delivery_rate(rate));
        self.mode = Mode::Up;
        self.raise_slope(window);
    }

    /// BBRUpdateProbeBWCyclePhase.
    pub(super) fn update_cycle(
        &mut self,
        window: &SegmentWindow,
        sample: &DeliverySample,
        rate: &RateSample,
    ) {
        if !self.full_pipe.ever {
            return;
        }
        if self.adapt_long_term(window, sample, rate) {
            return self.start_refill(sample.delivered);
        }
        match self.mode {
            Mode::Down | Mode::Cruise => {
                if self.is_time_to_probe(window, sample.now) {
                    self.start_refill(sample.delivered);
                } else if self.mode == Mode::Down && self.is_time_to_cruise(window, sample.in_flight) {
                    self.mode = Mode::Cruise;
                }
            }
            Mode::Refill => {
                if self.round_start {
                    self.cycle.probe_samples = true;
                    self.start_up(window, sample.delivered, rate);
                }
            }
            Mode::Up => {
                if self.is_time_to_go_down(window, sample, rate) {
                    self.cycle.too_high = false; // no loss so far
                    self.start_down(sample.now, sample.delivered);
                }
            }
            Mode::Startup | Mode::Drain | Mode::ProbeRtt => {}
        }
    }

    fn is_time_to_probe(&self, window: &SegmentWindow, now: Instant) -> bool {
        let reno = u64::from(self.target_inflight(window)).min(RENO_ROUNDS);
        now > self.cycle.began + self.cycle.wait || self.cycle.rounds_since_probe >= reno
    }

    fn is_time_to_cruise(&self, window: &SegmentWindow, in_flight: u32) -> bool {
        let room = self.inflight_with_headroom().unwrap_or(u32::MAX);
        in_flight <= room && in_flight <= self.inflight(window, self.max_bandwidth.get(), UNIT)
    }

    fn is_time_to_go_down(
        &mut self,
        window: &SegmentWindow,
        sample: &DeliverySample,
        rate: &RateSample,
    ) -> bool {
        if self.cycle.too_high && self.inflight_long.is_some_and(|long| sample.in_flight >= long) {
            self.cycle.precautionary = true;
            return true;
        }
        if self.is_at_long_term_bound(window, sample) {
            self.full_pipe.restart(delivery_rate(rate)); // the bound is the limit, not the path
            return false;
        }
        self.full_pipe.now
    }

    fn is_at_long_term_bound(&self, window: &SegmentWindow, sample: &DeliverySample) -> bool {
        sample.window_limited && self.inflight_long.is_some_and(|long| window.segments >= long)
    }

    /// BBRInflightWithHeadroom.
    pub(super) fn inflight_with_headroom(&self) -> Option<u32> {
        let long = self.inflight_long?;
        let headroom = (long * HEADROOM_PERCENT / 100).max(1);
        Some(long.saturating_sub(headroom).max(WINDOW_MIN))
    }

    /// BBRRaiseInflightLongtermSlope: 1, 2, 4 ... segments per round trip.
    fn raise_slope(&mut self, window: &SegmentWindow) {
        let growth = 1_u64 << self.cycle.up_rounds;
        self.cycle.up_rounds = (self.cycle.up_rounds + 1).min(UP_ROUNDS_MAX);
        self.cycle.up_count = (u64::from(window.segments) / growth).max(1);
    }

    /// BBRProbeInflightLongtermUpward.
    fn probe_upward(&mut self, window: &SegmentWindow, sample: &DeliverySample) {
        if !self.is_at_long_term_bound(window, sample) {
            return;
        }
        self.cycle.up_acks += u64::from(sample.newly_delivered);
        if self.cycle.up_acks >= self.cycle.up_count {
            let delta = self.cycle.up_acks / self.cycle.up_count;
            self.cycle.up_acks -= delta * self.cycle.up_count;
            self.inflight_long = self.inflight_long.map(|long| long + delta as u32);
        }
        if self.round_start {
            self.raise_slope(window);
        }
    }

    /// AdaptLongTermModel. Returns true if the probe that has ended was stopped as a precaution, without
    /// a loss.
    fn adapt_long_term(
        &mut self,
        window: &SegmentWindow,
        sample: &DeliverySample,
        rate: &RateSample,
    ) -> bool {
        if self.round_start {
            match self.cycle.ack_phase {
                AckPhase::Starting => self.cycle.ack_phase = AckPhase::Feedback,
                AckPhase::Stopping => {
                    self.cycle.ack_phase = AckPhase::Over;
                    self.cycle.probe_samples = false;
                    if self.mode.probes_bandwidth() && !rate.app_limited {
                        self.cycles += 1; // §5.5.6
                    }
                    if self.mode.probes_bandwidth() && self.cycle.precautionary && !self.cycle.too_high {
                        return true;
                    }
                }
                AckPhase::Over | AckPhase::Refilling | AckPhase::Feedback => {}
            }
        }
        if super::loss::is_too_high(rate.lost, rate.in_flight_when_sent) {
            return false;
        }
        if self.marks.as_ref().is_some_and(|marks| marks.too_many) {
            if self.cycle.probe_samples {
                let in_flight = (!rate.app_limited).then_some(rate.in_flight_when_sent);
                self.handle_too_high(window, in_flight, (sample.now, sample.delivered));
            }
            return false;
        }
        let Some(long) = self.inflight_long else { return false };
        self.inflight_long = Some(long.max(rate.in_flight_when_sent));
        if self.mode == Mode::Up {
            self.probe_upward(window, sample);
        }
        false
    }
}
