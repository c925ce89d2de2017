//! A split-connection proxy between peers that send arbitrary segments: numbers, windows, options and flags
//! that no TCP would send, among ordinary ones. A failure names its seed.

use airlane_core::{
    AccEcnOption, Cx, Direction, Duration, Ecn, FlowId, Header, Instant, Mss, Node, Packet, PacketPool,
    Payload, SackBlock, Seeds, Stream, TcpFlags, TcpHeader, TcpSynOptions, TcpTimestamps,
};
use airlane_middlebox::{Middlebox, Side, SplitProxy};

use crate::world::{is_bounded, is_done, pick, proxy, with};

const FLOWS: u64 = 4;

/// The last segments of the proxy, by flow and side.
type Last = [[TcpHeader; 2]; FLOWS as usize];

/// A number near another one, or any number.
fn near(s: &mut Stream, number: u32) -> u32 {
    match s.below(8) {
        0..=3 => number,
        4 => number.wrapping_add(s.below(3_000) as u32).wrapping_sub(1_500),
        5 => number.wrapping_add(s.below(1 << 20) as u32),
        6 => number.wrapping_sub(s.below(1 << 20) as u32),
        _ => s.bits() as u32,
    }
}

/// A segment that approximately answers the last one of the proxy.
fn segment(s: &mut Stream, last: &TcpHeader) -> TcpHeader {
    let flags = [
        TcpFlags::ACK,
        TcpFlags::ACK | TcpFlags::PSH,
        TcpFlags::ACK | TcpFlags::FIN,
        TcpFlags::SYN,
        TcpFlags::SYN | TcpFlags::ACK,
        TcpFlags::RST,
        s.bits() as u16 & 0x01ff,
    ];
    let flags = if s.chance(0.6) { TcpFlags::ACK } else { pick(s, &flags) };
    let mut header = TcpHeader {
        sequence: near(s, last.acknowledgment),
        acknowledgment: near(s, last.sequence.wrapping_add(u32::from(last.flags.has(TcpFlags::SYN)))),
        window: pick(s, &[0, 1, 500, 8_000, 65_535]),
        flags: TcpFlags(flags),
        ..TcpHeader::default()
    };
    if s.chance(0.3) {
        let echo_reply = last.timestamps.map_or(s.bits() as u32, |stamp| near(s, stamp.value));
        header.timestamps = Some(TcpTimestamps { value: s.bits() as u32, echo_reply });
    }
    if s.chance(0.2) {
        let counters = [s.bits() as u32, s.bits() as u32, s.bits() as u32];
        header.accurate_ecn = Some(AccEcnOption::new(s.below(2) as u8, &counters[..s.below(4) as usize]));
    }
    for _ in 0..s.below(5) {
        let block = SackBlock { left: near(s, last.sequence), right: near(s, last.sequence) };
        let _ = header.sack.push(block);
    }
    if TcpFlags(flags).has(TcpFlags::SYN) {
        header.syn = TcpSynOptions {
            mss: pick(s, &[None, Some(0), Some(1), Some(11), Some(40), Some(536), Some(1460), Some(65_535)])
                .map(Mss),
            window_scale: pick(s, &[None, Some(0), Some(7), Some(14), Some(255)]),
            sack_permitted: s.chance(0.5),
            codes_permitted: s.chance(0.5),
        };
    }
    header
}

fn packet(s: &mut Stream, last: &Last, now: Instant) -> (Side, Packet) {
    let (flow, side) = (s.below(FLOWS) as u32, pick(s, &[Side::Core, Side::Ran]));
    let header = segment(s, &last[flow as usize][side as usize]);
    let len = pick(s, &[0, 0, 1, 536, 1448]);
    let payload =
        if s.chance(0.5) { Payload::Length(len) } else { Payload::Bytes(vec![7; len as usize].into()) };
    let direction = if side == Side::Core { Direction::Downlink } else { Direction::Uplink };
    let mut packet = Packet::new(FlowId(flow), direction, Header::Tcp(header), payload, now);
    packet.ecn = pick(s, &[Ecn::NotCapable, Ecn::Capable0, Ecn::CongestionExperienced]);
    (side, packet)
}

fn call(
    (proxy, pool, last): (&mut Middlebox<SplitProxy>, &mut PacketPool, &mut Last),
    now: Instant,
    act: impl FnOnce(&mut Middlebox<SplitProxy>, &mut Cx<'_>),
) {
    let mut outbox = vec![];
    with(pool, now, &mut outbox, |cx| act(proxy, cx));
    for (port, packet) in outbox {
        let sent = pool.consume(packet);
        assert!(sent.payload.len() <= 1_500, "{} bytes in one segment", sent.payload.len());
        if let Header::Tcp(header) = sent.header {
            last[sent.flow.index()][usize::from(port)] = header;
        }
    }
}

fn run(seed: u64) -> u64 {
    let mut s = Seeds::new(seed).stream("hostile");
    let config = proxy(&mut s, 0);
    let (most, describe) = (config.memory.get(), format!("seed {seed}"));
    let mut proxy = Middlebox::new(SplitProxy::new(config));
    let (mut pool, mut last, mut now) = (PacketPool::default(), Last::default(), Instant::ZERO);
    for _ in 0..400 {
        now += Duration::from_micros(pick(&mut s, &[0, 100, 20_000, 1_000_000]));
        if proxy.next_timeout().is_some_and(|at| at <= now) {
            call((&mut proxy, &mut pool, &mut last), now, |proxy, cx| proxy.handle_timeout(cx));
        }
        let (side, packet) = packet(&mut s, &last, now);
        let packet = pool.insert(packet);
        call((&mut proxy, &mut pool, &mut last), now, |proxy, cx| {
            proxy.handle_packet(cx, side.port(), packet)
        });
        is_bounded(proxy.function(), most, &describe);
    }
    // Then they stop.
    let mut calls = 0;
    while let Some(at) = proxy.next_timeout() {
        calls += 1;
        assert!(calls < 100_000, "it does not come to rest: {describe}");
        now = at.max(now);
        call((&mut proxy, &mut pool, &mut last), now, |proxy, cx| proxy.handle_timeout(cx));
    }
    is_done(proxy.function(), &describe);
    assert_eq!(pool.live(), 0, "packets are left: {describe}");
    proxy.function().statistics().relayed.iter().sum()
}

#[test]
fn nothing_that_a_peer_sends_breaks_a_proxy() {
    let relayed: u64 = (0..600).map(run).sum();
    assert!(relayed > 1_000_000, "they got through to the relays: {relayed}");
}
