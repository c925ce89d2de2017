//! QUIC from a scenario to tables and files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use airlane_assembly::{RunOutput, build, run};
use airlane_record::{Column, Table};
use airlane_scenario::Scenario;
use serde_json::Value;

fn wired(loss: &str, transport: &str, more: &str) -> String {
    format!(
        "network = \"wired\"\n[run]\nduration = \"60 s\"\nwarmup = \"10 s\"\nseries_bin = \"10 s\"\n\
         [internet]\nrate = \"30 Mbit/s\"\ndelay = \"20 ms\"\nqueue = \"150 kB\"\nloss = \"{loss}\"\n\
         [[flow]]\nname = \"flow\"\ntransport = {{ {transport} }}\n{more}"
    )
}

fn simulate(text: &str, seed: u64) -> RunOutput {
    let scenario = Scenario::parse(text, "x.toml").and_then(|s| s.resolve()).unwrap();
    let output = run(&scenario, seed).unwrap();
    assert!(output.meta.conserved, "{:?}", output.meta);
    output
}

fn flows(output: &RunOutput) -> &Table {
    &output.tables.iter().find(|(name, _)| *name == "flows").unwrap().1
}

fn number(output: &RunOutput, column: &str) -> f64 {
    match flows(output).column(column) {
        Some(Column::F64(values)) => values[0],
        Some(Column::I64(values)) => values[0] as f64,
        other => panic!("{column}: {other:?}"),
    }
}

/// Without random loss, both transports fill the link equally: QUIC has 1 % more overhead for headers (1412
/// to 1421 bytes of 1480 are data; of TCP's 1500, 1448), and its pacing may reduce the rate by the same
/// amount. The tolerance is 2.5 %.
#[test]
fn a_link_without_loss_is_filled_as_by_tcp() {
    for congestion in ["newreno", "cubic"] {
        let of = |kind: &str| {
            let transport = format!("kind = \"{kind}\", congestion = \"{congestion}\"");
            number(&simulate(&wired("0 %", &transport, ""), 1), "goodput_mbps")
        };
        let (quic, tcp) = (of("quic"), of("tcp"));
        assert!((0.975..=1.005).contains(&(quic / tcp)), "{congestion}: {quic} over {tcp}");
    }
}

/// Goodput under random loss p of datagrams: MSS / RTT sqrt(3 / (2 p)) (Mathis et al. 1997), for NewReno and,
/// as its window stays in the region of RFC 9438 §4.3, for CUBIC. The effects that the law excludes increase
/// with the loss rate: a round trip of half the window after each reduction, two losses in one window, probe
/// timeouts. The tolerance is from 25 % below to 15 % above, over four seeds.
#[test]
fn random_loss_costs_what_the_square_root_law_says() {
    let seeds = 4;
    for (congestion, loss) in [("newreno", 0.001), ("newreno", 0.003), ("newreno", 0.01), ("cubic", 0.003)] {
        let transport = format!("kind = \"quic\", congestion = \"{congestion}\"");
        let text = wired(&format!("{} %", loss * 100.0), &transport, "");
        let (mut goodput, mut law) = (0.0, 0.0);
        for seed in 0..seeds {
            let output = simulate(&text, seed);
            let payload_bits = 8.0 * 1415.0; // of 1452 bytes: header, packet number, tag, frame
            let rtt_s = number(&output, "rtt_ms") / 1e3;
            law += payload_bits / rtt_s * (1.5_f64 / loss).sqrt() / 1e6;
            goodput += number(&output, "goodput_mbps");
        }
        assert!((0.75..=1.15).contains(&(goodput / law)), "{congestion} {loss}: {goodput} over {law}");
    }
}

/// Without loss both fill the link. With 0.8 % loss, CUBIC with 7/8 is above CUBIC with 0.7, and NewReno is
/// the same with both presets.
#[test]
fn picoquic_of_2020_is_a_preset() {
    let goodput = |transport: &str, loss: &str| {
        (0..2).map(|seed| number(&simulate(&wired(loss, transport, ""), seed), "goodput_mbps")).sum::<f64>()
            / 2.0
    };
    for kind in ["quic", "tcp"] {
        let [new, old] = ["newreno", "cubic"].map(|congestion| {
            let transport =
                format!("kind = \"{kind}\", preset = \"picoquic-2020\", congestion = \"{congestion}\"");
            assert!(goodput(&transport, "0 %") > 28.0, "{transport}");
            goodput(&transport, "0.8 %")
        });
        assert!(old > 1.15 * new, "{kind}: {old} {new}");
        let rfc = goodput(&format!("kind = \"{kind}\", congestion = \"cubic\""), "0.8 %");
        assert!(old > 1.1 * rfc, "{kind}: {old} {rfc}");
        let own = goodput(&format!("kind = \"{kind}\", congestion = \"newreno\""), "0.8 %");
        assert!((0.85..1.25).contains(&(new / own)), "{kind}: {new} {own}");
    }
}

/// BBR has the same samples and the same pacing over QUIC as over TCP. Over a path with 1 % random loss it
/// uses almost the whole link (version 3 less, because it reacts to losses), with a very short queue. The
/// tolerance is 5 % of TCP's goodput, of which headers are 1 %.
#[test]
fn bbr_does_over_quic_as_over_tcp() {
    for congestion in ["bbr", "bbr3"] {
        for loss in ["0 %", "1 %"] {
            let of = |kind: &str| {
                let output = simulate(
                    &wired(loss, &format!("kind = \"{kind}\", congestion = \"{congestion}\""), ""),
                    1,
                );
                (number(&output, "goodput_mbps"), number(&output, "rtt_ms"))
            };
            let ((quic, quic_rtt), (tcp, tcp_rtt)) = (of("quic"), of("tcp"));
            assert!((0.95..=1.05).contains(&(quic / tcp)), "{congestion} {loss}: {quic} over {tcp}");
            assert!((quic_rtt - tcp_rtt).abs() < 2.0, "{congestion} {loss}: {quic_rtt} {tcp_rtt}");
        }
    }
}

/// While version 3 probes for bandwidth it is limited by its pacing, not by its window, so it must not
/// increase the bound on the data in flight until the window is used. An earlier version increased it over
/// QUIC with each acknowledgment, and lost 2.8 times as much.
#[test]
fn a_probe_of_bbr3_loses_over_quic_what_it_does_over_tcp() {
    let of = |kind: &str| {
        let transport = format!("kind = \"{kind}\", congestion = \"bbr3\"");
        let text = wired("0 %", &transport, "")
            .replace("30 Mbit/s", "10 Mbit/s")
            .replace("150 kB", "50 kB")
            .replace("warmup = \"10 s\"", "warmup = \"5 s\"");
        number(&simulate(&text, 1), "packets_lost")
    };
    let (quic, tcp) = (of("quic"), of("tcp"));
    assert!(tcp > 50.0 && quic < 2.0 * tcp, "{quic} over {tcp}");
}

#[test]
fn objects_are_asked_for_one_after_the_other() {
    let app = |size: &str, objects: u32| {
        format!("app = {{ kind = \"fixed\", size = \"{size}\", objects = {objects} }}\n")
    };
    for direction in ["downlink", "uplink"] {
        let go = |app: &str| {
            let text = wired("0 %", "kind = \"quic\"", &format!("{app}direction = \"{direction}\"\n"));
            simulate(&text.replace("warmup = \"10 s\"", "warmup = \"0 s\""), 1)
        };
        let (one, five) = (go(&app("1 B", 1)), go(&app("1 B", 5)));
        assert_eq!(number(&five, "bytes_delivered"), 5.0);
        // A round trip of 40 ms for the handshake; downlink, one more for each request; uplink, half a round
        // trip to the server, and a whole one until the next object begins.
        let expected = if direction == "downlink" { 0.080 } else { 0.060 };
        assert!((number(&one, "fct_s") - expected).abs() < 0.003, "{}", number(&one, "fct_s"));
        let more = number(&five, "fct_s") - number(&one, "fct_s");
        // An acknowledgment may wait for 25 ms (RFC 9000 §18.2).
        assert!((0.159..0.270).contains(&more), "{direction}: {more}");
        let large = go(&app("1 MB", 3));
        assert_eq!(number(&large, "bytes_delivered"), 3e6);
        let megabits = if direction == "downlink" { 30.0 } else { 1_000.0 };
        assert!(number(&large, "fct_s") > 24.0 / megabits);
    }
}

#[test]
fn a_bulk_flow_ends_at_its_stop() {
    // Data that the application has written by then is still sent: at most the window of the stream.
    let transport = "kind = \"quic\", stream_window = \"100 kB\"";
    let output = simulate(&wired("0.3 %", transport, "stop = \"20 s\"\n"), 1);
    let fct = number(&output, "fct_s");
    assert!((20.0..20.5).contains(&fct), "{fct}");
    assert_eq!(output.meta.under_way, 0);
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("airlane-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.0.join(name)).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A run with all its optional files.
fn write_files(text: &str, folder: &Path) -> RunOutput {
    let scenario = Scenario::parse(text, "x.toml").and_then(|s| s.resolve()).unwrap();
    let mut built = build(&scenario, 1).unwrap();
    built.capture_to(&format!("{}/", folder.display())).unwrap();
    assert!(built.run(&AtomicBool::new(false)));
    built.end_capture().unwrap();
    built.finish()
}

const WITH_FILES: &str = "app = { kind = \"fixed\", size = \"2 MB\" }\n[output]\nqlog = true\npcap = [\"server\", \"ue\"]\nsnaplen = \"65535 B\"\n";

fn with_files() -> String {
    let text = wired("0.5 %", "kind = \"quic\"", WITH_FILES);
    text.replace("warmup = \"10 s\"", "warmup = \"0 s\"").replace("\"60 s\"", "\"20 s\"")
}

/// The records of a JSON text sequence (RFC 7464).
fn records(bytes: &[u8]) -> Vec<Value> {
    let text = core::str::from_utf8(bytes).unwrap();
    let (before, records) = text.split_once('\x1e').expect("a record separator");
    assert_eq!(before, "");
    records
        .split('\x1e')
        .map(|record| serde_json::from_str(record).unwrap_or_else(|e| panic!("{e}: {record}")))
        .collect()
}

/// draft-ietf-quic-qlog-main-schema-02 and draft-ietf-quic-qlog-quic-events-01, which qvis reads: the
/// required fields in the head, in each event, and in the data of each kind of event.
#[test]
fn qlog_follows_its_schema_and_agrees_with_the_tables() {
    let folder = Folder::new("qlog");
    let output = write_files(&with_files(), &folder.0);
    let mut lost = [0, 0];
    for (end, lost) in ["server", "client"].into_iter().zip(&mut lost) {
        let records = records(&folder.read(&format!("flow.{end}.sqlog")));
        let (head, events) = records.split_first().unwrap();
        assert_eq!(head["qlog_format"], "JSON-SEQ");
        assert!(head["qlog_version"].is_string() && head["trace"]["vantage_point"]["type"].is_string());
        assert_eq!(head["title"], format!("flow.{end}"));
        let mut last = 0.0;
        let mut kinds = BTreeSet::new();
        for event in events {
            let time = event["time"].as_f64().expect("a time");
            assert!((last..=20_000.0).contains(&time), "{event}");
            last = time;
            let (name, data) = (event["name"].as_str().expect("a name"), &event["data"]);
            kinds.insert(name);
            match name {
                "transport:packet_sent" | "transport:packet_received" | "recovery:packet_lost" => {
                    let header = &data["header"];
                    let kind = header["packet_type"].as_str().expect("a packet type");
                    assert!(["initial", "handshake", "1RTT"].contains(&kind), "{event}");
                    assert!(header["packet_number"].is_u64(), "{event}");
                    *lost += u64::from(name == "recovery:packet_lost");
                }
                "recovery:metrics_updated" => {
                    assert!(data.as_object().is_some_and(|o| !o.is_empty()), "{event}")
                }
                other => panic!("an event that no test knows: {other}"),
            }
        }
        for kind in ["transport:packet_sent", "transport:packet_received", "recovery:metrics_updated"] {
            assert!(kinds.contains(kind), "{end}: {kind}");
        }
    }
    assert!(lost[0] > 3, "{lost:?}");
    assert_eq!(lost[0] as f64, number(&output, "retransmissions"));
}

/// Flows whose names differ only in characters that a file's name may not contain.
#[test]
fn each_flow_has_a_qlog_file_of_its_own() {
    let folder = Folder::new("qlog-names");
    let names = ["a/b", "a_b", "a b"];
    let flow = |name: &str| format!("[[flow]]\nname = \"{name}\"\ntransport = {{ kind = \"quic\" }}\n");
    let (wired, _) = with_files().split_once("[[flow]]").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let text = wired + &names.map(flow).concat() + "[output]\nqlog = true\n";
    write_files(&text.replace("\"20 s\"", "\"1 s\""), &folder.0);
    for (name, file) in names.iter().zip(["a%2Fb", "a_b", "a%20b"]) {
        for end in ["server", "client"] {
            let records = records(&folder.read(&format!("{file}.{end}.sqlog")));
            assert_eq!(records[0]["title"], format!("{name}.{end}"));
        }
    }
}

/// With both kinds of packet protection: all random numbers of TLS come from the seed.
#[test]
fn files_repeat_to_the_byte() {
    for crypto in ["null", "tls"] {
        let folders = ["once", "twice"].map(|name| Folder::new(&format!("quic-{crypto}-{name}")));
        let outputs =
            folders.each_ref().map(|folder| format!("{:?}", write_files(&protected(crypto), &folder.0)));
        for name in ["flow.server.sqlog", "flow.client.sqlog", "server.pcapng", "ue.pcapng"] {
            assert!(folders[0].read(name) == folders[1].read(name), "{crypto} {name}");
        }
        assert!(outputs[0] == outputs[1], "{crypto}");
    }
}

fn protected(crypto: &str) -> String {
    with_files().replace("kind = \"quic\"", &format!("kind = \"quic\", crypto = \"{crypto}\""))
}

/// TLS adds the bytes of its handshake, and no round trip: packets have the same length with either.
#[test]
fn tls_takes_as_long_as_no_protection() {
    let with = |crypto: &str| simulate(&protected(crypto).replace("0.5 %", "0 %"), 1);
    let (null, tls) = (with("null"), with("tls"));
    let fct = |output| number(output, "fct_s");
    assert!((fct(&null) - fct(&tls)).abs() < 0.002, "{} s, {} s", fct(&null), fct(&tls));
}

/// Types of blocks (draft-ietf-opsawg-pcapng §4.3, §4.7): a packet, and secrets.
const PACKET: usize = 6;
const SECRETS: usize = 0xA;

/// The packets and secrets of a pcapng file.
fn blocks(file: &[u8]) -> Vec<(usize, &[u8])> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    let (mut at, mut found) = (0, vec![]);
    while at < file.len() {
        match word(at) {
            PACKET => found.push((PACKET, &file[at + 28..at + 28 + word(at + 20)])),
            SECRETS => {
                assert_eq!(&file[at + 8..at + 12], b"KSLT"); // little-endian
                found.push((SECRETS, &file[at + 16..at + 16 + word(at + 12)]));
            }
            _ => {}
        }
        at += word(at + 4);
    }
    found
}

fn packets(file: &[u8]) -> Vec<&[u8]> {
    blocks(file).into_iter().filter(|(kind, _)| *kind == PACKET).map(|(_, bytes)| bytes).collect()
}

/// Before the server's first packet, a file contains the secrets of a connection as lines of a key log:
/// secrets of both ends for the handshake and for data, and the exporter secret.
#[test]
fn captures_hold_the_secrets_of_tls() {
    for (crypto, lines) in [("null", 0), ("tls", 5)] {
        let folder = Folder::new(&format!("secrets-{crypto}"));
        write_files(&protected(crypto), &folder.0);
        for name in ["server.pcapng", "ue.pcapng"] {
            let file = folder.read(name);
            let blocks = blocks(&file);
            let secrets = |blocks: &[(usize, &[u8])]| {
                let texts = blocks.iter().filter(|(kind, _)| *kind == SECRETS);
                texts.map(|(_, text)| str::from_utf8(text).unwrap().to_owned()).collect::<String>()
            };
            // The client's first packet precedes them in the server's file: it contains nothing secret.
            let first =
                blocks.iter().position(|(kind, bytes)| *kind == PACKET && bytes[12..16] == [10, 0, 0, 1]);
            let first = first.expect("the server's first packet");
            let text = secrets(&blocks[..first]);
            assert_eq!((text.lines().count(), secrets(&blocks)), (lines, text.clone()), "{crypto} {name}");
            for line in text.lines() {
                let fields: Vec<&str> = line.split(' ').collect();
                assert_eq!((fields.len(), fields[1].len()), (3, 64), "{line}");
                assert!(fields[0].contains("_SECRET"), "{line}");
            }
        }
    }
}

#[test]
fn captures_hold_the_datagrams_of_quic() {
    let folder = Folder::new("quic-pcap");
    let output = write_files(&with_files(), &folder.0);
    let file = folder.read("server.pcapng");
    let packets = packets(&file);
    let first = packets[0];
    assert_eq!((first[0] >> 4, first[9]), (4, 17)); // IPv4, UDP
    // The client's first packet: a long header of type Initial, version 1, in a datagram of at least
    // 1200 bytes (RFC 9000 §17.2.2, §14.1).
    assert_eq!((first[28] & 0xf0, &first[29..33]), (0xc0, &[0, 0, 0, 1][..]));
    assert!(first.len() >= 1228);
    // After that, almost all packets have short headers, with the fixed bit set or greased (RFC 9287).
    let short = packets.iter().filter(|packet| packet[28] & 0x80 == 0).count();
    assert!(short > 1500 && short + 4 >= packets.len(), "{short} of {}", packets.len());
    assert!(packets.len() as f64 >= number(&output, "packets_sent"));
}
