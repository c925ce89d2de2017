//! Functions of an endpoint that is a subflow of Multipath TCP.

use airlane_core::{Cx, Duration, TcpHeader};

use super::{ConnectionState, TcpEndpoint};
pub use crate::sender::SenderView as SubflowState;
use crate::sequence;

impl TcpEndpoint {
    /// The state of the sender, once the connection is established.
    #[must_use]
    pub fn subflow_state(&self) -> Option<SubflowState> {
        let halves = self.halves.as_ref().filter(|_| self.state == ConnectionState::Established)?;
        Some(halves.sender.view())
    }

    /// The application writes a segment, which must not have more than [`SubflowState::segment`] bytes. With `push` it
    /// ends a write. [`Self::flush`] sends it.
    pub fn supply_segment(&mut self, bytes: u64, push: bool) {
        if let Some(h) = &mut self.halves {
            h.sender.supply_segment(bytes, push);
        }
    }

    /// [`Self::flush`] sends an acknowledgment, also if nothing has arrived.
    pub fn demand_ack(&mut self) {
        if let Some(h) = &mut self.halves {
            h.receiver.demand_ack();
        }
    }

    /// Sends an acknowledgment, also if nothing has arrived.
    pub fn acknowledge_now(&mut self, cx: &mut Cx<'_>) {
        if self.state == ConnectionState::Established
            && let Some(h) = &mut self.halves
        {
            let (sender, mut io) = h.io(cx, &self.path, &mut self.stats);
            sender.send_ack(&mut io);
        }
    }

    /// The offset up to which a segment acknowledges; a FIN counts as a byte.
    #[must_use]
    pub fn offset_acknowledged(&self, header: &TcpHeader) -> u64 {
        let Some(h) = &self.halves else { return 0 };
        let acknowledged =
            sequence::position(header.acknowledgment, h.negotiated.local_initial, h.sender.nxt());
        acknowledged.saturating_sub(1)
    }

    /// The units of windows as shifts: of those that this end announces, and of those of the peer (RFC 7323 §2.2).
    #[must_use]
    pub fn window_scales(&self) -> [u8; 2] {
        self.halves.as_ref().map_or([0; 2], |h| [h.negotiated.local_scale, h.negotiated.remote_scale])
    }

    /// The receiver's estimate of the round-trip time; zero before the first sample.
    #[must_use]
    pub fn receiver_rtt(&self) -> Duration {
        self.halves.as_ref().map_or(Duration::ZERO, |h| h.receiver.rtt())
    }

    /// Retransmission timeouts so far.
    #[must_use]
    pub const fn timeouts(&self) -> u64 {
        self.stats.timeouts
    }
}
