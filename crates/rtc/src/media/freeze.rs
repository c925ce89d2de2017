//! Freezes, as libwebrtc counts them (`video/video_quality_observer2.cc` at f3ae3eb).

use std::collections::VecDeque;

use airlane_core::{Duration, Instant};

use super::Pause;

/// The number of intervals of the mean, and of those that it needs.
const INTERVALS: usize = 30;
const INTERVALS_MIN: usize = 5;
/// A freeze is at least three times the mean, and longer than it by this, in milliseconds.
const FACTOR: u64 = 3;
const ADDED: u64 = 150;

/// Finds the intervals between shown frames that are freezes.
#[derive(Clone, Debug, Default)]
pub(super) struct FreezeDetector {
    shown_at: Option<Instant>,
    /// In whole milliseconds.
    intervals: VecDeque<u64>,
    /// Intervals with a pause of the sender count for nothing.
    pauses: Vec<Pause>,
}

impl FreezeDetector {
    pub(super) fn set_pauses(&mut self, pauses: Vec<Pause>) {
        self.pauses = pauses;
    }

    /// A frame is shown. Returns the time since the frame before it, if this was a freeze: the interval is compared with the
    /// mean of the latest ones, itself included.
    pub(super) fn on_shown(&mut self, now: Instant) -> Option<Duration> {
        let before = self.shown_at.replace(now)?;
        if self.pauses.iter().any(|pause| before < pause.until && pause.from < now) {
            return None;
        }
        let interval = now - before;
        if self.intervals.len() == INTERVALS {
            self.intervals.pop_front();
        }
        self.intervals.push_back(interval.as_millis());
        let mean = self.intervals.iter().sum::<u64>() / self.intervals.len() as u64;
        let limit = (FACTOR * mean).max(mean + ADDED);
        (self.intervals.len() >= INTERVALS_MIN && interval.as_millis() >= limit).then_some(interval)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After steady intervals of t, an interval of x is a freeze if x ≥ m + 150 with m = (29 t + x)/30: with 33, 66 and 100 ms,
    /// from 188, 221 and 321 ms on (of the last, 3 m ≥ m + 150 holds: x ≥ 3 (2900 + x)/30).
    #[test]
    fn the_threshold_follows_the_frame_rate() {
        for (interval, threshold) in [(33, 188), (66, 221), (100, 321)] {
            for (last, freezes) in [(threshold - 1, false), (threshold, true)] {
                let mut detector = FreezeDetector::default();
                for i in 0..40 {
                    assert_eq!(detector.on_shown(Instant::from_millis(i * interval)), None);
                }
                let found = detector.on_shown(Instant::from_millis(39 * interval + last));
                assert_eq!(found, freezes.then(|| Duration::from_millis(last)), "{interval} ms");
            }
        }
    }

    #[test]
    fn a_pause_of_the_sender_is_no_freeze() {
        for (from, frozen) in [(1_100, false), (9_000, true)] {
            let mut detector = FreezeDetector::default();
            let [from, until] = [from, from + 800].map(Instant::from_millis);
            detector.set_pauses(vec![Pause { from, until }]);
            (0..33).for_each(|i| assert_eq!(detector.on_shown(Instant::from_millis(33 * i)), None));
            assert_eq!(detector.on_shown(Instant::from_millis(1_950)).is_some(), frozen, "{from:?}");
        }
    }

    #[test]
    fn the_first_intervals_are_none() {
        let mut detector = FreezeDetector::default();
        let found = [0, 33, 2_000, 2_033, 2_066].map(|ms| detector.on_shown(Instant::from_millis(ms)));
        assert_eq!(found, [None; 5]);
        assert!(detector.on_shown(Instant::from_millis(9_000)).is_some());
    }
}
