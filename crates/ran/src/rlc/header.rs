//! Sizes of RLC headers and control PDUs on the air (TS 36.322 v17.0 §6.2.1, §6.2.2).

/// Longest data field element that a length indicator can describe: eleven bits
/// (TS 36.322 v17.0 §6.2.2.5). A longer one can only stand at the end of a PDU.
pub(crate) const LENGTH_INDICATOR_MAX: u32 = 2047;

/// Bytes that `count` length indicators take: an extension bit and eleven bits each, padded to
/// full bytes (TS 36.322 v17.0 §6.2.1.3, §6.2.1.4).
pub(crate) const fn length_indicators(count: u32) -> u32 {
    (3 * count).div_ceil(2)
}

/// The fixed part of a UMD PDU header: FI, E and a sequence number of five or ten bits
/// (TS 36.322 v17.0 §6.2.1.3).
pub(crate) const fn unacknowledged(sn_bits: u8) -> u32 {
    if sn_bits == 5 { 1 } else { 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_indicators_fill_whole_bytes() {
        // 12 bits: 2 bytes with 4 bits of padding; 24 bits: 3 bytes; 36: 5; 48: 6.
        assert_eq!([0, 1, 2, 3, 4].map(length_indicators), [0, 2, 3, 5, 6]);
    }

    #[test]
    fn fixed_parts() {
        assert_eq!(unacknowledged(5), 1); // 2 + 1 + 5 bits
        assert_eq!(unacknowledged(10), 2); // 3 reserved + 2 + 1 + 10 bits
    }
}
