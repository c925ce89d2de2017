//! Multipath TCP whose paths come and go, and middleboxes that remove its options, in whole runs.

use airlane_assembly::RunOutput;

use crate::several_paths::{PHONE, counts, mean, run_with};
use crate::tables::{reals, table, texts};

fn of(link: &str, flow: &str, mptcp: &str) -> RunOutput {
    run_with(PHONE, link, flow, &format!("kind = \"mptcp\"\n{mptcp}"))
}

/// All bytes of transfers arrive in both directions, over the first link alone.
#[test]
fn a_connection_whose_options_are_removed_continues_as_tcp() {
    for strip in ["syn", "data", "all"] {
        for direction in ["downlink", "uplink"] {
            let link = format!("strip = \"{strip}\"\nloss = \"0.5 %\"");
            let app = "app = { kind = \"fixed\", size = \"2 MB\" }";
            let output = of(&link, &format!("{app}\ndirection = \"{direction}\""), "");
            let (flows, paths) = (table(&output, "flows"), table(&output, "paths"));
            let of = format!("{strip}, {direction}");
            assert_eq!(counts(flows, "bytes_delivered"), [2_000_000], "{of}");
            assert!(reals(flows, "fct_s")[0] < 6.0, "{of}: {:?}", reals(flows, "fct_s"));
            assert_eq!(counts(paths, "fallbacks"), [1, 0], "{of}");
            assert_eq!(reals(paths, "share_percent"), [100.0, 0.0], "{of}");
        }
    }
}

/// A subflow that cannot be joined, or whose data has no mappings, is reset; the connection stays on the first.
#[test]
fn a_subflow_whose_options_are_removed_is_reset() {
    for strip in ["syn", "data", "all"] {
        let link = format!("strip = \"{strip}\"");
        let output = of(&link, "app = { kind = \"fixed\", size = \"4 MB\" }", "paths = [\"lte\", \"wifi\"]");
        let paths = table(&output, "paths");
        assert_eq!(counts(table(&output, "flows"), "bytes_delivered"), [4_000_000], "{strip}");
        assert_eq!(counts(paths, "fallbacks"), [0, 0], "{strip}");
        assert_eq!(reals(paths, "share_percent"), [100.0, 0.0], "{strip}");
    }
}

/// The address of the second path is announced by either end; with loss, announcements are repeated until their echo.
#[test]
fn announced_addresses_are_joined() {
    for by in ["server", "host"] {
        for loss in [0, 20] {
            let internet = format!("loss = \"{loss} %\"");
            let output = of(&internet, "", &format!("announced = {{ {by} = [\"lte\"] }}"));
            let paths = table(&output, "paths");
            let at = reals(paths, "established_s");
            println!("announced by the {by} with {loss} % loss: {at:?}");
            assert!(at[1] > at[0] && at[1] < 2.0, "{at:?}");
            assert!(reals(paths, "share_percent")[1] > 10.0);
        }
    }
}

const AWAY: &str = "coverage = [{ from = \"0 s\", until = \"4 s\" }, { from = \"8 s\" }]";

/// The phone is outside of Wi-Fi from 4 s to 8 s, and LTE is a backup. Without a notice a timeout takes the backup into use;
/// with one it is faster, and a warning leaves no pause. Wi-Fi is used again over a new subflow.
#[test]
fn a_backup_takes_over_when_an_access_is_lost() {
    let backup = "backup = [\"lte\"]";
    let runs = ["", "notice = \"50 ms\"", "notice = \"50 ms\"\nwarning = \"500 ms\""];
    let pauses: Vec<f64> = runs
        .map(|notice| {
            let output = of(&format!("{AWAY}\n{notice}"), "", backup);
            let paths = table(&output, "paths");
            let [pause, out] = ["pause_max_ms", "out_of_use_s"].map(|name| reals(paths, name));
            let rates =
                [(1.0, 3.0), (5.0, 8.0), (10.0, 12.0)].map(|(from, until)| mean(&output, from, until));
            println!("{notice:?}: {rates:?} Mbit/s, pauses {pause:?} ms, out of use {out:?} s");
            assert_eq!(texts(paths, "path"), ["wifi", "lte"]);
            assert!(rates[0] > 25.0 && rates[1] > 5.0 && rates[2] > 25.0, "{rates:?}");
            assert!((3.0..6.5).contains(&out[0]), "{out:?}");
            pause[1]
        })
        .into();
    assert!(pauses[0] > 200.0, "RFC 6298's timeout, or Linux's, is not below 200 ms: {pauses:?}");
    assert!((50.0..pauses[0]).contains(&pauses[1]) && pauses[2] < pauses[1], "{pauses:?}");
}

/// A warning makes Wi-Fi a backup; when it is there again, its new subflow is none.
#[test]
fn a_path_that_returns_is_no_backup_any_more() {
    let output = of(&format!("{AWAY}\nnotice = \"50 ms\"\nwarning = \"500 ms\""), "", "");
    let series = table(&output, "path_series");
    let (times, rates) = (reals(series, "t_s"), reals(series, "goodput_mbps"));
    let paths = texts(series, "path");
    let carried = |from: f64, until: f64| {
        let own =
            (0..times.len()).filter(|row| paths[*row] == "wifi" && (from..until).contains(&times[*row]));
        own.map(|row| rates[row]).sum::<f64>()
    };
    assert!(carried(1.0, 3.4) > 100.0 && carried(4.5, 8.0) == 0.0 && carried(10.0, 12.0) > 100.0);
}

/// A transfer that stops, in order or at once (MP_FASTCLOSE), delivers nothing more, and its run ends.
#[test]
fn an_aborted_connection_sends_nothing_more() {
    let [ended, aborted] = ["", "abort = true"].map(|abort| of("", "stop = \"3 s\"", abort));
    for output in [&ended, &aborted] {
        assert!(mean(output, 1.0, 3.0) > 25.0 && mean(output, 5.0, 12.0) == 0.0);
    }
}
