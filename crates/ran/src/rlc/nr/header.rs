//! Sizes of the RLC headers and STATUS PDUs of NR, and of the MAC subheader before them.

/// Bytes of the header of a PDU that carries an SDU, its first segment, or a later segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Headers {
    pub(crate) whole: u32,
    pub(crate) first: u32,
    pub(crate) rest: u32,
}

/// UMD PDU (TS 38.322 v18.2.0 §6.2.2.3): SI and six reserved bits with a complete SDU; SI and a sequence number of six
/// bits, or SI, two reserved bits and twelve, with a segment; SO of 16 bits unless the segment is the first.
pub(crate) const fn unacknowledged(sn_bits: u8) -> Headers {
    if sn_bits == 6 {
        Headers { whole: 1, first: 1, rest: 3 }
    } else {
        Headers { whole: 1, first: 2, rest: 4 }
    }
}

/// AMD PDU (TS 38.322 v18.2.0 §6.2.2.4): D/C, P, SI and a sequence number of twelve bits, or these and two reserved
/// bits with eighteen; SO of 16 bits with a segment that is not the first.
pub(crate) const fn acknowledged(sn_bits: u8) -> Headers {
    if sn_bits == 12 {
        Headers { whole: 2, first: 2, rest: 4 }
    } else {
        Headers { whole: 3, first: 3, rest: 5 }
    }
}

/// STATUS PDU without NACK_SN (TS 38.322 v18.2.0 §6.2.2.5): D/C, CPT of three bits, ACK_SN, E1, and reserved bits up to
/// three bytes for both lengths of the sequence number.
pub(crate) const STATUS: u32 = 3;

/// One NACK_SN with E1, E2, E3 and reserved bits up to full bytes (one bit, or three), the pair of SOstart and SOend of
/// 16 bits each, and the NACK range of 8 bits (TS 38.322 v18.2.0 §6.2.2.5, §6.2.3.12 to §6.2.3.17).
pub(crate) const fn nack(sn_bits: u8, has_offsets: bool, has_range: bool) -> u32 {
    let number = if sn_bits == 12 { 2 } else { 3 };
    number + if has_offsets { 4 } else { 0 } + has_range as u32
}

/// The longest PDU whose length fits in the L field of 8 bits (TS 38.321 v18.5.0 §6.2.1).
const SHORT: u32 = 255;

/// The MAC subheader of a PDU of `size` bytes, if `overhead` is the one with the long L field (TS 38.321 v18.5.0
/// §6.1.2: R, F, LCID and L of 8 or 16 bits).
pub(crate) const fn subheader(overhead: u32, size: u32) -> u32 {
    if size <= SHORT { overhead.saturating_sub(1) } else { overhead }
}

/// The largest PDU that fits in `left` bytes with its subheader.
pub(crate) const fn largest(left: u32, overhead: u32) -> u32 {
    let long = left.saturating_sub(overhead);
    if long > SHORT || overhead == 0 {
        return long;
    }
    let short = left.saturating_sub(overhead - 1);
    if short < SHORT { short } else { SHORT }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        // 2 + 6 bits; with 12 bits 2 + 2 + 12; SO: 16.
        assert_eq!(unacknowledged(6), Headers { whole: 1, first: 1, rest: 3 });
        assert_eq!(unacknowledged(12), Headers { whole: 1, first: 2, rest: 4 });
        // 1 + 1 + 2 + 12 bits; 1 + 1 + 2 + 2 + 18.
        assert_eq!(acknowledged(12), Headers { whole: 2, first: 2, rest: 4 });
        assert_eq!(acknowledged(18), Headers { whole: 3, first: 3, rest: 5 });
        // 1 + 3 + 12 + 1 + 7 bits; 1 + 3 + 18 + 1 + 1.
        assert_eq!(STATUS, 3);
        // 12 + 3 + 1 bits; 18 + 3 + 3.
        assert_eq!((nack(12, false, false), nack(18, false, false)), (2, 3));
        assert_eq!((nack(12, true, false), nack(12, false, true), nack(18, true, true)), (6, 3, 8));
    }

    #[test]
    fn a_subheader_is_shorter_for_short_pdus() {
        assert_eq!((subheader(3, 255), subheader(3, 256), subheader(0, 10)), (2, 3, 0));
        // 258 bytes: 255 and a subheader of 2, since 256 would need 3.
        assert_eq!([1, 2, 3, 257, 258, 259].map(|left| largest(left, 3)), [0, 0, 1, 255, 255, 256]);
        assert_eq!(largest(100, 0), 100);
        for left in 3..600 {
            let size = largest(left, 3);
            assert!(size + subheader(3, size) <= left && size + 1 + subheader(3, size + 1) > left, "{left}");
        }
    }
}
