//! PDCP of one data radio bearer (TS 36.323): its header, its discard timer, its retransmission
//! queue, and what it does when it is re-established.
//!
//! The simulator holds both ends, so PDCP leaves no object of its own on the way: an SDU gets its
//! COUNT in the [`SduStore`](crate::rlc) of its direction when its first byte is sent; SDUs that
//! still wait have none. RLC hands SDUs up in order, each once, so the receiver of
//! TS 36.323 v17.0 §5.1.2.1 has nothing to sort out until a re-establishment.
//!
//! Left out: header compression, ciphering (neither changes a size by default), integrity
//! protection, and the limit of half the sequence numbers on SDUs under way.

pub(crate) mod reception;
pub(crate) mod status;

use airlane_core::{Bytes, Duration, PacketRef};

/// PDCP of a data radio bearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PdcpConfig {
    /// Bits of the sequence number on the air: 7, 12, 15 or 18 (TS 36.323 v17.0 §6.3.2).
    pub sn_bits: u8,
    /// discardTimer: an SDU of which nothing has been sent by then is dropped
    /// (TS 36.323 v17.0 §5.4); `None` for "infinity".
    pub discard: Option<Duration>,
    /// The bound of the retransmission queue; `None` for no bound.
    pub retransmission_queue: Option<RetransmissionQueue>,
    /// Both ends send a status report when they are re-established with their COUNTs kept.
    pub status_report: bool,
}

/// A bound on the SDUs that have a COUNT and that RLC AM has not confirmed, PDCP headers included.
/// It gates admission: where an SDU does not fit, it goes on waiting in the transmit queue without
/// a COUNT. Nothing is ever taken out to make room. A single SDU always fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetransmissionQueue {
    /// Bytes at most.
    pub limit: Bytes,
    /// The limit of the transmit queue holds for the sum of waiting and unconfirmed SDUs; else it
    /// holds for the waiting ones alone.
    pub shares_buffer: bool,
    /// SDUs get their COUNT when they come (TS 36.323 v17.0 §5.1.1), as far as the limit goes, and
    /// not only with their first byte: what drops unconfirmed SDUs drops these too.
    pub holds_waiting: bool,
}

/// An SDU that a handover moves (TS 36.300 v17.0 §10.1.2.3).
#[derive(Debug)]
pub struct NumberedSdu {
    /// COUNT; `None` if none of it has been sent.
    pub count: Option<u32>,
    /// SDU and PDCP header.
    pub size: u32,
    /// The packet; `None` if the receiver has it, which the sender does not know.
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
