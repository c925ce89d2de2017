//! The memory of all buffers of a proxy, and who may have how much of it.
//!
//! What is counted is what may come to lie in a buffer: the bytes that a peer has sent or has been offered,
//! less those that the other peer has acknowledged. So the sum cannot exceed the bound, whatever the peers do
//! and however many stall. Each direction of each connection has a reserve of its own, with which it makes
//! progress when nothing else is left; beyond that it may have as much as is free (the dynamic threshold of
//! Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998, with a factor of one), so a few stalled
//! connections do not shut out the others.

/// The memory of a proxy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    /// In bytes: in all, set aside for each direction, and in use (the reserves count in full).
    memory: u64,
    reserve: u64,
    used: u64,
    peak: u64,
}

impl Budget {
    pub(super) const fn new(memory: u64, reserve: u64) -> Self {
        Self { memory, reserve, used: 0, peak: 0 }
    }

    /// Takes in the two directions of a connection, if their reserves are there.
    pub(super) fn admit(&mut self) -> Option<[u64; 2]> {
        if self.used + 2 * self.reserve > self.memory {
            return None;
        }
        self.used += 2 * self.reserve;
        self.peak = self.peak.max(self.used);
        Some([self.reserve; 2])
    }

    /// A direction is done with.
    pub(super) fn release(&mut self, charged: u64) {
        self.used -= charged;
    }

    /// Charges a direction as much as it may have, which is at most `buffer`, and returns that.
    #[inline]
    pub(super) fn grant(&mut self, charged: &mut u64, buffer: u64) -> u64 {
        let most = self.reserve + (self.memory - self.used).min(buffer.saturating_sub(self.reserve));
        if most > *charged {
            // No more than is free: what is charged beyond the reserve is in use already.
            self.used += most - *charged;
            *charged = most;
        }
        *charged
    }

    /// Charges a direction what has come of its grant.
    #[inline]
    pub(super) fn settle(&mut self, charged: &mut u64, committed: u64) {
        let settled = committed.max(self.reserve);
        self.used = self.used - *charged + settled;
        *charged = settled;
        self.peak = self.peak.max(self.used);
    }

    /// Bytes in use, and the most that ever were.
    pub(super) const fn used(&self) -> (u64, u64) {
        (self.used, self.peak)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_gets_what_is_free_and_all_together_no_more_than_there_is() {
        let mut budget = Budget::new(100_000, 1_000);
        let [mut a, mut b] = budget.admit().unwrap();
        // 98000 are free; the first direction takes half of them and no more, and so on.
        assert_eq!(budget.grant(&mut a, 50_000), 50_000);
        assert_eq!(budget.grant(&mut b, 1 << 20), 1_000 + 49_000);
        budget.settle(&mut a, 50_000);
        budget.settle(&mut b, 50_000);
        assert_eq!(budget.used().0, 100_000);
        assert!(budget.admit().is_none());
        assert_eq!(budget.grant(&mut a, 50_000), 50_000, "what it has it keeps");
        budget.settle(&mut a, 10);
        assert_eq!(budget.used(), (51_000, 100_000));
        budget.release(a);
        budget.release(b);
        assert_eq!(budget.used().0, 0);
    }
}
