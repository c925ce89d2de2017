//! The notifications of a radio network information service about each flow's UE, by result.

use airlane_core::{Duration, Event, FlowId, InformationFate, Instant, Topic, TopicSet};

use crate::RecorderParameters;
use crate::flows::Flows;
use crate::log::{FinishedRun, Log};
use crate::table::Table;

/// One flow.
#[derive(Clone, Copy, Debug, Default)]
struct Heard {
    sent: u64,
    accepted: u64,
    rejected: u64,
    misdirected: u64,
    age_ns_sum: u64,
    age_max: Duration,
}

/// The log of all flows; empty if it is disabled.
#[derive(Debug, Default)]
pub(crate) struct InformationLog(Vec<Heard>);

impl InformationLog {
    /// Makes room for this many flows.
    pub(crate) fn resize(&mut self, flows: usize) {
        self.0.resize(flows, Heard::default());
    }

    pub(crate) fn new(flows: usize) -> Self {
        Self(vec![Heard::default(); flows])
    }

    pub(crate) fn on_notification(&mut self, flow: FlowId, fate: InformationFate) {
        let Some(heard) = self.0.get_mut(flow.index()) else { return };
        match fate {
            InformationFate::Sent => heard.sent += 1,
            InformationFate::Rejected => heard.rejected += 1,
            InformationFate::Misdirected => heard.misdirected += 1,
            InformationFate::Accepted { age } => {
                heard.accepted += 1;
                heard.age_ns_sum += age.as_nanos();
                heard.age_max = heard.age_max.max(age);
            }
        }
    }

    /// The table `rnis`: the notifications to each flow's server.
    pub(crate) fn table(&self, flow_names: &[&str]) -> Table {
        let all = || self.0.iter();
        let mut table = Table::default();
        table.push_text("flow", flow_names.iter().copied()).means("flow of the server");
        table.push_count("sent", all().map(|heard| heard.sent)).means("notifications sent by the service");
        table.push_count("accepted", all().map(|heard| heard.accepted)).means("notifications accepted");
        table
            .push_count("rejected", all().map(|heard| heard.rejected))
            .means("notifications with an invalid content");
        table
            .push_count("misdirected", all().map(|heard| heard.misdirected))
            .means("notifications about another UE, or from the future");
        let mean = |heard: &Heard| heard.age_ns_sum as f64 / heard.accepted as f64 / 1e6; // NaN if none
        table.push_f64("age_mean_ms", all().map(mean)).means("mean age of the accepted ones");
        let max = |heard: &Heard| if heard.accepted > 0 { heard.age_max.as_millis_f64() } else { f64::NAN };
        table.push_f64("age_max_ms", all().map(max)).means("maximum age of the accepted ones");
        table
    }
}

impl Log for InformationLog {
    fn requested(parameters: &RecorderParameters) -> Option<Self> {
        parameters.information.then(|| Self::new(parameters.flows.len()))
    }

    fn topics(&self) -> TopicSet {
        TopicSet::NONE.with(Topic::RadioInformation)
    }

    fn observe(&mut self, _: Instant, event: &Event<'_>, _: &Flows) {
        if let Event::RadioInformation { flow, fate } = *event {
            self.on_notification(flow, fate);
        }
    }

    fn extend(&mut self, parameters: &RecorderParameters) {
        self.resize(parameters.flows.len());
    }

    fn finish(self: Box<Self>, run: &FinishedRun<'_>) -> Vec<(&'static str, Table)> {
        vec![("rnis", self.table(&run.flow_names()))]
    }
}
