//! The rule by which a direction counts as stalled.

use std::time::{Duration, Instant};

/// How long data may wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct StallRule {
    /// Time for which a byte may wait without any progress.
    pub(super) timeout: Duration,
    /// Bytes per second that prolong this time without end.
    pub(super) bytes_per_second: f64,
}

/// The progress of one direction: bytes that the proxy has read, and bytes of them that the receiver has acknowledged.
///
/// A direction is stalled when bytes that were there at the begin of a period are not all acknowledged at its end. A
/// period is `timeout` long. Each acknowledged byte prolongs it by the time that the byte takes at the minimum rate,
/// up to a whole `timeout` from then. Each direction has a period of its own. So a receiver must take bytes at the
/// minimum rate, or else all that waits within `timeout`, whatever it sends itself.
#[derive(Debug)]
pub(super) struct Progress {
    /// Bytes that were there at the begin of the period.
    there: u64,
    acknowledged: u64,
    /// The end of the period.
    end: Instant,
}

impl Progress {
    pub(super) fn new(now: Instant, rule: StallRule) -> Self {
        Self { there: 0, acknowledged: 0, end: now + rule.timeout }
    }

    /// Whether all that was read is acknowledged, as of the last look.
    pub(super) const fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// Takes the numbers of bytes that were read and acknowledged until now. True if the direction is stalled.
    pub(super) fn look(&mut self, now: Instant, read: u64, acknowledged: u64, rule: StallRule) -> bool {
        // The FIN counts as an unacknowledged byte, so the number can fall by one.
        let new = acknowledged.saturating_sub(self.acknowledged);
        self.acknowledged += new;
        let whole = now + rule.timeout;
        if self.acknowledged >= self.there {
            (self.there, self.end) = (read, whole);
            return false;
        }
        let longest = rule.timeout.as_secs_f64();
        let more = Duration::from_secs_f64((new as f64 / rule.bytes_per_second).min(longest));
        self.end = (self.end + more).min(whole);
        now >= self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: StallRule = StallRule { timeout: Duration::from_secs(3), bytes_per_second: 500.0 };

    /// Looks once a second at a receiver with data waiting. Returns the second at which the direction is stalled.
    fn stalled_at(seconds: u32, read: impl Fn(u32) -> u64, acknowledged: impl Fn(u32) -> u64) -> Option<u32> {
        let begin = Instant::now();
        let mut progress = Progress::new(begin, RULE);
        (0..=seconds)
            .find(|&s| progress.look(begin + Duration::from_secs(s.into()), read(s), acknowledged(s), RULE))
    }

    #[test]
    fn without_progress_it_is_stalled_after_the_timeout() {
        // The first look, at 0 s, begins a period, which ends at 3 s.
        assert_eq!(stalled_at(60, |_| 1_000_000, |_| 0), Some(3));
    }

    #[test]
    fn a_byte_a_second_does_not_help() {
        // Each byte prolongs the period by 2 ms: the end is at 3.006 s after three of them.
        assert_eq!(stalled_at(60, |_| 1_000_000, u64::from), Some(4));
    }

    #[test]
    fn half_the_rate_doubles_the_time_and_the_whole_rate_is_enough() {
        // 250 bytes a second prolong the period by 0.5 s a second: 3 + 0.5 s = s, so s = 6.
        assert_eq!(stalled_at(60, |_| 1_000_000, |s| 250 * u64::from(s)), Some(6));
        assert_eq!(stalled_at(600, |_| 1_000_000, |s| 500 * u64::from(s)), None);
    }

    #[test]
    fn little_data_that_is_always_on_its_way_is_no_stall() {
        // 10 bytes a second, each acknowledged a second later: less than the minimum rate, and never all acknowledged.
        assert_eq!(stalled_at(600, |s| 10 * u64::from(s) + 10, |s| 10 * u64::from(s)), None);
    }

    #[test]
    fn a_burst_does_not_count_for_more_than_the_timeout() {
        // A million bytes at 1 s are 2,000 s at the minimum rate. The period ends 3 s after it, at 4 s.
        assert_eq!(stalled_at(60, |_| 2_000_000, |s| if s == 0 { 0 } else { 1_000_000 }), Some(4));
    }
}
