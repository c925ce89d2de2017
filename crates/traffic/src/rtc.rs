//! The ends of a call: real-time media in one direction or in both, with feedback on the way back.

use airlane_core::{
    Bytes, Cx, Direction, DropCause, Ecn, Event, Header, Instant, Node, Packet, PacketRef, Payload, Port,
    Topic, UdpHeader,
};
use airlane_rtc::media::{Datagram, MediaReceiver, MediaSender, Output};
use airlane_rtc::wire::is_rtcp;
use airlane_transport::Path;

use crate::packets;

/// An end of a call, which sends media, receives it, or both. RTP and RTCP share a port (RFC 5761).
pub struct CallEnd {
    path: Path,
    /// The flow and direction of the media that it sends, which has another path in front of a relay.
    media: Path,
    ecn: Ecn,
    sender: Option<MediaSender>,
    receiver: Option<MediaReceiver>,
    /// Counts the packets that it sends.
    serial: u64,
    output: Output,
}

impl CallEnd {
    /// A node that sends along `path`, media with this ECN field.
    #[must_use]
    pub fn new(path: Path, ecn: Ecn, sender: Option<MediaSender>, receiver: Option<MediaReceiver>) -> Self {
        Self { path, media: path, ecn, sender, receiver, serial: 0, output: Output::default() }
    }

    /// The same, whose media is that of another flow and direction: a relay leads from `path` there.
    #[must_use]
    pub fn with_media(self, media: Path) -> Self {
        Self { media, ..self }
    }

    /// Sends and reports what sender or receiver have done, whose media travels in this direction.
    fn flush(&mut self, cx: &mut Cx<'_>, direction: Direction) {
        let flow = self.media.flow;
        for step in self.output.steps.drain(..) {
            cx.probe.observe(cx.now, &Event::Media { flow, direction, step });
        }
        if self.output.packets.is_empty() {
            return;
        }
        let mut datagrams = core::mem::take(&mut self.output.packets);
        for datagram in datagrams.drain(..) {
            self.send(cx, datagram);
        }
        self.output.packets = datagrams;
    }

    fn send(&mut self, cx: &mut Cx<'_>, datagram: Datagram) {
        let header = Header::Udp(UdpHeader { serial: self.serial });
        self.serial += 1;
        let ecn = if is_rtcp(&datagram.bytes) { Ecn::NotCapable } else { self.ecn };
        let payload = Payload::Bytes(datagram.bytes);
        let mut packet = Packet::new(self.path.flow, self.path.direction, header, payload, cx.now);
        packet.ecn = ecn;
        packets::send(cx, packet, datagram.repeats);
    }
}

impl Node for CallEnd {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, _: Port, packet: PacketRef) {
        if !matches!(cx.pool.get(&packet), Packet { header: Header::Udp(_), payload: Payload::Bytes(_), .. })
        {
            return cx.discard(packet, DropCause::Endpoint);
        }
        if cx.wants(Topic::Received) {
            cx.emit_about(&packet, |packet| Event::Received { packet });
        }
        let packet = cx.pool.consume(packet);
        let Payload::Bytes(bytes) = &packet.payload else { unreachable!("it has returned above") };
        let (own, other) = (self.media.direction, self.media.direction.reversed());
        self.output.observed = cx.wants(Topic::Media);
        let mut fresh = true;
        if is_rtcp(bytes) {
            if let Some(receiver) = &mut self.receiver {
                receiver.handle_rtcp(cx.now, bytes);
            }
            if let Some(sender) = &mut self.sender {
                sender.handle_rtcp(cx.now, bytes, &mut self.output);
                self.flush(cx, own);
            }
        } else if let Some(receiver) = &mut self.receiver {
            fresh = receiver.handle_rtp(cx.now, packet.ecn, bytes, &mut self.output);
            self.flush(cx, other);
        }
        if cx.wants(Topic::Delivered) {
            let in_order = if fresh { Bytes(u64::from(packet.payload.len())) } else { Bytes::ZERO };
            cx.emit(&Event::Delivered { packet: &packet, in_order, fresh: Some(in_order) });
        }
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now;
        let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        self.output.observed = cx.wants(Topic::Media);
        if let Some(receiver) = &mut self.receiver
            && is_due(receiver.next_timeout())
        {
            receiver.handle_timeout(now, &mut self.output);
            self.flush(cx, self.media.direction.reversed());
        }
        if let Some(sender) = &mut self.sender
            && is_due(sender.next_timeout())
        {
            sender.handle_timeout(now, &mut self.output);
            self.flush(cx, self.media.direction);
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        let sender = self.sender.as_ref().and_then(MediaSender::next_timeout);
        let receiver = self.receiver.as_ref().and_then(MediaReceiver::next_timeout);
        sender.into_iter().chain(receiver).min()
    }

    fn packets_held(&self) -> usize {
        0
    }
}
