//! UEs that send to several carriers, in whole runs.

use std::fmt::Write as _;

use airlane_assembly::{RunOutput, run};
use airlane_scenario::Scenario;

use crate::tables::{reals, table, texts};

/// A UE in free space that has more to send than its carriers take. The path loss is compensated up to the power of the UE.
const BASE: &str = r#"[run]
duration = "1.5 s"
warmup = "500 ms"
[channel]
path_loss = "friis"
fading = "none"
[internet]
rate = "10 Gbit/s"
[backhaul]
rate = "10 Gbit/s"
[[ue]]
name = "phone"
position = ["DISTANCE m", "0 m"]
height = "0 m"
[[flow]]
to = "phone"
direction = "uplink"
transport = "udp"
app = { kind = "cbr", rate = "500 Mbit/s", payload = "1400 B" }
"#;

/// Two cells of a preset, and a UE with these keys at this distance.
fn scenario(network: &str, ue: &str, distance_m: f64) -> String {
    let mut text = format!("network = {network:?}\n{BASE}").replace("DISTANCE", &distance_m.to_string());
    let keys = format!("name = \"phone\"\n{ue}");
    text = text.replace("name = \"phone\"", &keys);
    for (name, mhz) in [("a", 0), ("b", 80)] {
        let frequencies = match network {
            "typical" => {
                format!("frequency = \"{} MHz\"\nuplink_frequency = \"{} MHz\"\n", 2_140 + mhz, 1_950 + mhz)
            }
            _ => format!("frequency = \"{} MHz\"\nbandwidth = \"50 MHz\"\n", 3_500 + mhz),
        };
        let mode = if network == "typical" { "um" } else { "nr-um" };
        let power = "power_control = { kind = \"open-loop\", p0 = \"-85 dBm\", alpha = \"100 %\" }";
        write!(
            text,
            "[[cell]]\nname = {name:?}\nheight = \"0 m\"\n{frequencies}\
             rlc = {{ mode = {mode:?}, buffer = \"4 MiB\" }}\nmac = {{ {power} }}\n"
        )
        .unwrap();
    }
    text
}

fn of(text: &str) -> RunOutput {
    let scenario = Scenario::parse(text, "x.toml").unwrap();
    let output = run(&scenario.resolve().unwrap_or_else(|error| panic!("{error}")), 1).unwrap();
    assert!(output.meta.conserved);
    output
}

const BOTH: &str = "carriers = [\"a\", \"b\"]\nuplink_carriers = [\"a\", \"b\"]\nscells = \"always-active\"";

/// Goodput in Mbit/s.
fn goodput(network: &str, ue: &str, distance_m: f64) -> f64 {
    let output = of(&scenario(network, ue, distance_m));
    reals(table(&output, "flows"), "goodput_mbps")[0]
}

/// Near the site, both carriers together carry what each carries alone; by default, the uplink is on the first.
#[test]
fn near_the_site_uplink_carriers_add_up() {
    for network in ["typical", "nr-typical-fr1"] {
        let rate = |ue: &str| goodput(network, ue, 10.0);
        let (a, b, both) = (rate("cell = \"a\""), rate("cell = \"b\""), rate(BOTH));
        let first = rate("carriers = [\"a\", \"b\"]\nscells = \"always-active\"");
        println!("{network}: {a} and {b} Mbit/s, together {both}; {first} with the uplink on one");
        assert!((both / (a + b) - 1.0).abs() < 0.01, "{network}: {a} + {b}, {both}");
        assert!((first / a - 1.0).abs() < 0.001, "{network}: {a}, {first}");
    }
}

/// Farther away, the carriers share the power of the UE: two of them never carry less than one, nor more than twice as much,
/// and where one takes all power they carry as much as that one.
#[test]
fn at_the_cell_edge_two_carriers_have_the_power_of_one() {
    for (network, distances_m) in
        [("typical", [100.0, 400.0, 1_500.0, 6_000.0]), ("nr-typical-fr1", [30.0, 120.0, 500.0, 2_500.0])]
    {
        let ratios = distances_m.map(|distance_m| {
            let (one, both) =
                (goodput(network, "cell = \"a\"", distance_m), goodput(network, BOTH, distance_m));
            println!("{network}, {distance_m} m: {one} Mbit/s, and {both} with two carriers");
            both / one
        });
        assert!(ratios.iter().all(|ratio| (0.97..2.02).contains(ratio)), "{network}: {ratios:?}");
        assert!(ratios[0] > 1.9 && ratios[3] < 1.03, "{network}: {ratios:?}");
    }
}

/// SCells are activated by what waits in the uplink, and deactivated 20 ms after the last grant, with blocks on the air: in
/// acknowledged mode each datagram arrives once. Both tables have the blocks of each cell.
#[test]
fn nothing_is_lost_or_doubled_when_carriers_come_and_go() {
    for (network, mode, fading) in [
        ("typical", "am", "{ model = \"eva\", speed = \"60 km/h\" }"),
        ("nr-typical-fr1", "nr-am", "{ model = \"tdl-c\", speed = \"60 km/h\", delay_spread = \"300 ns\" }"),
    ] {
        let ue = "carriers = [\"a\", \"b\"]\nuplink_carriers = [\"a\", \"b\"]\n\
                  scells = { deactivation_timer = \"20 ms\" }";
        let app = "{ kind = \"on-off\", rate = \"90 Mbit/s\", payload = \"1000 B\", \
                   on = { kind = \"uniform\", min = \"5 ms\", max = \"60 ms\" }, \
                   off = { kind = \"uniform\", min = \"5 ms\", max = \"100 ms\" } }";
        let text = scenario(network, ue, 60.0)
            .replace("{ kind = \"cbr\", rate = \"500 Mbit/s\", payload = \"1400 B\" }", app)
            .replace("fading = \"none\"", &format!("fading = {fading}"))
            .replace("warmup = \"500 ms\"\n", "")
            .replace("\"1.5 s\"", "\"12 s\"")
            .replace("mode = \"um\"", "mode = \"am\"")
            .replace("mode = \"nr-um\"", &format!("mode = {mode:?}"))
            .replace("transport = \"udp\"", "transport = \"udp\"\nstop = \"9 s\"")
            .replace("[internet]\n", "[internet]\nqueue = \"64 MB\"\naqm = \"drop-tail\"\n")
            .replace("[backhaul]\n", "[backhaul]\nqueue = \"64 MB\"\naqm = \"drop-tail\"\n")
            + "[output]\nran_log = true\n";
        let output = of(&text);
        let meta = &output.meta;
        let lost = meta.drops.0.iter().sum::<u64>();
        let steps = texts(table(&output, "carriers"), "step");
        let count = |wanted: &str| steps.iter().filter(|step| *step == wanted).count();
        println!("{network}: {} packets, {} activations", meta.packets, count("activated"));
        assert_eq!((meta.delivered, lost, meta.under_way), (meta.packets, 0, 0), "of {}", meta.packets);
        assert!(count("activated") > 40 && count("deactivated") >= count("activated") - 1, "{steps:?}");
        let blocks = reals(table(&output, "cells"), "tb_sent_uplink");
        let log = table(&output, "ran_log");
        let (cells, directions) = (texts(log, "cell"), texts(log, "direction"));
        let of_cell = |name: &str| {
            let rows = cells.iter().zip(&directions);
            rows.filter(|(cell, direction)| *cell == name && *direction == "uplink").count()
        };
        println!("blocks of the uplink: {blocks:?}");
        assert_eq!(["a", "b"].map(of_cell).map(|rows| rows as f64), [blocks[0], blocks[1]]);
        assert!(blocks.iter().all(|blocks| *blocks > 300.0), "{blocks:?}");
    }
}
