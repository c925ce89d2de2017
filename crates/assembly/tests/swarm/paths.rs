//! Flows over Multipath TCP and over QUIC with several paths: scenarios of their own, with cells and links that come and go.

use airlane_core::Stream;
use airlane_record::{Column, Table};
use airlane_scenario::{Resolved, format};

use super::Drawn;

fn one_of<'a>(s: &mut Stream, choices: &[&'a str]) -> &'a str {
    choices[s.below(choices.len() as u64) as usize]
}

/// Whether a scenario has such a flow.
pub(super) fn are_in(scenario: &Resolved) -> bool {
    scenario.flow.iter().any(|flow| flow.transport.is_multipath())
}

/// A scenario.
pub(super) fn draw(s: &mut Stream) -> Drawn {
    let (wired, links) = (s.chance(0.3), 1 + s.below(2) as usize);
    let names = ["wifi", "dsl"].map(str::to_owned);
    let mut accesses = names[..links].to_vec();
    let mut text = format!("network = \"{}\"\n", if wired { "wired" } else { "typical" });
    text += "[output]\npcap = [\"ue\", \"server\"]\n[run]\nduration = \"2 s\"\n";
    text += &format!("[internet]\nrate = \"{} kbit/s\"\n", 100 + s.below(50_000));
    text += &format!("delay = \"{} ms\"\nqueue = \"{} B\"\n", s.below(60), 3_000 + s.below(200_000));
    text += &format!("loss = \"{} %\"\n", s.below(4));
    text += &names[..links].iter().map(|name| link(s, name)).collect::<String>();
    if wired {
        accesses.push("internet".to_owned());
    } else {
        // The scenario UMa of TR 36.873 has antennas at 25 m.
        let is_urban = s.chance(0.3);
        let height = if is_urban { "height = \"25 m\"\n" } else { "" };
        if is_urban {
            text += "[channel]\npath_loss = { kind = \"tr36.873\", scene = \"uma\" }\n";
        }
        text += &format!("[[cell]]\nname = \"lte\"\n{height}");
        accesses.push("lte".to_owned());
        if s.chance(0.4) {
            text += "[[cell]]\nname = \"second\"\nradio = \"nr\"\nposition = [\"300 m\", \"0 m\"]\n";
            text += height;
            accesses.push("second".to_owned());
        }
        let first = s.below(accesses.len() as u64) as usize;
        accesses.rotate_left(first);
        let speed = 1 + s.below(100);
        text += &format!("[[ue]]\nname = \"phone\"\nheight = \"1.5 m\"\ncount = {}\n", 1 + s.below(2));
        text += &format!("position = [\"{} m\", \"50 m\"]\naccess = {accesses:?}\n", s.below(600));
        if s.chance(0.4) {
            text +=
                &format!("mobility = {{ kind = \"line\", heading = \"0 deg\", speed = \"{speed} km/h\" }}\n");
        }
    }
    for index in 0..=s.below(2) {
        text += &flow(s, &accesses, (wired, index));
    }
    Drawn { text, settings: vec![] }
}

fn link(s: &mut Stream, name: &str) -> String {
    let mut text = format!("[[link]]\nname = \"{name}\"\nrate = \"{} kbit/s\"\n", 100 + s.below(50_000));
    text += &format!("uplink_rate = \"{} kbit/s\"\n", 100 + s.below(20_000));
    text += &format!("delay = \"{} ms\"\nloss = \"{} %\"\n", s.below(100), s.below(5));
    text += &format!("queue = \"{} B\"\n", 3_000 + s.below(300_000));
    text += &format!("uplink_queue = \"{} B\"\n", 3_000 + s.below(300_000));
    for key in ["trace", "uplink_trace"] {
        if s.chance(0.2) {
            text += &format!("{key} = \"../../../../scenarios/traces/sawtooth.down\"\n");
        }
    }
    if s.chance(0.5) {
        let (until, from) = (100 + s.below(900), 1_000 + s.below(900));
        text += &format!(
            "coverage = [{{ from = \"0 s\", until = \"{until} ms\" }}, {{ from = \"{from} ms\" }}]\n"
        );
        if s.chance(0.6) {
            text += &format!("notice = \"{} ms\"\n", s.below(300));
            text += if s.chance(0.5) { "warning = \"150 ms\"\n" } else { "" };
        }
    }
    if s.chance(0.2) {
        text += &format!("strip = \"{}\"\n", one_of(s, &["syn", "data", "all"]));
    }
    text
}

fn flow(s: &mut Stream, accesses: &[String], (wired, index): (bool, u64)) -> String {
    let mut text = format!("[[flow]]\nname = \"f{index}\"\nstart = \"{} ms\"\n", s.below(300));
    text += if wired { "" } else { "to = \"phone\"\n" };
    text += &format!("direction = \"{}\"\n", one_of(s, &["downlink", "uplink"]));
    if s.chance(0.6) {
        text += &format!("app = {{ kind = \"fixed\", size = \"{} B\" }}\n", 1 + s.below(800_000));
    } else if s.chance(0.3) {
        text += &format!("stop = \"{} ms\"\n", 400 + s.below(900));
    }
    if index > 0 && s.chance(0.5) {
        return text + &format!("access = {:?}\n", accesses[s.below(accesses.len() as u64) as usize]);
    }
    if s.chance(0.4) {
        return text + &mpquic(s, accesses);
    }
    text += "[flow.transport]\nkind = \"mptcp\"\n";
    let scheduler =
        one_of(s, &["min-rtt", "round-robin", "weighted", "redundant", "blest", "ecf", "linux", "own"]);
    text += &format!("scheduler = \"{scheduler}\"\n");
    text += &format!("coupling = \"{}\"\n", one_of(s, &["none", "lia", "olia", "balia"]));
    let (subflows, paths) = (1 + s.below(2) as usize, 1 + s.below(accesses.len() as u64) as usize);
    text += &format!("subflows = {subflows}\npaths = {:?}\n", &accesses[..paths]);
    if s.chance(0.3) {
        text += &format!("backup = {:?}\n", &accesses[..1]);
    }
    if paths > 1 && s.chance(0.3) {
        let by = one_of(s, &["server", "host"]);
        let steady = |name: &&String| by == "server" || !["wifi", "dsl"].contains(&name.as_str());
        let names: Vec<_> = accesses[1..paths].iter().filter(steady).collect();
        text += &format!("announced = {{ {by} = {names:?} }}\n");
    }
    if text.contains("stop = ") && s.chance(0.5) {
        text += "abort = true\n";
    }
    if scheduler == "own" {
        text += &format!("policy = \"{}\"\n", super::host_settings::OWN);
    }
    if scheduler == "weighted" {
        let weights: Vec<_> = (0..subflows * paths).map(|_| 1 + s.below(9)).collect();
        text += &format!("weights = {weights:?}\n");
    }
    let law = one_of(s, &["cubic", "newreno", "bbr", "vegas"]);
    text +=
        &format!("tcp = {{ congestion = \"{law}\", timestamps = {}, sack = {}", s.chance(0.7), s.chance(0.8));
    if s.chance(0.4) {
        text +=
            &format!(", receive_window = {{ kind = \"fixed\", size = \"{} B\" }}", 3_000 + s.below(200_000));
    }
    text + " }\n"
}

/// QUIC over several paths.
fn mpquic(s: &mut Stream, accesses: &[String]) -> String {
    let paths = 1 + s.below(accesses.len() as u64) as usize;
    let scheduler = one_of(s, &["noq", "min-rtt", "round-robin", "weighted"]);
    let mut text = format!("[flow.transport]\nkind = \"mpquic\"\nscheduler = \"{scheduler}\"\n");
    text += &format!("paths = {:?}\n", &accesses[..paths]);
    if s.chance(0.3) {
        text += &format!("backup = {:?}\n", &accesses[..1]);
    }
    if scheduler == "weighted" {
        let weights: Vec<_> = (0..paths).map(|_| 1 + s.below(9)).collect();
        text += &format!("weights = {weights:?}\n");
    }
    if s.chance(0.6) {
        let idle = if s.chance(0.2) { 0 } else { 10 + s.below(1_500) };
        text += &format!("path_idle_timeout = \"{idle} ms\"\n");
    }
    let law = one_of(s, &["cubic", "newreno", "bbr", "vegas"]);
    let (window, ecn) = (3_000 + s.below(2_000_000), s.chance(0.7));
    text + &format!("quic = {{ congestion = \"{law}\", stream_window = \"{window} B\", ecn = {ecn} }}\n")
}

/// No flow delivers more bytes than its application has sent, and exactly these if it has completed. No subflow brings
/// more bytes twice than were sent twice.
pub(super) fn check(scenario: &Resolved, tables: &[(&str, Table)]) {
    if !are_in(scenario) {
        return;
    }
    let table = |name: &str| &tables.iter().find(|(other, _)| *other == name).expect("the table is there").1;
    let flows = table("flows");
    let (Some(Column::I64(bytes)), Some(Column::F64(times))) =
        (flows.column("bytes_delivered"), flows.column("fct_s"))
    else {
        panic!("no bytes or times")
    };
    for (row, one) in airlane_scenario::expand::flows(scenario).iter().enumerate() {
        let format::App::Fixed(fixed) = &scenario.flow[one.section].app else { continue };
        let size = fixed.size.0.get() as i64;
        assert!(bytes[row] <= size, "{} delivered {} of {size} bytes", one.name, bytes[row]);
        assert!(
            times[row].is_nan() || bytes[row] == size,
            "{} completed with {} bytes",
            one.name,
            bytes[row]
        );
    }
    // QUIC repeats lost data on any path: a byte that is sent three times over two paths may arrive so that the receiver
    // finds two changes of the path, and the sender one.
    if scenario.flow.iter().any(|flow| matches!(flow.transport, format::Transport::Mpquic(_))) {
        return;
    }
    let count = |name: &str| match table("paths").column(name) {
        Some(Column::I64(counts)) => counts.iter().sum::<i64>(),
        _ => panic!("no {name}"),
    };
    assert!(count("duplicate_bytes") <= count("reinjected_bytes"), "data arrived twice that was sent once");
}
