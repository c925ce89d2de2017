//! RLC of NR (TS 38.322 v18.2.0): unacknowledged and acknowledged mode, with what PDCP does between it and the upper
//! layers of the receiver (TS 38.323 v18.5.0).
//!
//! It differs from RLC of LTE in three ways. A PDU carries one SDU, or a segment of one, so that it can be built before
//! the size of the block is known: no concatenation. The sequence number is that of the SDU, and an SDU is delivered as
//! soon as it is complete: PDCP reorders. And the receiver waits only for what it knows to be incomplete or missing
//! (t-Reassembly).
//!
//! As in LTE, a [`DataPdu`](super::DataPdu) names a range of the stream of SDUs, sequence numbers are counted without
//! their modulus, and the packets stay in the store until their SDU is complete. An SDU gets its COUNT when its first
//! byte is sent, so a discarded SDU leaves no gap (TS 38.323 v18.5.0 §5.3, note 2, leaves this to the implementation).
//!
//! Not included: transparent mode, which no data radio bearer of NR has (TS 38.331 v18.6.0 §6.3.2, RLC-Config).

mod am;
mod entity;
pub(crate) mod header;
mod parts;
mod um;

pub use am::AmConfig;
pub(crate) use entity::NrEntity;
pub use um::UmConfig;

use crate::bearer::RlcMode;
use crate::pdcp::nr::ReorderingConfig;
use crate::sdap::SdapHeaders;

/// Layer 2 of a bearer of NR, besides what is common with LTE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NrConfig {
    /// RLC.
    pub rlc: NrRlc,
    /// The receiving side of PDCP.
    pub reordering: ReorderingConfig,
    /// The headers of SDAP.
    pub sdap: SdapHeaders,
}

/// The mode of RLC of NR, with its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NrRlc {
    /// Unacknowledged mode.
    Um(UmConfig),
    /// Acknowledged mode.
    Am(AmConfig),
}

impl NrRlc {
    /// The mode.
    #[must_use]
    pub const fn mode(&self) -> RlcMode {
        match self {
            Self::Um(_) => RlcMode::Um,
            Self::Am(_) => RlcMode::Am,
        }
    }
}
