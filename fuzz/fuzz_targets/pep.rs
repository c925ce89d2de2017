//! A datagram is either rejected as a PEP message, or encodes to the same message again; a sender
//! handles any contents.
#![no_main]

use airlane_core::{
    Cx, Direction, Duration, Ecn, FlowId, Instant, Mss, Outbox, PacketPool, Silence, TcpFlags, TcpHeader,
    TcpSynOptions, TopicSet,
};
use airlane_net::pep::{Body, Key, Message, Receiver};
use airlane_transport::{CongestionKind, Path, PepReport, TcpConfig, TcpEndpoint};
use libfuzzer_sys::fuzz_target;

const FLOW: u64 = 1;
/// Initial window and probe, in segments of 1448 bytes.
const IN_FLIGHT_MAX: u64 = 11 * 1448;

fuzz_target!(|data: &[u8]| {
    let key = Key::derive(b"fuzz", FLOW);
    let _ = Message::decode(data, &key); // unmodified: the tag never matches
    let Some(message) = signed(data, &key) else { return };
    let mut again = Vec::new();
    message.encode(&key, &mut again);
    assert_eq!(Message::decode(&again, &key), Ok(message));
    let mut receiver = Receiver::new(key, message.flow);
    assert_eq!(receiver.accept(&again), Ok(message));
    assert!(receiver.accept(&again).is_err());
    if let Body::Tcp(report) = &message.body {
        report_to_sender(&PepReport {
            delay: Duration::from_micros(u64::from(message.delay_us)),
            newest: report.newest,
            first: report.first,
            cumulative: report.cumulative,
            ranges: report.ranges.as_slice(),
            holes: report.holes.as_slice(),
        });
    }
});

/// The message with these bytes and a valid tag, as from a sender that has the key.
fn signed(data: &[u8], key: &Key) -> Option<Message> {
    let body = data.get(..data.len().checked_sub(16)?)?;
    let mut bytes = body.to_vec();
    bytes.extend(key.tag(body));
    Message::decode(&bytes, key).ok()
}

/// A sender with its initial window in flight.
fn report_to_sender(report: &PepReport<'_>) {
    let path = Path::new(FlowId(0), Direction::Downlink);
    let mut sender =
        TcpEndpoint::new(TcpConfig { congestion: CongestionKind::Mdcc, ..TcpConfig::linux() }, path);
    sender.supply_endless();
    let (mut pool, mut outbox, mut silence) = (PacketPool::default(), Outbox::new(), Silence);
    let mut cx = Cx {
        now: Instant::ZERO,
        pool: &mut pool,
        outbox: &mut outbox,
        topics: TopicSet::NONE,
        probe: &mut silence,
    };
    sender.connect(&mut cx);
    cx.now = Instant::from_millis(20);
    let answer = TcpHeader {
        acknowledgment: 1,
        window: u16::MAX,
        flags: TcpFlags(TcpFlags::SYN | TcpFlags::ACK),
        syn: TcpSynOptions {
            mss: Some(Mss(1448)),
            window_scale: Some(7),
            sack_permitted: true,
            ..TcpSynOptions::default()
        },
        ..TcpHeader::default()
    };
    sender.handle_segment(&mut cx, &answer, Ecn::NotCapable, 0);
    cx.now = Instant::from_millis(30);
    for _ in 0..2 {
        sender.handle_pep_report(&mut cx, report);
        assert!(sender.stats().in_flight.get() <= IN_FLIGHT_MAX);
    }
}
