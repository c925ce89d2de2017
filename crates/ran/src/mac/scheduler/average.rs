//! The past throughput of each UE, as an exponentially weighted average.

/// Past throughput per UE, in bytes per slot, over a window of `W` slots:
/// T ← (1 − 1/W)·T + (1/W)·R each slot.
///
/// Instead of ageing every T in each slot, a served UE's R is multiplied by (1 − 1/W)^−slot. The
/// ratios of any two averages, on which most rankings depend, are the same.
#[derive(Debug)]
pub(crate) struct PastThroughput {
    window: f64,
    average: Vec<f64>,
    weight: f64,
    slot: u64,
}

impl PastThroughput {
    pub(super) fn new(window: u32, ues: usize) -> Self {
        assert!(window >= 2, "an average over {window} slots is no average");
        Self { window: f64::from(window), average: vec![1.0; ues], weight: 1.0, slot: 0 }
    }

    /// Ages all averages. Returns true if they were rounded for that, which can change their order.
    pub(super) fn age_to(&mut self, slot: u64) -> bool {
        let growth = self.window / (self.window - 1.0);
        let slots = slot.saturating_sub(self.slot);
        self.slot = slot;
        if slots == 1 {
            self.weight *= growth;
        } else {
            self.weight *= libm::pow(growth, (slots.min(1 << 20)) as f64);
        }
        let overflows = self.weight > 1e100;
        if overflows {
            for average in &mut self.average {
                // The floor, a thousandth of a byte per slot, is far below any rate that ranks.
                *average = (*average / self.weight).max(1e-3);
            }
            self.weight = 1.0;
        }
        overflows
    }

    /// A UE was added to the network: it starts with a byte per slot, as all UEs do.
    pub(super) fn add_ue(&mut self) {
        self.average.push(self.weight);
    }

    pub(super) fn served(&mut self, ue: u32, bytes: u64) {
        self.average[ue as usize] += self.share(bytes);
    }

    /// The UE leaves the cell, which deletes its average. If it returns, it starts with a byte per slot, as
    /// all UEs do.
    pub(super) fn forget(&mut self, ue: u32) {
        self.average[ue as usize] = self.weight;
    }

    /// The contribution of this many bytes in this slot to [`PastThroughput::weighted`].
    pub(super) fn share(&self, bytes: u64) -> f64 {
        self.weight * bytes as f64 / self.window
    }

    /// The average times a weight that is common to all UEs: sufficient to compare them.
    pub(super) fn weighted(&self, ue: u32) -> f64 {
        self.average[ue as usize]
    }

    /// The average itself, in bytes per slot.
    pub(super) fn bytes_per_slot(&self, ue: u32) -> f64 {
        self.average[ue as usize] / self.weight
    }
}
