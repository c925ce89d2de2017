//! The options of Multipath TCP in scripts: their keys have names, and data is numbered from the initial data sequence
//! numbers that follow from the keys.

use std::collections::BTreeMap;

use airlane_core::{DataMapping, MptcpOption, TcpFlags};
use sha2::{Digest, Sha256};

/// An option of Multipath TCP as a script writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Multipath {
    /// MP_CAPABLE.
    Capable {
        /// Its version is 1, and its flags ask for HMAC-SHA256 without extensibility (RFC 8684 §3.1).
        acceptable: bool,
        /// Its keys: names, and values that the script gives them.
        keys: Vec<(String, Option<u64>)>,
        /// Bytes of the data that it maps.
        length: Option<u16>,
    },
    /// The data sequence signal, without a checksum.
    Signal {
        /// The data acknowledgment.
        ack: Option<DataNumber>,
        /// Data sequence number, subflow sequence number and length of the mapping.
        mapping: Option<(DataNumber, u32, u16)>,
        /// The flag DATA_FIN.
        fin: bool,
    },
}

/// A data sequence number, relative to the initial one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataNumber {
    /// Bits of the field: 32 or 64.
    pub bits: u8,
    /// The number.
    pub value: u64,
}

/// The keys of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keys {
    names: BTreeMap<String, u64>,
    own: Option<u64>,
    peer: Option<u64>,
}

/// The 64 rightmost bits of the hash of a key (RFC 8684 §3.1).
fn initial(key: Option<u64>) -> u64 {
    let Some(key) = key else { return 0 };
    let hash: [u8; 32] = Sha256::digest(key.to_be_bytes()).into();
    u64::from_be_bytes(core::array::from_fn(|i| hash[24 + i]))
}

impl Keys {
    /// The key with this name, which the script may give a value.
    fn key(&mut self, (name, value): &(String, Option<u64>)) -> Result<u64, String> {
        if let Some(value) = value {
            self.names.insert(name.clone(), *value);
        }
        self.names.get(name).copied().ok_or_else(|| format!("the key {name:?}, which has no value yet"))
    }

    /// The option of a segment that arrives; none if the host must ignore it.
    ///
    /// # Errors
    /// If a key has no value.
    pub(crate) fn arriving(
        &mut self,
        stated: &Multipath,
        flags: TcpFlags,
    ) -> Result<Option<MptcpOption>, String> {
        match stated {
            Multipath::Capable { acceptable, keys, length } => {
                let values = keys.iter().map(|key| self.key(key)).collect::<Result<Vec<_>, _>>()?;
                let option = match (values.as_slice(), length) {
                    ([], _) => MptcpOption::CapableSyn,
                    ([key], _) => MptcpOption::CapableSynAck(*key),
                    ([a, b, ..], None) => MptcpOption::CapableAck([*a, *b]),
                    ([a, b, ..], Some(length)) => MptcpOption::CapableData([*a, *b], *length),
                };
                let fits = flags.has(TcpFlags::SYN) != (values.len() > 1);
                if !acceptable || !fits {
                    return Ok(None);
                }
                if let Some(key) = values.first() {
                    self.peer.get_or_insert(*key);
                }
                Ok(Some(option))
            }
            Multipath::Signal { ack, mapping, fin } => {
                let Some(ack) = ack else {
                    return Err("a data sequence signal without an acknowledgment".to_owned());
                };
                let (own, peer) = (initial(self.own), initial(self.peer));
                let mapping = mapping.map(|(number, subflow_sequence, length)| DataMapping {
                    data_sequence: peer.wrapping_add(number.value),
                    subflow_sequence,
                    length,
                });
                let data_ack = own.wrapping_add(ack.value);
                Ok(Some(MptcpOption::Dss { data_ack, mapping, data_fin: *fin }))
            }
        }
    }

    /// Notes the keys of an option that the host has sent.
    pub(crate) fn note(&mut self, option: &MptcpOption) {
        match *option {
            MptcpOption::CapableSynAck(key) => self.own = Some(key),
            MptcpOption::CapableAck([own, peer]) | MptcpOption::CapableData([own, peer], _) => {
                (self.own, self.peer) = (Some(own), Some(peer));
            }
            _ => {}
        }
    }

    /// How the option that the host has sent differs from the one that the script states, if it does. A name without a value
    /// takes the value of the host.
    pub(crate) fn difference(
        &mut self,
        stated: Option<&Multipath>,
        sent: Option<&MptcpOption>,
    ) -> Option<String> {
        let (stated, sent) = match (stated, sent) {
            (None, None) => return None,
            (Some(stated), Some(sent)) => (stated, sent),
            (None, Some(sent)) => {
                return Some(format!("no option of Multipath TCP may be sent, not {sent:?}"));
            }
            (Some(stated), None) => return Some(format!("the option {stated:?} is missing")),
        };
        let same = match (stated, *sent) {
            (Multipath::Capable { keys, length, .. }, option) => {
                let (values, sent_length) = match option {
                    MptcpOption::CapableSyn => (vec![], None),
                    MptcpOption::CapableSynAck(key) => (vec![key], None),
                    MptcpOption::CapableAck(keys) => (keys.to_vec(), None),
                    MptcpOption::CapableData(keys, length) => (keys.to_vec(), Some(length)),
                    _ => return Some(format!("the option must be {stated:?}, not {option:?}")),
                };
                let named = keys.iter().zip(&values);
                let agree = named.fold(true, |agree, ((name, stated), value)| {
                    let known = *self.names.entry(name.clone()).or_insert(stated.unwrap_or(*value));
                    agree && known == *value
                });
                agree && keys.len() == values.len() && *length == sent_length
            }
            (
                Multipath::Signal { ack, mapping, fin },
                MptcpOption::Dss { data_ack, mapping: given, data_fin },
            ) => {
                let (own, peer) = (initial(self.own), initial(self.peer));
                let whole = |value| DataNumber { bits: 64, value };
                let found = given.map(|one| {
                    (whole(one.data_sequence.wrapping_sub(own)), one.subflow_sequence, one.length)
                });
                let found_ack = whole(data_ack.wrapping_sub(peer));
                if *ack != Some(found_ack) || *mapping != found || *fin != data_fin {
                    return Some(format!(
                        "the signal must have ack {ack:?}, mapping {mapping:?} and fin {fin}, not ack {found_ack:?}, \
                         mapping {found:?} and fin {data_fin}"
                    ));
                }
                true
            }
            _ => false,
        };
        (!same).then(|| format!("the option must be {stated:?}, not {sent:?}"))
    }
}
