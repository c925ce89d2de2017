//! The cost at a sender of processing an acknowledgment and sending the two segments that it
//! allows, under each controller. The acknowledgments of a whole connection are recorded in
//! advance, so that the receiver's work is not measured.

use std::collections::VecDeque;

use airlane_core::{
    Bytes, Cx, Direction, Duration, Ecn, FlowId, Header, Instant, Outbox, PacketPool, Silence, TcpHeader,
    TopicSet,
};
use airlane_transport::congestion::CongestionKind;
use airlane_transport::{Path, ReceiveWindowKind, TcpConfig, TcpEndpoint};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// Acknowledgments before the measurement: slow start, and some time after it.
const SETTLED: usize = 5_000;
/// Acknowledgments that are measured.
const MEASURED: usize = 10_000;
/// A link of 75 Mbit/s, and its one-way delay.
const SPACING: Duration = Duration::from_micros(160);
const DELAY: Duration = Duration::from_millis(20);

fn config(congestion: CongestionKind) -> TcpConfig {
    // The window keeps the queue finite, so that there are no losses.
    let window = ReceiveWindowKind::Fixed(Bytes(400 * 1448));
    TcpConfig { congestion, receive_window: window, ..TcpConfig::linux() }
}

/// A sender with its environment.
struct Host {
    endpoint: TcpEndpoint,
    pool: PacketPool,
    outbox: Outbox,
}

impl Host {
    fn new(config: TcpConfig, direction: Direction) -> Self {
        let endpoint = TcpEndpoint::new(config, Path::new(FlowId(0), direction));
        Self { endpoint, pool: PacketPool::with_capacity(1024), outbox: Outbox::with_capacity(64) }
    }

    fn call(&mut self, now: Instant, act: impl FnOnce(&mut TcpEndpoint, &mut Cx<'_>)) {
        let Self { endpoint, pool, outbox } = self;
        act(endpoint, &mut Cx { now, pool, outbox, topics: TopicSet::NONE, probe: &mut Silence });
    }

    /// The segments sent since the last call.
    fn sent(&mut self) -> impl Iterator<Item = (TcpHeader, u32)> {
        self.outbox.drain(..).map(|(_, packet)| {
            let packet = self.pool.consume(packet);
            let Header::Tcp(header) = packet.header else { unreachable!("only TCP here") };
            (header, packet.payload.len())
        })
    }

    fn take_in(&mut self, now: Instant, header: &TcpHeader, payload: u32) {
        self.call(now, |endpoint, cx| {
            endpoint.handle_segment(cx, header, Ecn::NotCapable, payload);
            endpoint.read(now, u64::MAX);
            endpoint.flush(cx);
        });
    }

    /// Handles the timers up to and including this instant.
    fn run_to(&mut self, end: Instant, mut sent: impl FnMut(Instant, TcpHeader, u32)) {
        while self.endpoint.next_timeout() <= end {
            let now = self.endpoint.next_timeout();
            self.call(now, |endpoint, cx| endpoint.handle_timeout(cx));
            self.sent().for_each(|(header, payload)| sent(now, header, payload));
        }
    }

    fn begin(&mut self) {
        self.endpoint.supply_endless();
        self.call(Instant::ZERO, |endpoint, cx| endpoint.connect(cx));
    }
}

/// Records the receiver's segments, with the times at which they arrive at the sender.
fn record(congestion: CongestionKind) -> Vec<(Instant, TcpHeader)> {
    let mut sender = Host::new(config(congestion), Direction::Downlink);
    let mut receiver = Host::new(config(congestion), Direction::Uplink);
    let mut down: VecDeque<(Instant, TcpHeader, u32)> = VecDeque::new();
    let mut up: VecDeque<(Instant, TcpHeader)> = VecDeque::new();
    let mut free_at = Instant::ZERO;
    let mut carry = |now: Instant, down: &mut VecDeque<_>, header, payload| {
        free_at = now.max(free_at) + SPACING;
        down.push_back((free_at + DELAY, header, payload));
    };
    sender.begin();
    sender.sent().for_each(|(header, payload)| carry(Instant::ZERO, &mut down, header, payload));
    let mut arrived = Vec::with_capacity(SETTLED + MEASURED);
    while arrived.len() < SETTLED + MEASURED {
        let next = |at: Option<Instant>| at.unwrap_or(Instant::FAR_FUTURE);
        let (at_receiver, at_sender) = (next(down.front().map(|p| p.0)), next(up.front().map(|p| p.0)));
        let now = at_receiver.min(at_sender).min(receiver.endpoint.next_timeout());
        let now = now.min(sender.endpoint.next_timeout());
        sender.run_to(now, |now, header, payload| carry(now, &mut down, header, payload));
        receiver.run_to(now, |now, header, _| up.push_back((now + DELAY, header)));
        if now == at_sender {
            let (_, header) = up.pop_front().expect("it is due");
            arrived.push((now, header));
            sender.take_in(now, &header, 0);
            sender.sent().for_each(|(header, payload)| carry(now, &mut down, header, payload));
        } else if now == at_receiver {
            let (_, header, payload) = down.pop_front().expect("it is due");
            receiver.take_in(now, &header, payload);
            up.extend(receiver.sent().map(|(header, _)| (now + DELAY, header)));
        }
    }
    assert_eq!(sender.endpoint.stats().retransmissions, 0, "nothing is lost");
    arrived
}

/// Replays the acknowledgments to a new sender; returns the time of the last [`MEASURED`] of them.
fn play(congestion: CongestionKind, acks: &[(Instant, TcpHeader)]) -> std::time::Duration {
    let mut sender = Host::new(config(congestion), Direction::Downlink);
    sender.begin();
    let mut segments = 0_u64;
    let mut turn = |(now, header): &(Instant, TcpHeader)| {
        sender.run_to(*now, |_, _, _| segments += 1);
        sender.take_in(*now, header, 0);
        segments += sender.sent().count() as u64;
    };
    acks[..SETTLED].iter().for_each(&mut turn);
    #[allow(clippy::disallowed_types, reason = "a benchmark measures wall time")]
    let begun = std::time::Instant::now();
    acks[SETTLED..].iter().for_each(&mut turn);
    let spent = begun.elapsed();
    assert!(segments > acks.len() as u64, "each acknowledgment lets two segments out");
    spent
}

fn acks(c: &mut Criterion) {
    let mut group = c.benchmark_group("ack");
    group.throughput(Throughput::Elements(1));
    for congestion in CongestionKind::ALL {
        let acks = record(congestion);
        group.bench_function(congestion.name(), |b| {
            b.iter_custom(|iterations| {
                let rounds = iterations.div_ceil(MEASURED as u64);
                let spent: std::time::Duration = (0..rounds).map(|_| play(congestion, &acks)).sum();
                spent.mul_f64(iterations as f64 / (rounds * MEASURED as u64) as f64)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, acks);
criterion_main!(benches);
