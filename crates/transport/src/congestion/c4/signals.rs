//! Congestion signals of C4: how sensitive a flow is to them, their thresholds, and the averages that are compared.

/// Rates of the sensitivity in bytes per second, and its value at the second, in 1/1024 (`c4_sensitivity_1024`).
const RATE_NONE: u64 = 50_000;
const RATE_MIDDLE: u64 = 1_000_000;
const RATE_FULL: u64 = 10_000_000;
const MIDDLE_1024: u64 = 963;
/// C4_DELAY_THRESHOLD_MAX in microseconds.
const DELAY_THRESHOLD_MAX_US: u64 = 25_000;
/// C4_ECN_SHIFT_G: the gain of the average of marks is 1/16.
const MARK_SHIFT: u64 = 4;
/// From this share on, in 1/1024, the average of marks takes a larger sample at once (`c4_update_ecn_alpha`).
const MARK_JUMP_1024: u64 = 512;

/// The product with a factor in 1/1024.
pub(super) const fn scaled(factor_1024: u64, value: u64) -> u64 {
    (factor_1024 * value) >> 10
}

/// How sensitive a flow with this rate is to congestion, in 1/1024: the more it sends, the more.
pub(super) const fn sensitivity_1024(rate: u64) -> u64 {
    if rate < RATE_NONE {
        0
    } else if rate > RATE_FULL {
        1024
    } else if rate < RATE_MIDDLE {
        (rate - RATE_NONE) * MIDDLE_1024 / (RATE_MIDDLE - RATE_NONE)
    } else {
        MIDDLE_1024 + (rate - RATE_MIDDLE) * (1024 - MIDDLE_1024) / (RATE_FULL - RATE_MIDDLE)
    }
}

/// The excess above the maximum round trip, in microseconds, that is a signal (`c4_delay_threshold`).
pub(super) fn delay_threshold_us(rate: u64, max_rtt_us: u64) -> u64 {
    let fraction = 64 + scaled(1024 - sensitivity_1024(rate), 196);
    scaled(fraction, max_rtt_us).min(DELAY_THRESHOLD_MAX_US)
}

/// The share of lost segments that is a signal (`c4_loss_threshold`).
pub(super) fn loss_threshold(rate: u64) -> f64 {
    0.02 + 0.5 * (1.0 - sensitivity_1024(rate) as f64 / 1024.0)
}

/// The share of marked segments, in 1/1024, that is a signal (`c4_ecn_threshold`).
pub(super) const fn mark_threshold_1024(rate: u64) -> u64 {
    192 - scaled(sensitivity_1024(rate), 96)
}

/// The average share of marked segments.
#[derive(Clone, Debug, Default)]
pub(super) struct MarkRate {
    share_1024: u64,
    marked: u64,
    unmarked: u64,
}

impl MarkRate {
    /// Delivered segments, and how many of them are reported as marked.
    pub(super) const fn count(&mut self, delivered: u64, marked: u64) {
        self.marked += marked;
        self.unmarked += delivered.saturating_sub(marked);
    }

    /// The average, with what was counted since the last call.
    pub(super) const fn update(&mut self) -> u64 {
        let all = self.marked + self.unmarked;
        if all == 0 {
            return self.share_1024;
        }
        let sample = self.marked * 1024 / all;
        (self.marked, self.unmarked) = (0, 0);
        self.share_1024 = if sample > self.share_1024 && sample >= MARK_JUMP_1024 {
            sample
        } else {
            ((self.share_1024 << MARK_SHIFT) - self.share_1024 + sample) >> MARK_SHIFT
        };
        self.share_1024
    }

    /// A new measurement begins.
    pub(super) const fn clear(&mut self) {
        self.share_1024 = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0 up to 50 kB/s, 963/1024 at 1 MB/s, 1 from 10 MB/s, linear between.
    #[test]
    fn sensitivity() {
        let at =
            [10_000, 50_000, 525_000, 1_000_000, 5_500_000, 10_000_000, 90_000_000].map(sensitivity_1024);
        assert_eq!(at, [0, 0, 481, 963, 993, 1024, 1024]);
    }

    /// At 1 MB/s a sixteenth and 61/1024 of 196/1024 of the round trip: 64 + 11 of 1024.
    #[test]
    fn thresholds() {
        assert_eq!(delay_threshold_us(1_000_000, 100_000), 100_000 * 75 / 1024);
        assert_eq!(delay_threshold_us(10_000_000, 100_000), 6_250);
        assert_eq!(delay_threshold_us(10_000, 100_000), 25_000); // 260/1024 is above the maximum
        assert!((loss_threshold(10_000_000) - 0.02).abs() < 1e-9);
        assert!((loss_threshold(10_000) - 0.52).abs() < 1e-9);
        assert_eq!([10_000, 10_000_000].map(mark_threshold_1024), [192, 96]);
    }

    #[test]
    fn many_marks_count_at_once() {
        let mut marks = MarkRate::default();
        marks.count(16, 4);
        assert_eq!(marks.update(), 256 >> 4);
        marks.count(10, 6);
        assert_eq!(marks.update(), 614);
        assert_eq!(marks.update(), 614);
    }
}
