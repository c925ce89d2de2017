//! From bytes to messages: the parser of packets, the rules, and the protocol. Without sockets and without a clock.

use std::net::SocketAddr;

use airlane_core::{Duration, FlowId, Instant, SocketPair, TcpFlags};
use airlane_middlebox::{self as middlebox, Observer, Outlet, PepConfig, PepStatistics, Segment};
use airlane_net::pep::{Addresses, IDENTIFIED, flow_identifier};
use airlane_wire::{IpPacket, Tcp, Transport, protocol};

use super::filter::VLANS;
use super::settings::{Flow, Protocol, Rule, Settings};

/// Bytes of a VLAN's tag behind the type that announces it, with the next type.
const TAG: usize = 4;
/// Tags that a packet may have.
const TAGS_MAX: usize = 2;
/// The control bits of a TCP header without the reserved ones (RFC 9293 §3.1).
const CONTROL_BITS: u16 = 0x00ff;
/// The part of a second whose messages may leave together.
const BURST: u32 = 20;

/// The destination of messages, and their times.
pub(super) trait Messages {
    /// The time at which a message leaves that is due `now`.
    fn leaves_at(&self, now: Instant) -> Instant;

    /// Sends a message to the destination of a rule.
    fn send(&mut self, rule: usize, message: &[u8]);
}

/// Counts of packets and messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Packets that the filter in the kernel let through.
    pub(super) packets: u64,
    /// Packets that a rule asks for.
    pub(super) matched: u64,
    /// Packets without complete and consistent headers.
    pub(super) malformed: u64,
    /// Fragments, of which nothing can be reported.
    pub(super) fragments: u64,
    /// Messages that were not sent, because of the maximum rate.
    pub(super) suppressed: u64,
}

/// The observers of all rules.
#[derive(Debug)]
pub(super) struct Watch {
    rules: Vec<Watched>,
    /// Times of packets and timeouts do not decrease.
    now: Instant,
    limit: Limit,
    counts: Counts,
}

#[derive(Debug)]
struct Watched {
    rule: Rule,
    observer: Observer<Connection>,
}

/// A connection, with its numbers if it has some.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Connection {
    addresses: Addresses,
    /// Numbers of the flow and of the server.
    numbers: Option<(u16, u16)>,
}

impl middlebox::Connection for Connection {
    fn identifier(&self, secret: &[u8]) -> u64 {
        let Some((flow, server)) = self.numbers else { return self.addresses.identifier(secret) };
        let (server_port, ue_port) = (self.addresses.server.port(), self.addresses.client.port());
        flow_identifier(FlowId(flow.into()), SocketPair { server, server_port, ue_port })
    }
}

/// At most so many messages per second (the generic cell rate algorithm, ITU-T I.371; unverified).
#[derive(Debug)]
struct Limit {
    interval: Duration,
    tolerance: Duration,
    /// Time at which the next message would be due at exactly the maximum rate.
    next: Instant,
    suppressed: u64,
}

impl Limit {
    fn allows(&mut self, now: Instant) -> bool {
        let allows = self.next <= now + self.tolerance;
        if allows {
            self.next = self.next.max(now) + self.interval;
        } else {
            self.suppressed += 1;
        }
        allows
    }
}

/// The outlet of the messages of a rule.
struct RuleOutlet<'a, M> {
    messages: &'a mut M,
    limit: &'a mut Limit,
    rule: usize,
    now: Instant,
}

impl<M: Messages> Outlet<Connection> for RuleOutlet<'_, M> {
    fn buffer(&mut self) -> Vec<u8> {
        Vec::with_capacity(airlane_net::pep::LENGTH_MAX)
    }

    fn leaves_at(&self, now: Instant) -> Instant {
        self.messages.leaves_at(now)
    }

    fn send(&mut self, _: Connection, _: u32, message: Vec<u8>) {
        if self.limit.allows(self.now) {
            self.messages.send(self.rule, &message);
        }
    }
}

/// The side from which a packet comes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    Server,
    Client,
}

impl Watch {
    /// Observers without state, each with its secret.
    pub(super) fn new(settings: &Settings, secrets: &[Vec<u8>]) -> Self {
        let interval = Duration::from_nanos(1_000_000_000 / u64::from(settings.messages));
        let rules = settings.rule.iter().zip(secrets).map(|(rule, secret)| {
            let config: PepConfig = rule.config(settings.id, secret.clone());
            Watched { rule: rule.clone(), observer: Observer::new(config).with_rising_serials() }
        });
        Self {
            rules: rules.collect(),
            now: Instant::ZERO,
            limit: Limit {
                interval,
                tolerance: interval * u64::from(settings.messages / BURST),
                next: Instant::ZERO,
                suppressed: 0,
            },
            counts: Counts::default(),
        }
    }

    /// Forgets all connections: the packets that passed meanwhile are unknown.
    pub(super) fn begin(&mut self, instance: u32) {
        self.rules.iter_mut().for_each(|one| one.observer.begin(instance));
    }

    /// Whether a new instance must begin, because a serial has reached its end.
    pub(super) fn is_exhausted(&self) -> bool {
        self.rules.iter().any(|one| one.observer.is_exhausted())
    }

    /// A packet passes, or the beginning of one.
    pub(super) fn packet(
        &mut self,
        now: Instant,
        ether_type: u16,
        bytes: &[u8],
        messages: &mut impl Messages,
    ) {
        self.counts.packets += 1;
        self.timeouts(now, messages);
        let Ok((packet, stated)) = IpPacket::parse_begin(untagged(ether_type, bytes)) else {
            self.counts.malformed += 1;
            return;
        };
        let (kind, ports) = match packet.transport {
            Transport::Tcp(tcp) => (Protocol::Tcp, (tcp.source_port, tcp.destination_port)),
            Transport::Udp(udp) => (Protocol::Quic, (udp.source_port, udp.destination_port)),
            Transport::Icmp(_) | Transport::Other => {
                self.counts.fragments += u64::from(packet.ip.is_fragment());
                return;
            }
        };
        let (source, destination) = packet.ip.addresses();
        let ends = (SocketAddr::new(source, ports.0), SocketAddr::new(destination, ports.1));
        let Some((rule, from)) = self.matching(kind, ends) else { return };
        self.counts.matched += 1;
        let number = match kind {
            Protocol::Tcp => protocol::TCP,
            Protocol::Quic => protocol::UDP,
        };
        let (server, client) = if from == From::Server { ends } else { (ends.1, ends.0) };
        let numbers = self.rules[rule].rule.flow.map(|Flow { number, server, .. }| (number, server));
        let connection = Connection { addresses: Addresses { protocol: number, server, client }, numbers };
        let now = self.now;
        let mut outlet = RuleOutlet { messages, limit: &mut self.limit, rule, now };
        let observer = &mut self.rules[rule].observer;
        match (packet.transport, from) {
            (Transport::Tcp(tcp), From::Server) => {
                observer.on_downlink(now, &mut outlet, connection, segment(&tcp, stated));
            }
            (Transport::Tcp(tcp), From::Client) => observer.on_uplink(connection, segment(&tcp, stated)),
            (Transport::Udp(_), From::Server) => {
                // A packet that was cut off before has another identifier.
                if packet.payload.len() >= stated.min(IDENTIFIED) {
                    let prefix = &packet.payload[..stated.min(IDENTIFIED)];
                    observer.on_datagram(now, &mut outlet, connection, prefix);
                } else {
                    self.counts.malformed += 1;
                }
            }
            (Transport::Udp(_) | Transport::Icmp(_) | Transport::Other, _) => {}
        }
    }

    /// The first rule that asks for these packets.
    fn matching(
        &self,
        kind: Protocol,
        (source, destination): (SocketAddr, SocketAddr),
    ) -> Option<(usize, From)> {
        self.rules.iter().enumerate().find_map(|(number, Watched { rule, .. })| {
            let serves = |server: SocketAddr, client: SocketAddr| {
                (rule.ports.is_empty() || rule.ports.contains(&server.port()))
                    && rule.servers.iter().any(|network| network.0.contains(&server.ip()))
                    && rule.flow.is_none_or(|flow| flow.client == client.ip())
            };
            if !rule.protocols.contains(&kind) {
                None
            } else if serves(source, destination) {
                Some((number, From::Server))
            } else {
                serves(destination, source).then_some((number, From::Client))
            }
        })
    }

    /// Sends what is due until now, each message at its own time.
    pub(super) fn timeouts(&mut self, now: Instant, messages: &mut impl Messages) {
        self.now = self.now.max(now);
        while let Some((at, rule)) = self.next().filter(|(at, _)| *at <= self.now) {
            let mut outlet = RuleOutlet { messages, limit: &mut self.limit, rule, now: at };
            self.rules[rule].observer.on_timeout(at, &mut outlet);
        }
    }

    fn next(&self) -> Option<(Instant, usize)> {
        let due = self.rules.iter().enumerate();
        due.filter_map(|(number, one)| Some((one.observer.next_timeout()?, number))).min()
    }

    /// When the next message is due.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.next().map(|(at, _)| at)
    }

    /// Forgets idle connections.
    pub(super) fn expire(&mut self, now: Instant) {
        self.rules.iter_mut().for_each(|one| one.observer.expire(now));
    }

    /// The number of observed connections.
    pub(super) fn connections(&self) -> usize {
        self.rules.iter().map(|one| one.observer.watched()).sum()
    }

    pub(super) fn counts(&self) -> Counts {
        Counts { suppressed: self.limit.suppressed, ..self.counts }
    }

    /// The sums of the counters of all rules.
    pub(super) fn statistics(&self) -> PepStatistics {
        self.rules.iter().fold(PepStatistics::default(), |sum, one| {
            let more = one.observer.statistics();
            PepStatistics {
                segments: sum.segments + more.segments,
                unwatched: sum.unwatched + more.unwatched,
                unremembered: sum.unremembered + more.unremembered,
                messages: sum.messages + more.messages,
                nacks: sum.nacks + more.nacks,
            }
        })
    }
}

fn segment(tcp: &Tcp<'_>, payload: usize) -> Segment {
    Segment {
        sequence: tcp.sequence,
        acknowledgment: tcp.acknowledgment,
        flags: TcpFlags(tcp.flags & CONTROL_BITS),
        payload: payload as u32, // a length of 16 bits
    }
}

/// The packet behind the tags of VLANs that the interface has left in it.
fn untagged(mut ether_type: u16, mut bytes: &[u8]) -> &[u8] {
    for _ in 0..TAGS_MAX {
        match bytes.split_at_checked(TAG) {
            Some(([.., a, b], rest)) if VLANS.contains(&ether_type) => {
                ether_type = u16::from_be_bytes([*a, *b]);
                bytes = rest;
            }
            _ => return bytes,
        }
    }
    bytes
}
