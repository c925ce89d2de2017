//! Steps of a slot in which cells work side by side, on several threads.
//!
//! Each cell changes only its own state and its UEs there, so the results do not depend on the number of threads. What
//! cells share is used in the order of their numbers, on one thread: packets, events, ports, and the transmissions of
//! all cells. A slot has three such steps: the reception of blocks, the decisions about the downlink, and the grants of
//! the uplink. A network has one thread if it has UEs with several carriers, which belong to several cells. The downlink is
//! decided on one thread in three cases: UEs sleep, because the uplink of the same slot may wake them up; UEs have bandwidth
//! parts, which their buffer status may change, and the uplink of the same slot changes that; or a CQI report is
//! computed in the slot of its measurement, because it then contains the blocks of cells with lower numbers
//! ([`cqi::are_independent`]).

use core::ops::{Index, IndexMut, Range};

use airlane_core::{CellId, Cx, Event, Instant, TopicSet};

use super::{Cell, RadioNetwork};
use crate::cqi;
use crate::interference::Air;
use crate::mac::downlink::DownlinkMac;
use crate::mac::uplink::UplinkMac;
use crate::parallel::Team;
use crate::slot::{CellSlot, UeSet};
use crate::ue::Ue;

/// The work of receiving a block, in UEs; choice.
const WORK_OF_BLOCK: usize = 3;

/// Notes of a cell for the steps in the order of the cells.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    pub(super) touched: Vec<u32>,
    pub(super) unanswered: Vec<u32>,
    pub(super) events: Vec<Event<'static>>,
}

/// The UEs by their primary cell.
#[derive(Debug, Default)]
pub(super) struct SideBySide {
    /// The place of each UE among those of its cell.
    places: Vec<u32>,
    /// Number of UEs of each cell.
    counts: Vec<u32>,
    /// Whether no UE has several carriers.
    are_single: bool,
    /// Whether no UE sleeps at times, or has bandwidth parts.
    are_awake: bool,
    /// Whether no CQI report depends on what other cells decide in its slot.
    are_independent: bool,
    /// A step with less work is done on one thread.
    least_work: usize,
    /// Steps so far.
    steps: u64,
    team: Team,
}

impl SideBySide {
    fn look_at(&mut self, ues: &[Ue], cells: usize) {
        self.counts.clear();
        self.counts.resize(cells, 0);
        self.places.clear();
        (self.are_single, self.are_awake) = (true, true);
        for ue in ues {
            let count = &mut self.counts[ue.cell().index()];
            self.places.push(*count);
            *count += 1;
            self.are_single &= ue.links.is_single();
            self.are_awake &= ue.drx.is_none() && ue.links.primary().bwp.is_none();
        }
    }
}

/// The UEs of one cell.
struct UesOfCell<'s, 'u> {
    of: &'s mut [Option<&'u mut Ue>],
    /// By index in the network.
    places: &'s [u32],
}

impl UesOfCell<'_, '_> {
    fn place(&self, index: usize) -> usize {
        self.places[index] as usize
    }
}

impl Index<usize> for UesOfCell<'_, '_> {
    type Output = Ue;

    fn index(&self, index: usize) -> &Ue {
        self.of[self.place(index)].as_deref().expect("each place has a UE")
    }
}

impl IndexMut<usize> for UesOfCell<'_, '_> {
    fn index_mut(&mut self, index: usize) -> &mut Ue {
        let place = self.place(index);
        self.of[place].as_deref_mut().expect("each place has a UE")
    }
}

impl UeSet for UesOfCell<'_, '_> {
    fn each(&self) -> impl Iterator<Item = &Ue> {
        self.of.iter().flatten().map(|ue| &**ue)
    }
}

/// A cell whose slot begins now, with its UEs.
struct Job<'s, 'u> {
    id: CellId,
    cell: &'s mut Cell,
    ues: UesOfCell<'s, 'u>,
}

impl Job<'_, '_> {
    fn run(
        &mut self,
        (now, topics, air): (Instant, TopicSet, &Air),
        step: &impl Fn(&mut DownlinkMac, &mut UplinkMac, &mut CellSlot<'_, UesOfCell<'_, '_>>),
    ) {
        let Self { id, cell, ues } = self;
        let mut slot = CellSlot {
            now,
            topics,
            number: cell.clock.number,
            id: *id,
            cell: &cell.config,
            phy: &mut cell.phy,
            restrictions: &mut cell.restrictions,
            air,
            ues,
            touched: &mut cell.notes.touched,
            unanswered: &mut cell.notes.unanswered,
            events: &mut cell.notes.events,
        };
        step(&mut cell.downlink, &mut cell.uplink, &mut slot);
    }
}

impl RadioNetwork {
    /// From now on, cells work side by side where the driver calls from a thread of a pool (of `rayon-core`) with several
    /// threads, in steps with at least this work: a UE about which something is decided counts 1, a block that is received 3.
    /// Results do not depend on it. Returns the number of threads that can be used: one for each cell, or one in all if UEs
    /// have several carriers.
    pub fn work_side_by_side(&mut self, least_work: usize) -> usize {
        let are_single = self.ues.iter().all(|ue| ue.links.is_single());
        let threads = if are_single { self.cells.len().max(1) } else { 1 };
        let are_independent = self.cells.iter().all(|cell| cqi::are_independent(&cell.config));
        let shared = || Box::new(SideBySide { least_work, are_independent, ..SideBySide::default() });
        self.side_by_side = (threads > 1).then(shared);
        threads
    }

    /// Number of steps of slots so far in which cells worked side by side.
    #[must_use]
    pub fn steps_side_by_side(&self) -> u64 {
        self.side_by_side.as_ref().map_or(0, |shared| shared.steps)
    }

    /// Whether cells do a step of the slot that begins now side by side, which has this work; finds the UEs of each cell.
    fn may_share(&mut self, now: Instant, work: impl Fn(&Cell) -> usize) -> bool {
        let Some(shared) = &mut self.side_by_side else { return false };
        let work: usize = self.cells.iter().filter(|cell| begins(cell, now)).map(work).sum();
        if work < shared.least_work {
            return false;
        }
        shared.look_at(&self.ues, self.cells.len());
        shared.are_single
    }

    /// Blocks are received.
    pub(super) fn receive_blocks(&mut self, cx: &mut Cx<'_>) {
        let due = |cell: &Cell| {
            WORK_OF_BLOCK
                * (cell.downlink.due_blocks(cell.clock.number) + cell.uplink.due_blocks(cell.clock.number))
        };
        if self.may_share(cx.now, due) {
            self.each_side_by_side(cx, |downlink, uplink, slot| {
                downlink.judge_due(slot);
                uplink.judge_due(slot);
            });
        }
        self.each_cell(cx, |downlink, uplink, slot| {
            downlink.receive(slot);
            uplink.receive(slot);
        });
    }

    /// Blocks are sent, and those of later slots are decided.
    pub(super) fn send_blocks(&mut self, cx: &mut Cx<'_>) {
        let candidates = |cell: &Cell| cell.downlink.candidates() + cell.uplink.candidates();
        if !self.may_share(cx.now, candidates) {
            return self.each_cell(cx, |downlink, uplink, slot| {
                uplink.requests(&mut slot.own());
                uplink.transmit(slot);
                downlink.schedule(slot);
                uplink.schedule(&mut slot.own());
            });
        }
        if self.side_by_side.as_ref().is_some_and(|shared| shared.are_awake && shared.are_independent) {
            self.each_side_by_side(cx, |downlink, uplink, slot| {
                uplink.requests(slot);
                downlink.decide_first(slot);
            });
            self.take_notes(cx.now);
            self.each_cell(cx, |downlink, uplink, slot| {
                uplink.transmit(slot);
                downlink.schedule(slot);
            });
        } else {
            self.each_cell(cx, |downlink, uplink, slot| {
                uplink.requests(&mut slot.own());
                uplink.transmit(slot);
                downlink.schedule(slot);
            });
        }
        self.each_side_by_side(cx, |_, uplink, slot| uplink.schedule(slot));
    }

    /// Collects what the cells have noted, in their order.
    fn take_notes(&mut self, now: Instant) {
        for cell in self.cells.iter_mut().filter(|cell| begins(cell, now)) {
            self.touched.append(&mut cell.notes.touched);
            self.unanswered.append(&mut cell.notes.unanswered);
        }
    }

    /// Runs one step in every cell whose slot begins now and whose radio is on, side by side. [`Self::may_share`] has found
    /// their UEs.
    fn each_side_by_side(
        &mut self,
        cx: &Cx<'_>,
        step: impl Fn(&mut DownlinkMac, &mut UplinkMac, &mut CellSlot<'_, UesOfCell<'_, '_>>) + Sync,
    ) {
        let Some(SideBySide { places, counts, steps, team, .. }) = self.side_by_side.as_deref_mut() else {
            return;
        };
        *steps += 1;
        let mut grouped: Vec<_> = self.ues.iter().map(|_| None).collect();
        let mut from = 0;
        let ranges = counts.iter().map(|&count| {
            let begin = from;
            from += count as usize;
            begin..from
        });
        let ranges: Vec<Range<usize>> = ranges.collect();
        for (ue, &place) in self.ues.iter_mut().zip(&*places) {
            let begin = ranges[ue.cell().index()].start;
            grouped[begin + place as usize] = Some(ue);
        }
        let mut rest = &mut grouped[..];
        let mut jobs = Vec::with_capacity(self.cells.len());
        for ((id, cell), range) in (0..).map(CellId).zip(&mut self.cells).zip(ranges) {
            let (of, others) = core::mem::take(&mut rest).split_at_mut(range.len());
            rest = others;
            if begins(cell, cx.now) {
                jobs.push(Job { id, cell, ues: UesOfCell { of, places } });
            }
        }
        let common = (cx.now, cx.topics, &self.air);
        team.each(&mut jobs, &|job| job.run(common, &step));
    }
}

/// Whether a slot of a cell begins now, and its radio is on.
fn begins(cell: &Cell, now: Instant) -> bool {
    cell.clock.at == Some(now) && cell.restrictions.is_on
}
