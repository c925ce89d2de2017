//! The source of radio information: a scenario that runs at real speed, a live run, or the record of one. A thread
//! follows each [`Source`]. A source that is lost begins again after a pause.

mod live;
mod played;
mod watched;

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use airlane_core::Instant as Virtual;
use airlane_live::radio::{self, Every, Facts};
use airlane_net::rni::UeRecord;
use tokio::sync::mpsc;

use super::settings::{self, Origin};
use crate::{NodeError, Requirement};
pub(super) use airlane_live::radio::{CellUse, Happening, Measured, Quality, UeUse, What};
pub(super) use watched::Watched;

/// Messages that wait for the service.
const WAITING_MAX: usize = 256;

/// A source of radio information. Its functions wait.
trait Source: Send {
    /// Begins, or begins again.
    fn begin(&mut self, every: Every) -> Result<Facts, Lost>;

    /// The next report since the begin, at its time.
    fn next(&mut self) -> Result<radio::Report, Lost>;
}

/// A source is not there, or has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Lost {
    why: String,
    /// The pause before it begins again; `None` if it does not.
    again: Option<Duration>,
}

/// A message from a source to the service.
#[derive(Clone, Debug)]
pub(super) enum SourceMessage {
    /// The source has begun.
    Begun,
    /// The state of the network.
    Report(Report),
    /// The source is lost: no reports until it begins again.
    Lost(String),
}

/// The state of the network at a time.
#[derive(Clone, Debug, Default)]
pub(super) struct Report {
    /// In ns since the beginning of 1970.
    pub(super) at: u64,
    /// A record of each UE; its time counts from 1970, too.
    pub(super) records: Vec<UeRecord>,
    /// Whether subscribers get these records, too.
    pub(super) is_due: bool,
    /// The measurements of the last complete period; empty before the first.
    pub(super) measured: Arc<Measured>,
    /// Whether this period ends now.
    pub(super) is_measured: bool,
    /// Whether UEs send measurement reports.
    pub(super) measures: bool,
    /// Number of cells.
    pub(super) cell_count: u32,
    /// For each cell, whether its UEs have a second bearer.
    pub(super) second_bearer: Vec<bool>,
    /// Events since the report before; their time counts from 1970.
    pub(super) happenings: Vec<Happening>,
}

impl Report {
    /// A report with what does not change.
    fn new(facts: &Facts, mut report: radio::Report) -> Self {
        let at = facts.epoch.saturating_add(report.at);
        for record in &mut report.records {
            record.measured_at = Virtual::from_nanos(at);
        }
        for one in &mut report.happenings {
            one.at = facts.epoch.saturating_add(one.at);
        }
        Self {
            at,
            records: report.records,
            is_due: report.is_due,
            is_measured: report.measured.is_some(),
            measured: Arc::new(report.measured.unwrap_or_default()),
            measures: facts.measures,
            cell_count: facts.second_bearer.len() as u32,
            second_bearer: facts.second_bearer.clone(),
            happenings: report.happenings,
        }
    }
}

/// The requirement of the source.
pub(super) fn requirement(settings: &settings::Source) -> Requirement {
    let (name, checked) = match settings.origin() {
        Origin::Scenario(path) => ("scenario", played::read(path).map(drop)),
        Origin::Replay(folder) => ("replay", played::Recorded::read(folder).map(drop)),
        // The run may begin later than the node.
        Origin::Live(path) => ("live", live::check(path)),
    };
    let name = format!("source.{name} = {}", settings.path().display());
    match checked {
        Ok(()) => Requirement::met(name),
        Err(why) => Requirement::missing(name, why),
    }
}

/// Follows the source, until the receiver is dropped.
///
/// # Errors
/// If the source can never begin: a live run may, but not a scenario or a record that is wrong.
pub(super) fn start(settings: &settings::Source) -> Result<mpsc::Receiver<SourceMessage>, NodeError> {
    let lives = matches!(settings.origin(), Origin::Live(_));
    if let Some(why) = requirement(settings).missing.filter(|_| !lives) {
        return Err(NodeError::new(why, "`--check` says whether anything else is missing"));
    }
    let mut source: Box<dyn Source> = match settings.origin() {
        Origin::Scenario(path) => Box::new(played::Played::scenario(path.to_owned(), settings.seed)),
        Origin::Replay(folder) => Box::new(played::Played::replay(folder.to_owned())),
        Origin::Live(path) => Box::new(live::Live::new(path.to_owned())),
    };
    let every = Every { period: settings.period.0.as_nanos(), measure: settings.measure.0.as_nanos() };
    let (to_service, messages) = mpsc::channel(WAITING_MAX);
    let follow = move || while follow(source.as_mut(), every, &to_service).is_some() {};
    thread::Builder::new()
        .name("rnis-source".to_owned())
        .spawn(follow)
        .map_err(|e| NodeError::new(format!("cannot start a thread: {e}"), ""))?;
    Ok(messages)
}

/// Follows a source until it is lost, and then pauses. `None` if it does not begin again, or if the service has ended.
fn follow(source: &mut dyn Source, every: Every, to_service: &mpsc::Sender<SourceMessage>) -> Option<()> {
    let tell = |message: SourceMessage| to_service.blocking_send(message).ok();
    let lost = match source.begin(every) {
        Ok(facts) => {
            tell(SourceMessage::Begun)?;
            loop {
                match source.next() {
                    Ok(report) => tell(SourceMessage::Report(Report::new(&facts, report)))?,
                    Err(lost) => break lost,
                }
            }
        }
        Err(lost) => lost,
    };
    tell(SourceMessage::Lost(lost.why))?;
    lost.again.map(thread::sleep)
}

/// Reads a file whose path the settings have.
fn text_of(path: &Path, expected: &str) -> Result<String, String> {
    std::fs::read_to_string(path)
        .map_err(|e| format!("{}: cannot be read ({e}); expected {expected}", path.display()))
}

fn since_1970() -> u64 {
    // A clock before 1970 or after 2554 is not set.
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or_default()
}
