//! The server of HTTP/3: it answers the requests on all its connections, and DNS queries.

use airlane_core::{Cx, Instant, Node, PacketRef, Payload, Port, SocketPair};
use airlane_net::pep;
use airlane_quic::{QuicConfig, QuicEndpoint, QuicEvent, StreamId};
use airlane_transport::Path;

use super::fields::{self, Asked};
use super::frames::{self, FrameReader};
use super::{APPLICATION, is_request, listen, open};
use crate::dns::Resolver;
use crate::quic_host::QuicHost;

/// Bytes of a body in a DATA frame: choice, the size of a frame of HTTP/2 (RFC 9113 §4.2).
const CHUNK: u64 = 16 * 1024;

/// An incomplete request.
#[derive(Debug)]
struct Coming {
    stream: StreamId,
    frames: FrameReader,
}

/// The rest of a response.
#[derive(Debug)]
struct Response {
    stream: StreamId,
    ready_at: Instant,
    /// Bytes to be written next: headers of frames, and a frame of fields.
    head: Vec<u8>,
    /// Remaining bytes of the current DATA frame, and of the body after it; `u64::MAX` for no end.
    frame: u64,
    body: u64,
    /// True if the stream was full at the last write.
    blocked: bool,
}

/// A connection that was accepted.
#[derive(Debug)]
struct Accepted {
    sockets: SocketPair,
    coming: Vec<Coming>,
    responses: Vec<Response>,
}

/// Answers requests over HTTP/3, and DNS queries.
#[derive(Debug)]
pub struct QuicHttpServer {
    quic: QuicHost,
    accepted: Vec<Accepted>,
    resolver: Resolver,
}

impl QuicHttpServer {
    /// A server that sends in this direction.
    #[must_use]
    pub fn new(config: QuicConfig, Path { flow, direction, .. }: Path, resolver: Resolver) -> Self {
        let config = QuicConfig { application: APPLICATION, ..config };
        let quic = QuicHost::server(config, flow, direction);
        Self { quic, accepted: Vec::with_capacity(64), resolver }
    }

    /// The server with connections that use the messages of a PEP.
    #[must_use]
    pub fn with_pep(self, keys: pep::Keys) -> Self {
        Self { quic: self.quic.with_pep(keys), ..self }
    }

    /// The QUIC connections.
    #[must_use]
    pub const fn quic(&self) -> &QuicHost {
        &self.quic
    }

    /// Number of connections that may have requests.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.accepted.len()
    }

    /// Handles the events of a connection. Returns the number of bytes read.
    fn work(&mut self, now: Instant, sockets: SocketPair) -> u64 {
        let Some(endpoint) = self.quic.connection(sockets) else { return 0 };
        let index = match self.accepted.iter().position(|accepted| accepted.sockets == sockets) {
            Some(index) => index,
            None if endpoint.is_closed() => return 0,
            None => {
                self.accepted.push(Accepted { sockets, coming: vec![], responses: vec![] });
                self.accepted.len() - 1
            }
        };
        let accepted = &mut self.accepted[index];
        let (mut in_order, mut lost) = (0, false);
        while let Some(event) = endpoint.poll() {
            match event {
                QuicEvent::Connected => open(endpoint),
                QuicEvent::Opened => {
                    while let Some(stream) = endpoint.accept_one_way() {
                        in_order += listen(endpoint, stream);
                    }
                    while let Some(stream) = endpoint.accept() {
                        in_order += accepted.read(endpoint, stream, now);
                    }
                }
                QuicEvent::Readable(stream) if is_request(stream) => {
                    in_order += accepted.read(endpoint, stream, now);
                }
                QuicEvent::Readable(stream) => in_order += listen(endpoint, stream),
                QuicEvent::Writable(stream) => accepted.unblock(stream),
                QuicEvent::Finished(_) => {}
                QuicEvent::Lost => lost = true,
            }
        }
        if lost {
            self.accepted.remove(index);
        } else {
            accepted.pump(endpoint, now);
        }
        in_order
    }
}

impl Accepted {
    /// The time at which the next response can be written.
    fn ready_at(&self) -> Instant {
        let waiting = self.responses.iter().filter(|response| !response.blocked);
        waiting.map(|response| response.ready_at).min().unwrap_or(Instant::FAR_FUTURE)
    }

    /// Reads a part of a request; a complete one becomes a response. Returns the number of bytes.
    fn read(&mut self, endpoint: &mut QuicEndpoint, stream: StreamId, now: Instant) -> u64 {
        let known = self.coming.iter().position(|coming| coming.stream == stream);
        let place = known.unwrap_or_else(|| {
            self.coming.push(Coming { stream, frames: FrameReader::default() });
            self.coming.len() - 1
        });
        let frames = &mut self.coming[place].frames;
        let read = endpoint.read_with(stream, |bytes| frames.take(bytes));
        if read.at_end {
            let frames = self.coming.swap_remove(place).frames;
            let asked = frames.section().and_then(fields::asked).expect("clients here ask as they should");
            self.responses.push(Response::new(stream, &asked, now));
            endpoint.set_priority(stream, priority(stream, asked.urgency));
        }
        read.bytes
    }

    fn unblock(&mut self, stream: StreamId) {
        if let Some(response) = self.responses.iter_mut().find(|response| response.stream == stream) {
            response.blocked = false;
        }
    }

    /// Writes the responses that are ready, as much as the streams take.
    fn pump(&mut self, endpoint: &mut QuicEndpoint, now: Instant) {
        self.responses.retain_mut(|response| {
            !(response.ready_at <= now && !response.blocked && response.write(endpoint))
        });
    }
}

impl Response {
    fn new(stream: StreamId, asked: &Asked, now: Instant) -> Self {
        let mut head = Vec::new();
        frames::headers(&mut head, &fields::response(asked));
        let (ready_at, body) = (now + asked.wait, asked.body.get());
        Self { stream, ready_at, head, frame: 0, body, blocked: false }
    }

    /// Writes as much as the stream takes; returns true after the last byte.
    fn write(&mut self, endpoint: &mut QuicEndpoint) -> bool {
        loop {
            let written = endpoint.write_bytes(self.stream, &self.head);
            self.head.drain(..written);
            if self.head.is_empty() {
                self.frame -= endpoint.write(self.stream, self.frame);
            }
            self.blocked = !self.head.is_empty() || self.frame > 0;
            if self.blocked {
                return false;
            }
            if self.body == 0 {
                endpoint.finish(self.stream);
                return true;
            }
            self.frame = self.body.min(CHUNK);
            if self.body != u64::MAX {
                self.body -= self.frame;
            }
            frames::data_header(&mut self.head, self.frame);
        }
    }
}

/// The most urgent first, equal ones in the order of their requests: responses that are useful only as a
/// whole (RFC 9218 §10).
fn priority(stream: StreamId, urgency: u8) -> i32 {
    let asked = stream.index().min((1 << 27) - 1) as i32;
    -((i32::from(urgency) << 27) + asked)
}

impl Node for QuicHttpServer {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, _: Port, packet: PacketRef) {
        if !matches!(cx.pool.get(&packet).payload, Payload::Bytes(_)) {
            return self.resolver.handle_packet(cx, packet);
        }
        if self.quic.is_message(cx, &packet) {
            self.quic.handle_message(cx, packet);
        } else if let Some(packet) = self.quic.handle_packet(cx, packet) {
            let in_order = self.work(cx.now, packet.sockets);
            QuicHost::report(cx, &packet, in_order);
        }
        self.quic.flush(cx);
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        self.resolver.handle_timeout(cx);
        while let Some(sockets) = self.quic.handle_timeout(cx) {
            self.work(cx.now, sockets);
        }
        // Responses that are ready are written or blocked; blocked ones no longer count as ready.
        let ready = |accepted: &&Accepted| accepted.ready_at() <= cx.now;
        while let Some(sockets) = self.accepted.iter().find(ready).map(|accepted| accepted.sockets) {
            self.work(cx.now, sockets);
        }
        self.quic.flush(cx);
    }

    fn next_timeout(&self) -> Option<Instant> {
        let ready = self.accepted.iter().map(Accepted::ready_at).min().unwrap_or(Instant::FAR_FUTURE);
        let at = ready.min(self.quic.next_timeout()).min(self.resolver.next_timeout());
        (at != Instant::FAR_FUTURE).then_some(at)
    }

    fn packets_held(&self) -> usize {
        0
    }
}
