use airlane_core::{Duration, Seeds, UeId, ip_bytes};
use airlane_scenario::Scenario;
use airlane_wire::checksum::{Verdict, fill, verify_header, verify_transport};
use airlane_wire::{Echo, Icmp, IpPacket, Tcp, Transport, Udp, protocol};

use super::*;
use crate::ends::ROUTER_V4;

const WIRED: &str = include_str!("../../../../scenarios/wired-cubic.toml");
const LTE: &str = include_str!("../../../../scenarios/lte-download.toml");
const UE: EndId = EndId::Ue(0);

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn cell(text: &str, ues: &[(&str, Option<u32>)]) -> Cell {
    let scenario = Scenario::parse(text, "cell.toml").and_then(|scenario| scenario.resolve());
    let scenario = scenario.unwrap_or_else(|e| panic!("{e}"));
    let of = |(name, ue): &(&str, Option<u32>)| RealEnd {
        name: (*name).to_owned(),
        host: (*name).to_owned(),
        access: None,
        ue: ue.map(UeId),
    };
    let real: Vec<_> = ues.iter().map(of).collect();
    Cell::new(&scenario, 1, &real, 1_500).unwrap()
}

fn wired() -> Cell {
    cell(WIRED, &[("host", None)])
}

fn lte() -> Cell {
    cell(LTE, &[("real", Some(0))])
}

fn v4(from: EndId, to: EndId, protocol: u8, transport: &[u8]) -> Vec<u8> {
    let header = Ipv4 {
        total_length: (20 + transport.len()) as u16,
        protocol,
        ..Ipv4::between(Ends::v4(from), Ends::v4(to))
    };
    let mut bytes = vec![];
    Ip::V4(header).emit(&mut bytes).unwrap();
    bytes.extend_from_slice(transport);
    fill(&mut bytes).unwrap();
    bytes
}

fn ping(from: EndId, to: EndId, sequence: u16, reply: bool) -> Vec<u8> {
    let mut message = vec![];
    Icmp::echo_message(Echo { reply, identifier: 77, sequence }, false).emit(&mut message);
    message.extend((0..56).map(|i| i as u8));
    v4(from, to, protocol::ICMP, &message)
}

fn datagram(from: EndId, to: EndId, payload: usize) -> Vec<u8> {
    let mut bytes = vec![];
    let length = 8 + payload as u16;
    Udp { source_port: 4_000, destination_port: 5_001, length, checksum: 0 }.emit(&mut bytes);
    bytes.extend((0..payload).map(|i| i as u8));
    v4(from, to, protocol::UDP, &bytes)
}

fn with_hop_limit(mut bytes: Vec<u8>, hops: u8) -> Vec<u8> {
    bytes[8] = hops;
    fill(&mut bytes).unwrap();
    bytes
}

fn all(cell: &mut Cell) -> Vec<(Left, Vec<u8>)> {
    let mut buffer = vec![];
    std::iter::from_fn(|| cell.leave(&mut buffer).map(|left| (left, buffer.clone()))).collect()
}

fn icmp_of(bytes: &[u8]) -> (IpAddr, Icmp) {
    assert_eq!((verify_header(bytes), verify_transport(bytes)), (Verdict::Correct, Verdict::Correct));
    let packet = IpPacket::parse(bytes).unwrap();
    let Transport::Icmp(icmp) = packet.transport else { panic!("{packet:?}") };
    (packet.ip.addresses().0, icmp)
}

#[test]
fn a_ping_crosses_and_comes_back_with_its_bytes() {
    for (mut cell, least) in [(wired(), 60), (lte(), 56)] {
        let request = ping(UE, EndId::Server, 1, false);
        cell.enter(UE, &request, None, ms(1_000));
        cell.advance(ms(1_200));
        let [(up, bytes)] = &all(&mut cell)[..] else { panic!("one packet") };
        assert_eq!((up.end, up.sent_at), (EndId::Server, ms(1_000)));
        assert_eq!(up.leg, Some(Leg { ue: 0, direction: Direction::Uplink }));
        let mut expected = request.clone();
        assert!(ip_bytes::decrement_hop_limit(&mut expected));
        assert_eq!(*bytes, expected);
        let turned = ms(1_200);
        cell.enter(EndId::Server, &ping(EndId::Server, UE, 1, true), None, turned);
        cell.advance(ms(1_500));
        let [(down, bytes)] = &all(&mut cell)[..] else { panic!("one packet") };
        assert_eq!((down.end, bytes.len(), bytes[8]), (UE, request.len(), 63));
        assert_eq!(verify_transport(bytes), Verdict::Correct);
        let rtt = (up.at - ms(1_000)) + (down.at - turned);
        assert!(rtt.as_millis() >= least && rtt.as_millis() < 300, "{rtt}");
        let counts = Counts { entered: 2, left: 2, ..Counts::default() };
        assert_eq!(cell.counts(), counts);
        let output = cell.finish();
        assert!(output.meta.conserved);
    }
}

/// The host of a wired network with a second access, which is absent between 3 s and 5 s.
fn two_paths() -> Cell {
    let text = format!(
        "{WIRED}[[link]]\nname = \"wifi\"\ndelay = \"7 ms\"\n\
         coverage = [{{ from = \"0 s\", until = \"3 s\" }}, {{ from = \"5 s\" }}]\n"
    );
    let scenario = Scenario::parse(&text, "cell.toml").and_then(|scenario| scenario.resolve());
    let (scenario, real) = scenario.and_then(|one| one.for_real(&["host".to_owned()], &[])).unwrap();
    Cell::new(&scenario, 1, &real, 1_500).unwrap()
}

#[test]
fn each_access_carries_the_packets_of_its_address() {
    let (mut cell, wifi) = (two_paths(), EndId::Ue(1));
    let mut sent = |at: Instant, from: EndId, to: EndId, written: EndId| {
        cell.enter(written, &datagram(from, to, 100), None, at);
        cell.advance(at + Duration::from_millis(500));
        all(&mut cell).iter().map(|(left, _)| (left.end, left.at - at)).collect::<Vec<_>>()
    };
    let mut delay = |at: Instant, from: EndId, to: EndId| {
        let [(end, delay)] = sent(at, from, to, from)[..] else { panic!("one packet") };
        assert_eq!(end, to);
        delay.as_millis()
    };
    assert_eq!(delay(ms(0), wifi, EndId::Server), 7);
    assert_eq!(delay(ms(600), EndId::Server, wifi), 7);
    assert_eq!(delay(ms(1_200), UE, EndId::Server), 30);
    assert_eq!(delay(ms(1_800), EndId::Server, UE), 30);
    assert_eq!(sent(ms(3_000), wifi, EndId::Server, wifi), [], "outside of the coverage");
    assert_eq!(sent(ms(3_600), EndId::Server, wifi, EndId::Server), []);
    assert_eq!(sent(ms(5_000), wifi, EndId::Server, wifi).len(), 1, "it has come back");
    assert_eq!(sent(ms(6_000), wifi, EndId::Server, UE), [], "the address of another access");
    assert_eq!(cell.counts().unroutable[Unroutable::Martian.index()], 1);
    assert!(cell.finish().meta.conserved);
}

#[test]
fn a_burst_is_cut_into_segments_that_leave_one_behind_the_other() {
    let mut cell = wired();
    let tcp = Tcp {
        source_port: 5_201,
        destination_port: 40_000,
        sequence: u32::MAX - 2_000,
        acknowledgment: 9,
        flags: 0x18,
        window: 500,
        checksum: 0,
        urgent: 0,
        options: &[],
    };
    let mut bytes = vec![];
    tcp.emit(&mut bytes).unwrap();
    bytes.extend((0..10_000).map(|i| i as u8));
    cell.enter(EndId::Server, &v4(EndId::Server, UE, protocol::TCP, &bytes), Some(1_448), ms(100));
    cell.advance(ms(300));
    let left = all(&mut cell);
    assert_eq!(left.len(), 7); // 6 of 1448 bytes, and 1312
    let mut content = vec![];
    for (index, (left, bytes)) in left.iter().enumerate() {
        let packet = IpPacket::parse(bytes).unwrap();
        let Transport::Tcp(segment) = packet.transport else { panic!("{packet:?}") };
        assert_eq!(segment.sequence, tcp.sequence.wrapping_add(1_448 * index as u32));
        assert_eq!((verify_header(bytes), verify_transport(bytes)), (Verdict::Correct, Verdict::Correct));
        content.extend_from_slice(packet.payload);
        assert_eq!(left.sent_at, ms(100));
    }
    assert_eq!(content, bytes[20..]);
    // 1488 bytes at 75 Mbit/s take 158,720 ns.
    assert_eq!((left[1].0.at - left[0].0.at).as_nanos(), 158_720);
}

#[test]
fn the_router_answers_a_traceroute() {
    let mut cell = wired();
    let probe = with_hop_limit(datagram(UE, EndId::Server, 32), 1);
    cell.enter(UE, &probe, None, ms(100));
    cell.advance(ms(300));
    let [(left, bytes)] = &all(&mut cell)[..] else { panic!("one error") };
    let (source, icmp) = icmp_of(bytes);
    assert_eq!((left.end, source, icmp.kind), (UE, IpAddr::V4(ROUTER_V4), 11));
    // Up and down again, 30 ms each.
    assert!(left.at >= ms(160) && left.at < ms(161), "{}", left.at);
    assert_eq!(bytes[28..], probe);
    // The server is next to the router.
    cell.enter(EndId::Server, &with_hop_limit(datagram(EndId::Server, UE, 32), 1), None, ms(400));
    let [(left, bytes)] = &all(&mut cell)[..] else { panic!("one error") };
    assert_eq!((left.end, left.at, left.leg, icmp_of(bytes).1.kind), (EndId::Server, ms(400), None, 11));
    assert_eq!(cell.counts().expired, 2);
    // The rate of errors is bounded.
    for _ in 0..20 {
        cell.enter(UE, &probe, None, ms(500));
    }
    cell.advance(ms(700));
    assert_eq!(all(&mut cell).len(), ErrorLimit::BURST as usize);
    assert_eq!(cell.counts().errors_withheld, 20 - ErrorLimit::BURST);
    assert!(cell.finish().meta.conserved);
}

#[test]
fn a_packet_between_two_ues_crosses_the_cell_twice() {
    let text = format!("{LTE}\n[[ue]]\nname = \"tablet\"\nposition = [\"120 m\", \"0 m\"]\n");
    let mut cell = cell(&text, &[("phone", Some(0)), ("tablet", Some(1))]);
    let other = EndId::Ue(1);
    cell.enter(UE, &datagram(UE, other, 100), None, ms(200));
    cell.enter(UE, &with_hop_limit(datagram(UE, other, 100), 1), None, ms(200));
    cell.advance(ms(500));
    let left = all(&mut cell);
    let [(packet, bytes), (error, of)] = &left[..] else { panic!("{left:?}") };
    assert_eq!((packet.end, bytes[8], error.end, icmp_of(of).1.kind), (other, 63, UE, 11));
    // It enters the downlink when it leaves the uplink: 28 ms of the internet's delay each.
    assert!(packet.sent_at > ms(228) && packet.at > packet.sent_at + airlane_core::Duration::from_millis(28));
    assert_eq!(cell.counts().entered, 3);
    assert!(cell.finish().meta.conserved);
}

#[test]
fn what_cannot_be_sent_is_counted_and_reported() {
    let mut cell = wired();
    let at = ms(10);
    cell.enter(UE, &datagram(UE, EndId::Server, 1_480), None, at); // 1508 bytes, DF
    cell.enter(UE, &datagram(UE, EndId::Ue(7), 10), None, at);
    let reports: Vec<_> = all(&mut cell).iter().map(|(left, bytes)| (left.end, icmp_of(bytes).1)).collect();
    assert_eq!(
        reports.iter().map(|(end, icmp)| (*end, icmp.kind, icmp.code)).collect::<Vec<_>>(),
        [(UE, 3, 4), (UE, 3, 0)]
    );
    assert_eq!(reports[0].1.rest, 1_500_u32.to_be_bytes());
    cell.enter(UE, &[0x45, 0, 0], None, at);
    cell.enter(UE, &ping(EndId::Server, UE, 1, false), None, at);
    cell.enter(UE, &ping(UE, EndId::Server, 1, false), Some(20), at);
    let mut fragmentable = datagram(UE, EndId::Server, 1_480);
    fragmentable[6] = 0;
    cell.enter(UE, &fragmentable, None, at);
    cell.enter(UE, &datagram(UE, EndId::Server, 1), None, ms(30_000));
    cell.advance(ms(40_000));
    assert!(all(&mut cell).is_empty());
    let counts = Counts {
        unroutable: [1, 0, 0, 0, 1, 1],
        too_big: 2,
        not_segmentable: 1,
        after_the_end: 1,
        errors: 2,
        left: 2,
        ..Counts::default()
    };
    assert_eq!(cell.counts(), counts);
    assert_eq!(cell.now(), ms(30_000));
}

#[test]
fn the_steps_of_the_caller_do_not_change_what_leaves() {
    let text = format!("{LTE}\n[[ue]]\nname = \"tablet\"\nposition = [\"120 m\", \"0 m\"]\n");
    // With packets between UEs and such that expire, and without: then no packet enters again.
    let drive = |mixed: bool, steps: Option<u64>| {
        let mut cell = cell(&text, &[("phone", Some(0)), ("tablet", Some(1))]);
        let (mut inputs, mut left) = (Seeds::new(3).stream("inputs"), vec![]);
        let mut random = steps.map(|seed| Seeds::new(seed).stream("steps"));
        let mut at = ms(100);
        for index in 0..1_000_u64 {
            at += airlane_core::Duration::from_nanos(inputs.below(2_000_000));
            while let Some(random) = &mut random
                && cell.now() < at
                && random.chance(0.8)
            {
                let span = (at - cell.now()).as_nanos() + 1;
                cell.advance(cell.now() + airlane_core::Duration::from_nanos(random.below(span)));
                left.extend(all(&mut cell));
            }
            let from = EndId::from_index((index % 3) as usize);
            let to = match EndId::from_index(((index + 1 + inputs.below(2)) % 3) as usize) {
                EndId::Ue(_) if !mixed && from != EndId::Server => EndId::Server,
                to => to,
            };
            let hops = if mixed && inputs.chance(0.1) { 1 } else { 64 };
            let bytes = with_hop_limit(datagram(from, to, inputs.below(1_400) as usize), hops);
            cell.enter(from, &bytes, None, at);
        }
        cell.advance(ms(3_000));
        left.extend(all(&mut cell));
        assert!(cell.finish().meta.conserved);
        left
    };
    for mixed in [true, false] {
        let whole = drive(mixed, None);
        assert!(whole.len() > 900, "{}", whole.len());
        assert!(whole.windows(2).all(|pair| pair[0].0.at <= pair[1].0.at), "in the order of time");
        for seed in 0..3 {
            assert!(whole == drive(mixed, Some(seed)), "seed {seed}");
        }
    }
}

/// The proxy makes the packets of the connection, without the version of IP.
#[test]
fn a_split_proxy_answers_and_connects_in_the_version_of_the_host() {
    let text = format!("{LTE}\n[[middlebox]]\nkind = \"split-proxy\"\n");
    let mut cell = cell(&text, &[("real", Some(0))]);
    let syn = |from: EndId, to: EndId, v6: bool| {
        let tcp = Tcp {
            source_port: 40_000,
            destination_port: 80,
            sequence: 9,
            acknowledgment: 0,
            flags: 0x02,
            window: 64_000,
            checksum: 0,
            urgent: 0,
            options: &[],
        };
        let mut segment = vec![];
        tcp.emit(&mut segment).unwrap();
        if !v6 {
            return v4(from, to, protocol::TCP, &segment);
        }
        let header = airlane_wire::Ipv6 {
            payload_length: segment.len() as u16,
            next_header: protocol::TCP,
            traffic_class: 0,
            flow_label: 0,
            hop_limit: 64,
            source: Ends::v6(from),
            destination: Ends::v6(to),
            extensions: &[],
            protocol: protocol::TCP,
            fragment: None,
        };
        let mut bytes = vec![];
        Ip::V6(header).emit(&mut bytes).unwrap();
        bytes.extend_from_slice(&segment);
        fill(&mut bytes).unwrap();
        bytes
    };
    // Two connections that differ in nothing else.
    cell.enter(UE, &syn(UE, EndId::Server, false), None, ms(10));
    cell.enter(UE, &syn(UE, EndId::Server, true), None, ms(10));
    cell.advance(ms(500));
    let (mut buffer, mut answered, mut connected) = (vec![], [0, 0], [0, 0]);
    while let Some(left) = cell.leave(&mut buffer) {
        let packet = IpPacket::parse(&buffer).unwrap();
        let (source, destination) = packet.ip.addresses();
        let v6 = usize::from(source.is_ipv6());
        assert_eq!(verify_transport(&buffer), Verdict::Correct);
        let Transport::Tcp(tcp) = packet.transport else { panic!("{packet:?}") };
        let hosts = if v6 == 1 {
            [Ends::v6(UE).into(), Ends::v6(EndId::Server).into()]
        } else {
            [IpAddr::from(Ends::v4(UE)), Ends::v4(EndId::Server).into()]
        };
        if left.end == UE {
            assert_eq!(([destination, source], tcp.destination_port), (hosts, 40_000));
            answered[v6] += 1;
        } else {
            assert_eq!(([source, destination], tcp.destination_port), (hosts, 80));
            connected[v6] += 1;
        }
    }
    assert!(answered.iter().chain(&connected).all(|&count| count > 0), "{answered:?} {connected:?}");
}

/// The results of a run: its reports, the packets that left, and the tables.
#[derive(Debug, PartialEq)]
struct Informed {
    reports: Vec<radio::Report>,
    left: Vec<(Left, Vec<u8>)>,
    tables: String,
}

/// A run in steps of this length, with reports or without.
fn informed(step: u64, inform: bool) -> Informed {
    let scenario = Scenario::parse(LTE, "cell.toml").and_then(|scenario| scenario.resolve()).unwrap();
    let real = [RealEnd { name: "real".to_owned(), ue: Some(UeId(0)), ..RealEnd::default() }];
    let mut cell = Cell::new(&scenario, 1, &real, 1_500).unwrap();
    if inform {
        let every = Every { period: 7_000_000, measure: 100_000_000 };
        cell.inform(&scenario, &real, every);
    }
    let (mut reports, mut left) = (vec![], vec![]);
    let mut now = 0;
    while now < 500 {
        if now % 50 == 0 {
            cell.enter(EndId::Server, &datagram(EndId::Server, UE, 1_000), None, ms(now));
        }
        now += step;
        cell.advance(ms(now));
        left.extend(all(&mut cell));
        reports.extend(std::iter::from_fn(|| cell.take_report()));
    }
    Informed { reports, left, tables: format!("{:?}", cell.finish().tables) }
}

#[test]
fn reports_are_the_same_in_all_steps_and_change_nothing() {
    let fine = informed(1, true);
    let reports = &fine.reports;
    assert_eq!(reports.iter().filter(|one| one.is_due).count(), 500 / 7);
    // A real UE has the address of its end.
    assert!(reports.iter().all(|one| one.records[0].ue == [198, 19, 0, 1]));
    assert!(reports.iter().any(|one| one.records[0].block.get() > 0));
    assert_eq!(informed(25, true), fine);
    assert_eq!(informed(10, false), Informed { reports: vec![], ..fine });
}
