//! Servers, split-connection proxies and clients in a row, with bad links between them. What the peers send are
//! real bytes, each a function of its connection, direction and offset, so that nothing can be taken for another.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use airlane_core::{
    Cx, Direction, DropCause, Duration, FlowId, Header, Instant, Node, Outbox, PacketPool, PacketRef,
    Payload, Silence, Stream, TopicSet,
};
use airlane_middlebox::{Middlebox, Side, SplitProxy};
use airlane_transport::{ConnectionState, Path, TcpConfig, TcpEndpoint};

/// A link, both ways.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Channel {
    pub(crate) delay_us: u64,
    /// More than that, uniformly: packets overtake each other.
    pub(crate) jitter_us: u64,
    pub(crate) loss: f64,
    pub(crate) duplication: f64,
}

impl Channel {
    pub(crate) const GOOD: Self = Self { delay_us: 10_000, jitter_us: 0, loss: 0.0, duplication: 0.0 };
}

/// What one end of a connection does.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) config: TcpConfig,
    /// When it connects; none if it listens.
    pub(crate) connects: Option<Instant>,
    /// What it writes, and when; it closes with the last.
    pub(crate) writes: Vec<(Instant, u64)>,
    /// When it does not read.
    pub(crate) stalls: (Instant, Instant),
    /// When it gives up with a RST.
    pub(crate) aborts: Instant,
    /// When it falls silent for good.
    pub(crate) vanishes: Instant,
}

impl Script {
    /// Writes so much at once, reads everything, and closes.
    pub(crate) fn plain(config: TcpConfig, connects: Option<Instant>, bytes: u64) -> Self {
        let never = (Instant::FAR_FUTURE, Instant::FAR_FUTURE);
        Self {
            config,
            connects,
            writes: vec![(Instant::ZERO, bytes)],
            stalls: never,
            aborts: Instant::FAR_FUTURE,
            vanishes: Instant::FAR_FUTURE,
        }
    }

    pub(crate) fn total(&self) -> u64 {
        self.writes.iter().map(|(_, bytes)| bytes).sum()
    }
}

pub(crate) struct Peer {
    pub(crate) script: Script,
    pub(crate) end: TcpEndpoint,
    pub(crate) read: u64,
    pub(crate) gone: bool,
    /// Which bytes it sends and expects.
    sends: u64,
    expects: u64,
    step: usize,
}

impl Peer {
    fn new(script: Script, flow: u32, direction: Direction) -> Self {
        let end = TcpEndpoint::new(script.config.clone(), Path::new(FlowId(flow), direction));
        let stream = |direction: Direction| u64::from(flow) * 2 + direction as u64;
        Self {
            script,
            end,
            read: 0,
            gone: false,
            sends: stream(direction),
            expects: stream(direction.reversed()),
            step: 0,
        }
    }

    fn stalls(&self, now: Instant) -> bool {
        (self.script.stalls.0..self.script.stalls.1).contains(&now)
    }

    fn next(&self) -> Instant {
        if self.gone {
            return Instant::FAR_FUTURE;
        }
        let s = &self.script;
        let mut at = self.end.next_timeout().min(s.connects.unwrap_or(Instant::FAR_FUTURE));
        at = at.min(s.writes.get(self.step).map_or(Instant::FAR_FUTURE, |(at, _)| *at));
        at = at.min(s.aborts).min(s.vanishes);
        if self.end.readable() > 0 { at.min(s.stalls.1) } else { at }
    }

    fn act(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now;
        if self.script.vanishes <= now {
            self.gone = true;
            return;
        }
        if self.script.connects.is_some_and(|at| at <= now) {
            self.script.connects = None;
            if self.end.state() == ConnectionState::Listen {
                self.end.connect(cx);
            }
        }
        while let Some((_, bytes)) = self.script.writes.get(self.step).filter(|(at, _)| *at <= now) {
            self.end.supply(*bytes);
            self.step += 1;
            if self.step == self.script.writes.len() {
                self.end.close();
            }
        }
        if self.end.next_timeout() <= now {
            self.end.handle_timeout(cx);
        }
        if self.script.aborts <= now {
            self.script.aborts = Instant::FAR_FUTURE;
            self.end.abort(cx);
        }
        self.go_on(cx);
    }

    fn go_on(&mut self, cx: &mut Cx<'_>) {
        if !self.stalls(cx.now) {
            self.read += self.end.read(cx.now, u64::MAX);
        }
        self.end.flush(cx);
    }

    fn take(&mut self, cx: &mut Cx<'_>, packet: PacketRef) {
        if self.gone {
            return cx.discard(packet, DropCause::NoRoute);
        }
        let packet = cx.pool.consume(packet);
        let Header::Tcp(header) = packet.header else { panic!("a stranger") };
        if let Payload::Bytes(bytes) = &packet.payload
            && matches!(self.end.state(), ConnectionState::SynReceived | ConnectionState::Established)
        {
            let offset = self.end.offset_received(&header);
            let wrong = bytes.iter().zip(offset..).find(|(byte, at)| **byte != content(self.expects, *at));
            assert_eq!(wrong, None, "another byte came than was sent");
        }
        self.end.handle_segment(cx, &header, packet.ecn, packet.payload.len());
        cx.pool.recycle(packet);
        self.go_on(cx);
    }

    /// Puts bytes in place of lengths.
    fn fill(&self, pool: &mut PacketPool, packet: &PacketRef) {
        let sent = pool.get(packet);
        let (Header::Tcp(header), Payload::Length(len @ 1..)) = (&sent.header, &sent.payload) else { return };
        let (offset, len) = (self.end.offset_sent(header), u64::from(*len));
        let mut bytes = pool.buffer();
        bytes.extend((offset..offset + len).map(|at| content(self.sends, at)));
        pool.get_mut(packet).payload = Payload::Bytes(bytes.into());
    }
}

/// The byte at an offset of a stream.
fn content(stream: u64, offset: u64) -> u8 {
    let mut z = (stream << 40 | offset).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z ^= z >> 29;
    (z.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 56) as u8
}

/// On its way: when it arrives, how many were sent before, at which node, whether down.
type Flight = (Instant, u64, usize, bool, u32);

/// The row: servers are node 0, proxies follow, clients come last.
pub(crate) struct World {
    pub(crate) now: Instant,
    pub(crate) pool: PacketPool,
    pub(crate) servers: Vec<Peer>,
    pub(crate) clients: Vec<Peer>,
    pub(crate) proxies: Vec<Middlebox<SplitProxy>>,
    /// One more than proxies.
    channels: Vec<Channel>,
    flights: BinaryHeap<Reverse<Flight>>,
    parcels: Vec<Option<PacketRef>>,
    outbox: Outbox,
    draw: Stream,
    sent: u64,
    /// With bytes, not lengths.
    real: bool,
}

impl World {
    pub(crate) fn new(
        proxies: Vec<SplitProxy>,
        channels: Vec<Channel>,
        pairs: Vec<(Script, Script)>,
        (draw, real): (Stream, bool),
    ) -> Self {
        assert_eq!(channels.len(), proxies.len() + 1);
        let (mut servers, mut clients) = (vec![], vec![]);
        for (flow, (server, client)) in (0..).zip(pairs) {
            servers.push(Peer::new(server, flow, Direction::Downlink));
            clients.push(Peer::new(client, flow, Direction::Uplink));
        }
        Self {
            now: Instant::ZERO,
            pool: PacketPool::default(),
            servers,
            clients,
            proxies: proxies.into_iter().map(Middlebox::new).collect(),
            channels,
            flights: BinaryHeap::new(),
            parcels: vec![],
            outbox: vec![],
            draw,
            sent: 0,
            real,
        }
    }

    fn last(&self) -> usize {
        self.proxies.len() + 1
    }

    /// Runs until then; asks after each event whether all is well.
    pub(crate) fn run(&mut self, until: Instant, mut check: impl FnMut(&Self)) {
        loop {
            let flight = self.flights.peek().map_or(Instant::FAR_FUTURE, |Reverse((at, ..))| *at);
            let proxy = self.proxies.iter().filter_map(Node::next_timeout).min();
            let peers = self.servers.iter().chain(&self.clients).map(Peer::next).min();
            let at = flight.min(proxy.unwrap_or(Instant::FAR_FUTURE));
            let at = at.min(peers.unwrap_or(Instant::FAR_FUTURE)).max(self.now);
            if at > until {
                self.now = until;
                return;
            }
            self.now = at;
            if flight <= at {
                let Some(Reverse((_, _, node, down, parcel))) = self.flights.pop() else { return };
                let packet = self.parcels[parcel as usize].take().expect("a parcel arrives once");
                self.deliver(node, down, packet);
            } else {
                self.fire();
            }
            check(self);
        }
    }

    fn deliver(&mut self, node: usize, down: bool, packet: PacketRef) {
        let (last, flow) = (self.last(), self.pool.get(&packet).flow.index());
        if node > 0 && node < last {
            let side = if down { Side::Core } else { Side::Ran };
            self.with_proxy(node, |proxy, cx| proxy.handle_packet(cx, side.port(), packet));
        } else {
            self.with_peer(node == 0, flow, |peer, cx| peer.take(cx, packet));
        }
    }

    /// Calls whoever is due.
    fn fire(&mut self) {
        for node in 1..self.last() {
            if self.proxies[node - 1].next_timeout().is_some_and(|at| at <= self.now) {
                self.with_proxy(node, |proxy, cx| proxy.handle_timeout(cx));
            }
        }
        for index in 0..self.servers.len() {
            for server in [true, false] {
                let peers = if server { &self.servers } else { &self.clients };
                if peers[index].next() <= self.now {
                    self.with_peer(server, index, Peer::act);
                }
            }
        }
    }

    fn with_proxy(&mut self, node: usize, act: impl FnOnce(&mut Middlebox<SplitProxy>, &mut Cx<'_>)) {
        let mut outbox = core::mem::take(&mut self.outbox);
        let mut probe = Silence;
        let (pool, topics) = (&mut self.pool, TopicSet::NONE);
        let mut cx = Cx { now: self.now, pool, outbox: &mut outbox, topics, probe: &mut probe };
        act(&mut self.proxies[node - 1], &mut cx);
        for (port, packet) in outbox.drain(..) {
            let down = port == Side::Ran.port();
            assert_eq!(self.pool.get(&packet).direction == Direction::Downlink, down, "it goes astray");
            self.send(node, if down { Direction::Downlink } else { Direction::Uplink }, packet);
        }
        self.outbox = outbox;
    }

    fn with_peer(&mut self, server: bool, index: usize, act: impl FnOnce(&mut Peer, &mut Cx<'_>)) {
        let mut outbox = core::mem::take(&mut self.outbox);
        let mut probe = Silence;
        let (pool, topics) = (&mut self.pool, TopicSet::NONE);
        let mut cx = Cx { now: self.now, pool, outbox: &mut outbox, topics, probe: &mut probe };
        let peer = if server { &mut self.servers[index] } else { &mut self.clients[index] };
        act(peer, &mut cx);
        if self.real {
            outbox.iter().for_each(|(_, packet)| peer.fill(&mut self.pool, packet));
        }
        let (node, direction) =
            if server { (0, Direction::Downlink) } else { (self.last(), Direction::Uplink) };
        for (_, packet) in outbox.drain(..) {
            self.send(node, direction, packet);
        }
        self.outbox = outbox;
    }

    /// From a node into the channel on that side.
    fn send(&mut self, node: usize, direction: Direction, packet: PacketRef) {
        let (channel, to) =
            if direction == Direction::Downlink { (node, node + 1) } else { (node - 1, node - 1) };
        let Channel { delay_us, jitter_us, loss, duplication } = self.channels[channel];
        if duplication > 0.0 && self.draw.chance(duplication) {
            let twin = self.pool.get(&packet).clone();
            let twin = self.pool.insert(twin);
            let delay_us = delay_us + self.draw_jitter(jitter_us);
            self.fly(to, direction, delay_us, twin);
        }
        if loss > 0.0 && self.draw.chance(loss) {
            let lost = self.pool.discard(packet, DropCause::RandomLoss);
            return self.pool.recycle(lost);
        }
        let delay_us = delay_us + self.draw_jitter(jitter_us);
        self.fly(to, direction, delay_us, packet);
    }

    fn draw_jitter(&mut self, most: u64) -> u64 {
        if most == 0 { 0 } else { self.draw.below(most) }
    }

    fn fly(&mut self, to: usize, direction: Direction, delay_us: u64, packet: PacketRef) {
        let parcel = self.parcels.iter().position(Option::is_none).unwrap_or_else(|| {
            self.parcels.push(None);
            self.parcels.len() - 1
        });
        self.parcels[parcel] = Some(packet);
        self.sent += 1;
        let at = self.now + Duration::from_micros(delay_us);
        self.flights.push(Reverse((at, self.sent, to, direction == Direction::Downlink, parcel as u32)));
    }
}
