//! The interface between a protocol and its driver: a virtual clock, a real clock, or a test.
//!
//! A [`Node`] is driven from outside. Its driver passes packets and timeouts to it. The node sends
//! packets through the [`Cx`] of the call, and `next_timeout` returns the time of the next call. It
//! reads no clock, opens no socket and owns no thread.
//!
//! A driver has three duties:
//!
//! 1. *Due timeouts come before inputs.* Before it passes a packet at a time `t`, it has called
//!    `handle_timeout` for each timeout before `t`, each at its own time. A packet from outside the
//!    network also comes after the timeouts at `t`. Between nodes of the network, what is due at one
//!    instant happens in an order that repeats: that of the nodes.
//! 2. *Time does not go back*, and no call is late. A driver with a real clock first advances virtual
//!    time to its clock, with all calls that are due on the way, and then passes its input.
//! 3. *A packet is passed on at the time of the call that sent it.* An [`Outbox`] therefore needs no
//!    times: what the node sends at `t` arrives at the next node at `t`.
//!
//! With the same inputs at the same times a node then does the same under any driver.

use core::any::Any;

use crate::{DropCause, Ecn, Event, Instant, Packet, PacketPool, PacketRef, Topic, TopicSet};

/// A numbered port of a node. The wiring connects a port of one node to a port of another.
pub type Port = u16;

/// Packets that a node sends during one call, in order.
pub type Outbox = Vec<(Port, PacketRef)>;

/// Observes events. An observer must not influence what it observes.
pub trait Probe {
    /// The topics that it observes.
    fn topics(&self) -> TopicSet;
    /// Called for each event of these topics.
    fn observe(&mut self, now: Instant, event: &Event<'_>);
}

/// A probe that observes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silence;

impl Probe for Silence {
    fn topics(&self) -> TopicSet {
        TopicSet::NONE
    }
    fn observe(&mut self, _: Instant, _: &Event<'_>) {}
}

/// The context of a call: the time, the packets, the outbox, and the observers.
pub struct Cx<'a> {
    /// The time of the call.
    pub now: Instant,
    /// The packets of this run.
    pub pool: &'a mut PacketPool,
    /// Receives the packets that are sent.
    pub outbox: &'a mut Outbox,
    /// The topics that the probe observes; stored by value, so that an event without an observer
    /// costs one bit test.
    pub topics: TopicSet,
    /// The observer.
    pub probe: &'a mut dyn Probe,
}

impl Cx<'_> {
    /// The same at another time.
    #[inline]
    pub fn at(&mut self, now: Instant) -> Cx<'_> {
        Cx {
            now,
            pool: &mut *self.pool,
            outbox: &mut *self.outbox,
            topics: self.topics,
            probe: &mut *self.probe,
        }
    }

    /// Sends a packet out of a port of the node that is being called.
    #[inline]
    pub fn send(&mut self, port: Port, packet: PacketRef) {
        if self.outbox.len() == self.outbox.capacity() {
            return self.send_beyond(port, packet); // may be the caller's last statement: a tail call
        }
        self.outbox.push((port, packet));
    }

    #[cold]
    #[inline(never)]
    fn send_beyond(&mut self, port: Port, packet: PacketRef) {
        self.outbox.push((port, packet));
    }

    /// True if the topic has an observer; call this before building an event.
    #[inline]
    #[must_use]
    pub fn wants(&self, topic: Topic) -> bool {
        self.topics.wants(topic)
    }

    /// Reports an event to the observers of its topic.
    #[inline]
    pub fn emit(&mut self, event: &Event<'_>) {
        if self.topics.wants(event.topic()) {
            self.probe.observe(self.now, event);
        }
    }

    /// Reports an event about a packet that stays in the pool. Call [`Cx::wants`] first. The
    /// function is cold: the compiler moves it out of the path of runs without an observer.
    #[cold]
    pub fn emit_about(&mut self, packet: &PacketRef, event: impl FnOnce(&Packet) -> Event<'_>) {
        self.probe.observe(self.now, &event(self.pool.get(packet)));
    }

    /// Drops a packet: counted by cause, and reported.
    #[inline(never)]
    pub fn discard(&mut self, packet: PacketRef, cause: DropCause) {
        let packet = self.pool.discard(packet, cause);
        self.emit(&Event::Dropped { packet: &packet, cause });
        self.pool.recycle(packet);
    }

    /// Sets CE on a packet instead of dropping it (RFC 3168 §5), and reports it. Returns false if
    /// the packet is not ECN-capable; only a drop can then signal congestion to its sender.
    #[must_use]
    pub fn mark(&mut self, packet: &PacketRef) -> bool {
        let marked = self.pool.get_mut(packet);
        match marked.ecn {
            Ecn::NotCapable => return false,
            Ecn::CongestionExperienced => return true,
            Ecn::Capable0 | Ecn::Capable1 => marked.set_ecn(Ecn::CongestionExperienced),
        }
        if self.topics.wants(Topic::Marked) {
            self.probe.observe(self.now, &Event::Marked { packet: self.pool.get(packet) });
        }
        true
    }
}

/// Properties of a node that a driver may know before the run, so that it need not ask in each call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Any node.
    #[default]
    Any,
    /// A node without timers: `next_timeout` is `None` at all times.
    WithoutTimers,
    /// A node that only sends every packet out of the port with the number of its flow.
    FlowRouter,
}

/// A stateful part of the network. It is [`Any`] so that the code that built it can recover it
/// after a run, with its statistics.
pub trait Node: Any + Send {
    /// A packet arrives at a port.
    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: PacketRef);

    /// Called at the time of `next_timeout`; called earlier, it does nothing. A node without timers leaves it out.
    fn handle_timeout(&mut self, _: &mut Cx<'_>) {}

    /// When to call `handle_timeout`, if no packet arrives before; never, for a node without timers.
    fn next_timeout(&self) -> Option<Instant> {
        None
    }

    /// Packets it holds, for the check of conservation at the end of a run; none, for a node that passes them on at once.
    fn packets_held(&self) -> usize {
        0
    }

    /// The properties of the node that a driver may assume as long as the node exists.
    fn role(&self) -> Role {
        Role::Any
    }
}
