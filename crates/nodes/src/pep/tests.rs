use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use airlane_middlebox::Segment;
use airlane_net::pep::{Body, Key, LENGTH_MAX, Message};
use airlane_wire::{GtpU, Ip, IpPacket, Transport, Udp};

use super::filter::SNAP;
use super::watch::{Messages, Watch};
use super::*;
use airlane_core::Instant;

const IPV4: u16 = 0x0800;
const SECRET: &str = "a secret of the tests";

fn settings(top: &str, rule: &str) -> Settings {
    let text = format!(
        "{top}\ninterface = \"eth0\"\n[[rule]]\nservers = [\"10.0.0.1\", \"fd00::1\"]\nreport_to = \"10.0.0.1:4900\"\n\
         secret = \"/secret\"\n{rule}"
    );
    from_toml(&text, "pep.toml", &settings::defaults(), Settings::check).unwrap()
}

/// Messages as they were sent, with their times.
#[derive(Default)]
struct Sent(Vec<Vec<u8>>);

impl Messages for Sent {
    fn leaves_at(&self, now: Instant) -> Instant {
        now
    }

    fn send(&mut self, _: usize, message: &[u8]) {
        self.0.push(message.to_vec());
    }
}

/// The packets of a capture with their times: the blocks of kind 6 (draft-ietf-opsawg-pcapng-03).
fn packets(file: &[u8]) -> Vec<(Instant, &[u8])> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    let (mut at, mut found) = (0, vec![]);
    while at < file.len() {
        let length = word(at + 4) as usize;
        if word(at) == 6 {
            let time = u64::from(word(at + 12)) << 32 | u64::from(word(at + 16));
            let from = at + 28;
            found.push((Instant::from_nanos(time), &file[from..from + word(at + 20) as usize]));
        }
        at += length;
    }
    found
}

/// Two downloads with losses in front of a PEP, whose messages all reach the server.
fn simulated(pep: &str) -> BTreeMap<String, Vec<u8>> {
    let text = format!(
        "network = \"typical\"\n[run]\nduration = \"6 s\"\n[output]\npcap = [\"server\", \"s1-u\"]\nsnaplen = \"1600 B\"\n\
         [[cell]]\nname = \"a\"\n[internet]\nrate = \"20 Mbit/s\"\nqueue = \"40 kB\"\ndelay = \"10 ms\"\n\
         [backhaul]\ndelay = \"0 ms\"\n[[ue]]\nname = \"phone\"\ncount = 2\nposition = [\"200 m\", \"0 m\"]\n\
         [[flow]]\nto = \"phone\"\napp = \"bulk\"\ntransport = {{ kind = \"tcp\", congestion = \"mdcc\" }}\n\
         [[middlebox]]\nkind = \"pep\"\nsecret = \"{SECRET}\"\n{pep}"
    );
    let scenario = airlane_scenario::Scenario::parse(&text, "test.toml").unwrap().resolve().unwrap();
    let mut run = airlane_assembly::build(&scenario, 1).unwrap();
    run.capture_to_memory();
    assert!(run.run(&AtomicBool::new(false)));
    run.take_captures().into_iter().collect()
}

/// The content of messages, by connection, without the number of the connection.
fn contents(messages: impl Iterator<Item = Vec<u8>>) -> Vec<Vec<(u32, u32, Body)>> {
    let mut found: BTreeMap<u64, Vec<_>> = BTreeMap::new();
    for bytes in messages {
        let flow = u64::from_be_bytes(bytes[8..16].try_into().unwrap());
        let message = Message::decode(&bytes, &Key::derive(SECRET.as_bytes(), flow)).unwrap();
        found.entry(flow).or_default().push((message.serial, message.delay_us, message.body));
    }
    let mut all: Vec<_> = found.into_values().collect();
    all.sort_by_key(|messages| match &messages[0].2 {
        Body::Tcp(report) => report.first,
        Body::Opaque(_) => panic!("the flows are TCP"),
    });
    all
}

/// The same packets give the same messages, in the simulator and here: through the parser of bytes and the rules.
/// A packet takes 0.6 ms on the link. The times of the settings avoid its multiples, because the order of a packet and
/// a message at one instant is not part of the protocol.
#[test]
fn messages_are_those_of_the_simulator() {
    for pep in [
        "",
        "ack_every = 3\nmax_delay = \"3.1 ms\"",
        "min_interval = \"2.0713 ms\"\nack_every = 2\nmax_delay = \"1.1 ms\"",
    ] {
        let captures = simulated(pep);
        let of = |name: &str| captures.iter().find(|(file, _)| file.contains(name)).unwrap().1;
        let simulated = contents(packets(of("server")).into_iter().filter_map(|(_, bytes)| {
            let packet = IpPacket::parse(bytes).ok()?;
            matches!(packet.transport, Transport::Udp(_)).then(|| packet.payload.to_vec())
        }));
        let rule = if pep.is_empty() { "ack_every = 1" } else { pep };
        let mut watch = Watch::new(&settings("messages = 1000000", rule), &[SECRET.as_bytes().to_vec()]);
        let mut sent = Sent::default();
        let mut end = Instant::ZERO;
        for (at, bytes) in packets(of("s1-u")) {
            let (_, tunnel) = Ip::parse_quoted(bytes).unwrap();
            let (_, packet) = GtpU::parse(&tunnel[Udp::LEN..]).unwrap_or_else(|e| panic!("{e}"));
            watch.packet(at, IPV4, &packet[..packet.len().min(SNAP as usize)], &mut sent);
            end = at;
        }
        watch.timeouts(end, &mut sent);
        let here = contents(sent.0.into_iter());
        assert_eq!((simulated.len(), here.len()), (2, 2));
        for (theirs, ours) in simulated.iter().zip(&here) {
            let holes = theirs.iter().filter(
                |(_, _, body)| matches!(body, Body::Tcp(report) if !report.holes.as_slice().is_empty()),
            );
            assert!(theirs.len() > 500 && holes.count() > 20, "{}", theirs.len());
            // The last ones are on their way to the server when the run ends.
            assert!(ours.len() >= theirs.len() && ours.len() < theirs.len() + 100);
            for (mine, simulators) in ours.iter().zip(theirs) {
                assert_eq!(mine, simulators);
            }
        }
    }
}

/// Numbers without an order, by the generator of Vigna's SplitMix64.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

/// A TCP segment of the server, cut off where the kernel does.
fn from_server(port: u16, segment: Segment) -> Vec<u8> {
    let mut bytes = vec![0; 40];
    let length = 40 + segment.payload as u16;
    bytes[0] = 0x45;
    bytes[2..4].copy_from_slice(&length.to_be_bytes());
    bytes[9] = 6;
    bytes[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 1, 0, 1]);
    bytes[20..24].copy_from_slice(&[0, 80, (port >> 8) as u8, port as u8]);
    bytes[24..28].copy_from_slice(&segment.sequence.to_be_bytes());
    bytes[28..32].copy_from_slice(&segment.acknowledgment.to_be_bytes());
    bytes[32] = 0x50;
    bytes[33] = segment.flags.0 as u8;
    bytes
}

#[test]
fn wild_packets_neither_panic_nor_grow_the_state() {
    let limits = settings("messages = 1000", "flows = 50\nranges = 8\nidle = \"1 s\"");
    let mut watch = Watch::new(&limits, &[SECRET.as_bytes().to_vec()]);
    let (mut sent, mut noise, mut now) = (Sent::default(), Noise(7), Instant::ZERO);
    for _ in 0..300_000 {
        now = now.saturating_add(airlane_core::Duration::from_micros(10));
        let segment = Segment {
            sequence: noise.next() as u32,
            acknowledgment: noise.next() as u32,
            // Mostly ACK: a SYN or a RST discards the state of its connection.
            flags: airlane_core::TcpFlags(if noise.below(20) == 0 {
                noise.next() as u16 & 0x1f
            } else {
                0x10
            }),
            payload: noise.below(1400) as u32,
        };
        let mut bytes = from_server(noise.below(200) as u16, segment);
        bytes.resize(bytes.len() + noise.below(152), 0xa5);
        if noise.below(4) == 0 {
            // UDP, of the same length.
            bytes[9] = 17;
            bytes[24..26].copy_from_slice(&(20 + segment.payload as u16).to_be_bytes());
        }
        for _ in 0..noise.below(4) {
            let at = noise.below(bytes.len());
            bytes[at] = noise.next() as u8;
        }
        if noise.below(3) == 0 {
            bytes.truncate(noise.below(bytes.len()));
        }
        let kinds = [IPV4, 0x86dd, 0x8100, 0x88a8, 0];
        watch.packet(now, kinds[noise.below(kinds.len())], &bytes, &mut sent);
        assert!(watch.connections() <= 50);
    }
    let (counts, statistics) = (watch.counts(), watch.statistics());
    assert!(counts.matched > 100_000 && counts.malformed > 10_000, "{counts:?}");
    assert!(statistics.unwatched > 1000 && statistics.unremembered > 1000, "{statistics:?}");
    // 1000 messages per second for 3 s, and the burst of a twentieth of a second.
    assert!((2900..=3100).contains(&sent.0.len()), "{}", sent.0.len());
    assert_eq!(statistics.messages, sent.0.len() as u64 + counts.suppressed);
    assert!(sent.0.iter().all(|message| message.len() <= LENGTH_MAX));
    watch.expire(now.saturating_add(airlane_core::Duration::from_secs(2)));
    assert_eq!(watch.connections(), 0);
}

#[test]
fn a_connection_that_was_idle_continues_its_serials() {
    let mut watch = Watch::new(&settings("", "ack_every = 1\nidle = \"1 s\""), &[SECRET.as_bytes().to_vec()]);
    let mut sent = Sent::default();
    let ack = airlane_core::TcpFlags(0x10);
    let mut data = |watch: &mut Watch, at: u64, sequence| {
        let bytes = from_server(5000, Segment { sequence, acknowledgment: 0, flags: ack, payload: 100 });
        watch.packet(Instant::from_millis(at), IPV4, &bytes, &mut sent);
        u32::from_be_bytes(sent.0.last().unwrap()[20..24].try_into().unwrap())
    };
    assert_eq!((data(&mut watch, 0, 1), data(&mut watch, 1, 101)), (1, 2));
    watch.expire(Instant::from_millis(3000));
    assert_eq!(watch.connections(), 0);
    assert_eq!(data(&mut watch, 3000, 201), 3);
    watch.begin(9);
    assert_eq!(data(&mut watch, 3001, 301), 1);
}

#[test]
fn settings_that_are_wrong_are_named() {
    let read = |text: &str| {
        let result = from_toml(text, "pep.toml", &settings::defaults(), Settings::check);
        result.unwrap_err().to_string()
    };
    let rule = "[[rule]]\nservers = [\"10.0.0.1\"]\nreport_to = \"10.0.0.1:4900\"\nsecret = \"/s\"\n";
    for (text, expected) in [
        (format!("interface = \"a name\"\n{rule}"), "pep.toml:1: interface"),
        (format!("interface = \"eth0\"\nring = \"1 kB\"\n{rule}"), "pep.toml:2: ring"),
        (format!("interface = \"eth0\"\n{rule}flows = 0\n"), "pep.toml:6: rule"),
        (format!("interface = \"eth0\"\n{rule}idle = \"1 ms\"\n"), "idle"),
        ("interface = \"eth0\"\nrule = []\n".to_owned(), "pep.toml:2: rule"),
    ] {
        let error = read(&text);
        assert!(error.contains(expected), "{error}");
    }
}
