//! QUIC over several paths, in whole runs.

use airlane_assembly::RunOutput;

use crate::several_paths::{PHONE, counts, mean, run_with};
use crate::tables::{reals, table, texts};

/// A host with two accesses, of 20 and 30 Mbit/s.
const WIRED: &str = r#"network = "wired"
[run]
duration = "10 s"
[internet]
rate = "20 Mbit/s"
delay = "20 ms"
[[link]]
name = "wifi"
rate = "30 Mbit/s"
LINK
[[flow]]
FLOW
[flow.transport]
TRANSPORT
"#;

fn of(text: &str, link: &str, flow: &str, mpquic: &str) -> RunOutput {
    run_with(text, link, flow, &format!("kind = \"mpquic\"\n{mpquic}"))
}

/// IP, UDP and QUIC take 4 to 5 % of a datagram.
#[test]
fn two_links_carry_the_sum_of_their_rates() {
    for scheduler in ["", "scheduler = \"min-rtt\"", "scheduler = \"round-robin\""] {
        let output = of(WIRED, "", "", scheduler);
        let paths = table(&output, "paths");
        assert_eq!(texts(paths, "path"), ["internet", "wifi"]);
        let (rate, shares) =
            (reals(table(&output, "flows"), "goodput_mbps")[0], reals(paths, "share_percent"));
        println!("{scheduler}: {rate} Mbit/s, shares {shares:?}");
        assert!((0.85 * 50.0..0.97 * 50.0).contains(&rate), "{rate}");
        assert!((shares[0] - 40.0).abs() < 4.0, "{shares:?}");
    }
}

/// Losses on both paths: all bytes arrive once, in both directions.
#[test]
fn a_transfer_completes_over_paths_with_loss() {
    for (scheduler, extra) in
        [("noq", ""), ("min-rtt", ""), ("round-robin", ""), ("weighted", "weights = [3, 1]")]
    {
        for direction in ["downlink", "uplink"] {
            let flow = format!("direction = \"{direction}\"\napp = {{ kind = \"fixed\", size = \"3 MB\" }}");
            let output = of(WIRED, "loss = \"2 %\"", &flow, &format!("scheduler = \"{scheduler}\"\n{extra}"));
            let flows = table(&output, "flows");
            assert_eq!(counts(flows, "bytes_delivered"), [3_000_000], "{scheduler} {direction}");
            assert!(reals(flows, "fct_acked_s")[0].is_finite(), "{scheduler} {direction}");
        }
    }
}

/// A backup is validated, and carries nothing while the other path is there.
#[test]
fn a_backup_is_not_used() {
    let output = of(WIRED, "", "", "backup = [\"wifi\"]");
    assert_eq!(reals(table(&output, "paths"), "share_percent"), [100.0, 0.0]);
}

/// The phone is outside of Wi-Fi from 4 s to 8 s. Without a notice, the data wait until the path is given up; with one, for three
/// probe timeouts; with a warning before, hardly.
#[test]
fn a_path_that_is_lost_is_survived() {
    const AWAY: &str = "coverage = [{ from = \"0 s\", until = \"4 s\" }, { from = \"8 s\" }]";
    let runs = ["", "notice = \"50 ms\"", "notice = \"50 ms\"\nwarning = \"500 ms\""];
    let pauses = runs.map(|notice| {
        let output = of(PHONE, &format!("{AWAY}\n{notice}"), "", "path_idle_timeout = \"1 s\"");
        let paths = table(&output, "paths");
        let [pause, out] = ["pause_max_ms", "out_of_use_s"].map(|name| reals(paths, name));
        let rates = [(1.0, 4.0), (6.0, 8.0), (10.0, 12.0)].map(|(from, until)| mean(&output, from, until));
        println!("{notice:?}: {rates:?} Mbit/s, pauses {pause:?} ms, out of use {out:?} s");
        assert!(rates[0] > 30.0 && rates[1] > 5.0 && rates[2] > 25.0, "{rates:?}");
        assert!((3.0..6.5).contains(&out[0]), "{out:?}");
        pause[0].max(pause[1])
    });
    assert!(pauses[0] > 1_000.0 && pauses[1] < pauses[0] && pauses[2] < pauses[1], "{pauses:?}");
}

/// LTE and NR: the connection has the sum of their rates, if the window of the stream allows it.
#[test]
fn cells_of_two_generations_carry_one_connection() {
    let text = PHONE
        .replace(
            "[[link]]\nname = \"wifi\"\nrate = \"30 Mbit/s\"\nLINK\n",
            "[[cell]]\nname = \"nr\"\nradio = \"nr\"\nbandwidth = \"20 MHz\"\n",
        )
        .replace("[\"wifi\", \"lte\"]", "[\"nr\", \"lte\"]")
        .replace("12 s", "6 s");
    let goodput = |paths: &str| {
        let keys = format!("quic = {{ stream_window = \"8 MB\" }}\n{paths}");
        reals(table(&of(&text, "", "", &keys), "flows"), "goodput_mbps")[0]
    };
    let (both, nr, lte) = (goodput(""), goodput("paths = [\"nr\"]"), goodput("paths = [\"lte\"]"));
    println!("{both} Mbit/s over both, {lte} over LTE, {nr} over NR");
    assert!(both > 0.95 * (nr + lte));
}
