//! Arithmetic with rates. Products with a factor are rounded and quotients truncated to a bit per second, as libwebrtc does
//! (`rtc_base/units/unit_base.h` and `api/units/data_rate.h` of f3ae3eb).

use airlane_core::{BitRate, Bytes, Duration, Instant};

/// A limit that limits nothing.
pub(super) const UNLIMITED: BitRate = BitRate(u64::MAX);

pub(super) fn scaled(rate: BitRate, factor: f64) -> BitRate {
    BitRate((rate.0 as f64 * factor).round() as u64)
}

/// The rate of a number of bytes in a time, which must not be zero.
pub(super) fn over(bytes: Bytes, span: Duration) -> BitRate {
    BitRate((u128::from(bytes.0) * 8_000_000_000 / u128::from(span.as_nanos())) as u64)
}

/// The bytes in a time, rounded.
pub(super) fn during(rate: BitRate, span: Duration) -> Bytes {
    let bit_ns = u128::from(rate.0) * u128::from(span.as_nanos());
    Bytes(((bit_ns + 4_000_000_000) / 8_000_000_000) as u64)
}

/// The rate in whole kbit/s, rounded.
pub(super) fn kilobits(rate: BitRate) -> f64 {
    ((rate.0 + 500) / 1_000) as f64
}

/// `later - earlier` in nanoseconds, which may be negative.
pub(super) fn signed_nanos(later: Instant, earlier: Instant) -> i64 {
    later.as_nanos() as i64 - earlier.as_nanos() as i64
}

/// A time in whole milliseconds, rounded.
pub(super) fn whole_millis(at: Instant) -> i64 {
    ((at.as_nanos() + 500_000) / 1_000_000) as i64
}
