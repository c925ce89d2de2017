//! The receive half: reassembly, SACK and D-SACK blocks, and the times of acknowledgments.
//!
//! Acknowledgments follow Linux: immediate for the first segments of a flow, while the window
//! opens, and after a duplicate ("quick" ACKs); otherwise for every second full segment, or by a
//! timer that adapts to the gaps between segments (at least 40 ms); immediate when a gap appears or
//! closes; and from the fourth consecutive ACK that only adds SACK blocks, compressed for at most a
//! millisecond.

mod ecn;
mod join;
mod offer;

use std::collections::VecDeque;

use airlane_core::{Bytes, Duration, Instant, SackBlock, SackList, TcpTimestamps};

use crate::accurate::MarkCounter;
use crate::sack::Block;
use crate::sequence;
use crate::window::{Arrival, Code, ReceiveWindow, Window};

/// Minimum delay of an ACK, and the initial value of its adaptation (Linux TCP_ATO_MIN).
const DELAY_MIN: Duration = Duration::from_millis(40);
/// Maximum delay of an ACK: below half a second (RFC 9293 §3.8.6.3).
const DELAY_MAX: Duration = Duration::from_millis(500);
/// Quick ACKs granted at once (Linux TCP_MAX_QUICKACKS).
const QUICK_MAX: u32 = 16;
/// SACK compression: for at most this time, or a twentieth of a round trip, or this many segments
/// (Linux tcp_comp_sack_delay_ns and tcp_comp_sack_nr).
const GATHER_MAX: Duration = Duration::from_millis(1);
const GATHER_SEGMENTS: u32 = 44;
/// Duplicate ACKs that are sent immediately, enough for the sender's fast retransmit (RFC 5681 §3.2).
const DUPLICATES_AT_ONCE: u32 = 3;
/// Assumed segment size before the first segment (RFC 9293 §3.7.1).
const DEFAULT_SEGMENT: u32 = 536;
/// Memory is reserved for this many out-of-order blocks.
const BEYOND_RESERVED: usize = 128;

/// The receive half's input for a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DataSegment {
    pub(crate) now: Instant,
    pub(crate) start: u64,
    pub(crate) payload: u32,
    pub(crate) fin: bool,
    pub(crate) push: bool,
    /// The peer's timestamp, in milliseconds of its clock, and ours that it echoes.
    pub(crate) stamp: Option<TcpTimestamps>,
}

/// The acknowledgment fields of the next segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Acknowledgment {
    pub(crate) next: u64,
    pub(crate) window: u64,
    pub(crate) sack: SackList,
    /// True if the first block is a D-SACK.
    pub(crate) dsack: bool,
    pub(crate) ts_recent: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceiverOptions {
    pub(crate) delayed_ack: bool,
    pub(crate) compressed_sack: bool,
    pub(crate) sack: bool,
    pub(crate) timestamps: bool,
    /// Initial sequence number of the peer.
    pub(crate) initial: u32,
    /// Window scale that we announced, which applies after the handshake.
    pub(crate) scale: u8,
    /// Our announced maximum segment size.
    pub(crate) segment_size: u32,
    /// The payload of a full segment as far as this end knows it when it first offers a window.
    pub(crate) first_segment: u32,
    /// The largest segment that counts as one, at most that size.
    pub(crate) arriving_max: u32,
    /// The application reads when all segments of an instant have arrived.
    pub(crate) batched_reads: bool,
    /// These are joined; needs `batched_reads`.
    pub(crate) gro: bool,
}

#[derive(Debug)]
pub(crate) struct Receiver {
    options: ReceiverOptions,
    /// Next position expected.
    next: u64,
    /// Position up to which the application has read.
    read_to: u64,
    /// `next` and the right edge of the window in the last ACK sent.
    acked: u64,
    edge: u64,
    /// Out-of-order data, in order of position, disjoint and not touching.
    beyond: VecDeque<Block>,
    beyond_bytes: u64,
    /// The blocks of `beyond` that were reported last, most recent first (RFC 2018 §4).
    recent: [Block; 4],
    recent_len: usize,
    dsack: Option<Block>,
    /// Position of the peer's FIN.
    fin_at: Option<u64>,
    /// Whether this end will send no more data.
    half_closed: bool,
    window: Window,
    /// First position that must not be offered, independent of the window.
    offer_end: u64,
    /// The maximum window that it will ever offer.
    ceiling: u64,
    // When to acknowledge.
    segment_seen: u32,
    quick: u32,
    delay: Duration,
    last_data_at: Option<Instant>,
    pending: bool,
    at_once: bool,
    /// The window of the last ACK, if the next one would be the same: nothing has changed, and there are no blocks. A
    /// sender acknowledges with each segment, and mostly nothing has arrived in between.
    settled: Option<u64>,
    /// Data with PSH has arrived since the last ACK.
    pushed: bool,
    /// Whether ACKs echo congestion until the peer confirms it, and whether any packet was ECN-capable.
    echo_congestion: bool,
    capable_seen: bool,
    /// The counters of accurate ECN, if it was negotiated.
    marks: Option<MarkCounter>,
    delayed_until: Instant,
    duplicates: u32,
    gathered: u32,
    gathered_next: u64,
    gather_until: Instant,
    burst: Option<join::Burst>,
    // Timestamps and round trips.
    ts_recent: u32,
    last_echo: Option<u32>,
    rtt_x8: u64,
    rtt_window: Option<(u64, Instant)>,
}

/// If several ranges are received twice with one segment, a D-SACK reports the first, extended by adjacent
/// ones (RFC 2883 §4: one block for each segment; Linux `tcp_dsack_extend`).
fn extend(dsack: &mut Option<Block>, block: Block) {
    match dsack {
        None => *dsack = Some(block),
        Some(first) if block.left <= first.right && first.left <= block.right => {
            *first = Block { left: first.left.min(block.left), right: first.right.max(block.right) };
        }
        Some(_) => {}
    }
}

impl Receiver {
    pub(crate) fn new(options: ReceiverOptions, window: Window, offer_end: u64) -> Self {
        let mut receiver = Self {
            options,
            next: 1, // after the SYN
            read_to: 1,
            acked: 1,
            edge: 1,
            beyond: VecDeque::with_capacity(BEYOND_RESERVED),
            beyond_bytes: 0,
            recent: [Block::default(); 4],
            recent_len: 0,
            dsack: None,
            fin_at: None,
            half_closed: false,
            ceiling: window.ceiling().get(),
            window,
            offer_end,
            segment_seen: DEFAULT_SEGMENT.min(options.segment_size),
            quick: 0,
            delay: Duration::ZERO,
            last_data_at: None,
            pending: false,
            at_once: false,
            settled: None,
            pushed: false,
            echo_congestion: false,
            capable_seen: false,
            marks: None,
            delayed_until: Instant::FAR_FUTURE,
            duplicates: 0,
            gathered: 0,
            gathered_next: 0,
            gather_until: Instant::FAR_FUTURE,
            burst: None,
            ts_recent: 0,
            last_echo: None,
            rtt_x8: 0,
            rtt_window: None,
        };
        receiver.edge = receiver.next + receiver.first_offer();
        receiver
    }

    /// True when everything up to and including the FIN was received and read.
    pub(crate) fn finished(&self) -> bool {
        self.fin_at.is_some_and(|fin| self.read_to >= fin)
    }

    #[inline]
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// `next` in the last ACK.
    pub(crate) const fn acked(&self) -> u64 {
        self.acked
    }

    /// True for a segment that begins at the next expected position, or beyond it within the window.
    #[inline]
    pub(crate) fn expects(&self, start: u64) -> bool {
        (self.next..=self.edge).contains(&start)
    }

    /// True for a timestamp that is older than the peer's newest by more than a tick (RFC 7323 §5.3 R1 without the
    /// tick; Linux TCP_PAWS_WINDOW).
    #[inline]
    pub(crate) fn is_stale(&self, value: u32) -> bool {
        (value.wrapping_sub(self.ts_recent) as i32) < -1 && self.ts_recent != 0
    }

    /// True for a timestamp that is newer than the peer's newest.
    pub(crate) const fn is_newer(&self, value: u32) -> bool {
        (value.wrapping_sub(self.ts_recent) as i32) > 0
    }

    /// True once the peer's FIN and all data before it were received.
    pub(crate) fn has_fin(&self) -> bool {
        self.fin_at.is_some_and(|fin| fin < self.next)
    }

    /// The end of the out-of-order data.
    pub(crate) fn highest_held(&self) -> Option<u64> {
        self.beyond.back().map(|block| block.right)
    }

    /// A segment with data outside the window: if it was received before, the sender is informed (RFC 2883
    /// §4).
    pub(crate) fn on_unacceptable(&mut self, start: u64, end: u64) {
        self.settled = None;
        if start < self.next {
            self.grant_quick_acks();
            self.delay = DELAY_MIN;
            self.dsack = Some(Block { left: start, right: end.min(self.next) });
        }
    }

    /// The handshake is complete.
    pub(crate) fn on_established(&mut self, now: Instant) {
        self.settled = None;
        self.window.on_established(now);
    }

    /// The peer requests an acknowledgment.
    pub(crate) fn demand_ack(&mut self) {
        self.settled = None;
        self.pending = true;
        self.at_once = true;
    }

    /// The acknowledgment of a SYN, whose window field is not scaled (RFC 7323 §2.2).
    pub(crate) fn acknowledge_unscaled(&mut self) -> Acknowledgment {
        let window = self.edge - self.next;
        let sack = SackList::default();
        Acknowledgment { next: self.next, window, sack, dsack: false, ts_recent: self.ts_recent }
    }

    pub(crate) fn total_read(&self) -> u64 {
        self.read_to - 1
    }

    pub(crate) fn readable(&self) -> u64 {
        let end = self.fin_at.map_or(self.next, |fin| self.next.min(fin));
        end - self.read_to
    }

    /// Payload bytes behind a gap.
    pub(crate) fn held_beyond(&self) -> u64 {
        self.beyond_bytes.saturating_sub(u64::from(self.fin_at.is_some_and(|fin| fin >= self.next)))
    }

    /// Out-of-order segments held.
    #[cfg(test)]
    pub(crate) fn gaps(&self) -> usize {
        self.beyond.len()
    }

    /// A timestamp arrived with a segment that starts at `start` (RFC 7323 §4.3).
    #[inline]
    pub(crate) fn on_timestamp(&mut self, value: u32, start: u64) {
        if start <= self.acked && (value.wrapping_sub(self.ts_recent) as i32) >= 0 {
            self.ts_recent = value;
        }
    }

    /// True if this data is what the stream continues with, all of it within the window, nothing is held beyond, and the
    /// application reads it at once.
    #[inline]
    pub(crate) fn continues_with(&self, start: u64, payload: u32) -> bool {
        start == self.next
            && !self.options.batched_reads
            && start + u64::from(payload) <= self.edge
            && self.beyond.is_empty()
            && self.fin_at.is_none()
    }

    /// [`Self::on_data`] of such a segment.
    #[inline]
    pub(crate) fn on_continuation(&mut self, segment: &DataSegment) -> u64 {
        self.settled = None;
        self.pending = true;
        self.next += u64::from(segment.payload);
        self.adapt_to(segment, false);
        u64::from(segment.payload)
    }

    /// A data segment (or a FIN) arrived; returns the bytes that became readable.
    pub(crate) fn on_data(&mut self, segment: &DataSegment) -> u64 {
        self.settled = None;
        let start = segment.start;
        let end = start + u64::from(segment.payload) + u64::from(segment.fin);
        self.pending = true;
        if end <= self.next {
            // Received before: the sender must be informed at once (RFC 2883 §4).
            self.dsack = Some(Block { left: start, right: end });
            self.grant_quick_acks();
            self.delay = DELAY_MIN;
            self.at_once = true;
            return 0;
        }
        let bare_fin = segment.payload == 0 && start == self.next; // takes no room
        let limit = self.acceptable_end();
        let behind = start + u64::from(segment.payload) > limit && limit == self.edge;
        if (start >= self.edge || behind) && !bare_fin || self.contradicts(segment, end) {
            self.grant_quick_acks(); // beyond the window or the end: dropped, but acknowledged
            self.at_once = true;
            return 0;
        }
        let is_cut = start + u64::from(segment.payload) > limit;
        let end = if is_cut { limit.max(start) } else { end };
        if segment.fin && !is_cut {
            self.fin_at = Some(end - 1);
        }
        if start > self.next {
            self.measure(segment);
            self.hold(start, end);
            // Without SACK, a changed window would prevent that the ACK counts as a duplicate (RFC 5681 §2):
            // as in Linux, the window stays.
            let arrival = self.arrival(segment);
            if self.options.sack && self.window.on_data(&arrival, Bytes(self.beyond_bytes)) {
                self.quick |= 1; // at least one; an even grant is not used up while the window grows
            }
            return 0;
        }
        if start < self.next {
            self.dsack = Some(Block { left: start, right: self.next });
        }
        let before = self.next;
        self.next = end;
        if segment.payload > 0 {
            // A bare FIN says nothing about the gaps between data.
            self.adapt_to(segment, self.burst.is_some() && self.window.takes_joined());
        }
        if !self.beyond.is_empty() {
            self.join_held();
        }
        if self.fin_at.is_some_and(|fin| fin < self.next) {
            self.on_fin();
            self.at_once |= bare_fin && before >= self.edge; // a FIN into a closed window: its sender insists
        }
        let in_order = self.next - before;
        in_order - u64::from(self.fin_at.is_some_and(|f| f >= before && f < self.next))
    }

    /// All data has arrived. An end that has also closed answers at once. An open end may close with its own
    /// FIN, so the ACK waits as for data (RFC 9293 §3.8.6.3; Linux `tcp_fin`: the connection becomes
    /// interactive).
    fn on_fin(&mut self) {
        // As in Linux (`tcp_fin`), nothing is left to report.
        (self.dsack, self.recent_len) = (None, 0);
        self.at_once |= self.half_closed;
        if !self.half_closed {
            self.quick = 0;
        }
    }

    /// This end will send no more data.
    pub(crate) fn on_shutdown(&mut self) {
        self.half_closed = true;
    }

    /// True if a segment has data behind a FIN, or a FIN before data.
    fn contradicts(&self, segment: &DataSegment, end: u64) -> bool {
        let behind = self.fin_at.is_some_and(|fin| end > fin + 1);
        let before = |fin: u64| {
            self.fin_at.is_some_and(|known| known != fin)
                || self.beyond.back().is_some_and(|b| b.right > fin + 1)
        };
        behind || (segment.fin && before(end - 1))
    }

    fn arrival(&self, segment: &DataSegment) -> Arrival {
        self.arrival_of(segment.now, (u64::from(segment.payload), 1), segment.stamp)
    }

    #[inline]
    fn arrival_of(
        &self,
        now: Instant,
        (bytes, segments): (u64, u64),
        stamp: Option<TcpTimestamps>,
    ) -> Arrival {
        let (timestamp, echo) = (stamp.map(|ts| ts.value), stamp.map(|ts| ts.echo_reply));
        let segment_size = Bytes(u64::from(self.options.segment_size));
        Arrival { now, bytes: Bytes(bytes), segments, segment_size, timestamp, echo }
    }

    /// The code for the next ACK without data; returned once.
    #[inline]
    pub(crate) fn take_code(&mut self) -> Option<Code> {
        self.settled = None;
        self.window.take_code()
    }

    /// The largest segment seen.
    fn measure(&mut self, segment: &DataSegment) {
        self.segment_seen = self.segment_seen.max(segment.payload.min(self.options.arriving_max));
    }

    /// In-order data: round trip, ACK delay, window.
    #[inline]
    fn adapt_to(&mut self, segment: &DataSegment, is_joined: bool) {
        self.measure(segment);
        self.measure_rtt(segment);
        let now = segment.now;
        match self.last_data_at {
            None => {
                self.grant_quick_acks();
                self.delay = DELAY_MIN;
            }
            Some(last) => {
                let gap = now.saturating_since(last);
                if gap <= DELAY_MIN / 2 {
                    self.delay = self.delay / 2 + DELAY_MIN / 2;
                } else if gap < self.delay {
                    self.delay = self.delay / 2 + gap;
                } else if gap > Duration::from_millis(200) {
                    // The gap is longer than the sender's timeout can be: it may have restarted.
                    self.grant_quick_acks();
                }
            }
        }
        self.last_data_at = Some(now);
        if !is_joined {
            let arrival = self.arrival(segment);
            if self.window.on_data(&arrival, Bytes(self.beyond_bytes)) {
                self.quick |= 1; // at least one; an even grant is not used up while the window grows
            }
        }
        if segment.push && segment.payload > 0 && !segment.fin {
            self.pushed = self.options.delayed_ack;
        }
    }

    /// Round trip at the receiver: from the echo of its own timestamp, or else the time for a
    /// window of data (an upper bound, of which the minimum is used).
    fn measure_rtt(&mut self, segment: &DataSegment) {
        if self.options.timestamps {
            let Some(TcpTimestamps { echo_reply: echo, .. }) = segment.stamp else { return };
            if self.last_echo == Some(echo) || segment.payload < self.segment_seen {
                return;
            }
            self.last_echo = Some(echo);
            let now_ms = segment.now.as_nanos() / 1_000_000;
            let ms = (now_ms as u32).wrapping_sub(echo).max(1);
            let sample = u64::from(ms) * 1_000_000;
            // A lower value replaces the estimate, a higher one changes it by an eighth.
            let lower = self.rtt_x8 == 0 || sample * 8 < self.rtt_x8;
            self.rtt_x8 = if lower { sample * 8 } else { self.rtt_x8 - self.rtt_x8 / 8 + sample };
            return;
        }
        match self.rtt_window {
            Some((until, _)) if self.next < until => return,
            Some((_, began)) => {
                let sample = segment.now.saturating_since(began).as_nanos().max(1) * 8;
                self.rtt_x8 = if self.rtt_x8 == 0 { sample } else { self.rtt_x8.min(sample) };
            }
            None => {}
        }
        self.rtt_window = Some((self.next + (self.edge - self.acked), segment.now));
    }

    pub(crate) fn rtt(&self) -> Duration {
        Duration::from_nanos(self.rtt_x8 / 8)
    }

    fn grant_quick_acks(&mut self) {
        let window = (self.edge - self.acked) as u32;
        let grant = (window / (2 * self.segment_seen)).clamp(2, QUICK_MAX);
        self.quick = self.quick.max(grant);
    }

    /// True if a compressed ACK must be sent before this segment is processed: the segment's block
    /// would push out an unreported one from the two that always fit into an option.
    pub(crate) fn crowds_out(&self, start: u64, end: u64) -> bool {
        const SURE_BLOCKS: usize = 2;
        if self.gathered == 0 || start <= self.next {
            return false;
        }
        let touches = |b: &Block| b.left <= end && start <= b.right;
        let place = self.recent[..self.recent_len].iter().position(touches).unwrap_or(self.recent_len);
        place >= SURE_BLOCKS
    }

    /// Stores out-of-order data, and adds its block for SACK.
    fn hold(&mut self, start: u64, end: u64) {
        let index = self.beyond.partition_point(|b| b.right < start);
        let mut block = Block { left: start, right: end };
        let mut overlap: Option<Block> = None;
        if let Some(b) = self.beyond.get_mut(index)
            && b.left <= end
        {
            if b.left <= start && end <= b.right {
                self.dsack = Some(Block { left: start, right: end });
                block = *b;
                self.report(block);
                return;
            }
            let (left, right) = (start.max(b.left), end.min(b.right));
            if left < right {
                overlap = Some(Block { left, right });
            }
            self.beyond_bytes -= b.right - b.left;
            b.left = b.left.min(start);
            b.right = b.right.max(end);
            block = *b;
            while let Some(following) = self.beyond.get(index + 1).copied()
                && following.left <= block.right
            {
                if following.left < end {
                    extend(&mut overlap, Block { left: following.left, right: following.right.min(end) });
                }
                self.beyond_bytes -= following.right - following.left;
                block.right = block.right.max(following.right);
                self.beyond[index] = block;
                self.beyond.remove(index + 1);
            }
        } else {
            self.beyond.insert(index, block);
        }
        self.beyond_bytes += block.right - block.left;
        if overlap.is_some() {
            self.dsack = overlap;
        }
        self.report(block);
    }

    /// RFC 2018 §4: the block with the latest segment comes first.
    fn report(&mut self, block: Block) {
        let mut kept = [Block::default(); 4];
        kept[0] = block;
        let mut n = 1;
        for old in &self.recent[..self.recent_len] {
            if n < kept.len() && (old.right < block.left || old.left > block.right) {
                kept[n] = *old;
                n += 1;
            }
        }
        self.recent = kept;
        self.recent_len = n;
    }

    /// `next` advanced: joins the held blocks that it has reached.
    fn join_held(&mut self) {
        while let Some(first) = self.beyond.front().copied()
            && first.left <= self.next
        {
            if first.right < self.next || first.left < self.next {
                let right = first.right.min(self.next);
                extend(&mut self.dsack, Block { left: first.left, right });
            }
            self.next = self.next.max(first.right);
            self.beyond_bytes -= first.right - first.left;
            self.beyond.pop_front();
        }
        if self.beyond.is_empty() {
            self.at_once = true; // RFC 5681 §4.2: the gap is filled
        }
        let (next, mut n) = (self.next, 0);
        for i in 0..self.recent_len {
            if self.recent[i].right > next {
                self.recent[n] = self.recent[i];
                n += 1;
            }
        }
        self.recent_len = n;
    }

    /// Decides whether an ACK must be sent now; otherwise arms a timer.
    pub(crate) fn ack_is_due(&mut self, now: Instant) -> bool {
        if !self.pending || self.is_joining() {
            return false;
        }
        let several = self.next - self.acked > u64::from(self.segment_seen) && self.may_advance();
        if self.at_once || self.quick > 0 || several || !self.options.delayed_ack {
            return true;
        }
        if self.beyond.is_empty() { self.delay_ack(now) } else { self.gather_sacks(now) }
    }

    /// True unless the application leaves data unread and the window would be smaller than the last one. Quick
    /// ACKs end when less than half of the buffer is free (Linux `__tcp_ack_snd_check`, `__tcp_select_window`).
    fn may_advance(&mut self) -> bool {
        let unread = self.unread();
        if unread == 0 {
            return true;
        }
        let held = Bytes(unread + self.beyond_bytes);
        if 2 * self.window.advertise(held).get() < self.window.advertise(Bytes(0)).get() {
            self.quick = 0;
        }
        self.offer_beside(unread) >= self.edge - self.acked
    }

    fn delay_ack(&mut self, now: Instant) -> bool {
        if self.delay.is_zero() {
            return true; // no data was received yet, so nothing was measured
        }
        let bound = if self.rtt_x8 == 0 { DELAY_MAX } else { self.rtt().max(DELAY_MIN).min(DELAY_MAX) };
        let delay = if self.delay > DELAY_MIN { self.delay.min(bound) } else { self.delay.max(DELAY_MIN) };
        if self.delayed_until != Instant::FAR_FUTURE {
            // The timer is about to expire: sends now.
            if self.delayed_until <= now + delay / 4 {
                return true;
            }
            return false;
        }
        self.delayed_until = now + delay;
        false
    }

    fn gather_sacks(&mut self, now: Instant) -> bool {
        if !self.options.sack || !self.options.compressed_sack || self.gathered >= GATHER_SEGMENTS {
            return true;
        }
        if self.gathered_next != self.next {
            self.gathered_next = self.next;
            self.duplicates = 0;
        }
        if self.duplicates < DUPLICATES_AT_ONCE {
            self.duplicates += 1;
            return true;
        }
        self.gathered += 1;
        let latest = now + (self.rtt() / 20).min(GATHER_MAX);
        let until = self.gather_until();
        if *until == Instant::FAR_FUTURE {
            *until = latest;
        }
        false
    }

    /// The latest time for an ACK.
    #[inline]
    pub(crate) fn next_timeout(&self) -> Instant {
        self.delayed_until.min(self.gather_until)
    }

    /// Handles the timer: true if an ACK must be sent.
    pub(crate) fn on_timeout(&mut self, now: Instant) -> bool {
        self.settled = None;
        let mut due = false;
        if self.burst.is_some() {
            due = self.end_burst(now);
        }
        if self.gather_until <= now {
            self.gather_until = Instant::FAR_FUTURE;
            due |= self.gathered > 0;
        }
        if self.delayed_until <= now {
            self.delayed_until = Instant::FAR_FUTURE;
            if self.pending {
                self.delay = (self.delay * 2).min(DELAY_MAX); // the timer expired too early
                due = true;
            }
        }
        due
    }

    /// A segment with an ACK is sent, with or without a code: returns its fields, and stops all timers.
    #[inline(always)]
    pub(crate) fn acknowledge(&mut self, with_code: bool) -> Acknowledgment {
        if let Some(window) = self.settled
            && !self.pending
            && !self.at_once
        {
            // A debug build computes it all the same.
            let sack = SackList::default();
            let same =
                Acknowledgment { next: self.next, window, sack, dsack: false, ts_recent: self.ts_recent };
            debug_assert_eq!(
                same,
                self.acknowledge_anew(with_code),
                "something has changed since the last ACK"
            );
            return same;
        }
        self.acknowledge_anew(with_code)
    }

    fn acknowledge_anew(&mut self, with_code: bool) -> Acknowledgment {
        if self.pending {
            self.quick = self.quick.saturating_sub(1);
            if self.quick == 0 && self.at_once {
                self.delay = self.delay.max(DELAY_MIN);
            }
        }
        self.pending = false;
        self.at_once = false;
        self.pushed = false;
        self.gathered = 0;
        self.delayed_until = Instant::FAR_FUTURE;
        *self.gather_until() = Instant::FAR_FUTURE;
        self.acked = self.next;
        // The right edge never moves left, and is a multiple of the scale unit.
        let scale = self.options.scale;
        let offered = (self.next + self.offer_beside(self.unread())).max(self.edge) - self.next;
        let window = ((offered + (1 << scale) - 1) >> scale) << scale;
        let mut window = window.min(65_535 << scale);
        assert!(self.next + window >= self.edge, "the advertised right edge moved left");
        if self.next + window > self.edge.max(self.offer_end) {
            // Rounded down, the edge seems to move left; data up to the previous offer is still
            // accepted (RFC 7323 §2.4).
            window = (offered >> scale) << scale;
        }
        self.edge = self.edge.max(self.next + window);
        let dsack = self.dsack.is_some() && self.options.sack;
        let has_blocks = self.recent_len > 0 || self.dsack.is_some();
        // The edge of the first ACK may still move the window of the second.
        self.settled = (!has_blocks && window == offered).then_some(window);
        let sack = if has_blocks { self.sack_list(with_code) } else { SackList::default() };
        Acknowledgment { next: self.next, window, sack, dsack, ts_recent: self.ts_recent }
    }

    fn sack_list(&mut self, with_code: bool) -> SackList {
        let mut list = SackList::default();
        let dsack = self.dsack.take();
        if !self.options.sack {
            return list;
        }
        // RFC 2018 §3: three blocks fit with timestamps, four without; a code takes the room of one.
        let room = if self.options.timestamps { 3 } else { 4 } - usize::from(with_code);
        for block in dsack.iter().chain(&self.recent[..self.recent_len]).take(room) {
            list.push(SackBlock {
                left: sequence::wire(block.left, self.options.initial),
                right: sequence::wire(block.right, self.options.initial),
            });
        }
        list
    }
}

#[cfg(test)]
mod tests;
