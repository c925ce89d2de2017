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
mod observer;
#[cfg(test)]
mod tests;

use airlane_core::{
    CellId, Cx, Direction, Duration, Event, FlowId, Header, Instant, Packet, PacketRef, Payload, PepFate,
    SocketPair, Stream, TcpHeader, Topic, UdpHeader,
};
use airlane_net::gtp;
use airlane_net::pep::{IDENTIFIED, flow_identifier};

use crate::node::{NetworkFunction, Side};

pub use fault::{Claim, Fault};
pub use observer::{Connection, Observer, Outlet, PepStatistics, Segment};

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

/// A connection: the flow's only one, or one of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Simulated {
    flow: FlowId,
    sockets: SocketPair,
}

impl Connection for Simulated {
    fn identifier(&self, _: &[u8]) -> u64 {
        flow_identifier(self.flow, self.sockets)
    }
}

/// The lightweight PEP, in the path of a simulation.
#[derive(Debug)]
pub struct Pep {
    observer: Observer<Simulated>,
    cell: Option<CellId>,
}

impl Pep {
    /// A PEP without state.
    #[must_use]
    pub fn new(config: PepConfig) -> Self {
        Self { cell: config.cell, observer: Observer::new(config) }
    }

    /// Its counters.
    #[must_use]
    pub const fn statistics(&self) -> PepStatistics {
        self.observer.statistics()
    }

    /// Number of observed flows.
    #[must_use]
    pub fn watched(&self) -> usize {
        self.observer.watched()
    }
}

/// The way of messages back to the servers of a simulation.
struct Uplink<'a, 'b> {
    cx: &'a mut Cx<'b>,
    cell: Option<CellId>,
}

impl Outlet<Simulated> for Uplink<'_, '_> {
    fn buffer(&mut self) -> Vec<u8> {
        self.cx.pool.buffer()
    }

    fn leaves_at(&self, now: Instant) -> Instant {
        now
    }

    fn send(&mut self, connection: Simulated, serial: u32, message: Vec<u8>) {
        let header = Header::Udp(UdpHeader { serial: u64::from(serial) });
        let Simulated { flow, sockets } = connection;
        let cx = &mut *self.cx;
        let mut packet = Packet::new(flow, Direction::Uplink, header, Payload::Bytes(message.into()), cx.now);
        packet.sockets = sockets;
        if cx.wants(Topic::Pep) {
            cx.emit(&Event::PepMessage { flow, fate: PepFate::Sent });
        }
        if let Some(cell) = self.cell {
            gtp::encapsulate(&mut packet);
            cx.emit(&Event::Tunnelled { cell, packet: &packet });
        }
        let packet = cx.pool.insert(packet);
        cx.send(Side::Core.port(), packet);
    }
}

fn segment(tcp: &TcpHeader, payload: u32) -> Segment {
    Segment { sequence: tcp.sequence, acknowledgment: tcp.acknowledgment, flags: tcp.flags, payload }
}

impl NetworkFunction for Pep {
    fn on_packet(&mut self, cx: &mut Cx<'_>, side: Side, packet: PacketRef) -> Option<PacketRef> {
        let Self { observer, cell } = self;
        let (now, cell) = (cx.now, *cell);
        let passing = cx.pool.get(&packet);
        let connection = Simulated { flow: passing.flow, sockets: passing.sockets };
        match (&passing.header, &passing.payload) {
            (Header::Tcp(tcp), payload) => {
                let segment = segment(tcp, payload.len());
                if observer.lives(now) {
                    match side {
                        Side::Core => {
                            observer.on_downlink(now, &mut Uplink { cx, cell }, connection, segment)
                        }
                        Side::Ran => observer.on_uplink(connection, segment),
                    }
                }
            }
            (Header::Udp(_), Payload::Bytes(datagram)) if side == Side::Core => {
                let mut prefix = [0; IDENTIFIED];
                let length = datagram.len().min(IDENTIFIED);
                prefix[..length].copy_from_slice(&datagram[..length]);
                if observer.lives(now) {
                    observer.on_datagram(now, &mut Uplink { cx, cell }, connection, &prefix[..length]);
                }
            }
            (Header::Udp(_) | Header::Icmp(_) | Header::Other { .. } | Header::Signalling, _) => {}
        }
        Some(packet)
    }

    fn on_timeout(&mut self, cx: &mut Cx<'_>) {
        if self.observer.lives(cx.now) {
            let now = cx.now;
            self.observer.on_timeout(now, &mut Uplink { cx, cell: self.cell });
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.observer.next_timeout()
    }

    fn packets_held(&self) -> usize {
        0
    }
}
