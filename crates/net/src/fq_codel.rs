//! FQ-CoDel: queues per flow, served in deficit round robin, with precedence for flows that build
//! no queue. Each queue has its own CoDel (RFC 8290).
//!
//! A connection's queue is given by a hash of its flow and its ports; two connections may share a queue, as
//! with the hash of a 5-tuple. The hash is the same in every run (RFC 8290 §4.1 perturbs it): which
//! connections collide is a property of the scenario. A queue takes memory when it is first used.
//!
//! At the limit, half of the packets of the queue with the most bytes are dropped from its head, at
//! most [`BATCH_MAX`] at once (§4.1).

use std::collections::VecDeque;

use airlane_core::ring::Ring;
use airlane_core::{Bytes, Cx, DropCause, FlowId, Instant, PacketRef, SocketPair};

use crate::codel::{self, Verdict};
use crate::queue::{Backlog, Limit, QueueDiscipline, QueueStatistics, Waiting};

/// Parameters of FQ-CoDel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Bytes that a queue may send in a turn.
    pub quantum: Bytes,
    /// Packets that may wait in all queues together.
    pub packets: usize,
    /// Queues over which flows are hashed.
    pub queues: u32,
    /// CoDel of each queue, and whether it marks packets.
    pub codel: codel::Parameters,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            quantum: Bytes(1514), // RFC 8290 §5.2.4: Ethernet's MTU with its header
            packets: 10_240,      // RFC 8290 §5.2.3
            queues: 1024,         // RFC 8290 §5.2.5
            codel: codel::Parameters::default(),
        }
    }
}

/// Maximum number of packets that are dropped at once from the largest queue (RFC 8290 §4.1).
pub const BATCH_MAX: usize = 64;

/// Memory is reserved for this many packets of a flow, or for the limit if that is less.
const FLOW_RESERVED: usize = 256;

/// Memory is reserved for this many queues that hold packets at the same time.
const ACTIVE_RESERVED: usize = 64;

/// A bucket without a queue.
const NONE: u32 = u32::MAX;

/// The queue of the flows of one bucket.
#[derive(Debug)]
struct FlowQueue {
    waiting: VecDeque<Waiting>,
    bytes: u64,
    /// The bytes that it may still send in this turn.
    credits: i64,
    /// True if the queue is in one of the two lists.
    active: bool,
    controller: codel::Controller,
}

/// FQ-CoDel.
#[derive(Debug)]
pub struct FqCoDel {
    limit: Limit,
    parameters: Parameters,
    /// The queue of each bucket, or [`NONE`].
    buckets: Vec<u32>,
    queues: Vec<FlowQueue>,
    /// Queues that have just become active, and the other active queues.
    new: Ring<u32>,
    old: Ring<u32>,
    backlog: Backlog,
    statistics: QueueStatistics,
}

impl FqCoDel {
    /// Empty queues. Of the two limits in packets, the lower one applies.
    ///
    /// # Panics
    /// If the number of queues or the quantum is zero.
    #[must_use]
    pub fn new(limit: Limit, parameters: Parameters) -> Self {
        assert!(parameters.queues > 0 && parameters.quantum > Bytes::ZERO, "a queue and a quantum");
        Self {
            limit: Limit { packets: limit.packets.min(parameters.packets), ..limit },
            parameters,
            buckets: vec![NONE; parameters.queues as usize],
            queues: Vec::new(),
            new: Ring::new(ACTIVE_RESERVED),
            old: Ring::new(ACTIVE_RESERVED),
            backlog: Backlog::default(),
            statistics: QueueStatistics::default(),
        }
    }

    /// The queue of a connection.
    fn queue_of(&mut self, connection: Connection) -> usize {
        let place = &mut self.buckets[bucket(connection, self.parameters.queues)];
        if *place == NONE {
            *place = self.queues.len() as u32;
            self.queues.push(FlowQueue {
                waiting: VecDeque::with_capacity(self.limit.full_packets().min(FLOW_RESERVED)),
                bytes: 0,
                credits: 0,
                active: false,
                controller: codel::Controller::new(self.parameters.codel),
            });
        }
        *place as usize
    }

    /// Removes a queue's head.
    fn pop(&mut self, queue: usize) -> Option<Waiting> {
        let flow = &mut self.queues[queue];
        let head = flow.waiting.pop_front()?;
        flow.bytes -= u64::from(head.size);
        self.backlog.bytes -= Bytes(u64::from(head.size));
        self.backlog.packets -= 1;
        Some(head)
    }

    /// RFC 8290 §4.1: half the packets of the largest queue, from its head.
    #[cold]
    fn drop_from_largest(&mut self, cx: &mut Cx<'_>) {
        // Of queues of equal size, the one whose flow appeared first.
        let sizes = self.queues.iter().enumerate().rev();
        let (largest, queue) = sizes.max_by_key(|(_, queue)| queue.bytes).expect("something waits");
        for _ in 0..queue.waiting.len().div_ceil(2).min(BATCH_MAX) {
            let head = self.pop(largest).expect("half of what waits");
            self.statistics.overflows += 1;
            cx.discard(head.packet, DropCause::QueueFull);
        }
    }

    /// The next packet of a queue that CoDel passes or marks; `None` if the queue is empty (RFC
    /// 8290 §4.2).
    fn pull(&mut self, cx: &mut Cx<'_>, queue: usize) -> Option<Waiting> {
        while let Some(head) = self.pop(queue) {
            let FlowQueue { controller, bytes, .. } = &mut self.queues[queue];
            if controller.decide(cx.now, cx.now - head.since, Bytes(*bytes)) == Verdict::Pass {
                return Some(head);
            }
            if self.parameters.codel.ecn && cx.mark(&head.packet) {
                self.statistics.marks += 1;
                return Some(head);
            }
            self.statistics.managed_drops += 1;
            cx.discard(head.packet, DropCause::QueueManagement);
        }
        self.queues[queue].controller.on_empty();
        None
    }

    /// The queues in the two lists; they may be empty.
    fn active(&self) -> impl Iterator<Item = usize> {
        self.new.iter().chain(self.old.iter()).map(|queue| *queue as usize)
    }
}

/// The key of the hash: RFC 8290 §4.1 uses the 5-tuple, which is the flow and the sockets of its
/// connection.
type Connection = (FlowId, SocketPair);

/// The bucket of a connection: its flow and ports, mixed (the finaliser of splitmix64) and scaled down.
fn bucket((flow, sockets): Connection, buckets: u32) -> usize {
    let ports =
        u64::from(sockets.ue_port ^ sockets.server.rotate_left(8)) << 16 | u64::from(sockets.server_port);
    let mut z = (ports << 32 | u64::from(flow.0)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^= z >> 31;
    (((z >> 32) * u64::from(buckets)) >> 32) as usize
}

impl QueueDiscipline for FqCoDel {
    fn enqueue(&mut self, cx: &mut Cx<'_>, packet: PacketRef, ahead: Bytes) {
        let arrived = cx.pool.get(&packet);
        let (size, flow) = (self.limit.size_of(arrived.size), (arrived.flow, arrived.sockets));
        let index = self.queue_of(flow);
        let queue = &mut self.queues[index];
        queue.waiting.push_back(Waiting { packet, since: cx.now, size });
        queue.bytes += u64::from(size);
        if !queue.active {
            queue.active = true;
            queue.credits = self.parameters.quantum.get() as i64;
            self.new.push_back(index as u32);
        }
        self.backlog.bytes += Bytes(u64::from(size));
        self.backlog.packets += 1;
        while self.backlog.packets > 0
            && (self.backlog.packets > self.limit.packets || self.backlog.bytes + ahead > self.limit.bytes)
        {
            self.drop_from_largest(cx);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Waiting> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let index = *list.front()?;
            let queue = &mut self.queues[index as usize];
            // The queue has used its quantum: it moves to the end of the old queues, with another quantum.
            if queue.credits <= 0 {
                queue.credits += self.parameters.quantum.get() as i64;
                list.pop_front();
                self.old.push_back(index);
                continue;
            }
            if let Some(head) = self.pull(cx, index as usize) {
                self.queues[index as usize].credits -= i64::from(head.size);
                return Some(head);
            }
            // A new queue that is empty becomes an old one for a turn. Otherwise it could return as
            // a new queue at once and starve the others.
            if is_new {
                self.new.pop_front();
                self.old.push_back(index);
            } else {
                self.old.pop_front();
                self.queues[index as usize].active = false;
            }
        }
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn oldest(&self) -> Option<Instant> {
        self.active().filter_map(|queue| Some(self.queues[queue].waiting.front()?.since)).min()
    }

    fn expire(&mut self, cx: &mut Cx<'_>, until: Instant) {
        for queue in 0..self.queues.len() {
            while self.queues[queue].waiting.front().is_some_and(|head| head.since <= until) {
                let head = self.pop(queue).expect("there is a head");
                cx.discard(head.packet, DropCause::Discarded);
            }
        }
    }

    fn statistics(&self) -> QueueStatistics {
        self.statistics
    }
}

#[cfg(test)]
mod tests;
