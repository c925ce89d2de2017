//! A proxied download in steady state allocates nothing.

use std::collections::VecDeque;

use airlane_core::{
    Bytes, Cx, Direction, Duration, FlowId, Header, Instant, Node, Outbox, PacketPool, Seeds, Silence,
    TopicSet,
};
use airlane_middlebox::{ConnectOrder, Middlebox, Side, SplitConfig, SplitProxy, WhenFull};
use airlane_transport::{Path, ReceiveWindowKind, TcpConfig, TcpEndpoint};

fn with<R>(
    pool: &mut PacketPool,
    now: Instant,
    outbox: &mut Outbox,
    act: impl FnOnce(&mut Cx<'_>) -> R,
) -> R {
    act(&mut Cx { now, pool, outbox, topics: TopicSet::NONE, probe: &mut Silence })
}

#[test]
fn a_download_through_a_proxy_allocates_nothing_after_its_start() {
    let window = ReceiveWindowKind::Fixed(Bytes(65_535));
    let tcp = TcpConfig { receive_window: window, ..TcpConfig::linux() };
    let mut proxy = Middlebox::new(SplitProxy::new(SplitConfig {
        id: 0,
        core: tcp.clone(),
        ran: tcp.clone(),
        shared_window_max: None,
        connect: ConnectOrder::AtOnce,
        buffer: Bytes(1 << 20),
        memory: Bytes(1 << 24),
        connections: 10,
        when_full: WhenFull::PassThrough,
        connect_timeout: Duration::from_secs(60),
        stall_timeout: Duration::from_secs(300),
        idle_timeout: Duration::from_secs(7440),
        time_wait: Duration::from_secs(60),
        cell: None,
        seeds: Seeds::new(1),
    }));
    let path = |direction| Path::new(FlowId(0), direction);
    let mut server = TcpEndpoint::new(tcp.clone(), path(Direction::Downlink));
    let mut client = TcpEndpoint::new(tcp, path(Direction::Uplink));
    server.supply_endless();
    let (mut pool, mut outbox) = (PacketPool::default(), Outbox::with_capacity(256));
    // The receiver of a packet: the proxy from a side, or the peer on a side.
    let mut line = VecDeque::with_capacity(1024);
    with(&mut pool, Instant::ZERO, &mut outbox, |cx| server.connect(cx));
    line.extend(outbox.drain(..).map(|(_, packet)| (true, Side::Core, packet)));
    let (mut steps, mut allocated, mut read) = (0_u64, 0, 0);
    while let Some((inwards, side, packet)) = line.pop_front() {
        steps += 1;
        let now = Instant::ZERO + Duration::from_micros(10 * steps);
        if steps == 60_000 {
            break;
        }
        if inwards {
            let measured = allocation_counter::measure(|| {
                with(&mut pool, now, &mut outbox, |cx| proxy.handle_packet(cx, side.port(), packet));
            });
            allocated += if steps > 20_000 { measured.count_total } else { 0 };
            let out = |(port, packet)| {
                (false, if port == Side::Core.port() { Side::Core } else { Side::Ran }, packet)
            };
            line.extend(outbox.drain(..).map(out));
            continue;
        }
        let end = if side == Side::Core { &mut server } else { &mut client };
        read += with(&mut pool, now, &mut outbox, |cx| {
            let packet = cx.pool.consume(packet);
            let Header::Tcp(header) = packet.header else { panic!("a stranger") };
            end.handle_segment(cx, &header, packet.ecn, packet.payload.len());
            let read = end.read(cx.now, u64::MAX);
            end.flush(cx);
            read
        });
        line.extend(outbox.drain(..).map(|(_, packet)| (true, side, packet)));
    }
    assert!(read > 10_000_000, "{read} bytes in {steps} steps");
    assert_eq!(allocated, 0, "in {steps} steps");
}
