//! The longest run of a scenario whose end is not planned.

use airlane_core::Duration;
use airlane_settings::{Tree, Value};

use super::{Checked, Place, flow, output, rows};
use crate::ScenarioError;
use crate::format::Resolved;
use crate::quantity::Time;

/// The largest `run.duration`, in seconds (`Time` has the same limit).
const LONGEST_S: u64 = 1_000_000;

/// The longest `run.duration` in whole seconds for which all results have their place in memory and all senders
/// can be computed.
///
/// # Errors
/// If that is less than a second: the first thing that is too large.
pub(crate) fn duration_max(scenario: &Resolved) -> Result<Duration, ScenarioError> {
    let tree = Tree::unplaced(Value::Null);
    let mut candidate = scenario.clone();
    let mut fits = |seconds: u64| {
        candidate.run.duration = Time(Duration::from_secs(seconds));
        lasts(&candidate, &Place::root(&tree))
    };
    fits(1)?;
    // What fits at a duration fits at each shorter one.
    let (mut low, mut high) = (1, LONGEST_S + 1);
    while low + 1 < high {
        let middle = low.midpoint(high);
        match fits(middle) {
            Ok(()) => low = middle,
            Err(_) => high = middle,
        }
    }
    Ok(Duration::from_secs(low))
}

/// The checks that depend on the duration of the run.
fn lasts(scenario: &Resolved, at: &Place<'_>) -> Checked {
    rows(scenario, &at.under("run"))?;
    output::ran_log(scenario, &at.under("output"))?;
    flow::packets_of_all(scenario, &at.under("flow"))
}
