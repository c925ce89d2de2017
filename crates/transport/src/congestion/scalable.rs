//! Scalable TCP: the time to recover from a loss does not depend on the rate (T. Kelly, "Scalable
//! TCP: Improving performance in highspeed wide area networks", ACM CCR 33(2), 2003).
//!
//! The window grows by a hundredth of the delivered segments and is reduced by an eighth at a loss.
//! Below 100 segments it grows as Reno does, by one segment per window. This is Linux's form of the
//! paper's threshold, which is a window of 16 segments.

use super::{AckSample, CongestionController, Needs, SegmentWindow};

/// Kelly 2003 §3: a = 0.01, so one segment per 100 delivered.
const PER_SEGMENT: u32 = 100;
/// Kelly 2003 §3: b = 0.125, as a shift.
const DECREASE_SHIFT: u32 = 3;

/// The controller.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scalable;

impl CongestionController for Scalable {
    fn needs(&self) -> Needs {
        Needs::NOTHING
    }

    fn on_ack(&mut self, window: &mut SegmentWindow, ack: &AckSample) {
        window.grow_by(ack, PER_SEGMENT);
    }

    fn threshold(&mut self, window: &SegmentWindow) -> u32 {
        window.segments - (window.segments >> DECREASE_SHIFT)
    }
}
