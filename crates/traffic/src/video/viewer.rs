//! A viewer of videos over HTTP: requests one, watches it to its end, pauses, and watches the next.

use airlane_core::{
    Bytes, Cx, Duration, Event, FlowId, Instant, Node, PacketRef, PlaybackStep, Port, Stream, Topic,
};

use super::dash::{SegmentedVideo, SegmentedView};
use super::progressive::{ProgressiveView, Video};
use crate::http::{HttpClient, HttpEvent, Request};

/// The urgency of media (RFC 9218 §4.1): the default.
const URGENCY: u8 = 3;

/// The video.
#[derive(Clone, Debug, PartialEq)]
pub enum Media {
    /// A single file, played while it arrives.
    File(Video),
    /// Segments, requested one by one.
    Segments(SegmentedVideo),
}

/// The use of a player.
#[derive(Clone, Debug, PartialEq)]
pub struct Viewing {
    /// The video of each view.
    pub media: Media,
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
    http: C,
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
    /// A viewer who requests the first video at the start of the viewing.
    #[must_use]
    pub fn new(http: C, flow: FlowId, viewing: Viewing, draws: Stream) -> Self {
        let next_view = Some(viewing.start);
        Self { http, flow, viewing, draws, view: None, number: 0, requests: 0, next_view }
    }

    /// The HTTP client.
    #[must_use]
    pub const fn http(&self) -> &C {
        &self.http
    }

    fn tell(&self, cx: &mut Cx<'_>, step: PlaybackStep) {
        if cx.wants(Topic::Playback) {
            cx.emit(&Event::Playback { flow: self.flow, view: self.number, step });
        }
    }

    fn get(&mut self, cx: &mut Cx<'_>, body: Bytes) {
        let Viewing { request, head, .. } = self.viewing;
        let id = self.requests;
        self.requests += 1;
        let wait = Duration::ZERO;
        self.http.get(cx, Request { id, server: 0, request, head, body, wait, urgency: URGENCY });
    }

    fn begin_view(&mut self, cx: &mut Cx<'_>) {
        self.next_view = None;
        self.number += 1;
        self.tell(cx, PlaybackStep::Requested);
        self.view = Some(match &self.viewing.media {
            Media::File(video) => View::File(ProgressiveView::new(*video)),
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
        if let Some(View::File(view)) = &self.view
            && view.is_limited()
        {
            let room = view.room().get();
            self.http.limit_reading(cx, room);
            self.take(cx);
        }
        self.ask(cx);
        self.end_view(cx);
        self.http.flush(cx);
    }

    /// Handles the events of HTTP.
    fn take(&mut self, cx: &mut Cx<'_>) {
        while let Some(event) = self.http.poll() {
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
        if !ended {
            return;
        }
        self.view = None;
        if self.number == self.viewing.views {
            cx.emit(&Event::FlowCompleted { flow: self.flow, started_at: self.viewing.start });
            self.http.close(cx);
            return;
        }
        let pause_ns = self.draws.exponential(self.viewing.pause.as_nanos() as f64);
        self.next_view = Some(cx.now + Duration::from_nanos(pause_ns as u64));
    }
}

impl<C: HttpClient> Node for Viewer<C> {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, _: Port, packet: PacketRef) {
        self.http.handle_packet(cx, packet);
        self.work(cx);
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        if self.next_view.is_some_and(|at| at <= cx.now) {
            self.begin_view(cx);
        }
        if self.http.next_timeout() <= cx.now {
            self.http.handle_timeout(cx);
        }
        self.work(cx);
    }

    fn next_timeout(&self) -> Option<Instant> {
        let view = match &self.view {
            None => Instant::FAR_FUTURE,
            Some(View::File(view)) => view.next_timeout(self.http.unread() > 0),
            Some(View::Segments(view)) => view.next_timeout(),
        };
        let next = self.next_view.unwrap_or(Instant::FAR_FUTURE);
        let at = view.min(next).min(self.http.next_timeout());
        (at != Instant::FAR_FUTURE).then_some(at)
    }

    fn packets_held(&self) -> usize {
        0
    }
}
