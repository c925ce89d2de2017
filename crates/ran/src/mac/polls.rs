//! Uplink access without scheduling requests: an eNB that grants a block to each UE that has been silent for a while.
//!
//! OpenAirInterface's does (`UE_is_to_be_scheduled` in `eNB_scheduler_primitives.c`: `ul_inactivity_timer` above 20
//! subframes). In the logs that the authors of MELD left of one, nothing comes from the UE for 27 ms after its last
//! block, then one acknowledgment, 27 ms later another, and 8 ms after that all that is waiting: it takes two of
//! these grants until the eNB serves what buffer status reports say. Why two, the logs do not tell.
//!
//! Grants that find nothing to send are left out; they would hold padding.

/// How far the eNB has come with a UE.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Polls {
    /// The slot of the latest PUSCH, from which intervals count.
    from: u64,
    /// Reports of data since the UE was last silent.
    reports: u32,
    served: bool,
}

/// What a buffer status report leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// The eNB serves the UE and goes on.
    Served,
    /// It will from now on.
    Answered,
    /// Nothing.
    Ignored,
}

impl Polls {
    /// Whether a PUSCH of this slot is one that nobody asks for. To be asked while nothing is granted or in the air.
    pub(crate) const fn is_due(&mut self, pusch: u64, interval: u32) -> bool {
        if self.served {
            (self.reports, self.served) = (0, false); // All that it had reported has come.
        }
        pusch > self.from && (pusch - self.from).is_multiple_of(interval as u64)
    }

    /// The PUSCH of a slot was received. `waiting` says whether it reports data.
    pub(crate) const fn on_pusch(&mut self, slot: u64, waiting: bool, polls: u32) -> Report {
        self.from = slot;
        if self.served {
            return Report::Served;
        }
        self.reports = if waiting { self.reports + 1 } else { 0 };
        self.served = self.reports >= polls;
        if self.served { Report::Answered } else { Report::Ignored }
    }
}
