//! Packets that are read are written again, byte for byte, and no bytes cause a panic.

use airlane_wire::{GtpU, IpPacket, TcpOption, Transport, checksum};

use crate::generate::Generator;

#[test]
fn valid_packets_survive_a_round_trip() {
    let mut generator = Generator::new(1);
    for _ in 0..20_000 {
        let bytes = generator.packet(true);
        let packet = IpPacket::parse(&bytes).expect("a valid packet");
        assert_eq!(packet.len(), bytes.len());
        let mut again = Vec::new();
        packet.emit(&mut again).expect("what was read fits");
        assert_eq!(again, bytes);
        assert_ne!(checksum::verify_header(&bytes), checksum::Verdict::Wrong);
        assert_ne!(checksum::verify_transport(&bytes), checksum::Verdict::Wrong);
        if let Transport::Tcp(tcp) = packet.transport {
            let mut options = Vec::new();
            for option in tcp.options() {
                option.expect("valid options").emit(&mut options);
            }
            assert_eq!(options, tcp.options);
        }
        let tunnelled = generator.tunnelled(&bytes);
        let (header, inner) = GtpU::parse(&tunnelled).expect("a valid tunnel header");
        let mut again = Vec::new();
        header.emit(&mut again);
        again.extend_from_slice(inner);
        assert_eq!(again, tunnelled);
    }
}

#[test]
fn damaged_packets_are_rejected_or_survive_a_round_trip() {
    let mut generator = Generator::new(2);
    let mut accepted = 0;
    for _ in 0..100_000 {
        let mut bytes = if generator.chance(0.1) {
            let length = generator.below(120);
            generator.noise(length)
        } else {
            let fine = generator.chance(0.5);
            generator.packet(fine)
        };
        generator.damage(&mut bytes);
        if let Ok(packet) = IpPacket::parse(&bytes) {
            accepted += 1;
            let mut again = Vec::new();
            packet.emit(&mut again).expect("what was read fits");
            assert_eq!(again, &bytes[..packet.len()]);
            if let Transport::Tcp(tcp) = packet.transport {
                let mut options = Vec::new();
                let whole =
                    tcp.options().all(|option| option.map(|option| option.emit(&mut options)).is_ok());
                assert!(tcp.options.starts_with(&options) && (!whole || options.len() == tcp.options.len()));
            }
        }
        let _ = (checksum::verify_header(&bytes), checksum::verify_transport(&bytes));
        let (start, offset) = (generator.below(100), generator.below(100));
        let _ = checksum::complete(&mut bytes.clone(), start, offset);
        let _ = checksum::fill(&mut bytes);
        if let Ok((header, inner)) = GtpU::parse(&bytes) {
            let mut again = Vec::new();
            header.emit(&mut again);
            assert_eq!(again, &bytes[..header.header_len()]);
            assert_eq!(header.header_len() + inner.len(), 8 + usize::from(header.length));
        }
    }
    assert!((10_000..90_000).contains(&accepted), "{accepted} of 100,000 were accepted");
}

/// The headers of a packet that is cut off are those of the whole packet, and so is the length of its payload.
#[test]
fn the_beginning_of_a_packet_says_the_same() {
    let mut generator = Generator::new(4);
    let (mut read, mut shorter) = (0, 0);
    for _ in 0..20_000 {
        let bytes = generator.packet(true);
        let whole = IpPacket::parse(&bytes).expect("a valid packet");
        let cut = &bytes[..generator.below(bytes.len() + 1)];
        let Ok((packet, stated)) = IpPacket::parse_begin(cut) else { continue };
        assert_eq!(packet.ip, whole.ip);
        let payload = match whole.transport {
            Transport::Tcp(_) => whole.payload,
            Transport::Udp(udp) => &whole.payload[..usize::from(udp.length) - 8],
            Transport::Icmp(_) | Transport::Other => continue,
        };
        assert_eq!((packet.transport, stated), (whole.transport, payload.len()));
        assert!(payload.starts_with(packet.payload));
        read += 1;
        shorter += u32::from(packet.payload.len() < stated);
    }
    assert!(read > 3000 && shorter > 1000, "{read} were read, {shorter} of them cut off");
}

#[test]
fn the_beginning_of_a_damaged_packet_causes_no_panic() {
    let mut generator = Generator::new(5);
    let mut accepted = 0;
    for _ in 0..100_000 {
        let mut bytes = generator.packet(true);
        generator.damage(&mut bytes);
        bytes.truncate(generator.below(bytes.len() + 1));
        if let Ok((packet, stated)) = IpPacket::parse_begin(&bytes) {
            accepted += 1;
            assert!(packet.payload.len() <= stated && stated <= 65_535);
        }
    }
    assert!((10_000..90_000).contains(&accepted), "{accepted} of 100,000 were accepted");
}

/// RFC 1071 §3: the sum of 00 01 f2 03 f4 f5 f6 f7 is ddf2.
#[test]
fn the_example_of_rfc_1071() {
    let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
    assert_eq!(checksum::Sum::default().with(&bytes).folded(), 0xddf2);
}

/// An undone checksum is the sum of the pseudo header; completing it gives the checksum that filling gives.
#[test]
fn an_undone_checksum_can_be_completed() {
    let mut generator = Generator::new(3);
    let mut completed = 0;
    for _ in 0..2_000 {
        let bytes = generator.packet(true);
        // Completing covers all bytes to the end, also those behind a datagram.
        let whole = IpPacket::parse(&bytes).is_ok_and(|packet| match packet.transport {
            Transport::Udp(udp) => usize::from(udp.length) == 8 + packet.payload.len(),
            _ => true,
        });
        let mut undone = bytes.clone();
        let Some((start, offset)) = checksum::leave_undone(&mut undone).filter(|_| whole) else { continue };
        checksum::complete(&mut undone, start, offset).expect("the field exists");
        assert_eq!(undone, bytes);
        completed += 1;
    }
    assert!(completed > 500, "{completed} packets");
}

#[test]
fn options_that_contradict_themselves_end_the_list_with_an_error() {
    for (options, fine) in [
        (&[2, 0, 1, 1][..], 0), // a length of 0
        (&[2, 1, 1, 1], 0),     // a length that does not cover itself
        (&[1, 1, 8, 10], 2),    // longer than the rest
        (&[1, 1, 1, 30], 3),    // no length
        (&[3, 3, 7, 1, 2, 200, 0, 0], 2),
    ] {
        let mut bytes = [0; 20].to_vec();
        bytes[12] = 0x50 + 0x10 * (options.len() / 4) as u8;
        bytes.extend_from_slice(options);
        let (tcp, payload) = airlane_wire::Tcp::parse(&bytes).expect("the header is long enough");
        let all: Vec<_> = tcp.options().collect();
        assert!(payload.is_empty() && all.len() == fine + 1 && all[fine].is_err(), "{options:?}: {all:?}");
        assert!(all[..fine].iter().all(Result::is_ok));
    }
    // A known kind with another length is kept as it is.
    let mut bytes = [0; 20].to_vec();
    bytes[12] = 0x60;
    bytes.extend_from_slice(&[2, 3, 9, 1]);
    let (tcp, _) = airlane_wire::Tcp::parse(&bytes).expect("a header");
    let all: Vec<_> = tcp.options().map(|option| option.expect("valid")).collect();
    assert_eq!(all, [TcpOption::Other(2, &[9]), TcpOption::Nop]);
}
