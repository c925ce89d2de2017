//! The windowed filters of Copa's round-trip times: the minimum (RTTmin), the standing one (RTTstanding), and the extremes
//! that show whether the queue has been nearly empty.

use std::collections::VecDeque;

use airlane_core::{Duration, Instant};

/// The window of the minimum (Copa §2.1), and in minima (genericCC, `RTTWindow::new_rtt_sample`).
const MINIMUM_WINDOW: Duration = Duration::from_secs(10);
const MINIMUM_WINDOW_RTTS: u64 = 20;
/// The time in which the queue must have been nearly empty, in smoothed round trips (`is_copa_min`).
const EMPTY_WINDOW_RTTS: u64 = 4;
/// The share of the range of delays below which a queue is nearly empty (Copa §2.2, `is_copa`).
const EMPTY_SHARE: u64 = 10;

/// The filters of a connection's round-trip times.
#[derive(Clone, Debug, Default)]
pub(super) struct RttFilters {
    minimum: WindowedExtreme,
    standing: WindowedExtreme,
    recent_min: WindowedExtreme,
    recent_max: WindowedExtreme,
}

impl RttFilters {
    /// A sample of the round trip.
    pub(super) fn add(&mut self, now: Instant, rtt: Duration, srtt: Duration) {
        let known = self.minimum.get().unwrap_or(rtt);
        let longest = MINIMUM_WINDOW.max(known * MINIMUM_WINDOW_RTTS);
        let recent = longest.min(srtt * EMPTY_WINDOW_RTTS);
        self.minimum.add(now, rtt, longest, |new, old| new <= old);
        self.standing.add(now, rtt, longest.min(srtt / 2), |new, old| new <= old);
        self.recent_min.add(now, rtt, recent, |new, old| new <= old);
        self.recent_max.add(now, rtt, recent, |new, old| new >= old);
    }

    /// The minimum round trip; zero before the first sample.
    pub(super) fn minimum(&self) -> Duration {
        self.minimum.get().unwrap_or(Duration::ZERO)
    }

    /// The minimum of the last half of a smoothed round trip, which leaves out the jitter of acknowledgments.
    pub(super) fn standing(&self) -> Option<Duration> {
        self.standing.get()
    }

    /// True if the queue has lately been below a tenth of its range.
    pub(super) fn is_nearly_empty(&self) -> bool {
        let (Some(least), Some(most)) = (self.recent_min.get(), self.recent_max.get()) else { return true };
        let minimum = self.minimum();
        least.saturating_sub(minimum) * EMPTY_SHARE < most.saturating_sub(minimum)
    }
}

/// The minimum or maximum of a sliding window of time whose length may change. Values that a later one exceeds, or for a
/// minimum undercuts, are removed.
#[derive(Clone, Debug, Default)]
struct WindowedExtreme {
    values: VecDeque<(Instant, Duration)>,
}

impl WindowedExtreme {
    fn get(&self) -> Option<Duration> {
        self.values.front().map(|(_, value)| *value)
    }

    fn add(
        &mut self,
        now: Instant,
        value: Duration,
        window: Duration,
        excels: fn(Duration, Duration) -> bool,
    ) {
        while self.values.back().is_some_and(|(_, last)| excels(value, *last)) {
            self.values.pop_back();
        }
        self.values.push_back((now, value));
        while self.values.len() > 1 && self.values[0].0 + window < now {
            self.values.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn the_extreme_leaves_with_its_window() {
        let mut least = WindowedExtreme::default();
        for (at, value) in [(0, 50), (10, 40), (20, 60), (30, 45)] {
            least.add(Instant::from_millis(at), ms(value), ms(15), |new, old| new <= old);
        }
        assert_eq!(least.get(), Some(ms(45))); // 40 left at 25
        least.add(Instant::from_millis(40), ms(70), ms(15), |new, old| new <= old);
        assert_eq!(least.get(), Some(ms(45)));
        least.add(Instant::from_millis(100), ms(90), ms(15), |new, old| new <= old);
        assert_eq!(least.get(), Some(ms(90)));
    }

    /// The minimum is 40 ms. In four round trips of 100 ms: from 40 to 140 the queue was empty; from 60 to 140 it was
    /// not, 20 of 100 ms is more than a tenth.
    #[test]
    fn a_nearly_empty_queue() {
        let mut rtt_filters = RttFilters::default();
        let mut add = |at: u64, rtt: u64| {
            rtt_filters.add(Instant::from_millis(at), ms(rtt), ms(100));
            rtt_filters.is_nearly_empty()
        };
        add(0, 40);
        assert!(add(100, 140));
        assert!(add(350, 60));
        assert!(!add(450, 140)); // the 40 of 0 ms is out of the four round trips, the 60 is not
        assert!(add(500, 49));
    }
}
