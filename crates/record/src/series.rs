//! The two time series, written bin by bin during the run.

use core::ops::Range;

use airlane_core::{Bytes, Direction, Duration, Instant};

use crate::cell::{CellRecord, Radio};
use crate::flow::{FlowRecord, duration_ms, milliseconds};
use crate::table::{Column, Table, mbps, ratio};

/// Rows of `flow_series`, by column.
#[derive(Debug, Default)]
pub(crate) struct FlowSeries {
    t_s: Vec<f64>,
    flow: Vec<u32>,
    /// In the order of [`FlowSeries::REALS`].
    reals: [Vec<f64>; Self::REALS.len()],
    retransmissions: Vec<u64>,
    lost_segments: Vec<u64>,
    /// Pacing rate and delivery rate, if some senders report them.
    rates: Option<[Vec<f64>; 2]>,
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

    /// Writes the flow's row of the bin `[from, until)` and begins the next one. The queues of its UE are the
    /// one in the flow's direction and the uplink's.
    pub(crate) fn push(
        &mut self,
        time: Range<Instant>,
        index: u32,
        flow: &mut FlowRecord,
        [queue, uplink_queue]: [Option<Bytes>; 2],
    ) {
        let Range { start: from, end: until } = time;
        let bin = core::mem::take(&mut flow.bin);
        let delivered = bin.delivered;
        let told = |value| if bin.untold { f64::NAN } else { value };
        let state = &flow.state;
        let row = [
            mbps(bin.in_order, until - from),
            told(mbps(bin.received, until - from)),
            told(mbps(bin.again, until - from)),
            ratio(milliseconds(bin.delay_ns_sum), delivered),
            if delivered == 0 { f64::NAN } else { milliseconds(bin.delay_ns_max) },
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
        self.t_s.push(from.as_secs_f64());
        self.flow.push(index);
        for (column, value) in self.reals.iter_mut().zip(row) {
            column.push(value);
        }
        self.retransmissions.push(bin.retransmissions);
        self.lost_segments.push(bin.lost_segments);
        for (column, rate) in self.rates.iter_mut().flatten().zip(state.rates) {
            column.push(rate.map_or(f64::NAN, |rate| rate.bits_per_second() as f64 / 1e6));
        }
    }

    /// The table `flow_series`. `name` returns the name of the row with an index.
    pub(crate) fn into_table<'a>(self, name: impl Fn(u32) -> &'a str) -> Table {
        let mut table = Table::default();
        table.push("t_s", Column::F64(self.t_s));
        table.push_text("flow", self.flow.iter().map(|&flow| name(flow)));
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
        table.push_text("cell", self.cell.iter().map(|&cell| cell_names[cell as usize]));
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
