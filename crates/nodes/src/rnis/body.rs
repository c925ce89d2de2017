//! Bodies of GS MEC 012 V2.1.1, by its OpenAPI (etsi-forge/mec.gs012-rnis-api): what subscriptions and queries
//! share.

use serde::{Deserialize, Deserializer, Serialize};

/// A member that may be missing, but not null.
pub(super) fn some<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

/// An integer of JSON Schema: 2.0 and 2e3 are integers, and there is no largest one. Integers beyond 64 bits become the
/// nearest possible one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct Integer(pub(super) i64);

impl<'de> Deserialize<'de> for Integer {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Integer;
            fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str("an integer")
            }
            fn visit_i64<E>(self, value: i64) -> Result<Integer, E> {
                Ok(Integer(value))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Integer, E> {
                Ok(Integer(i64::try_from(value).unwrap_or(i64::MAX)))
            }
            fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Integer, E> {
                // The cast saturates.
                if value.fract() == 0.0 {
                    Ok(Integer(value as i64))
                } else {
                    Err(E::custom("not an integer"))
                }
            }
        }
        from.deserialize_any(Visitor)
    }
}

/// A time since the beginning of 1970, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TimeStamp {
    pub(super) seconds: Integer,
    pub(super) nano_seconds: Integer,
}

impl TimeStamp {
    pub(super) fn from_nanos(nanos: u64) -> Self {
        let [seconds, part] = [nanos / 1_000_000_000, nanos % 1_000_000_000].map(|n| Integer(n as i64));
        Self { seconds, nano_seconds: part }
    }
}

/// Type 1 of an identifier: the IPv4 address of a UE.
pub(super) const UE_IPV4_ADDRESS: i64 = 1;

/// An identifier of a UE or a flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AssociateId {
    #[serde(rename = "type", default, deserialize_with = "some", skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<IdType>,
    #[serde(default, deserialize_with = "some", skip_serializing_if = "Option::is_none")]
    pub(super) value: Option<String>,
}

/// A member of an enumeration of integers.
macro_rules! one_of {
    ($(#[$doc:meta])* $name:ident: $($value:literal)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
        pub(super) struct $name(pub(super) i64);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let Integer(value) = Integer::deserialize(from)?;
                if [$($value),*].contains(&value) {
                    return Ok(Self(value));
                }
                Err(serde::de::Error::custom(concat!("none of", $(" ", $value),*)))
            }
        }
    };
}
one_of! {
    /// The kind of an identifier.
    IdType: 0 1 2 3 4
}
one_of! {
    /// The trigger of a measurement report in E-UTRA.
    Trigger: 0 1 2 3 4 5 10 11 12 13 14 15 20 21 30 31 40 41 42 50 51 60 61
}
one_of! {
    /// The trigger of a measurement report in NR.
    TriggerNr: 0 1 2 10 11 12 13 14 15 20 21 30 31
}

/// A mobile network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Plmn {
    pub(super) mcc: String,
    pub(super) mnc: String,
}

/// A cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Ecgi {
    pub(super) cell_id: String,
    pub(super) plmn: Plmn,
}

/// The network of all cells: the test network (ITU-T E.212, shared codes), as in the records.
pub(super) fn plmn() -> Plmn {
    Plmn { mcc: "001".to_owned(), mnc: "01".to_owned() }
}

/// A cell by its number.
pub(super) fn ecgi(cell: u32) -> Ecgi {
    Ecgi { cell_id: format!("{cell:07x}"), plmn: plmn() }
}

impl Ecgi {
    /// The number of the cell, if it is one of this network.
    pub(super) fn cell(&self) -> Option<u32> {
        cell_of(&self.cell_id).filter(|_| self.plmn == plmn())
    }
}

/// The number of a cell, from the 28 bits of its identity in hexadecimal.
pub(super) fn cell_of(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    let is_hex = (1..=7).contains(&digits.len()) && digits.bytes().all(|one| one.is_ascii_hexdigit());
    u32::from_str_radix(digits, 16).ok().filter(|_| is_hex)
}

/// The identifier of a UE.
pub(super) fn associate_id([a, b, c, d]: [u8; 4]) -> AssociateId {
    AssociateId { kind: Some(IdType(UE_IPV4_ADDRESS)), value: Some(format!("{a}.{b}.{c}.{d}")) }
}

impl AssociateId {
    /// The address of the UE, if this is an IPv4 address.
    pub(super) fn address(&self) -> Option<[u8; 4]> {
        let address: core::net::Ipv4Addr = self.value.as_ref()?.parse().ok()?;
        (self.kind == Some(IdType(UE_IPV4_ADDRESS))).then_some(address.octets())
    }
}
