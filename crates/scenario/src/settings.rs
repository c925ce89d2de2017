//! The keys of each variant of a choice, so that a key of another variant can be explained.
//!
//! serde passes the fields of a struct only to the deserializer that reads it. [`keys`] is such a
//! deserializer: it reads nothing and returns the fields. A choice lists the keys of its variants as its
//! expected values; see `tagged!` in [`crate::format`].

use core::fmt;

use serde::de::{self, DeserializeOwned, Deserializer, Visitor};
use serde::forward_to_deserialize_any;

/// The keys of a struct, in the order of its fields; empty for other types.
pub(crate) fn keys<T: DeserializeOwned>() -> &'static [&'static str] {
    T::deserialize(Fields).err().map_or(&[], |Found(fields)| fields)
}

/// One line of a choice's expected values: a variant and its keys.
pub(crate) fn write_variant(f: &mut fmt::Formatter<'_>, variant: &str, keys: &[&str]) -> fmt::Result {
    writeln!(f, "{variant} {}", keys.join(" "))
}

/// The keys of a variant, from the lines of [`write_variant`].
pub(crate) fn keys_of<'a>(variant: &str, lines: &'a str) -> Vec<&'a str> {
    let keys = lines.lines().find_map(|line| line.strip_prefix(variant)?.strip_prefix(' '));
    keys.map_or(Vec::new(), |keys| keys.split(' ').collect())
}

/// The variants that have this key, from the same lines.
pub(crate) fn variants_with<'a>(key: &str, lines: &'a str) -> Vec<&'a str> {
    let has = |line: &&str| line.split(' ').skip(1).any(|known| known == key);
    lines.lines().filter(has).filter_map(|line| line.split(' ').next()).collect()
}

/// Returns the fields of the struct that is read from it, as an error.
struct Fields;

#[derive(Debug)]
struct Found(&'static [&'static str]);

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(", "))
    }
}
impl core::error::Error for Found {}

impl de::Error for Found {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self(&[])
    }
}

impl<'de> Deserializer<'de> for Fields {
    type Error = Found;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Found> {
        Err(Found(&[]))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Found> {
        Err(Found(fields))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Codel, Mobility, RandomWaypoint};

    #[test]
    fn a_struct_has_keys_and_a_choice_has_none() {
        assert_eq!(keys::<Codel>(), ["target", "interval", "ecn"]);
        assert_eq!(keys::<RandomWaypoint>(), ["area", "speed", "pause"]);
        assert!(keys::<Mobility>().is_empty());
        assert!(keys::<u8>().is_empty());
    }

    #[test]
    fn variants_are_found_by_their_keys() {
        let lines = "static \nline heading speed\nrandom-waypoint area speed\n";
        assert_eq!(variants_with("speed", lines), ["line", "random-waypoint"]);
        assert!(variants_with("sped", lines).is_empty());
        assert!(variants_with("line", lines).is_empty());
    }

    #[test]
    fn a_variant_has_the_keys_of_its_line() {
        let lines = "line-up a\nstatic \nline heading speed\n";
        assert_eq!(keys_of("line", lines), ["heading", "speed"]);
        assert_eq!((keys_of("static", lines), keys_of("other", lines)), (vec![""], vec![]));
    }
}
