//! UEs with a secondary node, in whole runs.

use airlane_assembly::{RunOutput, build, run};
use airlane_core::{Instant, UeId};
use airlane_scenario::Scenario;

use crate::tables::{reals, table, texts};

/// A phone near both cells: 20 MHz of LTE and 40 MHz of NR, without fading.
const PHONE: &str = r#"network = "typical"
[run]
duration = "6 s"
warmup = "2 s"
[channel]
path_loss = "friis"
fading = "none"
[[cell]]
name = "lte"
bandwidth = "20 MHz"
[[cell]]
name = "nr"
radio = "nr"
bandwidth = "40 MHz"
[internet]
rate = "2 Gbit/s"
delay = "4 ms"
[backhaul]
rate = "2 Gbit/s"
[[ue]]
name = "phone"
position = ["150 m", "0 m"]
SERVED
[[flow]]
to = "phone"
"#;

fn of(text: &str) -> RunOutput {
    let scenario = Scenario::parse(text, "x.toml").and_then(|one| one.resolve());
    let output = run(&scenario.unwrap_or_else(|error| panic!("{error}")), 1).unwrap();
    assert!(output.meta.conserved);
    output
}

fn phone(served: &str) -> RunOutput {
    of(&PHONE.replace("SERVED", served))
}

fn goodput(output: &RunOutput) -> f64 {
    reals(table(output, "flows"), "goodput_mbps")[0]
}

/// A split bearer carries what both cells carry alone, and one with a single leg what its cell does.
#[test]
fn a_split_bearer_has_the_rates_of_both_cells() {
    let alone = ["cell = \"lte\"", "cell = \"nr\""].map(|served| goodput(&phone(served)));
    let node = |more: &str| goodput(&phone(&format!("secondary_node = {{ cells = [\"nr\"]{more} }}")));
    let [mcg, scg] = ["mcg", "scg"].map(|bearer| node(&format!(", bearer = \"{bearer}\"")));
    let split = node("");
    println!("alone {alone:?}, MCG bearer {mcg}, SCG bearer {scg}, split bearer {split} Mbit/s");
    assert!((mcg / alone[0] - 1.0).abs() < 0.01);
    assert!((scg / alone[1] - 1.0).abs() < 0.01);
    let sum = alone[0] + alone[1];
    assert!((0.97..1.01).contains(&(split / sum)), "{split} of {sum}");
}

/// Blocks of both cells are the phone's, and the uplink goes over the cell that it is set to.
#[test]
fn the_uplink_has_the_path_that_it_is_set_to() {
    let sends = |more: &str| {
        let text = PHONE.replace("[run]", "[output]\nran_log = true\n[run]");
        let text = text.replace("SERVED", &format!("secondary_node = {{ cells = [\"nr\"]{more} }}"));
        let output = of(&(text + "direction = \"uplink\"\n"));
        let log = table(&output, "ran_log");
        assert!(texts(log, "ue").iter().all(|ue| ue == "phone"));
        let [cells, ways] = ["cell", "direction"].map(|name| texts(log, name));
        let bytes = reals(log, "tb_bytes");
        let of = |cell: &str| -> f64 {
            let rows = (0..bytes.len()).filter(|row| cells[*row] == cell && ways[*row] == "uplink");
            rows.map(|row| bytes[row]).sum()
        };
        (of("lte"), of("nr"), goodput(&output))
    };
    let (nr, lte) = (sends(""), sends(", uplink = \"lte\""));
    let both = sends(", uplink_split_threshold = \"51200 B\"");
    println!("bytes of LTE and NR, Mbit/s: {nr:?} {lte:?} {both:?}");
    assert!(nr.0 < 0.01 * nr.1 && lte.1 < 0.01 * lte.0);
    assert!(both.2 > 0.95 * (nr.2 + lte.2), "{both:?}");
}

/// Rows of the table `scg`: their times and steps.
fn steps(output: &RunOutput) -> Vec<(f64, String)> {
    let scg = table(output, "scg");
    reals(scg, "t_s").into_iter().zip(texts(scg, "step")).collect()
}

/// Datagrams of a phone in cells of which that of NR is off from 2 to 5 s.
fn datagrams(served: &str, direction: &str) -> RunOutput {
    let text = PHONE.replace("duration = \"6 s\"\nwarmup = \"2 s\"", "duration = \"9 s\"");
    let text =
        text.replace("radio = \"nr\"", "radio = \"nr\"\noutages = [{ at = \"2 s\", duration = \"3 s\" }]");
    let flow = format!(
        "direction = \"{direction}\"\nstart = \"100 ms\"\nstop = \"8 s\"\ntransport = \"udp\"\n\
         app = {{ kind = \"cbr\", rate = \"2 Mbit/s\", payload = \"1200 B\" }}\n"
    );
    of(&(text.replace("SERVED", served) + &flow))
}

/// With a short time to trigger, A2 is reported and the SCG released. With a long one, it fails: two frames of the outage
/// make the link out of sync, and T310 is 1 s. The data that it had go over LTE: each datagram arrives that arrives over LTE alone.
/// NR is added again after the outage.
#[test]
fn losing_the_scg_loses_and_doubles_nothing() {
    for direction in ["downlink", "uplink"] {
        let arrived = |output: &RunOutput| {
            let flows = table(output, "flows");
            ["packets_sent", "packets_delivered", "packets_lost"].map(|name| reals(flows, name)[0])
        };
        let over_lte = arrived(&datagrams("cell = \"lte\"", direction));
        for bearer in ["split", "scg"] {
            for (time_to_trigger, way, at) in [("160 ms", "released", 2.2), ("1280 ms", "failed", 3.02)] {
                let output = datagrams(
                    &format!(
                        "secondary_node = {{ cells = [\"nr\"], bearer = \"{bearer}\", \
                         t_reordering = \"3000 ms\", time_to_trigger = \"{time_to_trigger}\" }}"
                    ),
                    direction,
                );
                let (seen, arrived) = (steps(&output), arrived(&output));
                println!("{bearer} {direction}: {seen:?}, {arrived:?}, over LTE {over_lte:?}");
                let (lost_at, _) = seen.iter().find(|(_, step)| step == way).expect("the SCG is lost");
                assert!((lost_at - at).abs() < 0.03, "{seen:?}");
                let (added_at, last) = seen.last().expect("there are steps");
                assert!(last == "added" && *added_at > 5.0, "{seen:?}");
                assert!(arrived == over_lte && arrived[1] > 1_600.0, "{arrived:?}");
            }
        }
    }
}

/// A car that drives from one distance to another, with 3GPP's path loss of a macro cell: NR has -110 dBm at 1.1 km, and
/// -116 dBm at 1.7 km.
fn drive(from: &str, to: &str) -> RunOutput {
    let line = format!(
        "position = [\"{from}\", \"10 m\"]\n\
         mobility = {{ kind = \"line\", towards = [\"{to}\", \"10 m\"], speed = \"108 km/h\" }}"
    );
    let text = PHONE
        .replace("duration = \"6 s\"\nwarmup = \"2 s\"", "duration = \"30 s\"")
        .replace("\"friis\"", "\"tr25.814\"")
        .replace("position = [\"150 m\", \"0 m\"]", &line);
    of(&text.replace("SERVED", "secondary_node = { cells = [\"nr\"] }"))
}

#[test]
fn nr_is_added_and_released_by_its_signal() {
    let output = drive("1600 m", "0 m");
    let seen = steps(&output);
    println!("towards {seen:?}");
    let names: Vec<_> = seen.iter().map(|(_, step)| step.as_str()).collect();
    assert_eq!(names, ["reported", "added"]);
    let [reported, added] = [seen[0].0, seen[1].0];
    assert!((1e3 * (added - reported) - 75.0).abs() < 1e-6, "{seen:?}");
    let output = drive("1000 m", "3000 m");
    let seen = steps(&output);
    println!("away {seen:?}");
    let names: Vec<_> = seen.iter().map(|(_, step)| step.as_str()).collect();
    assert_eq!(names, ["added", "reported", "released"]);
}

/// The other phone continues after one with a secondary node was removed in the middle of its transfer, and none is added.
#[test]
fn a_phone_with_a_secondary_node_can_be_removed_and_not_added() {
    let text = PHONE.replace("SERVED", "secondary_node = { cells = [\"nr\"] }");
    let other = "[[ue]]\nname = \"other\"\nposition = [\"90 m\", \"0 m\"]\n";
    let two = text.clone() + other + "[[flow]]\nto = \"other\"\n";
    let resolve = |text: &str| Scenario::parse(text, "x.toml").and_then(|one| one.resolve()).unwrap();
    let mut built = build(&resolve(&two), 1).unwrap();
    built.advance(Instant::from_millis(2_500));
    built.remove_ue(UeId(0)).unwrap();
    built.advance(Instant::from_millis(4_000));
    built.check_conservation().unwrap();
    let third = two + "[[ue]]\nname = \"third\"\nposition = [\"90 m\", \"0 m\"]\n";
    let refused = built.extend(&resolve(&third)).unwrap_err().to_string();
    assert!(refused.contains("ue.2") && refused.contains("secondary node"), "{refused}");
}

/// Datagrams of a car that passes from one cell of LTE to another, with a cell of NR half way that it receives all the time.
fn between_anchors(more: &str, direction: &str) -> RunOutput {
    of(&format!(
        "network = \"typical\"\n[run]\nduration = \"24 s\"\n[handover]\nmode = \"lossless\"\n\
         [channel]\npath_loss = \"tr25.814\"\nfading = \"none\"\n\
         [[cell]]\nname = \"west\"\n[[cell]]\nname = \"east\"\nposition = [\"1000 m\", \"0 m\"]\n\
         [[cell]]\nname = \"nr\"\nradio = \"nr\"\nposition = [\"500 m\", \"0 m\"]\n\
         [[ue]]\nname = \"car\"\nposition = [\"200 m\", \"20 m\"]\n\
         mobility = {{ kind = \"line\", towards = [\"800 m\", \"20 m\"], speed = \"108 km/h\" }}\n\
         secondary_node = {{ cells = [\"nr\"], t_reordering = \"3000 ms\"{more} }}\n\
         [[flow]]\nto = \"car\"\ndirection = \"{direction}\"\nstart = \"100 ms\"\nstop = \"20 s\"\ntransport = \"udp\"\n\
         app = {{ kind = \"cbr\", rate = \"10 Mbit/s\", payload = \"1200 B\" }}\n"
    ))
}

/// The SCG ends with the command of the handover. Kept, it is there again when the random access to it has succeeded, 34 ms
/// after the arrival; released, it is added by B1: a period of measurements at most, 160 ms to trigger, 41 ms and 34 ms.
/// Each datagram arrives, once.
#[test]
fn a_handover_of_the_anchor_loses_and_doubles_nothing() {
    for direction in ["downlink", "uplink"] {
        for bearer in ["split", "scg", "mcg"] {
            for (at_handover, least_ms, most_ms) in [("release", 235.0, 275.1), ("keep", 34.0, 34.0)] {
                let more = format!(
                    ", bearer = \"{bearer}\", at_handover = \"{at_handover}\", uplink_split_threshold = \"0 B\""
                );
                let output = between_anchors(&more, direction);
                let handovers = table(&output, "handovers");
                let arrived_s = reals(handovers, "end_s")[0];
                let seen = steps(&output);
                println!("{direction} {bearer} {at_handover}: {seen:?}, arrived {arrived_s}");
                let (left, name) = &seen[1];
                assert!(name == "released" && *left < arrived_s, "{seen:?}");
                let (added_s, name) = seen.last().expect("there are steps");
                let after_ms = 1e3 * (added_s - arrived_s);
                assert!(name == "added" && seen.len() == if at_handover == "keep" { 3 } else { 4 });
                assert!((least_ms - 1e-3..=most_ms + 1e-3).contains(&after_ms), "{after_ms} ms");
                let meta = &output.meta;
                assert!(meta.packets > 20_000, "{} packets", meta.packets);
                assert_eq!((meta.delivered, meta.under_way), (meta.packets, 0));
            }
        }
    }
}

/// Each cell group has the cycles of its cell: a datagram that finds the UE asleep waits for an on-duration of the cell that
/// has its bearer, and nothing is lost.
#[test]
fn cell_groups_sleep_by_the_cycles_of_their_cells() {
    let cycles = |ms: u64| {
        format!(
            "drx = {{ kind = \"cycles\", cycle = \"{ms} ms\", on_duration = \"10 ms\", inactivity = \"20 ms\", \
             short_cycles = 0 }}"
        )
    };
    let of_drx = |lte: u64, nr: u64, bearer: &str| {
        let text = PHONE
            .replace("name = \"lte\"", &format!("name = \"lte\"\n{}", cycles(lte)))
            .replace("radio = \"nr\"", &format!("radio = \"nr\"\n{}", cycles(nr)))
            .replace("SERVED", &format!("secondary_node = {{ cells = [\"nr\"], bearer = \"{bearer}\" }}"))
            .replace("warmup = \"2 s\"\n", "");
        let app = "transport = \"udp\"\nstop = \"5 s\"\n\
                   app = { kind = \"on-off\", rate = \"1 Mbit/s\", payload = \"500 B\", \
                   on = { kind = \"constant\", length = \"4 ms\" }, off = { kind = \"constant\", length = \"397 ms\" } }\n";
        let output = of(&(text + app));
        let flows = table(&output, "flows");
        let [sent, arrived, longest] =
            ["packets_sent", "packets_delivered", "owd_max_ms"].map(|name| reals(flows, name)[0]);
        assert_eq!((sent, sent > 10.0), (arrived, true));
        let [listened, joules] =
            ["listening", "energy_J"].map(|name| reals(table(&output, "energy"), name)[0]);
        assert!(joules.is_nan(), "the energy of one of two radios");
        (longest, listened)
    };
    let (mcg, scg) = (of_drx(320, 40, "mcg"), of_drx(320, 40, "scg"));
    println!("longest delay in ms, share of listening of the master cell group: {mcg:?} {scg:?}");
    assert!((200.0..340.0).contains(&mcg.0) && (20.0..60.0).contains(&scg.0), "{mcg:?} {scg:?}");
    assert!(mcg.1 < 0.2 && scg.1 < 0.5 * mcg.1, "{mcg:?} {scg:?}");
}
