//! A histogram with a bounded relative error, for percentiles of delays.
//!
//! Log-linear: each power of two is cut into 128 equal buckets, as in HdrHistogram (Tene,
//! <https://hdrhistogram.org>). The width of a bucket is at most 1/128 of its lower edge, and its
//! middle is reported, so the error of a percentile is at most 1/256 (0.4 %) of its value. Counts
//! are integers: the same values give the same histogram in any order.

/// The number of buckets of each power of two, as a logarithm to base 2.
const PRECISION_BITS: u32 = 7;
const PRECISION: u64 = 1 << PRECISION_BITS;
/// The number of buckets that the search for a quantile takes together.
const GROUP: usize = 32;

/// Counts values of 64 bits.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// Grows to the bucket of the maximum; 2^37 ns (137 s) needs 4096 of them.
    buckets: Vec<u32>,
    count: u64,
    /// `u64::MAX` without values.
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: Vec::new(), count: 0, min: u64::MAX, max: 0 }
    }
}

impl Histogram {
    /// A histogram that does not grow while values are below `expected_max`.
    #[must_use]
    pub fn with_expected_max(expected_max: u64) -> Self {
        Self { buckets: Vec::with_capacity(bucket_of(expected_max) + 1), ..Self::default() }
    }

    /// Counts a value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.count += 1;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        match self.buckets.get_mut(bucket_of(value)) {
            Some(count) => *count += 1,
            None => self.grow(value),
        }
    }

    /// Adds the bucket of a value above all others.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, value: u64) {
        self.buckets.resize(bucket_of(value) + 1, 0);
        self.buckets[bucket_of(value)] = 1;
    }

    /// Counts all values of another histogram too.
    pub fn add(&mut self, other: &Self) {
        if other.buckets.len() > self.buckets.len() {
            self.buckets.resize(other.buckets.len(), 0);
        }
        for (count, more) in self.buckets.iter_mut().zip(&other.buckets) {
            *count += more;
        }
        self.count += other.count;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The exact maximum; `None` without values.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// The smallest value that at least `percent` % of all values do not exceed (the nearest-rank
    /// percentile), to 0.4 %. `None` without values.
    #[must_use]
    pub fn percentile(&self, percent: u32) -> Option<u64> {
        self.quantile(percent, 100)
    }

    /// The same for `parts` of `whole` of all values, such as 999 of 1000. `None` without values.
    #[must_use]
    pub fn quantile(&self, parts: u32, whole: u32) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        let rank = (self.count * u64::from(parts)).div_ceil(u64::from(whole)).max(1);
        if rank == self.count {
            return Some(self.max); // known exactly
        }
        // Groups of buckets are summed first: that takes vectors.
        let (mut first, mut seen) = (bucket_of(self.min), 0);
        let sum = |counts: &[u32]| counts.iter().map(|&count| u64::from(count)).sum::<u64>();
        for group in self.buckets[first..].chunks(GROUP) {
            let all = seen + sum(group);
            if all >= rank {
                break;
            }
            (first, seen) = (first + group.len(), all);
        }
        for (bucket, &count) in self.buckets.iter().enumerate().skip(first) {
            seen += u64::from(count);
            if seen >= rank {
                return Some(middle_of(bucket).clamp(self.min, self.max));
            }
        }
        Some(self.max)
    }

    /// The buckets that have values, from the lowest on: lower edge, upper edge (the first value above), count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + use<'_> {
        let counts = self.buckets.iter().enumerate().filter(|(_, count)| **count > 0);
        counts.map(|(bucket, &count)| {
            let (lower, width) = edge_of(bucket);
            (lower, lower.saturating_add(width), u64::from(count))
        })
    }
}

/// Values below 128 have a bucket each; above, the bucket is given by the exponent and the 7 bits
/// after the leading one.
fn bucket_of(value: u64) -> usize {
    if value < PRECISION {
        return value as usize;
    }
    let exponent = 63 - value.leading_zeros() - PRECISION_BITS;
    let mantissa = value >> exponent; // 128..256
    (u64::from(exponent) * PRECISION + mantissa) as usize
}

fn middle_of(bucket: usize) -> u64 {
    let (lower, width) = edge_of(bucket);
    lower + width / 2 // exact for a width of 1
}

/// The lower edge and the width of a bucket.
fn edge_of(bucket: usize) -> (u64, u64) {
    let bucket = bucket as u64;
    if bucket < 2 * PRECISION {
        return (bucket, 1);
    }
    let exponent = bucket / PRECISION - 1;
    let mantissa = bucket % PRECISION + PRECISION;
    (mantissa << exponent, 1 << exponent)
}

#[cfg(test)]
mod tests {
    use airlane_core::Seeds;

    use super::*;

    #[test]
    fn buckets_are_contiguous_and_narrow() {
        let mut last = 0;
        for value in (0..100_000_u64).chain((17..63).flat_map(|k| [(1 << k) - 1, 1 << k, (1 << k) + 1])) {
            let bucket = bucket_of(value);
            assert!(bucket >= last, "{value}");
            assert!(value > 100_000 || bucket - last <= 1, "{value}");
            last = bucket;
            let error = middle_of(bucket).abs_diff(value);
            assert!(error * 256 <= value, "{value} is shown as {}", middle_of(bucket));
        }
    }

    #[test]
    fn small_numbers_are_exact() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.percentile(50), None);
        (1..=100).rev().for_each(|value| histogram.record(value));
        // Nearest rank: the k-th percentile of 1..=100 is k.
        for percent in [1, 50, 95, 99, 100] {
            assert_eq!(histogram.percentile(percent), Some(u64::from(percent)));
        }
        assert_eq!((histogram.count(), histogram.max()), (100, Some(100)));
    }

    #[test]
    fn buckets_have_their_edges_and_all_values() {
        let mut histogram = Histogram::default();
        let values = [0, 5, 5, 127, 128, 300, 301, 70_000];
        values.iter().for_each(|&value| histogram.record(value));
        let buckets: Vec<_> = histogram.buckets().collect();
        // 300 and 301 share a bucket of width 2; that of 70,000 has the width 512: 2^16 / 128.
        assert_eq!(buckets[..2], [(0, 1, 1), (5, 6, 2)]);
        assert_eq!(buckets[4..], [(300, 302, 2), (69_632, 70_144, 1)]);
        assert_eq!(buckets.iter().map(|(.., count)| count).sum::<u64>(), values.len() as u64);
        for (lower, upper, _) in buckets {
            assert!(values.iter().any(|value| (lower..upper).contains(value)));
            assert!(lower + 1 == upper || bucket_of(lower) == bucket_of(upper - 1));
        }
    }

    #[test]
    fn a_quantile_may_be_finer_than_a_percentile() {
        let mut histogram = Histogram::default();
        (1..=10_000).for_each(|value| histogram.record(u64::from(value > 9_980) * 100));
        assert_eq!(
            [(99, 100), (998, 1_000), (999, 1_000)].map(|(p, of)| histogram.quantile(p, of)),
            [Some(0), Some(0), Some(100)]
        );
        assert_eq!(histogram.percentile(99), histogram.quantile(990, 1_000));
    }

    #[test]
    fn percentiles_are_those_of_the_sorted_values() {
        let mut stream = Seeds::new(5).stream("histogram");
        let mut histogram = Histogram::default();
        let mut values: Vec<u64> = (0..10_001).map(|_| 28_000_000 + stream.exponential(5e7) as u64).collect();
        values.iter().for_each(|&value| histogram.record(value));
        values.sort_unstable();
        for percent in [50, 95, 99] {
            let exact = values[(10_001 * percent as usize).div_ceil(100) - 1];
            let ours = histogram.percentile(percent).unwrap();
            assert!(ours.abs_diff(exact) as f64 <= exact as f64 / 256.0, "{ours} for {exact}");
        }
        assert_eq!(histogram.percentile(100).unwrap(), *values.last().unwrap());
    }
}
