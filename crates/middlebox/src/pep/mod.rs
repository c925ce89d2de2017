//! The lightweight PEP: observes TCP segments and QUIC datagrams from server to client, and reports them to
//! the server.
//!
//! It stores no payload, changes nothing and splits nothing; its messages ([`airlane_net::pep`]) may be
//! ignored. They clock multi-domain congestion control (Krämer et al. 2019, see
//! `airlane_transport::congestion`). Its memory is bounded in flows and, for each, in ranges; a connection
//! for which there is no room passes unobserved. Of a flow with several connections, such as a browser's, it
//! observes each.
//!
//! For QUIC, whose packet numbers it cannot read, it reports identifiers that the server also computes; it
//! cannot detect holes or acknowledgments there. Not included: other protocols, and the agreement on keys.

mod fault;
mod observation;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use airlane_core::{
    CellId, Cx, Direction, Duration, Event, FlowId, Header, Instant, Packet, PacketRef, Payload, PepFate,
    SocketPair, Stream, TcpFlags, TcpHeader, Topic, UdpHeader,
};
use airlane_net::gtp;
use airlane_net::pep::{Body, IDENTIFIED, Key, LIST_MAX, Message, flow_identifier};

use crate::node::{NetworkFunction, Side};
use fault::Faulty;
use observation::{Observation, Recent, SegmentEffect};

pub use fault::{Claim, Fault};

/// The configuration of a PEP.
#[derive(Clone, Debug)]
pub struct PepConfig {
    /// Its number.
    pub id: u32,
    /// The secret from which keys are derived.
    pub secret: Vec<u8>,
    /// Maximum number of observed connections.
    pub flows: usize,
    /// Maximum number of ranges beyond a hole, per connection.
    pub ranges: usize,
    /// Number of segments per message.
    pub ack_every: u32,
    /// Maximum delay of a message about fewer segments.
    pub max_delay: Duration,
    /// Minimum time between two messages about a flow.
    pub min_interval: Duration,
    /// Number of segments above a hole that make it certain (three duplicates in RFC 5681 §3.2).
    pub reordering: u8,
    /// Idle time after which a flow may be replaced by a new one.
    pub idle: Duration,
    /// The cell, if the PEP is in an eNB: its messages pass through the tunnel of S1-U.
    pub cell: Option<CellId>,
    /// Its fault, with a random stream.
    pub fault: Option<(Fault, Stream)>,
}

/// Counters of a PEP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PepStatistics {
    /// Segments with data that passed from the core.
    pub segments: u64,
    /// Those of them that were not observed: the table was full.
    pub unwatched: u64,
    /// Those of them that were not stored: the ranges of the flow were full.
    pub unremembered: u64,
    /// Messages sent.
    pub messages: u64,
    /// Those of them that were sent for a hole.
    pub nacks: u64,
}

/// The observation of a flow.
#[derive(Debug)]
enum Observed {
    Tcp(Observation),
    Opaque(Recent),
}

impl Observed {
    fn report(&self) -> Body {
        match self {
            Self::Tcp(seen) => Body::Tcp(seen.report()),
            Self::Opaque(recent) => Body::Opaque(recent.report()),
        }
    }
}

/// A connection: the flow's only one, or one of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Connection {
    flow: FlowId,
    sockets: SocketPair,
}

impl Connection {
    fn identifier(self) -> u64 {
        flow_identifier(self.flow, self.sockets)
    }
}

/// An observed connection.
#[derive(Debug)]
struct Watched {
    key: Key,
    observed: Observed,
    serial: u32,
    /// Number of segments since the last message, and the times of the first and the last of them.
    pending: u32,
    pending_since: Instant,
    newest_at: Instant,
    /// A hole has become certain since the last message.
    urgent: bool,
    /// When the last message left.
    sent_at: Option<Instant>,
    /// When the next is due.
    due: Instant,
    /// The sequence number after the FIN, once it was seen.
    end: Option<u32>,
}

/// The lightweight PEP.
#[derive(Debug)]
pub struct Pep {
    reporter: Reporter,
    flows: BTreeMap<Connection, Watched>,
    /// Due times of messages; outdated entries are skipped.
    due: Due,
    /// The table was full, without an idle flow: it is not searched again before this time.
    full_until: Instant,
}

/// Sends messages, and has the state that is not per flow.
#[derive(Debug)]
struct Reporter {
    config: PepConfig,
    faulty: Option<Faulty>,
    instance: u32,
    statistics: PepStatistics,
}

/// Due times of messages, by connection.
type Due = BinaryHeap<Reverse<(Instant, Connection)>>;

/// How long a full table is not searched again.
const FULL_FOR: Duration = Duration::from_secs(1);

impl Pep {
    /// A PEP without state.
    #[must_use]
    pub fn new(mut config: PepConfig) -> Self {
        let faulty = config.fault.take().map(|(fault, chance)| Faulty::new(fault, chance));
        let statistics = PepStatistics::default();
        Self {
            reporter: Reporter { config, faulty, instance: 1, statistics },
            flows: BTreeMap::new(),
            due: BinaryHeap::new(),
            full_until: Instant::ZERO,
        }
    }

    /// Its counters.
    #[must_use]
    pub const fn statistics(&self) -> PepStatistics {
        self.reporter.statistics
    }

    /// Number of observed flows.
    #[must_use]
    pub fn watched(&self) -> usize {
        self.flows.len()
    }

    /// Handles a failure or a restart of the PEP. Returns false while it is down.
    fn lives(&mut self, now: Instant) -> bool {
        let Some(faulty) = &self.reporter.faulty else { return true };
        let instance = 1 + faulty.restarts(now);
        let dead = faulty.is_dead(now);
        if dead || instance != self.reporter.instance {
            self.flows.clear();
            self.due.clear();
            self.reporter.instance = instance;
        }
        !dead
    }

    /// True if the flow is observed, or there is room for it.
    fn has_room(&mut self, now: Instant, connection: Connection) -> bool {
        let most = self.reporter.config.flows;
        if self.flows.len() < most || self.flows.contains_key(&connection) {
            return true;
        }
        if now < self.full_until {
            return false;
        }
        let idle = self.reporter.config.idle;
        self.flows.retain(|_, flow| now.saturating_since(flow.newest_at) < idle);
        let room = self.flows.len() < most;
        if !room {
            self.full_until = now + FULL_FOR;
        }
        room
    }

    /// A segment passes from server to client.
    fn on_downlink(&mut self, cx: &mut Cx<'_>, connection: Connection, tcp: &TcpHeader, payload: u32) {
        let (syn, fin) = (tcp.flags.has(TcpFlags::SYN), tcp.flags.has(TcpFlags::FIN));
        if syn || tcp.flags.has(TcpFlags::RST) {
            self.flows.remove(&connection); // the following segments belong to another connection
        }
        let left = tcp.sequence.wrapping_add(u32::from(syn));
        let right = left.wrapping_add(payload).wrapping_add(u32::from(fin));
        let data = left != right;
        if tcp.flags.has(TcpFlags::RST) || !(data || syn) {
            return;
        }
        self.reporter.statistics.segments += u64::from(data);
        if !self.has_room(cx.now, connection) {
            self.reporter.statistics.unwatched += u64::from(data);
            return;
        }
        let Self { reporter, flows, due, .. } = self;
        let watched = flows.entry(connection).or_insert_with(|| reporter.watch(cx.now, connection, left));
        watched.newest_at = cx.now;
        if !data {
            return;
        }
        if fin {
            watched.end = Some(right);
        }
        let Observed::Tcp(observation) = &mut watched.observed else { return };
        let effect = observation.on_segment(left, right);
        watched.urgent |= effect == SegmentEffect::Hole;
        reporter.statistics.unremembered += u64::from(effect == SegmentEffect::NoRoom);
        reporter.passed(cx, connection, watched, due);
    }

    /// A datagram of QUIC passes from server to client.
    fn on_datagram(&mut self, cx: &mut Cx<'_>, connection: Connection, prefix: &[u8]) {
        self.reporter.statistics.segments += 1;
        if !self.has_room(cx.now, connection) {
            self.reporter.statistics.unwatched += 1;
            return;
        }
        let Self { reporter, flows, due, .. } = self;
        let watched = flows.entry(connection).or_insert_with(|| {
            Watched::new(reporter.key(connection), Observed::Opaque(Recent::default()), cx.now)
        });
        watched.newest_at = cx.now;
        let identifier = watched.key.identifier(prefix);
        let Observed::Opaque(recent) = &mut watched.observed else { return };
        recent.on_datagram(identifier);
        reporter.passed(cx, connection, watched, due);
    }

    /// A segment passes from client to server: acknowledged data need not be observed.
    fn on_uplink(&mut self, connection: Connection, tcp: &TcpHeader) {
        if tcp.flags.has(TcpFlags::RST) {
            self.flows.remove(&connection);
        } else if tcp.flags.has(TcpFlags::ACK)
            && let Some(watched) = self.flows.get_mut(&connection)
        {
            if let Observed::Tcp(seen) = &mut watched.observed {
                seen.on_client_ack(tcp.acknowledgment);
            }
            if watched.end.is_some_and(|end| end == tcp.acknowledgment) {
                self.flows.remove(&connection);
            }
        }
    }
}

impl Reporter {
    /// The entry of a new flow.
    fn watch(&self, now: Instant, connection: Connection, first: u32) -> Watched {
        let seen = Observation::new(first, self.config.ranges, self.config.reordering);
        Watched::new(self.key(connection), Observed::Tcp(seen), now)
    }

    fn key(&self, connection: Connection) -> Key {
        Key::derive(&self.config.secret, connection.identifier())
    }

    /// Another packet was recorded: a message leaves now, or is due later.
    fn passed(&mut self, cx: &mut Cx<'_>, connection: Connection, watched: &mut Watched, due: &mut Due) {
        if watched.pending == 0 {
            watched.pending_since = cx.now;
        }
        watched.pending += 1;
        let at = self.due(cx.now, watched);
        if at <= cx.now {
            self.send(cx, connection, watched);
        } else if at < watched.due {
            watched.due = at;
            due.push(Reverse((at, connection)));
        }
    }

    /// When the next message about the flow is due.
    fn due(&self, now: Instant, watched: &Watched) -> Instant {
        let most = match watched.observed {
            Observed::Tcp(_) => self.config.ack_every,
            Observed::Opaque(_) => self.config.ack_every.min(LIST_MAX as u32), // the maximum number of a message
        };
        let enough = watched.urgent || watched.pending >= most;
        let wanted = if enough { now } else { watched.pending_since + self.config.max_delay };
        wanted.max(watched.sent_at.map_or(now, |at| at + self.config.min_interval))
    }

    fn send(&mut self, cx: &mut Cx<'_>, connection: Connection, watched: &mut Watched) {
        watched.serial += 1;
        let delay_us = cx.now.saturating_since(watched.newest_at).as_nanos() / 1000;
        let mut message = Message {
            pep: self.config.id,
            flow: connection.identifier(),
            instance: self.instance,
            serial: watched.serial,
            delay_us: u32::try_from(delay_us).unwrap_or(u32::MAX),
            body: watched.observed.report(),
        };
        self.statistics.messages += 1;
        self.statistics.nacks += u64::from(watched.urgent);
        watched.pending = 0;
        watched.urgent = false;
        watched.sent_at = Some(cx.now);
        watched.due = Instant::FAR_FUTURE;
        if let Some(faulty) = &self.faulty {
            faulty.falsify(cx.now, &mut message);
        }
        let mut bytes = cx.pool.buffer();
        message.encode(&watched.key, &mut bytes);
        let leaving = match &mut self.faulty {
            None => [Some(bytes), None],
            Some(faulty) => faulty.leave(bytes),
        };
        for bytes in leaving.into_iter().flatten() {
            self.send_datagram(cx, connection, u64::from(message.serial), bytes);
        }
    }

    fn send_datagram(&self, cx: &mut Cx<'_>, connection: Connection, serial: u64, bytes: Vec<u8>) {
        let header = Header::Udp(UdpHeader { serial });
        let Connection { flow, sockets } = connection;
        let mut packet = Packet::new(flow, Direction::Uplink, header, Payload::Bytes(bytes.into()), cx.now);
        packet.sockets = sockets;
        if cx.wants(Topic::Pep) {
            cx.emit(&Event::PepMessage { flow, fate: PepFate::Sent });
        }
        if let Some(cell) = self.config.cell {
            gtp::encapsulate(&mut packet);
            cx.emit(&Event::Tunnelled { cell, packet: &packet });
        }
        let packet = cx.pool.insert(packet);
        cx.send(Side::Core.port(), packet);
    }
}

impl Watched {
    fn new(key: Key, observed: Observed, now: Instant) -> Self {
        Self {
            key,
            observed,
            serial: 0,
            pending: 0,
            pending_since: now,
            newest_at: now,
            urgent: false,
            sent_at: None,
            due: Instant::FAR_FUTURE,
            end: None,
        }
    }
}

impl NetworkFunction for Pep {
    fn on_packet(&mut self, cx: &mut Cx<'_>, side: Side, packet: PacketRef) -> Option<PacketRef> {
        let passing = cx.pool.get(&packet);
        let connection = Connection { flow: passing.flow, sockets: passing.sockets };
        match (&passing.header, &passing.payload) {
            (Header::Tcp(tcp), payload) => {
                let (tcp, payload) = (*tcp, payload.len());
                if self.lives(cx.now) {
                    match side {
                        Side::Core => self.on_downlink(cx, connection, &tcp, payload),
                        Side::Ran => self.on_uplink(connection, &tcp),
                    }
                }
            }
            (Header::Udp(_), Payload::Bytes(datagram)) if side == Side::Core => {
                let mut prefix = [0; IDENTIFIED];
                let length = datagram.len().min(IDENTIFIED);
                prefix[..length].copy_from_slice(&datagram[..length]);
                if self.lives(cx.now) {
                    self.on_datagram(cx, connection, &prefix[..length]);
                }
            }
            (Header::Udp(_) | Header::Icmp(_) | Header::Other { .. } | Header::Signalling, _) => {}
        }
        Some(packet)
    }

    fn on_timeout(&mut self, cx: &mut Cx<'_>) {
        if !self.lives(cx.now) {
            return;
        }
        while let Some(Reverse((at, connection))) = self.due.peek().copied()
            && at <= cx.now
        {
            self.due.pop();
            let due = |watched: &&mut Watched| watched.due <= cx.now;
            if let Some(watched) = self.flows.get_mut(&connection).filter(due) {
                self.reporter.send(cx, connection, watched);
            }
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.due.peek().map(|Reverse((at, _))| *at)
    }

    fn packets_held(&self) -> usize {
        0
    }
}
