//! Counts of a cell's downlink, as a base station has them, and as a UE can count them that decodes the control information
//! of its cell.

/// Counts of a cell's downlink and of one UE in it, since its link began. Differences of two reports give means over the
/// time between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CellUse {
    /// Physical resource blocks that the downlink had since the start of the run, over its slots.
    pub offered_prbs: u64,
    /// Those with data of any UE since then.
    pub used_prbs: u64,
    /// Those of the UE.
    pub ue_prbs: u64,
    /// Those of the UE for HARQ retransmissions.
    pub repeated_prbs: u64,
    /// Bytes of the UE's new transport blocks.
    pub ue_bytes: u64,
    /// UEs with downlink data now, and this one (TS 36.314 §4.1.3 has their mean, unverified).
    pub active_ues: u16,
}
