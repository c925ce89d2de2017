//! The two ends of a one-way transfer over TCP.

use airlane_core::{
    BitRate, Bytes, Cx, DropCause, Event, FlowId, Header, Instant, Node, PacketRef, Port, Topic,
};
use airlane_net::pep;
use airlane_net::rni::Consumer;
use airlane_transport::{Path, TcpConfig, TcpEndpoint, TcpStats};

use crate::Datagrams;
use crate::information::{INFORMATION, Listener};
use crate::pep_message;

/// How much an application sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// The sender always has more data.
    Bulk,
    /// The sender sends this many bytes, then it closes.
    Fixed(Bytes),
}

/// The rate at which an application writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As fast as the transport accepts.
    Everything,
    /// At this rate, [`WRITE`] at a time.
    Rate(BitRate),
    /// No data.
    Nothing,
}

/// A change of the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writes {
    /// The time.
    pub at: Instant,
    /// The rate from then on.
    pub pace: Pace,
}

/// The size of a write at a limited rate: the payload of a segment of 1500 bytes with timestamps.
pub const WRITE: Bytes = Bytes(1448);

/// Connects at its start time and sends.
#[derive(Debug)]
pub struct TcpSource {
    endpoint: TcpEndpoint,
    /// Authenticates the messages of a PEP; without it, they are ignored.
    pep: Option<pep::Receiver>,
    information: Option<Listener>,
    transfer: Transfer,
    flow: FlowId,
    start: Option<Instant>,
    stop: Option<Instant>,
    /// Future changes of the application's rate, the last first.
    writes: Vec<Writes>,
    /// The writes of the application, if its rate is limited.
    writing: Option<Writing>,
    /// The time of its next write; [`Instant::FAR_FUTURE`] if its rate is not limited.
    write_at: Instant,
    /// The state of a finite transfer from its start until its end is acknowledged.
    finishing: Option<Finishing>,
}

/// The events of a finite transfer that are still to be reported by its sender.
#[derive(Clone, Copy, Debug)]
struct Finishing {
    started_at: Instant,
    sent: bool,
}

/// How an application with a limited rate writes.
#[derive(Debug)]
enum Writing {
    /// At a constant rate.
    Rate(BitRate),
    /// As datagrams would be sent.
    Process(Box<Datagrams>),
}

impl TcpSource {
    /// A sender that connects at `start`, and closes at `stop` if it has not finished before.
    #[must_use]
    pub fn new(
        config: TcpConfig,
        path: Path,
        transfer: Transfer,
        start: Instant,
        stop: Option<Instant>,
    ) -> Self {
        let endpoint = TcpEndpoint::new(config, path);
        Self {
            endpoint,
            pep: None,
            information: None,
            transfer,
            flow: path.flow,
            start: Some(start),
            stop,
            writes: Vec::new(),
            writing: None,
            write_at: Instant::FAR_FUTURE,
            finishing: None,
        }
    }

    /// The sender with an application whose rate is limited at times; changes before its start apply from the start on.
    #[must_use]
    pub fn with_writes(self, mut writes: Vec<Writes>) -> Self {
        writes.reverse();
        Self { writes, ..self }
    }

    /// The sender with an application that writes the payload of each of these datagrams at its time, and closes after
    /// the last one if their number is limited.
    #[must_use]
    pub fn with_process(self, datagrams: Datagrams) -> Self {
        let write_at = datagrams.next_at();
        Self { writing: Some(Writing::Process(Box::new(datagrams))), write_at, ..self }
    }

    /// Makes the application's writes up to now.
    fn write(&mut self, now: Instant) {
        while let Some(change) = self.writes.last()
            && change.at <= now
        {
            (self.writing, self.write_at) = (None, Instant::FAR_FUTURE);
            match change.pace {
                Pace::Everything => self.endpoint.supply_endless(),
                Pace::Nothing => self.endpoint.hold_supply(),
                Pace::Rate(rate) => {
                    self.endpoint.hold_supply();
                    (self.writing, self.write_at) = (Some(Writing::Rate(rate)), change.at.max(now));
                }
            }
            self.writes.pop();
        }
        while self.write_at <= now {
            match &mut self.writing {
                Some(Writing::Rate(rate)) => {
                    self.endpoint.supply(WRITE.get());
                    self.write_at += rate.transmission_time(WRITE);
                }
                Some(Writing::Process(datagrams)) => {
                    if datagrams.take_due(now).is_some() {
                        self.endpoint.supply(datagrams.payload().get());
                    }
                    self.write_at = datagrams.next_at();
                    if datagrams.has_reached_limit() {
                        self.endpoint.close();
                        self.stop = None;
                    }
                }
                None => unreachable!("only a limited rate has a next write"),
            }
        }
    }

    /// The time of the application's next write or change of rate.
    fn next_write(&self) -> Instant {
        if self.start.is_some() {
            return Instant::FAR_FUTURE;
        }
        let change = self.writes.last().map_or(Instant::FAR_FUTURE, |change| change.at);
        change.min(self.write_at)
    }

    /// The sender that uses the messages that this receiver accepts.
    #[must_use]
    pub fn with_pep(self, receiver: pep::Receiver) -> Self {
        Self { pep: Some(receiver), ..self }
    }

    /// The sender with radio information about its UE while it has data to send.
    #[must_use]
    pub fn with_information(self, consumer: Consumer) -> Self {
        Self { information: Some(Listener::new(consumer)), ..self }
    }

    /// Handles a notification.
    fn take_information(&mut self, cx: &mut Cx<'_>, packet: PacketRef) {
        let Some(listener) = &self.information else { return cx.discard(packet, DropCause::Endpoint) };
        if let Some(said) = listener.take(cx, packet) {
            self.endpoint.on_radio_information(&said);
        }
    }

    /// Handles a datagram: a message of a PEP, if this sender uses one.
    fn take_datagram(&mut self, cx: &mut Cx<'_>, packet: PacketRef) {
        let Some(receiver) = &mut self.pep else { return cx.discard(packet, DropCause::Endpoint) };
        pep_message::report(cx, (self.flow, receiver), packet, &mut self.endpoint);
    }

    fn end_information(&mut self, cx: &mut Cx<'_>) {
        if let Some(listener) = &mut self.information {
            listener.end(cx);
        }
    }

    /// Counters and state of the connection.
    #[must_use]
    pub fn stats(&self) -> TcpStats {
        self.endpoint.stats()
    }

    fn begin(&mut self, cx: &mut Cx<'_>) {
        let started_at = self.start.take().unwrap_or(cx.now);
        match self.transfer {
            Transfer::Bulk if matches!(self.writing, Some(Writing::Process(_))) => {}
            Transfer::Bulk => self.endpoint.supply_endless(),
            Transfer::Fixed(bytes) => {
                self.endpoint.supply(bytes.get());
                self.endpoint.close();
                self.stop = None;
                self.finishing = Some(Finishing { started_at, sent: false });
            }
        }
        self.endpoint.connect(cx);
        if let Some(listener) = &mut self.information {
            listener.begin(cx);
        }
    }

    /// Reports when a finite transfer has left its sender, and when it is completely acknowledged.
    #[inline]
    fn tell_progress(&mut self, cx: &mut Cx<'_>) {
        let Some(Finishing { started_at, sent }) = self.finishing else { return };
        let flow = self.flow;
        if !sent && self.endpoint.all_sent() {
            self.finishing = Some(Finishing { started_at, sent: true });
            cx.emit(&Event::FlowSent { flow, started_at });
        }
        if self.endpoint.data_acknowledged() {
            self.finishing = None;
            cx.emit(&Event::FlowAcknowledged { flow, started_at });
            self.end_information(cx);
        }
    }
}

impl Node for TcpSource {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: PacketRef) {
        if port == INFORMATION {
            return self.take_information(cx, packet);
        }
        if matches!(cx.pool.get(&packet).header, Header::Udp(_)) {
            return self.take_datagram(cx, packet);
        }
        if take_in(&mut self.endpoint, cx, packet) {
            self.endpoint.flush(cx);
            self.tell_progress(cx);
        }
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        if self.start.is_some_and(|at| at <= cx.now) {
            self.begin(cx);
        }
        if self.next_write() <= cx.now {
            self.write(cx.now);
        }
        if self.stop.is_some_and(|at| at <= cx.now) {
            self.writes.clear();
            (self.writing, self.write_at) = (None, Instant::FAR_FUTURE);
            self.stop = None;
            self.endpoint.close();
            self.end_information(cx);
        }
        if self.endpoint.next_timeout() <= cx.now {
            self.endpoint.handle_timeout(cx);
        }
        self.endpoint.flush(cx);
        self.tell_progress(cx);
    }

    fn next_timeout(&self) -> Option<Instant> {
        let own = self.start.or(self.stop).unwrap_or(Instant::FAR_FUTURE);
        some(own.min(self.endpoint.next_timeout()).min(self.next_write()))
    }

    fn packets_held(&self) -> usize {
        0
    }
}

/// Listens, and reads all data immediately.
#[derive(Debug)]
pub struct TcpSink {
    endpoint: TcpEndpoint,
    flow: FlowId,
    /// Start time of the other end, from which completion times are counted.
    started_at: Instant,
    completed: bool,
}

impl TcpSink {
    /// A receiver for a transfer that starts at `started_at`.
    #[must_use]
    pub fn new(config: TcpConfig, path: Path, started_at: Instant) -> Self {
        Self { endpoint: TcpEndpoint::new(config, path), flow: path.flow, started_at, completed: false }
    }

    /// Counters and state of the connection.
    #[must_use]
    pub fn stats(&self) -> TcpStats {
        self.endpoint.stats()
    }

    fn read(&mut self, cx: &mut Cx<'_>) {
        self.endpoint.read(cx.now, u64::MAX);
        if !self.completed && self.endpoint.at_end() {
            self.completed = true;
            cx.emit(&Event::FlowCompleted { flow: self.flow, started_at: self.started_at });
            self.endpoint.close(); // answers the FIN with its own
        }
    }
}

impl Node for TcpSink {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, _: Port, packet: PacketRef) {
        if take_in(&mut self.endpoint, cx, packet) {
            self.read(cx);
            self.endpoint.flush(cx);
        }
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        if self.endpoint.next_timeout() <= cx.now {
            self.endpoint.handle_timeout(cx);
            self.endpoint.flush(cx);
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        some(self.endpoint.next_timeout())
    }

    fn packets_held(&self) -> usize {
        0
    }
}

/// Passes a segment to the endpoint, and reports its payload. Returns false if it is not a segment.
#[inline]
fn take_in(endpoint: &mut TcpEndpoint, cx: &mut Cx<'_>, packet: PacketRef) -> bool {
    let arrived = cx.pool.get(&packet);
    let (ecn, payload) = (arrived.ecn, arrived.payload.len());
    let Header::Tcp(header) = arrived.header else {
        cx.discard(packet, DropCause::Endpoint);
        return false;
    };
    if cx.wants(Topic::Received) {
        cx.emit_about(&packet, |packet| Event::Received { packet });
    }
    if payload > 0 && cx.wants(Topic::Delivered) {
        let held_before = endpoint.held_beyond();
        let in_order = endpoint.handle_segment(cx, &header, ecn, payload);
        // All bytes that the endpoint holds now, in order or not, less those held before.
        let fresh = (in_order + endpoint.held_beyond()).saturating_sub(held_before).min(u64::from(payload));
        let (in_order, fresh) = (Bytes(in_order), Some(Bytes(fresh)));
        let packet = cx.pool.get(&packet);
        cx.probe.observe(cx.now, &Event::Delivered { packet, in_order, fresh });
    } else {
        endpoint.handle_segment(cx, &header, ecn, payload);
    }
    cx.pool.retire(packet);
    true
}

fn some(at: Instant) -> Option<Instant> {
    (at != Instant::FAR_FUTURE).then_some(at)
}

#[cfg(test)]
mod tests {
    use airlane_core::{Direction, Outbox, PacketPool, Probe, TopicSet};

    use super::*;

    #[derive(Default)]
    struct Completions(Vec<(Instant, Instant)>, u64);

    impl Probe for Completions {
        fn topics(&self) -> TopicSet {
            TopicSet::NONE.with(Topic::FlowCompleted).with(Topic::Delivered)
        }
        fn observe(&mut self, now: Instant, event: &Event<'_>) {
            match event {
                Event::FlowCompleted { started_at, .. } => self.0.push((now, *started_at)),
                Event::Delivered { in_order, .. } => self.1 += in_order.get(),
                _ => {}
            }
        }
    }

    /// Runs two nodes over a wire of 10 ms each way without a rate.
    fn run(nodes: &mut [&mut dyn Node; 2], end: Instant) -> (Completions, PacketPool) {
        let (mut pool, mut seen) = (PacketPool::default(), Completions::default());
        let mut wire: Vec<(Instant, usize, PacketRef)> = Vec::new();
        loop {
            let timer = |n: &dyn Node| n.next_timeout().unwrap_or(Instant::FAR_FUTURE);
            let (a, b) = (timer(nodes[0]), timer(nodes[1]));
            let arrival = wire.first().map_or(Instant::FAR_FUTURE, |(at, ..)| *at);
            let now = a.min(b).min(arrival);
            if now > end {
                wire.drain(..).for_each(|(.., p)| drop(pool.consume(p)));
                return (seen, pool);
            }
            let mut outbox = Outbox::new();
            let topics = seen.topics();
            let mut cx = Cx { now, pool: &mut pool, outbox: &mut outbox, topics, probe: &mut seen };
            let from = if arrival == now {
                let (_, to, packet) = wire.remove(0);
                nodes[to].handle_packet(&mut cx, 0, packet);
                to
            } else {
                let who = usize::from(a != now);
                nodes[who].handle_timeout(&mut cx);
                who
            };
            let there = now + airlane_core::Duration::from_millis(10);
            wire.extend(outbox.into_iter().map(|(_, p)| (there, 1 - from, p)));
        }
    }

    /// A delay of ten milliseconds without a rate: a write arrives 10 ms later.
    #[test]
    fn an_application_writes_as_it_is_told() {
        let path = |direction| Path::new(FlowId(0), direction);
        let at = Instant::from_millis;
        let arrived = |writes: Vec<Writes>, until_ms| {
            let mut source =
                TcpSource::new(TcpConfig::linux(), path(Direction::Downlink), Transfer::Bulk, at(0), None)
                    .with_writes(writes);
            let mut sink = TcpSink::new(TcpConfig::linux(), path(Direction::Uplink), at(0));
            run(&mut [&mut source, &mut sink], at(until_ms)).0.1
        };
        let rate = |ms, kbits: u64| Writes { at: at(ms), pace: Pace::Rate(BitRate(1000 * kbits)) };
        let pause = |ms| Writes { at: at(ms), pace: Pace::Nothing };
        // A write of 1448 bytes each 10 ms from 100 ms on.
        let ten = rate(100, 1158);
        assert_eq!(arrived(vec![pause(0), ten, pause(305)], 1000), 21 * 1448);
        // The data sent before the pause, and no more; then it continues. Slow start doubles each 20 ms
        // without end, so the times are short.
        let early = arrived(vec![pause(50)], 70);
        assert!(early > 0 && early == arrived(vec![pause(50)], 2000), "{early}");
        let again = Writes { at: at(100), pace: Pace::Everything };
        assert!(arrived(vec![pause(50), again], 150) > early);
    }

    #[test]
    fn a_fixed_transfer_completes_when_its_last_byte_is_read() {
        let path = |direction| Path::new(FlowId(0), direction);
        let start = Instant::from_millis(500);
        let transfer = Transfer::Fixed(Bytes(10_000));
        let mut source = TcpSource::new(TcpConfig::linux(), path(Direction::Downlink), transfer, start, None);
        let mut sink = TcpSink::new(TcpConfig::linux(), path(Direction::Uplink), start);
        let (seen, pool) = run(&mut [&mut source, &mut sink], Instant::from_millis(2000));
        // 10 000 bytes fit into the initial window: SYN, SYN-ACK, data: three times 10 ms.
        assert_eq!(seen.0, [(Instant::from_millis(530), start)]);
        assert_eq!(seen.1, 10_000);
        assert_eq!(pool.live(), 0);
        assert_eq!(source.stats().bytes_acked, Bytes(10_000));
    }

    #[test]
    fn a_bulk_transfer_ends_at_its_stop() {
        let path = |direction| Path::new(FlowId(0), direction);
        let stop = Instant::from_millis(200);
        let mut source = TcpSource::new(
            TcpConfig::linux(),
            path(Direction::Downlink),
            Transfer::Bulk,
            Instant::ZERO,
            Some(stop),
        );
        let mut sink = TcpSink::new(TcpConfig::linux(), path(Direction::Uplink), Instant::ZERO);
        let (seen, _) = run(&mut [&mut source, &mut sink], Instant::from_millis(2000));
        assert_eq!(seen.0.len(), 1);
        assert!(seen.0[0].0 > stop && seen.0[0].0 <= Instant::from_millis(230), "{:?}", seen.0);
        assert_eq!(source.stats().bytes_acked, Bytes(seen.1));
    }
}
