//! The messages of a PEP, their acceptance by senders, and the windows of senders that use them.

use airlane_core::{Bytes, Duration, FlowId, Instant, PepFate};

use crate::flow::duration_ms;
use crate::table::{Column, Table};

/// The counters of one flow.
#[derive(Clone, Copy, Debug, Default)]
struct PepRecord {
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
    t_s: Vec<f64>,
    flow: Vec<u32>,
    /// In the order of [`PepLog::REALS`].
    reals: [Vec<f64>; Self::REALS.len()],
    /// In the order of [`PepLog::COUNTS`].
    counts: [Vec<u64>; Self::COUNTS.len()],
}

impl PepLog {
    const REALS: [&'static str; 3] = ["cwnd_internet_bytes", "cwnd_ran_bytes", "pep_srtt_ms"];
    const COUNTS: [&'static str; 3] = ["pep_acks_sent", "pep_acks_accepted", "pep_acks_rejected"];

    /// Makes room for this many flows.
    pub(crate) fn resize(&mut self, flows: usize) {
        self.flows.resize(flows, PepRecord::default());
    }

    /// A log of this many flows, with room for this many rows.
    pub(crate) fn new(flows: usize, rows: usize) -> Self {
        Self {
            flows: vec![PepRecord::default(); flows],
            t_s: Vec::with_capacity(rows),
            flow: Vec::with_capacity(rows),
            reals: core::array::from_fn(|_| Vec::with_capacity(rows)),
            counts: core::array::from_fn(|_| Vec::with_capacity(rows)),
        }
    }

    pub(crate) fn on_message(&mut self, flow: FlowId, fate: PepFate) {
        let Some(record) = self.flows.get_mut(flow.index()) else { return };
        let at = match fate {
            PepFate::Sent => 0,
            PepFate::Accepted => 1,
            PepFate::Rejected => 2,
        };
        record.bin[at] += 1;
        record.total[at] += 1;
    }

    pub(crate) fn on_state(&mut self, flow: FlowId, internet: Bytes, ran: Bytes, srtt: Duration) {
        let Some(record) = self.flows.get_mut(flow.index()) else { return };
        record.internet = Some(internet);
        record.ran = Some(ran);
        record.srtt = (!srtt.is_zero()).then_some(srtt);
    }

    /// Writes the row of the bin that began at `from`, if the flow's sender has such windows.
    pub(crate) fn push(&mut self, from: Instant, flow: usize) {
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
    pub(crate) fn summary(&self, flow_names: &[&str]) -> Table {
        let mut table = Table::default();
        table.push_text("flow", flow_names.iter().copied());
        for (at, name) in Self::COUNTS.into_iter().enumerate() {
            table.push_count(name, self.flows.iter().map(|record| record.total[at]));
        }
        table
    }

    /// The table `pep_series`.
    pub(crate) fn into_series(self, flow_names: &[&str]) -> Table {
        let mut table = Table::default();
        table.push("t_s", Column::F64(self.t_s));
        table.push("flow", Column::labels(flow_names, self.flow));
        for (name, values) in Self::REALS.into_iter().zip(self.reals) {
            table.push(name, Column::F64(values));
        }
        for (name, values) in Self::COUNTS.into_iter().zip(self.counts) {
            table.push_count(name, values);
        }
        table
    }
}
