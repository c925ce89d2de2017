//! The contract between a protocol and whatever drives it: a virtual clock, a real one, or a
//! test.
//!
//! A [`Node`] is driven from outside: packets and timeouts come in, packets go out through the
//! [`Cx`] of the call, and `next_timeout` says when it wants to be called again. It reads no
//! clock, opens no socket and owns no thread.

use core::any::Any;

use crate::{DropCause, Ecn, Event, Instant, Packet, PacketPool, PacketRef, Topic, TopicSet};

/// A numbered opening of a node. The wiring connects a port of one node to a port of another.
pub type Port = u16;

/// Packets that a node sends during one call, in order.
pub type Outbox = Vec<(Port, PacketRef)>;

/// Listens to events. Must not influence what it observes.
pub trait Probe {
    /// The topics it wants to hear.
    fn topics(&self) -> TopicSet;
    /// One event.
    fn observe(&mut self, now: Instant, event: &Event<'_>);
}

/// A probe that listens to nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silence;

impl Probe for Silence {
    fn topics(&self) -> TopicSet {
        TopicSet::NONE
    }
    fn observe(&mut self, _: Instant, _: &Event<'_>) {}
}

/// What a call brings along: the time, the packets, the way out, and the observers.
pub struct Cx<'a> {
    /// The time of the call.
    pub now: Instant,
    /// The packets of this run.
    pub pool: &'a mut PacketPool,
    /// Where sent packets go.
    pub outbox: &'a mut Outbox,
    /// What the probe listens to; by value, so that an unheard event costs one bit test.
    pub topics: TopicSet,
    /// The observer.
    pub probe: &'a mut dyn Probe,
}

impl Cx<'_> {
    /// Sends a packet out of a port of the node that is being called.
    #[inline]
    pub fn send(&mut self, port: Port, packet: PacketRef) {
        if self.outbox.len() == self.outbox.capacity() {
            return self.send_beyond(port, packet); // which may be the last call of who calls this
        }
        self.outbox.push((port, packet));
    }

    #[cold]
    #[inline(never)]
    fn send_beyond(&mut self, port: Port, packet: PacketRef) {
        self.outbox.push((port, packet));
    }

    /// True if somebody listens to the topic; ask before building an event.
    #[inline]
    #[must_use]
    pub fn wants(&self, topic: Topic) -> bool {
        self.topics.wants(topic)
    }

    /// Reports an event to whoever wants its topic.
    #[inline]
    pub fn emit(&mut self, event: &Event<'_>) {
        if self.topics.wants(event.topic()) {
            self.probe.observe(self.now, event);
        }
    }

    /// Reports an event about a packet that stays in the pool. Ask [`Cx::wants`] before: this is kept
    /// out of the way of whoever does not call it.
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

    /// Sets CE on a packet in place of dropping it (RFC 3168 §5), and reports it. False if the
    /// packet is not ECN-capable, and nothing but a drop will tell its sender.
    #[must_use]
    pub fn mark(&mut self, packet: &PacketRef) -> bool {
        let marked = self.pool.get_mut(packet);
        match marked.ecn {
            Ecn::NotCapable => return false,
            Ecn::CongestionExperienced => return true,
            Ecn::Capable0 | Ecn::Capable1 => marked.ecn = Ecn::CongestionExperienced,
        }
        if self.topics.wants(Topic::Marked) {
            self.probe.observe(self.now, &Event::Marked { packet: self.pool.get(packet) });
        }
        true
    }
}

/// A stateful thing in the network. It is [`Any`] so that whoever built it can have it back
/// after a run, with its statistics.
pub trait Node: Any {
    /// A packet arrives at a port.
    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: PacketRef);

    /// `next_timeout` has come. Called late, a node replays what it missed, each thing stamped
    /// with its own time; called early, it does nothing.
    fn handle_timeout(&mut self, cx: &mut Cx<'_>);

    /// When to call `handle_timeout`, if nothing else happens first.
    fn next_timeout(&self) -> Option<Instant>;

    /// Packets it holds, for the check that none was lost on the way.
    fn packets_held(&self) -> usize;
}
