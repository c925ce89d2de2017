//! Segments that arrive together reach the receiver as one (generic receive offload), and the application reads when
//! all of them have arrived.
//!
//! As Linux's `tcp_gro_receive`: segments that arrive at one instant, each where the one before ended and with the same
//! timestamps, are joined up to 64 KiB; a segment with PSH or FIN, or a shorter one, is the last. The receiver decides
//! about an acknowledgment once for all. Then the application has not read them: they take room in the buffer, so that
//! mostly the window would be smaller than the last one, and the acknowledgment waits until the application reads
//! (`__tcp_ack_snd_check`). It reads at the end of the instant, everything that has arrived by then.

use airlane_core::{Bytes, Instant, TcpTimestamps};

use super::{DataSegment, Receiver};
use crate::window::ReceiveWindow;

/// The most bytes that are joined (Linux GRO_LEGACY_MAX_SIZE).
const JOINED_MAX: u64 = 65_535;
/// Segments in an element of the receive queue, which holds what follows on it (Linux `tcp_try_coalesce`,
/// MAX_SKB_FRAGS).
const ELEMENT_SEGMENTS: u64 = 17;

/// Segments that are joined.
#[derive(Clone, Copy, Debug)]
struct Joined {
    begin: u64,
    end: u64,
    payload: u32,
    stamp: Option<TcpTimestamps>,
    /// By how much they advanced the stream, and their number.
    advance: u64,
    segments: u64,
}

/// The segments of one instant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Burst {
    /// Segments to which further ones may be joined.
    open: Option<Joined>,
    /// Bytes that the application reads at the end of the instant.
    unread: u64,
    /// When gathered SACKs must be sent; the timer ends the instant meanwhile.
    gather_until: Instant,
}

impl Receiver {
    /// Called before a segment is processed: a segment that cannot be joined to those before ends the burst. True if
    /// they must be acknowledged first.
    #[inline]
    pub(crate) fn ends_join(&mut self, segment: &DataSegment) -> bool {
        let Some(Burst { open: Some(joined), .. }) = self.burst else { return false };
        self.parts(&joined, segment)
    }

    fn parts(&mut self, joined: &Joined, segment: &DataSegment) -> bool {
        let fits = segment.start == joined.end
            && segment.payload <= joined.payload
            && segment.stamp == joined.stamp
            && segment.start + u64::from(segment.payload) - joined.begin <= JOINED_MAX;
        if fits {
            return false;
        }
        self.end_join(segment.now);
        self.ack_is_due(segment.now)
    }

    /// [`Self::on_data`], with what the offload of the host does.
    #[inline]
    pub(crate) fn on_segment(&mut self, segment: &DataSegment) -> u64 {
        if self.options.batched_reads { self.on_joined(segment) } else { self.on_data(segment) }
    }

    /// [`Self::on_data`]; further segments may follow at this instant.
    pub(super) fn on_joined(&mut self, segment: &DataSegment) -> u64 {
        if self.burst.is_none() {
            self.burst = Some(Burst { open: None, unread: 0, gather_until: self.gather_until });
            self.gather_until = segment.now;
        }
        let (before, acked) = (self.next, self.acked);
        let readable = self.on_data(segment);
        self.join(segment, self.next - before, acked);
        readable
    }

    /// A segment was processed that advanced the stream by so much, and what had been acknowledged before it.
    fn join(&mut self, segment: &DataSegment, advance: u64, acked: u64) {
        let Some(burst) = &mut self.burst else { return };
        burst.unread += advance;
        let begins = burst.open.is_none();
        let end = segment.start + u64::from(segment.payload);
        let joined = burst.open.get_or_insert(Joined {
            begin: segment.start,
            end,
            payload: segment.payload,
            stamp: segment.stamp,
            advance: 0,
            segments: 0,
        });
        joined.end = end;
        joined.advance += advance;
        joined.segments += 1;
        let last = !self.options.gro
            || segment.push
            || segment.fin
            || segment.payload < joined.payload
            || segment.payload == 0;
        if last || begins && end <= acked {
            self.end_join(segment.now);
        }
    }

    /// The joined segments enter the queue of the application: the window may open.
    fn end_join(&mut self, now: Instant) {
        let Some(burst) = &mut self.burst else { return };
        let (unread, joined) = (burst.unread, burst.open.take());
        let Some(joined) = joined.filter(|joined| joined.advance > 0) else { return };
        if !self.window.takes_joined() {
            return;
        }
        let arrival = self.arrival_of(now, (joined.advance, joined.segments), joined.stamp);
        if self.window.on_data(&arrival, Bytes(self.beyond_bytes + unread)) {
            self.quick |= 1;
        }
    }

    /// True while segments are joined: no acknowledgment is due.
    #[inline]
    pub(super) fn is_joining(&self) -> bool {
        self.burst.is_some_and(|burst| burst.open.is_some())
    }

    /// Bytes that the application has not read.
    #[inline]
    pub(super) fn unread(&self) -> u64 {
        let readable = self.readable();
        self.burst.map_or(readable, |burst| burst.unread.max(readable))
    }

    /// When gathered SACKs must be sent: a burst keeps it, since its own end has the timer.
    #[inline]
    pub(super) fn gather_until(&mut self) -> &mut Instant {
        self.burst.as_mut().map_or(&mut self.gather_until, |burst| &mut burst.gather_until)
    }

    /// The instant is over: the application reads. True if an acknowledgment is due.
    #[cold]
    pub(super) fn end_burst(&mut self, now: Instant) -> bool {
        let mut due = false;
        if self.is_joining() {
            self.end_join(now);
            due = self.ack_is_due(now);
        }
        let Some(burst) = self.burst.take() else { return due };
        self.gather_until = burst.gather_until;
        if burst.unread > 0 && self.readable() == 0 {
            // Linux `__tcp_cleanup_rbuf`.
            due |= self.pending && (self.pushed || self.next - self.acked > u64::from(self.segment_seen));
            // Data that fits into one element of the queue is read first.
            let first = burst.unread.min(ELEMENT_SEGMENTS * u64::from(self.segment_seen));
            let queued = burst.unread - first;
            self.tune(now, self.total_read() - queued, queued);
            self.tell_wider_window();
            due |= self.at_once;
        }
        due
    }
}
