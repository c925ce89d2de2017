//! The bytes that reached each UE, and the server from it, per millisecond: the input of delivery
//! traces.

use airlane_core::{Direction, Event, Instant, Packet, Topic, TopicSet};

use crate::RecorderParameters;
use crate::flows::Flows;
use crate::log::{FinishedRun, Log};
use crate::table::{Column, Table, direction_name};

#[derive(Clone, Copy, Debug)]
struct Row {
    /// The end of the millisecond.
    at_ms: u64,
    ue: u32,
    direction: Direction,
    bytes: u64,
}

/// Observes the packets that hosts receive.
#[derive(Debug)]
pub(crate) struct Deliveries {
    /// The name of each UE, or of the host, by index.
    names: Vec<String>,
    /// The UE of each flow.
    flows: Vec<u32>,
    rows: Vec<Row>,
}

impl Deliveries {
    /// An empty log. `flows` gives each flow's UE as an index into `names`.
    fn new(names: Vec<String>, flows: Vec<u32>) -> Self {
        Self { names, flows, rows: Vec::new() }
    }

    fn on_received(&mut self, now: Instant, packet: &Packet) {
        let Some(&ue) = self.flows.get(packet.flow.index()) else { return };
        let (at_ms, direction) = (now.as_nanos().div_ceil(1_000_000), packet.direction);
        // Rows of this millisecond are last, at most one for each UE and direction.
        let of_now = self.rows.iter_mut().rev().take_while(|row| row.at_ms == at_ms);
        match of_now.into_iter().find(|row| row.ue == ue && row.direction == direction) {
            Some(row) => row.bytes += packet.size.get(),
            None => self.rows.push(Row { at_ms, ue, direction, bytes: packet.size.get() }),
        }
    }

    /// The table `deliveries`: bytes of IP packets, by the end of the millisecond of their arrival.
    fn table(&self, rows: &[Row]) -> Table {
        let rows = || rows.iter();
        let mut table = Table::default();
        table.push_count("t_ms", rows().map(|row| row.at_ms)).means("millisecond of arrival, rounded up");
        table
            .push("ue", Column::labels(&self.names, rows().map(|row| row.ue)))
            .means("receiving or sending UE");
        let directions = [Direction::Downlink, Direction::Uplink].map(|d| direction_name(d).to_owned());
        table
            .push("direction", Column::labels(&directions, rows().map(|row| row.direction as u32)))
            .means("direction of the packets");
        table.push_count("ip_bytes", rows().map(|row| row.bytes)).means("bytes of IP packets");
        table
    }
}

impl Log for Deliveries {
    fn requested(parameters: &RecorderParameters) -> Option<Self> {
        parameters.deliveries.then(|| Self::new(parameters.hosts.clone(), parameters.ends()))
    }

    fn topics(&self) -> TopicSet {
        TopicSet::NONE.with(Topic::Received)
    }

    fn observe(&mut self, now: Instant, event: &Event<'_>, _: &Flows) {
        if let Event::Received { packet } = *event {
            self.on_received(now, packet);
        }
    }

    fn extend(&mut self, parameters: &RecorderParameters) {
        (self.names, self.flows) = (parameters.hosts.clone(), parameters.ends());
    }

    /// Those of the latest millisecond stay: more may arrive in it.
    fn take_rows(&mut self, least: usize, _: &RecorderParameters) -> Option<(&'static str, Table)> {
        let latest = self.rows.last()?.at_ms;
        let ended = self.rows.partition_point(|row| row.at_ms < latest);
        let taken: Vec<Row> = (ended >= least).then(|| self.rows.drain(..ended).collect())?;
        Some(("deliveries", self.table(&taken)))
    }

    fn finish(self: Box<Self>, _: &FinishedRun<'_>) -> Vec<(&'static str, Table)> {
        vec![("deliveries", self.table(&self.rows))]
    }
}

#[cfg(test)]
mod tests {
    use airlane_core::{Duration, FlowId, Header, Payload, UdpHeader};

    use super::*;

    #[test]
    fn bytes_are_added_up_by_millisecond_ue_and_direction() {
        let mut deliveries = Deliveries::new(vec!["a".to_owned(), "b".to_owned()], vec![1, 0, 1]);
        let mut receive = |at_us: u64, flow: u32, direction: Direction| {
            let header = Header::Udp(UdpHeader::default());
            let packet = Packet::new(FlowId(flow), direction, header, Payload::Length(72), Instant::ZERO);
            let now = Instant::ZERO + Duration::from_micros(at_us);
            deliveries.on_received(now, &packet);
        };
        let (down, up) = (Direction::Downlink, Direction::Uplink);
        for (at_us, flow, direction) in [
            (1_000, 0, down),
            (1_001, 0, down),
            (1_500, 1, down),
            (1_900, 2, up),
            (2_000, 2, down),
            (2_001, 0, down),
        ] {
            receive(at_us, flow, direction);
        }
        let table = deliveries.table(&deliveries.rows);
        assert_eq!(table.column("t_ms"), Some(&Column::I64(vec![1, 2, 2, 2, 3])));
        assert_eq!(table.column("ip_bytes"), Some(&Column::I64(vec![100, 200, 100, 100, 100])));
        let Some(Column::Labels { of, .. }) = table.column("ue") else { panic!("no labels") };
        assert_eq!(of, &[1, 1, 0, 1, 1]);
    }
}
