//! PDCP of one data radio bearer (TS 36.323): its header, its discard timer, its retransmission
//! queue, and its re-establishment.
//!
//! The simulator holds both ends, so PDCP has no object of its own in the path. An SDU gets its
//! COUNT in the [`SduStore`](crate::rlc) of its direction when its first byte is sent; waiting SDUs
//! have none. RLC delivers SDUs in order, each once, so the receiver of TS 36.323 v17.0 §5.1.2.1
//! has nothing to reorder until a re-establishment.
//!
//! Not included: header compression, ciphering (neither changes a size by default), integrity
//! protection, and the limit of half the sequence numbers on SDUs under way.

pub mod nr;
pub(crate) mod reception;
pub(crate) mod status;

use airlane_core::{Bytes, Duration, PacketRef};

/// PDCP of a data radio bearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PdcpConfig {
    /// Bits of the sequence number on the air: 7, 12, 15 or 18 (TS 36.323 v17.0 §6.3.2).
    pub sn_bits: u8,
    /// discardTimer: an SDU of which nothing has been sent when it expires is dropped (TS 36.323
    /// v17.0 §5.4); `None` for "infinity".
    pub discard: Option<Duration>,
    /// The bound of the retransmission queue; `None` for none.
    pub retransmission_queue: Option<RetransmissionQueue>,
    /// Both ends send a status report when they are re-established with preserved COUNTs.
    pub status_report: bool,
}

/// A bound on the SDUs that have a COUNT and that RLC AM has not confirmed, including PDCP headers.
/// An SDU that exceeds it stays in the transmit queue without a COUNT. No SDU is removed to make
/// room. A single SDU always fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetransmissionQueue {
    /// Maximum number of bytes; [`Self::UNLIMITED`] for none.
    pub limit: Bytes,
    /// True if the limit of the transmit queue applies to the sum of waiting and unconfirmed SDUs;
    /// false if it applies to the waiting ones alone.
    pub shares_buffer: bool,
    /// True if SDUs get their COUNT when they arrive (TS 36.323 v17.0 §5.1.1), up to the limit, and
    /// not when their first byte is sent. Whatever drops unconfirmed SDUs then also drops these.
    pub holds_waiting: bool,
}

impl RetransmissionQueue {
    /// The limit of a queue without a bound.
    pub const UNLIMITED: Bytes = Bytes(u64::MAX);
}

/// An SDU that is forwarded in a handover (TS 36.300 v17.0 §10.1.2.3).
#[derive(Debug)]
pub struct NumberedSdu {
    /// Identity of its bearer.
    pub e_rab: u8,
    /// COUNT; `None` if none of it has been sent.
    pub count: Option<u32>,
    /// SDU and PDCP header.
    pub size: u32,
    /// The packet; `None` if the receiver has it without the sender's knowledge.
    pub packet: Option<PacketRef>,
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
        let header = |sn_bits| {
            let config =
                PdcpConfig { sn_bits, discard: None, retransmission_queue: None, status_report: true };
            config.header()
        };
        assert_eq!([7, 12, 15, 18].map(header), [1, 2, 2, 3]);
    }
}
