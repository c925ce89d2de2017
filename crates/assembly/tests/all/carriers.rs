//! UEs with several carriers that are handed over and sleep, in whole runs.

use airlane_assembly::{RunOutput, run};
use airlane_scenario::Scenario;

use crate::tables::{reals, table, texts};

/// A car that drives along three sites with two carriers of 10 MHz each, and reports cells of its carrier.
const DRIVE: &str = r#"network = "typical"
[run]
duration = "36 s"
[handover]
[[ue]]
name = "car"
position = ["100 m", "20 m"]
mobility = { kind = "line", towards = ["1400 m", "20 m"], speed = "130 km/h" }
carriers = ["1 low", "1 high"]
[[flow]]
to = "car"
"#;

fn drive(change: impl FnOnce(String) -> String) -> RunOutput {
    let mut text = DRIVE.to_owned();
    for site in 0..3 {
        for (name, mhz) in [("low", 1_840), ("high", 2_140)] {
            let others = [1, 2, 3].into_iter().filter(|other| *other != site + 1);
            let neighbours: Vec<_> = others.map(|other| format!("{other} {name}")).collect();
            text += &format!(
                "[[cell]]\nname = \"{} {name}\"\nposition = [\"{} m\", \"0 m\"]\nresource_blocks = 50\n\
                 frequency = \"{mhz} MHz\"\nuplink_frequency = \"{} MHz\"\nneighbours = {neighbours:?}\n",
                site + 1,
                600 * site,
                mhz - 95,
            );
        }
    }
    of(&change(text))
}

fn of(text: &str) -> RunOutput {
    let output = run(&Scenario::parse(text, "x.toml").unwrap().resolve().unwrap(), 1).unwrap();
    assert!(output.meta.conserved);
    output
}

/// Rows of the table `carriers` of this kind: their times and cells.
fn steps(output: &RunOutput, wanted: &str) -> Vec<(f64, String)> {
    let carriers = table(output, "carriers");
    let (times, cells) = (reals(carriers, "t_s"), texts(carriers, "cell"));
    let rows = texts(carriers, "step").into_iter().zip(times.iter().zip(cells));
    rows.filter(|(step, _)| step == wanted).map(|(_, (at, cell))| (*at, cell)).collect()
}

/// At each handover the SCell is left when the car leaves its primary cell, and that of the new site is commanded after it
/// has arrived and used 24 ms after the command was on the air.
#[test]
fn a_car_has_the_carriers_of_the_site_that_serves_it() {
    let output = drive(|text| text);
    let handovers = table(&output, "handovers");
    assert_eq!(texts(handovers, "outcome"), ["success"; 2]);
    assert_eq!(texts(handovers, "to"), ["2 low", "3 low"]);
    let [left, arrived] = ["start_s", "end_s"].map(|name| reals(handovers, name));
    for (handover, site) in [(0, 1), (1, 2)] {
        let (leaves, arrives) = (left[handover], arrived[handover]);
        let gone = steps(&output, "deactivated").into_iter().find(|(at, _)| (at - leaves).abs() < 1e-9);
        assert_eq!(gone.map(|one| one.1), Some(format!("{site} high")));
        let after = |step| steps(&output, step).into_iter().find(|(at, _)| *at > leaves).unwrap();
        let (commanded, activated) = (after("commanded"), after("activated"));
        assert_eq!([&commanded.1, &activated.1], [&format!("{} high", site + 1); 2]);
        println!("left {leaves} s, arrived {arrives}, commanded {}, active {}", commanded.0, activated.0);
        assert!(commanded.0 >= arrives && commanded.0 < arrives + 0.05, "{commanded:?} after {arrives}");
        assert!((0.0239..0.0271).contains(&(activated.0 - commanded.0)), "{commanded:?} and {activated:?}");
    }
    // Two carriers of one width carry twice as much.
    let goodput = |output: &RunOutput| reals(table(output, "flows"), "goodput_mbps")[0];
    let one = drive(|text| text.replace("carriers = [\"1 low\", \"1 high\"]", "cell = \"1 low\""));
    let ratio = goodput(&output) / goodput(&one);
    println!("{} and {} Mbit/s, ratio {ratio}", goodput(&output), goodput(&one));
    assert!((1.7..2.1).contains(&ratio), "{ratio}");
}

/// A site with one carrier leaves the UE one carrier.
#[test]
fn a_site_with_one_carrier_has_no_secondary_cell() {
    let output = drive(|text| {
        text.replace("frequency = \"2140 MHz\"\nuplink_frequency = \"2045 MHz\"\nneighbours = [\"1 high\", \"3 high\"]", "frequency = \"2600 MHz\"\nuplink_frequency = \"2505 MHz\"\nneighbours = []")
    });
    let handovers = table(&output, "handovers");
    let [left, arrived] = ["start_s", "end_s"].map(|name| reals(handovers, name));
    let there = arrived[0]..left[1];
    assert!(there.end - there.start > 5.0, "{there:?}");
    let carriers = table(&output, "carriers");
    assert!(reals(carriers, "t_s").iter().all(|at| !there.contains(at)));
    assert!(texts(carriers, "cell").contains(&"3 high".to_owned()));
}

/// A phone that was released is paged, and connects; its SCell is commanded with its first data, and used 24 ms later.
#[test]
fn a_phone_that_wakes_up_has_its_carriers_after_its_connection() {
    let output = of(r#"network = "typical-sleeping"
[run]
duration = "70 s"
[[cell]]
name = "low"
frequency = "1840 MHz"
uplink_frequency = "1745 MHz"
[[cell]]
name = "high"
[[ue]]
name = "phone"
position = ["150 m", "0 m"]
carriers = ["low", "high"]
[[flow]]
to = "phone"
transport = "udp"
[flow.app]
kind = "on-off"
rate = "80 Mbit/s"
payload = "1200 B"
on = { kind = "constant", length = "500 ms" }
off = { kind = "constant", length = "20 s" }
"#);
    let connections = table(&output, "rrc_connections");
    let [begins, setups, releases] = ["begin_s", "setup_s", "release_s"].map(|name| reals(connections, name));
    let (commanded, activated) = (steps(&output, "commanded"), steps(&output, "activated"));
    println!("{begins:?} {setups:?} {releases:?}\n{commanded:?}\n{activated:?}");
    assert!(begins.len() >= 3, "{begins:?}");
    for connection in 0..begins.len() {
        let connected = begins[connection] + setups[connection];
        let after =
            |of: &[(f64, String)]| of.iter().map(|one| one.0).find(|at| *at > begins[connection]).unwrap();
        let (commanded, activated) = (after(&commanded), after(&activated));
        assert!(commanded >= connected, "commanded at {commanded}, connected at {connected}");
        assert!((0.0239..0.0271).contains(&(activated - commanded)), "{commanded} and {activated}");
        let is_left =
            |at: f64| steps(&output, "deactivated").iter().any(|one| (commanded..=at).contains(&one.0));
        assert!(releases[connection].is_nan() || is_left(releases[connection]));
    }
}
