//! The relay between two UEs: a TURN server (RFC 8656), which forwards each datagram that it receives from one peer to the other.
//!
//! Each leg is a flow of its own in the network, with a node at the server. A packet keeps its content, its ECN field and
//! the time at which its sender has emitted it, so that its delay is that of both legs. The messages with which peers
//! allocate the relay, and the four bytes of a TURN channel, are left out.

use airlane_core::{Cx, Event, FlowId, Node, PacketRef, Port, Topic};

use crate::PORT;

/// The relay's end of a leg.
pub struct RelayLeg {
    /// The flow of this leg.
    own: FlowId,
    /// The flow of the other leg.
    other: FlowId,
}

impl RelayLeg {
    /// The port to the end of the other leg.
    pub const OTHER: Port = 1;

    /// The end of the leg that is the first of these flows; the other is that of the other leg.
    #[must_use]
    pub const fn new(own: FlowId, other: FlowId) -> Self {
        Self { own, other }
    }

    /// The flow of the other leg.
    #[must_use]
    pub const fn other(&self) -> FlowId {
        self.other
    }
}

impl Node for RelayLeg {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: PacketRef) {
        if port == PORT {
            if cx.wants(Topic::Received) {
                cx.emit_about(&packet, |packet| Event::Received { packet });
            }
            return cx.send(Self::OTHER, packet);
        }
        let forwarded = cx.pool.get_mut(&packet);
        forwarded.flow = self.own;
        forwarded.direction = forwarded.direction.reversed();
        if cx.wants(Topic::Sent) {
            cx.emit_about(&packet, |packet| Event::Sent { packet, retransmission: false });
        }
        cx.send(PORT, packet);
    }
}
