//! Other implementations of the same formats agree: etherparse on each field and checksum of random packets, and
//! tshark on the packets that this crate writes.

use std::io::Write;
use std::net::IpAddr;
use std::process::{Command, Stdio};

use airlane_wire::{Ip, IpPacket, Ipv4, Ipv6, Tcp, TcpOption, Transport, Udp, checksum};
use etherparse::{NetSlice, SlicedPacket, TcpOptionElement, TransportSlice};

use crate::generate::Generator;

/// The options as etherparse reads them; `None` for those that it does not know or that end its list.
fn element(option: &TcpOption<'_>) -> Option<TcpOptionElement> {
    Some(match *option {
        TcpOption::Nop => TcpOptionElement::Noop,
        TcpOption::Mss(mss) => TcpOptionElement::MaximumSegmentSize(mss),
        TcpOption::WindowScale(shift) => TcpOptionElement::WindowScale(shift),
        TcpOption::SackPermitted => TcpOptionElement::SelectiveAcknowledgementPermitted,
        TcpOption::Timestamps(value, echo) => TcpOptionElement::Timestamp(value, echo),
        TcpOption::Sack(_) => {
            let blocks: Vec<_> = option.sack_blocks().map(|block| (block.left, block.right)).collect();
            let more = core::array::from_fn(|i| blocks.get(i + 1).copied());
            TcpOptionElement::SelectiveAcknowledgement(blocks[0], more)
        }
        TcpOption::End(_) | TcpOption::Experiment(..) | TcpOption::Other(..) => return None,
    })
}

fn compare(bytes: &[u8]) {
    let own = IpPacket::parse(bytes).expect("a valid packet");
    let other = SlicedPacket::from_ip(bytes).expect("a valid packet for etherparse");
    match (&own.ip, other.net.as_ref().expect("an IP header")) {
        (Ip::V4(own), NetSlice::Ipv4(other)) => compare_v4(own, other.header().to_header()),
        (Ip::V6(own), NetSlice::Ipv6(other)) => compare_v6(own, other),
        (own, other) => panic!("{own:?} is not {other:?}"),
    }
    match (&own.transport, &other.transport) {
        (Transport::Tcp(tcp), Some(TransportSlice::Tcp(slice))) => compare_tcp(&own, tcp, slice),
        (Transport::Udp(udp), Some(TransportSlice::Udp(slice))) => compare_udp(&own, udp, slice),
        (Transport::Icmp(icmp), Some(TransportSlice::Icmpv4(slice))) => {
            assert_eq!((icmp.kind, icmp.code), (slice.type_u8(), slice.code_u8()));
            assert_eq!((icmp.checksum, icmp.rest), (slice.checksum(), slice.bytes5to8()));
        }
        (Transport::Icmp(icmp), Some(TransportSlice::Icmpv6(slice))) => {
            assert_eq!((icmp.kind, icmp.code), (slice.type_u8(), slice.code_u8()));
            let (IpAddr::V6(a), IpAddr::V6(b)) = own.ip.addresses() else { panic!("ICMPv6 over IPv4") };
            assert!(slice.is_checksum_valid(a.octets(), b.octets()));
        }
        (Transport::Other, None) => {}
        (own, other) => panic!("{own:?} is not {other:?}"),
    }
}

fn compare_v4(own: &Ipv4<'_>, other: etherparse::Ipv4Header) {
    assert_eq!((own.source.octets(), own.destination.octets()), (other.source, other.destination));
    assert_eq!(own.traffic_class, other.dscp.value() << 2 | other.ecn.value());
    assert_eq!((own.total_length, own.identification), (other.total_len, other.identification));
    assert_eq!(own.fragment & 0x1fff, other.fragment_offset.value());
    assert_eq!(own.fragment & 0x4000 != 0, other.dont_fragment);
    assert_eq!(own.fragment & 0x2000 != 0, other.more_fragments);
    assert_eq!((own.time_to_live, own.protocol), (other.time_to_live, other.protocol.0));
    assert_eq!(own.options, &other.options[..]);
    // Its sum leaves out the reserved bit, which it does not know.
    if own.fragment & 0x8000 == 0 {
        assert_eq!(own.checksum, other.calc_header_checksum());
    }
}

fn compare_v6(own: &Ipv6<'_>, other: &etherparse::Ipv6Slice<'_>) {
    let header = other.header().to_header();
    assert_eq!((own.source.octets(), own.destination.octets()), (header.source, header.destination));
    assert_eq!((own.traffic_class, own.flow_label), (header.traffic_class, header.flow_label.value()));
    assert_eq!((own.payload_length, own.hop_limit), (header.payload_length, header.hop_limit));
    assert_eq!(own.next_header, header.next_header.0);
    assert_eq!(own.protocol, other.payload().ip_number.0);
    assert_eq!(own.extensions, other.extensions().slice());
}

fn compare_tcp(packet: &IpPacket<'_>, own: &Tcp<'_>, slice: &etherparse::TcpSlice<'_>) {
    let tcp = slice.to_header();
    assert_eq!((own.source_port, own.destination_port), (tcp.source_port, tcp.destination_port));
    assert_eq!((own.sequence, own.acknowledgment), (tcp.sequence_number, tcp.acknowledgment_number));
    let flags = [tcp.fin, tcp.syn, tcp.rst, tcp.psh, tcp.ack, tcp.urg, tcp.ece, tcp.cwr, tcp.ns];
    let flags = flags.iter().enumerate().fold(0, |sum, (bit, &set)| sum | u16::from(set) << bit);
    assert_eq!(own.flags & 0x01ff, flags);
    assert_eq!((own.window, own.urgent), (tcp.window_size, tcp.urgent_pointer));
    assert_eq!((own.options, packet.payload), (slice.options(), slice.payload()));
    // It stops at the first option that it does not know; so does the comparison.
    for (own, other) in own.options().zip(slice.options_iterator()) {
        let Some(own) = element(&own.expect("valid options")) else { break };
        assert_eq!(own, other.expect("an option that both know"));
    }
    let computed = match packet.ip.addresses() {
        (IpAddr::V4(a), IpAddr::V4(b)) => tcp.calc_checksum_ipv4_raw(a.octets(), b.octets(), packet.payload),
        (IpAddr::V6(a), IpAddr::V6(b)) => tcp.calc_checksum_ipv6_raw(a.octets(), b.octets(), packet.payload),
        _ => unreachable!("both addresses are of one version"),
    };
    // Its sum leaves out the reserved bits that it does not know.
    if own.flags & 0x0e00 == 0 {
        assert_eq!(own.checksum, computed.expect("a segment of an IP packet"));
    }
}

fn compare_udp(packet: &IpPacket<'_>, own: &Udp, slice: &etherparse::UdpSlice<'_>) {
    assert_eq!((own.source_port, own.destination_port), (slice.source_port(), slice.destination_port()));
    let covered = &packet.payload[..usize::from(own.length) - Udp::LEN];
    assert_eq!((own.length, covered), (slice.length(), slice.payload()));
    let header = slice.to_header();
    let computed = match packet.ip.addresses() {
        (IpAddr::V4(a), IpAddr::V4(b)) => header.calc_checksum_ipv4_raw(a.octets(), b.octets(), covered),
        (IpAddr::V6(a), IpAddr::V6(b)) => header.calc_checksum_ipv6_raw(a.octets(), b.octets(), covered),
        _ => unreachable!("both addresses are of one version"),
    };
    assert_eq!(own.checksum, computed.expect("a datagram of an IP packet"));
}

#[test]
fn etherparse_reads_the_same_fields_and_computes_the_same_checksums() {
    let mut generator = Generator::new(11);
    for _ in 0..20_000 {
        let bytes = generator.packet(true);
        compare(&bytes);
    }
}

/// The bits that the other library loses are the reason why this crate does not build on its writer.
#[test]
fn etherparse_does_not_write_reserved_bits() {
    let mut generator = Generator::new(12);
    let mut lost = 0;
    for _ in 0..2_000 {
        let bytes = generator.packet(true);
        let Ok(headers) = etherparse::PacketHeaders::from_ip_slice(&bytes) else { continue };
        let mut again = Vec::new();
        let (Some(net), Some(transport)) = (&headers.net, &headers.transport) else { continue };
        let etherparse::NetHeaders::Ipv4(ip, extensions) = net else { continue };
        ip.write(&mut again).expect("memory takes what is written");
        extensions.write(&mut again, ip.protocol).expect("memory takes what is written");
        transport.write(&mut again).expect("memory takes what is written");
        lost += u32::from(!bytes.starts_with(&again));
    }
    assert!(lost > 100, "{lost} headers changed");
}

#[test]
fn tshark_finds_no_fault_in_what_this_crate_writes() {
    if !Command::new("tshark").arg("-v").stdout(Stdio::null()).status().is_ok_and(|status| status.success()) {
        eprintln!("skipped: tshark is not installed");
        return;
    }
    let mut generator = Generator::new(13);
    let packets: Vec<Vec<u8>> =
        (0..500).map(|_| generator.packet(true)).filter(|p| p.len() < 60_000).collect();
    // The format of libpcap, link type 101 (raw IP): https://www.tcpdump.org/linktypes.html
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101] {
        file.extend(word.to_le_bytes());
    }
    for packet in &packets {
        for word in [0, 0, packet.len() as u32, packet.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend(packet);
    }
    let fields =
        ["ip.checksum.status", "tcp.checksum.status", "udp.checksum.status", "ip.len", "tcp.seq_raw"];
    let mut command = Command::new("tshark");
    command.args(["-r", "-", "-T", "fields", "-E", "separator=,", "-E", "occurrence=f"]);
    for check in ["ip.check_checksum", "tcp.check_checksum", "udp.check_checksum"] {
        command.args(["-o", &format!("{check}:TRUE")]);
    }
    for field in fields {
        command.args(["-e", field]);
    }
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = child.expect("tshark starts");
    child.stdin.take().expect("a pipe").write_all(&file).expect("tshark reads");
    let output = String::from_utf8(child.wait_with_output().expect("tshark ends").stdout).expect("text");
    let lines: Vec<Vec<&str>> = output.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines.len(), packets.len());
    let mut seen = [0; 3];
    for (line, bytes) in lines.iter().zip(&packets) {
        let packet = IpPacket::parse(bytes).expect("a valid packet");
        for (i, status) in line[..3].iter().enumerate() {
            assert_ne!(*status, "0", "tshark calls checksum {i} bad: {packet:?}");
            seen[i] += u32::from(*status == "1");
        }
        if let Ip::V4(header) = packet.ip {
            assert_eq!(line[3], header.total_length.to_string());
        }
        if let Transport::Tcp(tcp) = packet.transport {
            assert_eq!(line[4], tcp.sequence.to_string(), "{packet:?}");
        }
        assert_ne!(checksum::verify_transport(bytes), checksum::Verdict::Wrong);
    }
    assert!(seen.iter().all(|&good| good > 20), "correct checksums of IPv4, TCP, UDP: {seen:?}");
}
