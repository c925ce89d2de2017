//! Reads of the application, the offer that follows from them, and the state for observers.

use airlane_core::{Bytes, Instant};

use super::Receiver;
use crate::info::{TcpInfo, micros, ms_since};
use crate::window::{Read, ReceiveWindow};

impl Receiver {
    /// The application reads up to `limit` bytes; returns the number of bytes read.
    #[inline]
    pub(crate) fn read(&mut self, now: Instant, limit: u64) -> u64 {
        let bytes = self.readable().min(limit);
        if bytes > 0 {
            self.settled = None;
            if self.burst.is_none() {
                // A long read counts in the buffer tuning from its first segment on: when a gap closes,
                // the rest belongs to the round trip that begins now.
                self.tune(now, self.total_read() + bytes.min(u64::from(self.options.segment_size)), 0);
            }
            self.read_to += bytes;
            if self.burst.is_none() {
                // The end of a write was read, and nothing is left (Linux `__tcp_cleanup_rbuf`).
                self.at_once |= self.pushed && self.readable() == 0;
                self.tell_wider_window();
            }
        }
        bytes
    }

    /// The buffer follows what the application has read in `total`, while `queued` bytes are left.
    #[inline]
    pub(super) fn tune(&mut self, now: Instant, total: u64, queued: u64) {
        let read = Read {
            now,
            total,
            queued,
            rtt: self.rtt(),
            segment_size: Bytes(u64::from(self.options.segment_size)),
        };
        self.window.on_read(&read);
    }

    /// A window that doubles is announced with a separate ACK (RFC 9293 §3.8.6.2.2). A window that is open
    /// to more than half of its maximum cannot double.
    #[inline]
    pub(super) fn tell_wider_window(&mut self) {
        let current = self.edge - self.next.min(self.edge);
        let doubled = 2 * current.max(u64::from(self.segment_seen));
        if doubled <= self.ceiling && self.offer() >= doubled {
            self.pending = true;
            self.at_once = true;
        }
    }

    /// From now on no position from `end` on is offered; earlier offers remain valid.
    pub(crate) fn offer_up_to(&mut self, end: u64) {
        self.settled = None;
        let wider = end > self.offer_end;
        self.offer_end = end;
        if wider && self.fin_at.is_none() {
            self.tell_wider_window();
        }
    }

    /// First position that is not offered.
    pub(crate) const fn edge(&self) -> u64 {
        self.edge
    }

    /// First position of which nothing is accepted. As in Linux since 6.17, a segment that reaches beyond the
    /// window is accepted whole if the application has read everything before it, and dropped otherwise (RFC
    /// 9293 §3.10.7.4 would cut it off); a limit of the application's own is never passed.
    pub(super) fn acceptable_end(&self) -> u64 {
        if self.readable() == 0 { self.offer_end.max(self.edge) } else { self.edge }
    }

    /// First position that is not accepted; nothing is accepted behind the peer's FIN.
    pub(crate) fn accepted_end(&self) -> u64 {
        self.fin_at.unwrap_or_else(|| self.acceptable_end()).max(1)
    }

    /// First position that the peer may not fill: not offered, or behind its FIN.
    pub(crate) fn offered_end(&self) -> u64 {
        self.fin_at.unwrap_or(self.edge).max(1)
    }

    /// Bytes that could be offered now.
    #[inline(always)]
    pub(super) fn offer(&self) -> u64 {
        self.offer_beside(self.readable())
    }

    /// The offer of the SYN or SYN-ACK, whose window is not scaled (RFC 7323 §2.2).
    pub(super) fn first_offer(&self) -> u64 {
        let segment = Bytes(u64::from(self.options.first_segment));
        self.limited(self.window.first_offer(segment).get().min(65_535))
    }

    /// The offer with this many bytes that the application has not read.
    #[inline(always)]
    pub(super) fn offer_beside(&self, unread: u64) -> u64 {
        let held = self.beyond_bytes + unread;
        self.limited(self.window.advertise(Bytes(held)).get())
    }

    /// An offer of a policy, as far as the header and the application allow it.
    #[inline(always)]
    fn limited(&self, offer: u64) -> u64 {
        let limit = 65_535_u64 << self.options.scale;
        let unit = 1_u64 << self.options.scale; // what is offered is rounded up to it
        let allowed = self.offer_end.saturating_sub(self.next + unit - 1);
        let offer = offer.min(limit).min(allowed);
        debug_assert!(offer <= self.ceiling, "a policy offers more than it said that it would");
        // Silly window avoidance (RFC 9293 §3.8.6.2.2): a very small window is not offered.
        if offer < u64::from(self.segment_seen).min(self.ceiling / 2) { 0 } else { offer }
    }

    /// The fields of `tcp_info` that the receive half knows.
    pub(crate) fn fill_info(&self, info: &mut TcpInfo, now: Instant) {
        info.ato_us = micros(self.delay);
        info.rcv_mss = self.segment_seen;
        info.advmss = self.options.segment_size;
        if let Some(at) = self.last_data_at {
            info.last_data_recv_ms = ms_since(now, at);
        }
        info.rcv_rtt_us = micros(self.rtt());
        info.bytes_received = self.next - 1 - u64::from(self.has_fin());
        info.rcv_wnd = self.edge.saturating_sub(self.next);
    }
}
