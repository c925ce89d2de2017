//! The two ends of a transfer over QUIC. The host connects. For downlink data, it requests each object on
//! a separate stream, and the server answers on this stream; uplink data needs no request.

use airlane_core::{
    Bytes, Cx, DropCause, Duration, Event, FlowId, Header, Instant, Node, PacketRef, Payload, Port, Topic,
};
use airlane_net::pep;
use airlane_net::rni::Consumer;
use airlane_quic::{QuicConfig, QuicEndpoint, QuicEvent, Role, StreamId};
use airlane_transport::Path;

use crate::information::{INFORMATION, Listener};
use crate::pep_message;
use crate::{PORT, Transfer};

/// Bytes of a request: choice, about the size of a small HTTP/3 GET.
pub(crate) const REQUEST: u64 = 100;

/// The data of a flow over QUIC.
#[derive(Clone, Copy, Debug)]
pub struct QuicTransfer {
    /// Each object.
    pub transfer: Transfer,
    /// The number of objects, one after the other.
    pub objects: u32,
    /// When the host connects.
    pub start: Instant,
    /// When an endless object ends.
    pub stop: Option<Instant>,
    /// True if the data goes from server to host.
    pub to_host: bool,
}

/// An object that is being sent.
#[derive(Clone, Copy, Debug)]
struct Outgoing {
    stream: StreamId,
    /// Bytes not yet written; `None` for no end.
    left: Option<u64>,
}

/// An end of the connection.
#[derive(Debug)]
struct End {
    endpoint: QuicEndpoint,
    transfer: QuicTransfer,
    flow: FlowId,
    outgoing: Option<Outgoing>,
    /// When to end an endless object.
    stop: Option<Instant>,
    /// Number of objects that this end has received, or the peer has acknowledged, completely.
    done: u32,
}

impl End {
    fn new(config: QuicConfig, path: Path, role: Role, transfer: QuicTransfer) -> Self {
        let sends = transfer.to_host == (role == Role::Server);
        let config = QuicConfig { sends_data: sends, ..config };
        let endless = transfer.transfer == Transfer::Bulk;
        Self {
            endpoint: QuicEndpoint::new(config, path, role, PORT),
            transfer,
            flow: path.flow,
            outgoing: None,
            stop: transfer.stop.filter(|_| sends && endless),
            done: 0,
        }
    }

    fn begin_object(&mut self, stream: StreamId) {
        let left = match self.transfer.transfer {
            Transfer::Bulk => None,
            Transfer::Fixed(bytes) => Some(bytes.get()),
        };
        self.outgoing = Some(Outgoing { stream, left });
    }

    /// Writes as much as the stream takes, and ends it after the last byte.
    fn pump(&mut self) {
        let Some(outgoing) = &mut self.outgoing else { return };
        let written = self.endpoint.write(outgoing.stream, outgoing.left.unwrap_or(u64::MAX));
        if let Some(left) = &mut outgoing.left {
            *left -= written;
        }
        if outgoing.left == Some(0) {
            self.endpoint.finish(outgoing.stream);
            self.outgoing = None;
        }
    }

    fn end_at_stop(&mut self, now: Instant) {
        if self.stop.is_some_and(|at| at <= now) {
            self.stop = None;
            if let Some(outgoing) = self.outgoing.take() {
                self.endpoint.finish(outgoing.stream);
            }
        }
    }

    /// The next timeout of this end, or `other` if that is earlier.
    fn next_timeout(&self, other: Option<Instant>) -> Option<Instant> {
        let own = self.stop.unwrap_or(Instant::FAR_FUTURE).min(other.unwrap_or(Instant::FAR_FUTURE));
        let at = own.min(self.endpoint.next_timeout());
        (at != Instant::FAR_FUTURE).then_some(at)
    }

    /// Passes a datagram to the endpoint. Returns the packet without its bytes, for [`report`].
    fn take_in(&mut self, cx: &mut Cx<'_>, packet: PacketRef) -> Option<PacketRef> {
        let arrived = cx.pool.get(&packet);
        if !matches!((&arrived.header, &arrived.payload), (Header::Udp(_), Payload::Bytes(_))) {
            cx.discard(packet, DropCause::Endpoint);
            return None;
        }
        if cx.wants(Topic::Received) {
            cx.emit_about(&packet, |packet| Event::Received { packet });
        }
        let arrived = cx.pool.get_mut(&packet);
        let length = Payload::Length(arrived.payload.len());
        if let Payload::Bytes(datagram) = core::mem::replace(&mut arrived.payload, length) {
            let ecn = arrived.ecn;
            self.endpoint.handle_datagram(cx, ecn, datagram);
        }
        Some(packet)
    }

    /// The peer has acknowledged another object completely.
    fn object_acknowledged(&mut self, cx: &mut Cx<'_>) {
        self.done += 1;
        if self.done == self.transfer.objects {
            cx.emit(&Event::FlowAcknowledged { flow: self.flow, started_at: self.transfer.start });
        }
    }

    /// Counts an object that has arrived; the last one completes the flow.
    fn object_arrived(&mut self, cx: &mut Cx<'_>) {
        self.done += 1;
        if self.done == self.transfer.objects {
            cx.emit(&Event::FlowCompleted { flow: self.flow, started_at: self.transfer.start });
        }
    }
}

/// Reports the stream bytes that became readable with a packet, which ends here.
fn report(cx: &mut Cx<'_>, packet: PacketRef, in_order: u64) {
    if cx.wants(Topic::Delivered) {
        let in_order = Bytes(in_order);
        cx.emit_about(&packet, |packet| Event::Delivered { packet, in_order, fresh: None });
    }
    cx.pool.retire(packet);
}

/// The host's end.
#[derive(Debug)]
pub struct QuicClient {
    end: End,
    start: Option<Instant>,
}

impl QuicClient {
    /// A host that sends along `path` and connects when the transfer starts.
    #[must_use]
    pub fn new(config: QuicConfig, path: Path, transfer: QuicTransfer) -> Self {
        let start = Some(transfer.start);
        Self { end: End::new(config, path, Role::Client, transfer), start }
    }

    /// Requests the next object, or begins to send it.
    fn next_object(&mut self) {
        // The server allows a hundred streams at a time, and one is open.
        let Some(stream) = self.end.endpoint.open() else { return };
        if self.end.transfer.to_host {
            self.end.endpoint.write(stream, REQUEST);
            self.end.endpoint.finish(stream);
        } else {
            self.end.begin_object(stream);
            self.end.pump();
        }
    }

    fn go_on(&mut self, cx: &mut Cx<'_>) {
        if self.end.done < self.end.transfer.objects {
            self.next_object();
        } else {
            self.end.endpoint.close(cx);
        }
    }

    /// Handles the events of quinn. Returns the number of object bytes that became readable.
    fn work(&mut self, cx: &mut Cx<'_>) -> u64 {
        let mut in_order = 0;
        while let Some(event) = self.end.endpoint.poll() {
            match event {
                QuicEvent::Connected => self.next_object(),
                QuicEvent::Readable(stream) => {
                    let read = self.end.endpoint.read(stream);
                    in_order += read.bytes;
                    if read.at_end && self.end.transfer.to_host {
                        self.end.object_arrived(cx);
                        self.go_on(cx);
                    }
                }
                QuicEvent::Writable(_) => self.end.pump(),
                QuicEvent::Finished(_) if !self.end.transfer.to_host => {
                    self.end.object_acknowledged(cx);
                    self.go_on(cx);
                }
                QuicEvent::Finished(_) | QuicEvent::Opened | QuicEvent::Lost => {}
            }
        }
        self.end.endpoint.flush(cx);
        in_order
    }
}

impl Node for QuicClient {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, _: Port, packet: PacketRef) {
        let Some(packet) = self.end.take_in(cx, packet) else { return };
        let in_order = self.work(cx);
        report(cx, packet, in_order);
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        if self.start.is_some_and(|at| at <= cx.now) {
            self.start = None;
            self.end.endpoint.connect(cx);
        }
        self.end.end_at_stop(cx.now);
        self.end.endpoint.handle_timeout(cx);
        self.work(cx);
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.end.next_timeout(self.start)
    }

    fn packets_held(&self) -> usize {
        0
    }
}

/// The server's end.
#[derive(Debug)]
pub struct QuicServer {
    end: End,
    /// The connection is lost.
    over: bool,
    information: Option<Listener>,
    /// Decodes the messages of a PEP, if it uses one.
    pep: Option<pep::Receiver>,
}

impl QuicServer {
    /// A server that sends along `path` and waits for a connection.
    #[must_use]
    pub fn new(config: QuicConfig, path: Path, transfer: QuicTransfer) -> Self {
        Self {
            end: End::new(config, path, Role::Server, transfer),
            over: false,
            information: None,
            pep: None,
        }
    }

    /// The server with radio information about its UE from the first packet of a connection until everything has
    /// arrived.
    #[must_use]
    pub fn with_information(self, consumer: Consumer) -> Self {
        Self { information: Some(Listener::new(consumer)), ..self }
    }

    /// Handles a notification.
    fn take_information(&mut self, cx: &mut Cx<'_>, packet: PacketRef) {
        let Some(listener) = &self.information else { return cx.discard(packet, DropCause::Endpoint) };
        if let Some(said) = listener.take(cx, packet) {
            self.end.endpoint.on_radio_information(said);
        }
    }

    /// Subscribes while the connection exists.
    fn listen(&mut self, cx: &mut Cx<'_>) {
        let Some(listener) = &mut self.information else { return };
        if self.end.done == self.end.transfer.objects || self.over {
            listener.end(cx);
        } else {
            listener.begin(cx);
        }
    }

    /// The server that uses the messages of a PEP.
    #[must_use]
    pub fn with_pep(mut self, receiver: pep::Receiver) -> Self {
        let key = receiver.key().clone();
        self.end.endpoint =
            self.end.endpoint.with_identifier(Box::new(move |datagram| key.identifier(datagram)));
        Self { pep: Some(receiver), ..self }
    }

    /// True for a message of a PEP.
    fn is_message(&self, cx: &Cx<'_>, packet: &PacketRef) -> bool {
        let Payload::Bytes(datagram) = &cx.pool.get(packet).payload else { return false };
        pep_message::is_one(datagram, self.pep.is_some())
    }

    /// Handles a message of a PEP, if this server uses one.
    fn take_message(&mut self, cx: &mut Cx<'_>, packet: PacketRef) {
        let Some(receiver) = &mut self.pep else { return cx.discard(packet, DropCause::Endpoint) };
        let message = pep_message::take(cx, self.end.flow, receiver, packet);
        let Some(pep::Message { delay_us, body: pep::Body::Opaque(identifiers), .. }) = message else {
            return;
        };
        self.end.endpoint.on_seen(cx, identifiers.as_slice(), Duration::from_micros(u64::from(delay_us)));
        self.end.endpoint.flush(cx);
    }

    /// Handles the events of quinn. Returns the number of object bytes that became readable.
    fn work(&mut self, cx: &mut Cx<'_>) -> u64 {
        let mut in_order = 0;
        while let Some(event) = self.end.endpoint.poll() {
            match event {
                QuicEvent::Opened => {
                    while let Some(stream) = self.end.endpoint.accept() {
                        in_order += self.read(cx, stream);
                    }
                }
                QuicEvent::Readable(stream) => in_order += self.read(cx, stream),
                QuicEvent::Writable(_) => self.end.pump(),
                QuicEvent::Finished(_) if self.end.transfer.to_host => self.end.object_acknowledged(cx),
                QuicEvent::Lost => self.over = true,
                QuicEvent::Finished(_) | QuicEvent::Connected => {}
            }
        }
        self.end.endpoint.flush(cx);
        in_order
    }

    /// Reads an object, or a request, which is answered with a whole object.
    fn read(&mut self, cx: &mut Cx<'_>, stream: StreamId) -> u64 {
        let read = self.end.endpoint.read(stream);
        if !self.end.transfer.to_host {
            if read.at_end {
                self.end.endpoint.finish(stream);
                self.end.object_arrived(cx);
            }
            return read.bytes;
        }
        if read.at_end {
            self.end.begin_object(stream);
            self.end.pump();
        }
        0
    }
}

impl Node for QuicServer {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: PacketRef) {
        if port == INFORMATION {
            return self.take_information(cx, packet);
        }
        if self.is_message(cx, &packet) {
            return self.take_message(cx, packet);
        }
        let Some(packet) = self.end.take_in(cx, packet) else { return };
        let in_order = self.work(cx);
        self.listen(cx);
        report(cx, packet, in_order);
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        self.end.end_at_stop(cx.now);
        self.end.endpoint.handle_timeout(cx);
        self.work(cx);
        self.listen(cx);
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.end.next_timeout(None)
    }

    fn packets_held(&self) -> usize {
        0
    }
}
