use super::{AckSample, CongestionController, Needs, SegmentWindow};

/// The controller.
#[derive(Clone, Copy, Debug, Default)]
pub struct NewReno;

impl CongestionController for NewReno {
    #[inline]
    fn needs(&self) -> Needs {
        Needs::NOTHING
    }

    #[inline]
    fn on_ack(&mut self, window: &mut SegmentWindow, ack: &AckSample) {
        window.grow_as_reno(ack);
    }

    fn threshold(&mut self, window: &SegmentWindow) -> u32 {
        // RFC 5681 §3.1 equation 4, with the window instead of FlightSize as in Linux.
        window.segments / 2
    }
}
