//! Tables that only some runs have, each filled from events of its own topics.
//!
//! A new table is a file with a [`Log`], and a line in [`KINDS`].

use airlane_core::{Event, Instant, TopicSet};

use crate::RecorderParameters;
use crate::bearers::BearerLog;
use crate::carriers::CarrierLog;
use crate::codes::CodeLog;
use crate::connections::ConnectionLog;
use crate::deliveries::Deliveries;
use crate::flows::Flows;
use crate::frames::FrameLog;
use crate::handover::HandoverLog;
use crate::information::InformationLog;
use crate::losses::Losses;
use crate::media::MediaLog;
use crate::pages::PageLog;
use crate::path_model::PathModels;
use crate::paths::PathLog;
use crate::pep::PepLog;
use crate::pings::PingLog;
use crate::proxy::ProxySeries;
use crate::ran_log::RanLog;
use crate::scg::ScgLog;
use crate::table::Table;
use crate::track::UeSeries;
use crate::verdicts::VerdictLog;
use crate::views::ViewLog;

/// A table of the results, or several that are filled from the same events.
pub(crate) trait Log: Send {
    /// An empty log; `None` if the run does not have it.
    fn requested(parameters: &RecorderParameters) -> Option<Self>
    where
        Self: Sized;

    /// The topics of its events. They do not change.
    fn topics(&self) -> TopicSet;

    /// Handles an event of one of its topics, after the sums of the flows have been updated with it.
    fn observe(&mut self, now: Instant, event: &Event<'_>, flows: &Flows);

    /// Flows and UEs were added to the run, and to the parameters behind all earlier ones.
    fn extend(&mut self, _parameters: &RecorderParameters) {}

    /// Takes its rows so far, as a table with its name, if there are at least this many; [`Log::finish`] then has the
    /// others. `None` also if rows may still change.
    fn take_rows(
        &mut self,
        _least: usize,
        _parameters: &RecorderParameters,
    ) -> Option<(&'static str, Table)> {
        None
    }

    /// Its tables by name, when the run has ended.
    fn finish(self: Box<Self>, run: &FinishedRun<'_>) -> Vec<(&'static str, Table)>;
}

/// A run that has ended: the names for rows, and the sums of flows.
pub(crate) struct FinishedRun<'a> {
    pub(crate) parameters: &'a RecorderParameters,
    pub(crate) flows: &'a Flows,
}

impl FinishedRun<'_> {
    /// The name of each flow, by index.
    pub(crate) fn flow_names(&self) -> Vec<&str> {
        self.parameters.flows.iter().map(|flow| flow.name.as_str()).collect()
    }

    /// The name of each cell, by index.
    pub(crate) fn cell_names(&self) -> Vec<&str> {
        self.parameters.cell_names()
    }
}

/// Makes a log of a kind, if the run has it.
type MakeLog = fn(&RecorderParameters) -> Option<Box<dyn Log>>;

/// All kinds of logs, in the order of their tables in the results.
const KINDS: [MakeLog; 21] = [
    log::<UeSeries>,
    log::<CodeLog>,
    log::<ViewLog>,
    log::<PingLog>,
    log::<HandoverLog>,
    log::<ConnectionLog>,
    log::<CarrierLog>,
    log::<BearerLog>,
    log::<ScgLog>,
    log::<PageLog>,
    log::<VerdictLog>,
    log::<InformationLog>,
    log::<PepLog>,
    log::<RanLog>,
    log::<Deliveries>,
    log::<Losses>,
    log::<ProxySeries>,
    log::<PathModels>,
    log::<MediaLog>,
    log::<FrameLog>,
    log::<PathLog>,
];

/// The logs of a run.
pub(crate) struct Logs {
    /// By kind; `None` if the run does not have it.
    logs: [Option<Box<dyn Log>>; KINDS.len()],
    topics: TopicSet,
}

impl Logs {
    pub(crate) fn new(parameters: &RecorderParameters) -> Self {
        let mut logs = Self { logs: KINDS.map(|make| make(parameters)), topics: TopicSet::NONE };
        logs.collect_topics();
        logs
    }

    /// Extends the logs of the run, and begins those that it has only now: of the first page, for example.
    pub(crate) fn extend(&mut self, parameters: &RecorderParameters) {
        for (log, make) in self.logs.iter_mut().zip(KINDS) {
            match log {
                Some(log) => log.extend(parameters),
                None => *log = make(parameters),
            }
        }
        self.collect_topics();
    }

    /// The topics of all logs.
    #[inline]
    pub(crate) fn topics(&self) -> TopicSet {
        self.topics
    }

    /// Passes an event to the logs that want it.
    #[inline(never)]
    pub(crate) fn observe(&mut self, now: Instant, event: &Event<'_>, flows: &Flows) {
        let topic = event.topic();
        if self.topics.wants(topic) {
            for log in self.logs.iter_mut().flatten().filter(|log| log.topics().wants(topic)) {
                log.observe(now, event, flows);
            }
        }
    }

    /// Takes the rows so far of each that has at least this many.
    pub(crate) fn take_rows(
        &mut self,
        least: usize,
        parameters: &RecorderParameters,
    ) -> impl Iterator<Item = (&'static str, Table)> {
        self.logs.iter_mut().flatten().filter_map(move |log| log.take_rows(least, parameters))
    }

    /// Their tables by name, when the run has ended.
    pub(crate) fn finish(self, run: &FinishedRun<'_>) -> impl Iterator<Item = (&'static str, Table)> {
        self.logs.into_iter().flatten().flat_map(|log| log.finish(run))
    }

    fn collect_topics(&mut self) {
        let topics = self.logs.iter().flatten().map(|log| log.topics());
        self.topics = topics.fold(TopicSet::NONE, TopicSet::union);
    }
}

fn log<L: Log + 'static>(parameters: &RecorderParameters) -> Option<Box<dyn Log>> {
    L::requested(parameters).map(|log| Box::new(log) as Box<dyn Log>)
}
