//! The run: clock, timers, and packets handed from node to node.
//!
//! Only timers are events. A packet that leaves a node is given to the node at the other end of
//! the wire at once, at the same instant, first come first served; time passes inside nodes.
//!
//! After each call to a node its `next_timeout` is compared with the timer that is armed for it.
//! A timer that moves later is left where it is and armed anew when it fires early: a
//! retransmission timer moves at each acknowledgement, and fires once in a thousand of them.

use core::any::Any;
use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};
use std::collections::VecDeque;

use airlane_core::{Cx, DropCause, Instant, Node, NodeId, Outbox, PacketPool, PacketRef, Probe, TopicSet};

use crate::Network;
use crate::network::End;
use crate::wheel::Wheel;

/// Calls that may happen at one instant before the run is declared stuck.
const CALLS_PER_INSTANT_MAX: u64 = 50_000_000;

struct Member {
    node: Box<dyn Node>,
    /// When the timer in the wheel is due; [`Instant::FAR_FUTURE`] without one.
    armed: Instant,
    /// What its `next_timeout` said after the last call; [`Instant::FAR_FUTURE`] for `None`.
    wanted: Instant,
    /// Its ports are `wires[first_wire..][..ports]`.
    first_wire: u32,
    ports: u32,
}

struct Delivery {
    to: End,
    packet: PacketRef,
}

/// What a run did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Timers that fired and called their node.
    pub events: u64,
    /// Timers put into the wheel.
    pub timers_armed: u64,
    /// Timers that fired although their node no longer wanted to be called then.
    pub timers_stale: u64,
    /// Packets handed from one node to the next.
    pub packets: u64,
}

/// Where the packets of a run are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conservation {
    /// Packets ever made.
    pub inserted: u64,
    /// Packets delivered.
    pub consumed: u64,
    /// Packets dropped.
    pub discarded: u64,
    /// Packets in the pool.
    pub live: u64,
    /// Packets that the nodes say they hold.
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

/// A network in motion.
pub struct Simulation {
    members: Vec<Member>,
    wires: Vec<Option<End>>,
    wheel: Wheel,
    now: Instant,
    pool: PacketPool,
    outbox: Outbox,
    deliveries: VecDeque<Delivery>,
    counters: Counters,
    calls_at_now: u64,
}

impl Simulation {
    /// A network at time zero, with room for `pool_capacity` packets under way before the pool
    /// has to grow.
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
            deliveries: VecDeque::with_capacity(256),
            counters: Counters::default(),
            calls_at_now: 0,
        }
    }

    /// Runs everything that is due at `end` or before, then sets the clock to `end`.
    ///
    /// # Panics
    /// If a packet is found to be lost or held twice afterwards ([`Self::check_conservation`]),
    /// or if a node wants to be called at one instant without end.
    pub fn run_until(&mut self, end: Instant, probe: &mut dyn Probe) {
        let ended = self.run_until_unless(&AtomicBool::new(false), end, probe);
        assert!(ended, "nobody can have cancelled it");
    }

    /// As [`Self::run_until`], but looks at `cancel` after each event, since an event of a large
    /// network may take milliseconds. False if it was true, which leaves the run where it stands.
    ///
    /// # Panics
    /// As [`Self::run_until`].
    pub fn run_until_unless(&mut self, cancel: &AtomicBool, end: Instant, probe: &mut dyn Probe) -> bool {
        assert!(end >= self.now, "the run stands at {}, after {end}", self.now);
        let topics = probe.topics();
        for index in 0..self.members.len() {
            self.arm(index); // whoever was changed between two calls of this function
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

    /// A timer came out of the wheel.
    #[inline]
    fn fire(&mut self, node: NodeId, topics: TopicSet, probe: &mut dyn Probe) {
        let index = node.index();
        let member = &mut self.members[index];
        member.armed = Instant::FAR_FUTURE;
        if member.wanted > self.now {
            self.counters.timers_stale += 1;
            self.arm(index);
            return;
        }
        self.counters.events += 1;
        let Self { pool, outbox, now, .. } = self;
        member.node.handle_timeout(&mut Cx { now: *now, pool, outbox, topics, probe });
        self.arm(index);
        let mut sender = index;
        while let Some(Delivery { to, packet }) = self.next_delivery(sender, topics, probe) {
            sender = to.node.index();
            let Self { pool, outbox, now, members, .. } = self;
            let cx = &mut Cx { now: *now, pool, outbox, topics, probe };
            members[sender].node.handle_packet(cx, to.port, packet);
            self.arm(sender);
        }
    }

    /// Arms the node's timer if it wants to be called earlier than is arranged.
    #[inline]
    fn arm(&mut self, index: usize) {
        let member = &mut self.members[index];
        // What should have been done before is done now.
        member.wanted = member.node.next_timeout().unwrap_or(Instant::FAR_FUTURE).max(self.now);
        if member.wanted < member.armed {
            member.armed = member.wanted;
            self.wheel.arm(NodeId(index as u32), member.armed);
            self.counters.timers_armed += 1;
        }
    }

    /// Puts what this node has sent in line behind what others sent before, and takes the first.
    #[inline]
    fn next_delivery(&mut self, sender: usize, topics: TopicSet, probe: &mut dyn Probe) -> Option<Delivery> {
        // Mostly a single packet hops from node to node, and needs no line.
        if self.deliveries.is_empty()
            && let [(port, _)] = self.outbox[..]
            && let Member { first_wire, ports, .. } = self.members[sender]
            && u32::from(port) < ports
            && let Some(to) = self.wires[first_wire as usize + usize::from(port)]
        {
            let (_, packet) = self.outbox.pop()?;
            self.counters.packets += 1;
            return Some(Delivery { to, packet });
        }
        if !self.outbox.is_empty() {
            self.forward(sender, topics, probe);
        }
        self.deliveries.pop_front()
    }

    /// Puts what the node sent in line for the nodes at the other ends.
    fn forward(&mut self, index: usize, topics: TopicSet, probe: &mut dyn Probe) {
        let Member { first_wire, ports, .. } = self.members[index];
        let wires = &self.wires[first_wire as usize..][..ports as usize];
        let mut unused = Outbox::new();
        for (port, packet) in self.outbox.drain(..) {
            if let Some(&Some(to)) = wires.get(usize::from(port)) {
                self.counters.packets += 1;
                self.deliveries.push_back(Delivery { to, packet });
            } else {
                let pool = &mut self.pool;
                let mut cx = Cx { now: self.now, pool, outbox: &mut unused, topics, probe };
                cx.discard(packet, DropCause::NoRoute);
            }
        }
    }

    /// The time that the run has reached.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.now
    }

    /// What the run did so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// The packets, and what became of them.
    #[must_use]
    pub fn pool(&self) -> &PacketPool {
        &self.pool
    }

    /// A node, as what it is. `None` if it is something else, or is not there.
    #[must_use]
    pub fn node<T: Node>(&self, id: NodeId) -> Option<&T> {
        let node: &dyn Any = self.members.get(id.index())?.node.as_ref();
        node.downcast_ref()
    }

    /// A node, to change it between two calls of [`Self::run_until`].
    #[must_use]
    pub fn node_mut<T: Node>(&mut self, id: NodeId) -> Option<&mut T> {
        let node: &mut dyn Any = self.members.get_mut(id.index())?.node.as_mut();
        node.downcast_mut()
    }

    /// Counts where the packets are: every packet made is delivered, dropped, or held by exactly
    /// one node.
    ///
    /// # Errors
    /// The same figures, if they do not add up.
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

#[cfg(test)]
mod tests;
