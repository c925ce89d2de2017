//! A scheduler policy of your own: a target rate for each UE first, then maximum throughput.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use airlane_assembly::build_with;
use airlane_record::{Column, Table};
use airlane_scenario::scheduler::{
    Bytes, Candidates, MakeScheduler, OwnScheduler, SchedulerCell, SchedulerPolicy, UeId,
};
use airlane_scenario::{Extensions, Scenario, ScenarioError};

/// The UE with the best channel gets an RBG, first among those that have had less than a target rate.
#[derive(Debug)]
pub struct TargetRate {
    /// The target, in bytes per slot.
    target: f64,
    /// Bytes by which each UE is ahead of it.
    ahead: BTreeMap<UeId, f64>,
    slot: u64,
}

impl SchedulerPolicy for TargetRate {
    fn schedule(&mut self, candidates: &mut Candidates<'_>) {
        let slots = candidates.slot() - self.slot;
        self.slot = candidates.slot();
        for ahead in self.ahead.values_mut() {
            *ahead = (*ahead - self.target * slots as f64).max(0.0);
        }
        for rbg in candidates.free() {
            let may_have =
                |&i: &usize| !candidates.is_satisfied(i) && candidates.rbg_bytes(i, rbg) > Bytes::ZERO;
            let rank = |&i: &usize| {
                let ue = candidates.ue(i);
                let ahead = self.ahead.get(&ue).copied().unwrap_or(0.0);
                let below = ahead + candidates.covered(i).get() as f64 <= self.target;
                (below, candidates.rbg_bytes(i, rbg), std::cmp::Reverse(ue))
            };
            if let Some(best) = (0..candidates.len()).filter(may_have).max_by_key(rank) {
                candidates.give(best, rbg);
            }
        }
    }

    fn served(&mut self, ue: UeId, size: Bytes) {
        *self.ahead.entry(ue).or_default() += size.get() as f64;
    }

    fn forget(&mut self, ue: UeId) {
        self.ahead.remove(&ue);
    }
}

/// Makes the policy of each cell.
#[derive(Debug)]
pub struct Target {
    /// The target of a UE in Mbit/s.
    pub mbps: f64,
}

impl MakeScheduler for Target {
    fn make(&self, cell: &SchedulerCell) -> Box<dyn SchedulerPolicy> {
        let target = self.mbps * 1e6 / 8.0 * cell.slot.as_secs_f64();
        Box::new(TargetRate { target, ahead: BTreeMap::new(), slot: 0 })
    }
}

/// Two UEs, one near the eNB and one far, each with a download.
const SCENARIO: &str = r#"
network = "typical"
[run]
duration = "10 s"
warmup = "2 s"
[channel]
fading = "epa"
[[cell]]
name = "a"
resource_blocks = 25
[[ue]]
name = "near"
position = ["100 m", "0 m"]
[[ue]]
name = "far"
position = ["700 m", "0 m"]
[[flow]]
name = "near"
to = "near"
app = "bulk"
[[flow]]
name = "far"
to = "far"
app = "bulk"
"#;

/// Goodput of the two downloads in Mbit/s, with this scheduler as scenarios name it.
///
/// # Errors
/// If the scheduler is unknown.
pub fn goodputs(scheduler: &str) -> Result<Vec<f64>, ScenarioError> {
    let text = SCENARIO.replace("name = \"a\"", &format!("name = \"a\"\nscheduler = {scheduler}"));
    let scenario = Scenario::parse(&text, "two-ues.toml")?.resolve()?;
    let policy = OwnScheduler(Arc::new(Target { mbps: 4.0 }));
    let own = Extensions { schedulers: [("target".to_owned(), policy)].into(), ..Extensions::default() };
    let mut built = build_with(&scenario, 1, &own)?;
    built.run(&AtomicBool::new(false));
    let output = built.finish();
    let flows = output.tables.iter().find(|(name, _)| *name == "flows");
    Ok(flows.map(|(_, table)| column(table, "goodput_mbps")).unwrap_or_default())
}

fn column(table: &Table, name: &str) -> Vec<f64> {
    match table.columns.iter().find(|(column, _)| column == name) {
        Some((_, Column::F64(values))) => values.clone(),
        _ => Vec::new(),
    }
}

/// The goodputs with two built-in policies and with this one, as a table.
///
/// # Errors
/// If a scheduler is unknown.
pub fn comparison() -> Result<String, ScenarioError> {
    let mut text = String::from("scheduler                              near    far  Mbit/s\n");
    for scheduler in ["\"pf\"", "\"mt\"", "{ kind = \"own\", policy = \"target\" }"] {
        let goodputs = goodputs(scheduler)?;
        text += &format!("{scheduler:36} {:6.2} {:6.2}\n", goodputs[0], goodputs[1]);
    }
    Ok(text)
}
