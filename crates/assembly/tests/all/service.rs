//! Cells whose radio fails and cells that shed UEs, whole runs.

use airlane_assembly::{RunOutput, run};
use airlane_record::Column;
use airlane_scenario::Scenario;

use crate::tables::{reals, table, texts};

/// Three UEs of the west cell at 100, 200 and 250 m, and one of the east cell, each with a download at 1
/// Mbit/s over an internet without drops.
const BASE: &str = r#"network = "typical"
[run]
duration = "12 s"
warmup = "0 s"
[internet]
shared = false
rate = "1 Mbit/s"
queue = "4 MB"
[channel]
fading = "none"
[handover]
[[cell]]
name = "west"
resource_blocks = 50
pdcp = { discard_timer = "20 s" }
[[cell]]
name = "east"
position = ["750 m", "0 m"]
resource_blocks = 50
pdcp = { discard_timer = "20 s" }
[[ue]]
name = "far"
position = ["100 m", "0 m"]
[[ue]]
name = "middle"
position = ["200 m", "0 m"]
[[ue]]
name = "near"
position = ["250 m", "0 m"]
[[ue]]
name = "resident"
position = ["740 m", "0 m"]
"#;

fn text(changes: &[(&str, &str)]) -> String {
    let text = changes.iter().fold(BASE.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    });
    let names = text.split("[[ue]]\nname = ").skip(1).map(|ue| ue.lines().next().unwrap());
    let flows: String = names.map(|name| format!("[[flow]]\nto = {name}\n")).collect();
    text + &flows
}

fn go(changes: &[(&str, &str)]) -> RunOutput {
    let scenario = Scenario::parse(&text(changes), "x.toml").unwrap().resolve();
    let output = run(&scenario.unwrap_or_else(|e| panic!("{e}")), 1).unwrap();
    assert!(output.meta.conserved);
    output
}

/// UE, target, and the time in a column of each handover.
fn handovers(output: &RunOutput, when: &str) -> Vec<(String, String, f64)> {
    let table = table(output, "handovers");
    let (ues, to, at) = (texts(table, "ue"), texts(table, "to"), reals(table, when));
    ues.into_iter().zip(to).zip(at).map(|((ue, to), at)| (ue, to, at)).collect()
}

/// Mean use of the resource blocks of a cell between two times.
fn load(output: &RunOutput, cell: &str, from: f64, until: f64) -> f64 {
    let series = table(output, "cell_series");
    let (cells, at, used) = (texts(series, "cell"), reals(series, "t_s"), reals(series, "prb_use_downlink"));
    let rows = (0..at.len()).filter(|&k| cells[k] == cell && at[k] > from + 0.05 && at[k] < until);
    let chosen: Vec<f64> = rows.map(|k| used[k]).collect();
    chosen.iter().sum::<f64>() / chosen.len() as f64
}

fn with(key: &str) -> String {
    format!("name = \"west\"\n{key}")
}

/// A link is out of sync after 20 radio frames in a row (190 ms after the first), T310 takes 1 s, one search
/// 100 ms, the access 150 ms, and X2 6 ms in each direction. The queue of the failed cell is forwarded, so
/// nothing is lost.
#[test]
fn ues_of_a_failed_cell_go_on_in_its_neighbour_and_come_back() {
    let outage = with("outages = [{ at = \"3 s\", duration = \"5 s\" }]");
    let output = go(&[("name = \"west\"", &outage)]);
    let [failed, end] = ["failure_s", "end_s"].map(|when| handovers(&output, when));
    for ue in ["far", "middle", "near"] {
        let of = |list: &[(String, String, f64)]| -> Vec<(String, f64)> {
            let mine = list.iter().filter(|(who, ..)| who == ue);
            mine.map(|(_, to, at)| (to.clone(), *at)).collect()
        };
        let (failed, end) = (of(&failed), of(&end));
        assert_eq!((end[0].0.as_str(), end[1].0.as_str(), end.len()), ("east", "west", 2), "{end:?}");
        assert!((failed[0].1 - 4.19).abs() < 1e-6, "{failed:?}");
        assert!((end[0].1 - 4.452).abs() < 0.0101, "{end:?}");
        // West is measured at 8.2 s again and is immediately better by more than 3 dB. The time to trigger
        // takes 256 ms, the report 10, the preparation 6 + 10 + 6, the command 20, the interruption 30.
        assert!((end[1].1 - 8.538).abs() < 1e-6, "{end:?}");
    }
    assert!(end.iter().all(|(ue, ..)| ue != "resident"), "{end:?}");
    let outcomes = texts(table(&output, "handovers"), "outcome");
    assert_eq!(outcomes.iter().filter(|one| *one == "success").count(), 3, "{outcomes:?}");
    // The load moves to the neighbour and back.
    let [west, east] = ["west", "east"].map(|cell| {
        [(1.0, 3.0), (5.0, 8.0), (10.0, 12.0)].map(|(from, until)| load(&output, cell, from, until))
    });
    assert!(west[0] > 0.02 && west[1] == 0.0 && west[2] > 0.02, "{west:?}");
    assert!(east[1] > 2.0 * east[0] && east[1] > 2.0 * east[2], "{east:?}");
    assert_eq!(output.meta.drops.0.iter().sum::<u64>(), 0, "{:?}", output.meta.drops);
    // There is no usable link until the neighbour serves them, in the direction in which they have data.
    let outages = table(&output, "outages");
    let mut told = texts(outages, "ue");
    told.dedup();
    assert_eq!(told, ["far", "middle", "near"]);
    let (from, until) = (reals(outages, "from_s"), reals(outages, "until_s"));
    assert!(from.iter().all(|at| (3.0..3.02).contains(at)), "{from:?}");
    assert!(until.iter().all(|at| (4.18..4.46).contains(at)), "{until:?}");
}

/// The same with packets that do not reach the target: they are lost, and TCP retransmits them.
#[test]
fn seamless_loses_what_was_under_way_and_goes_on() {
    let outage = with("outages = [{ at = \"3 s\", duration = \"9 s\" }]");
    let output = go(&[("name = \"west\"", &outage), ("[handover]", "[handover]\nmode = \"seamless\"")]);
    assert_eq!(texts(table(&output, "handovers"), "to"), ["east"; 3]);
    let goodput = reals(table(&output, "flows"), "goodput_mbps");
    // At most 1.45 of 12 s are missing, and most of that is made up for.
    assert!(goodput.iter().all(|rate| (0.87..1.01).contains(rate)), "{goodput:?}");
}

/// A single cell, or no other cell in range: there is no service, and the tables show it.
#[test]
fn without_another_cell_there_is_no_coverage_until_it_is_back() {
    let outage = with("outages = [{ at = \"3 s\", duration = \"5 s\" }]");
    let alone = go(&[
        ("name = \"west\"", &outage),
        ("name = \"east\"", "name = \"east\"\ninterferer = true"),
        ("[[ue]]\nname = \"resident\"\nposition = [\"740 m\", \"0 m\"]\n", ""),
    ]);
    let handovers = table(&alone, "handovers");
    assert_eq!(texts(handovers, "outcome"), ["radio-link-failure"; 3]);
    // After the failure at 4.19 s, they are released when T311 of 1 s has expired, and search again: four
    // times. The cell is measured at 8.2 s, found by the search that ends at 8.29 s, and answers after 150
    // ms.
    assert_eq!(reals(handovers, "releases"), [4.0; 3], "{handovers:?}");
    assert!(reals(handovers, "end_s").iter().all(|at| (at - 8.44).abs() < 1e-6), "{handovers:?}");
    let single = text(&[("[handover]\n", ""), ("name = \"west\"", &outage)]);
    let (before, after) = single.split_once("[[cell]]\nname = \"east\"").unwrap();
    let single = format!("{before}{}", &after[after.find("[[ue]]").unwrap()..]);
    let single = run(&Scenario::parse(&single, "x.toml").unwrap().resolve().unwrap(), 1).unwrap();
    for (output, back) in [(&alone, 8.6), (&single, 8.05)] {
        let outages = table(output, "outages");
        let (from, until) = (reals(outages, "from_s"), reals(outages, "until_s"));
        let downlink: Vec<_> = texts(outages, "direction").iter().map(|way| way == "downlink").collect();
        assert!(downlink.iter().filter(|is| **is).count() >= 3, "{outages:?}");
        for k in (0..from.len()).filter(|k| downlink[*k]) {
            assert!((3.0..3.02).contains(&from[k]) && (7.0..back).contains(&until[k]), "{outages:?}");
        }
        assert_eq!(outages.column("over"), Some(&Column::Bool(vec![true; from.len()])));
        let flows = table(output, "flows");
        assert!(reals(flows, "goodput_mbps")[..3].iter().all(|rate| *rate > 0.5), "TCP goes on");
    }
}

/// The cell decides at 5 s, sends a request over X2, and commands: 6 + 10 + 6 + 20 ms, then 30 ms of
/// interruption. The UEs nearest to the neighbour are handed over.
#[test]
fn a_cell_sheds_those_that_its_neighbour_serves_best() {
    for (amount, gone) in [
        ("ues = 2", &["middle", "near"][..]),
        ("share = \"34 %\"", &["near"]), // 1.02 of three
        ("share = \"100 %\"", &["far", "middle", "near"]),
        ("ues = 9", &["far", "middle", "near"]),
    ] {
        let output = go(&[
            (
                "name = \"west\"",
                &with(&format!("shedding = [{{ at = \"5 s\", duration = \"4 s\", {amount} }}]")),
            ),
            ("[handover]", "[handover]\nradio_link_failure = false"),
        ]);
        let decided = handovers(&output, "decision_s");
        let away: Vec<_> = decided.iter().filter(|(_, to, _)| to == "east").collect();
        let mut who: Vec<_> = away.iter().map(|(ue, ..)| ue.as_str()).collect();
        who.sort_unstable();
        assert_eq!(who, gone, "{amount}");
        assert!(away.iter().all(|(.., at)| *at == 5.0), "{away:?}");
        let ends = handovers(&output, "end_s");
        let arrived = ends.iter().filter(|(_, to, _)| to == "east");
        assert!(arrived.clone().all(|(.., at)| (at - 5.072).abs() < 1e-9), "{ends:?}");
        // No UE reports the cell before 9 s; then all do.
        let back: Vec<_> = decided.iter().filter(|(_, to, _)| to == "west").collect();
        assert_eq!(back.len(), gone.len(), "{decided:?}");
        assert!(back.iter().all(|(.., at)| *at > 9.0 && *at < 10.0), "{back:?}");
        let flows = table(&output, "flows");
        assert_eq!(reals(flows, "retransmissions"), [0.0; 4]);
        assert_eq!(output.meta.drops.0.iter().sum::<u64>(), 0);
    }
}

/// A full neighbour accepts none of them, and a neighbour that is off is no target.
#[test]
fn nobody_is_shed_to_a_cell_that_takes_none() {
    let shedding = with("shedding = [{ at = \"5 s\", duration = \"4 s\", share = \"100 %\" }]");
    let full = go(&[("name = \"west\"", &shedding), ("name = \"east\"", "name = \"east\"\nmax_ues = 2")]);
    let outcomes = texts(table(&full, "handovers"), "outcome");
    let refused = outcomes.iter().filter(|one| *one == "preparation-failed").count();
    assert_eq!(refused, 2, "one of three finds room: {outcomes:?}");
    let off = "name = \"east\"\noutages = [{ at = \"4.5 s\", duration = \"100 s\" }]";
    let off = go(&[("name = \"west\"", &shedding), ("name = \"east\"", off)]);
    let found = handovers(&off, "end_s");
    assert_eq!(found.iter().map(|(ue, ..)| ue.as_str()).collect::<Vec<_>>(), ["resident"], "{found:?}");
}

/// An interferer that is off has no effect: 28 is the highest MCS.
#[test]
fn a_cell_that_is_off_interferes_with_nobody() {
    let mcs = |key: &str| {
        let output = go(&[
            ("name = \"east\"", &format!("name = \"east\"\ninterferer = true\n{key}")),
            ("[[ue]]\nname = \"resident\"\nposition = [\"740 m\", \"0 m\"]\n", ""),
            ("\"250 m\"", "\"400 m\""),
        ]);
        reals(table(&output, "flows"), "mcs_mean")[2]
    };
    let (on, off) = (mcs(""), mcs("outages = [{ at = \"0 s\", duration = \"12 s\" }]"));
    assert!(on < 12.0 && off > 27.0, "MCS {on} beside it, {off} without");
}

/// An interferer serves no UE, so that it makes no difference when its UEs would be connected.
#[test]
fn an_interferer_has_no_connections() {
    let run = |key: &str| {
        go(&[
            ("name = \"east\"", &format!("name = \"east\"\ninterferer = true\n{key}")),
            ("[[ue]]\nname = \"resident\"\nposition = [\"740 m\", \"0 m\"]\n", ""),
        ])
    };
    let (always, on_demand) = (run(""), run("rrc = \"on-demand\""));
    let goodput = |output| reals(table(output, "flows"), "goodput_mbps").to_vec();
    assert_eq!(goodput(&on_demand), goodput(&always));
    assert!(on_demand.tables.iter().all(|(name, _)| *name != "rrc_connections"));
}

/// A CQI report is computed on demand, and a log of the blocks demands more of them. The report depends on
/// the slot of its measurement, even if the neighbour's radio has been switched since.
#[test]
fn a_radio_that_goes_off_or_on_does_not_change_what_was_measured_before() {
    let outages = (0..200).map(|k| format!("{{ at = \"{} ms\", duration = \"7 ms\" }}", 1000 + 14 * k));
    let outages = outages.collect::<Vec<_>>().join(", ");
    let go = |ran_log: bool| {
        let text = format!(
            r#"network = "typical"
[run]
duration = "4 s"
[output]
ran_log = {ran_log}
[channel]
fading = "epa"
[[cell]]
name = "west"
[[cell]]
name = "east"
position = ["750 m", "0 m"]
interferer = true
outages = [{outages}]
[[ue]]
name = "ue"
count = 10
position = ["330 m", "0 m"]
[[flow]]
to = "ue"
"#
        );
        let scenario = Scenario::parse(&text, "x.toml").unwrap().resolve();
        let mut output = run(&scenario.unwrap_or_else(|e| panic!("{e}")), 1).unwrap();
        output.tables.retain(|(name, _)| *name != "ran_log");
        output
    };
    let (without, with) = (go(false), go(true));
    assert_eq!(without.meta, with.meta);
    assert_eq!(format!("{:?}", without.tables), format!("{:?}", with.tables));
}

#[test]
fn runs_side_by_side_are_the_same_run() {
    let keys = with(
        "outages = [{ at = \"3 s\", duration = \"2 s\" }]\nshedding = [{ at = \"8 s\", duration = \"2 s\", ues = 2 }]",
    );
    let go = move || go(&[("name = \"west\"", &keys), ("fading = \"none\"", "fading = \"epa\"")]);
    let alone = go();
    let other = std::thread::spawn(go).join().expect("it does not panic");
    assert_eq!(format!("{:?}", alone.tables), format!("{:?}", other.tables));
    assert_eq!(alone.meta, other.meta);
}

/// The text for west, further keys, the key in the error, and the text of the error.
type Mistake<'a> = (String, &'a [(&'a str, &'a str)], &'a str, &'a str);

fn refused(mistakes: &[Mistake<'_>]) {
    for (cell, others, key, help) in mistakes {
        let west = with(cell);
        let changes: Vec<_> = others.iter().copied().chain([("name = \"west\"", west.as_str())]).collect();
        let read = Scenario::parse(&text(&changes), "x.toml").and_then(|scenario| scenario.resolve());
        let error = read.expect_err(key);
        assert_eq!(&*error.key, *key, "{error}");
        assert!(error.to_string().contains(help), "{error}");
    }
}

#[test]
fn outages_that_make_no_sense_are_refused() {
    let off = |list: &[(&str, &str)]| {
        let each = list.iter().map(|(at, lasts)| format!("{{ at = \"{at}\", duration = \"{lasts}\" }}"));
        format!("outages = [{}]", each.collect::<Vec<_>>().join(", "))
    };
    let stays = [("[handover]", "[handover]\nradio_link_failure = false")];
    refused(&[
        (off(&[("1 s", "0 s")]), &[], "cell.0.outages.0.duration", "above 0 s"),
        (off(&[("1 s", "2 s"), ("2500 ms", "1 s")]), &[], "cell.0.outages.1.at", "3 s or later"),
        (off(&[("5 s", "2 s"), ("1 s", "1 s")]), &[], "cell.0.outages.1.at", "7 s or later"),
        (off(&[("-1 s", "2 s")]), &[], "cell.0.outages.0.at", ""),
        (off(&[("1 s", "2 s")]), &stays, "cell.0.outages", "radio_link_failure = true"),
    ]);
}

#[test]
fn shedding_that_makes_no_sense_is_refused() {
    let shed = |at: &str, rest: &str| format!("shedding = [{{ at = \"{at}\", duration = \"1 s\"{rest} }}]");
    let one = shed("5 s", ", ues = 1");
    refused(&[
        (shed("5 s", ""), &[], "cell.0.shedding.0", "ues = 3"),
        (shed("5 s", ", ues = 1, share = \"10 %\""), &[], "cell.0.shedding.0", "one of"),
        (shed("5 s", ", ues = 0"), &[], "cell.0.shedding.0.ues", "1 or more"),
        (shed("5 s", ", share = \"0 %\""), &[], "cell.0.shedding.0.share", "above 0 %"),
        (shed("5 s", ", share = \"120 %\""), &[], "cell.0.shedding.0.share", ""),
        (shed("10 ms", ", ues = 1"), &[], "cell.0.shedding.0.at", "200 ms or later"),
        (
            format!("{one}\noutages = [{{ at = \"4 s\", duration = \"2 s\" }}]"),
            &[],
            "cell.0.shedding.0.at",
            "before 4 s",
        ),
        (format!("{one}\nneighbours = []"), &[], "cell.0.shedding.0", "neighbours"),
        (one, &[("[handover]\n", "")], "cell.0.shedding.0", "add [handover] and a second [[cell]]"),
    ]);
}
