//! Dedicated bearers of QoS classes, whole runs.

use airlane_assembly::{RunOutput, run};

use airlane_scenario::{Scenario, ScenarioError};

use crate::tables::{reals, table, texts};

/// A UE with a call and a download. The cell carries about 26 Mbit/s, so that a full queue of 512 KiB takes 160 ms.
const BASE: &str = r#"network = "typical"
[run]
duration = "6 s"
warmup = "1 s"
[internet]
rate = "100 Mbit/s"
[channel]
fading = "none"
[[cell]]
name = "west"
resource_blocks = 25
rlc = "am"
scheduler = "qos"
[[ue]]
name = "phone"
position = ["200 m", "0 m"]
[[flow]]
name = "call"
to = "phone"
qos = { qi = 2, gbr = "2.2 Mbit/s" }
app = { kind = "cbr", rate = "2 Mbit/s", payload = "1000 B" }
transport = "udp"
[[flow]]
name = "download"
to = "phone"
app = { kind = "cbr", rate = "40 Mbit/s", payload = "1000 B" }
transport = "udp"
"#;

/// The download is of another UE.
const OTHER_UE: (&str, &str) = (
    "[[flow]]\nname = \"download\"\nto = \"phone\"\n",
    "[[ue]]\nname = \"other\"\nposition = [\"0 m\", \"200 m\"]\n[[flow]]\nname = \"download\"\nto = \"other\"\n",
);

/// A second cell, to which the UE moves.
const HANDOVER: &str = r#"
[handover]
mode = "MODE"
[[cell]]
name = "east"
position = ["500 m", "0 m"]
resource_blocks = 25
rlc = "am"
scheduler = "qos"
"#;

fn parsed(changes: &[(&str, &str)], more: &str) -> Result<Scenario, ScenarioError> {
    let text = changes.iter().fold(BASE.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    });
    Scenario::parse(&format!("{text}{more}"), "x.toml")
}

fn go(changes: &[(&str, &str)], more: &str) -> RunOutput {
    let resolved = parsed(changes, more).unwrap().resolve().unwrap_or_else(|e| panic!("{e}"));
    let output = run(&resolved, 1).unwrap();
    assert!(output.meta.conserved);
    output
}

fn flows(output: &RunOutput, column: &str) -> Vec<f64> {
    reals(table(output, "flows"), column)
}

/// The value of the downlink of a bearer.
fn of_bearer(output: &RunOutput, ue: &str, qi: f64, column: &str) -> f64 {
    let table = table(output, "bearers");
    let (ues, ways) = (texts(table, "ue"), texts(table, "direction"));
    let row = (0..ues.len())
        .find(|row| ues[*row] == ue && ways[*row] == "downlink" && reals(table, "qi")[*row] == qi);
    reals(table, column)[row.expect("a row")]
}

/// 2 Mbit/s of payload are 250 packets in a second of 1028 bytes.
#[test]
fn a_call_on_its_own_bearer_does_not_wait_behind_a_download() {
    for changes in [&[][..], &[OTHER_UE]] {
        let own = go(changes, "");
        assert!(flows(&own, "goodput_mbps")[0] > 1.99, "{:?}", flows(&own, "goodput_mbps"));
        assert_eq!(of_bearer(&own, "phone", 2.0, "lost"), 0.0);
        assert_eq!(of_bearer(&own, "phone", 2.0, "within_budget"), 1.0);
        assert!(of_bearer(&own, "phone", 2.0, "delay_p98_ms") < 30.0);
        assert!((2.0..=2.06).contains(&of_bearer(&own, "phone", 2.0, "rate_mbps")));
    }
    // In one bearer the call waits in the full queue.
    let one = go(&[("qos = { qi = 2, gbr = \"2.2 Mbit/s\" }\n", "")], "");
    assert!(flows(&one, "owd_p50_ms")[0] > 140.0, "{:?}", flows(&one, "owd_p50_ms"));
    assert!(one.tables.iter().all(|(name, _)| *name != "bearers"));
}

#[test]
fn under_proportional_fairness_a_bearer_has_priority_over_the_others_of_its_ue() {
    let output = go(&[("scheduler = \"qos\"\n", "")], "");
    assert!(of_bearer(&output, "phone", 2.0, "delay_p98_ms") < 40.0);
    assert!(of_bearer(&output, "phone", 9.0, "delay_p50_ms") > 140.0);
}

#[test]
fn a_handover_keeps_dedicated_bearers_in_their_own_modes() {
    let moves = (
        "position = [\"200 m\", \"0 m\"]",
        "position = [\"230 m\", \"0 m\"]\nmobility = { kind = \"line\", towards = [\"500 m\", \"0 m\"], speed = \"40 m/s\" }",
    );
    let game = ("qos = { qi = 2, gbr = \"2.2 Mbit/s\" }", "qos = { qi = 5 }");
    let light = ("rate = \"40 Mbit/s\"", "rate = \"1 Mbit/s\"");
    for mode in ["lossless", "seamless"] {
        let acknowledged = go(&[moves, game, light], &HANDOVER.replace("MODE", mode));
        assert_eq!(texts(table(&acknowledged, "handovers"), "outcome"), ["success"]);
        assert_eq!(flows(&acknowledged, "packets_lost"), [0.0, 0.0], "{mode}");
        let unacknowledged = go(&[moves, light], &HANDOVER.replace("MODE", mode));
        assert_eq!(texts(table(&unacknowledged, "handovers"), "outcome"), ["success"]);
        // 250 packets in each of the five seconds after the warm-up.
        let got = flows(&unacknowledged, "packets_delivered")[0];
        assert!((1210.0..=1250.0).contains(&got), "{mode}: {got}");
    }
}

#[test]
fn a_limit_of_the_aggregate_rate_leaves_guaranteed_rates_out() {
    let limited = ("name = \"phone\"\n", "name = \"phone\"\nambr = { downlink = \"5 Mbit/s\" }\n");
    let output = go(&[limited], "");
    let rate = of_bearer(&output, "phone", 9.0, "rate_mbps");
    assert!((4.95..=5.05).contains(&rate), "{rate}");
    assert!(of_bearer(&output, "phone", 2.0, "rate_mbps") > 2.0);
}

#[test]
fn a_maximum_bit_rate_limits_its_bearer() {
    let qos = ("gbr = \"2.2 Mbit/s\"", "gbr = \"1 Mbit/s\", mbr = \"1.5 Mbit/s\"");
    let rate = of_bearer(&go(&[qos], ""), "phone", 2.0, "rate_mbps");
    assert!((1.48..=1.52).contains(&rate), "{rate}");
}

#[test]
fn a_rate_that_the_cell_cannot_guarantee_is_rejected() {
    let output = go(&[("gbr = \"2.2 Mbit/s\"", "gbr = \"17 Mbit/s\"")], "");
    let bearers = table(&output, "bearers");
    assert_eq!(texts(bearers, "admitted"), ["yes", "yes", "no", "no"]);
    assert!(of_bearer(&output, "phone", 2.0, "delay_p50_ms") > 140.0, "it waits in the default bearer");
}

#[test]
fn nr_has_qos_flows_too() {
    let nr = [
        ("network = \"typical\"", "network = \"nr-typical-fr1\""),
        ("resource_blocks = 25\nrlc = \"am\"\n", "bandwidth = \"10 MHz\"\n"),
    ];
    let full = ("rate = \"40 Mbit/s\"", "rate = \"90 Mbit/s\"");
    let delay = |qi: f64, qos: &str| {
        let own = ("qos = { qi = 2, gbr = \"2.2 Mbit/s\" }", qos);
        of_bearer(&go(&[nr[0], nr[1], own, full], ""), "phone", qi, "delay_p98_ms")
    };
    assert!(delay(82.0, "qos = { qi = 82, gbr = \"2.2 Mbit/s\" }") < 15.0);
    assert!(delay(80.0, "qos = { qi = 80 }") < 15.0);
}

#[test]
fn errors_name_the_key() {
    let cases = [
        ("qos = { qi = 11 }", "flow.0.qos.qi"),
        ("qos = { qi = 2 }", "flow.0.qos"),
        ("qos = { qi = 7, gbr = \"1 Mbit/s\" }", "flow.0.qos.gbr"),
        ("qos = { qi = 7, mbr = \"1 Mbit/s\" }", "flow.0.qos.mbr"),
        ("qos = { qi = 2, gbr = \"0 bit/s\" }", "flow.0.qos.gbr"),
        ("qos = { qi = 2, gbr = \"2 Mbit/s\", mbr = \"1 Mbit/s\" }", "flow.0.qos.mbr"),
        ("qos = { qi = 7 }\nfive_qi = 9", "flow.0.five_qi"),
    ];
    for (written, key) in cases {
        let scenario = parsed(&[("qos = { qi = 2, gbr = \"2.2 Mbit/s\" }", written)], "");
        let error = scenario.and_then(|scenario| scenario.resolve()).expect_err(written).to_string();
        assert!(error.contains(key), "{error}");
    }
    let flow = |qi: u32| format!("[[flow]]\nto = \"phone\"\nqos = {{ qi = {qi} }}\n");
    let many: String = [5, 6, 7, 8, 10, 69].map(flow).concat();
    assert!(parsed(&[], &many).and_then(|scenario| scenario.resolve()).is_ok(), "eight bearers");
    let error =
        parsed(&[], &(many + &flow(70))).and_then(|scenario| scenario.resolve()).expect_err("nine bearers");
    assert!(error.to_string().contains("flow.8.qos"), "{error}");
}
