//! Segments that arrive together reach the receiver as one (generic receive offload).
//!
//! As Linux's `tcp_gro_receive`: segments that arrive at one instant, each where the one before ended and with the same
//! timestamps, are joined up to 64 KiB; a segment with PSH or FIN, or a shorter one, is the last. The receiver decides
//! about an acknowledgment once for all. The state changes with each segment, which makes no difference for data that
//! is joined.

use airlane_core::Instant;

use super::{DataSegment, Receiver};

/// The most bytes that are joined (Linux GRO_LEGACY_MAX_SIZE).
const JOINED_MAX: u64 = 65_535;

/// Segments that are joined, as long as time stands still.
#[derive(Clone, Copy, Debug)]
pub(super) struct Joined {
    begin: u64,
    end: u64,
    payload: u32,
    stamps: (Option<u32>, Option<u32>),
    /// When gathered SACKs had to be sent; the timer ends the join meanwhile.
    gather_until: Instant,
}

impl Receiver {
    /// Before a segment is processed: one that cannot be joined to those before ends them. True if they must be
    /// acknowledged first.
    #[inline]
    pub(crate) fn ends_join(&mut self, segment: &DataSegment) -> bool {
        let Some(joined) = self.joined else { return false };
        self.parts(&joined, segment)
    }

    fn parts(&mut self, joined: &Joined, segment: &DataSegment) -> bool {
        let fits = segment.start == joined.end
            && segment.payload <= joined.payload
            && (segment.value, segment.echo) == joined.stamps
            && segment.start + u64::from(segment.payload) - joined.begin <= JOINED_MAX;
        if fits {
            return false;
        }
        self.end_join();
        self.ack_is_due(segment.now)
    }

    /// [`Self::on_data`]; further segments may follow at this instant.
    pub(crate) fn on_joined(&mut self, segment: &DataSegment) -> u64 {
        let readable = self.on_data(segment);
        self.join(segment);
        readable
    }

    fn join(&mut self, segment: &DataSegment) {
        let begins = self.joined.is_none();
        let whole = self.joined.map_or(segment.payload, |joined| joined.payload);
        let end = segment.start + u64::from(segment.payload);
        let last = segment.push || segment.fin || segment.payload < whole || segment.payload == 0;
        if last || begins && end <= self.acked {
            self.end_join();
            return;
        }
        let (begin, gather_until) = match self.joined {
            Some(joined) => (joined.begin, joined.gather_until),
            None => (segment.start, self.gather_until),
        };
        let stamps = (segment.value, segment.echo);
        self.joined = Some(Joined { begin, end, payload: whole, stamps, gather_until });
        self.gather_until = segment.now;
    }

    pub(super) fn end_join(&mut self) {
        if let Some(joined) = self.joined.take() {
            self.gather_until = joined.gather_until;
        }
    }
}
