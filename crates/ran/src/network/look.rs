//! The current state of a UE, for a program that shows it.

use airlane_core::{Bytes, CellId, Dbm, Decibel, Direction, Instant, UeId};

use super::RadioNetwork;
use crate::config::CellConfig;
use crate::rrc::monitor::Monitor;
use crate::rrc::quality::{Emission, Reported};
use crate::ue::Ue;

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
    /// Bytes in the transmit queue at the UE.
    pub queue_uplink: Bytes,
    /// Position in m along the x axis and the y axis.
    pub position_m: [f64; 2],
    /// Distance to the antenna of its cell in m.
    pub distance_m: f64,
}

/// The event that makes a UE report, by which a handover starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportEvent {
    /// The serving cell is worse than a threshold.
    A2,
    /// A neighbour is better than the serving cell by an offset.
    A3,
}

/// The reference signals of a cell at a UE, after the filter of layer 3.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellQuality {
    /// The cell.
    pub cell: CellId,
    /// Reference signal received power.
    pub rsrp: Dbm,
    /// Reference signal received quality.
    pub rsrq: Decibel,
}

impl CellQuality {
    /// The reported value of RSRP: 0 below -140 dBm, then steps of 1 dB, 97 from -44 dBm on (TS 36.133
    /// table 9.1.4-1).
    #[must_use]
    pub fn reported_rsrp(&self) -> u8 {
        (self.rsrp.0 + 141.0).floor().clamp(0.0, 97.0) as u8
    }

    /// The reported value of RSRQ ([`Reported`]).
    #[must_use]
    pub fn reported_rsrq(&self) -> u8 {
        Reported::of(self.rsrq).0
    }
}

/// The unit of time of LTE (TS 36.211 §4: 1/(15000 · 2048) s).
const TS_S: f64 = 1.0 / (15_000.0 * 2_048.0);
const LIGHT_M_PER_S: f64 = 299_792_458.0;

impl UeLook {
    /// The reported value of the timing advance, which is the round trip of the radio signal over the straight path:
    /// steps of 2 Ts up to 4096 Ts, then of 8 Ts, 7690 from 49232 Ts on (TS 36.214 §5.2.4 and TS 36.133 §10.3;
    /// unverified). The model itself has no propagation delay.
    #[must_use]
    pub fn timing_advance(&self) -> u16 {
        let advance = 2.0 * self.distance_m / LIGHT_M_PER_S / TS_S;
        let value = if advance < 4_096.0 { advance / 2.0 } else { 2_048.0 + (advance - 4_096.0) / 8.0 };
        value.floor().min(7_690.0) as u16
    }
}

impl RadioNetwork {
    /// The state of a UE at `now`; `None` if there is no such UE, or if it was removed. The network is not changed:
    /// nothing is computed that it could have computed later.
    #[must_use]
    pub fn look(&self, ue: UeId, now: Instant) -> Option<UeLook> {
        let ue = self.ues.get(ue.index()).filter(|ue| ue.is_present)?;
        let here = ue.mobility.clone().position_at(now);
        let downlink = &ue.links.primary().downlink;
        let latest = downlink.latest.map(|id| &downlink.harq.processes[usize::from(id)]);
        Some(UeLook {
            cell: ue.cell(),
            cqi: downlink.cqi.is_known().then(|| downlink.cqi.wideband()),
            mcs_downlink: latest.map(|block| block.mcs.index()),
            queue_downlink: ue.bearers.queue(Direction::Downlink),
            queue_uplink: ue.bearers.queue(Direction::Uplink),
            position_m: [here.x, here.y],
            distance_m: self.cells[ue.cell().index()].config.position.distance(&here),
        })
    }

    /// A UE that is there, and its cell.
    pub(crate) fn ue_with_cell(&self, ue: UeId) -> Option<(&Ue, &CellConfig)> {
        let ue = self.ues.get(ue.index()).filter(|ue| ue.is_present)?;
        Some((ue, &self.cells[ue.cell().index()].config))
    }

    /// The event that makes UEs report; `None` if they do not measure.
    #[must_use]
    pub fn report_event(&self) -> Option<ReportEvent> {
        self.monitor.as_ref().map(Monitor::event)
    }

    /// The cells that a UE has measured, as it would report them now; none if UEs do not measure.
    ///
    /// With event A3, UEs measure no RSRQ. It is then computed from the filtered RSRP of the cells and `loads`: the
    /// share of the resource blocks of each cell that carry data.
    #[must_use]
    pub fn cell_qualities(&self, ue: UeId, loads: &[f64]) -> Vec<CellQuality> {
        let Some(monitor) = &self.monitor else { return vec![] };
        let Some(known) = self.ues.get(ue.index()).filter(|ue| ue.is_present) else { return vec![] };
        let load_of = |cell: usize| loads.get(cell).copied().unwrap_or(0.0);
        let emissions = Emission::of_cells(self.cells.iter().map(|cell| &cell.config), load_of);
        monitor.qualities(ue, &emissions, known.links.primary().downlink.channel.noise())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a signal at 299.792458 m/µs: 500 m are a round trip of 3.3356 µs, or 102.47 Ts. 100 km are 20494 Ts, which is
    /// 16398 Ts beyond 4096 Ts, or 2049.7 steps.
    #[test]
    fn timing_advances_by_hand() {
        let at = |distance_m| UeLook {
            cell: CellId(0),
            cqi: None,
            mcs_downlink: None,
            queue_downlink: Bytes(0),
            queue_uplink: Bytes(0),
            position_m: [0.0; 2],
            distance_m,
        };
        let values = [0.0, 9.7, 9.8, 500.0, 100_000.0, 1e9].map(|distance| at(distance).timing_advance());
        assert_eq!(values, [0, 0, 1, 51, 4_097, 7_690]);
    }

    #[test]
    fn reported_values_by_hand() {
        let of = |rsrp| CellQuality { cell: CellId(0), rsrp: Dbm(rsrp), rsrq: Decibel(-10.8) };
        let rsrp = [-200.0, -140.1, -140.0, -98.3, -44.0, 0.0].map(|rsrp| of(rsrp).reported_rsrp());
        assert_eq!(rsrp, [0, 0, 1, 42, 97, 97]);
        // -20 dB + 18.4 half decibels.
        assert_eq!(of(0.0).reported_rsrq(), 18);
    }
}
