//! A PEP in the path, with and without faults, and the sender that uses it.

use airlane_assembly::{RunOutput, run};
use airlane_record::{Column, Table};
use airlane_scenario::Scenario;

const FILE: &str = include_str!("../../../../scenarios/mdcc.toml");

fn simulate(text: &str, overrides: &[(&str, &str)], seed: u64) -> RunOutput {
    let mut scenario = Scenario::parse(text, "mdcc.toml").unwrap();
    for (key, value) in overrides {
        scenario.set(key, &serde_json::from_str(value).unwrap_or_else(|_| (*value).into())).unwrap();
    }
    let output = run(&scenario.resolve().unwrap_or_else(|e| panic!("{e}")), seed).unwrap();
    assert!(output.meta.conserved);
    output
}

/// The file without its PEP.
fn without_pep() -> String {
    let (before, rest) = FILE.split_once("[[middlebox]]").unwrap();
    let (_, after) = rest.split_once("[[ue]]").unwrap();
    format!("{before}[[ue]]{after}")
}

fn table<'a>(output: &'a RunOutput, name: &str) -> &'a Table {
    &output.tables.iter().find(|(n, _)| *n == name).unwrap().1
}

fn reals<'a>(table: &'a Table, column: &str) -> &'a [f64] {
    match table.column(column) {
        Some(Column::F64(values)) => values,
        other => panic!("{column}: {other:?}"),
    }
}

fn count(table: &Table, column: &str) -> i64 {
    match table.column(column) {
        Some(Column::I64(values)) => values.iter().sum(),
        other => panic!("{column}: {other:?}"),
    }
}

/// An unmodified sender could only be affected by the capacity that the messages use on the return
/// path; on a fast one, not at all.
#[test]
fn a_sender_that_does_not_listen_sends_as_without_a_pep() {
    for congestion in ["cubic", "bbr"] {
        let overrides = [
            ("run.duration", "6 s"),
            ("internet.uplink_rate", "100 Gbit/s"),
            ("internet.loss", "0.01 %"),
            ("flow.0.transport", &format!(r#"{{"kind": "tcp", "congestion": "{congestion}"}}"#)),
        ];
        let (with, without) = (simulate(FILE, &overrides, 1), simulate(&without_pep(), &overrides, 1));
        assert!(count(table(&with, "pep"), "pep_acks_sent") > 10_000);
        for name in ["flows", "flow_series", "timeouts", "cells", "cell_series"] {
            let (with, without) = (table(&with, name), table(&without, name));
            assert_eq!(format!("{with:?}"), format!("{without:?}"), "{congestion}: {name}");
        }
    }
}

/// At both places, each segment is reported, and almost every report is accepted.
#[test]
fn reports_reach_the_sender_from_gateway_and_enb() {
    for at in ["gateway", "enb"] {
        // Acknowledgments whose block needs HARQ are late, and a burst follows them.
        let punctual = ("cell.0.mac.power_headroom", "none");
        let output = simulate(FILE, &[("run.duration", "3 s"), ("middlebox.0.at", at), punctual], 1);
        let pep = table(&output, "pep");
        let (sent, accepted) = (count(pep, "pep_acks_sent"), count(pep, "pep_acks_accepted"));
        let delivered = count(table(&output, "flows"), "packets_delivered");
        assert!(sent >= delivered && sent - accepted < 200, "{at}: {delivered}, {sent}, {accepted}");
        assert_eq!(count(pep, "pep_acks_rejected"), 0);
        // 2 x 5 ms, and 2 x 1 ms more to the eNB.
        let least = if at == "enb" { 12.0 } else { 10.0 };
        let srtt = reals(table(&output, "pep_series"), "pep_srtt_ms");
        assert!(srtt.iter().all(|ms| (least..least + 1.0).contains(ms)), "{at}: {srtt:?}");
    }
}

/// Faults of a PEP, and whether a sender then rejects messages.
const FAULTS: [(&str, bool); 11] = [
    (r#"{"kind": "none"}"#, false),
    (r#"{"kind": "loses", "share": "100 %"}"#, false),
    (r#"{"kind": "reorders", "share": "20 %"}"#, false),
    (r#"{"kind": "duplicates", "share": "20 %"}"#, true),
    (r#"{"kind": "truncates", "share": "20 %"}"#, true),
    (r#"{"kind": "forges"}"#, true),
    (r#"{"kind": "replays"}"#, true),
    (r#"{"kind": "dies", "at": "3 s"}"#, false),
    (r#"{"kind": "dies", "at": "3 s", "until": "4 s"}"#, false),
    (r#"{"kind": "lies", "from": "3 s", "claim": "everything"}"#, false),
    (r#"{"kind": "lies", "from": "3 s", "claim": "unsent"}"#, false),
];

/// No fault stalls the flow or reduces its goodput by a tenth compared with no PEP, and messages
/// without the key are rejected.
#[test]
fn no_fault_of_the_pep_stalls_the_sender() {
    let common = [("run.duration", "8 s"), ("internet.loss", "0.02 %")];
    let goodput = |output: &RunOutput| reals(table(output, "flows"), "goodput_mbps")[0];
    let least = 0.9 * goodput(&simulate(&without_pep(), &common, 1));
    let few = [(r#"{"kind": "loses", "share": "5 %"}"#, false)];
    for (fault, rejected) in FAULTS.into_iter().chain(few) {
        for scope in ["e2e", "per-domain"] {
            let overrides = [("middlebox.0.fault", fault), ("flow.0.transport.mdcc.inflight_scope", scope)];
            let output = simulate(FILE, &[&common[..], &overrides].concat(), 1);
            let name = format!("{fault}, {scope}");
            assert!(goodput(&output) > least, "{name}: {} Mbit/s of {least}", goodput(&output));
            let bins = reals(table(&output, "flow_series"), "goodput_mbps");
            assert!(bins[1..].chunks(3).all(|bins| bins.iter().sum::<f64>() > 0.0), "{name}: {bins:?}");
            let pep = table(&output, "pep");
            assert_eq!(count(pep, "pep_acks_rejected") > 0, rejected, "{name}");
            // The data in flight is limited by the window that only the client opens; after a reduction,
            // at most one per round trip, by its previous value, an eighth more. A probe is added.
            let windows = reals(table(&output, "pep_series"), "cwnd_ran_bytes");
            let in_flight = reals(table(&output, "flow_series"), "in_flight_bytes");
            for (window, in_flight) in windows.iter().zip(in_flight) {
                let most = window * 8.0 / 7.0 + 2.0 * 1448.0;
                assert!(*in_flight <= most, "{name}: {in_flight} of {window} bytes");
            }
        }
    }
}

/// False holes: each causes a retransmission and keeps the internet window small, but the flow continues.
#[test]
fn false_holes_cost_the_flow_its_window_and_no_more() {
    let fault = r#"{"kind": "lies", "from": "2 s", "claim": "holes"}"#;
    let output = simulate(FILE, &[("run.duration", "6 s"), ("middlebox.0.fault", fault)], 1);
    let bins = reals(table(&output, "flow_series"), "goodput_mbps");
    assert!(bins[1..].chunks(3).all(|bins| bins.iter().sum::<f64>() > 0.0), "{bins:?}");
    let flows = table(&output, "flows");
    assert!(count(flows, "retransmissions") < count(flows, "packets_sent") / 2);
}

#[test]
fn a_full_table_lets_new_flows_pass() {
    let more = "[[flow]]\nto = \"phone\"\ntransport = { kind = \"tcp\", congestion = \"mdcc\" }\n".repeat(3);
    let overrides = [("run.duration", "3 s"), ("middlebox.0.flows", "1")];
    let output = simulate(&format!("{FILE}{more}"), &overrides, 1);
    let Some(Column::I64(sent)) = table(&output, "pep").column("pep_acks_sent") else { panic!("no counts") };
    assert!(sent[0] > 100 && sent[1..].iter().all(|&sent| sent == 0), "{sent:?}");
    let goodput = reals(table(&output, "flows"), "goodput_mbps");
    assert!(goodput.iter().all(|&mbps| mbps > 1.0), "{goodput:?}");
}

/// Krämer et al. 2019, figure 6: HyStart takes CUBIC out of slow start while a megabyte is under way (at
/// 150 ms there); under multi-domain control the radio's delays have no effect, and the whole transfer is
/// in slow start.
#[test]
fn hystart_ends_slow_start_early_for_cubic_only() {
    let left_at = |congestion: &str, seed| {
        let transport = format!(r#"{{"kind": "tcp", "congestion": "{congestion}"}}"#);
        let app = r#"{"kind": "fixed", "size": "1 MB"}"#;
        let overrides = [
            ("run.duration", "2 s"),
            ("run.series_bin", "10 ms"),
            ("flow.0.transport", transport.as_str()),
            ("flow.0.app", app),
        ];
        let output = simulate(FILE, &overrides, seed);
        let flows = table(&output, "flows");
        assert_eq!(count(flows, "retransmissions"), 0, "a loss would end it too");
        let series = table(&output, "flow_series");
        let end = reals(series, "ssthresh_bytes").iter().position(|ssthresh| !ssthresh.is_nan());
        (end.map(|row| reals(series, "t_s")[row]), reals(flows, "fct_s")[0])
    };
    let mut early = 0;
    for seed in 1..=10 {
        let (cubic, cubic_fct) = left_at("cubic", seed);
        let (mdcc, mdcc_fct) = left_at("mdcc", seed);
        assert_eq!(mdcc, None, "seed {seed}");
        assert!(mdcc_fct <= cubic_fct, "seed {seed}: {mdcc_fct} and {cubic_fct} s");
        println!("seed {seed}: CUBIC leaves at {cubic:?} s, {cubic_fct} s; MD-CC {mdcc_fct} s");
        early += u32::from(cubic.is_some());
    }
    // The time depends on fading; occasionally a whole transfer has no delay that is long enough.
    assert!(early >= 8, "{early} of 10");
}

/// Behind a wired bottleneck the internet window is the limit, and gets the share of another CUBIC
/// flow: tested in both orders of start, since the first flow gets more.
#[test]
fn a_wired_bottleneck_is_shared_with_cubic() {
    let text = |first: &str, second: &str| {
        let flow = |to: &str, start: u32, congestion: &str| {
            format!(
                "[[ue]]\nname = \"{to}\"\nposition = [\"100 m\", \"0 m\"]\n[[flow]]\nto = \"{to}\"\n\
                 start = \"{start} ms\"\ntransport = {{ kind = \"tcp\", congestion = \"{congestion}\" }}\n"
            )
        };
        format!(
            "network = \"typical\"\n[run]\nduration = \"60 s\"\nwarmup = \"10 s\"\nseries_bin = \"1 s\"\n\
             [[cell]]\nname = \"a\"\n[channel]\npath_loss = \"friis\"\nfading = \"none\"\n\
             [internet]\nrate = \"20 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"100 kB\"\n\
             [[middlebox]]\nkind = \"pep\"\n{}{}",
            flow("one", 0, first),
            flow("two", 500, second)
        )
    };
    let share = |first: &str, second: &str| {
        let ratio = |seed| {
            let output = simulate(&text(first, second), &[], seed);
            let goodput = reals(table(&output, "flows"), "goodput_mbps");
            goodput[0] / goodput[1]
        };
        (1..=3).map(ratio).product::<f64>()
    };
    let ratio = libm::cbrt((share("mdcc", "cubic") / share("cubic", "mdcc")).sqrt());
    assert!((0.8..=1.25).contains(&ratio), "{ratio}");
}

/// Eight other UEs are served until 6 s; the QUIC flow to the ninth has the cell to itself from then on.
fn jump_over_quic(congestion: &str, pep: &str, seed: u64) -> RunOutput {
    let mut text = FILE.split("[[ue]]").next().unwrap().replace("duration = \"20 s\"", "duration = \"14 s\"");
    text = text.replace("at = \"gateway\" # or in the \"enb\"", &format!("at = \"gateway\"\n{pep}"));
    text += "[[ue]]\nname = \"phone\"\nposition = [\"300 m\", \"0 m\"]\n";
    text += "[[ue]]\nname = \"other\"\ncount = 8\nplacement = { kind = \"disc\", radius = \"300 m\" }\n";
    text += &format!(
        "[[flow]]\nto = \"phone\"\napp = \"bulk\"\ntransport = {{ kind = \"quic\", congestion = \"{congestion}\" }}\n"
    );
    text += "[[flow]]\nto = \"other\"\napp = \"bulk\"\nstop = \"6 s\"\ntransport = \"tcp\"\n";
    simulate(&text, &[], seed)
}

fn goodput(output: &RunOutput) -> f64 {
    reals(table(output, "flows"), "goodput_mbps")[0]
}

/// Over QUIC the PEP cannot read packet numbers; it reports identifiers, and the windows use them as over
/// TCP: free capacity is used in the time of Scalable, not of CUBIC.
#[test]
fn over_quic_free_capacity_is_taken_sooner_than_by_cubic() {
    for seed in 1..=2 {
        let (mdcc, cubic) = (jump_over_quic("mdcc", "", seed), jump_over_quic("cubic", "", seed));
        assert!(goodput(&mdcc) > 1.25 * goodput(&cubic), "{} {}", goodput(&mdcc), goodput(&cubic));
        let pep = table(&mdcc, "pep");
        assert_eq!(count(pep, "pep_acks_rejected"), 0);
        assert!(count(pep, "pep_acks_accepted") > 10_000);
        // 2 x 5 ms, and the delay of the messages.
        let srtt = reals(table(&mdcc, "pep_series"), "pep_srtt_ms");
        assert!(srtt[1..].iter().all(|ms| (10.0..12.0).contains(ms)), "{srtt:?}");
    }
}

/// With any fault and either scope, MD-CC over QUIC is at most a twentieth below CUBIC, and messages without
/// the key are rejected.
#[test]
fn over_quic_no_fault_of_the_pep_costs_more_than_cubic_would() {
    let mdcc = |scope: &str| {
        format!(r#"{{"kind": "quic", "congestion": "mdcc", "mdcc": {{"inflight_scope": "{scope}"}}}}"#)
    };
    let run = |transport: String, fault: &str| {
        let common = [("run.duration", "8 s"), ("internet.loss", "0.02 %")];
        let own = [("flow.0.transport", transport.as_str()), ("middlebox.0.fault", fault)];
        simulate(FILE, &[&common[..], &own].concat(), 1)
    };
    let cubic = r#"{"kind": "quic", "congestion": "cubic"}"#.to_owned();
    let least = 0.95 * goodput(&run(cubic, r#"{"kind": "none"}"#));
    let own = [
        (r#"{"kind": "loses", "share": "20 %"}"#, false),
        (r#"{"kind": "lies", "from": "3 s", "claim": "holes"}"#, false),
    ];
    for (fault, rejected) in FAULTS.into_iter().chain(own) {
        for scope in ["e2e", "per-domain"] {
            let output = run(mdcc(scope), fault);
            let name = format!("{fault}, {scope}");
            assert!(goodput(&output) > least, "{name}: {} Mbit/s of {least}", goodput(&output));
            assert_eq!(count(table(&output, "pep"), "pep_acks_rejected") > 0, rejected, "{name}");
        }
    }
}

/// A server that does not use the PEP drops the messages: QUIC behaves as without a PEP.
#[test]
fn over_quic_a_sender_that_does_not_listen_sends_as_without_a_pep() {
    let overrides = [
        ("run.duration", "4 s"),
        ("internet.uplink_rate", "100 Gbit/s"),
        ("flow.0.transport", r#"{"kind": "quic", "congestion": "cubic"}"#),
    ];
    let (with, without) = (simulate(FILE, &overrides, 1), simulate(&without_pep(), &overrides, 1));
    assert!(count(table(&with, "pep"), "pep_acks_sent") > 5_000);
    for name in ["flows", "flow_series"] {
        let (with, without) = (table(&with, name), table(&without, name));
        assert_eq!(format!("{with:?}"), format!("{without:?}"), "{name}");
    }
}

/// A browser of a phone in the cell of `mdcc.toml`, over TCP or QUIC, with this controller and version of HTTP.
fn browsing(http: &str, congestion: &str, pep: bool) -> String {
    let file = if pep { FILE.to_owned() } else { without_pep() };
    let (before, _) = file.split_once("[[flow]]").unwrap();
    let kind = if http == "3" { "quic" } else { "tcp" };
    format!(
        "{before}[[flow]]\nname = \"web\"\nto = \"phone\"\n\
         transport = {{ kind = \"{kind}\", congestion = \"{congestion}\" }}\n\
         app = {{ kind = \"web\", http = \"{http}\", tls = true, visits = \"in-order\", count = 4, \
         think_time = \"200 ms\", keep_alive = \"500 ms\" }}\n"
    )
}

/// A page uses many short connections to many servers: each is reported with its own key, and each sender
/// accepts its reports.
#[test]
fn every_connection_of_a_browser_listens_to_the_pep() {
    for http in ["1.1", "2", "3"] {
        let output = simulate(&browsing(http, "mdcc", true), &[("run.duration", "25 s")], 1);
        let (pep, pages) = (table(&output, "pep"), table(&output, "pages"));
        let [sent, accepted, rejected] =
            ["sent", "accepted", "rejected"].map(|fate| count(pep, &format!("pep_acks_{fate}")));
        println!("HTTP/{http}: {sent} messages, {accepted} accepted, {rejected} rejected");
        assert_eq!(rejected, 0, "HTTP/{http}");
        // Messages that arrive after the end of the connection or of the run are not processed.
        assert!(sent > 500 && accepted > sent * 95 / 100, "HTTP/{http}: {accepted} of {sent}");
        assert!(count(pages, "connections") > 8, "HTTP/{http}");
        assert!(
            reals(pages, "onload_s").iter().all(|s| s.is_finite()),
            "HTTP/{http}: a page was not complete"
        );
        let srtt = reals(table(&output, "pep_series"), "pep_srtt_ms");
        // 5 ms each way to the PEP, and the queueing delay of a segment.
        let known: Vec<f64> = srtt.iter().copied().filter(|ms| ms.is_finite()).collect();
        assert!(
            !known.is_empty() && known.iter().all(|ms| (10.0..13.0).contains(ms)),
            "HTTP/{http}: {known:?}"
        );
    }
}

/// Without a PEP, or with one that loses all messages, the browser loads its pages as without one.
#[test]
fn a_browser_gets_its_pages_without_the_pep() {
    for http in ["1.1", "2", "3"] {
        let duration = ("run.duration", "25 s");
        let deaf = ("middlebox.0.fault", r#"{"kind": "loses", "share": "100 %"}"#);
        let total = |output: &RunOutput| reals(table(output, "pages"), "onload_s").iter().sum::<f64>();
        let alone = total(&simulate(&browsing(http, "cubic", false), &[duration], 1));
        for (text, overrides) in [
            (browsing(http, "mdcc", false), vec![duration]),
            (browsing(http, "mdcc", true), vec![duration, deaf]),
        ] {
            let ours = total(&simulate(&text, &overrides, 1));
            assert!((0.9..1.1).contains(&(ours / alone)), "HTTP/{http}: {ours} s, CUBIC {alone} s");
        }
    }
}

/// A server that does not use the PEP drops the messages, on all its connections: pages load as without a
/// PEP, if the return path is fast.
#[test]
fn a_browser_that_does_not_listen_is_not_disturbed() {
    for http in ["1.1", "3"] {
        let overrides = [("run.duration", "15 s"), ("internet.uplink_rate", "10000 Gbit/s")];
        let [with, without] = [true, false].map(|pep| simulate(&browsing(http, "cubic", pep), &overrides, 1));
        assert!(count(table(&with, "pep"), "pep_acks_sent") > 500, "HTTP/{http}");
        for name in ["flows", "pages", "flow_series"] {
            let tables = [&with, &without].map(|output| format!("{:?}", table(output, name)));
            assert_eq!(tables[0], tables[1], "HTTP/{http}: {name}");
        }
    }
}
