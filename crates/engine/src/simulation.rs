//! The run: clock, timers, and the transfer of packets from node to node.
//!
//! Only timers are events. A packet that leaves a node is passed at once, at the same instant, to
//! the node at the other end of the wire, in FIFO order. Only nodes delay packets.
//!
//! After each call of a node, its `next_timeout` is compared with its armed timer. A timer that
//! moves to a later time stays where it is and is armed again when it fires early. A retransmission
//! timer moves at each acknowledgment, and only about one move in a thousand makes it fire.

use airlane_core::{
    Cx, DropCause, Instant, Node, NodeId, Outbox, PacketPool, PacketRef, Port, Probe, TopicSet,
};
use core::any::Any;
use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};

use crate::Network;
use crate::network::End;
use crate::wheel::Wheel;

/// Calls that may happen at one instant before the run is declared stuck.
const CALLS_PER_INSTANT_MAX: u64 = 50_000_000;

struct Member {
    node: Box<dyn Node>,
    /// Due time of the timer in the wheel; [`Instant::FAR_FUTURE`] if none is armed.
    armed: Instant,
    /// Its `next_timeout` after the last call; [`Instant::FAR_FUTURE`] for `None`.
    wanted: Instant,
    /// Its ports are `wires[first_wire..][..ports]`.
    first_wire: u32,
    ports: u32,
}

impl Member {
    /// The other end of this port's wire.
    #[inline]
    fn leads_to(&self, port: Port, wires: &[Option<End>]) -> Option<End> {
        if u32::from(port) < self.ports { wires[self.first_wire as usize + usize::from(port)] } else { None }
    }

    /// Arms the timer if the node needs a call earlier than the armed timer.
    #[inline(always)]
    fn arm(&mut self, id: NodeId, now: Instant, wheel: &mut Wheel, counters: &mut Counters) {
        self.wanted = self.node.next_timeout().unwrap_or(Instant::FAR_FUTURE);
        // A time in the past becomes now.
        let at = self.wanted.max(now);
        if at < self.armed {
            self.armed = at;
            counters.timers_armed += 1;
            wheel.arm(id, at);
        }
    }
}

struct Delivery {
    to: End,
    packet: PacketRef,
}

/// The packets that are transferred at one instant, in the order in which they were sent.
#[derive(Default)]
struct Line {
    /// Places before `first` are empty.
    places: Vec<Option<Delivery>>,
    first: usize,
}

impl Line {
    /// Maximum number of empty places in front of the others.
    const GONE_MAX: usize = 4096;

    fn with_capacity(capacity: usize) -> Self {
        Self { places: Vec::with_capacity(capacity), first: 0 }
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    #[inline]
    fn push(&mut self, delivery: Delivery) {
        self.places.push(Some(delivery));
    }

    #[inline]
    fn pop(&mut self) -> Option<Delivery> {
        let delivery = self.places.get_mut(self.first)?.take();
        self.first += 1;
        if self.first == self.places.len() {
            self.places.clear();
            self.first = 0;
        } else if self.first > Self::GONE_MAX {
            self.places.drain(..self.first);
            self.first = 0;
        }
        delivery
    }
}

/// Counters of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Timers that fired and called their node.
    pub events: u64,
    /// Timers put into the wheel.
    pub timers_armed: u64,
    /// Timers that fired although their node no longer needed the call.
    pub timers_stale: u64,
    /// Packets transferred from one node to the next.
    pub packets: u64,
}

/// The number of packets of a run in each state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conservation {
    /// Packets created.
    pub inserted: u64,
    /// Packets delivered.
    pub consumed: u64,
    /// Packets dropped.
    pub discarded: u64,
    /// Packets in the pool.
    pub live: u64,
    /// Packets that the nodes report to hold.
    pub held: u64,
}

impl Conservation {
    fn holds(&self) -> bool {
        self.live == self.held && self.inserted == self.consumed + self.discarded + self.live
    }
}

impl fmt::Display for Conservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} packets made; {} delivered + {} dropped + {} under way, of which nodes hold {}",
            self.inserted, self.consumed, self.discarded, self.live, self.held
        )
    }
}

/// A network with its clock: a run.
pub struct Simulation {
    members: Vec<Member>,
    wires: Vec<Option<End>>,
    wheel: Wheel,
    now: Instant,
    pool: PacketPool,
    outbox: Outbox,
    line: Line,
    counters: Counters,
    calls_at_now: u64,
}

impl Simulation {
    /// A network at time zero, with room for `pool_capacity` packets before the pool has to grow.
    #[must_use]
    pub fn new(network: Network, pool_capacity: usize) -> Self {
        let mut wires = Vec::new();
        let mut members = Vec::with_capacity(network.nodes.len());
        for (node, ports) in network.nodes.into_iter().zip(network.wires) {
            let first_wire = u32::try_from(wires.len()).expect("fewer than 2^32 wires");
            members.push(Member {
                node,
                armed: Instant::FAR_FUTURE,
                wanted: Instant::FAR_FUTURE,
                first_wire,
                ports: ports.len() as u32,
            });
            wires.extend(ports);
        }
        Self {
            wheel: Wheel::new(members.len()),
            members,
            wires,
            now: Instant::ZERO,
            pool: PacketPool::with_capacity(pool_capacity),
            outbox: Outbox::with_capacity(256),
            line: Line::with_capacity(256),
            counters: Counters::default(),
            calls_at_now: 0,
        }
    }

    /// Runs all events that are due at `end` or before, then sets the clock to `end`.
    ///
    /// # Panics
    /// If a packet is found to be lost or held twice afterwards ([`Self::check_conservation`]), or
    /// if a node requests calls at one instant without end.
    pub fn run_until(&mut self, end: Instant, probe: &mut dyn Probe) {
        let ended = self.run_until_unless(&AtomicBool::new(false), end, probe);
        assert!(ended, "no caller can have cancelled it");
    }

    /// Like [`Self::run_until`], but checks `cancel` after each event, since an event of a large
    /// network may take milliseconds. Returns false if `cancel` was true; the run then stays at its
    /// current time.
    ///
    /// # Panics
    /// As [`Self::run_until`].
    pub fn run_until_unless(&mut self, cancel: &AtomicBool, end: Instant, probe: &mut dyn Probe) -> bool {
        assert!(end >= self.now, "the run stands at {}, after {end}", self.now);
        let topics = probe.topics();
        for (index, member) in self.members.iter_mut().enumerate() {
            // A node may have been changed between two calls of this function.
            member.arm(NodeId(index as u32), self.now, &mut self.wheel, &mut self.counters);
        }
        while let Some((at, node)) = self.wheel.pop_until(end) {
            self.advance(at, node);
            self.fire(node, topics, probe);
            if cancel.load(Ordering::Relaxed) {
                return false;
            }
        }
        self.now = end;
        if let Err(conservation) = self.check_conservation() {
            panic!("packets are not conserved: {conservation}");
        }
        true
    }

    #[inline]
    fn advance(&mut self, at: Instant, node: NodeId) {
        assert!(at >= self.now, "time went back from {} to {at}", self.now);
        self.calls_at_now = if at == self.now { self.calls_at_now + 1 } else { 0 };
        assert!(self.calls_at_now < CALLS_PER_INSTANT_MAX, "stuck at {at} with {node:?}");
        self.now = at;
    }

    /// Handles a timer that came out of the wheel.
    #[inline]
    fn fire(&mut self, id: NodeId, topics: TopicSet, probe: &mut dyn Probe) {
        let Self { members, wires, wheel, now, pool, outbox, line, counters, .. } = self;
        let now = *now;
        let member = &mut members[id.index()];
        member.armed = Instant::FAR_FUTURE;
        if member.wanted > now {
            counters.timers_stale += 1;
            return member.arm(id, now, wheel, counters);
        }
        counters.events += 1;
        let cx = &mut Cx { now, pool, outbox, topics, probe };
        member.node.handle_timeout(cx);
        member.arm(id, now, wheel, counters);
        let mut sender = member;
        while let Some(Delivery { to, packet }) = next_delivery(cx, line, sender, wires, counters) {
            sender = &mut members[to.node.index()];
            sender.node.handle_packet(cx, to.port, packet);
            sender.arm(to.node, now, wheel, counters);
        }
    }

    /// The current time of the run.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Counters of the run so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// The packet pool, with its counters.
    #[must_use]
    pub fn pool(&self) -> &PacketPool {
        &self.pool
    }

    /// A node by its type. `None` if it has another type or does not exist.
    #[must_use]
    pub fn node<T: Node>(&self, id: NodeId) -> Option<&T> {
        let node: &dyn Any = self.members.get(id.index())?.node.as_ref();
        node.downcast_ref()
    }

    /// A node by its type, mutable, to change it between two calls of [`Self::run_until`].
    #[must_use]
    pub fn node_mut<T: Node>(&mut self, id: NodeId) -> Option<&mut T> {
        let node: &mut dyn Any = self.members.get_mut(id.index())?.node.as_mut();
        node.downcast_mut()
    }

    /// Counts the packets in each state: every packet created is delivered, dropped, or held by
    /// exactly one node.
    ///
    /// # Errors
    /// The same counts, if they do not add up.
    pub fn check_conservation(&self) -> Result<Conservation, Conservation> {
        let conservation = Conservation {
            inserted: self.pool.inserted(),
            consumed: self.pool.consumed(),
            discarded: DropCause::ALL.iter().map(|&cause| self.pool.discarded(cause)).sum(),
            live: self.pool.live() as u64,
            held: self.members.iter().map(|member| member.node.packets_held() as u64).sum(),
        };
        if conservation.holds() { Ok(conservation) } else { Err(conservation) }
    }
}

/// Queues the packets that this node has sent behind those of other nodes, and takes the first.
#[inline(always)]
fn next_delivery(
    cx: &mut Cx<'_>,
    line: &mut Line,
    sender: &Member,
    wires: &[Option<End>],
    counters: &mut Counters,
) -> Option<Delivery> {
    if let [(port, _)] = cx.outbox[..] {
        // Usually a single packet moves from node to node, and needs no queue.
        if let Some(to) = sender.leads_to(port, wires) {
            let (_, packet) = cx.outbox.pop()?;
            counters.packets += 1;
            if line.is_empty() {
                return Some(Delivery { to, packet });
            }
            line.push(Delivery { to, packet });
            return line.pop();
        }
    }
    if !cx.outbox.is_empty() {
        forward(cx, line, sender, wires, counters);
    }
    line.pop()
}

/// Queues the packets that the node sent for the nodes at the other ends.
fn forward(
    cx: &mut Cx<'_>,
    line: &mut Line,
    sender: &Member,
    wires: &[Option<End>],
    counters: &mut Counters,
) {
    let mut sent = core::mem::take(cx.outbox);
    for (port, packet) in sent.drain(..) {
        if let Some(to) = sender.leads_to(port, wires) {
            counters.packets += 1;
            line.push(Delivery { to, packet });
        } else {
            cx.discard(packet, DropCause::NoRoute);
        }
    }
    *cx.outbox = sent; // keeps its memory
}

#[cfg(test)]
mod tests;
