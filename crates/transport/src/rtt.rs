//! Round-trip time: smoothed value and variance (RFC 6298 with Linux's filter of the variance)
//! and the windowed minimum.
//!
//! Linux departs from RFC 6298 in two ways that matter. A sample *below* the smoothed value moves
//! the deviation only by an eighth of the usual gain, so that a falling RTT does not inflate the
//! timeout. The term 4 RTTVAR is the *maximum* of the deviation over a window of data, at least the
//! RTO floor, and decays by a quarter once per window.

use airlane_core::{Duration, Instant};

/// The estimator of one sender.
#[derive(Clone, Copy, Debug)]
pub struct RttEstimator {
    /// Smoothed RTT in nanoseconds, times 8 (RFC 6298 §2.3, gain 1/8).
    srtt_x8: u64,
    /// Mean deviation in nanoseconds, times 4 (gain 1/4): already the "4 RTTVAR" term.
    deviation_x4: u64,
    /// Maximum deviation in the current window of data.
    deviation_max: u64,
    /// The term that is added to the smoothed value.
    variance_term: u64,
    /// Stream position at which the current window of data ends.
    window_end: u64,
    rto_min: u64,
    rto_max: Duration,
    rto_initial: Duration,
}

impl RttEstimator {
    /// An estimator without a sample.
    #[must_use]
    pub fn new(rto_min: Duration, rto_max: Duration, rto_initial: Duration) -> Self {
        Self {
            srtt_x8: 0,
            deviation_x4: 0,
            deviation_max: 0,
            variance_term: 0,
            window_end: 0,
            rto_min: rto_min.as_nanos(),
            rto_max,
            rto_initial,
        }
    }

    /// Adds a sample; `acked` and `sent` are the highest stream positions acknowledged and sent.
    pub fn sample(&mut self, rtt: Duration, acked: u64, sent: u64) {
        let m = rtt.as_nanos().max(1);
        if self.srtt_x8 == 0 {
            self.srtt_x8 = m << 3;
            self.deviation_x4 = m << 1; // RFC 6298 §2.2: RTTVAR = R/2
            self.variance_term = self.deviation_x4.max(self.rto_min);
            self.deviation_max = self.variance_term;
            self.window_end = sent;
            return;
        }
        let error = m as i64 - (self.srtt_x8 >> 3) as i64;
        self.srtt_x8 = (self.srtt_x8 as i64 + error).max(1) as u64;
        let mut change = error.abs() - (self.deviation_x4 >> 2) as i64;
        if error < 0 && change > 0 {
            change >>= 3;
        }
        self.deviation_x4 = (self.deviation_x4 as i64 + change).max(0) as u64;
        if self.deviation_x4 > self.deviation_max {
            self.deviation_max = self.deviation_x4;
            self.variance_term = self.variance_term.max(self.deviation_max);
        }
        if acked > self.window_end {
            if self.deviation_max < self.variance_term {
                self.variance_term -= (self.variance_term - self.deviation_max) >> 2;
            }
            self.window_end = sent;
            self.deviation_max = self.rto_min;
        }
    }

    /// True once a sample was taken.
    #[must_use]
    pub const fn has_sample(&self) -> bool {
        self.srtt_x8 != 0
    }

    /// Smoothed RTT; zero before the first sample.
    #[must_use]
    pub const fn srtt(&self) -> Duration {
        Duration::from_nanos(self.srtt_x8 >> 3)
    }

    /// Mean deviation.
    #[must_use]
    pub const fn deviation(&self) -> Duration {
        Duration::from_nanos(self.deviation_x4 >> 2)
    }

    /// Sets the timeout after a handshake that gave no sample (RFC 6298 §5.7).
    pub fn assume_initial(&mut self, rto: Duration) {
        if !self.has_sample() {
            self.rto_initial = rto;
        }
    }

    /// The retransmission timeout without back-off, rounded up to the clock granularity of
    /// 1 ms (RFC 6298 §2.3, G).
    #[must_use]
    pub fn rto(&self) -> Duration {
        if !self.has_sample() {
            return self.rto_initial;
        }
        const GRANULARITY_NS: u64 = 1_000_000;
        let exact = (self.srtt_x8 >> 3) + self.variance_term;
        Duration::from_nanos(exact.div_ceil(GRANULARITY_NS) * GRANULARITY_NS).min(self.rto_max)
    }
}

/// Minimum round trip of the last five minutes (Linux `tcp_min_rtt_wlen`, 300 s), in two halves:
/// the minimum is exact over the current half and the one before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MinRtt {
    current: Duration,
    previous: Duration,
    half_began: Instant,
}

impl MinRtt {
    const HALF: Duration = Duration::from_secs(150);

    pub(crate) const fn new() -> Self {
        Self { current: Duration::MAX, previous: Duration::MAX, half_began: Instant::ZERO }
    }

    pub(crate) fn sample(&mut self, now: Instant, rtt: Duration) {
        if now.saturating_since(self.half_began) > Self::HALF {
            self.previous = self.current;
            self.current = Duration::MAX;
            self.half_began = now;
        }
        self.current = self.current.min(rtt);
    }

    /// The minimum; [`Duration::MAX`] before the first sample.
    pub(crate) fn get(&self) -> Duration {
        self.current.min(self.previous)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimator() -> RttEstimator {
        RttEstimator::new(Duration::from_millis(200), Duration::from_secs(120), Duration::from_secs(1))
    }

    #[test]
    fn first_sample_follows_rfc_6298_with_the_floor_in_the_variance_term() {
        let mut e = estimator();
        assert_eq!(e.rto(), Duration::from_secs(1));
        e.sample(Duration::from_millis(40), 1, 1);
        assert_eq!(e.srtt(), Duration::from_millis(40));
        // max(4 * 20, 200) + 40
        assert_eq!(e.rto(), Duration::from_millis(240));
        let mut slow = estimator();
        slow.sample(Duration::from_millis(400), 1, 1);
        // max(4 * 200, 200) + 400
        assert_eq!(slow.rto(), Duration::from_millis(1200));
    }

    #[test]
    fn a_fall_moves_the_deviation_an_eighth_as_much_as_a_rise() {
        let mut up = estimator();
        let mut down = estimator();
        for e in [&mut up, &mut down] {
            e.sample(Duration::from_millis(400), 1, 1);
        }
        // Deviation/4 is 200 ms. Rise by 800: change = 800 - 200 = 600 -> 800 + 600 = 1400.
        up.sample(Duration::from_millis(1200), 1, 1);
        assert_eq!(up.srtt(), Duration::from_millis(500));
        assert_eq!(up.rto(), Duration::from_millis(1900));
        // Fall by 360: change = (360 - 200) / 8 = 20 -> 820; srtt 400 - 45 = 355.
        down.sample(Duration::from_millis(40), 1, 1);
        assert_eq!(down.rto(), Duration::from_millis(355 + 820));
    }

    #[test]
    fn the_variance_decays_by_a_quarter_once_per_window() {
        let mut e = estimator();
        e.sample(Duration::from_millis(400), 1, 100); // term 800, floor 200
        e.sample(Duration::from_millis(400), 101, 200); // window ends: deviation_max is still 800
        assert_eq!(e.rto(), Duration::from_millis(1200));
        e.sample(Duration::from_millis(400), 201, 300); // deviation 600, 450 ... all below 800
        // Deviation after three samples: 800 -> 600 -> 450. Window 2 saw a maximum of 450.
        // Term: 800 - (800 - 450) / 4 = 712.5.
        assert_eq!(e.rto(), Duration::from_millis(1113));
    }

    #[test]
    fn old_minima_are_forgotten() {
        let mut m = MinRtt::new();
        let at = |s: u64| Instant::from_millis(s * 1000);
        m.sample(at(1), Duration::from_millis(10));
        m.sample(at(100), Duration::from_millis(30));
        m.sample(at(200), Duration::from_millis(20));
        assert_eq!(m.get(), Duration::from_millis(10));
        m.sample(at(400), Duration::from_millis(40));
        assert_eq!(m.get(), Duration::from_millis(20));
    }
}
