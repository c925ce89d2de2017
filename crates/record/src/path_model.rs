//! The path models of model-based senders (BBR), recorded at changes.

use airlane_core::{Event, FlowId, Instant, PathModel, Topic, TopicSet};

use crate::RecorderParameters;
use crate::flows::Flows;
use crate::log::{FinishedRun, Log};
use crate::table::{Column, Table};

/// Observes the path models of senders.
#[derive(Debug)]
pub(crate) struct PathModels {
    flows: Vec<String>,
    rows: Vec<(Instant, u32, PathModel)>,
    /// The latest row of each flow.
    latest: Vec<Option<PathModel>>,
}

impl PathModels {
    /// An empty log.
    fn new(flows: Vec<String>) -> Self {
        Self { latest: vec![None; flows.len()], flows, rows: Vec::new() }
    }

    fn add(&mut self, now: Instant, flow: FlowId, model: PathModel) {
        let Some(latest) = self.latest.get_mut(flow.index()) else { return };
        if latest.is_none_or(|latest| says_more(&latest, &model)) {
            *latest = Some(model);
            self.rows.push((now, flow.0, model));
        }
    }

    /// The table `path_model`: a row at the start of a round trip, or when the state, a gain or a bound
    /// changes.
    fn table(self) -> Table {
        let all = || self.rows.iter();
        let models = || all().map(|(.., model)| model);
        let bound = |volume: Option<u32>| volume.map_or(f64::NAN, f64::from);
        let mut table = Table::default();
        table.push_f64("t_s", all().map(|(at, ..)| at.as_secs_f64())).means("time");
        table.push("flow", Column::labels(&self.flows, all().map(|(_, flow, _)| *flow))).means("flow");
        table.push_text("state", models().map(|model| model.state)).means("state");
        table.push_f64("pacing_gain", models().map(|model| model.gains[0])).means("pacing gain of the state");
        table.push_f64("cwnd_gain", models().map(|model| model.gains[1])).means("window gain of the state");
        table.push_count("round", models().map(|model| model.round)).means("round trips so far");
        table
            .push_f64("pacing_mbps", models().map(|model| model.pacing_rate.0 as f64 / 1e6))
            .means("pacing rate");
        table
            .push_count("cwnd_segments", models().map(|model| u64::from(model.congestion_window)))
            .means("congestion window");
        table
            .push_count("in_flight_segments", models().map(|model| u64::from(model.in_flight)))
            .means("packets in flight");
        table
            .push_f64("delivery_mbps", models().map(|model| model.delivery_rate.0 as f64 / 1e6))
            .means("newest sample of the delivery rate");
        table
            .push("app_limited", Column::Bool(models().map(|model| model.app_limited).collect()))
            .means("whether the application limited the sample");
        table
            .push_f64("max_bw_mbps", models().map(|model| model.max_bandwidth.0 as f64 / 1e6))
            .means("maximum rate of two cycles");
        let rtt = |model: &PathModel| model.min_rtt.map_or(f64::NAN, |rtt| rtt.as_millis_f64());
        table.push_f64("min_rtt_ms", models().map(rtt)).means("minimum round trip");
        table
            .push_count("target_segments", models().map(|model| u64::from(model.target)))
            .means("target of the data in flight at a gain of one");
        table
            .push_count("extra_acked_segments", models().map(|model| u64::from(model.extra_acked)))
            .means("allowance of the window for aggregation");
        let short = |model: &PathModel| model.bandwidth_short.map_or(f64::NAN, |rate| rate.0 as f64 / 1e6);
        table.push_f64("bw_shortterm_mbps", models().map(short)).means("short-term bound on the rate");
        table
            .push_f64("inflight_shortterm_segments", models().map(|model| bound(model.inflight_short)))
            .means("short-term bound on the data in flight");
        table
            .push_f64("inflight_longterm_segments", models().map(|model| bound(model.inflight_long)))
            .means("long-term bound on the data in flight");
        table
            .push_count("full_bw_count", models().map(|model| u64::from(model.full_rounds)))
            .means("rounds without growth");
        table
            .push("full_bw_reached", Column::Bool(models().map(|model| model.full_reached).collect()))
            .means("whether the full bandwidth was ever reached");
        table
    }
}

fn says_more(before: &PathModel, now: &PathModel) -> bool {
    let key = |model: &PathModel| {
        let bounds = (model.bandwidth_short, model.inflight_short, model.inflight_long);
        (model.state, model.gains, model.round, bounds, model.full_rounds, model.full_reached)
    };
    key(before) != key(now)
}

impl Log for PathModels {
    fn requested(parameters: &RecorderParameters) -> Option<Self> {
        parameters.path_models.then(|| Self::new(parameters.flow_names()))
    }

    fn topics(&self) -> TopicSet {
        TopicSet::NONE.with(Topic::PathModel)
    }

    fn observe(&mut self, now: Instant, event: &Event<'_>, _: &Flows) {
        if let Event::PathModel { flow, model } = *event {
            self.add(now, flow, model);
        }
    }

    fn extend(&mut self, parameters: &RecorderParameters) {
        self.flows = parameters.flow_names();
        self.latest.resize(self.flows.len(), None);
    }

    fn finish(self: Box<Self>, _: &FinishedRun<'_>) -> Vec<(&'static str, Table)> {
        vec![("path_model", self.table())]
    }
}
