//! PIE: proportional integral controller enhanced (RFC 8033).
//!
//! Every update period a controller compares the queue's delay with its target, and with the delay
//! of the period before, and moves the probability with which arrivals are dropped or marked. The
//! probability changes with time only, not with packets.
//!
//! The delay is measured with time stamps (RFC 8033 §4.3 allows them instead of an estimated
//! departure rate): the time that the packet at the head has waited when the period ends. This
//! shows at once that a radio link has stalled, which the delay of the last departure would not.
//!
//! There is no timer: due updates are computed at the next call. This is not observable, since the
//! queue did not change in between.
//!
//! Not included: the departure rate estimate (§5.2), switching on and off (§5.3), and the
//! derandomization of drops (§5.4).

use airlane_core::{Bytes, Cx, DropCause, Duration, Instant, PacketRef, Stream};

use crate::queue::{Backlog, DropTail, Limit, QueueDiscipline, QueueStatistics, Waiting};
use crate::updates::{Periodic, Updates};

/// Parameters of PIE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// The target delay (QDELAY_REF).
    pub target: Duration,
    /// The update period of the probability (T_UPDATE).
    pub update: Duration,
    /// After a time without congestion, a burst of this duration is accepted without drops (MAX_BURST).
    pub max_burst: Duration,
    /// Weight of the distance from the target, per second.
    pub alpha: f64,
    /// Weight of the change since the last update, per second.
    pub beta: f64,
    /// Up to this probability ECN-capable packets are marked; above it they are dropped (mark_ecnth).
    pub ecn_threshold: f64,
    /// Marks ECN-capable packets instead of dropping them.
    pub ecn: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(15),     // RFC 8033 §4.2, QDELAY_REF
            update: Duration::from_millis(15),     // RFC 8033 §4.2, T_UPDATE
            max_burst: Duration::from_millis(150), // RFC 8033 §4.4, MAX_BURST
            alpha: 0.125,                          // RFC 8033 appendix A, 1/8 Hz
            beta: 1.25,                            // RFC 8033 appendix A, 1 + 1/4 Hz
            ecn_threshold: 0.1,                    // RFC 8033 §5.1
            ecn: false,
        }
    }
}

/// A backlog of this size or less is not a standing queue (RFC 8033 §4.1, two packets of
/// MEAN_PKTSIZE, which it leaves open. 1024 bytes: RFC 8034 appendix A.1.2).
const SMALL_BACKLOG: Bytes = Bytes(2 * 1024);
/// Below this probability nothing is dropped while the delay is less than half the target (RFC 8033
/// §4.1).
const SAFE_PROBABILITY: f64 = 0.2;
/// The factor by which the probability decays while nothing waits (RFC 8033 §4.2).
const DECAY: f64 = 0.98;
/// From the first value on, the probability increases per update by at most the second value (RFC
/// 8033 §5.5).
const STEP_CAP: (f64, f64) = (0.1, 0.02);
/// While the probability is below the first value, steps are divided by the second (RFC 8033 §4.2).
const SCALES: [(f64, f64); 6] =
    [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];

/// The state variables of RFC 8033, independent of any queue.
#[derive(Clone, Debug)]
pub struct Controller {
    parameters: Parameters,
    probability: f64,
    /// The delay at the last update.
    delay: Duration,
    burst_allowance: Duration,
}

impl Controller {
    /// A controller in its initial state.
    ///
    /// # Panics
    /// If the update period is zero.
    #[must_use]
    pub fn new(parameters: Parameters) -> Self {
        assert!(!parameters.update.is_zero(), "an update period above zero");
        Self { parameters, probability: 0.0, delay: Duration::ZERO, burst_allowance: parameters.max_burst }
    }

    /// The drop probability.
    #[must_use]
    pub const fn probability(&self) -> f64 {
        self.probability
    }

    /// Ends an update period (RFC 8033 §4.2 and §4.4) at whose end the queue's delay is `delay`.
    pub fn update(&mut self, delay: Duration) {
        let Parameters { target, update, max_burst, alpha, beta, .. } = self.parameters;
        let before = core::mem::replace(&mut self.delay, delay);
        let seconds = Duration::as_secs_f64;
        let step = alpha * (seconds(delay) - seconds(target)) + beta * (seconds(delay) - seconds(before));
        let scale = SCALES.iter().find(|(below, _)| self.probability < *below);
        let mut step = step / scale.map_or(1.0, |(_, divisor)| *divisor);
        if self.probability >= STEP_CAP.0 {
            step = step.min(STEP_CAP.1);
        }
        self.probability += step;
        if delay.is_zero() && before.is_zero() {
            self.probability *= DECAY;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        let calm = |delay: Duration| delay < target / 2;
        self.burst_allowance = if self.probability == 0.0 && calm(delay) && calm(before) {
            max_burst
        } else {
            self.burst_allowance.saturating_sub(update)
        };
    }

    /// Whether an arrival is dropped or marked (RFC 8033 §4.1); `draw` is called only when the
    /// result depends on it.
    pub fn signals(&self, backlog: Bytes, draw: impl FnOnce() -> f64) -> bool {
        let calm = self.delay < self.parameters.target / 2 && self.probability < SAFE_PROBABILITY;
        self.burst_allowance.is_zero()
            && !calm
            && backlog > SMALL_BACKLOG
            && self.probability > 0.0
            && draw() < self.probability
    }

    /// Whether a signal may be a mark at this probability (RFC 8033 §5.1).
    fn may_mark(&self) -> bool {
        self.parameters.ecn && self.probability <= self.parameters.ecn_threshold
    }
}

impl Periodic for Controller {
    fn end_period(&mut self, delay: Duration) {
        self.update(delay);
    }

    fn is_at_rest(&self) -> bool {
        self.probability == 0.0
            && self.delay.is_zero()
            && self.burst_allowance == self.parameters.max_burst
            && !self.parameters.target.is_zero()
    }
}

/// PIE over a drop-tail queue.
#[derive(Debug)]
pub struct Pie {
    queue: DropTail,
    controller: Controller,
    updates: Updates,
    stream: Stream,
    dropped: u64,
    marked: u64,
}

impl Pie {
    /// An empty queue that draws from `stream`.
    ///
    /// # Panics
    /// If the update period is zero.
    #[must_use]
    pub fn new(limit: Limit, parameters: Parameters, stream: Stream) -> Self {
        Self {
            queue: DropTail::new(limit),
            controller: Controller::new(parameters),
            updates: Updates::every(parameters.update),
            stream,
            dropped: 0,
            marked: 0,
        }
    }

    /// The controller of the queue.
    #[must_use]
    pub fn controller(&self) -> &Controller {
        &self.controller
    }

    /// Computes the updates that were due up to now.
    #[inline]
    fn catch_up(&mut self, now: Instant) {
        if self.updates.are_due(now) {
            self.updates.catch_up(now, self.queue.oldest(), &mut self.controller);
        }
    }
}

impl QueueDiscipline for Pie {
    fn enqueue(&mut self, cx: &mut Cx<'_>, packet: PacketRef, ahead: Bytes) {
        self.catch_up(cx.now);
        // A packet that does not fit is dropped without a draw and without a mark.
        if self.queue.has_room(cx, &packet, ahead)
            && self.controller.signals(self.queue.bytes(), || self.stream.uniform())
        {
            if !(self.controller.may_mark() && cx.mark(&packet)) {
                self.dropped += 1;
                cx.discard(packet, DropCause::QueueManagement);
                return;
            }
            self.marked += 1;
        }
        self.queue.enqueue(cx, packet, ahead);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Waiting> {
        self.catch_up(cx.now);
        self.queue.pop()
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn oldest(&self) -> Option<Instant> {
        self.queue.oldest()
    }

    fn expire(&mut self, cx: &mut Cx<'_>, until: Instant) {
        self.catch_up(cx.now);
        self.queue.expire(cx, until);
    }

    fn statistics(&self) -> QueueStatistics {
        self.queue.statistics_with(self.dropped, self.marked)
    }
}

#[cfg(test)]
mod tests;
