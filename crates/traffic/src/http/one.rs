//! HTTP/1.1 over TCP, at the client (RFC 9112 §9): persistent connections, some per server and some in all, and
//! requests in the pipeline.
//!
//! A request goes out on an idle connection to its server; else on a new one, if there may be one more; else into the
//! pipeline of the one that has most of its pipeline taken and still has room ("fill first"), if its server has
//! shown to answer; else it waits. Where there may be no more in all, an idle connection to another server makes place.
//! A request stays with the connection that was opened for it, even if another is free before that one stands.

use core::cmp::Reverse;
use std::collections::VecDeque;

use airlane_core::{Cx, Direction, Duration, FlowId, Instant, PacketRef, SocketPair};
use airlane_transport::TcpConfig;

use super::{HttpClient, HttpEvent, Message, Request};
use crate::dialogue::Dialogue;
use crate::tcp_host::{Arrival, TcpHost};

/// How an HTTP/1.1 client goes about its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Http1Settings {
    /// Connections to a server at most.
    pub per_server: usize,
    /// Connections at most, to all servers.
    pub in_all: usize,
    /// Requests on a connection that are not answered yet, at most; 1 is no pipelining.
    pub pipeline: usize,
    /// How long an idle connection is kept.
    pub keep_alive: Duration,
    /// The port of every server.
    pub port: u16,
}

/// A connection, and what is expected of it.
#[derive(Debug)]
struct Pipe {
    sockets: SocketPair,
    /// Requests without a complete response: ids in order, and whether the first has begun.
    expected: VecDeque<u32>,
    begun: bool,
    /// It has answered a request.
    proven: bool,
    /// Bytes written and read.
    written: u64,
    read: u64,
    /// Where the message that is being read begins.
    message_at: u64,
    asked: u32,
    idle_since: Instant,
}

/// The client.
#[derive(Debug)]
pub struct Http1 {
    settings: Http1Settings,
    direction: Direction,
    tcp: TcpHost,
    dialogue: Dialogue<Message>,
    pipes: Vec<Pipe>,
    waiting: VecDeque<Request>,
    events: VecDeque<HttpEvent>,
}

impl Http1 {
    /// A client whose connections are set up so and whose packets go in this direction. The server holds the
    /// same dialogue.
    #[must_use]
    pub fn new(
        settings: Http1Settings,
        config: TcpConfig,
        (flow, direction): (FlowId, Direction),
        dialogue: Dialogue<Message>,
    ) -> Self {
        Self {
            settings,
            direction,
            tcp: TcpHost::client(config, flow, direction),
            dialogue,
            pipes: Vec::with_capacity(settings.in_all),
            waiting: VecDeque::with_capacity(64),
            events: VecDeque::with_capacity(64),
        }
    }

    /// The connections below.
    #[must_use]
    pub const fn tcp(&self) -> &TcpHost {
        &self.tcp
    }

    /// Gives requests to connections, the most urgent first and else in their order.
    fn assign(&mut self, cx: &mut Cx<'_>) {
        let mut index = 0;
        while index < self.waiting.len() {
            match self.pipe_for(cx, self.waiting[index].server) {
                Some(pipe) => {
                    let request = self.waiting.remove(index).expect("the index is in range");
                    self.send(pipe, &request);
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
        let pipeline = self.settings.pipeline;
        let takes = |pipe: &Pipe| pipe.expected.is_empty() || (pipe.proven && pipe.expected.len() < pipeline);
        let room = self.pipes.iter().enumerate().filter(|(_, p)| p.sockets.server == server && takes(p));
        // One that is idle; else the fullest, and of several the first.
        let preference = |index, pipe: &Pipe| (pipe.expected.is_empty(), pipe.expected.len(), Reverse(index));
        room.max_by_key(|(index, pipe)| preference(*index, pipe)).map(|(index, _)| index)
    }

    /// Closes the connection that has been idle for longest, if any is.
    fn make_place(&mut self) -> bool {
        let idle = self.pipes.iter().enumerate().filter(|(_, pipe)| pipe.expected.is_empty());
        let longest = idle.min_by_key(|(index, pipe)| (pipe.idle_since, *index)).map(|(index, _)| index);
        let Some(index) = longest else { return false };
        self.close_pipe(index);
        true
    }

    fn open(&mut self, cx: &mut Cx<'_>, server: u16) -> usize {
        let sockets = self.tcp.open(cx, server, self.settings.port);
        self.pipes.push(Pipe {
            sockets,
            expected: VecDeque::with_capacity(self.settings.pipeline.min(16)),
            begun: false,
            proven: false,
            written: 0,
            read: 0,
            message_at: 0,
            asked: 0,
            idle_since: cx.now,
        });
        self.pipes.len() - 1
    }

    fn close_pipe(&mut self, index: usize) {
        let pipe = self.pipes.remove(index);
        self.tcp.close(pipe.sockets);
        self.dialogue.leave(pipe.sockets);
    }

    fn send(&mut self, index: usize, request: &Request) {
        let pipe = &mut self.pipes[index];
        let Request { head, body, wait, urgency, .. } = *request;
        pipe.written += request.request.get();
        let message = Message::Request { stream: pipe.asked, head, body, wait, urgency };
        self.dialogue.say(pipe.sockets, self.direction, pipe.written, message);
        self.tcp.write(pipe.sockets, request.request.get());
        pipe.expected.push_back(request.id);
        pipe.asked += 1;
    }

    /// Bytes have come: parts of responses, one after another.
    fn take(&mut self, arrival: &Arrival, now: Instant) {
        let Some(index) = self.pipes.iter().position(|pipe| pipe.sockets == arrival.sockets) else { return };
        let pipe = &mut self.pipes[index];
        let from_server = self.direction.reversed();
        let read_to = pipe.read + arrival.bytes;
        while pipe.read < read_to
            && let Some((end, Message::Part { overhead, body, last, .. })) =
                self.dialogue.next(pipe.sockets, from_server)
        {
            let Some(&id) = pipe.expected.front() else { break };
            let to = end.min(read_to);
            if !pipe.begun {
                pipe.begun = true;
                self.events.push_back(HttpEvent::Began { id });
            }
            let body_from = pipe.message_at + overhead;
            let bytes = to.max(body_from) - pipe.read.max(body_from);
            debug_assert!(end == body_from + body);
            if bytes > 0 {
                self.events.push_back(HttpEvent::Received { id, bytes });
            }
            pipe.read = to;
            if to < end {
                break;
            }
            pipe.message_at = end;
            let _ = self.dialogue.hear(pipe.sockets, from_server, end);
            if last {
                pipe.expected.pop_front();
                (pipe.begun, pipe.proven, pipe.idle_since) = (false, true, now);
                self.events.push_back(HttpEvent::Completed { id });
            }
        }
    }
}

impl HttpClient for Http1 {
    fn get(&mut self, cx: &mut Cx<'_>, request: Request) {
        let behind = self.waiting.partition_point(|other| other.urgency <= request.urgency);
        self.waiting.insert(behind, request);
        self.assign(cx);
    }

    fn poll(&mut self) -> Option<HttpEvent> {
        self.events.pop_front()
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, packet: PacketRef) {
        if let Some(arrival) = self.tcp.handle_packet(cx, packet) {
            self.take(&arrival, cx.now);
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
}

impl Pipe {
    /// When it has been idle for too long.
    fn idle_until(&self, settings: &Http1Settings) -> Instant {
        if self.expected.is_empty() { self.idle_since + settings.keep_alive } else { Instant::FAR_FUTURE }
    }
}
