//! The endpoint nodes over a wire of constant delay: all data arrives, events are correct, and no
//! packet is left.

use airlane_core::{
    BitRate, Bytes, Direction, Duration, Event, FlowId, Instant, Node, PacketPool, Probe, Topic, TopicSet,
};
use airlane_traffic::{Datagrams, TcpSink, TcpSource, Transfer, UdpSink, UdpSource};
use airlane_transport::{Path, TcpConfig, UdpSender};

use crate::wire;

#[derive(Default)]
struct Seen {
    sent: u64,
    retransmitted: u64,
    delivered: u64,
    in_order: u64,
    delay: Option<Duration>,
    last_sent: Vec<Instant>,
    acknowledged: Vec<Instant>,
    completed: Vec<(Instant, Instant)>,
}

impl Probe for Seen {
    fn topics(&self) -> TopicSet {
        TopicSet::NONE.with(Topic::Sent).with(Topic::Delivered).with(Topic::FlowCompleted)
    }
    fn observe(&mut self, now: Instant, event: &Event<'_>) {
        match event {
            Event::Sent { retransmission, .. } => {
                self.sent += 1;
                self.retransmitted += u64::from(*retransmission);
            }
            Event::Delivered { packet, in_order, .. } => {
                self.delivered += 1;
                self.in_order += in_order.get();
                self.delay = Some(now - packet.sent_at);
            }
            Event::FlowSent { .. } => self.last_sent.push(now),
            Event::FlowAcknowledged { .. } => self.acknowledged.push(now),
            Event::FlowCompleted { started_at, .. } => self.completed.push((*started_at, now)),
            other => panic!("nobody asked for {other:?}"),
        }
    }
}

/// Two nodes; each packet is 10 ms under way.
fn run(a: &mut dyn Node, b: &mut dyn Node, end: Instant) -> (Seen, PacketPool) {
    let mut seen = Seen::default();
    let pool = wire::run([a, b], end, &mut seen, |_| false);
    (seen, pool)
}

fn path(direction: Direction) -> Path {
    Path::new(FlowId(3), direction)
}

fn source(transfer: Transfer, start: Instant) -> TcpSource {
    TcpSource::new(TcpConfig::linux(), path(Direction::Downlink), transfer, start, None)
}

fn sink(start: Instant) -> TcpSink {
    TcpSink::new(TcpConfig::linux(), path(Direction::Uplink), start)
}

/// 30 000 bytes are 20 segments of 1448 and one of 1040. With a round trip of 20 ms: SYN at 5,
/// data from 25 on; 10 segments, then 11 of the 20 that slow start allows at 45; the last byte
/// is read at 55 ms.
#[test]
fn a_fixed_transfer_completes_at_the_receiver() {
    let start = Instant::from_millis(5);
    let (mut a, mut b) = (source(Transfer::Fixed(Bytes(30_000)), start), sink(start));
    let (seen, pool) = run(&mut a, &mut b, Instant::from_millis(1000));
    assert_eq!(seen.completed, [(start, Instant::from_millis(55))]);
    // The last byte left the sender at 45 ms; its acknowledgment takes another 10 ms.
    assert_eq!(seen.last_sent, [Instant::from_millis(45)]);
    assert_eq!(seen.acknowledged, [Instant::from_millis(65)]);
    assert_eq!((seen.delivered, seen.in_order, seen.retransmitted), (21, 30_000, 0));
    assert_eq!(seen.delay, Some(Duration::from_millis(10)));
    assert_eq!(seen.sent, pool.inserted());
    let (sent, received) = (a.stats(), b.stats());
    assert_eq!((sent.bytes_acked, sent.data_segments_sent), (Bytes(30_000), 21));
    assert_eq!(received.bytes_delivered, Bytes(30_000));
    assert_eq!((a.next_timeout(), b.next_timeout()), (None, None));
}

#[test]
fn a_bulk_flow_never_ends() {
    let (mut a, mut b) = (source(Transfer::Bulk, Instant::ZERO), sink(Instant::ZERO));
    let (seen, _) = run(&mut a, &mut b, Instant::from_millis(200));
    assert!(seen.completed.is_empty());
    // Handshake 20 ms, then 10 segments doubling each 20 ms: rounds arrive at 30, 50 ... 190 ms.
    // The autotuned window may delay a round; the lower bound is five full doublings.
    assert!(seen.in_order >= 1448 * 10 * 31, "{}", seen.in_order);
    assert_eq!(b.stats().bytes_delivered.get(), seen.in_order);
}

/// 1400 bytes at 11.2 Mbit/s of payload: one datagram a millisecond, 1428 bytes of IP.
#[test]
fn datagrams_keep_their_spacing() {
    let (start, stop) = (Instant::from_millis(100), Instant::from_millis(200));
    let sender = UdpSender::new(BitRate(11_200_000), Bytes(1400), start, stop);
    let mut a = UdpSource::new(Datagrams::Constant(sender), path(Direction::Downlink));
    let mut b = UdpSink::new();
    let (seen, pool) = run(&mut a, &mut b, Instant::from_millis(1000));
    assert_eq!((a.sent(), seen.sent, seen.delivered), (100, 100, 100));
    assert_eq!(seen.in_order, 140_000);
    assert_eq!((b.stats().datagrams, b.stats().expected, b.stats().reordered), (100, 100, 0));
    assert_eq!(pool.consumed(), 100);
}
