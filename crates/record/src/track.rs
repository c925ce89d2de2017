//! The positions of UEs over time, on request.

use airlane_core::{CellId, Event, Instant, Topic, TopicSet, UeId};

use crate::RecorderParameters;
use crate::flows::Flows;
use crate::log::{FinishedRun, Log};
use crate::table::{Column, Table};

/// Rows of `ue_series`, by column.
#[derive(Debug, Default)]
pub(crate) struct UeSeries {
    t_s: Vec<f64>,
    ue: Vec<u32>,
    x_m: Vec<f64>,
    y_m: Vec<f64>,
    cell: Vec<u32>,
}

impl UeSeries {
    pub(crate) fn push(&mut self, now: Instant, ue: UeId, [x_m, y_m]: [f64; 2], cell: CellId) {
        self.t_s.push(now.as_secs_f64());
        self.ue.push(ue.0);
        self.x_m.push(x_m);
        self.y_m.push(y_m);
        self.cell.push(cell.0);
    }

    pub(crate) fn into_table(self, ue_names: &[String], cell_names: &[&str]) -> Table {
        let mut table = Table::default();
        table.push("t_s", Column::F64(self.t_s)).means("time");
        table.push("ue", Column::labels(ue_names, self.ue)).means("UE");
        table.push("x_m", Column::F64(self.x_m)).means("position to the east");
        table.push("y_m", Column::F64(self.y_m)).means("position to the north");
        table.push("cell", Column::labels(cell_names, self.cell)).means("serving cell");
        table
    }
}

impl Log for UeSeries {
    fn requested(parameters: &RecorderParameters) -> Option<Self> {
        parameters.tracked.then(Self::default)
    }

    fn topics(&self) -> TopicSet {
        TopicSet::NONE.with(Topic::UePosition)
    }

    fn observe(&mut self, now: Instant, event: &Event<'_>, _: &Flows) {
        if let Event::UePosition { ue, position_m, cell } = *event {
            self.push(now, ue, position_m, cell);
        }
    }

    fn finish(self: Box<Self>, run: &FinishedRun<'_>) -> Vec<(&'static str, Table)> {
        vec![("ue_series", self.into_table(&run.parameters.hosts, &run.cell_names()))]
    }
}
