//! Handovers of UEs in whole runs: no avoidable losses, and correct reports.

use airlane_assembly::{RunOutput, run};
use airlane_core::DropCause;
use airlane_record::Column;
use airlane_scenario::Scenario;

use crate::tables::{reals, table, texts};

/// A car from one cell to the next within 20 s. The internet is slower than the radio, so that no queue
/// drops packets.
const BASE: &str = r#"network = "typical"
[run]
duration = "20s"
[internet]
rate = "8 Mbit/s"
uplink_rate = "8 Mbit/s"
[handover]
[[cell]]
name = "west"
position = ["0 m", "0 m"]
resource_blocks = 50
pdcp = { discard_timer = "1500 ms" }
[[cell]]
name = "east"
position = ["750 m", "0 m"]
resource_blocks = 50
pdcp = { discard_timer = "1500 ms" }
[[ue]]
name = "car"
position = ["150 m", "20 m"]
mobility = { kind = "line", towards = ["750 m", "20 m"], speed = "100 km/h" }
[[flow]]
to = "car"
app = { kind = "fixed", size = "10 MB" }
"#;

fn go(changes: &[(&str, &str)]) -> RunOutput {
    let text = changes.iter().fold(BASE.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    });
    let output = run(&Scenario::parse(&text, "x.toml").unwrap().resolve().unwrap(), 1).unwrap();
    assert!(output.meta.conserved);
    output
}

fn dropped(output: &RunOutput, cause: DropCause) -> u64 {
    output.meta.drops.0[cause as usize]
}

/// No packet is lost or duplicated, and the steps take their configured times.
#[test]
fn a_lossless_handover_shows_in_no_packet() {
    // Over a link per cell, one for both, or one for both followed by one per cell: the end marker and the
    // packets before it go to the old cell, those after it to the new one.
    let ways =
        [("shared = false", 1), ("shared = true", 1), ("shared = true\nhop = [{}, { shared = false }]", 2)];
    for (direction, (way, links)) in
        ["downlink", "uplink"].into_iter().flat_map(|direction| ways.map(|way| (direction, way)))
    {
        let output = go(&[
            ("to = \"car\"", &format!("to = \"car\"\ndirection = \"{direction}\"")),
            ("[handover]", &format!("[backhaul]\n{way}\n[handover]")),
        ]);
        let handovers = table(&output, "handovers");
        assert_eq!(texts(handovers, "outcome"), ["success"]);
        assert_eq!(
            (texts(handovers, "from"), texts(handovers, "to")),
            (vec!["west".into()], vec!["east".into()])
        );
        let times = ["report_s", "decision_s", "start_s", "end_s"].map(|name| reals(handovers, name)[0]);
        let took_ms = [1, 2, 3].map(|i| ((times[i] - times[i - 1]) * 1e3).round());
        // The report; X2 to the target, the target, X2 back and the command; the interruption.
        assert_eq!(took_ms, [10.0, 6.0 + 10.0 + 6.0 + 20.0, 30.0]);
        let switched_ms = (reals(handovers, "path_switch_s")[0] - times[3]) * 1e3;
        let s1 = 2.0 * f64::from(links); // a millisecond for each link and direction
        assert!((s1..s1 + 0.1).contains(&switched_ms), "S1 there and back: {switched_ms} ms");
        let flows = table(&output, "flows");
        assert!(reals(flows, "fct_s")[0] < 20.0, "10 MB at 8 Mbit/s");
        assert_eq!(reals(flows, "packets_delivered"), reals(flows, "packets_sent"));
        assert_eq!((reals(flows, "retransmissions")[0], reals(flows, "timeouts")[0]), (0.0, 0.0));
        assert_eq!(output.meta.drops.0.iter().sum::<u64>(), 0, "{:?}", output.meta.drops);
        // For an upload, the acknowledgments.
        assert!(reals(handovers, "forwarded_packets")[0] > 0.0);
    }
}

/// The UE is ready 15 ms after the command, waits up to 10 ms for an occasion of the PRACH, and completes the
/// handover 10 ms after it.
#[test]
fn random_access_waits_for_an_occasion() {
    let keys = "[handover]\ninterruption = \"15 ms\"\nrandom_access = \"occasions\"";
    let took_ms: Vec<f64> = (1..=8)
        .map(|seed| {
            let text = BASE.replace("[handover]", keys);
            let output = run(&Scenario::parse(&text, "x.toml").unwrap().resolve().unwrap(), seed).unwrap();
            let handovers = table(&output, "handovers");
            assert_eq!(texts(handovers, "outcome"), ["success"]);
            (reals(handovers, "end_s")[0] - reals(handovers, "start_s")[0]) * 1e3
        })
        .collect();
    assert!(took_ms.iter().all(|took| (25.0..35.0).contains(took)), "{took_ms:?}");
    let (least, most) =
        (took_ms.iter().copied().fold(35.0, f64::min), took_ms.iter().copied().fold(25.0, f64::max));
    assert!(most - least > 3.0, "eight draws of 10 ms: {took_ms:?}");
}

#[test]
fn random_access_must_fit_into_a_handover() {
    let error = |keys: &str| {
        let text = BASE.replace(
            "[handover]",
            &format!("[handover]\nrandom_access = {{ kind = \"occasions\", {keys} }}"),
        );
        Scenario::parse(&text, "x.toml").and_then(|one| one.resolve()).unwrap_err().to_string()
    };
    assert!(error("period = \"0 ms\"").contains("handover.random_access.period"));
    assert!(error("retry = \"2 s\"").contains("it must be at most 1 s"));
    let long = error("period = \"600 ms\", completion = \"500 ms\"");
    assert!(
        long.contains("handover.t304") && long.contains("handover.interruption with random access"),
        "{long}"
    );
}

/// The same without a transport that retransmits.
#[test]
fn a_lossless_handover_loses_no_datagram() {
    let output = go(&[(
        "app = { kind = \"fixed\", size = \"10 MB\" }",
        "transport = \"udp\"\nstop = \"19 s\"\napp = { kind = \"cbr\", rate = \"6 Mbit/s\", payload = \"1400 B\" }",
    )]);
    assert_eq!(texts(table(&output, "handovers"), "outcome"), ["success"]);
    let flows = table(&output, "flows");
    assert!(reals(flows, "packets_sent")[0] > 10_000.0);
    // The flow counts packets until it stops, the run counts all.
    assert_eq!((output.meta.delivered, output.meta.under_way), (output.meta.packets, 0));
    assert_eq!(output.meta.drops.0.iter().sum::<u64>(), 0, "{:?}", output.meta.drops);
}

/// The packets under way are lost, and no others; TCP retransmits them.
#[test]
fn a_seamless_handover_loses_what_is_under_way() {
    for changes in [
        &[("[handover]", "[handover]\nmode = \"seamless\"")][..],
        &[
            ("[handover]", "[handover]\nmode = \"seamless-um\""),
            ("resource_blocks = 50", "resource_blocks = 50\nrlc = \"um\""),
        ],
    ] {
        let output = go(changes);
        let handovers = table(&output, "handovers");
        assert_eq!(texts(handovers, "outcome"), ["success"]);
        let lost = dropped(&output, DropCause::Handover);
        assert_eq!(reals(handovers, "discarded_sdus"), [lost as f64]);
        // 8 Mbit/s are two packets in 3 ms, and RLC's status is at most 50 ms late.
        assert!((1..=60).contains(&lost), "{lost} packets");
        assert!(reals(table(&output, "flows"), "fct_s")[0] < 20.0);
    }
}

/// A full target refuses; the UE stays, and the request is repeated.
#[test]
fn a_full_cell_refuses() {
    let output = go(&[
        ("[handover]", "[handover]\nradio_link_failure = false"),
        ("name = \"east\"", "name = \"east\"\nmax_ues = 1"),
        ("[[flow]]", "[[ue]]\nname = \"resident\"\nposition = [\"740 m\", \"0 m\"]\n[[flow]]"),
    ]);
    let handovers = table(&output, "handovers");
    let mut outcomes = texts(handovers, "outcome");
    let refused = outcomes.iter().filter(|one| *one == "preparation-failed").count();
    assert_eq!(output.meta.handovers.expect("there are handovers").preparations_failed, refused as u64);
    if outcomes.last().is_some_and(|last| last == "unfinished") {
        outcomes.pop(); // the run ended within it
    }
    assert!(outcomes.len() > 2 && outcomes.iter().all(|one| one == "preparation-failed"), "{outcomes:?}");
    let reports = reals(handovers, "report_s");
    // The first at the end of the time to trigger of 256 ms, 56 ms after a sample; then after 240 ms,
    // at the next of the samples, which are taken every 200 ms.
    let gaps: Vec<f64> = reports.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!((gaps[0] - 0.344).abs() < 1e-9, "{reports:?}");
    assert!(gaps[1..].iter().all(|gap| (gap - 0.4).abs() < 1e-9), "{reports:?}");
    assert!(reals(handovers, "start_s").iter().all(|at| at.is_nan()));
}

/// A UE that reports its new cell too late has a radio link failure; that cell accepts it, and TCP
/// continues without a loss.
#[test]
fn who_is_handed_over_too_late_goes_on_all_the_same() {
    for (ttt, direction) in [("5120 ms", "downlink"), ("5120 ms", "uplink"), ("2560 ms", "downlink")] {
        let output = go(&[
            ("[handover]", &format!("[handover]\ntime_to_trigger = \"{ttt}\"")),
            ("100 km/h", "250 km/h"),
            ("to = \"car\"", &format!("to = \"car\"\ndirection = \"{direction}\"")),
        ]);
        let handovers = table(&output, "handovers");
        assert_eq!(texts(handovers, "outcome"), ["too-late"], "{handovers:?}");
        assert_eq!(texts(handovers, "to"), ["east"]);
        let [failed, end] = ["failure_s", "end_s"].map(|name| reals(handovers, name)[0]);
        // A search, the access, X2 in both directions.
        assert!((end - failed - 0.262).abs() < 0.0101, "{failed} s to {end} s");
        let flows = table(&output, "flows");
        assert!(reals(flows, "fct_s")[0] < 20.0, "TCP goes on");
        assert_eq!(reals(handovers, "discarded_sdus"), [0.0]);
    }
}

/// A UE whose new cell is full has a radio link failure, is refused, and returns.
#[test]
fn who_finds_no_room_is_released_and_comes_back() {
    let output = go(&[
        ("name = \"east\"", "name = \"east\"\nmax_ues = 1"),
        ("[[flow]]", "[[ue]]\nname = \"resident\"\nposition = [\"740 m\", \"0 m\"]\n[[flow]]"),
        ("100 km/h", "250 km/h"),
    ]);
    let handovers = table(&output, "handovers");
    let outcomes = texts(handovers, "outcome");
    assert!(outcomes.iter().any(|one| one == "preparation-failed"), "{outcomes:?}");
    assert!(outcomes.iter().any(|one| one == "radio-link-failure"), "{outcomes:?}");
    assert!(outcomes.iter().all(|one| one != "too-late" && one != "success"), "{outcomes:?}");
    assert!(reals(handovers, "releases").iter().sum::<f64>() >= 1.0);
}

/// A UE between two cells that it receives equally well moves back and forth, without losses.
#[test]
fn a_ping_pong_is_told_as_such_and_loses_nothing() {
    let output = go(&[
        ("[handover]", "[handover]\nhysteresis = \"0 dB\"\ntime_to_trigger = \"0 ms\"\nl3_filter = 0"),
        ("position = [\"150 m\", \"20 m\"]", "position = [\"375 m\", \"20 m\"]"),
        ("mobility = { kind = \"line\", towards = [\"750 m\", \"20 m\"], speed = \"100 km/h\" }", ""),
        ("rate = \"8 Mbit/s\"", "rate = \"2 Mbit/s\""),
        ("size = \"10 MB\"", "size = \"2 MB\""),
    ]);
    let handovers = table(&output, "handovers");
    let Some(Column::Bool(ping_pong)) = handovers.column("ping_pong") else { panic!("no ping_pong") };
    assert!(ping_pong.iter().filter(|one| **one).count() >= 3, "{ping_pong:?}");
    let outcomes = texts(handovers, "outcome");
    let done = outcomes.iter().filter(|one| *one == "success").count();
    assert!(done + 1 >= outcomes.len(), "{outcomes:?}"); // the run may end within one
    let counts = output.meta.handovers.expect("there are handovers");
    assert_eq!(counts.successful, done as u64);
    assert_eq!(counts.ping_pongs, ping_pong.iter().filter(|one| **one).count() as u64);
    let flows = table(&output, "flows");
    assert_eq!(reals(flows, "packets_delivered"), reals(flows, "packets_sent"));
    assert_eq!(output.meta.drops.0.iter().sum::<u64>(), 0, "{:?}", output.meta.drops);
}

/// A UE reports the neighbours of its cell and no others.
#[test]
fn who_is_no_neighbour_is_not_handed_over_to() {
    let alone = ("name = \"west\"", "name = \"west\"\nneighbours = []");
    let output = go(&[alone, ("[handover]", "[handover]\nradio_link_failure = false")]);
    assert_eq!(table(&output, "handovers").rows(), 0);
    // After a radio link failure, however, it selects any cell that it receives.
    let output = go(&[alone]);
    let handovers = table(&output, "handovers");
    assert_eq!(
        (texts(handovers, "outcome"), texts(handovers, "to")),
        (vec!["too-late".into()], vec!["east".into()])
    );
    assert!(reals(handovers, "report_s")[0].is_nan());
    let counts = output.meta.handovers.expect("there are handovers");
    assert_eq!((counts.successful, counts.too_late, counts.radio_link_failures), (0, 1, 1));
}

#[test]
fn runs_side_by_side_are_the_same_run() {
    let alone = go(&[]);
    let side_by_side = [(); 2].map(|()| std::thread::spawn(|| go(&[])));
    for run in side_by_side {
        let run = run.join().expect("it does not panic");
        assert_eq!(run.meta, alone.meta);
        assert_eq!(format!("{:?}", run.tables), format!("{:?}", alone.tables)); // NaN is not itself
    }
}

/// Without the section there are no measurements and no tables.
#[test]
fn without_the_section_there_is_none() {
    let output = go(&[("[handover]\n", "")]);
    assert!(output.tables.iter().all(|(name, _)| *name != "handovers"));
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (changes, key) in [
        (&[("[handover]", "[handover]\nmode = \"seamless-um\"")][..], "cell.0.rlc.mode"),
        (&[("[handover]", "[handover]\nmeasurement_period = \"0 ms\"")], "handover.measurement_period"),
        (&[("[handover]", "[handover]\nhysteresis = \"0.3 dB\"")], "handover.hysteresis"),
        (&[("[handover]", "[handover]\na3_offset = \"16 dB\"")], "handover.a3_offset"),
        (&[("[handover]", "[handover]\nl3_filter = 10")], "handover.l3_filter"),
        (
            &[(
                "name = \"west\"",
                "name = \"west\"\nearly_throttling = { bearers = 10, within = \"1 s\", ramp = \"1 s\", hold = \"1 s\", by = \"share\" }",
            )],
            "cell.0.early_throttling",
        ),
        (&[("[handover]", "[handover]\nn310 = 0")], "handover.n310"),
        (&[("[handover]", "[handover]\nn311 = 11")], "handover.n311"),
        (&[("[handover]", "[handover]\nt310 = \"7 s\"")], "handover.t310"),
        (&[("[handover]", "[handover]\nt311 = \"500 ms\"")], "handover.t311"),
        (&[("[handover]", "[handover]\nt304 = \"30 ms\"")], "handover.t304"),
        (&[("[handover]", "[handover]\nt301 = \"0 ms\"")], "handover.t301"),
        (&[("[handover]", "[handover]\ncell_search = \"2 s\"")], "handover.cell_search"),
        (&[("[handover]", "[x2]\ndelay = \"1 ms\"")], "x2"),
        (&[("name = \"west\"", "name = \"west\"\nneighbours = [\"west\"]")], "cell.0.neighbours.0"),
        (&[("name = \"west\"", "name = \"west\"\nneighbours = [\"eats\"]")], "cell.0.neighbours.0"),
        (&[("name = \"west\"", "name = \"west\"\nneighbours = [\"east\", \"east\"]")], "cell.0.neighbours.1"),
        (&[("[handover]", ""), ("name = \"west\"", "name = \"west\"\nmax_ues = 3")], "cell.0.max_ues"),
    ] {
        let text = changes.iter().fold(BASE.to_owned(), |text, (from, to)| text.replace(from, to));
        let error = Scenario::parse(&text, "x.toml").unwrap().resolve().expect_err(key);
        assert_eq!(&*error.key, key, "{error}");
        if key == "cell.0.neighbours.0" && text.contains("eats") {
            assert!(error.to_string().contains("did you mean `east`"), "{error}");
        }
    }
    let single = BASE.split_once("[[cell]]\nname = \"east\"").unwrap();
    let single = format!("{}{}", single.0, &single.1[single.1.find("[[ue]]").unwrap()..]);
    assert_eq!(
        &*Scenario::parse(&single, "x.toml").unwrap().resolve().expect_err("one cell").key,
        "handover"
    );
}

/// The bundled scenario.
#[test]
fn the_example_hands_over_once() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/x2-handover.toml");
    let text = std::fs::read_to_string(file).unwrap();
    let output = run(&Scenario::parse(&text, file).unwrap().resolve().unwrap(), 1).unwrap();
    let handovers = table(&output, "handovers");
    assert_eq!(texts(handovers, "outcome"), ["success"]);
    assert_eq!(dropped(&output, DropCause::Handover), 0);
    assert_eq!(reals(handovers, "discarded_sdus"), [0.0]);
    // The midpoint is at 375 m; 3 dB more than that and 200 to 456 ms of measurement at 11 m/s.
    let x = reals(handovers, "x_m")[0];
    assert!((380.0..500.0).contains(&x), "{x} m");
}

/// A train past a small cell, which it reports when it is near and to which it is handed over when
/// it is far.
const SMALL: &str = "[[cell]]\nname = \"small\"\nposition = [\"300 m\", \"0 m\"]\ntx_power = \"10 dBm\"
resource_blocks = 50\npdcp = { discard_timer = \"3 s\" }\n[[ue]]";
const FAST: &str = "[channel]\nfading = \"none\"\n[handover]\ntime_to_trigger = \"40 ms\"\nl3_filter = 0
measurement_period = \"40 ms\"\ncommand_delay = \"2000 ms\"";
const UDP: (&str, &str) = (
    "app = { kind = \"fixed\", size = \"10 MB\" }",
    "transport = \"udp\"\nstop = \"18 s\"\napp = { kind = \"cbr\", rate = \"2 Mbit/s\", payload = \"1400 B\" }",
);

/// A UE that does not reach its target before T304 expires is reported as such, its connection is
/// re-established in the cell with the best reception, and the forwarded data of the source is not
/// lost.
#[test]
fn who_does_not_reach_its_target_is_taken_up_by_another_cell() {
    let without_east = ("position = [\"750 m\", \"0 m\"]", "position = [\"9000 m\", \"0 m\"]");
    for (outcome, change) in [("wrong-cell", ("[[flow]]", "[[flow]]")), ("too-early", without_east)] {
        for udp in [false, true] {
            let mut changes = vec![
                ("[handover]", FAST),
                ("[[ue]]", SMALL),
                ("1500 ms", "3 s"),
                ("100 km/h", "300 km/h"),
                change,
            ];
            changes.extend(udp.then_some(UDP));
            let output = go(&changes);
            let handovers = table(&output, "handovers");
            assert_eq!(texts(handovers, "outcome")[0], outcome, "{handovers:?}");
            let at = ["start_s", "failure_s", "end_s"].map(|name| reals(handovers, name)[0]);
            // T304 is handled at the next radio frame; a search and the access follow, and X2 in both
            // directions if another cell than the source accepts the UE.
            assert!((1.0..=1.0101).contains(&(at[1] - at[0])), "{at:?}");
            let took = if outcome == "too-early" { 0.25 } else { 0.262 };
            assert!((at[2] - at[1] - took).abs() < 0.0101, "{at:?}");
            let counts = output.meta.handovers.expect("there are handovers");
            let (early, wrong) = (u64::from(outcome == "too-early"), u64::from(outcome == "wrong-cell"));
            assert_eq!((counts.accesses_failed, counts.too_early, counts.wrong_cell), (1, early, wrong));
            assert_eq!(output.meta.drops.0.iter().sum::<u64>(), 0, "{:?}", output.meta.drops);
            assert_eq!((output.meta.delivered, output.meta.under_way), (output.meta.packets, 0));
            assert!(udp || reals(table(&output, "flows"), "fct_s")[0] < 20.0, "TCP goes on");
        }
    }
}

/// An eNB with bad reception requires more power, and so another preamble; with T304 expired by then, the UE
/// selects the same cell again, which still waits for it.
#[test]
fn a_preamble_that_is_not_heard_is_repeated() {
    let deaf = ("name = \"east\"", "name = \"east\"\nnoise_figure = \"29 dB\"");
    let calm = ("[handover]", "[channel]\nfading = \"none\"\n[handover]");
    let output = go(&[deaf, calm]);
    let handovers = table(&output, "handovers");
    assert_eq!(texts(handovers, "outcome")[0], "success");
    let took = reals(handovers, "end_s")[0] - reals(handovers, "start_s")[0];
    assert!((took - 0.050).abs() < 1e-9, "30 ms, and 20 ms to the next preamble: {took} s");
    assert_eq!(dropped(&output, DropCause::Handover), 0);

    let hurried = ("[handover]", "[channel]\nfading = \"none\"\n[handover]\nt304 = \"35 ms\"");
    let output = go(&[deaf, hurried]);
    let handovers = table(&output, "handovers");
    assert_eq!(texts(handovers, "outcome")[0], "access-failed");
    assert_eq!(texts(handovers, "to")[0], "east");
    let [failed, end] = ["failure_s", "end_s"].map(|name| reals(handovers, name)[0]);
    assert!((end - failed - 0.25).abs() < 0.0101, "a search and the access: {failed} s to {end} s");
    let counts = output.meta.handovers.expect("there are handovers");
    assert_eq!((counts.successful, counts.accesses_failed, counts.too_early), (0, 1, 0));
    assert_eq!(dropped(&output, DropCause::Handover), 0);
}
