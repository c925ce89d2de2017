//! The cost of a segment: sent, received, acknowledged every second time, acknowledgment processed.
//! Run `cargo run --release -p airlane-transport --example segment_cost -- 1000000` with a timer or
//! under callgrind; the difference of two counts excludes the set-up.

use std::collections::VecDeque;

use airlane_core::{
    Bytes, Cx, Direction, Duration, Ecn, FlowId, Header, Instant, PacketPool, PacketRef, Silence, TopicSet,
};
use airlane_transport::{Path, ReceiveWindowKind, TcpConfig, TcpEndpoint};

struct Wire {
    packets: VecDeque<(Instant, PacketRef)>,
    free_at: Instant,
    spacing: Duration,
}

impl Wire {
    fn new(spacing: Duration) -> Self {
        Self { packets: VecDeque::with_capacity(4096), free_at: Instant::ZERO, spacing }
    }
    fn next(&self) -> Instant {
        self.packets.front().map_or(Instant::FAR_FUTURE, |p| p.0)
    }
    fn push(&mut self, now: Instant, packet: PacketRef) {
        self.free_at = now.max(self.free_at) + self.spacing;
        self.packets.push_back((self.free_at + Duration::from_millis(20), packet));
    }
}

/// Sends `segments` over a link of one segment each 160 us; the receive window of 400 segments
/// keeps the queue finite, so there are no losses. Returns the number of delivered segments.
fn run(segments: u64) -> u64 {
    let path = |direction| Path::new(FlowId(0), direction);
    let window = ReceiveWindowKind::Fixed(Bytes(400 * 1448));
    let config = TcpConfig { receive_window: window, ..TcpConfig::linux() };
    let mut a = TcpEndpoint::new(config.clone(), path(Direction::Downlink));
    let mut b = TcpEndpoint::new(config, path(Direction::Uplink));
    a.supply_endless();
    let (mut pool, mut outbox, mut probe) =
        (PacketPool::with_capacity(4096), Vec::with_capacity(64), Silence);
    let mut down = Wire::new(Duration::from_micros(160));
    let mut up = Wire::new(Duration::ZERO);
    let mut cx = Cx {
        now: Instant::ZERO,
        pool: &mut pool,
        outbox: &mut outbox,
        topics: TopicSet::NONE,
        probe: &mut probe,
    };
    a.connect(&mut cx);
    let mut delivered = 0;
    while delivered < segments {
        for (_, packet) in cx.outbox.drain(..) {
            down.push(cx.now, packet);
        }
        let timers = a.next_timeout().min(b.next_timeout());
        let now = down.next().min(up.next()).min(timers);
        cx.now = now;
        if now == timers {
            if b.next_timeout() <= now {
                b.handle_timeout(&mut cx);
                for (_, packet) in cx.outbox.drain(..) {
                    up.push(now, packet);
                }
            }
            a.handle_timeout(&mut cx);
        } else if now == down.next() {
            let (_, packet) = down.packets.pop_front().expect("it is due");
            let p = cx.pool.get(&packet);
            let Header::Tcp(header) = p.header else { panic!("only TCP here") };
            let payload = p.payload.len();
            let _ = cx.pool.consume(packet);
            b.handle_segment(&mut cx, &header, Ecn::NotCapable, payload);
            b.read(now, u64::MAX);
            b.flush(&mut cx);
            delivered += u64::from(payload > 0);
            for (_, packet) in cx.outbox.drain(..) {
                up.push(now, packet);
            }
        } else {
            let (_, packet) = up.packets.pop_front().expect("it is due");
            let Header::Tcp(header) = cx.pool.get(&packet).header else { panic!("only TCP here") };
            let _ = cx.pool.consume(packet);
            a.handle_segment(&mut cx, &header, Ecn::NotCapable, 0);
            a.flush(&mut cx);
        }
    }
    assert_eq!(a.stats().retransmissions, 0);
    assert!(b.stats().segments_sent < segments * 6 / 10, "every second segment is acknowledged");
    delivered
}

fn main() {
    let segments = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1_000_000);
    println!("{} segments delivered", run(segments));
}
