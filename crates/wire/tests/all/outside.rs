//! Packets from outside keep their bytes next to the typed view, and leave as they came.

use core::net::IpAddr;

use core::num::NonZeroU8;

use airlane_core::{
    AccEcnOption, Direction, DropCause, Ecn, FlowId, Header, HeaderBytes, Instant, Mss, Packet, PacketPool,
    Payload, SackBlock, TcpFlags, TcpHeader, TcpSynOptions, TcpTimestamps,
};
use airlane_wire::{Ends, IpPacket, Transport, checksum, emit, ip_bytes, outside};

use crate::generate::Generator;

const ARRIVAL: outside::Arrival =
    outside::Arrival { flow: FlowId(3), direction: Direction::Uplink, now: Instant::from_millis(7) };

fn ends(v6: bool) -> Ends {
    let address = |last: u8| -> IpAddr {
        if v6 {
            IpAddr::from([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last])
        } else {
            [10, 0, 0, last].into()
        }
    };
    Ends { source: address(1), source_port: 443, destination: address(2), destination_port: 50_000 }
}

fn bytes_of(packet: &Packet) -> Vec<u8> {
    let mut out = Vec::new();
    let whole =
        emit(packet, &ends(false), usize::MAX, &mut out).expect("a packet from outside has a wire form");
    assert_eq!((whole, out.len() as u64), (out.len(), packet.size.get()));
    out
}

/// Also with damaged packets: what has an IP header is forwarded.
#[test]
fn a_packet_leaves_as_it_came() {
    let mut generator = Generator::new(21);
    let mut pool = PacketPool::default();
    let mut others = 0;
    for round in 0..40_000 {
        let mut bytes = generator.packet(true);
        if round % 2 == 1 {
            generator.damage(&mut bytes);
        }
        let Ok(packet) = outside::packet(&mut pool, &bytes, ARRIVAL) else {
            assert!(round % 2 == 1);
            continue;
        };
        let length = packet.size.get() as usize;
        assert_eq!(bytes_of(&packet), &bytes[..length]);
        assert_eq!(Some(packet.ecn), ip_bytes::ecn(&bytes));
        others += u32::from(matches!(packet.header, Header::Other { .. }));
        let handle = pool.insert(packet);
        let ended = pool.discard(handle, DropCause::NoRoute);
        pool.recycle(ended);
    }
    assert!((1_000..30_000).contains(&others), "{others} without a typed view");
}

#[test]
fn marking_and_forwarding_change_the_bytes_and_their_checksum() {
    let mut generator = Generator::new(22);
    let mut pool = PacketPool::default();
    let mut marked = [0, 0];
    for _ in 0..10_000 {
        let bytes = generator.packet(true);
        let mut packet = outside::packet(&mut pool, &bytes, ARRIVAL).expect("a valid packet");
        packet.set_ecn(Ecn::CongestionExperienced);
        packet.set_code_point(46);
        let forwarded = packet.decrement_hop_limit();
        let changed = bytes_of(&packet);
        assert_eq!(ip_bytes::traffic_class(&changed), Some(46 << 2 | 3));
        assert_ne!(checksum::verify_header(&changed), checksum::Verdict::Wrong);
        assert_ne!(checksum::verify_transport(&changed), checksum::Verdict::Wrong);
        let v6 = bytes[0] >> 4 == 6;
        let hops = if v6 { 7 } else { 8 };
        assert_eq!(forwarded, bytes[hops] > 1);
        assert_eq!(changed[hops], bytes[hops] - u8::from(forwarded));
        // Nothing else changes.
        let mut expected = bytes.clone();
        expected[hops] = changed[hops];
        let places = if v6 { 0..2 } else { 1..2 };
        expected[places.clone()].copy_from_slice(&changed[places]);
        if !v6 {
            expected[10..12].copy_from_slice(&changed[10..12]);
        }
        assert_eq!(changed, expected);
        marked[usize::from(v6)] += 1;
    }
    assert!(marked.iter().all(|&n| n > 1_000), "{marked:?}");
}

/// A typed header that is written and read again is the same header.
#[test]
fn the_typed_view_of_a_written_segment_is_the_segment() {
    let mut pool = PacketPool::default();
    let timestamps = Some(TcpTimestamps { value: 7, echo_reply: 9 });
    let syn = TcpHeader {
        sequence: u32::MAX,
        window: 65_535,
        flags: TcpFlags(TcpFlags::SYN | TcpFlags::ECE | TcpFlags::CWR),
        timestamps,
        syn: TcpSynOptions {
            mss: Some(Mss(1460)),
            window_scale: Some(7),
            sack_permitted: true,
            codes_permitted: true,
        },
        ..TcpHeader::default()
    };
    let mut ack = TcpHeader { flags: TcpFlags(TcpFlags::ACK), timestamps, ..TcpHeader::default() };
    for left in [10, 30, 50] {
        ack.sack.push(SackBlock { left, right: left + 10 });
    }
    let coded = TcpHeader { receiver_code: NonZeroU8::new(70), timestamps: None, ..ack };
    let counters = AccEcnOption::new(1, &[0x0001_0203, 0x00ff_fefd, 0x0000_0001]);
    let flags = TcpFlags(TcpFlags::ACK | TcpFlags::ACE);
    let counted = TcpHeader { flags, accurate_ecn: Some(counters), timestamps, ..TcpHeader::default() };
    let answer = TcpFlags(TcpFlags::SYN | TcpFlags::ACK | TcpFlags::AE);
    let answer =
        TcpHeader { flags: answer, syn: TcpSynOptions { codes_permitted: false, ..syn.syn }, ..counted };
    let short = TcpHeader { accurate_ecn: Some(AccEcnOption::new(0, &[7])), timestamps: None, ..ack };
    for header in [syn, ack, coded, counted, answer, short, TcpHeader::default()] {
        for v6 in [false, true] {
            let payload = Payload::Bytes(b"content".as_slice().into());
            let mut sent =
                Packet::new(FlowId(3), Direction::Uplink, Header::Tcp(header), payload, ARRIVAL.now);
            sent.ecn = Ecn::Capable0;
            let mut bytes = Vec::new();
            emit(&sent, &ends(v6), usize::MAX, &mut bytes).expect("a TCP segment");
            assert_eq!(checksum::verify_transport(&bytes), checksum::Verdict::Correct);
            let came = outside::packet(&mut pool, &bytes, ARRIVAL).expect("a valid packet");
            assert_eq!((&came.header, &came.payload, came.ecn), (&sent.header, &sent.payload, sent.ecn));
            assert_eq!(came.size.get(), sent.size.get() + if v6 { 20 } else { 0 });
        }
    }
}

#[test]
fn long_extension_headers_become_payload() {
    let mut pool = PacketPool::default();
    let mut bytes = vec![0; 40 + 8 * 32 + 8];
    bytes[0] = 0x60;
    bytes[4..6].copy_from_slice(&(8_u16 * 33).to_be_bytes());
    bytes[6] = 60;
    bytes[40] = 17;
    bytes[41] = 31; // 256 bytes
    bytes[300] = 0;
    bytes[301] = 8; // the length of the datagram
    assert!(matches!(IpPacket::parse(&bytes).expect("valid").transport, Transport::Udp(_)));
    let packet = outside::packet(&mut pool, &bytes, ARRIVAL).expect("valid");
    assert_eq!(packet.header, Header::Other { protocol: 60 });
    assert!(packet.payload.len() as usize > HeaderBytes::MAX);
    assert_eq!(bytes_of(&packet), bytes);
}

/// The header buffer of a finished packet is used again.
#[test]
fn buffers_are_recycled() {
    let mut generator = Generator::new(23);
    let mut pool = PacketPool::default();
    let bytes = generator.packet(true);
    let packet = outside::packet(&mut pool, &bytes, ARRIVAL).expect("a valid packet");
    let place = core::ptr::from_ref(packet.outside().expect("headers")).addr();
    let handle = pool.insert(packet);
    let ended = pool.consume(handle);
    pool.recycle(ended);
    let packet = outside::packet(&mut pool, &bytes, ARRIVAL).expect("a valid packet");
    assert_eq!(core::ptr::from_ref(packet.outside().expect("headers")).addr(), place);
}
