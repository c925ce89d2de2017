//! PDCP of one data radio bearer (TS 36.323): its header, its discard timer.
//!
//! The simulator holds both ends, so PDCP leaves no object of its own on the way: an SDU's COUNT
//! is its place in the [`SduStore`](crate::rlc) of its direction, given when its first byte is
//! sent; SDUs that still wait have none. RLC hands SDUs up in order, each once, so the receiver
//! of TS 36.323 v17.0 §5.1.2.1.4 has nothing to sort out until a re-establishment.
//!
//! Left out: header compression, ciphering (neither changes a size by default), integrity
//! protection, and the status report, which only a handover sends.

use airlane_core::Duration;

/// PDCP of a data radio bearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PdcpConfig {
    /// Bits of the sequence number on the air: 7, 12, 15 or 18 (TS 36.323 v17.0 §6.3.2).
    pub sn_bits: u8,
    /// discardTimer: an SDU of which nothing has been sent by then is dropped
    /// (TS 36.323 v17.0 §5.4); `None` for "infinity".
    pub discard: Option<Duration>,
}

impl PdcpConfig {
    /// Bytes of the header of a data PDU (TS 36.323 v17.0 §6.2.3, §6.2.4, §6.2.11, §6.2.15): the
    /// D/C bit, reserved bits, the sequence number.
    #[must_use]
    pub const fn header(&self) -> u32 {
        match self.sn_bits {
            7 => 1,
            12 | 15 => 2,
            _ => 3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_whole_bytes() {
        let header = |sn_bits| PdcpConfig { sn_bits, discard: None }.header();
        assert_eq!([7, 12, 15, 18].map(header), [1, 2, 2, 3]);
    }
}
