//! The current state of a UE, for a program that shows it.

use airlane_core::{Bytes, CellId, Direction, Instant, UeId};

use super::RadioNetwork;

/// The current state of a UE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UeLook {
    /// The cell that serves it.
    pub cell: CellId,
    /// Mean CQI of the sub-bands in the report in force. `None` if there is no report, or if the scheduler has not
    /// needed it, since it is not computed then.
    pub cqi: Option<u8>,
    /// MCS of the last new block of the downlink in this cell.
    pub mcs_downlink: Option<u8>,
    /// Bytes in the transmit queue of the bearer at the eNB.
    pub queue_downlink: Bytes,
    /// The same at the UE.
    pub queue_uplink: Bytes,
    /// Position in m along the x axis and the y axis.
    pub position_m: [f64; 2],
}

impl RadioNetwork {
    /// The state of a UE at `now`; `None` if there is no such UE, or if it was removed. The network is not changed:
    /// nothing is computed that it could have computed later.
    #[must_use]
    pub fn look(&self, ue: UeId, now: Instant) -> Option<UeLook> {
        let ue = self.ues.get(ue.index()).filter(|ue| ue.is_present)?;
        let here = ue.mobility.clone().position_at(now);
        let downlink = &ue.downlink;
        let latest = downlink.latest.map(|id| &downlink.harq.processes[usize::from(id)]);
        Some(UeLook {
            cell: ue.cell,
            cqi: downlink.cqi.is_known().then(|| downlink.cqi.wideband()),
            mcs_downlink: latest.map(|block| block.mcs.index()),
            queue_downlink: ue.bearers.queue(Direction::Downlink),
            queue_uplink: ue.bearers.queue(Direction::Uplink),
            position_m: [here.x, here.y],
        })
    }
}
