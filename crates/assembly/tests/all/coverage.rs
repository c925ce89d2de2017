//! The outages of a UE without a usable link in the tables of a run.

use airlane_assembly::run;
use airlane_record::{Column, Table};
use airlane_scenario::Scenario;

/// Each outage: direction, start and end in seconds, and whether it was over before the end of the run.
fn outages(text: &str) -> Vec<(String, f64, f64, bool)> {
    let scenario =
        Scenario::parse(text, "coverage.toml").unwrap().resolve().unwrap_or_else(|e| panic!("{e}"));
    let output = run(&scenario, 1).unwrap();
    let (_, table) = output.tables.iter().find(|(name, _)| *name == "outages").unwrap();
    rows(table)
}

fn rows(table: &Table) -> Vec<(String, f64, f64, bool)> {
    let (Some(Column::Text(directions)), Some(Column::Bool(over))) =
        (table.column("direction"), table.column("over"))
    else {
        panic!("{table:?}");
    };
    let seconds = |name: &str| match table.column(name) {
        Some(Column::F64(values)) => values.clone(),
        other => panic!("{name}: {other:?}"),
    };
    let (from, until) = (seconds("from_s"), seconds("until_s"));
    (0..over.len()).map(|k| (directions[k].clone(), from[k], until[k], over[k])).collect()
}

/// A phone at 300 m/s on a straight line away from the cell, without fading, and a datagram each way every 10 ms.
fn walk(start_m: u32, heading: u32, seconds: u32) -> String {
    format!(
        r#"
        network = "lena"
        [run]
        duration = "{seconds} s"
        [channel]
        fading = "none"
        [[cell]]
        name = "a"
        resource_blocks = 25
        [[ue]]
        name = "phone"
        position = ["{start_m} m", "0 m"]
        mobility = {{ kind = "line", heading = "{heading} deg", speed = "300 m/s" }}
        [[flow]]
        to = "phone"
        transport = "udp"
        app = {{ kind = "cbr", rate = "80 kbit/s", payload = "100 B" }}
        "#
    )
}

/// 30 dBm and noise of -174 dBm/Hz on 4.5 MHz with a noise figure of 9 dB, -98.5 dBm, allow a loss of 128.5
/// dB. The Friis loss at 2120 MHz is 39.0 dB at 1 m, and CQI 1 begins at -3.3 dB for groups of two resource
/// blocks: 20 log10(d) = 128.5 + 3.3 - 39.0 dB at d = 43.7 km. A phone that starts at 41 km with 300 m/s is
/// there after 9 s.
#[test]
fn a_phone_that_leaves_has_no_downlink_from_there_on() {
    let found = outages(&walk(41_000, 0, 20));
    let [(direction, from, until, over)] = found.as_slice() else { panic!("{found:?}") };
    println!("{found:?}");
    assert_eq!((direction.as_str(), *over), ("downlink", false));
    assert!((8.0..10.0).contains(from) && *until > 19.9, "{from} to {until}");
}

/// From 46 km on towards the cell: 43.7 km is 7.7 s away.
#[test]
fn a_phone_that_comes_back_has_one_again() {
    let found = outages(&walk(46_000, 180, 20));
    let [(direction, from, until, over)] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((direction.as_str(), *over), ("downlink", true));
    assert!(*from < 0.1 && (6.7..8.7).contains(until), "{from} to {until}");
}

#[test]
fn a_phone_within_reach_has_none() {
    assert_eq!(outages(&walk(100, 0, 5)), []);
}
