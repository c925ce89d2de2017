//! UEs that drive through a network of 57 sectors: with channels to the strongest cells alone, and to all.

use std::sync::atomic::AtomicBool;

use airlane_assembly::{RunOutput, build, run};
use airlane_scenario::{Resolved, Scenario};

use crate::tables::{reals, table, texts};

const TOWN: &str = r#"network = "typical"
[run]
duration = "8 s"
[internet]
rate = "100 Gbit/s"
queue = "1 GB"
[layout]
kind = "hexagonal"
rings = 2
sectors = 3
inter_site_distance = "500 m"
[handover]
[[cell]]
name = "cell"
height = "25 m"
resource_blocks = 50
tx_power = "46 dBm"
[channel]
path_loss = { kind = "tr36.814", scene = "uma" }
shadowing = "log-normal"
fading = { model = "epa", speed = "50 km/h" }
[[ue]]
name = "car"
count = 8
height = "1.5 m"
placement = "hexagonal"
mobility = { kind = "line", heading = "30 deg", speed = "100 km/h" }
[[ue]]
name = "walker"
count = 4
height = "1.5 m"
placement = { kind = "disc", centre = ["0 m", "0 m"], radius = "300 m" }
mobility = { kind = "random-waypoint", area = { kind = "disc", centre = ["0 m", "0 m"], radius = "500 m" }, speed = { min = "3 km/h", max = "6 km/h" } }
[[ue]]
name = "desk"
count = 40
height = "1.5 m"
placement = "hexagonal"
[[flow]]
to = "car"
[[flow]]
to = "walker"
[[flow]]
to = "desk"
"#;

fn scenario(text: &str, strongest: Option<u32>) -> Resolved {
    let mut scenario = Scenario::parse(text, "x.toml").unwrap();
    if let Some(cells) = strongest {
        scenario.set("channel.strongest_cells", &cells.into()).unwrap();
    }
    scenario.resolve().unwrap()
}

/// UE, source, target, and the time of the report of each handover, one UE after another.
fn handovers(output: &RunOutput) -> Vec<([String; 3], f64)> {
    let table = table(output, "handovers");
    let [ue, from, to] = ["ue", "from", "to"].map(|name| texts(table, name));
    let cells = ue.into_iter().zip(from).zip(to).map(|((ue, from), to)| [ue, from, to]);
    let mut all: Vec<_> = cells.zip(reals(table, "report_s")).collect();
    all.sort_by(|([one, ..], _), ([other, ..], _)| one.cmp(other));
    all
}

/// Without traffic, the positions at which a UE measures are those of its periods: all handovers are the same.
#[test]
fn idle_cars_are_handed_over_as_with_channels_to_all_cells() {
    let text = TOWN.replace("[[flow]]\nto = \"car\"\n", "").replace("count = 8", "count = 24");
    let [all, near] = [None, Some(10)].map(|strongest| {
        let output = run(&scenario(&text, strongest), 1).unwrap();
        handovers(&output).into_iter().map(|handover| format!("{handover:?}")).collect::<Vec<_>>()
    });
    println!("{} handovers", all.len());
    assert!(all.len() >= 20, "{} handovers", all.len());
    assert_eq!(all, near);
}

/// With 30 of 57 sectors, each UE has the same handovers, and goodput is the same within 0.5 %. The path loss of a cell is
/// computed again when the UE has moved by 1 m since its last use. Such uses depend on the blocks of the UE, so that samples
/// of RSRP differ by up to the shadowing of 1 m. One that misses the condition starts the time to trigger
/// again: three periods of measurement.
#[test]
fn cars_are_handed_over_as_with_channels_to_all_cells() {
    let (mut sums, mut compared) = ([0.0; 2], 0);
    for seed in 1..=3 {
        let [all, near] = [None, Some(30)].map(|strongest| run(&scenario(TOWN, strongest), seed).unwrap());
        for (sum, output) in sums.iter_mut().zip([&all, &near]) {
            *sum += reals(table(output, "flows"), "goodput_mbps").iter().sum::<f64>();
        }
        let [all, near] = [all, near].map(|output| handovers(&output));
        println!("seed {seed}: {} handovers", all.len());
        let [of_all, of_near] =
            [&all, &near].map(|list| list.iter().map(|(cells, _)| cells).collect::<Vec<_>>());
        assert_eq!(of_all, of_near, "seed {seed}");
        for ((cells, one), (_, other)) in all.iter().zip(&near) {
            let is_same = one.is_nan() && other.is_nan() || (one - other).abs() < 0.601;
            assert!(is_same, "seed {seed}: {cells:?} at {one} s and {other} s");
        }
        compared += all.len();
    }
    let [all, near] = sums;
    println!("{compared} handovers; goodput {all} and {near} Mbit/s: {}", near / all);
    assert!(compared >= 20, "{compared} handovers");
    assert!((near / all - 1.0).abs() < 0.005, "goodput {all} and {near} Mbit/s");
}

#[test]
fn the_cells_in_reach_are_the_same_on_any_number_of_threads() {
    let on = |threads| {
        let mut scenario = Scenario::parse(TOWN, "x.toml").unwrap();
        for (key, value) in [("channel.strongest_cells", 6.into()), ("run.duration", "2 s".into())] {
            scenario.set(key, &value).unwrap();
        }
        let mut built = build(&scenario.resolve().unwrap(), 1).unwrap();
        built.use_threads_from(0, threads);
        assert!(built.run(&AtomicBool::new(false)));
        assert!(threads == 1 || built.shared_steps() > 100, "{} steps", built.shared_steps());
        let output = built.finish();
        let mut bytes = format!("{:?}", output.meta).into_bytes();
        output.tables.iter().for_each(|(name, table)| table.write_bytes(name, &mut bytes).unwrap());
        bytes
    };
    let one = on(1);
    for threads in [2, 3, 8] {
        assert!(on(threads) == one, "{threads} threads");
    }
}
