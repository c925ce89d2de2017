//! Radio network information: the notifications of a base station about a UE, and the subscriptions to them,
//! as bytes in the format of ETSI GS MEC 012 V2.2.1 (`rni/v2`). `docs/radio-information.md` describes both,
//! and the extension for values without an attribute in the standard; its sections are cited here.
//!
//! Not included: the HTTP messages that carry the bodies, their connection and the responses to
//! requests.
//!
//! ```
//! use airlane_core::{Bytes, Instant};
//! use airlane_net::rni::{UeRecord, ue_address};
//!
//! let record = UeRecord { ue: ue_address(4), cqi: 15, block: Bytes(2292), ..UeRecord::default() };
//! let bytes = record.encode(7);
//! assert_eq!(UeRecord::decode(&bytes), Ok(record));
//! assert!(UeRecord::decode(&bytes[1..]).is_err());
//! ```

mod consumer;
#[cfg(test)]
mod tests;
mod wire;

pub use consumer::{Consumer, Unused};

use airlane_core::{Bytes, CellUse, Cx, Direction, FlowId, Header, Instant, Packet, PacketRef, Payload};

/// HARQ processes of FDD, for two layers (TS 36.213 v17.0 §7).
pub const HARQ_MAX: usize = 16;

/// The eNB's information about the downlink of one UE (§2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UeRecord {
    /// The time of the measurement.
    pub measured_at: Instant,
    /// The UE's IPv4 address.
    pub ue: [u8; 4],
    /// The number of the cell that serves it.
    pub cell: u32,
    /// The last wideband CQI at the eNB, 0 for none.
    pub cqi: u8,
    /// Modulation and coding scheme of the last new transport block.
    pub mcs: u8,
    /// Its size; 0 before the first.
    pub block: Bytes,
    /// Its physical resource blocks.
    pub prbs: u16,
    /// Bytes in the transmit queue of the RLC entity.
    pub queue: Bytes,
    /// The HARQ processes.
    pub harq: Harq,
    /// The use of the cell, if a subscriber needs it (§2.3).
    pub cell_use: Option<CellUse>,
}

/// The number of transmissions of the block of each HARQ process, 0 for a free process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Harq {
    sent: [u8; HARQ_MAX],
    len: u8,
}

impl Harq {
    /// From these processes; those beyond [`HARQ_MAX`] are ignored.
    #[must_use]
    pub fn new(processes: impl Iterator<Item = u8>) -> Self {
        let mut harq = Self::default();
        for (slot, sent) in harq.sent.iter_mut().zip(processes) {
            *slot = sent;
            harq.len += 1;
        }
        harq
    }

    /// Transmissions of each process.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        &self.sent[..usize::from(self.len)]
    }
}

/// A subscription to information about a UE (§3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// The flow whose server subscribes, and receives the notifications.
    pub flow: FlowId,
    /// The UE's IPv4 address.
    pub ue: [u8; 4],
    /// Its end; `None` for no end. A time in the past ends it.
    pub until: Option<Instant>,
}

/// Why bytes are rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// Not JSON, or not of this format.
    Malformed,
    /// A value that is impossible in an LTE cell.
    Impossible,
}

impl UeRecord {
    /// The notification of a subscription, as bytes (§2).
    #[must_use]
    pub fn encode(&self, subscription: u32) -> Vec<u8> {
        wire::encode_record(self, subscription)
    }

    /// Reads a notification.
    ///
    /// # Errors
    /// [`Rejected`].
    pub fn decode(bytes: &[u8]) -> Result<Self, Rejected> {
        wire::decode_record(bytes)
    }
}

impl Subscription {
    /// The body of the request, as bytes (§3).
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        wire::encode_subscription(self)
    }

    /// Reads a request.
    ///
    /// # Errors
    /// [`Rejected`].
    pub fn decode(bytes: &[u8]) -> Result<Self, Rejected> {
        wire::decode_subscription(bytes)
    }
}

/// The IPv4 address of a UE, as in captures.
#[must_use]
pub const fn ue_address(ue: u32) -> [u8; 4] {
    let [_, _, high, low] = (ue + 1).to_be_bytes();
    [10, 1, high, low]
}

/// The UE of an address, if it is one of [`ue_address`].
#[must_use]
pub const fn ue_of(address: [u8; 4]) -> Option<u32> {
    match address {
        [10, 1, high, low] => u32::from_be_bytes([0, 0, high, low]).checked_sub(1),
        _ => None,
    }
}

/// A packet with these bytes, to or from the server of a flow.
pub fn packet(cx: &mut Cx<'_>, flow: FlowId, bytes: Vec<u8>) -> PacketRef {
    let payload = Payload::Bytes(bytes.into());
    // The direction is uplink, because downlink data and its drops are counted as the flow's own.
    let packet = Packet::new(flow, Direction::Uplink, Header::Signalling, payload, cx.now);
    cx.pool.insert(packet)
}
