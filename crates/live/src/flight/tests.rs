use airlane_core::{Duration, Seeds};
use airlane_scenario::{RealEnd, Resolved, Scenario};
use airlane_wire::checksum::fill;
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
    replay(&scenario, seed, &real, Reader::new(file).unwrap()).unwrap()
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

#[test]
fn a_record_that_was_cut_is_repeated_as_far_as_it_goes() {
    let (file, _) = record(u64::MAX, 200);
    let report = repeat(&file[..file.len() / 2], 7);
    assert!(report.equal && matches!(report.recorded, Recorded::Cut(_)), "{report:?}");
    assert!(report.entered > 50, "{report:?}");
}

#[test]
fn a_packet_that_did_not_leave_again_is_a_difference() {
    let (scenario, real) = scenario();
    let mut recorder = Recorder::new(2, 1_500, u64::MAX);
    recorder.left(ms(10), UE, &packet(EndId::Server, UE, false, 0, 10));
    let file = recorder.finish(ms(20));
    let report = replay(&scenario, 7, &real, Reader::new(&file[..]).unwrap()).unwrap();
    let difference = report.first_difference.unwrap();
    assert_eq!((difference.end, difference.index, difference.got), (UE, 0, None));
    assert_eq!(difference.expected.unwrap().length, 38);
    // And the opposite.
    let mut recorder = Recorder::new(2, 1_500, u64::MAX);
    recorder.entered(ms(10), EndId::Server, None, &packet(EndId::Server, UE, false, 0, 10));
    let file = recorder.finish(ms(500));
    let report = replay(&scenario, 7, &real, Reader::new(&file[..]).unwrap()).unwrap();
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
    let datagram = packet(UE, EndId::Server, false, 5, 100);
    let mut changed = datagram.clone();
    changed[100] ^= 1;
    assert_ne!(fingerprint(&datagram), fingerprint(&changed));
}
