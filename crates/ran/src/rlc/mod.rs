//! RLC of one data radio bearer (TS 36.322 v17.0): transparent, unacknowledged and acknowledged mode. That of NR is in
//! [`nr`].
//!
//! The SDUs of a direction form a stream of bytes, and a data PDU is a sequence number and a range
//! of that stream: it is small, `Copy`, and contains no packet. The packets stay in a store between
//! the two ends, and the receiver removes one when its whole range has arrived.
//!
//! Sequence numbers are counted without their modulus. Since the windows are obeyed, the result is
//! the same as long as fewer consecutive PDUs are lost than half the sequence numbers.

pub(crate) mod am;
pub(crate) mod entity;
pub(crate) mod header;
pub mod nr;
pub(crate) mod queue;
pub(crate) mod source;
pub(crate) mod store;
pub(crate) mod tm;
pub(crate) mod um;
pub(crate) mod window;

pub use airlane_net::queue::Aqm;
pub use am::AmConfig;
pub use um::UmConfig;

use airlane_core::Bytes;

/// A data PDU: a range of the stream of SDUs under a sequence number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataPdu {
    /// First byte of the stream that it carries.
    pub(crate) from: u64,
    /// Bytes of its data field.
    pub(crate) len: u32,
    /// Sequence number, without modulus.
    pub(crate) sn: u32,
    /// Header and data field.
    pub(crate) size: u32,
    /// SO: the start of its data field within that of the PDU of which it is a segment.
    pub(crate) offset: u32,
    /// RF: it is a segment of an AMD PDU.
    pub(crate) segment: bool,
    /// LSF: it is the last segment.
    pub(crate) last: bool,
    /// P: it polls for a STATUS PDU.
    pub(crate) poll: bool,
}

impl DataPdu {
    /// The end of the range that it carries.
    #[inline]
    pub(crate) fn end(&self) -> u64 {
        self.from + u64::from(self.len)
    }
}

/// A STATUS PDU; its content is stored in the bearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusPdu {
    /// Counts the STATUS PDUs of the receiver.
    pub(crate) serial: u32,
    pub(crate) size: u32,
}

/// An RLC PDU in the MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pdu {
    /// Carries data.
    Data(DataPdu),
    /// Acknowledges data of the other direction.
    Status(StatusPdu),
}

impl Pdu {
    /// Its size on the air: RLC header and data field, without a MAC subheader.
    #[inline]
    #[must_use]
    pub fn size(&self) -> Bytes {
        Bytes(u64::from(match self {
            Self::Data(pdu) => pdu.size,
            Self::Status(pdu) => pdu.size,
        }))
    }
}
