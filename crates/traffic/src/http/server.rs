//! HTTP over TCP, the server: it answers the requests on all its connections.

use std::collections::VecDeque;

use airlane_core::{Cx, Direction, Header, Instant, Node, PacketRef, Payload, Port, SocketPair};
use airlane_net::pep;
use airlane_transport::{Path, TcpConfig};

use super::{HANDSHAKE, HttpVersion, Message, RECORD};
use crate::dialogue::Dialogue;
use crate::dns::Resolver;
use crate::tcp_host::{Arrival, TcpHost};

/// A server writes no more while this many written bytes are unsent: late decisions are better
/// (TCP_NOTSENT_LOWAT; Apple and Cloudflare set 16 KiB).
const UNSENT_MAX: u64 = 16 * 1024;
/// Size of a write: a frame of HTTP/2 and a record of TLS contain this much (RFC 9113 §4.2, RFC 8446 §5.1).
const CHUNK: u64 = 16 * 1024;
/// The header of a frame (RFC 9113 §4.1), and the first data of an HTTP/2 server: SETTINGS with three values,
/// and the acknowledgment of the client's.
const FRAME: u64 = 9;
const SETTINGS: u64 = 9 + 3 * 6 + 9;
/// A server's answer to a ClientHello: choice, 4 KiB with a chain of two certificates.
const SERVER_FLIGHT: u64 = 4096;

/// The rest of a response.
#[derive(Clone, Copy, Debug)]
struct Response {
    stream: u32,
    /// Unwritten bytes before the body.
    head: u64,
    /// Bytes of the body; `u64::MAX` for no end.
    body: u64,
    ready_at: Instant,
    urgency: u8,
}

/// A connection that was accepted.
#[derive(Debug)]
struct Accepted {
    sockets: SocketPair,
    read: u64,
    written: u64,
    responses: VecDeque<Response>,
    /// The client will send no more requests.
    at_end: bool,
}

impl Accepted {
    /// The time at which a response is ready; over HTTP/1.1 they leave in the order of their requests (RFC 9112
    /// §9.3.2).
    fn ready_at(&self, version: HttpVersion) -> Instant {
        let first = if version == HttpVersion::One { 1 } else { self.responses.len() };
        self.responses.iter().take(first).map(|r| r.ready_at).min().unwrap_or(Instant::FAR_FUTURE)
    }

    /// The response to be continued. Over HTTP/2 it is, among those that are ready, the first of the most
    /// urgent, until it is complete (RFC 9218 §10, for responses that are useful only as a whole).
    fn next(&self, version: HttpVersion, now: Instant) -> Option<usize> {
        if version == HttpVersion::One {
            return self.responses.front().filter(|response| response.ready_at <= now).map(|_| 0);
        }
        let ready = self.responses.iter().enumerate().filter(|(_, response)| response.ready_at <= now);
        ready.min_by_key(|(_, response)| (response.urgency, response.stream)).map(|(index, _)| index)
    }
}

/// Answers requests and DNS queries.
#[derive(Debug)]
pub struct HttpServer {
    version: HttpVersion,
    tls: bool,
    direction: Direction,
    tcp: TcpHost,
    dialogue: Dialogue<Message>,
    accepted: Vec<Accepted>,
    resolver: Resolver,
}

impl HttpServer {
    /// A server of HTTP/1.1 in the clear that sends in this direction. The client must hold the same
    /// dialogue.
    #[must_use]
    pub fn new(
        config: TcpConfig,
        Path { flow, direction, .. }: Path,
        dialogue: Dialogue<Message>,
        resolver: Resolver,
    ) -> Self {
        Self {
            version: HttpVersion::One,
            tls: false,
            direction,
            tcp: TcpHost::server(config, flow, direction),
            dialogue,
            accepted: Vec::with_capacity(64),
            resolver,
        }
    }

    /// The server with this version of HTTP, and with or without TLS.
    #[must_use]
    pub fn speaking(self, version: HttpVersion, tls: bool) -> Self {
        Self { version, tls, ..self }
    }

    /// The server with connections that use the messages of a PEP.
    #[must_use]
    pub fn with_pep(self, keys: pep::Keys) -> Self {
        Self { tcp: self.tcp.with_pep(keys), ..self }
    }

    /// The TCP connections.
    #[must_use]
    pub const fn tcp(&self) -> &TcpHost {
        &self.tcp
    }

    /// Handles requests on a connection, or its end.
    fn take(&mut self, arrival: &Arrival, now: Instant) {
        let sockets = arrival.sockets;
        let known = self.accepted.iter().position(|accepted| accepted.sockets == sockets);
        let index = known.unwrap_or_else(|| {
            let responses = VecDeque::with_capacity(16);
            self.accepted.push(Accepted { sockets, read: 0, written: 0, responses, at_end: false });
            self.accepted.len() - 1
        });
        let accepted = &mut self.accepted[index];
        accepted.read += arrival.bytes;
        accepted.at_end |= arrival.at_end;
        let from_client = self.direction.reversed();
        while let Some(message) = self.dialogue.hear(sockets, from_client, accepted.read) {
            accepted.responses.push_back(match message {
                Message::Request { stream, head, body, wait, urgency } => {
                    let frames = if self.version == HttpVersion::Two { FRAME } else { 0 };
                    let first = if self.version == HttpVersion::Two && stream == 0 { SETTINGS } else { 0 };
                    let head = head.get() + frames + first;
                    Response { stream, head, body: body.get(), ready_at: now + wait, urgency }
                }
                // The size includes its records; the overhead for the parts of responses is added to
                // those.
                Message::Hello => {
                    Response { stream: HANDSHAKE, head: SERVER_FLIGHT, body: 0, ready_at: now, urgency: 0 }
                }
                Message::Part { .. } => continue,
            });
        }
    }

    /// Writes the responses that are ready, as much as there is room for. Returns true if it wrote
    /// anything.
    fn pump(&mut self, now: Instant) -> bool {
        let mut wrote = false;
        let mut index = 0;
        while index < self.accepted.len() {
            let accepted = &mut self.accepted[index];
            while self.tcp.unsent(accepted.sockets) < UNSENT_MAX
                && let Some(place) = accepted.next(self.version, now)
            {
                let response = &mut accepted.responses[place];
                let (mut overhead, body) = (response.head, response.body.min(CHUNK));
                response.head = 0;
                if body > 0 && self.version == HttpVersion::Two {
                    overhead += FRAME;
                }
                if self.tls && response.stream != HANDSHAKE {
                    overhead += RECORD;
                }
                if response.body != u64::MAX {
                    response.body -= body;
                }
                let last = response.body == 0;
                let part = Message::Part { stream: response.stream, overhead, body, last };
                if last {
                    accepted.responses.remove(place);
                }
                accepted.written += overhead + body;
                self.dialogue.say(accepted.sockets, self.direction, accepted.written, part);
                self.tcp.write(accepted.sockets, overhead + body);
                wrote = true;
            }
            if accepted.at_end {
                // A connection that the client has closed is closed here too.
                self.tcp.close(accepted.sockets);
                self.dialogue.leave(accepted.sockets, self.direction);
                self.accepted.remove(index);
            } else {
                index += 1;
            }
        }
        wrote
    }

    /// Writes and sends until the windows are full: sending makes room for more.
    fn settle(&mut self, cx: &mut Cx<'_>) {
        while self.pump(cx.now) {
            self.tcp.flush(cx);
        }
        self.tcp.flush(cx);
        while let Some(sockets) = self.tcp.poll_lost() {
            self.dialogue.leave(sockets, self.direction);
            self.accepted.retain(|accepted| accepted.sockets != sockets);
        }
    }
}

impl Node for HttpServer {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, _: Port, packet: PacketRef) {
        match (&cx.pool.get(&packet).header, &cx.pool.get(&packet).payload) {
            (Header::Udp(_), Payload::Length(_)) => {
                return self.resolver.handle_packet(cx, packet);
            }
            (Header::Udp(_), Payload::Bytes(_)) => {
                self.tcp.handle_message(cx, packet);
                return self.settle(cx);
            }
            (Header::Tcp(_) | Header::Icmp(_) | Header::Other { .. } | Header::Signalling, _) => {}
        }
        if let Some(arrival) = self.tcp.handle_packet(cx, packet) {
            self.take(&arrival, cx.now);
        }
        self.settle(cx);
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        self.resolver.handle_timeout(cx);
        self.tcp.handle_timeout(cx);
        self.settle(cx);
    }

    fn next_timeout(&self) -> Option<Instant> {
        let with_room = |accepted: &&Accepted| self.tcp.unsent(accepted.sockets) < UNSENT_MAX;
        let ready =
            self.accepted.iter().filter(with_room).map(|accepted| accepted.ready_at(self.version)).min();
        let at = ready
            .unwrap_or(Instant::FAR_FUTURE)
            .min(self.tcp.next_timeout())
            .min(self.resolver.next_timeout());
        (at != Instant::FAR_FUTURE).then_some(at)
    }

    fn packets_held(&self) -> usize {
        0
    }
}
