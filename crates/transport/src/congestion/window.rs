//! A congestion window counted in whole segments, with the slow start and additive increase of the
//! Reno family.

use airlane_core::Bytes;

use super::{AckSample, Snapshot};

/// Window, threshold and the count towards the next segment.
#[derive(Clone, Copy, Debug)]
pub struct SegmentWindow {
    /// Congestion window in segments.
    pub segments: u32,
    /// Slow-start threshold in segments; `u32::MAX` while unset.
    pub ssthresh: u32,
    /// Segments acknowledged since the window last grew.
    pub(super) counted: u32,
    /// Payload bytes of a full segment.
    segment_size: u32,
}

impl SegmentWindow {
    /// Minimum window after a loss, in segments (RFC 5681 §3.1, equation 4).
    pub const MIN_SSTHRESH: u32 = 2;

    /// An initial window.
    #[must_use]
    pub const fn new(segment_size: u32, initial_segments: u32) -> Self {
        Self { segments: initial_segments, ssthresh: u32::MAX, counted: 0, segment_size }
    }

    /// Changes the segment size: the number of bytes stays the same, rounded to whole segments.
    pub(super) fn resize_segments(&mut self, segment_size: u32) {
        let scale = |segments: u32, from: u32| (segments as u64 * from as u64 / segment_size as u64) as u32;
        let at_least =
            |segments: u32| if segments < Self::MIN_SSTHRESH { Self::MIN_SSTHRESH } else { segments };
        self.segments = at_least(scale(self.segments, self.segment_size));
        if self.ssthresh != u32::MAX {
            self.ssthresh = at_least(scale(self.ssthresh, self.segment_size));
        }
        self.segment_size = segment_size;
        self.counted = 0;
    }

    /// True below the threshold (RFC 5681 §3.1).
    #[inline]
    #[must_use]
    pub const fn in_slow_start(&self) -> bool {
        self.segments < self.ssthresh
    }

    /// True if the sender used the window: it was limited by it, or in slow start had more than
    /// half of it outstanding (the idea of RFC 7661 §4.3, with Linux's bound).
    #[inline]
    #[must_use]
    pub const fn used_by(&self, ack: &AckSample) -> bool {
        ack.window_limited || (self.in_slow_start() && self.segments < 2 * ack.max_outstanding_segments)
    }

    /// Grows by a segment per segment delivered up to the threshold (RFC 5681 §3.1 with RFC 3465's byte counting, no
    /// limit); returns the remaining segments, which count for congestion avoidance.
    #[inline]
    pub fn slow_start(&mut self, delivered: u32) -> u32 {
        let grown = self.segments.saturating_add(delivered).min(self.ssthresh);
        let left = delivered - (grown - self.segments);
        self.segments = grown;
        left
    }

    /// Grows by a segment per `per_segment` segments delivered.
    #[inline]
    pub fn additive_increase(&mut self, per_segment: u32, delivered: u32) {
        if self.counted >= per_segment {
            self.counted = 0;
            self.segments += 1;
        }
        self.counted += delivered;
        if self.counted >= per_segment {
            let steps = self.counted / per_segment;
            self.counted -= steps * per_segment;
            self.segments += steps;
        }
    }

    /// Slow start, then one segment per window delivered (RFC 5681 §3.1), if the window was used.
    #[inline]
    pub fn grow_as_reno(&mut self, ack: &AckSample) {
        self.grow_by(ack, u32::MAX);
    }

    /// [`Self::grow_as_reno`] with a segment per `per_segment_max` segments delivered at larger windows.
    #[inline]
    pub fn grow_by(&mut self, ack: &AckSample, per_segment_max: u32) {
        if !ack.may_grow || !self.used_by(ack) {
            return;
        }
        let mut delivered = ack.delivered_segments;
        if self.in_slow_start() {
            delivered = self.slow_start(delivered);
            if delivered == 0 {
                return;
            }
        }
        self.additive_increase(self.segments.min(per_segment_max), delivered);
    }

    /// A loss episode begins with this threshold.
    pub fn reduce_to(&mut self, ssthresh: u32) {
        self.ssthresh = ssthresh.max(Self::MIN_SSTHRESH);
        self.counted = 0;
    }

    /// A loss episode begins that does not reduce the window.
    pub fn keep(&mut self) {
        self.ssthresh = self.segments.max(Self::MIN_SSTHRESH);
    }

    /// A timeout restarts from `segments`.
    pub fn restart_from(&mut self, segments: u32) {
        self.segments = segments;
        self.counted = 0;
    }

    /// The threshold outside of a reduction: when a window shrinks by validation, the threshold
    /// keeps three quarters of it (RFC 7661 §4.2, as in Linux).
    #[must_use]
    pub fn kept_ssthresh(&self) -> u32 {
        self.ssthresh.max(self.segments / 2 + self.segments / 4)
    }

    /// Window and threshold, to restore later.
    #[must_use]
    pub const fn snapshot(&self) -> Snapshot {
        Snapshot { window_segments: self.segments, ssthresh_segments: self.ssthresh }
    }

    /// Restores the values that were larger before.
    pub fn undo(&mut self, snapshot: &Snapshot) {
        self.segments = self.segments.max(snapshot.window_segments);
        self.ssthresh = self.ssthresh.max(snapshot.ssthresh_segments);
    }

    /// The window in bytes.
    #[must_use]
    pub const fn bytes(&self) -> Bytes {
        Bytes(self.segments as u64 * self.segment_size as u64)
    }

    /// The threshold in bytes.
    #[must_use]
    pub const fn ssthresh_bytes(&self) -> Option<Bytes> {
        if self.ssthresh == u32::MAX {
            None
        } else {
            Some(Bytes(self.ssthresh as u64 * self.segment_size as u64))
        }
    }

    /// Payload bytes of a full segment.
    #[must_use]
    pub const fn segment_size(&self) -> u32 {
        self.segment_size
    }
}
