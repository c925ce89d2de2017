//! The rate at which a queue is served while it has a backlog, and how much it varies.
//!
//! Time is divided into intervals of equal length. The bytes that left within an interval are a sample if
//! packets waited throughout: otherwise the arrivals limited them. A radio scheduler serves a queue in
//! bursts, so that an interval has to be longer than the gaps between them to be a rate; the deviation of
//! the samples shows whether it is.

use std::collections::VecDeque;

use airlane_core::{Bytes, Duration, Instant};

/// Samples in a window.
const SAMPLES: usize = 8;

#[derive(Debug)]
pub(super) struct Served {
    interval: Duration,
    /// The end of the current interval.
    end: Instant,
    /// Bytes that left in it.
    bytes: u64,
    /// Packets have waited throughout the current interval.
    is_sample: bool,
    /// Packets wait.
    is_busy: bool,
    /// Bytes per second, the oldest first.
    samples: VecDeque<f64>,
    mean: f64,
    deviation: f64,
}

impl Served {
    /// # Panics
    /// If the window is shorter than a nanosecond per sample.
    pub(super) fn new(window: Duration) -> Self {
        let interval = window / SAMPLES as u64;
        assert!(!interval.is_zero(), "a window of some time");
        Self {
            interval,
            end: Instant::ZERO + interval,
            bytes: 0,
            is_sample: false,
            is_busy: false,
            samples: VecDeque::with_capacity(SAMPLES),
            mean: 0.0,
            deviation: 0.0,
        }
    }

    /// A packet is about to wait.
    pub(super) fn on_arrival(&mut self, now: Instant) {
        self.catch_up(now);
        self.is_busy = true;
    }

    /// A packet of `size` bytes leaves; `is_empty` if none waits any more.
    pub(super) fn on_departure(&mut self, now: Instant, size: u32, is_empty: bool) {
        self.catch_up(now);
        self.bytes += u64::from(size);
        if is_empty {
            self.is_busy = false;
            self.is_sample = false;
        }
    }

    /// The probability of a mark if `backlog` bytes should leave within `threshold`; 0 before the first
    /// sample.
    pub(super) fn probability(&self, backlog: Bytes, threshold: Duration) -> f64 {
        if self.samples.is_empty() {
            return 0.0;
        }
        let required = backlog.get() as f64 / threshold.as_secs_f64();
        let beyond = required - (self.mean - self.deviation);
        if beyond <= 0.0 {
            0.0
        } else if beyond >= 2.0 * self.deviation {
            1.0
        } else {
            beyond / (2.0 * self.deviation)
        }
    }

    /// Ends the intervals that are over.
    fn catch_up(&mut self, now: Instant) {
        if now < self.end {
            return;
        }
        if self.is_sample {
            self.push(self.bytes);
        }
        let over = (now - self.end).as_nanos() / self.interval.as_nanos();
        if self.is_busy {
            // No packet left in the intervals in between, though packets waited.
            (0..over.min(SAMPLES as u64)).for_each(|_| self.push(0));
        }
        self.end += self.interval * (over + 1);
        self.bytes = 0;
        self.is_sample = self.is_busy;
    }

    fn push(&mut self, bytes: u64) {
        if self.samples.len() == SAMPLES {
            self.samples.pop_front();
        }
        self.samples.push_back(bytes as f64 / self.interval.as_secs_f64());
        let count = self.samples.len() as f64;
        self.mean = self.samples.iter().sum::<f64>() / count;
        let squares = self.samples.iter().map(|rate| (rate - self.mean) * (rate - self.mean));
        self.deviation = libm::sqrt(squares.sum::<f64>() / count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    /// Serves `bytes` at each of these milliseconds, in intervals of 10 ms, with packets that always wait.
    fn served(services: &[(u64, u32)]) -> Served {
        let mut served = Served::new(Duration::from_millis(80));
        served.on_arrival(at(0));
        for &(ms, bytes) in services {
            served.on_departure(at(ms), bytes, false);
        }
        served
    }

    #[test]
    fn a_constant_rate_makes_a_step_of_the_backlog_over_the_rate() {
        // 1000 bytes per millisecond: 1 MB/s without any deviation. The first interval is no sample.
        let services: Vec<_> = (0..100).map(|ms| (ms, 1000)).collect();
        let served = served(&services);
        assert!((served.mean - 1e6).abs() < 1e-6 && served.deviation == 0.0, "{served:?}");
        let threshold = Duration::from_millis(5);
        assert_eq!(served.probability(Bytes(5_000), threshold), 0.0); // leaves in 5 ms
        assert_eq!(served.probability(Bytes(5_001), threshold), 1.0);
    }

    #[test]
    fn the_spread_of_the_rate_is_a_ramp() {
        // 20,000 bytes in each second interval of 10 ms: 2 MB/s or nothing, so 1 MB/s with a deviation of
        // 1 MB/s. The ramp is from 0 to 2 MB/s.
        let services: Vec<_> = (0..10).map(|n| (10 + 20 * n, 20_000)).collect();
        let mut served = served(&services);
        served.catch_up(at(200));
        assert!((served.mean - 1e6).abs() < 1e-6, "{served:?}");
        assert!((served.deviation - 1e6).abs() < 1e-6, "{served:?}");
        let threshold = Duration::from_millis(10);
        let probability = |bytes| served.probability(Bytes(bytes), threshold);
        assert!((probability(5_000) - 0.25).abs() < 1e-9);
        assert!((probability(10_000) - 0.5).abs() < 1e-9);
        assert_eq!(probability(20_000), 1.0);
    }

    #[test]
    fn intervals_in_which_the_queue_is_empty_are_no_samples() {
        let mut served = Served::new(Duration::from_millis(80));
        for ms in 0..100 {
            served.on_arrival(at(ms));
            served.on_departure(at(ms), 100, true);
        }
        assert!(served.samples.is_empty());
        assert_eq!(served.probability(Bytes(1_000_000), Duration::from_millis(1)), 0.0);
    }

    #[test]
    fn a_stalled_queue_has_a_rate_of_zero() {
        let services: Vec<_> = (0..100).map(|ms| (ms, 1000)).collect();
        let mut served = served(&services);
        served.on_arrival(at(300));
        assert_eq!((served.mean, served.deviation), (0.0, 0.0));
        assert_eq!(served.probability(Bytes(1), Duration::from_millis(5)), 1.0);
    }
}
