//! The two ends of a stream of datagrams.

use airlane_core::{
    Bytes, Cx, DropCause, Ecn, Header, Instant, Node, Packet, PacketRef, Payload, Port, Role, UdpHeader,
};
use airlane_transport::{Path, UdpReceiver, UdpReceiverStats, UdpSender};

use crate::{OnOffSender, PpbpSender, packets};

/// The times at which datagrams are sent.
#[derive(Debug)]
pub enum Datagrams {
    /// At a constant rate.
    Constant(UdpSender),
    /// In bursts.
    Bursts(Box<PpbpSender>),
    /// In periods, with pauses between them.
    OnOff(Box<OnOffSender>),
}

impl Datagrams {
    #[inline(always)]
    pub(crate) fn next_at(&self) -> Instant {
        match self {
            Self::Constant(sender) => sender.next_at(),
            Self::Bursts(sender) => sender.next_at(),
            Self::OnOff(sender) => sender.next_at(),
        }
    }

    #[inline(always)]
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<u64> {
        match self {
            Self::Constant(sender) => sender.take_due(now),
            Self::Bursts(_) | Self::OnOff(_) => self.take_from_process(now),
        }
    }

    /// Out of the way of the constant rate, which is the most frequent.
    #[inline(never)]
    fn take_from_process(&mut self, now: Instant) -> Option<u64> {
        match self {
            Self::Constant(_) => None,
            Self::Bursts(sender) => sender.take_due(now),
            Self::OnOff(sender) => sender.take_due(now),
        }
    }

    pub(crate) fn payload(&self) -> Bytes {
        match self {
            Self::Constant(sender) => sender.payload(),
            Self::Bursts(sender) => sender.payload(),
            Self::OnOff(sender) => sender.payload(),
        }
    }

    /// Whether the last datagram has been sent, if their number is limited.
    pub(crate) fn has_reached_limit(&self) -> bool {
        match self {
            Self::Constant(_) => false,
            Self::Bursts(sender) => sender.has_reached_limit(),
            Self::OnOff(sender) => sender.has_reached_limit(),
        }
    }

    fn sent(&self) -> u64 {
        match self {
            Self::Constant(sender) => sender.sent(),
            Self::Bursts(sender) => sender.sent(),
            Self::OnOff(sender) => sender.sent(),
        }
    }
}

/// Sends datagrams at a constant rate, in bursts or in periods.
#[derive(Debug)]
pub struct UdpSource {
    sender: Datagrams,
    path: Path,
    ecn: Ecn,
}

impl UdpSource {
    /// A node that sends the datagrams of `sender` at their times.
    #[must_use]
    pub const fn new(sender: Datagrams, path: Path) -> Self {
        Self { sender, path, ecn: Ecn::NotCapable }
    }

    /// The source with this ECN field on its datagrams. It does not respond to marks.
    #[must_use]
    pub fn with_ecn(self, ecn: Ecn) -> Self {
        Self { ecn, ..self }
    }

    /// Datagrams sent.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.sender.sent()
    }

    /// Sends the next datagram, if it is due. It has its due time as send time, even if this call is late. Not inlined
    /// into a loop, which would load for many what one needs.
    #[inline(never)]
    fn send_due(&mut self, cx: &mut Cx<'_>) {
        let due = self.sender.next_at();
        let Some(serial) = self.sender.take_due(cx.now) else { return };
        let payload = Payload::Length(self.sender.payload().get() as u32);
        let header = Header::Udp(UdpHeader { serial });
        let mut packet = Packet::new(self.path.flow, self.path.direction, header, payload, due);
        packet.ecn = self.ecn;
        packets::send(cx, packet, false);
    }
}

impl Node for UdpSource {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, _: Port, packet: PacketRef) {
        cx.discard(packet, DropCause::Endpoint); // a datagram has no answer
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        self.send_due(cx);
        while self.sender.next_at() <= cx.now {
            self.send_due(cx);
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        let at = self.sender.next_at();
        (at != Instant::FAR_FUTURE).then_some(at)
    }
}

/// Counts the datagrams that arrive.
#[derive(Debug, Default)]
pub struct UdpSink {
    receiver: UdpReceiver,
}

impl UdpSink {
    /// A receiver without datagrams.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The counters of received datagrams.
    #[must_use]
    pub const fn stats(&self) -> UdpReceiverStats {
        self.receiver.stats()
    }
}

impl Node for UdpSink {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, _: Port, packet: PacketRef) {
        let Header::Udp(UdpHeader { serial }) = cx.pool.get(&packet).header else {
            return cx.discard(packet, DropCause::Endpoint);
        };
        let payload = packets::receive(cx, packet);
        self.receiver.on_datagram(serial, payload);
    }

    fn role(&self) -> Role {
        Role::WithoutTimers
    }
}

#[cfg(test)]
mod tests {
    use airlane_core::{BitRate, Direction, FlowId, Outbox, PacketPool, Silence, TopicSet};

    use super::*;

    #[test]
    fn a_late_call_sends_what_was_due_with_its_own_times() {
        let path = Path::new(FlowId(3), Direction::Downlink);
        let rate = BitRate(11_200_000); // 1400 bytes a millisecond
        let sender = UdpSender::new(rate, Bytes(1400), Instant::ZERO, Instant::from_millis(100));
        let (mut source, mut sink) = (UdpSource::new(Datagrams::Constant(sender), path), UdpSink::new());
        let (mut pool, mut outbox, mut probe) = (PacketPool::default(), Outbox::new(), Silence);
        let now = Instant::from_millis(2);
        let topics = TopicSet::NONE;
        let mut cx = Cx { now, pool: &mut pool, outbox: &mut outbox, topics, probe: &mut probe };
        source.handle_timeout(&mut cx);
        let sent = core::mem::take(cx.outbox);
        let at: Vec<u64> = sent.iter().map(|(_, p)| cx.pool.get(p).sent_at.as_nanos() / 1_000_000).collect();
        assert_eq!(at, [0, 1, 2]);
        assert_eq!(source.next_timeout(), Some(Instant::from_millis(3)));
        for (_, packet) in sent {
            sink.handle_packet(&mut cx, 0, packet);
        }
        assert_eq!((sink.stats().datagrams, sink.stats().bytes), (3, Bytes(4200)));
        assert_eq!(cx.pool.live(), 0);
    }
}
