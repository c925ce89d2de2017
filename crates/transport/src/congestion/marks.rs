//! The moving average of the share of marked packets, which scalable controllers respond to: DCTCP (RFC 8257 §3.3)
//! and Prague.
//!
//! The text of RFC 8257 was not available. Section 3.3 is quoted, step by step, by INET's `DcTcp.cc`.

use airlane_core::{Duration, Instant};

use super::MarkSample;

/// The gain of the average (L4STeam/udp_prague `ALPHA_SHIFT`; RFC 8257 §4.2).
const GAIN: f64 = 1.0 / 16.0;

/// The average over observation windows of a round trip.
#[derive(Clone, Copy, Debug)]
pub(super) struct MarkedShare {
    alpha: f64,
    delivered: u64,
    marked: u64,
    /// The window ends when this position is acknowledged, and not before this time has passed since its begin.
    until: u64,
    began: Instant,
    /// False as long as the average waits for the first mark.
    updates: bool,
}

impl MarkedShare {
    /// Everything counts as marked at first: the first mark halves the window (RFC 8257 §3.3; Linux `tcp_prague`).
    pub(super) const fn new() -> Self {
        Self { alpha: 1.0, delivered: 0, marked: 0, until: 0, began: Instant::ZERO, updates: true }
    }

    /// A share that begins at the first mark: before, nothing shows that the path marks (Linux `tcp_prague`).
    pub(super) const fn from_first_mark() -> Self {
        Self { updates: false, ..Self::new() }
    }

    /// The average.
    pub(super) const fn alpha(&self) -> f64 {
        self.alpha
    }

    /// False as long as it waits for the first mark.
    pub(super) const fn has_begun(&self) -> bool {
        self.updates
    }

    /// Counts these of an acknowledgment. True at the end of an observation window of at least this time, which
    /// updates the average.
    pub(super) fn on_marks(
        &mut self,
        sample: &MarkSample,
        (delivered, marked): (u64, u64),
        least: Duration,
    ) -> bool {
        self.updates |= marked > 0;
        self.delivered += delivered;
        self.marked += marked;
        if sample.acked_to <= self.until || sample.now.saturating_since(self.began) < least {
            return false;
        }
        if self.delivered > 0 && self.updates {
            // Marks of ACKs and of retransmissions can make it more than all.
            let share = (self.marked as f64 / self.delivered as f64).min(1.0);
            self.alpha += (share - self.alpha) * GAIN;
        }
        (self.delivered, self.marked) = (0, 0);
        (self.until, self.began) = (sample.sent_to, sample.now);
        true
    }
}

/// The time of one reduction: a round trip, of at least some time.
#[derive(Clone, Copy, Debug)]
pub(super) struct OncePerRound {
    until: u64,
    began: Option<Instant>,
}

impl OncePerRound {
    /// No mark yet.
    pub(super) const NONE: Self = Self { until: 0, began: None };

    /// True if the last reduction is over; then a new one begins.
    pub(super) fn begins(&mut self, sample: &MarkSample, least: Duration) -> bool {
        let over = self
            .began
            .is_none_or(|began| sample.acked_to > self.until && sample.now.saturating_since(began) >= least);
        if over {
            (self.until, self.began) = (sample.sent_to, Some(sample.now));
        }
        over
    }
}

#[cfg(test)]
mod tests;
