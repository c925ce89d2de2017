//! The error rate of first transmissions in the downlink against the target of the outer loop.

use std::collections::BTreeMap;

use airlane_record::{Column, Table};
use airlane_scenario::{Resolved, format};

/// Step of the outer loop after an error, and its highest correction, in MCS steps (`airlane_ran`).
const STEP_DOWN: f64 = 0.5;
const HIGHEST_CORRECTION: f64 = 3.0;
/// The highest MCS of any table (TS 36.213 table 7.1.7.1-1, TS 38.214 tables 5.1.3.1-1 to -3).
const HIGHEST_MCS: f64 = 28.0;
/// For the rounding of a sum of steps.
const ROUNDING: f64 = 1.0;

/// First transmissions of the blocks of a UE.
#[derive(Clone, Copy, Debug, Default)]
struct First {
    decoded: u32,
    /// Those that failed with an MCS above the lowest.
    failed: u32,
}

/// Checks the log of a run: no UE has more errors than its outer loop allows. Each first block that decodes raises the
/// correction by at most `d t / (1 - t)`, with the step down `d` and the target `t`, and each one that fails with an MCS
/// above the lowest lowers it by `d`. It is between minus the highest MCS and 3 when the log begins, and at its end. So S
/// blocks that decode admit at most `S t / (1 - t) + (28 + 3) / d` that fail. Blocks of the lowest MCS may fail as often
/// as the channel wants.
///
/// # Panics
/// If a UE has more.
pub(super) fn check(scenario: &Resolved, log: &Table) {
    if scenario.handover.is_some() || super::dual::are_in(scenario) {
        return; // the correction starts again in each cell
    }
    for ((ue, cell), first) in first_blocks(log) {
        let of = &scenario.cell[cell as usize];
        let format::McsRule::Effective(rule) = &of.mac.mcs_rule else { continue };
        // The gNB does not count blocks whose assignment was missed, and a fixed MCS has no outer loop.
        if of.control_errors || scenario.ue.iter().any(|ue| ue.fixed_mcs.is_some()) {
            continue;
        }
        let target = rule.target_bler.0;
        let most = f64::from(first.decoded) * target / (1.0 - target)
            + (HIGHEST_MCS + HIGHEST_CORRECTION) / STEP_DOWN
            + ROUNDING;
        assert!(
            f64::from(first.failed) <= most,
            "UE {ue} in cell {cell}: {first:?} with a target of {target}"
        );
    }
}

/// By UE and cell: its first transmissions in the downlink.
fn first_blocks(log: &Table) -> BTreeMap<(u32, u32), First> {
    let number = |name: &str| match log.column(name) {
        Some(Column::I64(values)) => values,
        other => panic!("{name}: {other:?}"),
    };
    let label = |name: &str| match log.column(name) {
        Some(Column::Labels { of, .. }) => of,
        other => panic!("{name}: {other:?}"),
    };
    let Some(Column::Bool(decoded)) = log.column("decoded") else { panic!("no column decoded") };
    let downlink = match log.column("direction") {
        Some(Column::Labels { labels, .. }) => labels.iter().position(|name| name == "downlink"),
        other => panic!("direction: {other:?}"),
    };
    let (transmission, mcs) = (number("transmission"), number("mcs"));
    let (ue, cell, direction) = (label("ue"), label("cell"), label("direction"));
    let mut found = BTreeMap::<(u32, u32), First>::new();
    for row in (0..decoded.len()).filter(|row| transmission[*row] == 1) {
        if Some(direction[row] as usize) != downlink {
            continue;
        }
        let first = found.entry((ue[row], cell[row])).or_default();
        first.decoded += u32::from(decoded[row]);
        first.failed += u32::from(!decoded[row] && mcs[row] > 0);
    }
    found
}
