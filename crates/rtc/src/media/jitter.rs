//! The jitter estimate of libwebrtc's video jitter buffer (`video/timing/jitter_estimator.cc` and
//! `frame_delay_variation_kalman_filter.cc` at f3ae3eb, with their default settings).
//!
//! The variation of the delay between two frames is explained by the difference of their sizes over a rate, which a Kalman
//! filter estimates, and by noise. The estimate is what the largest frame would need more than a mean one, and a high quantile
//! of the noise.

use airlane_core::{Duration, Instant};

/// Frames before the estimate is kept as a lower bound.
const STARTUP: u32 = 30;
/// Frames whose sizes give the first mean.
const SIZES_MIN: u32 = 5;
/// The first mean and maximum of sizes, in bytes.
const SIZE_INITIAL: f64 = 500.0;
/// The time constants of the mean and of the maximum of sizes.
const PHI: f64 = 0.97;
const PSI: f64 = 0.9999;
/// Standard deviations to which a delay is clamped, and from which on a delay or a size is an outlier.
const DELAY_CLAMP: f64 = 3.5;
const DELAY_OUTLIER: f64 = 15.0;
const SIZE_OUTLIER: f64 = 3.0;
/// A frame smaller than the one before it by this share of the largest is left out: it arrived behind a large one.
const CONGESTION: f64 = -0.25;
/// The longest memory of the noise, in frames.
const ALPHA_MAX: f64 = 400.0;
/// The quantile of the noise in standard deviations, and what is subtracted in milliseconds.
const NOISE_DEVIATIONS: f64 = 2.33;
const NOISE_OFFSET: f64 = 30.0;
/// Bounds of the estimate in milliseconds.
const ESTIMATE_MIN: f64 = 1.0;
const ESTIMATE_MAX: f64 = 10_000.0;
/// The jitter that the operating system adds, in milliseconds.
const OPERATING_SYSTEM: f64 = 10.0;
/// Frames that were sent again until a share of the round-trip time is added, which share, and its bound in milliseconds.
const NACK_LIMIT: u32 = 3;
const RTT_SHARE: f64 = 0.9;
const RTT_ADDED_MAX: f64 = 200.0;
/// Time after which these frames are forgotten.
const NACK_TIMEOUT: Duration = Duration::from_secs(60);
/// Below the first frame rate jitter is ignored, below the second partly.
const RATE_LOW: f64 = 5.0;
const RATE_HIGH: f64 = 10.0;
/// Intervals of the frame rate.
const INTERVALS: usize = 30;
/// The highest frame rate.
const RATE_MAX: f64 = 200.0;

/// Delay over size: a Kalman filter of a slope in ms per byte, and of an offset in ms.
#[derive(Clone, Copy, Debug)]
struct SizeFilter {
    slope: f64,
    offset: f64,
    covariance: [[f64; 2]; 2],
}

impl SizeFilter {
    const PROCESS_NOISE: [f64; 2] = [2.5e-10, 1e-10];
    const SLOPE_MIN: f64 = 1e-6;

    const fn new() -> Self {
        Self { slope: 1.0 / (512e3 / 8.0), offset: 0.0, covariance: [[1e-4, 0.0], [0.0, 1e2]] }
    }

    fn explained(&self, bytes: f64) -> f64 {
        self.slope * bytes + self.offset
    }

    fn update(&mut self, delay: f64, bytes: f64, largest: f64, variance: f64) {
        if largest < 1.0 {
            return;
        }
        let p = &mut self.covariance;
        p[0][0] += Self::PROCESS_NOISE[0];
        p[1][1] += Self::PROCESS_NOISE[1];
        let times = [p[0][0] * bytes + p[0][1], p[1][0] * bytes + p[1][1]];
        let noise = (300.0 * libm::exp(-bytes.abs() / largest) + 1.0) * variance.sqrt();
        let innovation_variance = bytes * times[0] + times[1] + noise.max(1.0);
        let gain = times.map(|one| one / innovation_variance);
        let innovation = delay - (self.slope * bytes + self.offset);
        self.slope = (self.slope + gain[0] * innovation).max(Self::SLOPE_MIN);
        self.offset += gain[1] * innovation;
        let [[p00, p01], [p10, p11]] = *p;
        *p = [
            [(1.0 - gain[0] * bytes) * p00 - gain[0] * p10, (1.0 - gain[0] * bytes) * p01 - gain[0] * p11],
            [p10 * (1.0 - gain[1]) - gain[1] * bytes * p00, p11 * (1.0 - gain[1]) - gain[1] * bytes * p01],
        ];
    }
}

/// Estimates the jitter of frames.
#[derive(Clone, Debug)]
pub(super) struct JitterEstimator {
    filter: SizeFilter,
    mean_size: f64,
    size_variance: f64,
    largest: f64,
    first_sizes: (u32, f64),
    size_before: Option<f64>,
    mean_noise: f64,
    noise_variance: f64,
    alpha_count: f64,
    startup: u32,
    filtered: f64,
    previous: Option<f64>,
    /// The latest intervals in microseconds, the place of the next one, and when the last one ended.
    intervals: Vec<f64>,
    interval: usize,
    updated_at: Option<Instant>,
    nacked: (u32, Instant),
}

impl JitterEstimator {
    pub(super) const fn new() -> Self {
        Self {
            filter: SizeFilter::new(),
            mean_size: SIZE_INITIAL,
            size_variance: 100.0,
            largest: SIZE_INITIAL,
            first_sizes: (0, 0.0),
            size_before: None,
            mean_noise: 0.0,
            noise_variance: 4.0,
            alpha_count: 1.0,
            startup: 0,
            filtered: 0.0,
            previous: None,
            intervals: Vec::new(),
            interval: 0,
            updated_at: None,
            nacked: (0, Instant::ZERO),
        }
    }

    /// A frame arrived later than its media time tells, by `delay` milliseconds more than the frame before it.
    pub(super) fn update(&mut self, now: Instant, delay: f64, size: f64) {
        let difference = size - self.size_before.unwrap_or(0.0);
        self.add_size(size);
        if self.size_before.replace(size).is_none() {
            return;
        }
        let deviation = self.noise_variance.sqrt();
        let bound = libm::floor(DELAY_CLAMP * deviation + 0.5);
        let delay = delay.clamp(-bound, bound);
        let unexplained = delay - self.filter.explained(difference);
        let large = size > self.mean_size + SIZE_OUTLIER * self.size_variance.sqrt();
        if unexplained.abs() < DELAY_OUTLIER * deviation || large {
            if difference > CONGESTION * self.largest {
                self.add_noise(now, unexplained);
                self.filter.update(delay, difference, self.largest, self.noise_variance);
            }
        } else {
            self.add_noise(now, (DELAY_OUTLIER * deviation).copysign(unexplained));
        }
        if self.startup >= STARTUP {
            self.filtered = self.calculate();
        } else {
            self.startup += 1;
        }
    }

    /// A frame arrived with a packet that was sent again: its delay says nothing.
    pub(super) fn on_retransmitted(&mut self, now: Instant) {
        self.nacked = ((self.nacked.0 + 1).min(NACK_LIMIT), now);
    }

    /// The estimate.
    pub(super) fn estimate(&mut self, now: Instant, rtt: Duration) -> Duration {
        let mut jitter = (self.calculate() + OPERATING_SYSTEM).max(self.filtered);
        if now.saturating_since(self.nacked.1) > NACK_TIMEOUT {
            self.nacked.0 = 0;
        }
        if self.nacked.0 >= NACK_LIMIT {
            jitter += (rtt.as_millis_f64() * RTT_SHARE).min(RTT_ADDED_MAX);
        }
        let rate = self.frame_rate();
        if rate > 0.0 && rate < RATE_HIGH {
            jitter *= ((rate - RATE_LOW) / (RATE_HIGH - RATE_LOW)).max(0.0);
        }
        Duration::from_secs_f64(jitter.max(0.0) / 1e3)
    }

    fn add_size(&mut self, size: f64) {
        let (count, sum) = self.first_sizes;
        if count < SIZES_MIN {
            self.first_sizes = (count + 1, sum + size);
        } else if count == SIZES_MIN {
            self.mean_size = sum / f64::from(count);
            self.first_sizes.0 += 1;
        }
        let mean = PHI * self.mean_size + (1.0 - PHI) * size;
        if size < self.mean_size + 2.0 * self.size_variance.sqrt() {
            self.mean_size = mean; // not of a key frame
        }
        let squared = (size - mean) * (size - mean);
        self.size_variance = (PHI * self.size_variance + (1.0 - PHI) * squared).max(1.0);
        self.largest = (PSI * self.largest).max(size);
    }

    fn add_noise(&mut self, now: Instant, unexplained: f64) {
        if let Some(before) = self.updated_at.replace(now) {
            let interval = now.saturating_since(before).as_micros() as f64;
            if self.intervals.len() < INTERVALS {
                self.intervals.push(interval);
            } else {
                self.intervals[self.interval] = interval;
                self.interval = (self.interval + 1) % INTERVALS;
            }
        }
        let mut alpha = (self.alpha_count - 1.0) / self.alpha_count;
        self.alpha_count = (self.alpha_count + 1.0).min(ALPHA_MAX);
        let rate = self.frame_rate();
        if rate > 0.0 {
            let mut scale = 30.0 / rate;
            let startup = f64::from(STARTUP);
            if self.alpha_count < startup {
                scale = (self.alpha_count * scale + (startup - self.alpha_count)) / startup;
            }
            alpha = libm::pow(alpha, scale);
        }
        let from_mean = unexplained - self.mean_noise;
        self.mean_noise = alpha * self.mean_noise + (1.0 - alpha) * unexplained;
        self.noise_variance = (alpha * self.noise_variance + (1.0 - alpha) * from_mean * from_mean).max(1.0);
    }

    fn calculate(&mut self) -> f64 {
        let noise = (NOISE_DEVIATIONS * self.noise_variance.sqrt() - NOISE_OFFSET).max(1.0);
        let estimate = self.filter.slope * (self.largest - self.mean_size) + noise;
        let estimate = if estimate < ESTIMATE_MIN {
            self.previous.unwrap_or(ESTIMATE_MIN)
        } else {
            estimate.min(ESTIMATE_MAX)
        };
        self.previous = Some(estimate);
        estimate
    }

    /// Zero before the first interval.
    fn frame_rate(&self) -> f64 {
        let sum: f64 = self.intervals.iter().sum();
        if sum <= 0.0 { 0.0 } else { (1e6 * self.intervals.len() as f64 / sum).min(RATE_MAX) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames at 30 per second, each with the delay and size of `of`; the estimate after the last in ms.
    fn estimate_of(frames: u64, of: impl Fn(u64) -> (f64, f64)) -> f64 {
        let (mut estimator, mut before, mut now) = (JitterEstimator::new(), 0.0, Instant::ZERO);
        for i in 0..frames {
            let (delay, size) = of(i);
            now = Instant::ZERO + Duration::from_secs_f64(i as f64 / 30.0 + delay / 1e3);
            estimator.update(now, delay - before, size);
            before = delay;
        }
        estimator.estimate(now, Duration::from_millis(100)).as_millis_f64()
    }

    /// Without jitter the estimate is the least noise and what the operating system adds.
    #[test]
    fn frames_without_jitter_need_ten_milliseconds() {
        let estimate = estimate_of(600, |_| (20.0, 4_000.0));
        assert!((10.9..12.0).contains(&estimate), "{estimate}");
    }

    /// A link of 8 Mbit/s takes 1 µs for a byte: the largest frame has 2000 B more than the mean, and is late by 2 ms. With the
    /// 512 kbit/s of the beginning it would be 31 ms.
    #[test]
    fn the_rate_of_the_link_is_learned() {
        let size = |i: u64| 2_000.0 + 1_000.0 * (7 * i % 5) as f64;
        let estimate = estimate_of(900, |i| (size(i) * 0.001, size(i)));
        assert!((12.0..16.0).contains(&estimate), "{estimate}");
    }

    #[test]
    fn noise_raises_it() {
        // Delays of 0 and 60 ms in turn: the deviation of their differences is 60 ms, 2.33 times which less 30 is 110.
        let estimate = estimate_of(900, |i| (if i.is_multiple_of(2) { 0.0 } else { 60.0 }, 4_000.0));
        assert!((100.0..130.0).contains(&estimate), "{estimate}");
    }

    #[test]
    fn retransmissions_add_a_share_of_the_round_trip() {
        let mut estimator = JitterEstimator::new();
        let mut at = |ms: u64| {
            estimator.estimate(Instant::from_millis(ms), Duration::from_millis(100)).as_millis_f64()
        };
        let before = at(0);
        (0..3).for_each(|_| estimator.on_retransmitted(Instant::from_millis(1)));
        let mut at = |ms: u64| {
            estimator.estimate(Instant::from_millis(ms), Duration::from_millis(100)).as_millis_f64()
        };
        assert!((at(2) - before - 90.0).abs() < 1e-6);
        assert_eq!(at(60_002), before);
    }
}
