//! The scoreboard: one compact record per segment that was sent and not cumulatively acknowledged,
//! in a ring, addressed by a number that is constant during the segment's life.
//!
//! All counts for recovery (SACKed, lost, retransmitted) are updated with each change, and searches
//! use cursors that only advance, so that an ACK costs O(1) amortised.

use airlane_core::Instant;
use airlane_core::ring::{self, Ring};

/// Selectively acknowledged.
pub(crate) const SACKED: u8 = 1;
/// Declared lost and not delivered since.
pub(crate) const LOST: u8 = 2;
/// A retransmission of it is in flight.
pub(crate) const RETRANSMITTED: u8 = 4;
/// The segment was retransmitted at some time.
pub(crate) const EVER_RETRANSMITTED: u8 = 8;
/// The segment ends the stream: one position more than its payload.
pub(crate) const FIN: u8 = 16;

/// Memory is reserved for this many segments once it exceeds the initial size: 2.9 MB in flight, almost all
/// that the receive window of a Linux host allows (about half of the third value of `tcp_rmem`, 6 MiB).
pub(crate) const RESERVED: usize = 2048;
/// A PEP has reported that it passed.
pub(crate) const SEEN: u8 = 32;

/// The segment ends what was written, and carries PSH.
pub(crate) const PUSHED: u8 = 64;
/// The next segment left with it as one (segmentation offload).
pub(crate) const JOINED: u8 = 128;

/// A sent segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    /// Stream position of its first byte.
    pub(crate) start: u64,
    /// Last send time of the segment.
    pub(crate) sent_at: Instant,
    /// Number of positions, including a FIN.
    pub(crate) len: u32,
    /// State bits.
    pub(crate) state: u8,
}

impl Segment {
    const EMPTY: Self = Self { start: 0, sent_at: Instant::ZERO, len: 0, state: 0 };

    #[inline]
    pub(crate) const fn end(&self) -> u64 {
        self.start + self.len as u64
    }
    #[inline]
    pub(crate) const fn is(&self, bits: u8) -> bool {
        self.state & bits != 0
    }
    /// Payload bytes.
    #[inline]
    pub(crate) const fn payload(&self) -> u32 {
        self.len - self.is(FIN) as u32
    }
    /// 1 if a PEP has reported it, and it has not been acknowledged or lost since.
    #[inline]
    const fn counts_beyond_pep(&self) -> u32 {
        (self.state & (SEEN | SACKED | LOST) == SEEN) as u32
    }
}

/// All outstanding segments.
#[derive(Debug)]
pub(crate) struct Scoreboard {
    ring: Vec<Segment>,
    /// Number of the first segment, and one past the last.
    head: u64,
    tail: u64,
    sacked: u32,
    lost: u32,
    retransmitted: u32,
    /// Outstanding segments that were ever retransmitted.
    ever: u32,
    /// Segments that a PEP has reported and that have not been acknowledged or lost since.
    beyond_pep: u32,
    /// End of the highest SACKed segment; at most `una` if there is none.
    highest_sacked: u64,
    /// No lost segment before this one waits for retransmission.
    retransmit_from: u64,
    /// Send time of the newest of all segments that were ever declared lost.
    newest_lost: Instant,
    /// No segment before this one can be detected as lost in its first transmission.
    pub(crate) first_flight_from: u64,
    /// Retransmissions in order of time; stale entries are skipped.
    pub(crate) retransmissions: Ring<(u64, Instant)>,
}

impl Scoreboard {
    const INITIAL: usize = 64;

    pub(crate) fn new() -> Self {
        Self {
            ring: vec![Segment::EMPTY; Self::INITIAL],
            head: 0,
            tail: 0,
            sacked: 0,
            lost: 0,
            retransmitted: 0,
            ever: 0,
            beyond_pep: 0,
            highest_sacked: 0,
            retransmit_from: 0,
            newest_lost: Instant::ZERO,
            first_flight_from: 0,
            retransmissions: Ring::new(RESERVED),
        }
    }

    #[inline]
    fn slot(&self, number: u64) -> usize {
        number as usize & (self.ring.len() - 1)
    }
    /// The segment of this number.
    #[inline]
    pub(crate) fn get(&self, number: u64) -> &Segment {
        debug_assert!(self.contains(number));
        &self.ring[self.slot(number)]
    }
    #[inline]
    fn get_mut(&mut self, number: u64) -> &mut Segment {
        let slot = self.slot(number);
        &mut self.ring[slot]
    }
    #[inline]
    pub(crate) fn contains(&self, number: u64) -> bool {
        (self.head..self.tail).contains(&number)
    }
    #[inline]
    pub(crate) const fn head(&self) -> u64 {
        self.head
    }
    #[inline]
    pub(crate) const fn tail(&self) -> u64 {
        self.tail
    }
    /// Segments sent and not cumulatively acknowledged.
    #[inline]
    pub(crate) const fn outstanding(&self) -> u32 {
        (self.tail - self.head) as u32
    }
    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.head == self.tail
    }
    #[inline]
    pub(crate) const fn sacked(&self) -> u32 {
        self.sacked
    }
    #[inline]
    pub(crate) const fn lost(&self) -> u32 {
        self.lost
    }
    #[inline]
    pub(crate) const fn retransmitted(&self) -> u32 {
        self.retransmitted
    }
    #[inline]
    pub(crate) const fn highest_sacked(&self) -> u64 {
        self.highest_sacked
    }
    /// Segments in flight beyond the PEP, according to its reports.
    #[inline]
    pub(crate) const fn beyond_pep(&self) -> u32 {
        self.beyond_pep
    }

    /// Segments estimated to be in the network: sent, neither delivered nor lost, and
    /// retransmissions (RFC 6675 §4, "pipe").
    #[inline]
    pub(crate) const fn in_flight(&self) -> u32 {
        self.outstanding() + self.retransmitted - self.sacked - self.lost
    }

    /// True if every outstanding segment was sent once and has no further state.
    #[inline]
    pub(crate) const fn is_plain(&self) -> bool {
        self.sacked | self.lost | self.ever == 0
    }

    /// A new segment was sent.
    #[inline]
    pub(crate) fn push(&mut self, segment: Segment) {
        if self.outstanding() as usize == self.ring.len() {
            self.grow();
        }
        let slot = self.slot(self.tail);
        self.ring[slot] = segment;
        self.tail += 1;
    }

    #[cold]
    fn grow(&mut self) {
        self.retransmissions.warm_up();
        ring::double(&mut self.ring, self.head, RESERVED, || Segment::EMPTY);
    }

    /// Removes the first segment, which was cumulatively acknowledged.
    #[inline]
    pub(crate) fn pop(&mut self) -> Segment {
        debug_assert!(!self.is_empty());
        let segment = *self.get(self.head);
        self.head += 1;
        if segment.state != 0 {
            self.sacked -= u32::from(segment.is(SACKED));
            self.lost -= u32::from(segment.is(LOST));
            self.retransmitted -= u32::from(segment.is(RETRANSMITTED));
            self.ever -= u32::from(segment.is(EVER_RETRANSMITTED));
            self.beyond_pep -= segment.counts_beyond_pep();
        }
        segment
    }

    /// Removes the acknowledged part of the first segment.
    pub(crate) fn trim_head(&mut self, una: u64) {
        let head = self.head;
        let segment = self.get_mut(head);
        debug_assert!(segment.start < una && una < segment.end());
        segment.len -= (una - segment.start) as u32;
        segment.start = una;
    }

    /// The number of the segment that contains `position`, which must be outstanding.
    pub(crate) fn find(&self, position: u64) -> u64 {
        debug_assert!(!self.is_empty());
        let first = self.get(self.head);
        // Segments almost always have the same length: guess, then fall back to bisection.
        let guess = self.head + position.saturating_sub(first.start) / u64::from(first.len.max(1));
        if self.contains(guess) {
            let s = self.get(guess);
            if s.start <= position && position < s.end() {
                return guess;
            }
        }
        let (mut low, mut high) = (self.head, self.tail);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle).end() <= position {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The segment was selectively acknowledged: it is no longer lost or in flight.
    pub(crate) fn mark_sacked(&mut self, number: u64) {
        let segment = self.get_mut(number);
        debug_assert!(!segment.is(SACKED));
        let (was, end, beyond_pep) = (segment.state, segment.end(), segment.counts_beyond_pep());
        segment.state = (was | SACKED) & !(LOST | if was & LOST != 0 { RETRANSMITTED } else { 0 });
        let was_lost = u32::from(was & LOST != 0);
        self.lost -= was_lost;
        self.retransmitted -= u32::from(was & RETRANSMITTED != 0) & was_lost;
        self.sacked += 1;
        self.beyond_pep -= beyond_pep;
        self.highest_sacked = self.highest_sacked.max(end);
    }

    /// Pairs of neighbours that are both SACKed and were sent once, which Linux keeps as one.
    pub(crate) fn merged(&self) -> u64 {
        if self.sacked < 2 {
            return 0;
        }
        let whole = |number| {
            let s: &Segment = self.get(number);
            s.is(SACKED) && !s.is(EVER_RETRANSMITTED)
        };
        (self.head + 1..self.tail).filter(|&n| whole(n - 1) && whole(n)).count() as u64
    }

    /// A D-SACK reported the segment although it is SACKED: its retransmission has arrived.
    pub(crate) fn clear_retransmitted(&mut self, number: u64) {
        let segment = self.get_mut(number);
        if segment.is(RETRANSMITTED) {
            segment.state &= !RETRANSMITTED;
            self.retransmitted -= 1;
        }
    }

    /// Send time of the newest of all segments that were ever declared lost, or of its retransmission.
    pub(crate) const fn newest_lost(&self) -> Instant {
        self.newest_lost
    }

    /// Declares a segment lost, or its retransmission lost again. Returns false if it was already
    /// lost and waits for retransmission, or was delivered.
    pub(crate) fn mark_lost(&mut self, number: u64) -> bool {
        let segment = self.get_mut(number);
        let was = segment.state;
        if was & SACKED != 0 || (was & LOST != 0 && was & RETRANSMITTED == 0) {
            return false;
        }
        let (beyond_pep, sent_at) = (segment.counts_beyond_pep(), segment.sent_at);
        segment.state = (was | LOST) & !RETRANSMITTED;
        self.newest_lost = self.newest_lost.max(sent_at);
        self.beyond_pep -= beyond_pep;
        self.lost += u32::from(was & LOST == 0);
        self.retransmitted -= u32::from(was & RETRANSMITTED != 0);
        self.retransmit_from = self.retransmit_from.min(number);
        true
    }

    /// A PEP has reported the segment.
    pub(crate) fn mark_seen(&mut self, number: u64) {
        let segment = self.get_mut(number);
        debug_assert!(!segment.is(SEEN));
        segment.state |= SEEN;
        self.beyond_pep += segment.counts_beyond_pep();
    }

    /// Reverts every declaration of loss (an undo).
    pub(crate) fn unmark_lost(&mut self) {
        for number in self.head..self.tail {
            self.get_mut(number).state &= !LOST;
        }
        self.count_beyond_pep();
        self.lost = 0;
        self.retransmit_from = self.tail;
        self.first_flight_from = self.head;
    }

    /// The next lost segment that waits for retransmission.
    pub(crate) fn next_to_retransmit(&mut self) -> Option<u64> {
        if self.retransmitted >= self.lost {
            return None;
        }
        let mut number = self.retransmit_from.max(self.head);
        while number < self.tail {
            let s = self.get(number);
            if s.is(LOST) && !s.is(RETRANSMITTED | SACKED) {
                self.retransmit_from = number;
                return Some(number);
            }
            number += 1;
        }
        self.retransmit_from = number;
        None
    }

    /// A probe sent a segment again: it is in flight once, and this is no repair of a loss.
    pub(crate) fn on_probe(&mut self, number: u64, now: Instant) {
        let segment = self.get_mut(number);
        let was = segment.state;
        segment.state = was | EVER_RETRANSMITTED;
        segment.sent_at = now;
        self.ever += u32::from(was & EVER_RETRANSMITTED == 0);
    }

    /// A lost segment was sent again.
    pub(crate) fn on_retransmit(&mut self, number: u64, now: Instant) {
        let segment = self.get_mut(number);
        let was = segment.state;
        segment.state = was | RETRANSMITTED | EVER_RETRANSMITTED;
        segment.sent_at = now;
        self.retransmitted += u32::from(was & RETRANSMITTED == 0);
        self.ever += u32::from(was & EVER_RETRANSMITTED == 0);
        while self.retransmissions.front().is_some_and(|(n, _)| *n < self.head) {
            self.retransmissions.pop_front();
        }
        self.retransmissions.push_back((number, now));
    }

    /// Removes SACKs that the peer reneged on (RFC 2018 §8).
    pub(crate) fn renege(&mut self) {
        for number in self.head..self.tail {
            self.get_mut(number).state &= !SACKED;
        }
        self.sacked = 0;
        self.highest_sacked = 0;
        self.count_beyond_pep();
    }

    fn count_beyond_pep(&mut self) {
        self.beyond_pep = (self.head..self.tail).map(|n| self.get(n).counts_beyond_pep()).sum();
    }

    /// True if an outstanding segment was ever retransmitted; checks only the head, where the
    /// oldest holes are.
    pub(crate) fn head_was_retransmitted(&self) -> bool {
        !self.is_empty() && self.get(self.head).is(EVER_RETRANSMITTED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(n: u64) -> Scoreboard {
        let mut b = Scoreboard::new();
        for i in 0..n {
            b.push(Segment { start: 1 + 100 * i, sent_at: Instant::from_millis(i), len: 100, state: 0 });
        }
        b
    }

    #[test]
    fn counts_follow_every_change() {
        let mut b = board(200); // more than the initial size of the ring
        assert_eq!((b.outstanding(), b.in_flight()), (200, 200));
        b.mark_sacked(5);
        assert!(b.mark_lost(0));
        assert!(!b.mark_lost(0));
        assert!(!b.mark_lost(5));
        assert_eq!(b.in_flight(), 198);
        assert_eq!(b.next_to_retransmit(), Some(0));
        b.on_retransmit(0, Instant::from_millis(300));
        assert_eq!(b.in_flight(), 199);
        assert_eq!(b.next_to_retransmit(), None);
        assert!(b.mark_lost(0)); // the retransmission is lost as well
        assert_eq!((b.lost(), b.retransmitted(), b.next_to_retransmit()), (1, 0, Some(0)));
        b.on_retransmit(0, Instant::from_millis(400));
        b.mark_sacked(0);
        assert_eq!((b.lost(), b.retransmitted(), b.sacked()), (0, 0, 2));
        for _ in 0..6 {
            b.pop();
        }
        assert_eq!((b.sacked(), b.outstanding(), b.in_flight()), (0, 194, 194));
    }

    #[test]
    fn find_copes_with_unequal_segments() {
        let mut b = board(3);
        b.push(Segment { start: 301, sent_at: Instant::ZERO, len: 7, state: 0 });
        b.push(Segment { start: 308, sent_at: Instant::ZERO, len: 100, state: 0 });
        for (position, number) in [(1, 0), (100, 0), (101, 1), (307, 3), (308, 4), (407, 4)] {
            assert_eq!(b.find(position), number, "{position}");
        }
        b.trim_head(51);
        assert_eq!((b.get(0).start, b.get(0).len), (51, 50));
        assert_eq!(b.find(350), 4);
    }
}
