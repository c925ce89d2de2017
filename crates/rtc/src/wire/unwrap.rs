//! Sequence numbers that wrap around, as ones that do not.

/// Extends numbers of so many bits. The sender begins at 0.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unwrapper<const BITS: u32> {
    newest: Option<u64>,
}

impl<const BITS: u32> Unwrapper<BITS> {
    /// The number that ends with these bits and is closest to the newest one so far.
    pub(crate) fn extend(&mut self, number: u64) -> u64 {
        let value = self.peek(number);
        self.newest = Some(self.newest.map_or(value, |newest| newest.max(value)));
        value
    }

    /// The same, for a number that does not come from the sequence itself: one that a message names.
    #[must_use]
    pub(crate) fn peek(&self, number: u64) -> u64 {
        let span = 1u64 << BITS;
        let newest = self.newest.unwrap_or(0);
        let ahead = number.wrapping_sub(newest) & (span - 1);
        let behind = span - ahead;
        if ahead < span / 2 || behind > newest { newest + ahead } else { newest - behind }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_continue_behind_the_largest() {
        let mut numbers = Unwrapper::<16>::default();
        let read = [0, 2, 1, 30_000, 60_000, 65_535, 1, 65_534, 3].map(|number| numbers.extend(number));
        assert_eq!(read, [0, 2, 1, 30_000, 60_000, 65_535, 65_537, 65_534, 65_539]);
        assert_eq!((numbers.peek(65_535), numbers.peek(4)), (65_535, 65_540));
    }

    #[test]
    fn there_is_nothing_below_zero() {
        let mut numbers = Unwrapper::<16>::default();
        assert_eq!([3, 65_535].map(|number| numbers.extend(number)), [3, 65_535]);
    }
}
