//! RRC connections, one row for each that a UE sets up, or fails to.

use airlane_core::{
    CellId, ConnectionCause, ConnectionStep, Duration, Event, Instant, Topic, TopicSet, UeId,
};

use crate::RecorderParameters;
use crate::flows::Flows;
use crate::log::{FinishedRun, Log};
use crate::table::Table;

/// A connection, from the beginning of the random access on.
#[derive(Clone, Copy, Debug)]
struct Connection {
    ue: UeId,
    cell: CellId,
    cause: ConnectionCause,
    began_at: Instant,
    preambles: u32,
    collisions: u64,
    unanswered: u64,
    requested_at: Option<Instant>,
    waited: Option<Duration>,
    took: Option<Duration>,
    failed_at: Option<Instant>,
    released_at: Option<Instant>,
}

impl Connection {
    const fn begin(now: Instant, ue: UeId, cell: CellId, cause: ConnectionCause) -> Self {
        Self {
            ue,
            cell,
            cause,
            began_at: now,
            preambles: 0,
            collisions: 0,
            unanswered: 0,
            requested_at: None,
            waited: None,
            took: None,
            failed_at: None,
            released_at: None,
        }
    }

    const fn outcome(&self) -> &'static str {
        match (self.took, self.failed_at) {
            (Some(_), _) => "connected",
            (None, Some(_)) => "failed",
            (None, None) => "unfinished",
        }
    }
}

/// All connections of a run, in the order in which they began.
#[derive(Debug, Default)]
pub(crate) struct ConnectionLog {
    connections: Vec<Connection>,
    /// The latest connection of each UE.
    latest: Vec<Option<usize>>,
}

impl ConnectionLog {
    fn add(&mut self, now: Instant, ue: UeId, cell: CellId, step: ConnectionStep) {
        if self.latest.len() <= ue.index() {
            self.latest.resize(ue.index() + 1, None);
        }
        let connection = self.latest[ue.index()].map(|place| &mut self.connections[place]);
        match (step, connection) {
            (ConnectionStep::Began { cause }, _) => {
                self.latest[ue.index()] = Some(self.connections.len());
                self.connections.push(Connection::begin(now, ue, cell, cause));
            }
            (_, None) => {}
            (ConnectionStep::Preamble { number, collides }, Some(connection)) => {
                connection.preambles = number;
                connection.collisions += u64::from(collides);
            }
            (ConnectionStep::Requested, Some(connection)) => connection.requested_at = Some(now),
            (ConnectionStep::Connected { waited, took }, Some(connection)) => {
                (connection.waited, connection.took) = (Some(waited), Some(took));
            }
            (ConnectionStep::RequestsUnanswered, Some(connection)) => connection.unanswered += 1,
            (ConnectionStep::Failed, Some(connection)) => connection.failed_at = Some(now),
            (ConnectionStep::Released, Some(connection)) => connection.released_at = Some(now),
        }
    }

    fn into_table(self, ue_names: &[String], cell_names: &[&str]) -> Table {
        let mut table = Table::default();
        let rows = || self.connections.iter();
        let seconds = |time: Option<Duration>| time.map_or(f64::NAN, Duration::as_secs_f64);
        table.push_text("ue", rows().map(|one| ue_names[one.ue.index()].as_str())).means("UE");
        table.push_text("cell", rows().map(|one| cell_names[one.cell.index()])).means("cell");
        let cause = |one: &Connection| match one.cause {
            ConnectionCause::Data => "data",
            ConnectionCause::Paging => "paging",
        };
        table.push_text("cause", rows().map(cause)).means("data of the UE, or paging");
        table
            .push_f64("begin_s", rows().map(|one| one.began_at.as_secs_f64()))
            .means("beginning of the random access");
        table.push_f64("waiting_s", rows().map(|one| seconds(one.waited))).means(
            "from the first packet to the beginning of the random access: paging, and attempts that failed",
        );
        let access = |one: &Connection| seconds(one.requested_at.map(|at| at - one.began_at));
        table
            .push_f64("access_s", rows().map(access))
            .means("from there until the cell has the request: random access");
        table
            .push_f64("setup_s", rows().map(|one| seconds(one.took)))
            .means("from the beginning of the random access to the connection: with the messages after it");
        table
            .push_count("preambles", rows().map(|one| u64::from(one.preambles)))
            .means("preambles that it sent");
        table
            .push_count("collisions", rows().map(|one| one.collisions))
            .means("preambles that another UE sent as well");
        table
            .push_count("unanswered_requests", rows().map(|one| one.unanswered))
            .means("random accesses within it, because scheduling requests were not answered");
        let at = |at: Option<Instant>| at.map_or(f64::NAN, Instant::as_secs_f64);
        table.push_f64("release_s", rows().map(|one| at(one.released_at))).means("end of the connection");
        table.push_text("outcome", rows().map(Connection::outcome)).means("outcome");
        table
    }
}

impl Log for ConnectionLog {
    fn requested(parameters: &RecorderParameters) -> Option<Self> {
        parameters.connections.then(Self::default)
    }

    fn topics(&self) -> TopicSet {
        TopicSet::NONE.with(Topic::Connection)
    }

    fn observe(&mut self, now: Instant, event: &Event<'_>, _: &Flows) {
        if let Event::Connection { ue, cell, step } = *event {
            self.add(now, ue, cell, step);
        }
    }

    fn finish(self: Box<Self>, run: &FinishedRun<'_>) -> Vec<(&'static str, Table)> {
        vec![("rrc_connections", self.into_table(&run.parameters.hosts, &run.cell_names()))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Column;

    #[test]
    fn a_row_has_what_happened_between_two_beginnings() {
        let (mut log, ms) = (ConnectionLog::default(), Instant::from_millis);
        let mut step = |at, ue, step| log.add(ms(at), UeId(ue), CellId(0), step);
        step(5, 1, ConnectionStep::Began { cause: ConnectionCause::Paging });
        step(11, 1, ConnectionStep::Preamble { number: 1, collides: true });
        step(31, 1, ConnectionStep::Preamble { number: 2, collides: false });
        let (waited, took) = (Duration::from_millis(900), Duration::from_millis(250));
        step(45, 1, ConnectionStep::Requested);
        step(255, 1, ConnectionStep::Connected { waited, took });
        step(300, 0, ConnectionStep::Began { cause: ConnectionCause::Data });
        step(700, 1, ConnectionStep::RequestsUnanswered);
        step(9_000, 1, ConnectionStep::Released);
        step(9_000, 0, ConnectionStep::Failed);
        let table = log.into_table(&["a".to_owned(), "b".to_owned()], &["c"]);
        let text = |name: &str| table.column(name).and_then(Column::names).expect("a column of names");
        assert_eq!((text("ue"), text("outcome")), (vec!["b", "a"], vec!["connected", "failed"]));
        assert_eq!(text("cause"), ["paging", "data"]);
        assert_eq!(table.column("collisions"), Some(&Column::I64(vec![1, 0])));
        assert_eq!(table.column("unanswered_requests"), Some(&Column::I64(vec![1, 0])));
        let Some(Column::F64(access)) = table.column("access_s") else { panic!("no such column") };
        assert!(access[0] == 0.04 && access[1].is_nan());
        let Some(Column::F64(released)) = table.column("release_s") else { panic!("no such column") };
        assert!(released[0] == 9.0 && released[1].is_nan());
    }
}
