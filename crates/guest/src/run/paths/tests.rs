use airlane_core::{FlowId, Payload};
use airlane_wire::outside::{self, Arrival};

use super::*;

fn paths() -> Paths {
    let path = |index: u8| KernelPath {
        name: format!("path-{index}"),
        port: 10_000 + u16::from(index),
        host: Ipv4Addr::new(10, 1 + 4 * index, 0, 1),
        announced: None,
        backup: false,
    };
    Paths {
        paths: vec![path(0), path(1)],
        handshakes: vec![Handshake::default(); 2],
        data: [(); 2].map(|()| Data { subflows: vec![Subflow::default(); 2], ..Data::default() }),
        states: vec![],
    }
}

/// A segment of IPv4 from the server to a path, with this option of Multipath TCP.
fn segment(host: Ipv4Addr, sequence: u32, option: &[u8], length: u16) -> Vec<u8> {
    let options = option.len().div_ceil(4) * 4;
    let total = 20 + 20 + options as u16 + length;
    let mut bytes = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1];
    bytes[2..4].copy_from_slice(&total.to_be_bytes());
    bytes.extend(host.octets());
    bytes.extend([0x14, 0x51, 0x27, 0x10]);
    bytes.extend(sequence.to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend([(((20 + options) / 4) << 4) as u8, 0x10, 0, 0, 0, 0, 0, 0]);
    bytes.extend(option);
    bytes.resize(40 + options, 1);
    bytes.resize(usize::from(total), 0);
    bytes
}

/// The option of a data sequence signal with an acknowledgment of four bytes, as Linux writes it.
fn dss(sequence: u64, of_subflow: u32, length: u16) -> Vec<u8> {
    let mut option = vec![30, 22, 0x20, 0x0d, 0, 0, 0, 9];
    option.extend(sequence.to_be_bytes());
    option.extend(of_subflow.to_be_bytes());
    option.extend(length.to_be_bytes());
    option
}

/// The place of a segment in the data, and what was given.
fn leaves(paths: &mut Paths, path: usize, bytes: &[u8]) -> (Option<u64>, Option<SubflowStep>) {
    let arrival = Arrival { flow: FlowId(0), direction: Direction::Downlink, now: Instant::ZERO };
    let mut pool = airlane_core::PacketPool::default();
    let mut packet = outside::packet(&mut pool, bytes, arrival).unwrap();
    assert!(matches!(packet.payload, Payload::Bytes(_)));
    let step = paths.leaves(Instant::ZERO, path, (&mut packet, bytes), false);
    (packet.data_position(), step)
}

#[test]
fn data_has_its_place_whichever_path_it_takes() {
    let mut paths = paths();
    for (path, initial) in [(0, u32::MAX - 1), (1, 500)] {
        let subflow = &mut paths.data[0].subflows[path];
        subflow.initial = initial;
    }
    let hosts = [0, 1].map(|path| paths.paths[path].host);
    assert_eq!(paths.leaves_over(FlowEnd::Server, &segment(hosts[1], 1, &[], 0)), Some(1));
    assert_eq!(paths.leaves_over(FlowEnd::Host, &segment(hosts[1], 1, &[], 0)), None);
    let given = |bytes, again| SubflowStep::Scheduled { bytes: Bytes(bytes), again, srtt: Duration::ZERO };
    // The first byte has data sequence number 7000, and number 1 on its subflow, whose sequence numbers wrap.
    let first = segment(hosts[0], u32::MAX, &dss(7_000, 1, 200), 100);
    assert_eq!(leaves(&mut paths, 0, &first), (Some(0), Some(given(100, false))));
    // The second half of what the mapping covers has the same option: offload divides segments so.
    let second = segment(hosts[0], 99, &dss(7_000, 1, 200), 100);
    assert_eq!(leaves(&mut paths, 0, &second), (Some(100), Some(given(100, false))));
    let other = segment(hosts[1], 501, &dss(7_200, 1, 50), 50);
    assert_eq!(leaves(&mut paths, 1, &other), (Some(200), Some(given(50, false))));
    // Bytes that the first path had carried, again; without an option, the mapping before is valid.
    let again = segment(hosts[1], 551, &dss(7_100, 51, 100), 60);
    assert_eq!(leaves(&mut paths, 1, &again), (Some(100), Some(given(60, true))));
    let rest = segment(hosts[1], 611, &[], 40);
    assert_eq!(leaves(&mut paths, 1, &rest), (Some(160), Some(given(40, true))));
}

#[test]
fn the_begin_of_the_data_of_an_end_that_connects_has_no_number() {
    let mut paths = paths();
    let host = paths.paths[0].host;
    paths.data[0].subflows[0].initial = 99;
    let mut capable = vec![30, 22, 0x01, 0x01];
    capable.extend([0; 16]);
    capable.extend([0, 100]);
    assert_eq!(leaves(&mut paths, 0, &segment(host, 100, &capable, 100)).0, Some(0));
    assert_eq!(leaves(&mut paths, 0, &segment(host, 200, &dss(8_000, 101, 100), 100)).0, Some(100));
    assert_eq!(paths.data[0].base, Some(7_900));
}

#[test]
fn a_connection_without_options_is_tcp_on_its_first_path() {
    let mut paths = paths();
    let hosts = [0, 1].map(|path| paths.paths[path].host);
    assert_eq!(leaves(&mut paths, 0, &segment(hosts[0], 1, &[], 10)).0, Some(0));
    assert_eq!(leaves(&mut paths, 0, &segment(hosts[0], 11, &[], 10)).0, Some(10));
    assert_eq!(leaves(&mut paths, 1, &segment(hosts[1], 1, &[], 10)).0, None);
    let header = TcpHeader { sequence: 1, ..TcpHeader::default() };
    assert_eq!(paths.data[0].place(0, &header, (&[], 0)), None);
}
