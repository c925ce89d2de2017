//! Packets from outside, of every kind, through every bundled scenario: none is lost from sight, and each leaves with
//! the bytes with which it came, apart from ECN marks.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use crate::generate::Generator;
use airlane_assembly::{Built, FlowEnd, Meta, RunOutput, build};
use airlane_core::{DropCause, Duration, Ecn, FlowId, Header, Instant, Packet, PacketPool, SocketPair};
use airlane_engine::parallel;
use airlane_scenario::format::Rlc;
use airlane_scenario::{Resolved, Scenario};
use airlane_wire::checksum::{self, Verdict};
use airlane_wire::{Ends, emit, ip_bytes, outside};

const ENDS: [FlowEnd; 2] = [FlowEnd::Server, FlowEnd::Host];
/// Packets that enter each scenario.
const PACKETS: usize = 2_000;

fn bundled() -> Vec<(String, Resolved)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "toml"));
    let load = |path: std::path::PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let scenario = Scenario::parse(&text, path.to_str().unwrap()).unwrap().resolve().unwrap();
        (path.file_stem().unwrap().to_str().unwrap().to_owned(), scenario)
    };
    let mut found: Vec<_> = files.map(load).collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

fn bytes_of(packet: &Packet) -> Vec<u8> {
    let nowhere = [0, 0, 0, 0].into();
    let ends = Ends { source: nowhere, source_port: 0, destination: nowhere, destination_port: 0 };
    let mut bytes = vec![];
    emit(packet, &ends, usize::MAX, &mut bytes).expect("a packet with a wire form");
    bytes
}

/// The same bytes without an ECN mark.
fn unmarked(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    ip_bytes::set_ecn(&mut bytes, Ecn::NotCapable);
    bytes
}

/// A packet that has entered.
struct Entered {
    ecn: Ecn,
    header: Verdict,
    transport: Verdict,
    is_tcp: bool,
    left: bool,
}

/// What entered and what left, of some flows of a run.
struct Crossing {
    run: Built,
    flows: Vec<FlowId>,
    pool: PacketPool,
    generator: Generator,
    /// By flow, by the end where it leaves, and by its bytes.
    entered: BTreeMap<(FlowId, usize, Vec<u8>), Entered>,
    left: usize,
    marked: usize,
    /// Packets without bytes of their own, made by a split proxy.
    made: usize,
    /// What entered and left at each end.
    seen: [Vec<Vec<u8>>; 2],
}

impl Crossing {
    fn new(mut run: Built, flows: Vec<FlowId>, seed: u64) -> Self {
        run.capture_to_memory();
        let (pool, generator) = (PacketPool::default(), Generator::new(seed));
        Self {
            run,
            flows,
            pool,
            generator,
            entered: BTreeMap::new(),
            left: 0,
            marked: 0,
            made: 0,
            seen: Default::default(),
        }
    }

    /// A packet of any kind, one in six damaged, with any ECN field.
    fn packet(&mut self) -> Vec<u8> {
        let mut bytes = self.generator.packet(true);
        if self.generator.chance(1.0 / 6.0) {
            self.generator.damage(&mut bytes);
        }
        bytes
    }

    /// Injects a packet at an end, if it has an IP header.
    fn enter(&mut self, name: &str, side: usize, bytes: &[u8], at: Instant) {
        let flow = self.flows[self.generator.below(self.flows.len())];
        let arrival =
            outside::Arrival { flow, direction: airlane_core::Direction::Downlink, now: self.run.now() };
        let Ok(mut packet) = outside::packet(&mut self.pool, bytes, arrival) else { return };
        let ports = [53, 80, 443].map(|server_port| SocketPair { server: 0, server_port, ue_port: 40_000 });
        packet.sockets = ports[self.generator.below(3)];
        let bytes = bytes_of(&packet);
        let entered = Entered {
            ecn: packet.ecn,
            header: checksum::verify_header(&bytes),
            transport: checksum::verify_transport(&bytes),
            is_tcp: matches!(packet.header, Header::Tcp(_)),
            left: false,
        };
        let key = (flow, 1 - side, unmarked(&bytes));
        if self.entered.contains_key(&key) {
            return; // it could not be told from the other
        }
        self.entered.insert(key, entered);
        self.seen[side].push(bytes);
        self.run.inject(flow, ENDS[side], packet, at);
        self.collect(name);
    }

    /// Compares what has left with what entered.
    fn collect(&mut self, name: &str) {
        for index in 0..self.flows.len() {
            let flow = self.flows[index];
            for (side, end) in ENDS.into_iter().enumerate() {
                while let Some((at, packet)) = self.run.take(flow, end) {
                    assert!(packet.sent_at <= at && at <= self.run.now(), "{name}");
                    if packet.outside().is_none() {
                        self.made += 1;
                        continue;
                    }
                    let bytes = bytes_of(&packet);
                    let entered = self.entered.get_mut(&(flow, side, unmarked(&bytes)));
                    let entered =
                        entered.unwrap_or_else(|| panic!("{name}: no such packet entered: {bytes:?}"));
                    assert!(!entered.left, "{name}: it left twice: {bytes:?}");
                    entered.left = true;
                    self.left += 1;
                    let ecn = ip_bytes::ecn(&bytes).unwrap_or_default();
                    assert_eq!(ecn, packet.ecn, "{name}");
                    if ecn != entered.ecn {
                        assert_eq!(ecn, Ecn::CongestionExperienced, "{name}: {bytes:?}");
                        assert!([Ecn::Capable0, Ecn::Capable1].contains(&entered.ecn), "{name}: {bytes:?}");
                        self.marked += 1;
                    }
                    assert_eq!(checksum::verify_header(&bytes), entered.header, "{name}: {bytes:?}");
                    assert_eq!(checksum::verify_transport(&bytes), entered.transport, "{name}: {bytes:?}");
                    self.seen[side].push(bytes);
                    self.pool.recycle(packet);
                }
            }
        }
    }

    /// Injects [`PACKETS`] packets at random times within `span`, in both directions.
    fn inject(&mut self, name: &str, span: Duration) {
        let begin = self.run.now();
        let mut times: Vec<u64> = (0..PACKETS).map(|_| self.generator.bits() % span.as_nanos()).collect();
        times.sort_unstable();
        for time in times {
            let (bytes, side) = (self.packet(), self.generator.below(2));
            self.enter(name, side, &bytes, begin + Duration::from_nanos(time));
        }
    }

    /// Waits for what is under way.
    fn drain(&mut self, name: &str, time: Duration) {
        let until = self.run.now() + time;
        self.run.advance(until);
        self.collect(name);
        self.run.check_conservation().unwrap_or_else(|counts| panic!("{name}: {counts}"));
    }
}

/// Packets dropped for these causes.
fn drops(meta: &Meta, causes: &[DropCause]) -> u64 {
    causes.iter().map(|cause| meta.drops.0[*cause as usize]).sum()
}

fn is_lossless(scenario: &Resolved) -> bool {
    // A discardTimer removes packets that have waited too long.
    let am =
        scenario.cell.iter().all(|cell| matches!(cell.rlc, Rlc::Am(_)) && cell.pdcp.discard_timer.is_none());
    let internet = &scenario.internet;
    am && scenario.handover.is_none() && internet.loss.0 == 0.0 && internet.loss_steps.is_none()
}

struct Report {
    name: String,
    entered: usize,
    left: usize,
    marked: usize,
    made: usize,
    meta: Meta,
}

/// All UEs are real: all packets of the run are ours.
fn alone(name: &str, scenario: &Resolved) -> Report {
    let (prepared, ends) = scenario.for_real(&scenario.ue_names(), &[]).unwrap();
    let mut run = build(&prepared, 1).unwrap_or_else(|e| panic!("{name}: {e}"));
    let flows: Vec<_> = ends.iter().map(|end| run.open_real(end).unwrap()).collect();
    let mut crossing = Crossing::new(run, flows.into_iter().take(3).collect(), 1);
    crossing.inject(name, scenario.run.duration.0.min(Duration::from_secs(30)));
    crossing.drain(name, Duration::from_secs(60));
    let Crossing { run, entered, left, marked, made, .. } = crossing;
    let RunOutput { meta, .. } = run.finish();
    let lost = entered.values().filter(|packet| !packet.left).count();
    let tcp = entered.values().filter(|packet| !packet.left && packet.is_tcp).count();
    let dropped: u64 = meta.drops.0.iter().sum();
    assert_eq!(meta.under_way, 0, "{name}: {meta:?}");
    if scenario.middlebox.is_empty() {
        assert_eq!(lost as u64, dropped, "{name}: {meta:?}");
        assert_eq!(made, 0, "{name}");
    } else {
        // A proxy accepts connections, and answers them itself.
        assert!((lost - tcp) as u64 <= dropped, "{name}: {meta:?}");
    }
    if is_lossless(scenario) {
        let queues = [DropCause::QueueFull, DropCause::QueueManagement];
        assert_eq!(dropped, drops(&meta, &queues), "{name}: {meta:?}");
    }
    Report { name: name.to_owned(), entered: entered.len(), left, marked, made, meta }
}

/// The first UE is real, and the simulated flows of all others load the network.
fn loaded(name: &str, scenario: &Resolved) -> Report {
    let first = scenario.ue_names()[..1].to_vec();
    let (prepared, ends) = scenario.for_real(&first, &[]).unwrap();
    let mut run = build(&prepared, 2).unwrap_or_else(|e| panic!("{name}: {e}"));
    let flow = run.open_real(&ends[0]).unwrap();
    let mut crossing = Crossing::new(run, vec![flow], 2);
    crossing.inject(name, Duration::from_secs(2));
    crossing.drain(name, Duration::from_secs(3));
    let Crossing { run, entered, left, marked, made, .. } = crossing;
    Report { name: name.to_owned(), entered: entered.len(), left, marked, made, meta: run.finish().meta }
}

fn through_all(cross: fn(&str, &Resolved) -> Report) -> Vec<Report> {
    let scenarios = bundled();
    assert!(scenarios.len() >= 29, "only {} scenarios", scenarios.len());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let one = |index: usize| cross(&scenarios[index].0, &scenarios[index].1);
    let reports = parallel(scenarios.len(), threads, &AtomicBool::new(false), one, |_| ());
    let reports: Vec<Report> = reports.into_iter().map(Option::unwrap).collect();
    for Report { name, entered, left, marked, made, meta } in &reports {
        println!(
            "{name}: {entered} entered, {left} left, {marked} marked, {made} made, drops {:?}",
            meta.drops.0
        );
    }
    reports
}

#[test]
fn packets_cross_every_bundled_scenario() {
    for report in through_all(alone) {
        assert!(report.entered > PACKETS * 3 / 4, "{}: {} entered", report.name, report.entered);
        assert!(report.left > report.entered / 2, "{}: {} left", report.name, report.left);
    }
}

#[test]
fn packets_cross_every_bundled_scenario_beside_its_simulated_flows() {
    for report in through_all(loaded) {
        assert!(report.left > report.entered / 4, "{}: {} left", report.name, report.left);
    }
}

/// Another cell or link: a bundled scenario with other values.
fn changed(base: &str, changes: &[(&str, serde_json::Value)]) -> Resolved {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../scenarios/{base}.toml"));
    let mut scenario =
        Scenario::parse(&std::fs::read_to_string(&path).unwrap(), path.to_str().unwrap()).unwrap();
    for (key, value) in changes {
        scenario.set(key, value).unwrap_or_else(|e| panic!("{e}"));
    }
    scenario.resolve().unwrap_or_else(|e| panic!("{e}"))
}

/// The scenario with its first UE, or the host, real, and without other flows; packets enter within `span`.
fn within(name: &str, scenario: &Resolved, span: Duration, seed: u64) -> (Crossing, Meta) {
    let first = scenario.ue_names()[..1].to_vec();
    let others: Vec<String> = scenario.ue_names()[1..].to_vec();
    assert_eq!(others, Vec::<String>::new(), "{name} has one UE");
    let (prepared, ends) = scenario.for_real(&first, &[]).unwrap();
    let mut run = build(&prepared, 3).unwrap_or_else(|e| panic!("{name}: {e}"));
    let flow = run.open_real(&ends[0]).unwrap();
    let mut crossing = Crossing::new(run, vec![flow], seed);
    crossing.inject(name, span);
    // Larger than any MTU of the internet.
    for (length, port) in [(9_000, 1), (1_501, 2), (65_000, 3)] {
        let mut bytes = vec![];
        let udp =
            airlane_wire::Udp { source_port: port, destination_port: 9, length: length - 20, checksum: 0 };
        let ip = airlane_wire::Ipv4 {
            total_length: length,
            protocol: airlane_wire::protocol::UDP,
            ..airlane_wire::Ipv4::between([198, 18, 0, 1].into(), [198, 19, 0, 1].into())
        };
        airlane_wire::Ip::V4(ip).emit(&mut bytes).unwrap();
        udp.emit(&mut bytes);
        bytes.extend(crossing.generator.noise(usize::from(length) - 28));
        checksum::fill(&mut bytes).unwrap();
        let now = crossing.run.now();
        crossing.enter(name, usize::from(port) % 2, &bytes, now + Duration::from_secs(10));
    }
    crossing.drain(name, Duration::from_secs(30));
    let spare = build(&prepared, 3).unwrap();
    let output = core::mem::replace(&mut crossing.run, spare).finish();
    assert_eq!(output.meta.under_way, 0, "{name}: {:?}", output.meta);
    let lost = crossing.entered.values().filter(|packet| !packet.left).count() as u64;
    assert_eq!(lost, output.meta.drops.0.iter().sum::<u64>(), "{name}: {:?}", output.meta);
    (crossing, output.meta)
}

/// Queues that mark: at RLC, on S1-U, and on the internet link. `span` is short enough for a standing queue.
#[test]
fn marks_change_the_bytes_and_their_checksum() {
    let narrow = [
        ("cell.0.resource_blocks", 6.into()),
        ("cell.0.pdcp.discard_timer", "100 s".into()),
        ("ue.0.fixed_mcs", 4.into()),
    ];
    for kind in ["codel", "fq-codel", "pie", "red", "dualpi2"] {
        let aqm = match kind {
            "red" => {
                serde_json::json!({ "kind": kind, "ecn": true, "min_packets": 5, "max_packets": 50, "weight": 0.02 })
            }
            // By default, PIE drops when its probability is above 10 %.
            "pie" => serde_json::json!({ "kind": kind, "ecn": true, "ecn_threshold": "100 %" }),
            "dualpi2" => serde_json::json!({ "kind": kind, "classifier": "any-ect" }),
            _ => serde_json::json!({ "kind": kind, "ecn": true }),
        };
        let mut at_rlc = narrow.to_vec();
        at_rlc.push(("cell.0.rlc.aqm", aqm.clone()));
        let on_link = [
            ("internet.rate", "2 Mbit/s".into()),
            ("internet.uplink_rate", "1 Mbit/s".into()),
            ("internet.queue", "1 MB".into()),
            ("internet.aqm", aqm),
        ];
        let cases = [("lte-aqm", &at_rlc[..]), ("wired-cubic", &on_link[..])];
        for (base, changes) in cases {
            let name = format!("{base}, {kind}");
            let (crossing, meta) = within(&name, &changed(base, changes), Duration::from_millis(1_500), 7);
            println!("{name}: {} marked, {} left, drops {:?}", crossing.marked, crossing.left, meta.drops.0);
            assert!(crossing.marked > 10, "{name}: {} marked, {:?}", crossing.marked, meta.drops);
            let marked = |packet: &&Entered| packet.header == Verdict::Correct;
            assert!(crossing.entered.values().filter(marked).count() > 500, "{name}: few of IPv4");
        }
    }
}

/// Each way a handover treats packets, with copies that overtake each other and are lost on X2.
#[test]
fn handovers_lose_what_they_say_and_nothing_twice() {
    for (mode, rlc) in [("lossless", "am"), ("seamless", "am"), ("seamless-um", "um")] {
        for disturbed in [false, true] {
            let name = format!("{mode}, {disturbed}");
            let mut changes = vec![
                ("handover.mode", mode.into()),
                ("cell.0.rlc.mode", rlc.into()),
                ("cell.1.rlc.mode", rlc.into()),
                ("ue.0.position", serde_json::json!(["330 m", "20 m"])),
                ("ue.0.mobility.speed", "150 km/h".into()),
                ("channel.fading", "none".into()),
                ("cell.0.resource_blocks", 6.into()),
                ("cell.1.resource_blocks", 6.into()),
                ("ue.0.fixed_mcs", 4.into()),
                ("internet.queue", "10 MB".into()),
            ];
            if disturbed {
                changes.extend([("x2.jitter", "8 ms".into()), ("x2.loss", "20 %".into())]);
            }
            let scenario = changed("x2-handover", &changes);
            // More than the cell carries at once, so that a handover finds a queue.
            let (crossing, meta) = within(&name, &scenario, Duration::from_secs(2), 9);
            println!("{name}: {} left, drops {:?}, {:?}", crossing.left, meta.drops.0, meta.handovers);
            assert!(meta.handovers.is_some_and(|counts| counts.successful > 0), "{name}: {meta:?}");
            let x2 = drops(&meta, &[DropCause::RandomLoss]);
            assert_eq!(x2 > 0, disturbed, "{name}: {meta:?}");
            if (mode, disturbed) == ("lossless", false) {
                assert_eq!(meta.drops.0.iter().sum::<u64>(), 0, "{name}: {meta:?}");
            }
        }
    }
}

/// A policer, a delivery trace, links in a row, and cells that lose blocks.
#[test]
fn packets_cross_other_links_and_cells() {
    let hops = serde_json::json!([{ "shared": true, "rate": "20 Mbit/s" }, { "rate": "10 Mbit/s", "queue": "40 kB" }]);
    let cases: [(&str, Vec<(&str, serde_json::Value)>); 6] = [
        (
            "wired-cubic",
            vec![("internet.policer", serde_json::json!({ "rate": "2 Mbit/s", "burst": "8 kB" }))],
        ),
        ("trace-link", vec![]),
        ("wired-cubic", vec![("internet.loss", "5 %".into()), ("internet.queue", "20 kB".into())]),
        ("lte-download", vec![("backhaul.hop", hops)]),
        (
            "lte-download",
            vec![
                ("cell.0.rlc.mode", "um".into()),
                ("ue.0.position", serde_json::json!(["4000 m", "0 m"])),
                ("ue.0.fixed_mcs", 28.into()),
            ],
        ),
        (
            "lte-download",
            vec![
                ("cell.0.rlc.mode", "am".into()),
                ("ue.0.position", serde_json::json!(["4000 m", "0 m"])),
                ("ue.0.fixed_mcs", 28.into()),
            ],
        ),
    ];
    for (base, changes) in cases {
        let name = format!("{base}, {changes:?}");
        let (crossing, meta) = within(&name, &changed(base, &changes), Duration::from_secs(2), 11);
        println!("{name}: {} left, drops {:?}", crossing.left, meta.drops.0);
        assert!(crossing.left > 200, "{name}: {} left", crossing.left);
    }
}

/// The packets of a pcapng file (draft-ietf-opsawg-pcapng: enhanced packet blocks).
fn captured(file: &[u8]) -> Vec<Vec<u8>> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    let (mut at, mut packets) = (0, vec![]);
    while at < file.len() {
        if word(at) == 6 {
            let [kept, whole] = [word(at + 20), word(at + 24)];
            assert_eq!(kept, whole, "nothing is cut off");
            packets.push(file[at + 28..at + 28 + kept].to_vec());
        }
        at += word(at + 4);
    }
    packets
}

/// The number of packets that tshark finds, or `None` where it is not installed.
fn tshark(name: &str, file: &[u8]) -> Option<usize> {
    let path = std::env::temp_dir().join(format!("airlane-{}-{name}", std::process::id()));
    std::fs::write(&path, file).unwrap();
    let run = std::process::Command::new("tshark")
        .args(["-n", "-T", "fields", "-e", "frame.len", "-r"])
        .arg(&path)
        .output();
    std::fs::remove_file(&path).unwrap();
    let run = run.ok()?;
    assert!(run.status.success(), "{name}: {}", String::from_utf8_lossy(&run.stderr));
    Some(run.stdout.iter().filter(|&&byte| byte == b'\n').count())
}

/// Captures at the ends have the bytes that entered and left there, and those of S1-U have them in tunnels.
#[test]
fn captures_have_the_bytes() {
    let aqm = serde_json::json!({ "kind": "codel", "ecn": true });
    let changes = [
        ("output.pcap", serde_json::json!(["server", "ue", "s1-u"])),
        ("output.snaplen", "65535 B".into()),
        ("cell.0.rlc.aqm", aqm),
        ("cell.0.resource_blocks", 6.into()),
        ("cell.0.pdcp.discard_timer", "100 s".into()),
        ("ue.0.fixed_mcs", 4.into()),
    ];
    let scenario = changed("lte-aqm", &changes);
    let (prepared, ends) = scenario.for_real(&scenario.ue_names(), &[]).unwrap();
    let mut run = build(&prepared, 3).unwrap();
    let flow = run.open_real(&ends[0]).unwrap();
    let mut crossing = Crossing::new(run, vec![flow], 13);
    crossing.inject("captures", Duration::from_millis(1_500));
    crossing.drain("captures", Duration::from_secs(60));
    assert!(crossing.marked > 100, "{} marked", crossing.marked);
    let Crossing { mut run, seen: [mut server, mut ue], entered, .. } = crossing;
    let files: BTreeMap<String, Vec<u8>> = run.take_captures().into_iter().collect();
    for (name, seen) in [("server.pcapng", &mut server), ("ue.pcapng", &mut ue)] {
        let mut captured = captured(&files[name]);
        captured.sort();
        seen.sort();
        assert!(captured == *seen, "{name}: {} packets, {} expected", captured.len(), seen.len());
    }
    // 36 bytes of IPv4, UDP and GTP-U. Marks are made behind this point, or after the uplink has passed it.
    let inner: Vec<Vec<u8>> =
        captured(&files["s1-u.pcapng"]).iter().map(|packet| packet[36..].to_vec()).collect();
    assert!(inner.len() >= server.len(), "{} tunnelled", inner.len());
    for bytes in &inner {
        let known = |side| entered.contains_key(&(flow, side, unmarked(bytes)));
        assert!(known(0) || known(1), "no such packet entered: {bytes:?}");
    }
    for (name, file) in &files {
        match tshark(name, file) {
            Some(packets) => assert_eq!(packets, captured(file).len(), "{name}"),
            None => println!("{name}: not compared with tshark, which is not installed"),
        }
    }
}
