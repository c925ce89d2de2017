//! The losses of each flow in the network: runs of consecutively sent packets.

use airlane_core::{Direction, DropCause, Event, Header, Instant, Packet, Topic, TopicSet};

use crate::RecorderParameters;
use crate::flows::Flows;
use crate::log::{FinishedRun, Log};
use crate::table::{Column, Table};

/// Consecutively sent packets of a flow, none of which arrived.
#[derive(Clone, Copy, Debug)]
struct Burst {
    flow: u32,
    direction: Direction,
    /// When the first of them was dropped, and when it was sent.
    at: Instant,
    sent_at: Instant,
    /// Positions in units of their headers, bytes or datagrams: the first of them, and the one after
    /// the last.
    from: u64,
    until: u64,
    packets: u64,
    cause: DropCause,
}

/// Observes drops of packets with payload.
#[derive(Debug)]
pub(crate) struct Losses {
    flows: Vec<String>,
    bursts: Vec<Burst>,
    /// The latest burst of each flow and direction.
    latest: Vec<[Option<usize>; 2]>,
}

impl Losses {
    /// An empty log.
    fn new(flows: Vec<String>) -> Self {
        Self { latest: vec![[None; 2]; flows.len()], flows, bursts: Vec::new() }
    }

    /// The table `losses`: one row per run of packets, in the order of the first drop of each.
    fn table(self) -> Table {
        let all = || self.bursts.iter();
        let mut table = Table::default();
        table.push_f64("t_s", all().map(|burst| burst.at.as_secs_f64())).means("drop of the first packet");
        table.push("flow", Column::labels(&self.flows, all().map(|burst| burst.flow))).means("flow");
        let directions = ["downlink", "uplink"].map(str::to_owned);
        table
            .push("direction", Column::labels(&directions, all().map(|burst| burst.direction as u32)))
            .means("direction of the packets");
        table
            .push_f64("sent_s", all().map(|burst| burst.sent_at.as_secs_f64()))
            .means("sending of the first packet");
        table.push_count("packets", all().map(|burst| burst.packets)).means("consecutive packets");
        let causes = DropCause::NAMES.map(str::to_owned);
        table.push("cause", Column::labels(&causes, all().map(|burst| burst.cause as u32))).means("cause");
        table
    }

    fn on_dropped(&mut self, now: Instant, packet: &Packet, cause: DropCause) {
        if cause == DropCause::Endpoint || packet.payload.is_empty() {
            return;
        }
        let Some(latest) = self.latest.get_mut(packet.flow.index()) else { return };
        let (from, length) = match &packet.header {
            Header::Tcp(tcp) => (u64::from(tcp.sequence), u64::from(packet.payload.len())),
            Header::Udp(udp) => (udp.serial, 1),
            Header::Icmp(echo) => (echo.serial, 1),
            Header::Other { .. } => (0, 1), // not numbered: each is a burst
            Header::Signalling => return,
        };
        let latest = &mut latest[packet.direction as usize];
        if let Some(burst) = latest.map(|index| &mut self.bursts[index])
            && burst.cause == cause
        {
            // The packets in one block are dropped in any order.
            if from == burst.until || from + length == burst.from {
                (burst.from, burst.until) = (burst.from.min(from), burst.until.max(from + length));
                burst.packets += 1;
                return;
            }
        }
        *latest = Some(self.bursts.len());
        self.bursts.push(Burst {
            flow: packet.flow.0,
            direction: packet.direction,
            at: now,
            sent_at: packet.sent_at,
            from,
            until: from + length,
            packets: 1,
            cause,
        });
    }
}

impl Log for Losses {
    fn requested(parameters: &RecorderParameters) -> Option<Self> {
        parameters.losses.then(|| Self::new(parameters.flow_names()))
    }

    fn topics(&self) -> TopicSet {
        TopicSet::NONE.with(Topic::Dropped)
    }

    fn observe(&mut self, now: Instant, event: &Event<'_>, _: &Flows) {
        if let Event::Dropped { packet, cause } = *event {
            self.on_dropped(now, packet, cause);
        }
    }

    fn extend(&mut self, parameters: &RecorderParameters) {
        self.flows = parameters.flow_names();
        self.latest.resize(self.flows.len(), [None; 2]);
    }

    fn finish(self: Box<Self>, _: &FinishedRun<'_>) -> Vec<(&'static str, Table)> {
        vec![("losses", self.table())]
    }
}

#[cfg(test)]
mod tests {
    use airlane_core::{Duration, FlowId, Payload, TcpHeader, UdpHeader};

    use super::*;

    fn dropped(losses: &mut Losses, ms: u64, packet: &Packet, cause: DropCause) {
        losses.on_dropped(Instant::ZERO + Duration::from_millis(ms), packet, cause);
    }

    fn packet(flow: u32, header: Header) -> Packet {
        Packet::new(FlowId(flow), Direction::Downlink, header, Payload::Length(100), Instant::ZERO)
    }

    #[test]
    fn neighbours_that_are_lost_alike_are_one_row() {
        let mut losses = Losses::new(vec!["quic".to_owned(), "tcp".to_owned()]);
        let datagram = |serial| packet(0, Header::Udp(UdpHeader { serial }));
        let segment = |sequence| packet(1, Header::Tcp(TcpHeader { sequence, ..TcpHeader::default() }));
        for (ms, serial) in [(1, 5), (1, 7), (1, 6), (9, 8), (20, 10)] {
            dropped(&mut losses, ms, &datagram(serial), DropCause::Radio);
        }
        dropped(&mut losses, 21, &datagram(11), DropCause::QueueFull);
        dropped(&mut losses, 22, &datagram(12), DropCause::Endpoint);
        for sequence in [1000, 1100, 1300] {
            dropped(&mut losses, 30, &segment(sequence), DropCause::QueueManagement);
        }
        let table = losses.table();
        // 5; 7, 6 and 8 but not 5, which the run no longer touches; 10; 11 for another cause; two
        // segments; one.
        assert_eq!(table.column("packets"), Some(&Column::I64(vec![1, 3, 1, 1, 2, 1])));
    }

    #[test]
    fn what_has_no_payload_is_no_loss() {
        let mut losses = Losses::new(vec!["tcp".to_owned()]);
        let mut acknowledgment = packet(0, Header::Tcp(TcpHeader::default()));
        acknowledgment.payload = Payload::Length(0);
        dropped(&mut losses, 1, &acknowledgment, DropCause::Radio);
        assert_eq!(losses.table().rows(), 0);
    }
}
