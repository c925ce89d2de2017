//! Radio link monitoring in a network with handovers: when each link is checked, and what a failure
//! causes.
//!
//! Resolution: [`FRAME`], 10 ms, for UEs whose link may fail, and [`ROUND`], 200 ms, to find these UEs. A
//! UE whose SINR before fading is above [`REACH`] is out of sync only if its whole band fades for 200 ms,
//! and is not checked. Timers act at the next frame.
//!
//! Differences from TS 36.331 v17.0 §5.3.7: the source stops sending when the UE does, although a real
//! one has no information yet; and a released UE sets up a new connection with all data of its bearer.

use airlane_core::{CellId, Cx, Direction, Duration, Event, HandoverStep, Instant, Port, Topic, UeId};

use super::handover::HandoverState;
use super::{Cell, RadioNetwork};
use crate::link::Radio;
use crate::rrc::handover::{CellChange, TakenUp};
use crate::rrc::radio_link::{FRAME, Failure, RadioLink, RadioLinkConfig, Step, select};
use crate::slot::Ports;
use crate::ue::Ue;

/// How often all UEs are checked: the time over which a link is found out of sync.
const ROUND: Duration = Duration::from_millis(200);
/// Linear SINR of the control region before fading above which no link fails: 10 dB, 15 dB above Qout.
const REACH: f32 = 10.0;

/// The monitoring state of one UE's link.
#[derive(Debug)]
struct Watch {
    link: RadioLink,
    /// The cell that will re-establish the connection, but has not done so yet.
    answered: Option<CellId>,
    /// The cell that has refused, which the next search excludes.
    refused: Option<CellId>,
    /// How often RLC has reached its maximum of retransmissions.
    rlc_maxima: u64,
    /// Preambles of the current handover.
    preambles: u32,
}

impl Watch {
    fn new(config: RadioLinkConfig) -> Self {
        Self { link: RadioLink::new(config), answered: None, refused: None, rlc_maxima: 0, preambles: 0 }
    }
}

/// The radio links of all UEs.
#[derive(Debug)]
pub(super) struct RadioLinks {
    config: RadioLinkConfig,
    watches: Vec<Watch>,
    /// UEs whose link may fail, ascending.
    near: Vec<u32>,
    frame: Instant,
    round: Instant,
}

impl RadioLinks {
    pub(super) fn new(config: RadioLinkConfig, ues: usize) -> Self {
        Self {
            config,
            watches: (0..ues).map(|_| Watch::new(config)).collect(),
            near: Vec::with_capacity(ues),
            frame: Instant::ZERO,
            round: Instant::ZERO + ROUND,
        }
    }

    /// A UE was added.
    pub(super) fn add_ue(&mut self) {
        self.watches.push(Watch::new(self.config));
    }

    /// A UE was removed.
    pub(super) fn remove_ue(&mut self, ue: UeId) {
        self.near.retain(|other| *other != ue.0);
        self.watches[ue.index()] = Watch::new(self.config);
    }

    /// When links are checked next.
    pub(super) fn due(&self) -> Instant {
        if self.near.is_empty() { self.round } else { self.frame.min(self.round) }
    }

    /// An event may have affected all links: UEs are checked now.
    pub(super) fn check_soon(&mut self, now: Instant) {
        self.round = now;
    }

    /// The UE has received the command and leaves its cell.
    pub(super) fn leave(&mut self, now: Instant, ue: UeId) {
        let Watch { link, preambles, .. } = &mut self.watches[ue.index()];
        *preambles = 0;
        if link.is_connected() {
            link.handover(now);
        }
    }

    /// The UE attempts random access; returns the number of earlier attempts.
    pub(super) fn attempts(&mut self, ue: UeId) -> u32 {
        let preambles = &mut self.watches[ue.index()].preambles;
        *preambles += 1;
        *preambles - 1
    }

    /// True while T304 has not expired, even if this has not been handled.
    pub(super) fn may_access(&self, now: Instant, ue: UeId) -> bool {
        self.watches[ue.index()].link.next_timeout().is_none_or(|at| now < at)
    }

    /// Whether the link of a UE has not failed.
    pub(super) fn is_connected(&self, ue: UeId) -> bool {
        self.watches[ue.index()].link.is_connected()
    }

    /// A cell serves the UE.
    pub(super) fn arrive(&mut self, ue: UeId) {
        self.watches[ue.index()].link.connected();
    }
}

impl RadioNetwork {
    /// Checks the radio links that are due.
    pub(super) fn check_links(&mut self, state: &mut HandoverState, cx: &mut Cx<'_>) {
        let Some(mut links) = state.links.take() else { return };
        if links.due() <= cx.now {
            if links.round <= cx.now {
                links.round += ROUND;
                self.find_near(&mut links, cx.now);
            }
            links.frame = cx.now + FRAME;
            for index in 0..links.near.len() {
                let ue = UeId(links.near[index]);
                self.check_link(&mut links.watches[ue.index()], links.config, state, cx, ue);
            }
        }
        state.links = Some(links);
    }

    /// Finds the UEs whose link may fail before the next round.
    fn find_near(&mut self, links: &mut RadioLinks, now: Instant) {
        links.near.clear();
        for (ue, watch) in self.ues.iter_mut().zip(&mut links.watches).filter(|(ue, _)| ue.is_present) {
            let Cell { config: serving, restrictions, .. } = &self.cells[ue.cell().index()];
            let busy = !watch.link.is_connected() || watch.link.has_problems();
            let Ue { mobility, links: of_ue, .. } = ue;
            let radio = Radio { cell: serving, air: &self.air };
            let mut sinr = || of_ue.primary_mut().mean_control_sinr(now, mobility, radio);
            if busy || !restrictions.is_on || sinr() < REACH {
                links.near.push(ue.id.0);
            } else {
                watch.link.connected(); // its samples are too old to be counted
            }
        }
    }

    fn check_link(
        &mut self,
        watch: &mut Watch,
        config: RadioLinkConfig,
        state: &mut HandoverState,
        cx: &mut Cx<'_>,
        id: UeId,
    ) {
        if watch.link.is_connected() {
            let ue = &mut self.ues[id.index()];
            let cell = &mut self.cells[ue.cell().index()];
            let sinr = match cell.restrictions.is_on {
                true => {
                    let radio = Radio { cell: &cell.config, air: &self.air };
                    let link = ue.links.primary_mut();
                    link.control_sinr(cx.now, &mut ue.mobility, radio, cell.phy.sinr_mut())
                }
                false => 0.0,
            };
            let maxima =
                [Direction::Downlink, Direction::Uplink].map(|way| ue.bearers.radio_link_failures(way));
            let maxima = maxima.iter().sum();
            let reached = core::mem::replace(&mut watch.rlc_maxima, maxima) < maxima;
            let lost = watch.link.observe(cx.now, sinr);
            let mut gives_up = || watch.link.fail(cx.now, Failure::RlcMaximum).is_some();
            if lost.is_some() || (reached && gives_up()) {
                self.lose_link(state, cx, id);
            }
        }
        while let Some(step) = watch.link.handle_timeout(cx.now) {
            match step {
                Step::Failed(Failure::Handover) => self.fail_access(state, cx, id),
                Step::Failed(_) => self.lose_link(state, cx, id),
                Step::Searched => {
                    let mut rsrp = self.monitor.as_ref().map(|m| m.rsrp(id)).unwrap_or_default();
                    for (power, (cell, place)) in rsrp.iter_mut().zip(self.cells.iter().zip(0..)) {
                        // Barred (TS 36.304 §5.3.1), or of the secondary node.
                        if cell.config.interferer || !self.can_be_pcell(id, CellId(place)) {
                            power.0 = f64::NEG_INFINITY;
                        }
                    }
                    if let Some(power) = watch.refused.and_then(|cell| rsrp.get_mut(cell.index())) {
                        power.0 = f64::NEG_INFINITY;
                    }
                    if let Some(cell) = select(&rsrp, config.q_rx_lev_min) {
                        watch.link.choose(cx.now, cell);
                    }
                }
                Step::Answered(cell) => watch.answered = Some(cell),
                Step::Released(_) => self.release(watch, state, cx, id),
            }
        }
        watch.answered = watch.answered.filter(|cell| self.cells[cell.index()].restrictions.is_on); // or T301 expires
        // The rest of the handover before this is completed first.
        let settled = state.procedures.is_settled(id) && !self.ues[id.index()].bearers.awaits_sn_status();
        if let Some(cell) = watch.answered.filter(|_| settled) {
            self.reestablish(watch, state, cx, id, cell);
        }
    }

    /// TS 36.331 v17.0 §5.3.7.2: bearers are suspended, MAC is reset.
    fn lose_link(&mut self, state: &mut HandoverState, cx: &mut Cx<'_>, id: UeId) {
        let attempt = state.procedures.lose(id);
        if self.has_secondary_node(id) {
            self.leave_scg_of(cx, id, false); // TS 36.331 §5.3.7.2 (unverified)
        }
        self.ues[id.index()].bearers.suspend();
        self.release_carriers(cx, id);
        self.reset_mac(id, cx.now);
        self.abort_connection(cx, id);
        if cx.wants(Topic::Handover) {
            let ue = &mut self.ues[id.index()];
            let here = ue.mobility.position_at(cx.now);
            let step = HandoverStep::LinkFailed { from: ue.cell(), position_m: [here.x, here.y] };
            cx.emit(&Event::Handover { ue: id, attempt, step });
        }
    }

    /// The bearers of a UE begin again in the cell that serves it.
    fn begin_bearers_anew(&mut self, state: &mut HandoverState, cx: &mut Cx<'_>, id: UeId, cell: CellId) {
        let departure = &mut state.departure;
        self.ues[id.index()].bearers.begin_anew(cx, state.mode, departure);
        let ports = Ports { s1u: cell.0 as Port, first_ue: self.first_ue_port() };
        ports.send(cx, Direction::Downlink, id.0, &mut departure.downlink);
        ports.send(cx, Direction::Uplink, id.0, &mut departure.uplink);
    }

    /// The UE was released, and searches for a cell to set up a new connection.
    fn release(&self, watch: &mut Watch, state: &HandoverState, cx: &mut Cx<'_>, id: UeId) {
        let attempt = state.procedures.attempt(id);
        cx.emit(&Event::Handover { ue: id, attempt, step: HandoverStep::Released });
        watch.answered = None;
        watch.link.connected();
        let searches = watch.link.fail(cx.now, Failure::OutOfSync);
        debug_assert!(searches.is_some(), "a link that has just been set up can fail");
    }

    /// The chosen cell accepts the UE, if it has room (TS 36.331 v17.0 §5.3.7.5).
    fn reestablish(
        &mut self,
        watch: &mut Watch,
        state: &mut HandoverState,
        cx: &mut Cx<'_>,
        id: UeId,
        cell: CellId,
    ) {
        let attempt = state.procedures.attempt(id);
        let source = self.ues[id.index()].cell();
        let stays = cell == source;
        watch.answered = None;
        watch.refused = None;
        match state.procedures.take_up_failed(cx.now, id, cell) {
            TakenUp::ByTarget => {
                cx.emit(&Event::Handover { ue: id, attempt, step: HandoverStep::Reestablished { to: cell } });
                watch.link.connected();
                return watch.link.handover(cx.now); // until it arrives, which is now
            }
            TakenUp::Cancelled => {
                state.forwarding[id.index()].cancel(cx, &mut self.ues[id.index()].bearers);
            }
            TakenUp::NotFailed => {}
        }
        if !stays && !state.procedures.fetch(cx.now, id, CellChange { source, target: cell }) {
            watch.refused = Some(cell);
            watch.link.reject();
            return self.release(watch, state, cx, id);
        }
        cx.emit(&Event::Handover { ue: id, attempt, step: HandoverStep::Reestablished { to: cell } });
        watch.link.connected();
        if !stays {
            return watch.link.handover(cx.now); // its context is under way
        }
        state.procedures.resume(id);
        self.configure_carriers(cx.now, id);
        cx.emit(&Event::Handover { ue: id, attempt, step: HandoverStep::Arrived });
        if self.has_secondary_node(id) {
            self.leave_master(cx, id);
            self.enter_master(cx, id);
        } else {
            self.begin_bearers_anew(state, cx, id, cell);
        }
        if let Some(monitor) = &mut self.monitor {
            monitor.change_cell(id);
        }
        self.touched.push(id.0);
    }
}
