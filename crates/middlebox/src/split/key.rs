//! The identification of connections.

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
