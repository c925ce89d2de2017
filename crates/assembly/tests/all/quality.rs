//! Handover by RSRQ: its position on a line between two cells, idle and loaded, by hand and compared with ns-3.

use crate::tables::{reals, table, texts};
use airlane_assembly::{RunOutput, run};
use airlane_scenario::Scenario;

/// Two cells 1000 m apart, and a UE that starts at 400 m and moves at 10 m/s. It receives nothing, so that its
/// path loss is computed for the samples only: every 200 ms, 2 m. Without the filter of layer 3.
const LINE: &str = r#"network = "lena-3.37"
[run]
duration = "30 s"
[channel]
path_loss = "friis"
[handover]
l3_filter = 0
radio_link_failure = false
algorithm = { kind = "a2-a4-rsrq", RULE }
[[cell]]
name = "west"
resource_blocks = 100
rlc = { mode = "um", buffer = "1 MB" }
[[cell]]
name = "east"
resource_blocks = 100
position = ["1000 m", "0 m"]
rlc = { mode = "um", buffer = "1 MB" }
[[ue]]
name = "mover"
position = ["400 m", "0 m"]
mobility = { kind = "line", heading = "0 deg", speed = "10 m/s" }
[[flow]]
to = "mover"
transport = "icmp"
app = "ping"
start = "29900 ms"
"#;

/// A flow that fills each cell, to a UE next to it.
const LOAD: &str = r#"
[[ue]]
name = "near-west"
position = ["10 m", "0 m"]
[[ue]]
name = "near-east"
position = ["990 m", "0 m"]
[[flow]]
to = "near-west"
transport = "udp"
app = { kind = "cbr", rate = "150 Mbit/s" }
[[flow]]
to = "near-east"
transport = "udp"
app = { kind = "cbr", rate = "150 Mbit/s" }
"#;

fn go(rule: &str, more: &str) -> RunOutput {
    let text = LINE.replace("RULE", rule) + more;
    let output = run(&Scenario::parse(&text, "line.toml").unwrap().resolve().unwrap(), 1).unwrap();
    assert!(output.meta.conserved);
    output
}

/// Time and place of the report that starts the only handover.
#[track_caller]
fn report(rule: &str, more: &str) -> (f64, f64) {
    let output = go(rule, more);
    let handovers = table(&output, "handovers");
    assert_eq!((texts(handovers, "ue"), texts(handovers, "to")), (vec!["mover".into()], vec!["east".into()]));
    let place = reals(handovers, "x_m")[0];
    (reals(handovers, "report_s")[0], (place * 1e6).round() / 1e6)
}

/// At x the UE receives the east stronger than the west by 20 log10(x / (1000 - x)) dB. With two elements of each cell,
/// RSRQ of the west is -10 log10(2 (1 + r)) for r = (x / (1000 - x))², and that of the east the same for 1 / r. A
/// sample is the mean over 2 m: that of 1 m before.
///
/// The west is below -5 dB from r = 0.5811 on, 432.6 m: the sample at 3.4 s is that of 433 m. Event A2 is reported then
/// and every 240 ms. The reported value of the east is 28 from -6 dB on, 1/r = 0.9905 and 501.2 m, that of the west is
/// 27 (-6.07 dB): the sample at 10.4 s, 503 m. Event A4 is reported at 0.2 s and every 480 ms: 10.76 s. The next report
/// of event A2 is that at 3.4 + 31 · 0.24 = 10.84 s. Noise of twelve elements takes 0.015 dB and changes none of this.
#[test]
fn an_idle_cell_is_left_in_the_middle() {
    for rssi in ["reference-signals", "all"] {
        assert_eq!(report(&format!("rssi = \"{rssi}\""), ""), (10.84, 508.4), "{rssi}");
    }
}

/// Threshold 25 is -7.5 dB: 2 (1 + r) = 5.623, r = 1.812, 573.7 m. That is the sample at 17.6 s, 575 m, where event A2 is
/// reported for the first time; the east has been better for long.
///
/// With load, twelve elements count: the west is below -10.8 dB everywhere, so event A2 is reported from 0.2 s on every
/// 240 ms. The value of the west falls from 12 to 11 at -14 dB: 12 (1 + r) = 25.119, r = 1.0932, 511.1 m, while that of
/// the east is 12. That is the sample at 11.4 s, 513 m, and the report at 0.2 + 47 · 0.24 = 11.48 s.
#[test]
fn load_lets_a_ue_leave_earlier() {
    let rule = |rssi: &str| format!("serving_threshold = 25, rssi = \"{rssi}\"");
    assert_eq!(report(&rule("all"), ""), (17.6, 576.0));
    assert_eq!(report(&rule("all"), LOAD), (11.48, 514.8));
    // As ns-3 has it, load makes no difference.
    assert_eq!(report(&rule("reference-signals"), LOAD), (17.6, 576.0));
}

/// The same line in ns-3.37: `bench/peers/ns3/build/a2a4 --threshold=T --offset=O` prints these times and places.
#[test]
fn handovers_start_where_they_do_in_ns3() {
    let printed = [
        ((34, 1), (10.760, 507.6)),
        ((30, 1), (10.840, 508.4)),
        ((30, 4), (15.400, 554.0)),
        ((28, 8), (21.520, 615.2)),
        ((26, 1), (15.200, 552.0)),
        ((24, 4), (19.600, 596.0)),
        ((22, 1), (23.400, 634.0)),
    ];
    for ((threshold, offset), (t_s, x_m)) in printed {
        let rule = format!("serving_threshold = {threshold}, neighbour_offset = {offset}");
        let (at, place) = report(&rule, "");
        assert_eq!((at, place), (t_s, x_m), "{rule}");
    }
}

/// The packets of a UE arrive before and after its handover.
#[test]
fn a_ue_is_handed_over_and_served() {
    let output = go(
        "neighbour_offset = 2",
        "[[flow]]\nto = \"mover\"\ntransport = \"udp\"\napp = { kind = \"cbr\", rate = \"1 Mbit/s\" }\n",
    );
    let handovers = table(&output, "handovers");
    assert_eq!(texts(handovers, "outcome"), ["success"]);
    let flows = table(&output, "flows");
    assert!(reals(flows, "packets_delivered")[1] > 0.99 * reals(flows, "packets_sent")[1]);
}

#[test]
fn mistakes_are_explained() {
    let error = |rule: &str| {
        let text = LINE.replace("{ kind = \"a2-a4-rsrq\", RULE }", rule);
        Scenario::parse(&text, "line.toml").unwrap().resolve().expect_err(rule).to_string()
    };
    let cases = [
        ("unknown algorithm", "\"a2-a4\""),
        ("a key of the other", "{ kind = \"a3-rsrp\", serving_threshold = 30 }"),
        ("no reported value", "{ kind = \"a2-a4-rsrq\", serving_threshold = 35 }"),
        ("a quality", "{ kind = \"a2-a4-rsrq\", serving_threshold = \"-5 dB\" }"),
        ("no offset", "{ kind = \"a2-a4-rsrq\", neighbour_offset = 35 }"),
        ("unknown elements", "{ kind = \"a2-a4-rsrq\", rssi = \"some\" }"),
    ];
    let printed: String = cases.iter().map(|(name, rule)| format!("--- {name}\n{}\n", error(rule))).collect();
    crate::snapshots::compare(&printed, "quality-errors.txt");
}
