//! The cost of recording a packet's arrival.

use airlane_core::{
    Bytes, CellId, Direction, Duration, Event, FlowId, Header, Instant, Packet, Payload, Probe, Seeds,
    TcpHeader, UeId,
};
use airlane_record::{CellDescription, FlowDescription, Recorder, RecorderParameters};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

fn recorder(flows: u32) -> Recorder {
    let flow = |k| FlowDescription {
        name: format!("flow-{k}"),
        to: format!("ue-{k}"),
        ue: Some((format!("ue-{k}"), UeId(k))),
        kind: "tcp".into(),
        congestion: "cubic".into(),
        app: "bulk".into(),
        direction: Direction::Downlink,
        both_directions: false,
        start: Instant::ZERO,
        stop: None,
        streams: true,
        proxies: String::new(),
    };
    Recorder::new(RecorderParameters {
        flows: (0..flows).map(flow).collect(),
        cells: vec![CellDescription {
            name: "cell".into(),
            downlink_prbs: 100,
            uplink_prbs: 100,
            slot: Duration::from_millis(1),
            pattern: [1; 3],
            harq_transmissions: 4,
            bler_target: Some(0.1),
        }],
        ues: flows as usize,
        warmup: Instant::from_millis(1),
        end: Instant::from_millis(10_000),
        bin: Some(RecorderParameters::DEFAULT_BIN),
        ..RecorderParameters::default()
    })
}

fn delivered(c: &mut Criterion) {
    for flows in [1, 100] {
        let mut group = c.benchmark_group(format!("record/{flows} flows"));
        group.throughput(Throughput::Elements(1));
        let mut stream = Seeds::new(1).stream("delays");
        let delays: Vec<u64> = (0..1024).map(|_| stream.exponential(5e7) as u64).collect();
        let header = Header::Tcp(TcpHeader::default());
        let mut packet =
            Packet::new(FlowId(0), Direction::Downlink, header, Payload::Length(1448), Instant::ZERO);
        let mut probe = recorder(flows);
        let probe: &mut dyn Probe = &mut probe;
        let (mut now, mut turn) = (1_000_000_000, 0);
        group.bench_function("delivered", |b| {
            b.iter(|| {
                turn = (turn + 1) % 1024;
                // One packet per 100 us at first; the clock stops at the end of the run.
                now = (now + 100_000).min(9_999_000_000);
                packet.flow = FlowId(turn as u32 % flows);
                packet.sent_at = Instant::from_nanos(now - delays[turn].min(now));
                let event =
                    Event::Delivered { packet: &packet, in_order: Bytes(1448), fresh: Some(Bytes(1448)) };
                probe.observe(Instant::from_nanos(now), &event);
            });
        });
        group.bench_function("transport block", |b| {
            b.iter(|| {
                turn = (turn + 1) % 1024;
                let event = Event::TransportBlock {
                    cell: CellId(0),
                    ue: UeId(turn as u32 % flows),
                    direction: Direction::Downlink,
                    process: 0,
                    mcs: 20,
                    prbs: 50,
                    bytes: Bytes(3000),
                    attempt: 0,
                    decoded: true,
                    power_limited: false,
                };
                probe.observe(Instant::from_nanos(now), &event);
            });
        });
        group.finish();
    }
}

criterion_group!(benches, delivered);
criterion_main!(benches);
