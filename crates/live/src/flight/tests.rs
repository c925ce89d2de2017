use airlane_core::{Duration, Seeds, Stream};
use airlane_scenario::{RealEnd, Resolved, Scenario};
use airlane_wire::checksum::{Verdict, fill, verify_transport};
use airlane_wire::{Ipv4, Udp};

use super::*;
use crate::cell::Cell;
use crate::ends::Ends;

const LTE: &str = include_str!("../../../../scenarios/lte-download.toml");
const UE: EndId = EndId::Ue(0);

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn scenario() -> (Resolved, Vec<RealEnd>) {
    let text = format!("{LTE}\n[[ue]]\nname = \"tablet\"\nposition = [\"120 m\", \"0 m\"]\n");
    let scenario = Scenario::parse(&text, "cell.toml").and_then(|scenario| scenario.resolve()).unwrap();
    scenario.for_real(&["phone".to_owned(), "tablet".to_owned()], &[]).unwrap()
}

fn v4(from: EndId, to: EndId, protocol: u8, transport: &[u8]) -> Vec<u8> {
    let header = Ipv4 {
        total_length: (20 + transport.len()) as u16,
        protocol,
        ..Ipv4::between(Ends::v4(from), Ends::v4(to))
    };
    let mut bytes = vec![];
    header.emit(&mut bytes).unwrap();
    bytes.extend_from_slice(transport);
    fill(&mut bytes).unwrap();
    bytes
}

/// A segment or datagram with real content.
fn packet(from: EndId, to: EndId, tcp: bool, sequence: u32, payload: usize) -> Vec<u8> {
    let (source_port, destination_port) = (4_000, 5_201);
    let mut bytes = vec![];
    if tcp {
        let (acknowledgment, flags) = (1, 0x10);
        let (window, checksum, urgent, options) = (500, 0, 0, &[][..]);
        let header = Tcp {
            source_port,
            destination_port,
            sequence,
            acknowledgment,
            flags,
            window,
            checksum,
            urgent,
            options,
        };
        header.emit(&mut bytes).unwrap();
    } else {
        let length = 8 + payload as u16;
        Udp { source_port, destination_port, length, checksum: 0 }.emit(&mut bytes);
    }
    bytes.extend((0..payload).map(|i| (i as u32 ^ sequence) as u8));
    v4(from, to, if tcp { protocol::TCP } else { protocol::UDP }, &bytes)
}

/// A run of random packets and bursts between all ends, in steps of random length; its file.
fn record(limit: u64, packets: u64) -> (Vec<u8>, Cell) {
    let (scenario, real) = scenario();
    let mut cell = Cell::new(&scenario, 7, &real, 1_500).unwrap();
    cell.record(limit);
    let mut random = Seeds::new(11).stream("inputs");
    let (mut at, mut buffer, mut file) = (ms(50), vec![], vec![]);
    for index in 0..packets {
        at += Duration::from_nanos(random.below(1_500_000));
        while cell.now() < at && random.chance(0.6) {
            let span = (at - cell.now()).as_nanos() + 1;
            cell.advance(cell.now() + Duration::from_nanos(random.below(span)));
            while cell.leave(&mut buffer).is_some() {}
        }
        let from = EndId::from_index((index % 3) as usize);
        let to = EndId::from_index(((index + 1 + random.below(2)) % 3) as usize);
        let tcp = random.chance(0.7);
        let gso = (tcp && random.chance(0.2)).then_some(1_448);
        let payload = if gso.is_some() { 6_000 } else { random.below(1_400) as usize };
        cell.enter(from, &packet(from, to, tcp, index as u32 * 1_000, payload), gso, at);
        file.extend(cell.recorder_mut().unwrap().take_chunk().unwrap_or_default());
    }
    cell.advance(at + Duration::from_millis(500));
    while cell.leave(&mut buffer).is_some() {}
    file.extend(cell.end_record().unwrap());
    (file, cell)
}

fn repeat(file: &[u8], seed: u64) -> ReplayReport {
    let (scenario, real) = scenario();
    replay(&scenario, seed, &real, &[], Reader::new(file).unwrap()).unwrap()
}

#[test]
fn a_recorded_run_is_repeated_to_the_nanosecond() {
    let (file, cell) = record(u64::MAX, 2_000);
    let counts = cell.counts();
    let report = repeat(&file, 7);
    assert_eq!(report.first_difference, None);
    assert!(report.equal && report.recorded == Recorded::Whole);
    assert_eq!((report.entered, report.left, report.end), (2_000, counts.left, cell.now()));
    assert!(counts.left > 2_200 && counts.entered == counts.left, "{counts:?}");
    // Payload of TCP is not stored: 30 % of the packets have 700 bytes on average, the others some 60.
    assert!(file.len() < 2_000 * 400, "{}", file.len());
}

/// A segment between a port of the UE and one of the server.
fn segment(from: EndId, sequence: u32, acknowledgment: u32, flags: u16, payload: usize) -> Vec<u8> {
    let ports = if from == UE { (40_000, 80) } else { (80, 40_000) };
    let header = Tcp {
        source_port: ports.0,
        destination_port: ports.1,
        sequence,
        acknowledgment,
        flags,
        window: 60_000,
        checksum: 0,
        urgent: 0,
        options: &[],
    };
    let mut bytes = vec![];
    header.emit(&mut bytes).unwrap();
    bytes.extend((0..payload).map(|i| i as u8 ^ 0x55));
    v4(from, if from == UE { EndId::Server } else { UE }, protocol::TCP, &bytes)
}

/// Two hosts that open a connection and download across a split proxy, which answers for the other side. The record
/// has no payload, and a damaged segment.
#[test]
fn a_run_across_a_split_proxy_is_repeated() {
    let lte = format!("{LTE}\n[[middlebox]]\nkind = \"split-proxy\"\n");
    let scenario = Scenario::parse(&lte, "split.toml").and_then(|scenario| scenario.resolve());
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let (scenario, real) = scenario.for_real(&["phone".to_owned()], &[]).unwrap();
    let mut cell = Cell::new(&scenario, 7, &real, 1_500).unwrap();
    cell.record(u64::MAX);
    // A peer that acknowledges everything and sends 100 segments when the connection is open.
    let (mut at, mut buffer, mut seen) = (ms(10), vec![], [0_u32; 2]);
    cell.enter(UE, &segment(UE, 0, 0, 0x02, 0), None, at);
    let (mut sent, mut made_by_proxy) = (0, 0);
    while at < ms(4_000) {
        at += Duration::from_millis(1);
        cell.advance(at);
        while let Some(left) = cell.leave(&mut buffer) {
            let (_, behind) = Ip::parse(&buffer).unwrap();
            let (tcp, payload) = Tcp::parse(behind).unwrap();
            let length = payload.len() as u32 + u32::from(tcp.flags & 3 != 0);
            let next = tcp.sequence.wrapping_add(length);
            made_by_proxy += u64::from(left.sent_at > ms(10) && tcp.flags & 2 != 0);
            if length > 0 {
                seen[left.end.index()] = next;
                let syn = u16::from(left.end == EndId::Server && tcp.flags & 2 != 0) * 2;
                let sequence = if left.end == UE {
                    1
                } else if syn > 0 {
                    0
                } else {
                    1 + sent * 1_000
                };
                cell.enter(left.end, &segment(left.end, sequence, next, 0x10 | syn, 0), None, at);
            }
        }
        if seen[0] > 0 && at > ms(200) && sent < 100 {
            let mut bytes = segment(EndId::Server, 1 + sent * 1_000, seen[0], 0x10, 1_000);
            if sent == 50 {
                bytes[36] ^= 1; // it is sent again below
                cell.enter(EndId::Server, &bytes, None, at);
                bytes[36] ^= 1;
            }
            cell.enter(EndId::Server, &bytes, None, at);
            sent += 1;
        }
    }
    let file = cell.end_record().unwrap();
    assert!(made_by_proxy > 0 && sent == 100 && cell.counts().left > 100, "{:?}", cell.counts());
    assert!(file.len() < 40_000, "{} bytes, without payload", file.len());
    let report = replay(&scenario, 7, &real, &[], Reader::new(&file[..]).unwrap()).unwrap();
    assert_eq!((report.equal, report.first_difference, report.left), (true, None, cell.counts().left));
    let mut reader = Reader::new(&file[..]).unwrap();
    let mut damaged = 0;
    loop {
        match reader.next_record().unwrap() {
            Record::Entered { bytes, .. } => damaged += u32::from(verify_transport(bytes) == Verdict::Wrong),
            Record::Left { .. } => {}
            Record::Trailer(_) => break,
        }
    }
    assert_eq!(damaged, 1);
}

/// Packets with random damage, cut short, with random bytes behind them, or of random bytes.
fn damaged(random: &mut Stream, index: u64) -> (EndId, Vec<u8>) {
    let ends = [0, 1, 2].map(EndId::from_index);
    let (from, to) = (ends[random.below(3) as usize], ends[random.below(3) as usize]);
    let mut bytes = packet(from, to, random.chance(0.6), index as u32 * 1_000, random.below(1_400) as usize);
    if random.chance(0.2) {
        let v6 = [&[0x60, 0, 0, 0, 0, 40, random.below(61) as u8, 3][..], &Ends::v6(from).octets()];
        bytes = [&v6.concat()[..], &Ends::v6(to).octets(), &bytes[20..60.min(bytes.len())]].concat();
    }
    for _ in 0..random.below(6) {
        let at = random.below(bytes.len().min(64) as u64) as usize;
        // The addresses mostly stay, so that packets go on.
        if !(12..=19).contains(&at) || random.chance(0.1) {
            bytes[at] = random.below(256) as u8;
        }
    }
    if random.chance(0.1) {
        bytes[8] = 1; // the time to live of IPv4
    }
    match random.below(8) {
        0 => bytes.truncate(random.below(bytes.len() as u64 + 1) as usize),
        1 => bytes.resize(bytes.len() + random.below(900) as usize, 0x46),
        2 => bytes = (0..random.below(200)).map(|_| random.below(256) as u8).collect(),
        _ => {}
    }
    if random.chance(0.5) {
        let _ = fill(&mut bytes);
    }
    (from, bytes)
}

/// Whatever applications send: nothing panics, no packet is lost from sight, and the run is repeated.
#[test]
fn garbage_is_counted_and_repeated() {
    for middlebox in ["", "\n[[middlebox]]\nkind = \"split-proxy\"\n"] {
        let text = format!("{LTE}\n[[ue]]\nname = \"tablet\"\nposition = [\"120 m\", \"0 m\"]\n{middlebox}");
        let scenario = Scenario::parse(&text, "cell.toml").and_then(|scenario| scenario.resolve()).unwrap();
        let (scenario, real) = scenario.for_real(&["phone".to_owned(), "tablet".to_owned()], &[]).unwrap();
        let mut cell = Cell::new(&scenario, 7, &real, 1_500).unwrap();
        cell.record(u64::MAX);
        cell.observe();
        let mut random = Seeds::new(5).stream("garbage");
        let (mut at, mut buffer, mut file) = (ms(1), vec![], vec![]);
        for index in 0..10_000 {
            at += Duration::from_nanos(random.below(400_000));
            let (end, bytes) = damaged(&mut random, index);
            let gso = random.chance(0.2).then(|| random.below(1_500) as u16);
            cell.enter(end, &bytes, gso, at);
            while cell.leave(&mut buffer).is_some() {}
            file.extend(cell.recorder_mut().unwrap().take_chunk().unwrap_or_default());
        }
        cell.advance(at + Duration::from_millis(3_000));
        while cell.leave(&mut buffer).is_some() {}
        file.extend(cell.end_record().unwrap());
        let counts = cell.counts();
        assert!(counts.entered > 800 && counts.left > 400, "{counts:?}");
        let [garbage, .., martian, unknown] = counts.unroutable;
        assert!(garbage > 0 && martian > 0 && unknown > 0, "{counts:?}");
        assert!(counts.not_segmentable > 0 && counts.expired > 0 && counts.too_big > 0, "{counts:?}");
        assert!(cell.connections().unwrap().table(cell.ends()).rows() > 100);
        assert!(cell.finish().meta.conserved);
        let report = replay(&scenario, 7, &real, &[], Reader::new(&file[..]).unwrap()).unwrap();
        assert_eq!((report.first_difference, report.left), (None, counts.left));
    }
}

#[test]
fn another_seed_gives_a_difference() {
    let (file, _) = record(u64::MAX, 300);
    let report = repeat(&file, 8);
    let difference = report.first_difference.unwrap();
    assert!(!report.equal && difference.expected.unwrap().at != difference.got.unwrap().at, "{difference:?}");
    assert_eq!(report.recorded, Recorded::Whole);
}

#[test]
fn a_record_that_reached_its_limit_is_repeated_as_far_as_it_goes() {
    let (whole, _) = record(u64::MAX, 300);
    let limit = whole.len() as u64 / 2;
    let (file, _) = record(limit, 300);
    assert!(file.len() as u64 <= limit && file.len() as u64 > limit - 2_000, "{} of {limit}", file.len());
    let report = repeat(&file, 7);
    assert!(report.equal && report.recorded == Recorded::Limited, "{report:?}");
    assert!(report.entered > 100 && report.entered < 200, "{report:?}");
}

/// Bytes of the header of these records: the number of ends takes one, and an MTU of 1,500 two.
const HEADER: usize = MAGIC.len() + 1 + 2;

#[test]
fn a_record_that_was_cut_is_repeated_as_far_as_it_goes_and_never_equal() {
    let (file, _) = record(u64::MAX, 200);
    let report = repeat(&file[..file.len() / 2], 7);
    assert!(matches!(&report.recorded, Recorded::Damaged(error) if error.problem == Problem::Truncated));
    assert!(!report.equal && report.first_difference.is_none() && report.entered > 50, "{report:?}");
    let all = record(u64::MAX, 30).0;
    for length in (HEADER..all.len()).step_by(7) {
        let report = repeat(&all[..length], 7);
        assert!(!report.equal && matches!(report.recorded, Recorded::Damaged(_)), "{length}: {report:?}");
    }
}

/// A changed bit is damage, wherever it is: also where the run is repeated without a difference.
#[test]
fn a_record_with_a_changed_bit_is_never_equal() {
    let (file, _) = record(u64::MAX, 30);
    let mut random = Seeds::new(3).stream("damage");
    let (mut silent, mut tried) = (0, 0);
    for place in (HEADER..file.len()).step_by(3) {
        let mut damaged = file.clone();
        damaged[place] ^= 1 << random.below(8);
        let report = repeat(&damaged, 7);
        assert!(!report.equal && matches!(report.recorded, Recorded::Damaged(_)), "byte {place}: {report:?}");
        silent += u32::from(report.first_difference.is_none());
        tried += 1;
    }
    assert!(silent > 0 && tried > 100, "{silent} of {tried} change no departure");
}

#[test]
fn a_packet_that_did_not_leave_again_is_a_difference() {
    let (scenario, real) = scenario();
    let mut recorder = Recorder::new(2, 1_500, false, u64::MAX);
    recorder.left(ms(10), UE, &packet(EndId::Server, UE, false, 0, 10));
    let file = recorder.finish(ms(20));
    let report = replay(&scenario, 7, &real, &[], Reader::new(&file[..]).unwrap()).unwrap();
    let difference = report.first_difference.unwrap();
    assert_eq!((difference.end, difference.index, difference.got), (UE, 0, None));
    assert_eq!(difference.expected.unwrap().length, 38);
    // And the opposite.
    let mut recorder = Recorder::new(2, 1_500, false, u64::MAX);
    recorder.entered(ms(10), EndId::Server, None, &packet(EndId::Server, UE, false, 0, 10));
    let file = recorder.finish(ms(500));
    let report = replay(&scenario, 7, &real, &[], Reader::new(&file[..]).unwrap()).unwrap();
    assert_eq!(report.first_difference.unwrap().expected, None);
}

/// All records of a file, or its error.
fn read(file: &[u8]) -> Result<u64, FlightError> {
    let mut reader = Reader::new(file)?;
    for count in 0.. {
        if let Record::Trailer(_) = reader.next_record()? {
            return Ok(count);
        }
    }
    unreachable!("the file ends")
}

#[test]
fn every_damage_of_a_file_is_an_error_with_its_offset() {
    let (file, _) = record(u64::MAX, 12);
    let records = read(&file).unwrap();
    assert!(records > 12);
    for length in 0..file.len() {
        let error = read(&file[..length]).unwrap_err();
        assert!(error.offset <= length as u64 && !error.to_string().is_empty(), "{error}");
    }
    let mut random = Seeds::new(2).stream("damage");
    for place in 0..file.len() {
        let mut damaged = file.clone();
        damaged[place] ^= 1 << random.below(8);
        let error = read(&damaged).expect_err(&format!("byte {place}"));
        assert!(error.offset <= file.len() as u64);
    }
    for seed in 0..200 {
        let mut random = Seeds::new(seed).stream("garbage");
        let mut garbage = MAGIC.to_vec();
        garbage.extend((0..random.below(500)).map(|_| random.below(256) as u8));
        assert!(read(&garbage).is_err());
    }
    let mut longer = file.clone();
    longer.push(0);
    assert_eq!(read(&longer).unwrap_err().problem, Problem::Behind);
    assert_eq!(read(b"").unwrap_err().problem, Problem::NotARecord);
    assert_eq!(read(b"airlane flight\n\x02abc").unwrap_err().problem, Problem::Version(2));
    assert_eq!(read(b"airlane").unwrap_err().problem, Problem::NotARecord);
}

#[test]
fn lengths_of_a_file_are_bounded_before_memory_is_used() {
    let mut file = MAGIC.to_vec();
    file.extend_from_slice(&[3, 0xdc, 0x0b]); // three ends, 1500
    let with = |rest: &[u8]| read(&[&file[..], rest].concat()).unwrap_err();
    let huge = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
    assert_eq!(with(&[&[1, 0, 0, 0][..], &huge].concat()).problem, Problem::Length(u64::MAX));
    assert_eq!(with(&[&[2, 0, 0, 0, 20][..], &huge].concat()).problem, Problem::Length(u64::MAX));
    assert_eq!(with(&[1, 0, 3]).problem, Problem::End(3));
    assert_eq!(with(&[&[1][..], &huge].concat()).problem, Problem::Time);
    assert_eq!(with(&[9]), FlightError { offset: 19, problem: Problem::Kind(9) });
    assert_eq!(with(&[&[1][..], &[0xff; 12]].concat()).problem, Problem::Number);
}

#[test]
fn a_fingerprint_sees_headers_but_no_payload_of_tcp() {
    let plain = packet(UE, EndId::Server, true, 5, 100);
    let with = |change: &dyn Fn(&mut [u8])| {
        let mut changed = plain.clone();
        change(&mut changed);
        fingerprint(&changed) == fingerprint(&plain)
    };
    assert!(with(&|bytes| bytes[60] ^= 1) && with(&|bytes| bytes[36] ^= 1)); // payload, checksum
    assert!(!with(&|bytes| bytes[1] ^= 3) && !with(&|bytes| bytes[8] -= 1) && !with(&|bytes| bytes[24] ^= 1));
    // An error that quotes it, too.
    let error = |of: &[u8]| {
        let mut error = vec![];
        assert!(crate::icmp::error(crate::icmp::Report::TimeExceeded, of, &mut error));
        fingerprint(&error)
    };
    let about = |change: &dyn Fn(&mut [u8])| {
        let mut changed = plain.clone();
        change(&mut changed);
        error(&changed) == error(&plain)
    };
    assert!(about(&|bytes| bytes[60] ^= 1) && about(&|bytes| bytes[36] ^= 1));
    assert!(!about(&|bytes| bytes[24] ^= 1) && !about(&|bytes| bytes[21] ^= 1));
    let datagram = packet(UE, EndId::Server, false, 5, 100);
    let mut changed = datagram.clone();
    changed[100] ^= 1;
    assert_ne!(fingerprint(&datagram), fingerprint(&changed));
}
