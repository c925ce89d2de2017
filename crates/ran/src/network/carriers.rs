//! Carrier aggregation: when the secondary cells (SCells) of a UE are activated, used and deactivated ([`scell`]).
//!
//! A UE has one queue. Cells whose slots begin together take data from it in the order of their numbers, so that blocks of
//! several cells can have parts of one packet. RLC brings them into order.

use airlane_core::{CarrierStep, Cx, Direction, Instant};

use super::RadioNetwork;
use crate::mac::scell::{self, ScellState};
use crate::ue::Ue;

impl RadioNetwork {
    /// Something has changed for a UE with several carriers: data, time, or a command.
    #[inline(never)]
    pub(super) fn use_carriers(&mut self, cx: &mut Cx<'_>, index: usize) {
        for place in 0..self.ues[index].links.secondary_mut().len() {
            let scell = self.ues[index].links.secondary_mut()[place].scell.as_ref();
            if let Some(step) = scell.and_then(|scell| scell.due_step(cx.now)) {
                self.change_carrier(cx, index, place, step);
            }
        }
        self.schedule_carriers(cx.now, index);
    }

    /// Adds a UE with data to the lists of its active SCells, and sets its alarm.
    pub(super) fn schedule_carriers(&mut self, now: Instant, index: usize) {
        let Ue { id, bearers, links, alarm, .. } = &mut self.ues[index];
        let has_data = bearers.has_backlog(Direction::Downlink, now);
        let mut due = Instant::FAR_FUTURE;
        for link in links.secondary_mut() {
            due = due.min(link.scell.as_ref().map_or(Instant::FAR_FUTURE, |scell| scell.due()));
            if has_data && link.is_in_use() {
                self.cells[link.cell.index()].downlink.activate(*id, link);
                self.busy = true;
            }
        }
        if due != Instant::FAR_FUTURE {
            self.alarms.set(due, *id, alarm);
        }
    }

    /// A UE cannot send feedback for any carrier, because the radio of its primary cell is off, or it is removed: its
    /// SCells are left.
    pub(super) fn leave_carriers(&mut self, cx: &mut Cx<'_>, index: usize) {
        for place in 0..self.ues[index].links.secondary_mut().len() {
            let link = &mut self.ues[index].links.secondary_mut()[place];
            if link.is_in_use() {
                self.change_carrier(cx, index, place, CarrierStep::Deactivated);
            } else if let Some(scell) = &mut link.scell {
                scell.state = ScellState::Deactivated;
            }
        }
    }

    /// An SCell becomes active, or is deactivated: HARQ and CQI reports start again.
    fn change_carrier(&mut self, cx: &mut Cx<'_>, index: usize, place: usize, step: CarrierStep) {
        let Ue { id, links, .. } = &mut self.ues[index];
        let link = &mut links.secondary_mut()[place];
        let cell = link.cell;
        self.cells[cell.index()].reset_mac(*id, link);
        if let Some(scell) = &mut link.scell {
            match step {
                CarrierStep::Activated => scell.begin(cx.now),
                CarrierStep::Commanded | CarrierStep::Deactivated => scell.state = ScellState::Deactivated,
            }
        }
        scell::report(cx, *id, cell, step, links.active_carriers());
    }
}
