//! Queue disciplines.
//!
//! One trait serves every queue of packets, in a link as well as in an RLC entity. The disciplines
//! [`DropTail`] and [`CoDel`] are here; [`Red`], [`Pie`], [`FqCoDel`],
//! [`DualPi2`] and [`Abc`] are in their own modules.
//! Each has a limit besides its rule, and can mark ECN-capable packets instead of dropping them.

use std::collections::VecDeque;

use airlane_core::{Bytes, Cx, DropCause, Instant, PacketRef, Stream};

use crate::abc::{self, Abc};
use crate::codel::{self, Verdict};
use crate::dualpi2::{self, DualPi2};
use crate::fq_codel::{self, FqCoDel};
use crate::pie::{self, Pie};
use crate::red::{self, Red};

/// The backlog of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Bytes of all packets, overheads included.
    pub bytes: Bytes,
    /// Packets.
    pub packets: usize,
}

/// The capacity of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Bytes that may wait.
    pub bytes: Bytes,
    /// Packets that may wait.
    pub packets: usize,
    /// Bytes that are counted per packet in addition to its size: a header that is added when it leaves.
    pub overhead: u32,
}

impl Limit {
    /// No limit.
    pub const NONE: Self = Self { bytes: Bytes(u64::MAX), packets: usize::MAX, overhead: 0 };

    /// A limit in bytes alone.
    #[must_use]
    pub const fn bytes(bytes: Bytes) -> Self {
        Self { bytes, ..Self::NONE }
    }

    /// A limit in packets alone.
    #[must_use]
    pub const fn packets(packets: usize) -> Self {
        Self { packets, ..Self::NONE }
    }

    /// The limit with this many bytes more for each packet.
    #[must_use]
    pub const fn with_overhead(self, overhead: u32) -> Self {
        Self { overhead, ..self }
    }

    /// Number of packets of 1500 bytes that may wait.
    pub(crate) fn full_packets(&self) -> usize {
        let fitting = usize::try_from(self.bytes.get() / 1500).unwrap_or(usize::MAX);
        fitting.saturating_add(1).min(self.packets)
    }

    /// The bytes that a packet counts.
    #[inline]
    pub(crate) fn size_of(&self, packet: Bytes) -> u32 {
        let size = u32::try_from(packet.get()).expect("an IP packet has fewer than 2^32 bytes");
        size + self.overhead
    }
}

/// A packet in a queue.
#[derive(Debug)]
pub struct Waiting {
    /// The packet.
    pub packet: PacketRef,
    /// Time of the arrival.
    pub since: Instant,
    /// The bytes that it counts: its size and the overhead.
    pub size: u32,
}

/// Counters of a queue, in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueStatistics {
    /// Dropped because there was no room.
    pub overflows: u64,
    /// Dropped by the rule although there was room.
    pub managed_drops: u64,
    /// Packets marked with CE instead of such a drop, including those that carried it before.
    pub marks: u64,
}

/// A queue of packets, and the rule that drops them.
pub trait QueueDiscipline: core::fmt::Debug + Send {
    /// Adds a packet, or drops it or others. `ahead` are bytes that have left the queue but count
    /// against its limit until they are sent.
    fn enqueue(&mut self, cx: &mut Cx<'_>, packet: PacketRef, ahead: Bytes);

    /// Removes the packet that is sent now; may drop others first.
    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Waiting>;

    /// The backlog.
    fn backlog(&self) -> Backlog;

    /// The arrival time of the packet that has waited longest.
    fn oldest(&self) -> Option<Instant>;

    /// Drops the packets that arrived at `until` or before: their discard timer has expired.
    fn expire(&mut self, cx: &mut Cx<'_>, until: Instant);

    /// Counters so far.
    fn statistics(&self) -> QueueStatistics;
}

/// Memory is reserved for this many packets when the first one waits, or for the limit if that is less.
const RESERVED: usize = 1024;

/// First in, first out; a packet that does not fit is dropped.
#[derive(Debug)]
pub struct DropTail {
    limit: Limit,
    waiting: VecDeque<Waiting>,
    bytes: Bytes,
    overflows: u64,
}

impl DropTail {
    /// An empty queue with this limit.
    #[must_use]
    pub fn new(limit: Limit) -> Self {
        Self { limit, waiting: VecDeque::new(), bytes: Bytes::ZERO, overflows: 0 }
    }

    /// True if there is room for the packet.
    #[inline]
    pub(crate) fn has_room(&self, cx: &Cx<'_>, packet: &PacketRef, ahead: Bytes) -> bool {
        let size = Bytes(u64::from(self.limit.size_of(cx.pool.get(packet).size)));
        self.bytes + ahead + size <= self.limit.bytes && self.waiting.len() < self.limit.packets
    }

    /// Adds a packet for which there is room.
    #[inline]
    fn store(&mut self, arrived: Waiting) {
        self.bytes += Bytes(u64::from(arrived.size));
        if self.waiting.len() == self.waiting.capacity() {
            return self.push_beyond(arrived.packet, arrived.since, arrived.size);
        }
        self.waiting.push_back(arrived);
    }

    /// The parts of a packet as arguments, so that no caller assembles them in memory.
    #[cold]
    #[inline(never)]
    fn push_beyond(&mut self, packet: PacketRef, since: Instant, size: u32) {
        if self.waiting.capacity() == 0 {
            self.waiting.reserve(self.limit.full_packets().min(RESERVED));
        }
        self.waiting.push_back(Waiting { packet, since, size });
    }

    /// Removes the head.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Waiting> {
        let head = self.waiting.pop_front()?;
        if self.waiting.is_empty() {
            self.waiting.clear(); // the next packet takes the first place, which is in the cache
        }
        self.bytes -= Bytes(u64::from(head.size));
        Some(head)
    }

    /// Bytes that wait.
    #[inline]
    pub(crate) fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// The packet that arrived last.
    #[inline]
    pub(crate) fn newest(&self) -> Option<&Waiting> {
        self.waiting.back()
    }

    /// Packets that wait.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// The counters of the queue, with those of the rule around it.
    pub(crate) fn statistics_with(&self, managed_drops: u64, marks: u64) -> QueueStatistics {
        QueueStatistics { overflows: self.overflows, managed_drops, marks }
    }
}

impl QueueDiscipline for DropTail {
    #[inline]
    fn enqueue(&mut self, cx: &mut Cx<'_>, packet: PacketRef, ahead: Bytes) {
        let size = self.limit.size_of(cx.pool.get(&packet).size);
        let bytes = self.bytes + Bytes(u64::from(size));
        if bytes + ahead > self.limit.bytes || self.waiting.len() >= self.limit.packets {
            self.overflows += 1;
            cx.discard(packet, DropCause::QueueFull);
            return;
        }
        self.store(Waiting { packet, since: cx.now, size });
    }

    #[inline]
    fn dequeue(&mut self, _: &mut Cx<'_>) -> Option<Waiting> {
        self.pop()
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        Backlog { bytes: self.bytes, packets: self.waiting.len() }
    }

    #[inline]
    fn oldest(&self) -> Option<Instant> {
        self.waiting.front().map(|head| head.since)
    }

    fn expire(&mut self, cx: &mut Cx<'_>, until: Instant) {
        while self.oldest().is_some_and(|since| since <= until) {
            let head = self.pop().expect("there is an oldest one");
            cx.discard(head.packet, DropCause::Discarded);
        }
    }

    fn statistics(&self) -> QueueStatistics {
        self.statistics_with(0, 0)
    }
}

/// CoDel (RFC 8289) over a drop-tail queue.
#[derive(Debug)]
pub struct CoDel {
    queue: DropTail,
    controller: codel::Controller,
    dropped: u64,
    marked: u64,
}

impl CoDel {
    /// An empty queue.
    #[must_use]
    pub fn new(limit: Limit, parameters: codel::Parameters) -> Self {
        let controller = codel::Controller::new(parameters);
        Self { queue: DropTail::new(limit), controller, dropped: 0, marked: 0 }
    }
}

impl QueueDiscipline for CoDel {
    #[inline]
    fn enqueue(&mut self, cx: &mut Cx<'_>, packet: PacketRef, ahead: Bytes) {
        self.queue.enqueue(cx, packet, ahead);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Waiting> {
        while let Some(head) = self.queue.pop() {
            if self.controller.decide(cx.now, cx.now - head.since, self.queue.bytes()) == Verdict::Pass {
                return Some(head);
            }
            // RFC 8289 §2 and §3 allow either signal: a drop or a mark.
            if self.controller.parameters().ecn && cx.mark(&head.packet) {
                self.marked += 1;
                return Some(head);
            }
            self.dropped += 1;
            cx.discard(head.packet, DropCause::QueueManagement);
        }
        self.controller.on_empty();
        None
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    #[inline]
    fn oldest(&self) -> Option<Instant> {
        self.queue.oldest()
    }

    fn expire(&mut self, cx: &mut Cx<'_>, until: Instant) {
        self.queue.expire(cx, until);
    }

    fn statistics(&self) -> QueueStatistics {
        self.queue.statistics_with(self.dropped, self.marked)
    }
}

/// The discipline of a queue, with its parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Aqm {
    /// No discipline: packets that exceed the limit are dropped.
    #[default]
    DropTail,
    /// Random early detection.
    Red(red::Parameters),
    /// Controlled delay (RFC 8289).
    CoDel(codel::Parameters),
    /// Flow queues under CoDel (RFC 8290).
    FqCoDel(fq_codel::Parameters),
    /// Proportional integral controller enhanced (RFC 8033).
    Pie(pie::Parameters),
    /// Two coupled queues (RFC 9332).
    DualPi2(dualpi2::Parameters),
    /// ABC's marks (Goyal et al. 2020).
    Abc(abc::Parameters),
}

/// The disciplines of airlane, and a variant for others.
#[derive(Debug)]
pub enum Discipline {
    /// First in, first out.
    DropTail(DropTail),
    /// RED.
    Red(Red),
    /// CoDel.
    CoDel(CoDel),
    /// FQ-CoDel.
    FqCoDel(Box<FqCoDel>),
    /// PIE.
    Pie(Pie),
    /// DualPI2.
    DualPi2(Box<DualPi2>),
    /// ABC.
    Abc(Box<Abc>),
    /// A discipline from outside this crate.
    Other(Box<dyn QueueDiscipline>),
}

impl Discipline {
    /// An empty queue with this discipline. `stream` creates the random stream of a discipline that
    /// draws.
    #[must_use]
    pub fn new(aqm: &Aqm, limit: Limit, stream: impl FnOnce() -> Stream) -> Self {
        match *aqm {
            Aqm::DropTail => Self::DropTail(DropTail::new(limit)),
            Aqm::Red(parameters) => Self::Red(Red::new(limit, parameters, stream())),
            Aqm::CoDel(parameters) => Self::CoDel(CoDel::new(limit, parameters)),
            Aqm::FqCoDel(parameters) => Self::FqCoDel(Box::new(FqCoDel::new(limit, parameters))),
            Aqm::Pie(parameters) => Self::Pie(Pie::new(limit, parameters, stream())),
            Aqm::DualPi2(parameters) => Self::DualPi2(Box::new(DualPi2::new(limit, parameters, stream()))),
            Aqm::Abc(parameters) => Self::Abc(Box::new(Abc::new(limit, parameters))),
        }
    }
}

/// Forwards a call to the discipline.
macro_rules! each {
    ($discipline:expr, $queue:ident => $call:expr) => {
        match $discipline {
            Discipline::DropTail($queue) => $call,
            Discipline::Red($queue) => $call,
            Discipline::CoDel($queue) => $call,
            Discipline::FqCoDel($queue) => $call,
            Discipline::Pie($queue) => $call,
            Discipline::DualPi2($queue) => $call,
            Discipline::Abc($queue) => $call,
            Discipline::Other($queue) => $call,
        }
    };
}

impl Discipline {
    #[inline(never)]
    fn oldest_of_others(&self) -> Option<Instant> {
        each!(self, queue => queue.oldest())
    }

    /// Bytes that are certain to be stored, without any other effect, if they arrive now or later. `None` if a rule or
    /// a limit in packets may drop a packet that arrives.
    #[inline]
    #[must_use]
    pub fn certain_room(&self) -> Option<Bytes> {
        let queue = match self {
            Self::DropTail(queue) => queue,
            Self::CoDel(codel) => &codel.queue,
            _ => return None,
        };
        let room = queue.limit.bytes.get().saturating_sub(queue.bytes.get());
        (queue.limit.packets == usize::MAX).then_some(Bytes(room))
    }

    /// Adds a packet within [`Self::certain_room`], which has arrived at its time.
    ///
    /// # Panics
    /// If that is not known.
    #[inline]
    pub fn store(&mut self, arrived: Waiting) {
        match self {
            Self::DropTail(queue) => queue.store(arrived),
            Self::CoDel(codel) => codel.queue.store(arrived),
            _ => panic!("this discipline decides about each packet"),
        }
    }
}

impl QueueDiscipline for Discipline {
    #[inline]
    fn enqueue(&mut self, cx: &mut Cx<'_>, packet: PacketRef, ahead: Bytes) {
        each!(self, queue => queue.enqueue(cx, packet, ahead));
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Waiting> {
        each!(self, queue => queue.dequeue(cx))
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        each!(self, queue => queue.backlog())
    }

    #[inline(always)]
    fn oldest(&self) -> Option<Instant> {
        // Asked after every block.
        if let Self::DropTail(queue) = self { queue.oldest() } else { self.oldest_of_others() }
    }

    fn expire(&mut self, cx: &mut Cx<'_>, until: Instant) {
        each!(self, queue => queue.expire(cx, until));
    }

    fn statistics(&self) -> QueueStatistics {
        each!(self, queue => queue.statistics())
    }
}

#[cfg(test)]
mod tests;
