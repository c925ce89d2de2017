//! The server's end of HTTP over TCP: it answers what it is asked for, on whatever connection.

use std::collections::VecDeque;

use airlane_core::{Cx, Direction, FlowId, Header, Instant, Node, PacketRef, Port, SocketPair};
use airlane_transport::TcpConfig;

use super::Message;
use crate::dialogue::Dialogue;
use crate::dns::Resolver;
use crate::tcp_host::{Arrival, TcpHost};

/// A server writes no more while so much is written and not sent: what is decided late can be decided well
/// (TCP_NOTSENT_LOWAT; 16 KiB is what Apple and Cloudflare set).
const UNSENT_MAX: u64 = 16 * 1024;
/// What it writes at a time.
const CHUNK: u64 = 16 * 1024;

/// A response, or what is left of it.
#[derive(Clone, Copy, Debug)]
struct Response {
    stream: u32,
    /// Bytes before the body that were not written yet.
    head: u64,
    /// Bytes of the body; `u64::MAX` for no end.
    body: u64,
    ready_at: Instant,
}

/// A connection that was accepted.
#[derive(Debug)]
struct Accepted {
    sockets: SocketPair,
    read: u64,
    written: u64,
    responses: VecDeque<Response>,
    /// The client will ask for nothing more.
    at_end: bool,
}

impl Accepted {
    /// When the next response is ready: they leave in the order of their requests (RFC 9112 §9.3.2).
    fn ready_at(&self) -> Instant {
        self.responses.front().map_or(Instant::FAR_FUTURE, |response| response.ready_at)
    }
}

/// Answers requests, and names asked for.
#[derive(Debug)]
pub struct HttpServer {
    direction: Direction,
    tcp: TcpHost,
    dialogue: Dialogue<Message>,
    accepted: Vec<Accepted>,
    resolver: Resolver,
}

impl HttpServer {
    /// A server whose packets go in this direction. The client holds the same dialogue.
    #[must_use]
    pub fn new(
        config: TcpConfig,
        (flow, direction): (FlowId, Direction),
        dialogue: Dialogue<Message>,
        resolver: Resolver,
    ) -> Self {
        Self {
            direction,
            tcp: TcpHost::server(config, flow, direction),
            dialogue,
            accepted: Vec::with_capacity(64),
            resolver,
        }
    }

    /// The connections below.
    #[must_use]
    pub const fn tcp(&self) -> &TcpHost {
        &self.tcp
    }

    /// Requests may have come on a connection, or its end.
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
            let Message::Request { stream, head, body, wait, .. } = message else { continue };
            let (head, body, ready_at) = (head.get(), body.get(), now + wait);
            accepted.responses.push_back(Response { stream, head, body, ready_at });
        }
    }

    /// Writes what is ready, as much as there is room for.
    fn pump(&mut self, now: Instant) {
        let mut index = 0;
        while index < self.accepted.len() {
            let accepted = &mut self.accepted[index];
            while accepted.ready_at() <= now && self.tcp.unsent(accepted.sockets) < UNSENT_MAX {
                let Some(response) = accepted.responses.front_mut() else { break };
                let (overhead, body) = (response.head, response.body.min(CHUNK));
                response.head = 0;
                if response.body != u64::MAX {
                    response.body -= body;
                }
                let last = response.body == 0;
                let part = Message::Part { stream: response.stream, overhead, body, last };
                if last {
                    accepted.responses.pop_front();
                }
                accepted.written += overhead + body;
                self.dialogue.say(accepted.sockets, self.direction, accepted.written, part);
                self.tcp.write(accepted.sockets, overhead + body);
            }
            if accepted.at_end {
                // What the client has closed, it does not wait for any more.
                self.tcp.close(accepted.sockets);
                self.dialogue.leave(accepted.sockets);
                self.accepted.remove(index);
            } else {
                index += 1;
            }
        }
    }

    fn settle(&mut self, cx: &mut Cx<'_>) {
        self.pump(cx.now);
        self.tcp.flush(cx);
    }
}

impl Node for HttpServer {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, _: Port, packet: PacketRef) {
        if matches!(cx.pool.get(&packet).header, Header::Udp(_)) {
            return self.resolver.handle_packet(cx, packet);
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
        let blocked = |accepted: &&Accepted| self.tcp.unsent(accepted.sockets) < UNSENT_MAX;
        let ready = self.accepted.iter().filter(blocked).map(Accepted::ready_at).min();
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
