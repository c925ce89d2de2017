//! The cost of a packet on each kind of link, under a load that keeps a standing queue.

use std::sync::Arc;

use airlane_core::{
    BitRate, Bytes, Cx, Direction, Duration, FlowId, Header, Instant, Node, Outbox, Packet, PacketPool,
    Payload, Seeds, Silence, TopicSet, UdpHeader,
};
use airlane_net::queue::{Aqm, Limit, QueueDiscipline};
use airlane_net::{
    DeliveryTrace, Discipline, Link, LinkParameters, ManagedLink, TraceLink, codel, dualpi2, fq_codel, pie,
    red,
};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// The link with its packets: one arrives per millisecond, which is also the link's rate.
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

    /// One millisecond: a packet arrives, and all due timers run.
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
    let under = |aqm| Discipline::new(&aqm, limit, || Seeds::new(1).stream("queue"));
    let parameters = LinkParameters {
        rate: Some(BitRate(12_000_000)), // 1500 bytes per millisecond
        delay: Duration::from_millis(5),
        ..LinkParameters::default()
    };
    let trace = Arc::new(DeliveryTrace::parse("1\n", "bench").expect("one number a line"));
    let links: [(&str, Box<dyn Node>); 4] = [
        ("plain", Box::new(Link::new(LinkParameters { queue: Some(limit.bytes), ..parameters.clone() }))),
        ("drop-tail", Box::new(ManagedLink::new(parameters.clone(), under(Aqm::DropTail)))),
        ("codel", Box::new(ManagedLink::new(parameters, under(Aqm::CoDel(codel::Parameters::default()))))),
        ("trace", Box::new(TraceLink::new(trace, Duration::from_millis(5), under(Aqm::DropTail), None))),
    ];
    let mut group = c.benchmark_group("link");
    group.throughput(Throughput::Elements(1));
    for (name, mut node) in links {
        let mut bench = Bench::new(node.as_mut());
        group.bench_function(name, |b| b.iter(|| bench.turn(node.as_mut())));
    }
    group.finish();
}

/// A packet enters a queue of 100 packets, and one leaves it.
fn disciplines(c: &mut Criterion) {
    let rules = [
        ("drop-tail", Aqm::DropTail),
        ("red", Aqm::Red(red::Parameters::default())),
        ("codel", Aqm::CoDel(codel::Parameters::default())),
        ("fq-codel", Aqm::FqCoDel(fq_codel::Parameters::default())),
        ("pie", Aqm::Pie(pie::Parameters::default())),
        ("dualpi2", Aqm::DualPi2(dualpi2::Parameters::default())),
    ];
    let mut group = c.benchmark_group("queue");
    group.throughput(Throughput::Elements(1));
    for (name, aqm) in rules {
        let limit = Limit::bytes(Bytes(150_000));
        let mut queue = Discipline::new(&aqm, limit, || Seeds::new(1).stream("queue"));
        let (mut pool, mut outbox) = (PacketPool::with_capacity(256), Outbox::new());
        let (mut now, mut flow) = (Instant::ZERO, 0);
        let mut turn = |takes: bool| {
            now += Duration::from_micros(100);
            flow = (flow + 1) % 8;
            let header = Header::Udp(UdpHeader::default());
            let packet = Packet::new(FlowId(flow), Direction::Downlink, header, Payload::Length(1472), now);
            let packet = pool.insert(packet);
            let (topics, probe) = (TopicSet::NONE, &mut Silence);
            let mut cx = Cx { now, pool: &mut pool, outbox: &mut outbox, topics, probe };
            queue.enqueue(&mut cx, packet, Bytes::ZERO);
            if takes && let Some(head) = queue.dequeue(&mut cx) {
                pool.consume(head.packet);
            }
        };
        (0..100).for_each(|_| turn(false));
        group.bench_function(name, |b| b.iter(|| turn(true)));
    }
    group.finish();
}

criterion_group!(benches, links, disciplines);
criterion_main!(benches);
