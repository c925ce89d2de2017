//! A web browser: pages of objects that are discovered while others arrive, one page after another.
//!
//! A page begins with its document. An object is requested when a given part of the object that names it has
//! arrived (as an image is when the tag that names it has been parsed), and after the name of its server has
//! been looked up, if it is unknown. A page is loaded when all of its objects are (the `load` event of a
//! document). Then the reader thinks, and visits another page.
//!
//! Not included: the time of parsing and scripts, rendering, redirections and a cache of objects: each page
//! is loaded as if for the first time. Connections and names are kept between pages.

use std::sync::Arc;

use airlane_core::{Bytes, Cx, Duration, Event, FlowId, Instant, Node, PacketRef, Port, Stream};

use crate::dns::Names;
use crate::http::{HttpClient, HttpEvent, Request};

/// An object of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageObject {
    /// The number of its server.
    pub server: u16,
    /// The request on the wire.
    pub request: Bytes,
    /// The header of the response.
    pub head: Bytes,
    /// The object itself.
    pub body: Bytes,
    /// The server's processing time before it answers.
    pub wait: Duration,
    /// Urgency of the object, 0 to 7; 0 is the most urgent.
    pub urgency: u8,
    /// The object that names it, which precedes it in the page; the document names itself.
    pub parent: u32,
    /// Bytes of that object's body after which this one is discovered.
    pub after: Bytes,
}

/// A page: its document, and further objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    name: String,
    objects: Vec<PageObject>,
    /// The objects after the document, sorted by the object that names them and then by the time of
    /// discovery.
    children: Vec<u32>,
    /// The start of each object's children in `children`, and the end of the last.
    begins: Vec<u32>,
}

impl Page {
    /// A page of these objects, the document first.
    ///
    /// # Panics
    /// If there are no objects, if an object is named by itself, by a later one or beyond the end of
    /// its parent's body, or if one has no header.
    #[must_use]
    pub fn new(name: String, objects: Vec<PageObject>) -> Self {
        assert!(!objects.is_empty(), "a page has a document");
        for (index, object) in objects.iter().enumerate() {
            let parent = object.parent as usize;
            assert!(index == 0 || parent < index, "an object is named by one before it");
            assert!(index == 0 || object.after <= objects[parent].body, "an object is named within another");
            assert!(
                object.head > Bytes::ZERO && object.request > Bytes::ZERO,
                "requests and responses have heads"
            );
        }
        let mut children: Vec<u32> = (1..objects.len() as u32).collect();
        let place = |index: &u32| (objects[*index as usize].parent, objects[*index as usize].after, *index);
        children.sort_unstable_by_key(place);
        let before =
            |parent| children.partition_point(|child| objects[*child as usize].parent < parent) as u32;
        let begins = (0..=objects.len() as u32).map(before).collect();
        Self { name, objects, children, begins }
    }

    /// The name of the page.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The objects of the page, the document first.
    #[must_use]
    pub fn objects(&self) -> &[PageObject] {
        &self.objects
    }
}

/// The order in which pages are visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visits {
    /// In their order, and from the first again.
    InOrder,
    /// Each drawn from all pages with equal probability.
    Random,
}

/// The use of a browser.
#[derive(Clone, Debug)]
pub struct Browsing {
    /// The available pages.
    pub pages: Arc<[Page]>,
    /// The order in which they are visited.
    pub visits: Visits,
    /// The number of visits; `None` for no end.
    pub count: Option<u32>,
    /// The mean of the reader's think time after a page, which is exponentially distributed.
    pub think_time: Duration,
    /// Time of the first request for a page.
    pub start: Instant,
    /// Time at which the browser is closed.
    pub stop: Option<Instant>,
}

/// A page that is being loaded.
#[derive(Debug)]
struct Loading {
    page: usize,
    started_at: Instant,
    first_byte_at: Option<Instant>,
    /// Number of complete objects.
    complete: u32,
    connections_before: u64,
    queries_before: u64,
    /// For each object: the received bytes of its body, and how many of the objects that it names
    /// are discovered.
    received: Vec<u64>,
    named: Vec<u32>,
    /// Objects that wait for the address of their server.
    unresolved: Vec<u32>,
}

/// The browser, over any version of HTTP.
#[derive(Debug)]
pub struct Browser<C> {
    http: C,
    names: Option<Names>,
    browsing: Browsing,
    flow: FlowId,
    draws: Stream,
    loading: Loading,
    /// When the next page is requested; `None` while one is loading, or after the last.
    next_page: Option<Instant>,
    visited: u32,
}

impl<C: HttpClient> Browser<C> {
    /// A browser that visits pages. Without `names`, the addresses of servers are known.
    ///
    /// # Panics
    /// If there are no pages.
    #[must_use]
    pub fn new(http: C, names: Option<Names>, flow: FlowId, browsing: Browsing, draws: Stream) -> Self {
        assert!(!browsing.pages.is_empty(), "a browser has pages to visit");
        let most = browsing.pages.iter().map(|page| page.objects.len()).max().unwrap_or(0);
        Self {
            http,
            names,
            flow,
            draws,
            loading: Loading {
                page: 0,
                started_at: Instant::ZERO,
                first_byte_at: None,
                complete: 0,
                connections_before: 0,
                queries_before: 0,
                received: Vec::with_capacity(most),
                named: Vec::with_capacity(most),
                unresolved: Vec::with_capacity(most),
            },
            next_page: Some(browsing.start),
            visited: 0,
            browsing,
        }
    }

    /// The HTTP client.
    #[must_use]
    pub const fn http(&self) -> &C {
        &self.http
    }

    fn page(&self) -> &Page {
        &self.browsing.pages[self.loading.page]
    }

    fn begin_page(&mut self, cx: &mut Cx<'_>) {
        self.next_page = None;
        let pages = self.browsing.pages.len();
        let page = match self.browsing.visits {
            Visits::InOrder => self.visited as usize % pages,
            Visits::Random => self.draws.below(pages as u64) as usize,
        };
        self.visited += 1;
        let objects = self.browsing.pages[page].objects.len();
        let loading = &mut self.loading;
        (loading.page, loading.started_at, loading.first_byte_at, loading.complete) = (page, cx.now, None, 0);
        loading.connections_before = self.http.connections_opened();
        loading.queries_before = self.names.as_ref().map_or(0, Names::queries);
        loading.received.clear();
        loading.received.resize(objects, 0);
        loading.named.clear();
        loading.named.resize(objects, 0);
        loading.unresolved.clear();
        cx.emit(&Event::PageBegan { flow: self.flow, page: page as u32 });
        self.want(cx, 0);
    }

    /// Requests an object that has been discovered.
    fn want(&mut self, cx: &mut Cx<'_>, index: u32) {
        let server = self.page().objects[index as usize].server;
        if self.names.as_mut().is_none_or(|names| names.resolve(cx, server)) {
            self.get(cx, index);
        } else {
            self.loading.unresolved.push(index);
        }
    }

    fn get(&mut self, cx: &mut Cx<'_>, id: u32) {
        let PageObject { server, request, head, body, wait, urgency, .. } = self.page().objects[id as usize];
        self.http.get(cx, Request { id, server, request, head, body, wait, urgency });
    }

    /// The address of a server is known.
    fn resolved(&mut self, cx: &mut Cx<'_>, server: u16) {
        let mut index = 0;
        while index < self.loading.unresolved.len() {
            let id = self.loading.unresolved[index];
            if self.page().objects[id as usize].server == server {
                self.loading.unresolved.remove(index);
                self.get(cx, id);
            } else {
                index += 1;
            }
        }
    }

    /// Handles the events of HTTP.
    fn work(&mut self, cx: &mut Cx<'_>) {
        while let Some(event) = self.http.poll() {
            match event {
                HttpEvent::Began { id: 0 } => {
                    self.loading.first_byte_at.get_or_insert(cx.now);
                }
                HttpEvent::Began { .. } => {}
                HttpEvent::Received { id, bytes } => {
                    self.loading.received[id as usize] += bytes;
                    self.parse(cx, id);
                }
                HttpEvent::Completed { id } => {
                    self.parse(cx, id);
                    self.loading.complete += 1;
                    if self.loading.complete as usize == self.page().objects.len() {
                        self.end_page(cx);
                    }
                }
            }
        }
        self.http.flush(cx);
    }

    /// Discovers the objects named by the received part of this one.
    fn parse(&mut self, cx: &mut Cx<'_>, id: u32) {
        let parent = id as usize;
        loop {
            let (page, loading) = (&self.browsing.pages[self.loading.page], &self.loading);
            let (begin, end) = (page.begins[parent], page.begins[parent + 1]);
            let at = begin + loading.named[parent];
            if at == end {
                return;
            }
            let child = page.children[at as usize];
            if page.objects[child as usize].after.get() > loading.received[parent] {
                return;
            }
            self.loading.named[parent] += 1;
            self.want(cx, child);
        }
    }

    fn end_page(&mut self, cx: &mut Cx<'_>) {
        let (flow, loading) = (self.flow, &self.loading);
        let objects = &self.page().objects;
        let bytes = objects.iter().map(|object| object.head.get() + object.body.get()).sum();
        cx.emit(&Event::PageLoaded {
            flow,
            first_byte: loading.first_byte_at.unwrap_or(cx.now) - loading.started_at,
            time: cx.now - loading.started_at,
            objects: objects.len() as u32,
            bytes: Bytes(bytes),
            connections: (self.http.connections_opened() - loading.connections_before) as u32,
            queries: (self.names.as_ref().map_or(0, Names::queries) - loading.queries_before) as u32,
        });
        if self.browsing.count.is_some_and(|count| self.visited >= count) {
            cx.emit(&Event::FlowCompleted { flow, started_at: self.browsing.start });
            self.http.close(cx);
            return;
        }
        let think_ns = self.draws.exponential(self.browsing.think_time.as_nanos() as f64);
        self.next_page = Some(cx.now + Duration::from_nanos(think_ns as u64));
    }
}

impl<C: HttpClient> Node for Browser<C> {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, _: Port, packet: PacketRef) {
        let known = match &mut self.names {
            Some(names) if Names::own(cx.pool.get(&packet)) => names.handle_packet(cx, packet),
            _ => {
                self.http.handle_packet(cx, packet);
                None
            }
        };
        if let Some(server) = known {
            self.resolved(cx, server);
        }
        self.work(cx);
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        if self.browsing.stop.is_some_and(|stop| stop <= cx.now) {
            (self.browsing.stop, self.next_page, self.names) = (None, None, None);
            self.http.close(cx);
        }
        if self.next_page.is_some_and(|at| at <= cx.now) {
            self.begin_page(cx);
        }
        if let Some(names) = &mut self.names {
            names.handle_timeout(cx);
        }
        self.http.handle_timeout(cx);
        self.work(cx);
    }

    fn next_timeout(&self) -> Option<Instant> {
        let own = self.next_page.into_iter().chain(self.browsing.stop);
        let names = self.names.as_ref().map(Names::next_timeout);
        let at = own.chain(names).min().unwrap_or(Instant::FAR_FUTURE).min(self.http.next_timeout());
        (at != Instant::FAR_FUTURE).then_some(at)
    }

    fn packets_held(&self) -> usize {
        0
    }
}
