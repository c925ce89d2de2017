//! The messages of a PEP, their acceptance by senders, and the windows of senders that use them.

use airlane_core::{Bytes, Duration, Event, FlowId, Instant, PepFate, Topic, TopicSet};

use crate::RecorderParameters;
use crate::flow::duration_ms;
use crate::flows::Flows;
use crate::log::{FinishedRun, Log};
use crate::series::reserved_rows;
use crate::table::{Column, Table};

/// The counters of one flow.
#[derive(Clone, Copy, Debug, Default)]
struct PepRecord {
    start: Instant,
    /// Messages by fate: in the current bin, and in all.
    bin: [u64; 3],
    total: [u64; 3],
    internet: Option<Bytes>,
    ran: Option<Bytes>,
    srtt: Option<Duration>,
}

/// The log of all flows, and the rows of `pep_series`.
#[derive(Debug, Default)]
pub(crate) struct PepLog {
    flows: Vec<PepRecord>,
    /// The length of a bin; `None` without series.
    bin: Option<Duration>,
    bin_end: Instant,
    t_s: Vec<f64>,
    flow: Vec<u32>,
    /// In the order of [`PepLog::REALS`].
    reals: [Vec<f64>; Self::REALS.len()],
    /// In the order of [`PepLog::COUNTS`].
    counts: [Vec<u64>; Self::COUNTS.len()],
}

impl PepLog {
    const REALS: [(&'static str, &'static str); 3] = [
        ("cwnd_internet_bytes", "window of the internet domain"),
        ("cwnd_ran_bytes", "window of the radio domain"),
        ("pep_srtt_ms", "smoothed round trip to the PEP"),
    ];
    const COUNTS: [(&'static str, &'static str); 3] = [
        ("pep_acks_sent", "messages sent by a PEP"),
        ("pep_acks_accepted", "messages accepted by the sender"),
        ("pep_acks_rejected", "messages rejected by the sender"),
    ];

    fn new(parameters: &RecorderParameters) -> Self {
        let flows = parameters.flows.len();
        let rows = parameters.bin.map_or(0, |bin| reserved_rows(flows, parameters.end, bin));
        let mut log = Self {
            bin: parameters.bin,
            bin_end: parameters.bin.map_or(Instant::FAR_FUTURE, |bin| Instant::ZERO + bin),
            t_s: Vec::with_capacity(rows),
            flow: Vec::with_capacity(rows),
            reals: core::array::from_fn(|_| Vec::with_capacity(rows)),
            counts: core::array::from_fn(|_| Vec::with_capacity(rows)),
            ..Self::default()
        };
        log.extend(parameters);
        log
    }

    /// Writes the rows of every bin that ends at `now` or before.
    fn close_bins(&mut self, now: Instant, flows: &Flows) {
        let Some(bin) = self.bin else { return };
        while now >= self.bin_end {
            self.close_bin(self.bin_end, flows);
            self.bin_end += bin;
        }
    }

    /// Writes the rows of the current bin, which ends at `until`: of the flows that have begun and had not completed
    /// before it.
    fn close_bin(&mut self, until: Instant, flows: &Flows) {
        let Some(bin) = self.bin else { return };
        let from = self.bin_end - bin;
        for index in 0..self.flows.len() {
            let completed_before = flows.records[index].completed_at.is_some_and(|at| at < from);
            if self.flows[index].start < until && !completed_before {
                self.push(from, index);
            }
        }
    }

    fn on_message(&mut self, flow: FlowId, fate: PepFate) {
        let Some(record) = self.flows.get_mut(flow.index()) else { return };
        let at = match fate {
            PepFate::Sent => 0,
            PepFate::Accepted => 1,
            PepFate::Rejected => 2,
        };
        record.bin[at] += 1;
        record.total[at] += 1;
    }

    fn on_state(&mut self, flow: FlowId, internet: Bytes, ran: Bytes, srtt: Duration) {
        let Some(record) = self.flows.get_mut(flow.index()) else { return };
        record.internet = Some(internet);
        record.ran = Some(ran);
        record.srtt = (!srtt.is_zero()).then_some(srtt);
    }

    /// Writes the row of the bin that began at `from`, if the flow's sender has such windows.
    fn push(&mut self, from: Instant, flow: usize) {
        let Some(record) = self.flows.get_mut(flow) else { return };
        let counts = core::mem::take(&mut record.bin);
        let (Some(internet), Some(ran)) = (record.internet, record.ran) else { return };
        self.t_s.push(from.as_secs_f64());
        self.flow.push(u32::try_from(flow).expect("flows are numbered in 32 bits"));
        let reals = [internet.get() as f64, ran.get() as f64, duration_ms(record.srtt)];
        self.reals.iter_mut().zip(reals).for_each(|(column, value)| column.push(value));
        self.counts.iter_mut().zip(counts).for_each(|(column, value)| column.push(value));
    }

    /// The table `pep`: the messages about each flow.
    fn summary(&self, flow_names: &[&str]) -> Table {
        let mut table = Table::default();
        table.push_text("flow", flow_names.iter().copied()).means("flow");
        for (at, (name, title)) in Self::COUNTS.into_iter().enumerate() {
            table.push_count(name, self.flows.iter().map(|record| record.total[at])).means(title);
        }
        table
    }

    /// The table `pep_series`.
    fn into_series(self, flow_names: &[&str]) -> Table {
        let mut table = Table::default();
        table.push("t_s", Column::F64(self.t_s)).means("beginning of the bin");
        table.push("flow", Column::labels(flow_names, self.flow)).means("flow");
        for ((name, title), values) in Self::REALS.into_iter().zip(self.reals) {
            table.push(name, Column::F64(values)).means(title);
        }
        for ((name, title), values) in Self::COUNTS.into_iter().zip(self.counts) {
            table.push_count(name, values).means(title);
        }
        table
    }
}

impl Log for PepLog {
    fn requested(parameters: &RecorderParameters) -> Option<Self> {
        parameters.pep.then(|| Self::new(parameters))
    }

    fn topics(&self) -> TopicSet {
        TopicSet::NONE.with(Topic::Pep)
    }

    fn observe(&mut self, now: Instant, event: &Event<'_>, flows: &Flows) {
        self.close_bins(now, flows);
        match *event {
            Event::PepMessage { flow, fate } => self.on_message(flow, fate),
            Event::DomainState { flow, internet, ran, pep_srtt } => {
                self.on_state(flow, internet, ran, pep_srtt)
            }
            _ => {}
        }
    }

    fn extend(&mut self, parameters: &RecorderParameters) {
        let fresh = &parameters.flows[self.flows.len()..];
        self.flows.extend(fresh.iter().map(|flow| PepRecord { start: flow.start, ..PepRecord::default() }));
    }

    fn finish(mut self: Box<Self>, run: &FinishedRun<'_>) -> Vec<(&'static str, Table)> {
        let end = run.parameters.end;
        self.close_bins(end, run.flows);
        let names = run.flow_names();
        let mut tables = vec![("pep", self.summary(&names))];
        if let Some(bin) = self.bin {
            if end > self.bin_end - bin {
                self.close_bin(end, run.flows); // the run ends within a bin
            }
            tables.push(("pep_series", self.into_series(&names)));
        }
        tables
    }
}
