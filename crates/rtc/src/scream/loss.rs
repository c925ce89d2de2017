//! When a loss is congestion.

use airlane_core::{Duration, Instant};

use super::settings::VIRTUAL_RTT;

/// `LOSS_RATE_THRESHOLD`. Draft, "Link layer losses and rate policers".
const THRESHOLD: f64 = 0.01;
/// `LOSS_RATE_THRESHOLD_POLICER`, likewise.
const POLICER_THRESHOLD: f64 = 0.1;
/// `BETA_LOSS_POLICER`, likewise.
const POLICER_BETA: f64 = 0.9;
/// How much the bound of a policer rises in a round trip, likewise.
const POLICER_RISE: f64 = 0.001;

/// The average loss rate of the draft ("Link layer losses and rate policers"), and the window above which a rate policer
/// drops.
#[derive(Clone, Debug)]
pub(super) struct LossRate {
    average: f64,
    bound: f64,
    raised_at: Instant,
}

impl LossRate {
    pub(super) const fn new() -> Self {
        Self { average: 0.0, bound: f64::INFINITY, raised_at: Instant::ZERO }
    }

    /// Packets that arrived or were lost; `mss_part` is the MSS divided by the reference window.
    pub(super) fn update(&mut self, arrived: u64, lost: u64, mss_part: f64) {
        let gain = (THRESHOLD / 4.0).min(mss_part / 2.0);
        for _ in 0..arrived {
            self.average *= 1.0 - gain;
        }
        for _ in 0..lost {
            self.average = (1.0 - gain) * self.average + gain;
        }
    }

    /// True if a loss reduces the window: the rate is high, or there is a queue.
    pub(super) fn is_congestion(&self, queue_delay: Duration, target: Duration) -> bool {
        self.average > THRESHOLD || queue_delay > target / 4
    }

    /// Bounds the window if losses without a queue show a policer.
    pub(super) fn detect_policer(&mut self, window: f64, queue_delay: Duration, target: Duration) {
        if self.average > POLICER_THRESHOLD && queue_delay < target / 4 {
            self.bound = window * POLICER_BETA;
        }
    }

    /// `max_policed_ref_wnd`, which rises in each round trip.
    pub(super) fn bound(&mut self, now: Instant, smoothed_rtt: Duration) -> f64 {
        if now.saturating_since(self.raised_at) >= smoothed_rtt {
            self.raised_at = now;
            self.bound *= 1.0 + POLICER_RISE;
        }
        self.bound
    }
}

/// Round trips with loss before libwebrtc reduces the window (`RttsWithLossBeforeBackoff`).
const LOSSY_RTTS: f64 = 3.0;
/// Round trips without loss after which it forgets (`LosslessRttsBeforeClear`).
const LOSSLESS_RTTS: f64 = 2.0;
/// The level of congestion; libwebrtc compares with 0.99 for the sum of three thirds (`loss_estimator.h`).
const CONGESTED: f64 = 0.99;
/// The level up to which the window may grow (`scream_v2.cc`, `UpdateRefWindow`).
const CLEAR: f64 = 0.01;

/// libwebrtc's level of congestion by loss, from 0 to 1 (`loss_estimator.cc`).
#[derive(Clone, Debug, Default)]
pub(super) struct LossLevel {
    level: f64,
    unrecovered: u64,
    changed_at: Option<Instant>,
    counted_at: Option<Instant>,
    lossy: bool,
}

impl LossLevel {
    /// Packets that are lost, and lost packets that arrived after all.
    pub(super) fn update(&mut self, now: Instant, lost: u64, recovered: u64, smoothed_rtt: Duration) {
        let round = smoothed_rtt.max(VIRTUAL_RTT);
        if self.changed_at.is_none_or(|at| now.saturating_since(at) > round) {
            self.unrecovered = 0;
        }
        if lost > 0 || recovered > 0 {
            self.changed_at = Some(now);
        }
        if recovered > 0 {
            self.unrecovered = self.unrecovered.saturating_sub(recovered);
            if self.unrecovered == 0 {
                (self.level, self.lossy) = (0.0, false);
            }
        }
        if lost > 0 {
            self.unrecovered += lost;
            self.lossy = true;
        }
        if self.counted_at.is_none_or(|at| now.saturating_since(at) >= round) {
            self.counted_at = Some(now);
            self.level = if self.lossy {
                (self.level + 1.0 / LOSSY_RTTS).min(1.0)
            } else {
                (self.level - 1.0 / LOSSLESS_RTTS).max(0.0)
            };
            self.lossy = false;
        }
    }

    /// True if a loss reduces the window.
    pub(super) fn congested(&self) -> bool {
        self.level >= CONGESTED
    }

    /// True if the window may grow.
    pub(super) fn clear(&self) -> bool {
        self.level < CLEAR
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: Duration = Duration::from_millis(60);

    #[test]
    fn one_loss_in_a_hundred_packets_is_tolerated_and_two_are_not() {
        for (each, congestion) in [(200, false), (50, true)] {
            let mut rate = LossRate::new();
            for _ in 0..40 {
                rate.update(each, 1, 0.1);
            }
            assert_eq!(rate.is_congestion(Duration::ZERO, TARGET), congestion, "1 in {each}");
            assert!(rate.is_congestion(Duration::from_millis(16), TARGET), "with a queue");
        }
    }

    #[test]
    fn a_policer_bounds_the_window_and_the_bound_rises() {
        let mut rate = LossRate::new();
        let rtt = Duration::from_millis(50);
        rate.detect_policer(10_000.0, Duration::ZERO, TARGET);
        assert!(rate.bound(Instant::from_millis(50), rtt).is_infinite());
        rate.update(0, 1000, 0.1);
        rate.detect_policer(10_000.0, Duration::ZERO, TARGET);
        assert!((rate.bound(Instant::from_millis(60), rtt) - 9000.0).abs() < 1e-6);
        assert!((rate.bound(Instant::from_millis(100), rtt) - 9009.0).abs() < 1e-6);
    }

    #[test]
    fn libwebrtc_reacts_to_loss_in_three_round_trips() {
        let mut level = LossLevel::default();
        let rtt = Duration::from_millis(50);
        for round in 0..3 {
            assert!(!level.congested());
            level.update(Instant::from_millis(50 * round), 1, 0, rtt);
        }
        assert!(level.congested() && !level.clear());
        level.update(Instant::from_millis(150), 0, 0, rtt);
        assert!(!level.clear(), "one round trip without loss is not enough");
        level.update(Instant::from_millis(200), 0, 0, rtt);
        assert!(level.clear());
    }

    #[test]
    fn libwebrtc_forgets_losses_that_were_reordering() {
        let mut level = LossLevel::default();
        let rtt = Duration::from_millis(50);
        for round in 0..3 {
            level.update(Instant::from_millis(50 * round), 2, 0, rtt);
        }
        level.update(Instant::from_millis(110), 0, 6, rtt);
        assert!(level.clear());
    }
}
