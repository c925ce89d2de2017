//! The cost of an event: the timing wheel compared with a binary heap, and a whole event, including
//! its call and a packet that is passed to the next node.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;

use airlane_core::{
    Cx, Direction, Duration, FlowId, Header, Instant, Node, NodeId, Packet, PacketRef, Payload, Port, Seeds,
    Silence, UdpHeader,
};
use airlane_engine::wheel::Wheel;
use airlane_engine::{Network, Simulation};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// Spans between an event and the next one of the same node, as they occur in a run: packet
/// spacings, slots, propagation delays, retransmission timers.
fn spans() -> Vec<u64> {
    let mut stream = Seeds::new(1).stream("spans");
    let mut draw = || match stream.below(8) {
        0..=3 => 100_000 + stream.below(100_000),
        4 | 5 => 1_000_000,
        6 => 28_000_000 + stream.below(10_000),
        _ => 200_000_000 + stream.below(1_000_000),
    };
    (0..4096).map(|_| draw()).collect()
}

/// Removes the earliest timer and inserts it again at a later time, with `n` timers armed at all times.
fn hold_model(c: &mut Criterion) {
    let spans = spans();
    for n in [16_u32, 256, 4096] {
        let mut group = c.benchmark_group(format!("hold/{n}"));
        group.throughput(Throughput::Elements(1));
        group.bench_function("wheel", |b| {
            let mut wheel = Wheel::new(n as usize);
            (0..n).for_each(|k| wheel.arm(NodeId(k), Instant::from_nanos(spans[k as usize % 4096])));
            let mut turn = 0;
            b.iter(|| {
                let (at, node) = wheel.pop_until(Instant::FAR_FUTURE).unwrap();
                turn = (turn + 1) % 4096;
                wheel.arm(node, at + Duration::from_nanos(spans[turn]));
                black_box(node)
            });
        });
        group.bench_function("heap", |b| {
            let mut heap: BinaryHeap<Reverse<(u64, u32)>> = BinaryHeap::new();
            (0..n).for_each(|k| heap.push(Reverse((spans[k as usize % 4096], k))));
            let mut turn = 0;
            b.iter(|| {
                let Reverse((at, node)) = heap.pop().unwrap();
                turn = (turn + 1) % 4096;
                heap.push(Reverse((at + spans[turn], node)));
                black_box(node)
            });
        });
        group.finish();
    }
}

/// Emits a packet when its timer fires and consumes the packets it receives.
struct Station {
    at: Instant,
    spans: Vec<u64>,
    turn: usize,
}

impl Node for Station {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, _: Port, packet: PacketRef) {
        black_box(cx.pool.consume(packet).size);
    }
    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        let header = Header::Udp(UdpHeader::default());
        let packet = Packet::new(FlowId(0), Direction::Downlink, header, Payload::Length(1000), cx.now);
        let packet = cx.pool.insert(packet);
        cx.send(0, packet);
        self.turn = (self.turn + 1) % self.spans.len();
        self.at = cx.now + Duration::from_nanos(self.spans[self.turn]);
    }
    fn next_timeout(&self) -> Option<Instant> {
        Some(self.at)
    }
    fn packets_held(&self) -> usize {
        0
    }
}

/// Emits nothing: measures the cost of the engine alone.
struct Clock {
    at: Instant,
    period: Duration,
}

impl Node for Clock {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, _: Port, packet: PacketRef) {
        cx.pool.consume(packet);
    }
    fn handle_timeout(&mut self, _: &mut Cx<'_>) {
        self.at += self.period;
    }
    fn next_timeout(&self) -> Option<Instant> {
        Some(self.at)
    }
    fn packets_held(&self) -> usize {
        0
    }
}

/// Runs until about `iterations` events have been handled, and scales the elapsed time to exactly
/// that number.
fn run_events(simulation: &mut Simulation, iterations: u64) -> std::time::Duration {
    let slice = Duration::from_millis(10);
    let mut spent = std::time::Duration::ZERO;
    let mut events = 0;
    while events < iterations {
        let before = simulation.counters().events;
        let end = simulation.now() + slice;
        #[allow(clippy::disallowed_types, reason = "a benchmark measures wall time")]
        let begun = std::time::Instant::now();
        simulation.run_until(end, &mut Silence);
        spent += begun.elapsed();
        events += simulation.counters().events - before;
    }
    spent.mul_f64(iterations as f64 / events as f64)
}

fn event(c: &mut Criterion) {
    let spans = spans();
    for n in [8_usize, 200] {
        let mut group = c.benchmark_group(format!("event/{n}"));
        group.throughput(Throughput::Elements(1));
        let mut clocks = Network::new();
        for k in 0..n as u64 {
            let period = Duration::from_nanos(100_000 + 1_001 * k);
            clocks.add(Box::new(Clock { at: Instant::ZERO, period }));
        }
        let mut clocks = Simulation::new(clocks, 16);
        group.bench_function("timer and call", |b| b.iter_custom(|k| run_events(&mut clocks, k)));
        let mut stations = Network::new();
        let ids: Vec<NodeId> = (0..n)
            .map(|k| {
                // A small table that stays in the cache, so that the engine is measured and not
                // this node.
                let spans = spans[k * 16..][..16].to_vec();
                stations.add(Box::new(Station { at: Instant::ZERO, spans, turn: 0 }))
            })
            .collect();
        for k in 0..n {
            stations.connect((ids[k], 0), (ids[(k + 1) % n], 0));
        }
        let mut stations = Simulation::new(stations, 64);
        group.bench_function("timer, two calls, a packet made, handed on and consumed", |b| {
            b.iter_custom(|k| run_events(&mut stations, k));
        });
        group.finish();
    }
}

criterion_group!(benches, hold_model, event);
criterion_main!(benches);
