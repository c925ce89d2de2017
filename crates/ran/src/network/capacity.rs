//! The downlink capacity of UEs whose transmit queues have ABC's marks (`airlane_net::abc`), which eNB and gNB know and a
//! queue does not: at regular times each such queue receives the rate at which its UE could be served.
//!
//! On each active carrier that is the rate of the UE's latest block, if it had all PRBs in each slot of the downlink,
//! divided among the UEs with data there. HARQ retransmissions are not subtracted, so that the queue is longer by what
//! they take. The uplink queue of a UE receives none: a UE does not know the rate of its later grants.

use airlane_core::{Direction, Duration, Instant};

use super::{Cell, RadioNetwork};
use crate::link::{Radio, ServingLink};
use crate::mac::harq::HarqProcess;
use crate::mac::phy::{Phy, Rank, SlotFormat};
use crate::numerology::SYMBOLS;
use crate::ue::Ue;

/// The time between reports (choice: four in the 20 ms over which the queue measures).
const PERIOD: Duration = Duration::from_millis(5);

/// The UEs with such queues, by number, and the time of the next reports; [`Instant::FAR_FUTURE`] while there is none.
#[derive(Debug)]
pub(super) struct CapacityReports {
    pub(super) due: Instant,
    ues: Vec<u32>,
}

impl CapacityReports {
    pub(super) const NONE: Self = Self { due: Instant::FAR_FUTURE, ues: Vec::new() };

    /// Adds a UE at `now`.
    pub(super) fn add(&mut self, now: Instant, ue: u32) {
        self.ues.push(ue);
        self.due = self.due.min(now + PERIOD);
    }

    /// Removes a UE.
    pub(super) fn remove(&mut self, ue: u32) {
        self.ues.retain(|other| *other != ue);
        if self.ues.is_empty() {
            self.due = Instant::FAR_FUTURE;
        }
    }
}

impl RadioNetwork {
    /// A UE is there from `now` on.
    pub(super) fn watch_capacity(&mut self, now: Instant, ue: usize) {
        if self.ues[ue].bearers.needs_capacity() {
            self.capacity_reports.add(now, ue as u32);
        }
    }

    /// The rate at which a UE could be served now, in bytes per second; `None` before its first block.
    pub(crate) fn downlink_capacity(&mut self, ue: usize) -> Option<f64> {
        let Ue { mobility, links, .. } = &mut self.ues[ue];
        let each = links.iter_mut().map(|link| {
            let cell = &mut self.cells[link.cell.index()];
            cell.downlink.use_reports(ue as u32, link);
            if link.downlink.cqi.is_valid() {
                let (amc, scratch) = cell.phy.amc_and_sinr(Direction::Downlink);
                link.reported_cqi(mobility, Radio { cell: &cell.config, air: &self.air }, amc, scratch);
            }
            capacity(cell, link, ue as u32)
        });
        each.sum()
    }

    /// Reports what is due at `until` or before.
    pub(super) fn report_capacities(&mut self, until: Instant) {
        while self.capacity_reports.due <= until {
            let at = self.capacity_reports.due;
            self.capacity_reports.due = at + PERIOD;
            for index in 0..self.capacity_reports.ues.len() {
                let ue = self.capacity_reports.ues[index] as usize;
                if let Some(rate) = self.downlink_capacity(ue) {
                    self.ues[ue].bearers.report_capacity(at, rate);
                }
            }
        }
    }
}

/// Bytes per second of a UE's link; `None` before its first block.
fn capacity(cell: &Cell, link: &ServingLink, ue: u32) -> Option<f64> {
    let secondary = link.scell.as_deref();
    if secondary.is_some_and(|scell| !scell.is_active()) || !cell.restrictions.is_on {
        return Some(0.0);
    }
    let state = &link.downlink;
    let block = match state.latest {
        Some(id) => &state.harq.processes[usize::from(id)],
        None if secondary.is_some() => return Some(0.0),
        None => return None,
    };
    let rank = if state.cqi.is_valid() { state.cqi.known().1 } else { 1 };
    let Rank { blocks, .. } = Rank::of(&cell.config, rank);
    let (phy, numerology) = (&cell.phy, &cell.config.numerology);
    let of_slot = |slot| match numerology.duplex.downlink_symbols(slot) {
        0 => 0,
        SYMBOLS => of_format(phy, block, SlotFormat::Whole, cell.config.resource_blocks),
        _ if phy.has_empty_special_slots() => 0,
        _ => of_format(phy, block, SlotFormat::Special, cell.config.resource_blocks),
    };
    let period = numerology.duplex.period();
    let bytes = (0..period).map(of_slot).sum::<u64>() * u64::from(blocks);
    let others = cell.downlink.with_data_beside(ue) as u64;
    Some(bytes as f64 / (numerology.slot.as_secs_f64() * (period * (1 + others)) as f64))
}

/// Bytes of a block like this one in a slot of a kind.
fn of_format(phy: &Phy, block: &HarqProcess, format: SlotFormat, prbs: u16) -> u64 {
    phy.blocks.downlink(block.layers, format, block.mcs, prbs).get()
}
