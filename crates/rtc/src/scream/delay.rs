//! The queue delay: the one-way delay above its smallest value (RFC 6817).

use airlane_core::{Duration, Instant};

use super::settings::{QUEUE_DELAY_GAIN, VIRTUAL_RTT};
use crate::base_delay::BaseDelay;
use crate::smooth::{ewma, ratio, times};

/// The one-way delays of the packets of a report, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Delays {
    /// The smallest.
    pub(super) least_ns: i64,
    /// The largest.
    pub(super) most_ns: i64,
    /// That of the packet with the highest sequence number.
    pub(super) newest_ns: i64,
}

/// `QDELAY_MIN_MAX_AVG_G`. Draft, "Detecting Increased Queue Delay".
const EXTREMES_GAIN: f64 = 1.0 / 16.0;
/// `QDELAY_DEV_AVG_G`, likewise.
const DEVIATION_GAIN: f64 = 1.0 / 32.0;
/// `QDELAY_DEV_THRESHOLD`, likewise.
const DEVIATION_THRESHOLD: Duration = Duration::from_millis(10);
/// `QDELAY_MIN_AVG_ALPHA`. Draft, "Clock drift issues and remedies".
const DRIFT_GAIN: f64 = 1.0 / 256.0;
/// How long the target is halved after the base delay was forgotten, in round trips and at least. Likewise.
const DRAIN_RTTS: u64 = 5;
const DRAIN_LEAST: Duration = Duration::from_millis(200);

/// The queue delay as the draft averages it, in "Detecting Increased Queue Delay".
#[derive(Clone, Debug)]
pub(super) struct QueueDelay {
    base: BaseDelay,
    target: Duration,
    latest: Duration,
    average: Duration,
    averaged_at: Instant,
    jitter: Option<Jitter>,
    drift: Option<Drift>,
}

impl QueueDelay {
    pub(super) fn new(target: Duration, reduce_jitter: bool, correct_drift: bool) -> Self {
        Self {
            base: BaseDelay::default(),
            target,
            latest: Duration::ZERO,
            average: Duration::ZERO,
            averaged_at: Instant::ZERO,
            jitter: reduce_jitter.then(Jitter::default),
            drift: correct_drift.then(Drift::default),
        }
    }

    /// The one-way delays of a report's packets.
    pub(super) fn update(&mut self, now: Instant, delays: Delays, smoothed_rtt: Duration) {
        let least = self.base.queue_delay(now, delays.least_ns);
        self.latest = self.base.queue_delay(now, delays.newest_ns);
        if let Some(jitter) = &mut self.jitter {
            jitter.sample(least, self.target);
            jitter.sample(self.base.queue_delay(now, delays.most_ns), self.target);
        }
        if let Some(drift) = &mut self.drift
            && drift.exceeds(now, self.latest, smoothed_rtt, self.target)
        {
            self.base.reset();
        }
        if now.saturating_since(self.averaged_at) < smoothed_rtt.min(VIRTUAL_RTT) {
            return;
        }
        self.averaged_at = now;
        self.average = if self.latest < self.average {
            self.latest
        } else {
            ewma(self.average, self.latest, QUEUE_DELAY_GAIN)
        };
        if let Some(jitter) = &mut self.jitter {
            jitter.average();
        }
    }

    /// `qdelay`.
    pub(super) const fn latest(&self) -> Duration {
        self.latest
    }

    /// `qdelay_avg`.
    pub(super) const fn average(&self) -> Duration {
        self.average
    }

    /// `ref_wnd_delay_scale`.
    pub(super) fn jitter_scale(&self) -> f64 {
        self.jitter.as_ref().map_or(1.0, Jitter::scale)
    }

    /// True while the target is halved to drain the queue.
    pub(super) fn drains(&self, now: Instant) -> bool {
        self.drift.as_ref().is_some_and(|drift| now < drift.drains_until)
    }
}

/// The part of a window that is taken away for a queue delay: from 0 at half of the target to 1 at the target. Draft,
/// "Reference Window Reduction" (`l4s_alpha_v_t`).
pub(super) fn virtual_alpha(average: Duration, target: Duration) -> f64 {
    let half = target / 2;
    ratio(average.saturating_sub(half), half).min(1.0)
}

/// How much the queue delay varies. The largest begins at zero as in Ericsson's implementation (EricssonResearch/scream
/// c8f84c3, `ScreamV2Tx.cpp`). The draft lets it begin at the target, which counts as a variation for seconds: a call then
/// needs 5.6 s instead of 2.9 s for 35 of 50 Mbit/s in the tests of this crate.
#[derive(Clone, Debug, Default)]
struct Jitter {
    most: Duration,
    least: Duration,
    deviation: Duration,
}

impl Jitter {
    fn sample(&mut self, queue_delay: Duration, target: Duration) {
        self.most = self.most.max(queue_delay).min(target);
        self.least = self.least.min(queue_delay);
    }

    /// `calculate_ref_wnd_delay_scale`.
    fn average(&mut self) {
        self.most = times(self.most, 1.0 - EXTREMES_GAIN);
        self.least = ewma(self.least, self.most, EXTREMES_GAIN);
        self.deviation = ewma(self.deviation, self.most.saturating_sub(self.least), DEVIATION_GAIN);
    }

    fn scale(&self) -> f64 {
        (1.0 - ratio(self.deviation, DEVIATION_THRESHOLD)).max(0.0)
    }
}

/// The long-term average of the smallest queue delay of a round trip.
#[derive(Clone, Debug, Default)]
struct Drift {
    least: Option<Duration>,
    average: Duration,
    since: Instant,
    drains_until: Instant,
}

impl Drift {
    /// True if the base delay must be forgotten.
    fn exceeds(
        &mut self,
        now: Instant,
        queue_delay: Duration,
        smoothed_rtt: Duration,
        target: Duration,
    ) -> bool {
        let least = self.least.map_or(queue_delay, |least| least.min(queue_delay));
        self.least = Some(least);
        if now.saturating_since(self.since) < smoothed_rtt {
            return false;
        }
        self.since = now;
        self.least = None;
        self.average = ewma(self.average, least, DRIFT_GAIN);
        if self.average <= target / 4 {
            return false;
        }
        self.average = Duration::ZERO;
        self.drains_until = now + (smoothed_rtt * DRAIN_RTTS).max(DRAIN_LEAST);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: Duration = Duration::from_millis(60);
    const RTT: Duration = Duration::from_millis(50);

    fn delays(ns: i64) -> Delays {
        Delays { least_ns: ns, most_ns: ns, newest_ns: ns }
    }

    #[test]
    fn the_average_rises_slowly_and_falls_at_once() {
        let mut delay = QueueDelay::new(TARGET, false, false);
        delay.update(Instant::from_millis(100), delays(0), RTT);
        delay.update(Instant::from_millis(125), delays(8_000_000), RTT);
        assert_eq!(delay.average(), Duration::from_millis(2));
        delay.update(Instant::from_millis(126), delays(8_000_000), RTT);
        assert_eq!(delay.average(), Duration::from_millis(2), "at most once in 25 ms");
        delay.update(Instant::from_millis(150), delays(8_000_000), RTT);
        assert_eq!(delay.average(), Duration::from_micros(3500));
        delay.update(Instant::from_millis(175), delays(1_000_000), RTT);
        assert_eq!(delay.average(), Duration::from_millis(1));
    }

    #[test]
    fn the_reduction_begins_at_half_of_the_target() {
        for (ms, alpha) in [(10, 0.0), (30, 0.0), (45, 0.5), (60, 1.0), (90, 1.0)] {
            assert!((virtual_alpha(Duration::from_millis(ms), TARGET) - alpha).abs() < 1e-9, "{ms} ms");
        }
    }

    #[test]
    fn a_queue_that_never_drains_resets_the_base_delay() {
        let mut delay = QueueDelay::new(TARGET, false, true);
        delay.update(Instant::ZERO, delays(0), RTT);
        let mut reset = None;
        for step in 1..400 {
            let now = Instant::from_millis(50 * step);
            delay.update(now, delays(20_000_000), RTT);
            if delay.drains(now) {
                reset = Some(step);
                break;
            }
        }
        // 20 ms (1 - (255/256)^n) exceeds 15 ms for n > ln 4 / ln(256/255) = 354.2. The first round trip has no queue.
        assert_eq!(reset, Some(356));
        delay.update(Instant::from_millis(20_000), delays(20_000_000), RTT);
        assert_eq!(delay.latest(), Duration::ZERO);
    }

    #[test]
    fn a_varying_queue_delay_scales_the_growth_down() {
        let mut delay = QueueDelay::new(TARGET, true, false);
        for step in 0..400_i64 {
            let queue_ns = if step % 2 == 0 { 0 } else { 30_000_000 };
            delay.update(Instant::from_millis(25 * step as u64), delays(queue_ns), RTT);
        }
        assert!(delay.jitter_scale() < 0.1, "{}", delay.jitter_scale());
        for step in 400..800 {
            delay.update(Instant::from_millis(25 * step), delays(0), RTT);
        }
        assert!(delay.jitter_scale() > 0.95, "{}", delay.jitter_scale());
    }
}
