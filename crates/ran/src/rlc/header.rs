//! Sizes of RLC headers and control PDUs on the air (TS 36.322 v17.0 §6.2.1, §6.2.2).

/// Longest data field element that a length indicator can describe: eleven bits (TS 36.322 v17.0
/// §6.2.2.5). A longer one can only be the last of a PDU.
pub(crate) const LENGTH_INDICATOR_MAX: u32 = 2047;

/// Bytes of `count` length indicators: an extension bit and eleven bits each, padded to full bytes
/// (TS 36.322 v17.0 §6.2.1.3, §6.2.1.4).
pub(crate) const fn length_indicators(count: u32) -> u32 {
    (3 * count).div_ceil(2)
}

/// The fixed part of a UMD PDU header: FI, E and a sequence number of five or ten bits
/// (TS 36.322 v17.0 §6.2.1.3).
pub(crate) const fn unacknowledged(sn_bits: u8) -> u32 {
    if sn_bits == 5 { 1 } else { 2 }
}

/// The fixed part of an AMD PDU header: D/C, RF, P, FI, E, reserved bits and a sequence number of
/// ten or sixteen bits (TS 36.322 v17.0 §6.2.1.4).
pub(crate) const fn acknowledged(sn_bits: u8) -> u32 {
    if sn_bits == 10 { 2 } else { 3 }
}

/// The fixed part of an AMD PDU segment header: as above, and LSF and a segment offset of
/// fifteen or sixteen bits (TS 36.322 v17.0 §6.2.1.5).
pub(crate) const fn segment(sn_bits: u8) -> u32 {
    acknowledged(sn_bits) + 2
}

/// Bytes of a STATUS PDU with this number of NACK_SNs, of which `with_offsets` have SOstart and
/// SOend (TS 36.322 v17.0 §6.2.1.6).
pub(crate) const fn status(sn_bits: u8, nacks: u32, with_offsets: u32) -> u32 {
    let sn = sn_bits as u32;
    let offset = if sn_bits == 10 { 15 } else { 16 };
    let bits = (1 + 3 + sn + 1) // D/C, CPT, ACK_SN, E1
        + nacks * (sn + 2) // NACK_SN, E1, E2
        + with_offsets * 2 * offset;
    bits.div_ceil(8)
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
        assert_eq!(acknowledged(10), 2); // 1 + 1 + 1 + 2 + 1 + 10 bits
        assert_eq!(segment(10), 4); // and 1 + 15
        assert_eq!((acknowledged(16), segment(16)), (3, 5));
    }

    #[test]
    fn status_sizes() {
        assert_eq!(status(10, 0, 0), 2); // 15 bits
        assert_eq!(status(10, 1, 0), 4); // 27
        assert_eq!(status(10, 2, 0), 5); // 39
        assert_eq!(status(10, 1, 1), 8); // 57
        assert_eq!(status(16, 0, 0), 3); // 21
        assert_eq!(status(16, 1, 1), 9); // 71
    }
}
