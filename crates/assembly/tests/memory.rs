//! The allocations of a run: none per packet in steady state, and little memory for an idle UE.

use airlane_assembly::{Built, build};
use airlane_core::Instant;
use airlane_scenario::Scenario;
use allocation_counter::measure;

/// A cell of 100 RBs with everything that needs memory in the path of a packet.
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

/// Warm-up: long enough for slow start to have filled the queue, and for some UEs to have lost a
/// block and reordered.
const WARM_MS: u64 = 4_000;

/// Asserts that nothing is allocated in the following fifteen seconds.
fn allocates_nothing(name: &str, text: &str) {
    let mut run = built(text);
    run.advance(Instant::from_millis(WARM_MS));
    let taken = measure(|| run.advance(Instant::from_millis(WARM_MS + 15_000)));
    let meta = run.finish().meta;
    assert!(meta.delivered > 10_000, "{name}: {} packets: the test looks at nothing", meta.delivered);
    assert!(meta.drops.0.iter().sum::<u64>() > 0, "{name}: no packet was dropped: queues were never full");
    assert_eq!(taken.count_total, 0, "{name}: {taken:?}");
}

/// Fast enough for some hundred fades in the warm-up, so that the queues have reached their maximum.
const EVA: &str = "{ model = \"eva\", speed = \"30 km/h\" }";
/// A download under this controller.
fn tcp(congestion: &str) -> String {
    format!(
        "app = {{ kind = \"bulk\" }}\n\
         transport = {{ kind = \"tcp\", congestion = \"{congestion}\", mss = \"1400 B\" }}"
    )
}

/// More than the cell can carry.
fn udp(mbit: u32) -> String {
    format!(
        "app = {{ kind = \"cbr\", rate = \"{mbit} Mbit/s\", payload = \"1400 B\" }}\n\
         transport = {{ kind = \"udp\" }}"
    )
}

/// Modes of RLC, and the most UEs whose HARQ processes have all been used when the warm-up ends: a process reserves
/// memory for the PDUs of NR in its first block.
const RLC: [(&str, usize); 4] = [("am", 20), ("um", 20), ("nr-am", 1), ("nr-um", 1)];

#[test]
fn tcp_over_a_fading_channel_allocates_nothing() {
    for (rlc, most) in RLC {
        for ues in [1, 20].into_iter().filter(|&ues| ues <= most) {
            let name = format!("tcp, {rlc}, {ues} UEs");
            allocates_nothing(&name, &scenario(ues, EVA, rlc, Some(&tcp("cubic"))));
        }
    }
}

#[test]
fn a_pep_and_who_listens_to_it_allocate_nothing() {
    for at in ["gateway", "enb"] {
        for ues in [1, 5] {
            let text = scenario(ues, EVA, "am", Some(&tcp("mdcc")));
            allocates_nothing(
                &format!("a PEP in the {at}, {ues} UEs"),
                &format!("{text}[[middlebox]]\nat = \"{at}\"\n"),
            );
        }
    }
}

#[test]
fn udp_over_a_fading_channel_allocates_nothing() {
    for (rlc, most) in RLC {
        for (ues, mbit) in [(1, 100), (20, 6)].into_iter().filter(|&(ues, _)| ues <= most) {
            let name = format!("udp, {rlc}, {ues} UEs");
            allocates_nothing(&name, &scenario(ues, EVA, rlc, Some(&udp(mbit))));
        }
    }
}

#[test]
fn no_discipline_of_a_wired_queue_allocates() {
    for aqm in ["drop-tail", "red", "codel", "fq-codel", "pie", "dualpi2"] {
        let mut text = format!(
            "network = \"wired\"\n[run]\nduration = \"30s\"\nwarmup = \"1s\"\n[internet]\n\
             rate = \"50 Mbit/s\"\ndelay = \"20 ms\"\nqueue = \"256 KiB\"\naqm = \"{aqm}\"\n"
        );
        let flows = ["cubic", "newreno", "bbr", "bbr3"].map(tcp);
        for flow in flows.iter().chain(&[udp(10)]) {
            text += &format!("[[flow]]\nto = \"host\"\n{flow}\n");
        }
        allocates_nothing(aqm, &text);
    }
}

/// A page that is loaded repeatedly over persistent connections: a connection allocates only once. The link
/// drops packets, so that the ends also have losses.
#[test]
fn pages_over_persistent_connections_allocate_nothing() {
    for http in ["1.1", "2"] {
        let text = format!(
            "network = \"wired\"\n[run]\nduration = \"30s\"\n[internet]\nrate = \"50 Mbit/s\"\ndelay = \"20 ms\"\n\
             queue = \"64 KiB\"\n[[flow]]\napp = {{ kind = \"web\", pages = \"tests/one-server.csv\", http = \"{http}\", \
             think_time = \"0 s\" }}\n"
        );
        let mut run = built(&text);
        run.advance(Instant::from_millis(WARM_MS));
        let taken = measure(|| run.advance(Instant::from_millis(WARM_MS + 15_000)));
        let output = run.finish();
        assert!(output.meta.delivered > 10_000, "{http}: {} packets", output.meta.delivered);
        assert_eq!(taken.count_total, 0, "HTTP/{http}: {taken:?}");
    }
}

/// Warm-up of a video: players have reached their steady bitrate and buffer level.
const WATCHED_MS: u64 = 12_000;

/// Videos in one file and in segments, by players with and without a buffer limit, with and without a split
/// proxy in the path.
#[test]
fn videos_allocate_nothing() {
    let players = [
        "kind = \"video\", bitrate = \"8 Mbit/s\"",
        "kind = \"video\", bitrate = \"8 Mbit/s\", buffer = \"5 s\"",
        "kind = \"dash\", rule = \"bola\"",
        "kind = \"dash\", rule = \"rate\"",
    ];
    for player in players {
        for proxy in ["", "[[middlebox]]\nkind = \"split-proxy\"\n"] {
            let flow = format!("app = {{ {player}, length = \"300 s\" }}");
            let mut run = built(&(scenario(1, EVA, "am", Some(&flow)) + proxy));
            run.advance(Instant::from_millis(WATCHED_MS));
            let taken = measure(|| run.advance(Instant::from_millis(WATCHED_MS + 15_000)));
            let output = run.finish();
            assert!(output.meta.delivered > 10_000, "{player} {proxy}: {} packets", output.meta.delivered);
            assert_eq!(taken.count_total, 0, "{player} {proxy}: {taken:?}");
        }
    }
}

#[test]
fn an_idle_ue_takes_little() {
    for fading in ["{ model = \"none\" }", EVA] {
        let live = |ues: usize| {
            let text = scenario(ues, fading, "am", None) + &format!("[[flow]]\nto = \"ue0\"\n{}\n", udp(2));
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
    let busy = scenario(4, EVA, "am", Some(&udp(2)));
    let idle = "[[cell]]\nname = \"z\"\nposition = [\"90 km\", \"0 m\"]\nresource_blocks = 100\n\
                tx_power = \"46 dBm\"\n[[ue]]\nname = \"idle\"\nposition = [\"90.1 km\", \"0 m\"]\n";
    let meta = |text: &str| {
        let mut run = built(text);
        run.advance(Instant::from_millis(3_000));
        run.finish().meta
    };
    let (without, with) = (meta(&busy), meta(&format!("{busy}{idle}")));
    assert!(without.events > 1000 && without.delivered > 1000, "{without:?}");
    assert_eq!(without.events, with.events);
}
