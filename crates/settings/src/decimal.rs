//! Decimal numbers as written, so that "28 ms" is exactly 28,000,000 ns and a number is printed
//! unchanged.

use core::fmt;

/// `digits` times ten to the `exponent`, with a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    negative: bool,
    digits: u128,
    exponent: i32,
}

/// More digits than any quantity has; longer numbers are rejected.
const DIGITS_MAX: usize = 30;

impl Decimal {
    /// The shortest decimal that parses to the same `f64`; `None` for NaN and infinity.
    pub(crate) fn from_f64(x: f64) -> Option<Self> {
        if x.is_finite() { Self::parse(&format!("{x:e}")) } else { None }
    }

    /// Parses digits with an optional sign, point, exponent, and `_` between digits.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((m, e)) => (m, e.parse::<i32>().ok().filter(|e| e.abs() <= 400)?),
            None => (rest, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut digits = 0_u128;
        let mut count = 0;
        let mut shift = 0;
        for (i, c) in whole.chars().chain(fraction.chars()).enumerate() {
            if c == '_' && i != 0 {
                continue;
            }
            let digit = c.to_digit(10)?;
            digits = digits * 10 + u128::from(digit);
            count += usize::from(digits != 0);
            if count > DIGITS_MAX {
                return None;
            }
        }
        if !whole.chars().chain(fraction.chars()).any(|c| c.is_ascii_digit()) {
            return None;
        }
        shift += fraction.chars().filter(char::is_ascii_digit).count() as i32;
        Some(Self { negative: negative && digits != 0, digits, exponent: exponent - shift }.normal())
    }

    /// Removes zeros at the end of the digits.
    fn normal(mut self) -> Self {
        if self.digits == 0 {
            return Self { negative: false, digits: 0, exponent: 0 };
        }
        while self.digits.is_multiple_of(10) {
            self.digits /= 10;
            self.exponent += 1;
        }
        self
    }

    pub(crate) const fn is_negative(self) -> bool {
        self.negative
    }

    /// This number times a power of ten.
    pub(crate) const fn shifted(self, by: i32) -> Self {
        Self { exponent: self.exponent + by, ..self }
    }

    /// This number times `factor`, or `None` on overflow.
    pub(crate) fn times(self, factor: u64) -> Option<Self> {
        Some(Self { digits: self.digits.checked_mul(u128::from(factor))?, ..self }.normal())
    }

    /// This number as an integer; `None` if it has a fraction, is negative or too large.
    pub(crate) fn to_u64(self) -> Option<u64> {
        let this = self.normal();
        if this.negative || (this.digits != 0 && this.exponent < 0) {
            return None;
        }
        let scale = 10_u128.checked_pow(u32::try_from(this.exponent).ok()?)?;
        u64::try_from(this.digits.checked_mul(scale)?).ok()
    }

    /// The nearest `f64`.
    pub(crate) fn to_f64(self) -> f64 {
        let sign = if self.negative { "-" } else { "" };
        format!("{sign}{}e{}", self.digits, self.exponent)
            .parse()
            .expect("digits and an exponent are a number")
    }

    /// Digits before the point: 3 for 123.4, 1 for 0.5 (below one, fewer).
    pub(crate) fn magnitude(self) -> i32 {
        if self.digits == 0 { 1 } else { self.digits.ilog10() as i32 + 1 + self.exponent }
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.negative {
            f.write_str("-")?;
        }
        if self.exponent >= 0 {
            let zeros = if self.digits == 0 { 0 } else { self.exponent as usize };
            return write!(f, "{}{}", self.digits, "0".repeat(zeros));
        }
        let places = (-self.exponent) as usize;
        let digits = format!("{:0>width$}", self.digits, width = places + 1);
        let (whole, fraction) = digits.split_at(digits.len() - places);
        write!(f, "{whole}.{fraction}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Decimal {
        Decimal::parse(text).unwrap()
    }

    #[test]
    fn reads_what_people_write() {
        for (written, printed) in [
            ("28", "28"),
            ("-0.50", "-0.5"),
            ("1e3", "1000"),
            ("2.5E-3", "0.0025"),
            ("1_000", "1000"),
            ("0", "0"),
        ] {
            assert_eq!(of(written).to_string(), printed);
        }
        for bad in ["", "-", ".", "1.2.3", "abc", "1e", "nan", "inf", "_1", "0x10", "1e999"] {
            assert_eq!(Decimal::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn scaling_is_exact() {
        // 0.1 has no finite binary form; as a decimal, 0.1 s is exactly 100,000,000 ns.
        assert_eq!(of("0.1").shifted(9).to_u64(), Some(100_000_000));
        assert_eq!(of("0.0000000001").shifted(9).to_u64(), None);
        assert_eq!(of("1.5").times(1024).unwrap().to_u64(), Some(1536));
        assert_eq!(of("-1").to_u64(), None);
        assert_eq!(of("1e30").to_u64(), None);
    }

    #[test]
    fn floats_go_there_and_back() {
        for x in [0.1, 2.12e9, -174.0, 1.0 / 3.0, 5e-324, f64::MAX] {
            assert_eq!(Decimal::from_f64(x).map(Decimal::to_f64), Some(x), "{x}");
        }
        assert_eq!(Decimal::from_f64(f64::NAN), None);
    }

    #[test]
    fn magnitude_counts_digits_before_the_point() {
        assert_eq!(of("123.4").magnitude(), 3);
        assert_eq!(of("1").magnitude(), 1);
        assert_eq!(of("0.05").magnitude(), -1);
    }
}
