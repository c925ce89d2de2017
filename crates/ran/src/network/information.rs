//! The information of eNBs about their UEs for a radio network information service
//! (`docs/radio-information.md`).

use airlane_core::{CellUse, Cx, Direction, DropCause, Duration, FlowId, Instant, PacketRef, Payload, UeId};
use airlane_net::rni::{self, Harq, Subscription, UeRecord};

use super::capacity::DownlinkSlots;
use super::{Cell, RadioNetwork};
use crate::link::{Radio, ServingLink};
use crate::mac::harq::HarqEntity;
use crate::ue::Ue;

/// The UEs with a subscription, and the time of the next records.
#[derive(Debug)]
pub(super) struct Publisher {
    every: Duration,
    /// [`Instant::FAR_FUTURE`] while there is no subscription.
    due: Instant,
    /// By number.
    ues: Vec<u32>,
    /// Records have the use of the cell.
    with_cell_use: bool,
}

impl Publisher {
    pub(super) const fn idle() -> Self {
        Self { every: Duration::MAX, due: Instant::FAR_FUTURE, ues: Vec::new(), with_cell_use: false }
    }

    pub(super) const fn due(&self) -> Instant {
        self.due
    }

    pub(super) fn want(&mut self, now: Instant, ue: u32, wanted: bool) {
        match (self.ues.binary_search(&ue), wanted) {
            (Err(at), true) => self.ues.insert(at, ue),
            (Ok(at), false) => drop(self.ues.remove(at)),
            (Ok(_), true) | (Err(_), false) => {}
        }
        if self.ues.is_empty() {
            self.due = Instant::FAR_FUTURE;
        } else if self.due == Instant::FAR_FUTURE {
            let every = self.every.as_nanos();
            self.due = Instant::from_nanos((now.as_nanos() / every + 1) * every);
        }
    }
}

impl RadioNetwork {
    /// Publishes a record of each UE with a subscription at every multiple of this time, out of
    /// [`Self::information_port`].
    ///
    /// # Panics
    /// If it is zero.
    pub fn publish_information(&mut self, every: Duration) {
        assert!(!every.is_zero(), "information is published at instants apart");
        self.publisher.every = every;
    }

    /// Adds the use of the cell to the records.
    pub const fn publish_cell_use(&mut self) {
        self.publisher.with_cell_use = true;
    }

    /// A service subscribes to a UE, or unsubscribes.
    pub(super) fn receive_request(&mut self, cx: &mut Cx<'_>, packet: PacketRef) {
        let asked = match &cx.pool.get(&packet).payload {
            Payload::Bytes(bytes) => Subscription::decode(bytes).ok(),
            Payload::Length(_) => None,
        };
        let known = |asked: &Subscription| {
            rni::ue_of(asked.ue).filter(|ue| self.ues.get(*ue as usize).is_some_and(|ue| ue.is_present))
        };
        let Some((asked, ue)) = asked.and_then(|asked| Some((asked, known(&asked)?))) else {
            return cx.discard(packet, DropCause::Endpoint);
        };
        if self.publisher.every == Duration::MAX {
            return cx.discard(packet, DropCause::Endpoint);
        }
        let consumed = cx.pool.consume(packet);
        cx.pool.recycle(consumed);
        let wanted = asked.until.is_none_or(|until| until > cx.now);
        self.publisher.want(cx.now, ue, wanted);
    }

    /// The record of a UE at `now`, as it is published; `None` if there is no such UE, or if it was removed. Only
    /// what the network could have computed later is computed: no result changes.
    pub fn information(&mut self, now: Instant, ue: UeId) -> Option<UeRecord> {
        self.ues.get(ue.index()).filter(|ue| ue.is_present)?;
        Some(self.record(now, ue.index()))
    }

    /// Publishes the records that are due at `until` or before.
    pub(super) fn publish_due(&mut self, cx: &mut Cx<'_>, until: Instant) {
        while self.publisher.due <= until {
            let at = self.publisher.due;
            self.publisher.due += self.publisher.every;
            for index in 0..self.publisher.ues.len() {
                let ue = self.publisher.ues[index] as usize;
                let bytes = self.record(at, ue).encode(0);
                let packet = rni::packet(cx, FlowId(u32::MAX), bytes);
                cx.pool.get_mut(&packet).sent_at = at;
                cx.send(self.information_port(), packet);
            }
        }
    }

    /// The current state of a UE's downlink.
    fn record(&mut self, measured_at: Instant, ue: usize) -> UeRecord {
        let cell = &mut self.cells[self.ues[ue].cell().index()];
        let Ue { id, bearers, mobility, links, .. } = &mut self.ues[ue];
        let link = links.primary_mut();
        cell.downlink.use_reports(id.0, link);
        let (amc, scratch) = cell.phy.amc_and_sinr(Direction::Downlink);
        let radio = Radio { cell: &cell.config, air: &self.air };
        link.compute_report(measured_at, mobility, radio, amc, scratch);
        let reports = &link.downlink.cqi;
        let cqi = if reports.is_valid() { reports.wideband() } else { 0 };
        let record = UeRecord {
            measured_at,
            ue: rni::ue_address(id.0),
            cell: link.cell.0,
            cqi,
            queue: bearers.queue(Direction::Downlink),
            cell_use: self.publisher.with_cell_use.then(|| cell_use(cell, link, measured_at, id.0)),
            harq: harq(
                &link.downlink.harq,
                cell.config.numerology.harq.processes * cell.config.transmission_mode.layers(),
            ),
            ..UeRecord::default()
        };
        match link.downlink.latest.map(|id| &link.downlink.harq.processes[usize::from(id)]) {
            Some(block) => {
                UeRecord { mcs: block.mcs.index(), block: block.size, prbs: block.coded_prbs, ..record }
            }
            None => record,
        }
    }
}

/// The counts of the UE's primary link at a time.
fn cell_use(cell: &Cell, link: &ServingLink, at: Instant, ue: u32) -> CellUse {
    let slots = DownlinkSlots::of(cell);
    let begun = at.as_nanos() / cell.config.numerology.slot.as_nanos();
    let with_blocks = begun * slots.with_blocks.iter().sum::<u64>() / slots.all;
    let sent = link.downlink.sent;
    CellUse {
        offered_prbs: with_blocks * u64::from(cell.config.resource_blocks),
        used_prbs: cell.downlink.used_prbs,
        ue_prbs: sent.prbs,
        repeated_prbs: sent.repeated_prbs,
        ue_bytes: sent.bytes,
        active_ues: cell.downlink.with_data_beside(ue) as u16 + 1,
    }
}

fn harq(entity: &HarqEntity, processes: u8) -> Harq {
    let sent = |id: u8| if entity.is_free(id) { 0 } else { entity.processes[usize::from(id)].transmissions };
    Harq::new((0..processes).map(sent))
}
