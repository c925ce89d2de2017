//! The uplink of a cell: how UEs get access (TS 36.321 §5.4).
//!
//! A UE with data sends a scheduling request in its PUCCH opportunity, and a buffer status report with each
//! PUSCH. Alternatively, as in ns-3, its buffer status reaches the eNB out of band; or the eNB polls. With FDD a grant
//! decided in slot n is used in slot n + 4, and retransmissions are synchronous: same number of PRBs, one HARQ round
//! trip later (TS 36.213 §8). With TDD a grant is decided in the last slot with a downlink that is early enough, and
//! retransmissions are asynchronous: in any slot with an uplink and enough room from one round trip later on.
//!
//! A UE that sends to several cells (carrier aggregation) has its requests on the primary cell, and HARQ processes in each
//! cell. All cells grant from one buffer status, from which each grant of any of them is subtracted.

use core::ops::Range;
use std::collections::VecDeque;

use airlane_core::{Bytes, Decibel, Direction, Event, Instant, Topic, UeId};

use super::configured::ConfiguredGrants;
use super::downlink::outer_loop;
use super::drx::ProcessId;
use super::harq::HarqEntity;
use super::headroom::{headroom_of, level_of, report_bytes};
use super::phy::{BlockTables, Phy};
use super::polls::Report;
use super::pusch::{self, PuschBlock, PuschNeed, may_sound, sound};
use super::reports::{block_event, report_queue, report_unsent};
use super::requests::{Opportunity, RequestLimit, SentRequests};
use crate::config::{CellConfig, UplinkAccess};
use crate::interference::SentPusch;
use crate::link::{Radio, ServingLink, UplinkState};
use crate::numerology::{Duplex, HarqTiming, Numerology, UplinkHarq};
use crate::slot::{CellSlot, Slot, UeSet};
use crate::ue::Ue;

mod access;
mod msg3;
mod parts;
mod reception;
mod repetition;

use access::{Request, limit_of, needs_pucch, request_of};
pub(crate) use msg3::Msg3;
use reception::{Outcome, judge};
use repetition::planned;

/// A grant for a future PUSCH, or a PUSCH on the air.
#[derive(Clone, Copy, Debug)]
struct Grant {
    slot: u64,
    ue: u32,
    /// The HARQ process, that of the first transmission's slot.
    process: u8,
    block: PuschBlock,
    /// The first of its PRBs, once it is sent.
    first: u16,
    retransmission: bool,
    /// The UE missed it and will not send.
    missed: bool,
    /// Buffer status in the PUSCH, and the bytes of all blocks of the UE up to this one.
    backlog: u64,
    sent_bytes: u64,
    /// Power headroom in it.
    headroom: Option<u8>,
    /// The error rate that the cell expects of the first transmission; computed only for observers.
    expected_bler: Option<f32>,
    /// The power headroom on its PRBs by the latest report; computed only for observers.
    reported_headroom: Option<Decibel>,
}

impl Grant {
    /// A grant of a new block.
    fn new(slot: u64, ue: u32, process: u8, block: PuschBlock) -> Self {
        Self {
            slot,
            ue,
            process,
            block,
            first: 0,
            retransmission: false,
            missed: false,
            backlog: 0,
            sent_bytes: 0,
            headroom: None,
            expected_bler: None,
            reported_headroom: None,
        }
    }

    /// Computes what the cell expects, if other cells leave this share of the UE's power: the error rate and the power
    /// headroom.
    fn expect(&mut self, cell: &CellConfig, phy: &mut Phy, ue: &mut UplinkState, power: f32) {
        let rate = pusch::expected_error_rate(cell, phy, ue, &self.block, power);
        self.expected_bler = rate.map(|rate| rate as f32);
        self.reported_headroom = ue.known_power.headroom(cell.resource_blocks, self.block.prbs);
    }
}

/// The uplink MAC of a cell.
#[derive(Debug)]
pub(crate) struct UplinkMac {
    prbs: u16,
    /// Grants without PDCCH, if there are any.
    configured: Option<ConfiguredGrants>,
    /// UEs that may have something to send, by index, ascending.
    active: Vec<u32>,
    requests: VecDeque<Request>,
    grants: VecDeque<Grant>,
    in_air: VecDeque<Grant>,
    retransmissions: VecDeque<Grant>,
    /// Synchronous retransmissions that wait for a later round trip.
    suspended: VecDeque<Grant>,
    /// The UE at which the round of the next slot begins.
    first: u32,
    waiting: Vec<u32>,
    /// The outcomes of the first blocks of `in_air`, where they are known.
    judged: VecDeque<Outcome>,
}

impl UplinkMac {
    pub(crate) fn new(cell: &CellConfig, blocks: &BlockTables, ues: usize) -> Self {
        let pucch = cell.mac.uplink.pucch_resource_blocks;
        assert!(pucch < cell.resource_blocks, "PUCCH leaves no PRB for PUSCH");
        let (grant, round_trip) = (cell.mac.grant_to_pusch, cell.mac.uplink_round_trip);
        assert!(round_trip > grant, "a retransmission is granted before the block was received");
        let Numerology { duplex, harq, .. } = cell.numerology;
        let is_polled = matches!(cell.mac.uplink.access, UplinkAccess::Polled { .. });
        assert!(duplex == Duplex::Fdd || !is_polled, "an eNB polls with FDD only");
        let is_synchronous = harq.uplink == UplinkHarq::Synchronous;
        assert!(duplex == Duplex::Fdd || !is_synchronous, "synchronous HARQ is for FDD only");
        let configured = ConfiguredGrants::of(cell, blocks);
        assert!(configured.is_none() || !is_synchronous, "configured grants need asynchronous HARQ");
        let has_parts = cell.bandwidth_parts.is_some();
        assert!(configured.is_none() || !has_parts, "configured grants need the whole carrier");
        assert!(!is_synchronous || !has_parts, "bandwidth parts need asynchronous HARQ");
        Self {
            prbs: cell.resource_blocks - pucch,
            configured,
            active: Vec::with_capacity(ues),
            requests: VecDeque::with_capacity(ues + 16),
            grants: VecDeque::with_capacity(256),
            in_air: VecDeque::with_capacity(256),
            retransmissions: VecDeque::with_capacity(256),
            suspended: VecDeque::new(),
            first: 0,
            waiting: Vec::with_capacity(ues),
            judged: VecDeque::new(),
        }
    }

    /// A UE has data waiting.
    pub(crate) fn activate(&mut self, ue: UeId, link: &mut ServingLink) {
        if !link.uplink.active {
            link.uplink.active = true;
            let at = self.active.partition_point(|&other| other < ue.0);
            self.active.insert(at, ue.0);
        }
    }

    /// A UE leaves the cell: its grants are void and its blocks on the air are lost.
    pub(crate) fn forget(&mut self, ue: u32) {
        self.active.retain(|&other| other != ue);
        self.requests.retain(|request| request.ue != ue);
        let again = [&mut self.retransmissions, &mut self.suspended];
        for queue in [&mut self.grants, &mut self.in_air].into_iter().chain(again) {
            queue.retain(|grant| grant.ue != ue);
        }
    }

    /// The radio is off: UEs with data wait.
    pub(crate) fn wait(&mut self, slot: &mut Slot<'_, '_>) {
        let (ues, cx, cell) = (&mut *slot.ues, &mut *slot.cx, slot.id);
        self.active.retain(|&index| {
            let ue = &mut ues[index as usize];
            let waits = ue.has_backlog(Direction::Uplink, cx.now);
            ue.links.with_mut(cell).uplink.active = waits;
            if waits {
                report_unsent(cx, ue, Direction::Uplink);
            }
            waits
        });
    }

    /// Number of UEs that may have something to send.
    pub(crate) fn candidates(&self) -> usize {
        self.active.len()
    }

    /// True if there is work in the next slot.
    pub(crate) fn is_busy(&self) -> bool {
        !self.active.is_empty()
            || !self.in_air.is_empty()
            || !self.grants.is_empty()
            || !self.retransmissions.is_empty()
            || !self.suspended.is_empty()
    }

    /// Handles the PUSCHs that ended at the start of the slot.
    pub(crate) fn receive(&mut self, slot: &mut Slot<'_, '_>) {
        while self.in_air.front().is_some_and(|pusch| pusch.slot < slot.number) {
            let pusch = self.in_air.pop_front().expect("the front was there");
            let judged = self.judged.pop_front();
            let outcome = judged.unwrap_or_else(|| judge(&mut slot.own(), pusch));
            self.conclude(slot, pusch, outcome);
            if outcome.decoded {
                let Ue { bearers, links, .. } = &mut slot.ues[pusch.ue as usize];
                let harq = &mut links.with_mut(slot.id).uplink.harq;
                let pdus = &harq.processes[usize::from(pusch.process)].pdus;
                bearers.receive(slot.cx, Direction::Uplink, pdus, slot.deliverable);
                harq.release(pusch.process);
                note_headroom(slot, pusch);
                let links = &mut slot.ues[pusch.ue as usize].links;
                links.on_buffer_status(pusch.backlog, pusch.sent_bytes);
                if !links.is_primary(slot.id) {
                    links.primary_mut().uplink.polls.go_on(pusch.slot);
                } else if let UplinkAccess::Polled { polls, processing, .. } = slot.cell.mac.uplink.access {
                    let answered = slot.number + u64::from(processing);
                    self.answer_poll(polls, answered, pusch, &mut links.primary_mut().uplink);
                }
                slot.deliver(Direction::Uplink, pusch.ue);
            }
        }
    }

    /// A polling eNB has received a PUSCH: it uses the report in it now, in slot `answered`, or not at all.
    fn answer_poll(&mut self, polls: u32, answered: u64, pusch: Grant, ue: &mut UplinkState) {
        match ue.polls.on_pusch(pusch.slot, pusch.backlog > 0, polls) {
            Report::Served => {}
            Report::Ignored => ue.known_backlog = 0,
            Report::Answered => {
                let bytes = core::mem::take(&mut ue.known_backlog);
                ue.request_pending = true;
                self.note_request(Request { slot: answered, ue: pusch.ue, bytes });
            }
        }
    }

    /// A PUSCH was decoded or not: what follows from it.
    fn conclude(&mut self, slot: &mut Slot<'_, '_>, pusch: Grant, Outcome { decoded, is_limited }: Outcome) {
        let cell = slot.cell;
        let Ue { id, bearers, links, .. } = &mut slot.ues[pusch.ue as usize];
        let uplink = &mut links.with_mut(slot.id).uplink;
        let process = &mut uplink.harq.processes[usize::from(pusch.process)];
        // Nothing more robust could be chosen instead of a block beyond reach, so that its errors do not count. That is
        // also the only bound of the offset: below MCS 0, it reduces the number of PRBs.
        if process.transmissions == 1 && (decoded || !pusch.block.is_beyond_reach) {
            outer_loop(&mut uplink.outer_loop, f32::NEG_INFINITY, cell.mac.mcs_rule, decoded);
        }
        if slot.cx.wants(Topic::TransportBlock) {
            let mut event = block_event(slot.id, *id, Direction::Uplink, pusch.process, process, decoded);
            if let Event::TransportBlock { power_limited, .. } = &mut event {
                *power_limited = is_limited;
            }
            slot.cx.emit(&event);
        }
        if decoded {
            return;
        }
        if cell.mac.harq && process.transmissions < cell.mac.harq_max_transmissions {
            let again = pusch.slot + u64::from(cell.mac.uplink_round_trip);
            self.retransmissions.push_back(Grant { slot: again, retransmission: true, ..pusch });
        } else {
            bearers.lose(slot.cx, Direction::Uplink, &process.pdus);
            uplink.harq.release(pusch.process);
        }
    }

    /// UEs use the grants for this slot.
    pub(crate) fn transmit(&mut self, slot: &mut Slot<'_, '_>) {
        let lowest = slot.cell.mac.uplink.pucch_resource_blocks / 2;
        // The resource blocks of the default part are the lowest.
        let (mut sold_of_default, mut sold) =
            (0, self.granted_on_default(slot.ues, slot.id, slot.cell, slot.number));
        while self.grants.front().is_some_and(|grant| grant.slot <= slot.number) {
            let mut grant = self.grants.pop_front().expect("the front was there");
            let is_on_default = self.check_part(slot, &grant);
            let place = if is_on_default { &mut sold_of_default } else { &mut sold };
            let first = lowest + *place;
            *place += grant.block.prbs;
            if !grant.retransmission {
                let ue = &mut slot.ues[grant.ue as usize];
                let size = grant.block.size.get();
                let uplink = &mut ue.links.with_mut(slot.id).uplink;
                uplink.outstanding -= size;
                if grant.missed {
                    // The eNB receives nothing in the PRBs; its knowledge of the backlog is unchanged.
                    uplink.harq.release(grant.process);
                    *ue.links.known_backlog_mut() += size;
                    ue.links.power.cancel(slot.id, slot.cx.now);
                    if slot.cx.wants(Topic::TransportBlock) {
                        slot.cx.emit(&Event::Unsent { ue: ue.id, direction: Direction::Uplink });
                    }
                    continue;
                }
                if !build(slot, &mut grant) {
                    slot.ues[grant.ue as usize].links.power.cancel(slot.id, slot.cx.now);
                    continue; // nothing left to send: padding, which is not modelled
                }
            }
            self.send(slot, Grant { first, ..grant });
        }
        if let Some(configured) = self.configured {
            sold += self.use_configured(slot, &configured, lowest + sold, self.prbs - sold);
        }
        assert!(sold <= self.prbs, "the uplink grid is oversold: {sold} of {} PRBs", self.prbs);
    }

    /// A UE sends the block of a process.
    fn send(&mut self, slot: &mut Slot<'_, '_>, grant: Grant) {
        let ue = &mut slot.ues[grant.ue as usize];
        // The block has a buffer status.
        ue.links.primary_mut().uplink.requests = SentRequests::default();
        let sent_bytes =
            ue.links.count_sent(if grant.retransmission { Bytes::ZERO } else { grant.block.size });
        let uplink = &mut ue.links.with_mut(slot.id).uplink;
        uplink.harq.processes[usize::from(grant.process)].transmissions += 1;
        if slot.cx.wants(Topic::Assigned) {
            let (process, queue) = (grant.process, ue.bearers.queue(Direction::Uplink));
            let direction = Direction::Uplink;
            // Observers must not look at the channel: the next look of a UE that moves would be later.
            let headroom = uplink.power.latest_headroom(grant.block.prbs);
            let expected = (!grant.retransmission).then_some(grant);
            slot.cx.emit(&Event::Assigned {
                cell: slot.id,
                ue: ue.id,
                direction,
                process,
                cqi: None,
                queue,
                headroom,
                expected_bler: expected.and_then(|grant| grant.expected_bler),
                reported_headroom: expected.and_then(|grant| grant.reported_headroom),
            });
        }
        if let Some(drx) = &mut ue.drx {
            drx.on_buffer_status(slot.cx.now);
            let power = uplink.power.sent(grant.block.prbs);
            drx.send(slot.cell.numerology.slot, grant.block.size, power, slot.cx.now);
            if slot.cell.numerology.harq.uplink == UplinkHarq::Asynchronous {
                let mac = &slot.cell.mac;
                let after = u64::from(mac.uplink_round_trip - mac.grant_to_pusch);
                let from = slot.cell.numerology.start_of(slot.number + after);
                drx.on_undecoded(ProcessId::uplink(slot.id, grant.process), from, slot.cx.now);
            }
        }
        report_queue(slot.cx, ue, Direction::Uplink);
        let backlog = ue.backlog(Direction::Uplink, slot.cx.now).get();
        self.in_air.push_back(Grant { backlog, sent_bytes, ..grant });
        self.radiate(slot, grant.ue, grant.first..grant.first + grant.block.prbs);
        slot.note_timer(grant.ue);
    }

    /// UEs with data and without a dynamic grant for this slot use their configured grants, in the `left` resource blocks
    /// that begin at `first`. Returns the number of resource blocks that are reserved. A UE that has just come may have
    /// none.
    fn use_configured(
        &mut self,
        slot: &mut Slot<'_, '_>,
        configured: &ConfiguredGrants,
        first: u16,
        left: u16,
    ) -> u16 {
        let cell = slot.id;
        if !slot.cell.numerology.duplex.has_uplink(slot.number) {
            return 0;
        }
        let reserved = configured.reserved(slot.number, cell, left, slot.ues);
        let most = usize::from(reserved / configured.prbs);
        self.waiting.clear();
        self.waiting.extend(configured.due(slot.number, cell, slot.ues).take(most));
        let due = core::mem::take(&mut self.waiting);
        for (place, &index) in (0..).zip(&due) {
            let Ue { bearers, mobility, links, .. } = &mut slot.ues[index as usize];
            let link = links.with_mut(slot.id);
            let sends = self.in_air.iter().rev().take_while(|pusch| pusch.slot == slot.number);
            let is_granted = { sends }.any(|pusch| pusch.ue == index);
            let Some(process) = link.uplink.harq.free_process().filter(|_| !is_granted) else { continue };
            if bearers.backlog(Direction::Uplink, slot.cx.now) == Bytes::ZERO {
                continue;
            }
            link.uplink.harq.start(process);
            let radio = Radio { cell: slot.cell, air: slot.air };
            let block = configured.block(slot.number, radio, slot.phy, link, mobility);
            let first = first + place * configured.prbs;
            let mut grant = Grant { first, ..Grant::new(slot.number, index, process, block) };
            if slot.cx.wants(Topic::Assigned) {
                grant.expect(slot.cell, slot.phy, &mut link.uplink, 1.0);
            }
            if build(slot, &mut grant) {
                self.send(slot, grant);
            }
        }
        self.waiting = due;
        reserved
    }

    /// The transmission of a UE takes a share of its power, and is added to the interference at other cells.
    fn radiate(&self, slot: &mut Slot<'_, '_>, ue: u32, prbs: Range<u16>) {
        let Ue { mobility, links, .. } = &mut slot.ues[ue as usize];
        if slot.air.is_quiet() && !links.send_to_several() {
            return;
        }
        let now = slot.cx.now;
        let mean = links.with_mut(slot.id).uplink.channel.mean_sinr(now, mobility);
        links.note_pusch(slot.id, slot.cell, slot.number, mean, prbs.len() as u16);
        if slot.air.is_quiet() {
            return;
        }
        let left = links.power_left(slot.id, slot.cell, slot.number);
        let link = links.with_mut(slot.id);
        let factor = link.uplink.power.factor(mean, prbs.len() as u16, left);
        let prbs = usize::from(prbs.start)..usize::from(prbs.end);
        let sent = SentPusch { cell: slot.id, prbs, factor };
        slot.air.send_uplink(now, sent, &mut link.neighbours, mobility);
    }

    /// UEs send requests, and earlier requests reach the eNB.
    pub(crate) fn requests<U: UeSet + ?Sized>(&mut self, slot: &mut CellSlot<'_, U>) {
        while self.requests.front().is_some_and(|request| request.slot <= slot.number) {
            let request = self.requests.pop_front().expect("the front was there");
            let links = &mut slot.ues[request.ue as usize].links;
            let bytes = request.bytes.saturating_sub(links.outstanding());
            let ue = &mut links.primary_mut().uplink;
            ue.request_pending = false;
            ue.known_backlog = ue.known_backlog.max(bytes);
        }
        let limit = limit_of(slot.cell);
        let mut kept = 0;
        for at in 0..self.active.len() {
            let index = self.active[at];
            let links = &slot.ues[index as usize].links;
            // A UE with a grant sends its buffer status in the block. One whose data the eNB knows of repeats its request only if
            // the cell limits requests.
            let may_ask = links.outstanding() == 0 && (links.known_backlog() == 0 || limit.is_some());
            if !may_ask || self.request(slot, index, limit) {
                self.active[kept] = index;
                kept += 1;
            }
        }
        self.active.truncate(kept);
    }

    /// A UE without a grant sends a request, if it can in this slot, or gives up, if the cell limits requests. The cell learns
    /// of the first one. False if the UE has no data.
    fn request<U: UeSet + ?Sized>(
        &mut self,
        slot: &mut CellSlot<'_, U>,
        index: u32,
        limit: Option<RequestLimit>,
    ) -> bool {
        let may_send = slot.ues[index as usize].may_send(&slot.cell.numerology, slot.number);
        let Ue { bearers, links, drx, .. } = &mut slot.ues[index as usize];
        if links.known_backlog() == 0 && !bearers.has_backlog(Direction::Uplink, slot.now) {
            links.with_mut(slot.id).uplink.active = false;
            return false;
        }
        if !links.is_primary(slot.id) {
            return true;
        }
        let is_sending = links.has_uplink_blocks();
        let is_out_of_band = matches!(slot.cell.mac.uplink.access, UplinkAccess::IdealBufferStatus { .. });
        let link = links.primary_mut();
        if !is_out_of_band && link.bwp.as_ref().is_some_and(|bwp| !bwp.may_send(slot.now)) {
            return true; // it switches its bandwidth part
        }
        let uplink = &mut link.uplink;
        if limit.is_none() && uplink.request_pending || !may_send && needs_pucch(slot.cell) {
            return true;
        }
        let backlog = || bearers.backlog(Direction::Uplink, slot.now);
        let asked = request_of(slot.cell, slot.number, index, uplink, is_sending, backlog);
        let Some(request) = asked else { return true };
        let sends = Opportunity::Sends;
        match limit.map_or(sends, |limit| uplink.requests.on_opportunity(slot.number, limit)) {
            Opportunity::Waits => {}
            Opportunity::GivesUp => slot.unanswered.push(index),
            Opportunity::Sends => {
                link.on_answer(slot.now + slot.cell.numerology.slot);
                let uplink = &mut link.uplink;
                if !uplink.request_pending && uplink.known_backlog == 0 {
                    uplink.request_pending = true;
                    self.note_request(request);
                }
                if let Some(drx) = drx {
                    drx.on_request(slot.now);
                    slot.touched.push(index);
                }
            }
        }
        true
    }

    /// Adds a request behind those that reach the eNB before it or with it, usually all.
    fn note_request(&mut self, request: Request) {
        if self.requests.back().is_none_or(|last| last.slot <= request.slot) {
            return self.requests.push_back(request);
        }
        let at = self.requests.partition_point(|other| other.slot <= request.slot);
        self.requests.insert(at, request);
    }

    /// Grants the PUSCHs that have to be granted in this slot: those of `slot + grant_to_pusch`, or of the slots with
    /// an uplink for which this is the last slot with a downlink that is early enough.
    pub(crate) fn schedule<U: UeSet + ?Sized>(&mut self, slot: &mut CellSlot<'_, U>) {
        let ahead = slot.cell.mac.grant_to_pusch;
        let first = slot.number + u64::from(ahead);
        let duplex = slot.cell.numerology.duplex;
        for pusch in first..first + duplex.period() {
            if duplex.has_uplink(pusch) && duplex.control_slot(pusch, ahead) == Some(slot.number) {
                self.grant(slot, pusch);
            }
        }
    }

    /// PRBs that have been granted in a slot.
    fn granted(&self, pusch: u64) -> u16 {
        grants_in(&self.grants, pusch).map(|grant| grant.block.prbs).sum()
    }

    /// Adds a grant behind those for earlier slots and for its own, usually at the end.
    fn add_grant(&mut self, grant: Grant) {
        debug_assert!(!self.is_granted(grant.ue, grant.slot), "UE {} has two PUSCHs in a slot", grant.ue);
        let at = match self.grants.back() {
            Some(last) if last.slot > grant.slot => self.grants.partition_point(|one| one.slot <= grant.slot),
            _ => self.grants.len(),
        };
        self.grants.insert(at, grant);
    }

    /// True if a UE sends in this slot already.
    fn is_granted(&self, ue: u32, pusch: u64) -> bool {
        grants_in(&self.grants, pusch).any(|grant| grant.ue == ue)
    }

    /// Whether one of these PRBs is among those that were selected for other UEs in this slot.
    fn is_taken(&self, prbs: &Range<u16>, pusch: u64) -> bool {
        let mut selected = grants_in(&self.grants, pusch).filter_map(|grant| grant.block.selected_prbs());
        selected.any(|taken| taken.start < prbs.end && prbs.start < taken.end)
    }

    /// Grants the PUSCHs of a slot: retransmissions first, then the UEs known to have data, in turn, in equal shares
    /// up to their need.
    fn grant<U: UeSet + ?Sized>(&mut self, slot: &mut CellSlot<'_, U>, pusch: u64) {
        if self.active.is_empty() && self.retransmissions.is_empty() && self.suspended.is_empty() {
            return;
        }
        if slot.cell.bandwidth_parts.is_some() {
            self.choose_parts(slot);
        }
        let harq = slot.cell.numerology.harq;
        let earliest = slot.number + u64::from(slot.cell.mac.grant_to_pusch);
        let cell = slot.id;
        let reserved = self.configured.map_or(0, |of| of.reserved(pusch, cell, self.prbs, slot.ues));
        let mut left = self.repeat_blocks(slot, earliest, pusch, self.prbs - reserved);
        // If the round trip is not a multiple of the number of processes, a UE may retransmit in the slot of
        // another process.
        let grants = &self.grants;
        let sends_again = |ue: u32| grants_in(grants, pusch).any(|grant| grant.ue == ue);
        let (restrictions, now) = (&*slot.restrictions, slot.now);
        let block = planned(slot, pusch);
        self.waiting.clear();
        self.waiting.extend(self.active.iter().copied().filter(|&index| {
            let ue = &slot.ues[index as usize];
            let link = ue.links.with(cell);
            ue.links.known_backlog() > 0
                && restrictions.may_be_scheduled(index, link, ue.listening(), block).may_be_scheduled
                && process_for(harq, pusch, &link.uplink.harq).is_some()
                && !sends_again(index)
                && ue.links.power_to_grant(cell, slot.cell, pusch) > 0.0
        }));
        let n = self.waiting.len();
        let served = n.min(usize::from(slot.cell.mac.uplink.grants_per_slot));
        let start = self.waiting.partition_point(|&ue| ue < self.first);
        for k in 0..served {
            if left < MIN_SHARE.min(self.prbs) {
                break; // next time it is among the first
            }
            let index = self.waiting[(start + k) % n];
            // An equal share of the rest, but at least enough for a small packet.
            let share = (left / (served - k) as u16).max(MIN_SHARE).min(left);
            let share = share.min(self.room_of_part(slot, index, pusch));
            if share == 0 {
                continue;
            }
            let Ue { mobility, links, drx, .. } = &mut slot.ues[index as usize];
            let (known, power) = (links.known_backlog(), links.power_to_grant(cell, slot.cell, pusch));
            let link = links.with_mut(cell);
            let Some(process) = process_for(harq, pusch, &link.uplink.harq) else { break };
            if may_sound(link, drx.as_deref_mut(), slot.cell, now) {
                sound(slot.number, Radio { cell: slot.cell, air: slot.air }, link, mobility);
            }
            let sent = slot.cell.numerology.start_of(pusch);
            let need = PuschNeed { power, ..need_of(slot.cell, &link.uplink, known, sent) };
            let is_free = |prbs: &Range<u16>| !self.is_taken(prbs, pusch);
            let chosen = pusch::choose(slot.cell, slot.phy, &mut link.uplink, share, need, is_free);
            let Some(block) = chosen.filter(|block| link.scell.is_none() || !block.is_beyond_reach) else {
                continue; // in a later slot, or of the primary cell
            };
            let mut grant = Grant::new(pusch, index, process, block);
            if slot.topics.wants(Topic::Assigned) {
                grant.expect(slot.cell, slot.phy, &mut link.uplink, power);
            }
            grant.missed = slot.misses_control(index);
            left -= grant.block.prbs;
            // A slot that serves all UEs begins with the next one, so that the remainder goes to
            // each in turn.
            self.first = if k + 1 == n { self.waiting[start % n] + 1 } else { index + 1 };
            self.note_grant(slot, grant);
        }
    }

    /// A UE has a grant of a new block, of which the cell knows from now on.
    fn note_grant<U: UeSet + ?Sized>(&mut self, slot: &mut CellSlot<'_, U>, grant: Grant) {
        let (id, now) = (slot.id, slot.now);
        let ue = &mut slot.ues[grant.ue as usize];
        let links = &mut ue.links;
        let known = links.known_backlog_mut();
        *known = known.saturating_sub(grant.block.size.get());
        links.plan_pusch(now, id, slot.cell, grant.slot, grant.block.prbs);
        let link = links.with_mut(id);
        link.on_answer(slot.cell.numerology.start_of(grant.slot + 1));
        link.uplink.outstanding += grant.block.size.get();
        link.uplink.harq.start(grant.process);
        debug_assert!(grant.block.selected_prbs().is_none_or(|prbs| !self.is_taken(&prbs, grant.slot)));
        if !grant.missed {
            ue.on_assignment(id, now);
            if let Some(drx) = &mut ue.drx {
                drx.on_new_transmission(now + slot.cell.numerology.slot);
            }
        }
        self.add_grant(grant);
    }
}

/// The grants for a slot: the latest, or before those of Msg3 for later slots.
fn grants_in(grants: &VecDeque<Grant>, pusch: u64) -> impl Iterator<Item = &Grant> {
    grants
        .iter()
        .rev()
        .skip_while(move |grant| grant.slot > pusch)
        .take_while(move |grant| grant.slot == pusch)
}

/// Minimum number of PRBs of a UE when many share a slot, as in ns-3 (`rbPerFlow`), if the cell has
/// this many besides PUCCH.
const MIN_SHARE: u16 = 3;

/// The process of a first transmission in a slot, if it is free.
#[inline]
fn process_for(harq: HarqTiming, pusch: u64, entity: &HarqEntity) -> Option<u8> {
    match harq.uplink {
        UplinkHarq::Synchronous => {
            Some((pusch % u64::from(harq.processes)) as u8).filter(|id| entity.is_free(*id))
        }
        UplinkHarq::Asynchronous => entity.free_process(),
    }
}

/// Bytes of a short buffer status report and its subheader in a block (TS 36.321 §6.1.3.1).
fn control_bytes(cell: &CellConfig) -> u64 {
    if cell.mac.subheaders { 2 } else { 0 }
}

/// Bytes that are enough to carry some data of any RLC mode. A buffer status report excludes headers
/// (TS 36.321 §6.1.3.1), so a grant for the last byte of a queue would not hold them. The sum of a
/// subheader, the header of an AM segment (TS 36.322 §6.2.1.5) and that byte.
const LEAST_PDU: u64 = 2 + 4 + 1;

/// The need of a UE whose block is sent at this time, with `known` bytes to send and all its power.
fn need_of(cell: &CellConfig, ue: &UplinkState, known: u64, sent: Instant) -> PuschNeed {
    let reserved = cell.mac.uplink.headroom.map_or(0, |config| {
        if cell.mac.subheaders && ue.power.is_controlled() {
            ue.known_power.reserve(&config, sent)
        } else {
            0
        }
    });
    let control = control_bytes(cell) + reserved;
    PuschNeed {
        wanted: Bytes(known.max(LEAST_PDU) + control),
        least: Bytes(LEAST_PDU + control),
        highest: cell.tables.highest_mcs(),
        power: 1.0,
    }
}

/// The power headroom report of a decoded block reaches the cell.
fn note_headroom(slot: &mut Slot<'_, '_>, pusch: Grant) {
    let (Some(level), Some(config)) = (pusch.headroom, slot.cell.mac.uplink.headroom) else { return };
    let sent = slot.cell.numerology.start_of(pusch.slot);
    let (granted, band) = (pusch.block.prbs, slot.cell.resource_blocks);
    let uplink = &mut slot.link(pusch.ue).uplink;
    if uplink.known_power.on_report(&config, level, granted, band, sent) {
        uplink.sounding.forget_choices();
    }
    if slot.cx.wants(Topic::PowerHeadroom) {
        let headroom = headroom_of(config.layout, level);
        slot.cx.emit(&Event::PowerHeadroom { cell: slot.id, ue: UeId(pusch.ue), headroom });
    }
}

/// Fills a granted block, if necessary with control elements alone. Returns false if there was nothing to send; the
/// process is then free again.
fn build(slot: &mut Slot<'_, '_>, grant: &mut Grant) -> bool {
    let (cx, cell) = (&mut *slot.cx, slot.cell);
    let Ue { bearers, mobility, links, .. } = &mut slot.ues[grant.ue as usize];
    let uplink = &mut links.with_mut(slot.id).uplink;
    let process = &mut uplink.harq.processes[usize::from(grant.process)];
    (process.mcs, process.size) = (grant.block.mcs, grant.block.size);
    (process.prbs, process.coded_prbs, process.layers) =
        (grant.block.prbs, grant.block.prbs, grant.block.layers);
    let mut room = grant.block.size.saturating_sub(Bytes(control_bytes(cell)));
    if cell.mac.uplink.headroom.is_some() {
        let mean = uplink.channel.mean_sinr(cx.now, mobility);
        room = room.saturating_sub(report_headroom(cell, cx.now, mean, room, uplink, grant));
    }
    let process = &mut uplink.harq.processes[usize::from(grant.process)];
    let used = bearers.transmit(cx, Direction::Uplink, room, &mut process.pdus);
    assert!(used <= room, "RLC filled {used} into {room}");
    // If nothing fits, the eNB still receives the buffer status (TS 36.321 §5.4.5), unless it knows
    // it already.
    let asks = !matches!(cell.mac.uplink.access, UplinkAccess::IdealBufferStatus { .. });
    let reports = asks && bearers.has_backlog(Direction::Uplink, cx.now);
    if process.pdus.is_empty() && !reports {
        uplink.harq.release(grant.process);
        return false;
    }
    if let (Some(config), Some(_)) = (&cell.mac.uplink.headroom, grant.headroom) {
        let mean = uplink.channel.mean_sinr(cx.now, mobility);
        if let Some(path_loss_db) = uplink.power.path_loss_db(mean) {
            uplink.headroom.on_sent(config, cx.now, path_loss_db);
        }
    }
    true
}

/// Puts a power headroom report into a block that has room for it, if one is due. Returns its bytes.
fn report_headroom(
    cell: &CellConfig,
    now: Instant,
    mean: f32,
    room: Bytes,
    ue: &mut UplinkState,
    grant: &mut Grant,
) -> Bytes {
    let Some(config) = &cell.mac.uplink.headroom else { return Bytes::ZERO };
    let Some(path_loss_db) = ue.power.path_loss_db(mean) else { return Bytes::ZERO };
    let bytes = Bytes(if cell.mac.subheaders { report_bytes(config.layout) } else { 0 });
    if !ue.headroom.is_due(config, now, path_loss_db) || bytes > room {
        return Bytes::ZERO;
    }
    grant.headroom =
        ue.power.headroom(mean, grant.block.prbs).map(|headroom| level_of(config.layout, headroom));
    bytes
}
