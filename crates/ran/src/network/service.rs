//! Cells that do not serve as usual: radios that are off, and cells that hand UEs over to their neighbours.
//!
//! *Outage.* The radio of a cell neither sends nor receives: no reference signals, no control, no data.
//! Blocks on the air are lost. The eNB keeps running: it keeps the contexts and the packets of its UEs, and
//! X2 and S1 work. Its UEs detect the outage themselves: they are out of sync, T310 runs, and they search for
//! another cell (TS 36.331 v17.0 §5.3.11, §5.3.7), which fetches their contexts. Without handovers links do
//! not fail: UEs wait until the radio is on again.
//!
//! *Shedding.* The cell decides on handovers without reports, as for load balancing (TS 36.300 §22.4.1;
//! unverified). It starts with the UEs whose best neighbour is best in comparison with the
//! cell itself. Until the end of that time no UE reports the cell, since UEs would otherwise return
//! immediately; a UE that has lost its link may still choose it.
//!
//! Not included: the failure of an eNB with all its state, and that a UE with uplink data would give up the
//! cell earlier because its scheduling requests are not answered (TS 36.321 v17.0 §5.4.4).

use airlane_core::{CellId, Cx, Event, HandoverStep, Instant, Topic, UeId};

use super::RadioNetwork;
use super::handover::HandoverState;
use crate::config::{RanConfig, ServiceKind, ShedAmount};
use crate::rrc::handover::CellChange;
use crate::ue::Ue;

/// A change at an instant. Ends come before starts.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    On,
    NoLongerShunned,
    Off,
    Shed(ShedAmount),
}

impl Change {
    const fn rank(self) -> u8 {
        match self {
            Self::On => 0,
            Self::NoLongerShunned => 1,
            Self::Off => 2,
            Self::Shed(_) => 3,
        }
    }
}

/// The planned changes of the cells.
#[derive(Debug)]
pub(super) struct Plan {
    /// Ascending from the end: the next one is last.
    changes: Vec<(Instant, CellId, Change)>,
    /// The time of the next one.
    due: Instant,
    /// Cells whose radio is off.
    pub(super) off: u32,
}

impl Plan {
    pub(super) fn new(config: &RanConfig) -> Self {
        let mut changes = Vec::new();
        for (cell, settings) in (0..).map(CellId).zip(&config.cells) {
            for time in &settings.service {
                let (begin, end) = match time.kind {
                    ServiceKind::Outage => (Change::Off, Change::On),
                    ServiceKind::Shed(amount) => (Change::Shed(amount), Change::NoLongerShunned),
                };
                changes.push((time.at, cell, begin));
                changes.push((time.at.saturating_add(time.duration), cell, end));
            }
        }
        changes.sort_by_key(|&(at, cell, change)| core::cmp::Reverse((at, change.rank(), cell)));
        let mut plan = Self { changes, due: Instant::FAR_FUTURE, off: 0 };
        plan.find_due();
        plan
    }

    fn find_due(&mut self) {
        self.due = self.changes.last().map_or(Instant::FAR_FUTURE, |(at, ..)| *at);
    }

    fn pop(&mut self) -> Option<(Instant, CellId, Change)> {
        let change = self.changes.pop();
        self.find_due();
        change
    }

    /// The time of the next change.
    #[inline]
    pub(super) const fn due(&self) -> Instant {
        self.due
    }
}

impl RadioNetwork {
    /// Executes the next change of a cell.
    #[cold]
    pub(super) fn change_service(&mut self, cx: &mut Cx<'_>) {
        let Some((now, cell, change)) = self.plan.pop() else { return };
        let mut cx = cx.at(now);
        match change {
            Change::Off => self.switch(&mut cx, cell, false),
            Change::On => self.switch(&mut cx, cell, true),
            Change::Shed(amount) => {
                self.shun(cell, true);
                self.with_handover(&mut cx, |network, state, cx| network.shed(state, cx, cell, amount));
            }
            Change::NoLongerShunned => self.shun(cell, false),
        }
    }

    fn shun(&mut self, cell: CellId, shunned: bool) {
        if let Some(monitor) = &mut self.monitor {
            monitor.shun(cell, shunned);
        }
    }

    /// Switches the radio of a cell off or on.
    fn switch(&mut self, cx: &mut Cx<'_>, cell: CellId, on: bool) {
        self.skip_idle_slots(cx.now);
        self.air.switch(cx.now, cell.index(), on);
        if let Some(monitor) = &mut self.monitor {
            monitor.switch(cell, on);
        }
        let here = &mut self.cells[cell.index()];
        here.restrictions.is_on = on;
        self.plan.off = if on { self.plan.off - 1 } else { self.plan.off + 1 };
        if !on {
            (0..self.ues.len()).for_each(|index| self.lose_radio(cx, index, cell));
        }
        self.find_work();
        self.wake_touched(cx);
        if self.handover.is_some() {
            self.with_handover(cx, |network, state, cx| network.switch_handovers(state, cx, cell, on));
        }
    }

    /// The radio of a cell is off, which may serve this UE.
    fn lose_radio(&mut self, cx: &mut Cx<'_>, index: usize, cell: CellId) {
        let (ue, here) = (&mut self.ues[index], &mut self.cells[cell.index()]);
        if ue.links.find_mut(cell).is_some() {
            ue.links.void_grants(cell);
        }
        let Some(link) = ue.links.find_mut(cell) else { return };
        here.reset_mac(ue.id, link);
        self.touched.push(ue.id.0);
        if ue.cell() != cell {
            return; // a secondary cell, which its timer deactivates
        }
        ue.bearers.lose_signalling();
        ue.reset_drx(&here.config, cx.now);
        if let Some(monitor) = self.monitor.as_mut().filter(|_| ue.is_handed_over()) {
            monitor.change_cell(ue.id);
        }
        self.leave_carriers(cx, index);
    }

    /// Informs handovers and radio links that the radio of a cell has been switched.
    fn switch_handovers(&mut self, state: &mut HandoverState, cx: &mut Cx<'_>, cell: CellId, on: bool) {
        state.procedures.switch(cell, on);
        if let Some(links) = &mut state.links {
            links.check_soon(cx.now);
        }
        if !on {
            for ue in self.ues.iter().filter(|ue| ue.is_handed_over() && ue.cell() == cell) {
                state.procedures.cut_off(ue.id, &mut state.actions);
            }
            self.carry_out(state, cx);
        }
    }

    /// A cell hands UEs over.
    fn shed(&mut self, state: &mut HandoverState, cx: &mut Cx<'_>, cell: CellId, amount: ShedAmount) {
        let Some(monitor) = &self.monitor else { return };
        let is_here = |ue: &Ue| ue.is_present && ue.is_handed_over() && ue.cell() == cell;
        let free = self.ues.iter().filter(|ue| is_here(ue) && state.procedures.is_free(ue.id));
        let served = free.clone().count();
        let with_target =
            |id: UeId| monitor.best_neighbour(id, cell).map(|(target, over)| (over, id, target));
        let mut chosen: Vec<_> = free.filter_map(|ue| with_target(ue.id)).collect();
        chosen.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        chosen.truncate(match amount {
            ShedAmount::Number(ues) => ues as usize,
            ShedAmount::Share(share) => libm::round(share * served as f64) as usize,
        });
        for (_, id, target) in chosen {
            let Some(attempt) = state.procedures.shed(cx.now, id, CellChange { source: cell, target }) else {
                continue;
            };
            if cx.wants(Topic::Handover) {
                let here = self.ues[id.index()].mobility.position_at(cx.now);
                let step = HandoverStep::Reported { from: cell, to: target, position_m: [here.x, here.y] };
                cx.emit(&Event::Handover { ue: id, attempt, step });
            }
        }
        while state.procedures.step(cx.now, &mut state.actions) {
            self.carry_out(state, cx);
        }
    }

    /// UEs of cells whose radio is off have to wait.
    #[cold]
    pub(super) fn wait_for_radio(&mut self, cx: &mut Cx<'_>) {
        self.each_cell_that(
            cx,
            |cell| !cell.restrictions.is_on,
            |downlink, uplink, slot| {
                downlink.wait(slot);
                uplink.wait(slot);
            },
        );
    }
}
