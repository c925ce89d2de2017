//! Packets from outside on their way through the network: nodes that mark change their bytes, and nodes that look at
//! the typed view cope with packets that have none.

use crate::generate::Generator;
use airlane_core::{
    BitRate, Bytes, Cx, Direction, DropCause, Duration, Ecn, Event, FlowId, Header, Instant, Node, Packet,
    PacketPool, Probe, Seeds, Silence, TopicSet,
};
use airlane_middlebox::{ConnectOrder, Middlebox, Pep, PepConfig, Side, SplitConfig, SplitProxy, WhenFull};
use airlane_net::queue::Limit;
use airlane_net::{
    Aqm, Discipline, FlowRouter, Gateway, Link, LinkParameters, ManagedLink, codel, dualpi2, fq_codel, pie,
    red,
};
use airlane_record::{
    Capture, CaptureFlow, CaptureParameters, CapturePoint, FlowDescription, Recorder, RecorderParameters,
};
use airlane_transport::TcpConfig;
use airlane_wire::{Ends, checksum, emit, ip_bytes, outside, protocol};

fn call(pool: &mut PacketPool, now: Instant, act: impl FnOnce(&mut Cx<'_>)) -> Vec<Packet> {
    let mut outbox = Vec::new();
    let mut silence = Silence;
    act(&mut Cx { now, pool, outbox: &mut outbox, topics: TopicSet::NONE, probe: &mut silence });
    outbox.into_iter().map(|(_, packet)| pool.consume(packet)).collect()
}

fn arrival(flow: u32, direction: Direction, now: Instant) -> outside::Arrival {
    outside::Arrival { flow: FlowId(flow), direction, now }
}

fn bytes_of(packet: &Packet) -> Vec<u8> {
    let ends = Ends {
        source: [10, 0, 0, 1].into(),
        source_port: 1,
        destination: [10, 0, 0, 2].into(),
        destination_port: 2,
    };
    let mut out = Vec::new();
    emit(packet, &ends, usize::MAX, &mut out).expect("a packet from outside has a wire form");
    out
}

/// The packets of an overloaded link, before and after.
fn through(aqm: Aqm, packets: &[Vec<u8>]) -> Vec<Packet> {
    let stream = || Seeds::new(1).stream("aqm");
    let limit = Limit::bytes(Bytes(1_000_000));
    let rate = Some(BitRate(2_000_000));
    let parameters = LinkParameters { rate, ..LinkParameters::default() };
    let mut link = ManagedLink::new(parameters, Discipline::new(&aqm, limit, stream));
    let mut pool = PacketPool::default();
    let mut out = Vec::new();
    let mut now = Instant::ZERO;
    for bytes in packets {
        now += Duration::from_millis(1);
        while let Some(at) = link.next_timeout().filter(|at| *at <= now) {
            out.extend(call(&mut pool, at, |cx| link.handle_timeout(cx)));
        }
        let packet = outside::packet(&mut pool, bytes, arrival(0, Direction::Downlink, now)).expect("valid");
        let packet = pool.insert(packet);
        out.extend(call(&mut pool, now, |cx| link.handle_packet(cx, Link::INPUT, packet)));
    }
    while let Some(at) = link.next_timeout() {
        out.extend(call(&mut pool, at, |cx| link.handle_timeout(cx)));
    }
    assert_eq!((link.packets_held(), pool.live()), (0, 0));
    out
}

#[test]
fn a_queue_that_marks_changes_the_bytes_and_the_checksum() {
    let codel = codel::Parameters { ecn: true, ..codel::Parameters::default() };
    let disciplines = [
        Aqm::CoDel(codel),
        Aqm::FqCoDel(fq_codel::Parameters { codel, ..fq_codel::Parameters::default() }),
        Aqm::Pie(pie::Parameters { ecn: true, ..pie::Parameters::default() }),
        Aqm::DualPi2(dualpi2::Parameters { any_ect: true, ..dualpi2::Parameters::default() }),
        Aqm::Red(red::Parameters { ecn: true, weight: 0.02, ..red::Parameters::default() }),
    ];
    let mut generator = Generator::new(31);
    let mut packets = Vec::new();
    while packets.len() < 1_500 {
        let mut bytes = generator.packet(true);
        ip_bytes::set_ecn(&mut bytes, [Ecn::Capable0, Ecn::Capable1, Ecn::NotCapable][packets.len() % 3]);
        if (400..1_600).contains(&bytes.len()) {
            packets.push(bytes);
        }
    }
    for aqm in disciplines {
        let mut marked = [0, 0];
        let left = through(aqm, &packets);
        for packet in &left {
            let bytes = bytes_of(packet);
            assert_eq!(ip_bytes::ecn(&bytes), Some(packet.ecn));
            assert_ne!(checksum::verify_header(&bytes), checksum::Verdict::Wrong);
            assert_ne!(checksum::verify_transport(&bytes), checksum::Verdict::Wrong);
            marked[usize::from(bytes[0] >> 4 == 6)] += u32::from(packet.ecn == Ecn::CongestionExperienced);
        }
        assert!(marked.iter().all(|&n| n > 0), "IPv4 and IPv6, of {}: {marked:?} by {aqm:?}", left.len());
    }
}

/// Observes each packet in every way.
fn observe(packet: &Packet, probes: &mut [&mut dyn Probe]) {
    for probe in probes {
        for event in [
            Event::Sent { packet, retransmission: false },
            Event::Received { packet },
            Event::Marked { packet },
            Event::Dropped { packet, cause: DropCause::QueueFull },
        ] {
            if probe.topics().wants(event.topic()) {
                probe.observe(packet.sent_at, &event);
            }
        }
    }
}

fn recorder() -> Recorder {
    let flow = |n: u32| FlowDescription {
        name: format!("flow-{n}"),
        to: "phone".into(),
        ue: None,
        kind: "tcp".into(),
        congestion: "cubic".into(),
        app: "bulk".into(),
        direction: Direction::Downlink,
        both_directions: n.is_multiple_of(2),
        start: Instant::ZERO,
        stop: None,
        streams: true,
        proxies: String::new(),
    };
    Recorder::new(RecorderParameters {
        flows: (0..8).map(flow).collect(),
        cells: vec![],
        ues: 1,
        warmup: Instant::ZERO,
        end: Instant::from_millis(60_000),
        bin: Some(RecorderParameters::DEFAULT_BIN),
        pep: true,
        codes: true,
        pings: true,
        losses: true,
        ..RecorderParameters::default()
    })
}

fn proxy() -> SplitProxy {
    SplitProxy::new(SplitConfig {
        id: 0,
        core: TcpConfig::linux(),
        ran: TcpConfig::linux(),
        shared_window_max: None,
        connect: ConnectOrder::AfterHandshake,
        buffer: Bytes(100_000),
        memory: Bytes(1_000_000),
        connections: 16,
        when_full: WhenFull::PassThrough,
        connect_timeout: Duration::from_secs(10),
        stall_timeout: Duration::from_secs(10),
        idle_timeout: Duration::from_secs(10),
        time_wait: Duration::from_secs(1),
        cell: None,
        seeds: Seeds::new(1),
    })
}

fn pep() -> Pep {
    Pep::new(PepConfig {
        id: 0,
        secret: b"secret".to_vec(),
        flows: 8,
        ranges: 8,
        ack_every: 4,
        max_delay: Duration::from_secs(1),
        min_interval: Duration::ZERO,
        reordering: 3,
        idle: Duration::from_secs(60),
        cell: None,
        fault: None,
    })
}

/// Any packets, damaged ones too, through every node that reads headers. Those that none of them may change leave as
/// they came.
#[test]
fn nodes_that_read_headers_cope_with_any_packet() {
    let flow = CaptureFlow { ue: 0, direction: Direction::Downlink, tcp: true };
    let parameters = CaptureParameters {
        points: vec![CapturePoint::Server, CapturePoint::Ue],
        snaplen: 200,
        flows: vec![flow; 8],
        ues: vec!["phone".into()],
        cells: vec![],
        subflows: vec![],
    };
    let mut capture = Capture::in_memory(&parameters);
    let mut recorder = recorder();
    let (mut pep, mut proxy) = (Middlebox::new(pep()), Middlebox::new(proxy()));
    let mut gateway = Gateway::new();
    let mut generator = Generator::new(32);
    let mut pool = PacketPool::default();
    let (mut now, mut relayed) = (Instant::ZERO, 0);
    for round in 0..20_000_u32 {
        now += Duration::from_micros(500);
        let mut bytes = generator.packet(round % 3 != 0);
        if round % 2 == 1 {
            generator.damage(&mut bytes);
        }
        let (side, direction) =
            if round % 5 < 3 { (Side::Core, Direction::Downlink) } else { (Side::Ran, Direction::Uplink) };
        let arrival = arrival(generator.below(10) as u32, direction, now);
        let Ok(packet) = outside::packet(&mut pool, &bytes, arrival) else { continue };
        observe(&packet, &mut [&mut capture, &mut recorder]);
        let (length, is_tcp) = (packet.size.get() as usize, matches!(packet.header, Header::Tcp(_)));

        let handle = pool.insert(packet.clone());
        let after = call(&mut pool, now, |cx| pep.handle_packet(cx, side.port(), handle));
        let forwarded = after.last().expect("it may send messages first");
        assert_eq!(bytes_of(forwarded), &bytes[..length]);
        let handle = pool.insert(packet.clone());
        let after = call(&mut pool, now, |cx| proxy.handle_packet(cx, side.port(), handle));
        if !is_tcp {
            assert_eq!((after.len(), bytes_of(&after[0])), (1, bytes[..length].to_vec()));
            relayed += 1;
        }
        let handle = pool.insert(packet.clone());
        assert_eq!(call(&mut pool, now, |cx| gateway.handle_packet(cx, Gateway::INTERNET, handle)), []);
        let handle = pool.insert(packet);
        let after = call(&mut pool, now, |cx| FlowRouter.handle_packet(cx, 0, handle));
        assert_eq!(bytes_of(&after[0]), &bytes[..length]);
        for node in [&mut pep as &mut dyn Node, &mut proxy] {
            while node.next_timeout().is_some_and(|at| at <= now) {
                call(&mut pool, now, |cx| node.handle_timeout(cx));
            }
        }
        gateway.add_flow(FlowId(round % 4), airlane_core::UeId(9)); // a UE that is never attached
    }
    assert!(relayed > 3_000, "{relayed} packets of other protocols passed the proxy");
    assert!(pool.discarded(DropCause::NoRoute) > 1_000);
    assert!(recorder.finish().iter().any(|(name, table)| *name == "losses" && table.rows() > 0));
    assert!(capture.into_memory().iter().all(|(_, file)| file.len() > 100_000));
}

/// A protocol without a typed view keeps its number.
#[test]
fn other_protocols_have_a_header_of_their_own() {
    let mut generator = Generator::new(33);
    let mut pool = PacketPool::default();
    let numbers: Vec<u8> = (0..500)
        .filter_map(|_| {
            let bytes = generator.packet(true);
            let packet = outside::packet(&mut pool, &bytes, arrival(0, Direction::Uplink, Instant::ZERO));
            match packet.expect("valid").header {
                Header::Other { protocol } => Some(protocol),
                _ => None,
            }
        })
        .collect();
    for number in [47, 132, protocol::TCP, protocol::ICMP] {
        assert!(numbers.contains(&number), "{number} among {numbers:?}"); // of TCP: fragments; of ICMP: errors
    }
}
