//! The positions of UEs over time, on request, and how they sleep.

use airlane_core::{CellId, Duration, Event, Instant, RrcState, Topic, TopicSet, UeId};

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
    /// If UEs may sleep.
    sleep: Option<SleepColumns>,
}

/// The columns of UEs that may sleep.
#[derive(Debug, Default)]
struct SleepColumns {
    rrc: Vec<u32>,
    listening: Vec<f64>,
    /// The time of the latest row of each UE, and for how long it had listened.
    latest: Vec<Option<(Instant, Duration)>>,
}

impl SleepColumns {
    /// Without rows.
    fn emptied(&self) -> Self {
        Self { latest: self.latest.clone(), ..Self::default() }
    }

    /// A UE that has listened for this time since the beginning of the run.
    fn push(&mut self, now: Instant, ue: UeId, rrc: RrcState, listened: Duration) {
        if self.latest.len() <= ue.index() {
            self.latest.resize(ue.index() + 1, None);
        }
        let share = self.latest[ue.index()].map_or(f64::NAN, |(before, had)| {
            listened.saturating_sub(had).as_secs_f64() / (now - before).as_secs_f64()
        });
        self.latest[ue.index()] = Some((now, listened));
        self.rrc.push(rrc as u32);
        self.listening.push(share);
    }
}

impl UeSeries {
    fn new(sleeps: bool) -> Self {
        Self { sleep: sleeps.then(SleepColumns::default), ..Self::default() }
    }

    fn push(&mut self, now: Instant, ue: UeId, [x_m, y_m]: [f64; 2], cell: CellId) {
        self.t_s.push(now.as_secs_f64());
        self.ue.push(ue.0);
        self.x_m.push(x_m);
        self.y_m.push(y_m);
        self.cell.push(cell.0);
    }

    fn into_table(self, ue_names: &[String], cell_names: &[&str]) -> Table {
        let mut table = Table::default();
        table.push("t_s", Column::F64(self.t_s)).means("time");
        table.push("ue", Column::labels(ue_names, self.ue)).means("UE");
        table.push("x_m", Column::F64(self.x_m)).means("position to the east");
        table.push("y_m", Column::F64(self.y_m)).means("position to the north");
        table.push("cell", Column::labels(cell_names, self.cell)).means("serving cell");
        if let Some(SleepColumns { rrc, listening, .. }) = self.sleep {
            let names = RrcState::ALL.map(RrcState::name);
            table.push("rrc", Column::labels(&names, rrc)).means("state of RRC");
            table
                .push("listening", Column::F64(listening))
                .means("share of the time since the row before in which the UE listened to PDCCH");
        }
        table
    }
}

impl Log for UeSeries {
    fn requested(parameters: &RecorderParameters) -> Option<Self> {
        parameters.tracked.then(|| Self::new(parameters.sleeps))
    }

    fn topics(&self) -> TopicSet {
        TopicSet::NONE.with(Topic::UePosition)
    }

    fn observe(&mut self, now: Instant, event: &Event<'_>, _: &Flows) {
        if let Event::UePosition { ue, position_m, cell, rrc, listened } = *event {
            self.push(now, ue, position_m, cell);
            if let Some(sleep) = &mut self.sleep {
                let listened =
                    listened.expect("where UEs may sleep, the time in which they listen is counted");
                sleep.push(now, ue, rrc, listened);
            }
        }
    }

    fn take_rows(&mut self, least: usize, parameters: &RecorderParameters) -> Option<(&'static str, Table)> {
        if self.t_s.len() < least {
            return None;
        }
        let sleep = self.sleep.as_ref().map(SleepColumns::emptied);
        let taken = core::mem::replace(self, Self { sleep, ..Self::default() });
        Some(("ue_series", taken.into_table(&parameters.hosts, &parameters.cell_names())))
    }

    fn finish(self: Box<Self>, run: &FinishedRun<'_>) -> Vec<(&'static str, Table)> {
        vec![("ue_series", self.into_table(&run.parameters.hosts, &run.cell_names()))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two rows a second apart between which the UE has listened for 0.25 s, and one after half a second in which it has
    /// listened all the time.
    #[test]
    fn the_share_of_listening_is_that_since_the_row_before() {
        let mut series = UeSeries::new(true);
        for (ms, listened, rrc) in
            [(0, 0, RrcState::Idle), (1_000, 250, RrcState::Connected), (1_500, 750, RrcState::Connected)]
        {
            let at = Instant::from_millis(ms);
            series.push(at, UeId(1), [0.0; 2], CellId(0));
            let listened = Duration::from_millis(listened);
            series.sleep.as_mut().expect("it sleeps").push(at, UeId(1), rrc, listened);
        }
        let table = series.into_table(&["a".to_owned(), "b".to_owned()], &["c"]);
        let names = table.column("rrc").and_then(Column::names);
        assert_eq!(names, Some(vec!["idle", "connected", "connected"]));
        let Some(Column::F64(shares)) = table.column("listening") else { panic!("no such column") };
        assert!(shares[0].is_nan());
        assert_eq!(shares[1..], [0.25, 1.0]);
    }

    #[test]
    fn there_are_no_such_columns_without_sleep() {
        let mut series = UeSeries::new(false);
        series.push(Instant::ZERO, UeId(0), [0.0; 2], CellId(0));
        let table = series.into_table(&["a".to_owned()], &["c"]);
        assert!(table.column("rrc").is_none() && table.column("listening").is_none());
    }
}
