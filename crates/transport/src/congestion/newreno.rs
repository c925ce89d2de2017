//! NewReno: slow start, additive increase of one segment per window, halving on loss
//! (RFC 5681 §3.1, RFC 6582). The recovery procedure itself is the transport's.

use airlane_core::{Bytes, Instant};

use super::{
    AckSample, CongestionController, LossEpisode, SegmentWindow, SentSample, Snapshot, TimeoutEpisode,
};

/// The controller.
#[derive(Clone, Debug)]
pub struct NewReno {
    window: SegmentWindow,
}

impl NewReno {
    /// Starts from this window.
    #[must_use]
    pub const fn new(window: SegmentWindow) -> Self {
        Self { window }
    }

    #[inline]
    pub(super) const fn window(&self) -> &SegmentWindow {
        &self.window
    }
}

impl CongestionController for NewReno {
    fn on_sent(&mut self, _: &SentSample) {}

    fn on_ack(&mut self, ack: &AckSample) {
        if !ack.may_grow || !self.window.used_by(ack) {
            return;
        }
        let mut delivered = ack.delivered_segments;
        if self.window.in_slow_start() {
            delivered = self.window.slow_start(delivered);
            if delivered == 0 {
                return;
            }
        }
        self.window.additive_increase(self.window.segments, delivered);
    }

    fn on_loss(&mut self, _: &LossEpisode) {
        // RFC 5681 §3.1 equation 4, with the window in place of FlightSize as Linux does.
        self.window.reduce_to(self.window.segments / 2);
    }

    fn on_recovery_exit(&mut self, _: Instant) {
        self.window.segments = self.window.ssthresh;
    }

    fn on_timeout(&mut self, timeout: &TimeoutEpisode) {
        if timeout.new_episode {
            self.window.reduce_to(self.window.segments / 2);
        }
        self.window.restart_from(timeout.restart_segments);
    }

    fn snapshot(&self) -> Snapshot {
        self.window.snapshot()
    }

    fn on_undo(&mut self, snapshot: &Snapshot) {
        self.window.undo(snapshot);
    }

    fn on_window_validation(&mut self, window_segments: u32, ssthresh_segments: u32) {
        self.window.segments = window_segments;
        self.window.ssthresh = ssthresh_segments;
    }

    fn congestion_window(&self) -> Bytes {
        self.window.bytes()
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.window.ssthresh_bytes()
    }
}
