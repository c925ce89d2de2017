//! The memory of all buffers of a proxy, and its division.
//!
//! The budget counts the bytes that may enter a buffer: those that a peer has sent or been offered, less
//! those that the other peer has acknowledged. The sum therefore cannot exceed the bound, for any behaviour
//! of the peers and any number of stalled connections. Each direction of a connection has its own reserve,
//! with which it makes progress when nothing else is left. The rest is shared: a direction may use at most as
//! much of it as it leaves free (the dynamic threshold of Choudhury and Hahne, IEEE/ACM Transactions on
//! Networking 6(2), 1998, with a factor of one), so a few stalled connections do not block the others.

/// The memory of a proxy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    /// Bytes reserved for each direction of a connection, and the maximum number of connections.
    reserve: u64,
    connections: u64,
    /// Shared bytes, and the part of them in use.
    shared: u64,
    taken: u64,
    /// Connections, all bytes in use, and their maximum so far.
    open: u64,
    peak: u64,
}

impl Budget {
    pub(super) fn new(memory: u64, reserve: u64, connections: u64) -> Self {
        let connections = connections.min(memory / (2 * reserve));
        let shared = memory - connections * 2 * reserve;
        Self { reserve, connections, shared, taken: 0, open: 0, peak: 0 }
    }

    /// Admits the two directions of a connection, if there is room.
    pub(super) fn admit(&mut self) -> Option<[u64; 2]> {
        if self.open == self.connections {
            return None;
        }
        self.open += 1;
        self.note_peak();
        Some([self.reserve; 2])
    }

    /// Admits a connection that arrives with this charge, if there is room for all of it.
    pub(super) fn admit_charged(&mut self, charged: [u64; 2]) -> bool {
        let more = charged[0] + charged[1] - 2 * self.reserve;
        let room = self.open < self.connections && more <= self.shared - self.taken;
        if room {
            self.open += 1;
            self.taken += more;
            self.note_peak();
        }
        room
    }

    /// Releases the two directions of a connection.
    pub(super) fn release(&mut self, charged: [u64; 2]) {
        self.open -= 1;
        self.taken -= charged[0] + charged[1] - 2 * self.reserve;
    }

    /// Charges a direction as much as it may use, at most `buffer`, and returns the charge.
    #[inline]
    pub(super) fn grant(&mut self, charged: &mut u64, buffer: u64) -> u64 {
        let has = *charged - self.reserve;
        let fair = u64::midpoint(self.shared - self.taken, has);
        let most = fair.min(buffer.saturating_sub(self.reserve));
        if most > has {
            self.taken += most - has;
            *charged = self.reserve + most;
        }
        *charged
    }

    /// Charges a direction the used part of its grant.
    #[inline]
    pub(super) fn settle(&mut self, charged: &mut u64, committed: u64) {
        let settled = committed.max(self.reserve);
        self.taken = self.taken + settled - *charged;
        *charged = settled;
        self.note_peak();
    }

    #[inline]
    fn note_peak(&mut self) {
        self.peak = self.peak.max(self.used().0);
    }

    /// Bytes in use, and their maximum so far. Reserves of connections count in full.
    pub(super) const fn used(&self) -> (u64, u64) {
        (self.open * 2 * self.reserve + self.taken, self.peak)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_leaves_as_much_as_it_takes_and_reserves_are_there_for_all() {
        let mut budget = Budget::new(100_000, 1_000, 10); // 80000 to share
        let [mut a, mut b] = budget.admit().unwrap();
        assert_eq!(budget.grant(&mut a, 21_000), 21_000);
        budget.settle(&mut a, 21_000);
        // 60000 are free: half of them, and then half of the rest including its own.
        assert_eq!(budget.grant(&mut b, 1 << 20), 31_000);
        assert_eq!(budget.grant(&mut b, 1 << 20), 31_000, "what it has counts");
        budget.settle(&mut b, 31_000);
        assert_eq!(budget.used(), (52_000, 52_000));
        assert!((1..10).all(|_| budget.admit().is_some()));
        assert!(budget.admit().is_none());
        assert_eq!(budget.used().0, 70_000);
        budget.settle(&mut b, 10);
        budget.release([a, b]);
        assert_eq!(budget.used(), (18_000, 70_000));
    }

    #[test]
    fn memory_bounds_connections_too() {
        let mut budget = Budget::new(6_500, 1_000, 10);
        assert!((0..3).all(|_| budget.admit().is_some()));
        assert!(budget.admit().is_none());
        let mut charged = 1_000;
        assert_eq!(budget.grant(&mut charged, 1 << 20), 1_250);
    }
}
