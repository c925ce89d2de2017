//! A scenario without the simulated flows of UEs whose applications are real, and a run that ends at any time.

use std::path::Path;

use airlane_assembly::{RunOutput, build};
use airlane_core::{Duration, Instant, UeId};
use airlane_record::Column;
use airlane_scenario::{RealEnd, Resolved, Scenario};

/// A group, repeated flows, flows of members and of one UE, with names and without.
const GROUP: &str = r#"
network = "typical"
[run]
duration = "4 s"
warmup = "1 s"
[[cell]]
name = "a"
position = ["0 m", "0 m"]
[[ue]]
name = "tablet"
position = ["250 m", "0 m"]
[[ue]]
name = "phones"
count = 3
placement = { kind = "disc", radius = "300 m", uniform = "area" }
[[flow]]
to = "phones"
transport = "udp"
app = { kind = "cbr", rate = "200 kbit/s", payload = "500 B" }
[[flow]]
name = "get"
to = "phones"
app = { kind = "fixed", size = "20 kB" }
transport = "tcp"
start = "500 ms"
repeat = { count = 2, every = "700 ms" }
[[flow]]
to = "tablet"
app = "bulk"
transport = "tcp"
[[flow]]
name = "phones-2"
to = "phones-2"
direction = "uplink"
app = "bulk"
transport = "quic"
"#;

const WIRED: &str = r#"
network = "wired"
[run]
duration = "5 s"
[[flow]]
app = "bulk"
transport = "tcp"
[[flow]]
app = "bulk"
transport = "quic"
"#;

fn resolve(text: &str) -> Resolved {
    Scenario::parse(text, "<test>").and_then(|scenario| scenario.resolve()).unwrap_or_else(|e| panic!("{e}"))
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// Name, UE, kind and start of each flow.
fn flows(output: &RunOutput) -> Vec<(String, String, String, f64)> {
    let table = &output.tables.iter().find(|(name, _)| *name == "flows").unwrap().1;
    let text = |column| match table.column(column) {
        Some(Column::Text(values)) => values.clone(),
        other => panic!("{column}: {other:?}"),
    };
    let Some(Column::F64(starts)) = table.column("start_s") else { panic!("no starts") };
    let rows = text("flow").into_iter().zip(text("ue")).zip(text("kind")).zip(starts);
    rows.map(|(((flow, ue), kind), start)| (flow, ue, kind, *start)).collect()
}

#[test]
fn other_flows_keep_names_ues_and_starts() {
    let scenario = resolve(GROUP);
    assert_eq!(scenario.ue_names(), ["tablet", "phones-1", "phones-2", "phones-3"]);
    let all = flows(&build(&scenario, 1).unwrap().finish());
    assert_eq!(all.len(), 3 + 6 + 1 + 1);
    let cases: [(&[&str], &[&str]); 6] = [
        (&[], &[]),
        (&["tablet"], &[]),
        (&["phones-2"], &[]),
        (&["phones-2"], &["get-2-2"]),
        (&["phones-3", "tablet"], &["flow-1-3", "get-3-1", "get-3-2"]),
        (&["phones-1", "phones-2", "phones-3", "tablet"], &["flow-3"]),
    ];
    for (real, keep) in cases {
        let (prepared, ends) = scenario.for_real(&names(real), &names(keep)).unwrap();
        let mut run = build(&prepared, 1).unwrap();
        for end in &ends {
            run.open_real(end).unwrap();
        }
        let expected =
            all.iter().filter(|(flow, ue, ..)| !real.contains(&ue.as_str()) || keep.contains(&flow.as_str()));
        let mut expected: Vec<_> = expected.cloned().collect();
        for direction in ["", " (uplink)"] {
            expected.extend(ends.iter().zip(real).map(|(end, ue)| {
                (format!("{}{direction}", end.name), (*ue).to_owned(), "ip".to_owned(), 0.0)
            }));
        }
        assert_eq!(flows(&run.finish()), expected, "{real:?} {keep:?}");
    }
}

#[test]
fn the_flow_of_a_ue_has_its_name_unless_another_flow_has_it() {
    let scenario = resolve(GROUP);
    let end =
        |real: &str, keep: &[&str]| scenario.for_real(&names(&[real]), &names(keep)).unwrap().1.remove(0);
    let of = |host: &str, ue| RealEnd { name: host.to_owned(), host: host.to_owned(), access: None, ue };
    assert_eq!(end("tablet", &[]), of("tablet", Some(UeId(0))));
    assert_eq!(end("phones-2", &[]), of("phones-2", Some(UeId(2))));
    assert_eq!(end("phones-2", &["phones-2"]).name, "phones-2-real");
}

#[test]
fn a_wired_network_has_its_host() {
    let scenario = resolve(WIRED);
    assert_eq!(scenario.ue_names(), ["host"]);
    let (prepared, ends) = scenario.for_real(&names(&["host"]), &names(&["flow-2"])).unwrap();
    assert_eq!(ends, [RealEnd { name: "host".to_owned(), host: "host".to_owned(), ..RealEnd::default() }]);
    let mut run = build(&prepared, 1).unwrap();
    run.open_real(&ends[0]).unwrap();
    run.advance(Instant::from_millis(2_000));
    let found: Vec<_> = flows(&run.finish()).into_iter().map(|(flow, _, kind, _)| (flow, kind)).collect();
    assert_eq!(
        found,
        [("flow-2", "quic"), ("host", "ip"), ("host (uplink)", "ip")]
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
    );
}

/// Two groups of UEs with radios in two cells and a link, and a UE with one radio.
const PATHS: &str = r#"
network = "typical"
[run]
duration = "4 s"
[[cell]]
name = "lte"
[[cell]]
name = "nr"
radio = "nr"
[[link]]
name = "wifi"
[[ue]]
name = "phones"
count = 2
position = ["150 m", "0 m"]
access = ["wifi", "lte", "nr"]
[[ue]]
name = "tablet"
position = ["150 m", "0 m"]
access = ["nr"]
[[flow]]
to = "phones"
transport = "mptcp"
[[flow]]
to = "tablet"
access = "nr"
"#;

#[test]
fn each_access_of_a_ue_is_an_end() {
    let scenario = resolve(PATHS);
    assert_eq!(scenario.ue_names(), ["phones-1", "phones-2", "tablet"]);
    let (prepared, ends) = scenario.for_real(&names(&["phones-2", "tablet"]), &[]).unwrap();
    let of = |access: &str, ue| RealEnd {
        name: format!("phones-2/{access}"),
        host: "phones-2".to_owned(),
        access: Some(access.to_owned()),
        ue,
    };
    let (lte, nr) = (Some(UeId(2)), Some(UeId(3)));
    let tablet = RealEnd { name: "tablet".into(), host: "tablet".into(), access: None, ue: Some(UeId(4)) };
    assert_eq!(ends, [of("wifi", None), of("lte", lte), of("nr", nr), tablet]);
    let mut run = build(&prepared, 1).unwrap();
    for end in &ends {
        run.open_real(end).unwrap();
    }
    run.advance(Instant::from_millis(100));
    let found: Vec<_> = flows(&run.finish()).into_iter().map(|(flow, ue, ..)| (flow, ue)).collect();
    let expected = [
        ("flow-1-1", "phones-1/lte"),
        ("phones-2/wifi", "phones-2/lte"),
        ("phones-2/lte", "phones-2/lte"),
        ("phones-2/nr", "phones-2/nr"),
        ("tablet", "tablet"),
    ];
    let both = |(flow, ue): (&str, &str)| (flow.to_owned(), ue.to_owned());
    assert_eq!(found[..5], expected.map(both));
}

#[test]
fn each_access_of_a_wired_host_is_an_end() {
    let scenario = resolve(&format!("{WIRED}[[link]]\nname = \"wifi\"\n"));
    let (prepared, ends) = scenario.for_real(&names(&["host"]), &[]).unwrap();
    let found: Vec<_> = ends.iter().map(|end| (end.name.as_str(), end.ue)).collect();
    assert_eq!(found, [("host/internet", None), ("host/wifi", None)]);
    let mut run = build(&prepared, 1).unwrap();
    for end in &ends {
        run.open_real(end).unwrap();
    }
}

#[test]
fn an_error_says_which_name_is_wrong_and_what_would_be_right() {
    let error = |text: &str, real: &[&str], keep: &[&str]| {
        resolve(text).for_real(&names(real), &names(keep)).unwrap_err().to_string()
    };
    let cases = [
        (
            error(GROUP, &["phone"], &[]),
            r#"ue = "phone": no UE has this name; known: tablet, phones-1, phones-2, phones-3"#,
        ),
        (
            error(GROUP, &["phones"], &[]),
            r#"ue = "phones": this is a group of 3 UEs; name its members: phones-1 to phones-3"#,
        ),
        (error(GROUP, &["tablet", "tablet"], &[]), r#"ue = "tablet": named twice; name it once"#),
        (
            error(GROUP, &["phones-1"], &["flow-3"]),
            r#"keep = "flow-3": this flow belongs to a UE without real applications; leave it out: the flow is simulated anyway"#,
        ),
        (
            error(GROUP, &["phones-1"], &["get"]),
            r#"keep = "get": no flow has this name; known: flow-1-1, get-1-1, get-1-2"#,
        ),
        (
            error(PATHS, &["phones-1/lte"], &[]),
            r#"ue = "phones-1/lte": no UE has this name; known: phones-1, phones-2, tablet"#,
        ),
        (
            error(WIRED, &["phone"], &[]),
            r#"ue = "phone": a wired network has one host and no UE; use the name host"#,
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found, expected);
    }
}

#[test]
fn the_run_is_as_long_as_its_results_fit_into_memory() {
    let duration = |text: &str, real: &str| {
        let (prepared, _) = resolve(text).for_real(&names(&[real]), &[]).unwrap();
        assert_eq!(prepared.run.warmup.0, Duration::ZERO);
        assert_eq!(build(&prepared, 1).unwrap().end(), Instant::ZERO + prepared.run.duration.0);
        prepared.run.duration.0.as_secs_f64()
    };
    // Five million rows at ten bins per second: one of the cell, two of the real flow, and one of each of the
    // others, of which 10 or 8 remain.
    assert_eq!(duration(WIRED, "host"), 2.5e5);
    assert_eq!(duration(&WIRED.replace("\"5 s\"", "\"5 s\"\nseries_bin = \"1 s\""), "host"), 1e6);
    assert_eq!(duration(GROUP, "tablet"), f64::floor(5e5 / 13.0));
    assert_eq!(duration(GROUP, "phones-1"), f64::floor(5e5 / 11.0));
    // A log of 10^8 blocks: four UEs in both directions have at most eight blocks per millisecond.
    assert_eq!(duration(&format!("{GROUP}[output]\nran_log = true\n"), "tablet"), 12_500.0);
    // Ten million echo messages.
    let ping =
        "[[flow]]\nto = \"tablet\"\napp = { kind = \"ping\", interval = \"1 ms\" }\ntransport = \"icmp\"\n";
    assert_eq!(duration(&format!("{GROUP}{ping}"), "phones-1"), 10_000.0);
}

/// The tables of a run that is ended early are those of a run with this duration.
#[test]
fn a_run_that_is_ended_has_the_tables_of_a_run_of_this_duration() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    // Between two events of every scenario, and not at the end of a bin.
    let end = Duration::from_micros(1_730_123);
    let mut compared = 0;
    for name in ["lte-20ue", "lte-drive", "lte-ping", "lte-udp", "splitproxy", "dash", "mdcc", "wired-cubic"]
    {
        let path = folder.join(format!("{name}.toml"));
        let mut scenario =
            Scenario::parse(&std::fs::read_to_string(&path).unwrap(), path.to_str().unwrap()).unwrap();
        for key in
            ["output.ran_log", "output.deliveries", "output.losses", "output.proxy_series", "run.ue_series"]
        {
            let mut with = scenario.clone();
            with.set(key, &true.into()).unwrap();
            if with.resolve().is_ok() {
                scenario = with;
            }
        }
        scenario.set("run.warmup", &"0 s".into()).unwrap();
        let run = |duration: &str| {
            let mut scenario = scenario.clone();
            scenario.set("run.duration", &duration.into()).unwrap();
            let mut run = build(&scenario.resolve().unwrap_or_else(|e| panic!("{name}: {e}")), 1).unwrap();
            run.advance(Instant::ZERO + end);
            run.finish()
        };
        let [whole, ended] = [run("1730123 us"), run("300 s")];
        assert_eq!(whole.meta.sim_s, ended.meta.sim_s);
        assert_eq!(whole.tables.len(), ended.tables.len());
        for ((table, expected), (_, found)) in whole.tables.iter().zip(&ended.tables) {
            let bytes = |of: &airlane_record::Table| {
                let mut bytes = vec![];
                of.write_bytes(table, &mut bytes).unwrap();
                bytes
            };
            assert!(bytes(expected) == bytes(found), "{name}, {table}: {expected:?}\nended: {found:?}");
            compared += 1;
        }
    }
    assert!(compared > 50, "{compared} tables");
}
