//! A sender whose data comes from a scheduler, segment by segment: that of a subflow of Multipath TCP.

use airlane_core::{Bytes, Duration};

use super::Sender;
use crate::recovery::Phase;

/// Segments that may wait for a sender that paces: with none, its rate would seem limited by the application.
const WAITING_MAX: u64 = 2;

/// The state of a sender for a scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderView {
    /// Congestion window, slow-start threshold and segments in flight, in segments. The threshold is `u32::MAX` while
    /// unset.
    pub window: u32,
    /// As above.
    pub ssthresh: u32,
    /// As above.
    pub in_flight: u32,
    /// Payload of a full segment in bytes.
    pub segment: u32,
    /// Bytes that were written and are not acknowledged.
    pub outstanding: Bytes,
    /// Smoothed round-trip time, and its mean deviation.
    pub srtt: Duration,
    /// As above.
    pub deviation: Duration,
    /// The sender takes one more segment.
    pub has_room: bool,
    /// A retransmission timer has expired, and its segments are not acknowledged.
    pub in_loss: bool,
}

impl Sender {
    /// The state that a scheduler uses.
    pub(crate) fn view(&self) -> SenderView {
        SenderView {
            window: self.window(),
            ssthresh: self.controller.ssthresh_segments(),
            in_flight: self.in_flight(),
            segment: self.segment_max,
            outstanding: Bytes(self.unacknowledged()),
            srtt: self.rtt.srtt(),
            deviation: self.rtt.deviation(),
            has_room: self.takes_segment(),
            in_loss: self.phase == Phase::Loss,
        }
    }

    /// Whether one more segment leaves as soon as it is written, or when pacing allows it. A segment that is not full
    /// must have left, because the next write would lengthen it.
    fn takes_segment(&self) -> bool {
        let (segment, unsent) = (u64::from(self.segment_max), self.unsent());
        let room = u64::from(self.window().saturating_sub(self.in_flight()));
        !self.supply.closed
            && unsent.is_multiple_of(segment)
            && unsent < WAITING_MAX * segment
            && room * segment > unsent
            && self.nxt + unsent + segment <= self.window_end
    }

    /// The application writes a segment; with `push`, it ends a write.
    pub(crate) fn supply_segment(&mut self, bytes: u64, push: bool) {
        self.supply.written += bytes;
        self.supply.fresh = true;
        self.supply.more = false;
        if push {
            self.supply.pushed = self.supply.written;
        }
    }
}
