//! The split-connection proxy in a network: its benefit where windows are the limit, and that nothing is
//! lost.

use airlane_assembly::{RunOutput, run};
use airlane_record::{Column, Table};
use airlane_scenario::Scenario;

/// Windows of 64 KiB without scaling on every connection, an idle cell, 50 ms to the server.
const WINDOWED: &str = r#"
network = "typical"
[run]
duration = "20 s"
warmup = "5 s"
[internet]
rate = "100 Mbit/s"
delay = "50 ms"
[[cell]]
name = "a"
[[ue]]
name = "phone"
position = ["100 m", "0 m"]
"#;

const WINDOW: &str =
    r#"preset = "rfc", window_scaling = false, receive_window = { kind = "fixed", size = "64 KiB" }"#;

fn proxy(settings: &str) -> String {
    format!(
        "[[middlebox]]\nkind = \"split-proxy\"\nbuffer = \"256 KiB\"\ncore = {{ {WINDOW} }}\nran = {{ {WINDOW} }}\n{settings}\n"
    )
}

fn flow(name: &str, settings: &str) -> String {
    format!(
        "[[flow]]\nname = \"{name}\"\nto = \"phone\"\ntransport = {{ kind = \"tcp\", {WINDOW} }}\n{settings}\n"
    )
}

fn output(parts: &[&str]) -> RunOutput {
    let scenario = Scenario::parse(&parts.concat(), "x.toml").unwrap().resolve().unwrap();
    let output = run(&scenario, 1).unwrap();
    assert!(output.meta.conserved);
    output
}

fn table<'a>(output: &'a RunOutput, name: &str) -> &'a Table {
    &output.tables.iter().find(|(other, _)| *other == name).expect("a table of that name").1
}

fn reals(output: &RunOutput, name: &str, column: &str) -> Vec<f64> {
    match table(output, name).column(column) {
        Some(Column::F64(values)) => values.clone(),
        other => panic!("{column} is {other:?}"),
    }
}

fn counts(output: &RunOutput, name: &str, column: &str) -> Vec<i64> {
    match table(output, name).column(column) {
        Some(Column::I64(values)) => values.clone(),
        other => panic!("{column} is {other:?}"),
    }
}

/// 100 ms from the server to the phone, of which 60 ms are before the proxy. Both flows are limited by their
/// application, so that the path without the radio is the least delay of a byte, with and without a proxy.
#[test]
fn the_one_way_delay_is_that_of_the_whole_path() {
    let path = WINDOWED
        .replace("delay = \"50 ms\"", "delay = \"60 ms\"")
        .replace("[[cell]]", "[backhaul]\ndelay = \"40 ms\"\n[[cell]]");
    let slow = |name: &str, settings: &str| {
        let periods =
            |of: &str, length: &str| format!("{of} = {{ kind = \"constant\", length = \"{length}\" }}");
        let (on, off) = (periods("on", "1 s"), periods("off", "1 ms"));
        let app =
            format!("app = {{ kind = \"on-off\", rate = \"2 Mbit/s\", payload = \"1400 B\", {on}, {off} }}");
        format!(
            "[[flow]]\nname = \"{name}\"\nto = \"phone\"\n{app}\ntransport = {{ kind = \"tcp\" }}\n{settings}\n"
        )
    };
    let both = [slow("down", ""), slow("up", "direction = \"uplink\"")].concat();
    let places = |places: &[&str]| -> String {
        let one = |at: &&str| format!("[[middlebox]]\nkind = \"split-proxy\"\nat = \"{at}\"\n");
        places.iter().map(one).collect()
    };
    let columns = ["owd_ms", "owd_p50_ms", "owd_p95_ms", "owd_p99_ms", "owd_max_ms"];
    let plain = output(&[&path, &both]);
    for at in [&["gateway"][..], &["enb"], &["gateway", "enb"]] {
        let split = output(&[&path, &places(at), &both]);
        for column in columns {
            let [plain, split] = [&plain, &split].map(|run| reals(run, "flows", column));
            for (flow, (plain, split)) in plain.iter().zip(&split).enumerate() {
                assert!(*split >= 100.0, "{at:?}, flow {flow}: {column} is {split} ms");
                // The queues are empty, so that a proxy changes little on average.
                let near = column.ends_with("_max_ms") || (split - plain).abs() < 10.0;
                assert!(near, "{at:?}, flow {flow}: {column} {split}, {plain} without");
            }
        }
        let series = reals(&split, "flow_series", "owd_ms");
        assert!(series.iter().all(|owd| owd.is_nan() || *owd >= 100.0), "{at:?}: {series:?}");
        let named = table(&split, "flows").column("proxies").expect("a column for runs with a proxy");
        assert_eq!(*named, Column::Text(vec![at.join(", "); 2]));
    }
    assert!(table(&plain, "flows").column("proxies").is_none());
    // Without loss and without a queue that reorders, a byte takes as long as its packet.
    for column in columns {
        let bytes = reals(&plain, "flows", &column.replace("owd", "byte_delay"));
        for (packets, bytes) in reals(&plain, "flows", column).iter().zip(bytes) {
            assert!(bytes >= 100.0 && bytes >= packets - 0.5, "{column}: {packets} ms, bytes {bytes} ms");
        }
    }
}

/// A window of 65 535 bytes, of which 45 segments of 1448 are used, per round trip: 65 160 bytes in about 122
/// ms end to end, and in about 102 ms to the proxy before the gateway, whose other leg is shorter.
#[test]
fn where_windows_limit_the_longer_loop_sets_the_rate() {
    let plain = output(&[WINDOWED, &flow("bulk", "")]);
    let split = output(&[WINDOWED, &proxy(""), &flow("bulk", "")]);
    for run in [&plain, &split] {
        let rtt_s = reals(run, "flows", "rtt_ms")[0] / 1e3;
        let by_window = 45.0 * 1448.0 * 8.0 / rtt_s / 1e6;
        let goodput = reals(run, "flows", "goodput_mbps")[0];
        assert!((goodput / by_window - 1.0).abs() < 0.02, "{goodput} Mbit/s, {by_window} by the window");
    }
    let rtt_ms = |run| reals(run, "flows", "rtt_ms")[0];
    assert!((100.0..103.0).contains(&rtt_ms(&split)), "twice 50 ms and the time of a segment on the link");
    assert!(rtt_ms(&plain) > rtt_ms(&split) + 15.0, "the radio adds its own");
}

#[test]
fn what_goes_in_comes_out_and_connections_close() {
    let fixed = "app = { kind = \"fixed\", size = \"1 MB\" }";
    let up = format!("direction = \"uplink\"\n{fixed}");
    for connect in ["at-once", "after-handshake", "far-end-first"] {
        let proxy = proxy(&format!("connect = \"{connect}\""));
        let run = output(&[WINDOWED, &proxy, &flow("down", fixed), &flow("up", &up)]);
        assert_eq!(counts(&run, "proxies", "connections"), [2]);
        assert_eq!(counts(&run, "proxies", "closed"), [2]);
        assert_eq!(counts(&run, "proxies", "open"), [0]);
        assert_eq!(counts(&run, "proxies", "downlink_bytes"), [1_000_000]);
        assert_eq!(counts(&run, "proxies", "uplink_bytes"), [1_000_000]);
        assert!(reals(&run, "flows", "fct_s").iter().all(|fct| *fct < 3.0));
    }
}

/// An operator's view of the legs. A player with a full buffer stops reading: the phone's window closes, the
/// proxy's buffer fills, and its window to the server closes.
#[test]
fn the_legs_of_a_proxy_tell_what_holds_them() {
    let proxy = "[[middlebox]]\nkind = \"split-proxy\"\nbuffer = \"256 KiB\"\ncore = { congestion = \"vegas\" }\n\
                 ran = { congestion = \"bbr\" }\n";
    let done = flow("done", "app = { kind = \"fixed\", size = \"20 kB\" }");
    let video = "app = { kind = \"video\", bitrate = \"500 kbit/s\", length = \"300 s\", buffer = \"8 s\" }";
    let run = output(&[WINDOWED, proxy, &done, &flow("video", video)]);
    let of = |column| counts(&run, "proxy_legs", column);
    let names = |column: &str| match table(&run, "proxy_legs").column(column) {
        Some(Column::Text(values)) => values.clone(),
        other => panic!("{column} is {other:?}"),
    };
    assert_eq!(names("proxy"), ["gateway", "gateway"]);
    assert_eq!(names("leg"), ["core", "ran"]);
    assert_eq!(names("congestion"), ["vegas", "bbr"]);
    // One connection has closed, one continues.
    assert_eq!((of("opening"), of("established"), of("closed")), (vec![0, 0], vec![1, 1], vec![0, 0]));
    assert_eq!((of("half_closed"), of("handshakes")), (vec![0, 0], vec![2, 2]));
    // The video waits for the phone; nothing waits for the server.
    let waiting = of("waiting_bytes");
    assert!(waiting[0] == 0 && waiting[1] > 200_000 && waiting[1] <= 256 * 1024, "{waiting:?}");
    let (closed, closed_s) = (of("windows_closed"), reals(&run, "proxy_legs", "window_closed_s"));
    assert!(closed[0] > 2 && closed[1] == 0, "{closed:?}");
    assert!((1.0..20.0).contains(&closed_s[0]) && closed_s[1] == 0.0, "{closed_s:?}");
    let probes = of("window_probes");
    assert!(probes[0] == 0 && probes[1] > 2, "the phone's window is asked after: {probes:?}");
    assert_eq!((of("resets_received"), of("resets_sent")), (vec![0, 0], vec![0, 0]));
    let (segments, relayed) = (of("segments_sent"), counts(&run, "proxies", "downlink_bytes")[0]);
    // The request is the only uplink data.
    assert!(
        (1..=2).contains(&segments[0]) && segments[1] * 1448 >= relayed - waiting[1],
        "{segments:?} {relayed}"
    );
    // 50 ms each way to the server, and the radio's to the phone.
    let (handshake, rtt) =
        (reals(&run, "proxy_legs", "handshake_ms"), reals(&run, "proxy_legs", "rtt_min_ms"));
    assert!((50.0..103.0).contains(&handshake[0]) && handshake[1] < 50.0, "{handshake:?}");
    assert!((100.0..103.0).contains(&rtt[0]) && rtt[1] < 50.0, "{rtt:?}");
    assert_eq!(counts(&run, "proxies", "forgotten"), [0]);
}

#[test]
fn at_the_bound_connections_pass_as_they_are() {
    let fixed = "app = { kind = \"fixed\", size = \"100 kB\" }";
    for (when_full, [passed, refused]) in [("pass-through", [1, 0]), ("refuse", [0, 1])] {
        let proxy = proxy(&format!("connections = 1\nwhen_full = \"{when_full}\""));
        let run = output(&[WINDOWED, &proxy, &flow("first", fixed), &flow("second", fixed)]);
        assert_eq!(counts(&run, "proxies", "connections"), [1]);
        assert_eq!(counts(&run, "proxies", "passed"), [passed]);
        assert_eq!(counts(&run, "proxies", "refused"), [refused]);
        let fct = reals(&run, "flows", "fct_s");
        assert!(!fct[0].is_nan());
        assert_eq!(fct[1].is_nan(), refused == 1, "a refused connection carries nothing");
    }
}

/// Two cells and a UE that drives from one to the other, while it downloads and uploads.
fn moving(mode: &str, places: &[&str], size: &str) -> RunOutput {
    let proxies: String =
        places.iter().map(|at| format!("[[middlebox]]\nkind = \"split-proxy\"\nat = \"{at}\"\n")).collect();
    let file = format!(
        r#"
network = "typical"
[run]
duration = "40 s"
[output]
proxy_series = true
[internet]
rate = "100 Mbit/s"
delay = "20 ms"
[channel]
fading = "none"
shadowing = "none"
[[cell]]
name = "a"
[[cell]]
name = "b"
position = ["500 m", "0 m"]
[handover]
mode = "{mode}"
[x2]
delay = "6 ms"
[[ue]]
name = "phone"
position = ["100 m", "0 m"]
mobility = {{ kind = "line", heading = "0 deg", speed = "72 km/h" }}
{proxies}
[[flow]]
name = "down"
to = "phone"
app = {{ kind = "fixed", size = "{size}" }}
[[flow]]
name = "up"
to = "phone"
direction = "uplink"
app = {{ kind = "fixed", size = "{size}" }}
"#
    );
    output(&[&file])
}

#[test]
fn connections_follow_a_ue_from_cell_to_cell() {
    for mode in ["lossless", "seamless"] {
        for places in [&["enb"][..], &["gateway", "enb"]] {
            let run = moving(mode, places, "90 MB");
            let gateway = usize::from(places.len() == 2);
            let of = |column| counts(&run, "proxies", column);
            let cells = |column| of(column)[gateway..].to_vec();
            assert!(run.meta.handovers.is_some_and(|counts| counts.successful >= 1), "{mode}");
            let fct = reals(&run, "flows", "fct_s");
            assert!(fct.iter().all(|fct| *fct > 5.0), "the handover comes while they go on: {fct:?}");
            assert_eq!(cells("connections"), [2, 0]);
            assert_eq!((cells("moved_in"), cells("moved_out")), (vec![0, 2], vec![2, 0]), "{mode}");
            // Two contexts were sent over X2, with the data in the buffers.
            assert!(cells("x2_context_bytes")[0] > 2 * 496 && cells("x2_context_bytes")[1] == 0);
            assert_eq!(cells("closed"), [0, 2]);
            assert_eq!(of("open").iter().sum::<i64>(), 0);
            // All data that entered one cell's proxy left the same or the other proxy.
            assert_eq!(cells("downlink_bytes").iter().sum::<i64>(), 90_000_000);
            assert_eq!(cells("uplink_bytes").iter().sum::<i64>(), 90_000_000);
        }
    }
}
