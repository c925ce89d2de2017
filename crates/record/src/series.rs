//! The two time series, written bin by bin during the run.

use core::ops::Range;

use airlane_core::{Bytes, Direction, Duration, Instant};

use crate::cell::{CellRecord, Radio};
use crate::flow::{FlowRecord, FlowState, duration_ms};
use crate::meaning::View;
use crate::table::{Column, Table, Throughput, mbps, real};

/// Rows of `flow_series`, by column. Those of a bin are collected first, so that each column grows once a bin.
#[derive(Debug, Default)]
pub(crate) struct FlowSeries {
    /// Rows, of which the first `pending` are those of the current bin.
    rows: Vec<Row>,
    pending: usize,
    t_s: Vec<f64>,
    flow: Vec<u32>,
    /// Of packets and queues, in the order of [`FlowSeries::push`].
    packets: [Vec<f64>; Self::PACKETS],
    /// Of the sender, in the order of [`columns_of`].
    state: [Vec<f64>; Self::STATE],
    retransmissions: Vec<u64>,
    lost_segments: Vec<u64>,
    /// Pacing rate and delivery rate, if some senders report them.
    rates: Option<[Vec<f64>; 2]>,
}

/// A row of `flow_series`, but for its time and its rates.
#[derive(Debug, Default)]
struct Row {
    flow: u32,
    packets: [f64; FlowSeries::PACKETS],
    /// `None` if the sender has reported nothing.
    state: Option<[f64; FlowSeries::STATE]>,
    retransmissions: u64,
    lost_segments: u64,
}

impl FlowSeries {
    /// The number of columns of packets and queues.
    const PACKETS: usize = 7;
    /// Of the sender's state.
    const STATE: usize = 8;

    pub(crate) fn with_capacity(rows: usize) -> Self {
        Self {
            t_s: Vec::with_capacity(rows),
            flow: Vec::with_capacity(rows),
            packets: core::array::from_fn(|_| Vec::with_capacity(rows)),
            state: core::array::from_fn(|_| Vec::with_capacity(rows)),
            retransmissions: Vec::with_capacity(rows),
            lost_segments: Vec::with_capacity(rows),
            ..Self::default()
        }
    }

    /// Adds the columns of rates; before the first row.
    pub(crate) fn record_rates(&mut self) {
        self.rates = Some(Default::default());
    }

    /// Writes the flow's row of the current bin and begins the next one. The queues of its UE are the one in the
    /// flow's direction and the uplink's.
    pub(crate) fn push(
        &mut self,
        throughput: Throughput,
        index: u32,
        flow: &mut FlowRecord,
        [queue, uplink_queue]: [Option<Bytes>; 2],
    ) {
        if self.pending == self.rows.len() {
            self.rows.push(Row::default());
        }
        let row = &mut self.rows[self.pending];
        self.pending += 1;
        let bin = core::mem::take(&mut flow.bin);
        let (delay_mean, delay_max) = if bin.delayed == 0 {
            (f64::NAN, f64::NAN)
        } else {
            let milliseconds = |ns| real(ns) / 1e6;
            (milliseconds(bin.delay_ns_sum) / real(bin.delayed), milliseconds(bin.delay_ns_max))
        };
        let told = |value| if bin.untold { f64::NAN } else { value };
        row.flow = index;
        row.packets = [
            throughput.mbps(bin.in_order),
            told(throughput.mbps(bin.received)),
            told(throughput.mbps(bin.again)),
            delay_mean,
            delay_max,
            bytes(queue),
            bytes(uplink_queue),
        ];
        row.state = flow.state.as_ref().map(columns_of);
        (row.retransmissions, row.lost_segments) = (bin.retransmissions, bin.lost_segments);
        if let Some(columns) = &mut self.rates {
            let rates = flow.state.as_ref().map_or([None; 2], |state| state.rates);
            for (column, rate) in columns.iter_mut().zip(rates) {
                column.push(rate.map_or(f64::NAN, |rate| rate.bits_per_second() as f64 / 1e6));
            }
        }
    }

    /// Ends the bin that began at `from`.
    pub(crate) fn end_bin(&mut self, from: Instant) {
        let rows = &self.rows[..self.pending];
        let end = self.t_s.len() + rows.len();
        self.t_s.resize(end, from.as_secs_f64());
        self.flow.extend(rows.iter().map(|row| row.flow));
        for (k, column) in self.packets.iter_mut().enumerate() {
            column.extend(rows.iter().map(|row| row.packets[k]));
        }
        let is_silent = rows.iter().all(|row| row.state.is_none());
        for (k, column) in self.state.iter_mut().enumerate() {
            if is_silent {
                column.resize(end, f64::NAN);
            } else {
                column.extend(rows.iter().map(|row| row.state.map_or(f64::NAN, |state| state[k])));
            }
        }
        self.retransmissions.extend(rows.iter().map(|row| row.retransmissions));
        self.lost_segments.extend(rows.iter().map(|row| row.lost_segments));
        self.pending = 0;
    }

    /// Takes the rows, if there are at least this many; between two bins.
    pub(crate) fn take(&mut self, least: usize) -> Option<Self> {
        debug_assert_eq!(self.pending, 0, "the current bin has rows");
        let rates = self.rates.as_ref().map(|_| Default::default());
        (self.t_s.len() >= least).then(|| core::mem::replace(self, Self { rates, ..Self::default() }))
    }

    /// The table `flow_series`. `at` returns for the index of a row its place in `names`; without it, that is the index.
    pub(crate) fn into_table(self, names: &[&str], at: Option<impl Fn(u32) -> u32>) -> Table {
        let mut table = Table::default();
        table.push("t_s", Column::F64(self.t_s)).means("beginning of the bin");
        table
            .push(
                "flow",
                match at {
                    Some(at) => Column::labels(names, self.flow.into_iter().map(at)),
                    None => Column::labels(names, self.flow),
                },
            )
            .means("flow");
        let [goodput, received, again, delay, delay_max, queue, uplink_queue] = self.packets;
        let [window, ssthresh, srtt, rto, in_flight, offered, w_max, k] = self.state;
        for (name, values, title, panel) in [
            ("goodput_mbps", goodput, "goodput", 10),
            ("received_mbps", received, "payload that arrived for the first time", 0),
            ("again_mbps", again, "payload that arrived again", 0),
            ("owd_ms", delay, "one-way delay (mean of bin)", 20),
            ("owd_max_ms", delay_max, "maximum of one-way delay", 0),
            ("cwnd_bytes", window, "congestion window", 40),
            ("ssthresh_bytes", ssthresh, "slow-start threshold", 0),
            ("srtt_ms", srtt, "round-trip time (smoothed, at the sender)", 30),
            ("rto_ms", rto, "retransmission timeout", 0),
            ("in_flight_bytes", in_flight, "bytes in flight", 0),
            ("rlc_queue_bytes", queue, "RLC transmit queue", 50),
            ("rwnd_bytes", offered, "receive window known to the sender", 0),
            ("uplink_queue_bytes", uplink_queue, "uplink transmit queue of the UE", 60),
            ("cubic_w_max_bytes", w_max, "W_max of CUBIC's curve", 0),
            ("cubic_k_s", k, "K of CUBIC's curve", 0),
        ] {
            let column = table.push(name, Column::F64(values)).means(title);
            if panel > 0 {
                column.shown(panel, &[View::Panel]);
            }
        }
        table.push_count("retransmissions", self.retransmissions).means("retransmitted segments");
        table.push_count("lost_segments", self.lost_segments).means("segments that the sender declared lost");
        if let Some([pacing, delivery]) = self.rates {
            table.push("pacing_mbps", Column::F64(pacing)).means("pacing rate");
            table.push("delivery_mbps", Column::F64(delivery)).means("delivery rate");
        }
        table
    }
}

/// The columns of the state of a sender.
fn columns_of(state: &FlowState) -> [f64; FlowSeries::STATE] {
    [
        bytes(state.congestion_window),
        bytes(state.ssthresh),
        duration_ms(state.srtt),
        duration_ms(state.rto),
        bytes(state.in_flight),
        bytes(state.offered_window),
        bytes(state.cubic.map(|curve| curve.w_max)),
        state.cubic.and_then(|curve| curve.k).map_or(f64::NAN, Duration::as_secs_f64),
    ]
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

    /// Takes the rows, if there are at least this many.
    pub(crate) fn take(&mut self, least: usize) -> Option<Self> {
        (self.t_s.len() >= least).then(|| core::mem::take(self))
    }

    pub(crate) fn into_table(self, cell_names: &[&str]) -> Table {
        let mut table = Table::default();
        let [prb_use_downlink, prb_use_uplink] = self.prb_use;
        let [mcs_mean, mcs_mean_uplink] = self.mcs_mean;
        let [mac_downlink_mbps, mac_uplink_mbps] = self.mac_mbps;
        table.push("t_s", Column::F64(self.t_s)).means("beginning of the bin");
        table.push("cell", Column::labels(cell_names, self.cell)).means("cell");
        table
            .push("prb_use_downlink", Column::F64(prb_use_downlink))
            .means("share of the downlink PRBs in use");
        table.push("prb_use_uplink", Column::F64(prb_use_uplink)).means("share of the uplink PRBs in use");
        table.push("mcs_mean", Column::F64(mcs_mean)).means("mean MCS of first transmissions");
        table.push_count("tb_sent", self.blocks).means("transport blocks sent");
        table.push_count("harq_retx", self.retransmissions).means("HARQ retransmissions");
        table
            .push("mac_downlink_mbps", Column::F64(mac_downlink_mbps))
            .means("bits of downlink blocks that arrived");
        table
            .push("mac_uplink_mbps", Column::F64(mac_uplink_mbps))
            .means("bits of uplink blocks that arrived");
        table
            .push("mcs_mean_uplink", Column::F64(mcs_mean_uplink))
            .means("mean MCS of first transmissions, uplink");
        table
    }
}

fn bytes(bytes: Option<Bytes>) -> f64 {
    bytes.map_or(f64::NAN, |bytes| real(bytes.get()))
}

/// The number of rows for which room is made at the start, about 30 MB: in longer runs, the series grow.
const RESERVED_MAX: usize = 200_000;

/// The rows of `count` things in bins of this length that begin before `end`, but at most [`RESERVED_MAX`].
pub(crate) fn reserved_rows(count: usize, end: Instant, bin: Duration) -> usize {
    let bins = usize::try_from(end.as_nanos().div_ceil(bin.as_nanos())).unwrap_or(usize::MAX);
    bins.saturating_mul(count).min(RESERVED_MAX)
}
