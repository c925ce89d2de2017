//! RACK (RFC 8985 §6): a segment is lost when one sent sufficiently later was delivered.

use airlane_core::{Duration, Instant};

use crate::scoreboard::{LOST, RETRANSMITTED, SACKED, Scoreboard};

/// State per connection (RFC 8985 §5.3).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rack {
    /// Send time and end of the most recently sent delivered segment.
    sent_at: Instant,
    end: u64,
    /// Round trip of that segment.
    rtt: Duration,
    /// True if it changed since the last detection of losses.
    advanced: bool,
    /// Multiplies min_RTT/4 (§6.2 step 4).
    window_steps: u64,
    /// Recoveries for which the enlarged window persists.
    persist: u32,
    dsack_seen: bool,
    /// Sent stream position at the last adaptation of the window.
    adapted_at: u64,
    reordering_seen: bool,
}

/// The current bounds of the reordering window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReorderingBounds {
    pub(crate) min_rtt: Duration,
    pub(crate) srtt: Duration,
    pub(crate) in_recovery: bool,
    /// True if the number of SACKed segments has reached the duplicate-ACK threshold.
    pub(crate) threshold_reached: bool,
}

impl Rack {
    /// RFC 8985 §6.2 step 4: the window persists for 16 recoveries.
    const PERSIST: u32 = 16;

    pub(crate) const fn new() -> Self {
        Self {
            sent_at: Instant::ZERO,
            end: 0,
            rtt: Duration::ZERO,
            advanced: false,
            window_steps: 1,
            persist: 0,
            dsack_seen: false,
            adapted_at: 0,
            reordering_seen: false,
        }
    }

    /// §6.2 step 2: a segment was delivered.
    #[inline]
    pub(crate) fn on_delivered(
        &mut self,
        now: Instant,
        sent_at: Instant,
        end: u64,
        retransmitted: bool,
        min_rtt: Duration,
    ) {
        let rtt = now.saturating_since(sent_at);
        // The ACK arrived too early for the retransmission, so it acknowledges the original.
        if retransmitted && rtt < min_rtt {
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        if (sent_at, end) > (self.sent_at, self.end) {
            self.sent_at = sent_at;
            self.end = end;
        }
    }

    /// Makes the next detection examine all segments again (after an undo).
    pub(crate) fn examine_again(&mut self) {
        self.advanced = true;
    }

    pub(crate) fn on_reordering(&mut self) {
        self.reordering_seen = true;
    }

    /// A D-SACK, which may mean that the reordering window was too small.
    pub(crate) fn on_dsack(&mut self) {
        self.dsack_seen |= self.reordering_seen;
    }

    /// §6.2 step 4, once per round trip.
    #[inline]
    pub(crate) fn adapt_window(&mut self, acked_to: u64, sent_to: u64) {
        if acked_to < self.adapted_at {
            self.dsack_seen = false;
        }
        if self.dsack_seen {
            self.window_steps = (self.window_steps + 1).min(255);
            self.dsack_seen = false;
            self.adapted_at = sent_to;
            self.persist = Self::PERSIST;
        } else if self.persist == 0 {
            self.window_steps = 1;
        }
    }

    pub(crate) fn on_recovery_exit(&mut self, spurious: bool) {
        self.persist =
            if spurious { (self.persist + 1).min(Self::PERSIST) } else { self.persist.saturating_sub(1) };
    }

    /// §6.2 step 4, RACK_update_reo_wnd.
    fn reordering_window(&self, bounds: &ReorderingBounds) -> Duration {
        if !self.reordering_seen && (bounds.in_recovery || bounds.threshold_reached) {
            return Duration::ZERO;
        }
        if bounds.min_rtt == Duration::MAX {
            return Duration::ZERO;
        }
        Duration::from_nanos((bounds.min_rtt.as_nanos() / 4 * self.window_steps).min(bounds.srtt.as_nanos()))
    }

    /// §6.2 step 5: detects lost segments and returns the time of the next detection. Does nothing unless a newer
    /// segment was delivered, or `timer` states that the time has passed.
    pub(crate) fn detect(
        &mut self,
        board: &mut Scoreboard,
        now: Instant,
        bounds: &ReorderingBounds,
        timer: bool,
        on_lost: &mut dyn FnMut(u64),
    ) -> Option<Duration> {
        if !self.advanced && !timer {
            return None;
        }
        self.advanced = false;
        let limit = self.rtt + self.reordering_window(bounds);
        let mut wait = Duration::ZERO;
        self.detect_first_flight(board, now, limit, &mut wait, on_lost);
        self.detect_retransmissions(board, now, limit, &mut wait, on_lost);
        (!wait.is_zero()).then_some(wait)
    }

    /// First transmissions, which are in the ring in order of time.
    fn detect_first_flight(
        &self,
        board: &mut Scoreboard,
        now: Instant,
        limit: Duration,
        wait: &mut Duration,
        on_lost: &mut dyn FnMut(u64),
    ) {
        let mut number = board.first_flight_from.max(board.head());
        let mut settled = true;
        while number < board.tail() {
            let s = *board.get(number);
            if !s.is(SACKED | LOST | RETRANSMITTED) {
                if (s.sent_at, s.end()) >= (self.sent_at, self.end) {
                    break;
                }
                let age = now.saturating_since(s.sent_at);
                if age >= limit {
                    board.mark_lost(number);
                    on_lost(number);
                } else {
                    *wait = (*wait).max(limit - age);
                    settled = false;
                }
            }
            number += 1;
            if settled {
                board.first_flight_from = number;
            }
        }
    }

    /// Retransmissions, which have their own queue in order of time.
    fn detect_retransmissions(
        &self,
        board: &mut Scoreboard,
        now: Instant,
        limit: Duration,
        wait: &mut Duration,
        on_lost: &mut dyn FnMut(u64),
    ) {
        let mut index = 0;
        while let Some(&(number, sent_at)) = board.retransmissions.get(index) {
            let live = board.contains(number) && {
                let s = board.get(number);
                s.sent_at == sent_at && s.is(RETRANSMITTED) && !s.is(SACKED)
            };
            if live {
                let end = board.get(number).end();
                if (sent_at, end) >= (self.sent_at, self.end) {
                    break;
                }
                let age = now.saturating_since(sent_at);
                if age < limit {
                    *wait = (*wait).max(limit - age);
                    index += 1;
                    continue;
                }
                board.mark_lost(number);
                on_lost(number);
            }
            // Lost or outdated: it need not be examined again.
            if index == 0 {
                board.retransmissions.pop_front();
            } else {
                index += 1;
            }
        }
    }

    /// True if an ACK of a segment sent at `sent_at` may still arrive (used at a timeout, which
    /// does not declare lost what was sent less than a round trip ago).
    pub(crate) fn is_recent(&self, now: Instant, sent_at: Instant) -> bool {
        now.saturating_since(sent_at) < self.rtt
    }
}
