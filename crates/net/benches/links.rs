//! What a packet costs on each kind of link, under a load that keeps a queue standing.

use std::sync::Arc;

use airlane_core::{
    BitRate, Bytes, Cx, Direction, Duration, FlowId, Header, Instant, Node, Outbox, Packet, PacketPool,
    Payload, Silence, TopicSet, UdpHeader,
};
use airlane_net::queue::{CoDel, DropTail, Limit};
use airlane_net::{DeliveryTrace, Discipline, Link, LinkParameters, ManagedLink, TraceLink, codel};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// The link with its packets: one comes per millisecond, and the link carries as many.
struct Bench {
    pool: PacketPool,
    outbox: Outbox,
    now: Instant,
}

impl Bench {
    fn new(node: &mut dyn Node) -> Self {
        let mut bench =
            Self { pool: PacketPool::with_capacity(64), outbox: Outbox::new(), now: Instant::ZERO };
        for _ in 0..20 {
            bench.give(node);
        }
        bench
    }

    fn call(&mut self, call: impl FnOnce(&mut Cx<'_>)) {
        let Self { pool, outbox, now } = self;
        call(&mut Cx { now: *now, pool, outbox, topics: TopicSet::NONE, probe: &mut Silence });
    }

    fn give(&mut self, node: &mut dyn Node) {
        let header = Header::Udp(UdpHeader::default());
        let packet = Packet::new(FlowId(0), Direction::Downlink, header, Payload::Length(1472), self.now);
        let packet = self.pool.insert(packet);
        self.call(|cx| node.handle_packet(cx, Link::INPUT, packet));
    }

    /// One millisecond: a packet comes, and everything that is due happens.
    fn turn(&mut self, node: &mut dyn Node) {
        let end = self.now + Duration::from_millis(1);
        while let Some(at) = node.next_timeout()
            && at <= end
        {
            self.now = at;
            self.call(|cx| node.handle_timeout(cx));
        }
        self.now = end;
        self.give(node);
        let Self { pool, outbox, .. } = self;
        outbox.drain(..).for_each(|(_, packet)| drop(pool.consume(packet)));
    }
}

fn links(c: &mut Criterion) {
    let limit = Limit::bytes(Bytes(100_000));
    let drop_tail = || Discipline::DropTail(DropTail::new(limit));
    let parameters = LinkParameters {
        rate: Some(BitRate(12_000_000)), // 1500 bytes per millisecond
        delay: Duration::from_millis(5),
        ..LinkParameters::default()
    };
    let trace = Arc::new(DeliveryTrace::parse("1\n", "bench").expect("one number a line"));
    let codel = CoDel::new(limit, codel::Parameters::default());
    let links: [(&str, Box<dyn Node>); 4] = [
        ("plain", Box::new(Link::new(LinkParameters { queue: Some(limit.bytes), ..parameters.clone() }))),
        ("drop-tail", Box::new(ManagedLink::new(parameters.clone(), drop_tail()))),
        ("codel", Box::new(ManagedLink::new(parameters, Discipline::CoDel(codel)))),
        ("trace", Box::new(TraceLink::new(trace, Duration::from_millis(5), drop_tail(), None))),
    ];
    let mut group = c.benchmark_group("link");
    group.throughput(Throughput::Elements(1));
    for (name, mut node) in links {
        let mut bench = Bench::new(node.as_mut());
        group.bench_function(name, |b| b.iter(|| bench.turn(node.as_mut())));
    }
    group.finish();
}

criterion_group!(benches, links);
criterion_main!(benches);
