//! A browser and its servers over a wire of 10 ms each way without a rate: the times can be computed by hand.

use std::sync::Arc;

use airlane_core::{
    Bytes, Cx, Direction, Duration, Event, FlowId, Header, Instant, Node, Packet, PacketRef, Payload, Port,
    Probe, Seeds, SocketPair, TcpFlags, Topic, TopicSet,
};
use airlane_traffic::dialogue::Dialogue;
use airlane_traffic::dns::{Names, Resolver};
use airlane_traffic::http::{HttpOverTcp, HttpServer, HttpSettings, HttpVersion, Message};
use airlane_traffic::{Browser, Browsing, Page, PageObject, Visits};
use airlane_transport::{Path, TcpConfig};

use crate::pages::{object, page};
use crate::wire;

const FLOW: FlowId = FlowId(0);
const SETTINGS: HttpSettings =
    HttpSettings { per_server: 6, in_all: 17, pipeline: 1, keep_alive: Duration::from_secs(5), port: 80 };

/// The results that the tests use.
#[derive(Default)]
struct Seen {
    /// For each page: time to the first byte and to the end, in ms since its start.
    pages: Vec<[u64; 2]>,
    /// Number of connections opened, and of DNS queries.
    connections: u32,
    queries: u32,
    /// SYNs of the client and FINs of either end: time and sockets.
    syns: Vec<(u64, SocketPair)>,
    fins: Vec<(u64, Direction, SocketPair)>,
    /// Downlink payload that was delivered for the first time.
    fresh: u64,
    /// Requests: times of uplink data segments.
    asked: Vec<u64>,
    completed: bool,
}

impl Probe for Seen {
    fn topics(&self) -> TopicSet {
        let topics = TopicSet::NONE.with(Topic::Page).with(Topic::Sent);
        topics.with(Topic::Delivered).with(Topic::FlowCompleted)
    }
    fn observe(&mut self, now: Instant, event: &Event<'_>) {
        let ms = now.as_nanos() / 1_000_000;
        match *event {
            Event::PageLoaded { first_byte, time, connections, queries, .. } => {
                self.pages.push([first_byte, time].map(|span| span.as_nanos() / 1_000_000));
                self.connections += connections;
                self.queries += queries;
            }
            Event::Sent { packet, .. } => {
                let Header::Tcp(header) = packet.header else { return };
                let up = packet.direction == Direction::Uplink;
                if header.flags.has(TcpFlags::SYN) && up {
                    self.syns.push((ms, packet.sockets));
                }
                if header.flags.has(TcpFlags::FIN) {
                    self.fins.push((ms, packet.direction, packet.sockets));
                }
                if up && !packet.payload.is_empty() {
                    self.asked.push(ms);
                }
            }
            Event::Delivered { packet, fresh, .. } if packet.direction == Direction::Downlink => {
                self.fresh += fresh.map_or(0, Bytes::get);
            }
            Event::FlowCompleted { .. } => self.completed = true,
            _ => {}
        }
    }
}

struct Web {
    speaks: (HttpVersion, bool),
    settings: HttpSettings,
    dns: Option<Duration>,
    pages: Vec<Page>,
    count: u32,
    think_time: Duration,
    tcp: TcpConfig,
}

impl Web {
    fn of(pages: Vec<Page>) -> Self {
        let (count, tcp) = (pages.len() as u32, TcpConfig::linux());
        Self {
            speaks: (HttpVersion::One, false),
            settings: SETTINGS,
            dns: None,
            pages,
            count,
            think_time: Duration::ZERO,
            tcp,
        }
    }

    fn run(self, lost: impl Fn(u64) -> bool) -> (Seen, u64) {
        let dialogue: Dialogue<Message> = Dialogue::default();
        let (up, down) = (Path::new(FLOW, Direction::Uplink), Path::new(FLOW, Direction::Downlink));
        let (version, tls) = self.speaks;
        let http = HttpOverTcp::new(self.settings, self.tcp.clone(), up, dialogue.clone());
        let names = self.dns.map(|_| Names::new(up, Duration::from_secs(300), 8));
        let resolver = Resolver::new(down, self.dns.unwrap_or(Duration::ZERO));
        let browsing = Browsing {
            pages: Arc::from(self.pages),
            visits: Visits::InOrder,
            count: Some(self.count),
            think_time: self.think_time,
            start: Instant::from_millis(100),
            stop: None,
        };
        let draws = Seeds::new(1).stream("test");
        let mut browser = Browser::new(http.speaking(version, tls), names, FLOW, browsing, draws);
        let server = HttpServer::new(self.tcp, down, dialogue.clone(), resolver);
        let mut server = server.speaking(version, tls);
        let mut seen = Seen::default();
        let end = Instant::ZERO + Duration::from_secs(600);
        let pool = wire::run([&mut browser, &mut server], end, &mut seen, lost);
        assert_eq!(pool.live(), 0);
        // No leaks: every connection is closed at both ends, and no record of it is left.
        assert_eq!((browser.http().tcp().connections(), server.tcp().connections()), (0, 0));
        assert_eq!(dialogue.connections(), 0);
        assert_eq!(server.tcp().totals()[0], browser.http().tcp().totals()[1]);
        (seen, pool.inserted())
    }
}

const NEVER: fn(u64) -> bool = |_| false;

/// A round trip for the handshake and one for request and response: the document of 5,000 bytes fits into the
/// initial window. The SYN is sent from a dynamic port to port 80.
#[test]
fn a_document_takes_two_round_trips() {
    let (seen, _) = Web::of(vec![page(vec![object(0, 5_000, (0, 0))])]).run(NEVER);
    assert_eq!(seen.pages, [[40, 40]]);
    assert_eq!(seen.syns, [(100, SocketPair { server: 0, server_port: 80, ue_port: 49_152 })]);
    assert_eq!((seen.connections, seen.queries, seen.fresh, seen.completed), (1, 0, 5_300, true));
    // The browser closes at 140 ms, and the server when the FIN has arrived.
    let ends: Vec<_> = seen.fins.iter().map(|(ms, direction, _)| (*ms, *direction)).collect();
    assert_eq!(ends, [(140, Direction::Uplink), (150, Direction::Downlink)]);
}

/// The same with a DNS query: a round trip and 30 ms of the resolver before the SYN. A second page from the
/// same server takes one round trip on the existing connection, and a third one from another server takes all
/// three.
#[test]
fn names_and_connections_outlive_a_page() {
    let one = |server| page(vec![object(server, 5_000, (0, 0))]);
    let mut web = Web::of(vec![one(0), one(0), one(5)]);
    web.dns = Some(Duration::from_millis(30));
    let (seen, _) = web.run(NEVER);
    assert_eq!(seen.pages, [[90, 90], [20, 20], [90, 90]]);
    assert_eq!((seen.connections, seen.queries), (2, 2));
}

/// An object that the last byte of the document names is requested when that byte has arrived; so is one that
/// the first byte names, because the whole document arrives at once. Both are on other servers: a handshake
/// each, in parallel.
#[test]
fn objects_are_discovered_while_others_arrive() {
    let objects = vec![object(0, 5_000, (0, 0)), object(1, 1_000, (0, 5_000)), object(1, 1_000, (0, 1))];
    let (seen, _) = Web::of(vec![page(objects)]).run(NEVER);
    assert_eq!(seen.pages, [[40, 80]]);
    assert_eq!(seen.connections, 3);
    // A document of 40,000 bytes takes two rounds after the first: 14,480 bytes (the initial window), then
    // the rest. The object that its first half names is requested with the first of them, before the document
    // is complete.
    let early = vec![object(0, 40_000, (0, 0)), object(1, 1_000, (0, 1_000))];
    let late = vec![object(0, 40_000, (0, 0)), object(1, 1_000, (0, 40_000))];
    assert_eq!(Web::of(vec![page(early)]).run(NEVER).0.pages, [[40, 80]]);
    assert_eq!(Web::of(vec![page(late)]).run(NEVER).0.pages, [[40, 100]]);
}

/// Twelve small objects on the document's server, named at once. With one connection they take a round trip
/// each; with a pipeline of three, a round trip for three; with all twelve in one pipeline, one round trip.
#[test]
fn connections_and_pipelines_are_limited() {
    let loads = |per_server, pipeline| {
        let objects = (0..13).map(|i| object(0, if i == 0 { 2_000 } else { 500 }, (0, 0))).collect();
        let mut web = Web::of(vec![page(objects)]);
        web.settings = HttpSettings { per_server, pipeline, ..SETTINGS };
        let (seen, _) = web.run(NEVER);
        (seen.pages[0][1], seen.connections)
    };
    assert_eq!(loads(1, 1), (40 + 12 * 20, 1));
    assert_eq!(loads(1, 3), (40 + 4 * 20, 1));
    assert_eq!(loads(1, 12), (40 + 20, 1));
    // At 40 ms one request is sent and five connections are opened for five more; at 60 the first connection
    // is free for a seventh; at 80 all six are free, for the last five.
    assert_eq!(loads(6, 1), (40 + 3 * 20, 6));
}

/// With a limit of two connections, an idle one is replaced by one to another server.
#[test]
fn idle_connections_make_place() {
    let objects = (0..4).map(|server| object(server, 500, (0, 0))).collect();
    let mut web = Web::of(vec![page(objects)]);
    web.settings.in_all = 2;
    let (seen, _) = web.run(NEVER);
    // The document is loaded at 40 ms. Then its connection is closed for the second server's, and two are
    // busy until 80; the fourth server's until 120.
    assert_eq!((seen.pages[0][1], seen.connections), (120, 4));
    assert_eq!(
        seen.syns.iter().map(|(ms, s)| (*ms, s.server)).collect::<Vec<_>>(),
        [(100, 0), (140, 1), (140, 2), (180, 3)]
    );
}

/// An idle connection is closed after its time, and the next page opens another one, from the next port.
#[test]
fn idle_connections_are_closed_in_time() {
    let one = || page(vec![object(0, 5_000, (0, 0))]);
    let mut web = Web::of(vec![one(), one()]);
    web.think_time = Duration::from_secs(60);
    web.settings.keep_alive = Duration::from_millis(50);
    let (seen, _) = web.run(NEVER);
    assert_eq!(seen.pages, [[40, 40], [40, 40]]);
    assert_eq!(seen.syns.iter().map(|(_, s)| s.ue_port).collect::<Vec<_>>(), [49_152, 49_153]);
    assert_eq!(seen.fins[0].0, 190);
}

/// For any losses of the wire, each page is complete, with every byte once, and no connection is left.
#[test]
fn losses_delay_pages_and_lose_nothing() {
    let mut lossless = 0;
    for every in [0_u64, 4, 7, 11, 23] {
        let mut objects = vec![object(0, 30_000, (0, 0))];
        objects.extend((1..40).map(|i| object(i % 5, 200 * u64::from(i * i), (0, 700 * u64::from(i)))));
        objects.extend((0..5).map(|i| object(4, 9_000, (3 + i, 10))));
        let mut web = Web::of(vec![page(objects.clone()), page(objects.clone())]);
        web.settings.pipeline = 1 + every as usize % 4;
        web.dns = Some(Duration::from_millis(5));
        let (seen, _) = web.run(|serial| every > 0 && ((serial * 2_654_435_761) >> 7) % every == 0);
        let bytes: u64 = objects.iter().map(|o| (o.head + o.body).get()).sum();
        assert_eq!((seen.fresh, seen.pages.len(), seen.completed), (2 * bytes, 2, true), "{every}");
        let time = seen.pages[0][1] + seen.pages[1][1];
        if every == 0 { lossless = time } else { assert!(time > lossless, "{every}: {time}") }
    }
}

/// The processing time of a server delays the responses behind it in the pipeline (RFC 9112 §9.3.2).
#[test]
fn responses_keep_the_order_of_requests() {
    let slow = PageObject { wait: Duration::from_millis(200), ..object(0, 500, (0, 0)) };
    let mut web = Web::of(vec![page(vec![object(0, 500, (0, 0)), slow, object(0, 500, (0, 0))])]);
    web.settings = HttpSettings { per_server: 1, pipeline: 2, ..SETTINGS };
    assert_eq!(web.run(NEVER).0.pages, [[40, 260]]);
}

/// HTTP/2 as in browsers: over TLS, with one connection per server.
fn two(pages: Vec<Page>) -> Web {
    let settings = HttpSettings { per_server: 1, in_all: 256, pipeline: 100, ..SETTINGS };
    Web { speaks: (HttpVersion::Two, true), settings, ..Web::of(pages) }
}

/// A round trip for TCP's handshake, one for TLS's and one for the document; then one for all objects that it
/// names, on the same connection. The additional bytes are: the server's flight (4096), for the document its
/// settings (36), and for each object a frame of headers and one of data (9 each) and a record (22).
#[test]
fn http_2_asks_for_everything_at_once() {
    let objects: Vec<_> = (0..13).map(|i| object(0, if i == 0 { 2_000 } else { 500 }, (0, 0))).collect();
    let (seen, _) = two(vec![page(objects.clone())]).run(NEVER);
    assert_eq!((seen.pages.as_slice(), seen.connections), ([[60, 80]].as_slice(), 1));
    assert_eq!(seen.fresh, 4096 + 36 + 13 * (300 + 9 + 9 + 22) + 2_000 + 12 * 500);
    let clear = Web { speaks: (HttpVersion::Two, false), ..two(vec![page(objects)]) };
    assert_eq!(clear.run(NEVER).0.pages, [[40, 60]]);
}

/// The most urgent response that is ready is sent first: a style sheet of 60 kB that is requested together
/// with an image of 600 kB on the same connection is complete first, so that the objects it names arrive
/// while the image does. HTTP/1.1 with one connection has to send the image first, and leaves the path empty
/// until the next request.
#[test]
fn http_2_sends_the_most_urgent_first() {
    let image = object(0, 600_000, (0, 0));
    let css = PageObject { urgency: 1, ..object(0, 60_000, (0, 3_000)) };
    let objects = vec![object(0, 3_000, (0, 0)), image, css, object(0, 50_000, (2, 60_000))];
    let with_two = Web { speaks: (HttpVersion::Two, false), ..two(vec![page(objects.clone())]) };
    let mut with_one = Web::of(vec![page(objects)]);
    with_one.settings = HttpSettings { per_server: 1, ..SETTINGS };
    let [two, one] = [with_two, with_one].map(|web| web.run(NEVER).0.pages[0][1]);
    assert!(two + 40 <= one, "{two} ms, {one} ms");
}

/// Objects of all urgencies over HTTP/2 and TLS, for any losses of the wire.
#[test]
fn http_2_loses_nothing_either() {
    for every in [5_u64, 9, 17] {
        let mut objects = vec![object(0, 30_000, (0, 0))];
        objects.extend((1..40_u16).map(|i| PageObject {
            urgency: (i % 8) as u8,
            wait: Duration::from_millis(u64::from(i % 3) * 15),
            ..object(i % 3, 300 * u64::from(i * i), (0, 700 * u64::from(i)))
        }));
        let mut web = two(vec![page(objects.clone()), page(objects)]);
        web.settings.pipeline = 7;
        let (seen, _) = web.run(|serial| ((serial * 2_654_435_761) >> 7) % every == 0);
        assert_eq!((seen.pages.len(), seen.completed), (2, true), "{every}");
    }
}

/// A server behind a device that answers one packet of the client with a RST, without the server's knowledge.
struct Resetting {
    server: HttpServer,
    packets: u32,
    at: u32,
}

impl Node for Resetting {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: PacketRef) {
        self.packets += 1;
        let arrived = cx.pool.get(&packet);
        let (Header::Tcp(header), sockets) = (arrived.header, arrived.sockets) else {
            panic!("nobody asks for a name")
        };
        let answer = airlane_transport::refusal(&header, arrived.payload.len());
        match answer {
            Some(reset) if self.packets == self.at => {
                let _ = cx.pool.consume(packet);
                let header = Header::Tcp(reset);
                let mut reset = Packet::new(FLOW, Direction::Downlink, header, Payload::Length(0), cx.now);
                reset.sockets = sockets;
                let reset = cx.pool.insert(reset);
                cx.send(port, reset);
            }
            _ => self.server.handle_packet(cx, port, packet),
        }
    }
    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        self.server.handle_timeout(cx);
    }
    fn next_timeout(&self) -> Option<Instant> {
        self.server.next_timeout()
    }
    fn packets_held(&self) -> usize {
        0
    }
}

/// If any one packet is answered by a RST (of the handshake, of the requests, in the middle of a response),
/// the page is loaded: the connection's requests are repeated. The server also gets a RST, when it sends on a
/// connection that the client no longer has.
#[test]
fn what_a_reset_takes_is_asked_for_again() {
    for (at, version) in (1..40).flat_map(|at| [(at, HttpVersion::One), (at, HttpVersion::Two)]) {
        let mut objects = vec![object(0, 40_000, (0, 0))];
        objects.extend((1..6).map(|i| object(0, 20_000, (0, 7_000 * i))));
        let dialogue: Dialogue<Message> = Dialogue::default();
        let settings = HttpSettings { per_server: 2, pipeline: 3, ..SETTINGS };
        let (up, down) = (Path::new(FLOW, Direction::Uplink), Path::new(FLOW, Direction::Downlink));
        let http =
            HttpOverTcp::new(settings, TcpConfig::linux(), up, dialogue.clone()).speaking(version, false);
        let browsing = Browsing {
            pages: Arc::from([page(objects)]),
            visits: Visits::InOrder,
            count: Some(1),
            think_time: Duration::ZERO,
            start: Instant::ZERO,
            stop: None,
        };
        let mut browser = Browser::new(http, None, FLOW, browsing, Seeds::new(1).stream("test"));
        let resolver = Resolver::new(down, Duration::ZERO);
        let server =
            HttpServer::new(TcpConfig::linux(), down, dialogue.clone(), resolver).speaking(version, false);
        let mut server = Resetting { server, packets: 0, at };
        let mut seen = Seen::default();
        let end = Instant::ZERO + Duration::from_secs(600);
        let pool = wire::run([&mut browser, &mut server], end, &mut seen, NEVER);
        let what = format!("packet {at} over {version:?}");
        assert!(seen.completed && seen.pages.len() == 1, "{what}: not loaded");
        assert_eq!(pool.live(), 0);
        assert_eq!(browser.http().tcp().connections(), 0, "{what}");
        // A server without data to send has not detected that the connection no longer exists (RFC 9293
        // §3.5.1).
        assert!(server.server.tcp().connections() <= 1 && dialogue.connections() <= 1, "{what}");
    }
}
