//! The split-connection proxy among peers with arbitrary behaviour, on links that lose, repeat and
//! reorder. A failure names its seed.

use std::collections::VecDeque;

use airlane_core::{
    Bytes, Direction, Duration, FlowId, Header, Instant, Node, Outbox, Packet, PacketPool, PacketRef,
    Payload, Seeds, SocketPair, TcpFlags, TcpHeader,
};
use airlane_middlebox::{ConnectOrder, Ending, Middlebox, Side, SplitConfig, SplitProxy};
use airlane_transport::{Path, ReceiveWindowKind, TcpConfig, TcpEndpoint};

use crate::world::{
    Channel, Circumstances, Mischief, Script, World, channel, is_bounded, is_done, judge, pairs, proxy, with,
};

/// The maximum duration of a run: the longest timeouts of the proxy, and the retransmission timeouts of the
/// longest transfer.
///
/// A run over lossy channels consists mostly of timeouts, each of up to `rto_max`. The timeout stays long,
/// because the sender measures it: if the ACKs of a flight are lost, the answer to the retransmission of its
/// first segment echoes the timestamp of the first transmission. That segment is before the window, so its
/// own timestamp is not recorded (RFC 7323 §5.3, R2 before R3), and the sample contains the timeout. Linux
/// 6.18 does the same: RTO 204 ms before and 2,688 ms after the ACK of five segments whose head was sent
/// three times. After a timeout one segment is sent. With the probability q that it and its ACK pass, 1/q - 1
/// timeouts are expected for each; a flight of several segments needs fewer.
fn limit(proxy: &SplitConfig, channels: &[Channel], pairs: &[(Script, Script)]) -> Instant {
    let waits = [proxy.connect_timeout, proxy.stall_timeout, proxy.idle_timeout, proxy.time_wait];
    let scripts = pairs.iter().flat_map(|(server, client)| [server, client]);
    let payload = scripts.clone().map(|script| script.config.mss() - 12).min().unwrap_or(1); // less the timestamps
    let bytes = scripts.clone().map(Script::total).max().unwrap_or(0);
    let pass: f64 = channels.iter().map(|channel| 1.0 - channel.loss).product();
    let q = pass * pass;
    let timeouts = bytes.div_ceil(u64::from(payload)) as f64 * (1.0 / q - 1.0);
    let rto_max = scripts.map(|script| script.config.rto_max).max().unwrap_or(Duration::ZERO);
    let waits = waits.into_iter().fold(Instant::ZERO, |sum, wait| sum + wait);
    waits + Duration::from_secs_f64(rto_max.as_secs_f64() * timeouts)
}

/// A run of some connections through one or two proxies. Returns its result in one line.
fn run(seed: u64, mischief: Mischief) -> String {
    let mut s = Seeds::new(seed).stream("split");
    let count = 1 + s.below(2) as u32;
    let configs: Vec<SplitConfig> = (0..count).map(|id| proxy(&mut s, id)).collect();
    let channels: Vec<Channel> = (0..=count).map(|_| channel(&mut s)).collect();
    let reliable = channels.iter().all(|channel| channel.loss == 0.0);
    let pairs = pairs(&mut s, mischief);
    let describe = format!("seed {seed}, {mischief:?}");
    let memory: Vec<u64> = configs.iter().map(|config| config.memory.get()).collect();
    let until = limit(&configs[0], &channels, &pairs);
    let proxies = configs.into_iter().map(SplitProxy::new).collect();
    let mut world = World::new(proxies, channels, pairs, s);
    world.run(until, |world| {
        for (proxy, most) in world.proxies.iter().zip(&memory) {
            is_bounded(proxy.function(), *most, &describe);
        }
    });
    world.proxies.iter().for_each(|proxy| is_done(proxy.function(), &describe));
    let statistics: Vec<_> = world.proxies.iter().map(|proxy| proxy.function().statistics()).collect();
    let how = Circumstances::new(mischief, reliable, &statistics);
    assert!(how.may_leave_packets() || world.pool.live() == 0, "packets are left: {describe}");
    let came = judge((&world.servers, &world.clients), how, &describe);
    format!("{came} {statistics:?}")
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

/// Servers send 200 kB each to clients that never read: the windows of the clients fill, then the memory of
/// the proxy, but not beyond its bound. Then the clients are aborted, and all memory is free again.
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
    // Its application never reads, so that its acknowledgments would wait for a timer.
    let receive_window = ReceiveWindowKind::Fixed(Bytes(8_000));
    let small = TcpConfig { receive_window, delayed_ack: false, ..TcpConfig::linux() };
    for flow in 0..CLIENTS {
        // Without delay on any link: until no end has anything to send.
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
    // A reserve of 3000 bytes each way is 60 MB; the rest of 100.7 MB is used by the first of them.
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

/// Data that an attacker sends at the right position, without an acknowledgment or with one of unsent data,
/// is rejected; it must not replace buffered data behind a gap.
#[test]
fn what_an_end_throws_away_does_not_reach_its_buffer() {
    let mut s = Seeds::new(1).stream("strangers");
    let tcp = TcpConfig { timestamps: false, nagle: false, ..TcpConfig::linux() };
    let (buffer, memory, connections) = (Bytes(1 << 20), Bytes(1 << 24), 10);
    let connect = ConnectOrder::AtOnce;
    let (core, ran) = (tcp.clone(), tcp.clone());
    let config = SplitConfig { core, ran, connect, buffer, memory, connections, ..proxy(&mut s, 0) };
    let mut proxy = Middlebox::new(SplitProxy::new(config));
    let mut client = TcpEndpoint::new(tcp, Path::new(FlowId(0), Direction::Uplink));
    let (mut pool, mut came, mut proxy_number) = (PacketPool::default(), vec![], 0);
    // The server is simulated by hand: its SYN has the number 99, its data begin at 100.
    let mut say = |sequence: u32, acknowledges: Option<u32>, flags: u16, bytes: &[u8]| {
        let acknowledgment = acknowledges.unwrap_or(0);
        let flags = TcpFlags(flags | if acknowledges.is_some() { TcpFlags::ACK } else { 0 });
        let header = TcpHeader { sequence, acknowledgment, window: 60_000, flags, ..TcpHeader::default() };
        let payload = Payload::Bytes(bytes.to_vec().into());
        let now = Instant::from_millis(1);
        let packet = Packet::new(FlowId(0), Direction::Downlink, Header::Tcp(header), payload, now);
        let mut line = VecDeque::from([(Side::Core, pool.insert(packet))]);
        let mut outbox = vec![];
        while let Some((side, packet)) = line.pop_front() {
            with(&mut pool, now, &mut outbox, |cx| proxy.handle_packet(cx, side.port(), packet));
            for (port, packet) in core::mem::take(&mut outbox) {
                let packet = pool.consume(packet);
                let Header::Tcp(header) = packet.header else { panic!("a stranger") };
                if port == Side::Core.port() {
                    proxy_number = header.sequence.wrapping_add(u32::from(header.flags.has(TcpFlags::SYN)));
                    continue;
                }
                if let Payload::Bytes(bytes) = &packet.payload {
                    came.extend_from_slice(bytes);
                }
                with(&mut pool, now, &mut outbox, |cx| {
                    client.handle_segment(cx, &header, packet.ecn, packet.payload.len());
                    client.read(now, u64::MAX);
                    client.flush(cx);
                });
                line.extend(outbox.drain(..).map(|(_, packet)| (Side::Ran, packet)));
            }
        }
        (proxy_number, came.clone())
    };
    let (number, _) = say(99, None, TcpFlags::SYN, &[]);
    say(100, Some(number), 0, &[]);
    say(110, Some(number), 0, &[2; 10]);
    say(105, None, 0, &[9; 15]);
    say(105, Some(number.wrapping_add(1)), 0, &[9; 15]);
    say(105, Some(number.wrapping_add(1)), TcpFlags::SYN, &[9; 15]);
    let (_, came) = say(100, Some(number), 0, &[1; 10]);
    assert_eq!(came, [[1; 10], [2; 10]].concat());
}

/// Sends 400 kB to a UE through the proxy, without delay on any link. Returns the number of data segments that the proxy
/// sends before the first acknowledgment: what it has for the UE waits until the server has nothing more to send.
fn first_flight(proxy: &mut Middlebox<SplitProxy>, pool: &mut PacketPool, flow: u32, ue_port: u16) -> usize {
    let now = Instant::from_millis(1);
    let sockets = SocketPair { ue_port, ..SocketPair::default() };
    let path = |direction| Path { sockets, ..Path::new(FlowId(flow), direction) };
    let mut server = TcpEndpoint::new(TcpConfig::linux(), path(Direction::Downlink));
    let mut client = TcpEndpoint::new(TcpConfig::linux(), path(Direction::Uplink));
    server.supply(400_000);
    let (mut outbox, mut flights) = (vec![], vec![]);
    with(pool, now, &mut outbox, |cx| server.connect(cx));
    let mut to_proxy: VecDeque<_> = outbox.drain(..).map(|(_, packet)| (Side::Core, packet)).collect();
    let mut to_client = vec![];
    loop {
        while let Some((side, packet)) = to_proxy.pop_front() {
            with(pool, now, &mut outbox, |cx| proxy.handle_packet(cx, side.port(), packet));
            for (port, packet) in core::mem::take(&mut outbox) {
                if port == Side::Ran.port() {
                    to_client.push(packet);
                } else {
                    receive(pool, now, &mut server, packet, &mut outbox);
                    to_proxy.extend(outbox.drain(..).map(|(_, packet)| (Side::Core, packet)));
                }
            }
        }
        if to_client.is_empty() {
            return flights[0];
        }
        let data = |packet: &PacketRef| !pool.get(packet).payload.is_empty();
        flights
            .extend(Some(to_client.iter().filter(|packet| data(packet)).count()).filter(|count| *count > 0));
        for packet in core::mem::take(&mut to_client) {
            receive(pool, now, &mut client, packet, &mut outbox);
            to_proxy.extend(outbox.drain(..).map(|(_, packet)| (Side::Ran, packet)));
        }
    }
}

fn receive(
    pool: &mut PacketPool,
    now: Instant,
    end: &mut TcpEndpoint,
    packet: PacketRef,
    outbox: &mut Outbox,
) {
    with(pool, now, outbox, |cx| {
        let packet = cx.pool.consume(packet);
        let Header::Tcp(header) = packet.header else { panic!("a stranger") };
        end.handle_segment(cx, &header, packet.ecn, packet.payload.len());
        end.read(now, u64::MAX);
        end.flush(cx);
    });
}

/// Connections of one flow share what they know of the path to the UE: the second begins with the congestion window
/// of the first, at most 40 segments, and one of another flow with 10.
#[test]
fn a_new_connection_begins_with_the_window_of_the_others() {
    let tcp = TcpConfig::linux();
    let config = SplitConfig {
        core: tcp.clone(),
        ran: tcp,
        shared_window_max: Some(40),
        connect: ConnectOrder::AtOnce,
        buffer: Bytes(4 << 20),
        memory: Bytes(1 << 30),
        connections: 10,
        ..proxy(&mut Seeds::new(1).stream("unused"), 0)
    };
    let mut proxy = Middlebox::new(SplitProxy::new(config));
    let mut pool = PacketPool::default();
    assert_eq!(first_flight(&mut proxy, &mut pool, 0, 5_000), 10);
    assert_eq!(first_flight(&mut proxy, &mut pool, 0, 5_001), 40);
    assert_eq!(first_flight(&mut proxy, &mut pool, 1, 5_000), 10);
}
