//! The account of a run's packets.

use core::fmt;

/// The number of packets of a run in each state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conservation {
    /// Packets created.
    pub inserted: u64,
    /// Packets delivered.
    pub consumed: u64,
    /// Packets dropped.
    pub discarded: u64,
    /// Packets in the pool.
    pub live: u64,
    /// Packets that the nodes report to hold.
    pub held: u64,
}

impl Conservation {
    pub(super) fn holds(&self) -> bool {
        self.live == self.held && self.inserted == self.consumed + self.discarded + self.live
    }
}

impl fmt::Display for Conservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} packets made; {} delivered + {} dropped + {} under way, of which nodes hold {}",
            self.inserted, self.consumed, self.discarded, self.live, self.held
        )
    }
}
