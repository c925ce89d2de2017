//! HTTP over TCP, the client: HTTP/1.1 (RFC 9112 §9) and HTTP/2 (RFC 9113), in the clear or over TLS 1.3 (RFC
//! 8446).
//!
//! Over HTTP/1.1 a request uses the first possible of these: an idle connection to its server; a new
//! connection, if the limits allow it; the pipeline of the connection that has the most requests and still
//! has room ("fill first"), if its server has answered before. Otherwise it waits. At the limit of all
//! connections, an idle connection to another server is closed. A request stays with the connection that was
//! opened for it, even if another one becomes free before that one is established.
//!
//! Over HTTP/2 there is one connection per server. Requests are sent immediately, up to the server's limit of
//! streams, and the server decides the order of the responses.
//!
//! If a connection is reset, or closed by the server, its requests are repeated (RFC 9110 §9.2.2), and the
//! application receives the rest from where it had stopped.
//!
//! Not included: HPACK, whose savings would have to be part of the sizes of requests and headers; HTTP/2's
//! flow control, whose windows are larger than a path needs in browsers and servers; early data and
//! resumption of TLS.

use core::cmp::Reverse;
use std::collections::VecDeque;

use airlane_core::{Cx, Direction, Duration, Instant, PacketRef, SocketPair};
use airlane_transport::{Path, TcpConfig};

use super::{HANDSHAKE, HttpClient, HttpEvent, HttpVersion, Message, RECORD, Request};
use crate::dialogue::Dialogue;
use crate::tcp_host::{Arrival, TcpHost};

/// A ClientHello: browsers pad it to this (RFC 7685 §4), with a record's header.
const CLIENT_HELLO: u64 = 517;
/// The client's Finished in its record: 4 bytes of header, a hash of 32 bytes, and the overhead of
/// the record.
const FINISHED: u64 = 36 + RECORD;
/// The first data of an HTTP/2 client: the preface of 24 bytes, SETTINGS with three values and a
/// WINDOW_UPDATE (RFC 9113 §3.4, §6.5, §6.9), each frame with a header of nine bytes.
const PREFACE: u64 = 24 + (9 + 3 * 6) + (9 + 4);
/// The header of a frame (RFC 9113 §4.1).
const FRAME: u64 = 9;

/// How a client uses connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpSettings {
    /// Maximum number of connections per server; 1 for HTTP/2.
    pub per_server: usize,
    /// Maximum number of connections to all servers.
    pub in_all: usize,
    /// Maximum number of unanswered requests on a connection: the pipeline of HTTP/1.1, where 1 means none,
    /// and the streams of HTTP/2.
    pub pipeline: usize,
    /// How long an idle connection is kept.
    pub keep_alive: Duration,
    /// The port of every server.
    pub port: u16,
}

/// A request without a complete response.
#[derive(Clone, Copy, Debug)]
struct Expected {
    request: Request,
    /// Number of the request on the connection; `None` until it is sent.
    stream: Option<u32>,
    begun: bool,
    /// Bytes of the body received on this connection, and those reported to the application.
    came: u64,
    told: u64,
}

/// A connection, and its pending requests.
#[derive(Debug)]
struct Pipe {
    sockets: SocketPair,
    expected: VecDeque<Expected>,
    /// Whether the connection can take requests: the TLS handshake, if there is one, is complete.
    ready: bool,
    /// True once it has answered a request.
    proven: bool,
    /// Bytes written and read.
    written: u64,
    read: u64,
    /// Start of the message that is being read.
    message_at: u64,
    asked: u32,
    idle_since: Instant,
}

/// The client.
#[derive(Debug)]
pub struct HttpOverTcp {
    settings: HttpSettings,
    version: HttpVersion,
    tls: bool,
    direction: Direction,
    tcp: TcpHost,
    dialogue: Dialogue<Message>,
    pipes: Vec<Pipe>,
    waiting: VecDeque<Expected>,
    events: VecDeque<HttpEvent>,
}

impl HttpOverTcp {
    /// A client of HTTP/1.1 in the clear, with connections of this configuration, sending in this direction.
    /// The server must hold the same dialogue.
    #[must_use]
    pub fn new(
        settings: HttpSettings,
        config: TcpConfig,
        Path { flow, direction, .. }: Path,
        dialogue: Dialogue<Message>,
    ) -> Self {
        Self {
            settings,
            version: HttpVersion::One,
            tls: false,
            direction,
            tcp: TcpHost::client(config, flow, direction),
            dialogue,
            pipes: Vec::with_capacity(settings.in_all),
            waiting: VecDeque::with_capacity(64),
            events: VecDeque::with_capacity(64),
        }
    }

    /// The client with this version of HTTP, and with or without TLS.
    #[must_use]
    pub fn speaking(self, version: HttpVersion, tls: bool) -> Self {
        Self { version, tls, ..self }
    }

    /// The TCP connections.
    #[must_use]
    pub const fn tcp(&self) -> &TcpHost {
        &self.tcp
    }

    /// Adds a request to those that wait: the most urgent first, equal ones in their order.
    fn queue(&mut self, expected: Expected) {
        let urgency = expected.request.urgency;
        let behind = self.waiting.partition_point(|other| other.request.urgency <= urgency);
        self.waiting.insert(behind, expected);
    }

    /// Assigns requests to connections.
    fn assign(&mut self, cx: &mut Cx<'_>) {
        let mut index = 0;
        while index < self.waiting.len() {
            match self.pipe_for(cx, self.waiting[index].request.server) {
                Some(pipe) => {
                    let request = self.waiting.remove(index).expect("the index is in range");
                    self.pipes[pipe].expected.push_back(request);
                    self.send(pipe);
                }
                None => index += 1,
            }
        }
    }

    /// The connection that takes a request to this server now.
    fn pipe_for(&mut self, cx: &mut Cx<'_>, server: u16) -> Option<usize> {
        let own = self.pipes.iter().filter(|pipe| pipe.sockets.server == server);
        let (count, idle) = own.fold((0, false), |(n, idle), pipe| (n + 1, idle || pipe.expected.is_empty()));
        if !idle
            && count < self.settings.per_server
            && (self.pipes.len() < self.settings.in_all || self.make_place())
        {
            return Some(self.open(cx, server));
        }
        let (version, pipeline) = (self.version, self.settings.pipeline);
        let trusted = |pipe: &Pipe| pipe.proven || version == HttpVersion::Two;
        let takes =
            |pipe: &Pipe| pipe.expected.is_empty() || (trusted(pipe) && pipe.expected.len() < pipeline);
        let room = self.pipes.iter().enumerate().filter(|(_, p)| p.sockets.server == server && takes(p));
        // An idle one; otherwise the one with most requests, of equal ones the first.
        let preference = |index, pipe: &Pipe| (pipe.expected.is_empty(), pipe.expected.len(), Reverse(index));
        room.max_by_key(|(index, pipe)| preference(*index, pipe)).map(|(index, _)| index)
    }

    /// Closes the connection that has been idle for longest, if there is one.
    fn make_place(&mut self) -> bool {
        let idle = self.pipes.iter().enumerate().filter(|(_, pipe)| pipe.expected.is_empty());
        let longest = idle.min_by_key(|(index, pipe)| (pipe.idle_since, *index)).map(|(index, _)| index);
        let Some(index) = longest else { return false };
        self.close_pipe(index);
        true
    }

    fn open(&mut self, cx: &mut Cx<'_>, server: u16) -> usize {
        let sockets = self.tcp.open(cx, server, self.settings.port);
        let mut pipe = Pipe {
            sockets,
            expected: VecDeque::with_capacity(self.settings.pipeline.min(16)),
            ready: !self.tls,
            proven: false,
            written: 0,
            read: 0,
            message_at: 0,
            asked: 0,
            idle_since: cx.now,
        };
        if self.tls {
            pipe.written = CLIENT_HELLO;
            self.dialogue.say(sockets, self.direction, CLIENT_HELLO, Message::Hello);
            self.tcp.write(sockets, CLIENT_HELLO);
        }
        self.pipes.push(pipe);
        self.pipes.len() - 1
    }

    fn close_pipe(&mut self, index: usize) -> Pipe {
        let pipe = self.pipes.remove(index);
        self.tcp.close(pipe.sockets);
        self.dialogue.leave(pipe.sockets, self.direction);
        pipe
    }

    /// Sends the unsent requests of a connection.
    fn send(&mut self, index: usize) {
        let pipe = &mut self.pipes[index];
        if !pipe.ready {
            return;
        }
        for expected in pipe.expected.iter_mut().filter(|expected| expected.stream.is_none()) {
            let Request { head, body, wait, urgency, request, .. } = expected.request;
            let mut bytes = request.get();
            let first = pipe.asked == 0;
            if self.version == HttpVersion::Two {
                bytes += FRAME + if first { PREFACE } else { 0 };
            }
            if self.tls {
                bytes += RECORD + if first { FINISHED } else { 0 };
            }
            pipe.written += bytes;
            let message = Message::Request { stream: pipe.asked, head, body, wait, urgency };
            self.dialogue.say(pipe.sockets, self.direction, pipe.written, message);
            self.tcp.write(pipe.sockets, bytes);
            expected.stream = Some(pipe.asked);
            pipe.asked += 1;
        }
    }

    /// Handles received bytes: parts of responses, one after another.
    fn take(&mut self, arrival: &Arrival, now: Instant) {
        let Some(index) = self.pipes.iter().position(|pipe| pipe.sockets == arrival.sockets) else { return };
        let pipe = &mut self.pipes[index];
        let from_server = self.direction.reversed();
        let read_to = pipe.read + arrival.bytes;
        let mut shook_hands = false;
        while pipe.read < read_to
            && let Some((end, Message::Part { stream, overhead, last, .. })) =
                self.dialogue.next(pipe.sockets, from_server)
        {
            let to = end.min(read_to);
            let body_from = pipe.message_at + overhead;
            let bytes = to.max(body_from) - pipe.read.max(body_from);
            pipe.read = to;
            let whole = to == end;
            if whole {
                pipe.message_at = end;
                let _ = self.dialogue.hear(pipe.sockets, from_server, end);
            }
            if stream == HANDSHAKE {
                shook_hands |= whole;
                continue;
            }
            let Some(place) = pipe.expected.iter().position(|expected| expected.stream == Some(stream))
            else {
                continue;
            };
            pipe.expected[place].tell(bytes, &mut self.events);
            if whole && last {
                let id = pipe.expected[place].request.id;
                pipe.expected.remove(place);
                (pipe.proven, pipe.idle_since) = (true, now);
                self.events.push_back(HttpEvent::Completed { id });
            }
        }
        if shook_hands {
            pipe.ready = true;
            self.send(index);
        }
    }

    /// A connection was reset, or closed by the other end: its requests wait again.
    #[cold]
    fn lose(&mut self, sockets: SocketPair) {
        let Some(index) = self.pipes.iter().position(|pipe| pipe.sockets == sockets) else { return };
        for expected in self.close_pipe(index).expected {
            self.queue(Expected { stream: None, begun: false, came: 0, ..expected });
        }
    }
}

impl Expected {
    /// Counts further bytes of the body; zero with the first byte of the header.
    fn tell(&mut self, bytes: u64, events: &mut VecDeque<HttpEvent>) {
        let id = self.request.id;
        if !self.begun {
            self.begun = true;
            events.push_back(HttpEvent::Began { id });
        }
        self.came += bytes;
        if self.came > self.told {
            events.push_back(HttpEvent::Received { id, bytes: self.came - self.told });
            self.told = self.came;
        }
    }
}

impl HttpClient for HttpOverTcp {
    fn get(&mut self, cx: &mut Cx<'_>, request: Request) {
        self.queue(Expected { request, stream: None, begun: false, came: 0, told: 0 });
        self.assign(cx);
    }

    fn poll(&mut self) -> Option<HttpEvent> {
        self.events.pop_front()
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, packet: PacketRef) {
        if let Some(arrival) = self.tcp.handle_packet(cx, packet) {
            self.take(&arrival, cx.now);
            if arrival.at_end {
                self.lose(arrival.sockets); // the server, or a proxy, will answer no more requests on it
            }
        }
        if !self.waiting.is_empty() {
            self.assign(cx);
        }
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        self.tcp.handle_timeout(cx);
        while let Some(index) = self.pipes.iter().position(|pipe| pipe.idle_until(&self.settings) <= cx.now) {
            self.close_pipe(index);
        }
    }

    fn next_timeout(&self) -> Instant {
        let idle = self.pipes.iter().map(|pipe| pipe.idle_until(&self.settings));
        idle.min().unwrap_or(Instant::FAR_FUTURE).min(self.tcp.next_timeout())
    }

    fn flush(&mut self, cx: &mut Cx<'_>) {
        self.tcp.flush(cx);
        while let Some(sockets) = self.tcp.poll_lost() {
            self.lose(sockets);
            self.assign(cx);
            self.tcp.flush(cx);
        }
    }

    fn close(&mut self, _: &mut Cx<'_>) {
        self.waiting.clear();
        self.events.clear();
        while !self.pipes.is_empty() {
            self.close_pipe(0);
        }
    }

    fn connections_opened(&self) -> u64 {
        self.tcp.opened()
    }

    fn limit_reading(&mut self, cx: &mut Cx<'_>, bytes: u64) {
        self.tcp.set_appetite(bytes);
        while let Some(arrival) = self.tcp.read(cx.now) {
            self.take(&arrival, cx.now);
        }
    }

    fn unread(&self) -> u64 {
        self.tcp.unread()
    }
}

impl Pipe {
    /// The time at which the connection has been idle for too long.
    fn idle_until(&self, settings: &HttpSettings) -> Instant {
        if self.expected.is_empty() { self.idle_since + settings.keep_alive } else { Instant::FAR_FUTURE }
    }
}
