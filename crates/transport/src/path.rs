//! The addressing of all packets that an endpoint sends.

use airlane_core::{Direction, FlowId, SocketPair};

/// The flow and direction of an endpoint's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// The flow.
    pub flow: FlowId,
    /// The direction of the packets that this endpoint sends.
    pub direction: Direction,
    /// The connection within the flow.
    pub sockets: SocketPair,
}

impl Path {
    /// The path of the only connection of a flow.
    #[must_use]
    pub const fn new(flow: FlowId, direction: Direction) -> Self {
        Self { flow, direction, sockets: SocketPair { server: 0, server_port: 0, ue_port: 0 } }
    }
}
