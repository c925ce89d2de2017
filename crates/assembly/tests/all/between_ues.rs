//! Calls from one UE to another, over a relay at the server.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use airlane_assembly::{Built, RunOutput, build};
use airlane_core::{FlowId, Instant, UeId};
use airlane_record::{Column, Table};
use airlane_scenario::{Resolved, Scenario};

const CALL: &str = r#"
network = "typical"
[run]
duration = "10 s"
warmup = "0 s"
[[cell]]
name = "a"
[[cell]]
name = "b"
position = ["5000 m", "0 m"]
[[ue]]
name = "alice"
position = ["200 m", "0 m"]
[[ue]]
name = "bob"
position = ["5200 m", "0 m"]
[[flow]]
name = "call"
from = "alice"
to = "bob"
transport = "udp"
[flow.app]
kind = "rtc"
controller = { kind = "constant", rate = "800 kbit/s" }
"#;

fn resolve(text: &str) -> Resolved {
    let scenario = Scenario::parse(text, "call.toml").and_then(|scenario| scenario.resolve());
    scenario.unwrap_or_else(|e| panic!("{e}"))
}

fn run(text: &str) -> RunOutput {
    let mut built = build(&resolve(text), 1).unwrap();
    assert!(built.run(&AtomicBool::new(false)));
    built.check_conservation().unwrap();
    built.finish()
}

fn table<'a>(output: &'a RunOutput, name: &str) -> &'a Table {
    &output.tables.iter().find(|(found, _)| *found == name).unwrap_or_else(|| panic!("no {name}")).1
}

/// A column of numbers by flow.
fn by_flow(output: &RunOutput, column: &str) -> BTreeMap<String, f64> {
    let flows = table(output, "flows");
    let values: Vec<f64> = match flows.column(column) {
        Some(Column::F64(values)) => values.clone(),
        Some(Column::I64(values)) => values.iter().map(|value| *value as f64).collect(),
        _ => panic!("no numbers in {column}"),
    };
    let names = flows.column("flow").and_then(Column::names).unwrap();
    names.into_iter().map(str::to_owned).zip(values).collect()
}

/// The number of frames with each fate, by flow.
fn fates(output: &RunOutput) -> BTreeMap<(String, String), usize> {
    let frames = table(output, "frames");
    let [flows, fates] = ["flow", "fate"].map(|name| frames.column(name).and_then(Column::names).unwrap());
    let mut counts = BTreeMap::new();
    for (flow, fate) in flows.into_iter().zip(fates) {
        *counts.entry((flow.to_owned(), fate.to_owned())).or_default() += 1;
    }
    counts
}

#[test]
fn media_crosses_both_radios_once() {
    let output = run(CALL);
    // The server sends the same packets as the UE. Those of the last 100 ms may be on their way: 1 in 100.
    let server = run(&CALL.replace("from = \"alice\"\n", ""));
    let [sent, alone] = [&output, &server].map(|output| by_flow(output, "packets_delivered")["call"]);
    assert!((alone - sent).abs() <= 0.01 * alone && alone > 1_000.0, "{sent} and {alone} packets");
    let delays = by_flow(&output, "owd_ms");
    let down = by_flow(&server, "owd_ms")["call"];
    assert!(delays["call"] > 1.5 * down, "{} ms over both radios, {down} ms over one", delays["call"]);
    let shown = fates(&output);
    let key = |fate: &str| ("call".to_owned(), fate.to_owned());
    assert!(shown[&key("shown")] > 290, "{shown:?}");
    assert!(shown.keys().all(|(flow, _)| flow == "call"), "media has the name of the flow: {shown:?}");
}

#[test]
fn both_ends_can_send() {
    let output = run(&format!("{CALL}both = true\n"));
    let shown = fates(&output);
    for flow in ["call", "call (uplink)"] {
        let count = shown[&(flow.to_owned(), "shown".to_owned())];
        assert!(count > 290, "{count} frames of {flow}");
    }
}

#[test]
fn a_weak_uplink_of_the_sender_limits_the_receiver() {
    let gcc = CALL.replace("{ kind = \"constant\", rate = \"800 kbit/s\" }", "\"gcc\"");
    let far = gcc.replace("[\"200 m\", \"0 m\"]", "[\"2400 m\", \"0 m\"]");
    let [near, far] = [gcc, far].map(|text| by_flow(&run(&text), "goodput_mbps")["call"]);
    assert!(far < 0.6 * near, "{far} and {near} Mbit/s");
}

#[test]
fn groups_call_each_other_in_pairs() {
    let groups = CALL
        .replace("name = \"alice\"\n", "name = \"alice\"\ncount = 3\n")
        .replace("name = \"bob\"\n", "name = \"bob\"\ncount = 3\n");
    let output = run(&groups);
    let delivered = by_flow(&output, "packets_delivered");
    let names = ["call-1", "call-1 from alice", "call-2", "call-2 from alice", "call-3", "call-3 from alice"];
    assert_eq!(delivered.keys().collect::<Vec<_>>(), names);
    assert!(["call-1", "call-2", "call-3"].iter().all(|call| delivered[*call] > 1_000.0), "{delivered:?}");
}

#[test]
fn a_call_ends_with_either_ue_and_another_begins() {
    for gone in [UeId(0), UeId(1)] {
        let mut built: Built = build(&resolve(CALL), 1).unwrap();
        built.advance(Instant::from_millis(3_000));
        built.remove_ue(gone).unwrap();
        built.advance(Instant::from_millis(4_000));
        built.check_conservation().unwrap();
    }
    let mut built = build(&resolve(CALL), 1).unwrap();
    built.advance(Instant::from_millis(3_000));
    let (_, call) = CALL.split_once("[[flow]]").unwrap();
    let later = call.replace("\"call\"", "\"later\"\nstart = \"4 s\"");
    let added = built.extend(&resolve(&format!("{CALL}[[flow]]{later}"))).unwrap();
    assert_eq!(added.flows, [FlowId(2), FlowId(3)]);
    built.advance(Instant::from_millis(10_000));
    built.check_conservation().unwrap();
    assert!(by_flow(&built.finish(), "packets_delivered")["later"] > 500.0);
}

#[test]
fn mistakes_are_explained() {
    let message = |from: &str, to: &str| {
        let text = CALL.replace(from, to);
        let scenario = Scenario::parse(&text, "call.toml").and_then(|scenario| scenario.resolve());
        scenario.unwrap_err().to_string()
    };
    for (from, to, expected) in [
        ("from = \"alice\"", "from = \"alise\"", "no UE has this name; did you mean `alice`?"),
        ("from = \"alice\"", "from = \"bob\"", "a UE would call itself"),
        ("name = \"alice\"\n", "name = \"alice\"\ncount = 2\n", "2 UEs would send to 1"),
        ("transport = \"udp\"", "transport = \"udp\"\ndirection = \"uplink\"", "exchange `from` and `to`"),
        (&CALL[CALL.find("transport").unwrap()..], "", "only calls go from UE to UE"),
    ] {
        let found = message(from, to);
        assert!(found.contains(expected), "{found}");
    }
}
