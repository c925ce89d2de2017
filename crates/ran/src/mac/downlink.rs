//! The downlink of a cell, slot by slot: retransmissions, then the policy's assignment, then the
//! blocks; three slots later their reception and feedback.

use std::collections::VecDeque;

use airlane_core::{Bytes, CellId, Direction, Event, Instant, Topic, UeId};
use airlane_radio::{Cqi, Mcs, Mobility};

use super::changes::Changes;
use super::drx::ProcessId;
use super::gaps::{Listening, PlannedBlock};
use super::grid::{RbgSet, ResourceGrid, each};
use super::harq::on_other_layer;
use super::phy::{LinkAdaptation, Phy, Rank, SlotFormat};
use super::reports::{block_event, note_unsent, report_queue, report_unsent};
use super::scell::{self, Scell};
use super::scheduler::{Demand, MAX_RBGS, Scheduler, SchedulerCell};
use crate::bearers::Bearers;
use crate::config::{CellConfig, McsRule};
use crate::cqi::MeasuringUe;
use crate::link::{DownlinkState, Radio, ServingLink};
use crate::numerology::{Numerology, UplinkHarq};
use crate::qos::BearerDemand;
use crate::slot::{CellSlot, Slot, UeSet};
use crate::ue::Ue;

mod reception;
mod repetition;

/// A block on the air, or its feedback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Due {
    slot: u64,
    ue: u32,
    process: u8,
}

/// The downlink MAC of a cell.
#[derive(Debug)]
pub(crate) struct DownlinkMac {
    pub(super) grid: ResourceGrid,
    /// The kind of the slot that is being scheduled.
    pub(super) format: SlotFormat,
    pub(super) scheduler: Scheduler,
    /// UEs with downlink data, by index, ascending.
    pub(super) active: Vec<u32>,
    /// Those that a slot looks at, if candidates stand from slot to slot.
    pub(super) changes: Option<Changes>,
    /// Blocks on the air.
    in_air: VecDeque<Due>,
    /// Blocks whose acknowledgment will reach the eNB.
    acknowledged: VecDeque<Due>,
    /// Blocks for retransmission, in the order in which they are due.
    retransmissions: VecDeque<Due>,
    pub(super) demands: Vec<Demand>,
    chosen: Vec<(u32, RbgSet)>,
    /// RBGs with blocks in the slot that is scheduled.
    sent: RbgSet,
    /// That slot.
    on_air: u64,
    /// Its blocks have been decided.
    is_decided: bool,
    /// Whether the first blocks of `in_air` are decoded, where that is known.
    judged: VecDeque<bool>,
    /// PRBs with blocks of all slots.
    pub(crate) used_prbs: u64,
}

impl DownlinkMac {
    pub(crate) fn new(cell: &CellConfig, ues: usize) -> Self {
        let grid = ResourceGrid::new(cell.resource_blocks, cell.numerology.rbg);
        let of_policy = SchedulerCell { rbgs: grid.rbgs() as u16, slot: cell.numerology.slot };
        Self {
            format: SlotFormat::Whole,
            grid: if cell.mac.idle_partial_rbg { grid.without_partial_rbg() } else { grid },
            scheduler: Scheduler::new(&cell.scheduler, ues, &of_policy),
            active: Vec::with_capacity(ues),
            changes: None,
            in_air: VecDeque::with_capacity(256),
            acknowledged: VecDeque::with_capacity(1024),
            retransmissions: VecDeque::with_capacity(256),
            demands: Vec::with_capacity(ues),
            chosen: Vec::with_capacity(MAX_RBGS),
            sent: 0,
            on_air: 0,
            is_decided: false,
            judged: VecDeque::new(),
            used_prbs: 0,
        }
    }

    /// A UE was added to the network.
    pub(crate) fn add_ue(&mut self) {
        self.scheduler.add_ue();
        if let Some(changes) = &mut self.changes {
            changes.add_ue();
        }
    }

    /// A UE has data waiting.
    #[inline]
    pub(crate) fn activate(&mut self, ue: UeId, link: &mut ServingLink) {
        if !link.downlink.active {
            self.add_active(ue, link);
        }
    }

    /// A packet has arrived for a UE.
    #[inline]
    pub(crate) fn accept(&mut self, ue: UeId, link: &mut ServingLink, bearers: &Bearers, now: Instant) {
        self.activate(ue, link);
        // A queue may drop what it had, and a larger SDU may not fit into the retransmission queue.
        if self.changes.is_some() && !bearers.has_backlog(Direction::Downlink, now) {
            self.note_change(ue.0);
        }
    }

    fn add_active(&mut self, ue: UeId, link: &mut ServingLink) {
        link.downlink.active = true;
        let at = self.active.partition_point(|&other| other < ue.0);
        self.active.insert(at, ue.0);
        self.note_change(ue.0);
    }

    /// Number of UEs with data, without this one.
    pub(crate) fn with_data_beside(&self, ue: u32) -> usize {
        self.active.len() - usize::from(self.active.binary_search(&ue).is_ok())
    }

    /// A UE leaves the cell: its blocks on the air are lost.
    pub(crate) fn forget(&mut self, ue: u32) {
        if let Some(changes) = &mut self.changes {
            changes.forget(ue);
        }
        self.scheduler.forget(ue);
        self.active.retain(|&other| other != ue);
        for queue in [&mut self.in_air, &mut self.acknowledged, &mut self.retransmissions] {
            queue.retain(|due| due.ue != ue);
        }
    }

    /// The radio is off: UEs with data wait.
    pub(crate) fn wait(&mut self, slot: &mut Slot<'_, '_>) {
        let (ues, cx, cell) = (&mut *slot.ues, &mut *slot.cx, slot.id);
        self.active.retain(|&index| {
            let ue = &mut ues[index as usize];
            // None of them is a candidate: each has been forgotten.
            let waits = ue.has_backlog(Direction::Downlink, cx.now);
            ue.links.with_mut(cell).downlink.active = waits;
            if waits {
                report_unsent(cx, ue, Direction::Downlink);
            }
            waits
        });
    }

    /// Number of UEs with data.
    pub(crate) fn candidates(&self) -> usize {
        self.active.len()
    }

    /// True if there is work in the next slot.
    pub(crate) fn is_busy(&self) -> bool {
        !self.active.is_empty()
            || !self.in_air.is_empty()
            || !self.acknowledged.is_empty()
            || !self.retransmissions.is_empty()
    }

    /// Handles the blocks whose reception ends at the start of the slot.
    pub(crate) fn receive(&mut self, slot: &mut Slot<'_, '_>) {
        while let Some(due) = pop_due(&mut self.acknowledged, slot.number) {
            let harq = &mut slot.link(due.ue).downlink.harq;
            if harq.free_process().is_none() {
                self.note_change(due.ue);
            }
            harq.release(due.process);
        }
        while let Some(due) = pop_due(&mut self.in_air, slot.number) {
            let judged = self.judged.pop_front();
            let decoded = judged.unwrap_or_else(|| self.judge(&mut slot.own(), due));
            self.conclude(slot, due, decoded);
            if decoded {
                let Ue { bearers, links, .. } = &mut slot.ues[due.ue as usize];
                let process = &links.with(slot.id).downlink.harq.processes[usize::from(due.process)];
                bearers.receive(slot.cx, Direction::Downlink, &process.pdus, slot.deliverable);
                slot.deliver(Direction::Downlink, due.ue);
            }
        }
    }

    /// A block was decoded or not: its feedback and what follows from it.
    fn conclude(&mut self, slot: &mut Slot<'_, '_>, due: Due, decoded: bool) {
        let (cell, now) = (slot.cell, slot.cx.now);
        let Ue { id, bearers, links, drx, .. } = &mut slot.ues[due.ue as usize];
        let ServingLink { downlink: state, scell, .. } = links.with_mut(slot.id);
        let process = &mut state.harq.processes[usize::from(due.process)];
        if process.transmissions == 1 && !process.missed {
            let lowest = -f32::from(process.uncorrected.index());
            outer_loop(&mut state.outer_loop, lowest, cell.mac.mcs_rule, decoded);
        }
        if slot.cx.wants(Topic::TransportBlock) {
            slot.cx.emit(&block_event(slot.id, *id, Direction::Downlink, due.process, process, decoded));
        }
        if let (Some(drx), true) = (&mut *drx, decoded && core::mem::take(&mut process.drx_command)) {
            drx.on_command(now);
        }
        let commands = process.activation_command;
        let done = Due { slot: feedback_handled(cell, scell.as_deref(), due.slot), ..due };
        if decoded || !cell.mac.harq || process.transmissions >= cell.mac.harq_max_transmissions {
            self.acknowledged.push_back(done);
            if !decoded {
                bearers.lose(slot.cx, Direction::Downlink, &process.pdus);
            }
            if commands {
                scell::end_command(slot, due.ue, due.slot - 1, decoded);
            }
        } else {
            self.retransmissions.push_back(done);
            if let Some(drx) = drx {
                let from = cell.numerology.start_of(done.slot);
                drx.on_undecoded(ProcessId::downlink(slot.id, due.process), from, now);
            }
        }
    }

    /// Schedules the blocks that are decided in this slot.
    pub(crate) fn schedule(&mut self, slot: &mut Slot<'_, '_>) {
        for on_air in decided_slots(slot.cell, slot.number) {
            if !core::mem::take(&mut self.is_decided) {
                self.decide(&mut slot.own(), on_air);
            }
            self.send(slot);
        }
    }

    /// Decides the blocks of the first slot that [`Self::schedule`] will handle.
    pub(crate) fn decide_first<U: UeSet + ?Sized>(&mut self, slot: &mut CellSlot<'_, U>) {
        let Some(on_air) = decided_slots(slot.cell, slot.number).next() else { return };
        self.decide(slot, on_air);
        self.is_decided = true;
    }

    /// Decides the blocks of a slot.
    fn decide<U: UeSet + ?Sized>(&mut self, slot: &mut CellSlot<'_, U>, on_air: u64) {
        self.grid.clear();
        self.demands.clear();
        (self.sent, self.on_air) = (0, on_air);
        let Some(format) = slot.phy.downlink_format(slot.cell, on_air) else { return };
        self.format = format;
        if slot.cell.bandwidth_parts.is_some() {
            self.choose_parts(slot);
        }
        self.schedule_retransmissions(slot);
        if slot.restrictions.begin_slot(slot.now) {
            self.note_all();
        }
        if self.changes.is_some() {
            self.look_at_changes(slot);
            self.share_among_standing(slot);
        } else {
            self.collect_demands(slot);
            self.share(slot);
        }
        // Also for a UE whose block turns out to be empty: its channel is then evaluated at the same times on any number of
        // threads.
        if slot.cell.mac.control_errors {
            let radio = Radio { cell: slot.cell, air: slot.air };
            for demand in self.demands.iter().filter(|demand| demand.given != 0) {
                let Ue { mobility, links, .. } = &mut slot.ues[demand.ue as usize];
                links.with_mut(slot.id).control_sinr(slot.now, mobility, radio, slot.phy.sinr_mut());
            }
        }
    }

    /// Chooses the bandwidth parts of UEs with data or with blocks to be repeated.
    #[cold]
    fn choose_parts<U: UeSet + ?Sized>(&self, slot: &mut CellSlot<'_, U>) {
        let repeated = self.retransmissions.iter().map(|due| due.ue);
        for ue in self.active.iter().copied().chain(repeated) {
            slot.choose_part(ue, Direction::Downlink);
        }
    }

    /// Builds the blocks that were decided.
    fn send(&mut self, slot: &mut Slot<'_, '_>) {
        let on_air = self.on_air;
        if slot.phy.downlink_format(slot.cell, on_air).is_none() {
            return;
        }
        slot.report();
        let mut chosen = core::mem::take(&mut self.chosen);
        chosen.clear();
        chosen.extend(self.demands.iter().filter(|d| d.given != 0).map(|d| (d.ue, d.given)));
        for &(ue, rbgs) in &chosen {
            self.build(slot, ue, rbgs);
        }
        self.chosen = chosen;
        self.used_prbs += u64::from(self.grid.prbs_in(self.sent));
        slot.air.send_downlink(slot.id, on_air, self.sent);
    }

    /// The latest slot in which the blocks of the scheduled slot could be decided. The policy takes its averages at this
    /// time, so that slots that are decided at once count as several.
    pub(super) fn decision(&self, cell: &CellConfig) -> u64 {
        self.on_air + 1 - u64::from(cell.mac.downlink_latency)
    }

    /// A UE with DRX has a new block in this process, whose assignment it may miss.
    fn note_drx(&self, slot: &mut Slot<'_, '_>, index: u32, process: u8, missed: bool) {
        let now = slot.cx.now;
        let Ue { drx, links, bearers, .. } = &mut slot.ues[index as usize];
        let Some(drx) = drx else { return };
        if !missed {
            drx.on_new_transmission(self.pdcch(slot.cell) + slot.cell.numerology.slot);
        }
        let size = links.with(slot.id).downlink.harq.processes[usize::from(process)].size;
        drx.receive(slot.cell.numerology.slot, size, now);
        // With the command, a UE that has asked for grants would sleep until its next on-duration.
        let is_granted = links.known_backlog() == 0 && links.outstanding() == 0;
        // Nor would it listen to the grant of a retransmission: with data in each on-duration, and a drx-RetransmissionTimerUL
        // of 0, never.
        let repeats =
            slot.cell.numerology.harq.uplink == UplinkHarq::Asynchronous && links.has_undecoded_pusch();
        let is_granted = is_granted && !repeats;
        let is_last = drx.has_command() && is_granted && !bearers.has_backlog(Direction::Downlink, now);
        let processes = &mut links.with_mut(slot.id).downlink.harq.processes;
        processes[usize::from(process)].drx_command = is_last;
    }

    /// When the PDCCH begins that assigns the blocks of the scheduled slot.
    pub(super) fn pdcch(&self, cell: &CellConfig) -> Instant {
        pdcch_of(cell, self.on_air)
    }

    /// A block of the scheduled slot.
    pub(super) fn planned<'a>(&self, cell: &'a CellConfig) -> PlannedBlock<'a> {
        planned(cell, self.on_air)
    }

    /// The resource blocks of an assignment: on the default bandwidth part, those of its last group that are in it.
    #[inline]
    fn prbs_of(&self, cell: &CellConfig, link: &ServingLink, rbgs: RbgSet) -> u16 {
        let all = self.grid.prbs_in(rbgs);
        link.bwp.as_ref().map_or(all, |bwp| bwp.prbs_of(rbgs, all, self.pdcch(cell)))
    }

    fn collect_demands<U: UeSet + ?Sized>(&mut self, slot: &mut CellSlot<'_, U>) {
        self.demands.clear();
        let demands = &mut self.demands;
        let (amc, scratch) = slot.phy.amc_and_sinr(Direction::Downlink);
        let radio = Radio { cell: slot.cell, air: slot.air };
        let sizes = RbgSizes::new(&self.grid, self.format, amc, radio);
        let (ues, now, cell) = (&mut *slot.ues, slot.now, slot.id);
        let (restrictions, touched) = (&*slot.restrictions, &mut *slot.touched);
        let block = planned(slot.cell, self.on_air);
        let pdcch = block.pdcch;
        let mut bearers = self.scheduler.begin_bearers();
        self.active.retain(|&index| {
            let ue = &mut ues[index as usize];
            let backlog = match ue.backlog(Direction::Downlink, now) {
                Bytes::ZERO => ue.links.lone_command(cell),
                backlog => backlog,
            };
            let Ue { mobility, links, drx, gaps, bearers: of_ue, .. } = ue;
            let link = links.with_mut(cell);
            if backlog == Bytes::ZERO {
                link.downlink.active = false;
                return false;
            }
            let gaps = gaps.as_deref();
            let measuring = MeasuringUe { mobility, drx: drx.as_deref_mut(), gaps };
            link.measure_cqi(slot.number, measuring, radio, amc, scratch);
            let listening = Listening { drx: drx.as_deref(), gaps };
            let answer = restrictions.may_be_scheduled(index, link, listening, block);
            if answer.rests(pdcch) {
                link.downlink.active = false;
                touched.push(index);
                return false;
            }
            if answer.may_be_scheduled {
                let flat = radio.air.is_quiet() && link.downlink.channel.is_flat();
                let mut demand = Demand::new(index, backlog, flat, sizes.most(&link.downlink))
                    .on_part(link.usable_rbgs(pdcch));
                if let Some(bearers) = &mut bearers {
                    let first = bearers.len() as u32;
                    of_ue.demands(now, bearers);
                    if bearers.len() as u32 == first {
                        bearers.push(BearerDemand::of_control(backlog));
                    }
                    demand.bearers = (first, bearers.len() as u32);
                }
                demands.push(demand);
            }
            true
        });
    }

    /// The policy assigns the slot, and reads the CQI reports that it needs for that.
    fn share<U: UeSet + ?Sized>(&mut self, slot: &mut CellSlot<'_, U>) {
        let number = self.decision(slot.cell);
        let (amc, scratch) = slot.phy.amc_and_sinr(Direction::Downlink);
        let (ues, events, topics, cell) = (&mut *slot.ues, &mut *slot.events, slot.topics, slot.id);
        let radio = Radio { cell: slot.cell, air: slot.air };
        let sizes = RbgSizes::new(&self.grid, self.format, amc, radio);
        let rates = |demand: &mut Demand| {
            let ue = &mut ues[demand.ue as usize];
            if sizes.evaluate(cell, ue, demand, scratch) {
                note_unsent(topics, events, ue);
            }
        };
        self.scheduler.schedule(number, &mut self.demands, &mut self.grid, rates);
    }

    fn build(&mut self, slot: &mut Slot<'_, '_>, index: u32, rbgs: RbgSet) {
        let link = slot.ues[index as usize].links.with_mut(slot.id);
        let prbs = self.prbs_of(slot.cell, link, rbgs);
        let state = &mut link.downlink;
        let flat = slot.air.is_quiet() && state.channel.is_flat();
        let uncorrected = select_mcs(slot.cell.mac.mcs_rule, slot.phy, state, rbgs, flat);
        let mcs = match slot.cell.mac.mcs_rule {
            McsRule::Effective { .. } if state.fixed_mcs.is_none() => {
                slot.phy.blocks.corrected(uncorrected, state.outer_loop)
            }
            McsRule::Effective { .. } | McsRule::WorstSubband => uncorrected,
        };
        let rank = state.cqi.known().1;
        let Rank { blocks, layers } = Rank::of(slot.cell, rank);
        let size = slot.phy.blocks.downlink(layers, self.format, mcs, prbs);
        let id = state.harq.free_process().expect("a UE without a free process is not a demand");
        let whole = blocks == slot.cell.transmission_mode.layers();
        let gain = if whole { 1.0 } else { slot.cell.transmission_mode.one_layer_gain() };
        let ids = [id, on_other_layer(id, slot.cell.numerology.harq.processes)];
        // One assignment names the blocks of all layers.
        let mut missed = None;
        for &id in &ids[..usize::from(blocks)] {
            let process = slot.link(index).downlink.harq.start(id);
            (process.mcs, process.size, process.rbgs) = (mcs, size, rbgs);
            process.uncorrected = uncorrected;
            (process.format, process.layers) = (self.format, layers);
            (process.prbs, process.coded_prbs, process.gain) = (prbs, prbs, gain);
            (process.transmissions, process.shares_prbs) = (1, missed.is_some());
            if !fill(slot, index, id) {
                continue;
            }
            let missed = *missed.get_or_insert_with(|| slot.misses_control(index));
            let downlink = &mut slot.link(index).downlink;
            downlink.sent.bytes += size.get();
            downlink.harq.processes[usize::from(id)].missed = missed;
            downlink.latest = Some(ids[0]);
            if slot.cx.wants(Topic::Assigned) {
                note_assignment(&mut slot.own(), index, id);
                slot.report();
            }
            self.in_air.push_back(Due { slot: self.on_air + 1, ue: index, process: id });
        }
        self.scheduler.served(index, size.get() * u64::from(blocks));
        self.note_change(index);
        let Some(missed) = missed else { return };
        self.sent |= rbgs;
        slot.link(index).downlink.sent.prbs += u64::from(prbs);
        slot.note_timer(index);
        slot.own().note_feedback(index, self.on_air);
        if !missed {
            slot.ues[index as usize].on_assignment(slot.id, slot.cx.now);
        }
        if slot.ues[index as usize].drx.is_some() {
            self.note_drx(slot, index, ids[0], missed);
        }
    }
}

/// The slots whose blocks are decided in a slot: one, or those for which it is the last slot with a downlink that is early
/// enough for their assignments.
fn decided_slots(cell: &CellConfig, number: u64) -> impl Iterator<Item = u64> + use<> {
    let ahead = cell.mac.downlink_latency - 1;
    let (first, duplex) = (number + u64::from(ahead), cell.numerology.duplex);
    let is_ahead = cell.mac.assigned_ahead;
    let last = if is_ahead { first + duplex.period() } else { first + 1 };
    (first..last).filter(move |&on_air| !is_ahead || duplex.control_slot(on_air, ahead) == Some(number))
}

/// When the PDCCH begins that assigns the blocks of a slot.
fn pdcch_of(cell: &CellConfig, on_air: u64) -> Instant {
    let ahead = if cell.mac.assigned_ahead { u64::from(cell.mac.downlink_latency) - 1 } else { 0 };
    cell.numerology.start_of(on_air - ahead)
}

/// A block of a slot.
fn planned(cell: &CellConfig, on_air: u64) -> PlannedBlock<'_> {
    let pdcch = pdcch_of(cell, on_air);
    PlannedBlock { cell, direction: Direction::Downlink, pdcch, slot: on_air }
}

/// The bytes of an RBG in a slot.
pub(super) struct RbgSizes<'a> {
    /// The kind of the slot.
    pub(super) format: SlotFormat,
    amc: &'a LinkAdaptation,
    radio: Radio<'a>,
    rbgs: usize,
    /// PRBs of an RBG.
    rbg_size: u16,
}

impl<'a> RbgSizes<'a> {
    pub(super) fn new(
        grid: &ResourceGrid,
        format: SlotFormat,
        amc: &'a LinkAdaptation,
        radio: Radio<'a>,
    ) -> Self {
        Self { format, amc, radio, rbgs: grid.rbgs(), rbg_size: grid.rbg_size() }
    }

    /// Bytes of the blocks of one RBG with an MCS.
    fn of_mcs(&self, rank: u8, mcs: Mcs) -> u16 {
        let Rank { blocks, layers } = Rank::of(self.radio.cell, rank);
        self.amc.blocks.downlink(layers, self.format, mcs, self.rbg_size).get() as u16 * u16::from(blocks)
    }

    /// Upper bound of the bytes of each RBG for a UE.
    pub(super) fn most(&self, state: &DownlinkState) -> u16 {
        let rank = Rank::most(self.radio.cell);
        let best = self.amc.rbg_bytes[usize::from(rank) - 1][self.format as usize][15];
        state.fixed_mcs.map_or(best, |mcs| self.of_mcs(rank, mcs))
    }

    /// Bytes of each RBG for a UE by its report in force. `flat` if all are equal.
    pub(super) fn rates(
        &self,
        link: &mut ServingLink,
        mobility: &mut Mobility,
        flat: bool,
        scratch: &mut [f32],
    ) -> [u16; MAX_RBGS] {
        let (fixed, rbgs) = (link.downlink.fixed_mcs, self.rbgs);
        let (cqi, rank) = link.reported_cqi(mobility, self.radio, self.amc, scratch);
        let first = cqi[0];
        let out_of_range = if link.downlink.cqi.is_robust() { self.of_mcs(rank, Mcs::new(0)) } else { 0 };
        let bytes_by_cqi = &self.amc.rbg_bytes[usize::from(rank) - 1][self.format as usize];
        let bytes = |cqi: Cqi| match cqi {
            Cqi::OUT_OF_RANGE => out_of_range,
            _ => bytes_by_cqi[usize::from(cqi.index() & 15)],
        };
        match fixed.map(|mcs| self.of_mcs(rank, mcs)) {
            Some(bytes) => core::array::from_fn(|rbg| if rbg < rbgs { bytes } else { 0 }),
            None if flat => [bytes(first); MAX_RBGS],
            None => link.downlink.cqi.rbg_bytes(self.format, bytes),
        }
    }

    /// Sets the rates of a demand of a UE of `cell`. Returns whether it is out of range.
    pub(super) fn evaluate(
        &self,
        cell: CellId,
        ue: &mut Ue,
        demand: &mut Demand,
        scratch: &mut [f32],
    ) -> bool {
        let Ue { mobility, links, .. } = ue;
        let link = links.with_mut(cell);
        demand.set_rates(self.rates(link, mobility, demand.flat, scratch));
        self.is_out_of_range(&link.downlink)
    }

    /// Whether a report that has been computed is "out of range" on the whole band, and the UE needs it and is not served
    /// with the lowest MCS.
    pub(super) fn is_out_of_range(&self, state: &DownlinkState) -> bool {
        let (cqi, _) = state.cqi.known();
        cqi[0] == Cqi::OUT_OF_RANGE
            && cqi[..self.rbgs].iter().all(|cqi| *cqi == Cqi::OUT_OF_RANGE)
            && state.fixed_mcs.is_none()
            && !state.cqi.is_robust()
    }
}

/// Fills a block. Returns false if there was nothing to send; its process is then free again.
fn fill(slot: &mut Slot<'_, '_>, index: u32, id: u8) -> bool {
    let ue = &mut slot.ues[index as usize];
    let command = ue.links.command(slot.id, || ue.bearers.queue(Direction::Downlink));
    let is_sent_alone = command.is_some_and(|command| command.is_sent_alone);
    let harq = &mut ue.links.with_mut(slot.id).downlink.harq;
    let process = &mut harq.processes[usize::from(id)];
    let room = match command {
        Some(command) if slot.cell.mac.subheaders => process.size.saturating_sub(command.bytes),
        _ => process.size,
    };
    let used = ue.bearers.transmit(slot.cx, Direction::Downlink, room, &mut process.pdus);
    assert!(used <= room, "RLC filled {used} into {room}");
    let filled = !process.pdus.is_empty() || is_sent_alone;
    if !filled {
        harq.release(id); // sent on the layer before, or dropped by queue management
    } else if let Some(command) = command {
        process.activation_command = true;
        scell::note_command(slot.cx, ue, &command);
    }
    report_queue(slot.cx, ue, Direction::Downlink);
    filled
}

fn pop_due(queue: &mut VecDeque<Due>, slot: u64) -> Option<Due> {
    if queue.front()?.slot > slot {
        return None;
    }
    queue.pop_front()
}

/// The slots from a block to its feedback, and from there to the retransmission.
fn feedback_times(cell: &CellConfig) -> [u32; 2] {
    let after = cell.mac.harq_round_trip - cell.mac.downlink_latency + 1;
    let feedback = cell.numerology.harq.feedback.min(after);
    [feedback, after - feedback]
}

/// The slot in which a UE acknowledges a block of a slot: one with an uplink, of the primary cell if the block is of a
/// secondary one. With the numerology of its cell.
pub(super) fn acknowledgment_slot<'a>(
    cell: &'a CellConfig,
    scell: Option<&'a Scell>,
    block: u64,
) -> (&'a Numerology, u64) {
    let [feedback, _] = feedback_times(cell);
    let earliest = block + u64::from(feedback);
    let Some(scell) = scell else {
        return (&cell.numerology, cell.numerology.duplex.next_uplink(earliest));
    };
    let first = scell.pcell.slot_from(cell.numerology.start_of(earliest));
    (&scell.pcell, scell.pcell.duplex.next_uplink(first))
}

/// The slot in which the eNB can act on the feedback for a block that was received at the start of `received`.
fn feedback_handled(cell: &CellConfig, scell: Option<&Scell>, received: u64) -> u64 {
    let (of, slot) = acknowledgment_slot(cell, scell, received - 1);
    let sent = match scell {
        None => slot,
        Some(_) => cell.numerology.slot_from(of.start_of(slot + 1)) - 1,
    };
    let [_, handled] = feedback_times(cell);
    sent + u64::from(handled)
}

/// The MCS of a block on these RBGs, before the outer loop. Their reports are equal if `flat`.
fn select_mcs(rule: McsRule, phy: &mut Phy, state: &DownlinkState, rbgs: RbgSet, flat: bool) -> Mcs {
    if let Some(mcs) = state.fixed_mcs {
        return mcs;
    }
    let (cqi, _) = state.cqi.known();
    let of = |cqi: Cqi| phy.downlink.mcs_of[usize::from(cqi.index() & 15)];
    match rule {
        McsRule::WorstSubband if flat => of(cqi[0]),
        McsRule::WorstSubband => {
            let worst = each(rbgs).map(|rbg| cqi[usize::from(rbg)]).min();
            of(worst.expect("a policy gives at least one RBG"))
        }
        McsRule::Effective { .. } => {
            let efficiency =
                |rbg| phy.downlink.efficiency_of[usize::from(cqi[usize::from(rbg)].index() & 15)];
            let sum: f64 = each(rbgs).map(efficiency).sum();
            let mean = sum / f64::from(rbgs.count_ones());
            phy.blocks.of_efficiency(mean)
        }
    }
}

/// One step of outer-loop link adaptation (Pedersen et al., VTC 2007-Fall, §II): down on an error,
/// up on success, in the ratio that keeps the target error rate. With the offset `lowest`, the block would have had the
/// lowest MCS: an error has no effect below it, from where the loop would need long to return.
pub(crate) fn outer_loop(offset: &mut f32, lowest: f32, rule: McsRule, decoded: bool) {
    const STEP_DOWN: f32 = 0.5; // MCS steps
    const MOST: f32 = 3.0; // MCS steps
    if let McsRule::Effective { target_bler } = rule {
        let target = target_bler as f32;
        *offset = if decoded {
            (*offset + STEP_DOWN * target / (1.0 - target)).min(MOST)
        } else {
            (*offset - STEP_DOWN).max(lowest.min(*offset))
        };
    }
}

/// Notes the parameters of a block, to be reported.
#[cold]
fn note_assignment<U: UeSet + ?Sized>(slot: &mut CellSlot<'_, U>, index: u32, id: u8) {
    let Ue { id: ue, bearers, mobility, links, .. } = &mut slot.ues[index as usize];
    let link = links.with_mut(slot.id);
    let rbgs = link.downlink.harq.processes[usize::from(id)].rbgs;
    let (amc, scratch) = slot.phy.amc_and_sinr(Direction::Downlink);
    let radio = Radio { cell: slot.cell, air: slot.air };
    let is_valid = link.downlink.cqi.is_valid();
    let reported = is_valid.then(|| link.reported_cqi(mobility, radio, amc, scratch).0);
    let lowest = |cqi: &[Cqi; MAX_RBGS]| each(rbgs).map(|rbg| cqi[usize::from(rbg)].index()).min();
    let cqi = reported.and_then(lowest);
    slot.events.push(Event::Assigned {
        cell: slot.id,
        ue: *ue,
        direction: Direction::Downlink,
        process: id,
        cqi,
        queue: bearers.queue(Direction::Downlink),
        headroom: None,
        expected_bler: None,
        reported_headroom: None,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: McsRule = McsRule::Effective { target_bler: 0.1 };

    #[test]
    fn the_outer_loop_keeps_its_target_and_returns_from_the_lowest_mcs() {
        let mut offset = 0.0;
        // Nine blocks of ten decode: the offset is where it was.
        (0..100).for_each(|k| outer_loop(&mut offset, -27.0, RULE, k % 10 != 0));
        assert!(offset.abs() < 1e-4, "{offset}");
        // A report of MCS 27 while nothing decodes: from -27 on the MCS is 0. Two steps up are two times 18 blocks.
        (0..1_000).for_each(|_| outer_loop(&mut offset, -27.0, RULE, false));
        assert_eq!(offset, -27.0);
        (0..37).for_each(|_| outer_loop(&mut offset, -27.0, RULE, true));
        assert!((-25.0..-24.9).contains(&offset), "{offset}");
        // A report of MCS 2 says nothing about those of MCS 27.
        outer_loop(&mut offset, -2.0, RULE, false);
        assert!((-25.0..-24.9).contains(&offset), "{offset}");
        (0..10_000).for_each(|_| outer_loop(&mut offset, -27.0, RULE, true));
        assert_eq!(offset, 3.0);
        outer_loop(&mut offset, -27.0, McsRule::WorstSubband, false);
        assert_eq!(offset, 3.0);
    }
}
