//! Explicit congestion notification of TCP: off, classic, or accurate.

use core::fmt;

use airlane_transport::EcnConfig;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

const ACCURATE: &str = "accurate";
const EXPECTED: &str = "true, false or \"accurate\"";

/// Which ECN an endpoint requests. In a file it is false, true or "accurate".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// None. An end that is asked agrees to classic ECN.
    Off,
    /// Classic ECN (RFC 3168).
    Classic,
    /// Accurate ECN (RFC 9768), or what the other end knows.
    Accurate,
}

impl Ecn {
    /// TCP's configuration.
    pub const fn config(self) -> EcnConfig {
        match self {
            Self::Off => EcnConfig::PASSIVE,
            Self::Classic => EcnConfig::CLASSIC,
            Self::Accurate => EcnConfig::ACCURATE,
        }
    }
}

impl Serialize for Ecn {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => to.serialize_bool(false),
            Self::Classic => to.serialize_bool(true),
            Self::Accurate => to.serialize_str(ACCURATE),
        }
    }
}

impl<'de> Deserialize<'de> for Ecn {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Read;
        impl de::Visitor<'_> for Read {
            type Value = Ecn;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(EXPECTED)
            }
            fn visit_bool<E: de::Error>(self, on: bool) -> Result<Ecn, E> {
                Ok(if on { Ecn::Classic } else { Ecn::Off })
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Ecn, E> {
                if text == ACCURATE {
                    Ok(Ecn::Accurate)
                } else {
                    Err(E::invalid_value(de::Unexpected::Str(text), &self))
                }
            }
        }
        from.deserialize_any(Read)
    }
}

impl JsonSchema for Ecn {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Ecn".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "enum": [false, true, ACCURATE] })
    }
}
