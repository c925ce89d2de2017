//! Ping: round-trip times calculated by hand, and losses.

use crate::tables::{reals, table, texts};
use airlane_assembly::{RunOutput, run};
use airlane_record::Column;
use airlane_scenario::{Scenario, ScenarioError};

/// A server and a host: 10 Mbit/s down, 1 Gbit/s up, 20 ms each way.
const WIRED: &str = r#"network = "wired"
[run]
duration = "5 s"
[internet]
rate = "10 Mbit/s"
uplink_rate = "1 Gbit/s"
delay = "20 ms"
"#;

fn of(text: &str) -> RunOutput {
    let scenario = Scenario::parse(text, "ping.toml").and_then(|scenario| scenario.resolve());
    let output = run(&scenario.unwrap_or_else(|e| panic!("{e}")), 1).unwrap();
    assert!(output.meta.conserved);
    output
}

fn flags(output: &RunOutput, name: &str) -> Vec<bool> {
    match table(output, "pings").column(name) {
        Some(Column::Bool(values)) => values.clone(),
        other => panic!("{name}: {other:?}"),
    }
}

/// With the defaults, 84 bytes each second: 672 ns at 1 Gbit/s and 67.2 µs at 10 Mbit/s, and 20 ms each way.
#[test]
fn an_empty_path_takes_its_delay_and_the_packets_their_time() {
    for direction in ["uplink", "downlink"] {
        let output = of(&format!(
            "{WIRED}[[flow]]\napp = \"ping\"\ntransport = \"icmp\"\ndirection = \"{direction}\"\n"
        ));
        let pings = table(&output, "pings");
        assert_eq!(reals(pings, "t_s"), [0.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(reals(pings, "sequence"), [1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(reals(pings, "rtt_ms"), [40.067_872; 5], "{direction}");
        assert_eq!((flags(&output, "lost"), flags(&output, "measured")), (vec![false; 5], vec![true; 5]));
        let flows = table(&output, "flows");
        assert_eq!(texts(flows, "kind"), ["icmp"]);
        assert_eq!(reals(flows, "rtt_ms"), [40.067_872]);
        assert_eq!(reals(flows, "packets_delivered"), [5.0]);
        // Each request and each reply.
        assert_eq!(output.meta.packets, 10);
    }
}

#[test]
fn requests_end_with_their_count_or_the_flow() {
    let sent = |keys: &str| {
        let flow = "[[flow]]\ntransport = \"icmp\"\nstart = \"500 ms\"\n";
        reals(table(&of(&format!("{WIRED}{flow}{keys}\n")), "pings"), "t_s")
    };
    assert_eq!(sent("app = { kind = \"ping\", count = 3 }"), [0.5, 1.5, 2.5]);
    assert_eq!(sent("app = \"ping\"\nstop = \"2500 ms\""), [0.5, 1.5]);
    assert_eq!(sent("app = { kind = \"ping\", interval = \"2 s\" }"), [0.5, 2.5, 4.5]);
}

/// Datagrams fill the queue of the downlink: of 125 000 B, 87 packets of 1428 B leave 764 B, which a reply of
/// 84 B fits into. It waits for the packet that is being sent, up to 1142.4 µs, and for 86 or 87 others.
#[test]
fn a_full_queue_delays_the_replies() {
    let output = of(&format!(
        "{WIRED}queue = \"125000 B\"\n[[flow]]\nname = \"load\"\ntransport = \"udp\"\napp = {{ kind = \"cbr\", rate = \"20 Mbit/s\" }}\n\
         [[flow]]\nname = \"ping\"\ntransport = \"icmp\"\ndirection = \"uplink\"\n\
         app = {{ kind = \"ping\", interval = \"100 ms\" }}\nstart = \"1 s\"\n"
    ));
    let round_trips = reals(table(&output, "pings"), "rtt_ms");
    let (answered, open): (Vec<f64>, Vec<f64>) = round_trips.iter().partition(|rtt| rtt.is_finite());
    // The last two were sent 100 ms and 0 ms before the end.
    assert_eq!((answered.len(), open.len()), (39, 1));
    let (packet_ms, idle_ms) = (1.1424, 40.067_872);
    for rtt in answered {
        assert!((86.0..=88.0).contains(&((rtt - idle_ms) / packet_ms)), "{rtt} ms");
    }
    assert!(flags(&output, "lost").iter().all(|lost| !lost));
}

/// Packets dropped in either direction are lost, and no others; those in flight at the end are
/// neither answered nor lost.
#[test]
fn each_drop_loses_one() {
    let loss = "loss = \"20 %\"\n";
    let output = of(&format!(
        "{WIRED}{loss}[[flow]]\ntransport = \"icmp\"\napp = {{ kind = \"ping\", interval = \"10 ms\" }}\n"
    ));
    let (round_trips, lost) = (reals(table(&output, "pings"), "rtt_ms"), flags(&output, "lost"));
    assert_eq!(round_trips.len(), 500);
    let lost_count = lost.iter().filter(|lost| **lost).count() as u64;
    assert_eq!(lost_count, output.meta.drops.0.iter().sum::<u64>());
    // The downlink loses 20 %: binomial, five standard deviations of 8.9.
    assert!((56..=144).contains(&lost_count), "{lost_count}");
    let open = round_trips.iter().zip(&lost).filter(|(rtt, lost)| rtt.is_nan() && !**lost).count();
    // Sent within the last round trip of 40.07 ms: at 4.96, 4.97, 4.98 and 4.99 s.
    assert!(open <= 4, "{open}");
    assert!(round_trips.iter().zip(&lost).all(|(rtt, lost)| rtt.is_nan() || !lost));
}

/// Echo messages of the warm-up are in the table, but not in the mean.
#[test]
fn the_warm_up_is_left_out_of_the_mean() {
    let output = of(&format!(
        "{WIRED}[[flow]]\ntransport = \"icmp\"\napp = \"ping\"\n[[flow]]\nname = \"load\"\ntransport = \"udp\"\n\
         app = {{ kind = \"cbr\", rate = \"20 Mbit/s\" }}\nstop = \"1500 ms\"\n"
    )
    .replace("duration = \"5 s\"", "duration = \"5 s\"\nwarmup = \"2500 ms\""));
    assert_eq!(flags(&output, "measured"), [false, false, false, true, true]);
    let round_trips = reals(table(&output, "pings"), "rtt_ms");
    assert!(round_trips[1] > 300.0, "512 KiB at 10 Mbit/s are 419 ms: {} ms", round_trips[1]);
    assert_eq!(reals(table(&output, "flows"), "rtt_ms")[0], 40.067_872);
}

/// One phone under the preset of ns-3.37, without other traffic. As in `docs/howto/from-ns3.md`, a datagram
/// needs 4 ms down (3 ms and its slot) and 9 to 10 ms up (the report of the buffer after 4 ms, its grant
/// after 4 ms, the slot), in addition to the delay of the internet of 10 ms and the wait for a slot.
#[test]
fn a_phone_waits_for_its_grant() {
    let output = of(r#"network = "lena-3.37"
[run]
duration = "5 s"
[internet]
delay = "10 ms"
[[cell]]
name = "a"
[[ue]]
name = "phone"
position = ["50 m", "0 m"]
[[flow]]
to = "phone"
direction = "uplink"
transport = "icmp"
app = { kind = "ping", interval = "99.9 ms" }
"#);
    let round_trips = reals(table(&output, "pings"), "rtt_ms");
    assert!(
        round_trips.len() == 51 && round_trips[..50].iter().all(|rtt| (33.0..=36.0).contains(rtt)),
        "{round_trips:?}"
    );
}

fn mistakes() -> Vec<(&'static str, String)> {
    let error = |keys: &str| -> ScenarioError {
        let scenario = Scenario::parse(&format!("{WIRED}[[flow]]\n{keys}\n"), "ping.toml").unwrap();
        scenario.resolve().expect_err(keys)
    };
    let ping =
        |keys: &str| error(&format!("transport = \"icmp\"\napp = {{ kind = \"ping\", {keys} }}")).to_string();
    vec![
        ("ping over TCP, the default", error("app = \"ping\"").to_string()),
        ("ping over UDP", error("app = \"ping\"\ntransport = \"udp\"").to_string()),
        ("a download over ICMP", error("transport = \"icmp\"").to_string()),
        ("DASH over ICMP", error("app = \"dash\"\ntransport = \"icmp\"").to_string()),
        (
            "a setting of ICMP",
            error("app = \"ping\"\ntransport = { kind = \"icmp\", mtu = \"1500 B\" }").to_string(),
        ),
        ("at once", ping("interval = \"0 s\"")),
        ("too often", ping("interval = \"100 ns\"")),
        ("none", ping("count = 0")),
        ("no data", ping("payload = \"0 B\"")),
        ("too much data", ping("payload = \"65508 B\"")),
        ("unknown key", ping("size = \"56 B\"")),
    ]
}

#[test]
fn mistakes_are_explained() {
    let printed: String =
        mistakes().into_iter().map(|(name, message)| format!("--- {name}\n{message}\n")).collect();
    crate::snapshots::compare(&printed, "ping-errors.txt");
}
