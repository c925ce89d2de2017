//! Checks of on/off applications.

use airlane_core::Bytes;

use super::flow::{packets, payload};
use super::{Checked, Place};
use crate::datagrams;
use crate::format::{Flow, OnOff, Period, Resolved};
use crate::quantity::Size;

/// Minimum of the mean duration of a period and its pause: many billions of them are hours of computing.
const CYCLE_MIN_S: f64 = 1e-6;
/// Maximum shape of a Pareto distribution: its durations then differ by less than a percent.
const SHAPE_MAX: f64 = 1_000.0;

pub(super) fn on_off(app: &OnOff, flow: &Flow, scenario: &Resolved, at: &Place<'_>) -> Checked {
    payload(app.payload, at)?;
    if let Some(size) = app.size {
        at.at_least(size, Size(Bytes(1)), "app.size", "out of range")?;
    }
    period(&app.on, "app.on", at)?;
    period(&app.off, "app.off", at)?;
    let [on, off] = [&app.on, &app.off].map(|period| datagrams::period(period).mean_s());
    at.require(on > 0.0, "app.on", "the periods have no duration", "their mean must be above 0 s")?;
    let help = "the means of `on` and `off` must add up to at least 1 us";
    at.require(on + off >= CYCLE_MIN_S, "app.on", "too short", help)?;
    packets(app.rate.0.bits_per_second(), app.payload, flow, scenario, at)
}

fn period(period: &Period, key: &str, at: &Place<'_>) -> Checked {
    match period {
        Period::Constant(_) => Ok(()),
        Period::Uniform(p) => {
            let help = "it must be at least `min`";
            at.require(p.min <= p.max, &format!("{key}.max"), "below `min`", help)
        }
        Period::Exponential(p) => at.positive(p.mean, &format!("{key}.mean")),
        Period::Pareto(p) => {
            at.positive(p.mean, &format!("{key}.mean"))?;
            let finite = p.shape > 1.0 && p.shape <= SHAPE_MAX;
            let help = "it must be above 1, so that the mean is finite, and at most 1000";
            at.require(finite, &format!("{key}.shape"), "out of range", help)
        }
    }
}
