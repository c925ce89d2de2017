//! UEs with a secondary node, in whole runs.

use airlane_assembly::{RunOutput, run};
use airlane_scenario::Scenario;

use crate::tables::{reals, table, texts};

/// A phone beside both cells: 20 MHz of LTE and 100 MHz of NR, without fading.
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
    let node = |more: &str| goodput(&phone(&format!("secondary_node = {{ cell = \"nr\"{more} }}")));
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
        let text = text.replace("SERVED", &format!("secondary_node = {{ cell = \"nr\"{more} }}"));
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
