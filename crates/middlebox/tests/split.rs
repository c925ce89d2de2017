//! The split-connection proxy among peers that do what they like, on links that lose, repeat and reorder.
//! A failure names the seed that repeats it.

mod world;

use std::collections::VecDeque;

use airlane_core::{
    Bytes, Cx, Direction, Duration, FlowId, Header, Instant, Node, Outbox, PacketPool, Seeds, Silence,
    Stream, TopicSet,
};
use airlane_middlebox::{ConnectOrder, Ending, Middlebox, Side, SplitConfig, SplitProxy, WhenFull};
use airlane_transport::{
    CongestionKind, ConnectionState, LossDetection, Path, ReceiveWindowKind, TcpConfig, TcpEndpoint,
};
use world::{Channel, Script, World};

fn pick<T: Clone>(s: &mut Stream, from: &[T]) -> T {
    from[s.below(from.len() as u64) as usize].clone()
}

fn tcp(s: &mut Stream) -> TcpConfig {
    TcpConfig {
        congestion: pick(s, &[CongestionKind::NewReno, CongestionKind::Cubic, CongestionKind::Bbr]),
        timestamps: s.chance(0.5),
        sack: s.chance(0.7),
        window_scaling: s.chance(0.6),
        delayed_ack: s.chance(0.8),
        nagle: s.chance(0.5),
        ecn: s.chance(0.3),
        initial_window_segments: pick(s, &[1, 3, 10]),
        loss_detection: pick(s, &[LossDetection::RackTlp, LossDetection::Rfc6675]),
        receive_window: pick(
            s,
            &[
                ReceiveWindowKind::Fixed(Bytes(3000)),
                ReceiveWindowKind::Fixed(Bytes(65_536)),
                ReceiveWindowKind::Autotuned { initial: Bytes(131_072), max: Bytes(6_291_456) },
            ],
        ),
        mtu: pick(s, &[576, 1500]),
        rto_initial: Duration::from_millis(300),
        rto_max: Duration::from_secs(5),
        initial_sequence: s.bits() as u32,
        ..TcpConfig::linux()
    }
}

fn proxy(s: &mut Stream, id: u32) -> SplitConfig {
    SplitConfig {
        id,
        core: tcp(s),
        ran: tcp(s),
        connect: pick(s, &[ConnectOrder::AtOnce, ConnectOrder::AfterHandshake, ConnectOrder::FarEndFirst]),
        buffer: Bytes(pick(s, &[3_000, 20_000, 1 << 20])),
        memory: Bytes(pick(s, &[24_000, 100_000, 1 << 30])),
        connections: pick(s, &[2, 1000]),
        when_full: WhenFull::PassThrough,
        connect_timeout: Duration::from_secs(60),
        stall_timeout: Duration::from_secs(300),
        idle_timeout: Duration::from_secs(600),
        time_wait: Duration::from_secs(60),
        cell: None,
        seeds: Seeds::new(s.bits()),
    }
}

fn channel(s: &mut Stream) -> Channel {
    Channel {
        delay_us: s.below(60_000),
        jitter_us: pick(s, &[0, 0, 500, 30_000]),
        loss: pick(s, &[0.0, 0.01, 0.1, 0.2]),
        duplication: pick(s, &[0.0, 0.05]),
    }
}

/// What the peers of a run are up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mischief {
    None,
    Aborts,
    Vanishes,
}

fn script(s: &mut Stream, connects: Option<Instant>, mischief: Mischief) -> Script {
    let at = |s: &mut Stream, most: u64| Instant::from_millis(s.below(most));
    let mut writes = vec![];
    let mut when = Instant::ZERO;
    for _ in 0..=s.below(4) {
        writes.push((when, pick(s, &[0, 1, 700, 1448, 20_000, 120_000])));
        when += Duration::from_millis(s.below(3_000));
    }
    let from = at(s, 4_000);
    let until = from + Duration::from_millis(s.below(20_000));
    let never = Instant::FAR_FUTURE;
    Script {
        config: tcp(s),
        connects,
        writes,
        stalls: if s.chance(0.4) { (from, until) } else { (never, never) },
        aborts: if mischief == Mischief::Aborts && s.chance(0.6) { at(s, 6_000) } else { never },
        vanishes: if mischief == Mischief::Vanishes && s.chance(0.6) { at(s, 6_000) } else { never },
    }
}

/// A run of some connections through one proxy or two. Returns what it came to, in one line.
fn run(seed: u64, mischief: Mischief) -> String {
    let mut s = Seeds::new(seed).stream("split");
    let count = 1 + s.below(2) as u32;
    let configs: Vec<SplitConfig> = (0..count).map(|id| proxy(&mut s, id)).collect();
    let channels: Vec<Channel> = (0..=count).map(|_| channel(&mut s)).collect();
    let reliable = channels.iter().all(|channel| channel.loss == 0.0);
    let pairs: Vec<(Script, Script)> = (0..1 + s.below(4))
        .map(|_| {
            let start = Instant::from_millis(s.below(500));
            let by_client = s.chance(0.5);
            let server = script(&mut s, (!by_client).then_some(start), mischief);
            (server, script(&mut s, by_client.then_some(start), mischief))
        })
        .collect();
    let describe = format!("seed {seed}, {mischief:?}");
    let memory: Vec<u64> = configs.iter().map(|config| config.memory.get()).collect();
    let proxies = configs.into_iter().map(SplitProxy::new).collect();
    let mut world = World::new(proxies, channels, pairs, (s, true));
    world.run(Instant::from_millis(2_000_000), |world| {
        for (proxy, most) in world.proxies.iter().zip(&memory) {
            let held: u64 = proxy.function().statistics().held.iter().sum();
            let (used, peak) = proxy.function().memory();
            assert!(held <= used && used <= peak && peak <= *most, "{held} {used} {peak} {most}: {describe}");
        }
    });
    for proxy in world.proxies.iter().map(|proxy| proxy.function()) {
        assert!(proxy.is_empty(), "connections are left: {:?} {describe}", proxy.statistics());
        assert_eq!(proxy.memory().0, 0, "memory is left: {describe}");
        assert_eq!((proxy.statistics().held, proxy.statistics().open), ([0; 2], 0), "{describe}");
    }

    let passed = world.proxies.iter().any(|proxy| proxy.function().statistics().passed > 0);
    assert!(passed || world.pool.live() == 0, "packets are left: {describe}");
    let mut lines = vec![];
    for (server, client) in world.servers.iter().zip(&world.clients) {
        for (from, to) in [(server, client), (client, server)] {
            assert!(to.read <= from.script.total(), "more came than was sent: {describe}");
            if mischief == Mischief::None {
                assert_eq!(to.read, from.script.total(), "not all came: {describe}");
                assert_eq!(to.end.state(), ConnectionState::Closed, "{describe}");
            } else {
                let over = matches!(
                    to.end.state(),
                    ConnectionState::Closed | ConnectionState::Reset | ConnectionState::Listen
                );
                // An end that has nothing to send does not learn of a RST that is lost, and nobody gives up a
                // connection that passes.
                assert!(over || to.gone || passed || !reliable, "{:?} {describe}", to.end.state());
            }
            lines.push(format!("{} {:?}", to.read, to.end.stats().established_at));
        }
    }
    format!("{lines:?} {:?}", world.proxies[0].function().statistics())
}

#[test]
fn every_byte_arrives_once_and_in_order_and_connections_close() {
    (0..400).for_each(|seed| drop(run(seed, Mischief::None)));
}

#[test]
fn a_reset_reaches_the_other_side_and_nothing_is_left() {
    (10_000..10_300).for_each(|seed| drop(run(seed, Mischief::Aborts)));
}

#[test]
fn a_peer_that_falls_silent_is_given_up_and_nothing_is_left() {
    (20_000..20_300).for_each(|seed| drop(run(seed, Mischief::Vanishes)));
}

#[test]
fn a_run_repeats() {
    for seed in [3, 1_003, 2_003] {
        assert_eq!(run(seed, Mischief::None), run(seed, Mischief::None));
    }
}

/// Servers send 200 kB each to clients that never read: what the clients offer fills, then the memory of the
/// proxy, and no more. Then the clients are given up, and everything is free again.
#[test]
fn memory_stays_under_its_bound_with_ten_thousand_stalled_clients() {
    const MEMORY: u64 = 96 << 20;
    const CLIENTS: u32 = 10_000;
    let config = SplitConfig {
        core: TcpConfig::linux(),
        ran: TcpConfig::linux(),
        connect: ConnectOrder::AtOnce,
        buffer: Bytes(4 << 20),
        memory: Bytes(MEMORY),
        connections: CLIENTS as usize,
        ..proxy(&mut Seeds::new(1).stream("unused"), 0)
    };
    let mut proxy = Middlebox::new(SplitProxy::new(config));
    let mut pool = PacketPool::default();
    let small = TcpConfig { receive_window: ReceiveWindowKind::Fixed(Bytes(8_000)), ..TcpConfig::linux() };
    for flow in 0..CLIENTS {
        // Without delay on any link: until nobody has anything to say.
        let path = |direction| Path::new(FlowId(flow), direction);
        let mut server = TcpEndpoint::new(TcpConfig::linux(), path(Direction::Downlink));
        let mut client = TcpEndpoint::new(small.clone(), path(Direction::Uplink));
        server.supply(200_000);
        let mut outbox = vec![];
        with(&mut pool, Instant::ZERO, &mut outbox, |cx| server.connect(cx));
        let mut line: VecDeque<_> = outbox.drain(..).map(|(_, packet)| (None, packet)).collect();
        while let Some((port, packet)) = line.pop_front() {
            with(&mut pool, Instant::ZERO, &mut outbox, |cx| {
                let (end, from) = match port {
                    None => return proxy.handle_packet(cx, Side::Core.port(), packet),
                    Some(port) if port == Side::Core.port() => (&mut server, None),
                    Some(_) => (&mut client, Some(())),
                };
                let packet = cx.pool.consume(packet);
                let Header::Tcp(header) = packet.header else { panic!("a stranger") };
                end.handle_segment(cx, &header, packet.ecn, packet.payload.len());
                end.flush(cx);
                for (_, packet) in core::mem::take(cx.outbox) {
                    let side = if from.is_none() { Side::Core } else { Side::Ran };
                    proxy.handle_packet(cx, side.port(), packet);
                }
            });
            line.extend(outbox.drain(..).map(|(port, packet)| (Some(port), packet)));
        }
        let (used, peak) = proxy.function().memory();
        assert!(used <= MEMORY && peak <= MEMORY, "{used} {peak}");
    }
    let statistics = proxy.function().statistics();
    assert_eq!((statistics.open, statistics.passed), (u64::from(CLIENTS), 0));
    // A reserve of 3000 bytes each way is 60 MB; the rest of 100.7 MB went to the first of them.
    assert!(
        statistics.held[0] > 30_000_000 && statistics.held_peak_one[0] > 200_000 - 8_000,
        "{statistics:?}"
    );
    let mut outbox = vec![];
    while let Some(at) = proxy.next_timeout() {
        with(&mut pool, at, &mut outbox, |cx| proxy.handle_timeout(cx));
        outbox.drain(..).for_each(|(_, packet)| drop(pool.consume(packet)));
    }
    assert!(proxy.function().is_empty());
    assert_eq!(proxy.function().statistics().ended(Ending::Stalled), u64::from(CLIENTS));
    assert_eq!(proxy.function().memory().0, 0);
}

fn with(pool: &mut PacketPool, now: Instant, outbox: &mut Outbox, act: impl FnOnce(&mut Cx<'_>)) {
    act(&mut Cx { now, pool, outbox, topics: TopicSet::NONE, probe: &mut Silence });
}
