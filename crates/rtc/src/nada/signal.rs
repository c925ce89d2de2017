//! The aggregate congestion signal. RFC 8698 section 4.2.

use airlane_core::Duration;

use super::loss_interval::LossIntervals;
use crate::smooth::{ewma, ratio, times};

/// `QTH`. RFC 8698 section 4.1.
const WARP_FROM: Duration = Duration::from_millis(50);
/// `LAMBDA`. Section 4.1.
const WARP_EXPONENT: f64 = 0.5;
/// `MULTILOSS`. Section 4.1.
const MULTILOSS: f64 = 7.0;
/// `PLRREF` and `DLOSS`. Section 4.1.
const LOSS_REFERENCE: f64 = 0.01;
const LOSS_PENALTY: Duration = Duration::from_millis(10);
/// `PMRREF` and `DMARK`. Section 4.1.
const MARK_REFERENCE: f64 = 0.01;
const MARK_PENALTY: Duration = Duration::from_millis(2);
/// The largest signal: 15 bits of 0.1 ms. Section 5.3.
const LARGEST: Duration = Duration::from_micros(3_276_700);

/// `d_tilde` (equation 1): a queue delay above 50 ms counts for less, the longer it is.
pub(super) fn warped(queue_delay: Duration) -> Duration {
    if queue_delay < WARP_FROM {
        return queue_delay;
    }
    let above = ratio(queue_delay - WARP_FROM, WARP_FROM);
    times(WARP_FROM, libm::exp(-WARP_EXPONENT * above))
}

/// The queue delay as it counts: warped for seven average intervals after a loss, because the queue is then one of flows
/// that react to loss alone, and over one more interval less and less so.
pub(super) fn effective_delay(queue_delay: Duration, intervals: &LossIntervals) -> Duration {
    let Some((since, average)) = intervals.since_and_average() else { return queue_delay };
    let after = (since - MULTILOSS * average) / average.max(1.0);
    ewma(warped(queue_delay), queue_delay, after.clamp(0.0, 1.0))
}

/// `x_curr` (equation 2) from the delay as it counts and the ratios of marking and loss.
pub(super) fn aggregate(delay: Duration, mark_ratio: f64, loss_ratio: f64) -> Duration {
    let squared = |ratio: f64, reference: f64| (ratio / reference) * (ratio / reference);
    let marks = times(MARK_PENALTY, squared(mark_ratio, MARK_REFERENCE));
    let losses = times(LOSS_PENALTY, squared(loss_ratio, LOSS_REFERENCE));
    (delay + marks + losses).min(LARGEST)
}

#[cfg(test)]
mod tests {
    use airlane_core::Instant;

    use super::super::tests::figure;
    use super::*;

    fn assert_ms(value: Duration, figure: f64) {
        assert!((value.as_millis_f64() - figure).abs() <= 0.01 * figure, "{value}, not {figure} ms");
    }

    #[test]
    fn long_delays_are_warped() {
        for ms in [50, 75, 100, 150, 200, 300] {
            assert_ms(warped(Duration::from_millis(ms)), figure(&format!("warp {ms}")));
        }
        assert_eq!(warped(Duration::from_millis(49)), Duration::from_millis(49));
    }

    #[test]
    fn losses_and_marks_have_penalties() {
        for ratio in [0.001, 0.01, 0.05] {
            assert_ms(aggregate(Duration::ZERO, 0.0, ratio), figure(&format!("loss penalty {ratio}")));
        }
        for ratio in [0.01, 0.05] {
            assert_ms(aggregate(Duration::ZERO, ratio, 0.0), figure(&format!("mark penalty {ratio}")));
        }
        assert_eq!(aggregate(Duration::ZERO, 1.0, 1.0), LARGEST);
    }

    #[test]
    fn the_warping_ends_between_seven_and_eight_intervals_after_a_loss() {
        let delay = Duration::from_millis(100);
        let mut intervals = LossIntervals::default();
        assert_eq!(effective_delay(delay, &intervals), delay, "no loss so far");
        for event in 1..=20 {
            for _ in 0..99 {
                intervals.arrived();
            }
            intervals.lost(Instant::from_millis(1000 * event), Duration::from_millis(50));
        }
        assert_eq!(effective_delay(delay, &intervals), warped(delay));
        let mut after = |packets: u64| {
            for _ in 0..packets {
                intervals.arrived();
            }
            effective_delay(delay, &intervals)
        };
        // The lost packet is the first of the 700.
        assert_eq!(after(699), warped(delay));
        let half = after(50).as_millis_f64();
        assert!((half - (100.0 + warped(delay).as_millis_f64()) / 2.0).abs() < 1e-3, "{half}");
        assert_eq!(after(50), delay);
    }
}
