//! The run: clock, timers, and the transfer of packets from node to node.
//!
//! Only timers are events. A packet that leaves a node is passed at once, at the same instant, to
//! the node at the other end of the wire, in FIFO order. Only nodes delay packets.
//!
//! After each call of a node, its `next_timeout` is compared with its armed timer. A timer that
//! moves to a later time stays where it is and is armed again when it fires early. A retransmission
//! timer moves at each acknowledgment, and only about one move in a thousand makes it fire.
//!
//! A simulation can be embedded in a program with other inputs and another clock: it advances to a
//! given time, takes packets from outside at any port, and keeps what leaves through an [`Exit`].
//! None of these calls looks at every node.

use airlane_core::{
    Cx, DropCause, Event, Instant, Node, NodeId, Outbox, Packet, PacketPool, PacketRef, Port, Probe, Role,
};
use core::any::Any;
use core::sync::atomic::{AtomicBool, Ordering};

mod change;
mod conservation;
mod deliveries;

pub use change::InUse;
pub use conservation::Conservation;

use crate::Network;
use crate::exit::{Departure, Exit};
use crate::network::End;
use crate::wheel::Wheel;
use deliveries::{Deliveries, Delivery};

/// Calls that may happen at one instant before the run is declared stuck.
const CALLS_PER_INSTANT_MAX: u64 = 50_000_000;

struct Member {
    node: Box<dyn Node>,
    role: Role,
    /// Due time of the timer in the wheel; [`Instant::FAR_FUTURE`] if none is armed.
    armed: Instant,
    /// The node's `next_timeout` after its last call; [`Instant::FAR_FUTURE`] for `None`.
    wanted: Instant,
    /// The ports of the node are `wires[first_wire..][..ports]`.
    first_wire: u32,
    ports: u32,
}

impl Member {
    fn new(node: Box<dyn Node>, first_wire: u32, ports: u32) -> Self {
        let role = node.role();
        Self { node, role, armed: Instant::FAR_FUTURE, wanted: Instant::FAR_FUTURE, first_wire, ports }
    }

    /// The other end of this port's wire.
    #[inline]
    fn leads_to(&self, port: Port, wires: &[Option<End>]) -> Option<End> {
        if u32::from(port) < self.ports { wires[self.first_wire as usize + usize::from(port)] } else { None }
    }

    /// Arms the timer if the node needs a call earlier than the armed timer.
    #[inline(always)]
    fn arm(&mut self, id: NodeId, now: Instant, timers: &mut Timers) {
        if let Some(at) = self.earlier(now) {
            timers.arm(id, at);
        }
    }

    /// `arm`, not inlined, for places where a node seldom needs an earlier call: after a packet.
    #[inline(always)]
    fn arm_seldom(&mut self, id: NodeId, now: Instant, timers: &mut Timers) {
        if let Some(at) = self.earlier(now) {
            timers.arm_seldom(id, at);
        }
    }

    /// The time at which the node needs a call, if that is earlier than the armed timer, which becomes this one.
    #[inline(always)]
    fn earlier(&mut self, now: Instant) -> Option<Instant> {
        self.wanted = self.node.next_timeout().unwrap_or(Instant::FAR_FUTURE);
        // A time in the past becomes now.
        let at = self.wanted.max(now);
        (at < self.armed).then(|| {
            self.armed = at;
            at
        })
    }
}

/// The timers of all nodes, and the counters of the run.
struct Timers {
    wheel: Wheel,
    counters: Counters,
}

impl Timers {
    #[inline(always)]
    fn arm(&mut self, id: NodeId, at: Instant) {
        self.counters.timers_armed += 1;
        self.wheel.arm(id, at);
    }

    #[inline(never)]
    fn arm_seldom(&mut self, id: NodeId, at: Instant) {
        self.arm(id, at);
    }
}

/// The wires between nodes, and the packets on them.
struct Wiring {
    wires: Vec<Option<End>>,
    deliveries: Deliveries,
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

/// A network with its clock: a run.
pub struct Simulation {
    members: Vec<Member>,
    wiring: Wiring,
    timers: Timers,
    now: Instant,
    pool: PacketPool,
    outbox: Outbox,
    calls_at_now: u64,
    /// Nodes that may need another timer although they were not called: new ones, and those that
    /// [`Simulation::node_mut`] has lent out.
    changed: Vec<NodeId>,
}

impl Simulation {
    /// A network at time zero, with room for `pool_capacity` packets before the pool has to grow.
    #[must_use]
    pub fn new(network: Network, pool_capacity: usize) -> Self {
        let mut wires = Vec::new();
        let mut members = Vec::with_capacity(network.nodes.len());
        for (node, ports) in network.nodes.into_iter().zip(network.wires) {
            let first_wire = u32::try_from(wires.len()).expect("fewer than 2^32 wires");
            members.push(Member::new(node, first_wire, ports.len() as u32));
            wires.extend(ports);
        }
        Self {
            timers: Timers { wheel: Wheel::new(members.len()), counters: Counters::default() },
            changed: (0..members.len() as u32).map(NodeId).collect(),
            members,
            wiring: Wiring { wires, deliveries: Deliveries::with_capacity(256) },
            now: Instant::ZERO,
            pool: PacketPool::with_capacity(pool_capacity),
            outbox: Outbox::with_capacity(256),
            calls_at_now: 0,
        }
    }

    /// Runs all events that are due at `to` or before, then sets the clock to `to`.
    ///
    /// # Panics
    /// If `to` is before [`Self::now`], or if a node requests calls at one instant without end.
    pub fn advance(&mut self, to: Instant, probe: &mut dyn Probe) {
        let ended = self.advance_unless(&AtomicBool::new(false), to, probe);
        assert!(ended, "no caller can have cancelled it");
    }

    /// Like [`Self::advance`], but checks `cancel` after each event, since an event of a large
    /// network may take milliseconds. Returns false if `cancel` was true; the run then stays at its
    /// current time.
    ///
    /// # Panics
    /// As [`Self::advance`].
    pub fn advance_unless(&mut self, cancel: &AtomicBool, to: Instant, probe: &mut dyn Probe) -> bool {
        assert!(to >= self.now, "the run is at {}, after {to}", self.now);
        self.arm_changed();
        let Self { members, wiring, timers, now, pool, outbox, calls_at_now, .. } = self;
        // One context serves all events; only its time changes.
        let cx = &mut Cx { now: *now, pool, outbox, topics: probe.topics(), probe };
        while let Some((at, node)) = timers.wheel.pop_until(to) {
            if at > cx.now {
                *calls_at_now = 0;
            } else {
                *calls_at_now += 1;
                check_progress(cx.now, at, node, *calls_at_now);
            }
            cx.now = at;
            fire(cx, members, node, wiring, timers);
            if cancel.load(Ordering::Relaxed) {
                *now = at;
                return false;
            }
        }
        *now = to;
        true
    }

    /// Like [`Self::advance`], with the check of conservation at the end.
    ///
    /// # Panics
    /// As [`Self::advance`], and if a packet is lost or held twice ([`Self::check_conservation`]).
    pub fn run_until(&mut self, end: Instant, probe: &mut dyn Probe) {
        self.advance(end, probe);
        if let Err(conservation) = self.check_conservation() {
            panic!("packets are not conserved: {conservation}");
        }
    }

    /// The time before which nothing happens unless a packet is injected; `None` if nothing is due
    /// at all. A timer that its node has moved to a later time counts with its old time.
    #[must_use]
    pub fn next_event(&mut self) -> Option<Instant> {
        self.arm_changed();
        self.timers.wheel.next()
    }

    /// Passes a packet from outside to a port of a node at time `at`. Everything that is due at `at`
    /// or before happens first. A packet for a node that was removed is dropped with the cause
    /// [`DropCause::NoRoute`].
    ///
    /// # Panics
    /// If `at` is before [`Self::now`], or if the node never existed.
    pub fn inject(&mut self, to: (NodeId, Port), packet: Packet, at: Instant, probe: &mut dyn Probe) {
        assert!(to.0.index() < self.members.len(), "{:?} is not in this network", to.0);
        self.advance(at, probe);
        self.timers.counters.packets += 1;
        self.call(to.0, probe, |node, cx| {
            let packet = cx.pool.insert(packet);
            node.handle_packet(cx, to.1, packet);
        });
    }

    /// Passes a packet out of a port of a node at time `at`, as if the node had sent it: for a node that
    /// represents something outside. Everything that is due at `at` or before happens first. If the
    /// port leads nowhere, the packet is dropped with the cause [`DropCause::NoRoute`]. For observers, its payload
    /// was sent before if it is a `retransmission`.
    ///
    /// # Panics
    /// If `at` is before [`Self::now`], or if the node never existed.
    pub fn send_from(
        &mut self,
        from: (NodeId, Port),
        packet: Packet,
        at: Instant,
        retransmission: bool,
        probe: &mut dyn Probe,
    ) {
        assert!(from.0.index() < self.members.len(), "{:?} is not in this network", from.0);
        self.advance(at, probe);
        self.call(from.0, probe, |_, cx| {
            cx.emit(&Event::Sent { packet: &packet, retransmission });
            let packet = cx.pool.insert(packet);
            cx.send(from.1, packet);
        });
    }

    /// Calls `act` with a node and the context of a call at the current time: for changes of a node that
    /// send or drop packets. `None` if the node has another type or does not exist.
    pub fn visit<T: Node, R>(
        &mut self,
        id: NodeId,
        probe: &mut dyn Probe,
        act: impl FnOnce(&mut T, &mut Cx<'_>) -> R,
    ) -> Option<R> {
        let _ = self.node::<T>(id)?;
        self.advance(self.now, probe);
        self.call(id, probe, |node, cx| {
            let node: &mut dyn Any = node;
            node.downcast_mut().map(|node| act(node, cx))
        })
    }

    /// Calls a node, arms its timer and delivers what it sends.
    fn call<R>(
        &mut self,
        id: NodeId,
        probe: &mut dyn Probe,
        act: impl FnOnce(&mut dyn Node, &mut Cx<'_>) -> R,
    ) -> R {
        let Self { members, wiring, timers, now, pool, outbox, .. } = self;
        let cx = &mut Cx { now: *now, pool, outbox, topics: probe.topics(), probe };
        let member = &mut members[id.index()];
        let result = act(member.node.as_mut(), cx);
        member.arm_seldom(id, *now, timers);
        deliver(cx, members, id, wiring, timers);
        result
    }

    /// Removes the oldest packet that has left through an exit; `None` if there is none, or if the
    /// node is not an [`Exit`].
    pub fn take(&mut self, exit: NodeId) -> Option<Departure> {
        let node: &mut dyn Any = self.members.get_mut(exit.index())?.node.as_mut();
        let (port, at, packet) = node.downcast_mut::<Exit>()?.pop()?;
        Some(Departure { port, at, packet: self.pool.consume(packet) })
    }

    fn arm_changed(&mut self) {
        let Self { members, timers, now, changed, .. } = self;
        for id in changed.drain(..) {
            members[id.index()].arm_seldom(id, *now, timers);
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
        self.timers.counters
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

    /// A node by its type, mutable, to change it between two calls. The next call asks it again for
    /// its timeout.
    #[must_use]
    pub fn node_mut<T: Node>(&mut self, id: NodeId) -> Option<&mut T> {
        if id.index() < self.members.len() && self.changed.last() != Some(&id) {
            self.changed.push(id);
        }
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

/// Another event at the time of the last one.
#[inline(never)]
fn check_progress(now: Instant, at: Instant, node: NodeId, calls: u64) {
    assert!(at == now, "time went back from {now} to {at}");
    assert!(calls < CALLS_PER_INSTANT_MAX, "stuck at {at} with {node:?}");
}

/// Handles a timer that came out of the wheel.
#[inline(always)]
fn fire(cx: &mut Cx<'_>, members: &mut [Member], id: NodeId, wiring: &mut Wiring, timers: &mut Timers) {
    let member = &mut members[id.index()];
    member.armed = Instant::FAR_FUTURE;
    if member.wanted > cx.now {
        timers.counters.timers_stale += 1;
        return member.arm_seldom(id, cx.now, timers);
    }
    timers.counters.events += 1;
    member.node.handle_timeout(cx);
    member.arm(id, cx.now, timers);
    deliver(cx, members, id, wiring, timers);
}

/// Passes on the packets that a node has sent, and those that its receivers send in turn, until nothing is
/// left.
#[inline(always)]
fn deliver(
    cx: &mut Cx<'_>,
    members: &mut [Member],
    sender: NodeId,
    wiring: &mut Wiring,
    timers: &mut Timers,
) {
    let mut next = wiring.next(cx, &members[sender.index()], &mut timers.counters);
    while let Some(Delivery { to, packet }) = next {
        let receiver = &mut members[to.node.index()];
        if receiver.role == Role::FlowRouter
            && let Some(to) = wiring.behind(cx, receiver, &packet)
        {
            timers.counters.packets += 1;
            next = wiring.deliveries.exchange(Delivery { to, packet });
            continue;
        }
        receiver.node.handle_packet(cx, to.port, packet);
        if receiver.role == Role::Any {
            receiver.arm_seldom(to.node, cx.now, timers);
        }
        next = wiring.next(cx, receiver, &mut timers.counters);
    }
}

impl Wiring {
    /// Queues the packets that this node has sent behind the packets of other nodes, and takes the first.
    #[inline(always)]
    fn next(&mut self, cx: &mut Cx<'_>, sender: &Member, counters: &mut Counters) -> Option<Delivery> {
        if let [(port, _)] = cx.outbox[..] {
            // Usually a single packet moves from node to node, and needs no queue.
            if let Some(to) = sender.leads_to(port, &self.wires) {
                let (_, packet) = cx.outbox.pop()?;
                counters.packets += 1;
                return self.deliveries.exchange(Delivery { to, packet });
            }
        }
        if !cx.outbox.is_empty() {
            return self.forward(cx, sender, counters);
        }
        self.deliveries.pop()
    }

    /// The node and port behind a router by flow; `None` if the router itself decides about the packet.
    #[inline(always)]
    fn behind(&self, cx: &Cx<'_>, router: &Member, packet: &PacketRef) -> Option<End> {
        let port = Port::try_from(cx.pool.get(packet).flow.0).ok()?;
        router.leads_to(port, &self.wires)
    }

    /// Queues the packets that the node sent for the nodes at the other ends, and takes the first of all.
    fn forward(&mut self, cx: &mut Cx<'_>, sender: &Member, counters: &mut Counters) -> Option<Delivery> {
        let mut first = self.deliveries.pop();
        let mut sent = core::mem::take(cx.outbox);
        for (port, packet) in sent.drain(..) {
            let Some(to) = sender.leads_to(port, &self.wires) else {
                cx.discard(packet, DropCause::NoRoute);
                continue;
            };
            counters.packets += 1;
            if first.is_some() {
                self.deliveries.push(Delivery { to, packet });
            } else {
                first = Some(Delivery { to, packet });
            }
        }
        *cx.outbox = sent; // keeps its memory
        first
    }
}

#[cfg(test)]
mod tests;
