//! TCP with real bytes over real packets: two streams exchange what they wrote through a network that loses, repeats,
//! reorders, marks, cuts and damages packets, with sequence numbers that wrap. A failure names its seed.

use core::net::IpAddr;
use std::collections::BinaryHeap;

use airlane_core::{
    Bytes, Cx, Direction, Duration, Ecn, FlowId, Instant, PacketPool, Seeds, Silence, Stream, TopicSet,
};
use airlane_transport::{
    ConnectionState, EcnConfig, InitialSequence, LossDetection, Path, ReceiveWindowKind, TcpConfig, TcpStream,
};
use airlane_wire::{Ends, IpPacket, Transport, checksum, emit, ip_bytes, outside, segment};

const SEND_BUFFER: u64 = 50_000;

fn pick<T: Copy>(s: &mut Stream, from: &[T]) -> T {
    from[s.below(from.len() as u64) as usize]
}

/// One end: its stream, and its application.
struct Host {
    stream: TcpStream,
    direction: Direction,
    ends: Ends,
    to_write: Vec<u8>,
    written: usize,
    got: Vec<u8>,
    /// The application reads from this time on.
    reads_from: Instant,
}

impl Host {
    fn new(s: &mut Stream, direction: Direction, ends: Ends, initial: u32) -> Self {
        let config = TcpConfig {
            initial_sequence: initial,
            mtu: pick(s, &[256, 576, 1_280, 1_500, 9_000]),
            sack: s.chance(0.8),
            timestamps: s.chance(0.7),
            window_scaling: s.chance(0.8),
            nagle: s.chance(0.5),
            ecn: pick(s, &[EcnConfig::PASSIVE, EcnConfig::CLASSIC, EcnConfig::ACCURATE]),
            loss_detection: pick(s, &[LossDetection::RackTlp, LossDetection::Rfc6675]),
            receive_window: ReceiveWindowKind::Fixed(Bytes(pick(s, &[5_000, 30_000, 200_000]))),
            // Losses are frequent: a connection is not given up.
            retries: 1_000,
            syn_retries: 100,
            synack_retries: 100,
            rto_max: Duration::from_secs(2),
            ..TcpConfig::linux()
        };
        let stream = TcpStream::new(config, Path::new(FlowId(0), direction), Bytes(SEND_BUFFER));
        let length = pick(s, &[0, 1, 1_000, 60_000, 300_000]);
        let to_write = (0..length).map(|_| s.bits() as u8).collect();
        let reads_from = Instant::from_millis(s.below(2_000));
        Self { stream, direction, ends, to_write, written: 0, got: Vec::new(), reads_from }
    }

    /// The application writes and reads some.
    fn work(&mut self, s: &mut Stream, cx: &mut Cx<'_>) {
        if cx.now >= self.reads_from {
            let limit = 1 + s.below(40_000) as usize;
            self.stream.read(cx.now, limit, &mut self.got);
        }
        let rest = &self.to_write[self.written..];
        if rest.is_empty() {
            if self.stream.state() != ConnectionState::Listen {
                self.stream.shutdown();
            }
        } else {
            let part = rest.len().min(1 + s.below(20_000) as usize);
            self.written += self.stream.write(&rest[..part]);
        }
        self.stream.flush(cx);
    }
}

/// Properties of the network.
#[derive(Clone, Copy, Debug)]
struct Network {
    loss: f64,
    copies: f64,
    cuts: f64,
    damage: f64,
    marks: f64,
    delay_us: u64,
    jitter_us: u64,
}

/// Arrival, order, receiver, and bytes.
type UnderWay = (core::cmp::Reverse<(Instant, u64)>, usize, Vec<u8>);

#[derive(Default)]
struct Run {
    under_way: BinaryHeap<UnderWay>,
    count: u64,
    damaged: u64,
    cut: u64,
}

impl Run {
    fn launch(&mut self, s: &mut Stream, network: Network, now: Instant, to: usize, bytes: &[u8]) {
        let copies = if s.chance(network.copies) { 2 } else { 1 };
        for _ in 0..copies {
            if s.chance(network.loss) {
                continue;
            }
            let mut bytes = bytes.to_vec();
            if s.chance(network.marks) && ip_bytes::ecn(&bytes) == Some(Ecn::Capable0) {
                ip_bytes::set_ecn(&mut bytes, Ecn::CongestionExperienced);
            }
            if s.chance(network.damage) {
                // Any byte of the TCP segment: its checksum finds it.
                let headers = IpPacket::parse(&bytes).expect("valid").ip.header_len();
                let at = headers + s.below((bytes.len() - headers) as u64) as usize;
                bytes[at] ^= 1 << s.below(8);
            }
            let delay = network.delay_us + s.below(network.jitter_us + 1);
            self.count += 1;
            let key = (now + Duration::from_micros(delay), self.count);
            self.under_way.push((core::cmp::Reverse(key), to, bytes));
        }
    }

    /// Sends what a host has sent: as it is, or in smaller segments.
    fn send(&mut self, s: &mut Stream, network: Network, now: Instant, to: usize, bytes: &[u8]) {
        let payload = IpPacket::parse(bytes).expect("valid").payload.len();
        if payload < 2 || !s.chance(network.cuts) {
            return self.launch(s, network, now, to, bytes);
        }
        let size = 1 + s.below(payload as u64 - 1) as u16;
        let size = size.max(payload.div_ceil(8) as u16);
        let mut segments = segment::Segments::new(bytes, size).expect("a TCP segment");
        let mut out = Vec::new();
        while segments.next_into(&mut out) {
            self.launch(s, network, now, to, &out);
            out.clear();
        }
        self.cut += 1;
    }
}

fn address(v6: bool, last: u8) -> IpAddr {
    if v6 {
        IpAddr::from([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last])
    } else {
        [10, 0, 0, last].into()
    }
}

/// Near the wrap of 32 bits and of the sign, or as RFC 6528 has it.
fn initial(s: &mut Stream, ends: Ends) -> u32 {
    match s.below(3) {
        0 => 0_u32.wrapping_sub(s.below(100_000) as u32),
        1 => 0x8000_0000_u32.wrapping_sub(s.below(100_000) as u32),
        _ => InitialSequence::new(s).at(
            Instant::ZERO,
            (ends.source, ends.source_port),
            (ends.destination, ends.destination_port),
        ),
    }
}

/// Two hosts and the network between them.
struct World {
    seed: u64,
    s: Stream,
    network: Network,
    hosts: [Host; 2],
    run: Run,
    pool: PacketPool,
    now: Instant,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut s = Seeds::new(seed).stream("byte-stream");
        let v6 = s.chance(0.5);
        let ends = Ends {
            source: address(v6, 1),
            source_port: 50_000,
            destination: address(v6, 2),
            destination_port: 80,
        };
        let network = Network {
            loss: pick(&mut s, &[0.0, 0.01, 0.1]),
            copies: pick(&mut s, &[0.0, 0.05]),
            cuts: pick(&mut s, &[0.0, 0.3]),
            damage: pick(&mut s, &[0.0, 0.01]),
            marks: pick(&mut s, &[0.0, 0.05]),
            delay_us: s.below(30_000),
            jitter_us: pick(&mut s, &[0, 200, 20_000]),
        };
        let hosts = [(Direction::Uplink, ends), (Direction::Downlink, ends.reversed())].map(|(way, ends)| {
            let initial = initial(&mut s, ends);
            Host::new(&mut s, way, ends, initial)
        });
        let (run, pool) = (Run::default(), PacketPool::default());
        Self { seed, s, network, hosts, run, pool, now: Instant::ZERO }
    }

    /// When something arrives, or a timer is due.
    fn next(&self) -> Instant {
        let arrival = self.run.under_way.peek().map_or(Instant::FAR_FUTURE, |(key, ..)| key.0.0);
        let timeouts = self.hosts.iter().map(|host| host.stream.next_timeout());
        timeouts.fold(arrival, Instant::min)
    }

    /// The next packet for this host that has arrived undamaged.
    fn arrival(&mut self, side: usize) -> Option<Vec<u8>> {
        while let Some((key, to, _)) = self.run.under_way.peek()
            && key.0.0 <= self.now
            && *to == side
        {
            let (_, _, bytes) = self.run.under_way.pop().expect("it was there");
            if checksum::verify_transport(&bytes) == checksum::Verdict::Correct {
                return Some(bytes);
            }
            self.run.damaged += 1;
        }
        None
    }

    /// Calls a host, and sends its packets.
    fn call(&mut self, side: usize, act: impl FnOnce(&mut Host, &mut Stream, &mut Cx<'_>)) {
        let (mut outbox, mut silence) = (Vec::new(), Silence);
        let (now, pool, topics) = (self.now, &mut self.pool, TopicSet::NONE);
        let host = &mut self.hosts[side];
        act(host, &mut self.s, &mut Cx { now, pool, outbox: &mut outbox, topics, probe: &mut silence });
        for (_, packet) in outbox {
            let packet = self.pool.consume(packet);
            let mut bytes = Vec::new();
            emit(&packet, &host.ends, usize::MAX, &mut bytes).expect("a TCP segment");
            assert!(matches!(IpPacket::parse(&bytes), Ok(IpPacket { transport: Transport::Tcp(_), .. })));
            self.pool.recycle(packet);
            self.run.send(&mut self.s, self.network, now, 1 - side, &bytes);
        }
        let memory = host.stream.memory() as u64;
        let most = SEND_BUFFER + 400_000 + 4 * 4_096; // twice the largest window, and pages at both ends
        assert!(memory <= most, "{memory} bytes of memory, seed {}", self.seed);
    }

    /// A host handles what is due; its application works if it may.
    fn turn(&mut self, side: usize, works: bool) {
        if self.hosts[side].stream.next_timeout() <= self.now {
            self.call(side, |host, _, cx| host.stream.handle_timeout(cx));
        }
        while let Some(bytes) = self.arrival(side) {
            self.call(side, |host, _, cx| {
                let arrival =
                    outside::Arrival { flow: FlowId(0), direction: host.direction.reversed(), now: cx.now };
                let packet = outside::packet(cx.pool, &bytes, arrival).expect("valid");
                let packet = cx.pool.insert(packet);
                host.stream.handle_packet(cx, packet);
                host.stream.flush(cx);
            });
        }
        if works {
            self.call(side, Host::work);
        }
    }

    fn is_done(&self) -> bool {
        self.hosts.iter().all(|host| host.stream.all_acknowledged() && host.stream.at_end())
    }

    /// Advances the time to the next event, or to the next turn of the applications.
    fn advance(&mut self) {
        self.now = self.next().min(self.now + Duration::from_millis(5)).max(self.now);
        let (limit, network) = (Instant::from_millis(3_600_000), self.network);
        assert!(self.now < limit, "no end: {network:?}, seed {}", self.seed);
    }
}

#[test]
fn a_reader_gets_exactly_the_bytes_that_were_written() {
    let (mut bytes, mut damaged, mut cut) = (0, 0, 0);
    for seed in 0..150 {
        let mut world = World::new(seed);
        world.call(0, |host, _, cx| host.stream.connect(cx));
        while !world.is_done() {
            world.turn(0, true);
            world.turn(1, true);
            world.advance();
        }
        assert_eq!(world.pool.live(), 0);
        let [a, b] = &world.hosts;
        let same = a.got == b.to_write && b.got == a.to_write;
        assert!(same, "other bytes than were written: {:?}, seed {seed}", world.network);
        bytes += a.got.len() + b.got.len();
        (damaged, cut) = (damaged + world.run.damaged, cut + world.run.cut);
    }
    assert!(bytes > 10_000_000 && damaged > 100 && cut > 1_000, "{bytes}, {damaged}, {cut}");
}

/// The bytes of the stream are all that the two ends of an exchange share.
#[test]
fn a_server_reads_a_request_from_the_stream() {
    for seed in 0..20 {
        let mut world = World::new(seed);
        let body: Vec<u8> = (0..100_000_u32).map(|i| (i * 7 + i / 251) as u8).collect();
        world.hosts[0].to_write = b"GET /image HTTP/1.1\r\nHost: example.org\r\n\r\n".to_vec();
        world.hosts[1].to_write = Vec::new();
        world.hosts[1].reads_from = Instant::ZERO;
        world.call(0, |host, _, cx| host.stream.connect(cx));
        let mut answered = false;
        while !world.is_done() {
            world.turn(0, true);
            // The application of the server has nothing to write before it has read the request.
            world.turn(1, answered);
            let server = &mut world.hosts[1];
            server.stream.read(world.now, usize::MAX, &mut server.got);
            if !answered && server.got.ends_with(b"\r\n\r\n") {
                let request = core::str::from_utf8(&server.got).expect("a request");
                let target = request.split(' ').nth(1).expect("a target");
                let head = format!(
                    "HTTP/1.1 200 OK\r\nX-Target: {target}\r\nContent-Length: {}\r\n\r\n",
                    body.len()
                );
                server.to_write = [head.into_bytes(), body.clone()].concat();
                answered = true;
            }
            world.advance();
        }
        let answer = &world.hosts[0].got;
        let head = b"HTTP/1.1 200 OK\r\nX-Target: /image\r\nContent-Length: 100000\r\n\r\n";
        assert!(answer.starts_with(head) && answer[head.len()..] == body, "seed {seed}");
    }
}
