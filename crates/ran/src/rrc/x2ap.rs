//! Messages of X2AP (TS 36.423) for a handover, except SN STATUS TRANSFER, as bytes.

use airlane_core::{CellId, UeId};

/// A message between two eNBs about a UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The kind of message.
    pub kind: MessageKind,
    /// The UE.
    pub ue: UeId,
    /// The number of the UE's handover: the eNB UE X2AP IDs, which are new for each.
    pub attempt: u32,
    /// The source cell.
    pub source: CellId,
    /// The target cell.
    pub target: CellId,
}

/// Messages by choice of X2AP-PDU and elementary procedure (TS 36.423 v17.0 §9.3.3, §9.3.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// HANDOVER REQUEST (§9.1.1.1).
    HandoverRequest,
    /// HANDOVER REQUEST ACKNOWLEDGE (§9.1.1.2).
    HandoverRequestAcknowledge,
    /// HANDOVER PREPARATION FAILURE (§9.1.1.3).
    HandoverPreparationFailure,
    /// UE CONTEXT RELEASE (§9.1.1.5).
    UeContextRelease,
}

impl MessageKind {
    const ALL: [Self; 4] = [
        Self::HandoverRequest,
        Self::HandoverRequestAcknowledge,
        Self::HandoverPreparationFailure,
        Self::UeContextRelease,
    ];

    /// The choice (0 initiating message, 1 successful, 2 unsuccessful outcome) and the procedure (0
    /// handover preparation, 5 UE context release).
    const fn codes(self) -> [u8; 2] {
        match self {
            Self::HandoverRequest => [0, 0],
            Self::HandoverRequestAcknowledge => [1, 0],
            Self::HandoverPreparationFailure => [2, 0],
            Self::UeContextRelease => [0, 5],
        }
    }
}

impl Message {
    /// Choice and procedure, one octet each, then four identifiers of four octets in network order. A
    /// real message has the same content, and more, in ASN.1 PER.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = self.kind.codes().to_vec();
        for number in [self.ue.0, self.attempt, self.source.0, self.target.0] {
            out.extend(number.to_be_bytes());
        }
        out
    }

    /// Decodes a message; `None` if it is none of these, or of another length.
    #[must_use]
    pub fn decode(message: &[u8]) -> Option<Self> {
        let (codes, rest) = message.split_first_chunk::<2>()?;
        let kind = MessageKind::ALL.into_iter().find(|kind| kind.codes() == *codes)?;
        let (numbers, []) = rest.as_chunks::<4>() else { return None };
        let &[ue, attempt, source, target] = numbers else { return None };
        let number = u32::from_be_bytes;
        Some(Self {
            kind,
            ue: UeId(number(ue)),
            attempt: number(attempt),
            source: CellId(number(source)),
            target: CellId(number(target)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written() {
        for kind in MessageKind::ALL {
            let message =
                Message { kind, ue: UeId(70_000), attempt: 3, source: CellId(1), target: CellId(259) };
            let bytes = message.encode();
            assert_eq!(Message::decode(&bytes), Some(message));
            assert_eq!(Message::decode(&bytes[1..]), None);
            assert_eq!(Message::decode(&bytes[..17]), None);
        }
        assert_eq!(Message::decode(&[]), None);
    }
}
