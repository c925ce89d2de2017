//! Two links in series with the gateway between them, as one node.
//!
//! Both queues are first-in first-out, the first link alone feeds the second, and the gateway adds no time. So it is
//! known when a packet arrives at the first link when it will leave the second, and it needs one timer instead of two
//! and one transfer instead of three. Each packet leaves at the instant, and each packet that the second queue has no
//! room for is dropped at the instant, at which that happens in the three nodes.
//!
//! [`LinkPair::fuse`] says which links allow that.
//!
//! A node behind the second link may contain both instead of being wired to a [`Tandem`]: [`LinkPair`] holds no
//! packets, and tells when each leaves.

use std::collections::VecDeque;

use airlane_core::{Bytes, CellId, Cx, DropCause, Duration, Instant, Node, Packet, PacketRef, Port};

use crate::link::Bucket;
use crate::{Link, RandomLoss, Schedule, gtp};

/// The function of the gateway for a packet between the two links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tunnel {
    /// The gateway puts the packet into the tunnel to this cell.
    To(CellId),
    /// The gateway takes the packet out of its tunnel.
    End,
}

impl Tunnel {
    /// A packet passes the gateway.
    #[inline]
    pub fn pass(self, packet: &mut Packet) {
        match self {
            Self::To(cell) => {
                gtp::encapsulate(packet);
                packet.set_tunnel(cell);
            }
            Self::End => gtp::decapsulate(packet),
        }
    }

    /// The size behind the gateway of a packet of this size.
    #[inline]
    fn size_behind(self, size: Bytes) -> Bytes {
        match self {
            Self::To(_) => size + gtp::OVERHEAD,
            Self::End => size - gtp::OVERHEAD,
        }
    }
}

/// A transmitter with its queue, and the propagation behind it: [`Link`] without its packets.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) schedule: Schedule,
    pub(crate) delay: Duration,
    pub(crate) limit: Bytes,
    /// Time at which the transmitter has finished all packets.
    free_at: Instant,
    /// Bytes that wait for transmission, and when each packet among them begins.
    waiting: Bytes,
    starts: VecDeque<(Instant, Bytes)>,
    /// Time at which the first waiting packet begins; [`Instant::FAR_FUTURE`] if none waits.
    next_start: Instant,
}

impl Stage {
    pub(crate) fn new(schedule: Schedule, delay: Duration, limit: Bytes) -> Self {
        Self {
            schedule,
            delay,
            limit,
            free_at: Instant::ZERO,
            waiting: Bytes::ZERO,
            starts: VecDeque::with_capacity(64),
            next_start: Instant::FAR_FUTURE,
        }
    }

    /// The time at which a packet that arrives at `now` is at the other end; `None` if the queue has no room. Times
    /// must not decrease.
    #[inline(always)]
    fn accept(&mut self, now: Instant, size: Bytes) -> Option<Instant> {
        while self.next_start <= now
            && let Some((_, size)) = self.starts.pop_front()
        {
            self.waiting -= size;
            self.next_start = self.starts.front().map_or(Instant::FAR_FUTURE, |next| next.0);
        }
        if self.free_at > now && self.waiting + size > self.limit {
            return None;
        }
        let (start, end) = self.schedule.transmit(self.free_at.max(now), size);
        self.free_at = end;
        if start > now {
            self.waiting += size;
            self.next_start = self.next_start.min(start);
            self.starts.push_back((start, size));
        }
        Some(end + self.delay)
    }
}

#[inline]
fn time_of_first(queue: &VecDeque<(Instant, PacketRef)>) -> Instant {
    queue.front().map_or(Instant::FAR_FUTURE, |first| first.0)
}

/// The fate of a packet that arrives at two links in series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// The packet leaves the second link at this time.
    Leaves(Instant),
    /// The packet arrives at this time at the second link, whose queue has no room.
    Overflows(Instant),
    /// The packet does not enter the first link.
    Refused(DropCause),
}

/// Two links in series with the gateway between them, without their packets.
#[derive(Debug)]
pub struct LinkPair {
    loss: Option<RandomLoss>,
    bucket: Option<Bucket>,
    first: Stage,
    tunnel: Tunnel,
    second: Stage,
}

impl LinkPair {
    /// True if [`Self::fuse`] accepts these links: neither has packets or detours, and the second has neither losses
    /// nor a policer.
    #[must_use]
    pub fn can_fuse(first: &Link, second: &Link) -> bool {
        first.is_idle() && second.is_idle() && second.takes_all()
    }

    /// The two links.
    ///
    /// # Panics
    /// If [`Self::can_fuse`] is false.
    #[must_use]
    pub fn fuse(first: Link, tunnel: Tunnel, second: Link) -> Self {
        assert!(Self::can_fuse(&first, &second), "these links have to be nodes of their own");
        let (first, loss, bucket) = first.into_stage();
        let (second, _, _) = second.into_stage();
        Self { loss, bucket, first, tunnel, second }
    }

    /// The gateway between the links.
    #[must_use]
    pub const fn tunnel(&self) -> Tunnel {
        self.tunnel
    }

    /// A packet arrives at the first link. It is left as it is: behind the first link, it has passed
    /// [`Self::tunnel`].
    #[inline]
    pub fn pass(&mut self, cx: &mut Cx<'_>, packet: &PacketRef) -> Passage {
        let size = cx.pool.get(packet).size;
        if RandomLoss::takes(&mut self.loss, cx, packet) {
            return Passage::Refused(DropCause::RandomLoss);
        }
        if self.bucket.as_mut().is_some_and(|bucket| !bucket.takes(cx.now, size)) {
            return Passage::Refused(DropCause::QueueManagement);
        }
        let Some(between) = self.first.accept(cx.now, size) else {
            return Passage::Refused(DropCause::QueueFull);
        };
        match self.second.accept(between, self.tunnel.size_behind(size)) {
            Some(at) => Passage::Leaves(at),
            None => Passage::Overflows(between),
        }
    }
}

/// Two links in series as a node, from port [`Link::INPUT`] to port [`Link::OUTPUT`].
#[derive(Debug)]
pub struct Tandem {
    links: LinkPair,
    /// Every packet on the links, the oldest first, and when it is at the other end.
    ring: VecDeque<(Instant, PacketRef)>,
    /// Packets on the first link that the second will have no room for, and when they arrive there.
    overflows: VecDeque<(Instant, PacketRef)>,
    /// Due times of the first packet of the ring, and of the first of either kind; [`Instant::FAR_FUTURE`] if there is
    /// none.
    ring_due: Instant,
    due: Instant,
}

impl Tandem {
    /// A node of these links.
    #[must_use]
    pub fn new(links: LinkPair) -> Self {
        Self {
            links,
            ring: VecDeque::with_capacity(64),
            overflows: VecDeque::new(),
            ring_due: Instant::FAR_FUTURE,
            due: Instant::FAR_FUTURE,
        }
    }

    /// Delivers the packets that are at the other end.
    fn deliver(&mut self, cx: &mut Cx<'_>) {
        if !self.overflows.is_empty() {
            self.drop_overflows(cx);
        }
        while self.ring_due <= cx.now
            && let Some((_, packet)) = self.ring.pop_front()
        {
            self.ring_due = time_of_first(&self.ring);
            if let Some((_, next)) = self.ring.front() {
                cx.pool.fetch_one(next); // while this one is worked on
            }
            cx.send(Link::OUTPUT, packet);
        }
        self.due = self.ring_due.min(time_of_first(&self.overflows));
    }

    #[cold]
    fn drop_overflows(&mut self, cx: &mut Cx<'_>) {
        while let Some((at, _)) = self.overflows.front()
            && *at <= cx.now
            && let Some((_, packet)) = self.overflows.pop_front()
        {
            cx.discard(packet, DropCause::QueueFull);
        }
    }
}

impl Node for Tandem {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, _: Port, packet: PacketRef) {
        let passage = self.links.pass(cx, &packet);
        if let Passage::Leaves(_) | Passage::Overflows(_) = passage {
            self.links.tunnel.pass(cx.pool.get_mut(&packet));
        }
        match passage {
            Passage::Leaves(at) => {
                self.ring_due = self.ring_due.min(at);
                self.due = self.due.min(at);
                self.ring.push_back((at, packet));
                // At once if the links have neither rate nor delay.
                if at <= cx.now {
                    self.deliver(cx);
                }
            }
            Passage::Overflows(between) => {
                self.overflows.push_back((between, packet));
                self.due = self.due.min(between);
            }
            Passage::Refused(cause) => cx.discard(packet, cause),
        }
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        self.deliver(cx);
    }

    fn next_timeout(&self) -> Option<Instant> {
        (self.due != Instant::FAR_FUTURE).then_some(self.due)
    }

    fn packets_held(&self) -> usize {
        self.ring.len() + self.overflows.len()
    }
}

#[cfg(test)]
mod tests;
