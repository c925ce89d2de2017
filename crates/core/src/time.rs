//! Virtual time in nanoseconds. An [`Instant`] is a point since the start of the run, a
//! [`Duration`] a span; they are different types and cannot be confused.

use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Rem, Sub, SubAssign};

/// A point in time: nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

/// A span of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Instant {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than anything that happens.
    pub const FAR_FUTURE: Self = Self(u64::MAX);

    /// The point `ns` nanoseconds after the start.
    #[must_use]
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }
    /// The point `ms` milliseconds after the start.
    #[must_use]
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }
    /// Nanoseconds since the start.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Seconds since the start, for printing and physics only.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// The span since `earlier`; zero if `earlier` is later than this point.
    #[must_use]
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
    /// This point moved by `d`, limited to [`Instant::FAR_FUTURE`].
    #[must_use]
    pub const fn saturating_add(self, d: Duration) -> Self {
        Self(self.0.saturating_add(d.0))
    }
}

impl Duration {
    /// A span of 0 ns.
    pub const ZERO: Self = Self(0);
    /// Longer than any run.
    pub const MAX: Self = Self(u64::MAX);

    /// A span of `ns` nanoseconds.
    #[must_use]
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }
    /// A span of `us` microseconds.
    #[must_use]
    pub const fn from_micros(us: u64) -> Self {
        Self(us * 1_000)
    }
    /// A span of `ms` milliseconds.
    #[must_use]
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }
    /// A span of `s` seconds.
    #[must_use]
    pub const fn from_secs(s: u64) -> Self {
        Self(s * 1_000_000_000)
    }
    /// A span of `s` seconds rounded to the nanosecond; negative and NaN give zero.
    #[must_use]
    pub fn from_secs_f64(s: f64) -> Self {
        Self((s * 1e9 + 0.5) as u64)
    }
    /// The span in nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Whole microseconds, rounded down.
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }
    /// Whole milliseconds, rounded down.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }
    /// Seconds, for printing and physics only.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// Milliseconds, for printing only.
    #[must_use]
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// `self - other`, or zero if that is negative.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
    /// The absolute difference between the two.
    #[must_use]
    pub const fn abs_diff(self, other: Self) -> Self {
        Self(self.0.abs_diff(other.0))
    }
    /// True for a span of 0 ns.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

/// A difference that must not be negative: it fails in every build. [`Instant::saturating_since`] and
/// [`Duration::saturating_sub`] are for those that may be. A sum can only leave the range with
/// [`Instant::FAR_FUTURE`] or [`Duration::MAX`], for which [`Instant::saturating_add`] exists; sums are
/// checked in builds with debug assertions.
#[inline(always)]
const fn difference(a: u64, b: u64) -> u64 {
    match a.checked_sub(b) {
        Some(difference) => difference,
        None => time_went_back(),
    }
}

#[cold]
#[inline(never)]
const fn time_went_back() -> ! {
    panic!("time went back: a span or an instant before zero")
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, d: Duration) -> Self {
        Self(self.0 + d.0)
    }
}
impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}
impl Sub<Duration> for Instant {
    type Output = Self;
    fn sub(self, d: Duration) -> Self {
        Self(difference(self.0, d.0))
    }
}
impl Sub for Instant {
    type Output = Duration;
    fn sub(self, earlier: Self) -> Duration {
        Duration(difference(self.0, earlier.0))
    }
}
impl Add for Duration {
    type Output = Self;
    fn add(self, d: Self) -> Self {
        Self(self.0 + d.0)
    }
}
impl AddAssign for Duration {
    fn add_assign(&mut self, d: Self) {
        *self = *self + d;
    }
}
impl Sub for Duration {
    type Output = Self;
    fn sub(self, d: Self) -> Self {
        Self(difference(self.0, d.0))
    }
}
impl SubAssign for Duration {
    fn sub_assign(&mut self, d: Self) {
        *self = *self - d;
    }
}
impl Mul<u64> for Duration {
    type Output = Self;
    fn mul(self, k: u64) -> Self {
        Self(self.0 * k)
    }
}
impl Div<u64> for Duration {
    type Output = Self;
    fn div(self, k: u64) -> Self {
        Self(self.0 / k)
    }
}
impl Rem<Duration> for Instant {
    type Output = Duration;
    fn rem(self, d: Duration) -> Duration {
        Duration(self.0 % d.0)
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09} s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms", self.as_millis_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_and_a_span_add_up() {
        let t = Instant::from_millis(5) + Duration::from_micros(250);
        assert_eq!(t.as_nanos(), 5_250_000);
        assert_eq!(t - Instant::from_millis(5), Duration::from_micros(250));
        assert_eq!(Instant::ZERO.saturating_since(t), Duration::ZERO);
    }

    #[test]
    #[should_panic(expected = "time went back")]
    fn an_earlier_time_minus_a_later_one_fails_in_every_build() {
        let _ = Instant::from_millis(4) - Instant::from_nanos(4_000_001);
    }

    #[test]
    fn seconds_round_to_the_nanosecond() {
        assert_eq!(Duration::from_secs_f64(0.1).as_nanos(), 100_000_000);
        assert_eq!(Duration::from_secs_f64(-1.0), Duration::ZERO);
        assert_eq!(Duration::from_secs_f64(f64::NAN), Duration::ZERO);
    }
}
