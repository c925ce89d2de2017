//! An end of a connection that follows a script. It sends real bytes, each a function of its connection,
//! direction and offset, so that any mix-up is detected.

use airlane_core::{
    Cx, Direction, DropCause, FlowId, Header, Instant, Outbox, PacketPool, PacketRef, Payload, Silence,
    TopicSet,
};
use airlane_transport::{ConnectionState, Path, TcpConfig, TcpEndpoint};

/// The actions of one end of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) config: TcpConfig,
    /// When it connects; `None` if it listens.
    pub(crate) connects: Option<Instant>,
    /// Its writes and their times; it closes after the last.
    pub(crate) writes: Vec<(Instant, u64)>,
    /// When it does not read.
    pub(crate) stalls: (Instant, Instant),
    /// When it aborts with a RST.
    pub(crate) aborts: Instant,
    /// When it becomes silent permanently.
    pub(crate) vanishes: Instant,
}

impl Script {
    pub(crate) fn total(&self) -> u64 {
        self.writes.iter().map(|(_, bytes)| bytes).sum()
    }
}

pub(crate) struct Peer {
    pub(crate) script: Script,
    pub(crate) end: TcpEndpoint,
    pub(crate) read: u64,
    pub(crate) gone: bool,
    /// The byte sequences that it sends and expects.
    sends: u64,
    expects: u64,
    step: usize,
}

impl Peer {
    /// The ends of connections, servers and clients; the number of a flow is its index.
    pub(crate) fn pairs(scripts: Vec<(Script, Script)>) -> (Vec<Self>, Vec<Self>) {
        let pairs = (0..).zip(scripts).map(|(flow, (server, client))| {
            (Self::new(server, flow, Direction::Downlink), Self::new(client, flow, Direction::Uplink))
        });
        pairs.unzip()
    }

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

    pub(crate) fn next(&self) -> Instant {
        if self.gone {
            return Instant::FAR_FUTURE;
        }
        let s = &self.script;
        let mut at = self.end.next_timeout().min(s.connects.unwrap_or(Instant::FAR_FUTURE));
        at = at.min(s.writes.get(self.step).map_or(Instant::FAR_FUTURE, |(at, _)| *at));
        at = at.min(s.aborts).min(s.vanishes);
        if self.end.readable() > 0 { at.min(s.stalls.1) } else { at }
    }

    pub(crate) fn act(&mut self, cx: &mut Cx<'_>) {
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
                self.end.shutdown();
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

    /// Calls it, and replaces the lengths that it sends by bytes.
    pub(crate) fn call(
        &mut self,
        (pool, now): (&mut PacketPool, Instant),
        outbox: &mut Outbox,
        act: impl FnOnce(&mut Self, &mut Cx<'_>),
    ) {
        with(pool, now, outbox, |cx| act(self, cx));
        outbox.iter().for_each(|(_, packet)| self.fill(pool, packet));
    }

    pub(crate) fn take(&mut self, cx: &mut Cx<'_>, packet: PacketRef) {
        if self.gone {
            return cx.discard(packet, DropCause::NoRoute);
        }
        let packet = cx.pool.consume(packet);
        let Header::Tcp(header) = packet.header else { panic!("a stranger") };
        if let Payload::Bytes(bytes) = &packet.payload
            && self.end.believes(&header)
            && matches!(self.end.state(), ConnectionState::SynReceived | ConnectionState::Established)
        {
            let offset = self.end.offset_received(&header);
            // Data outside the window, or with an acknowledgment of unsent data, is rejected.
            let taken = self.end.received_to()..self.end.offered_to();
            let mut came = bytes.iter().zip(offset..).filter(|(_, at)| taken.contains(at));
            let wrong = came.find(|(byte, at)| **byte != content(self.expects, *at));
            assert_eq!(wrong, None, "another byte came than was sent");
        }
        self.end.handle_segment(cx, &header, packet.ecn, packet.payload.len());
        cx.pool.recycle(packet);
        self.go_on(cx);
    }

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

/// Calls something at an instant.
pub(crate) fn with<R>(
    pool: &mut PacketPool,
    now: Instant,
    outbox: &mut Outbox,
    act: impl FnOnce(&mut Cx<'_>) -> R,
) -> R {
    act(&mut Cx { now, pool, outbox, topics: TopicSet::NONE, probe: &mut Silence })
}
