//! The UEs with downlink data that a slot has to evaluate, where candidates stand from slot to slot.
//!
//! That is a cell under proportional fair whose UEs have steady reports: it is the only one of its network. The
//! scheduler's knowledge of a UE that waits changes only with
//! - its backlog, from zero or to zero: by a packet, a block in either direction, or a timer of its bearer;
//! - its HARQ processes: by its own blocks and their acknowledgments;
//! - its past throughput: when it is served;
//! - its reports. Those of a UE that stays in its place, without bursts of interference, are a function of the slot of
//!   their measurement. Without fading all are equal. With fading they are computed where the scheduler needs them,
//!   and their upper bound is constant;
//! - its bandwidth part: such a UE is evaluated in each slot;
//! - the restrictions of the cell ([`super::restrictions`]), which say until when they hold.
//!
//! A UE is therefore evaluated in the slot after such a change, and in each slot if its reports need that: until the
//! first one, while it moves, with bursts, and while it is out of range, since that is reported in each slot; or if a
//! restriction changes by itself.

use airlane_core::{Direction, Instant};

use super::downlink::{DownlinkMac, RbgSizes};
use super::gaps::Listening;
use super::phy::SlotFormat;
use super::reports::note_unsent;
use super::restrictions::Availability;
use super::scheduler::{Demand, Rates, SharedSlot};
use crate::cqi::MeasuringUe;
use crate::link::{Radio, ServingLink};
use crate::slot::{CellSlot, UeSet};
use crate::ue::Ue;

/// The UEs to evaluate.
#[derive(Debug)]
pub(super) struct Changes {
    /// Those of the next slot, each once.
    next: Vec<u32>,
    /// Those of this slot.
    now: Vec<u32>,
    /// By UE.
    marks: Vec<Mark>,
    /// The latest slot in which UEs were evaluated. The reports of waiting UEs are those that an evaluation in this
    /// slot would have put into force.
    latest: u64,
    /// There is no fading.
    flat: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    /// It is among the next.
    changed: bool,
    /// It was evaluated, and has had data since.
    followed: bool,
}

impl Changes {
    fn new(ues: usize, flat: bool) -> Self {
        Self {
            next: Vec::with_capacity(ues),
            now: Vec::with_capacity(ues),
            marks: vec![Mark::default(); ues],
            latest: 0,
            flat,
        }
    }

    /// A UE was added to the network.
    pub(super) fn add_ue(&mut self) {
        self.marks.push(Mark::default());
    }

    /// A UE has to be evaluated in the next slot.
    #[inline]
    pub(super) fn add(&mut self, ue: u32) {
        let mark = &mut self.marks[ue as usize];
        if !mark.changed {
            mark.changed = true;
            self.next.push(ue);
        }
    }

    /// A UE has no data any more.
    pub(super) fn stop_following(&mut self, ue: u32, link: &mut ServingLink) {
        self.use_reports(ue, link);
        self.marks[ue as usize].followed = false;
    }

    /// A UE leaves the cell.
    pub(super) fn forget(&mut self, ue: u32) {
        self.marks[ue as usize].followed = false;
    }

    /// Puts the reports into force that a UE with data has made since it was evaluated.
    pub(super) fn use_reports(&self, ue: u32, link: &mut ServingLink) {
        if self.marks[ue as usize].followed {
            link.downlink.cqi.continue_steady(self.latest);
        }
    }
}

impl DownlinkMac {
    /// From now on candidates stand from slot to slot, if the policy allows that. `flat` is true without fading. To be
    /// called only for the only cell of a network.
    pub(crate) fn keep_candidates(&mut self, ues: usize, flat: bool) {
        if self.scheduler.keep_candidates(ues) {
            self.changes = Some(Changes::new(ues, flat));
        }
    }

    /// The backlog or the HARQ processes of a UE may have changed.
    #[inline]
    pub(crate) fn note_change(&mut self, ue: u32) {
        if let Some(changes) = &mut self.changes {
            changes.add(ue);
        }
    }

    /// The answers of [`Restrictions`](super::restrictions::Restrictions) have changed.
    #[cold]
    pub(super) fn note_all(&mut self) {
        if let Some(changes) = &mut self.changes {
            self.active.iter().for_each(|&ue| changes.add(ue));
        }
    }

    /// The reports of a UE are about to be used outside of its slots.
    pub(crate) fn use_reports(&self, ue: u32, link: &mut ServingLink) {
        if let Some(changes) = &self.changes {
            changes.use_reports(ue, link);
        }
    }

    /// Looks at the UEs that have changed.
    pub(super) fn look_at_changes<U: UeSet + ?Sized>(&mut self, slot: &mut CellSlot<'_, U>) {
        let mut now = core::mem::take(&mut self.changes_mut().now);
        core::mem::swap(&mut now, &mut self.changes_mut().next);
        now.sort_unstable();
        for index in now.drain(..) {
            self.changes_mut().marks[index as usize].changed = false;
            if slot.link(index).downlink.active {
                self.look_at(slot, index);
            }
        }
        let changes = self.changes_mut();
        (changes.now, changes.latest) = (now, slot.number);
    }

    fn changes_mut(&mut self) -> &mut Changes {
        self.changes.as_mut().expect("candidates stand here")
    }

    /// Looks at a UE that has had data.
    fn look_at<U: UeSet + ?Sized>(&mut self, slot: &mut CellSlot<'_, U>, index: u32) {
        let ue = &mut slot.ues[index as usize];
        let has_backlog = ue.has_backlog(Direction::Downlink, slot.now);
        let Ue { mobility, links, drx, gaps, .. } = ue;
        let link = links.with_mut(slot.id);
        if !has_backlog {
            return self.remove_active(index, link);
        }
        let radio = Radio { cell: slot.cell, air: slot.air };
        let has_special = !slot.phy.has_empty_special_slots();
        let (amc, scratch) = slot.phy.amc_and_sinr(Direction::Downlink);
        let gaps = gaps.as_deref();
        let measuring = MeasuringUe { mobility, drx: drx.as_deref_mut(), gaps };
        link.measure_cqi(slot.number, measuring, radio, amc, scratch);
        let listening = Listening { drx: drx.as_deref(), gaps };
        let block = self.planned(slot.cell);
        let pdcch = block.pdcch;
        let answer = slot.restrictions.may_be_scheduled(index, link, listening, block);
        if answer.rests(pdcch) {
            slot.touched.push(index);
            return self.remove_active(index, link);
        }
        let Availability { may_be_scheduled, until } = answer;
        let mut is_settled = until == Instant::FAR_FUTURE && link.has_steady_reports(mobility, radio.air);
        let mut rates = None;
        if may_be_scheduled {
            let mut sizes = RbgSizes::new(&self.grid, SlotFormat::Whole, amc, radio);
            let flat = self.changes_mut().flat;
            let kinds: &[_] =
                if has_special { &[SlotFormat::Whole, SlotFormat::Special] } else { &[SlotFormat::Whole] };
            for &format in kinds {
                sizes.format = format;
                let rate = match flat {
                    true => sizes.rates(link, mobility, true, scratch)[0],
                    false => sizes.most(&link.downlink),
                };
                rates.get_or_insert_with(Rates::default)[format as usize] = rate;
            }
            if flat && sizes.is_out_of_range(&link.downlink) {
                note_unsent(slot.topics, slot.events, ue);
                is_settled = false;
            }
        }
        self.scheduler.set_candidate(index, rates);
        let changes = self.changes_mut();
        changes.marks[index as usize].followed = true;
        if !is_settled {
            changes.add(index);
        }
    }

    /// A UE has no data that could be sent now.
    fn remove_active(&mut self, index: u32, link: &mut ServingLink) {
        link.downlink.active = false;
        self.changes_mut().stop_following(index, link);
        self.scheduler.set_candidate(index, None);
        if let Ok(place) = self.active.binary_search(&index) {
            self.active.remove(place);
        }
    }

    /// The policy assigns the slot to candidates that stand.
    pub(super) fn share_among_standing<U: UeSet + ?Sized>(&mut self, slot: &mut CellSlot<'_, U>) {
        let (number, flat) = (self.decision(slot.cell), self.changes_mut().flat);
        let (amc, scratch) = slot.phy.amc_and_sinr(Direction::Downlink);
        let (ues, events, cell, now) = (&mut *slot.ues, &mut *slot.events, slot.id, slot.now);
        let pdcch = self.pdcch(slot.cell);
        let radio = Radio { cell: slot.cell, air: slot.air };
        let sizes = RbgSizes::new(&self.grid, self.format, amc, radio);
        let demand_of = |index: u32| {
            let ue = &mut ues[index as usize];
            let backlog = ue.backlog(Direction::Downlink, now);
            let link = ue.links.with_mut(cell);
            let measuring = MeasuringUe {
                mobility: &mut ue.mobility,
                drx: ue.drx.as_deref_mut(),
                gaps: ue.gaps.as_deref(),
            };
            link.measure_cqi(slot.number, measuring, radio, amc, scratch);
            let mut demand = Demand::new(index, backlog, flat, sizes.most(&link.downlink))
                .on_part(link.usable_rbgs(pdcch));
            if sizes.evaluate(cell, ue, &mut demand, scratch) {
                note_unsent(slot.topics, events, ue);
            }
            demand
        };
        let shared = SharedSlot { number, format: self.format as usize, flat };
        self.scheduler.schedule_standing(shared, &mut self.demands, &mut self.grid, demand_of);
    }
}
