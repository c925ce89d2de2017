//! 64-bit stream positions internally, 32-bit sequence numbers on the wire (RFC 9293 §3.4).

/// The sequence number of a position.
pub(crate) const fn wire(position: u64, initial: u32) -> u32 {
    initial.wrapping_add(position as u32)
}

/// The position of a sequence number that is nearest to `near`; zero for a position before the SYN.
pub(crate) const fn position(wire: u32, initial: u32, near: u64) -> u64 {
    let distance = wire.wrapping_sub(initial).wrapping_sub(near as u32) as i32;
    near.saturating_add_signed(distance as i64)
}

/// True if a sequence number is before the SYN, where the stream has no position.
pub(crate) const fn precedes(wire: u32, initial: u32, near: u64) -> bool {
    let distance = wire.wrapping_sub(initial).wrapping_sub(near as u32) as i32;
    near.checked_add_signed(distance as i64).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_survive_the_wrap() {
        let initial = 0xffff_fff0;
        for p in [0_u64, 15, 16, 17, 0xffff_ffff, 0x1_0000_0000, 0x7_1234_5678] {
            for near in [p.saturating_sub(0x7fff_0000), p, p + 0x7fff_0000] {
                assert_eq!(position(wire(p, initial), initial, near), p);
            }
        }
        assert_eq!(position(wire(0, 5).wrapping_sub(3), 5, 1), 0);
        assert!(precedes(4, 5, 1) && precedes(wire(0, 5).wrapping_sub(1 << 30), 5, 1_000));
        assert!(!precedes(5, 5, 1) && !precedes(6, 5, 1) && !precedes(4, 5, 0x1_0000_0000));
    }
}
