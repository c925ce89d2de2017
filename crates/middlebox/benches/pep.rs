//! The cost of a passing segment at a PEP, and of a message at the server.

use airlane_core::{
    Cx, Direction, Duration, FlowId, Header, Instant, Node, Outbox, Packet, PacketPool, Payload, Silence,
    TcpFlags, TcpHeader, TopicSet,
};
use airlane_middlebox::{Middlebox, Pep, PepConfig, Side};
use airlane_net::pep::{Key, Message, Receiver};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};

const SEGMENT: u32 = 1448;
/// Flows in turn, as many as fit into the table.
const FLOWS: u32 = 1000;

fn config(ack_every: u32) -> PepConfig {
    PepConfig {
        id: 0,
        secret: b"bench".to_vec(),
        flows: FLOWS as usize,
        ranges: 32,
        ack_every,
        max_delay: Duration::from_secs(1),
        min_interval: Duration::ZERO,
        reordering: 3,
        idle: Duration::from_secs(60),
        cell: None,
        fault: None,
    }
}

/// A PEP through which the flows send in turn.
struct Path {
    node: Middlebox<Pep>,
    pool: PacketPool,
    outbox: Outbox,
    count: u32,
}

impl Path {
    fn new(ack_every: u32) -> Self {
        let (pool, outbox) = (PacketPool::with_capacity(16), Outbox::with_capacity(16));
        let mut path = Self { node: Middlebox::new(Pep::new(config(ack_every))), pool, outbox, count: 0 };
        (0..4 * FLOWS).for_each(|_| path.pass(FLOWS));
        path
    }

    /// The next segment of the next flow passes, and the resulting packets are removed.
    fn pass(&mut self, flows: u32) {
        let (flow, turn) = (FlowId(self.count % flows), self.count / flows);
        self.count += 1;
        let header = TcpHeader {
            sequence: turn.wrapping_mul(SEGMENT),
            flags: TcpFlags(TcpFlags::ACK),
            ..TcpHeader::default()
        };
        let packet = Packet::new(
            flow,
            Direction::Downlink,
            Header::Tcp(header),
            Payload::Length(SEGMENT),
            Instant::ZERO,
        );
        let packet = self.pool.insert(packet);
        let Self { node, pool, outbox, .. } = self;
        let (now, topics) = (Instant::ZERO, TopicSet::NONE);
        node.handle_packet(
            &mut Cx { now, pool, outbox, topics, probe: &mut Silence },
            Side::Core.port(),
            packet,
        );
        for (_, packet) in outbox.drain(..) {
            let packet = pool.consume(packet);
            pool.recycle(packet);
        }
    }
}

fn pep(c: &mut Criterion) {
    let mut group = c.benchmark_group("pep");
    for (name, ack_every, flows) in
        [("watch", 255, FLOWS), ("watch and report", 1, FLOWS), ("unwatched", 1, u32::MAX)]
    {
        let mut path = Path::new(ack_every);
        group.bench_function(name, |b| b.iter(|| path.pass(flows)));
    }
    let key = Key::derive(b"bench", 0);
    let mut receiver = Receiver::new(key.clone(), 0);
    let mut serial = 0;
    let mut message = || {
        serial += 1;
        let mut bytes = Vec::new();
        Message { serial, ..Message::default() }.encode(&key, &mut bytes);
        bytes
    };
    group.bench_function("accept", |b| {
        b.iter_batched_ref(&mut message, |bytes| receiver.accept(bytes), BatchSize::SmallInput);
    });
    group.finish();
}

criterion_group!(benches, pep);
criterion_main!(benches);
