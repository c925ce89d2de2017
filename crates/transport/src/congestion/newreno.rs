use super::{AckSample, CongestionController, LossCause, LossEpisode, Needs, SegmentWindow};

/// The controller.
#[derive(Clone, Copy, Debug, Default)]
pub struct NewReno {
    /// Marks reduce the window less than losses (RFC 8511).
    pub abe: bool,
}

/// The window after a mark in fifths: beta_ecn = 0.8 (RFC 8511 §3.1).
const ABE_FIFTHS: u64 = 4;

impl CongestionController for NewReno {
    #[inline]
    fn needs(&self) -> Needs {
        Needs::NOTHING
    }

    #[inline]
    fn on_ack(&mut self, window: &mut SegmentWindow, ack: &AckSample) {
        window.grow_as_reno(ack);
    }

    fn on_ecn(&mut self, window: &mut SegmentWindow, episode: &LossEpisode) {
        if self.abe && !window.in_slow_start() {
            // RFC 8511 §4: only in congestion avoidance.
            window.reduce_to((u64::from(window.segments) * ABE_FIFTHS / 5) as u32);
        } else {
            self.on_loss(window, episode, LossCause::Congestion);
        }
    }

    fn threshold(&mut self, window: &SegmentWindow) -> u32 {
        // RFC 5681 §3.1 equation 4, with the window instead of FlightSize as in Linux.
        window.segments / 2
    }
}
