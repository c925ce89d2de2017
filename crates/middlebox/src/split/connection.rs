//! A split connection: an end towards each side, and the relays between them.

use airlane_core::{
    Bytes, Cx, Direction, Duration, Ecn, Event, Header, Instant, Outbox, Packet, PacketRef, Payload,
    TcpHeader, Topic, TopicSet,
};
use airlane_net::gtp;
use airlane_transport::content::{Content, PagePool};
use airlane_transport::{ConnectionState, TcpEndpoint};

use super::budget::Budget;
use super::config::{ConnectOrder, SplitConfig};
use super::key::Key;
use super::legs::{Gate, LegStatistics};
use super::statistics::{Ending, SplitStatistics};
use crate::node::Side;

/// How long one side may be silent once the other has closed (RFC 5382 §5, REQ-5: at least 4 minutes).
const HALF_CLOSED: Duration = Duration::from_secs(240);

/// Headers of IPv4 and TCP without options: the difference between the MTU and a segment.
const HEADERS: u16 = 40;

/// The state that all connections of a proxy share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) config: SplitConfig,
    pub(super) budget: Budget,
    pub(super) statistics: SplitStatistics,
    /// Counters of ended connections, by side.
    pub(super) legs: [LegStatistics; 2],
    pub(super) stock: PagePool,
    /// The packets that an end has sent during a call.
    pub(super) scratch: Outbox,
}

/// The relay of one direction, from one side to the other.
#[derive(Debug)]
struct Relay {
    /// Memory that the budget has charged for it.
    charged: u64,
    /// Bytes in the buffer: received, and not acknowledged by the other peer.
    held: u64,
    /// Offset up to which the other peer has acknowledged.
    acknowledged: u64,
    /// Time of the last progress, or of the last instant without work.
    progressed_at: Instant,
    /// The gate of the sending peer.
    gate: Gate,
    content: Content,
}

/// The connection. Arrays are indexed by side; a relay by the side from which its bytes arrive.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) key: Key,
    opener: Side,
    ends: [TcpEndpoint; 2],
    relays: [Relay; 2],
    /// The opener's SYN, while it waits for the other peer.
    unanswered: Option<TcpHeader>,
    opened_at: Instant,
    heard_at: Instant,
}

impl Connection {
    /// Opens a connection for a SYN from this side; `charged` is the reservation of the budget, `ran_window` the initial
    /// window towards the UE in segments, if it is not the configured one.
    pub(super) fn open(
        cx: &mut Cx<'_>,
        shared: &mut Shared,
        (key, opener): (Key, Side),
        charged: [u64; 2],
        ran_window: Option<u32>,
        syn: &TcpHeader,
    ) -> Self {
        let now = cx.now;
        let ends = [Side::Core, Side::Ran].map(|side| {
            let mut config = shared.config.towards(side, key, now);
            if let (Side::Ran, Some(segments)) = (side, ran_window) {
                config.initial_window_segments = segments;
            }
            TcpEndpoint::new(config, key.path(direction_to(side)))
        });
        let relay = |charged| Relay {
            charged,
            held: 0,
            acknowledged: 0,
            progressed_at: now,
            gate: Gate::default(),
            content: Content::default(),
        };
        let relays = charged.map(relay);
        let mut new = Self { key, opener, ends, relays, unanswered: None, opened_at: now, heard_at: now };
        new.grant(&mut shared.budget, shared.config.buffer.get());
        if shared.config.connect == ConnectOrder::FarEndFirst {
            new.unanswered = Some(*syn);
        } else {
            new.on_end(cx, shared, opener, |end, cx| end.handle_segment(cx, syn, Ecn::NotCapable, 0));
        }
        if shared.config.connect != ConnectOrder::AfterHandshake {
            new.on_end(cx, shared, opener.across(), |end, cx| end.connect(cx));
        }
        new.settle(&mut shared.budget);
        new
    }

    /// Handles a segment from a side. Returns its ending, if it ends.
    pub(super) fn handle_packet(
        &mut self,
        cx: &mut Cx<'_>,
        shared: &mut Shared,
        side: Side,
        packet: PacketRef,
    ) -> Option<Ending> {
        let packet = cx.pool.consume(packet);
        if let Header::Tcp(header) = packet.header
            && (self.unanswered.is_none() || side != self.opener)
        {
            self.heard_at = cx.now;
            self.grant(&mut shared.budget, shared.config.buffer.get());
            if let Payload::Bytes(bytes) = &packet.payload {
                self.keep(&mut shared.stock, side, &header, bytes);
            }
            let (ecn, payload) = (packet.ecn, packet.payload.len());
            self.on_end(cx, shared, side, |end, cx| end.handle_segment(cx, &header, ecn, payload));
            self.go_on(cx, shared);
        }
        cx.pool.recycle(packet);
        self.ending(cx, shared)
    }

    /// Handles its timer.
    pub(super) fn handle_timeout(&mut self, cx: &mut Cx<'_>, shared: &mut Shared) -> Option<Ending> {
        if let Some(ending) = self.given_up(cx.now, &shared.config) {
            self.abort(cx, shared);
            return Some(ending);
        }
        self.grant(&mut shared.budget, shared.config.buffer.get());
        for side in [Side::Core, Side::Ran] {
            if self.ends[side as usize].next_timeout() <= cx.now {
                self.on_end(cx, shared, side, TcpEndpoint::handle_timeout);
            }
        }
        self.go_on(cx, shared);
        self.ending(cx, shared)
    }

    /// When to call [`Self::handle_timeout`].
    pub(super) fn next_timeout(&self, config: &SplitConfig) -> Instant {
        let [core, ran] = &self.ends;
        core.next_timeout().min(ran.next_timeout()).min(self.deadline(config).0)
    }

    /// Informs both peers that the connection is over.
    pub(super) fn abort(&mut self, cx: &mut Cx<'_>, shared: &mut Shared) {
        for side in [Side::Core, Side::Ran] {
            let knows = matches!(
                self.ends[side as usize].state(),
                ConnectionState::SynReceived | ConnectionState::Established
            );
            shared.legs[side as usize].resets_sent += u64::from(knows);
            self.on_end(cx, shared, side, TcpEndpoint::abort);
        }
        if let Some(syn) = self.unanswered.take() {
            shared.legs[self.opener as usize].resets_sent += 1;
            self.on_end(cx, shared, self.opener, |end, cx| end.handle_segment(cx, &syn, Ecn::NotCapable, 0));
        }
    }

    /// The congestion window towards the UE, in segments; `None` before the first data.
    pub(super) fn ran_window(&self, now: Instant) -> Option<u32> {
        let end = &self.ends[Side::Ran as usize];
        (end.stats().data_segments_sent > 0).then(|| end.info(now).snd_cwnd)
    }

    /// Bytes in its buffers.
    pub(super) fn held(&self) -> u64 {
        self.relays.iter().map(|relay| relay.held).sum()
    }

    /// Leaves this proxy, with all its state.
    pub(super) fn leave(&mut self, cx: &mut Cx<'_>, shared: &mut Shared) {
        shared.budget.release(self.relays.each_ref().map(|relay| relay.charged));
        shared.statistics.leave();
        for side in [Side::Core, Side::Ran] {
            self.relays[side as usize].gate.set(cx.now, false, &mut shared.legs[side as usize]);
            let held = self.relays[side as usize].held;
            self.note_held(cx, shared, side, (held, 0));
        }
    }

    /// Joins this proxy with all its state. Returns false if there is no room, and it is aborted.
    pub(super) fn join(&mut self, cx: &mut Cx<'_>, shared: &mut Shared) -> bool {
        if !shared.budget.admit_charged(self.relays.each_ref().map(|relay| relay.charged)) {
            self.abort(cx, shared);
            shared.statistics.turned_away += 1;
            return false;
        }
        shared.statistics.join();
        for side in [Side::Core, Side::Ran] {
            let held = self.relays[side as usize].held;
            self.note_held(cx, shared, side, (0, held));
        }
        true
    }

    /// Updates the counters after a change of its buffer for a side.
    fn note_held(&self, cx: &mut Cx<'_>, shared: &mut Shared, side: Side, (before, now): (u64, u64)) {
        shared.statistics.hold(side, before, now);
        if cx.wants(Topic::Proxy) {
            let (flow, direction) = (self.key.flow(), direction_to(side.across()));
            let [before, now] = [before, now].map(Bytes);
            cx.emit(&Event::ProxyBuffer { proxy: shared.config.id, flow, direction, before, now });
        }
    }

    /// Adds the state of its leg to a side, and its counters.
    pub(super) fn look_at(&self, now: Instant, side: Side, leg: &mut LegStatistics) {
        let end = &self.ends[side as usize];
        leg.look_at(end);
        leg.count(&end.stats(), self.opened_at);
        leg.waiting += self.relays[side.across() as usize].held;
        self.relays[side as usize].gate.look_at(now, leg);
    }

    /// Releases its memory, and returns its ends.
    pub(super) fn dismantle(mut self, cx: &mut Cx<'_>, shared: &mut Shared) -> [TcpEndpoint; 2] {
        for side in [Side::Core, Side::Ran] {
            let leg = &mut shared.legs[side as usize];
            leg.count(&self.ends[side as usize].stats(), self.opened_at);
            self.relays[side as usize].gate.set(cx.now, false, leg);
            let held = self.relays[side as usize].held;
            self.note_held(cx, shared, side, (held, 0));
            self.relays[side as usize].content.clear(&mut shared.stock);
        }
        shared.budget.release(self.relays.each_ref().map(|relay| relay.charged));
        self.ends
    }

    /// Calls an end, and sends its packets: into the tunnel, if there is one, and with the real bytes instead
    /// of lengths.
    #[inline]
    fn on_end<R>(
        &mut self,
        cx: &mut Cx<'_>,
        shared: &mut Shared,
        side: Side,
        act: impl FnOnce(&mut TcpEndpoint, &mut Cx<'_>) -> R,
    ) -> R {
        // Packets, samples and events of the proxy's ends are not those of the flow's ends.
        let (topics, outbox) = (TopicSet::NONE, &mut shared.scratch);
        let mut quiet = Cx { now: cx.now, pool: &mut *cx.pool, outbox, topics, probe: &mut *cx.probe };
        let end = &mut self.ends[side as usize];
        let result = act(end, &mut quiet);
        let content = &self.relays[side.across() as usize].content;
        for (_, packet) in shared.scratch.drain(..) {
            if content.is_real() {
                fill(cx, end, content, &packet);
            }
            if shared.config.cell.is_some() {
                gtp::encapsulate(cx.pool.get_mut(&packet));
            }
            cx.send(side.port(), packet);
        }
        result
    }

    /// Stores the bytes of a segment that may be accepted from this side.
    fn keep(&mut self, stock: &mut PagePool, side: Side, header: &TcpHeader, bytes: &[u8]) {
        let end = &self.ends[side as usize];
        let at = end.offset_received(header);
        let from = at.max(end.received_to());
        let to = (at + bytes.len() as u64).min(end.accepted_to());
        // Data behind a gap must not be overwritten by data that the end rejects.
        if from < to && end.believes(header) {
            let part = &bytes[(from - at) as usize..(to - at) as usize];
            self.relays[side as usize].content.write(stock, from, part);
        }
    }

    /// Grants the offers for both sides from now on.
    #[inline]
    fn grant(&mut self, budget: &mut Budget, buffer: u64) {
        for (relay, end) in self.relays.iter_mut().zip(&mut self.ends) {
            end.offer_up_to(relay.acknowledged + budget.grant(&mut relay.charged, buffer));
        }
    }

    /// Charges the used part of these grants.
    #[inline]
    fn settle(&mut self, budget: &mut Budget) {
        for (relay, end) in self.relays.iter_mut().zip(&self.ends) {
            budget.settle(&mut relay.charged, end.offered_to().saturating_sub(relay.acknowledged));
        }
    }

    /// Forwards received data, and sends what is possible.
    #[inline]
    fn go_on(&mut self, cx: &mut Cx<'_>, shared: &mut Shared) {
        self.handshake(cx, shared);
        for side in [Side::Core, Side::Ran] {
            self.relay(cx, shared, side);
        }
        self.settle(&mut shared.budget);
        self.grant(&mut shared.budget, shared.config.buffer.get());
        for side in [Side::Core, Side::Ran] {
            self.on_end(cx, shared, side, TcpEndpoint::flush);
        }
        self.settle(&mut shared.budget);
        self.note_windows(cx.now, shared);
    }

    /// Updates the windows of its peers in the counters.
    #[inline]
    fn note_windows(&mut self, now: Instant, shared: &mut Shared) {
        let segments = [shared.config.core.mtu, shared.config.ran.mtu];
        let legs = shared.legs.iter_mut().zip(segments);
        for ((relay, end), (leg, segment)) in self.relays.iter_mut().zip(&self.ends).zip(legs) {
            let may_send = end.state() == ConnectionState::Established && !end.at_end();
            let offered = end.offered_to().saturating_sub(end.received_to());
            relay.gate.set(now, may_send && offered < u64::from(segment - HEADERS), leg);
        }
    }

    /// Continues the handshake of the end that has waited for the other.
    #[inline]
    fn handshake(&mut self, cx: &mut Cx<'_>, shared: &mut Shared) {
        let (near, far) = (self.opener, self.opener.across());
        let state = |side: Side| self.ends[side as usize].state();
        if state(far) == ConnectionState::Listen && state(near) == ConnectionState::Established {
            self.on_end(cx, shared, far, |end, cx| end.connect(cx));
        } else if state(far) == ConnectionState::Established
            && let Some(syn) = self.unanswered.take()
        {
            self.on_end(cx, shared, near, |end, cx| {
                end.handle_segment(cx, &syn, Ecn::NotCapable, 0);
            });
        }
    }

    /// Forwards the data received from a side.
    #[inline]
    fn relay(&mut self, cx: &mut Cx<'_>, shared: &mut Shared, side: Side) {
        let [core, ran] = &mut self.ends;
        let (from, to) = if side == Side::Core { (core, ran) } else { (ran, core) };
        if matches!(from.state(), ConnectionState::Reset | ConnectionState::TimedOut) {
            return; // its received data was discarded; `ending` frees the rest
        }
        let relay = &mut self.relays[side as usize];
        let bytes = from.read(cx.now, u64::MAX);
        if bytes > 0 {
            to.supply(bytes);
        }
        if from.at_end() && !to.is_closing() {
            to.shutdown(); // its other direction continues
        }
        let acknowledged = to.acknowledged_to();
        let idle = from.received_to() == acknowledged && (!to.is_closing() || to.all_acknowledged());
        if acknowledged > relay.acknowledged || idle {
            relay.progressed_at = cx.now;
        }
        if acknowledged > relay.acknowledged {
            relay.acknowledged = acknowledged;
            if relay.content.is_real() {
                relay.content.release(&mut shared.stock, acknowledged);
            }
        }
        let held = from.received_to() - acknowledged + from.held_beyond();
        if held != relay.held || bytes > 0 {
            let before = core::mem::replace(&mut relay.held, held);
            shared.statistics.relayed[side as usize] += bytes;
            self.note_held(cx, shared, side, (before, held));
        }
    }

    /// The ending that results from the states of the ends, if they have ended.
    fn ending(&mut self, cx: &mut Cx<'_>, shared: &mut Shared) -> Option<Ending> {
        let states = self.ends.each_ref().map(TcpEndpoint::state);
        // The end of the opener listens again after a RST in SYN-RECEIVED; this connection is over all the same.
        let resets = [0, 1].map(|side: usize| {
            states[side] == ConnectionState::Reset || self.ends[side].ended_by_reset().is_some()
        });
        if resets.contains(&true) {
            for (leg, reset) in shared.legs.iter_mut().zip(resets) {
                leg.resets_received += u64::from(reset);
            }
            let opening = self.ends[self.opener.across() as usize].stats().established_at.is_none();
            let by_far = states[self.opener.across() as usize] == ConnectionState::Reset;
            self.abort(cx, shared);
            return Some(if opening && by_far { Ending::ConnectRefused } else { Ending::Reset });
        }
        if states.contains(&ConnectionState::TimedOut) {
            let opening = self.ends.iter().any(|end| end.stats().established_at.is_none());
            self.abort(cx, shared);
            return Some(if opening { Ending::ConnectTimeout } else { Ending::Stalled });
        }
        (states == [ConnectionState::Closed; 2]).then_some(Ending::Closed)
    }

    /// The time at which the connection is given up, and the reason.
    fn deadline(&self, config: &SplitConfig) -> (Instant, Ending) {
        let established =
            |end: &TcpEndpoint| matches!(end.state(), ConnectionState::Established | ConnectionState::Closed);
        if !self.ends.iter().all(established) {
            return (self.opened_at.saturating_add(config.connect_timeout), Ending::ConnectTimeout);
        }
        let half_closed = self.ends.iter().any(TcpEndpoint::at_end);
        let idle = if half_closed { config.idle_timeout.min(HALF_CLOSED) } else { config.idle_timeout };
        let mut first = (self.heard_at.saturating_add(idle), Ending::Idle);
        for (relay, to) in self.relays.iter().zip(self.ends.iter().rev()) {
            let waits = relay.held > 0 || (to.is_closing() && !to.all_acknowledged());
            let at = relay.progressed_at.saturating_add(config.stall_timeout);
            if waits && at < first.0 {
                first = (at, Ending::Stalled);
            }
        }
        first
    }

    fn given_up(&mut self, now: Instant, config: &SplitConfig) -> Option<Ending> {
        let (at, ending) = self.deadline(config);
        (at <= now).then_some(ending)
    }
}

/// The direction of packets to a side.
pub(super) const fn direction_to(side: Side) -> Direction {
    match side {
        Side::Core => Direction::Uplink,
        Side::Ran => Direction::Downlink,
    }
}

/// Replaces the length that an end has sent by the bytes.
fn fill(cx: &mut Cx<'_>, end: &TcpEndpoint, content: &Content, packet: &PacketRef) {
    let Packet { header: Header::Tcp(header), payload: Payload::Length(len @ 1..), .. } = cx.pool.get(packet)
    else {
        return;
    };
    let (offset, len) = (end.offset_sent(header), *len as usize);
    let mut bytes = cx.pool.buffer();
    content.read(offset, len, &mut bytes);
    cx.pool.get_mut(packet).payload = Payload::Bytes(bytes.into());
}
