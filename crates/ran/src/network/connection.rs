//! UEs that are released when they have no data, and connected again when they have: the part of [`RadioNetwork`] that
//! carries out [`rrc::connection`](crate::rrc::connection).
//!
//! Packets for and from a released UE wait outside of its bearers, those for it at the S-GW and those from it in the UE, and
//! enter them when the UE is connected.
//!
//! The procedures of handovers change the cell of a released UE that moves, in the place of cell reselection, without any
//! message on the air. During such a procedure the UE does not begin random access.
//!
//! Not included: resource blocks of paging messages and random access responses in the downlink, and the preambles'
//! interference to PUSCH.

use std::collections::VecDeque;
use std::sync::Arc;

use airlane_core::{
    CellId, ConnectionCause, ConnectionStep, Cx, Direction, DropCause, Duration, Event, Instant, PacketRef,
    Seeds, Stream, UeId,
};

use super::RadioNetwork;
use super::wake::Alarms;
use crate::bearers::way;
use crate::config::RanConfig;
use crate::mac::sleep::Phase;
use crate::rrc::connection::{ConnectionConfig, ConnectionState};
use crate::rrc::contention::PrachOccasion;

mod access;

/// How long a released UE that cannot begin random access waits until it tries again.
const LATER: Duration = Duration::from_millis(20);
/// How long a UE stays in a connection after the message that releases it (TS 36.331 §5.3.8.3, TS 38.331 §5.3.8.3; unverified).
const RELEASE_DELAY: Duration = Duration::from_millis(60);
/// The number of the message that releases a UE. Those of a procedure have lower numbers.
const RELEASE: u8 = u8::MAX;
/// The number of the control element C-RNTI in the Msg3 of a connected UE.
const C_RNTI: u8 = u8::MAX - 1;

/// A packet that waits for a connection.
#[derive(Debug)]
struct HeldPacket {
    /// The cell at which it arrived.
    cell: CellId,
    packet: PacketRef,
}

/// The connection of a UE.
#[derive(Debug)]
struct Connection {
    state: ConnectionState,
    /// Packets that wait for it, in each direction: downlink, uplink.
    held: [VecDeque<HeldPacket>; 2],
    held_bytes: [u64; 2],
    /// The time of the latest packet in either direction.
    last_data: Instant,
    /// When the first of the packets that wait for the connection began to wait.
    began: Instant,
    /// When the latest random access began.
    access_began: Instant,
    /// Preambles of that random access, and the latest one.
    preambles: u32,
    preamble: usize,
    /// The random access is that of a connected UE whose scheduling requests were not answered.
    wants_grant: bool,
    /// The UE has left a connection with data in its bearers.
    has_unsent: bool,
    /// The time of the next step of its procedure; [`Instant::FAR_FUTURE`] if none is due.
    alarm: Instant,
    draws: Stream,
}

impl Connection {
    fn new(ue: usize, seeds: Seeds) -> Self {
        Self {
            state: ConnectionState::Released { next_at: Instant::FAR_FUTURE },
            held: [VecDeque::new(), VecDeque::new()],
            held_bytes: [0; 2],
            last_data: Instant::ZERO,
            began: Instant::ZERO,
            access_began: Instant::ZERO,
            preambles: 0,
            preamble: 0,
            wants_grant: false,
            has_unsent: false,
            alarm: Instant::FAR_FUTURE,
            draws: seeds.stream(&format!("ue/{ue}/contention")),
        }
    }

    /// Whether packets go to the bearers.
    fn is_connected(&self) -> bool {
        self.wants_grant || self.state == ConnectionState::Connected
    }

    /// Whether the UE itself has something to send, so that it need not be paged.
    fn has_own_data(&self) -> bool {
        self.has_unsent || !self.held[way(Direction::Uplink)].is_empty()
    }

    /// Whether data in either direction waits for the connection.
    fn has_data(&self) -> bool {
        self.has_own_data() || !self.held[way(Direction::Downlink)].is_empty()
    }
}

/// The connections of all UEs.
#[derive(Debug)]
pub(super) struct Connections {
    ues: Vec<Connection>,
    alarms: Alarms,
    /// UEs that send a preamble in this instant.
    contenders: Vec<UeId>,
    occasion: PrachOccasion,
}

impl Connections {
    /// `None` if UEs of all cells that serve any are always connected.
    pub(super) fn new(config: &RanConfig, seeds: Seeds) -> Option<Self> {
        let is_used = config.cells.iter().any(|cell| !cell.interferer && cell.connection.is_some());
        is_used.then(|| Self {
            ues: (0..config.ues.len()).map(|ue| Connection::new(ue, seeds)).collect(),
            alarms: Alarms::default(),
            contenders: Vec::new(),
            occasion: PrachOccasion::default(),
        })
    }

    /// A UE was added.
    pub(super) fn add_ue(&mut self, seeds: Seeds) {
        self.ues.push(Connection::new(self.ues.len(), seeds));
    }

    /// A UE was removed, with its packets.
    pub(super) fn remove_ue(&mut self, cx: &mut Cx<'_>, ue: UeId) {
        let connection = &mut self.ues[ue.index()];
        for HeldPacket { packet, .. } in connection.held.iter_mut().flat_map(|held| held.drain(..)) {
            cx.discard(packet, DropCause::NoRoute);
        }
        connection.state = ConnectionState::Released { next_at: Instant::FAR_FUTURE };
        connection.alarm = Instant::FAR_FUTURE;
        (connection.wants_grant, connection.has_unsent) = (false, false);
    }

    /// When something is due.
    pub(super) fn due(&self) -> Instant {
        self.alarms.due()
    }

    pub(super) fn packets_held(&self) -> usize {
        self.ues.iter().flat_map(|ue| &ue.held).map(VecDeque::len).sum()
    }

    /// Whether a handover may begin: not while a connection is set up or released.
    pub(super) fn may_hand_over(&self, ue: UeId) -> bool {
        matches!(self.ues[ue.index()].state, ConnectionState::Connected | ConnectionState::Released { .. })
    }

    fn set_alarm(&mut self, ue: UeId, at: Instant) {
        if at < Instant::FAR_FUTURE {
            self.alarms.set(at, ue, &mut self.ues[ue.index()].alarm);
        }
    }

    fn enter(&mut self, ue: UeId, state: ConnectionState) {
        self.ues[ue.index()].state = state;
        self.set_alarm(ue, state.due());
    }
}

impl RadioNetwork {
    /// A packet for or from a UE with connections. Returns it if the UE is connected.
    pub(super) fn hold(
        &mut self,
        cx: &mut Cx<'_>,
        direction: Direction,
        ue: UeId,
        cell: CellId,
        packet: PacketRef,
    ) -> Option<PacketRef> {
        let Some(mut connections) = self.connections.take() else { return Some(packet) };
        let connection = &mut connections.ues[ue.index()];
        connection.last_data = cx.now;
        let held = match connection.is_connected() {
            true => Some(packet),
            false => {
                self.hold_packet(&mut connections, cx, direction, ue, HeldPacket { cell, packet });
                None
            }
        };
        self.connections = Some(connections);
        held
    }

    fn hold_packet(
        &mut self,
        connections: &mut Connections,
        cx: &mut Cx<'_>,
        direction: Direction,
        ue: UeId,
        held: HeldPacket,
    ) {
        let config = &self.cells[self.ues[ue.index()].cell().index()].config;
        let limit = config.buffers().get();
        let connection = &mut connections.ues[ue.index()];
        let way = way(direction);
        let bytes = cx.pool.get(&held.packet).size.get();
        if connection.held_bytes[way] + bytes > limit {
            return cx.discard(held.packet, DropCause::QueueFull);
        }
        if !connection.has_data() {
            connection.began = cx.now;
        }
        connection.held[way].push_back(held);
        connection.held_bytes[way] += bytes;
        self.want_connection(connections, cx, direction, ue);
    }

    /// Data waits for the connection of a UE that is not connected.
    fn want_connection(
        &mut self,
        connections: &mut Connections,
        cx: &mut Cx<'_>,
        direction: Direction,
        id: UeId,
    ) {
        let ConnectionState::Released { next_at } = connections.ues[id.index()].state else { return };
        let config = self.connection_config(id);
        match direction {
            Direction::Downlink if next_at == Instant::FAR_FUTURE => {
                self.page_from(connections, id, cx.now + config.paging_delay);
            }
            Direction::Downlink => {}
            Direction::Uplink => self.begin_access(connections, cx, id, ConnectionCause::Data),
        }
    }

    fn connection_config(&self, ue: UeId) -> Arc<ConnectionConfig> {
        let connection = &self.cells[self.ues[ue.index()].cell().index()].config.connection;
        Arc::clone(connection.as_ref().expect("all cells that serve UEs have connections, or none"))
    }

    /// A UE is paged in its first occasion from a time on.
    fn page_from(&self, connections: &mut Connections, id: UeId, from: Instant) {
        let next_at = self.connection_config(id).next_paging(self.ues[id.index()].identity, from);
        connections.enter(id, ConnectionState::Released { next_at });
    }

    /// A released UE for which something waits tries to set up its connection again, from a time on. One that was paged is
    /// paged again.
    fn try_again(&self, connections: &mut Connections, id: UeId, from: Instant) {
        if !connections.ues[id.index()].has_own_data() {
            return self.page_from(connections, id, from);
        }
        connections.enter(id, ConnectionState::Released { next_at: from });
    }

    /// Does all steps of connections that are due at one instant, the first that is not after `until`. Returns false if
    /// nothing is.
    pub(super) fn connect_due(&mut self, cx: &mut Cx<'_>, until: Instant) -> bool {
        let Some(mut connections) = self.connections.take() else { return false };
        let now = connections.due();
        let is_due = now <= until && now < Instant::FAR_FUTURE;
        if is_due {
            let mut cx = cx.at(now);
            self.skip_idle_slots(now);
            while let Some(id) = connections.alarms.pop(now) {
                let connection = &mut connections.ues[id.index()];
                if connection.alarm != now {
                    continue; // a later alarm has replaced this one
                }
                connection.alarm = Instant::FAR_FUTURE;
                if connection.state.due() <= now {
                    self.proceed(&mut connections, &mut cx, id);
                }
                match connections.ues[id.index()].state {
                    ConnectionState::Connected => self.release_inactive(&mut connections, &mut cx, id),
                    ConnectionState::Preamble { at } if at <= now => {} // it contends below
                    state => connections.set_alarm(id, state.due()),
                }
            }
            self.contend(&mut connections, &mut cx);
            self.find_work();
            self.wake_touched(&mut cx);
        }
        self.connections = Some(connections);
        is_due
    }

    /// Does the next step of the connection of a UE, which is due.
    fn proceed(&mut self, connections: &mut Connections, cx: &mut Cx<'_>, id: UeId) {
        let config = self.connection_config(id);
        match connections.ues[id.index()].state {
            ConnectionState::Released { .. } => self.page(connections, cx, id, &config),
            ConnectionState::Preamble { .. } => connections.contenders.push(id),
            ConnectionState::Response { until, .. } => self.respond(connections, cx, id, until, &config),
            ConnectionState::Requesting { until, .. } if until <= cx.now => {
                self.fail_attempt(connections, cx, id, &config);
            }
            ConnectionState::Requesting { until, .. } => {
                self.submit(connections, id, 1, until, &config);
            }
            ConnectionState::Establishing { until, .. } if until <= cx.now => {
                self.give_up(connections, cx, id, &config);
            }
            ConnectionState::Establishing { message, until, .. } => {
                self.submit(connections, id, message, until, &config);
            }
            ConnectionState::Releasing { .. } => self.leave_connection(connections, cx, id),
            ConnectionState::Connected => {}
        }
    }

    /// A message is handed to the signalling bearers.
    fn submit(
        &mut self,
        connections: &mut Connections,
        id: UeId,
        message: usize,
        until: Instant,
        config: &ConnectionConfig,
    ) {
        let sent = config.messages[message];
        self.ues[id.index()].bearers.submit_signalling(sent.direction, message as u8, sent.bytes);
        self.touched.push(id.0);
        let at = Instant::FAR_FUTURE;
        connections.enter(id, ConnectionState::Establishing { message, at, until });
    }

    /// A paging occasion with a message for a UE: it begins random access if it decodes the PDCCH.
    fn page(&mut self, connections: &mut Connections, cx: &mut Cx<'_>, id: UeId, config: &ConnectionConfig) {
        let is_paged = !connections.ues[id.index()].has_own_data();
        if is_paged && (!self.may_access(id) || self.misses_control(cx.now, id)) {
            return self.page_from(connections, id, cx.now + config.paging_listen);
        }
        let cause = if is_paged { ConnectionCause::Paging } else { ConnectionCause::Data };
        self.begin_access(connections, cx, id, cause);
    }

    /// A procedure has failed: the UE is released, and tries again when T300 has expired if data waits. The same is done after
    /// the random access of a connected UE, which would re-establish its connection (TS 36.331 §5.3.11.3, TS 38.331
    /// §5.3.10.3).
    fn give_up(
        &mut self,
        connections: &mut Connections,
        cx: &mut Cx<'_>,
        id: UeId,
        config: &ConnectionConfig,
    ) {
        self.leave_cell(cx, id);
        let connection = &mut connections.ues[id.index()];
        let is_releasing = matches!(connection.state, ConnectionState::Releasing { .. });
        let has_lost_access = core::mem::take(&mut connection.wants_grant);
        if has_lost_access {
            // The data in its bearers waits for another connection from now on.
            (connection.began, connection.has_unsent) = (cx.now, true);
        }
        let was_connected = has_lost_access || is_releasing;
        let step = if was_connected { ConnectionStep::Released } else { ConnectionStep::Failed };
        self.observe(cx, id, step);
        let connection = &connections.ues[id.index()];
        if !connection.has_data() {
            return connections.enter(id, ConnectionState::Released { next_at: Instant::FAR_FUTURE });
        }
        let from = (connection.access_began + config.t300).max(cx.now + LATER);
        self.try_again(connections, id, from);
    }

    /// The procedure of a UE that has lost its link fails.
    pub(super) fn abort_connection(&mut self, cx: &mut Cx<'_>, id: UeId) {
        let Some(mut connections) = self.connections.take() else { return };
        let is_under_way = !connections.may_hand_over(id);
        if is_under_way {
            let config = self.connection_config(id);
            self.give_up(&mut connections, cx, id, &config);
        }
        self.connections = Some(connections);
    }

    /// Messages of RRC that have arrived.
    pub(super) fn receive_messages(&mut self, cx: &mut Cx<'_>) {
        let Some(mut connections) = self.connections.take() else { return };
        let mut messages = core::mem::take(&mut self.messages);
        for (ue, message) in messages.drain(..) {
            self.receive_message(&mut connections, cx, UeId(ue), message);
        }
        self.messages = messages;
        self.connections = Some(connections);
    }

    fn receive_message(&mut self, connections: &mut Connections, cx: &mut Cx<'_>, id: UeId, received: u8) {
        let config = self.connection_config(id);
        match connections.ues[id.index()].state {
            ConnectionState::Requesting { .. } if received == C_RNTI => self.end_access(connections, cx, id),
            ConnectionState::Requesting { until, .. } if received == 0 => {
                self.observe(cx, id, ConnectionStep::Requested);
                let answer_at = cx.now + config.messages[1].after;
                connections.enter(id, ConnectionState::Requesting { until, answer_at });
            }
            ConnectionState::Establishing { message, until, .. } if usize::from(received) == message => {
                let Some(next) = config.messages.get(message + 1) else {
                    return self.complete_connection(connections, cx, id);
                };
                let until = if message == 1 { cx.now + config.t3417 } else { until };
                let at = cx.now + next.after;
                connections.enter(id, ConnectionState::Establishing { message: message + 1, at, until });
            }
            ConnectionState::Releasing { .. } if received == RELEASE => {
                connections.enter(id, ConnectionState::Releasing { at: cx.now + RELEASE_DELAY });
            }
            _ => {}
        }
    }

    /// A UE is connected: the packets that have waited enter its bearers.
    fn complete_connection(&mut self, connections: &mut Connections, cx: &mut Cx<'_>, id: UeId) {
        self.set_phase(cx.now, id, Phase::Connected);
        self.configure_carriers(cx.now, id);
        if let Some(drx) = &mut self.ues[id.index()].drx {
            drx.on_new_transmission(cx.now); // the grant of the last message
        }
        let connection = &mut connections.ues[id.index()];
        (connection.last_data, connection.has_unsent) = (cx.now, false);
        let (waited, took) = (connection.access_began - connection.began, cx.now - connection.access_began);
        let step = ConnectionStep::Connected { waited, took };
        self.observe(cx, id, step);
        connections.enter(id, ConnectionState::Connected);
        connections.set_alarm(id, cx.now + self.connection_config(id).inactivity);
        self.touched.push(id.0); // for the data that a change of its cell has left in its bearers
        for direction in [Direction::Downlink, Direction::Uplink] {
            let way = way(direction);
            let mut held = core::mem::take(&mut connections.ues[id.index()].held[way]);
            for HeldPacket { cell, packet } in held.drain(..) {
                self.admit(cx, direction, id, cell, packet);
            }
            let connection = &mut connections.ues[id.index()];
            (connection.held[way], connection.held_bytes[way]) = (held, 0);
        }
    }

    /// The cell releases a connected UE that has had no data for long enough.
    fn release_inactive(&mut self, connections: &mut Connections, cx: &mut Cx<'_>, id: UeId) {
        let config = self.connection_config(id);
        let connection = &mut connections.ues[id.index()];
        let at = connection.last_data + config.inactivity;
        if cx.now < at {
            return connections.set_alarm(id, at);
        }
        if !self.is_quiet(cx.now, id) {
            return connections.set_alarm(id, cx.now + LATER);
        }
        let ue = &mut self.ues[id.index()];
        ue.bearers.submit_signalling(Direction::Downlink, RELEASE, config.release_bytes);
        self.touched.push(id.0);
        let cycle = self.cells[self.ues[id.index()].cell().index()].config.drx;
        let cycle = cycle.map_or(Duration::ZERO, |drx| drx.long_cycle);
        connections.enter(id, ConnectionState::Releasing { at: cx.now + config.t300 + cycle });
    }

    /// Whether a UE has no data in its bearers, no block on the air and no handover.
    fn is_quiet(&self, now: Instant, id: UeId) -> bool {
        let ue = &self.ues[id.index()];
        let is_at_rest = self.handover.as_ref().is_none_or(|handover| handover.is_at_rest(id));
        is_at_rest
            && !ue.links.has_blocks()
            && !ue.has_backlog(Direction::Downlink, now)
            && !ue.has_backlog(Direction::Uplink, now)
            && ue.bearers.next_timeout().is_none()
    }

    /// A UE leaves its connection, as soon as no block of it is on the air.
    fn leave_connection(&mut self, connections: &mut Connections, cx: &mut Cx<'_>, id: UeId) {
        self.ues[id.index()].bearers.clear_signalling();
        if !self.is_quiet(cx.now, id) {
            return connections.enter(id, ConnectionState::Releasing { at: cx.now + LATER });
        }
        self.leave_cell(cx, id);
        self.observe(cx, id, ConnectionStep::Released);
        connections.enter(id, ConnectionState::Released { next_at: Instant::FAR_FUTURE });
        for direction in [Direction::Downlink, Direction::Uplink] {
            if !connections.ues[id.index()].held[way(direction)].is_empty() {
                self.want_connection(connections, cx, direction, id);
            }
        }
    }

    /// A UE is not connected any more, and listens in its paging occasions.
    fn leave_cell(&mut self, cx: &mut Cx<'_>, id: UeId) {
        self.release_carriers(cx, id);
        self.set_phase(cx.now, id, Phase::Released);
        self.reset_mac(id, cx.now);
        self.ues[id.index()].bearers.clear_signalling();
    }

    fn set_phase(&mut self, now: Instant, id: UeId, phase: Phase) {
        let ue = &mut self.ues[id.index()];
        ue.phase = phase;
        if let Some(gaps) = &mut ue.gaps {
            gaps.set_connected(now, phase == Phase::Connected);
        }
        ue.reset_drx(&self.cells[ue.cell().index()].config, now);
    }

    fn observe(&self, cx: &mut Cx<'_>, id: UeId, step: ConnectionStep) {
        cx.emit(&Event::Connection { ue: id, cell: self.ues[id.index()].cell(), step });
    }
}
