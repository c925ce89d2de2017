//! Echo messages: round-trip times and losses.

use airlane_core::{DropCause, Duration, Event, FlowId, Header, Instant, Topic, TopicSet};

use crate::RecorderParameters;
use crate::flow::duration_ms;
use crate::flows::Flows;
use crate::log::{FinishedRun, Log};
use crate::table::{Column, Table};

/// One echo message.
#[derive(Clone, Copy, Debug)]
struct Ping {
    flow: FlowId,
    serial: u64,
    sent_at: Instant,
    round_trip: Option<Duration>,
    lost: bool,
}

/// Every echo message, in the order in which they were sent.
#[derive(Debug, Default)]
pub(crate) struct PingLog {
    pings: Vec<Ping>,
    /// The indices of each flow's echo messages, by their number.
    places: Vec<Vec<usize>>,
}

impl PingLog {
    /// Makes room for this many flows.
    pub(crate) fn resize(&mut self, flows: usize) {
        self.places.resize(flows, Vec::new());
    }

    pub(crate) fn new(flows: usize) -> Self {
        Self { pings: Vec::new(), places: vec![Vec::new(); flows] }
    }

    pub(crate) fn on_sent(&mut self, flow: FlowId, serial: u64, sent_at: Instant) {
        if let Some(places) = self.places.get_mut(flow.index()) {
            assert_eq!(places.len() as u64, serial, "echo messages are counted from 0");
            places.push(self.pings.len());
            self.pings.push(Ping { flow, serial, sent_at, round_trip: None, lost: false });
        }
    }

    pub(crate) fn on_answered(&mut self, flow: FlowId, serial: u64, round_trip: Duration) {
        if let Some(ping) = self.of(flow, serial) {
            ping.round_trip = Some(round_trip);
        }
    }

    /// The echo message or its reply was dropped.
    pub(crate) fn on_dropped(&mut self, flow: FlowId, serial: u64) {
        if let Some(ping) = self.of(flow, serial) {
            ping.lost = true;
        }
    }

    fn of(&mut self, flow: FlowId, serial: u64) -> Option<&mut Ping> {
        let place = self.places.get(flow.index())?.get(usize::try_from(serial).ok()?)?;
        self.pings.get_mut(*place)
    }

    /// The table `pings`: one row per echo message. `measured` returns whether the summary of a flow includes
    /// an instant.
    pub(crate) fn table(&self, flow_names: &[&str], measured: impl Fn(FlowId, Instant) -> bool) -> Table {
        let mut table = Table::default();
        let all = || self.pings.iter();
        table.push_text("flow", all().map(|ping| flow_names[ping.flow.index()])).means("flow");
        table
            .push_count("sequence", all().map(|ping| ping.serial + 1))
            .means("number of the request, from 1"); // as ping(8) counts
        table.push_f64("t_s", all().map(|ping| ping.sent_at.as_secs_f64())).means("sending of the request");
        table.push_f64("rtt_ms", all().map(|ping| duration_ms(ping.round_trip))).means("round-trip time");
        table
            .push("lost", Column::Bool(all().map(|ping| ping.lost).collect()))
            .means("whether the request or its reply was dropped");
        table
            .push("measured", Column::Bool(all().map(|ping| measured(ping.flow, ping.sent_at)).collect()))
            .means("whether the summary counts it");
        table
    }
}

impl Log for PingLog {
    fn requested(parameters: &RecorderParameters) -> Option<Self> {
        parameters.pings.then(|| Self::new(parameters.flows.len()))
    }

    fn topics(&self) -> TopicSet {
        TopicSet::NONE.with(Topic::Echo).with(Topic::Dropped)
    }

    fn observe(&mut self, now: Instant, event: &Event<'_>, _: &Flows) {
        match *event {
            Event::EchoSent { flow, serial, sent_at } => self.on_sent(flow, serial, sent_at),
            Event::EchoAnswered { flow, serial, sent_at } => self.on_answered(flow, serial, now - sent_at),
            Event::Dropped { packet, cause } if cause != DropCause::Endpoint => {
                if let Header::Icmp(echo) = packet.header {
                    self.on_dropped(packet.flow, echo.serial);
                }
            }
            _ => {}
        }
    }

    fn extend(&mut self, parameters: &RecorderParameters) {
        self.resize(parameters.flows.len());
    }

    fn finish(self: Box<Self>, run: &FinishedRun<'_>) -> Vec<(&'static str, Table)> {
        let measured = |flow, at| run.flows.measures(flow, at);
        vec![("pings", self.table(&run.flow_names(), measured))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_answered_lost_or_open() {
        let (ms, mut log) = (Instant::from_millis, PingLog::new(2));
        log.on_sent(FlowId(1), 0, ms(0));
        log.on_sent(FlowId(1), 1, ms(100));
        log.on_sent(FlowId(0), 0, ms(150));
        log.on_sent(FlowId(1), 2, ms(200));
        log.on_dropped(FlowId(1), 0);
        log.on_answered(FlowId(1), 1, Duration::from_millis(40));
        log.on_answered(FlowId(0), 7, Duration::from_millis(1)); // never sent
        let table = log.table(&["a", "b"], |_, at| at >= ms(150));
        let names = ["b", "b", "a", "b"].map(str::to_owned).to_vec();
        assert_eq!(table.column("flow"), Some(&Column::Text(names)));
        assert_eq!(table.column("sequence"), Some(&Column::I64(vec![1, 2, 1, 3])));
        assert_eq!(table.column("t_s"), Some(&Column::F64(vec![0.0, 0.1, 0.15, 0.2])));
        let Some(Column::F64(rtt)) = table.column("rtt_ms") else { panic!("numbers") };
        assert_eq!(rtt.iter().map(|t| t.is_finite()).collect::<Vec<_>>(), [false, true, false, false]);
        assert_eq!(rtt[1], 40.0);
        assert_eq!(table.column("lost"), Some(&Column::Bool(vec![true, false, false, false])));
        assert_eq!(table.column("measured"), Some(&Column::Bool(vec![false, false, true, true])));
    }
}
