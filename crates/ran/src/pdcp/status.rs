//! The PDCP status report (TS 36.323 v17.0 §5.3, §6.2.6): the SDUs that a receiver has, sent after
//! a re-establishment so that they are not sent again.

/// First missing COUNT, and the COUNTs above it that were received, in ascending order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StatusReport {
    /// FMS with its hyper frame number.
    pub(crate) first_missing: u32,
    /// The COUNTs received above it.
    pub(crate) received: Vec<u32>,
}

impl StatusReport {
    /// The control PDU: D/C and PDU type 0, FMS padded in front to full octets, and the bitmap,
    /// whose first bit is FMS + 1.
    pub(crate) fn encode(&self, sn_bits: u8) -> Vec<u8> {
        let octets = fixed_octets(sn_bits);
        let sn = self.first_missing & mask(sn_bits);
        let mut pdu = sn.to_be_bytes()[4 - octets..].to_vec();
        let bits = self.received.last().map_or(0, |last| last - self.first_missing) as usize;
        pdu.resize(octets + bits.div_ceil(8), 0);
        for count in &self.received {
            let bit = (count - self.first_missing - 1) as usize;
            pdu[octets + bit / 8] |= 0x80 >> (bit % 8);
        }
        pdu
    }

    /// Decodes a control PDU. `next_count` is the next COUNT that the transmitter will assign: FMS
    /// is at most this COUNT.
    pub(crate) fn decode(pdu: &[u8], sn_bits: u8, next_count: u32) -> Option<Self> {
        let octets = fixed_octets(sn_bits);
        let (fixed, bitmap) = pdu.split_at_checked(octets)?;
        if fixed[0] & 0xF0 != 0 {
            return None; // not a status report
        }
        let sn = fixed.iter().fold(0, |sn, &octet| sn << 8 | u32::from(octet)) & mask(sn_bits);
        let behind = next_count.wrapping_sub(sn) & mask(sn_bits);
        let first_missing = next_count.checked_sub(behind)?;
        let is_set = |bit: u32| bitmap[bit as usize / 8] & (0x80 >> (bit % 8)) != 0;
        let bits = 8 * bitmap.len() as u32;
        let received = (0..bits).filter(|&bit| is_set(bit)).map(|bit| first_missing + 1 + bit).collect();
        Some(Self { first_missing, received })
    }

    /// True if the report confirms this SDU.
    pub(crate) fn confirms(&self, count: u32) -> bool {
        count < self.first_missing || self.received.binary_search(&count).is_ok()
    }
}

/// Octets up to the bitmap: one bit D/C, three of PDU type, reserved bits, FMS.
const fn fixed_octets(sn_bits: u8) -> usize {
    if sn_bits <= 12 { 2 } else { 3 }
}

const fn mask(sn_bits: u8) -> u32 {
    (1 << sn_bits) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bitmap_begins_behind_the_first_missing() {
        let report = StatusReport { first_missing: 5, received: vec![6, 8, 14] };
        // 6 is the first bit, 8 the third, 14 the first of the second octet.
        assert_eq!(report.encode(12), [0x00, 0x05, 0b1010_0000, 0b1000_0000]);
        assert_eq!(report.encode(15), [0x00, 0x00, 0x05, 0b1010_0000, 0b1000_0000]);
        let none = StatusReport { first_missing: 0x1ABC, received: vec![] };
        assert_eq!(none.encode(12), [0x0A, 0xBC]);
    }

    #[test]
    fn the_reader_completes_the_hyper_frame_number() {
        for sn_bits in [12, 15, 18] {
            for first_missing in [0, 1, 4095, 4096, 70_000, 262_143, 262_144] {
                for ahead in [0, 1, 9, 2000] {
                    let report = StatusReport { first_missing, received: vec![first_missing + 9] };
                    let read = StatusReport::decode(&report.encode(sn_bits), sn_bits, first_missing + ahead);
                    assert_eq!(read, Some(report));
                }
            }
        }
        assert_eq!(StatusReport::decode(&[0x00], 12, 0), None);
        assert_eq!(StatusReport::decode(&[0x10, 0x00], 12, 0), None, "another control PDU");
        assert_eq!(StatusReport::decode(&[0x00, 0x05], 12, 4), None, "above all that was sent");
    }
}
