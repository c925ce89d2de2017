//! The probe that fills the tables.

use airlane_core::{
    Bytes, CellId, Decibel, Direction, DropCause, Duration, Event, HandoverStep, Header, Instant, Probe,
    Topic, TopicSet, UeId,
};

use crate::RecorderParameters;
use crate::cell::{self, Block, CellRecord, Headroom, Radio};
use crate::coverage::CoverageLog;
use crate::flows::Flows;
use crate::log::{FinishedRun, Logs};
use crate::returns::Returns;
use crate::series::{CellSeries, FlowSeries, reserved_rows};
use crate::table::{Table, Throughput};
use crate::timeouts::Timeouts;

/// Topics whose events are too frequent to look for a log of them. If a log wants one, the recorder takes a slower
/// path.
const FREQUENT: TopicSet = TopicSet::NONE
    .with(Topic::Sent)
    .with(Topic::Delivered)
    .with(Topic::RttSample)
    .with(Topic::FlowState)
    .with(Topic::QueueDepth)
    .with(Topic::TransportBlock);

/// Observes a run and sums its events. The tables of every run are fields, which are called directly; those that only
/// some runs have are logs. It allocates at the start, and afterwards only for data without a known bound (timeouts,
/// delays beyond ten seconds, logs).
pub struct Recorder {
    parameters: RecorderParameters,
    flows: Flows,
    cells: Vec<CellRecord>,
    ues: Vec<UeRecord>,
    timeouts: Timeouts,
    coverage: CoverageLog,
    series: Option<Series>,
    logs: Logs,
    /// The end of the current bin; [`Instant::FAR_FUTURE`] without series.
    bin_end: Instant,
    /// The time from which on events take the slower path: the end of the bin, or zero if a log wants frequent topics.
    slow_from: Instant,
}

#[derive(Debug, Default)]
struct UeRecord {
    measured: Radio,
    headroom: Headroom,
    /// Downlink and uplink.
    queue: [Option<Bytes>; 2],
}

struct Series {
    bin: Duration,
    flows: FlowSeries,
    cells: CellSeries,
}

impl Series {
    fn new(parameters: &RecorderParameters, bin: Duration) -> Self {
        assert!(!bin.is_zero(), "a series needs a bin above zero");
        let rows = |count| reserved_rows(count, parameters.end, bin);
        let mut flows = FlowSeries::with_capacity(rows(parameters.flows.len()));
        if parameters.flows.iter().any(|flow| flow.reports_rates()) {
            flows.record_rates();
        }
        Self { bin, flows, cells: CellSeries::with_capacity(rows(parameters.cells.len())) }
    }
}

impl Recorder {
    /// The names of UEs.
    #[must_use]
    pub fn hosts(&self) -> &[String] {
        &self.parameters.hosts
    }

    /// A recorder for a run that has not begun.
    ///
    /// # Panics
    /// If the bin of the series is zero.
    #[must_use]
    pub fn new(parameters: RecorderParameters) -> Self {
        let mut recorder = Self {
            flows: Flows::new(&parameters),
            cells: parameters.cells.iter().cloned().map(CellRecord::new).collect(),
            ues: (0..parameters.ues).map(|_| UeRecord::default()).collect(),
            timeouts: Timeouts::new(parameters.flows.len()),
            coverage: CoverageLog::new(parameters.ues),
            series: parameters.bin.map(|bin| Series::new(&parameters, bin)),
            logs: Logs::new(&parameters),
            bin_end: parameters.bin.map_or(Instant::FAR_FUTURE, |bin| Instant::ZERO + bin),
            slow_from: Instant::ZERO,
            parameters,
        };
        recorder.set_slow_from();
        recorder
    }

    /// Records flows and UEs that were added to the run: the parameters with them, behind all earlier ones.
    ///
    /// # Panics
    /// If a flow or UE is missing that was there before.
    pub fn extend(&mut self, parameters: RecorderParameters) {
        assert!(parameters.flows.starts_with(&self.parameters.flows), "flows are added behind all others");
        assert!(parameters.ues >= self.ues.len(), "UEs are added behind all others");
        self.flows.extend(&parameters);
        self.timeouts.resize(parameters.flows.len());
        self.ues.resize_with(parameters.ues, UeRecord::default);
        self.coverage.resize(parameters.ues);
        self.logs.extend(&parameters);
        self.set_slow_from();
        self.parameters = parameters;
    }

    /// Ends the run at `end`, if that is before its planned end.
    pub fn end_at(&mut self, end: Instant) {
        self.parameters.end = self.parameters.end.min(end);
        self.flows.end_at(end);
    }

    /// Takes the rows so far of each long table that has at least this many, by its name: the series by bin and by UE, and
    /// the logs of blocks and deliveries. [`Self::finish`] then has the others.
    pub fn take_rows(&mut self, least: usize) -> Vec<(&'static str, Table)> {
        let mut taken = Vec::new();
        if let Some(series) = &mut self.series {
            if let Some(rows) = series.flows.take(least) {
                let run = FinishedRun { parameters: &self.parameters, flows: &self.flows };
                let mut names = run.flow_names();
                let at = self.flows.returns.add_names(&mut names);
                taken.push(("flow_series", rows.into_table(&names, at)));
            }
            if let Some(rows) = series.cells.take(least) {
                taken.push(("cell_series", rows.into_table(&self.parameters.cell_names())));
            }
        }
        taken.extend(self.logs.take_rows(least, &self.parameters));
        taken
    }

    /// The tables, by name, once the run has reached its end.
    #[must_use]
    pub fn finish(mut self) -> Vec<(&'static str, Table)> {
        self.close_bins(self.parameters.end);
        if let Some(series) = &self.series
            && self.parameters.end > self.bin_end - series.bin
        {
            self.close_bin(self.parameters.end); // the run ends within a bin
        }
        let run = FinishedRun { parameters: &self.parameters, flows: &self.flows };
        let (mut names, cell_names) = (run.flow_names(), run.cell_names());
        let measured = |ue: UeId, direction| Some(self.ues.get(ue.index())?.measured.in_direction(direction));
        let mut tables = vec![
            ("flows", self.flows.table(&self.parameters, &self.timeouts, measured)),
            ("cells", cell::table(&self.cells, &self.parameters)),
            ("timeouts", self.timeouts.table(&names)),
        ];
        if let Some(series) = self.series {
            let at = self.flows.returns.add_names(&mut names);
            tables.push(("flow_series", series.flows.into_table(&names, at)));
            tables.push(("cell_series", series.cells.into_table(&cell_names)));
        }
        if !self.ues.is_empty() {
            let ues = self.parameters.hosts.iter().zip(&self.ues);
            let ues = ues.map(|(name, ue)| (name.as_str(), &ue.measured, &ue.headroom));
            tables.push(("uplink_power", cell::power_table(ues)));
            tables.push(("outages", self.coverage.into_table(&self.parameters.hosts)));
        }
        tables.extend(self.logs.finish(&run));
        tables
    }

    /// Sets when events take the slower path.
    fn set_slow_from(&mut self) {
        let topics = self.logs.topics();
        let is_quiet = topics.without(FREQUENT) == topics;
        self.slow_from = if is_quiet { self.bin_end } else { Instant::ZERO };
    }

    /// Closes the bins that have ended before an event, and passes it also to logs of frequent topics.
    #[cold]
    #[inline(never)]
    fn observe_slowly(&mut self, now: Instant, event: &Event<'_>) {
        self.close_bins(now);
        self.observe_directly(now, event);
        if FREQUENT.wants(event.topic()) {
            self.logs.observe(now, event, &self.flows);
        }
    }

    /// Closes every bin that ends at `now` or before.
    fn close_bins(&mut self, now: Instant) {
        if now < self.bin_end {
            return;
        }
        while now >= self.bin_end {
            self.close_bin(self.bin_end);
        }
        self.set_slow_from();
    }

    #[cold]
    fn close_bin(&mut self, until: Instant) {
        let Some(series) = &mut self.series else { return };
        let from = self.bin_end - series.bin;
        let throughput = Throughput::over(until - from);
        for (index, (flow, described)) in
            self.flows.records.iter_mut().zip(&self.parameters.flows).enumerate()
        {
            if described.start >= until || flow.completed_at.is_some_and(|at| at < from) {
                continue;
            }
            let ue = described.ue.as_ref().and_then(|(_, ue)| self.ues.get(ue.index()));
            let queue = ue.and_then(|ue| ue.queue[described.direction as usize]);
            let uplink = ue.and_then(|ue| ue.queue[Direction::Uplink as usize]);
            series.flows.push(throughput, index as u32, flow, [queue, uplink]);
        }
        for (index, one) in self.flows.returns.all.iter_mut().enumerate() {
            let described = &self.parameters.flows[one.flow.index()];
            if described.start >= until {
                continue;
            }
            let ue = described.ue.as_ref().and_then(|(_, ue)| self.ues.get(ue.index()));
            let queue = |direction| ue.and_then(|ue| ue.queue[direction as usize]);
            let queues = [queue(one.record.direction), queue(Direction::Uplink)];
            series.flows.push(throughput, Returns::row(index), &mut one.record, queues);
        }
        series.flows.end_bin(from);
        for (index, cell) in self.cells.iter_mut().enumerate() {
            series.cells.push(from..until, index as u32, cell);
        }
        self.bin_end += series.bin;
    }

    #[inline(never)]
    fn on_delivered(&mut self, now: Instant, event: &Event<'_>) {
        let Event::Delivered { packet, in_order, fresh } = *event else { return };
        if let Some(flow) = self.flows.of_data(packet) {
            flow.bin.add_fresh(Bytes(u64::from(packet.payload.len())), fresh);
            flow.on_delivered(now, packet, in_order);
        }
    }

    #[inline(never)]
    fn on_dropped(&mut self, now: Instant, event: &Event<'_>) {
        let Event::Dropped { packet, cause } = *event else { return };
        // A packet that an endpoint could not use has arrived, and a message of the network is no packet of the flow.
        if cause != DropCause::Endpoint && !matches!(packet.header, Header::Signalling) {
            self.timeouts.on_dropped(now, packet.flow);
            if let Some(flow) = self.flows.of_data(packet) {
                flow.on_dropped(now);
            }
        }
        self.logs.observe(now, event, &self.flows);
    }

    #[inline(never)]
    fn on_flow_state(&mut self, now: Instant, event: &Event<'_>) {
        let Event::FlowState { flow, congestion_window, ssthresh, in_flight, offered_window, cubic } = *event
        else {
            return;
        };
        self.timeouts.on_window(now, flow, congestion_window);
        if let Some(flow) = self.flows.of(flow) {
            let state = flow.state_mut();
            state.congestion_window = Some(congestion_window);
            state.ssthresh = ssthresh;
            state.in_flight = Some(in_flight);
            state.offered_window = offered_window;
            state.cubic = cubic;
        }
    }

    #[inline(never)]
    fn on_block(&mut self, now: Instant, event: &Event<'_>) {
        let Event::TransportBlock {
            cell,
            ue,
            direction,
            mcs,
            prbs,
            bytes,
            attempt,
            decoded,
            power_limited,
            ..
        } = *event
        else {
            return;
        };
        let (cell, bytes) = (cell.index(), bytes.get());
        let block = &Block { mcs, prbs, bytes, attempt, decoded, power_limited };
        // A block is reported when it is received: its slot ends now.
        let measured = self.parameters.warmup < now && now <= self.parameters.end;
        self.coverage.on_block(now, ue, direction, block.decoded);
        let Some(cell) = self.cells.get_mut(cell) else { return };
        cell.add(direction, block, measured);
        if measured && let Some(ue) = self.ues.get_mut(ue.index()) {
            ue.measured.of(direction).add(block, cell.description.harq_transmissions);
        }
    }

    fn on_headroom(&mut self, now: Instant, cell: CellId, ue: UeId, headroom: Decibel) {
        if self.parameters.warmup < now && now <= self.parameters.end {
            let cell = self.cells.get_mut(cell.index()).map(|cell| &mut cell.headroom);
            let ue = self.ues.get_mut(ue.index()).map(|ue| &mut ue.headroom);
            cell.into_iter().chain(ue).for_each(|sum| sum.add(headroom));
        }
    }

    /// A lost connection carries nothing until it is re-established.
    fn on_handover(&mut self, now: Instant, ue: UeId, step: HandoverStep) {
        if matches!(
            step,
            HandoverStep::LinkFailed { .. }
                | HandoverStep::AccessFailed
                | HandoverStep::Reestablished { .. }
                | HandoverStep::Released
        ) {
            self.coverage.on_failure(now, ue, Direction::Downlink);
            self.coverage.on_failure(now, ue, Direction::Uplink);
        }
    }

    #[inline(always)]
    fn observe_directly(&mut self, now: Instant, event: &Event<'_>) {
        // The path of the most frequent event calls nothing, so that it saves no registers.
        if let Event::Sent { packet, retransmission } = *event {
            if let Some(flow) = self.flows.of_data(packet) {
                flow.on_sent(now, packet, retransmission);
            }
            return;
        }
        self.observe_other(now, event);
    }

    /// Observes an event that is not a sent packet. Each case ends with a call, or with none.
    #[inline(never)]
    fn observe_other(&mut self, now: Instant, event: &Event<'_>) {
        match *event {
            Event::Delivered { .. } => self.on_delivered(now, event),
            Event::RttSample { flow, rtt, srtt, rto } => {
                if let Some(flow) = self.flows.of(flow) {
                    flow.on_rtt(now, rtt);
                    let state = flow.state_mut();
                    (state.srtt, state.rto) = (Some(srtt), Some(rto));
                }
            }
            Event::FlowState { .. } => self.on_flow_state(now, event),
            Event::QueueDepth { ue, direction, bytes } => {
                if let Some(ue) = self.ues.get_mut(ue.index()) {
                    ue.queue[direction as usize] = Some(bytes);
                }
            }
            Event::TransportBlock { .. } => self.on_block(now, event),
            Event::Dropped { .. } => self.on_dropped(now, event),
            _ => self.observe_rare(now, event),
        }
    }

    /// Observes an event of any other topic, also for the logs.
    #[inline(never)]
    fn observe_rare(&mut self, now: Instant, event: &Event<'_>) {
        match *event {
            Event::Unsent { ue, direction } => return self.coverage.on_failure(now, ue, direction),
            Event::SenderRates { flow, pacing, delivery } => {
                return self.flows.with(flow, |flow| flow.state_mut().rates = [pacing, Some(delivery)]);
            }
            Event::Marked { packet } => {
                if let Some(flow) = self.flows.of_data(packet) {
                    flow.on_marked(now);
                }
            }
            Event::Timeout { .. } => self.timeouts.on_timeout(now, event),
            Event::TimeoutUndone { flow, .. } => self.timeouts.undo(flow),
            Event::SegmentLost { flow, .. } => {
                self.timeouts.on_segment_lost(now, flow);
                self.flows.with(flow, |flow| flow.bin.lost_segments += 1);
            }
            Event::FlowSent { flow, started_at } => {
                self.flows.with(flow, |flow| flow.on_last_byte_sent(now, started_at));
            }
            Event::FlowAcknowledged { flow, started_at } => {
                self.flows.with(flow, |flow| flow.on_acknowledged(now, started_at));
            }
            Event::FlowGaveUp { flow } => self.flows.with(flow, |flow| flow.on_given_up(now)),
            Event::FlowCompleted { flow, started_at } => {
                self.flows.with(flow, |flow| flow.on_completed(now, started_at));
            }
            // It counts where it was sent, so that the mean is that of the pings that are `measured`.
            Event::EchoAnswered { flow, sent_at, .. } => {
                self.flows.with(flow, |flow| flow.on_rtt(sent_at, now - sent_at));
            }
            Event::PowerHeadroom { cell, ue, headroom } => self.on_headroom(now, cell, ue, headroom),
            Event::Handover { ue, step, .. } => self.on_handover(now, ue, step),
            _ => {}
        }
        self.logs.observe(now, event, &self.flows);
    }
}

impl Probe for Recorder {
    fn topics(&self) -> TopicSet {
        let summary = TopicSet::NONE
            .with(Topic::Delivered)
            .with(Topic::Sent)
            .with(Topic::Dropped)
            .with(Topic::Marked)
            .with(Topic::RttSample)
            .with(Topic::Timeout)
            .with(Topic::SegmentLost)
            .with(Topic::TransportBlock)
            .with(Topic::PowerHeadroom)
            .with(Topic::FlowCompleted)
            .union(self.logs.topics());
        if self.series.is_none() { summary } else { summary.with(Topic::FlowState).with(Topic::QueueDepth) }
    }

    fn observe(&mut self, now: Instant, event: &Event<'_>) {
        if now >= self.slow_from {
            return self.observe_slowly(now, event);
        }
        self.observe_directly(now, event);
    }
}

#[cfg(test)]
mod tests;
