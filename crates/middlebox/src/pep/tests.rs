use airlane_core::{Bytes, Node, Outbox, PacketPool, SackBlock, Seeds, Silence, TcpFlags, TopicSet};
use airlane_net::pep::{Body, Key, LIST_MAX, Message, Receiver, Rejected, TcpReport};

use super::observation::Observation;
use super::*;
use crate::node::Middlebox;

const SECRET: &[u8] = b"test";
const FLOW: FlowId = FlowId(3);

fn config() -> PepConfig {
    PepConfig {
        id: 0,
        secret: SECRET.to_vec(),
        flows: 4,
        ranges: 4,
        ack_every: 1,
        max_delay: Duration::from_millis(5),
        min_interval: Duration::ZERO,
        reordering: 3,
        idle: Duration::from_secs(60),
        cell: None,
        fault: None,
    }
}

/// A PEP in the path, and the packets that leave on both sides.
struct Rig {
    node: Middlebox<Pep>,
    pool: PacketPool,
    now: Instant,
}

/// The packets that left: forwarded data, and messages as bytes with their flow.
#[derive(Default)]
struct Out {
    passed: Vec<Packet>,
    messages: Vec<(FlowId, Vec<u8>)>,
    /// The connections to which they are sent.
    sockets: Vec<SocketPair>,
}

impl Rig {
    fn new(config: PepConfig) -> Self {
        Self { node: Middlebox::new(Pep::new(config)), pool: PacketPool::default(), now: Instant::ZERO }
    }

    fn call(&mut self, call: impl FnOnce(&mut Middlebox<Pep>, &mut Cx<'_>)) -> Out {
        let (mut outbox, mut probe) = (Outbox::new(), Silence);
        let topics = TopicSet::NONE;
        let mut cx =
            Cx { now: self.now, pool: &mut self.pool, outbox: &mut outbox, topics, probe: &mut probe };
        call(&mut self.node, &mut cx);
        let mut out = Out::default();
        for (port, packet) in outbox {
            let packet = self.pool.consume(packet);
            match (&packet.header, &packet.payload) {
                (Header::Udp(_), Payload::Bytes(bytes)) => {
                    assert_eq!((port, packet.direction), (Side::Core.port(), Direction::Uplink));
                    assert_eq!(packet.size, Bytes(28 + bytes.len() as u64));
                    out.messages.push((packet.flow, bytes.to_vec()));
                    out.sockets.push(packet.sockets);
                }
                _ => out.passed.push(packet),
            }
        }
        assert_eq!(self.pool.live(), 0, "a PEP keeps no packet");
        out
    }

    fn give(&mut self, side: Side, flow: FlowId, header: TcpHeader, payload: u32) -> Out {
        self.give_on(side, (flow, SocketPair::default()), header, payload)
    }

    fn give_on(
        &mut self,
        side: Side,
        (flow, sockets): (FlowId, SocketPair),
        header: TcpHeader,
        payload: u32,
    ) -> Out {
        let direction = if side == Side::Core { Direction::Downlink } else { Direction::Uplink };
        let mut packet =
            Packet::new(flow, direction, Header::Tcp(header), Payload::Length(payload), self.now);
        packet.sockets = sockets;
        let handle = self.pool.insert(packet.clone());
        let out = self.call(|node, cx| node.handle_packet(cx, side.port(), handle));
        assert_eq!(out.passed, [packet], "a PEP changes nothing");
        out
    }

    /// A segment of data passes.
    fn data(&mut self, flow: FlowId, from: u32, to: u32) -> Out {
        let header = TcpHeader { sequence: from, flags: TcpFlags(TcpFlags::ACK), ..TcpHeader::default() };
        self.give(Side::Core, flow, header, to.wrapping_sub(from))
    }

    /// The reports that leave when this data passes.
    fn reports(&mut self, from: u32, to: u32) -> Vec<TcpReport> {
        self.data(FLOW, from, to).messages.iter().map(|(_, bytes)| report(bytes)).collect()
    }

    /// Advances the time to `ms`, with timers; returns the reports and their times.
    fn until(&mut self, ms: u64) -> Vec<(u64, TcpReport)> {
        let mut left = Vec::new();
        while let Some(at) = self.node.next_timeout().filter(|at| *at <= Instant::from_millis(ms)) {
            self.now = at;
            let out = self.call(|node, cx| node.handle_timeout(cx));
            left.extend(out.messages.iter().map(|(_, bytes)| (at.as_nanos() / 1_000_000, report(bytes))));
        }
        self.now = Instant::from_millis(ms);
        left
    }
}

fn message(bytes: &[u8], flow: FlowId) -> Message {
    let flow = u64::from(flow.0);
    Receiver::new(Key::derive(SECRET, flow), flow).accept(bytes).unwrap()
}

fn report(bytes: &[u8]) -> TcpReport {
    let Body::Tcp(report) = message(bytes, FLOW).body else { panic!("a TCP flow") };
    report
}

fn blocks(pairs: &[(u32, u32)]) -> Vec<SackBlock> {
    pairs.iter().map(|&(left, right)| SackBlock { left, right }).collect()
}

#[test]
fn each_segment_is_reported_as_it_passes() {
    let mut rig = Rig::new(config());
    let syn = TcpHeader { sequence: 99, flags: TcpFlags(TcpFlags::SYN), ..TcpHeader::default() };
    assert!(rig.give(Side::Core, FLOW, syn, 0).messages.is_empty());
    for to in [200, 300, 400] {
        let [report] = rig.reports(to - 100, to)[..] else { panic!("one message") };
        assert_eq!((report.first, report.cumulative), (100, to));
        assert_eq!(report.newest, SackBlock { left: to - 100, right: to });
        assert!(report.ranges.as_slice().is_empty() && report.holes.as_slice().is_empty());
    }
    // Acknowledgments of the client pass and cause no message.
    let ack = TcpHeader { acknowledgment: 400, flags: TcpFlags(TcpFlags::ACK), ..TcpHeader::default() };
    assert!(rig.give(Side::Ran, FLOW, ack, 0).messages.is_empty());
}

#[test]
fn a_hole_is_certain_after_three_segments_and_said_until_it_is_filled() {
    let mut rig = Rig::new(config());
    rig.reports(0, 100);
    let holes: Vec<_> = [(200, 300), (300, 400), (400, 500), (500, 600)]
        .iter()
        .map(|&(from, to)| rig.reports(from, to)[0].holes.as_slice().to_vec())
        .collect();
    assert_eq!(holes, [vec![], vec![], blocks(&[(100, 200)]), blocks(&[(100, 200)])]);
    // A second hole, a part of which passes later.
    for from in [900, 1000, 1100] {
        rig.reports(from, from + 100);
    }
    let [report] = rig.reports(700, 800)[..] else { panic!("one message") };
    assert_eq!(report.ranges.as_slice(), blocks(&[(700, 800), (200, 600), (900, 1200)]));
    assert_eq!(report.holes.as_slice(), blocks(&[(100, 200), (600, 700), (800, 900)]));
    let [report] = rig.reports(100, 200)[..] else { panic!("one message") };
    assert_eq!(report.cumulative, 600);
    assert_eq!(report.holes.as_slice(), blocks(&[(600, 700), (800, 900)]));
    // Data that the client has is no hole, whether it passed here or not.
    let ack = TcpHeader { acknowledgment: 850, flags: TcpFlags(TcpFlags::ACK), ..TcpHeader::default() };
    rig.give(Side::Ran, FLOW, ack, 0);
    let [report] = rig.reports(1200, 1300)[..] else { panic!("one message") };
    assert_eq!((report.cumulative, report.holes.as_slice()), (850, &blocks(&[(850, 900)])[..]));
    assert_eq!(rig.node.function().statistics().nacks, 2); // the second hole was already certain
}

#[test]
fn sequence_numbers_wrap() {
    let mut rig = Rig::new(config());
    let start = u32::MAX - 150;
    for k in 0..5 {
        rig.reports(start.wrapping_add(100 * k), start.wrapping_add(100 * (k + 1)));
    }
    let [report] = rig.reports(start.wrapping_add(600), start.wrapping_add(700))[..] else { panic!("one") };
    assert_eq!(report.cumulative, start.wrapping_add(500));
    assert_eq!(report.ranges.as_slice(), blocks(&[(start.wrapping_add(600), start.wrapping_add(700))]));
}

#[test]
fn messages_keep_to_their_rate() {
    let min_interval = Duration::from_millis(2);
    let mut rig = Rig::new(PepConfig { ack_every: 4, min_interval, ..config() });
    // Fewer than four wait for 5 ms.
    assert!(rig.reports(0, 100).is_empty());
    rig.until(1);
    assert!(rig.reports(100, 200).is_empty());
    let left = rig.until(20);
    assert_eq!(left.iter().map(|(at, report)| (*at, report.cumulative)).collect::<Vec<_>>(), [(5, 200)]);
    // Four segments trigger a message; the next four wait for the interval.
    let counts: Vec<_> = (2..10).map(|k| rig.reports(100 * k, 100 * (k + 1)).len()).collect();
    assert_eq!(counts, [0, 0, 0, 1, 0, 0, 0, 0]);
    let left = rig.until(40);
    assert_eq!(left.iter().map(|(at, report)| (*at, report.cumulative)).collect::<Vec<_>>(), [(22, 1000)]);
    // For a hole, the third segment above it triggers a message, not the fourth.
    let counts: Vec<_> = (11..14).map(|k| rig.reports(100 * k, 100 * (k + 1)).len()).collect();
    assert_eq!(counts, [0, 0, 1]);
}

#[test]
fn memory_is_bounded_in_flows_and_ranges() {
    let mut rig = Rig::new(config());
    let served =
        |rig: &mut Rig, flow: u32, from| !rig.data(FlowId(flow), from, from + 100).messages.is_empty();
    assert!((0..4).all(|flow| served(&mut rig, flow, 0)));
    assert!((4..1000).all(|flow| !served(&mut rig, flow, 0))); // they pass unobserved
    assert_eq!((rig.node.function().watched(), rig.node.function().statistics().unwatched), (4, 996));
    // Every second segment is missing: four ranges are stored.
    for k in 0..1000 {
        rig.data(FLOW, 1000 + 200 * k, 1100 + 200 * k);
    }
    assert_eq!(rig.node.function().statistics().unremembered, 996);
    // A connection that ends, or is idle for long, makes room.
    let reset = TcpHeader { flags: TcpFlags(TcpFlags::RST), ..TcpHeader::default() };
    rig.give(Side::Core, FlowId(0), reset, 0);
    assert!(served(&mut rig, 4, 0) && !served(&mut rig, 5, 0));
    rig.until(70_000);
    assert!(served(&mut rig, 5, 0));
    assert_eq!(rig.node.function().watched(), 1);
}

#[test]
fn a_flow_that_ends_is_forgotten() {
    let mut rig = Rig::new(config());
    let fin = TcpHeader { sequence: 0, flags: TcpFlags(TcpFlags::FIN), ..TcpHeader::default() };
    assert_eq!(report(&rig.give(Side::Core, FLOW, fin, 100).messages[0].1).cumulative, 101);
    let ack = |to| TcpHeader { acknowledgment: to, flags: TcpFlags(TcpFlags::ACK), ..TcpHeader::default() };
    rig.give(Side::Ran, FLOW, ack(100), 0);
    assert_eq!(rig.node.function().watched(), 1);
    rig.give(Side::Ran, FLOW, ack(101), 0);
    assert_eq!(rig.node.function().watched(), 0);
}

#[test]
fn a_restart_begins_a_new_instance_that_knows_nothing() {
    let fault = Fault::Dies { at: Instant::from_millis(10), until: Instant::from_millis(20) };
    let chance = Seeds::new(1).stream("test");
    let mut rig = Rig::new(PepConfig { fault: Some((fault, chance)), ..config() });
    let flow = u64::from(FLOW.0);
    let mut receiver = Receiver::new(Key::derive(SECRET, flow), flow);
    let first = rig.data(FLOW, 0, 100).messages.remove(0).1;
    assert_eq!(receiver.accept(&first).unwrap().instance, 1);
    rig.until(15);
    assert!(rig.data(FLOW, 100, 200).messages.is_empty());
    rig.until(25);
    let after = rig.data(FLOW, 200, 300).messages.remove(0).1;
    let message = receiver.accept(&after).unwrap();
    assert_eq!((message.instance, message.serial, report(&after).first), (2, 1, 200));
    assert_eq!(receiver.accept(&first), Err(Rejected::Replayed));
}

/// Reports correspond to the observed segments, for any order, loss and repetition.
#[test]
fn reports_are_true_and_complete() {
    let mut s = Seeds::new(5).stream("segments");
    for round in 0..200 {
        let mut seen = vec![false; 64];
        let mut observation = Observation::new(0, 64, 3);
        for _ in 0..s.below(150) {
            let at = s.below(64) as usize;
            seen[at] = true;
            observation.on_segment(at as u32 * 10, at as u32 * 10 + 10);
        }
        let report = observation.report();
        let covered = |k: u32| {
            let inside = |b: &SackBlock| b.left <= 10 * k && 10 * k + 10 <= b.right;
            10 * k + 10 <= report.cumulative || report.ranges.as_slice().iter().any(inside)
        };
        let ranges = report.ranges.as_slice().len();
        for (k, was) in (0..).zip(&seen) {
            assert!(!covered(k) || *was, "round {round}: {k} was not seen");
            assert!(covered(k) || !was || ranges == LIST_MAX, "round {round}: {k} is not reported");
        }
        let holes = report.holes.as_slice();
        assert!(holes.iter().all(|hole| (hole.left / 10..hole.right / 10).all(|k| !seen[k as usize])));
    }
}

/// The interface allows a function that keeps packets, such as a proxy.
struct Keeps(Vec<(Instant, Side, PacketRef)>);

impl NetworkFunction for Keeps {
    fn on_packet(&mut self, cx: &mut Cx<'_>, side: Side, packet: PacketRef) -> Option<PacketRef> {
        self.0.push((cx.now + Duration::from_millis(5), side, packet));
        None
    }
    fn on_timeout(&mut self, cx: &mut Cx<'_>) {
        for (_, side, packet) in self.0.drain(..) {
            cx.send(side.across().port(), packet);
        }
    }
    fn next_timeout(&self) -> Option<Instant> {
        self.0.first().map(|(at, ..)| *at)
    }
    fn packets_held(&self) -> usize {
        self.0.len()
    }
}

#[test]
fn what_a_function_does_not_give_back_it_owns() {
    let (mut pool, mut outbox, mut probe) = (PacketPool::default(), Outbox::new(), Silence);
    let mut node = Middlebox::new(Keeps(Vec::new()));
    let header = Header::Udp(UdpHeader::default());
    let packet = Packet::new(FLOW, Direction::Downlink, header, Payload::Length(10), Instant::ZERO);
    let packet = pool.insert(packet);
    let topics = TopicSet::NONE;
    let mut cx = Cx { now: Instant::ZERO, pool: &mut pool, outbox: &mut outbox, topics, probe: &mut probe };
    node.handle_packet(&mut cx, Side::Core.port(), packet);
    assert_eq!(
        (cx.outbox.len(), node.packets_held(), node.next_timeout()),
        (0, 1, Some(Instant::from_millis(5)))
    );
    node.handle_timeout(&mut cx);
    assert_eq!((cx.outbox[0].0, node.packets_held()), (Side::Ran.port(), 0));
    drop(outbox.drain(..).map(|(_, packet)| pool.consume(packet)).collect::<Vec<_>>());
}

/// Datagrams of QUIC: a message about each, with the identifiers of up to eight that have passed.
#[test]
fn datagrams_are_reported_by_names_that_the_server_computes_too() {
    let mut rig = Rig::new(config());
    let key = airlane_net::pep::Key::derive(SECRET, 3);
    let mut receiver = Receiver::new(key.clone(), 3);
    let mut names = vec![];
    for number in 0..10_u8 {
        let bytes = vec![0x40, number, 7, 7];
        names.push(key.identifier(&bytes));
        let header = Header::Udp(UdpHeader { serial: u64::from(number) });
        let packet = Packet::new(FLOW, Direction::Downlink, header, Payload::Bytes(bytes.into()), rig.now);
        let handle = rig.pool.insert(packet);
        let mut message = None;
        let (mut outbox, mut probe) = (Outbox::new(), Silence);
        let mut cx = Cx {
            now: rig.now,
            pool: &mut rig.pool,
            outbox: &mut outbox,
            topics: TopicSet::NONE,
            probe: &mut probe,
        };
        rig.node.handle_packet(&mut cx, Side::Core.port(), handle);
        for (port, packet) in outbox {
            let packet = rig.pool.consume(packet);
            let Payload::Bytes(bytes) = packet.payload else { panic!("bytes") };
            if port == Side::Core.port() {
                message = Some(receiver.accept(&bytes).unwrap());
            }
        }
        let Some(Message { body: Body::Opaque(said), .. }) = message else { panic!("{message:?}") };
        assert_eq!(said.as_slice(), &names[names.len().saturating_sub(LIST_MAX)..]);
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 10);
}

/// Each connection of a flow is observed separately, with its own key, and removed at its end.
#[test]
fn connections_of_a_flow_are_told_apart() {
    use airlane_net::pep::Keys;

    let mut rig = Rig::new(config());
    let connections = [(0, 443, 49_152), (0, 443, 49_153), (1, 443, 49_152)];
    let connections =
        connections.map(|(server, server_port, ue_port)| SocketPair { server, server_port, ue_port });
    let keys = Keys::new(SECRET, FLOW);
    let mut receivers = connections.map(|sockets| keys.receiver(sockets));
    let data =
        |from: u32| TcpHeader { sequence: from, flags: TcpFlags(TcpFlags::ACK), ..TcpHeader::default() };
    // Sequence numbers of one connection have no effect on another.
    for (number, from) in [(0, 1_000), (1, 500_000), (2, 7), (0, 1_100), (2, 107)] {
        let out = rig.give_on(Side::Core, (FLOW, connections[number]), data(from), 100);
        assert_eq!(out.sockets, [connections[number]]);
        let [(_, bytes)] = &out.messages[..] else { panic!("one message") };
        for (other, receiver) in receivers.iter_mut().enumerate().filter(|(other, _)| *other != number) {
            assert_eq!(receiver.accept(bytes), Err(Rejected::Forged), "{number} read by {other}");
        }
        let message = receivers[number].accept(bytes).unwrap();
        let Body::Tcp(report) = message.body else { panic!("a TCP flow") };
        assert_eq!(report.cumulative, from + 100);
        assert!(report.ranges.as_slice().is_empty(), "no gap between connections: {report:?}");
    }
    assert_eq!(rig.node.function().watched(), 3);
    // Server and client close the second: its place becomes free.
    let fin = TcpHeader { flags: TcpFlags(TcpFlags::ACK | TcpFlags::FIN), ..data(500_100) };
    rig.give_on(Side::Core, (FLOW, connections[1]), fin, 0);
    let last = TcpHeader { acknowledgment: 500_101, ..data(1) };
    rig.give_on(Side::Ran, (FLOW, connections[1]), last, 0);
    assert_eq!(rig.node.function().watched(), 2);
}

/// The number of a connection in messages: by hand, flow 3, server 1, port 443 = 0x1bb, port 49153 =
/// 0xc001.
#[test]
fn the_identifier_of_a_connection() {
    use airlane_net::pep::flow_identifier;

    let sockets = SocketPair { server: 1, server_port: 443, ue_port: 49_153 };
    assert_eq!(flow_identifier(FLOW, sockets), 0x0003_0001_01bb_c001);
    assert_eq!(flow_identifier(FLOW, SocketPair::default()), 3);
}
