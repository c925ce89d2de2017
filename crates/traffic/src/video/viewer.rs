//! A viewer of videos over HTTP: requests one, watches it to its end, pauses, and watches the next.
//!
//! A viewer may open a page before each video. The player is in the document: the video is requested when the
//! document has arrived, at the same time as the other objects of the page.

use std::sync::Arc;

use airlane_core::{
    Bytes, Cx, Duration, Event, FlowId, Instant, Node, PacketRef, PlaybackStep, Port, Stream, Topic,
};

use super::dash::{SegmentedVideo, SegmentedView};
use super::progressive::{ProgressiveView, Video};
use crate::dns::Names;
use crate::http::{HttpClient, HttpEvent, Request};
use crate::page::{Page, PageLoader};

/// The urgency of media (RFC 9218 §4.1): the default.
const URGENCY: u8 = 3;
/// The first request number of media; objects of pages have lower numbers.
const MEDIA_IDS: u32 = 1 << 24;
/// The request number of the document of a page.
const DOCUMENT: u32 = 0;

/// The video.
#[derive(Clone, Debug, PartialEq)]
pub enum Media {
    /// A single file, played while it arrives.
    File(Video),
    /// Segments, requested one by one.
    Segments(SegmentedVideo),
}

/// The pages that a viewer opens, one before each video, drawn from all with equal probability.
#[derive(Clone, Debug, PartialEq)]
pub struct PageBefore {
    /// The available pages.
    pub pages: Arc<[Page]>,
    /// The number of the server of the videos.
    pub video_server: u16,
}

/// The use of a player.
#[derive(Clone, Debug, PartialEq)]
pub struct Viewing {
    /// The video of each view.
    pub media: Media,
    /// The page before each video, if there is one.
    pub page: Option<PageBefore>,
    /// The number of views.
    pub views: u32,
    /// The mean of the pause after a view, which is exponentially distributed.
    pub pause: Duration,
    /// Time of the first request for a view.
    pub start: Instant,
    /// A request on the wire.
    pub request: Bytes,
    /// The header of a response.
    pub head: Bytes,
}

/// The current view.
#[derive(Debug)]
enum View {
    File(ProgressiveView),
    Segments(Box<SegmentedView>),
}

/// The viewer, over any version of HTTP.
#[derive(Debug)]
pub struct Viewer<C> {
    loader: PageLoader<C>,
    flow: FlowId,
    viewing: Viewing,
    draws: Stream,
    view: Option<View>,
    /// Number of views begun, and of requests sent.
    number: u32,
    requests: u32,
    /// When the next video is requested; `None` during a view, and after the last.
    next_view: Option<Instant>,
}

impl<C: HttpClient> Viewer<C> {
    /// A viewer who requests the first video, or the page before it, at the start of the viewing. Without `names`,
    /// the addresses of servers are known.
    #[must_use]
    pub fn new(http: C, names: Option<Names>, flow: FlowId, viewing: Viewing, draws: Stream) -> Self {
        let next_view = Some(viewing.start);
        let pages = viewing.page.as_ref().map_or_else(|| Arc::from([]), |page| Arc::clone(&page.pages));
        let loader = PageLoader::new(http, names, flow, pages);
        Self { loader, flow, viewing, draws, view: None, number: 0, requests: 0, next_view }
    }

    /// The HTTP client.
    #[must_use]
    pub const fn http(&self) -> &C {
        self.loader.http()
    }

    fn tell(&self, cx: &mut Cx<'_>, step: PlaybackStep) {
        if cx.wants(Topic::Playback) {
            cx.emit(&Event::Playback { flow: self.flow, view: self.number, step });
        }
    }

    fn get(&mut self, cx: &mut Cx<'_>, body: Bytes) {
        let Viewing { request, head, .. } = self.viewing;
        let server = self.viewing.page.as_ref().map_or(0, |page| page.video_server);
        let id = MEDIA_IDS + self.requests;
        self.requests += 1;
        let wait = Duration::ZERO;
        self.loader.fetch(cx, Request { id, server, request, head, body, wait, urgency: URGENCY });
    }

    /// Begins a view: its page, or the video.
    fn begin_view(&mut self, cx: &mut Cx<'_>) {
        self.next_view = None;
        self.number += 1;
        if self.viewing.page.is_none() {
            return self.begin_video(cx);
        }
        self.loader.http_mut().limit_reading(cx, u64::MAX);
        let page = self.draws.below(self.loader.pages() as u64) as usize;
        self.loader.begin(cx, page);
    }

    fn begin_video(&mut self, cx: &mut Cx<'_>) {
        self.tell(cx, PlaybackStep::Requested);
        self.view = Some(match &self.viewing.media {
            Media::File(video) => View::File(ProgressiveView::new(*video, &mut self.draws)),
            Media::Segments(video) => View::Segments(Box::new(SegmentedView::new(video.clone()))),
        });
        if let Media::File(video) = &self.viewing.media {
            let size = video.size();
            self.get(cx, size);
        }
    }

    /// Plays until now, processes received media, and sends the next requests.
    fn work(&mut self, cx: &mut Cx<'_>) {
        let step = match &mut self.view {
            None => None,
            Some(View::File(view)) => view.advance(cx.now),
            Some(View::Segments(view)) => view.advance(cx.now),
        };
        if let Some(step) = step {
            self.tell(cx, step);
        }
        self.take(cx);
        // The limit is one of all connections: it begins when the page is loaded.
        if let Some(View::File(view)) = &self.view
            && view.is_limited()
            && self.loader.is_idle()
        {
            let room = view.room().get();
            self.loader.http_mut().limit_reading(cx, room);
            self.take(cx);
        }
        self.ask(cx);
        self.end_view(cx);
        self.loader.http_mut().flush(cx);
    }

    /// Handles the events of HTTP.
    fn take(&mut self, cx: &mut Cx<'_>) {
        while let Some(event) = self.loader.http_mut().poll() {
            if event.id() < MEDIA_IDS {
                self.loader.handle_event(cx, event);
                if event == (HttpEvent::Completed { id: DOCUMENT }) {
                    self.begin_video(cx);
                }
                continue;
            }
            let told = match (&mut self.view, event) {
                (Some(View::File(view)), HttpEvent::Received { bytes, .. }) => {
                    Some(view.take(cx.now, Bytes(bytes)))
                }
                (Some(View::Segments(view)), HttpEvent::Completed { .. }) => Some(view.arrive(cx.now)),
                _ => None,
            };
            if let Some((fetched, change)) = told {
                self.tell(cx, fetched);
                if let Some(step) = change {
                    self.tell(cx, step);
                }
            }
        }
    }

    fn ask(&mut self, cx: &mut Cx<'_>) {
        let Some(View::Segments(view)) = &mut self.view else { return };
        if let Some(segment) = view.ask(cx.now) {
            self.get(cx, segment.bytes);
        }
    }

    fn end_view(&mut self, cx: &mut Cx<'_>) {
        let ended = match &self.view {
            None => false,
            Some(View::File(view)) => view.has_ended(),
            Some(View::Segments(view)) => view.has_ended(),
        };
        if !ended || !self.loader.is_idle() {
            return;
        }
        self.view = None;
        if self.number == self.viewing.views {
            cx.emit(&Event::FlowCompleted { flow: self.flow, started_at: self.viewing.start });
            self.loader.http_mut().close(cx);
            return;
        }
        let pause_ns = self.draws.exponential(self.viewing.pause.as_nanos() as f64);
        self.next_view = Some(cx.now + Duration::from_nanos(pause_ns as u64));
    }
}

impl<C: HttpClient> Node for Viewer<C> {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, _: Port, packet: PacketRef) {
        self.loader.handle_packet(cx, packet);
        self.work(cx);
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        if self.next_view.is_some_and(|at| at <= cx.now) {
            self.begin_view(cx);
        }
        if self.loader.next_timeout() <= cx.now {
            self.loader.handle_timeout(cx);
        }
        self.work(cx);
    }

    fn next_timeout(&self) -> Option<Instant> {
        let view = match &self.view {
            None => Instant::FAR_FUTURE,
            Some(View::File(view)) => view.next_timeout(self.http().unread() > 0),
            Some(View::Segments(view)) => view.next_timeout(),
        };
        let next = self.next_view.unwrap_or(Instant::FAR_FUTURE);
        let at = view.min(next).min(self.loader.next_timeout());
        (at != Instant::FAR_FUTURE).then_some(at)
    }

    fn packets_held(&self) -> usize {
        0
    }
}
