//! RLC acknowledged mode of NR (TS 38.322 v18.2.0 §5.2.3, §5.3): a window of SDUs, polls, STATUS PDUs with ranges, and
//! retransmission, with segmentation where a grant is smaller. An SDU is delivered when it is complete, in any order.

mod receiver;
pub(super) mod status;
mod transmitter;

pub(crate) use receiver::Receiver;
pub(crate) use transmitter::Transmitter;

use airlane_core::{Bytes, Duration};

use crate::rlc::window::WindowConfig;

/// Configuration of acknowledged mode (TS 38.331 v18.6.0 §6.3.2, UL-AM-RLC and DL-AM-RLC).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AmConfig {
    /// Bits of the sequence number: 12 or 18.
    pub sn_bits: u8,
    /// t-PollRetransmit: how long the transmitter waits for the answer to a poll.
    pub t_poll_retransmit: Duration,
    /// t-Reassembly: how long the receiver waits before it reports what is missing.
    pub t_reassembly: Duration,
    /// t-StatusProhibit: the minimum time between two STATUS PDUs.
    pub t_status_prohibit: Duration,
    /// pollPDU: a poll after this many PDUs; `None` for "infinity".
    pub poll_pdu: Option<u32>,
    /// pollByte: a poll after this many bytes; `None` for "infinity".
    pub poll_byte: Option<Bytes>,
    /// maxRetxThreshold: this number of retransmissions of an SDU is reported as a failure of the radio link.
    /// Retransmission of the SDU continues.
    pub max_retx: u8,
}

impl AmConfig {
    /// AM_Window_Size (TS 38.322 v18.2.0 §7.2): half the sequence numbers.
    pub(crate) const fn window(&self) -> usize {
        1 << (self.sn_bits - 1)
    }

    /// Memory is reserved for this many SDUs on each side: 2048 of 1500 bytes are 25 ms at 1 Gbit/s, more than the
    /// HARQ transmissions of one SDU and a STATUS PDU take.
    const fn reserved(&self) -> usize {
        2048
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
