//! The options of Multipath TCP as bytes (RFC 8684 §3), padded to 32-bit words with NOPs.

use airlane_core::{DataMapping, MptcpOption};

use crate::TcpOption;

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
