//! Random access of UEs that set up their connections: the part of [`RadioNetwork`] that carries out
//! [`rrc::contention`](crate::rrc::contention).

use airlane_core::{Bytes, ConnectionCause, ConnectionStep, Cx, Direction, Duration, Instant, UeId};

use super::{C_RNTI, Connection, Connections, LATER};
use crate::link::Radio;
use crate::mac::requests::SentRequests;
use crate::mac::sleep::Phase;
use crate::mac::uplink::Msg3;
use crate::network::RadioNetwork;
use crate::numerology::Numerology;
use crate::rrc::connection::{ConnectionConfig, ConnectionState};
use crate::rrc::random_access::Attempt;
use crate::ue::Ue;

/// Time from a random access response whose grant finds no room to the next.
const NEXT_RESPONSE: Duration = Duration::from_millis(1);
/// The MAC control element C-RNTI with its subheader (TS 36.321 §6.1.3.2, TS 38.321 §6.1.3.2).
const C_RNTI_BYTES: u32 = 3;

impl RadioNetwork {
    fn numerology_of(&self, ue: UeId) -> &Numerology {
        &self.cells[self.ues[ue.index()].cell().index()].config.numerology
    }

    /// Whether a released UE can begin random access in its cell.
    pub(super) fn may_access(&self, ue: UeId) -> bool {
        let is_on = self.cells[self.ues[ue.index()].cell().index()].restrictions.is_on;
        is_on && self.handover.as_ref().is_none_or(|handover| handover.is_at_rest(ue))
    }

    /// A released UE begins to set its connection up.
    pub(super) fn begin_access(
        &mut self,
        connections: &mut Connections,
        cx: &mut Cx<'_>,
        id: UeId,
        cause: ConnectionCause,
    ) {
        if !self.may_access(id) {
            return self.try_again(connections, id, cx.now + LATER);
        }
        let config = self.connection_config(id);
        let connection = &mut connections.ues[id.index()];
        (connection.access_began, connection.preambles) = (cx.now, 0);
        self.set_phase(cx.now, id, Phase::Connecting);
        self.reset_mac(id, cx.now);
        self.observe(cx, id, ConnectionStep::Began { cause });
        let at = config.access.next_occasion(cx.now, self.numerology_of(id));
        connections.enter(id, ConnectionState::Preamble { at });
    }

    /// Whether a UE misses a PDCCH of its cell now.
    pub(super) fn misses_control(&mut self, now: Instant, id: UeId) -> bool {
        let Ue { mobility, links, .. } = &mut self.ues[id.index()];
        let link = links.primary_mut();
        let cell = &mut self.cells[link.cell.index()];
        let radio = Radio { cell: &cell.config, air: &self.air };
        link.misses_control(now, mobility, radio, cell.phy.sinr_mut())
    }

    /// The UEs that send a preamble now contend, in each cell.
    pub(super) fn contend(&mut self, connections: &mut Connections, cx: &mut Cx<'_>) {
        let mut contenders = core::mem::take(&mut connections.contenders);
        contenders.sort_unstable_by_key(|id| (self.ues[id.index()].cell(), *id));
        let mut rest = &mut contenders[..];
        while let Some(first) = rest.first() {
            let cell = self.ues[first.index()].cell();
            let count = rest.partition_point(|id| self.ues[id.index()].cell() <= cell);
            let (group, others) = rest.split_at_mut(count);
            rest = others;
            self.contend_in(connections, cx, group);
        }
        contenders.clear();
        connections.contenders = contenders;
    }

    /// UEs whose scheduling requests were not answered begin random access, which asks for a grant (TS 36.321 §5.4.4, TS
    /// 38.321 §5.4.4).
    pub(in crate::network) fn access_for_requests(&mut self, cx: &mut Cx<'_>) {
        let mut unanswered = core::mem::take(&mut self.unanswered);
        let Some(mut connections) = self.connections.take() else { return };
        for id in unanswered.drain(..).map(UeId) {
            let may_access = self.may_access(id);
            let at = self.connection_config(id).access.next_occasion(cx.now, self.numerology_of(id));
            let connection = &mut connections.ues[id.index()];
            if connection.state != ConnectionState::Connected || !may_access {
                self.ues[id.index()].links.primary_mut().uplink.requests = SentRequests::default();
                continue;
            }
            (connection.access_began, connection.preambles, connection.wants_grant) = (cx.now, 0, true);
            self.observe(cx, id, ConnectionStep::RequestsUnanswered);
            connections.enter(id, ConnectionState::Preamble { at });
        }
        self.unanswered = unanswered;
        self.connections = Some(connections);
    }

    /// The cell has received the Msg3 of a connected UE, and with it a buffer status: the grant for it resolves contention.
    pub(super) fn end_access(&mut self, connections: &mut Connections, cx: &mut Cx<'_>, id: UeId) {
        let ue = &mut self.ues[id.index()];
        ue.links.primary_mut().uplink.requests = SentRequests::default();
        if let Some(drx) = &mut ue.drx {
            drx.on_new_transmission(cx.now);
        }
        self.touched.push(id.0);
        let inactivity = self.connection_config(id).inactivity;
        let connection = &mut connections.ues[id.index()];
        connection.wants_grant = false;
        let at = (connection.last_data + inactivity).max(cx.now + LATER);
        connections.enter(id, ConnectionState::Connected);
        connections.set_alarm(id, at);
    }

    /// The UEs of a cell that send a preamble now contend. Responses are sent in the order of the preambles: if there are fewer
    /// responses than UEs, each UE is as likely to get one.
    ///
    /// A UE that begins with two steps sends MsgA: after its preamble a PUSCH, which the cell receives only if it has detected
    /// the preamble. A PUSCH that is not decoded is repeated by HARQ, in the place of fallbackRAR and Msg3.
    fn contend_in(&mut self, connections: &mut Connections, cx: &mut Cx<'_>, group: &mut [UeId]) {
        let config = self.connection_config(group[0]);
        let access = &config.access;
        let Connections { occasion, ues, .. } = connections;
        occasion.begin(access);
        for id in group.iter() {
            let connection = &mut ues[id.index()];
            let preambles = occasion.of(access.message_a(connection.preambles));
            connection.preambles += 1;
            connection.preamble = preambles.send(&mut connection.draws);
        }
        group.sort_by_key(|id| ues[id.index()].preamble); // UEs with the same one stay in their order
        let (mut detected, until) = (0, access.window_end(cx.now));
        for id in group.iter() {
            let Connection { preamble, preambles, wants_grant, .. } = connections.ues[id.index()];
            let message_a = access.message_a(preambles - 1);
            let is_alone = connections.occasion.of(message_a).is_alone(preamble);
            let draws = &mut connections.ues[id.index()].draws;
            let is_heard = is_alone
                && self.is_heard(cx.now, *id, preambles - 1)
                && access.detection.detects(preambles, draws);
            if !wants_grant {
                self.observe(cx, *id, ConnectionStep::Preamble { number: preambles, collides: !is_alone });
            }
            if let Some(message_a) = message_a {
                let from = cx.now + message_a.pusch_after;
                if !is_heard || !self.request(connections, *id, from, &config) {
                    self.await_message_b(connections, *id, from, message_a.window);
                }
                continue;
            }
            let mut at = until;
            if is_heard {
                at = access.response(cx.now, detected).unwrap_or(until);
                detected += 1;
            }
            connections.enter(*id, ConnectionState::Response { at, until });
        }
    }

    /// A UE has sent a MsgA without effect: without an answer, it tries again at the end of the window for MsgB, which begins
    /// with the PUSCH, from `from` on (TS 38.321 §5.1.4a).
    fn await_message_b(&self, connections: &mut Connections, id: UeId, from: Instant, window: Duration) {
        let numerology = self.numerology_of(id);
        let slot = numerology.duplex.next_uplink(numerology.slot_from(from));
        let until = numerology.start_of(slot) + window;
        connections.enter(id, ConnectionState::Response { at: until, until });
    }

    /// The request of a UE, or the control element that identifies a connected UE, is sent in a block from a time on.
    /// Returns false if the slot has no room for it, or the UE sends another block there.
    fn request(
        &mut self,
        connections: &mut Connections,
        id: UeId,
        from: Instant,
        config: &ConnectionConfig,
    ) -> bool {
        let (number, bytes) = match connections.ues[id.index()].wants_grant {
            true => (C_RNTI, C_RNTI_BYTES),
            false => (0, config.messages[0].bytes),
        };
        let link = self.ues[id.index()].links.primary_mut();
        let cell = &mut self.cells[link.cell.index()];
        let earliest = cell.config.numerology.slot_from(from);
        let msg3 = Msg3 { ue: id, earliest, bytes: Bytes(u64::from(bytes)) };
        let Some(slot) = cell.uplink.grant_msg3(&cell.config, &cell.phy, link, msg3) else { return false };
        let sent = cell.config.numerology.start_of(slot);
        self.ues[id.index()].bearers.submit_signalling(Direction::Uplink, number, bytes);
        let until = sent + config.access.resolution;
        connections.enter(id, ConnectionState::Requesting { until, answer_at: Instant::FAR_FUTURE });
        true
    }

    /// Whether the cell of a UE detects its preamble, after this many before it.
    fn is_heard(&mut self, now: Instant, id: UeId, before: u32) -> bool {
        let Ue { mobility, links, .. } = &mut self.ues[id.index()];
        let link = links.primary_mut();
        let cell = &self.cells[link.cell.index()];
        let attempt = Attempt::at(&cell.config, link, mobility, now, before);
        cell.restrictions.is_on && attempt.is_detected()
    }

    /// A random access response is sent, or the window for it is over.
    pub(super) fn respond(
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
        if !self.request(connections, id, cx.now + config.access.msg3_after, config) {
            let at = (cx.now + NEXT_RESPONSE).min(until);
            connections.enter(id, ConnectionState::Response { at, until });
        }
    }

    /// An attempt at random access has failed: a UE that has preambles and time left sends another one.
    pub(super) fn fail_attempt(
        &mut self,
        connections: &mut Connections,
        cx: &mut Cx<'_>,
        id: UeId,
        config: &ConnectionConfig,
    ) {
        let connection = &connections.ues[id.index()];
        let (wants_grant, began) = (connection.wants_grant, connection.access_began);
        if !wants_grant {
            self.reset_mac(id, cx.now);
        }
        self.ues[id.index()].bearers.clear_signalling();
        let has_time = wants_grant || cx.now < began + config.t300;
        let connection = &connections.ues[id.index()];
        if connection.preambles >= config.access.most_preambles || !has_time || !self.may_access(id) {
            return self.give_up(connections, cx, id, config);
        }
        let connection = &mut connections.ues[id.index()];
        let numerology = self.numerology_of(id);
        let at = config.access.after_backoff(cx.now, numerology, &mut connection.draws);
        connections.enter(id, ConnectionState::Preamble { at });
    }
}
