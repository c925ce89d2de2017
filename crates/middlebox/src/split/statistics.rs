//! Counters of a split-connection proxy.

use crate::node::Side;

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Both directions were closed, and all data was acknowledged.
    Closed,
    /// A peer reset it, and the other was informed.
    Reset,
    /// The far end refused it.
    ConnectRefused,
    /// The connection was not established in time.
    ConnectTimeout,
    /// A peer did not accept waiting data.
    Stalled,
    /// Both peers were silent.
    Idle,
}

/// Counters of a proxy. Arrays are for data from the core and data from the radio, in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SplitStatistics {
    /// Connections accepted.
    pub connections: u64,
    /// Current connections, and their maximum so far.
    pub open: u64,
    /// See `open`.
    pub open_peak: u64,
    /// Connections that passed unchanged for lack of room.
    pub passed: u64,
    /// Connections refused for lack of room.
    pub refused: u64,
    /// Connections by their ending, in the order of [`Ending`].
    pub endings: [u64; 6],
    /// Ended connections whose state was removed early for lack of room.
    pub forgotten: u64,
    /// Connections received from the proxy of another eNB, and sent to one.
    pub moved_in: u64,
    /// See `moved_in`.
    pub moved_out: u64,
    /// Connections that were to be received, but were reset for lack of room.
    pub turned_away: u64,
    /// Bytes of connections that left over X2, including their buffers, and of packets that followed one.
    pub x2_context_bytes: u64,
    /// See `x2_context_bytes`.
    pub x2_packet_bytes: u64,
    /// Bytes forwarded.
    pub relayed: [u64; 2],
    /// Bytes in its buffers.
    pub held: [u64; 2],
    /// Maximum of the held bytes so far.
    pub held_peak: [u64; 2],
    /// Maximum of the held bytes of one connection so far.
    pub held_peak_one: [u64; 2],
}

impl SplitStatistics {
    /// Number of connections with this ending.
    #[must_use]
    pub const fn ended(&self, ending: Ending) -> u64 {
        self.endings[ending as usize]
    }

    pub(super) fn begin(&mut self) {
        self.connections += 1;
        self.open += 1;
        self.open_peak = self.open_peak.max(self.open);
    }

    pub(super) fn end(&mut self, ending: Ending) {
        self.open -= 1;
        self.endings[ending as usize] += 1;
    }

    pub(super) fn join(&mut self) {
        self.moved_in += 1;
        self.open += 1;
        self.open_peak = self.open_peak.max(self.open);
    }

    pub(super) fn leave(&mut self) {
        self.moved_out += 1;
        self.open -= 1;
    }

    /// Updates the bytes that a connection holds for a side.
    #[inline]
    pub(super) fn hold(&mut self, side: Side, before: u64, now: u64) {
        let at = side as usize;
        self.held[at] = self.held[at] - before + now;
        self.held_peak[at] = self.held_peak[at].max(self.held[at]);
        self.held_peak_one[at] = self.held_peak_one[at].max(now);
    }
}
