//! UEs with a master node and a secondary node of NR (NR-DC), in whole runs.

use airlane_assembly::{RunOutput, run};
use airlane_scenario::Scenario;

use crate::tables::{reals, table, texts};

/// A phone near two cells without fading: 40 MHz of NR in FR1, with slots of 0.5 ms, and 100 MHz in FR2, with slots of 0.125 ms.
const PHONE: &str = r#"network = "nrdc"
[run]
duration = "6 s"
warmup = "2 s"
[channel]
path_loss = "friis"
fading = "none"
blockage = "none"
[[cell]]
name = "fr1"
bandwidth = "40 MHz"
[[cell]]
name = "fr2"
frequency = "28 GHz"
[internet]
rate = "4 Gbit/s"
delay = "4 ms"
[backhaul]
rate = "4 Gbit/s"
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

/// The same cells and the same channel, in which a UE has one of them.
fn alone(cell: &str, text: &str) -> String {
    let keys = "frequency = \"28 GHz\"\nbandwidth = \"100 MHz\"\ntx_power = \"33 dBm\"\nnoise_figure = \"7 dB\"\n\
                antenna = { kind = \"omni\", gain = \"26 dB\" }\n\
                radio = { kind = \"nr\", subcarrier_spacing = \"120 kHz\", overhead_elements = 12, \
                mimo = { gnb_antennas = 2, ue_antennas = 2, layers = 2 } }";
    text.replace("network = \"nrdc\"", "network = \"nr-typical-fr1\"")
        .replace("[[cell]]", "[[cell]]\nheight = \"10 m\"")
        .replace("frequency = \"28 GHz\"", keys)
        .replace("SERVED", &format!("noise_figure = \"10 dB\"\ncell = \"{cell}\""))
}

/// Steps of the table `scg`, and their times.
fn steps(output: &RunOutput) -> Vec<(f64, String)> {
    let scg = table(output, "scg");
    reals(scg, "t_s").into_iter().zip(texts(scg, "step")).collect()
}

/// A split bearer carries what both cells carry alone, and one with a single leg what its cell does, over two grids of slots.
#[test]
fn a_split_bearer_has_the_rates_of_both_frequency_ranges() {
    let goodput = |text: &str| reals(table(&of(text), "flows"), "goodput_mbps")[0];
    let of_cells = ["fr1", "fr2"].map(|cell| goodput(&alone(cell, PHONE)));
    let node = |keys: &str| goodput(&PHONE.replace("SERVED", &format!("secondary_node = {{ {keys} }}")));
    let [mcg, scg, split] =
        ["mcg", "scg", "split"].map(|bearer| node(&format!("cells = [\"fr2\"], bearer = \"{bearer}\"")));
    println!("alone {of_cells:?}, MCG bearer {mcg}, SCG bearer {scg}, split bearer {split} Mbit/s");
    assert!((mcg / of_cells[0] - 1.0).abs() < 0.01);
    assert!((scg / of_cells[1] - 1.0).abs() < 0.01);
    let sum = of_cells[0] + of_cells[1];
    assert!((0.97..1.01).contains(&(split / sum)), "{split} of {sum}");
}

/// Datagrams of a phone in cells of which that in FR2 is off from 2 to 5 s.
fn datagrams(served: &str, direction: &str) -> String {
    let text = PHONE
        .replace("duration = \"6 s\"\nwarmup = \"2 s\"", "duration = \"9 s\"")
        .replace("name = \"fr2\"", "name = \"fr2\"\noutages = [{ at = \"2 s\", duration = \"3 s\" }]");
    let flow = format!(
        "direction = \"{direction}\"\nstart = \"100 ms\"\nstop = \"8 s\"\ntransport = \"udp\"\n\
         app = {{ kind = \"cbr\", rate = \"2 Mbit/s\", payload = \"1200 B\" }}\n"
    );
    text.replace("SERVED", served) + &flow
}

/// By event A2 or by T310 the SCG is lost, and its data go over FR1: each datagram arrives, once. FR2 is added by A4 after the
/// outage.
#[test]
fn losing_the_scg_loses_and_doubles_nothing() {
    for direction in ["downlink", "uplink"] {
        for bearer in ["split", "scg"] {
            for (time_to_trigger, way, at) in [("160 ms", "released", 2.2), ("1280 ms", "failed", 3.02)] {
                let output = of(&datagrams(
                    &format!(
                        "secondary_node = {{ cells = [\"fr2\"], bearer = \"{bearer}\", \
                         t_reordering = \"3000 ms\", time_to_trigger = \"{time_to_trigger}\" }}"
                    ),
                    direction,
                ));
                let seen = steps(&output);
                println!("{bearer} {direction}: {seen:?}");
                let (lost_at, _) = seen.iter().find(|(_, step)| step == way).expect("the SCG is lost");
                assert!((lost_at - at).abs() < 0.03, "{seen:?}");
                let (added_at, last) = seen.last().expect("there are steps");
                assert!(last == "added" && *added_at > 5.0, "{seen:?}");
                let meta = &output.meta;
                assert!(meta.packets > 1_600 && meta.delivered + meta.under_way == meta.packets, "{meta:?}");
                assert_eq!(meta.under_way, 0);
            }
        }
    }
}

/// Datagrams of a car that passes from one cell in FR1 to another, with a cell in FR2 half way that it receives all the time.
fn between_masters(more: &str, direction: &str) -> RunOutput {
    of(&format!(
        "network = \"nrdc\"\n[run]\nduration = \"24 s\"\n[handover]\nmode = \"lossless\"\n\
         [channel]\npath_loss = \"friis\"\nfading = \"none\"\nblockage = \"none\"\n\
         [[cell]]\nname = \"west\"\n[[cell]]\nname = \"east\"\nposition = [\"1000 m\", \"0 m\"]\n\
         [[cell]]\nname = \"fr2\"\nfrequency = \"28 GHz\"\nposition = [\"500 m\", \"0 m\"]\n\
         [[ue]]\nname = \"car\"\nposition = [\"200 m\", \"20 m\"]\n\
         mobility = {{ kind = \"line\", towards = [\"800 m\", \"20 m\"], speed = \"108 km/h\" }}\n\
         secondary_node = {{ cells = [\"fr2\"], t_reordering = \"3000 ms\"{more} }}\n\
         [[flow]]\nto = \"car\"\ndirection = \"{direction}\"\nstart = \"100 ms\"\nstop = \"20 s\"\ntransport = \"udp\"\n\
         app = {{ kind = \"cbr\", rate = \"10 Mbit/s\", payload = \"1200 B\" }}\n"
    ))
}

/// A handover is to the other cell in FR1, although that in FR2 is stronger than both. Kept, the SCG is there again after the
/// random access of 30 ms; released, it is added by A4: a period of measurements at most, 160 ms to trigger, 41 ms and 30 ms.
/// Each datagram arrives, once.
#[test]
fn a_handover_of_the_master_node_loses_and_doubles_nothing() {
    for direction in ["downlink", "uplink"] {
        for bearer in ["split", "scg", "mcg"] {
            for (at_handover, least_ms, most_ms) in [("release", 231.0, 271.1), ("keep", 30.0, 30.0)] {
                let more = format!(
                    ", bearer = \"{bearer}\", at_handover = \"{at_handover}\", uplink_split_threshold = \"0 B\""
                );
                let output = between_masters(&more, direction);
                let handovers = table(&output, "handovers");
                assert_eq!(texts(handovers, "to"), ["east"]);
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
