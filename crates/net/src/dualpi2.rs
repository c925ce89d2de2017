//! DualPI2: two queues under a coupled PI2 controller, for L4S and for classic traffic (RFC 9332).
//!
//! Packets with ECT(1) or CE wait in the L queue, all others in the C queue. One controller moves a base
//! probability p' with the delay of the queues. Packets of the C queue are dropped, or marked if they have
//! ECT(0), with p_C = p'^2. Packets of the L queue are marked with the larger of p_CL = k p' and the
//! probability of their own queue, which is a step or a ramp over a delay. So p_C = (p_CL / k)^2 (RFC 9332
//! §2.1). A scheduler prefers the L queue and does not starve the C queue.
//!
//! The delay of the L queue is the time that a packet has waited when it leaves (RFC 9332 appendix A.1), or a
//! prediction when it arrives ([`Delay::Predicted`]).
//!
//! The rules were checked against RFC 9332 and `net/sched/sch_dualpi2.c` of Linux 6.18. Where these differ, this
//! follows Linux: p' moves with the longer delay of the two queues, in the RFC with that of the C queue unless there
//! is overload; the L queue has a step at 1 ms, in the RFC a ramp from 0.8 ms to 1.2 ms; the least length for the step
//! is an option that is off, in the RFC one packet; marks are drawn, in the RFC counted (`recur`). Not included: drops
//! at arrival (Linux's `drop_enqueue`), a step in packets, and queue protection.
//!
//! There is no timer: due updates are computed at the next call, as in [`crate::pie`].

mod control;
mod served;

use airlane_core::{Bytes, Cx, DropCause, Duration, Ecn, Instant, PacketRef, Stream};

pub use self::control::{Controller, Gains};
use self::served::Served;
use crate::queue::{Backlog, DropTail, Limit, QueueDiscipline, QueueStatistics, Waiting};
use crate::updates::Updates;

/// Parameters of DualPI2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// The controller.
    pub gains: Gains,
    /// The coupling factor k.
    pub coupling: f64,
    /// The delay at which packets of the L queue begin to be marked.
    pub threshold: Duration,
    /// From the threshold over this range the probability of marks increases to 1. Zero for a step.
    pub ramp: Duration,
    /// The delay marks only packets that leave, or arrive at, an L queue of more packets than this.
    pub min_packets: usize,
    /// Measure of the delay of the L queue.
    pub delay: Delay,
    /// Which queue is served.
    pub scheduler: Scheduler,
    /// The behaviour at overload.
    pub overload: Overload,
    /// Packets that may wait in both queues together.
    pub packets: usize,
    /// True to put ECT(0) into the L queue too.
    pub any_ect: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            gains: Gains::default(),
            coupling: 2.0,                       // RFC 9332 appendix A.1
            threshold: Duration::from_millis(1), // Linux, step_thresh
            ramp: Duration::ZERO,                // Linux has a step
            min_packets: 0,                      // Linux, min_qlen_step
            delay: Delay::Sojourn,
            scheduler: Scheduler::WeightedRoundRobin { classic: 0.1 }, // Linux, classic_protection
            overload: Overload::Drop,                                  // Linux, drop_on_overload
            packets: 10_000,                                           // Linux, limit
            any_ect: false,
        }
    }
}

/// The delay of the L queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delay {
    /// The time that the packet has waited when it leaves.
    Sojourn,
    /// The time that the packet that arrives will wait: the bytes of the L queue over the rate at which the
    /// queues were served within the last `window` of backlog.
    ///
    /// The rule is that of L4Span (H. Wan and K. Jamieson, arXiv 2510.02682; `make_mark_decision` in its
    /// `lib/mark/mark_entity_impl.h`, commit cef83f83): the rate that would meet the threshold is compared
    /// with the mean and the standard deviation of the served rate. Packets are marked with probability 1
    /// above mean + deviation, 0 below mean - deviation, and in between along a line. So the spread of the
    /// served rate takes the place of the ramp.
    Predicted {
        /// The time over which the served rate is measured.
        window: Duration,
    },
}

/// Which queue is served while both have packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scheduler {
    /// Weighted round robin, in bytes: `classic` is the share of the C queue (RFC 9332 §4.2.2, Linux's
    /// `classic_protection`).
    WeightedRoundRobin {
        /// From 0 to 1.
        classic: f64,
    },
    /// The head that has waited longest, where packets of the L queue count as `shift` older: TS-FIFO of RFC
    /// 9332 §4.2.2.
    TimeShiftedFifo {
        /// The time shift.
        shift: Duration,
    },
}

/// The behaviour while the coupled probability of the L queue is above 1 (RFC 9332 §4.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overload {
    /// Packets of both queues are dropped with p'^2, whatever their ECN field; the rest of the L queue is
    /// marked.
    Drop,
    /// No drop before the queue is full: p' stays at 1/k or below.
    Overflow,
}

/// A backlog of no more than this behind a packet gives no coupled signals (RFC 9332 appendix A.1 and Linux: two MTUs).
const SMALL_BACKLOG: Bytes = Bytes(2 * 1500);
/// The weights of the scheduler are whole numbers of this sum.
const WEIGHTS: i64 = 10_000;
/// A full packet, for the initial credit of the scheduler.
const FULL_PACKET: i64 = 1500;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Pass,
    Mark,
    Drop,
}

/// The coupled queues.
#[derive(Debug)]
pub struct DualPi2 {
    parameters: Parameters,
    limit: Limit,
    l: DropTail,
    c: DropTail,
    controller: Controller,
    updates: Updates,
    /// Weighted round robin: the L queue is next while this is not above zero.
    credit: i64,
    served: Option<Served>,
    stream: Stream,
    statistics: QueueStatistics,
}

impl DualPi2 {
    /// Empty queues that draw from `stream`.
    ///
    /// # Panics
    /// If the update period, the threshold of a prediction or its window is zero.
    #[must_use]
    pub fn new(limit: Limit, parameters: Parameters, stream: Stream) -> Self {
        let served = match parameters.delay {
            Delay::Sojourn => None,
            Delay::Predicted { window } => {
                assert!(!parameters.threshold.is_zero(), "a rate that meets a threshold above zero");
                Some(Served::new(window))
            }
        };
        let unlimited = Limit::NONE.with_overhead(limit.overhead);
        let mut queues = Self {
            limit: Limit { packets: limit.packets.min(parameters.packets), ..limit },
            l: DropTail::new(unlimited),
            c: DropTail::new(unlimited),
            controller: Controller::new(parameters.gains, parameters.coupling, parameters.overload),
            updates: Updates::every(parameters.gains.update),
            credit: 0,
            served,
            stream,
            statistics: QueueStatistics::default(),
            parameters,
        };
        queues.credit = queues.initial_credit();
        queues
    }

    /// The controller of the queue.
    #[must_use]
    pub fn controller(&self) -> &Controller {
        &self.controller
    }

    /// The backlog of the L queue and that of the C queue.
    #[must_use]
    pub fn backlogs(&self) -> [Backlog; 2] {
        [self.l.backlog(), self.c.backlog()]
    }

    /// Computes the updates that were due up to now. The delay is the larger of both queues.
    #[inline]
    fn catch_up(&mut self, now: Instant) {
        if self.updates.are_due(now) {
            self.updates.catch_up(now, self.oldest(), &mut self.controller);
        }
    }

    /// True if a packet belongs into the L queue (RFC 9332 §2.3).
    fn is_l4s(&self, ecn: Ecn) -> bool {
        match ecn {
            Ecn::Capable1 | Ecn::CongestionExperienced => true,
            Ecn::Capable0 => self.parameters.any_ect,
            Ecn::NotCapable => false,
        }
    }

    /// The weights of the C queue and of the L queue.
    fn weights(&self) -> [i64; 2] {
        let Scheduler::WeightedRoundRobin { classic } = self.parameters.scheduler else { return [0, 0] };
        let classic = (classic * WEIGHTS as f64) as i64;
        [classic, WEIGHTS - classic]
    }

    fn initial_credit(&self) -> i64 {
        let [classic, l4s] = self.weights();
        FULL_PACKET * (classic - l4s)
    }

    /// True if the L queue is served next; it or the C queue has packets.
    fn prefers_l(&self) -> bool {
        let [Some(l), Some(c)] = [self.l.oldest(), self.c.oldest()] else { return self.l.len() > 0 };
        match self.parameters.scheduler {
            Scheduler::WeightedRoundRobin { .. } => self.credit <= 0,
            Scheduler::TimeShiftedFifo { shift } => l <= c.saturating_add(shift),
        }
    }

    /// Takes a packet of the queue that is served next: true for the L queue, and the credit that it costs.
    fn take(&mut self) -> Option<(Waiting, bool, i64)> {
        let [classic, l4s] = self.weights();
        let from_l = self.prefers_l();
        let head = if from_l { self.l.pop()? } else { self.c.pop()? };
        // A queue that is alone pays nothing.
        let weight = match from_l {
            true if self.c.len() > 0 => classic,
            false if self.l.len() > 0 => -l4s,
            _ => 0,
        };
        let cost = weight * i64::from(head.size);
        Some((head, from_l, cost))
    }

    /// Judges a packet that was taken from the L queue.
    fn judge_l(&mut self, sojourn: Duration) -> Verdict {
        let coupled = self.backlog().bytes >= SMALL_BACKLOG;
        if coupled && self.controller.is_overloaded() {
            let drops = self.parameters.overload == Overload::Drop && self.draws_squared();
            return if drops { Verdict::Drop } else { Verdict::Mark };
        }
        let own = if self.served.is_none() && self.l.len() + 1 > self.parameters.min_packets {
            self.ramp(sojourn)
        } else {
            0.0
        };
        let probability = own.max(if coupled { self.controller.coupled() } else { 0.0 });
        if self.draws(probability) { Verdict::Mark } else { Verdict::Pass }
    }

    /// Judges a packet that was taken from the C queue.
    fn judge_c(&mut self, ecn: Ecn) -> Verdict {
        if self.backlog().bytes < SMALL_BACKLOG || !self.draws_squared() {
            return Verdict::Pass;
        }
        let is_capable = ecn != Ecn::NotCapable;
        if is_capable && !self.controller.is_overloaded() { Verdict::Mark } else { Verdict::Drop }
    }

    /// The probability of marks at a delay of the L queue.
    fn ramp(&self, delay: Duration) -> f64 {
        let Parameters { threshold, ramp, .. } = self.parameters;
        if delay <= threshold {
            return 0.0;
        }
        let beyond = delay - threshold;
        if beyond >= ramp { 1.0 } else { beyond.as_nanos() as f64 / ramp.as_nanos() as f64 }
    }

    /// The probability of a mark by prediction for a packet that arrived; it is in the L queue.
    fn predicted(&self) -> f64 {
        let Some(served) = &self.served else { return 0.0 };
        if self.l.len() <= self.parameters.min_packets {
            return 0.0;
        }
        served.probability(self.l.bytes(), self.parameters.threshold)
    }

    /// Draws once with this probability.
    fn draws(&mut self, probability: f64) -> bool {
        probability >= 1.0 || (probability > 0.0 && self.stream.uniform() < probability)
    }

    /// Draws twice with p' (RFC 9332 §2.1: the square of the base probability).
    fn draws_squared(&mut self) -> bool {
        let base = self.controller.base();
        self.draws(base) && self.draws(base)
    }
}

impl QueueDiscipline for DualPi2 {
    fn enqueue(&mut self, cx: &mut Cx<'_>, packet: PacketRef, ahead: Bytes) {
        self.catch_up(cx.now);
        let Backlog { bytes, packets } = self.backlog();
        let (size, ecn) = {
            let arrived = cx.pool.get(&packet);
            (Bytes(u64::from(self.limit.size_of(arrived.size))), arrived.ecn)
        };
        if bytes + ahead + size > self.limit.bytes || packets >= self.limit.packets {
            self.statistics.overflows += 1;
            cx.discard(packet, DropCause::QueueFull);
            return;
        }
        if let Some(served) = &mut self.served {
            served.on_arrival(cx.now);
        }
        if !self.is_l4s(ecn) {
            self.c.enqueue(cx, packet, Bytes::ZERO);
            return;
        }
        self.l.enqueue(cx, packet, Bytes::ZERO);
        let probability = self.predicted();
        if self.draws(probability)
            && let Some(tail) = self.l.newest()
            && cx.mark(&tail.packet)
        {
            self.statistics.marks += 1;
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Waiting> {
        self.catch_up(cx.now);
        while let Some((head, from_l, cost)) = self.take() {
            let verdict = match from_l {
                true => self.judge_l(cx.now - head.since),
                false => self.judge_c(cx.pool.get(&head.packet).ecn),
            };
            let dropped = match verdict {
                Verdict::Pass => false,
                Verdict::Mark => !cx.mark(&head.packet),
                Verdict::Drop => true,
            };
            if dropped {
                self.statistics.managed_drops += 1;
                cx.discard(head.packet, DropCause::QueueManagement);
                continue;
            }
            self.statistics.marks += u64::from(verdict == Verdict::Mark);
            self.credit += cost;
            let is_empty = self.backlog().packets == 0;
            if let Some(served) = &mut self.served {
                served.on_departure(cx.now, head.size, is_empty);
            }
            return Some(head);
        }
        self.credit = self.initial_credit();
        None
    }

    fn backlog(&self) -> Backlog {
        Backlog { bytes: self.l.bytes() + self.c.bytes(), packets: self.l.len() + self.c.len() }
    }

    fn oldest(&self) -> Option<Instant> {
        match (self.l.oldest(), self.c.oldest()) {
            (Some(l), Some(c)) => Some(l.min(c)),
            (l, c) => l.or(c),
        }
    }

    fn expire(&mut self, cx: &mut Cx<'_>, until: Instant) {
        self.catch_up(cx.now);
        self.l.expire(cx, until);
        self.c.expire(cx, until);
        let is_empty = self.backlog().packets == 0;
        if let Some(served) = &mut self.served
            && is_empty
        {
            served.on_departure(cx.now, 0, true);
        }
    }

    fn statistics(&self) -> QueueStatistics {
        self.statistics
    }
}

#[cfg(test)]
mod tests;
