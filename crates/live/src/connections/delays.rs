//! A small histogram of durations: 16 buckets for each power of two, from 1 µs to 137 s, so that a percentile has an
//! error of at most 1/32 (3 %). Mean and extremes are exact.

use airlane_core::Duration;

/// Buckets of a power of two, as a logarithm to base 2.
const BITS: u32 = 4;
/// The unit of the first buckets is 2^10 ns.
const UNIT_BITS: u32 = 10;
/// The largest power of two.
const MAX_BITS: u32 = 37;
const BUCKETS: usize = ((MAX_BITS - UNIT_BITS - BITS + 1) << BITS) as usize;

/// Counts durations.
#[derive(Clone, Debug)]
pub(super) struct Delays {
    /// Allocated with the first value: most rows of short connections have few.
    buckets: Option<Box<[u32; BUCKETS]>>,
    count: u64,
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
}

impl Default for Delays {
    fn default() -> Self {
        Self { buckets: None, count: 0, sum_ns: 0, min_ns: u64::MAX, max_ns: 0 }
    }
}

impl Delays {
    #[inline]
    pub(super) fn record(&mut self, delay: Duration) {
        let ns = delay.as_nanos();
        let buckets = self.buckets.get_or_insert_with(|| Box::new([0; BUCKETS]));
        buckets[bucket_of(ns)] += 1;
        self.count += 1;
        self.sum_ns += ns;
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    /// The mean in ms; `NaN` without values, as for the others.
    pub(super) fn mean_ms(&self) -> f64 {
        if self.count == 0 { f64::NAN } else { self.sum_ns as f64 / self.count as f64 / 1e6 }
    }

    pub(super) fn min_ms(&self) -> f64 {
        self.existing_ms(self.min_ns)
    }

    pub(super) fn max_ms(&self) -> f64 {
        self.existing_ms(self.max_ns)
    }

    fn existing_ms(&self, ns: u64) -> f64 {
        if self.count == 0 { f64::NAN } else { ns as f64 / 1e6 }
    }

    /// The nearest-rank percentile in ms.
    pub(super) fn percentile_ms(&self, percent: u64) -> f64 {
        let Some(buckets) = &self.buckets else { return f64::NAN };
        let rank = (self.count * percent).div_ceil(100).max(1);
        if rank == self.count {
            return self.max_ms(); // known exactly
        }
        let mut seen = 0;
        for (bucket, &count) in buckets.iter().enumerate() {
            seen += u64::from(count);
            if seen >= rank {
                return self.existing_ms(middle_of(bucket).clamp(self.min_ns, self.max_ns));
            }
        }
        self.max_ms()
    }
}

fn bucket_of(ns: u64) -> usize {
    let units = (ns >> UNIT_BITS).min((1 << (MAX_BITS - UNIT_BITS)) - 1);
    if units < 1 << BITS {
        return units as usize;
    }
    let exponent = 63 - units.leading_zeros() - BITS;
    ((u64::from(exponent) << BITS) + (units >> exponent)) as usize
}

fn middle_of(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let (lower, width) = if bucket < 2 << BITS {
        (bucket, 1)
    } else {
        let exponent = (bucket >> BITS) - 1;
        (((bucket & ((1 << BITS) - 1)) + (1 << BITS)) << exponent, 1 << exponent)
    };
    (lower << UNIT_BITS) + (width << UNIT_BITS) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_within_three_percent() {
        let mut delays = Delays::default();
        assert!(delays.mean_ms().is_nan() && delays.percentile_ms(50).is_nan() && delays.max_ms().is_nan());
        (1..=1_000).for_each(|ms| delays.record(Duration::from_millis(ms)));
        assert_eq!((delays.count(), delays.mean_ms()), (1_000, 500.5));
        assert_eq!((delays.min_ms(), delays.max_ms()), (1.0, 1_000.0));
        for percent in [1, 50, 95, 99] {
            let exact = 10.0 * percent as f64;
            let got = delays.percentile_ms(percent);
            assert!((got - exact).abs() <= exact / 32.0 + 1.0, "{got} for {exact}");
        }
        assert_eq!(delays.percentile_ms(100), 1_000.0);
    }

    #[test]
    fn all_durations_have_a_bucket() {
        let mut last = 0;
        for ns in (0..200_000).chain((18..64).flat_map(|bits| [(1 << bits) - 1, 1 << bits])) {
            let bucket = bucket_of(ns);
            assert!(bucket >= last && bucket < BUCKETS, "{ns}");
            last = bucket;
            if (1 << 14..1 << MAX_BITS).contains(&ns) {
                assert!(middle_of(bucket).abs_diff(ns) * 32 <= ns, "{ns} is {}", middle_of(bucket));
            }
        }
        assert_eq!(last, BUCKETS - 1);
    }
}
