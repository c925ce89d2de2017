//! Captures are read back block by block, and packets by an independent parser.

use core::num::NonZeroU8;

use airlane_core::{
    Bytes, Duration, Ecn, FlowId, Header, IcmpEcho, Mss, Payload, SackBlock, TcpFlags, TcpHeader,
    TcpSynOptions, TcpTimestamps, UdpHeader,
};

use super::*;

#[derive(Debug)]
struct Read {
    interfaces: Vec<(u16, String, u8)>,
    /// Interface, nanoseconds, whole length, stored bytes.
    packets: Vec<(u32, u64, u32, Vec<u8>)>,
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap())
}

fn option(mut options: &[u8], code: u16) -> Option<Vec<u8>> {
    while half(options, 0) != 0 {
        let length = usize::from(half(options, 2));
        if half(options, 0) == code {
            return Some(options[4..4 + length].to_vec());
        }
        options = &options[4 + length.next_multiple_of(4)..];
    }
    None
}

/// Reads the blocks of a file as in draft-ietf-opsawg-pcapng §3.1.
fn read(mut file: &[u8]) -> Read {
    assert_eq!((word(file, 0), word(file, 8)), (0x0A0D_0D0A, 0x1A2B_3C4D));
    let mut read = Read { interfaces: Vec::new(), packets: Vec::new() };
    while !file.is_empty() {
        let length = word(file, 4) as usize;
        assert!(length.is_multiple_of(4));
        let (block, rest) = file.split_at(length);
        assert_eq!(word(block, length - 4) as usize, length, "both lengths of a block are equal");
        match word(block, 0) {
            0x0A0D_0D0A => {}
            1 => {
                let name = String::from_utf8(option(&block[16..], 2).unwrap()).unwrap();
                read.interfaces.push((half(block, 8), name, option(&block[16..], 9).unwrap()[0]));
            }
            6 => {
                let at = u64::from(word(block, 12)) << 32 | u64::from(word(block, 16));
                let kept = word(block, 20) as usize;
                read.packets.push((word(block, 8), at, word(block, 24), block[28..28 + kept].to_vec()));
            }
            other => panic!("a block of type {other}"),
        }
        file = rest;
    }
    read
}

/// The Internet checksum (RFC 1071): 0 over data with a correct checksum.
fn checksum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0_u64;
    for part in parts {
        for pair in part.chunks(2) {
            sum += u64::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
        }
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Checks IP header and transport over the pseudo header (RFC 9293 §3.1) of a whole packet.
fn assert_checksums(packet: &[u8]) {
    assert_eq!(checksum(&[&packet[..20]]), 0, "IP header");
    let transport = &packet[20..];
    let length = (transport.len() as u16).to_be_bytes();
    assert_eq!(checksum(&[&packet[12..20], &[0, packet[9]], &length, transport]), 0, "transport");
}

fn parameters(points: &[CapturePoint], snaplen: u32) -> CaptureParameters {
    let flow = |ue, direction| CaptureFlow { ue, direction, tcp: ue == 0 };
    CaptureParameters {
        points: points.to_vec(),
        snaplen,
        flows: vec![flow(0, Direction::Downlink), flow(299, Direction::Uplink)],
        ues: (0..300).map(|n| format!("phone-{n}")).collect(),
        cells: vec!["north".to_owned(), "south".to_owned()],
        subflows: vec![],
    }
}

/// A capture into memory, of one point.
fn capture(point: CapturePoint, snaplen: u32, events: &[(u64, Event<'_>)]) -> Read {
    let mut memory = Vec::new();
    let opened = core::cell::Cell::new(Some(&mut memory));
    let open = |name: &str| Ok((PathBuf::from(name), opened.take().expect("one file")));
    let mut capture = Capture::with(&parameters(&[point], snaplen), open).unwrap();
    for (at, event) in events {
        assert!(capture.topics().wants(event.topic()));
        capture.observe(Instant::from_nanos(*at), event);
    }
    capture.finish().unwrap();
    read(&memory)
}

fn tcp(flow: u32, direction: Direction, header: TcpHeader, payload: u32) -> Packet {
    Packet::new(FlowId(flow), direction, Header::Tcp(header), Payload::Length(payload), Instant::ZERO)
}

#[test]
fn a_segment_stands_as_on_the_wire() {
    let mut header = TcpHeader {
        sequence: 0xffff_fff0,
        acknowledgment: 77,
        window: 502,
        flags: TcpFlags(TcpFlags::ACK | TcpFlags::CWR | TcpFlags::ECE | TcpFlags::PSH),
        timestamps: Some(TcpTimestamps { value: 1_000, echo_reply: 900 }),
        ..TcpHeader::default()
    };
    header.sack.push(SackBlock { left: 10, right: 20 });
    header.sack.push(SackBlock { left: 40, right: 50 });
    let mut packet = tcp(0, Direction::Downlink, header, 1_001);
    packet.ecn = Ecn::Capable0;
    let at = 5_000_000_000_123;
    let sent = Event::Sent { packet: &packet, retransmission: false };
    let read = capture(CapturePoint::Server, 65_535, &[(at, sent)]);
    assert_eq!(read.interfaces, [(101, "server".to_owned(), 9)]);
    let (interface, stamp, whole, bytes) = &read.packets[0];
    assert_eq!((*interface, *stamp, u64::from(*whole)), (0, at, packet.size.get()));
    assert_eq!(bytes.len() as u32, *whole);
    assert_checksums(bytes);
    assert_eq!(half(&[bytes[3], bytes[2]], 0), *whole as u16);
    assert_eq!(bytes[1] & 3, 0b10, "ECT(0)");
    assert_eq!((&bytes[12..16], &bytes[16..20]), (&[10, 0, 0, 1][..], &[10, 1, 0, 1][..]));
    let segment = &bytes[20..];
    assert_eq!(&segment[..4], [0xc3, 0x50, 0x14, 0x53]); // ports 50000 and 5203
    assert_eq!(&segment[4..8], 0xffff_fff0_u32.to_be_bytes());
    assert_eq!((segment[12] >> 4, segment[13]), (13, 0x10 | 0x80 | 0x40 | 0x08)); // 52 bytes
    // RFC 7323 appendix A: NOP NOP, kind 8; RFC 2018 §3: NOP NOP, kind 5, two blocks.
    assert_eq!(&segment[20..24], [1, 1, 8, 10]);
    assert_eq!(&segment[32..36], [1, 1, 5, 18]);
    assert_eq!(&segment[36..44], [0, 0, 0, 10, 0, 0, 0, 20]);
}

#[test]
fn a_syn_carries_the_options_in_the_order_of_linux() {
    let every = TcpSynOptions {
        mss: Some(Mss(1460)),
        window_scale: Some(7),
        sack_permitted: true,
        codes_permitted: false,
    };
    let bare = TcpSynOptions::default();
    for (syn, timestamps, expected) in [
        (every, true, vec![2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7]),
        (every, false, vec![2, 4, 5, 180, 1, 1, 4, 2, 1, 3, 3, 7]),
        (bare, true, vec![1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0]),
        (bare, false, vec![]),
    ] {
        let header = TcpHeader {
            flags: TcpFlags(TcpFlags::SYN),
            timestamps: timestamps.then_some(TcpTimestamps { value: 1, echo_reply: 0 }),
            syn,
            ..TcpHeader::default()
        };
        let packet = tcp(0, Direction::Downlink, header, 0);
        let read = capture(CapturePoint::Ue, 65_535, &[(1, Event::Received { packet: &packet })]);
        let bytes = &read.packets[0].3;
        assert_checksums(bytes);
        assert_eq!(&bytes[40..], expected);
    }
}

#[test]
fn codes_of_a_receiver_stand_in_an_option_for_experiments() {
    let timestamps = Some(TcpTimestamps { value: 1, echo_reply: 0 });
    let permits = TcpHeader {
        flags: TcpFlags(TcpFlags::SYN),
        timestamps,
        syn: TcpSynOptions { codes_permitted: true, ..TcpSynOptions::default() },
        ..TcpHeader::default()
    };
    let mut says = TcpHeader { timestamps, receiver_code: NonZeroU8::new(70), ..TcpHeader::default() };
    says.sack.push(SackBlock { left: 10, right: 20 });
    says.sack.push(SackBlock { left: 40, right: 50 });
    // RFC 6994 §3: kind, length, experiment identifier "ARWA", code. Two SACK blocks still fit: 60 bytes in all.
    for (header, length, expected) in [
        (permits, 40, vec![1, 1, 254, 6, b'A', b'R', b'W', b'A']),
        (says, 60, vec![1, 254, 7, b'A', b'R', b'W', b'A', 70]),
    ] {
        let packet = tcp(0, Direction::Uplink, header, 0);
        let read =
            capture(CapturePoint::Ue, 65_535, &[(1, Event::Sent { packet: &packet, retransmission: false })]);
        let bytes = &read.packets[0].3;
        assert_checksums(bytes);
        assert_eq!((usize::from(bytes[32] >> 4) * 4, bytes.len()), (length, 20 + length));
        assert_eq!(&bytes[bytes.len() - 8..], expected);
    }
}

#[test]
fn a_datagram_is_numbered_and_cut_at_the_snaplen_with_the_checksum_of_the_whole() {
    let header = Header::Udp(UdpHeader { serial: 258 });
    let packet = Packet::new(FlowId(1), Direction::Uplink, header, Payload::Length(1_400), Instant::ZERO);
    let received = || [(7, Event::Received { packet: &packet })];
    let whole = capture(CapturePoint::Server, 65_535, &received());
    let cut = capture(CapturePoint::Server, 96, &received());
    let (_, _, length, bytes) = &whole.packets[0];
    assert_checksums(bytes);
    assert_eq!(&bytes[12..20], [10, 1, 1, 44, 10, 0, 0, 1]); // the 300th UE
    assert_eq!(&bytes[20..26], [0xc3, 0x51, 0x14, 0x53, 5, 128]); // its data goes to port 5203; 1408 bytes
    assert_eq!(&bytes[28..36], [0, 0, 0, 0, 0, 0, 1, 2]);
    assert_eq!((cut.packets[0].2, &cut.packets[0].3[..]), (*length, &bytes[..96]));
}

/// RFC 792: type 8 asks and type 0 answers, code 0, and the checksum covers the message alone.
#[test]
fn an_echo_message_and_its_reply_match() {
    let echo = |direction, reply| {
        let header = Header::Icmp(IcmpEcho { reply, serial: 65_535 });
        Packet::new(FlowId(1), direction, header, Payload::Length(56), Instant::ZERO)
    };
    let (asks, answers) = (echo(Direction::Uplink, false), echo(Direction::Downlink, true));
    let events = [
        (7, Event::Received { packet: &asks }),
        (9, Event::Sent { packet: &answers, retransmission: false }),
    ];
    let read = capture(CapturePoint::Server, 65_535, &events);
    let (phone, server) = ([10, 1, 1, 44], [10, 0, 0, 1]);
    for ((.., whole, bytes), (kind, from, to)) in
        read.packets.iter().zip([(8, phone, server), (0, server, phone)])
    {
        assert_eq!((*whole, bytes.len(), bytes[9]), (84, 84, 1)); // protocol 1
        assert_eq!((&bytes[12..16], &bytes[16..20]), (&from[..], &to[..]));
        assert_eq!(checksum(&[&bytes[20..]]), 0);
        // Identifier 2; the 65536th message has sequence number 0 again.
        assert_eq!((&bytes[20..22], &bytes[24..28]), (&[kind, 0][..], &[0, 2, 0, 0][..]));
    }
    assert_eq!(read.packets.len(), 2);
}

#[test]
fn one_of_many_connections_has_its_own_ports_and_server() {
    let mut packet = tcp(0, Direction::Uplink, TcpHeader::default(), 100);
    packet.sockets = SocketPair { server: 2, server_port: 443, ue_port: 49_152 };
    let read = capture(CapturePoint::Server, 65_535, &[(7, Event::Received { packet: &packet })]);
    let bytes = &read.packets[0].3;
    assert_checksums(bytes);
    assert_eq!(&bytes[16..24], [10, 0, 0, 3, 0xc0, 0, 0x01, 0xbb]); // from port 49152 to 443 of the third server
}

#[test]
fn a_message_of_a_pep_is_a_datagram_between_ports_of_its_own() {
    let header = Header::Udp(UdpHeader { serial: 1 });
    let message = Payload::Bytes([0x10, 0x00, 7].into());
    let packet = Packet::new(FlowId(0), Direction::Uplink, header, message, Instant::ZERO);
    let read = capture(CapturePoint::Server, 65_535, &[(7, Event::Received { packet: &packet })]);
    let bytes = &read.packets[0].3;
    assert_checksums(bytes);
    assert_eq!(&bytes[12..20], [10, 4, 0, 1, 10, 0, 0, 1]);
    assert_eq!(&bytes[20..26], [0x14, 0x54, 0x14, 0x54, 0, 11]);
    assert_eq!(&bytes[28..], [0x10, 0x00, 7]);
}

#[test]
fn the_tunnel_stands_around_the_packet_on_s1_u() {
    let mut packet = tcp(1, Direction::Downlink, TcpHeader::default(), 100);
    packet.size += Bytes(36);
    let event = Event::Tunnelled { cell: CellId(1), packet: &packet };
    let read = capture(CapturePoint::S1u, 65_535, &[(9, event)]);
    let names: Vec<_> = read.interfaces.iter().map(|(_, name, _)| name.as_str()).collect();
    assert_eq!(names, ["north", "south"]);
    let (interface, _, whole, bytes) = &read.packets[0];
    assert_eq!((*interface, *whole, bytes.len()), (1, 176, 176));
    assert_eq!(checksum(&[&bytes[..20]]), 0);
    assert_eq!(&bytes[12..28], [10, 2, 0, 1, 10, 3, 0, 2, 8, 104, 8, 104, 0, 156, 0, 0]);
    // TS 29.281 §5.1: version 1, G-PDU, 140 bytes follow the header, tunnel of the 300th UE.
    assert_eq!(&bytes[28..36], [0x30, 255, 0, 140, 0, 0, 1, 44]);
    assert_checksums(&bytes[36..]);
}

/// Refuses all data after this many bytes, as a full disk does.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or_else(|| io::Error::other("no space left"))?;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_told_with_the_file() {
    let open = |name: &str| Ok((PathBuf::from(name), Full(400)));
    let mut capture = Capture::with(&parameters(&[CapturePoint::Server], 96), open).unwrap();
    let packet = tcp(0, Direction::Downlink, TcpHeader::default(), 1_000);
    let mut at = Instant::ZERO;
    while !capture.has_failed() {
        capture.observe(at, &Event::Sent { packet: &packet, retransmission: false });
        at += Duration::from_millis(1);
        assert!(at < Instant::from_millis(10), "400 bytes do not hold ten packets");
    }
    assert_eq!(capture.finish().unwrap_err().to_string(), "server: no space left");
}
