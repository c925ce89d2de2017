//! The probe that fills the tables.

use airlane_core::{
    Bytes, CellId, Decibel, Direction, DropCause, Duration, Event, FlowId, HandoverStep, Header, Instant,
    Packet, Probe, Topic, TopicSet, UeId,
};

use crate::cell::{self, Block, CellRecord, Headroom, Radio};
use crate::codes;
use crate::coverage::CoverageLog;
use crate::flow::{self, FlowRecord};
use crate::handover::HandoverLog;
use crate::information::InformationLog;
use crate::pages::{Loaded, PageLog};
use crate::pep::PepLog;
use crate::pings::PingLog;
use crate::returns::{Return, Returns};
use crate::series::{CellSeries, FlowSeries, reserved_rows};
use crate::table::{Column, Table, Throughput, direction_name};
use crate::timeouts::{self, LastSecond, Timeout};
use crate::track::UeSeries;
use crate::verdicts::VerdictLog;
use crate::views::ViewLog;
use crate::{FlowDescription, RecorderParameters};

/// Observes a run and sums its events. It allocates at the start, and afterwards only for data
/// without a known bound (timeouts, delays beyond ten seconds).
pub struct Recorder {
    parameters: RecorderParameters,
    flows: Vec<FlowRecord>,
    returns: Returns,
    cells: Vec<CellRecord>,
    ues: Vec<UeRecord>,
    timeouts: Vec<Timeout>,
    /// Segments declared lost, and packets dropped, by flow.
    recent: Vec<Recent>,
    series: Option<Series>,
    tracks: UeSeries,
    handovers: HandoverLog,
    coverage: CoverageLog,
    pep: PepLog,
    pages: PageLog,
    views: ViewLog,
    pings: PingLog,
    verdicts: VerdictLog,
    information: InformationLog,
    /// The end of the current bin; [`Instant::FAR_FUTURE`] without series.
    bin_end: Instant,
}

#[derive(Debug, Default)]
struct Recent {
    lost: LastSecond,
    dropped: LastSecond,
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

impl Recorder {
    /// A recorder for a run that has not begun.
    ///
    /// # Panics
    /// If the bin of the series is zero.
    #[must_use]
    pub fn new(parameters: RecorderParameters) -> Self {
        let series = parameters.bin.map(|bin| {
            assert!(!bin.is_zero(), "a series needs a bin above zero");
            let rows = |count| reserved_rows(count, parameters.end, bin);
            let mut flows = FlowSeries::with_capacity(rows(parameters.flows.len()));
            if parameters.flows.iter().any(FlowDescription::reports_rates) {
                flows.record_rates();
            }
            let cells = CellSeries::with_capacity(rows(parameters.cells.len()));
            Series { bin, flows, cells }
        });
        let mut returns = Returns::default();
        returns.extend(&parameters);
        Self {
            returns,
            flows: parameters.flows.iter().map(|flow| FlowRecord::new(flow, &parameters)).collect(),
            cells: parameters.cells.iter().cloned().map(CellRecord::new).collect(),
            ues: (0..parameters.ues).map(|_| UeRecord::default()).collect(),
            timeouts: Vec::with_capacity(64),
            recent: parameters.flows.iter().map(|_| Recent::default()).collect(),
            bin_end: parameters.bin.map_or(Instant::FAR_FUTURE, |bin| Instant::ZERO + bin),
            series,
            tracks: UeSeries::default(),
            handovers: HandoverLog::default(),
            coverage: CoverageLog::new(parameters.coverage.len()),
            views: ViewLog::default(),
            pings: PingLog::new(if parameters.pings { parameters.flows.len() } else { 0 }),
            verdicts: VerdictLog::new(parameters.discriminators.len()),
            information: InformationLog::new(if parameters.information { parameters.flows.len() } else { 0 }),
            pep: if parameters.pep {
                let flows = parameters.flows.len();
                PepLog::new(flows, parameters.bin.map_or(0, |bin| reserved_rows(flows, parameters.end, bin)))
            } else {
                PepLog::default()
            },
            pages: PageLog::new(parameters.pages.len()),
            parameters,
        }
    }

    /// Records flows and UEs that were added to the run: the parameters with them, behind all earlier ones.
    ///
    /// # Panics
    /// If a flow or UE is missing that was there before.
    pub fn extend(&mut self, parameters: RecorderParameters) {
        let flows = parameters.flows.len();
        assert!(parameters.flows.starts_with(&self.parameters.flows), "flows are added behind all others");
        assert!(parameters.ues >= self.ues.len(), "UEs are added behind all others");
        let fresh = &parameters.flows[self.flows.len()..];
        self.flows.extend(fresh.iter().map(|flow| FlowRecord::new(flow, &parameters)));
        self.returns.extend(&parameters);
        self.recent.resize_with(flows, Recent::default);
        self.ues.resize_with(parameters.ues, UeRecord::default);
        self.coverage.resize(parameters.coverage.len());
        self.pings.resize(if parameters.pings { flows } else { 0 });
        self.verdicts.resize(parameters.discriminators.len());
        self.information.resize(if parameters.information { flows } else { 0 });
        self.pep.resize(if parameters.pep { flows } else { 0 });
        self.pages.resize(parameters.pages.len());
        self.parameters = parameters;
    }

    /// Ends the run at `end`, if that is before its planned end.
    pub fn end_at(&mut self, end: Instant) {
        self.parameters.end = self.parameters.end.min(end);
        self.flows.iter_mut().for_each(|flow| flow.end_at(end));
        self.returns.all.iter_mut().for_each(|one| one.record.end_at(end));
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
        let flows = self.flows_table();
        let flow_names: Vec<&str> = self.parameters.flows.iter().map(|flow| flow.name.as_str()).collect();
        let cell_names: Vec<&str> = self.parameters.cells.iter().map(|cell| cell.name.as_str()).collect();
        let mut tables = vec![
            ("flows", flows),
            ("cells", cell::table(&self.cells, &self.parameters)),
            ("timeouts", timeouts::table(&self.timeouts, &flow_names)),
        ];
        let has_series = self.series.is_some();
        if let Some(series) = self.series {
            let mut names = flow_names.clone();
            let at = self.returns.add_names(&mut names);
            tables.push(("flow_series", series.flows.into_table(&names, at)));
            tables.push(("cell_series", series.cells.into_table(&cell_names)));
        }
        if !self.parameters.tracked.is_empty() {
            tables.push(("ue_series", self.tracks.into_table(&self.parameters.tracked, &cell_names)));
        }
        if self.parameters.codes {
            let codes: Vec<_> = self.flows.iter().map(|flow| flow.codes).collect();
            tables.push(("codes", codes::table(&flow_names, &codes)));
        }
        if !self.parameters.viewers.is_empty() {
            let (viewers, end) = (&self.parameters.viewers, self.parameters.end);
            tables.push(("views", self.views.into_table(&flow_names, viewers, end)));
        }
        if self.parameters.pings {
            let measured = |flow: FlowId, at| self.flows[flow.index()].measures(at);
            tables.push(("pings", self.pings.table(&flow_names, measured)));
        }
        if !self.parameters.handovers.is_empty() {
            tables.push(("handovers", self.handovers.into_table(&self.parameters.handovers, &cell_names)));
        }
        if !self.parameters.coverage.is_empty() {
            let ues = self.parameters.coverage.iter().zip(&self.ues);
            let ues = ues.map(|(name, ue)| (name.as_str(), &ue.measured, &ue.headroom));
            tables.push(("uplink_power", cell::power_table(ues)));
            tables.push(("outages", self.coverage.into_table(&self.parameters.coverage)));
        }
        if !self.parameters.pages.is_empty() {
            tables.push(("pages", self.pages.table(&flow_names, &self.parameters.pages)));
        }
        if !self.parameters.discriminators.is_empty() {
            tables.push(("verdicts", self.verdicts.table(&flow_names, &self.parameters.discriminators)));
        }
        if self.parameters.information {
            tables.push(("rnis", self.information.table(&flow_names)));
        }
        if self.parameters.pep {
            tables.push(("pep", self.pep.summary(&flow_names)));
            if has_series {
                tables.push(("pep_series", self.pep.into_series(&flow_names)));
            }
        }
        tables
    }

    /// Index, name, description and sums of each row of `flows`.
    fn rows(&self) -> Vec<(usize, &str, &FlowDescription, &FlowRecord)> {
        let flows = self.parameters.flows.iter().zip(&self.flows).enumerate();
        let flows = flows.map(|(index, (flow, record))| (index, flow.name.as_str(), flow, record));
        let returns = self.returns.all.iter().map(|Return { flow, name, record }| {
            (flow.index(), name.as_str(), &self.parameters.flows[flow.index()], record)
        });
        flows.chain(returns).collect()
    }

    fn flows_table(&self) -> Table {
        let mut table = Table::default();
        let rows = self.rows();
        let described = || rows.iter().map(|(_, _, flow, _)| *flow);
        let ue_name = |flow: &'_ FlowDescription| flow.ue.as_ref().map_or("", |(name, _)| name).to_owned();
        table.push_text("flow", rows.iter().map(|(_, name, ..)| *name));
        table.push_text("to", described().map(|flow| flow.to.as_str()));
        table.push("ue", Column::Text(described().map(ue_name).collect()));
        table.push_text("kind", described().map(|flow| flow.kind.as_str()));
        table.push_text("congestion", described().map(|flow| flow.congestion.as_str()));
        table.push_f64("start_s", described().map(|flow| flow.start.as_secs_f64()));
        let records: Vec<&FlowRecord> = rows.iter().map(|(.., record)| *record).collect();
        flow::push_columns(&mut table, &records);
        let count = |flow: usize, counts: fn(&Timeout) -> bool| {
            let own = self.timeouts.iter().filter(|timeout| timeout.flow.index() == flow && counts(timeout));
            own.filter(|timeout| self.flows[flow].measures_timeout(timeout.at)).count() as u64
        };
        let indices = || rows.iter().map(|(index, ..)| *index);
        table.push_count("timeouts", indices().map(|flow| count(flow, |_| true)));
        table.push_count("timeouts_undone", indices().map(|flow| count(flow, |t| t.undone)));
        // The radio of the flow's UE in the data direction, shared by all flows of that UE.
        let blocks = |(_, _, flow, record): &(usize, &str, &FlowDescription, &FlowRecord)| {
            let (_, ue) = flow.ue.as_ref()?;
            Some(self.ues.get(ue.index())?.measured.in_direction(record.direction))
        };
        table.push_f64("mcs_mean", rows.iter().map(|row| blocks(row).map_or(f64::NAN, |b| b.mcs_mean())));
        table.push_count("harq_retx", rows.iter().map(|row| blocks(row).map_or(0, |b| b.retransmissions)));
        flow::push_byte_delays(&mut table, &records);
        table.push_text("direction", records.iter().map(|record| direction_name(record.direction)));
        table.push_text("app", described().map(|flow| flow.app.as_str()));
        if described().any(|flow| !flow.proxies.is_empty()) {
            table.push_text("proxies", described().map(|flow| flow.proxies.as_str()));
        }
        table
    }

    /// Handles the first event after the end of a bin.
    #[cold]
    #[inline(never)]
    fn observe_after(&mut self, now: Instant, event: &Event<'_>) {
        self.close_bins(now);
        self.observe(now, event);
    }

    /// Closes every bin that ends at `now` or before.
    fn close_bins(&mut self, now: Instant) {
        while now >= self.bin_end {
            self.close_bin(self.bin_end);
        }
    }

    #[cold]
    fn close_bin(&mut self, until: Instant) {
        let Some(series) = &mut self.series else { return };
        let from = self.bin_end - series.bin;
        let throughput = Throughput::over(until - from);
        let has_pep = self.parameters.pep;
        for (index, (flow, described)) in self.flows.iter_mut().zip(&self.parameters.flows).enumerate() {
            if described.start >= until || flow.completed_at.is_some_and(|at| at < from) {
                continue;
            }
            let ue = described.ue.as_ref().and_then(|(_, ue)| self.ues.get(ue.index()));
            let queue = ue.and_then(|ue| ue.queue[described.direction as usize]);
            let uplink = ue.and_then(|ue| ue.queue[Direction::Uplink as usize]);
            series.flows.push(throughput, index as u32, flow, [queue, uplink]);
            if has_pep {
                self.pep.push(from, index);
            }
        }
        for (index, one) in self.returns.all.iter_mut().enumerate() {
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

    /// The record of the flow whose data the packet carries.
    #[inline]
    fn data_flow(&mut self, packet: &Packet) -> Option<&mut FlowRecord> {
        let flow = self.flows.get_mut(packet.flow.index())?;
        if packet.payload.is_empty() {
            return None;
        }
        if flow.direction == packet.direction { Some(flow) } else { self.returns.of(packet.flow) }
    }

    fn on_dropped(&mut self, now: Instant, packet: &Packet, cause: DropCause) {
        if cause == DropCause::Endpoint {
            return; // it arrived; a packet that an endpoint could not use is not a loss
        }
        if matches!(packet.header, Header::Signalling) {
            return; // it is not a packet of the flow
        }
        if let Header::Icmp(echo) = packet.header {
            self.pings.on_dropped(packet.flow, echo.serial);
        }
        if let Some(recent) = self.recent.get_mut(packet.flow.index()) {
            recent.dropped.add(now); // acknowledgments too: their loss can cause a timeout
        }
        if let Some(flow) = self.data_flow(packet) {
            flow.on_dropped(now);
            self.verdicts.on_dropped(now, packet, cause);
        }
    }

    fn on_segment_lost(&mut self, now: Instant, flow: FlowId) {
        if let Some(recent) = self.recent.get_mut(flow.index()) {
            recent.lost.add(now);
        }
        if let Some(flow) = self.flow_mut(flow) {
            flow.bin.lost_segments += 1;
        }
    }

    fn on_timeout(&mut self, now: Instant, event: &Event<'_>) {
        let Event::Timeout { flow, rto, congestion_window, in_flight, backoff, in_recovery } = *event else {
            return;
        };
        let Some(recent) = self.recent.get_mut(flow.index()) else { return };
        self.timeouts.push(Timeout {
            at: now,
            flow,
            rto,
            congestion_window,
            in_flight,
            backoff,
            in_recovery,
            lost_last_second: recent.lost.before(now),
            drops_last_second: recent.dropped.before(now),
            undone: false,
            congestion_window_after: None,
        });
    }

    #[inline]
    fn on_flow_state(&mut self, now: Instant, event: &Event<'_>) {
        if let Event::SenderRates { flow, pacing, delivery } = *event {
            return self.with(flow, |flow| flow.state_mut().rates = [pacing, Some(delivery)]);
        }
        let Event::FlowState { flow, congestion_window, ssthresh, in_flight, offered_window, cubic } = *event
        else {
            return;
        };
        timeouts::leave(&mut self.timeouts, flow, now, congestion_window);
        if let Some(flow) = self.flow_mut(flow) {
            let state = flow.state_mut();
            state.congestion_window = Some(congestion_window);
            state.ssthresh = ssthresh;
            state.in_flight = Some(in_flight);
            state.offered_window = offered_window;
            state.cubic = cubic;
        }
    }

    #[inline]
    fn flow_mut(&mut self, flow: FlowId) -> Option<&mut FlowRecord> {
        self.flows.get_mut(flow.index())
    }

    /// Calls `act` with the record of the flow whose data the packet carries.
    #[inline]
    fn with_data(&mut self, packet: &Packet, act: impl FnOnce(&mut FlowRecord)) {
        if let Some(flow) = self.data_flow(packet) {
            act(flow);
        }
    }

    /// Calls `act` with the record of a flow.
    #[inline]
    fn with<R>(&mut self, flow: FlowId, act: impl FnOnce(&mut FlowRecord) -> R) {
        if let Some(flow) = self.flow_mut(flow) {
            act(flow);
        }
    }

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

    fn on_headroom(&mut self, now: Instant, (cell, ue): (CellId, UeId), headroom: Decibel) {
        if self.parameters.warmup < now && now <= self.parameters.end {
            let cell = self.cells.get_mut(cell.index()).map(|cell| &mut cell.headroom);
            let ue = self.ues.get_mut(ue.index()).map(|ue| &mut ue.headroom);
            cell.into_iter().chain(ue).for_each(|sum| sum.add(headroom));
        }
    }

    /// A lost connection carries nothing until it is re-established.
    fn on_handover(&mut self, now: Instant, ue: UeId, attempt: u32, step: HandoverStep) {
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
        self.handovers.add(now, ue, attempt, step);
    }

    /// Events that only some runs record: of applications, of middleboxes, and of messages to senders.
    fn on_asked_for(&mut self, now: Instant, event: &Event<'_>) {
        match *event {
            Event::PageBegan { flow, page } => self.pages.on_began(now, flow, page),
            Event::PageLoaded { flow, first_byte, time, objects, bytes, connections, queries } => {
                let loaded = Loaded { first_byte, time, objects, bytes, connections, queries };
                self.pages.on_loaded(flow, loaded);
            }
            Event::PepMessage { flow, fate } => self.pep.on_message(flow, fate),
            Event::DomainState { flow, internet, ran, pep_srtt } => {
                self.pep.on_state(flow, internet, ran, pep_srtt);
            }
            Event::LossJudged { flow, sent_at, timeout, verdict } => {
                let measured = self.flow_mut(flow).is_some_and(|flow| flow.measures(now));
                self.verdicts.on_judged(flow, sent_at, (timeout, measured), verdict);
            }
            Event::RadioInformation { flow, fate } => self.information.on_notification(flow, fate),
            Event::Playback { flow, view, step } => self.views.add(now, flow, view, step),
            Event::EchoSent { flow, serial, sent_at } => self.pings.on_sent(flow, serial, sent_at),
            Event::EchoAnswered { flow, serial, sent_at } => {
                // It counts where it was sent, so that the mean is that of the rows that are `measured`.
                self.with(flow, |flow| flow.on_rtt(sent_at, now - sent_at));
                self.pings.on_answered(flow, serial, now - sent_at);
            }
            Event::CodeSent { flow, case, code } => {
                self.with(flow, |flow| flow.measures(now).then(|| flow.codes.on_sent(case, code)));
            }
            Event::CodeApplied { flow, code, congestion_window } => {
                let applied = |flow: &mut FlowRecord| flow.codes.on_applied(code, congestion_window);
                self.with(flow, |flow| flow.measures(now).then(|| applied(flow)));
            }
            _ => unreachable!("`observe` sees to every other event"),
        }
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
            .with(Topic::FlowCompleted);
        let summary =
            if self.parameters.tracked.is_empty() { summary } else { summary.with(Topic::UePosition) };
        let summary =
            if self.parameters.handovers.is_empty() { summary } else { summary.with(Topic::Handover) };
        let summary = if self.parameters.pep { summary.with(Topic::Pep) } else { summary };
        let judged = !self.parameters.discriminators.is_empty();
        let summary = if judged { summary.with(Topic::LossJudged) } else { summary };
        let summary =
            if self.parameters.information { summary.with(Topic::RadioInformation) } else { summary };
        let summary = if self.parameters.codes { summary.with(Topic::ReceiverCode) } else { summary };
        let summary = if self.parameters.pages.is_empty() { summary } else { summary.with(Topic::Page) };
        let summary =
            if self.parameters.viewers.is_empty() { summary } else { summary.with(Topic::Playback) };
        let summary = if self.parameters.pings { summary.with(Topic::Echo) } else { summary };
        if self.series.is_none() { summary } else { summary.with(Topic::FlowState).with(Topic::QueueDepth) }
    }

    fn observe(&mut self, now: Instant, event: &Event<'_>) {
        if now >= self.bin_end {
            return self.observe_after(now, event);
        }
        // The path of the most frequent event calls nothing, so that it saves no registers.
        if let Event::Sent { packet, retransmission } = *event {
            return self.with_data(packet, |flow| flow.on_sent(now, packet, retransmission));
        }
        self.observe_other(now, event);
    }
}

impl Recorder {
    /// Observes an event that is not a sent packet.
    #[inline(never)]
    fn observe_other(&mut self, now: Instant, event: &Event<'_>) {
        match *event {
            Event::Delivered { packet, in_order, fresh } => {
                if let Some(flow) = self.data_flow(packet) {
                    flow.on_delivered(now, packet, in_order);
                    flow.bin.add_fresh(Bytes(u64::from(packet.payload.len())), fresh);
                }
            }
            Event::Dropped { packet, cause } => self.on_dropped(now, packet, cause),
            Event::Marked { packet } => self.with_data(packet, |flow| flow.on_marked(now)),
            Event::RttSample { flow, rtt, srtt, rto } => {
                if let Some(flow) = self.flow_mut(flow) {
                    flow.on_rtt(now, rtt);
                    let state = flow.state_mut();
                    (state.srtt, state.rto) = (Some(srtt), Some(rto));
                }
            }
            Event::Timeout { .. } => self.on_timeout(now, event),
            Event::TimeoutUndone { flow, .. } => timeouts::undo(&mut self.timeouts, flow),
            Event::SegmentLost { flow, .. } => self.on_segment_lost(now, flow),
            Event::FlowState { .. } | Event::SenderRates { .. } => self.on_flow_state(now, event),
            Event::FlowSent { flow, started_at } => {
                self.with(flow, |flow| flow.on_last_byte_sent(now, started_at))
            }
            Event::FlowAcknowledged { flow, started_at } => {
                self.with(flow, |flow| flow.on_acknowledged(now, started_at))
            }
            Event::FlowGaveUp { flow } => self.with(flow, |flow| flow.on_given_up(now)),
            Event::FlowCompleted { flow, started_at } => {
                self.with(flow, |flow| flow.on_completed(now, started_at))
            }
            Event::TransportBlock { .. } => self.on_block(now, event),
            Event::PowerHeadroom { cell, ue, headroom } => self.on_headroom(now, (cell, ue), headroom),
            Event::UePosition { ue, position_m, cell } => self.tracks.push(now, ue, position_m, cell),
            Event::Unsent { ue, direction } => self.coverage.on_failure(now, ue, direction),
            Event::Handover { ue, attempt, step } => self.on_handover(now, ue, attempt, step),
            Event::QueueDepth { ue, direction, bytes } => {
                if let Some(ue) = self.ues.get_mut(ue.index()) {
                    ue.queue[direction as usize] = Some(bytes);
                }
            }
            Event::PageBegan { .. }
            | Event::PageLoaded { .. }
            | Event::PepMessage { .. }
            | Event::DomainState { .. }
            | Event::LossJudged { .. }
            | Event::RadioInformation { .. }
            | Event::Playback { .. }
            | Event::EchoSent { .. }
            | Event::EchoAnswered { .. }
            | Event::CodeSent { .. }
            | Event::CodeApplied { .. } => self.on_asked_for(now, event),
            Event::Sent { .. } => unreachable!("`observe` has handled it"),
            Event::Received { .. }
            | Event::Tunnelled { .. }
            | Event::Assigned { .. }
            | Event::Secrets { .. }
            | Event::PathModel { .. }
            | Event::ProxyBuffer { .. }
            | Event::SduDelivered { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests;
