//! Random access of UEs that set up their connections: the part of [`RadioNetwork`] that carries out
//! [`rrc::contention`](crate::rrc::contention).

use airlane_core::{Bytes, ConnectionCause, ConnectionStep, Cx, Duration, Instant, UeId};

use super::{Connection, Connections, LATER};
use crate::link::Radio;
use crate::mac::sleep::Phase;
use crate::network::RadioNetwork;
use crate::numerology::Numerology;
use crate::rrc::connection::{ConnectionConfig, ConnectionState};
use crate::rrc::random_access::Attempt;
use crate::ue::Ue;

/// Time from a random access response whose grant finds no room to the next.
const NEXT_RESPONSE: Duration = Duration::from_millis(1);

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
        let mut rest = &contenders[..];
        while let Some(first) = rest.first() {
            let cell = self.ues[first.index()].cell();
            let (group, others) =
                rest.split_at(rest.partition_point(|id| self.ues[id.index()].cell() <= cell));
            rest = others;
            self.contend_in(connections, cx, group);
        }
        contenders.clear();
        connections.contenders = contenders;
    }

    /// The UEs of a cell that send a preamble now contend.
    fn contend_in(&mut self, connections: &mut Connections, cx: &mut Cx<'_>, group: &[UeId]) {
        let config = self.connection_config(group[0]);
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
    pub(super) fn fail_attempt(
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
        let numerology = self.numerology_of(id);
        let at = config.access.after_backoff(cx.now, numerology, &mut connection.draws);
        connections.enter(id, ConnectionState::Preamble { at });
    }
}
