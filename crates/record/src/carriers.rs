//! The changes of the secondary cells of UEs.

use airlane_core::{CarrierStep, CellId, Event, Instant, Topic, TopicSet, UeId};

use crate::RecorderParameters;
use crate::flows::Flows;
use crate::log::{FinishedRun, Log};
use crate::table::Table;

/// A change of a secondary cell.
#[derive(Clone, Copy, Debug)]
struct Change {
    at: Instant,
    ue: UeId,
    cell: CellId,
    step: CarrierStep,
    active: u32,
}

/// The changes of the secondary cells of all UEs, in the order of their times.
#[derive(Debug, Default)]
pub(crate) struct CarrierLog {
    changes: Vec<Change>,
}

impl CarrierLog {
    fn into_table(self, ue_names: &[String], cell_names: &[&str]) -> Table {
        let mut table = Table::default();
        let rows = || self.changes.iter();
        let step = |one: &Change| match one.step {
            CarrierStep::Configured => "configured",
            CarrierStep::Commanded => "commanded",
            CarrierStep::Activated => "activated",
            CarrierStep::Deactivated => "deactivated",
            CarrierStep::Released => "released",
        };
        table.push_f64("t_s", rows().map(|one| one.at.as_secs_f64())).means("time of the change");
        table.push_text("ue", rows().map(|one| ue_names[one.ue.index()].as_str())).means("UE");
        table.push_text("cell", rows().map(|one| cell_names[one.cell.index()])).means("secondary cell");
        table.push_text("step", rows().map(step)).means("change of the secondary cell");
        table
            .push_count("active_carriers", rows().map(|one| u64::from(one.active)))
            .means("serving cells that can be scheduled from then on, the primary one included");
        table
    }
}

impl Log for CarrierLog {
    fn requested(parameters: &RecorderParameters) -> Option<Self> {
        parameters.carriers.then(Self::default)
    }

    fn topics(&self) -> TopicSet {
        TopicSet::NONE.with(Topic::Carrier)
    }

    fn observe(&mut self, now: Instant, event: &Event<'_>, _: &Flows) {
        if let Event::Carrier { ue, cell, step, active } = *event {
            self.changes.push(Change { at: now, ue, cell, step, active });
        }
    }

    fn finish(self: Box<Self>, run: &FinishedRun<'_>) -> Vec<(&'static str, Table)> {
        vec![("carriers", self.into_table(&run.parameters.hosts, &run.cell_names()))]
    }
}
