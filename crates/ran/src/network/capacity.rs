//! The downlink capacity of UEs whose transmit queues have ABC's marks (`airlane_net::abc`). A queue does not know at what
//! rate its UE could be served, but eNB and gNB do: at regular times they report this rate to each such queue.
//!
//! The rate is the sum over the active carriers. On each it is the rate that the UE would have with blocks of the MCS and
//! the layers of its latest block on all PRBs of each slot with a downlink, divided by the number of UEs that have data
//! there. HARQ retransmissions are not subtracted, so that the rate is above what the cell carries. No rate is reported to
//! the uplink queue of a UE: a UE does not know its later grants.

use airlane_core::{Direction, Duration, Instant};

use super::{Cell, RadioNetwork};
use crate::link::{Radio, ServingLink};
use crate::mac::phy::{FORMATS, Rank, SlotFormat};
use crate::ue::Ue;

/// The time between reports (choice: four in the 20 ms over which the queue measures).
const PERIOD: Duration = Duration::from_millis(5);

/// The reports to such queues.
#[derive(Debug)]
pub(super) struct CapacityReports {
    /// The time of the next reports; [`Instant::FAR_FUTURE`] while no UE has such a queue.
    pub(super) due: Instant,
    /// The UEs with such queues, by number.
    ues: Vec<u32>,
    /// The slots of each cell; empty before the first such UE.
    slots: Vec<DownlinkSlots>,
}

impl CapacityReports {
    pub(super) const NONE: Self = Self { due: Instant::FAR_FUTURE, ues: Vec::new(), slots: Vec::new() };

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

/// The slots of a cell in the time after which they repeat.
#[derive(Debug)]
pub(super) struct DownlinkSlots {
    /// Those with blocks of the downlink, by [`SlotFormat`].
    pub(super) with_blocks: [u64; FORMATS],
    pub(super) all: u64,
}

impl DownlinkSlots {
    pub(super) fn of(Cell { config, phy, .. }: &Cell) -> Self {
        let mut slots = Self { with_blocks: [0; FORMATS], all: config.slot_period() };
        for format in (0..slots.all).filter_map(|slot| phy.downlink_format(config, slot)) {
            slots.with_blocks[format as usize] += 1;
        }
        slots
    }
}

impl RadioNetwork {
    /// A UE is there from `now` on.
    pub(super) fn watch_capacity(&mut self, now: Instant, ue: usize) {
        if self.ues[ue].bearers.needs_capacity() {
            if self.capacity_reports.slots.is_empty() {
                self.capacity_reports.slots = self.cells.iter().map(DownlinkSlots::of).collect();
            }
            self.capacity_reports.add(now, ue as u32);
        }
    }

    /// The rate at which a UE with such a queue could be served at `now`, in bytes per second; `None` before its first block.
    pub(crate) fn downlink_capacity(&mut self, now: Instant, ue: usize) -> Option<f64> {
        let Ue { mobility, links, .. } = &mut self.ues[ue];
        let each = links.iter_mut().map(|link| {
            let cell = &mut self.cells[link.cell.index()];
            cell.downlink.use_reports(ue as u32, link);
            let (amc, scratch) = cell.phy.amc_and_sinr(Direction::Downlink);
            link.compute_report(now, mobility, Radio { cell: &cell.config, air: &self.air }, amc, scratch);
            capacity(cell, &self.capacity_reports.slots[link.cell.index()], link, ue as u32)
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
                if let Some(rate) = self.downlink_capacity(at, ue) {
                    self.ues[ue].bearers.report_capacity(at, rate);
                }
            }
        }
    }
}

/// Bytes per second of a UE's link; `None` before its first block.
fn capacity(cell: &Cell, slots: &DownlinkSlots, link: &ServingLink, ue: u32) -> Option<f64> {
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
    let in_slots = |format| match slots.with_blocks[format as usize] {
        0 => 0, // the tables may be without this format
        slots => {
            let prbs = cell.config.resource_blocks;
            slots * cell.phy.blocks.downlink(block.layers, format, block.mcs, prbs).get()
        }
    };
    let bytes = (in_slots(SlotFormat::Whole) + in_slots(SlotFormat::Special)) * u64::from(blocks);
    let others = cell.downlink.with_data_beside(ue) as u64;
    Some(bytes as f64 / (cell.config.numerology.slot.as_secs_f64() * (slots.all * (1 + others)) as f64))
}
