//! The secondary cell groups ([`crate::dual::scg`]) in the network: what they measure, and what their steps change.

use airlane_core::{CellId, Cx, Dbm, Direction, Duration, Event, Instant, ScgStep, Topic, UeId};

use super::RadioNetwork;
use crate::dual::CellGroup;
use crate::dual::scg::{Action, PERIOD, Scg};
use crate::link::Radio;
use crate::ue::Ue;

/// From an SCG failure until the secondary node knows it, besides X2: scheduling request, grant and processing of
/// SCGFailureInformation (choice).
const FAILURE_INFORMATION: Duration = Duration::from_millis(20);

impl Ue {
    /// RSRP of all cells over the last period, by cell.
    pub(super) fn measure(&mut self, now: Instant, out: &mut [Dbm]) {
        let mut before = vec![None; out.len()];
        self.links.primary_mut().measure_mean_rsrp(now, PERIOD, &mut self.mobility, &mut before, out);
    }
}

impl RadioNetwork {
    /// Does what is due for the secondary cell group of a UE.
    pub(super) fn serve_scg(&mut self, cx: &mut Cx<'_>, place: usize) {
        let Some(mut dual) = self.dual.take() else { return };
        let leg = dual.secondary(place);
        let group = &mut dual.groups[place];
        let mut actions = Vec::new();
        if group.due() <= cx.now && self.ues[leg.index()].is_present {
            self.observe_pscell(cx.now, group, leg, &mut actions);
        }
        dual.find_due();
        self.dual = Some(dual);
        for action in actions {
            self.change_scg(cx, place, leg, action);
        }
    }

    fn observe_pscell(&mut self, now: Instant, group: &mut Scg, leg: UeId, actions: &mut Vec<Action>) {
        let (ue, cells) = (&mut self.ues[leg.index()], &mut self.cells);
        actions.extend(group.begin());
        if group.measures(now) {
            let mut rsrp = vec![Dbm(f64::NEG_INFINITY); cells.len()];
            ue.measure(now, &mut rsrp);
            let of = |cell: &CellId| match cells[cell.index()].restrictions.is_on {
                true => rsrp[cell.index()],
                false => Dbm(f64::NEG_INFINITY),
            };
            let rsrp: Vec<_> = group.candidates().iter().map(of).collect();
            actions.extend(group.measure(now, &rsrp));
        }
        if group.evaluates(now) {
            let Ue { links, mobility, bearers, .. } = ue;
            let link = links.primary_mut();
            let cell = &mut cells[link.cell.index()];
            let radio = Radio { cell: &cell.config, air: &self.air };
            let sinr = match cell.restrictions.is_on {
                true => link.control_sinr(now, mobility, radio, cell.phy.sinr_mut()),
                false => 0.0,
            };
            let maxima = [Direction::Downlink, Direction::Uplink].map(|way| bearers.radio_link_failures(way));
            actions.extend(group.evaluate(now, sinr, maxima.iter().sum()));
        }
        while let Some(action) = group.step(now, |cell| cells[cell.index()].restrictions.is_on) {
            actions.push(action);
        }
    }

    /// Carries out a step of the secondary cell group of a UE.
    fn change_scg(&mut self, cx: &mut Cx<'_>, place: usize, leg: UeId, action: Action) {
        let (cell, step) = match action {
            Action::Begin(cell) => (cell, ScgStep::Added),
            Action::Report(cell) => (cell, ScgStep::Reported),
            Action::Leave(cell) => {
                self.leave_pscell(cx, place, leg, Duration::ZERO);
                (cell, ScgStep::Released)
            }
            Action::Fail(cell) => {
                self.leave_pscell(cx, place, leg, FAILURE_INFORMATION);
                (cell, ScgStep::Failed)
            }
            Action::Add(cell) => {
                self.enter_pscell(cx, place, leg, cell);
                (cell, ScgStep::Added)
            }
        };
        if cx.wants(Topic::Scg) {
            let dual = self.dual.as_ref().expect("it was put back");
            let has_scg = dual.bearers[place].has_scg();
            cx.emit(&Event::Scg { ue: dual.master(place), cell, step, has_scg });
        }
    }

    /// The PSCell is left: its MAC and its RLC entities are released, and what they had not delivered goes to the MCG.
    fn leave_pscell(&mut self, cx: &mut Cx<'_>, place: usize, leg: UeId, informed: Duration) {
        self.with_bearer(cx, place, |bearer, network, cx, out| {
            let undelivered = network.ues[leg.index()].bearers.release(cx);
            network.reset_mac(leg, cx.now);
            bearer.lose_scg(cx, undelivered, informed, out);
        });
        self.find_work();
    }

    /// A UE leaves its master node, by the command of a handover or because its radio link has failed, and its SCG with it.
    pub(super) fn leave_scg_of(&mut self, cx: &mut Cx<'_>, ue: UeId, keeps: bool) {
        let Some(mut dual) = self.dual.take() else { return };
        let place = dual.place_of(ue);
        let leg = dual.secondary(place);
        let action = dual.groups[place].leave_master(keeps);
        dual.find_due();
        self.dual = Some(dual);
        if let Some(action) = action {
            self.change_scg(cx, place, leg, action);
        }
    }

    fn enter_pscell(&mut self, cx: &mut Cx<'_>, place: usize, leg: UeId, cell: CellId) {
        let of_leg = &mut self.ues[leg.index()];
        let link = of_leg.links.primary_mut();
        if link.cell != cell {
            self.cells[link.cell.index()].forget(leg);
            link.enter(leg, cell, &self.cells[cell.index()].config);
        }
        of_leg.reset_drx(&self.cells[cell.index()].config, cx.now);
        self.with_bearer(cx, place, |bearer, _, cx, out| {
            bearer.add_scg(cx.now);
            bearer.feed(cx, out);
        });
    }
}

impl super::dual::DualConnectivity {
    /// The UE of a place.
    fn master(&self, place: usize) -> UeId {
        self.bearers[place].leg(CellGroup::Master)
    }

    /// Its secondary cell group.
    fn secondary(&self, place: usize) -> UeId {
        self.bearers[place].leg(CellGroup::Secondary)
    }
}
