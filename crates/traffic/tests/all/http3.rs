//! HTTP/3 compared with HTTP/2 over a wire of 10 ms each way without a rate: the times can be computed by
//! hand.

use std::sync::Arc;

use airlane_core::{
    Bytes, Cx, Direction, Duration, Event, FlowId, Instant, Node, PacketRef, Payload, Port, Probe, Seeds,
    Topic, TopicSet,
};
use airlane_quic::QuicConfig;
use airlane_traffic::dialogue::Dialogue;
use airlane_traffic::dns::{Names, Resolver};
use airlane_traffic::http::{
    HttpClient, HttpEvent, HttpOverQuic, HttpOverTcp, HttpServer, HttpSettings, HttpVersion, QuicHttpServer,
    Request,
};
use airlane_traffic::{Browser, Browsing, Page, PageObject, Visits};
use airlane_transport::{Path, TcpConfig};

use crate::pages::{object, page};
use crate::wire;

const FLOW: FlowId = FlowId(0);
const UP: Path = Path::new(FLOW, Direction::Uplink);
const DOWN: Path = Path::new(FLOW, Direction::Downlink);
const SETTINGS: HttpSettings =
    HttpSettings { per_server: 1, in_all: 32, pipeline: 100, keep_alive: Duration::from_secs(5), port: 443 };

/// The results that the tests use.
#[derive(Default)]
struct Seen {
    /// For each page: time to the first byte and to the end, in ms since its start.
    pages: Vec<[u64; 2]>,
    connections: u32,
    /// Stream bytes that became readable, downlink and uplink.
    in_order: [u64; 2],
    sent: Vec<(Instant, Direction, Box<[u8]>)>,
    completed: bool,
}

impl Probe for Seen {
    fn topics(&self) -> TopicSet {
        let topics = TopicSet::NONE.with(Topic::Page).with(Topic::Sent);
        topics.with(Topic::Delivered).with(Topic::FlowCompleted)
    }
    fn observe(&mut self, now: Instant, event: &Event<'_>) {
        match *event {
            Event::PageLoaded { first_byte, time, connections, .. } => {
                self.pages.push([first_byte, time].map(|span| span.as_nanos() / 1_000_000));
                self.connections += connections;
            }
            Event::Sent { packet, .. } => {
                if let Payload::Bytes(datagram) = &packet.payload {
                    self.sent.push((now, packet.direction, datagram.clone()));
                }
            }
            Event::Delivered { packet, in_order, .. } => {
                let up = usize::from(packet.direction == Direction::Uplink);
                self.in_order[up] += in_order.get();
            }
            Event::FlowCompleted { .. } => self.completed = true,
            _ => {}
        }
    }
}

fn browsing(pages: Vec<Page>) -> Browsing {
    let count = Some(pages.len() as u32);
    let (visits, think_time, start) = (Visits::InOrder, Duration::ZERO, Instant::from_millis(100));
    Browsing { pages: Arc::from(pages), visits, count, think_time, start, stop: None }
}

fn draws() -> airlane_core::Stream {
    Seeds::new(1).stream("test")
}

struct Web {
    settings: HttpSettings,
    dns: Option<Duration>,
    pages: Vec<Page>,
    think_time: Duration,
    quic: QuicConfig,
}

impl Web {
    fn of(pages: Vec<Page>) -> Self {
        Self {
            settings: SETTINGS,
            dns: None,
            pages,
            think_time: Duration::ZERO,
            quic: QuicConfig::quinn(Seeds::new(1)),
        }
    }

    fn run(self, lost: impl Fn(u64) -> bool) -> Seen {
        let http = HttpOverQuic::new(self.settings, self.quic.clone(), UP);
        let names = self.dns.map(|_| Names::new(UP, Duration::from_secs(300), 8));
        let browsing = Browsing { think_time: self.think_time, ..browsing(self.pages) };
        let mut browser = Browser::new(http, names, FLOW, browsing, draws());
        let resolver = Resolver::new(DOWN, self.dns.unwrap_or(Duration::ZERO));
        let mut server = QuicHttpServer::new(self.quic, DOWN, resolver);
        let mut seen = Seen::default();
        let end = Instant::ZERO + Duration::from_secs(600);
        let pool = wire::run([&mut browser, &mut server], end, &mut seen, lost);
        // No leaks: no closed connection is kept.
        let kept = [browser.http().quic().connections(), server.quic().connections(), server.connections()];
        assert_eq!((pool.live(), kept), (0, [0; 3]));
        seen
    }
}

/// The same page over HTTP/2 and TLS.
fn over_tcp(pages: Vec<Page>) -> Seen {
    let dialogue = Dialogue::default();
    let http = HttpOverTcp::new(SETTINGS, TcpConfig::linux(), UP, dialogue.clone());
    let mut browser =
        Browser::new(http.speaking(HttpVersion::Two, true), None, FLOW, browsing(pages), draws());
    let server = HttpServer::new(TcpConfig::linux(), DOWN, dialogue, Resolver::new(DOWN, Duration::ZERO));
    let mut server = server.speaking(HttpVersion::Two, true);
    let mut seen = Seen::default();
    wire::run([&mut browser, &mut server], Instant::ZERO + Duration::from_secs(600), &mut seen, NEVER);
    seen
}

const NEVER: fn(u64) -> bool = |_| false;

/// A round trip for the handshake, for which TCP and TLS need two, and one for the document; then one
/// for all objects that it names, on the same connection. The bytes in addition to bodies are, for each
/// object, a frame of headers (3 bytes and its 300) and one of data (3 bytes for up to 16383), and once
/// the control streams of the server.
#[test]
fn a_page_takes_a_round_trip_less_than_over_http_2() {
    let objects: Vec<_> = (0..13).map(|i| object(0, if i == 0 { 2_000 } else { 500 }, (0, 0))).collect();
    let seen = Web::of(vec![page(objects.clone())]).run(NEVER);
    assert_eq!((seen.pages.as_slice(), seen.connections, seen.completed), ([[40, 60]].as_slice(), 1, true));
    assert_eq!(over_tcp(vec![page(objects)]).pages, [[60, 80]]);
    // Control: type, SETTINGS frame of 2 bytes, and 1 + 1, 1 + 8 and 1 + 1 of settings; a type for each of QPACK's two.
    let streams = 1 + 2 + 13 + 2;
    assert_eq!(seen.in_order, [streams + 13 * (3 + 300 + 3) + 2_000 + 12 * 500, streams + 13 * (3 + 400)]);
}

/// A second page from the same server takes one round trip on the existing connection, one from another
/// server takes two, and a DNS query one more plus the resolver's time.
#[test]
fn connections_outlive_a_page_and_no_server_has_two() {
    let one = |server| page(vec![object(server, 5_000, (0, 0))]);
    let web = || Web::of(vec![one(0), one(0), one(5), one(0)]);
    let seen = web().run(NEVER);
    assert_eq!((seen.pages, seen.connections), (vec![[40, 40], [20, 20], [40, 40], [20, 20]], 2));
    let seen = Web { dns: Some(Duration::from_millis(30)), ..web() }.run(NEVER);
    assert_eq!(seen.pages, [[90, 90], [20, 20], [90, 90], [20, 20]]);
    // With a limit of one connection, each replaces the one before.
    let settings = HttpSettings { in_all: 1, ..SETTINGS };
    assert_eq!(Web { settings, ..web() }.run(NEVER).connections, 3);
    let settings = HttpSettings { keep_alive: Duration::from_nanos(1), ..SETTINGS };
    let pages = (0..2).map(|_| one(0)).collect();
    assert_eq!(Web { settings, ..Web::of(pages) }.run(NEVER).connections, 1); // no think time between pages
}

/// The think time is about the idle timeout of a connection. The server may have given up the connection when
/// the request reaches it, and would not answer: a client that used it would wait for its own idle timeout.
/// RFC 9114 §5.1: a new connection is opened when the idle timeout is near. A page then takes two round trips
/// instead of one.
#[test]
fn a_page_near_an_idle_timeout_does_not_wait_for_it() {
    let visit = |idle_ms: u64, bytes: u64| {
        let settings = HttpSettings { keep_alive: Duration::from_secs(60), ..SETTINGS };
        // More than a quarter of the flow-control window: the client's last packet is one that the server
        // acknowledges, so the client's idle timer starts later than the server's.
        let mut web = Web::of((0..2).map(|_| page(vec![object(0, bytes, (0, 0))])).collect());
        web.quic.idle_timeout = Some(Duration::from_millis(idle_ms));
        Web { settings, think_time: Duration::from_secs(3), ..web }.run(NEVER)
    };
    for bytes in [5_000, 400_000, 2_000_000] {
        // The longest idle timeout that has expired when the second page is requested.
        let (mut passed, mut not_yet) = (200, 20_000);
        while not_yet - passed > 1 {
            let middle = u64::midpoint(passed, not_yet);
            if visit(middle, bytes).connections == 2 { passed = middle } else { not_yet = middle }
        }
        for idle_ms in passed - 80..passed + 80 {
            let seen = visit(idle_ms, bytes);
            let (first, second) = (seen.pages[0][1], seen.pages[1][1]);
            assert!(second <= first, "{bytes} B, idle timeout {idle_ms} ms: {second} ms after {first} ms");
        }
    }
}

/// Objects of all sizes and urgencies, from three servers, some of which have a processing time: for any
/// losses of the wire, each page is complete. `HttpOverQuic` asserts that each body is complete.
#[test]
fn whatever_is_lost_every_object_arrives_whole() {
    let mut lossless = 0;
    for every in [0_u64, 4, 7, 11, 23] {
        let mut objects = vec![object(0, 30_000, (0, 0))];
        objects.extend((1..40_u16).map(|i| PageObject {
            urgency: (i % 8) as u8,
            wait: Duration::from_millis(u64::from(i % 3) * 15),
            ..object(i % 3, 300 * u64::from(i * i), (0, 700 * u64::from(i)))
        }));
        objects.push(object(1, 0, (3, 10)));
        let mut web = Web::of(vec![page(objects.clone()), page(objects)]);
        web.settings.pipeline = 7;
        web.dns = Some(Duration::from_millis(5));
        let seen = web.run(|serial| every > 0 && ((serial * 2_654_435_761) >> 7) % every == 0);
        assert_eq!((seen.pages.len(), seen.completed), (2, true), "{every}");
        let time = seen.pages[0][1] + seen.pages[1][1];
        if every == 0 { lossless = time } else { assert!(time > lossless, "{every}: {time}") }
    }
}

/// A client that requests some objects at once and records the arrival of each.
#[derive(Debug)]
struct Asker<C> {
    http: C,
    requests: Vec<Request>,
    came: Vec<(u32, u64)>,
}

impl<C: HttpClient> Asker<C> {
    fn work(&mut self, cx: &mut Cx<'_>) {
        while let Some(event) = self.http.poll() {
            if let HttpEvent::Completed { id } = event {
                self.came.push((id, cx.now.as_nanos() / 1_000_000));
            }
        }
        self.http.flush(cx);
    }
}

impl<C: HttpClient> Node for Asker<C> {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, _: Port, packet: PacketRef) {
        self.http.handle_packet(cx, packet);
        self.work(cx);
    }
    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        for request in core::mem::take(&mut self.requests) {
            self.http.get(cx, request);
        }
        self.http.handle_timeout(cx);
        self.work(cx);
    }
    fn next_timeout(&self) -> Option<Instant> {
        let at = if self.requests.is_empty() { self.http.next_timeout() } else { Instant::ZERO };
        (at != Instant::FAR_FUTURE).then_some(at)
    }
    fn packets_held(&self) -> usize {
        0
    }
}

fn ask<C: HttpClient>(http: C, server: &mut dyn Node, requests: Vec<Request>, lost: u64) -> Vec<(u32, u64)> {
    let mut asker = Asker { http, requests, came: vec![] };
    let (mut seen, end) = (Seen::default(), Instant::ZERO + Duration::from_secs(100));
    wire::run([&mut asker, server], end, &mut seen, |serial| serial == lost);
    asker.came
}

fn request(id: u32, body: u64, urgency: u8) -> Request {
    let (request, head, wait) = (Bytes(60), Bytes(100), Duration::ZERO);
    Request { id, server: 0, request, head, body: Bytes(body), wait, urgency }
}

fn over_quic(requests: Vec<Request>, lost: u64) -> Vec<(u32, u64)> {
    let quic = QuicConfig { mtu_discovery: false, ..QuicConfig::quinn(Seeds::new(1)) };
    let mut server = QuicHttpServer::new(quic.clone(), DOWN, Resolver::new(DOWN, Duration::ZERO));
    ask(HttpOverQuic::new(SETTINGS, quic, UP), &mut server, requests, lost)
}

/// Eight objects of about a datagram each, requested at once: over HTTP/2, all data behind a lost packet
/// waits for its retransmission; over HTTP/3, only the data in the packet does.
#[test]
fn a_lost_packet_holds_up_no_other_stream() {
    let requests: Vec<_> = (0..8).map(|id| request(id, 1_100, 3)).collect();
    let late = |came: &[(u32, u64)], on_time: u64| came.iter().filter(|(_, at)| *at > on_time).count();
    // Some packets belong to handshakes and acknowledgments: the worst case over all packets is used.
    let mut worst = [0; 2];
    for lost in 8..24 {
        let three = over_quic(requests.clone(), lost);
        let dialogue = Dialogue::default();
        let http = HttpOverTcp::new(SETTINGS, TcpConfig::linux(), UP, dialogue.clone());
        let server = HttpServer::new(TcpConfig::linux(), DOWN, dialogue, Resolver::new(DOWN, Duration::ZERO));
        let mut server = server.speaking(HttpVersion::Two, true);
        let two = ask(http.speaking(HttpVersion::Two, true), &mut server, requests.clone(), lost);
        assert_eq!((three.len(), two.len()), (8, 8), "{lost}");
        // One packet of the client may carry all requests: their delay is the same over either.
        let first = three.iter().map(|(_, at)| *at).min().unwrap();
        if first == 40 && two[0].1 == 60 {
            worst = [worst[0].max(late(&three, 40)), worst[1].max(late(&two, 60))];
        }
    }
    assert!(
        (1..=2).contains(&worst[0]) && worst[1] >= 6,
        "over HTTP/3 {} late, over HTTP/2 {}",
        worst[0],
        worst[1]
    );
}

/// The most urgent response is sent first, independent of the order of requests, and equal ones one after the
/// other: 100 kB take three round trips of slow start.
#[test]
fn the_most_urgent_goes_first() {
    let requests =
        vec![request(0, 100_000, 7), request(1, 100_000, 3), request(2, 100_000, 3), request(3, 9_000, 0)];
    let came = over_quic(requests, 0);
    assert_eq!(came.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [3, 1, 2, 0]);
    let times: Vec<u64> = came.iter().map(|(_, at)| *at).collect();
    assert!(times[0] == 40 && times[1] < times[2] && times[2] < times[3], "{times:?}");
}

/// Every byte of every datagram, and its send time, is a function of the seed.
#[test]
fn a_seed_makes_the_same_datagrams_each_time() {
    let with = |seed| {
        let objects = (0..9).map(|i| object(i % 3, 3_000 * u64::from(i), (0, 0))).collect();
        let web = Web { quic: QuicConfig::quinn(Seeds::new(seed)), ..Web::of(vec![page(objects)]) };
        web.run(|serial| serial % 9 == 0).sent
    };
    assert!(with(1) == with(1));
    assert!(with(1) != with(2));
    // Connections of one client have different ids.
    let sent = with(1);
    let initial = |(_, direction, datagram): &&(Instant, Direction, Box<[u8]>)| {
        *direction == Direction::Uplink && datagram[0] & 0xB0 == 0x80
    };
    let ids: std::collections::BTreeSet<_> =
        sent.iter().filter(initial).map(|s| s.2[6..14].to_vec()).collect();
    assert!(ids.len() >= 3, "{ids:?}");
}

/// Silence for longer than the idle timeout ends a connection: its requests are repeated on another one.
#[test]
fn what_silence_takes_is_asked_for_again() {
    let objects = vec![object(0, 200_000, (0, 0)), object(0, 5_000, (0, 100_000))];
    let impatient =
        QuicConfig { idle_timeout: Some(Duration::from_millis(500)), ..QuicConfig::quinn(Seeds::new(1)) };
    let web = Web { quic: impatient, ..Web::of(vec![page(objects)]) };
    let seen = web.run(|serial| (40..100).contains(&serial));
    assert!(seen.completed && seen.connections >= 2, "{} connections", seen.connections);
}
