//! Queue disciplines: what happens to packets that wait.

use std::collections::VecDeque;

use airlane_core::{Bytes, Cx, DropCause, Ecn, Instant, PacketRef};

use crate::codel::{self, Verdict};

/// What waits in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Bytes of all packets.
    pub bytes: Bytes,
    /// Packets.
    pub packets: usize,
}

/// The most that a queue takes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Bytes that may wait.
    pub bytes: Bytes,
    /// Packets that may wait.
    pub packets: usize,
}

impl Limit {
    /// No limit.
    pub const NONE: Self = Self { bytes: Bytes(u64::MAX), packets: usize::MAX };

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
}

/// Packets that wait to be sent, and the rule by which they are dropped.
pub trait QueueDiscipline {
    /// Takes a packet in, or drops it. True if it was taken in.
    fn enqueue(&mut self, cx: &mut Cx<'_>, packet: PacketRef) -> bool;

    /// Gives the packet out that is to be sent now; it may drop others first.
    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<PacketRef>;

    /// What waits.
    fn backlog(&self) -> Backlog;

    /// Packets that its rule dropped although there was room for them.
    fn managed_drops(&self) -> u64 {
        0
    }
}

/// First in, first out; what finds no room is dropped.
#[derive(Debug)]
pub struct DropTail {
    limit: Limit,
    waiting: VecDeque<Waiting>,
    bytes: Bytes,
}

#[derive(Debug)]
struct Waiting {
    since: Instant,
    packet: PacketRef,
    size: u32,
}

impl DropTail {
    /// An empty queue with this limit.
    #[must_use]
    pub fn new(limit: Limit) -> Self {
        Self { limit, waiting: VecDeque::with_capacity(64), bytes: Bytes::ZERO }
    }

    fn pop(&mut self) -> Option<Waiting> {
        let first = self.waiting.pop_front()?;
        self.bytes -= Bytes(u64::from(first.size));
        Some(first)
    }
}

impl QueueDiscipline for DropTail {
    fn enqueue(&mut self, cx: &mut Cx<'_>, packet: PacketRef) -> bool {
        let now = cx.now;
        let arrived = cx.pool.get_mut(&packet);
        arrived.queued_at = now;
        let size = arrived.size;
        if self.bytes + size > self.limit.bytes || self.waiting.len() >= self.limit.packets {
            cx.discard(packet, DropCause::QueueFull);
            return false;
        }
        self.bytes += size;
        let size = u32::try_from(size.get()).expect("an IP packet has fewer than 2^32 bytes");
        self.waiting.push_back(Waiting { since: now, packet, size });
        true
    }

    fn dequeue(&mut self, _: &mut Cx<'_>) -> Option<PacketRef> {
        Some(self.pop()?.packet)
    }

    fn backlog(&self) -> Backlog {
        Backlog { bytes: self.bytes, packets: self.waiting.len() }
    }
}

/// CoDel (RFC 8289) over a drop-tail queue.
#[derive(Debug)]
pub struct CoDel {
    queue: DropTail,
    controller: codel::Controller,
    mark: bool,
    dropped: u64,
}

impl CoDel {
    /// An empty queue.
    #[must_use]
    pub fn new(limit: Limit, parameters: codel::Parameters) -> Self {
        let controller = codel::Controller::new(parameters);
        Self { queue: DropTail::new(limit), controller, mark: false, dropped: 0 }
    }

    /// Marks ECN-capable packets instead of dropping them (RFC 8289 §2 allows either signal).
    #[must_use]
    pub fn with_marking(self) -> Self {
        Self { mark: true, ..self }
    }
}

impl QueueDiscipline for CoDel {
    fn enqueue(&mut self, cx: &mut Cx<'_>, packet: PacketRef) -> bool {
        self.queue.enqueue(cx, packet)
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<PacketRef> {
        while let Some(Waiting { since, packet, .. }) = self.queue.pop() {
            if self.controller.decide(cx.now, cx.now - since, self.queue.bytes) == Verdict::Pass {
                return Some(packet);
            }
            if self.mark {
                let ecn = &mut cx.pool.get_mut(&packet).ecn;
                if *ecn != Ecn::NotCapable {
                    *ecn = Ecn::CongestionExperienced;
                    return Some(packet);
                }
            }
            self.dropped += 1;
            cx.discard(packet, DropCause::QueueManagement);
        }
        self.controller.on_empty();
        None
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn managed_drops(&self) -> u64 {
        self.dropped
    }
}

/// The disciplines that airlane has, and a place for another.
pub enum Discipline {
    /// First in, first out.
    DropTail(DropTail),
    /// CoDel.
    CoDel(CoDel),
    /// Somebody's own.
    Other(Box<dyn QueueDiscipline>),
}

impl QueueDiscipline for Discipline {
    fn enqueue(&mut self, cx: &mut Cx<'_>, packet: PacketRef) -> bool {
        match self {
            Self::DropTail(queue) => queue.enqueue(cx, packet),
            Self::CoDel(queue) => queue.enqueue(cx, packet),
            Self::Other(queue) => queue.enqueue(cx, packet),
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<PacketRef> {
        match self {
            Self::DropTail(queue) => queue.dequeue(cx),
            Self::CoDel(queue) => queue.dequeue(cx),
            Self::Other(queue) => queue.dequeue(cx),
        }
    }

    fn backlog(&self) -> Backlog {
        match self {
            Self::DropTail(queue) => queue.backlog(),
            Self::CoDel(queue) => queue.backlog(),
            Self::Other(queue) => queue.backlog(),
        }
    }

    fn managed_drops(&self) -> u64 {
        match self {
            Self::DropTail(queue) => queue.managed_drops(),
            Self::CoDel(queue) => queue.managed_drops(),
            Self::Other(queue) => queue.managed_drops(),
        }
    }
}

#[cfg(test)]
mod tests {
    use airlane_core::{Duration, FlowId};

    use super::*;
    use crate::bench_top::{BenchTop, packet};

    const MS: u64 = 1_000_000;

    fn offer(top: &mut BenchTop, queue: &mut impl QueueDiscipline, size: u32, ecn: Ecn, now_ns: u64) -> bool {
        let mut fresh = packet(FlowId(0), size, Instant::from_nanos(now_ns));
        fresh.ecn = ecn;
        let fresh = top.pool.insert(fresh);
        top.call(now_ns, |cx| queue.enqueue(cx, fresh))
    }

    #[test]
    fn drop_tail_keeps_both_limits() {
        let mut top = BenchTop::new();
        let mut queue = DropTail::new(Limit { bytes: Bytes(1_000), packets: 3 });
        let taken = [600, 401, 400, 28, 28].map(|size| offer(&mut top, &mut queue, size, Ecn::NotCapable, 0));
        assert_eq!(taken, [true, false, true, false, false]); // 1000 bytes wait: none is left
        let first = top.call(0, |cx| queue.dequeue(cx)).unwrap();
        assert_eq!(top.pool.consume(first).size, Bytes(600));
        let taken = [28, 28].map(|size| offer(&mut top, &mut queue, size, Ecn::NotCapable, 0));
        assert_eq!(taken, [true, true]);
        assert!(!offer(&mut top, &mut queue, 28, Ecn::NotCapable, 0)); // three packets wait
        assert_eq!(queue.backlog(), Backlog { bytes: Bytes(456), packets: 3 });
        assert_eq!(top.pool.discarded(DropCause::QueueFull), 4);
    }

    /// 300 packets arrive at time 0; one is wanted per millisecond.
    fn drain(mut queue: CoDel, ecn: Ecn) -> (u64, u64, BenchTop) {
        let mut top = BenchTop::new();
        for _ in 0..300 {
            assert!(offer(&mut top, &mut queue, 1_500, ecn, 0));
        }
        let mut marked = 0;
        for ms in 1..=300 {
            if let Some(packet) = top.call(ms * MS, |cx| queue.dequeue(cx)) {
                marked += u64::from(top.pool.consume(packet).ecn == Ecn::CongestionExperienced);
            }
        }
        (queue.managed_drops(), marked, top)
    }

    #[test]
    fn codel_drops_on_its_schedule() {
        // The sojourn is k ms at time k: the target of 5 ms is reached at 5, so the first drop
        // comes at 105 ms, the next 100/sqrt(1) later at 205, then 70.7 ms later at 275.7, so at
        // 276. The next would be due at 333. 297 packets last for as many milliseconds.
        let queue = CoDel::new(Limit::NONE, codel::Parameters::default());
        let (dropped, marked, top) = drain(queue, Ecn::Capable0);
        assert_eq!((dropped, marked), (3, 0));
        assert_eq!(top.pool.discarded(DropCause::QueueManagement), 3);
        assert_eq!((top.pool.consumed(), top.pool.live()), (297, 0));
    }

    #[test]
    fn codel_marks_those_that_can_be_marked() {
        let queue = || CoDel::new(Limit::NONE, codel::Parameters::default()).with_marking();
        let (dropped, marked, top) = drain(queue(), Ecn::Capable0);
        assert_eq!((dropped, marked), (0, 3));
        assert_eq!(top.pool.consumed(), 300);
        let (dropped, marked, _) = drain(queue(), Ecn::NotCapable);
        assert_eq!((dropped, marked), (3, 0));
    }

    #[test]
    fn a_short_stay_is_left_alone() {
        let mut top = BenchTop::new();
        let mut queue = CoDel::new(Limit::NONE, codel::Parameters::default());
        for ms in 0..1_000 {
            offer(&mut top, &mut queue, 1_500, Ecn::NotCapable, ms * MS);
            let stay = Duration::from_millis(4).as_nanos();
            let packet = top.call(ms * MS + stay, |cx| queue.dequeue(cx)).unwrap();
            top.pool.consume(packet);
        }
        assert_eq!(queue.managed_drops(), 0);
    }
}
