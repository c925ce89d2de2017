//! What an endpoint writes on every packet it sends.

use airlane_core::{Direction, FlowId};

/// Whose packets an endpoint sends, and which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// The flow.
    pub flow: FlowId,
    /// The direction of the packets that this endpoint sends.
    pub direction: Direction,
}
