//! The options of Multipath TCP as bytes (RFC 8684 §3), padded to 32-bit words with NOPs.

use airlane_core::{DataMapping, MptcpOption};

use crate::ip::{array, word};
use crate::{Tcp, TcpOption};

/// Subtypes (RFC 8684 §7.2, table 3).
const MP_CAPABLE: u8 = 0;
const MP_JOIN: u8 = 1;
const DSS: u8 = 2;
const ADD_ADDR: u8 = 3;
const REMOVE_ADDR: u8 = 4;
const MP_PRIO: u8 = 5;
const MP_FASTCLOSE: u8 = 7;
/// Version 1 (RFC 8684 §3.1).
const VERSION: u8 = 1;
/// The flag of MP_CAPABLE for HMAC-SHA256 (RFC 8684 §3.1: H).
const HMAC_SHA256: u8 = 0x01;
/// The flag of MP_JOIN and MP_PRIO for a backup (RFC 8684 §3.2 and §3.3.8: B).
const BACKUP: u8 = 0x01;
/// The flag of ADD_ADDR for an echo (RFC 8684 §3.4.1: E).
const ECHO: u8 = 0x01;
/// Flags of the data sequence signal (RFC 8684 §3.3): DATA_FIN, data sequence number of 64 bits and present, data
/// acknowledgment of 64 bits and present.
const DATA_FIN: u8 = 0x10;
const SEQUENCE_64: u8 = 0x08 | 0x04;
const ACK_64: u8 = 0x02 | 0x01;
/// MP_CAPABLE with the keys of both ends and the length of the data (RFC 8684 §3.1), without kind and length; a checksum
/// may follow.
const CAPABLE_DATA_LEN: usize = 20;

/// The place of the data of a segment from outside, as its options state it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataPlace {
    /// It is the begin of the data: MP_CAPABLE with a length.
    First,
    /// A mapping, of which the segment may be a part.
    Mapped(DataMapping),
}

/// Reads the place of a segment's data from its options; none without one, or with a data sequence number of 32 bits, which
/// needs those before it.
#[must_use]
pub fn data_place(tcp: &Tcp<'_>) -> Option<DataPlace> {
    tcp.options().map_while(Result::ok).find_map(|option| match option {
        TcpOption::Other(MptcpOption::KIND, data) => place_in(data),
        _ => None,
    })
}

fn place_in(data: &[u8]) -> Option<DataPlace> {
    match *data {
        [subtype, ..] if subtype >> 4 == MP_CAPABLE => {
            (data.len() >= CAPABLE_DATA_LEN).then_some(DataPlace::First)
        }
        [subtype, flags, ref rest @ ..] if subtype >> 4 == DSS && flags & SEQUENCE_64 == SEQUENCE_64 => {
            let acknowledgment = match flags & ACK_64 {
                ACK_64 => 8,
                1 => 4,
                _ => 0,
            };
            let mapping = rest.get(acknowledgment..).filter(|mapping| mapping.len() >= 14)?;
            Some(DataPlace::Mapped(DataMapping {
                data_sequence: u64::from_be_bytes(array(mapping, 0)),
                subflow_sequence: u32::from_be_bytes(array(mapping, 8)),
                length: word(mapping, 12),
            }))
        }
        _ => None,
    }
}

/// Appends the option.
pub(crate) fn emit(option: &MptcpOption, out: &mut Vec<u8>) {
    let mut data = Vec::with_capacity(24);
    match *option {
        MptcpOption::CapableSyn => data.extend([MP_CAPABLE << 4 | VERSION, HMAC_SHA256]),
        MptcpOption::CapableSynAck(key) => {
            data.extend([MP_CAPABLE << 4 | VERSION, HMAC_SHA256]);
            data.extend(key.to_be_bytes());
        }
        MptcpOption::CapableAck(keys) => {
            data.extend([MP_CAPABLE << 4 | VERSION, HMAC_SHA256]);
            data.extend(keys.iter().flat_map(|key| key.to_be_bytes()));
        }
        MptcpOption::CapableData(keys, length) => {
            data.extend([MP_CAPABLE << 4 | VERSION, HMAC_SHA256]);
            data.extend(keys.iter().flat_map(|key| key.to_be_bytes()));
            data.extend(length.to_be_bytes());
        }
        MptcpOption::JoinSyn { address, backup, token, nonce } => {
            data.extend([MP_JOIN << 4 | flag(backup), address]);
            data.extend(token.to_be_bytes());
            data.extend(nonce.to_be_bytes());
        }
        MptcpOption::JoinSynAck { address, backup, hmac, nonce } => {
            data.extend([MP_JOIN << 4 | flag(backup), address]);
            data.extend(hmac.to_be_bytes());
            data.extend(nonce.to_be_bytes());
        }
        MptcpOption::JoinAck(hmac) => {
            data.extend([MP_JOIN << 4, 0]);
            data.extend(hmac);
        }
        MptcpOption::Dss { data_ack, mapping, data_fin } => dss(data_ack, mapping, data_fin, &mut data),
        MptcpOption::AddAddr { id, address, hmac } => {
            data.extend([ADD_ADDR << 4 | if hmac.is_none() { ECHO } else { 0 }, id]);
            data.extend(address);
            data.extend(hmac.iter().flat_map(|hmac| hmac.to_be_bytes()));
        }
        MptcpOption::RemoveAddr(id) => data.extend([REMOVE_ADDR << 4, id]),
        MptcpOption::Prio { backup } => data.push(MP_PRIO << 4 | flag(backup)),
        MptcpOption::FastClose(key) => {
            data.extend([MP_FASTCLOSE << 4, 0]);
            data.extend(key.to_be_bytes());
        }
    }
    let length = 2 + data.len();
    TcpOption::Other(MptcpOption::KIND, &data).emit(out);
    (length..option.padded_len() as usize).for_each(|_| TcpOption::Nop.emit(out));
}

const fn flag(backup: bool) -> u8 {
    if backup { BACKUP } else { 0 }
}

fn dss(data_ack: u64, mapping: Option<DataMapping>, data_fin: bool, data: &mut Vec<u8>) {
    let of_mapping = if mapping.is_some() { SEQUENCE_64 } else { 0 };
    let fin = if data_fin { DATA_FIN } else { 0 };
    data.extend([DSS << 4, ACK_64 | of_mapping | fin]);
    data.extend(data_ack.to_be_bytes());
    if let Some(DataMapping { data_sequence, subflow_sequence, length }) = mapping {
        data.extend(data_sequence.to_be_bytes());
        data.extend(subflow_sequence.to_be_bytes());
        data.extend(length.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(option: &MptcpOption) -> Option<DataPlace> {
        let mut options = Vec::new();
        emit(option, &mut options);
        let tcp = Tcp {
            source_port: 1,
            destination_port: 2,
            sequence: 3,
            acknowledgment: 4,
            flags: 0x10,
            window: 5,
            checksum: 0,
            urgent: 0,
            options: &options,
        };
        data_place(&tcp)
    }

    #[test]
    fn the_place_of_data_is_read_as_it_was_written() {
        let mapping = DataMapping { data_sequence: u64::MAX - 7, subflow_sequence: 1_000_001, length: 1_420 };
        let dss = |mapping| MptcpOption::Dss { data_ack: 77, mapping, data_fin: false };
        assert_eq!(place(&dss(Some(mapping))), Some(DataPlace::Mapped(mapping)));
        assert_eq!(place(&dss(None)), None);
        assert_eq!(place(&MptcpOption::CapableData([1, 2], 1_400)), Some(DataPlace::First));
        for without in [MptcpOption::CapableSyn, MptcpOption::CapableAck([1, 2]), MptcpOption::RemoveAddr(3)]
        {
            assert_eq!(place(&without), None, "{without:?}");
        }
    }

    #[test]
    fn an_option_with_a_short_acknowledgment_is_read_and_a_damaged_one_is_not() {
        // RFC 8684 figure 9: DSS with an acknowledgment of 4 and a data sequence number of 8 bytes.
        let mut data = vec![0x20, 0x0d, 0, 0, 0, 1];
        data.extend(9_u64.to_be_bytes());
        data.extend([0, 0, 0, 5, 0, 100]);
        let mapping = DataMapping { data_sequence: 9, subflow_sequence: 5, length: 100 };
        assert_eq!(place_in(&data), Some(DataPlace::Mapped(mapping)));
        assert_eq!(place_in(&data[..data.len() - 1]), None);
        assert_eq!(place_in(&[0x20, 0x05, 0, 0, 0, 1, 0, 0, 0, 2]), None, "a sequence number of 4 bytes");
        assert_eq!(place_in(&[]), None);
    }
}
