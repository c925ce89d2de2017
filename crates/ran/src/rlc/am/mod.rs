//! RLC acknowledged mode (TS 36.322 v17.0 §5.1.3, §5.2): a window, polls, STATUS PDUs and
//! retransmission, with re-segmentation where a grant is smaller.
//!
//! The transmitter is at one end of a direction, the receiver at the other. STATUS PDUs travel with
//! the data of the opposite direction. The content of a STATUS PDU is stored in [`Reports`],
//! between the two, while the PDU, a serial number, is on the air.

mod receiver;
pub(super) mod status;
mod transmitter;

pub(crate) use receiver::Receiver;
pub(crate) use status::Reports;
pub(crate) use transmitter::Transmitter;

use airlane_core::{Bytes, Duration};

use crate::rlc::window::WindowConfig;

/// Configuration of acknowledged mode (TS 36.331 §6.3.2, UL-AM-RLC and DL-AM-RLC).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AmConfig {
    /// Bits of the sequence number: 10 or 16.
    pub sn_bits: u8,
    /// t-PollRetransmit: how long the transmitter waits for the answer to a poll.
    pub t_poll_retransmit: Duration,
    /// t-Reordering: how long a gap may exist before the receiver reports it.
    pub t_reordering: Duration,
    /// t-StatusProhibit: the minimum time between two STATUS PDUs.
    pub t_status_prohibit: Duration,
    /// pollPDU: a poll after this many PDUs; `None` for "infinity".
    pub poll_pdu: Option<u32>,
    /// pollByte: a poll after this many bytes; `None` for "infinity".
    pub poll_byte: Option<Bytes>,
    /// maxRetxThreshold: this number of retransmissions of a PDU is reported as a failure of the
    /// radio link. Retransmission of the PDU continues.
    pub max_retx: u8,
    /// A STATUS PDU takes the whole grant, as in ns-3 (`lte-rlc-am.cc`); the rest is unused.
    pub status_alone: bool,
}

impl AmConfig {
    /// AM_Window_Size (TS 36.322 v17.0 §7.2): half the sequence numbers.
    pub(crate) const fn window(&self) -> usize {
        1 << (self.sn_bits - 1)
    }

    /// Memory is reserved for this many PDUs on each side: the window, or for long sequence numbers
    /// the PDUs of about a second.
    const fn reserved(&self) -> usize {
        if self.window() < 1024 { self.window() } else { 1024 }
    }

    /// The parameters of the transmitting window.
    fn transmitting(&self) -> WindowConfig {
        WindowConfig {
            size: self.window(),
            reserved: self.reserved(),
            t_poll_retransmit: self.t_poll_retransmit,
            poll_pdu: self.poll_pdu,
            poll_byte: self.poll_byte,
            max_retx: self.max_retx,
        }
    }
}
