//! Token buckets: of logical channel prioritization, of guaranteed rates and of rate limits.

use airlane_core::{BitRate, Bytes, Duration, Instant};

/// A token bucket, in bits times nanoseconds per second. As the variable Bj of a logical channel, it may be negative
/// (TS 36.321 v17.0 §5.4.3.1).
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    rate: BitRate,
    most: i128,
    level: i128,
    filled: Instant,
}

/// A byte in the unit of a bucket.
const BYTE: i128 = 8_000_000_000;

/// The bytes of a rate in a time, rounded down.
pub(super) const fn bytes_in(rate: BitRate, time: Duration) -> Bytes {
    Bytes((rate.0 as u128 * time.as_nanos() as u128 / BYTE as u128) as u64)
}

impl Bucket {
    /// An empty bucket that holds the bytes of this duration.
    pub(super) const fn new(rate: BitRate, duration: Duration, now: Instant) -> Self {
        let most = rate.0 as i128 * duration.as_nanos() as i128;
        Self { rate, most, level: 0, filled: now }
    }

    /// A full bucket.
    pub(super) const fn full(rate: BitRate, size: Bytes, now: Instant) -> Self {
        let most = size.get() as i128 * BYTE;
        Self { rate, most, level: most, filled: now }
    }

    /// The bytes in it now.
    pub(super) fn fill(&mut self, now: Instant) -> u64 {
        let more = i128::from(self.rate.0) * i128::from((now - self.filled).as_nanos());
        self.filled = now;
        self.level = self.most.min(self.level + more);
        u64::try_from(self.level / BYTE).unwrap_or(0)
    }

    pub(super) const fn take(&mut self, bytes: u64) {
        self.level -= bytes as i128 * BYTE;
    }

    /// Takes a packet if there are tokens for all of it.
    pub(super) fn admits(&mut self, now: Instant, packet: Bytes) -> bool {
        let admitted = self.fill(now) >= packet.get();
        if admitted {
            self.take(packet.get());
        }
        admitted
    }

    /// Adds to the rate and the size of a bucket of a guaranteed rate.
    pub(super) fn widen(&mut self, rate: BitRate, size: Bytes, now: Instant) {
        let _ = self.fill(now);
        let more = size.get() as i128 * BYTE;
        self.rate = BitRate(self.rate.0 + rate.0);
        (self.most, self.level) = (self.most + more, self.level + more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_admits_its_rate() {
        // 8 Mbit/s are 1000 bytes in a millisecond. The bucket has two packets of them at first.
        let start = Instant::ZERO;
        let mut limit = Bucket::full(BitRate(8_000_000), Bytes(2_000), start);
        let at = |us| start + Duration::from_micros(us);
        assert_eq!(
            [0, 0, 0, 999, 1000].map(|us| limit.admits(at(us), Bytes(1_000))),
            [true, true, false, false, true]
        );
        // It is full again after 2 ms, and not more than full after 10.
        let packets = (0..5).filter(|_| limit.admits(at(11_000), Bytes(1_000))).count();
        assert_eq!(packets, 2);
    }

    #[test]
    fn a_wider_bucket_has_the_sum() {
        let mut bucket = Bucket::full(BitRate(8_000_000), Bytes(100), Instant::ZERO);
        bucket.take(100);
        bucket.widen(BitRate(8_000_000), Bytes(50), Instant::ZERO);
        assert_eq!(bucket.fill(Instant::ZERO), 50);
        // 16 Mbit/s for 10 us: 20 bytes; then up to 150.
        assert_eq!(bucket.fill(Instant::ZERO + Duration::from_micros(10)), 70);
        assert_eq!(bucket.fill(Instant::ZERO + Duration::from_millis(10)), 150);
    }
}
