//! Radio network information: what a base station says of a UE, and who asked for it, as bytes in the shape of
//! ETSI GS MEC 012 V2.2.1 (`rni/v2`). `docs/radio-information.md` describes both, with the extension for what the
//! standard has no attribute for; its sections are cited here.
//!
//! Left out: HTTP around the bodies, its connection and the answers to requests.
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

use airlane_core::{Bytes, Cx, Direction, FlowId, Header, Instant, Packet, PacketRef, Payload};

/// HARQ processes of FDD, two layers of them (TS 36.213 v17.0 §7).
pub const HARQ_MAX: usize = 16;

/// What the eNB says of one UE's downlink (§2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UeRecord {
    /// When it was so.
    pub measured_at: Instant,
    /// The UE's IPv4 address.
    pub ue: [u8; 4],
    /// The number of the cell that serves it.
    pub cell: u32,
    /// The wideband CQI that the eNB last had, 0 for none.
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
}

/// How often the block of each HARQ process has been sent, 0 for a free process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Harq {
    sent: [u8; HARQ_MAX],
    len: u8,
}

impl Harq {
    /// From these processes; those beyond [`HARQ_MAX`] are left out.
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

/// Who wants to hear of a UE (§3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// The flow whose server asks: where notifications go.
    pub flow: FlowId,
    /// The UE's IPv4 address.
    pub ue: [u8; 4],
    /// Until when; none for until the end. A time that has passed ends it.
    pub until: Option<Instant>,
}

/// Why bytes are not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// No JSON, or none of this shape.
    Malformed,
    /// A value that no LTE cell has.
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

/// The IPv4 address of a UE: that which captures show.
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

/// A packet with such bytes in it, to or from the server of a flow.
pub fn packet(cx: &mut Cx<'_>, flow: FlowId, bytes: Vec<u8>) -> PacketRef {
    let payload = Payload::Bytes(bytes.into());
    // Downlink data and its drops are the flow's own; what the edge says of it is neither.
    let packet = Packet::new(flow, Direction::Uplink, Header::Signalling, payload, cx.now);
    cx.pool.insert(packet)
}
