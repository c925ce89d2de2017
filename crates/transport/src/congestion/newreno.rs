//! NewReno: slow start, additive increase of one segment per window, halving on loss
//! (RFC 5681 §3.1, RFC 6582). The recovery procedure itself is the transport's.

use super::{AckSample, CongestionController, SegmentWindow};

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
}

impl CongestionController for NewReno {
    #[inline]
    fn window(&self) -> &SegmentWindow {
        &self.window
    }
    #[inline]
    fn window_mut(&mut self) -> &mut SegmentWindow {
        &mut self.window
    }

    #[inline]
    fn on_ack(&mut self, ack: &AckSample) {
        self.window.grow_as_reno(ack);
    }

    fn threshold(&mut self) -> u32 {
        // RFC 5681 §3.1 equation 4, with the window in place of FlightSize as Linux does.
        self.window.segments / 2
    }
}
