//! A phone with LTE and Wi-Fi, and what tests of several paths read of their runs.

use airlane_assembly::{RunOutput, run};
use airlane_record::Table;
use airlane_scenario::Scenario;

use crate::tables::{reals, table};

/// A phone with LTE and Wi-Fi, which is the first access, and a flow to it. LINK, FLOW and TRANSPORT are keys of the link, the
/// flow, and its transport.
pub(crate) const PHONE: &str = r#"[run]
duration = "12 s"
[[cell]]
name = "lte"
[[link]]
name = "wifi"
rate = "30 Mbit/s"
LINK
[[ue]]
name = "phone"
position = ["150 m", "0 m"]
access = ["wifi", "lte"]
[[flow]]
to = "phone"
FLOW
[flow.transport]
TRANSPORT
"#;

/// Runs a scenario with these keys.
pub(crate) fn run_with(text: &str, link: &str, flow: &str, transport: &str) -> RunOutput {
    run_text(&text.replace("LINK", link).replace("FLOW", flow).replace("TRANSPORT", transport))
}

/// Runs a scenario, whose packets are conserved.
pub(crate) fn run_text(text: &str) -> RunOutput {
    let output = run(&Scenario::parse(text, "x.toml").unwrap().resolve().unwrap(), 1).unwrap();
    assert!(output.meta.conserved);
    output
}

/// A column of counts.
pub(crate) fn counts(table: &Table, name: &str) -> Vec<u64> {
    reals(table, name).into_iter().map(|count| count as u64).collect()
}

/// The mean goodput in Mbit/s between two times in seconds.
pub(crate) fn mean(output: &RunOutput, from: f64, until: f64) -> f64 {
    let series = table(output, "flow_series");
    let (times, rates) = (reals(series, "t_s"), reals(series, "goodput_mbps"));
    let within = times.iter().zip(&rates).filter(|(at, _)| (from..until).contains(*at));
    let rates: Vec<f64> = within.map(|(_, rate)| *rate).collect();
    rates.iter().sum::<f64>() / rates.len().max(1) as f64
}
