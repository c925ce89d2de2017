//! What a run takes from the allocator: nothing per packet once it is warm, and little for a UE
//! that has nothing to do.

use airlane_core::Instant;
use airlane_scenario::{Built, Scenario, build};
use allocation_counter::{AllocationInfo, measure};

/// A cell of 100 RBs under everything that costs memory on the way of a packet.
fn scenario(ues: usize, fading: &str, rlc: &str, flow: Option<&str>) -> String {
    let mut text = format!(
        r#"
network = "typical"
[run]
duration = "30s"
warmup = "1s"
[channel]
fading = {fading}
[[cell]]
name = "a"
position = ["0 m", "0 m"]
resource_blocks = 100
tx_power = "46 dBm"
rlc = {{ mode = "{rlc}" }}
"#
    );
    for ue in 0..ues {
        let (x, y) = (60 + 3 * (ue % 40), 20 + 9 * (ue / 40));
        text += &format!("[[ue]]\nname = \"ue{ue}\"\nposition = [\"{x} m\", \"{y} m\"]\n");
        if let Some(flow) = flow {
            text += &format!("[[flow]]\nto = \"ue{ue}\"\n{flow}\n");
        }
    }
    text
}

fn built(text: &str) -> Built {
    let resolved = Scenario::parse(text, "<test>").and_then(|scenario| scenario.resolve());
    build(&resolved.expect("a valid scenario"), 1).expect("nothing to read")
}

/// Warm-up: long enough for CUBIC to have filled the queue to its limit, and for each of twenty
/// UEs to have lost a block to reorder around.
const WARM_MS: u64 = 20_000;

/// What ten seconds take after that.
fn after_warm_up(text: &str) -> AllocationInfo {
    let mut run = built(text);
    run.run_until(Instant::from_millis(WARM_MS));
    let taken = measure(|| run.run_until(Instant::from_millis(WARM_MS + 10_000)));
    let delivered = run.finish().meta.delivered;
    assert!(delivered > 10_000, "{delivered} packets: the test looks at nothing");
    taken
}

/// Fast enough for the warm-up to see some hundred fades: the queues have been as deep as they get.
const EVA: &str = "{ model = \"eva\", speed = \"30 km/h\" }";
const TCP: &str = r#"app = { kind = "bulk" }
transport = { kind = "tcp", congestion = "cubic", mss = "1400 B" }"#;
const UDP: &str = r#"app = { kind = "cbr", rate = "2 Mbit/s", payload = "1400 B" }
transport = { kind = "udp" }"#;

#[test]
fn tcp_over_am_and_a_fading_channel_allocates_nothing() {
    let taken = after_warm_up(&scenario(1, EVA, "am", Some(TCP)));
    assert_eq!(taken.count_total, 0, "{taken:?}");
}

#[test]
fn twenty_udp_flows_allocate_nothing() {
    let taken = after_warm_up(&scenario(20, EVA, "um", Some(UDP)));
    assert_eq!(taken.count_total, 0, "{taken:?}");
}

#[test]
fn an_idle_ue_takes_little() {
    for fading in ["{ model = \"none\" }", EVA] {
        let live = |ues: usize| {
            let text = scenario(ues, fading, "am", None) + &format!("[[flow]]\nto = \"ue0\"\n{UDP}\n");
            let resolved = Scenario::parse(&text, "<test>").and_then(|scenario| scenario.resolve());
            let resolved = resolved.expect("a valid scenario");
            let mut kept = None;
            let taken = measure(|| kept = Some(build(&resolved, 1).expect("nothing to read")));
            drop(kept);
            taken.bytes_current
        };
        let bytes = (live(1001) - live(1)) / 1000;
        println!("fading {fading}: {bytes} bytes for an idle UE");
        assert!(bytes <= 16 * 1024, "{bytes} bytes for an idle UE");
    }
}

#[test]
fn an_idle_cell_costs_no_event() {
    let busy = scenario(4, EVA, "am", Some(UDP));
    let idle = "[[cell]]\nname = \"z\"\nposition = [\"90 km\", \"0 m\"]\nresource_blocks = 100\n\
                tx_power = \"46 dBm\"\n[[ue]]\nname = \"idle\"\nposition = [\"90.1 km\", \"0 m\"]\n";
    let meta = |text: &str| {
        let mut run = built(text);
        run.run_until(Instant::from_millis(3_000));
        run.finish().meta
    };
    let (without, with) = (meta(&busy), meta(&format!("{busy}{idle}")));
    assert!(without.events > 1000 && without.delivered > 1000, "{without:?}");
    assert_eq!(without.events, with.events);
}
