//! The segments that arrive on subflows.

use airlane_core::{
    Bytes, Cx, DataMapping, DropCause, Ecn, Event, Header, MptcpOption, PacketRef, SocketPair, SubflowStep,
    TcpFlags, TcpHeader, Topic,
};

use super::connection::MptcpConnection;
use super::fallback::Verdict;
use super::keys;
use crate::TcpEndpoint;

/// The bytes of an arrival.
#[derive(Clone, Copy, Debug, Default)]
struct Arrived {
    /// Bytes that became readable in the order of the data, and bytes that had arrived before.
    readable: u64,
    again: u64,
}

impl MptcpConnection {
    /// Handles a packet of the connection, which is consumed. Data becomes readable; [`Self::flush`] must follow.
    pub fn handle_packet(&mut self, cx: &mut Cx<'_>, packet: PacketRef) {
        let arrived = cx.pool.get(&packet);
        let (sockets, ecn, payload) = (arrived.sockets, arrived.ecn, arrived.payload.len());
        let option = arrived.mptcp().copied();
        let Header::Tcp(header) = arrived.header else { return cx.discard(packet, DropCause::Endpoint) };
        let is_syn = header.flags.has(TcpFlags::SYN) && !header.flags.has(TcpFlags::ACK);
        let Some(index) = self.subflow_with(cx, (sockets, is_syn), option) else {
            return cx.discard(packet, DropCause::Endpoint);
        };
        if cx.wants(Topic::Received) {
            cx.emit_about(&packet, |packet| Event::Received { packet });
        }
        if matches!(option, Some(MptcpOption::Dss { .. })) && self.peer_key.is_none() {
            // The segments with the keys were lost: without them, this one has no meaning. It will come again.
            return cx.discard(packet, DropCause::Endpoint);
        }
        if self.subflows[index].is_none() {
            if !is_syn || self.opens(index) {
                return cx.discard(packet, DropCause::Endpoint);
            }
            self.open(index);
            let joins = matches!(option, Some(MptcpOption::JoinSyn { .. }));
            if let Some(subflow) = &mut self.subflows[index] {
                subflow.joins = joins;
            }
        }
        let verdict = self.judge(index, (&header, payload), option);
        if verdict == Verdict::FallBack {
            self.fall_back(cx);
        }
        let held = self.subflows[index].as_ref().map_or(0, |one| one.endpoint.held_beyond());
        if !self.authenticates(index, option) {
            self.on_endpoint(cx, index, TcpEndpoint::abort);
            return cx.discard(packet, DropCause::Endpoint);
        }
        if verdict == Verdict::Reset {
            self.refuse(cx, index, (&header, ecn));
            return cx.discard(packet, DropCause::Endpoint);
        }
        let option = option.filter(|_| !self.plain);
        self.take_option(cx, index, &header, option);
        let in_order =
            self.on_endpoint(cx, index, |endpoint, cx| endpoint.handle_segment(cx, &header, ecn, payload));
        if let Some(MptcpOption::FastClose(key)) = option {
            self.on_fast_close(cx, index, (key, header.flags.has(TcpFlags::RST)));
        }
        self.watch(cx, index);
        let arrived = self.read_subflow(cx, index);
        if self.plain && index == 0 {
            self.take_plain(&header);
        }
        if payload > 0 && cx.wants(Topic::Delivered) {
            let beyond = self.subflows[index].as_ref().map_or(0, |one| one.endpoint.held_beyond());
            let of_subflow = (in_order + beyond).saturating_sub(held).min(u64::from(payload));
            let fresh = Some(Bytes(of_subflow.saturating_sub(arrived.again)));
            let in_order = Bytes(arrived.readable);
            let packet = cx.pool.get(&packet);
            cx.probe.observe(cx.now, &Event::Delivered { packet, in_order, fresh });
        }
        cx.pool.retire(packet);
    }

    /// The subflow of a segment; none of a join with a wrong token. A join from a new port takes the place of the last subflow
    /// of its address.
    fn subflow_with(
        &mut self,
        cx: &mut Cx<'_>,
        (sockets, is_syn): (SocketPair, bool),
        option: Option<MptcpOption>,
    ) -> Option<usize> {
        let paths = &self.settings.paths;
        let known = paths.iter().position(|path| path.sockets == sockets);
        let Some(MptcpOption::JoinSyn { address, token, .. }) = option else { return known };
        if self.peer_key.is_none() || token != keys::token(self.key) {
            return None;
        }
        let is_new = known.is_none() && is_syn && !self.replaced.contains(&sockets);
        if !is_new || self.initiator || self.plain {
            return known;
        }
        let of = paths.iter().position(|path| path.address == address);
        let index = of.filter(|index| !self.opens(*index))?;
        self.drop_subflow(cx, index);
        self.replaced.push(core::mem::replace(&mut self.settings.paths[index].sockets, sockets));
        Some(index)
    }

    /// Ends a subflow whose peer does not send the options. An answer to a SYN completes the handshake before, so that a RST
    /// can follow.
    fn refuse(&mut self, cx: &mut Cx<'_>, index: usize, (header, ecn): (&TcpHeader, Ecn)) {
        if let Some(subflow) = &mut self.subflows[index] {
            subflow.refused = true;
        }
        if header.flags.has(TcpFlags::SYN) {
            self.on_endpoint(cx, index, |endpoint, cx| endpoint.handle_segment(cx, header, ecn, 0));
        }
        self.on_endpoint(cx, index, TcpEndpoint::abort);
        self.watch(cx, index);
    }

    /// False if an answer to a join does not prove that its sender knows the keys (RFC 8684 §3.2). Stores the peer's random
    /// number.
    fn authenticates(&mut self, index: usize, option: Option<MptcpOption>) -> bool {
        let (key, peer_key) = (self.key, self.peer_key);
        let Some(subflow) = &mut self.subflows[index] else { return false };
        let hmac =
            |nonces: [u32; 2]| peer_key.map(|peer| keys::join_hmac([peer, key], [nonces[1], nonces[0]]));
        match option {
            Some(MptcpOption::JoinSyn { nonce, .. }) => {
                subflow.nonces[1] = nonce;
                true
            }
            Some(MptcpOption::JoinSynAck { hmac: proof, nonce, .. }) => {
                subflow.nonces[1] = nonce;
                hmac(subflow.nonces).map(keys::most_64) == Some(proof)
            }
            Some(MptcpOption::JoinAck(proof)) => hmac(subflow.nonces).map(keys::most_160) == Some(proof),
            _ => true,
        }
    }

    /// The option of a segment, before the subflow handles it.
    fn take_option(
        &mut self,
        cx: &mut Cx<'_>,
        index: usize,
        header: &TcpHeader,
        option: Option<MptcpOption>,
    ) {
        let Some(option) = option else { return };
        let was_confirmed = self.subflows[index].as_ref().is_some_and(|subflow| subflow.confirmed);
        match option {
            // The flag of a join replaces what MP_PRIO has said about the last subflow of the address.
            MptcpOption::JoinSyn { backup, .. } => self.on_priority(index, backup),
            MptcpOption::CapableSyn
            | MptcpOption::JoinSynAck { .. }
            | MptcpOption::RemoveAddr(_)
            | MptcpOption::Prio { .. }
            | MptcpOption::FastClose(_) => {}
            // As in Linux, an announcement confirms the subflow that carries it, but no echo does (check_fully_established
            // of net/mptcp/options.c).
            MptcpOption::AddAddr { hmac, .. } => {
                if hmac.is_some() && self.peer_key.is_some() {
                    self.confirm(index);
                }
            }
            MptcpOption::CapableSynAck(key) => {
                self.peer_key.get_or_insert(key);
                self.outgoing.on_ack(0, u64::from(header.window));
            }
            MptcpOption::CapableAck([key, _]) | MptcpOption::CapableData([key, _], _) => {
                if self.peer_key.is_none() {
                    self.peer_key = Some(key);
                    self.incoming.on_established(cx.now);
                }
                self.has_signal |= matches!(option, MptcpOption::CapableData(..));
                self.confirm(index);
                self.take_window(index, header, self.outgoing.una());
            }
            MptcpOption::JoinAck(_) => {
                self.confirm(index);
                // The fourth segment, without which the initiator does not use the subflow (RFC 8684 §3.2).
                if let Some(subflow) = &mut self.subflows[index] {
                    subflow.endpoint.demand_ack();
                }
            }
            MptcpOption::Dss { data_ack, mapping, data_fin } => {
                if self.believes(index, header) {
                    self.has_signal = true;
                    if self.initiator && !was_confirmed && index == 0 {
                        self.incoming.on_established(cx.now);
                    }
                    self.confirm(index);
                    self.take_signal(index, header, data_ack, (mapping, data_fin));
                }
            }
        }
        self.take_control(cx, index, option);
        if let MptcpOption::CapableData(_, length) = option
            && let Some(subflow) = &mut self.subflows[index]
        {
            subflow.announce(0, 0, u64::from(length));
        }
        let confirmed = self.subflows[index].as_ref().is_some_and(|subflow| subflow.confirmed);
        if confirmed && !was_confirmed {
            self.report(cx, index, SubflowStep::Established);
        }
    }

    /// An option of the peer about addresses or priorities has arrived.
    fn take_control(&mut self, cx: &mut Cx<'_>, index: usize, option: MptcpOption) {
        match option {
            MptcpOption::AddAddr { id, address, hmac } => {
                self.on_add_address(cx, index, (id, address, hmac));
            }
            MptcpOption::RemoveAddr(id) => self.on_remove_address(cx, id),
            MptcpOption::Prio { backup } => self.on_priority(index, backup),
            _ => {}
        }
    }

    fn confirm(&mut self, index: usize) {
        if let Some(subflow) = &mut self.subflows[index] {
            subflow.confirmed = true;
        }
    }

    /// Whether the subflow takes a segment, so that its option counts.
    fn believes(&self, index: usize, header: &TcpHeader) -> bool {
        self.subflows[index].as_ref().is_some_and(|subflow| subflow.endpoint.believes(header))
    }

    /// The peer's window, which applies from this position on (RFC 8684 §3.3.1).
    fn take_window(&mut self, index: usize, header: &TcpHeader, acknowledged: u64) {
        let scale = self.subflows[index].as_ref().map_or(0, |one| one.endpoint.window_scales()[1]);
        self.outgoing.on_ack(acknowledged, u64::from(header.window) << scale);
    }

    /// A data sequence signal.
    fn take_signal(
        &mut self,
        index: usize,
        header: &TcpHeader,
        data_ack: u64,
        (mapping, data_fin): (Option<DataMapping>, bool),
    ) {
        self.take_window(index, header, data_ack.wrapping_sub(self.own_sequence(0)));
        let (Some(mapping), Some(first)) = (mapping, self.peer_sequence(0)) else { return };
        let position = mapping.data_sequence.wrapping_sub(first);
        let length = u64::from(mapping.length) - u64::from(data_fin);
        let Some(subflow) = &mut self.subflows[index] else { return };
        if data_fin {
            self.incoming.on_end(position + length);
            subflow.endpoint.demand_ack();
        }
        if length > 0 {
            subflow.announce(subflow.offset_of(mapping), position, length);
        }
    }

    /// Moves what a subflow has received in its order to the data.
    fn read_subflow(&mut self, cx: &mut Cx<'_>, index: usize) -> Arrived {
        let before = self.incoming.readable();
        let was_complete = self.incoming.is_complete();
        let mut arrived = Arrived::default();
        let plain = self.plain && index == 0;
        while let Some(subflow) = &mut self.subflows[index]
            && let Some((position, len)) = subflow.read(cx.now, plain)
        {
            let expected = self.incoming.next();
            let fresh = self.incoming.receive(cx.now, index, (position, len), &mut self.released);
            arrived.again += len - fresh;
            let ahead = if fresh > 0 { position.saturating_sub(expected) } else { 0 };
            let (fresh, again, ahead) = (Bytes(fresh), Bytes(len - fresh), Bytes(ahead));
            self.report(cx, index, SubflowStep::Arrived { fresh, again, ahead });
        }
        let mut released = core::mem::take(&mut self.released);
        for one in released.drain(..) {
            let step = SubflowStep::Released { bytes: Bytes(one.bytes), waited: one.waited };
            self.report(cx, one.path, step);
        }
        self.released = released;
        if self.incoming.is_complete()
            && !was_complete
            && let Some(subflow) = &mut self.subflows[index]
        {
            subflow.endpoint.demand_ack();
        }
        arrived.readable = self.incoming.readable() - before;
        arrived
    }
}
