//! ABC's marks (Goyal, Agarwal, Netravali, Alizadeh and Balakrishnan, "ABC: A Simple Explicit Congestion Controller for
//! Wireless Networks", NSDI 2020). The queue marks each packet that leaves: for its acknowledgment, the sender sends two
//! packets (accelerate) or none (brake).
//!
//! When a packet leaves, the target rate is
//!
//! > tr = utilisation × capacity − capacity × max(0, delay − target) / delta
//!
//! and the share of packets that accelerate is f = tr / (2 × rate of departures), from 0 to 1. If half of the packets
//! accelerate, the window stays; with the share f, the sender has the target rate a round trip later. A token bucket
//! turns the share into marks.
//!
//! The source is the authors' router, `mahimahi/src/packet/cellular_packet_queue.cc` in prateshg/ABC-NSDI2020
//! b1693cbb; the papers were not read. That code has the rate of departures in place of the capacity in the first
//! term, and adds 0.49 tokens to the bucket for an opportunity without a packet. Tokens then arrive at the same rate as
//! with the capacity, which the router of 2017 has there (sktollman/ABC-1 d3ebfe37). The second term of that router has a
//! gain of 0.75 and 100 ms, which is the same as 133 ms here.
//!
//! *Code points.* A brake is CE, as in that code; accelerate leaves the packet as it is. Packets that are not
//! ECN-capable get no mark. The text of NSDI 2020 has ECT(1) for accelerate and ECT(0) for brake (unverified), which
//! leaves CE to other queues.
//!
//! *Departures.* Sizes are in bytes, not in packets. Packets that are not ECN-capable count in the rate of departures.
//! The second queue of the paper for other traffic is left out.

use std::collections::VecDeque;
use std::sync::Arc;

use airlane_core::{Bytes, Cx, Duration, Ecn, Instant, PacketRef};

use crate::Schedule;
use crate::queue::{Backlog, DropTail, Limit, QueueDiscipline, QueueStatistics, Waiting};
use crate::trace::{Cursor, DeliveryTrace, OPPORTUNITY};

/// Parameters of the marks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// The delay in the queue up to which the target rate is that of an empty queue.
    pub target: Duration,
    /// The time in which the part of the queue beyond the target delay should leave.
    pub delta: Duration,
    /// The share of the capacity that is the target rate of an empty queue.
    pub utilisation: f64,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(50), // `exp.sh`: qdelay_ref
            delta: Duration::from_millis(133), // `exp.sh`: delta
            utilisation: 0.98,                 // `dequeue`: target_rate_
        }
    }
}

/// The time over which capacity and departures are measured (`dequeue`: 20 ms).
const WINDOW: Duration = Duration::from_millis(20);
/// Tokens at the start, and the most of them (`tokens`, `token_limit`).
const TOKENS_MAX: f64 = 5.0;

/// The source of the capacity of the link.
#[derive(Clone, Debug)]
enum Capacity {
    /// The rates of a link.
    Rates(Schedule),
    /// The opportunities of a trace: the first one that is not over, the first one of the window, and the number of those
    /// between them.
    Opportunities { trace: Arc<DeliveryTrace>, next: Cursor, first: Cursor, count: u64 },
    /// Reports of a base station, in bytes per second; none if the capacity is unknown.
    Reports(VecDeque<(Instant, f64)>),
}

impl Capacity {
    /// Bytes per second at `now`, after `bytes` have left at that instant; infinite for a link without a rate, `None` if
    /// unknown. Of several opportunities at `now`, those count that carried these bytes. Calls must be in the order of time.
    fn at(&mut self, now: Instant, bytes: u64) -> Option<f64> {
        match self {
            Self::Rates(schedule) => {
                Some(schedule.rate_at(now).map_or(f64::INFINITY, |rate| rate.0 as f64 / 8.0))
            }
            Self::Opportunities { trace, next, first, count } => {
                while next.time(trace) < now {
                    next.advance(trace);
                    *count += 1;
                }
                while first.time(trace) + WINDOW <= now {
                    first.advance(trace);
                    *count -= 1;
                }
                let (mut here, mut of_now) = (*next, 0);
                while of_now * OPPORTUNITY.get() < bytes && here.time(trace) == now {
                    here.advance(trace);
                    of_now += 1;
                }
                Some(((*count + of_now) * OPPORTUNITY.get()) as f64 / WINDOW.as_secs_f64())
            }
            Self::Reports(reports) => {
                forget(reports, now);
                let sum: f64 = reports.iter().map(|(_, rate)| rate).sum();
                (!reports.is_empty()).then(|| sum / reports.len() as f64)
            }
        }
    }
}

/// Removes the reports from before the window; the last one stays valid until the next.
fn forget(reports: &mut VecDeque<(Instant, f64)>, now: Instant) {
    while reports.len() > 1 && reports[0].0 + WINDOW <= now {
        reports.pop_front();
    }
}

/// The bytes that left within the last [`WINDOW`], and at the latest instant.
#[derive(Clone, Debug, Default)]
struct Departures {
    recent: VecDeque<(Instant, u32)>,
    bytes: u64,
    at_once: u64,
}

impl Departures {
    /// Adds a packet; the rate in bytes per second.
    fn add(&mut self, now: Instant, size: u32) -> f64 {
        let continues = self.recent.back().is_some_and(|(at, _)| *at == now);
        self.at_once = u64::from(size) + if continues { self.at_once } else { 0 };
        self.recent.push_back((now, size));
        self.bytes += u64::from(size);
        while let Some(&(at, size)) = self.recent.front()
            && at + WINDOW <= now
        {
            self.recent.pop_front();
            self.bytes -= u64::from(size);
        }
        self.bytes as f64 / WINDOW.as_secs_f64()
    }
}

/// A drop-tail queue with ABC's marks.
#[derive(Debug)]
pub struct Abc {
    queue: DropTail,
    parameters: Parameters,
    capacity: Capacity,
    departures: Departures,
    tokens: f64,
    brakes: u64,
}

impl Abc {
    /// An empty queue, which marks nothing until a capacity is set or reported.
    #[must_use]
    pub fn new(limit: Limit, parameters: Parameters) -> Self {
        Self {
            queue: DropTail::new(limit),
            parameters,
            capacity: Capacity::Reports(VecDeque::new()),
            departures: Departures::default(),
            tokens: TOKENS_MAX,
            brakes: 0,
        }
    }

    /// The capacity is that of a link with these rates.
    pub(crate) fn set_rates(&mut self, schedule: &Schedule) {
        self.capacity = Capacity::Rates(schedule.clone());
    }

    /// The capacity is that of a link with this trace.
    pub(crate) fn set_trace(&mut self, trace: &Arc<DeliveryTrace>) {
        let (next, first) = (Cursor::default(), Cursor::default());
        self.capacity = Capacity::Opportunities { trace: Arc::clone(trace), next, first, count: 0 };
    }

    /// A base station reports the capacity from `now` on, in bytes per second. The queue of a link has no use for it.
    pub fn report_capacity(&mut self, now: Instant, rate: f64) {
        if let Capacity::Reports(reports) = &mut self.capacity {
            reports.push_back((now, rate));
            forget(reports, now);
        }
    }

    /// The share of packets that accelerate, from 0 to 1, as a packet of `size` bytes leaves; `None` without a capacity.
    fn accelerating(&mut self, now: Instant, size: u32) -> Option<f64> {
        let departures = self.departures.add(now, size);
        let capacity = self.capacity.at(now, self.departures.at_once)?;
        if capacity.is_infinite() {
            return Some(1.0);
        }
        if capacity <= 0.0 {
            return Some(0.0);
        }
        let Parameters { target, delta, utilisation } = self.parameters;
        let delay = (self.queue.bytes().get() + u64::from(size)) as f64 / capacity;
        let excess = (delay - target.as_secs_f64()).max(0.0);
        let rate = capacity * (utilisation - excess / delta.as_secs_f64());
        Some((rate / (2.0 * departures)).clamp(0.0, 1.0))
    }

    /// Marks a packet that leaves with a brake, unless there is a token for it.
    fn mark(&mut self, cx: &mut Cx<'_>, leaving: &Waiting) {
        let Some(share) = self.accelerating(cx.now, leaving.size) else { return };
        let ecn = cx.pool.get(&leaving.packet).ecn;
        if ecn == Ecn::NotCapable {
            return;
        }
        self.tokens += share;
        if self.tokens <= 1.0 {
            let _ = cx.mark(&leaving.packet); // it is ECN-capable
            self.brakes += 1;
        } else if ecn == Ecn::CongestionExperienced {
            self.brakes += 1; // of a queue before this one: it takes no token
        } else {
            self.tokens -= 1.0;
        }
        self.tokens = self.tokens.min(TOKENS_MAX);
    }
}

impl QueueDiscipline for Abc {
    fn enqueue(&mut self, cx: &mut Cx<'_>, packet: PacketRef, ahead: Bytes) {
        self.queue.enqueue(cx, packet, ahead);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Waiting> {
        let leaving = self.queue.pop()?;
        self.mark(cx, &leaving);
        Some(leaving)
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn oldest(&self) -> Option<Instant> {
        self.queue.oldest()
    }

    fn expire(&mut self, cx: &mut Cx<'_>, until: Instant) {
        self.queue.expire(cx, until);
    }

    fn statistics(&self) -> QueueStatistics {
        self.queue.statistics_with(0, self.brakes)
    }
}

#[cfg(test)]
mod tests;
