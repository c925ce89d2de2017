//! A page of objects, and its loading.
//!
//! A page begins with its document. An object is requested when a given part of the object that names it has
//! arrived (as an image is when the tag that names it has been parsed), and after the name of its server has
//! been looked up, if it is unknown. A page is loaded when all of its objects are (the `load` event of a
//! document).

use std::sync::Arc;

use airlane_core::{Bytes, Cx, Duration, Event, FlowId, Instant, PacketRef};

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

/// An HTTP client that looks up names and loads pages, one at a time.
///
/// It is driven like [`HttpClient`]. The application passes it the events of the client that concern the page.
#[derive(Debug)]
pub(crate) struct PageLoader<C> {
    http: C,
    names: Option<Names>,
    flow: FlowId,
    pages: Arc<[Page]>,
    page: usize,
    started_at: Instant,
    first_byte_at: Option<Instant>,
    /// Number of complete objects of the page; `None` if no page is loading.
    complete: Option<u32>,
    connections_before: u64,
    queries_before: u64,
    /// For each object: the received bytes of its body, and how many of the objects that it names
    /// are discovered.
    received: Vec<u64>,
    named: Vec<u32>,
    /// Requests that wait for the address of their server.
    unresolved: Vec<Request>,
}

impl<C: HttpClient> PageLoader<C> {
    /// A loader of these pages. Without `names`, the addresses of servers are known.
    pub(crate) fn new(http: C, names: Option<Names>, flow: FlowId, pages: Arc<[Page]>) -> Self {
        let most = pages.iter().map(|page| page.objects.len()).max().unwrap_or(0);
        Self {
            http,
            names,
            flow,
            pages,
            page: 0,
            started_at: Instant::ZERO,
            first_byte_at: None,
            complete: None,
            connections_before: 0,
            queries_before: 0,
            received: Vec::with_capacity(most),
            named: Vec::with_capacity(most),
            unresolved: Vec::with_capacity(most),
        }
    }

    pub(crate) const fn http(&self) -> &C {
        &self.http
    }

    pub(crate) const fn http_mut(&mut self) -> &mut C {
        &mut self.http
    }

    /// Number of pages.
    pub(crate) fn pages(&self) -> usize {
        self.pages.len()
    }

    /// True if no page is loading.
    pub(crate) const fn is_idle(&self) -> bool {
        self.complete.is_none()
    }

    /// Begins a page.
    pub(crate) fn begin(&mut self, cx: &mut Cx<'_>, page: usize) {
        let objects = self.pages[page].objects.len();
        (self.page, self.started_at, self.first_byte_at, self.complete) = (page, cx.now, None, Some(0));
        self.connections_before = self.http.connections_opened();
        self.queries_before = self.names.as_ref().map_or(0, Names::queries);
        self.received.clear();
        self.received.resize(objects, 0);
        self.named.clear();
        self.named.resize(objects, 0);
        self.unresolved.clear();
        cx.emit(&Event::PageBegan { flow: self.flow, page: page as u32 });
        self.want(cx, 0);
    }

    /// Requests an object as soon as the name of its server is known.
    pub(crate) fn fetch(&mut self, cx: &mut Cx<'_>, request: Request) {
        if self.names.as_mut().is_none_or(|names| names.resolve(cx, request.server)) {
            self.http.get(cx, request);
        } else {
            self.unresolved.push(request);
        }
    }

    /// Requests an object of the page that has been discovered.
    fn want(&mut self, cx: &mut Cx<'_>, id: u32) {
        let PageObject { server, request, head, body, wait, urgency, .. } =
            self.pages[self.page].objects[id as usize];
        self.fetch(cx, Request { id, server, request, head, body, wait, urgency });
    }

    /// The address of a server is known.
    fn resolved(&mut self, cx: &mut Cx<'_>, server: u16) {
        let mut index = 0;
        while index < self.unresolved.len() {
            if self.unresolved[index].server == server {
                let request = self.unresolved.remove(index);
                self.http.get(cx, request);
            } else {
                index += 1;
            }
        }
    }

    /// Handles an event about an object of the page; returns true if the page is now loaded.
    pub(crate) fn handle_event(&mut self, cx: &mut Cx<'_>, event: HttpEvent) -> bool {
        match event {
            HttpEvent::Began { id: 0 } => {
                self.first_byte_at.get_or_insert(cx.now);
            }
            HttpEvent::Began { .. } => {}
            HttpEvent::Received { id, bytes } => {
                self.received[id as usize] += bytes;
                self.parse(cx, id);
            }
            HttpEvent::Completed { id } => {
                self.parse(cx, id);
                let complete = self.complete.map_or(0, |count| count + 1);
                self.complete = Some(complete);
                if complete as usize == self.pages[self.page].objects.len() {
                    self.end(cx);
                    return true;
                }
            }
        }
        false
    }

    /// Discovers the objects named by the received part of this one.
    fn parse(&mut self, cx: &mut Cx<'_>, id: u32) {
        let parent = id as usize;
        loop {
            let page = &self.pages[self.page];
            let (begin, end) = (page.begins[parent], page.begins[parent + 1]);
            let at = begin + self.named[parent];
            if at == end {
                return;
            }
            let child = page.children[at as usize];
            if page.objects[child as usize].after.get() > self.received[parent] {
                return;
            }
            self.named[parent] += 1;
            self.want(cx, child);
        }
    }

    fn end(&mut self, cx: &mut Cx<'_>) {
        self.complete = None;
        let objects = &self.pages[self.page].objects;
        let bytes = objects.iter().map(|object| object.head.get() + object.body.get()).sum();
        cx.emit(&Event::PageLoaded {
            flow: self.flow,
            first_byte: self.first_byte_at.unwrap_or(cx.now) - self.started_at,
            time: cx.now - self.started_at,
            objects: objects.len() as u32,
            bytes: Bytes(bytes),
            connections: (self.http.connections_opened() - self.connections_before) as u32,
            queries: (self.names.as_ref().map_or(0, Names::queries) - self.queries_before) as u32,
        });
    }

    pub(crate) fn handle_packet(&mut self, cx: &mut Cx<'_>, packet: PacketRef) {
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
    }

    /// To be called at [`Self::next_timeout`].
    pub(crate) fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        if let Some(names) = &mut self.names {
            names.handle_timeout(cx);
        }
        self.http.handle_timeout(cx);
    }

    pub(crate) fn next_timeout(&self) -> Instant {
        let names = self.names.as_ref().map_or(Instant::FAR_FUTURE, Names::next_timeout);
        names.min(self.http.next_timeout())
    }

    /// Closes every connection, and looks up no more names.
    pub(crate) fn close(&mut self, cx: &mut Cx<'_>) {
        self.names = None;
        self.http.close(cx);
    }
}
