//! Changes of the bytes of an IP packet on its way: ECN field, code point, hop limit. The checksum of an IPv4 header
//! is updated with each change (RFC 1624), not computed again: a wrong one stays wrong.
//!
//! Nothing happens to bytes that do not begin with a whole header of IPv4 or IPv6.

use crate::Ecn;

/// The bytes of an IPv4 header that are read or changed here.
const V4_LEN: usize = 20;
/// Length of an IPv6 header.
const V6_LEN: usize = 40;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    V4,
    V6,
}

fn version(bytes: &[u8]) -> Option<Version> {
    match bytes.first()? >> 4 {
        4 if bytes.len() >= V4_LEN => Some(Version::V4),
        6 if bytes.len() >= V6_LEN => Some(Version::V6),
        _ => None,
    }
}

/// The checksum of a header in which one 16-bit word changed (RFC 1624 §3, equation 3). A word that did not change
/// leaves the checksum as it is (its erratum 4782).
#[must_use]
pub const fn updated_checksum(checksum: u16, old: u16, new: u16) -> u16 {
    if old == new {
        return checksum;
    }
    let mut sum = !checksum as u32 + !old as u32 + new as u32;
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    !(sum as u16)
}

/// Changes one word of an IPv4 header and its checksum.
fn change_v4(bytes: &mut [u8], at: usize, change: impl FnOnce(u16) -> u16) {
    let word = |bytes: &[u8], at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    let old = word(bytes, at);
    let new = change(old);
    let checksum = updated_checksum(word(bytes, 10), old, new);
    bytes[at..at + 2].copy_from_slice(&new.to_be_bytes());
    bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
}

/// The traffic class: code point and ECN field.
#[must_use]
pub fn traffic_class(bytes: &[u8]) -> Option<u8> {
    Some(match version(bytes)? {
        Version::V4 => bytes[1],
        Version::V6 => bytes[0] << 4 | bytes[1] >> 4,
    })
}

fn set_traffic_class(bytes: &mut [u8], change: impl FnOnce(u8) -> u8) {
    match version(bytes) {
        Some(Version::V4) => change_v4(bytes, 0, |word| word & 0xff00 | u16::from(change(word as u8))),
        Some(Version::V6) => {
            let class = change(bytes[0] << 4 | bytes[1] >> 4);
            bytes[0] = bytes[0] & 0xf0 | class >> 4;
            bytes[1] = class << 4 | bytes[1] & 0x0f;
        }
        None => {}
    }
}

/// The ECN field of a packet (RFC 3168 §5).
#[must_use]
pub fn ecn(bytes: &[u8]) -> Option<Ecn> {
    traffic_class(bytes).map(ecn_of)
}

/// The ECN field with these two lowest bits.
#[must_use]
pub const fn ecn_of(bits: u8) -> Ecn {
    match bits & 3 {
        0 => Ecn::NotCapable,
        1 => Ecn::Capable1,
        2 => Ecn::Capable0,
        _ => Ecn::CongestionExperienced,
    }
}

/// The two bits of an ECN field.
#[must_use]
pub const fn ecn_bits(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotCapable => 0,
        Ecn::Capable1 => 1,
        Ecn::Capable0 => 2,
        Ecn::CongestionExperienced => 3,
    }
}

/// Sets the ECN field.
pub fn set_ecn(bytes: &mut [u8], ecn: Ecn) {
    set_traffic_class(bytes, |class| class & !3 | ecn_bits(ecn));
}

/// Sets the differentiated services code point (RFC 2474 §3), of which the lower six bits count.
pub fn set_code_point(bytes: &mut [u8], code_point: u8) {
    set_traffic_class(bytes, |class| code_point << 2 | class & 3);
}

/// Decrements the time to live or hop limit, as a router does (RFC 1812 §5.3.1, RFC 8200 §3). Returns false if the
/// packet has to be dropped, because it would become 0; then it stays as it is.
#[must_use]
pub fn decrement_hop_limit(bytes: &mut [u8]) -> bool {
    let at = match version(bytes) {
        Some(Version::V4) => 8,
        Some(Version::V6) => 7,
        None => return false,
    };
    if bytes[at] <= 1 {
        return false;
    }
    match version(bytes) {
        Some(Version::V4) => change_v4(bytes, at, |word| word - 0x0100),
        _ => bytes[at] -= 1,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10.0.0.1 to 10.0.0.2, 28 bytes, UDP. The sum of the words without the checksum is 0x4500 + 0x001c + 0x4000 +
    /// 0x4011 + 0x0a00 + 0x0001 + 0x0a00 + 0x0002 = 0xd930; the checksum is its complement.
    const V4: [u8; 20] = [0x45, 0, 0, 28, 0, 0, 0x40, 0, 64, 17, 0x26, 0xcf, 10, 0, 0, 1, 10, 0, 0, 2];

    fn sum(header: &[u8]) -> u16 {
        let all: u32 = header.chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]]))).sum();
        ((all & 0xffff) + (all >> 16)) as u16
    }

    /// RFC 1624 §4: a header with checksum 0xdd2f, of which a word changes from 0x5555 to 0x3285, has 0x0000.
    #[test]
    fn the_example_of_rfc_1624() {
        assert_eq!(updated_checksum(0xdd2f, 0x5555, 0x3285), 0x0000);
        assert_eq!(updated_checksum(0x0000, 0x5555, 0x5555), 0x0000); // erratum 4782
    }

    #[test]
    fn every_change_of_an_ipv4_header_keeps_its_checksum_right() {
        for identification in 0..=u16::MAX {
            let mut header = V4;
            header[4..6].copy_from_slice(&identification.to_be_bytes());
            let checksum = updated_checksum(0x26cf, 0, identification);
            header[10..12].copy_from_slice(&checksum.to_be_bytes());
            assert_eq!(sum(&header), 0xffff);
            set_code_point(&mut header, 46);
            set_ecn(&mut header, Ecn::CongestionExperienced);
            assert!(decrement_hop_limit(&mut header));
            assert_eq!((header[1], header[8], sum(&header)), (46 << 2 | 3, 63, 0xffff));
        }
    }

    #[test]
    fn an_ipv6_header_changes_in_its_own_places() {
        let mut header = [0; 40];
        header[..8].copy_from_slice(&[0x6a, 0xbc, 0xde, 0xf0, 0, 0, 17, 2]);
        set_ecn(&mut header, Ecn::Capable0);
        assert_eq!((traffic_class(&header), ecn(&header)), (Some(0xaa), Some(Ecn::Capable0)));
        set_ecn(&mut header, Ecn::CongestionExperienced);
        set_code_point(&mut header, 0);
        // The flow label 0xcdef0 stays.
        assert_eq!(header[..4], [0x60, 0x3c, 0xde, 0xf0]);
        assert!(decrement_hop_limit(&mut header));
        assert!(!decrement_hop_limit(&mut header));
        assert_eq!(header[7], 1);
    }

    #[test]
    fn other_bytes_stay_as_they_are() {
        for bytes in [&[][..], &[0x45; 19], &[0x60; 39], &[0x50; 60]] {
            let mut changed = bytes.to_vec();
            set_ecn(&mut changed, Ecn::Capable0);
            set_code_point(&mut changed, 1);
            assert!(!decrement_hop_limit(&mut changed) && traffic_class(&changed).is_none());
            assert_eq!(changed, bytes);
        }
    }
}
