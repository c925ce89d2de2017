//! Every scenario of the repository runs, accounts for every packet, and repeats.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use airlane_assembly::{RunOutput, run};
use airlane_record::{Column, Table};
use airlane_scenario::{Resolved, Scenario};

/// Long enough for slow start, the first losses and some fading.
const DURATION: &str = "2 s";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

fn load(name: &str, overrides: &[(&str, &str)]) -> Resolved {
    let path = folder().join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    let mut scenario = Scenario::parse(&text, path.to_str().unwrap()).unwrap();
    for (key, value) in overrides {
        scenario.set(key, &(*value).into()).unwrap();
    }
    scenario.resolve().unwrap_or_else(|e| panic!("{e}"))
}

fn files() -> Vec<String> {
    let entries = std::fs::read_dir(folder()).unwrap().map(|e| e.unwrap().path());
    let mut files: Vec<_> = entries
        .filter(|p| p.extension().is_some_and(|e| e == "toml"))
        .map(|p| p.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    files.sort();
    files
}

/// Every bit of the tables, NaN included.
fn bytes(output: &RunOutput) -> Vec<u8> {
    let mut bytes = format!("{:?}", output.meta).into_bytes();
    for (name, table) in &output.tables {
        bytes.extend(name.bytes());
        for (name, column) in &table.columns {
            bytes.extend(name.bytes());
            match column {
                Column::F64(values) => bytes.extend(values.iter().flat_map(|x| x.to_le_bytes())),
                Column::I64(values) => bytes.extend(values.iter().flat_map(|x| x.to_le_bytes())),
                Column::Bool(values) => bytes.extend(values.iter().map(|b| u8::from(*b))),
                Column::Text(values) => bytes.extend(values.iter().flat_map(|s| s.bytes())),
                Column::Labels { of, .. } => bytes.extend(of.iter().flat_map(|x| x.to_le_bytes())),
            }
        }
    }
    bytes
}

fn table<'a>(output: &'a RunOutput, name: &str) -> &'a Table {
    &output.tables.iter().find(|(n, _)| *n == name).unwrap().1
}

fn f64s<'a>(table: &'a Table, column: &str) -> &'a [f64] {
    match table.column(column) {
        Some(Column::F64(values)) => values,
        other => panic!("{column}: {other:?}"),
    }
}

fn i64s<'a>(table: &'a Table, column: &str) -> &'a [i64] {
    match table.column(column) {
        Some(Column::I64(values)) => values,
        other => panic!("{column}: {other:?}"),
    }
}

#[test]
fn the_same_bytes_on_any_number_of_threads() {
    for file in files() {
        let scenario = load(&file, &[("run.duration", DURATION), ("run.warmup", "0 s")]);
        let batch = |threads| {
            let job = |seed| bytes(&run(&scenario, seed as u64).unwrap());
            let outputs = airlane_engine::parallel(3, threads, &AtomicBool::new(false), job, |_| ());
            outputs.into_iter().map(Option::unwrap).collect::<Vec<_>>()
        };
        assert!(batch(1) == batch(2), "{file}");
    }
}

#[test]
fn another_seed_differs_where_there_is_chance() {
    for (file, differs) in [("lte-download.toml", true), ("lte-20ue.toml", true), ("wired-cubic.toml", false)]
    {
        let scenario = load(file, &[("run.duration", DURATION), ("run.warmup", "0 s")]);
        let with = |seed| bytes(&run(&scenario, seed).unwrap());
        assert_eq!(with(1) != with(2), differs, "{file}");
    }
}

#[test]
fn data_flows_and_is_conserved() {
    for file in files() {
        let scenario = load(&file, &[("run.duration", DURATION), ("run.warmup", "0 s")]);
        let output = run(&scenario, 1).unwrap();
        assert!(output.meta.conserved, "{file}: {:?}", output.meta);
        let ends = output.meta.delivered + output.meta.drops.0.iter().sum::<u64>() + output.meta.under_way;
        assert_eq!(output.meta.packets, ends, "{file}");
        let delivered: i64 = i64s(table(&output, "flows"), "bytes_delivered").iter().sum();
        assert!(delivered > 100_000, "{file}: {delivered}");
    }
}

/// Each controller fills most of the cell, accounts for every packet, and is in the table.
#[test]
fn every_controller_runs_over_a_cell() {
    for controller in ["newreno", "cubic", "scalable", "vegas", "westwood", "veno", "bbr", "bbr3"] {
        let settings =
            [("run.duration", DURATION), ("run.warmup", "0 s"), ("flow.0.transport.congestion", controller)];
        let output = run(&load("lte-download.toml", &settings), 1).unwrap();
        assert!(output.meta.conserved, "{controller}: {:?}", output.meta);
        let flows = table(&output, "flows");
        assert_eq!(flows.column("congestion"), Some(&Column::Text(vec![controller.to_owned()])));
        let goodput = f64s(flows, "goodput_mbps")[0];
        assert!(goodput > 20.0, "{controller}: {goodput} Mbit/s");
    }
}

#[test]
fn uplink_and_downlink_flows_share_a_typical_cell() {
    let text = r#"
        [run]
        duration = "2 s"
        [[cell]]
        name = "a"
        [[ue]]
        name = "phone"
        count = 2
        position = ["200 m", "0 m"]
        [[flow]]
        to = "phone"
        direction = "uplink"
        [[flow]]
        name = "down"
        to = "phone-2"
        app = { kind = "fixed", size = "1 MB" }
    "#;
    let scenario = Scenario::parse(text, "x.toml").unwrap().resolve().unwrap();
    let output = run(&scenario, 1).unwrap();
    let flows = table(&output, "flows");
    let Some(Column::Text(names)) = flows.column("flow") else { panic!("no names") };
    assert_eq!(names, &["flow-1-1", "flow-1-2", "down"]);
    assert!(i64s(flows, "bytes_delivered").iter().all(|b| *b > 100_000));
    assert_eq!(i64s(flows, "bytes_delivered")[2], 1_000_000);
    let fct = f64s(flows, "fct_s");
    assert!(fct[0].is_nan() && fct[2] > 0.05 && fct[2] < 2.0, "{fct:?}");
}

/// The MCS at the edge of a cell depends on the load of its neighbour.
#[test]
fn a_neighbours_load_is_felt_at_the_edge() {
    // The phone at the edge is served by east, which it receives better; near it, west transmits or
    // is silent.
    let mcs = |load: &str| {
        let run = run(&load_two_cells(load), 1).unwrap();
        f64s(table(&run, "flows"), "mcs_mean")[1]
    };
    let (loaded, alone) = (mcs("100 ms"), mcs("1999 ms"));
    // 20 log10(520 m / 480 m) = 0.7 dB carries 1.12 bit/s/Hz at most: CQI 5 (0.88), not 6 (1.18), which is
    // MCS 8. Few blocks are sent while west waits for its TCP. Without west it is 30 dB.
    assert!(loaded < 9.0 && alone > loaded + 9.0, "MCS {loaded} beside load, {alone} alone");
    let run = run(&load_two_cells("1999 ms"), 1).unwrap();
    assert_eq!(i64s(table(&run, "cells"), "tb_sent")[0], 0, "west serves nobody else");
}

/// `two-cells` with a flow in the west that starts at this time.
fn load_two_cells(start: &str) -> Resolved {
    let overrides = [
        ("run.duration", "2 s"),
        ("run.warmup", "500 ms"),
        ("flow.0.start", start),
        ("channel.fading", "none"), // its draw alone changes the MCS by 3
    ];
    load("two-cells.toml", &overrides)
}

/// The link pauses for a second without losses: one spurious timeout, which F-RTO undoes.
#[test]
fn a_spike_without_loss_is_undone() {
    let output = run(&load("frto-spike.toml", &[]), 1).unwrap();
    assert_eq!(output.meta.drops.0.iter().sum::<u64>(), 0);
    let timeouts = table(&output, "timeouts");
    assert_eq!(timeouts.rows(), 1);
    assert_eq!(timeouts.column("undone"), Some(&Column::Bool(vec![true])));
    let at = f64s(timeouts, "t_s")[0];
    assert!((10.0..11.0).contains(&at), "{at}");
    assert_eq!(f64s(timeouts, "cwnd_after_bytes")[0], 1460.0); // one segment, RFC 5681 §3.1
    let series = table(&output, "flow_series");
    let window = |t: f64| {
        let row = f64s(series, "t_s").iter().position(|bin| (bin - t).abs() < 0.05).unwrap();
        f64s(series, "cwnd_bytes")[row]
    };
    assert!(window(11.5) >= window(9.9), "{} then {}", window(9.9), window(11.5));
}

/// Comparison with an independent splitmix64 in the test: the loss of the link has the requested
/// seed, packet by packet.
#[test]
fn random_loss_can_be_had_from_a_known_generator() {
    let text = r#"
        network = "wired"
        [run]
        duration = "1 s"
        [internet]
        loss = "10 %"
        loss_seed = 1234567
        [[flow]]
        app = { kind = "cbr", rate = "1120 kbit/s", payload = "1400 B" }
        transport = "udp"
    "#;
    let scenario = Scenario::parse(text, "x.toml").unwrap().resolve().unwrap();
    let output = run(&scenario, 1).unwrap();
    let mut state = 1_234_567_u64;
    let mut draw = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64) < 0.1
    };
    // A packet each 10 ms from 0 s to 1 s, including both.
    let lost = (0..101).filter(|_| draw()).count() as u64;
    assert_eq!(output.meta.packets, 101);
    assert_eq!(output.meta.drops.0.iter().sum::<u64>(), lost);
    assert!(lost > 0);
}

/// The path without a queue has 20 ms of internet, 1 ms of backhaul and about 4 ms of radio. The
/// buffer of 512 KiB takes 119 ms at the 35 Mbit/s of the bearer.
#[test]
fn each_rule_keeps_the_rlc_queue_as_short_as_it_says() {
    let flow = |rule| {
        let output = run(&load("lte-aqm.toml", &[("cell.0.rlc.aqm", rule)]), 1).unwrap();
        assert!(output.meta.conserved);
        let flows = table(&output, "flows");
        (f64s(flows, "goodput_mbps")[0], f64s(flows, "owd_ms")[0], output.meta.drops.0[1])
    };
    let (full_rate, owd_ms, managed_drops) = flow("drop-tail");
    assert!((90.0..140.0).contains(&owd_ms) && managed_drops == 0, "{owd_ms}");
    // The standing queue is about the target, 5 ms for CoDel, 15 ms for PIE and DualPI2. Acknowledgments
    // arrive in bursts, one per uplink grant, so data does too: a burst of one scheduling-request
    // period of 10 ms is not a standing queue, and adds half of it to the mean delay. One flow that
    // halves its window at times does not always fill the bearer.
    // DualPI2 has neither PIE's allowance for bursts nor its small steps at small probabilities: the bursts
    // move p' at each update, and it cannot be negative, so that their mean effect is drops.
    let rules =
        [("codel", 36.0, 0.85), ("fq-codel", 36.0, 0.85), ("pie", 46.0, 0.75), ("dualpi2", 46.0, 0.4)];
    for (rule, owd_max_ms, share) in rules {
        let (rate, owd_ms, managed_drops) = flow(rule);
        assert!(owd_ms > 24.0 && owd_ms < owd_max_ms, "{rule}: {owd_ms} ms");
        assert!(rate > share * full_rate, "{rule}: {rate} of {full_rate} Mbit/s");
        assert!(managed_drops > 10, "{rule}: {managed_drops}");
    }
    // RED's thresholds of 1993 are a tenth of this path's bandwidth-delay product, and arrivals are
    // bursty: the delay is short, and the flow slows down far too early.
    let (rate, owd_ms, _) = flow("red");
    assert!(owd_ms > 24.0 && owd_ms < 30.0, "{owd_ms} ms");
    assert!((3.0..0.5 * full_rate).contains(&rate), "{rate} Mbit/s");
}

/// The same disciplines on the links: the backhaul is the bottleneck, then the internet.
#[test]
fn a_rule_holds_on_links_as_well() {
    let owd_ms = |place: &str, rule| {
        let rate = format!("{place}.rate");
        let queue = format!("{place}.queue");
        let aqm = format!("{place}.aqm");
        let overrides =
            [(&*rate, "10 Mbit/s"), (&*queue, "256 KiB"), (&*aqm, rule), ("cell.0.rlc.aqm", "drop-tail")];
        let output = run(&load("lte-aqm.toml", &overrides), 1).unwrap();
        assert!(output.meta.conserved);
        f64s(table(&output, "flows"), "owd_ms")[0]
    };
    for place in ["backhaul", "internet"] {
        // 256 KiB take 210 ms at 10 Mbit/s; CUBIC keeps at least 70 % of it filled.
        assert!(owd_ms(place, "drop-tail") > 120.0);
        for rule in ["red", "codel", "fq-codel", "pie", "dualpi2"] {
            let owd_ms = owd_ms(place, rule);
            assert!(owd_ms < 50.0, "{rule} on {place}: {owd_ms} ms");
        }
    }
}

/// The discipline of the internet link also applies to the uplink.
#[test]
fn a_rule_holds_on_the_way_up() {
    let owd_ms = |rule| {
        let overrides = [
            ("internet.uplink_rate", "5 Mbit/s"),
            ("internet.uplink_queue", "128 KiB"),
            ("internet.aqm", rule),
            ("flow.0.direction", "uplink"),
        ];
        let output = run(&load("lte-aqm.toml", &overrides), 1).unwrap();
        assert!(output.meta.conserved);
        f64s(table(&output, "flows"), "owd_ms")[0]
    };
    // 128 KiB take 210 ms at 5 Mbit/s; CUBIC keeps at least 70 % of it filled.
    assert!(owd_ms("drop-tail") > 120.0);
    for rule in ["red", "codel", "fq-codel", "pie", "dualpi2"] {
        let owd_ms = owd_ms(rule);
        assert!(owd_ms < 70.0, "{rule}: {owd_ms} ms");
    }
}

/// One opportunity of 1500 bytes every 3 ms carries one datagram of 1472 bytes towards the server. The
/// downlink rate is unchanged.
#[test]
fn a_trace_replaces_the_uplink_rate() {
    let file = std::env::temp_dir().join(format!("airlane-{}.up", std::process::id()));
    std::fs::write(&file, "3\n6\n9\n").unwrap();
    let mbps = |direction: &str| {
        let text = format!(
            r#"
            network = "wired"
            [run]
            duration = "10 s"
            warmup = "2 s"
            [internet]
            rate = "50 Mbit/s"
            uplink_rate = "50 Mbit/s"
            uplink_trace = "{}"
            [[flow]]
            direction = "{direction}"
            app = {{ kind = "cbr", rate = "20 Mbit/s", payload = "1472 B" }}
            transport = "udp"
            "#,
            file.display()
        );
        let scenario = Scenario::parse(&text, "x.toml").unwrap().resolve().unwrap();
        assert_eq!(scenario.files(), [file.to_str().unwrap()]);
        let output = run(&scenario, 1).unwrap();
        assert!(output.meta.conserved);
        f64s(table(&output, "flows"), "goodput_mbps")[0]
    };
    let (up, down) = (mbps("uplink"), mbps("downlink"));
    std::fs::remove_file(&file).unwrap();
    // 1472 bytes of payload each 3 ms are 3.9253 Mbit/s. The rate over 8 s is exact to one packet.
    assert!((up - 1472.0 * 8.0 / 3e3).abs() < 0.002, "{up}");
    assert!((down - 20.0).abs() < 0.01, "{down}");
}

/// Datagrams and round trips take longer by the distance of the server, on a shared link and on links of their
/// own; marks of a queue show the ECN field of datagrams.
#[test]
fn a_server_can_be_further_away() {
    for shared in [true, false] {
        let text = format!(
            r#"
            network = "wired"
            [run]
            duration = "4 s"
            [internet]
            shared = {shared}
            rate = "20 Mbit/s"
            delay = "10 ms"
            aqm = {{ kind = "dualpi2", threshold = "1 us" }}
            [[flow]]
            name = "near"
            app = {{ kind = "cbr", rate = "1 Mbit/s", payload = "1472 B" }}
            transport = "udp"
            [[flow]]
            name = "far"
            app = {{ kind = "cbr", rate = "1 Mbit/s", payload = "1472 B" }}
            transport = {{ kind = "udp", ecn = "ect1" }}
            server_delay = "30 ms"
            [[flow]]
            name = "answered"
            app = {{ kind = "fixed", size = "100 kB" }}
            server_delay = "30 ms"
            "#
        );
        let output = run(&Scenario::parse(&text, "x.toml").unwrap().resolve().unwrap(), 1).unwrap();
        assert!(output.meta.conserved);
        let flows = table(&output, "flows");
        let (owd, rtt) = (f64s(flows, "owd_ms"), f64s(flows, "rtt_min_ms")[2]);
        // 1500 bytes at 20 Mbit/s take 0.6 ms; the datagrams of two flows rarely meet.
        assert!((10.6..11.3).contains(&owd[0]), "{owd:?}");
        assert!((40.6..41.3).contains(&owd[1]), "{owd:?}");
        assert!((80.0..82.0).contains(&rtt), "{rtt} ms");
    }
}

/// Each of the flows starts at its time, carries its size and ends; the names contain their numbers.
#[test]
fn a_flow_can_be_repeated() {
    let text = r#"
        network = "wired"
        [run]
        duration = "4 s"
        [internet]
        rate = "20 Mbit/s"
        uplink_rate = "20 Mbit/s"
        delay = "10 ms"
        [[flow]]
        name = "page"
        app = { kind = "fixed", size = "100 kB" }
        start = "500 ms"
        repeat = { count = 3, every = "1 s" }
    "#;
    let scenario = Scenario::parse(text, "x.toml").unwrap().resolve().unwrap();
    let output = run(&scenario, 1).unwrap();
    let flows = &output.tables.iter().find(|(name, _)| *name == "flows").unwrap().1;
    let Some(Column::Text(names)) = flows.column("flow") else { panic!() };
    assert_eq!(names, &["page-1", "page-2", "page-3"]);
    let real = |name: &str| match flows.column(name) {
        Some(Column::F64(values)) => values.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(real("start_s"), [0.5, 1.5, 2.5]);
    // 40 ms of handshake and request, at least 40 ms of serialisation.
    for (sent, (read, acked)) in real("fct_sent_s").iter().zip(real("fct_s").iter().zip(&real("fct_acked_s")))
    {
        assert!(0.04 < *sent && sent < read && read < acked && *acked < 0.3, "{sent} {read} {acked}");
    }
}

/// From 2 s on the link is interrupted. Data under way is retransmitted after some 0.2, 0.4, 0.8, 1.6 s ...
/// until four timeouts from 200 ms have passed, 3 s (RFC 9293 §3.8.3); a SYN of 3 s is repeated at 4, 5 and 6
/// s, and given up at 8 s.
#[test]
fn a_flow_that_nobody_answers_is_given_up() {
    let text = r#"
        network = "wired"
        [run]
        duration = "20 s"
        [internet]
        rate = "20 Mbit/s"
        uplink_rate = "20 Mbit/s"
        delay = "10 ms"
        hold = [{ at = "2 s", duration = "100 s" }]
        [[flow]]
        app = { kind = "bulk" }
        transport = { kind = "tcp", retries = 3 }
        [[flow]]
        app = { kind = "fixed", size = "100 kB" }
        start = "3 s"
        transport = { kind = "tcp", syn_linear_timeouts = 2, syn_retries = 1 }
    "#;
    let scenario = Scenario::parse(text, "x.toml").unwrap().resolve().unwrap();
    let output = run(&scenario, 1).unwrap();
    let flows = &output.tables.iter().find(|(name, _)| *name == "flows").unwrap().1;
    let Some(Column::F64(times)) = flows.column("gave_up_s") else { panic!() };
    assert!((5.0..10.0).contains(&times[0]), "{times:?}");
    assert!((times[1] - 8.0).abs() < 1e-6, "{times:?}");
}

/// The number of packets matches the process, and every flow has its own bursts.
#[test]
fn bursts_cross_a_link() {
    let text = r#"
        network = "wired"
        [run]
        duration = "200 s"
        [internet]
        rate = "10 Gbit/s"
        queue = "100 MB"
        [[flow]]
        name = "a"
        app = { kind = "ppbp", rate = "1.5 Mbit/s", length = "100 ms", active = 3.0, reading = "literal" }
        transport = "udp"
        [[flow]]
        name = "b"
        app = { kind = "ppbp", rate = "1.5 Mbit/s", length = "100 ms", active = 3.0 }
        transport = "udp"
    "#;
    let scenario = Scenario::parse(text, "x.toml").unwrap().resolve().unwrap();
    let output = run(&scenario, 3).unwrap();
    let flows = &output.tables.iter().find(|(name, _)| *name == "flows").unwrap().1;
    let Some(Column::F64(goodput)) = flows.column("goodput_mbps") else { panic!() };
    // 3 and 0.8 bursts of 1.5 Mbit/s, of which 1470 of 1500 bytes are payload: 4.41 and 1.18 Mbit/s on
    // average; over 200 s the average varies by about 4 % and 6 %.
    assert!((goodput[0] - 4.41).abs() < 0.6 && (goodput[1] - 1.18).abs() < 0.24, "{goodput:?}");
}
