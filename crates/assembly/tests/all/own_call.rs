//! A rate controller of the user in a call.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use airlane_assembly::{build, build_with};
use airlane_record::Table;
use airlane_scenario::rate_controller::{
    BitRate, CallParameters, Feedback, Instant, MakeRateController, OwnRateControllers, Pace, RateController,
    SentPacket,
};
use airlane_scenario::{Extensions, Scenario};

const CALL: &str = r#"
network = "wired"
[run]
duration = "10 s"
[internet]
rate = "1 Mbit/s"
queue = "40 kB"
[[flow]]
name = "call"
transport = "udp"
[flow.app]
kind = "rtc"
feedback = "transport-wide"
"#;

/// Keeps 800 kbit/s without pacing, as `constant` does.
#[derive(Debug)]
struct Fixed;

impl RateController for Fixed {
    fn on_sent(&mut self, _: &SentPacket) {}

    fn on_feedback(&mut self, _: Instant, _: &Feedback<'_>) {}

    fn target(&self) -> BitRate {
        BitRate(800_000)
    }

    fn pace(&self) -> Pace {
        Pace { rate: None, window: None, padding: BitRate(0) }
    }
}

#[derive(Debug)]
struct Maker;

impl MakeRateController for Maker {
    fn make(&self, call: &CallParameters<'_>) -> Box<dyn RateController> {
        assert_eq!(call.flow, "call");
        assert!(call.bounds.min < call.bounds.start && call.bounds.start < call.bounds.max);
        Box::new(Fixed)
    }
}

fn own() -> Extensions {
    let maker = OwnRateControllers(Arc::new(Maker));
    Extensions { rate_controllers: [("mine".to_owned(), maker)].into(), ..Extensions::default() }
}

/// The tables of the call with this controller.
fn tables(controller: &str) -> Vec<(&'static str, Table)> {
    let scenario = Scenario::parse(&format!("{CALL}controller = {controller}\n"), "call.toml");
    let scenario = scenario.and_then(|scenario| scenario.resolve()).unwrap();
    let mut built = build_with(&scenario, 1, &own()).unwrap();
    assert!(built.run(&AtomicBool::new(false)));
    built.finish().tables
}

/// The tables as text, without the name of the controller.
fn anonymous(controller: &str, name: &str) -> String {
    format!("{:?}", tables(controller)).replace(name, "NAME")
}

#[test]
fn it_sets_the_rate_as_a_controller_of_ours_does() {
    let ours = anonymous("{ kind = \"constant\", rate = \"800 kbit/s\" }", "constant");
    let own = anonymous("{ kind = \"own\", name = \"mine\" }", "mine");
    assert!(ours.len() > 10_000, "there are tables of frames and rates");
    assert_eq!(ours, own);
}

#[test]
fn a_name_that_the_program_does_not_supply_is_an_error() {
    let text = format!("{CALL}controller = {{ kind = \"own\", name = \"yours\" }}\n");
    let scenario = Scenario::parse(&text, "call.toml").unwrap().resolve().unwrap();
    let message = |error: Option<airlane_scenario::ScenarioError>| error.unwrap().to_string();
    let alone = message(build(&scenario, 1).err());
    assert!(alone.contains("flow.0.app.controller.name = \"yours\": unknown controller"), "{alone}");
    assert!(alone.contains("add --controller yours=FILE.py:CLASS"), "{alone}");
    let known = message(build_with(&scenario, 1, &own()).err());
    assert!(known.contains("known: mine"), "{known}");
}
