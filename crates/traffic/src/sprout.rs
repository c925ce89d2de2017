//! The ends of a flow of Sprout, whose applications always have data.

use airlane_core::{
    Bytes, Cx, DropCause, Ecn, Header, Instant, Node, Packet, PacketRef, Payload, Port, UdpHeader,
};
use airlane_transport::Path;
use airlane_transport::sprout::{Message, SproutReceiver, SproutSender};

use crate::packets;

/// An end, which sends data, receives it and forecasts it, or both.
#[derive(Debug)]
pub struct SproutEnd {
    path: Path,
    ecn: Ecn,
    sender: SproutSender,
    /// Forecasts the data that arrives, if the other end sends any.
    receiver: Option<SproutReceiver>,
    stop: Instant,
    /// Counts the packets that it sends.
    serial: u64,
}

impl SproutEnd {
    /// A node that sends along `path` until before `stop`, with this ECN field.
    #[must_use]
    pub fn new(
        path: Path,
        ecn: Ecn,
        sender: SproutSender,
        receiver: Option<SproutReceiver>,
        stop: Instant,
    ) -> Self {
        Self { path, ecn, sender, receiver, stop, serial: 0 }
    }

    /// Sends what the sender has now.
    fn flush(&mut self, cx: &mut Cx<'_>) {
        if cx.now >= self.stop {
            self.stop = Instant::ZERO; // so that there is no timeout any more
            return;
        }
        let Self { path, ecn, sender, receiver, serial, .. } = self;
        let now = cx.now;
        let forecast = || receiver.as_mut().and_then(SproutReceiver::take_forecast);
        sender.send_flight(now, forecast, |message| {
            let header = Header::Udp(UdpHeader { serial: *serial });
            *serial += 1;
            let payload = Payload::Bytes(message.encode());
            let mut packet = Packet::new(path.flow, path.direction, header, payload, now);
            packet.ecn = *ecn;
            packets::send(cx, packet, false);
        });
    }
}

impl Node for SproutEnd {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, _: Port, packet: PacketRef) {
        let message = match cx.pool.get(&packet) {
            Packet { header: Header::Udp(_), payload: Payload::Bytes(bytes), .. } => Message::decode(bytes),
            _ => None,
        };
        let Some(message) = message else { return cx.discard(packet, DropCause::Endpoint) };
        packets::receive_data(cx, packet, Bytes(message.data as u64));
        if let Some(forecast) = message.forecast {
            self.sender.handle_forecast(cx.now, forecast);
        }
        if let Some(receiver) = &mut self.receiver {
            receiver.handle_message(cx.now, &message);
        }
        self.flush(cx);
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        self.flush(cx);
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.sender.next_timeout().filter(|at| *at < self.stop)
    }

    fn packets_held(&self) -> usize {
        0
    }
}
