//! Messages between eNBs and the mobile core, as bytes: end markers of GTP-U (TS 29.281) and the
//! path switch of S1AP (TS 36.413).
//!
//! Not included: other messages of S1AP, their encoding in ASN.1 PER, and retransmission by the
//! transport. The messages share the S1 link with the data; if its queue drops one, the node that
//! waits for the answer repeats its request.

use airlane_core::{Bytes, CellId, Cx, Direction, FlowId, Header, Packet, PacketRef, Payload, UeId};

use crate::gtp;

/// Version 1, protocol type GTP, no options (TS 29.281 v17.4 §5.1).
const GTP_FLAGS: u8 = 0x30;
/// Message type End Marker (TS 29.281 v17.4 §6.1).
const END_MARKER: u8 = 254;
/// id-PathSwitchRequest (TS 36.413 v17.0 §9.3.7).
const PATH_SWITCH_REQUEST: u8 = 3;
/// The choice of an S1AP-PDU (TS 36.413 v17.0 §9.3.2): a request, and its acknowledgement.
const INITIATING_MESSAGE: u8 = 0;
const SUCCESSFUL_OUTCOME: u8 = 1;
/// IPv4 header (RFC 791 §3.1), SCTP header and the head of a DATA chunk (RFC 9260 §3).
const SCTP: u64 = 20 + 12 + 16;

/// A message between an eNB and the mobile core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// End Marker (TS 29.281 v17.4 §7.3.2): the last packet in this tunnel.
    EndMarker {
        /// The UE of the tunnel.
        ue: UeId,
    },
    /// PATH SWITCH REQUEST (TS 36.413 v17.0 §9.1.5.8): the eNB serves the UE from now on.
    PathSwitchRequest {
        /// The UE.
        ue: UeId,
        /// The cell.
        cell: CellId,
    },
    /// PATH SWITCH REQUEST ACKNOWLEDGE (TS 36.413 v17.0 §9.1.5.9).
    PathSwitchRequestAcknowledge {
        /// The UE.
        ue: UeId,
    },
}

impl Message {
    /// The message as bytes, in network order. An end marker has its real format, with a tunnel
    /// identifier derived from the UE. A message of S1AP contains the choice of PDU, the procedure,
    /// and identifiers of four octets each; a real one has the same content in ASN.1 PER.
    #[must_use]
    pub fn encode(self) -> Vec<u8> {
        let mut out = Vec::with_capacity(12);
        match self {
            Self::EndMarker { ue } => {
                out.extend([GTP_FLAGS, END_MARKER, 0, 0]);
                out.extend(tunnel(ue).to_be_bytes());
            }
            Self::PathSwitchRequest { ue, cell } => {
                out.extend([INITIATING_MESSAGE, PATH_SWITCH_REQUEST]);
                out.extend(ue.0.to_be_bytes());
                out.extend(cell.0.to_be_bytes());
            }
            Self::PathSwitchRequestAcknowledge { ue } => {
                out.extend([SUCCESSFUL_OUTCOME, PATH_SWITCH_REQUEST]);
                out.extend(ue.0.to_be_bytes());
            }
        }
        out
    }

    /// Decodes a message; `None` if it is none of these.
    #[must_use]
    pub fn decode(payload: &Payload) -> Option<Self> {
        let Payload::Bytes(bytes) = payload else { return None };
        let number = |bytes: &[u8]| Some(u32::from_be_bytes(bytes.try_into().ok()?));
        match bytes.as_ref() {
            [GTP_FLAGS, END_MARKER, 0, 0, teid @ ..] => {
                Some(Self::EndMarker { ue: UeId(number(teid)?.checked_sub(1)?) })
            }
            [INITIATING_MESSAGE, PATH_SWITCH_REQUEST, ids @ ..] if ids.len() == 8 => {
                Some(Self::PathSwitchRequest {
                    ue: UeId(number(&ids[..4])?),
                    cell: CellId(number(&ids[4..])?),
                })
            }
            [SUCCESSFUL_OUTCOME, PATH_SWITCH_REQUEST, ue @ ..] => {
                Some(Self::PathSwitchRequestAcknowledge { ue: UeId(number(ue)?) })
            }
            _ => None,
        }
    }

    /// The packet that carries it. It belongs to no flow.
    pub fn packet(self, cx: &mut Cx<'_>) -> PacketRef {
        let (direction, size) = match self {
            // Outer headers and the mandatory part of the GTP-U header, without payload.
            Self::EndMarker { .. } => (Direction::Downlink, gtp::OVERHEAD),
            Self::PathSwitchRequest { .. } => (Direction::Uplink, Bytes(SCTP + 10)),
            Self::PathSwitchRequestAcknowledge { .. } => (Direction::Downlink, Bytes(SCTP + 6)),
        };
        let payload = Payload::Bytes(self.encode().into());
        let mut packet = Packet::new(FlowId(u32::MAX), direction, Header::Signalling, payload, cx.now);
        packet.size = size;
        cx.pool.insert(packet)
    }
}

/// The identifier of a UE's tunnel; 0 is reserved (TS 29.281 v17.4 §5.1).
const fn tunnel(ue: UeId) -> u32 {
    ue.0 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written() {
        let (ue, cell) = (UeId(70_000), CellId(3));
        for message in [
            Message::EndMarker { ue },
            Message::PathSwitchRequest { ue, cell },
            Message::PathSwitchRequestAcknowledge { ue },
        ] {
            let bytes = message.encode();
            for short in 0..bytes.len() {
                assert_eq!(Message::decode(&Payload::Bytes(bytes[..short].into())), None);
            }
            assert_eq!(Message::decode(&Payload::Bytes(bytes.into())), Some(message));
        }
        // As in a capture of a real S1-U interface.
        assert_eq!(Message::EndMarker { ue: UeId(0) }.encode(), [0x30, 0xfe, 0, 0, 0, 0, 0, 1]);
        assert_eq!(Message::decode(&Payload::Length(8)), None);
    }
}
