//! Averages and ratios of spans.

use airlane_core::Duration;

/// The exponentially weighted moving average: `average` moved towards `sample` by the part `gain` of the distance.
#[must_use]
pub(crate) fn ewma(average: Duration, sample: Duration, gain: f64) -> Duration {
    let moved = |span: Duration| (span.as_nanos() as f64 * gain + 0.5) as u64;
    if sample >= average {
        average + Duration::from_nanos(moved(sample - average))
    } else {
        average - Duration::from_nanos(moved(average - sample))
    }
}

/// `a / b`; `b` counts as at least 1 ns.
#[must_use]
pub(crate) fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_nanos() as f64 / b.as_nanos().max(1) as f64
}

/// `span` times `factor`, rounded to the nanosecond.
#[must_use]
pub(crate) fn times(span: Duration, factor: f64) -> Duration {
    Duration::from_nanos((span.as_nanos() as f64 * factor + 0.5) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_average_moves_by_its_gain_in_both_directions() {
        let (ten, two) = (Duration::from_millis(10), Duration::from_millis(2));
        assert_eq!(ewma(two, ten, 0.25), Duration::from_millis(4));
        assert_eq!(ewma(ten, two, 0.25), Duration::from_millis(8));
        assert_eq!(times(two, 1.5), Duration::from_millis(3));
        assert!((ratio(two, ten) - 0.2).abs() < 1e-12);
    }
}
