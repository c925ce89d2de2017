//! DNS queries over UDP for the names of servers (RFC 1035 §4.2.1).
//!
//! Messages have the size of a query for a name of 17 characters and of its answer with an alias and an
//! address; their content is the number of the server, in the datagram's serial.

use std::collections::VecDeque;

use airlane_core::{
    Bytes, Cx, Direction, DropCause, Duration, Event, FlowId, Header, Instant, Packet, PacketRef, Payload,
    SocketPair, Topic, UdpHeader,
};
use airlane_transport::Path;

use crate::packets;

/// The resolver's server number and port. Its address in captures is 10.0.53.53.
const RESOLVER: u16 = 53 * 256 + 53 - 1;
const PORT: u16 = 53;
/// The first port of queries; the ports of connections are higher.
const QUERY_PORT: u16 = 40_000;
/// A header of 12 bytes and a question of 23; the answer repeats both and has two records, an alias of 29 bytes and
/// an address of 16 (RFC 1035 §4.1). The datagram's serial takes the first eight.
const QUERY: u32 = 12 + 23;
const ANSWER: u32 = QUERY + 29 + 16;
/// Time after which a query is repeated (resolv.conf(5): `timeout`).
const AGAIN: Duration = Duration::from_secs(5);

/// The state of a name at a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Unknown,
    Asked { again: Instant },
    Known { until: Instant },
}

/// The names that a client knows or has queried, by the number of their server.
#[derive(Debug)]
pub struct Names {
    flow: FlowId,
    direction: Direction,
    /// How long an answer is valid.
    ttl: Duration,
    names: Vec<Name>,
    due: Instant,
    queries: u64,
}

impl Names {
    /// A resolver for this many servers, whose names are all unknown.
    #[must_use]
    pub fn new(Path { flow, direction, .. }: Path, ttl: Duration, servers: usize) -> Self {
        Self {
            flow,
            direction,
            ttl,
            names: vec![Name::Unknown; servers],
            due: Instant::FAR_FUTURE,
            queries: 0,
        }
    }

    /// True if the address of a server is known; otherwise a query is now under way.
    pub fn resolve(&mut self, cx: &mut Cx<'_>, server: u16) -> bool {
        match self.names[usize::from(server)] {
            Name::Known { until } if until > cx.now => return true,
            Name::Asked { .. } => return false,
            Name::Known { .. } | Name::Unknown => {}
        }
        self.ask(cx, server);
        false
    }

    fn ask(&mut self, cx: &mut Cx<'_>, server: u16) {
        let ue_port = QUERY_PORT + server % 8192;
        let sockets = SocketPair { server: RESOLVER, server_port: PORT, ue_port };
        self.queries += 1;
        send(cx, Path::new(self.flow, self.direction), sockets, u64::from(server), QUERY);
        let again = cx.now + AGAIN;
        self.names[usize::from(server)] = Name::Asked { again };
        self.due = self.due.min(again);
    }

    /// True for a packet of the resolver.
    #[must_use]
    pub fn own(packet: &Packet) -> bool {
        packet.sockets.server == RESOLVER && matches!(packet.header, Header::Udp(_))
    }

    /// Handles a datagram; returns the server whose address is now known, if it was queried.
    pub fn handle_packet(&mut self, cx: &mut Cx<'_>, packet: PacketRef) -> Option<u16> {
        let serial = take(cx, packet)?;
        let server = u16::try_from(serial).ok()?;
        let name = self.names.get_mut(usize::from(server))?;
        let asked = matches!(name, Name::Asked { .. });
        *name = Name::Known { until: cx.now + self.ttl };
        asked.then_some(server)
    }

    /// Repeats unanswered queries.
    pub fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        if self.due > cx.now {
            return;
        }
        self.due = Instant::FAR_FUTURE;
        for server in 0..self.names.len() {
            if let Name::Asked { again } = self.names[server] {
                if again <= cx.now {
                    self.ask(cx, server as u16);
                } else {
                    self.due = self.due.min(again);
                }
            }
        }
    }

    /// When to call [`Self::handle_timeout`].
    #[must_use]
    pub const fn next_timeout(&self) -> Instant {
        self.due
    }

    /// Queries sent.
    #[must_use]
    pub const fn queries(&self) -> u64 {
        self.queries
    }
}

/// The resolver, which answers queries.
#[derive(Debug)]
pub struct Resolver {
    flow: FlowId,
    direction: Direction,
    lookup: Duration,
    /// Pending answers: time, receiver, server.
    pending: VecDeque<(Instant, SocketPair, u64)>,
}

impl Resolver {
    /// A resolver with this lookup time.
    #[must_use]
    pub const fn new(Path { flow, direction, .. }: Path, lookup: Duration) -> Self {
        Self { flow, direction, lookup, pending: VecDeque::new() }
    }

    /// Handles a query.
    pub fn handle_packet(&mut self, cx: &mut Cx<'_>, packet: PacketRef) {
        let sockets = cx.pool.get(&packet).sockets;
        if sockets.server != RESOLVER {
            return cx.discard(packet, DropCause::Endpoint);
        }
        if let Some(serial) = take(cx, packet) {
            self.pending.push_back((cx.now + self.lookup, sockets, serial));
            self.handle_timeout(cx);
        }
    }

    /// Sends the answers that are ready.
    pub fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        while let Some((at, sockets, serial)) = self.pending.front().copied()
            && at <= cx.now
        {
            self.pending.pop_front();
            send(cx, Path::new(self.flow, self.direction), sockets, serial, ANSWER);
        }
    }

    /// When to call [`Self::handle_timeout`].
    #[must_use]
    pub fn next_timeout(&self) -> Instant {
        self.pending.front().map_or(Instant::FAR_FUTURE, |(at, ..)| *at)
    }
}

fn send(cx: &mut Cx<'_>, path: Path, sockets: SocketPair, serial: u64, bytes: u32) {
    let header = Header::Udp(UdpHeader { serial });
    let mut packet = Packet::new(path.flow, path.direction, header, Payload::Length(bytes), cx.now);
    packet.sockets = sockets;
    packets::send(cx, packet, false);
}

/// Reads the serial of a datagram and ends it.
fn take(cx: &mut Cx<'_>, packet: PacketRef) -> Option<u64> {
    let Header::Udp(UdpHeader { serial }) = cx.pool.get(&packet).header else {
        cx.discard(packet, DropCause::Endpoint);
        return None;
    };
    if cx.wants(Topic::Received) {
        cx.emit_about(&packet, |packet| Event::Received { packet });
    }
    let packet = cx.pool.consume(packet);
    if cx.wants(Topic::Delivered) {
        cx.emit(&Event::Delivered { packet: &packet, in_order: Bytes::ZERO, fresh: None });
    }
    Some(serial)
}
