//! Checks of the periods in which a cell does not serve as usual.

use airlane_core::Duration;

use super::{Checked, Place};
use crate::format::{Cell, Resolved, Shedding};
use crate::quantity::Time;

/// Outages and shedding of a cell.
pub(super) fn service(cell: &Cell, scenario: &Resolved, at: &Place<'_>) -> Checked {
    let (outages, shedding) = (&cell.outages, &cell.shedding);
    if let Some(outages) = outages {
        let at = at.under("outages");
        one_after_the_other(outages.iter().map(|one| (one.at, one.duration)), &at)?;
        let help = "leave out outages or early_throttling";
        let alone = outages.is_empty() || cell.early_throttling.is_none();
        at.require_here(alone, "it cannot be combined with early_throttling", help)?;
        let lose = scenario.handover.as_ref().is_none_or(|handover| handover.radio_link_failure);
        let help = "write handover.radio_link_failure = true, or leave it out";
        at.require_here(lose || outages.is_empty(), "it needs radio link failures", help)?;
    }
    let Some(shedding) = shedding else { return Ok(()) };
    let at = at.under("shedding");
    one_after_the_other(shedding.iter().map(|one| (one.at, one.duration)), &at)?;
    for (index, one) in shedding.iter().enumerate() {
        shed(one, cell, scenario, &at.entry(index))?;
    }
    Ok(())
}

/// The periods must be in order and must not overlap.
fn one_after_the_other(times: impl Iterator<Item = (Time, Time)>, at: &Place<'_>) -> Checked {
    let mut free = Time(Duration::ZERO);
    for (index, (begin, duration)) in times.enumerate() {
        let at = at.entry(index);
        at.positive(duration, "duration")?;
        let help = format!("it must be {free} or later, the end of the entry before it");
        at.require(begin >= free, "at", "the entries overlap or are not in order of time", &help)?;
        free = Time(begin.0 + duration.0);
    }
    Ok(())
}

fn shed(one: &Shedding, cell: &Cell, scenario: &Resolved, at: &Place<'_>) -> Checked {
    let Some(handover) = &scenario.handover else {
        let help = "add [handover] and a second [[cell]], or leave it out";
        return at.wrong("it needs [handover]", help);
    };
    let help = "write either ues = 3 (a number) or share = \"50 %\" (of its UEs)";
    at.require_here(
        one.ues.is_some() != one.share.is_some(),
        "exactly one of `ues` and `share` is needed",
        help,
    )?;
    at.require(one.ues != Some(0), "ues", "no UE would be handed over", "it must be 1 or more")?;
    let some = one.share.is_none_or(|share| share.0 > 0.0);
    at.require(some, "share", "no UE would be handed over", "it must be above 0 %")?;
    let serves = |name: &String| scenario.cell.iter().any(|other| other.name == *name && !other.interferer);
    let target = match &cell.neighbours {
        Some(names) => names.iter().any(serves),
        None => scenario.cell.iter().any(|other| other.name != cell.name && serves(&other.name)),
    };
    let help = "list a cell that serves UEs in `neighbours`, or leave it out";
    at.require_here(target && !cell.interferer, "no UE of this cell can be handed over", help)?;
    let help =
        format!("it must be {} or later, which is handover.measurement_period", handover.measurement_period);
    let measured = one.at >= handover.measurement_period;
    at.require(measured, "at", "UEs have not measured their neighbours yet", &help)?;
    let off =
        cell.outages.iter().flatten().find(|off| (off.at.0..off.at.0 + off.duration.0).contains(&one.at.0));
    let help = off.map(|off| format!("it must be before {}, or after the end of the outage", off.at));
    at.require(
        off.is_none(),
        "at",
        "the radio is off at this time (outages)",
        help.as_deref().unwrap_or_default(),
    )
}
