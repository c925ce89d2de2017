//! UEs with a second bearer for L4S, whole runs.

use airlane_assembly::{RunOutput, run};

use airlane_scenario::Scenario;

use crate::tables::{reals, table, texts};

/// One UE with datagrams in both bearers, of which its cell carries all.
const BASE: &str = r#"network = "typical"
[run]
duration = "4 s"
[internet]
rate = "100 Mbit/s"
[channel]
fading = "none"
[[cell]]
name = "west"
resource_blocks = 25
rlc = "am"
l4s_bearer = {}
[[ue]]
name = "phone"
position = ["200 m", "0 m"]
[[flow]]
name = "l4s"
to = "phone"
stop = "3 s"
app = { kind = "cbr", rate = "2 Mbit/s", payload = "1000 B" }
transport = { kind = "udp", ecn = "ect1" }
[[flow]]
name = "classic"
to = "phone"
stop = "3 s"
app = { kind = "cbr", rate = "2 Mbit/s", payload = "1000 B" }
transport = "udp"
"#;

/// A second cell, to which the UE moves.
const HANDOVER: &str = r#"
[handover]
mode = "MODE"
[[cell]]
name = "east"
position = ["500 m", "0 m"]
resource_blocks = 25
rlc = "RLC"
l4s_bearer = {}
"#;

fn parsed(changes: &[(&str, &str)], more: &str) -> Result<Scenario, airlane_scenario::ScenarioError> {
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

/// A cell of 25 resource blocks carries at most about 18 Mbit/s. Both flows offer 20, and the default bearer has a
/// prioritised bit rate of 3: it gets that, and the L4S bearer the rest. In one bearer with one queue, each gets near
/// half of the same sum.
#[test]
fn the_prioritised_bit_rate_is_what_remains_for_the_default_bearer() {
    let full = ("rate = \"2 Mbit/s\"", "rate = \"20 Mbit/s\"");
    let both = "l4s_bearer = { default_rate = \"3 Mbit/s\", aqm = \"drop-tail\" }";
    let two = flows(&go(&[full, ("l4s_bearer = {}", both)], ""), "goodput_mbps");
    // 3 Mbit/s contain the headers of IP and UDP (28 of 1028 bytes), PDCP (2) and RLC (some per segment).
    assert!((2.6..=2.92).contains(&two[1]), "{two:?}");
    assert!(two[0] > 9.0, "{two:?}");
    let one = flows(&go(&[full, ("l4s_bearer = {}\n", "")], ""), "goodput_mbps");
    assert!(one.iter().all(|rate| (7.0..11.0).contains(rate)), "{one:?}");
    assert!((one.iter().sum::<f64>() - two.iter().sum::<f64>()).abs() < 0.5, "{one:?} {two:?}");
}

#[test]
fn a_handover_keeps_the_packets_of_both_bearers() {
    let moves = (
        "position = [\"200 m\", \"0 m\"]",
        "position = [\"230 m\", \"0 m\"]\nmobility = { kind = \"line\", towards = [\"500 m\", \"0 m\"], speed = \"40 m/s\" }",
    );
    for mode in ["lossless", "seamless"] {
        let output = go(&[moves], &HANDOVER.replace("MODE", mode).replace("RLC", "am"));
        assert_eq!(texts(table(&output, "handovers"), "outcome"), ["success"]);
        let (sent, got) = (flows(&output, "packets_sent"), flows(&output, "packets_delivered"));
        // 2 Mbit/s of 8000 bits for 3 s.
        assert_eq!(sent, [750.0, 750.0], "{mode}");
        // The last packets are under way when the flows end; in the seamless mode, what was not confirmed had arrived.
        assert_eq!(flows(&output, "packets_lost"), [0.0, 0.0], "{mode}");
        assert!(got.iter().all(|got| (745.0..=750.0).contains(got)), "{mode}: {got:?}");
    }
    let um = [moves, ("rlc = \"am\"", "rlc = \"um\"")];
    let output = go(&um, &HANDOVER.replace("MODE", "seamless-um").replace("RLC", "um"));
    let lost: Vec<_> = flows(&output, "packets_sent")
        .iter()
        .zip(flows(&output, "packets_delivered"))
        .map(|(a, b)| a - b)
        .collect();
    assert!(lost.iter().all(|lost| *lost < 40.0), "{lost:?}");
}

#[test]
fn datagrams_upwards_use_both_bearers_too() {
    let up = ("to = \"phone\"\n", "to = \"phone\"\ndirection = \"uplink\"\n");
    let full = ("rate = \"2 Mbit/s\"", "rate = \"12 Mbit/s\"");
    let both = "l4s_bearer = { default_rate = \"2 Mbit/s\", aqm = \"drop-tail\" }";
    let two = flows(&go(&[up, full, ("l4s_bearer = {}", both)], ""), "goodput_mbps");
    assert!((1.6..=1.95).contains(&two[1]), "{two:?}");
    assert!(two[0] > 2.0 * two[1], "{two:?}");
}

#[test]
fn errors_name_the_key() {
    let cases = [
        ("buffer = \"100 B\"", "cell.0.l4s_bearer.buffer"),
        ("default_rate = \"200 Gbit/s\"", "cell.0.l4s_bearer.default_rate"),
        ("rate = \"200 Gbit/s\"", "cell.0.l4s_bearer.rate"),
        ("bucket = \"0 s\"", "cell.0.l4s_bearer.bucket"),
        ("aqm = { kind = \"pie\", target = \"0 s\" }", "cell.0.l4s_bearer.aqm.target"),
        ("priority = 1", "cell.0.l4s_bearer.priority"),
    ];
    for (written, key) in cases {
        let bearer = format!("l4s_bearer = {{ {written} }}");
        let scenario = parsed(&[("l4s_bearer = {}", &bearer)], "");
        let error = scenario.and_then(|scenario| scenario.resolve()).expect_err(written).to_string();
        assert!(error.contains(key), "{error}");
    }
}
