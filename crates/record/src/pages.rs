//! The pages that browsers loaded.

use airlane_core::{Bytes, Duration, Event, FlowId, Instant, Topic, TopicSet};

use crate::RecorderParameters;
use crate::flows::Flows;
use crate::log::{FinishedRun, Log};
use crate::table::Table;

/// A page load from its start on.
#[derive(Clone, Copy, Debug)]
struct Visit {
    flow: FlowId,
    page: u32,
    began_at: Instant,
    loaded: Option<Loaded>,
}

/// The result of a page load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loaded {
    pub(crate) first_byte: Duration,
    pub(crate) time: Duration,
    pub(crate) objects: u32,
    pub(crate) bytes: Bytes,
    pub(crate) connections: u32,
    pub(crate) queries: u32,
}

/// Every page load, in the order of their starts.
#[derive(Debug, Default)]
pub(crate) struct PageLog {
    visits: Vec<Visit>,
    /// The unfinished visit of each flow.
    open: Vec<Option<usize>>,
}

impl PageLog {
    /// Makes room for this many flows.
    pub(crate) fn resize(&mut self, flows: usize) {
        self.open.resize(flows, None);
    }

    pub(crate) fn new(flows: usize) -> Self {
        Self { visits: Vec::with_capacity(1024), open: vec![None; flows] }
    }

    pub(crate) fn on_began(&mut self, now: Instant, flow: FlowId, page: u32) {
        if let Some(open) = self.open.get_mut(flow.index()) {
            *open = Some(self.visits.len());
            self.visits.push(Visit { flow, page, began_at: now, loaded: None });
        }
    }

    pub(crate) fn on_loaded(&mut self, flow: FlowId, loaded: Loaded) {
        if let Some(visit) = self.open.get_mut(flow.index()).and_then(Option::take) {
            self.visits[visit].loaded = Some(loaded);
        }
    }

    /// The table `pages`. A page that was not complete at the end has no times, and counts of zero.
    pub(crate) fn table(&self, flow_names: &[&str], pages: &[Vec<String>]) -> Table {
        let mut table = Table::default();
        let all = || self.visits.iter();
        let seconds = |of: fn(&Loaded) -> Duration| {
            all().map(move |v| v.loaded.as_ref().map_or(f64::NAN, |loaded| of(loaded).as_secs_f64()))
        };
        let count = |of: fn(&Loaded) -> u64| all().map(move |v| v.loaded.as_ref().map_or(0, of));
        table.push_text("flow", all().map(|v| flow_names[v.flow.index()])).means("flow of the browser");
        table.push_text("page", all().map(|v| pages[v.flow.index()][v.page as usize].as_str())).means("page");
        table.push_f64("start_s", all().map(|v| v.began_at.as_secs_f64())).means("request of the page");
        table.push_f64("ttfb_s", seconds(|l| l.first_byte)).means("time to first byte");
        table.push_f64("onload_s", seconds(|l| l.time)).means("page load time");
        table.push_count("objects", count(|l| u64::from(l.objects))).means("objects");
        table
            .push_count("bytes", count(|l| l.bytes.get()))
            .means("bytes of the objects, with response headers");
        table
            .push_count("connections", count(|l| u64::from(l.connections)))
            .means("connections opened for it");
        table
            .push_count("dns_queries", count(|l| u64::from(l.queries)))
            .means("DNS queries, with repetitions");
        table
    }
}

impl Log for PageLog {
    fn requested(parameters: &RecorderParameters) -> Option<Self> {
        (!parameters.pages.is_empty()).then(|| Self::new(parameters.pages.len()))
    }

    fn topics(&self) -> TopicSet {
        TopicSet::NONE.with(Topic::Page)
    }

    fn observe(&mut self, now: Instant, event: &Event<'_>, _: &Flows) {
        match *event {
            Event::PageBegan { flow, page } => self.on_began(now, flow, page),
            Event::PageLoaded { flow, first_byte, time, objects, bytes, connections, queries } => {
                let loaded = Loaded { first_byte, time, objects, bytes, connections, queries };
                self.on_loaded(flow, loaded);
            }
            _ => {}
        }
    }

    fn extend(&mut self, parameters: &RecorderParameters) {
        self.resize(parameters.pages.len());
    }

    fn finish(self: Box<Self>, run: &FinishedRun<'_>) -> Vec<(&'static str, Table)> {
        vec![("pages", self.table(&run.flow_names(), &run.parameters.pages))]
    }
}
