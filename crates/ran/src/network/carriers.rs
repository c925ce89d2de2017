//! Carrier aggregation: when the secondary cells (SCells) of a UE are configured, activated, used, deactivated and released
//! ([`scell`]).
//!
//! A UE has one queue in each direction. Cells whose slots begin together take data from it in the order of their numbers, so
//! that blocks of several cells can have parts of one packet. RLC brings them into order.

use airlane_core::{Bytes, CarrierStep, Cx, Dbm, Direction, Instant, UeId};

use super::RadioNetwork;
use crate::cqi::ReportTimes;
use crate::mac::scell::{self, ScellState};
use crate::mac::sleep::Phase;
use crate::rrc::coverage;
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
            self.follow_measurements(cx, index, place);
        }
        self.schedule_carriers(cx.now, index);
    }

    /// Adds a UE with data that listens to the lists of its active SCells, and to that of its PCell if a command waits, and
    /// sets its alarm.
    pub(super) fn schedule_carriers(&mut self, now: Instant, index: usize) {
        let Ue { id, bearers, links, drx, alarm, .. } = &mut self.ues[index];
        let has_data = bearers.has_backlog(Direction::Downlink, now);
        let sends = links.send_to_several()
            && (links.known_backlog() > 0 || bearers.has_backlog(Direction::Uplink, now));
        let listens_from = drx.as_ref().map_or(now, |drx| drx.next_active(now));
        let mut due = Instant::FAR_FUTURE;
        let pcell = links.primary().cell;
        if sends && links.lone_command(pcell) > Bytes::ZERO {
            if listens_from <= now {
                self.cells[pcell.index()].downlink.activate(*id, links.primary_mut());
                self.busy = true;
            } else {
                due = listens_from;
            }
        }
        for link in links.secondary_mut() {
            due = due.min(link.scell.as_ref().map_or(Instant::FAR_FUTURE, |scell| scell.due()));
            if sends && link.is_sent_to() {
                self.cells[link.cell.index()].uplink.activate(*id, link);
                self.busy = true;
            }
            if !has_data || !link.is_in_use() {
                continue;
            }
            if link.downlink.active || listens_from <= now {
                self.cells[link.cell.index()].downlink.activate(*id, link);
                self.busy = true;
            } else {
                due = due.min(listens_from);
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
                scell.deactivate();
            }
        }
    }

    /// The SCells of a UE are released: it leaves its primary cell or its connection.
    pub(super) fn release_carriers(&mut self, cx: &mut Cx<'_>, ue: UeId) {
        self.leave_carriers(cx, ue.index());
        if let Some(gaps) = &mut self.ues[ue.index()].gaps {
            gaps.change_cell(cx.now, false);
        }
        for scell in self.ues[ue.index()].links.scells_mut() {
            scell.release();
        }
    }

    /// A UE that is connected gets the SCells of its primary cell, and measures it for its gaps.
    pub(super) fn configure_carriers(&mut self, now: Instant, ue: UeId) {
        let Ue { links, phase, gaps, .. } = &mut self.ues[ue.index()];
        if *phase == Phase::Connected {
            if let Some(gaps) = gaps {
                gaps.change_cell(now, true);
            }
            let scells = links.with_secondary_cells().filter_map(|(link, _)| link.scell.as_mut());
            scells.for_each(|scell| scell.configure(now));
        }
    }

    /// The primary cell of a UE has changed: the links without it are those with the secondary cells that go with it.
    pub(super) fn move_secondary_links(&mut self, ue: UeId) {
        let links = &mut self.ues[ue.index()].links;
        links.choose_uplinks();
        let pcell = self.cells[links.primary().cell.index()].config.numerology;
        for (link, cell) in links.with_secondary_cells() {
            let config = &self.cells[cell.index()].config;
            if link.cell != cell {
                link.enter(ue, cell, config);
            }
            if let Some(scell) = &mut link.scell {
                scell.reassign(pcell, ReportTimes::of(config, ue.index()));
            }
        }
    }

    /// A UE measures a cell that may be its SCell, and RRC adds or releases that, if it is time.
    fn follow_measurements(&mut self, cx: &mut Cx<'_>, index: usize, place: usize) {
        let Ue { id, links, mobility, .. } = &mut self.ues[index];
        let link = &mut links.secondary_mut()[place];
        let Some(scell) = &mut link.scell else { return };
        let is_configured = scell.is_configured();
        if let Some(events) = scell.measured(cx.now) {
            let rsrp = match self.cells[link.cell.index()].restrictions.is_on {
                true => link.downlink.channel.mean_rsrp(
                    (cx.now, coverage::PERIOD),
                    mobility,
                    &mut events.before,
                    &mut None,
                ),
                false => Dbm(f64::NEG_INFINITY),
            };
            events.measure(cx.now, rsrp, is_configured);
        }
        if !scell.changes(cx.now) {
            return;
        }
        let (id, cell) = (*id, link.cell);
        let (state, step) = match is_configured {
            true => (ScellState::Unconfigured, CarrierStep::Released),
            false => (ScellState::Deactivated, CarrierStep::Configured),
        };
        if is_configured && link.is_in_use() {
            self.change_carrier(cx, index, place, CarrierStep::Deactivated);
        }
        let links = &mut self.ues[index].links;
        links.secondary_mut()[place].scell.as_mut().expect("it was there").state = state;
        scell::report(cx, id, cell, step, links.active_carriers());
    }

    /// An SCell becomes active, or is deactivated: HARQ and CQI reports start again.
    fn change_carrier(&mut self, cx: &mut Cx<'_>, index: usize, place: usize, step: CarrierStep) {
        let Ue { id, links, drx, .. } = &mut self.ues[index];
        let cell = links.secondary_mut()[place].cell;
        links.void_grants(cell);
        let link = &mut links.secondary_mut()[place];
        self.cells[cell.index()].reset_mac(*id, link);
        if let Some(drx) = drx {
            drx.on_flushed(cell, cx.now);
        }
        if let Some(scell) = &mut link.scell {
            match step {
                CarrierStep::Activated => scell.begin(cx.now),
                _ => scell.deactivate(),
            }
        }
        scell::report(cx, *id, cell, step, links.active_carriers());
    }
}
