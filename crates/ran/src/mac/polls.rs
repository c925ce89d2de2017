//! Uplink access without scheduling requests: the eNB grants a block to each UE that has been silent for a
//! while.
//!
//! OpenAirInterface does this (`UE_is_to_be_scheduled` in `eNB_scheduler_primitives.c`: `ul_inactivity_timer`
//! above 20 subframes). In the logs of such an eNB that the authors of MELD published, the UE sends nothing
//! for 27 ms after its last block, then one acknowledgment, another one 27 ms later, and 8 ms after that all
//! that is waiting: two such grants are needed until the eNB acts on buffer status reports. The logs do not
//! show why two are needed.
//!
//! Grants for UEs without data are not modelled; they would contain padding.

/// The state of the polling of a UE.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Polls {
    /// The slot of the latest PUSCH, from which intervals are counted.
    from: u64,
    /// Reports of data since the UE was last silent.
    reports: u32,
    served: bool,
}

/// The reaction to a buffer status report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// The eNB serves the UE already and continues.
    Served,
    /// The eNB serves the UE from now on.
    Answered,
    /// None.
    Ignored,
}

impl Polls {
    /// Whether an unrequested PUSCH is due in this slot. To be called only while there is no grant and no
    /// PUSCH on the air.
    pub(crate) const fn is_due(&mut self, pusch: u64, interval: u32) -> bool {
        if self.served {
            (self.reports, self.served) = (0, false); // all reported data has arrived
        }
        pusch > self.from && (pusch - self.from).is_multiple_of(interval as u64)
    }

    /// A secondary cell has received the PUSCH of a slot: the UE is not silent.
    pub(crate) const fn go_on(&mut self, slot: u64) {
        self.from = slot;
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
