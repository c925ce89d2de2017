//! Checks of handover: measurements, cells and their neighbours, modes.

use std::collections::BTreeSet;

use airlane_core::{Decibel, Duration};
use airlane_ran::bearer::RlcMode;
use airlane_ran::rrc::quality::Reported;
use airlane_settings::nearest_help;

use super::{Checked, Place};
use crate::ScenarioError;
use crate::format::{Cell, Handover, HandoverAlgorithm, HandoverMode, RandomAccess, Resolved, Rlc, X2};

/// The greatest reported value of RSRQ.
const RSRQ_MAX: u8 = Reported::MAX.0;

pub(super) fn handover(scenario: &Resolved, at: &Place<'_>) -> Checked {
    for (index, cell) in scenario.cell.iter().enumerate() {
        neighbours(cell, &scenario.cell, &at.under("cell").entry(index))?;
    }
    let Some(handover) = &scenario.handover else {
        let help = "add [handover], or leave this out";
        at.require(scenario.x2.is_none(), "x2", "it needs [handover]", help)?;
        for (index, cell) in scenario.cell.iter().enumerate() {
            let at = at.under("cell").entry(index);
            at.require(cell.max_ues.is_none(), "max_ues", "it needs [handover]", help)?;
            at.require(cell.neighbours.is_none(), "neighbours", "it needs [handover]", help)?;
        }
        return Ok(());
    };
    at.require(scenario.x2.is_some(), "x2", "handover needs X2", "pass the scenario that `parse` returned")?;
    let help = "add a second [[cell]], or leave out [handover]";
    at.require(scenario.cell.len() > 1, "handover", "handover needs a second cell", help)?;
    for (index, cell) in scenario.cell.iter().enumerate() {
        let at = at.under("cell").entry(index);
        mode(handover.mode, cell, &at)?;
        let help = "leave out early_throttling or [handover]";
        let alone = cell.early_throttling.is_none();
        at.require(alone, "early_throttling", "it cannot be combined with [handover]", help)?;
    }
    measurements(handover, &at.under("handover"))?;
    radio_link(handover, scenario.x2.as_ref(), &at.under("handover"))
}

/// Values of TS 36.331 v17.0 §6.3.2 (RLF-TimersAndConstants, MobilityControlInfo), as ranges.
fn radio_link(handover: &Handover, x2: Option<&X2>, at: &Place<'_>) -> Checked {
    at.require(
        (1..=20).contains(&handover.n310),
        "n310",
        "out of range",
        "it must be from 1 to 20 (TS 36.331 section 6.3.2)",
    )?;
    at.require(
        (1..=10).contains(&handover.n311),
        "n311",
        "out of range",
        "it must be from 1 to 10 (TS 36.331 section 6.3.2)",
    )?;
    let help = "it must be from 0 ms to 6000 ms (TS 36.331 section 6.3.2)";
    at.require(handover.t310.0 <= Duration::from_millis(6000), "t310", "out of range", help)?;
    let fits = (1000..=30_000).contains(&(handover.t311.0.as_nanos() / 1_000_000));
    at.require(
        fits,
        "t311",
        "out of range",
        "it must be from 1000 ms to 30000 ms (TS 36.331 section 6.3.2)",
    )?;
    at.positive(handover.t301, "t301")?;
    at.positive(handover.cell_search, "cell_search")?;
    let fits = handover.cell_search.0 <= handover.t311.0;
    at.require(
        fits,
        "cell_search",
        "T311 would expire during every search",
        "it must not be longer than t311",
    )?;
    let x2 = x2.map_or(Duration::ZERO, |x2| x2.delay.0);
    let access = random_access(&handover.random_access, &at.under("random_access"))?;
    let left = handover.t304.0.saturating_sub(access);
    let fits = !handover.radio_link_failure
        || (handover.interruption.0 < left && x2 < handover.t304.0.saturating_sub(x2));
    let help = "it must be longer than handover.interruption with random access, and than twice x2.delay";
    at.require(fits, "t304", "T304 would expire during every handover", help)
}

/// The longest time of a random access that succeeds at once.
fn random_access(access: &RandomAccess, at: &Place<'_>) -> Result<Duration, ScenarioError> {
    let RandomAccess::Occasions(one) = access else { return Ok(Duration::ZERO) };
    at.positive(one.period, "period")?;
    let most = Duration::from_secs(1);
    for (time, key) in [(one.period, "period"), (one.completion, "completion"), (one.retry, "retry")] {
        at.require(time.0 <= most, key, "out of range", "it must be at most 1 s")?;
    }
    at.positive(one.retry, "retry")?;
    Ok(one.period.0 + one.completion.0)
}

/// The handover mode must match the RLC mode of every cell.
fn mode(handover: HandoverMode, cell: &Cell, at: &Place<'_>) -> Checked {
    let (rlc, help) = match &cell.rlc {
        Rlc::Am(_) | Rlc::NrAm(_) => {
            (RlcMode::Am, "use handover.mode = \"lossless\" or \"seamless\", or rlc.mode = \"um\"")
        }
        Rlc::Um(_) | Rlc::NrUm(_) => {
            (RlcMode::Um, "use handover.mode = \"seamless-um\", or rlc.mode = \"am\"")
        }
        Rlc::Tm(_) => (RlcMode::Tm, "use rlc.mode = \"am\" or \"um\": transparent mode has no handover"),
    };
    let fits = handover.config().rlc() == rlc;
    at.require(fits, "rlc.mode", "handover.mode needs another RLC mode", help)
}

fn measurements(handover: &Handover, at: &Place<'_>) -> Checked {
    for (time, key) in
        [(handover.measurement_period, "measurement_period"), (handover.report_interval, "report_interval")]
    {
        at.require(
            time.0 >= Duration::from_millis(1),
            key,
            "too short",
            "it must be at least one slot, 1 ms",
        )?;
    }
    let half_steps = |value: Decibel| (value.0 * 2.0).fract() == 0.0;
    let (offset, hysteresis) = (handover.a3_offset.0, handover.hysteresis.0);
    let fits = half_steps(offset) && (-15.0..=15.0).contains(&offset.0);
    let help = "it must be from -15 dB to 15 dB in steps of 0.5 dB (TS 36.331 section 6.3.5)";
    at.require(fits, "a3_offset", "not a value of a3-Offset", help)?;
    let fits = half_steps(hysteresis) && (0.0..=15.0).contains(&hysteresis.0);
    let help = "it must be from 0 dB to 15 dB in steps of 0.5 dB (TS 36.331 section 6.3.5)";
    at.require(fits, "hysteresis", "not a value of hysteresis", help)?;
    if let HandoverAlgorithm::A2A4Rsrq(rule) = &handover.algorithm {
        let at = at.under("algorithm");
        let help = "it must be a reported value of RSRQ, from 0 to 34 (TS 36.133 section 9.1.7)";
        at.require(rule.serving_threshold <= RSRQ_MAX, "serving_threshold", "out of range", help)?;
        let help = "it must be from 0 to 34, the range of the reported values";
        at.require(rule.neighbour_offset <= RSRQ_MAX, "neighbour_offset", "out of range", help)?;
    }
    // FilterCoefficient, TS 36.331 section 6.3.5.
    let fits = matches!(handover.l3_filter, 0..=9 | 11 | 13 | 15 | 17 | 19);
    at.require(fits, "l3_filter", "not a filter coefficient", "it must be 0 to 9, 11, 13, 15, 17 or 19")
}

fn neighbours(cell: &Cell, all: &[Cell], at: &Place<'_>) -> Checked {
    let at = at.under("neighbours");
    let mut seen = BTreeSet::new();
    for (index, name) in cell.neighbours.iter().flatten().enumerate() {
        let at = at.entry(index);
        at.require_here(*name != cell.name, "a cell cannot be its own neighbour", "leave it out")?;
        if !all.iter().any(|other| other.name == *name) {
            let names: Vec<_> = all.iter().map(|c| c.name.as_str()).filter(|n| *n != cell.name).collect();
            at.wrong("no cell has this name", nearest_help(name, &names))?;
        }
        at.require_here(seen.insert(name), "listed twice", "leave out one of them")?;
    }
    Ok(())
}
