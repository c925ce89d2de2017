//! The subflows of flows over Multipath TCP: the table `paths`.

use airlane_core::{Bytes, Duration, Event, Instant, SubflowStep, Topic, TopicSet};

use crate::RecorderParameters;
use crate::flow::milliseconds;
use crate::flows::Flows;
use crate::log::{FinishedRun, Log};
use crate::meaning::{Better, Figure, OverFlows, View};
use crate::table::{Table, mbps, ratio};

/// The sums of a subflow in the measured window of its flow.
#[derive(Clone, Debug, Default)]
struct PathRecord {
    established_at: Option<Instant>,
    /// Bytes given to it, and of these the ones that another subflow had carried before.
    given: u64,
    reinjected: u64,
    /// The sum of the round-trip times when it was given a segment, and the number of these segments.
    srtt_ns: u64,
    segments: u64,
    /// Bytes that arrived through it first, and bytes that another one had delivered.
    fresh: u64,
    again: u64,
    /// Of the first, those that arrived before data in front of them, and the largest distance.
    ahead: u64,
    ahead_max: u64,
    /// Of these, the bytes that can be read, and how long they have waited: the sum over bytes, and the maximum.
    released: u64,
    waited_ns: u128,
    waited_max: Duration,
    failures: u64,
    /// Since when it is out of use, and for how long it has been in all.
    failed_at: Option<Instant>,
    failed: Duration,
    /// The longest pause of the data in order that ended with data of this subflow.
    pause_max: Duration,
    fell_back: bool,
    /// Bytes that arrived first through it, in the bins of the series.
    bins: Vec<u64>,
}

/// The subflows of all flows over Multipath TCP.
#[derive(Debug, Default)]
pub(crate) struct PathLog {
    /// By flow and subflow.
    records: Vec<Vec<PathRecord>>,
    /// When data in order arrived last, by flow.
    arrived_at: Vec<Option<Instant>>,
    /// The width of a bin of the series, if the run has them.
    bin: Option<Duration>,
}

impl PathRecord {
    fn observe(&mut self, now: Instant, step: SubflowStep) {
        match step {
            SubflowStep::Established | SubflowStep::Restored => {
                self.failed += self.failed_at.take().map_or(Duration::ZERO, |at| now - at);
            }
            SubflowStep::FellBack => self.fell_back = true,
            SubflowStep::Scheduled { bytes, again, srtt } => {
                self.given += bytes.get();
                self.reinjected += if again { bytes.get() } else { 0 };
                self.srtt_ns += srtt.as_nanos();
                self.segments += 1;
            }
            SubflowStep::Arrived { fresh, again, ahead } => {
                self.fresh += fresh.get();
                self.again += again.get();
                if ahead.get() > 0 {
                    self.ahead += fresh.get();
                    self.ahead_max = self.ahead_max.max(ahead.get());
                }
            }
            SubflowStep::Released { bytes, waited } => {
                self.released += bytes.get();
                self.waited_ns += u128::from(waited.as_nanos()) * u128::from(bytes.get());
                self.waited_max = self.waited_max.max(waited);
            }
            SubflowStep::Failed => {
                self.failures += 1;
                self.failed_at.get_or_insert(now);
            }
        }
    }

    /// How long it was out of use, until the end of the run.
    fn out_of_use(&self, end: Instant) -> Duration {
        self.failed + self.failed_at.map_or(Duration::ZERO, |at| end.saturating_since(at))
    }

    fn waited_ms(&self) -> f64 {
        if self.released == 0 { f64::NAN } else { self.waited_ns as f64 / self.released as f64 / 1e6 }
    }
}

/// A row of the table.
struct Row<'a> {
    flow: &'a str,
    path: &'a str,
    number: u64,
    record: &'a PathRecord,
    /// Bytes that arrived first through any subflow of the flow.
    all: u64,
    /// The measured window.
    window: Duration,
}

impl PathLog {
    fn rows<'a>(&'a self, run: &'a FinishedRun<'_>) -> Vec<Row<'a>> {
        let mut rows = Vec::new();
        for (flow, (names, records)) in run.parameters.paths.iter().zip(&self.records).enumerate() {
            let all = records.iter().map(|record| record.fresh).sum();
            let window = run.flows.records.get(flow).map(|one| one.window()).unwrap_or_default();
            for (number, (path, record)) in (0..).zip(names.iter().zip(records)) {
                let flow = &run.parameters.flows[flow].name;
                rows.push(Row { flow, path, number, record, all, window });
            }
        }
        rows
    }
}

/// The goodput of each subflow over time, up to the last bin with any data.
fn series(rows: &[Row<'_>], width: Duration) -> Table {
    let bins = rows.iter().map(|row| row.record.bins.len()).max().unwrap_or(0);
    let all = || (0..bins).flat_map(|bin| rows.iter().map(move |row| (bin, row)));
    let mut table = Table::default();
    let from = all().map(|(bin, _)| bin as f64 * width.as_secs_f64());
    table.push_f64("t_s", from).means("beginning of the bin");
    table.push_text("flow", all().map(|(_, row)| row.flow)).means("flow");
    table.push_count("subflow", all().map(|(_, row)| row.number)).means("number of the subflow");
    table.push_text("path", all().map(|(_, row)| row.path)).means("access that carries the subflow");
    let bytes = all().map(|(bin, row)| row.record.bins.get(bin).copied().unwrap_or(0));
    let rates = table.push_f64("goodput_mbps", bytes.map(|bytes| mbps(bytes, width)));
    rates.means("data that arrived first through the subflow");
    table
}

impl Log for PathLog {
    fn requested(parameters: &RecorderParameters) -> Option<Self> {
        let mut log = Self { bin: parameters.bin, ..Self::default() };
        log.extend(parameters);
        parameters.paths.iter().any(|names| !names.is_empty()).then_some(log)
    }

    fn topics(&self) -> TopicSet {
        TopicSet::NONE.with(Topic::Subflow)
    }

    fn observe(&mut self, now: Instant, event: &Event<'_>, flows: &Flows) {
        let Event::Subflow { flow, subflow, step } = *event else { return };
        let records = self.records.get_mut(flow.index());
        let Some(record) = records.and_then(|all| all.get_mut(usize::from(subflow))) else { return };
        if step == SubflowStep::Established {
            record.established_at.get_or_insert(now);
        }
        if let (SubflowStep::Arrived { fresh, .. }, Some(width)) = (step, self.bin) {
            let bin = (now.as_nanos() / width.as_nanos()) as usize;
            record.bins.resize(record.bins.len().max(bin + 1), 0);
            record.bins[bin] += fresh.get();
        }
        if flows.measures(flow, now) {
            record.observe(now, step);
            if let SubflowStep::Arrived { fresh, ahead: Bytes(0), .. } = step
                && fresh.get() > 0
                && let Some(arrived) = self.arrived_at.get_mut(flow.index())
            {
                let pause = arrived.map_or(Duration::ZERO, |before| now - before);
                record.pause_max = record.pause_max.max(pause);
                *arrived = Some(now);
            }
        }
    }

    fn extend(&mut self, parameters: &RecorderParameters) {
        let fresh = parameters.paths.iter().skip(self.records.len());
        self.records.extend(fresh.map(|names| vec![PathRecord::default(); names.len()]));
        self.arrived_at.resize(self.records.len(), None);
    }

    fn finish(self: Box<Self>, run: &FinishedRun<'_>) -> Vec<(&'static str, Table)> {
        let rows = self.rows(run);
        let mut table = Table::default();
        let all = || rows.iter();
        let records = || rows.iter().map(|row| row.record);
        let less = Figure { over_flows: Some(OverFlows::Mean), better: Better::Less, ..Figure::NEUTRAL };
        let neutral = Figure { over_flows: Some(OverFlows::Mean), ..Figure::NEUTRAL };
        table.push_text("flow", all().map(|row| row.flow)).means("flow");
        table.push_count("subflow", all().map(|row| row.number)).means("number of the subflow");
        table.push_text("path", all().map(|row| row.path)).means("access that carries the subflow");
        let at = records().map(|one| one.established_at.map_or(f64::NAN, Instant::as_secs_f64));
        table.push_f64("established_s", at).means("end of its handshake");
        let rate = table.push_f64("goodput_mbps", all().map(|row| mbps(row.record.fresh, row.window)));
        rate.means("data that arrived first through the subflow")
            .headed("goodput\nMbit/s", ".2f")
            .figure(neutral);
        rate.shown(10, &View::ALL);
        let share = all().map(|row| 100.0 * ratio(row.record.fresh as f64, row.all));
        let share = table.push_f64("share_percent", share);
        share.means("share of the data of its flow").headed("share\n%", ".1f").figure(neutral);
        share.shown(20, &View::ALL);
        let rtt = records().map(|one| ratio(milliseconds(one.srtt_ns), one.segments));
        let rtt = table.push_f64("srtt_ms", rtt);
        rtt.means("smoothed round-trip time when data was given to the subflow");
        rtt.headed("RTT\nms", ".1f").figure(less).shown(30, &View::ALL);
        let again = table.push_count("reinjected_bytes", records().map(|one| one.reinjected));
        again.means("bytes given to the subflow that another one had carried").headed("reinjected\nB", ".0f");
        again.figure(less).shown(40, &[View::Terminal]);
        table
            .push_count("duplicate_bytes", records().map(|one| one.again))
            .means("bytes that another subflow had delivered before");
        let ahead = records().map(|one| 100.0 * ratio(one.ahead as f64, one.fresh));
        let ahead = table.push_f64("reordered_percent", ahead);
        ahead.means("share of the subflow's data that arrived before data in front of it");
        ahead.headed("reordered\n%", ".1f").figure(less).shown(50, &[View::Terminal]);
        table
            .push_count("ahead_max_bytes", records().map(|one| one.ahead_max))
            .means("largest distance of arriving data from the data expected next");
        let waited = table.push_f64("blocked_ms", records().map(PathRecord::waited_ms));
        waited.means("wait of reordered bytes for data in front of them (head-of-line blocking)");
        waited.headed("blocked\nms", ".1f").figure(less).shown(60, &[View::Terminal]);
        table
            .push_f64("blocked_max_ms", records().map(|one| one.waited_max.as_millis_f64()))
            .means("longest wait of reordered bytes");
        table
            .push_count("failures", records().map(|one| one.failures))
            .means("times when a timeout or its end took the subflow out of use");
        let out = records().map(|one| one.out_of_use(run.parameters.end).as_secs_f64());
        table
            .push_f64("out_of_use_s", out)
            .means("time from a failure until data is acknowledged again, in all");
        let pause = records().map(|one| one.pause_max.as_millis_f64());
        let pause = table.push_f64("pause_max_ms", pause);
        pause.means("longest pause of the data in order that ended with data of this subflow");
        pause.headed("pause\nms", ".0f").figure(less).shown(70, &[View::Terminal]);
        table
            .push_count("fallbacks", records().map(|one| u64::from(one.fell_back)))
            .means("1 if the connection continued as TCP on this subflow");
        let series = self.bin.map(|width| ("path_series", series(&rows, width)));
        core::iter::once(("paths", table)).chain(series).collect()
    }
}
