//! The changes of the secondary cell groups of UEs.

use airlane_core::{CellId, Event, Instant, ScgStep, Topic, TopicSet, UeId};

use crate::RecorderParameters;
use crate::flows::Flows;
use crate::log::{FinishedRun, Log};
use crate::table::Table;

/// A step of a secondary cell group.
#[derive(Clone, Copy, Debug)]
struct Change {
    at: Instant,
    ue: UeId,
    cell: CellId,
    step: ScgStep,
    has_scg: bool,
}

/// The steps of the secondary cell groups of all UEs, in the order of their times.
#[derive(Debug, Default)]
pub(crate) struct ScgLog {
    changes: Vec<Change>,
}

impl ScgLog {
    fn into_table(self, ue_names: &[String], cell_names: &[&str]) -> Table {
        let mut table = Table::default();
        let rows = || self.changes.iter();
        let step = |one: &Change| match one.step {
            ScgStep::Reported => "reported",
            ScgStep::Added => "added",
            ScgStep::Released => "released",
            ScgStep::Failed => "failed",
        };
        table.push_f64("t_s", rows().map(|one| one.at.as_secs_f64())).means("time of the step");
        table.push_text("ue", rows().map(|one| ue_names[one.ue.index()].as_str())).means("UE");
        table
            .push_text("cell", rows().map(|one| cell_names[one.cell.index()]))
            .means("PSCell, or the cell that was reported");
        table.push_text("step", rows().map(step)).means("step of the secondary cell group");
        table
            .push_count("has_scg", rows().map(|one| u64::from(one.has_scg)))
            .means("1 if the UE has a secondary cell group from then on, else 0");
        table
    }
}

impl Log for ScgLog {
    fn requested(parameters: &RecorderParameters) -> Option<Self> {
        parameters.secondary_nodes.then(Self::default)
    }

    fn topics(&self) -> TopicSet {
        TopicSet::NONE.with(Topic::Scg)
    }

    fn observe(&mut self, now: Instant, event: &Event<'_>, _: &Flows) {
        if let Event::Scg { ue, cell, step, has_scg } = *event {
            self.changes.push(Change { at: now, ue, cell, step, has_scg });
        }
    }

    fn finish(self: Box<Self>, run: &FinishedRun<'_>) -> Vec<(&'static str, Table)> {
        vec![("scg", self.into_table(&run.parameters.hosts, &run.cell_names()))]
    }
}
