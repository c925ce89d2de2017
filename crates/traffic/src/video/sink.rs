//! A player at the end of a transfer that its server begins.

use airlane_core::{Bytes, Cx, Event, FlowId, Instant, Node, PacketRef, PlaybackStep, Port, Topic};
use airlane_transport::{Path, TcpConfig, TcpEndpoint, TcpStats};

use super::progressive::{ProgressiveView, Video};
use crate::tcp::{some, take_in};

/// Listens, and plays what arrives.
#[derive(Debug)]
pub struct VideoSink {
    endpoint: TcpEndpoint,
    flow: FlowId,
    view: ProgressiveView,
    /// When the viewer asks for the video; none afterwards.
    start: Option<Instant>,
    started_at: Instant,
    completed: bool,
}

impl VideoSink {
    /// A player of this video, for a transfer that starts at `start`.
    #[must_use]
    pub fn new(config: TcpConfig, path: Path, video: Video, start: Instant) -> Self {
        Self {
            endpoint: TcpEndpoint::new(config, path),
            flow: path.flow,
            view: ProgressiveView::new(video),
            start: Some(start),
            started_at: start,
            completed: false,
        }
    }

    /// Counters and state of the connection.
    #[must_use]
    pub fn stats(&self) -> TcpStats {
        self.endpoint.stats()
    }

    fn tell(&self, cx: &mut Cx<'_>, step: PlaybackStep) {
        if cx.wants(Topic::Playback) {
            cx.emit(&Event::Playback { flow: self.flow, view: 1, step });
        }
    }

    /// Plays until now, and takes what there is room for.
    fn play(&mut self, cx: &mut Cx<'_>) {
        if let Some(step) = self.view.advance(cx.now) {
            self.tell(cx, step);
        }
        let bytes = self.endpoint.read(cx.now, self.view.room().get());
        if bytes > 0 {
            let (fetched, change) = self.view.take(cx.now, Bytes(bytes));
            self.tell(cx, fetched);
            if let Some(step) = change {
                self.tell(cx, step);
            }
        }
        if !self.completed && self.endpoint.at_end() {
            self.completed = true;
            cx.emit(&Event::FlowCompleted { flow: self.flow, started_at: self.started_at });
            self.endpoint.close(); // Answers the FIN with its own.
        }
    }
}

impl Node for VideoSink {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, _: Port, packet: PacketRef) {
        if take_in(&mut self.endpoint, cx, packet) {
            self.play(cx);
            self.endpoint.flush(cx);
        }
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        if self.start.is_some_and(|at| at <= cx.now) {
            self.start = None;
            self.tell(cx, PlaybackStep::Requested);
        }
        if self.endpoint.next_timeout() <= cx.now {
            self.endpoint.handle_timeout(cx);
        }
        self.play(cx);
        self.endpoint.flush(cx);
    }

    fn next_timeout(&self) -> Option<Instant> {
        let view = self.view.next_timeout(self.endpoint.readable() > 0);
        some(view.min(self.start.unwrap_or(Instant::FAR_FUTURE)).min(self.endpoint.next_timeout()))
    }

    fn packets_held(&self) -> usize {
        0
    }
}
