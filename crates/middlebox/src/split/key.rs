//! What tells connections apart.

use airlane_core::{Direction, FlowId, Packet, SocketPair};
use airlane_transport::Path;

/// A connection, as its packets name it.
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

    /// What an end of the connection writes on its packets.
    pub(super) const fn path(self, direction: Direction) -> Path {
        Path { flow: self.flow, direction, sockets: self.sockets }
    }

    /// The name of the stream from which its initial sequence numbers are drawn.
    pub(super) fn stream(self, proxy: u32) -> String {
        let SocketPair { server, server_port, ue_port } = self.sockets;
        format!("middlebox/{proxy}/flow/{}/{server}/{server_port}/{ue_port}/initial", self.flow.0)
    }
}
