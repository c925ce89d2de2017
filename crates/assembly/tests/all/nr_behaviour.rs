//! What works in a cell of LTE works in one of NR: classes of service, interference, handovers, queue disciplines.

use crate::tables::{reals, table, texts};
use airlane_assembly::{RunOutput, run};
use airlane_core::DropCause;
use airlane_scenario::Scenario;

/// A carrier of 20 MHz, whose rate is below what the flows offer.
const BASE: &str = r#"network = "nr-typical-fr1"
[run]
duration = "3 s"
warmup = "1 s"
[channel]
fading = "none"
[[cell]]
name = "west"
bandwidth = "20 MHz"
[[ue]]
name = "phone"
position = ["150 m", "0 m"]
[[flow]]
name = "first"
to = "phone"
app = { kind = "cbr", rate = "400 Mbit/s" }
transport = "udp"
"#;

const CALL: &str = r#"
[[flow]]
name = "call"
to = "phone"
app = { kind = "cbr", rate = "1 Mbit/s", payload = "500 B" }
transport = "udp"
"#;

fn go(changes: &[(&str, &str)], more: &str) -> RunOutput {
    let text = changes.iter().fold(BASE.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    });
    let scenario = Scenario::parse(&format!("{text}{more}"), "x.toml").unwrap();
    let output = run(&scenario.resolve().unwrap_or_else(|error| panic!("{error}")), 1).unwrap();
    assert!(output.meta.conserved);
    output
}

fn flows(output: &RunOutput, column: &str) -> Vec<f64> {
    reals(table(output, "flows"), column)
}

/// The first flow fills the queue of the default bearer. A call in the same bearer waits behind it, and loses
/// packets with it; with 5QI 80 it has the other bearer, where there is no queue.
#[test]
fn a_flow_with_a_low_latency_5qi_does_not_wait_behind_one_without() {
    let two_bearers = ("bandwidth = \"20 MHz\"", "bandwidth = \"20 MHz\"\nl4s_bearer = {}");
    let alike = go(&[two_bearers], CALL);
    let apart = go(&[two_bearers], &format!("{CALL}five_qi = 80\n"));
    let explicit = go(&[two_bearers], &format!("{CALL}five_qi = 9\n"));
    assert_eq!(flows(&alike, "owd_p95_ms"), flows(&explicit, "owd_p95_ms"));
    assert!(flows(&alike, "packets_lost")[1] > 0.0);
    assert_eq!(flows(&apart, "packets_lost")[1], 0.0);
    let (behind, ahead) = (flows(&alike, "owd_p95_ms")[1], flows(&apart, "owd_p95_ms")[1]);
    // 10 ms of internet, 1 ms of backhaul, up to five slots of 0.5 ms, and retransmissions by HARQ.
    assert!(ahead < 25.0 && behind > 2.0 * ahead, "{ahead} and {behind} ms");
}

/// A neighbour that sends all the time takes from the UE what one that is idle does not.
#[test]
fn a_neighbour_that_sends_interferes() {
    let neighbour = r#"
[[cell]]
name = "east"
position = ["400 m", "0 m"]
bandwidth = "20 MHz"
[[ue]]
name = "other"
position = ["420 m", "0 m"]
cell = "east"
[[flow]]
name = "second"
to = "other"
transport = "udp"
app = { kind = "cbr", rate = "RATE" }
"#;
    let idle = go(&[], &neighbour.replace("RATE", "1 kbit/s"));
    let busy = go(&[], &neighbour.replace("RATE", "400 Mbit/s"));
    let alone = go(&[], "");
    let rate = |output: &RunOutput| flows(output, "goodput_mbps")[0];
    assert!((rate(&idle) / rate(&alone) - 1.0).abs() < 0.02, "{} and {}", rate(&idle), rate(&alone));
    assert!(rate(&busy) < 0.8 * rate(&alone), "{} and {}", rate(&busy), rate(&alone));
}

/// 20 Mbit/s in RLC AM with forwarding over Xn: each packet arrives once, whatever the cell.
#[test]
fn a_handover_over_xn_loses_nothing() {
    let moves = "position = [\"150 m\", \"20 m\"]\nmobility = { kind = \"line\", towards = [\"600 m\", \"20 m\"], speed = \"40 m/s\" }";
    let output = go(
        &[
            ("duration = \"3 s\"", "duration = \"8 s\""),
            ("position = [\"150 m\", \"0 m\"]", moves),
            ("rate = \"400 Mbit/s\"", "rate = \"20 Mbit/s\""),
            ("transport = \"udp\"\n", "transport = \"udp\"\nstop = \"7 s\"\n"),
        ],
        "[handover]\nmode = \"lossless\"\n[[cell]]\nname = \"east\"\nposition = [\"600 m\", \"0 m\"]\nbandwidth = \"20 MHz\"\n",
    );
    let handovers = table(&output, "handovers");
    assert_eq!(texts(handovers, "outcome"), ["success"]);
    assert_eq!(texts(handovers, "to"), ["east"]);
    assert!(reals(handovers, "forwarded_packets")[0] > 0.0);
    assert_eq!(flows(&output, "packets_lost"), [0.0]);
    assert_eq!(output.meta.drops.0[DropCause::Handover as usize], 0);
}

/// CUBIC over a queue of a second at most, and with CoDel over one of some milliseconds.
#[test]
fn a_queue_discipline_keeps_the_queue_of_a_gnb_short() {
    let tcp = ("app = { kind = \"cbr\", rate = \"400 Mbit/s\" }\ntransport = \"udp\"", "app = \"bulk\"");
    let longer = ("duration = \"3 s\"", "duration = \"6 s\"");
    let queue = |aqm: &str| {
        let rlc = format!(
            "bandwidth = \"20 MHz\"\nrlc = {{ mode = \"nr-am\", buffer = \"4 MiB\", aqm = \"{aqm}\" }}"
        );
        let output = go(&[tcp, longer, ("bandwidth = \"20 MHz\"", &rlc)], "");
        (flows(&output, "owd_p95_ms")[0], flows(&output, "goodput_mbps")[0])
    };
    let ((tail, full), (codel, rate)) = (queue("drop-tail"), queue("codel"));
    assert!(codel < 0.6 * tail, "{codel} and {tail} ms");
    assert!(rate > 0.7 * full, "{rate} and {full} Mbit/s");
}
