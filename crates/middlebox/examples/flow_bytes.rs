//! Prints the bytes that a PEP allocates for each observed flow: the mean over a thousand, each with
//! the maximum number of holes. `make bench` runs it.

use airlane_core::{
    Cx, Direction, Duration, FlowId, Header, Instant, Outbox, Packet, PacketPool, Payload, Silence,
    TcpHeader, TopicSet,
};
use airlane_middlebox::{NetworkFunction, Pep, PepConfig, Side};

const FLOWS: u32 = 1000;
const RANGES: usize = 32;
const SEGMENT: u32 = 1448;

fn main() {
    let mut pep = Pep::new(PepConfig {
        id: 0,
        secret: b"example".to_vec(),
        flows: FLOWS as usize,
        ranges: RANGES,
        ack_every: u32::MAX,
        max_delay: Duration::from_secs(1),
        min_interval: Duration::ZERO,
        reordering: u8::MAX,
        idle: Duration::from_secs(60),
        cell: None,
        fault: None,
    });
    let mut pool = PacketPool::with_capacity(16);
    let mut outbox = Outbox::with_capacity(16);
    let mut pass = |pep: &mut Pep, flow: u32, sequence: u32| {
        let header = Header::Tcp(TcpHeader { sequence, ..TcpHeader::default() });
        let packet =
            Packet::new(FlowId(flow), Direction::Downlink, header, Payload::Length(SEGMENT), Instant::ZERO);
        let packet = pool.insert(packet);
        let (now, topics) = (Instant::ZERO, TopicSet::NONE);
        let mut cx = Cx { now, pool: &mut pool, outbox: &mut outbox, topics, probe: &mut Silence };
        if let Some(packet) = pep.on_packet(&mut cx, Side::Core, packet) {
            drop(pool.consume(packet));
        }
    };
    let taken = allocation_counter::measure(|| {
        for flow in 0..FLOWS {
            (0..=RANGES as u32).for_each(|k| pass(&mut pep, flow, 2 * SEGMENT * k));
        }
    });
    assert_eq!(pep.watched(), FLOWS as usize);
    println!("{}", taken.bytes_current / i64::from(FLOWS));
}
