//! DCTCP (RFC 8257): the window is reduced by half of the share of marked bytes, once per window of data. Growth and
//! the response to losses are those of NewReno.
//!
//! The marks are known from accurate feedback, or from the classic flag, which two ends of DCTCP use in a way of their
//! own (RFC 8257 §3.2): each acknowledgment tells whether what it acknowledges was marked. With the classic flag the
//! transport reduces the window as Linux does, over a round trip, in which the window does not grow.
//!
//! The text of RFC 8257 was not available. The steps of §3.3 are those that INET's `DcTcp.cc` quotes; §3.2 and §3.5
//! are as the audits of PyTCP quote them.

use airlane_core::Duration;

use super::marks::{MarkedShare, OncePerRound};
use super::{AckSample, CongestionController, LossEpisode, MarkSample, Needs, SegmentWindow};

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Dctcp {
    share: MarkedShare,
    reductions: OncePerRound,
    /// True after an acknowledgment with marks, for which the window does not grow.
    marked: bool,
}

impl Dctcp {
    /// A controller in its initial state.
    #[must_use]
    pub const fn new() -> Self {
        Self { share: MarkedShare::new(), reductions: OncePerRound::NONE, marked: false }
    }
}

impl Default for Dctcp {
    fn default() -> Self {
        Self::new()
    }
}

impl CongestionController for Dctcp {
    fn needs(&self) -> Needs {
        Needs { marks: true, ..Needs::NOTHING }
    }

    fn on_ack(&mut self, window: &mut SegmentWindow, ack: &AckSample) {
        if !core::mem::take(&mut self.marked) {
            window.grow_as_reno(ack);
        }
    }

    fn on_marks(&mut self, window: &mut SegmentWindow, sample: &MarkSample) {
        let bytes = (sample.delivered_bytes.get(), sample.marked_bytes.get());
        self.share.on_marks(sample, bytes, Duration::ZERO);
        self.marked = sample.marked_segments > 0;
        // RFC 8257 §3.3 step 9, once per window; §3.5: a loss has already reduced it.
        if self.marked && !sample.recovering && self.reductions.begins(sample, Duration::ZERO) {
            let kept = 1.0 - self.share.alpha() / 2.0;
            window.reduce_to((f64::from(window.segments) * kept) as u32);
            window.segments = window.ssthresh;
        }
    }

    fn on_echo(&mut self, sample: &MarkSample) {
        let bytes = (sample.delivered_bytes.get(), sample.marked_bytes.get());
        self.share.on_marks(sample, bytes, Duration::ZERO);
    }

    fn on_ecn(&mut self, window: &mut SegmentWindow, _: &LossEpisode) {
        // RFC 8257 §3.3 step 9. A reduction by less than a segment is none, as in Linux (`dctcp_ssthresh`): rounded up,
        // rare marks would take as many segments as the window grows by.
        let reduction = (f64::from(window.segments) * self.share.alpha() / 2.0) as u32;
        window.reduce_to(window.segments - reduction);
    }

    fn on_loss_while_reducing(&mut self, window: &mut SegmentWindow, current: u32) {
        // Linux `dctcp_react_to_loss`: also where a mark has just reduced it.
        window.ssthresh = (current / 2).max(SegmentWindow::MIN_SSTHRESH);
    }

    fn threshold(&mut self, window: &SegmentWindow) -> u32 {
        window.segments / 2 // RFC 8257 §3.5, RFC 5681 §3.1
    }
}
