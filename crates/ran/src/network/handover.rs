//! The effects of handovers on the network: the part of [`RadioNetwork`] that executes the
//! decisions of [`Handovers`]. It is not used without handovers.

use airlane_core::{
    Bytes, CellId, Cx, Direction, DropCause, Event, HandoverStep, Instant, PacketRef, Port, UeId,
};
use airlane_core::{Seeds, Stream, Topic};
use airlane_net::signalling::Message;

use super::RadioNetwork;
use super::radio_link::RadioLinks;
use crate::bearer::{Departure, HandoverMode, HandoverStatistics};
use crate::config::RanConfig;
use crate::link::Radio;
use crate::rrc::handover::{Action, CellChange, Handover, Handovers};
use crate::rrc::random_access::Attempt;
use crate::slot::Ports;
use crate::ue::Ue;
use crate::x2::{Forwarding, X2Config, X2Statistics};

/// The state of handovers in the network.
#[derive(Debug)]
pub(super) struct HandoverState {
    pub(super) mode: HandoverMode,
    x2: X2Config,
    pub(super) procedures: Handovers,
    /// `None` during a call that uses them, or if links cannot fail.
    pub(super) links: Option<RadioLinks>,
    /// By UE.
    pub(super) forwarding: Vec<Forwarding>,
    /// Draws of whether a UE receives the random access response, by UE.
    access_draws: Vec<Stream>,
    /// UEs with forwarded data, ascending.
    forwarding_for: Vec<u32>,
    /// Counters at the start of the latest handover, by UE.
    before: Vec<Before>,
    pub(super) actions: Vec<Action>,
    pub(super) departure: Departure,
}

/// Counters at the start of a handover, and its number.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    attempt: u32,
    x2: X2Statistics,
    bearer: HandoverStatistics,
}

impl HandoverState {
    pub(super) fn new(config: &RanConfig, ues: &[Ue], seeds: Seeds) -> Option<Self> {
        let handover = config.handover?;
        let forwarding = |ue: usize| Forwarding::new(handover.x2, seeds.stream(&format!("ue/{ue}/x2")));
        let limits = config.cells.iter().map(|cell| cell.max_ues);
        Some(Self {
            mode: handover.mode,
            x2: handover.x2,
            procedures: Handovers::new(handover, ues.iter().map(Ue::cell), limits, seeds),
            links: handover.radio_link.map(|config| RadioLinks::new(config, ues.len())),
            forwarding: (0..ues.len()).map(forwarding).collect(),
            access_draws: (0..ues.len()).map(|ue| seeds.stream(&format!("ue/{ue}/random-access"))).collect(),
            forwarding_for: Vec::new(),
            before: vec![Before::default(); ues.len()],
            actions: Vec::new(),
            departure: Departure::default(),
        })
    }

    /// A UE was added.
    pub(super) fn add_ue(&mut self, ue: &Ue, seeds: Seeds) {
        let index = ue.id.0;
        self.forwarding.push(Forwarding::new(self.x2, seeds.stream(&format!("ue/{index}/x2"))));
        self.access_draws.push(seeds.stream(&format!("ue/{index}/random-access")));
        self.before.push(Before::default());
        self.procedures.add_ue(ue.cell());
        if let Some(links) = &mut self.links {
            links.add_ue();
        }
    }

    /// A UE was removed: its handover ends, and its packets on X2 are discarded.
    pub(super) fn remove_ue(&mut self, cx: &mut Cx<'_>, ue: UeId) {
        self.forwarding[ue.index()].discard(cx, DropCause::NoRoute);
        self.forwarding_for.retain(|other| *other != ue.0);
        self.procedures.remove_ue(ue);
        if let Some(links) = &mut self.links {
            links.remove_ue(ue);
        }
    }

    /// Whether no procedure is under way for a UE, and its link has not failed.
    pub(super) fn is_at_rest(&self, ue: UeId) -> bool {
        let is_linked = self.links.as_ref().is_none_or(|links| links.is_connected(ue));
        is_linked && self.procedures.is_free(ue) && self.forwarding[ue.index()].is_idle()
    }

    /// When the next action is due.
    pub(super) fn due(&self) -> Instant {
        let x2 = self.forwarding_for.iter().filter_map(|ue| self.forwarding[*ue as usize].next_timeout());
        let links = self.links.as_ref().map(RadioLinks::due);
        x2.chain(links).fold(self.procedures.due(), Instant::min)
    }

    pub(super) fn packets_held(&self) -> usize {
        self.forwarding_for.iter().map(|ue| self.forwarding[*ue as usize].packets_held()).sum()
    }

    /// Reports the data that the source has forwarded in the latest handover of a UE.
    fn observe_forwarded(&self, cx: &mut Cx<'_>, ue: &Ue) {
        let Before { attempt, x2, bearer } = self.before[ue.id.index()];
        let (x2_now, bearer_now) =
            (self.forwarding[ue.id.index()].statistics(), ue.bearers.handover_statistics());
        let step = HandoverStep::Forwarded {
            packets: x2_now.entered - x2.entered,
            bytes: Bytes(x2_now.entered_bytes - x2.entered_bytes),
            dropped: bearer_now.dropped - bearer.dropped + x2_now.lost - x2.lost + x2_now.overflows
                - x2.overflows,
        };
        cx.emit(&Event::Handover { ue: ue.id, attempt, step });
    }

    /// Passes the data that leaves X2 now to its bearers.
    fn receive_forwarded(&mut self, cx: &mut Cx<'_>, ues: &mut [Ue], touched: &mut Vec<u32>) {
        for &index in &self.forwarding_for {
            let (forwarding, ue) = (&mut self.forwarding[index as usize], &mut ues[index as usize]);
            if forwarding.next_timeout().is_some_and(|at| at <= cx.now) {
                forwarding.handle_timeout(cx, &mut ue.bearers);
                touched.push(index);
                if forwarding.is_idle() {
                    self.observe_forwarded(cx, ue);
                }
            }
        }
        let forwarding = &self.forwarding;
        self.forwarding_for.retain(|ue| !forwarding[*ue as usize].is_idle());
    }
}

impl RadioNetwork {
    /// When a UE measures or a handover continues.
    pub(super) fn handovers_due(&self) -> Instant {
        let (Some(state), Some(monitor)) = (&self.handover, &self.monitor) else {
            return Instant::FAR_FUTURE;
        };
        state.due().min(monitor.next())
    }

    /// Runs the actions of handovers at one instant, the first that is not after `until`: UEs measure
    /// and report, procedures continue, X2 delivers. Returns false if there is none.
    pub(super) fn hand_over(&mut self, cx: &mut Cx<'_>, until: Instant) -> bool {
        let now = self.handovers_due();
        if now > until || now == Instant::FAR_FUTURE {
            return false;
        }
        self.measure_until(now);
        let mut cx = cx.at(now);
        self.with_handover(&mut cx, |network, state, cx| {
            network.check_links(state, cx);
            network.take_reports(state, cx);
            state.receive_forwarded(cx, &mut network.ues, &mut network.touched);
            while state.procedures.step(cx.now, &mut state.actions) {
                network.carry_out(state, cx);
            }
        });
        true
    }

    /// Calls `act` with both, and then updates the bearers that it changed.
    pub(super) fn with_handover(
        &mut self,
        cx: &mut Cx<'_>,
        act: impl FnOnce(&mut Self, &mut HandoverState, &mut Cx<'_>),
    ) {
        let mut state = self.handover.take().expect("there are handovers");
        act(self, &mut state, cx);
        self.handover = Some(state);
        self.find_work();
        self.skip_idle_slots(cx.now);
        for index in &self.touched {
            if let Some(at) = self.ues[*index as usize].bearers.next_timeout() {
                self.bearers_due = self.bearers_due.min(at);
            }
        }
        self.wake_touched(cx);
    }

    fn take_reports(&mut self, state: &mut HandoverState, cx: &mut Cx<'_>) {
        while let Some(report) = self.take_measurement_report() {
            if self.connections.as_ref().is_some_and(|connections| !connections.may_hand_over(report.ue)) {
                continue;
            }
            let ue = &mut self.ues[report.ue.index()];
            let (from, to) = (ue.cell(), report.target);
            let Some(attempt) =
                state.procedures.report(cx.now, ue.id, CellChange { source: from, target: to })
            else {
                continue;
            };
            if cx.wants(Topic::Handover) {
                let here = ue.mobility.position_at(cx.now);
                let step = HandoverStep::Reported { from, to, position_m: [here.x, here.y] };
                cx.emit(&Event::Handover { ue: ue.id, attempt, step });
            }
        }
    }

    pub(super) fn carry_out(&mut self, state: &mut HandoverState, cx: &mut Cx<'_>) {
        let mut actions = core::mem::take(&mut state.actions);
        for action in actions.drain(..) {
            match action {
                Action::Observe { ue, attempt, step } => cx.emit(&Event::Handover { ue, attempt, step }),
                Action::Leave { ue, attempt } => self.leave(state, cx, ue, attempt),
                Action::Arrive { ue, target, first } => {
                    if first {
                        if let Some(links) = &mut state.links {
                            links.arrive(ue);
                        }
                        self.arrive(cx, ue, target);
                    }
                    let request = Message::PathSwitchRequest { ue, cell: target }.packet(cx);
                    cx.send(self.s1u_port(target.index()), request);
                }
                Action::Access(handover) => self.access(state, cx.now, handover),
                Action::EndPath { ue, cell } => self.end_path(state, cx, ue, cell),
            }
        }
        state.actions = actions;
    }

    /// A UE leaves its cell: both ends of its bearer are re-established, its MAC is reset, and the
    /// unsent data of the source are forwarded over X2.
    fn leave(&mut self, state: &mut HandoverState, cx: &mut Cx<'_>, id: UeId, attempt: u32) {
        if let Some(links) = &mut state.links {
            links.leave(cx.now, id);
        }
        if self.has_secondary_node(id) {
            return self.leave_with_secondary_node(cx, id, attempt);
        }
        self.release_carriers(cx, id);
        let first_ue = self.first_ue_port();
        let ue = &mut self.ues[id.index()];
        if !state.forwarding[id.index()].is_idle() {
            state.observe_forwarded(cx, ue); // the counters from here on belong to this handover
        }
        let (forwarding, departure) = (&mut state.forwarding[id.index()], &mut state.departure);
        state.before[id.index()] =
            Before { attempt, x2: forwarding.statistics(), bearer: ue.bearers.handover_statistics() };
        ue.bearers.leave(cx, state.mode, departure);
        forwarding.begin(cx, ue.cell(), departure);
        ue.bearers.lose_signalling();
        ue.reset_drx(&self.cells[ue.cell().index()].config, cx.now);
        for link in ue.links.iter_mut() {
            self.cells[link.cell.index()].reset_mac(id, link);
        }
        let ports = Ports { s1u: ue.cell().0 as Port, first_ue };
        ports.send(cx, Direction::Downlink, id.0, &mut departure.downlink);
        ports.send(cx, Direction::Uplink, id.0, &mut departure.uplink);
        if let Err(place) = state.forwarding_for.binary_search(&id.0) {
            state.forwarding_for.insert(place, id.0);
        }
        state.observe_forwarded(cx, ue);
        self.touched.push(id.0);
    }

    /// A UE with a secondary node leaves its master node: PDCP is above its cell groups, and has their data.
    fn leave_with_secondary_node(&mut self, cx: &mut Cx<'_>, ue: UeId, attempt: u32) {
        let (packets, bytes) = self.leave_master(cx, ue);
        self.reset_mac(ue, cx.now);
        cx.emit(&Event::Handover {
            ue,
            attempt,
            step: HandoverStep::Forwarded { packets, bytes, dropped: 0 },
        });
        self.touched.push(ue.0);
    }

    /// A UE attempts random access to its target, to which it is synchronized.
    fn access(&mut self, state: &mut HandoverState, now: Instant, handover: Handover) {
        let Handover { ue: id, target, .. } = handover;
        self.change_cell(now, id, target);
        let succeeds = match &mut state.links {
            _ if !self.cells[target.index()].restrictions.is_on => false,
            None => true,
            Some(links) => {
                let Ue { mobility, links: serving, .. } = &mut self.ues[id.index()];
                let (link, cell) = (serving.with_mut(target), &mut self.cells[target.index()]);
                let radio = Radio { cell: &cell.config, air: &self.air };
                let attempt = Attempt::at(&cell.config, link, mobility, now, links.attempts(id));
                let control_sinr = link.control_sinr(now, mobility, radio, cell.phy.sinr_mut());
                let draws = &mut state.access_draws[id.index()];
                links.may_access(now, id) && attempt.succeeds(control_sinr, draws)
            }
        };
        state.procedures.access(now, handover, succeeds);
    }

    /// T304 has expired: the UE returns to its configuration in the source (TS 36.331 v17.0 §5.3.5.6).
    pub(super) fn fail_access(&mut self, state: &mut HandoverState, cx: &mut Cx<'_>, id: UeId) {
        let (attempt, source) = state.procedures.fail_access(id);
        self.change_cell(cx.now, id, source);
        cx.emit(&Event::Handover { ue: id, attempt, step: HandoverStep::AccessFailed });
    }

    /// A UE has arrived at a cell.
    fn arrive(&mut self, cx: &mut Cx<'_>, ue: UeId, target: CellId) {
        self.change_cell(cx.now, ue, target);
        if self.has_secondary_node(ue) {
            return self.enter_master(cx, ue);
        }
        self.configure_carriers(cx.now, ue);
        self.ues[ue.index()].bearers.arrive(cx);
        self.touched.push(ue.0);
    }

    /// No more packets arrive for a UE over the path of a cell that it has left.
    fn end_path(&mut self, state: &mut HandoverState, cx: &mut Cx<'_>, ue: UeId, cell: CellId) {
        let forwarding = &mut state.forwarding[ue.index()];
        if forwarding.expects_end_marker(cell) {
            forwarding.receive_end_marker(cx, cell, &mut self.ues[ue.index()].bearers);
        }
    }

    /// A message of the mobile core has arrived at a cell.
    #[cold]
    pub(super) fn receive_signalling(&mut self, cx: &mut Cx<'_>, cell: CellId, packet: PacketRef) {
        let message = Message::decode(&cx.pool.get(&packet).payload);
        let is_present = |ue: UeId| self.ues.get(ue.index()).is_some_and(|ue| ue.is_present);
        let known = |ue: UeId| is_present(ue) && self.handover.is_some();
        match message {
            Some(Message::EndMarker { ue }) if known(ue) => {
                let _ = cx.pool.consume(packet);
                self.with_handover(cx, |network, state, cx| network.end_path(state, cx, ue, cell));
            }
            Some(Message::PathSwitchRequestAcknowledge { ue }) if known(ue) => {
                let _ = cx.pool.consume(packet);
                self.with_handover(cx, |network, state, cx| {
                    state.procedures.path_switched(cx.now, ue, cell, &mut state.actions);
                    network.carry_out(state, cx);
                });
            }
            _ => cx.discard(packet, DropCause::NoRoute),
        }
    }

    /// A packet for or from a UE during a handover: it may have to wait or be forwarded.
    #[cold]
    pub(super) fn receive_packet(
        &mut self,
        cx: &mut Cx<'_>,
        direction: Direction,
        id: UeId,
        cell: CellId,
        packet: PacketRef,
    ) {
        self.with_handover(cx, |network, state, cx| {
            let (forwarding, ue) = (&mut state.forwarding[id.index()], &mut network.ues[id.index()]);
            if direction == Direction::Uplink || forwarding.is_idle() {
                ue.bearers.submit(cx, direction, packet);
            } else {
                forwarding.receive(cx, cell, packet, &mut ue.bearers);
            }
            network.touched.push(id.0);
        });
    }
}
