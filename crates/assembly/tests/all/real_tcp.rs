//! TCP connections of hosts outside of the run, with their real bytes, across each middlebox.
//!
//! The hosts are [`TcpStream`]s behind a boundary of bytes: all they exchange with the run are IP packets.

use std::collections::BTreeMap;

use airlane_assembly::{Built, FlowEnd, RunOutput, build};
use airlane_core::{
    Bytes, Cx, Direction, Duration, FlowId, Header, Instant, Outbox, Packet, PacketPool, Seeds, Silence,
    SocketPair, Stream, TcpFlags, TopicSet, UeId,
};
use airlane_record::{Column, Table};
use airlane_scenario::Scenario;
use airlane_transport::{ConnectionState, Path, TcpConfig, TcpStream};
use airlane_wire::checksum::{self, Verdict};
use airlane_wire::{Ends, IpPacket, Transport, emit, outside};

const NETWORK: &str = r#"
network = "typical"
[run]
duration = "300 s"
warmup = "0 s"
[internet]
rate = "50 Mbit/s"
delay = "15 ms"
[[cell]]
name = "a"
position = ["0 m", "0 m"]
[[cell]]
name = "b"
position = ["600 m", "0 m"]
[[ue]]
name = "phone"
position = ["100 m", "20 m"]
mobility = { kind = "line", heading = "0 deg", speed = "30 m/s" }
[[flow]]
name = "other"
to = "phone"
app = { kind = "cbr", rate = "100 kbit/s", payload = "500 B" }
transport = "udp"
"#;

const LENGTH: usize = 150_000;

/// A host's end of a connection, and its application.
struct Host {
    stream: TcpStream,
    to_write: Vec<u8>,
    written: usize,
    got: Vec<u8>,
    /// The host accepts connections.
    accepts: bool,
}

/// Both ends of a connection.
struct Connection {
    sockets: SocketPair,
    /// Server and client.
    hosts: [Host; 2],
}

struct World {
    run: Built,
    flow: FlowId,
    pool: PacketPool,
    connections: Vec<Connection>,
    /// The largest payload that arrived at server and client.
    largest: [usize; 2],
    /// Packets that arrived without bytes of their own, made by a node of the network.
    made: usize,
    /// The options of the first SYN or SYN-ACK that each end received, by connection.
    offers: BTreeMap<(usize, usize), (Option<u16>, Option<u8>)>,
    /// The share of packets that are damaged before they enter; how many were, and how many the hosts dropped.
    damage: f64,
    damaged: usize,
    dropped: usize,
    draws: Stream,
}

const ENDS: [FlowEnd; 2] = [FlowEnd::Server, FlowEnd::Host];
const SERVER: usize = 0;
const CLIENT: usize = 1;

fn random(s: &mut Stream, length: usize) -> Vec<u8> {
    (0..length).map(|_| s.bits() as u8).collect()
}

/// Addresses of the packets to this side.
fn ends(sockets: SocketPair, to: usize) -> Ends {
    let down = Ends {
        source: [198, 18, 0, 1].into(),
        source_port: sockets.server_port,
        destination: [198, 19, 0, 1].into(),
        destination_port: sockets.ue_port,
    };
    if to == CLIENT { down } else { down.reversed() }
}

impl World {
    fn new(text: &str, connections: u16, lengths: [usize; 2]) -> Self {
        let scenario = Scenario::parse(text, "<test>").and_then(|s| s.resolve());
        let mut run = build(&scenario.unwrap_or_else(|e| panic!("{e}")), 1).unwrap();
        let flow = run.open("real", Some(UeId(0))).unwrap();
        let mut s = Seeds::new(5).stream("real");
        let mut connection = |n: u16| {
            let sockets = SocketPair { server: 0, server_port: 80, ue_port: 40_000 + n };
            let hosts = [(Direction::Downlink, lengths[0]), (Direction::Uplink, lengths[1])];
            let hosts = hosts.map(|(direction, length)| {
                let config = TcpConfig { initial_sequence: s.bits() as u32, ..TcpConfig::linux() };
                let path = Path { flow, direction, sockets };
                let stream = TcpStream::new(config, path, Bytes(60_000));
                Host { stream, to_write: random(&mut s, length), written: 0, got: vec![], accepts: true }
            });
            Connection { sockets, hosts }
        };
        let connections = (0..connections).map(&mut connection).collect();
        let pool = PacketPool::default();
        Self {
            run,
            flow,
            pool,
            connections,
            largest: [0; 2],
            made: 0,
            offers: BTreeMap::new(),
            damage: 0.0,
            damaged: 0,
            dropped: 0,
            draws: s,
        }
    }

    /// Calls a host, and injects the bytes of what it sends.
    fn call(&mut self, (index, side): (usize, usize), act: impl FnOnce(&mut Host, &mut Cx<'_>)) {
        let (now, mut outbox, mut silence) = (self.run.now(), Outbox::new(), Silence);
        let mut cx = Cx {
            now,
            pool: &mut self.pool,
            outbox: &mut outbox,
            topics: TopicSet::NONE,
            probe: &mut silence,
        };
        let connection = &mut self.connections[index];
        act(&mut connection.hosts[side], &mut cx);
        let sockets = connection.sockets;
        let sent: Vec<Packet> = outbox.drain(..).map(|(_, packet)| self.pool.consume(packet)).collect();
        for packet in sent {
            let mut bytes = vec![];
            emit(&packet, &ends(sockets, 1 - side), usize::MAX, &mut bytes).unwrap();
            if self.draws.chance(self.damage) {
                // A byte of the data, or else the last of the header.
                *bytes.last_mut().unwrap() ^= 1;
                self.damaged += 1;
            }
            let arrival = outside::Arrival { flow: self.flow, direction: packet.direction, now };
            let mut packet = outside::packet(&mut self.pool, &bytes, arrival).unwrap();
            packet.sockets = sockets;
            self.run.inject(self.flow, ENDS[side], packet, now);
        }
    }

    /// Gives the hosts what has arrived for them.
    fn deliver(&mut self) {
        while let Some((side, packet)) = ENDS
            .into_iter()
            .enumerate()
            .find_map(|(side, end)| self.run.take(self.flow, end).map(|(_, packet)| (side, packet)))
        {
            self.made += usize::from(packet.outside().is_none());
            let mut bytes = vec![];
            emit(&packet, &ends(packet.sockets, side), usize::MAX, &mut bytes).unwrap();
            if checksum::verify_transport(&bytes) != Verdict::Correct {
                self.dropped += 1;
                continue;
            }
            let parsed = IpPacket::parse(&bytes).unwrap();
            let Transport::Tcp(tcp) = parsed.transport else { panic!("not TCP: {parsed:?}") };
            let port = if side == CLIENT { tcp.destination_port } else { tcp.source_port };
            let index = usize::from(port - 40_000);
            self.largest[side] = self.largest[side].max(parsed.payload.len());
            let arrival =
                outside::Arrival { flow: self.flow, direction: packet.direction, now: self.run.now() };
            let packet = outside::packet(&mut self.pool, &bytes, arrival).unwrap();
            let Header::Tcp(header) = packet.header else { panic!("not TCP") };
            if header.flags.has(TcpFlags::SYN) {
                self.offers
                    .entry((index, side))
                    .or_insert((header.syn.mss.map(|mss| mss.0), header.syn.window_scale));
            }
            let handle = self.pool.insert(packet);
            self.call((index, side), |host, cx| {
                if host.accepts {
                    host.stream.handle_packet(cx, handle);
                    return;
                }
                let refused = cx.pool.consume(handle);
                let Header::Tcp(header) = refused.header else { return };
                let Some(answer) = airlane_transport::refusal(&header, refused.payload.len()) else { return };
                let payload = airlane_core::Payload::Length(0);
                let direction = if side == CLIENT { Direction::Uplink } else { Direction::Downlink };
                let packet = Packet::new(FlowId(0), direction, Header::Tcp(answer), payload, cx.now);
                let packet = cx.pool.insert(packet);
                cx.send(0, packet);
            });
        }
    }

    /// The applications write and read.
    fn work(&mut self) {
        for index in 0..self.connections.len() {
            for side in [SERVER, CLIENT] {
                self.call((index, side), |host, cx| {
                    host.stream.read(cx.now, usize::MAX, &mut host.got);
                    let open = host.stream.state() == ConnectionState::Established;
                    if open && host.written < host.to_write.len() {
                        host.written += host.stream.write(&host.to_write[host.written..]);
                    } else if open && host.stream.stats().established_at.is_some() {
                        host.stream.shutdown(); // the other direction continues
                    }
                    host.stream.flush(cx);
                });
            }
        }
    }

    fn connect(&mut self) {
        for index in 0..self.connections.len() {
            self.call((index, CLIENT), |host, cx| host.stream.connect(cx));
        }
    }

    /// One step: to the next time at which something is due.
    fn step(&mut self) {
        let hosts = self.connections.iter().flat_map(|connection| &connection.hosts);
        let due = hosts.map(|host| host.stream.next_timeout()).min().unwrap();
        let next = self.run.next_event().unwrap_or(Instant::FAR_FUTURE).min(due);
        self.run.advance(next.max(self.run.now()));
        self.deliver();
        for index in 0..self.connections.len() {
            for side in [SERVER, CLIENT] {
                if self.connections[index].hosts[side].stream.next_timeout() <= self.run.now() {
                    self.call((index, side), |host, cx| host.stream.handle_timeout(cx));
                }
            }
        }
        self.work();
    }

    /// Runs until all connections have closed.
    fn finish(mut self, name: &str) -> (Self, RunOutput) {
        self.connect();
        let closed = |host: &Host| host.stream.state() == ConnectionState::Closed;
        while !self.connections.iter().flat_map(|connection| &connection.hosts).all(closed) {
            self.step();
            assert!(self.run.now() < Instant::from_millis(100_000), "{name}: not closed");
        }
        for (index, Connection { hosts: [server, client], .. }) in self.connections.iter().enumerate() {
            assert_eq!(self.dropped > 0, self.damage > 0.0);
            assert!(server.to_write == client.got, "{name}, {index}: other bytes at the client");
            assert!(client.to_write == server.got, "{name}, {index}: other bytes at the server");
        }
        let until = self.run.now() + Duration::from_secs(2);
        self.run.advance(until);
        self.run.check_conservation().unwrap();
        let scenario = Scenario::parse(NETWORK, "<test>").unwrap().resolve().unwrap();
        let spare = build(&scenario, 1).unwrap();
        let output = core::mem::replace(&mut self.run, spare).finish();
        (self, output)
    }
}

fn table<'a>(output: &'a RunOutput, name: &str) -> &'a Table {
    &output.tables.iter().find(|(other, _)| *other == name).expect("a table of that name").1
}

fn sum(output: &RunOutput, name: &str, column: &str) -> i64 {
    match table(output, name).column(column) {
        Some(Column::I64(values)) => values.iter().sum(),
        other => panic!("{column} is {other:?}"),
    }
}

fn with(middlebox: &str) -> String {
    format!("{NETWORK}\n{middlebox}\n")
}

#[test]
fn a_pep_observes_and_passes() {
    for at in ["gateway", "enb"] {
        let text = with(&format!("[[middlebox]]\nkind = \"pep\"\nat = \"{at}\"\n"));
        let (world, output) = World::new(&text, 4, [LENGTH, LENGTH / 3]).finish(at);
        assert_eq!(world.made, 0, "each packet is one of the hosts");
        assert!(sum(&output, "pep", "pep_acks_sent") > 100, "it has observed them");
    }
}

#[test]
fn a_split_proxy_terminates_connections_and_carries_their_bytes() {
    for at in ["gateway", "enb"] {
        for connect in ["at-once", "after-handshake", "far-end-first"] {
            let name = format!("{at}, {connect}");
            let text = with(&format!(
                "[[middlebox]]\nkind = \"split-proxy\"\nat = \"{at}\"\nconnect = \"{connect}\"\n\
                 core = {{ mss = \"1000 B\" }}\nran = {{ mss = \"700 B\", window_scaling = false }}\n"
            ));
            let (world, output) = World::new(&text, 4, [LENGTH, LENGTH / 3]).finish(&name);
            assert_eq!(sum(&output, "proxies", "connections"), 4, "{name}");
            assert_eq!(sum(&output, "proxies", "closed"), 4, "{name}");
            assert_eq!(sum(&output, "proxies", "downlink_bytes"), 4 * LENGTH as i64, "{name}");
            assert_eq!(sum(&output, "proxies", "uplink_bytes"), 4 * LENGTH as i64 / 3, "{name}");
            // Each end has received the options of the proxy, not of the other host, and segments of its leg. The
            // announced size includes the 12 bytes of timestamps.
            for index in 0..4 {
                assert_eq!(world.offers[&(index, SERVER)].0, Some(1_012), "{name}");
                assert_eq!(world.offers[&(index, CLIENT)], (Some(712), None), "{name}");
            }
            assert_eq!(world.largest, [1_000, 700], "{name}");
        }
    }
}

/// The UE moves to the other cell, and the state of its connections with it.
#[test]
fn connections_move_with_their_ue() {
    let text = NETWORK.replace("20 m\"]", "20 m\"]\n").replace("30 m/s", "60 m/s");
    let text = format!(
        "{text}\n[handover]\nhysteresis = \"1 dB\"\n[[middlebox]]\nkind = \"split-proxy\"\nat = \"enb\"\n"
    );
    let (_, output) = World::new(&text, 3, [9_000_000, 500_000]).finish("handover");
    assert!(sum(&output, "proxies", "moved_in") >= 3, "the UE was not handed over");
    assert_eq!(sum(&output, "proxies", "closed"), 3);
}

#[test]
fn resets_cross_a_split_proxy() {
    let text = with("[[middlebox]]\nkind = \"split-proxy\"\n");
    // The server refuses.
    let mut world = World::new(&text, 1, [LENGTH, LENGTH]);
    world.connections[0].hosts[SERVER].accepts = false;
    world.connect();
    while world.connections[0].hosts[CLIENT].stream.state() != ConnectionState::Reset {
        world.step();
        assert!(world.run.now() < Instant::from_millis(5_000), "no reset");
    }
    // Either end aborts in the middle of its data.
    for side in [SERVER, CLIENT] {
        let mut world = World::new(&text, 2, [3_000_000, 3_000_000]);
        world.connect();
        while world.connections[0].hosts[1 - side].got.len() < 50_000 {
            world.step();
        }
        world.call((0, side), |host, cx| host.stream.abort(cx));
        while world.connections[0].hosts[1 - side].stream.state() != ConnectionState::Reset {
            world.step();
            assert!(world.run.now() < Instant::from_millis(60_000), "no reset");
        }
        assert_eq!(world.connections[1].hosts[1 - side].stream.state(), ConnectionState::Established);
    }
}

/// Damaged segments are not for the proxy to repair: it would give them a correct checksum.
#[test]
fn a_split_proxy_takes_no_segment_with_a_wrong_checksum() {
    let text = with("[[middlebox]]\nkind = \"split-proxy\"\n");
    let mut world = World::new(&text, 1, [LENGTH, LENGTH]);
    world.damage = 0.02;
    let (world, output) = world.finish("damage");
    assert!(world.damaged > 3 && world.dropped > 3, "{} {}", world.damaged, world.dropped);
    assert_eq!(sum(&output, "proxies", "closed"), 1);
}
