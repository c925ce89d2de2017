//! UEs that are released when they have nothing to do, and connected again when they have: the part of
//! [`RadioNetwork`] that carries out [`rrc::connection`](crate::rrc::connection).
//!
//! Packets for and from a released UE wait outside of its bearers, as at the S-GW or in the UE, and enter them when the
//! connection is there.
//!
//! A UE that is released and moves is in the hands of the procedures of handovers: they change its cell as a
//! reselection would, without any message on the air. While they are busy with a UE, it does not begin random access.
//!
//! Not included: resource blocks of paging messages and random access responses in the downlink, and the preambles'
//! interference to PUSCH.

use std::collections::VecDeque;

use airlane_core::{
    Bytes, CellId, ConnectionCause, ConnectionStep, Cx, Direction, DropCause, Duration, Event, Instant,
    PacketRef, Seeds, Stream, UeId,
};

use super::RadioNetwork;
use super::wake::Alarms;
use crate::config::RanConfig;
use crate::link::{Radio, ServingLink};
use crate::mac::control;
use crate::mac::sleep::Phase;
use crate::rrc::connection::{ConnectionConfig, ConnectionState};
use crate::rrc::contention::Occasion;
use crate::rrc::random_access::Attempt;
use crate::ue::Ue;

/// How long a released UE that cannot begin random access waits until it tries again.
const LATER: Duration = Duration::from_millis(20);
/// How long a UE stays in a connection after the message that releases it (TS 36.331 §5.3.8.3, TS 38.331 §5.3.8.3).
const RELEASE_DELAY: Duration = Duration::from_millis(60);
/// Time from a random access response whose grant finds no room to the next.
const NEXT_RESPONSE: Duration = Duration::from_millis(1);
/// The number of the message that releases a UE. Those of a procedure have lower numbers.
const RELEASE: u8 = u8::MAX;

/// The connection of a UE.
#[derive(Debug)]
struct Connection {
    state: ConnectionState,
    /// Packets that wait for it, with the cell at which they arrived, in each direction: downlink, uplink.
    held: [VecDeque<(CellId, PacketRef)>; 2],
    held_bytes: [u64; 2],
    /// The time of the latest packet in either direction.
    last_data: Instant,
    /// When data began to wait, and when the latest random access began.
    began: Instant,
    access_began: Instant,
    /// Preambles of that random access, and the latest one.
    preambles: u32,
    preamble: usize,
    /// When the network looks at it again.
    alarm: Instant,
    draws: Stream,
}

impl Connection {
    fn new(ue: usize, seeds: Seeds) -> Self {
        Self {
            state: ConnectionState::Released { paged_at: Instant::FAR_FUTURE },
            held: [VecDeque::new(), VecDeque::new()],
            held_bytes: [0; 2],
            last_data: Instant::ZERO,
            began: Instant::ZERO,
            access_began: Instant::ZERO,
            preambles: 0,
            preamble: 0,
            alarm: Instant::FAR_FUTURE,
            draws: seeds.stream(&format!("ue/{ue}/contention")),
        }
    }
}

/// The connections of all UEs.
#[derive(Debug)]
pub(super) struct Connections {
    ues: Vec<Connection>,
    alarms: Alarms,
    /// UEs that send a preamble in this instant.
    contenders: Vec<UeId>,
    occasion: Occasion,
}

impl Connections {
    /// `None` if UEs of all cells are always connected.
    pub(super) fn new(config: &RanConfig, seeds: Seeds) -> Option<Self> {
        let is_used = config.cells.iter().any(|cell| cell.connection.is_some());
        is_used.then(|| Self {
            ues: (0..config.ues.len()).map(|ue| Connection::new(ue, seeds)).collect(),
            alarms: Alarms::default(),
            contenders: Vec::new(),
            occasion: Occasion::default(),
        })
    }

    /// A UE was added.
    pub(super) fn add_ue(&mut self, seeds: Seeds) {
        self.ues.push(Connection::new(self.ues.len(), seeds));
    }

    /// A UE was removed, with its packets.
    pub(super) fn remove_ue(&mut self, cx: &mut Cx<'_>, ue: UeId) {
        let connection = &mut self.ues[ue.index()];
        for (_, packet) in connection.held.iter_mut().flat_map(|held| held.drain(..)) {
            cx.discard(packet, DropCause::NoRoute);
        }
        connection.state = ConnectionState::Released { paged_at: Instant::FAR_FUTURE };
        connection.alarm = Instant::FAR_FUTURE;
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
        let held = match connection.state.is_connected() {
            true => Some(packet),
            false => {
                self.hold_packet(&mut connections, cx, direction, ue, (cell, packet));
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
        (cell, packet): (CellId, PacketRef),
    ) {
        let config = &self.cells[self.ues[ue.index()].cell().index()].config;
        let limit = config.buffers().get();
        let connection = &mut connections.ues[ue.index()];
        let way = usize::from(direction == Direction::Uplink);
        let bytes = cx.pool.get(&packet).size.get();
        if connection.held_bytes[way] + bytes > limit {
            return cx.discard(packet, DropCause::QueueFull);
        }
        connection.held[way].push_back((cell, packet));
        connection.held_bytes[way] += bytes;
        self.want_connection(connections, cx, direction, ue);
    }

    /// Something waits for a UE that is not connected.
    fn want_connection(
        &mut self,
        connections: &mut Connections,
        cx: &mut Cx<'_>,
        direction: Direction,
        id: UeId,
    ) {
        let connection = &mut connections.ues[id.index()];
        let ConnectionState::Released { paged_at } = connection.state else { return };
        let Some(config) = self.connection_config(id) else { return };
        match direction {
            Direction::Downlink if paged_at == Instant::FAR_FUTURE => {
                connection.began = cx.now;
                let identity = self.ues[id.index()].identity;
                let paged_at = config.next_paging(identity, cx.now + config.paging_delay);
                connections.enter(id, ConnectionState::Released { paged_at });
            }
            Direction::Downlink => {}
            Direction::Uplink => {
                connection.began = cx.now;
                self.begin_access(connections, cx, id, ConnectionCause::Data);
            }
        }
    }

    fn connection_config(&self, ue: UeId) -> Option<&ConnectionConfig> {
        self.cells[self.ues[ue.index()].cell().index()].config.connection.as_ref()
    }

    /// Whether a released UE can begin random access in its cell.
    fn may_access(&self, ue: UeId) -> bool {
        let is_on = self.cells[self.ues[ue.index()].cell().index()].restrictions.is_on;
        is_on && self.handover.as_ref().is_none_or(|handover| handover.is_at_rest(ue))
    }

    /// A released UE begins to set its connection up.
    fn begin_access(
        &mut self,
        connections: &mut Connections,
        cx: &mut Cx<'_>,
        id: UeId,
        cause: ConnectionCause,
    ) {
        if !self.may_access(id) {
            // It is as if it were paged again later.
            return connections.enter(id, ConnectionState::Released { paged_at: cx.now + LATER });
        }
        let Some(config) = self.connection_config(id).cloned() else { return };
        let connection = &mut connections.ues[id.index()];
        (connection.access_began, connection.preambles) = (cx.now, 0);
        self.set_phase(cx.now, id, Phase::Connecting);
        self.reset_mac(id, cx.now);
        self.observe(cx, id, ConnectionStep::Began { cause });
        let at = config.access.next_occasion(cx.now);
        connections.enter(id, ConnectionState::Preamble { at });
    }

    /// Does everything that is due in connections at one instant, the first that is not after `until`. Returns false if nothing is.
    pub(super) fn connect_due(&mut self, cx: &mut Cx<'_>, until: Instant) -> bool {
        let Some(mut connections) = self.connections.take() else { return false };
        let now = connections.due();
        let is_due = now <= until && now < Instant::FAR_FUTURE;
        if is_due {
            let mut cx = Cx {
                now,
                pool: &mut *cx.pool,
                outbox: &mut *cx.outbox,
                topics: cx.topics,
                probe: &mut *cx.probe,
            };
            self.skip_idle_slots(now);
            while let Some(id) = connections.alarms.pop(now) {
                let connection = &mut connections.ues[id.index()];
                if connection.alarm != now {
                    continue; // another one has replaced it
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
            self.wake_touched(now);
        }
        self.connections = Some(connections);
        is_due
    }

    /// Does the next step of the connection of a UE, which is due.
    fn proceed(&mut self, connections: &mut Connections, cx: &mut Cx<'_>, id: UeId) {
        let Some(config) = self.connection_config(id).cloned() else { return };
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
        let is_paged = connections.ues[id.index()].held[1].is_empty();
        if is_paged && (!self.may_access(id) || self.misses_control(cx.now, id)) {
            let paged_at = config.next_paging(self.ues[id.index()].identity, cx.now + config.paging_listen);
            return connections.enter(id, ConnectionState::Released { paged_at });
        }
        let cause = if is_paged { ConnectionCause::Paging } else { ConnectionCause::Data };
        self.begin_access(connections, cx, id, cause);
    }

    /// Whether a UE misses a PDCCH of its cell now.
    fn misses_control(&mut self, now: Instant, id: UeId) -> bool {
        let (sinr, link) = self.control_of(now, id);
        control::is_missed(sinr, &mut link.downlink.control_draws)
    }

    /// Linear SINR of the control region of its cell at a UE.
    fn control_of(&mut self, now: Instant, id: UeId) -> (f32, &mut ServingLink) {
        let Ue { mobility, links, .. } = &mut self.ues[id.index()];
        let link = links.primary_mut();
        let cell = &mut self.cells[link.cell.index()];
        let radio = Radio { cell: &cell.config, air: &self.air };
        (link.control_sinr(now, mobility, radio, cell.phy.sinr_mut()), link)
    }

    /// The UEs that send a preamble now contend, in each cell.
    fn contend(&mut self, connections: &mut Connections, cx: &mut Cx<'_>) {
        let mut contenders = core::mem::take(&mut connections.contenders);
        contenders.sort_unstable_by_key(|id| (self.ues[id.index()].cell(), *id));
        let mut rest = &contenders[..];
        while let Some(first) = rest.first() {
            let cell = self.ues[first.index()].cell();
            let (group, others) =
                rest.split_at(rest.partition_point(|id| self.ues[id.index()].cell() <= cell));
            rest = others;
            self.contend_in(connections, cx, cell, group);
        }
        contenders.clear();
        connections.contenders = contenders;
    }

    /// The UEs of a cell that send a preamble now contend.
    fn contend_in(&mut self, connections: &mut Connections, cx: &mut Cx<'_>, cell: CellId, group: &[UeId]) {
        let Some(config) = self.cells[cell.index()].config.connection.clone() else { return };
        connections.occasion.begin(config.access.preambles);
        for id in group {
            let connection = &mut connections.ues[id.index()];
            connection.preambles += 1;
            connection.preamble = connections.occasion.send(&mut connection.draws);
        }
        let (mut detected, until) = (0, config.access.window_end(cx.now));
        for id in group {
            let Connection { preamble, preambles, .. } = connections.ues[id.index()];
            let is_alone = connections.occasion.is_alone(preamble);
            let mut at = until;
            if is_alone && self.is_heard(cx.now, *id, preambles - 1) {
                at = config.access.response(cx.now, detected).unwrap_or(until);
                detected += 1;
            }
            self.observe(cx, *id, ConnectionStep::Preamble { number: preambles, collides: !is_alone });
            connections.enter(*id, ConnectionState::Response { at, until });
        }
    }

    /// Whether the cell of a UE detects its preamble, after this many before it.
    fn is_heard(&mut self, now: Instant, id: UeId, before: u32) -> bool {
        let Ue { mobility, links, .. } = &mut self.ues[id.index()];
        let link = links.primary_mut();
        let cell = &self.cells[link.cell.index()];
        let full_power = link.uplink.channel.mean_sinr(now, mobility);
        let attempt = Attempt {
            before,
            full_power: (full_power, cell.config.resource_blocks),
            noise: cell.config.prb_noise(),
            fades: !link.uplink.channel.is_flat(),
            control_sinr: f32::INFINITY,
        };
        cell.restrictions.is_on && attempt.is_detected()
    }

    /// A random access response is sent, or the window for it is over.
    fn respond(
        &mut self,
        connections: &mut Connections,
        cx: &mut Cx<'_>,
        id: UeId,
        until: Instant,
        config: &ConnectionConfig,
    ) {
        if cx.now >= until {
            return self.fail_attempt(connections, cx, id, config);
        }
        if self.misses_control(cx.now, id) {
            return connections.enter(id, ConnectionState::Response { at: until, until });
        }
        let link = self.ues[id.index()].links.primary_mut();
        let cell = &mut self.cells[link.cell.index()];
        let earliest = cell.config.numerology.slot_from(cx.now + config.access.msg3_after);
        let request = config.messages[0];
        let bytes = Bytes(u64::from(request.bytes));
        let Some(slot) = cell.uplink.grant_request((&cell.config, &cell.phy), id, link, earliest, bytes)
        else {
            let at = (cx.now + NEXT_RESPONSE).min(until);
            return connections.enter(id, ConnectionState::Response { at, until });
        };
        let sent = cell.config.numerology.start_of(slot);
        self.ues[id.index()].bearers.submit_signalling(request.direction, 0, request.bytes);
        let until = sent + config.access.resolution;
        connections.enter(id, ConnectionState::Requesting { until, answer_at: Instant::FAR_FUTURE });
    }

    /// An attempt at random access has failed: a UE that has preambles and time left sends another one.
    fn fail_attempt(
        &mut self,
        connections: &mut Connections,
        cx: &mut Cx<'_>,
        id: UeId,
        config: &ConnectionConfig,
    ) {
        self.reset_mac(id, cx.now);
        self.ues[id.index()].bearers.clear_signalling();
        let connection = &mut connections.ues[id.index()];
        let has_time = cx.now < connection.access_began + config.t300;
        if connection.preambles >= config.access.most_preambles || !has_time || !self.may_access(id) {
            return self.give_up(connections, cx, id, config);
        }
        let connection = &mut connections.ues[id.index()];
        let at = config.access.after_backoff(cx.now, &mut connection.draws);
        connections.enter(id, ConnectionState::Preamble { at });
    }

    /// A procedure has failed: the UE is released, and tries again when T300 has expired.
    fn give_up(
        &mut self,
        connections: &mut Connections,
        cx: &mut Cx<'_>,
        id: UeId,
        config: &ConnectionConfig,
    ) {
        self.leave_cell(cx.now, id);
        self.observe(cx, id, ConnectionStep::Failed);
        let connection = &connections.ues[id.index()];
        let paged_at = (connection.access_began + config.t300).max(cx.now + LATER);
        connections.enter(id, ConnectionState::Released { paged_at });
    }

    /// The procedure of a UE that has lost its link fails.
    pub(super) fn abort_connection(&mut self, cx: &mut Cx<'_>, id: UeId) {
        let Some(mut connections) = self.connections.take() else { return };
        let is_under_way = !connections.may_hand_over(id);
        if let Some(config) = self.connection_config(id).filter(|_| is_under_way).cloned() {
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
        let Some(config) = self.connection_config(id).cloned() else { return };
        match connections.ues[id.index()].state {
            ConnectionState::Requesting { until, .. } if received == 0 => {
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

    /// A UE is connected: what has waited enters its bearers.
    fn complete_connection(&mut self, connections: &mut Connections, cx: &mut Cx<'_>, id: UeId) {
        self.set_phase(cx.now, id, Phase::Connected);
        if let Some(drx) = &mut self.ues[id.index()].drx {
            drx.on_new_transmission(cx.now); // the grant of the last message
        }
        let connection = &mut connections.ues[id.index()];
        connection.last_data = cx.now;
        let Connection { began, access_began, preambles, .. } = *connection;
        let step = ConnectionStep::Connected {
            waited: access_began - began,
            took: cx.now - access_began,
            preambles,
        };
        self.observe(cx, id, step);
        connections.enter(id, ConnectionState::Connected);
        let inactivity = self.connection_config(id).map_or(Duration::ZERO, |config| config.inactivity);
        connections.set_alarm(id, cx.now + inactivity);
        for (way, direction) in [Direction::Downlink, Direction::Uplink].into_iter().enumerate() {
            let mut held = core::mem::take(&mut connections.ues[id.index()].held[way]);
            for (cell, packet) in held.drain(..) {
                self.admit(cx, direction, id, cell, packet);
            }
            let connection = &mut connections.ues[id.index()];
            (connection.held[way], connection.held_bytes[way]) = (held, 0);
        }
    }

    /// The cell releases a connected UE that has had no data for long enough.
    fn release_inactive(&mut self, connections: &mut Connections, cx: &mut Cx<'_>, id: UeId) {
        let Some(config) = self.connection_config(id).cloned() else { return };
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

    /// Whether nothing of a UE waits or is on the air.
    fn is_quiet(&self, now: Instant, id: UeId) -> bool {
        let ue = &self.ues[id.index()];
        let link = ue.links.primary();
        let is_at_rest = self.handover.as_ref().is_none_or(|handover| handover.is_at_rest(id));
        is_at_rest
            && !link.downlink.harq.any_busy()
            && !link.uplink.harq.any_busy()
            && !ue.has_backlog(Direction::Downlink, now)
            && !ue.has_backlog(Direction::Uplink, now)
            && ue.bearers.next_timeout().is_none()
    }

    /// A UE leaves its connection, as soon as nothing of it is on the air.
    fn leave_connection(&mut self, connections: &mut Connections, cx: &mut Cx<'_>, id: UeId) {
        self.ues[id.index()].bearers.clear_signalling();
        if !self.is_quiet(cx.now, id) {
            return connections.enter(id, ConnectionState::Releasing { at: cx.now + LATER });
        }
        self.leave_cell(cx.now, id);
        self.observe(cx, id, ConnectionStep::Released);
        connections.enter(id, ConnectionState::Released { paged_at: Instant::FAR_FUTURE });
        for (way, direction) in [Direction::Downlink, Direction::Uplink].into_iter().enumerate() {
            if !connections.ues[id.index()].held[way].is_empty() {
                self.want_connection(connections, cx, direction, id);
            }
        }
    }

    /// A UE has no connection any more, and listens in its paging occasions.
    fn leave_cell(&mut self, now: Instant, id: UeId) {
        self.set_phase(now, id, Phase::Released);
        self.reset_mac(id, now);
        self.ues[id.index()].bearers.clear_signalling();
    }

    fn set_phase(&mut self, now: Instant, id: UeId, phase: Phase) {
        let ue = &mut self.ues[id.index()];
        ue.phase = phase;
        ue.reset_drx(&self.cells[ue.cell().index()].config, now);
    }

    fn observe(&self, cx: &mut Cx<'_>, id: UeId, step: ConnectionStep) {
        cx.emit(&Event::Connection { ue: id, cell: self.ues[id.index()].cell(), step });
    }
}
