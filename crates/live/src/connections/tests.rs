use airlane_core::{Bytes, Duration, Ecn, FlowId, Payload, TcpFlags, TcpHeader, TcpTimestamps, UdpHeader};
use airlane_record::Column;

use super::*;

const DOWN: Direction = Direction::Downlink;
const UP: Direction = Direction::Uplink;
const ACK: u16 = TcpFlags::ACK;

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn packet(header: Header, payload: Payload, ue_port: u16) -> Packet {
    let mut packet = Packet::new(FlowId(0), DOWN, header, payload, Instant::ZERO);
    packet.sockets = SocketPair { server: 0, server_port: 443, ue_port };
    packet
}

fn tcp(sequence: u32, flags: u16, timestamps: Option<(u32, u32)>, payload: u32) -> Packet {
    let header = TcpHeader {
        sequence,
        flags: TcpFlags(flags),
        timestamps: timestamps.map(|(value, echo_reply)| TcpTimestamps { value, echo_reply }),
        ..TcpHeader::default()
    };
    packet(Header::Tcp(header), Payload::Length(payload), 40_000)
}

fn udp(first: u8, rest: &[u8]) -> Packet {
    let bytes = [&[first], rest].concat().into_boxed_slice();
    packet(Header::Udp(UdpHeader::default()), Payload::Bytes(bytes), 50_000)
}

/// A packet that takes this long.
fn cross(seen: &mut Connections, at: u64, takes: u64, direction: Direction, mut packet: Packet) {
    seen.entered(ms(at), 0, direction, &packet);
    packet.sent_at = ms(at);
    seen.left(ms(at + takes), 0, direction, &packet);
}

fn ends() -> Ends {
    Ends::new(&["phone".to_owned()])
}

fn number(table: &Table, column: &str, row: usize) -> f64 {
    match table.column(column) {
        Some(Column::F64(values)) => values[row],
        Some(Column::I64(values)) => values[row] as f64,
        other => panic!("{column}: {other:?}"),
    }
}

fn text<'a>(table: &'a Table, column: &str, row: usize) -> &'a str {
    match table.column(column) {
        Some(Column::Text(values)) => &values[row],
        other => panic!("{column}: {other:?}"),
    }
}

fn near(value: f64, expected: f64) {
    assert!((value - expected).abs() <= expected / 32.0, "{value}, not {expected}");
}

#[test]
fn a_download_with_timestamps_shows_handshake_rtt_goodput_and_delay() {
    let mut seen = Connections::new(1, false);
    cross(&mut seen, 1_000, 10, UP, tcp(0, TcpFlags::SYN, Some((1, 0)), 0));
    cross(&mut seen, 1_010, 30, DOWN, tcp(99, TcpFlags::SYN | ACK, Some((500, 1)), 0));
    cross(&mut seen, 1_040, 10, UP, tcp(1, ACK, Some((41, 500)), 0));
    // Ten segments of 1000 bytes, two with each timestamp; each pair is acknowledged 60 ms after it entered.
    for pair in 0..5 {
        let at = 1_100 + 100 * pair;
        for half in 0..2 {
            let sequence = 100 + 1_000 * (2 * pair + half) as u32;
            cross(&mut seen, at, 50, DOWN, tcp(sequence, ACK, Some((600 + pair as u32, 41)), 1_000));
        }
        cross(&mut seen, at + 50, 10, UP, tcp(1, ACK, Some((91, 600 + pair as u32)), 0));
    }
    let table = seen.table(&ends());
    assert_eq!((table.rows(), text(&table, "protocol", 0), text(&table, "ue", 0)), (1, "tcp", "phone"));
    assert_eq!(
        (text(&table, "ue_address", 0), text(&table, "peer_address", 0)),
        ("198.19.0.1", "198.18.0.1")
    );
    assert_eq!((number(&table, "ue_port", 0), number(&table, "peer_port", 0)), (40_000.0, 443.0));
    assert_eq!(number(&table, "handshake_ms", 0), 40.0);
    assert_eq!((text(&table, "rtt_method", 0), number(&table, "rtt_samples", 0)), ("timestamps", 7.0));
    // The SYN 40 ms, the SYN-ACK 40 ms, five pairs 60 ms.
    near(number(&table, "rtt_ms", 0), (40.0 + 40.0 + 5.0 * 60.0) / 7.0);
    assert_eq!((number(&table, "rtt_min_ms", 0), number(&table, "rtt_max_ms", 0)), (40.0, 60.0));
    assert_eq!(
        (number(&table, "downlink_packets", 0), number(&table, "downlink_bytes_delivered", 0)),
        (11.0, 10_000.0)
    );
    // From 1,000 ms to 1,560 ms.
    assert_eq!((number(&table, "first_s", 0), number(&table, "last_s", 0)), (1.0, 1.56));
    near(number(&table, "downlink_goodput_mbps", 0), 80_000.0 / 0.56 / 1e6);
    near(number(&table, "downlink_owd_ms", 0), (30.0 + 10.0 * 50.0) / 11.0);
    near(number(&table, "downlink_owd_p50_ms", 0), 50.0);
    near(number(&table, "uplink_owd_max_ms", 0), 10.0);
    assert_eq!((number(&table, "downlink_retransmissions", 0), text(&table, "end", 0)), (0.0, "open"));
}

#[test]
fn an_upload_is_measured_from_the_ue() {
    let mut seen = Connections::new(1, false);
    for step in 0..5 {
        let (at, value) = (100 * step, 10 + step as u32);
        cross(&mut seen, at, 20, UP, tcp(1_000 * step as u32, ACK, Some((value, 0)), 1_000));
        cross(&mut seen, at + 20, 15, DOWN, tcp(1, ACK, Some((7, value)), 0));
    }
    let table = seen.table(&ends());
    assert_eq!((number(&table, "rtt_samples", 0), number(&table, "rtt_ms", 0)), (5.0, 35.0));
}

#[test]
fn without_timestamps_the_handshake_is_the_round_trip_time() {
    let mut seen = Connections::new(1, false);
    cross(&mut seen, 0, 12, UP, tcp(0, TcpFlags::SYN, None, 0));
    cross(&mut seen, 12, 30, DOWN, tcp(0, TcpFlags::SYN | ACK, None, 0));
    cross(&mut seen, 50, 30, DOWN, tcp(1, ACK, None, 100));
    let table = seen.table(&ends());
    assert_eq!((text(&table, "rtt_method", 0), number(&table, "rtt_samples", 0)), ("handshake", 1.0));
    assert_eq!((number(&table, "rtt_ms", 0), number(&table, "rtt_p95_ms", 0)), (42.0, 42.0));
}

#[test]
fn repeated_sequence_ranges_are_retransmissions_also_where_numbers_wrap() {
    let mut seen = Connections::new(1, false);
    let start = u32::MAX - 1_500;
    let at = |seen: &mut Connections, offset: u32, payload| {
        seen.entered(ms(1), 0, DOWN, &tcp(start.wrapping_add(offset), ACK, None, payload));
    };
    at(&mut seen, 0, 1_000);
    at(&mut seen, 1_000, 1_000); // wraps
    at(&mut seen, 3_000, 1_000); // the one before was lost before the network
    assert_eq!(seen.rows[0].directions[0].retransmissions, 0);
    at(&mut seen, 0, 1_000); // all of it again
    at(&mut seen, 3_500, 1_000); // half of it again
    at(&mut seen, 4_500, 0);
    let table = seen.table(&ends());
    assert_eq!(number(&table, "downlink_retransmissions", 0), 2.0);
    assert_eq!(number(&table, "downlink_retransmitted_bytes", 0), 1_500.0);
    // Nothing left.
    assert_eq!(number(&table, "downlink_packets_lost", 0), 6.0);
    assert!(number(&table, "downlink_owd_ms", 0).is_nan() && number(&table, "rtt_ms", 0).is_nan());
}

#[test]
fn a_repeated_segment_gives_no_round_trip_time() {
    let mut seen = Connections::new(1, false);
    seen.entered(ms(0), 0, DOWN, &tcp(0, ACK, Some((1, 0)), 500));
    seen.entered(ms(500), 0, DOWN, &tcp(0, ACK, Some((501, 0)), 500));
    cross(&mut seen, 540, 10, UP, tcp(0, ACK, Some((9, 501)), 0));
    assert_eq!(number(&seen.table(&ends()), "rtt_samples", 0), 0.0);
}

#[test]
fn the_spin_bit_of_quic_is_a_round_trip_time_if_it_moves() {
    for moves in [true, false] {
        let mut seen = Connections::new(1, false);
        cross(&mut seen, 0, 10, UP, udp(0xc3, &[0, 0, 0, 1, 8]));
        cross(&mut seen, 10, 10, DOWN, udp(0xc0, &[0, 0, 0, 1, 8]));
        // A packet each 10 ms; the bit changes each 40 ms.
        for step in 0..20 {
            let spin = if moves && step / 4 % 2 == 1 { 0x20 } else { 0 };
            cross(&mut seen, 20 + 10 * step, 10, DOWN, udp(0x40 | spin, &[1, 2, 3]));
        }
        let table = seen.table(&ends());
        assert_eq!(text(&table, "protocol", 0), "quic");
        if moves {
            // Changes at 60, 100, 140, 180 ms.
            assert_eq!((text(&table, "rtt_method", 0), number(&table, "rtt_samples", 0)), ("spin", 3.0));
            assert_eq!(number(&table, "rtt_ms", 0), 40.0);
        } else {
            assert!(number(&table, "rtt_ms", 0).is_nan() && text(&table, "rtt_method", 0).is_empty());
        }
    }
    // Version negotiation, other datagrams.
    for first in [udp(0xc0, &[0, 0, 0, 0, 1]), udp(0x40, &[1, 2, 3, 4]), udp(1, &[])] {
        let mut seen = Connections::new(1, false);
        cross(&mut seen, 0, 1, DOWN, first);
        assert_eq!(text(&seen.table(&ends()), "protocol", 0), "udp");
    }
}

/// A packet of RTP: version 2, payload type 96.
fn rtp(source: u32, sequence: u16) -> Packet {
    let header = [&[96][..], &sequence.to_be_bytes(), &[0; 4], &source.to_be_bytes(), &[7; 100]].concat();
    udp(0x80, &header)
}

/// A packet of RTCP: its format or count, its type, and its length in words minus one.
fn rtcp(format: u8, packet_type: u8, words: u16) -> Packet {
    let header = [&[packet_type][..], &words.to_be_bytes(), &[0, 0, 0, 9], &[1; 30]].concat();
    udp(0x80 | format, &header)
}

#[test]
fn rtp_and_its_feedback_are_recognised_among_stun_and_dtls() {
    let mut seen = Connections::new(1, false);
    cross(&mut seen, 0, 10, UP, udp(0, &[1, 0, 0, 0x21, 0x12, 0xa4, 0x42])); // STUN
    cross(&mut seen, 10, 10, UP, udp(22, &[254, 253, 0, 0])); // DTLS
    for step in 0..10 {
        // The sequence number wraps.
        cross(&mut seen, 20 + 10 * step, 10, DOWN, rtp(5, 65_530_u16.wrapping_add(step as u16)));
        cross(&mut seen, 25 + 10 * step, 10, UP, rtcp(15, 205, 4));
    }
    cross(&mut seen, 130, 10, UP, rtcp(11, 205, 4));
    cross(&mut seen, 140, 10, UP, rtcp(1, 201, 7));
    cross(&mut seen, 150, 10, UP, rtcp(1, 201, 700)); // longer than its datagram
    let table = seen.table(&ends());
    assert_eq!(text(&table, "protocol", 0), "rtp");
    let of = |column: &str| number(&table, column, 0);
    assert_eq!((of("downlink_rtp_packets"), of("uplink_rtp_packets")), (10.0, 0.0));
    assert_eq!((of("downlink_rtcp_packets"), of("uplink_rtcp_packets")), (0.0, 12.0));
    assert_eq!((of("uplink_twcc_packets"), of("uplink_ccfb_packets")), (10.0, 1.0));
    assert_eq!(of("uplink_packets"), 15.0);
}

#[test]
fn datagrams_that_only_begin_like_rtp_are_udp() {
    let consecutive = [rtp(5, 1), rtp(6, 2), rtp(5, 4), rtp(5, 6)];
    let short = [udp(0x80, &[96, 0, 1]), udp(0x80, &[96, 0, 2]), udp(0x80, &[]), udp(0x80, &[205, 0, 0])];
    let other = [udp(0x40, &[96; 20]), udp(0x7f, &[96; 20])];
    for packets in [&consecutive[..], &short, &other] {
        let mut seen = Connections::new(1, false);
        for (step, packet) in packets.iter().enumerate() {
            cross(&mut seen, step as u64, 1, DOWN, packet.clone());
        }
        let table = seen.table(&ends());
        assert_eq!(text(&table, "protocol", 0), "udp");
        assert_eq!(number(&table, "downlink_rtp_packets", 0), 0.0);
        assert_eq!(number(&table, "downlink_rtcp_packets", 0), 0.0);
    }
}

#[test]
fn marks_and_ends_are_seen() {
    let mut seen = Connections::new(1, false);
    let mut marked = tcp(0, ACK, None, 100);
    marked.set_ecn(Ecn::CongestionExperienced);
    cross(&mut seen, 0, 5, DOWN, marked);
    assert_eq!(number(&seen.table(&ends()), "downlink_marked", 0), 1.0);
    cross(&mut seen, 10, 5, DOWN, tcp(100, ACK | TcpFlags::FIN, None, 0));
    assert_eq!(text(&seen.table(&ends()), "end", 0), "half-closed");
    cross(&mut seen, 20, 5, UP, tcp(0, ACK | TcpFlags::FIN, None, 0));
    assert_eq!(text(&seen.table(&ends()), "end", 0), "fin");
    cross(&mut seen, 30, 5, DOWN, tcp(101, ACK, None, 0));
    assert_eq!(seen.len(), 1);
    // The same ports again.
    cross(&mut seen, 40, 5, UP, tcp(7, TcpFlags::SYN, None, 0));
    cross(&mut seen, 50, 5, DOWN, tcp(0, TcpFlags::RST | ACK, None, 0));
    let table = seen.table(&ends());
    assert_eq!((table.rows(), text(&table, "end", 0), text(&table, "end", 1)), (2, "fin", "rst"));
    assert_eq!((number(&table, "uplink_packets", 0), number(&table, "uplink_packets", 1)), (1.0, 1.0));
}

#[test]
fn the_number_of_rows_is_bounded_and_other_packets_are_counted() {
    let mut seen = Connections::new(1, false);
    for port in 0..12_000_u16 {
        let mut datagram = udp(1, &[2]);
        datagram.sockets.ue_port = port;
        cross(&mut seen, u64::from(port), 3, UP, datagram);
    }
    assert_eq!(seen.len(), ROWS_MAX);
    let size = 20 + 8 + 2;
    assert_eq!(seen.not_shown(), NotShown { packets: 2_000, bytes: 2_000 * size });
    assert_eq!(udp(1, &[2]).size, Bytes(size));
    let table = seen.table(&ends());
    assert_eq!((table.rows(), number(&table, "ue_port", 9_999)), (ROWS_MAX, 9_999.0));
    assert!((0..ROWS_MAX).all(|row| number(&table, "uplink_packets_lost", row) == 0.0));
}

#[test]
fn the_series_has_goodput_delay_and_losses_of_each_bin() {
    let mut seen = Connections::new(2, false);
    // Entered at 90 ms, left at 110 ms: the second bin.
    cross(&mut seen, 90, 20, DOWN, tcp(0, ACK, None, 12_500));
    cross(&mut seen, 120, 40, DOWN, tcp(0, ACK, None, 12_500));
    seen.entered(ms(199), 0, DOWN, &tcp(0, ACK, None, 1)); // lost
    let mut other = tcp(0, ACK, None, 100);
    seen.entered(ms(310), 1, UP, &other);
    other.sent_at = ms(310);
    seen.left(ms(315), 1, UP, &other);
    let ends = Ends::new(&["a".to_owned(), "b".to_owned()]);
    let table = seen.series_table(&ends);
    assert_eq!(table.rows(), 8);
    let column = |name: &str| (0..8).map(|row| number(&table, name, row)).collect::<Vec<_>>();
    assert_eq!(column("t_s"), [0.0, 0.1, 0.2, 0.3, 0.0, 0.1, 0.2, 0.3]);
    assert_eq!(column("downlink_goodput_mbps"), [0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(column("downlink_packets_lost"), [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!((column("downlink_owd_ms")[1], column("downlink_owd_max_ms")[1]), (30.0, 40.0));
    assert_eq!((column("uplink_goodput_mbps")[7], column("uplink_owd_ms")[7]), (0.008, 5.0));
    assert!(column("downlink_owd_ms")[0].is_nan());
    let latest: Vec<_> = seen.latest(ms(250)).collect();
    assert_eq!(
        (latest[0].goodput_mbps, latest[0].owd_ms[0], latest[0].owd_max_ms[0]),
        ([2.0, 0.0], 30.0, 40.0)
    );
    assert!(latest[1].ue == 1 && latest[1].goodput_mbps == [0.0; 2] && latest[1].owd_ms[0].is_nan());
    assert!(seen.latest(ms(50)).all(|latest| latest.goodput_mbps == [0.0; 2]));
}

#[test]
fn bins_beyond_the_limit_use_no_memory() {
    let mut seen = Connections::new(1, false);
    cross(&mut seen, 1_000_000_000, 20, DOWN, tcp(0, ACK, None, 1));
    assert_eq!(seen.series_table(&ends()).rows(), 0);
    assert_eq!(BIN, Duration::from_millis(100));
}

/// A split proxy makes packets of its own, so that the time since they were sent is not that of the path.
#[test]
fn behind_a_split_proxy_tcp_has_no_one_way_delay() {
    let mut seen = Connections::new(1, true);
    cross(&mut seen, 1_000, 30, DOWN, tcp(100, ACK, None, 1_000));
    cross(&mut seen, 1_000, 50, DOWN, udp(0, &[1]));
    let table = seen.table(&ends());
    let row = |protocol| (0..table.rows()).find(|&row| text(&table, "protocol", row) == protocol).unwrap();
    for column in ["downlink_owd_ms", "downlink_owd_p50_ms", "downlink_owd_p95_ms", "downlink_owd_max_ms"] {
        assert!(number(&table, column, row("tcp")).is_nan(), "{column}");
        near(number(&table, column, row("udp")), 50.0);
    }
    assert_eq!(number(&table, "downlink_bytes_delivered", row("tcp")), 1_000.0);
}
