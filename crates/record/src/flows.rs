//! The sums of all flows, and the table `flows`.

use airlane_core::{Direction, FlowId, Instant, Packet, UeId};

use crate::cell::Blocks;
use crate::flow::{self, FlowRecord};
use crate::meaning::{Figure, OverFlows, View};
use crate::returns::{Return, Returns};
use crate::table::{Table, direction_name};
use crate::timeouts::{Timeout, Timeouts};
use crate::{FlowDescription, RecorderParameters};

/// The sums of all flows, by index.
#[derive(Debug)]
pub(crate) struct Flows {
    pub(crate) records: Vec<FlowRecord>,
    pub(crate) returns: Returns,
}

/// A row of `flows`.
struct Row<'a> {
    index: usize,
    name: &'a str,
    flow: &'a FlowDescription,
    record: &'a FlowRecord,
}

impl Flows {
    pub(crate) fn new(parameters: &RecorderParameters) -> Self {
        let mut flows = Self { records: Vec::new(), returns: Returns::default() };
        flows.extend(parameters);
        flows
    }

    /// Adds the flows that are new in the parameters.
    pub(crate) fn extend(&mut self, parameters: &RecorderParameters) {
        let fresh = &parameters.flows[self.records.len()..];
        self.records.extend(fresh.iter().map(|flow| FlowRecord::new(flow, parameters)));
        self.returns.extend(parameters);
    }

    /// The run ends at `end`, if that is before the planned end.
    pub(crate) fn end_at(&mut self, end: Instant) {
        let returns = self.returns.all.iter_mut().map(|one| &mut one.record);
        self.records.iter_mut().chain(returns).for_each(|record| record.end_at(end));
    }

    /// The record of a flow.
    #[inline]
    pub(crate) fn of(&mut self, flow: FlowId) -> Option<&mut FlowRecord> {
        self.records.get_mut(flow.index())
    }

    /// Calls `act` with the record of a flow.
    #[inline]
    pub(crate) fn with(&mut self, flow: FlowId, act: impl FnOnce(&mut FlowRecord)) {
        if let Some(record) = self.of(flow) {
            act(record);
        }
    }

    /// The record of the flow whose data the packet carries.
    #[inline]
    pub(crate) fn of_data(&mut self, packet: &Packet) -> Option<&mut FlowRecord> {
        let record = self.records.get_mut(packet.flow.index())?;
        if packet.payload.is_empty() {
            return None;
        }
        if record.direction == packet.direction { Some(record) } else { self.returns.of(packet.flow) }
    }

    /// Whether the packet carries data of a flow.
    pub(crate) fn is_data(&self, packet: &Packet) -> bool {
        let record = self.records.get(packet.flow.index());
        let in_direction = |record: &FlowRecord| record.direction == packet.direction;
        !packet.payload.is_empty()
            && record.is_some_and(|record| in_direction(record) || self.returns.has(packet.flow))
    }

    /// Whether `at` is in the measured window of a flow.
    pub(crate) fn measures(&self, flow: FlowId, at: Instant) -> bool {
        self.records.get(flow.index()).is_some_and(|record| record.measures(at))
    }

    fn rows<'a>(&'a self, parameters: &'a RecorderParameters) -> Vec<Row<'a>> {
        let flows = parameters.flows.iter().zip(&self.records).enumerate();
        let flows = flows.map(|(index, (flow, record))| Row { index, name: &flow.name, flow, record });
        let returns = self.returns.all.iter().map(|Return { flow, name, record }| Row {
            index: flow.index(),
            name,
            flow: &parameters.flows[flow.index()],
            record,
        });
        flows.chain(returns).collect()
    }

    /// The table `flows`. `blocks` returns the transport blocks of a UE in one direction, inside of the measured window.
    pub(crate) fn table<'a>(
        &self,
        parameters: &RecorderParameters,
        timeouts: &Timeouts,
        blocks: impl Fn(UeId, Direction) -> Option<&'a Blocks>,
    ) -> Table {
        let mut table = Table::default();
        let rows = self.rows(parameters);
        let described = || rows.iter().map(|row| row.flow);
        let ue_name = |flow: &FlowDescription| flow.ue.as_ref().map_or("", |(name, _)| name).to_owned();
        table.push_text("flow", rows.iter().map(|row| row.name)).means("flow");
        table.push_text("to", described().map(|flow| flow.to.as_str())).means("destination of the data");
        table.push_names("ue", described().map(ue_name)).means("UE at one of its ends");
        table.push_text("kind", described().map(|flow| flow.kind.as_str())).means("protocol");
        table
            .push_text("congestion", described().map(|flow| flow.congestion.as_str()))
            .means("congestion controller");
        table.push_f64("start_s", described().map(|flow| flow.start.as_secs_f64())).means("start");
        let records: Vec<&FlowRecord> = rows.iter().map(|row| row.record).collect();
        flow::push_columns(&mut table, &records);
        let count = |flow: usize, counts: fn(&Timeout) -> bool| {
            let own = timeouts.all().iter().filter(|timeout| timeout.flow.index() == flow && counts(timeout));
            own.filter(|timeout| self.records[flow].measures(timeout.at)).count() as u64
        };
        let indices = || rows.iter().map(|row| row.index);
        let expired = table.push_count("timeouts", indices().map(|flow| count(flow, |_| true)));
        expired.means("expired retransmission timers").headed("time-\nouts", ".0f").figure(flow::COUNT);
        expired.shown(100, &[View::Terminal, View::Sweep, View::Compare, View::Tile]).omitted(6);
        let undone = table.push_count("timeouts_undone", indices().map(|flow| count(flow, |t| t.undone)));
        undone.means("timeouts found to be spurious");
        // The radio of the flow's UE in the data direction, shared by all flows of that UE.
        let blocks = |row: &Row<'_>| blocks(row.flow.ue.as_ref()?.1, row.record.direction);
        let mcs = rows.iter().map(|row| blocks(row).map_or(f64::NAN, Blocks::mcs_mean));
        let mcs = table.push_f64("mcs_mean", mcs);
        mcs.means("MCS of the first transmissions").headed("MCS", ".1f");
        mcs.figure(Figure { over_flows: Some(OverFlows::Mean), ..Figure::NEUTRAL });
        mcs.shown(130, &[View::Terminal]).omitted(4);
        let again = rows.iter().map(|row| blocks(row).map_or(0, |b| b.retransmissions));
        let again = table.push_count("harq_retx", again);
        again.means("HARQ retransmissions").headed("HARQ\nretx", ".0f");
        again.figure(Figure { over_flows: Some(OverFlows::Sum), ..Figure::NEUTRAL });
        again.shown(140, &[View::Terminal]).omitted(1);
        flow::push_byte_delays(&mut table, &records);
        table
            .push_text("direction", records.iter().map(|record| direction_name(record.direction)))
            .means("direction of the data");
        table.push_text("app", described().map(|flow| flow.app.as_str())).means("application");
        if described().any(|flow| !flow.proxies.is_empty()) {
            table
                .push_text("proxies", described().map(|flow| flow.proxies.as_str()))
                .means("split proxies that end its connections");
        }
        table
    }
}
