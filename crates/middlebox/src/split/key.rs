//! The identification of connections.

use core::ops::RangeInclusive;

use airlane_core::{Direction, FlowId, Packet, SocketPair};
use airlane_transport::Path;

/// A connection, as in its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    flow: FlowId,
    sockets: SocketPair,
}

impl Key {
    /// The connection of a packet.
    #[inline]
    pub(super) const fn of(packet: &Packet) -> Self {
        Self { flow: packet.flow, sockets: packet.sockets }
    }

    pub(super) const fn flow(self) -> FlowId {
        self.flow
    }

    /// The keys of all connections of a flow.
    pub(super) const fn all_of(flow: FlowId) -> RangeInclusive<Self> {
        let first = SocketPair { server: 0, server_port: 0, ue_port: 0 };
        let last = SocketPair { server: u16::MAX, server_port: u16::MAX, ue_port: u16::MAX };
        Self { flow, sockets: first }..=Self { flow, sockets: last }
    }

    /// The addressing of packets of one end.
    pub(super) const fn path(self, direction: Direction) -> Path {
        Path { flow: self.flow, direction, sockets: self.sockets }
    }

    /// The name of the stream for its initial sequence numbers.
    pub(super) fn stream(self, proxy: u32) -> String {
        let SocketPair { server, server_port, ue_port } = self.sockets;
        format!("middlebox/{proxy}/flow/{}/{server}/{server_port}/{ue_port}/initial", self.flow.0)
    }
}
