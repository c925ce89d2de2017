//! The effect of losses on the model (§5.3.1.3, §5.5.10, §5.5.11).

use airlane_core::Instant;

use super::{Bbr3, DeliverySample, LostSegment, Mode, RateSample, SegmentWindow, UNIT, delivery_rate};

/// §2.7: 2 % of the data in flight may be lost while probing.
const THRESHOLD_PERCENT: u64 = 2;
/// §2.7: Beta = 0.7, the reduction in a round trip with a loss.
const BETA_TENTHS: u64 = 7;
/// §5.3.1.3: Startup ends after this many separate losses in a round trip.
const STARTUP_RANGES: u32 = 6;

/// The round trip in which losses are counted, and the deliveries in it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossRound {
    round_delivered: u64,
    round_start: bool,
    in_round: bool,
    bandwidth_latest: u64,
    inflight_latest: u64,
    /// Separate lost ranges in this round, and the last segment of the last range.
    ranges: u32,
    last_number: Option<u64>,
    /// The bounds to restore if the losses were spurious (§5.5.11.1).
    before: Option<Before>,
    /// True if this recovery has saved them.
    saved: bool,
    /// The state that the losses ended: Startup or Up.
    ended: Option<Mode>,
}

/// The bounds before a loss.
#[derive(Clone, Copy, Debug)]
struct Before {
    bandwidth_short: Option<u64>,
    inflight_short: Option<u32>,
    inflight_long: Option<u32>,
}

impl LossRound {
    /// A recovery has ended: the next loss starts another.
    pub(super) fn end_recovery(&mut self) {
        self.saved = false;
    }

    /// The volume delivered in the current round trip.
    pub(super) const fn inflight_latest(&self) -> u32 {
        self.inflight_latest as u32
    }

    /// BBRResetCongestionSignals.
    pub(super) fn forget_latest(&mut self) {
        self.in_round = false;
        self.bandwidth_latest = 0;
        self.inflight_latest = 0;
    }
}

/// IsInflightTooHigh: more than 2 % of a flight is lost.
pub(super) const fn is_too_high(lost: u64, in_flight: u32) -> bool {
    lost * 100 > in_flight as u64 * THRESHOLD_PERCENT
}

impl Bbr3 {
    /// BBRUpdateLatestDeliverySignals.
    pub(super) fn update_latest(&mut self, sample: &DeliverySample, rate: &RateSample) {
        let loss = &mut self.loss;
        loss.round_start = false;
        loss.bandwidth_latest = loss.bandwidth_latest.max(delivery_rate(rate));
        loss.inflight_latest = loss.inflight_latest.max(rate.delivered);
        if rate.prior_delivered >= loss.round_delivered {
            loss.round_delivered = sample.delivered;
            loss.round_start = true;
        }
    }

    /// BBRAdvanceLatestDeliverySignals.
    pub(super) fn advance_latest(&mut self, rate: &RateSample) {
        if self.loss.round_start {
            self.loss.bandwidth_latest = delivery_rate(rate);
            self.loss.inflight_latest = rate.delivered;
            self.loss.ranges = 0;
        }
    }

    /// BBRUpdateCongestionSignals: once per round trip, the short-term bounds are reduced to the
    /// delivered amount, or by Beta.
    pub(super) fn update_congestion_signals(&mut self, window: &SegmentWindow) {
        if !self.loss.round_start {
            return;
        }
        let accelerates = self.mode.accelerates();
        let mut by_marks = None;
        if let Some(marks) = &mut self.marks
            && marks.take_round()
            && !accelerates
        {
            let inflight = *self.inflight_short.get_or_insert(window.segments);
            by_marks = Some((u64::from(inflight) * marks.cut() / UNIT) as u32);
        }
        if self.loss.in_round && !accelerates {
            let bandwidth = self.bandwidth_short.unwrap_or(self.max_bandwidth.get());
            let inflight = u64::from(self.inflight_short.unwrap_or(window.segments));
            self.bandwidth_short = Some(self.loss.bandwidth_latest.max(bandwidth * BETA_TENTHS / 10));
            self.inflight_short = Some(self.loss.inflight_latest.max(inflight * BETA_TENTHS / 10) as u32);
        }
        // The lower one of the two bounds, as in google/bbr.
        self.inflight_short = self.inflight_short.map(|short| short.min(by_marks.unwrap_or(short)));
        self.loss.in_round = false;
    }

    /// BBRResetShortTermModel.
    pub(super) fn reset_short_term(&mut self) {
        self.bandwidth_short = None;
        self.inflight_short = None;
    }

    /// BBRCheckStartupHighLoss: a round trip of recovery with six separate losses and more than 2 %.
    pub(super) fn check_startup_loss(&mut self, sample: &DeliverySample, rate: &RateSample) {
        let recovers = sample.phase == super::Phase::Recovery;
        if self.mode != Mode::Startup
            || !self.loss.round_start
            || !recovers
            || self.loss.ranges < STARTUP_RANGES
            || !is_too_high(rate.lost, rate.in_flight_when_sent)
        {
            return;
        }
        self.full_pipe.ever = true;
        self.loss.ended = Some(Mode::Startup);
        let product = self.product(self.bandwidth(), UNIT);
        self.inflight_long = Some(product.max(self.loss.inflight_latest as u32));
    }

    /// BBRHandleLostPacket.
    pub(super) fn handle_lost(&mut self, window: &SegmentWindow, lost: &LostSegment) {
        if !self.loss.in_round {
            self.loss.round_delivered = lost.delivered;
        }
        self.loss.in_round = true;
        self.save_before_loss();
        let adjoins = self.loss.last_number.is_some_and(|last| lost.number == last + 1);
        self.loss.ranges += u32::from(!adjoins);
        self.loss.last_number = Some(lost.number);
        if !self.cycle.probe_samples || !is_too_high(lost.lost, lost.in_flight_when_sent) {
            return;
        }
        let ends_up = self.mode == Mode::Up;
        let in_flight = (!lost.app_limited).then(|| inflight_at_loss(lost));
        self.handle_too_high(window, in_flight, (lost.now, lost.delivered));
        if ends_up {
            self.loss.ended = Some(Mode::Up);
        }
    }

    /// BBRHandleInflightTooHigh; without an amount if the application limited it.
    pub(super) fn handle_too_high(
        &mut self,
        window: &SegmentWindow,
        in_flight: Option<u32>,
        (now, delivered): (Instant, u64),
    ) {
        self.cycle.too_high = true;
        self.cycle.probe_samples = false; // once per probe
        if let Some(in_flight) = in_flight {
            let floor = u64::from(self.target_inflight(window)) * BETA_TENTHS / 10;
            self.inflight_long = Some(in_flight.max(floor as u32));
        }
        if self.mode == Mode::Up {
            self.start_down(now, delivered);
        }
    }

    /// SaveStateUponLoss, once for each recovery (§5.5.11.1, as in Linux). The pseudocode of §5.5.10.2 saves
    /// at each first loss of a round, but Down begins a new one: the second of the lost segments that end Up
    /// would save the state that the first has changed.
    pub(super) fn save_before_loss(&mut self) {
        if core::mem::replace(&mut self.loss.saved, true) {
            return;
        }
        self.loss.ended = None;
        self.loss.before = Some(Before {
            bandwidth_short: self.bandwidth_short,
            inflight_short: self.inflight_short,
            inflight_long: self.inflight_long,
        });
    }

    /// HandleSpuriousLossDetection.
    pub(super) fn restore_after_spurious_loss(&mut self, window: &mut SegmentWindow) {
        window.segments = window.segments.max(self.prior_window);
        self.loss.in_round = false;
        self.loss.saved = false;
        self.full_pipe.restart(0);
        let ended = self.loss.ended.take();
        if let Some(before) = self.loss.before.take() {
            // `None` means no bound, which is larger than any bound.
            self.bandwidth_short = self.bandwidth_short.zip(before.bandwidth_short).map(|(a, b)| a.max(b));
            self.inflight_short = self.inflight_short.zip(before.inflight_short).map(|(a, b)| a.max(b));
            self.inflight_long = self.inflight_long.zip(before.inflight_long).map(|(a, b)| a.max(b));
        }
        if ended == Some(Mode::Startup) && self.mode != Mode::Startup {
            self.full_pipe.ever = false;
            if self.mode != Mode::ProbeRtt {
                self.mode = Mode::Startup;
            }
        } else if ended == Some(Mode::Up) && !matches!(self.mode, Mode::Up | Mode::ProbeRtt) {
            self.start_refill(self.delivered);
        }
    }
}

/// BBRInflightAtLoss: the data in flight at which losses exceeded 2 %: (0.02 flight - lost) / 0.98
/// more than was in flight before the segment.
fn inflight_at_loss(lost: &LostSegment) -> u32 {
    let before = u64::from(lost.in_flight_when_sent).saturating_sub(1);
    let lost_before = lost.lost.saturating_sub(1);
    let allowed = THRESHOLD_PERCENT * before; // in hundredths
    let prefix = allowed.saturating_sub(100 * lost_before) / (100 - THRESHOLD_PERCENT);
    (before + prefix) as u32
}
