//! A web browser: pages of objects that are discovered while others arrive, one page after another.
//!
//! The reader thinks after a page is loaded, and visits another one.
//!
//! Not included: the time of parsing and scripts, rendering, redirections and a cache of objects: each page
//! is loaded as if for the first time. Connections and names are kept between pages.

use std::sync::Arc;

use airlane_core::{Cx, Duration, Event, FlowId, Instant, Node, PacketRef, Port, Stream};

use crate::dns::Names;
use crate::http::HttpClient;
use crate::page::{Page, PageLoader};

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

/// The browser, over any version of HTTP.
#[derive(Debug)]
pub struct Browser<C> {
    loader: PageLoader<C>,
    browsing: Browsing,
    flow: FlowId,
    draws: Stream,
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
        let loader = PageLoader::new(http, names, flow, Arc::clone(&browsing.pages));
        Self { loader, flow, draws, next_page: Some(browsing.start), visited: 0, browsing }
    }

    /// The HTTP client.
    #[must_use]
    pub const fn http(&self) -> &C {
        self.loader.http()
    }

    fn begin_page(&mut self, cx: &mut Cx<'_>) {
        self.next_page = None;
        let pages = self.browsing.pages.len();
        let page = match self.browsing.visits {
            Visits::InOrder => self.visited as usize % pages,
            Visits::Random => self.draws.below(pages as u64) as usize,
        };
        self.visited += 1;
        self.loader.begin(cx, page);
    }

    /// Handles the events of HTTP.
    fn work(&mut self, cx: &mut Cx<'_>) {
        while let Some(event) = self.loader.http_mut().poll() {
            if self.loader.handle_event(cx, event) {
                self.end_page(cx);
            }
        }
        self.loader.http_mut().flush(cx);
    }

    fn end_page(&mut self, cx: &mut Cx<'_>) {
        if self.browsing.count.is_some_and(|count| self.visited >= count) {
            cx.emit(&Event::FlowCompleted { flow: self.flow, started_at: self.browsing.start });
            self.loader.http_mut().close(cx);
            return;
        }
        let think_ns = self.draws.exponential(self.browsing.think_time.as_nanos() as f64);
        self.next_page = Some(cx.now + Duration::from_nanos(think_ns as u64));
    }
}

impl<C: HttpClient> Node for Browser<C> {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, _: Port, packet: PacketRef) {
        self.loader.handle_packet(cx, packet);
        self.work(cx);
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        if self.browsing.stop.is_some_and(|stop| stop <= cx.now) {
            (self.browsing.stop, self.next_page) = (None, None);
            self.loader.close(cx);
        }
        if self.next_page.is_some_and(|at| at <= cx.now) {
            self.begin_page(cx);
        }
        self.loader.handle_timeout(cx);
        self.work(cx);
    }

    fn next_timeout(&self) -> Option<Instant> {
        let own = self.next_page.into_iter().chain(self.browsing.stop);
        let at = own.min().unwrap_or(Instant::FAR_FUTURE).min(self.loader.next_timeout());
        (at != Instant::FAR_FUTURE).then_some(at)
    }

    fn packets_held(&self) -> usize {
        0
    }
}
