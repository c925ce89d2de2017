//! The client of HTTP/3.

use std::collections::VecDeque;

use airlane_core::{Cx, Instant, PacketRef, SocketPair};
use airlane_quic::{QuicConfig, QuicEvent, StreamId};
use airlane_transport::Path;

use super::frames::{self, FrameReader};
use super::{APPLICATION, fields, is_request, listen, open};
use crate::http::{HttpClient, HttpEvent, HttpSettings, Request};
use crate::quic_host::QuicHost;

/// A request that waits for a connection.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    request: Request,
    /// Bytes of the body reported to the application.
    told: u64,
}

/// A request on its stream.
#[derive(Debug)]
struct Asked {
    request: Request,
    told: u64,
    stream: StreamId,
    /// The unwritten part of the request.
    unwritten: Vec<u8>,
    response: FrameReader,
    begun: bool,
}

/// A connection to a server, and its requests.
#[derive(Debug)]
struct Link {
    sockets: SocketPair,
    asked: Vec<Asked>,
    /// True after the handshake.
    ready: bool,
    idle_since: Instant,
}

/// A client of HTTP/3.
#[derive(Debug)]
pub struct HttpOverQuic {
    settings: HttpSettings,
    quic: QuicHost,
    links: Vec<Link>,
    waiting: VecDeque<Waiting>,
    events: VecDeque<HttpEvent>,
}

impl HttpOverQuic {
    /// A client with connections of this configuration, sending in this direction. There is one connection
    /// per server (RFC 9114 §3.3); `settings.pipeline` is the maximum number of unanswered requests on it.
    #[must_use]
    pub fn new(settings: HttpSettings, config: QuicConfig, Path { flow, direction, .. }: Path) -> Self {
        let config = QuicConfig { application: APPLICATION, ..config };
        Self {
            settings,
            quic: QuicHost::client(config, flow, direction),
            links: Vec::with_capacity(settings.in_all),
            waiting: VecDeque::with_capacity(64),
            events: VecDeque::with_capacity(64),
        }
    }

    /// The QUIC connections.
    #[must_use]
    pub const fn quic(&self) -> &QuicHost {
        &self.quic
    }

    /// Adds a request to those that wait: the most urgent first, equal ones in their order.
    fn queue(&mut self, waiting: Waiting) {
        let urgency = waiting.request.urgency;
        let behind = self.waiting.partition_point(|other| other.request.urgency <= urgency);
        self.waiting.insert(behind, waiting);
    }

    /// Assigns requests to connections.
    fn assign(&mut self, cx: &Cx<'_>) {
        let mut index = 0;
        while index < self.waiting.len() {
            let waiting = self.waiting[index];
            let link = self.link_to(cx, waiting.request.server);
            if link.is_some_and(|link| self.ask(link, waiting)) {
                self.waiting.remove(index);
            } else {
                index += 1;
            }
        }
    }

    /// The connection to a server, opened now if there is none and the limit allows it. A connection that has
    /// been idle for so long that the server may have given it up is replaced (RFC 9114 §5.1).
    fn link_to(&mut self, cx: &Cx<'_>, server: u16) -> Option<usize> {
        let mut known = self.links.iter().position(|link| link.sockets.server == server);
        if let Some(index) = known
            && self.links[index].asked.is_empty()
            && self.links[index].ready
            && let sockets = self.links[index].sockets
            && self.quic.connection(sockets).is_some_and(|endpoint| endpoint.may_be_given_up(cx.now))
        {
            self.close_link(cx, index);
            known = None;
        }
        if known.is_some() || !(self.links.len() < self.settings.in_all || self.make_place(cx)) {
            return known;
        }
        let sockets = self.quic.open(cx, server, self.settings.port);
        let asked = Vec::with_capacity(self.settings.pipeline.min(16));
        self.links.push(Link { sockets, asked, ready: false, idle_since: cx.now });
        Some(self.links.len() - 1)
    }

    /// Closes the connection that has been idle for longest, if there is one.
    fn make_place(&mut self, cx: &Cx<'_>) -> bool {
        let waited_for = |link: &Link| self.waiting.iter().any(|w| w.request.server == link.sockets.server);
        let idle =
            self.links.iter().enumerate().filter(|(_, link)| link.asked.is_empty() && !waited_for(link));
        let longest = idle.min_by_key(|(index, link)| (link.idle_since, *index)).map(|(index, _)| index);
        let Some(index) = longest else { return false };
        self.close_link(cx, index);
        true
    }

    fn close_link(&mut self, cx: &Cx<'_>, index: usize) -> Link {
        let link = self.links.remove(index);
        if let Some(endpoint) = self.quic.connection(link.sockets) {
            endpoint.close(cx);
        }
        link
    }

    /// Sends a request on its own stream, if another stream is allowed.
    fn ask(&mut self, index: usize, Waiting { request, told }: Waiting) -> bool {
        let link = &mut self.links[index];
        if !link.ready || link.asked.len() >= self.settings.pipeline {
            return false;
        }
        let Some(stream) = self.quic.connection(link.sockets).and_then(|endpoint| endpoint.open()) else {
            return false;
        };
        let mut unwritten = Vec::new();
        frames::headers(&mut unwritten, &fields::request(&request));
        let response = FrameReader::default();
        link.asked.push(Asked { request, told, stream, unwritten, response, begun: false });
        self.write(index, stream);
        true
    }

    /// Writes as much of a request as the stream takes, and ends the stream after the last byte.
    fn write(&mut self, index: usize, stream: StreamId) {
        let Link { sockets, asked, .. } = &mut self.links[index];
        let Some(endpoint) = self.quic.connection(*sockets) else { return };
        let Some(asked) = asked.iter_mut().find(|asked| asked.stream == stream) else { return };
        if !asked.unwritten.is_empty() {
            let written = endpoint.write_bytes(stream, &asked.unwritten);
            asked.unwritten.drain(..written);
            if asked.unwritten.is_empty() {
                endpoint.finish(stream);
            }
        }
    }

    /// Handles the events of a connection. Returns the number of bytes read.
    fn work(&mut self, cx: &Cx<'_>, sockets: SocketPair) -> u64 {
        let mut in_order = 0;
        while let Some(event) = self.quic.connection(sockets).and_then(|endpoint| endpoint.poll()) {
            // A closed connection may still have events.
            let Some(index) = self.links.iter().position(|link| link.sockets == sockets) else { continue };
            match event {
                QuicEvent::Connected => {
                    self.links[index].ready = true;
                    self.quic.connection(sockets).map(open);
                }
                QuicEvent::Opened => {
                    while let Some(endpoint) = self.quic.connection(sockets)
                        && let Some(stream) = endpoint.accept_one_way()
                    {
                        in_order += listen(endpoint, stream);
                    }
                }
                QuicEvent::Readable(stream) if is_request(stream) => in_order += self.read(cx, index, stream),
                QuicEvent::Readable(stream) => {
                    in_order += self.quic.connection(sockets).map_or(0, |endpoint| listen(endpoint, stream));
                }
                QuicEvent::Writable(stream) => self.write(index, stream),
                QuicEvent::Finished(_) => {}
                QuicEvent::Lost => self.lose(index),
            }
        }
        in_order
    }

    /// Reads a part of a response. Returns the number of bytes of its stream.
    fn read(&mut self, cx: &Cx<'_>, index: usize, stream: StreamId) -> u64 {
        let link = &mut self.links[index];
        let Some(endpoint) = self.quic.connection(link.sockets) else { return 0 };
        let Some(place) = link.asked.iter().position(|asked| asked.stream == stream) else { return 0 };
        let asked = &mut link.asked[place];
        let read = endpoint.read_with(stream, |bytes| asked.response.take(bytes));
        let id = asked.request.id;
        if read.bytes > 0 && !asked.begun {
            asked.begun = true;
            self.events.push_back(HttpEvent::Began { id });
        }
        let came = asked.response.data();
        if came > asked.told {
            self.events.push_back(HttpEvent::Received { id, bytes: came - asked.told });
            asked.told = came;
        }
        if read.at_end {
            assert_eq!(came, asked.request.body.get(), "a response that ends has all of its body");
            link.asked.remove(place);
            link.idle_since = cx.now;
            self.events.push_back(HttpEvent::Completed { id });
        }
        read.bytes
    }

    /// A connection was lost: its requests wait again (RFC 9110 §9.2.2).
    #[cold]
    fn lose(&mut self, index: usize) {
        for Asked { request, told, .. } in self.links.remove(index).asked {
            self.queue(Waiting { request, told });
        }
    }
}

impl HttpClient for HttpOverQuic {
    fn get(&mut self, cx: &mut Cx<'_>, request: Request) {
        self.queue(Waiting { request, told: 0 });
        self.assign(cx);
    }

    fn poll(&mut self) -> Option<HttpEvent> {
        self.events.pop_front()
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, packet: PacketRef) {
        if let Some(packet) = self.quic.handle_packet(cx, packet) {
            let in_order = self.work(cx, packet.sockets);
            QuicHost::report(cx, &packet, in_order);
        }
        if !self.waiting.is_empty() {
            self.assign(cx);
        }
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        while let Some(sockets) = self.quic.handle_timeout(cx) {
            self.work(cx, sockets);
        }
        while let Some(index) = self.links.iter().position(|link| link.idle_until(&self.settings) <= cx.now) {
            self.close_link(cx, index);
        }
        if !self.waiting.is_empty() {
            self.assign(cx);
        }
    }

    fn next_timeout(&self) -> Instant {
        let idle = self.links.iter().map(|link| link.idle_until(&self.settings));
        idle.min().unwrap_or(Instant::FAR_FUTURE).min(self.quic.next_timeout())
    }

    fn flush(&mut self, cx: &mut Cx<'_>) {
        self.quic.flush(cx);
    }

    fn close(&mut self, cx: &mut Cx<'_>) {
        self.waiting.clear();
        self.events.clear();
        while !self.links.is_empty() {
            self.close_link(cx, 0);
        }
    }

    fn connections_opened(&self) -> u64 {
        self.quic.opened()
    }
}

impl Link {
    /// The time at which the connection has been idle for too long. During the handshake it is not idle.
    fn idle_until(&self, settings: &HttpSettings) -> Instant {
        let idle = self.ready && self.asked.is_empty();
        if idle { self.idle_since + settings.keep_alive } else { Instant::FAR_FUTURE }
    }
}
