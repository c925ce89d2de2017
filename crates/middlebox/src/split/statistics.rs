//! What a split-connection proxy counts.

use crate::node::Side;

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Both directions were closed, and all of it acknowledged.
    Closed,
    /// A peer reset it, and the other was told.
    Reset,
    /// The far end refused it.
    ConnectRefused,
    /// It did not stand in time.
    ConnectTimeout,
    /// A peer did not take what waited for it.
    Stalled,
    /// Nobody said anything.
    Idle,
}

/// What a proxy has counted. Arrays are of what comes from the core and what comes from the radio, in this
/// order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SplitStatistics {
    /// Connections it took.
    pub connections: u64,
    /// Those under way, and the most that ever were at a time.
    pub open: u64,
    /// See `open`.
    pub open_peak: u64,
    /// Connections that passed as they were, because there was no room.
    pub passed: u64,
    /// Connections refused, because there was no room.
    pub refused: u64,
    /// Connections by their ending, in the order of [`Ending`].
    pub endings: [u64; 6],
    /// Ended connections whose stragglers it stopped answering before their time, because there was no room.
    pub forgotten: u64,
    /// Connections that came from the proxy of another eNB, and that went to one.
    pub moved_in: u64,
    /// See `moved_in`.
    pub moved_out: u64,
    /// Connections that would have come, and were reset, because there was no room.
    pub turned_away: u64,
    /// Bytes of connections that left over X2, with what was in their buffers, and of packets that followed one.
    pub x2_context_bytes: u64,
    /// See `x2_context_bytes`.
    pub x2_packet_bytes: u64,
    /// Bytes passed on.
    pub relayed: [u64; 2],
    /// Bytes in its buffers.
    pub held: [u64; 2],
    /// The most that ever were.
    pub held_peak: [u64; 2],
    /// The most that ever were of one connection.
    pub held_peak_one: [u64; 2],
}

impl SplitStatistics {
    /// Connections that ended so.
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

    /// A connection holds so many bytes of a side instead of so many.
    #[inline]
    pub(super) fn hold(&mut self, side: Side, before: u64, now: u64) {
        let at = side as usize;
        self.held[at] = self.held[at] - before + now;
        self.held_peak[at] = self.held_peak[at].max(self.held[at]);
        self.held_peak_one[at] = self.held_peak_one[at].max(now);
    }
}
