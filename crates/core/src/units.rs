//! Quantities as types: bytes, bit rates, decibels, dBm.

use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Neg, Sub, SubAssign};

use crate::Duration;

/// A count of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitRate(pub u64);

/// A ratio of powers in dB.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Decibel(pub f64);

/// A power in dBm.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Dbm(pub f64);

impl Bytes {
    /// No bytes.
    pub const ZERO: Self = Self(0);
    /// The count as a number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
    /// `self - other`, or zero if that is negative.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl BitRate {
    /// The rate in bits per second.
    #[must_use]
    pub const fn bits_per_second(self) -> u64 {
        self.0
    }
    /// The time that `bytes` take at this rate, rounded to the nanosecond; [`Duration::MAX`] for a
    /// rate of zero.
    #[must_use]
    pub fn transmission_time(self, bytes: Bytes) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        // In 64 bits where they suffice (up to 2 GB): this is called for each packet on each link.
        let half = self.0 / 2;
        if let Some(numerator) =
            bytes.0.checked_mul(8_000_000_000).and_then(|bit_ns| bit_ns.checked_add(half))
        {
            return Duration::from_nanos(numerator / self.0);
        }
        let bit_ns = u128::from(bytes.0) * 8_000_000_000;
        Duration::from_nanos(((bit_ns + u128::from(half)) / u128::from(self.0)) as u64)
    }
    /// The bytes that fit into `span`, rounded down.
    #[must_use]
    pub fn bytes_in(self, span: Duration) -> Bytes {
        Bytes((u128::from(self.0) * u128::from(span.as_nanos()) / 8_000_000_000) as u64)
    }
}

impl Decibel {
    /// The ratio as a linear factor.
    #[must_use]
    pub fn linear(self) -> f64 {
        libm::pow(10.0, self.0 / 10.0)
    }
    /// [`Self::linear`] rounded to single precision, to the bit: most values need no power with all digits of a double.
    #[must_use]
    pub fn linear_f32(self) -> f32 {
        // An error of the series, and of `pow`, is far below this share.
        const MARGIN: f64 = 1.0 / (1_u64 << 40) as f64;
        let near = power_of_ten(self.0 / 10.0);
        let [low, high] = [near * (1.0 - MARGIN), near * (1.0 + MARGIN)].map(|x| x as f32);
        if low == high { low } else { self.linear() as f32 }
    }
    /// The decibels of a linear factor; zero gives minus infinity.
    #[must_use]
    pub fn from_linear(x: f64) -> Self {
        Self(10.0 * libm::log10(x))
    }
}

/// 10^x with a relative error below 1e-13; not a number beyond the range of [`f32`].
fn power_of_ten(x: f64) -> f64 {
    /// 1.5 · 2^52: adding it to a small number rounds that number to an integer.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    /// The coefficients of Taylor's series of e^x up to the 13th power, 1/n!.
    const SERIES: [f64; 14] = {
        let (mut of, mut n) = ([1.0; 14], 1);
        while n < 14 {
            of[n] = of[n - 1] / n as f64;
            n += 1;
        }
        of
    };
    if !(-37.0..38.0).contains(&x) {
        return f64::NAN;
    }
    // Of at most 127 twos the product and the constant are exact to 1e-14.
    let exponent = x * core::f64::consts::LOG2_10;
    let twos = (exponent + ROUND) - ROUND;
    let rest = (exponent - twos) * core::f64::consts::LN_2;
    // The remainder is below (ln 2 / 2)^14 / 14! = 5e-18.
    let series = SERIES.iter().rev().fold(0.0, |sum, coefficient| sum * rest + coefficient);
    series * f64::from_bits(((twos as i64 + 1023) as u64) << 52)
}

impl Dbm {
    /// The power in watts.
    #[must_use]
    pub fn watts(self) -> f64 {
        libm::pow(10.0, (self.0 - 30.0) / 10.0)
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, o: Self) -> Self {
        Self(self.0 + o.0)
    }
}
impl AddAssign for Bytes {
    fn add_assign(&mut self, o: Self) {
        self.0 += o.0;
    }
}
impl Sub for Bytes {
    type Output = Self;
    fn sub(self, o: Self) -> Self {
        Self(self.0 - o.0)
    }
}
impl SubAssign for Bytes {
    fn sub_assign(&mut self, o: Self) {
        self.0 -= o.0;
    }
}
impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}
impl Add for Decibel {
    type Output = Self;
    fn add(self, o: Self) -> Self {
        Self(self.0 + o.0)
    }
}
impl Sub for Decibel {
    type Output = Self;
    fn sub(self, o: Self) -> Self {
        Self(self.0 - o.0)
    }
}
impl Neg for Decibel {
    type Output = Self;
    fn neg(self) -> Self {
        Self(-self.0)
    }
}
impl Add<Decibel> for Dbm {
    type Output = Self;
    fn add(self, gain: Decibel) -> Self {
        Self(self.0 + gain.0)
    }
}
impl Sub<Decibel> for Dbm {
    type Output = Self;
    fn sub(self, loss: Decibel) -> Self {
        Self(self.0 - loss.0)
    }
}
impl Sub for Dbm {
    type Output = Decibel;
    fn sub(self, o: Self) -> Decibel {
        Decibel(self.0 - o.0)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", self.0)
    }
}
impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bit/s", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_in_single_precision_is_that_in_double_precision_rounded() {
        let same = |db: f64| {
            let (fast, exact) = (Decibel(db).linear_f32(), Decibel(db).linear() as f32);
            assert!(
                fast.to_bits() == exact.to_bits() || (fast.is_nan() && exact.is_nan()),
                "{db}: {fast} {exact}"
            );
        };
        for k in -500_000..500_000_i32 {
            same(f64::from(k) * 1e-3);
            same(f64::from(k) * 9.876_543_21e-4);
            // Factors in the middle of two neighbours in single precision.
            let middle = 1.0 + (f64::from(k) + 0.5) * f64::from(f32::EPSILON);
            same(Decibel::from_linear(middle).0);
        }
        [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 370.0, 380.0, -370.0, 1e9]
            .into_iter()
            .for_each(same);
    }

    #[test]
    fn powers_of_ten_are_near() {
        for k in -37_000..38_000_i32 {
            let x = f64::from(k) * 1e-3;
            assert!((power_of_ten(x) / libm::pow(10.0, x) - 1.0).abs() < 1e-13, "{x}");
        }
    }

    #[test]
    fn a_full_packet_at_ten_megabit_takes_1_2_ms() {
        let t = BitRate(10_000_000).transmission_time(Bytes(1500));
        assert_eq!(t, Duration::from_micros(1200));
        assert_eq!(BitRate(10_000_000).bytes_in(t), Bytes(1500));
        assert_eq!(BitRate(0).transmission_time(Bytes(1)), Duration::MAX);
        // 8e13 bits at 8e12 bit/s, more bit-nanoseconds than 64 bits can represent.
        assert_eq!(
            BitRate(8_000_000_000_000).transmission_time(Bytes(10_000_000_000_000)),
            Duration::from_secs(10)
        );
    }

    #[test]
    fn decibels_and_factors_are_inverse() {
        assert!((Decibel(3.0).linear() - 1.995_262_3).abs() < 1e-6);
        assert!((Decibel::from_linear(100.0).0 - 20.0).abs() < 1e-12);
        assert!((Dbm(30.0).watts() - 1.0).abs() < 1e-12);
    }
}
