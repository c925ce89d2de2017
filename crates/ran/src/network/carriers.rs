//! Carrier aggregation: when the secondary cells (SCells) of a UE are activated, used and deactivated ([`scell`]).
//!
//! A UE has one queue. Cells whose slots begin together take data from it in the order of their numbers, so that blocks of
//! several cells can have parts of one packet. RLC brings them into order.
//!
//! [`scell`]: crate::mac::scell

use airlane_core::{CarrierStep, CellId, Cx, Direction, Event, Instant, Topic, UeId};

use super::{Cell, RadioNetwork};
use crate::link::ServingLink;
use crate::mac::scell::ScellState;
use crate::ue::Ue;

/// A change that was not reported yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct CarrierChange {
    at: Instant,
    ue: UeId,
    cell: CellId,
    step: CarrierStep,
    active: u32,
}

/// The change of an SCell that is due.
fn due_step(link: &ServingLink, now: Instant) -> Option<CarrierStep> {
    let scell = link.scell.as_ref()?;
    if scell.due() > now {
        return None;
    }
    Some(if scell.is_active() { CarrierStep::Deactivated } else { CarrierStep::Activated })
}

impl RadioNetwork {
    /// A UE begins.
    pub(super) fn begin_carriers(&mut self, now: Instant, index: usize) {
        if !self.ues[index].links.is_single() {
            self.schedule_carriers(now, index);
        }
    }

    /// Something has changed for a UE with several carriers: data, time, or a command.
    #[inline(never)]
    pub(super) fn use_carriers(&mut self, now: Instant, index: usize) {
        let ue = &mut self.ues[index];
        let queue = ue.bearers.queue(Direction::Downlink);
        for place in 0..ue.links.secondary_mut().len() {
            let link = &mut ue.links.secondary_mut()[place];
            let (id, cell) = (link.cell, &mut self.cells[link.cell.index()]);
            let step = due_step(link, now);
            if step.is_some() {
                cell.reset_mac(ue.id, link);
            }
            if let Some(scell) = &mut link.scell {
                match step {
                    Some(CarrierStep::Activated) => scell.begin(now),
                    Some(_) => scell.state = ScellState::Deactivated,
                    None if scell.is_wanted(queue) => scell.state = ScellState::Wanted,
                    None => {}
                }
            }
            if let Some(step) = step {
                let change = CarrierChange { at: now, ue: ue.id, cell: id, step, active: 0 };
                self.carrier_changes.push(CarrierChange { active: ue.links.active_carriers(), ..change });
            }
        }
        self.schedule_carriers(now, index);
    }

    /// Adds a UE with data to the lists of its active SCells, and sets its alarm.
    fn schedule_carriers(&mut self, now: Instant, index: usize) {
        let Ue { id, bearers, links, alarm, .. } = &mut self.ues[index];
        let has_data = bearers.has_backlog(Direction::Downlink, now);
        let mut due = Instant::FAR_FUTURE;
        for link in links.secondary_mut() {
            due = due.min(link.scell.as_ref().map_or(Instant::FAR_FUTURE, |scell| scell.due()));
            if has_data && link.is_in_use() {
                let Cell { downlink, .. } = &mut self.cells[link.cell.index()];
                downlink.activate(*id, link);
                self.busy = true;
            }
        }
        if due != Instant::FAR_FUTURE {
            self.alarms.set(due, *id, alarm);
        }
    }

    /// The radio of the primary cell of a UE is off, so that feedback for no carrier arrives: its SCells are left.
    pub(super) fn leave_carriers(&mut self, now: Instant, index: usize) {
        let Ue { id, links, .. } = &mut self.ues[index];
        for place in 0..links.secondary_mut().len() {
            let link = &mut links.secondary_mut()[place];
            let cell = link.cell;
            self.cells[cell.index()].reset_mac(*id, link);
            let was_active = link.is_in_use();
            if let Some(scell) = &mut link.scell {
                scell.state = ScellState::Deactivated;
            }
            if was_active {
                let (at, ue, step) = (now, *id, CarrierStep::Deactivated);
                let active = links.active_carriers();
                self.carrier_changes.push(CarrierChange { at, ue, cell, step, active });
            }
        }
    }

    /// Reports the changes of carriers.
    #[inline]
    pub(super) fn report_carriers(&mut self, cx: &mut Cx<'_>) {
        if !self.carrier_changes.is_empty() {
            self.report_carrier_changes(cx);
        }
    }

    #[cold]
    fn report_carrier_changes(&mut self, cx: &mut Cx<'_>) {
        for CarrierChange { at, ue, cell, step, active } in self.carrier_changes.drain(..) {
            if cx.topics.wants(Topic::Carrier) {
                cx.probe.observe(at, &Event::Carrier { ue, cell, step, active });
            }
        }
    }
}
