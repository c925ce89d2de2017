//! Ping: a host that sends ICMP echo messages, and one that replies (RFC 792).
//!
//! Echo messages are sent at a constant interval, whether or not the last one was answered, as in Linux's
//! ping(8) without options; or each some time after the answer to the last one, as a probe of what idle times cost. Not included: all other ICMP messages.

use airlane_core::{
    Bytes, Cx, DropCause, Duration, Event, Header, IcmpEcho, Instant, Node, Packet, PacketRef, Payload, Port,
    Topic,
};
use airlane_transport::Path;

use crate::packets;

/// Times, size and number of echo messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pings {
    /// Time of the first one.
    pub start: Instant,
    /// Time from which no message is sent.
    pub stop: Instant,
    /// Time between two echo messages.
    pub interval: Duration,
    /// Bytes after the ICMP header.
    pub payload: Bytes,
    /// Maximum number of echo messages.
    pub count: u64,
    /// When each message follows the answer to the last one; `None` if they follow at the interval. The interval is then
    /// the time after which a message counts as lost.
    pub idle: Option<IdleTimes>,
}

/// Times from an answer to the next echo message, in turn: the first, then a step more each time, up to the last, and the
/// first again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleTimes {
    /// The shortest.
    pub first: Duration,
    /// The bound of the longest.
    pub last: Duration,
    /// The difference between two in a row, above zero.
    pub step: Duration,
}

impl IdleTimes {
    /// The time before the echo message with this number.
    fn before(&self, serial: u64) -> Duration {
        let times = (self.last.saturating_sub(self.first)).as_nanos() / self.step.as_nanos() + 1;
        self.first + self.step * (serial.saturating_sub(1) % times)
    }
}

/// Sends echo messages and receives the replies.
#[derive(Debug)]
pub struct PingSource {
    pings: Pings,
    path: Path,
    /// Number of echo messages sent so far.
    sent: u64,
    /// With idle times: when the next one is due, and when the latest was.
    next: Instant,
    latest: Instant,
}

impl PingSource {
    /// A node that sends along `path`.
    ///
    /// # Panics
    /// If the interval is zero.
    #[must_use]
    pub fn new(pings: Pings, path: Path) -> Self {
        assert!(!pings.interval.is_zero(), "an interval is above zero");
        Self { pings, path, sent: 0, next: pings.start, latest: pings.start }
    }

    /// Time of the echo message with this number, which is the next one or, with idle times, the latest one.
    fn due(&self, serial: u64) -> Instant {
        match self.pings.idle {
            None => self.pings.start + self.pings.interval * serial,
            Some(_) if serial == self.sent => self.next,
            Some(_) => self.latest,
        }
    }

    /// An echo message was answered, or is sent and will count as lost after the interval.
    fn set_next(&mut self, from: Instant) {
        if let Some(idle) = self.pings.idle {
            self.next = from + idle.before(self.sent);
        }
    }

    fn next_at(&self) -> Option<Instant> {
        let due = self.due(self.sent);
        (self.sent < self.pings.count && due < self.pings.stop).then_some(due)
    }
}

impl Node for PingSource {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, _: Port, packet: PacketRef) {
        let Header::Icmp(IcmpEcho { reply: true, serial }) = cx.pool.get(&packet).header else {
            return cx.discard(packet, DropCause::Endpoint);
        };
        packets::receive(cx, packet);
        if self.pings.idle.is_some() && serial + 1 != self.sent {
            return; // it has counted as lost
        }
        self.set_next(cx.now);
        if cx.wants(Topic::Echo) {
            cx.emit(&Event::EchoAnswered { flow: self.path.flow, serial, sent_at: self.due(serial) });
        }
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        while let Some(due) = self.next_at().filter(|due| *due <= cx.now) {
            let (flow, serial) = (self.path.flow, self.sent);
            self.sent += 1;
            self.latest = due;
            self.set_next(due + self.pings.interval);
            send(cx, self.path, IcmpEcho { reply: false, serial }, self.pings.payload, due);
            if cx.wants(Topic::Echo) {
                cx.emit(&Event::EchoSent { flow, serial, sent_at: due });
            }
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.next_at()
    }
}

/// Answers each echo message immediately with its data, "to the source" (RFC 792, "Echo or Echo Reply
/// Message").
#[derive(Debug)]
pub struct PingResponder {
    path: Path,
}

impl PingResponder {
    /// A node that answers along `path`.
    #[must_use]
    pub const fn new(path: Path) -> Self {
        Self { path }
    }
}

impl Node for PingResponder {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, _: Port, packet: PacketRef) {
        let Header::Icmp(IcmpEcho { reply: false, serial }) = cx.pool.get(&packet).header else {
            return cx.discard(packet, DropCause::Endpoint);
        };
        let payload = packets::receive(cx, packet);
        let now = cx.now;
        send(cx, self.path, IcmpEcho { reply: true, serial }, payload, now);
    }
}

fn send(cx: &mut Cx<'_>, path: Path, echo: IcmpEcho, payload: Bytes, at: Instant) {
    let payload = Payload::Length(u32::try_from(payload.get()).expect("it fits into an IP packet"));
    let packet = Packet::new(path.flow, path.direction, Header::Icmp(echo), payload, at);
    packets::send(cx, packet, false);
}

#[cfg(test)]
mod tests {
    use airlane_core::{Direction, FlowId, Outbox, PacketPool, Probe, TopicSet};

    use super::*;

    /// Records round-trip times.
    #[derive(Default)]
    struct Heard(Vec<(u64, Duration)>);

    impl Probe for Heard {
        fn topics(&self) -> TopicSet {
            TopicSet::NONE.with(Topic::Echo)
        }
        fn observe(&mut self, now: Instant, event: &Event<'_>) {
            if let Event::EchoAnswered { serial, sent_at, .. } = *event {
                self.0.push((serial, now - sent_at));
            }
        }
    }

    fn source(count: u64, stop_ms: u64) -> PingSource {
        let (start, stop) = (Instant::from_millis(5), Instant::from_millis(stop_ms));
        let interval = Duration::from_millis(10);
        let pings = Pings { start, stop, interval, payload: Bytes(56), count, idle: None };
        PingSource::new(pings, Path::new(FlowId(3), Direction::Uplink))
    }

    #[test]
    fn idle_times_are_swept_from_answer_to_answer() {
        let [first, last, step] = [100, 250, 100].map(Duration::from_millis);
        let mut asks = source(10, 10_000);
        asks.pings.interval = Duration::from_millis(1_000);
        asks.pings.idle = Some(IdleTimes { first, last, step });
        let (mut pool, mut outbox, mut heard) = (PacketPool::default(), Outbox::new(), Heard::default());
        let topics = heard.topics();
        let mut sent = vec![];
        // When an answer to a message comes. The third is answered after it has counted as lost.
        for (at, serial) in [(25, 0), (145, 1), (1_500, 2), (1_465, 3), (1_685, 4)] {
            while let Some(due) = asks.next_timeout().filter(|_| sent.len() as u64 <= serial) {
                sent.push(due.as_nanos() / 1_000_000);
                let mut cx = Cx { now: due, pool: &mut pool, outbox: &mut outbox, topics, probe: &mut heard };
                asks.handle_timeout(&mut cx);
            }
            if at == 1_500 {
                continue;
            }
            let header = Header::Icmp(IcmpEcho { reply: true, serial });
            let now = Instant::from_millis(at);
            let answer =
                pool.insert(Packet::new(FlowId(3), Direction::Downlink, header, Payload::Length(56), now));
            asks.handle_packet(
                &mut Cx { now, pool: &mut pool, outbox: &mut outbox, topics, probe: &mut heard },
                0,
                answer,
            );
        }
        // 100 and 200 ms in turn; the third counts as lost after 1000 ms.
        assert_eq!(sent, [5, 125, 345, 1_445, 1_665]);
        let rtt = Duration::from_millis(20);
        assert_eq!(heard.0, [(0, rtt), (1, rtt), (3, rtt), (4, rtt)]);
    }

    #[test]
    fn echoes_return_with_their_number_and_length() {
        let mut responder = PingResponder::new(Path::new(FlowId(3), Direction::Downlink));
        let (mut asks, mut pool, mut outbox, mut heard) =
            (source(10, 1_000), PacketPool::default(), Outbox::new(), Heard::default());
        let topics = heard.topics();
        let mut at = |ms: u64, act: &mut dyn FnMut(&mut Cx<'_>)| {
            let now = Instant::from_millis(ms);
            act(&mut Cx { now, pool: &mut pool, outbox: &mut outbox, topics, probe: &mut heard });
            core::mem::take(&mut outbox)
        };
        assert_eq!(asks.next_timeout(), Some(Instant::from_millis(5)));
        // Called late, it sends the messages that were due at 5 ms and 15 ms.
        let requests = at(18, &mut |cx| asks.handle_timeout(cx));
        assert_eq!(requests.len(), 2);
        assert_eq!(asks.next_timeout(), Some(Instant::from_millis(25)));
        let mut replies = Vec::new();
        for (_, request) in requests {
            let mut request = Some(request);
            replies.extend(at(30, &mut |cx| {
                let packet = cx.pool.get(request.as_ref().unwrap());
                assert_eq!((packet.size, packet.direction), (Bytes(84), Direction::Uplink));
                responder.handle_packet(cx, 0, request.take().unwrap());
            }));
        }
        // The second reply overtakes the first.
        for (ms, (_, reply)) in [(45, replies.pop().unwrap()), (50, replies.pop().unwrap())] {
            let mut reply = Some(reply);
            at(ms, &mut |cx| {
                let packet = cx.pool.get(reply.as_ref().unwrap());
                assert_eq!((packet.size, packet.direction), (Bytes(84), Direction::Downlink));
                asks.handle_packet(cx, 0, reply.take().unwrap());
            });
        }
        // Sent at 5 ms and 15 ms.
        assert_eq!(heard.0, [(1, Duration::from_millis(30)), (0, Duration::from_millis(45))]);
        assert_eq!(pool.live(), 0);
    }

    #[test]
    fn it_ends_after_so_many_or_at_its_stop() {
        for (count, stop_ms, sent) in [(3, 1_000, 3), (100, 35, 3), (100, 36, 4)] {
            let (mut asks, mut pool, mut outbox) =
                (source(count, stop_ms), PacketPool::default(), Outbox::new());
            let mut heard = Heard::default();
            let (now, topics) = (Instant::from_millis(10_000), TopicSet::NONE);
            asks.handle_timeout(&mut Cx {
                now,
                pool: &mut pool,
                outbox: &mut outbox,
                topics,
                probe: &mut heard,
            });
            assert_eq!((outbox.len(), asks.next_timeout()), (sent, None), "{count}, {stop_ms} ms");
        }
    }
}
