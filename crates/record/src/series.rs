//! The two time series, written bin by bin during the run.

use core::ops::Range;

use airlane_core::{Bytes, Direction, Duration, Instant};

use crate::cell::{CellRecord, Radio};
use crate::flow::{FlowBin, FlowRecord, duration_ms, milliseconds};
use crate::table::{Column, Table, mbps};

/// Rows of `flow_series`, by column. Those of a bin are collected first, so that each column grows once a bin.
#[derive(Debug, Default)]
pub(crate) struct FlowSeries {
    pending: Vec<Row>,
    t_s: Vec<f64>,
    flow: Vec<u32>,
    /// In the order of [`FlowSeries::REALS`].
    reals: [Vec<f64>; Self::REALS.len()],
    retransmissions: Vec<u64>,
    lost_segments: Vec<u64>,
    /// Pacing rate and delivery rate, if some senders report them.
    rates: Option<[Vec<f64>; 2]>,
}

/// A row of `flow_series`, but for its time and its rates.
#[derive(Debug)]
struct Row {
    flow: u32,
    reals: [f64; FlowSeries::REALS.len()],
    retransmissions: u64,
    lost_segments: u64,
}

impl FlowSeries {
    const REALS: [&'static str; 15] = [
        "goodput_mbps",
        "received_mbps",
        "again_mbps",
        "owd_ms",
        "owd_max_ms",
        "cwnd_bytes",
        "ssthresh_bytes",
        "srtt_ms",
        "rto_ms",
        "in_flight_bytes",
        "rlc_queue_bytes",
        "rwnd_bytes",
        "uplink_queue_bytes",
        "cubic_w_max_bytes",
        "cubic_k_s",
    ];

    pub(crate) fn with_capacity(rows: usize) -> Self {
        Self {
            pending: Vec::new(),
            t_s: Vec::with_capacity(rows),
            flow: Vec::with_capacity(rows),
            reals: core::array::from_fn(|_| Vec::with_capacity(rows)),
            retransmissions: Vec::with_capacity(rows),
            lost_segments: Vec::with_capacity(rows),
            rates: None,
        }
    }

    /// Adds the columns of rates; before the first row.
    pub(crate) fn record_rates(&mut self) {
        self.rates = Some(Default::default());
    }

    /// Writes the flow's row of the current bin, of this length, and begins the next one. The queues of its UE are
    /// the one in the flow's direction and the uplink's.
    pub(crate) fn push(
        &mut self,
        span: Duration,
        index: u32,
        flow: &mut FlowRecord,
        [queue, uplink_queue]: [Option<Bytes>; 2],
    ) {
        let bin = core::mem::take(&mut flow.bin);
        let (delay_mean, delay_max) = if bin.delivered == 0 {
            (f64::NAN, f64::NAN)
        } else {
            (milliseconds(bin.delay_ns_sum) / bin.delivered as f64, milliseconds(bin.delay_ns_max))
        };
        let told = |value| if bin.untold { f64::NAN } else { value };
        let state = &flow.state;
        let reals = [
            mbps(bin.in_order, span),
            told(mbps(bin.received, span)),
            told(mbps(bin.again, span)),
            delay_mean,
            delay_max,
            bytes(state.congestion_window),
            bytes(state.ssthresh),
            duration_ms(state.srtt),
            duration_ms(state.rto),
            bytes(state.in_flight),
            bytes(queue),
            bytes(state.offered_window),
            bytes(uplink_queue),
            bytes(state.cubic.map(|curve| curve.w_max)),
            state.cubic.and_then(|curve| curve.k).map_or(f64::NAN, Duration::as_secs_f64),
        ];
        let FlowBin { retransmissions, lost_segments, .. } = bin;
        self.pending.push(Row { flow: index, reals, retransmissions, lost_segments });
        if let Some(columns) = &mut self.rates {
            for (column, rate) in columns.iter_mut().zip(state.rates) {
                column.push(rate.map_or(f64::NAN, |rate| rate.bits_per_second() as f64 / 1e6));
            }
        }
    }

    /// Ends the bin that began at `from`.
    pub(crate) fn end_bin(&mut self, from: Instant) {
        let rows = &self.pending;
        self.t_s.resize(self.t_s.len() + rows.len(), from.as_secs_f64());
        self.flow.extend(rows.iter().map(|row| row.flow));
        for (k, column) in self.reals.iter_mut().enumerate() {
            column.extend(rows.iter().map(|row| row.reals[k]));
        }
        self.retransmissions.extend(rows.iter().map(|row| row.retransmissions));
        self.lost_segments.extend(rows.iter().map(|row| row.lost_segments));
        self.pending.clear();
    }

    /// The table `flow_series`. `at` returns for the index of a row its place in `names`.
    pub(crate) fn into_table(self, names: &[&str], at: impl Fn(u32) -> u32) -> Table {
        let mut table = Table::default();
        table.push("t_s", Column::F64(self.t_s));
        table.push("flow", Column::labels(names, self.flow.into_iter().map(at)));
        for (name, values) in Self::REALS.into_iter().zip(self.reals) {
            table.push(name, Column::F64(values));
        }
        table.push_count("retransmissions", self.retransmissions);
        table.push_count("lost_segments", self.lost_segments);
        if let Some([pacing, delivery]) = self.rates {
            table.push("pacing_mbps", Column::F64(pacing));
            table.push("delivery_mbps", Column::F64(delivery));
        }
        table
    }
}

/// Rows of `cell_series`, by column.
#[derive(Debug, Default)]
pub(crate) struct CellSeries {
    t_s: Vec<f64>,
    cell: Vec<u32>,
    prb_use: [Vec<f64>; 2],
    mcs_mean: [Vec<f64>; 2],
    blocks: Vec<u64>,
    retransmissions: Vec<u64>,
    mac_mbps: [Vec<f64>; 2],
}

impl CellSeries {
    pub(crate) fn with_capacity(rows: usize) -> Self {
        let reals = || Vec::with_capacity(rows);
        Self {
            t_s: reals(),
            cell: Vec::with_capacity(rows),
            prb_use: [reals(), reals()],
            mcs_mean: [reals(), reals()],
            blocks: Vec::with_capacity(rows),
            retransmissions: Vec::with_capacity(rows),
            mac_mbps: [reals(), reals()],
        }
    }

    /// Writes the cell's row of the bin `[from, until)` and begins the next one.
    pub(crate) fn push(&mut self, time: Range<Instant>, index: u32, cell: &mut CellRecord) {
        let Range { start: from, end: until } = time;
        let bin: Radio = core::mem::take(&mut cell.bin);
        self.t_s.push(from.as_secs_f64());
        self.cell.push(index);
        for (k, direction) in [Direction::Downlink, Direction::Uplink].into_iter().enumerate() {
            self.prb_use[k].push(cell.prb_use(&bin, direction, from, until));
            self.mcs_mean[k].push(bin.in_direction(direction).mcs_mean());
            self.mac_mbps[k].push(mbps(bin.in_direction(direction).decoded_bytes, until - from));
        }
        self.blocks.push(bin.downlink.new + bin.downlink.retransmissions);
        self.retransmissions.push(bin.downlink.retransmissions);
    }

    pub(crate) fn into_table(self, cell_names: &[&str]) -> Table {
        let mut table = Table::default();
        let [prb_use_downlink, prb_use_uplink] = self.prb_use;
        let [mcs_mean, mcs_mean_uplink] = self.mcs_mean;
        let [mac_downlink_mbps, mac_uplink_mbps] = self.mac_mbps;
        table.push("t_s", Column::F64(self.t_s));
        table.push("cell", Column::labels(cell_names, self.cell));
        table.push("prb_use_downlink", Column::F64(prb_use_downlink));
        table.push("prb_use_uplink", Column::F64(prb_use_uplink));
        table.push("mcs_mean", Column::F64(mcs_mean));
        table.push_count("tb_sent", self.blocks);
        table.push_count("harq_retx", self.retransmissions);
        table.push("mac_downlink_mbps", Column::F64(mac_downlink_mbps));
        table.push("mac_uplink_mbps", Column::F64(mac_uplink_mbps));
        table.push("mcs_mean_uplink", Column::F64(mcs_mean_uplink));
        table
    }
}

fn bytes(bytes: Option<Bytes>) -> f64 {
    bytes.map_or(f64::NAN, |bytes| bytes.get() as f64)
}

/// The number of rows for which room is made at the start, about 30 MB: in longer runs, the series grow.
const RESERVED_MAX: usize = 200_000;

/// The rows of `count` things in bins of this length that begin before `end`, but at most [`RESERVED_MAX`].
pub(crate) fn reserved_rows(count: usize, end: Instant, bin: Duration) -> usize {
    let bins = usize::try_from(end.as_nanos().div_ceil(bin.as_nanos())).unwrap_or(usize::MAX);
    bins.saturating_mul(count).min(RESERVED_MAX)
}
