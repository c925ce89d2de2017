//! The two ends of a transfer over QUIC with several paths. The host connects. For downlink data, it requests the object on a
//! stream, and the server answers on it; uplink data needs no request.

use airlane_core::{
    Bytes, Cx, DropCause, Event, FlowId, Header, Instant, Node, PacketRef, Payload, Port, Topic,
};
use airlane_quic::{MultipathConfig, MultipathEndpoint, QuicConfig, QuicEvent, Role};
use airlane_transport::Path;

use crate::Transfer;
use crate::quic::REQUEST;

/// An end of a transfer.
#[derive(Debug)]
pub struct MpquicEnd {
    endpoint: MultipathEndpoint,
    flow: FlowId,
    role: Role,
    /// True if this end sends the data.
    sends: bool,
    transfer: Transfer,
    /// When the transfer starts.
    started_at: Instant,
    /// When the client connects, until it has.
    connects_at: Option<Instant>,
    /// When an endless transfer ends, until it has.
    stop: Option<Instant>,
    /// Whether it has ended before the other end has requested it.
    stopped: bool,
    /// Bytes not yet written, `u64::MAX` for more without end; `None` before the transfer and after it.
    left: Option<u64>,
    done: bool,
}

impl MpquicEnd {
    /// An end of a transfer that starts and stops at these times, if it has not finished before. `sends`: it sends the data.
    #[must_use]
    pub fn new(
        config: MultipathConfig,
        path: Path,
        role: Role,
        (transfer, sends): (Transfer, bool),
        (start, stop): (Instant, Option<Instant>),
    ) -> Self {
        let quic = QuicConfig { sends_data: sends, ..config.quic };
        Self {
            endpoint: MultipathEndpoint::new(MultipathConfig { quic, ..config }, path, role),
            flow: path.flow,
            role,
            sends,
            transfer,
            started_at: start,
            connects_at: (role == Role::Client).then_some(start),
            stop: stop.filter(|_| sends && transfer == Transfer::Bulk),
            stopped: false,
            left: None,
            done: false,
        }
    }

    fn begin(&mut self) {
        self.left = Some(match self.transfer {
            Transfer::Bulk if self.stopped => 0,
            Transfer::Bulk => u64::MAX,
            Transfer::Fixed(bytes) => bytes.get(),
        });
        self.pump();
    }

    /// Writes as much as the stream takes, and ends it after the last byte.
    fn pump(&mut self) {
        let Some(left) = &mut self.left else { return };
        let written = self.endpoint.write(*left);
        if *left != u64::MAX {
            *left -= written;
        }
        if *left == 0 {
            self.endpoint.finish();
            self.left = None;
        }
    }

    /// The connection exists: the client requests the object, or begins to send it.
    fn on_connected(&mut self) {
        if self.role == Role::Server || !self.endpoint.open() {
            return;
        }
        if self.sends {
            self.begin();
        } else {
            self.endpoint.write(REQUEST);
            self.endpoint.finish();
        }
    }

    /// Reads the object, or the request, which is answered with the object. Returns the bytes of the object.
    fn read(&mut self, cx: &mut Cx<'_>) -> u64 {
        let read = self.endpoint.read();
        if self.sends {
            if self.role == Role::Server && read.at_end && !self.done && self.left.is_none() {
                self.begin();
            }
            return 0;
        }
        if read.at_end && !self.done {
            self.done = true;
            cx.emit(&Event::FlowCompleted { flow: self.flow, started_at: self.started_at });
            match self.role {
                Role::Client => self.endpoint.close(cx),
                Role::Server => self.endpoint.finish(),
            }
        }
        read.bytes
    }

    /// Handles the events of noq. Returns the number of object bytes that became readable.
    fn work(&mut self, cx: &mut Cx<'_>) -> u64 {
        let mut in_order = 0;
        while let Some(event) = self.endpoint.poll(cx) {
            match event {
                QuicEvent::Connected => self.on_connected(),
                QuicEvent::Readable(_) => in_order += self.read(cx),
                QuicEvent::Writable(_) => self.pump(),
                QuicEvent::Finished(_) if self.sends && !self.done => {
                    self.done = true;
                    cx.emit(&Event::FlowAcknowledged { flow: self.flow, started_at: self.started_at });
                    if self.role == Role::Client {
                        self.endpoint.close(cx);
                    }
                }
                QuicEvent::Finished(_) | QuicEvent::Opened | QuicEvent::Lost => {}
            }
        }
        self.endpoint.flush(cx);
        in_order
    }
}

impl Node for MpquicEnd {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, _: Port, packet: PacketRef) {
        let arrived = cx.pool.get(&packet);
        let place = self.endpoint.place_of_port(arrived.sockets.ue_port);
        let is_datagram = matches!((&arrived.header, &arrived.payload), (Header::Udp(_), Payload::Bytes(_)));
        let Some(place) = place.filter(|_| is_datagram) else {
            return cx.discard(packet, DropCause::Endpoint);
        };
        if cx.wants(Topic::Received) {
            cx.emit_about(&packet, |packet| Event::Received { packet });
        }
        let arrived = cx.pool.get_mut(&packet);
        let length = Payload::Length(arrived.payload.len());
        if let Payload::Bytes(datagram) = core::mem::replace(&mut arrived.payload, length) {
            let ecn = arrived.ecn;
            self.endpoint.handle_datagram(cx, place, ecn, datagram);
        }
        let in_order = Bytes(self.work(cx));
        if cx.wants(Topic::Delivered) {
            cx.emit_about(&packet, |packet| Event::Delivered { packet, in_order, fresh: None });
        }
        cx.pool.retire(packet);
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        if self.connects_at.is_some_and(|at| at <= cx.now) {
            self.connects_at = None;
            self.endpoint.connect(cx);
        }
        if self.stop.is_some_and(|at| at <= cx.now) {
            self.stop = None;
            self.stopped = true;
            if self.left.take().is_some() {
                self.endpoint.finish();
            }
        }
        self.endpoint.handle_timeout(cx);
        self.work(cx);
    }

    fn next_timeout(&self) -> Option<Instant> {
        let own = self.connects_at.into_iter().chain(self.stop).min().unwrap_or(Instant::FAR_FUTURE);
        let at = own.min(self.endpoint.next_timeout());
        (at != Instant::FAR_FUTURE).then_some(at)
    }

    fn packets_held(&self) -> usize {
        0
    }
}
