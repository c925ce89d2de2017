//! Packets are found by addresses and ports, and the table keeps its bounds.

use core::net::IpAddr;

use airlane_core::{
    Direction, Duration, FlowId, Header, IcmpEcho, Instant, Packet, Payload, TcpHeader, UdpHeader,
};
use airlane_wire::{
    Class, Ends, Error, FlowLimits, FlowTable, Found, IpPacket, Transport, checksum, classify, emit, segment,
};

use crate::generate::Generator;

fn limits() -> FlowLimits {
    FlowLimits {
        first: 100,
        flows: 8,
        idle: Duration::from_secs(60),
        idle_unanswered: Duration::from_secs(5),
        fragments: 4,
        fragment_lifetime: Duration::from_secs(30),
    }
}

const fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// The UE's end is the source.
fn ends(v6: bool, ue_port: u16) -> Ends {
    let address = |last: u8| -> IpAddr {
        if v6 {
            IpAddr::from([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last])
        } else {
            [10, 0, 0, last].into()
        }
    };
    Ends { source: address(1), source_port: ue_port, destination: address(2), destination_port: 443 }
}

fn bytes(header: Header, ends: &Ends, payload: u32) -> Vec<u8> {
    let mut packet =
        Packet::new(FlowId(0), Direction::Uplink, header, Payload::Length(payload), Instant::ZERO);
    packet.ecn = airlane_core::Ecn::NotCapable;
    let mut out = Vec::new();
    emit(&packet, ends, usize::MAX, &mut out).expect("a packet of a flow");
    out
}

fn tcp(ends: &Ends) -> Vec<u8> {
    bytes(Header::Tcp(TcpHeader::default()), ends, 100)
}

fn udp(ends: &Ends) -> Vec<u8> {
    bytes(Header::Udp(UdpHeader::default()), ends, 100)
}

#[test]
fn both_directions_of_a_connection_are_one_flow() {
    let mut table = FlowTable::new(limits());
    let mut expected = 100;
    for v6 in [false, true] {
        for make in [tcp, udp] {
            let (up, down) = (make(&ends(v6, 5_000)), make(&ends(v6, 5_000).reversed()));
            assert_eq!(table.find(&up, Direction::Uplink, at(1)), Ok(Found::New(FlowId(expected))));
            assert_eq!(table.find(&down, Direction::Downlink, at(2)), Ok(Found::Known(FlowId(expected))));
            let tuple = table.tuple(FlowId(expected)).expect("a flow");
            assert_eq!((tuple.source, tuple.source_port), (ends(v6, 0).source, 5_000));
            // The same addresses in the wrong direction are another connection.
            expected += 1;
        }
    }
    let strange = table.find(&tcp(&ends(false, 5_000)), Direction::Downlink, at(3));
    assert_eq!(strange, Ok(Found::New(FlowId(expected))));
    assert_eq!(table.tuple(FlowId(99)), None);
}

#[test]
fn echo_messages_are_found_by_their_identifier() {
    let mut table = FlowTable::new(limits());
    for (number, v6, identifier) in [(100, false, 7), (101, false, 8), (102, true, 7)] {
        for serial in 0..3 {
            let asks = bytes(Header::Icmp(IcmpEcho { reply: false, serial }), &ends(v6, identifier), 56);
            let back = Ends { source_port: identifier, ..ends(v6, 0).reversed() };
            let answers = bytes(Header::Icmp(IcmpEcho { reply: true, serial }), &back, 56);
            let first = table.find(&asks, Direction::Uplink, at(serial)).expect("a packet");
            assert!(matches!(first, Found::New(FlowId(n)) | Found::Known(FlowId(n)) if n == number));
            assert_eq!(
                table.find(&answers, Direction::Downlink, at(serial)),
                Ok(Found::Known(FlowId(number)))
            );
        }
    }
}

/// An ICMP message of this type about a packet, of which the first 28 (IPv4) or 48 (IPv6) bytes are quoted.
fn error(about: &[u8], kind: u8) -> Vec<u8> {
    let v6 = about[0] >> 4 == 6;
    let quoted = &about[..if v6 { 48 } else { 28 }];
    let router = Ends { source_port: 0, ..ends(v6, 0).reversed() };
    let mut out = bytes(Header::Icmp(IcmpEcho::default()), &router, quoted.len() as u32);
    let start = out.len() - quoted.len();
    out[start..].copy_from_slice(quoted);
    out[start - 8] = kind;
    checksum::fill(&mut out).expect("a packet");
    out
}

#[test]
fn an_icmp_error_belongs_to_the_flow_that_it_quotes() {
    let mut table = FlowTable::new(limits());
    for (v6, kind) in [(false, 3), (true, 2)] {
        let sent = tcp(&ends(v6, 6_000));
        let Ok(Found::New(flow)) = table.find(&sent, Direction::Uplink, at(0)) else { panic!("a new flow") };
        let about_it = error(&sent, kind);
        assert_eq!(table.find(&about_it, Direction::Downlink, at(1)), Ok(Found::Known(flow)));
        // About a packet that the table does not know, and about the same one in the wrong direction.
        let other = error(&tcp(&ends(v6, 6_001)), kind);
        assert_eq!(table.find(&other, Direction::Downlink, at(1)), Ok(Found::Stray));
        assert_eq!(table.find(&about_it, Direction::Uplink, at(1)), Ok(Found::Stray));
    }
    assert_eq!(table.len(), 2);
    // Errors do not keep flows alive.
    let sent = tcp(&ends(false, 6_000));
    let _ = table.find(&error(&sent, 3), Direction::Downlink, at(4_999));
    assert_eq!(table.find(&error(&sent, 3), Direction::Downlink, at(5_000)), Ok(Found::Stray));
}

/// A packet in two fragments.
fn fragments(packet: &[u8], identification: u16) -> [Vec<u8>; 2] {
    let mut first = packet[..44].to_vec();
    first[2..4].copy_from_slice(&44_u16.to_be_bytes());
    first[4..6].copy_from_slice(&identification.to_be_bytes());
    first[6..8].copy_from_slice(&0x2000_u16.to_be_bytes());
    let mut second = [&packet[..20], &packet[44..]].concat();
    let length = second.len() as u16;
    second[2..4].copy_from_slice(&length.to_be_bytes());
    second[4..6].copy_from_slice(&identification.to_be_bytes());
    second[6..8].copy_from_slice(&3_u16.to_be_bytes());
    [first, second]
}

#[test]
fn later_fragments_follow_the_first() {
    let mut table = FlowTable::new(limits());
    let [first, second] = fragments(&udp(&ends(false, 7_000)), 9);
    assert_eq!(table.find(&second, Direction::Uplink, at(0)), Ok(Found::Stray));
    assert_eq!(table.find(&first, Direction::Uplink, at(0)), Ok(Found::New(FlowId(100))));
    assert_eq!(table.find(&second, Direction::Uplink, at(1)), Ok(Found::Known(FlowId(100))));
    // Of another packet.
    let [_, other] = fragments(&udp(&ends(false, 7_000)), 10);
    assert_eq!(table.find(&other, Direction::Uplink, at(1)), Ok(Found::Stray));
    // The fifth packet displaces the first: four are expected.
    for identification in 20..24 {
        let [first, _] = fragments(&udp(&ends(false, 7_000)), identification);
        assert_eq!(table.find(&first, Direction::Uplink, at(2)), Ok(Found::Known(FlowId(100))));
    }
    assert_eq!(table.find(&second, Direction::Uplink, at(2)), Ok(Found::Stray));
    let [_, latest] = fragments(&udp(&ends(false, 7_000)), 23);
    assert_eq!(table.find(&latest, Direction::Uplink, at(3)), Ok(Found::Known(FlowId(100))));
    assert_eq!(table.find(&latest, Direction::Uplink, at(30_002)), Ok(Found::Stray)); // 30 s later
}

#[test]
fn an_ipv6_fragment_has_its_ports_in_the_first() {
    // Fixed header, fragment header with M and identification 0x01020304, ports 1 and 2.
    let mut first = vec![0; 40 + 8 + 8];
    first[0] = 0x60;
    first[5] = 16;
    first[6] = 44;
    first[40] = 17;
    first[43] = 1;
    first[44..48].copy_from_slice(&[1, 2, 3, 4]);
    first[48..52].copy_from_slice(&[0, 1, 0, 2]);
    let Ok(Class::FirstFragment(tuple, id)) = classify(&first) else { panic!("a first fragment") };
    assert_eq!((tuple.protocol, tuple.source_port, tuple.destination_port), (17, 1, 2));
    assert_eq!(id.identification, 0x0102_0304);
    first[42..44].copy_from_slice(&8_u16.to_be_bytes());
    assert_eq!(classify(&first), Ok(Class::Fragment(id)));
}

#[test]
fn a_full_table_keeps_its_flows_until_they_are_idle() {
    let mut table = FlowTable::new(limits());
    for port in 0..8 {
        let now = at(u64::from(port));
        assert_eq!(
            table.find(&tcp(&ends(false, port)), Direction::Uplink, now),
            Ok(Found::New(FlowId(100 + u32::from(port))))
        );
    }
    // Flows 2 and 3 are answered.
    for port in [2, 3] {
        let answer = tcp(&ends(false, port).reversed());
        assert!(matches!(table.find(&answer, Direction::Downlink, at(10)), Ok(Found::Known(_))));
    }
    for port in 1_000..3_000 {
        assert_eq!(table.find(&tcp(&ends(false, port)), Direction::Uplink, at(20)), Ok(Found::Full));
    }
    assert_eq!((table.len(), table.poll_ended()), (8, None));
    // After 5 s the unanswered ones end, in the order of their last packets.
    table.expire(at(5_005));
    let ended: Vec<u32> = core::iter::from_fn(|| table.poll_ended()).map(|flow| flow.0).collect();
    assert_eq!(ended, [100, 101, 104, 105]);
    assert_eq!(table.tuple(FlowId(101)), None);
    // The number that became free last is used first.
    assert_eq!(table.find(&tcp(&ends(true, 1)), Direction::Uplink, at(5_005)), Ok(Found::New(FlowId(105))));
    let Ok(Found::Known(_)) = table.find(&tcp(&ends(true, 1)), Direction::Uplink, at(5_005)) else {
        panic!("known")
    };
    table.expire(at(60_009));
    assert_eq!(table.len(), 2);
    table.expire(at(60_010));
    assert!(table.is_empty());
}

/// A reference without lists: a vector that is searched from its front.
#[test]
fn the_table_agrees_with_a_simple_one() {
    let mut generator = Generator::new(41);
    let limits = FlowLimits { flows: 200, ..limits() };
    let mut table = FlowTable::new(limits);
    let mut simple: Vec<(FlowId, u16, u64, [bool; 2])> = Vec::new();
    let mut now = 0;
    for _ in 0..50_000 {
        now += generator.below(40) as u64;
        let port = generator.below(400) as u16;
        let up = generator.chance(0.6);
        let (bytes, direction) = if up {
            (udp(&ends(false, port)), Direction::Uplink)
        } else {
            (udp(&ends(false, port).reversed()), Direction::Downlink)
        };
        simple.retain(|&(_, _, last, seen)| now - last < if seen == [true; 2] { 60_000 } else { 5_000 });
        table.expire(at(now));
        while table.poll_ended().is_some() {}
        let found = table.find(&bytes, direction, at(now)).expect("a packet");
        assert_eq!(table.len(), simple.len() + usize::from(matches!(found, Found::New(_))));
        match (found, simple.iter_mut().find(|flow| flow.1 == port)) {
            (Found::Known(flow), Some(entry)) => {
                assert_eq!(flow, entry.0);
                entry.2 = now;
                entry.3[usize::from(up)] = true;
            }
            (Found::New(flow), None) => {
                assert!(simple.iter().all(|entry| entry.0 != flow), "a number is given once");
                let mut seen = [false; 2];
                seen[usize::from(up)] = true;
                simple.push((flow, port, now, seen));
            }
            (Found::Full, None) => assert_eq!(simple.len(), 200),
            (found, entry) => panic!("{found:?} instead of {entry:?}"),
        }
    }
}

#[test]
fn rubbish_is_an_error_and_adds_nothing() {
    let mut table = FlowTable::new(limits());
    assert_eq!(table.find(&[], Direction::Uplink, at(0)), Err(Error::Empty));
    let mut generator = Generator::new(42);
    for _ in 0..50_000 {
        let mut bytes = generator.packet(true);
        generator.damage(&mut bytes);
        let direction = if generator.chance(0.5) { Direction::Uplink } else { Direction::Downlink };
        let _ = table.find(&bytes, direction, at(0));
        assert!(table.len() <= 8);
    }
}

/// Segments joined again are the packet; each has correct checksums.
#[test]
fn a_large_packet_is_cut_as_linux_does() {
    let mut generator = Generator::new(43);
    let (mut cut, mut pieces) = (0, 0);
    while cut < 2_000 {
        let bytes = generator.packet(true);
        let size = 1 + generator.below(1_500) as u16;
        let Ok(mut segments) = segment::Segments::new(&bytes, size) else { continue };
        let whole = IpPacket::parse(&bytes).expect("valid");
        let (mut joined, mut out, mut count) = (Vec::new(), Vec::new(), 0_u16);
        loop {
            out.clear();
            if !segments.next_into(&mut out) {
                break;
            }
            let piece = IpPacket::parse(&out).expect("a segment");
            assert_eq!(piece.len(), out.len());
            assert_ne!(checksum::verify_header(&out), checksum::Verdict::Wrong);
            assert_ne!(checksum::verify_transport(&out), checksum::Verdict::Wrong);
            let last = joined.len() + piece.payload.len() == whole.payload.len();
            if let (Transport::Tcp(piece), Transport::Tcp(whole)) = (piece.transport, whole.transport) {
                assert_eq!(piece.sequence, whole.sequence.wrapping_add(joined.len() as u32));
                let kept = if last { 0 } else { 0x09 } | if count == 0 { 0 } else { 0x80 };
                assert_eq!(piece.flags, whole.flags & !kept);
                assert_eq!(piece.options, whole.options);
            }
            if let (airlane_wire::Ip::V4(piece), airlane_wire::Ip::V4(whole)) = (piece.ip, whole.ip) {
                assert_eq!(piece.identification, whole.identification.wrapping_add(count));
            }
            assert!(last || piece.payload.len() == usize::from(size));
            joined.extend_from_slice(piece.payload);
            count += 1;
        }
        assert_eq!(joined, whole.payload);
        assert_eq!(usize::from(count), whole.payload.len().div_ceil(usize::from(size)).max(1));
        (cut, pieces) = (cut + 1, pieces + u32::from(count));
    }
    assert!(pieces > 4_000, "{pieces} segments");
    // Not of other protocols, and not into nothing.
    let echo = bytes(Header::Icmp(IcmpEcho::default()), &ends(false, 1), 10);
    assert_eq!(segment::Segments::new(&echo, 100).err(), Some(Error::NotSegmentable(1)));
    assert!(segment::Segments::new(&tcp(&ends(false, 1)), 0).is_err());
}
