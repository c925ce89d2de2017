//! What an endpoint writes on every packet it sends.

use airlane_core::{Direction, FlowId, SocketPair};

/// Whose packets an endpoint sends, and which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// The flow.
    pub flow: FlowId,
    /// The direction of the packets that this endpoint sends.
    pub direction: Direction,
    /// The connection, of those that the flow has.
    pub sockets: SocketPair,
}

impl Path {
    /// The path of a flow's only connection.
    #[must_use]
    pub const fn new(flow: FlowId, direction: Direction) -> Self {
        Self { flow, direction, sockets: SocketPair { server: 0, server_port: 0, ue_port: 0 } }
    }
}
