//! The keys of each variant of a choice, so that a key of another variant can be explained.
//!
//! serde passes the fields of a struct only to the deserializer that reads it. [`keys`] is such a
//! deserializer: it reads nothing and returns the fields. A choice lists the keys of its variants as its
//! expected values; see [`tagged!`](crate::tagged!).

use core::fmt;

use serde::de::{self, DeserializeOwned, Deserializer, Visitor};
use serde::forward_to_deserialize_any;

/// The keys of a struct, in the order of its fields; empty for other types.
#[must_use]
pub fn keys<T: DeserializeOwned>() -> &'static [&'static str] {
    T::deserialize(Fields).err().map_or(&[], |Found(fields)| fields)
}

/// One line of a choice's expected values: a variant and its keys.
///
/// # Errors
/// If the text cannot be written.
pub fn write_variant(f: &mut fmt::Formatter<'_>, variant: &str, keys: &[&str]) -> fmt::Result {
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

/// Makes an enum deserializable from a table whose tag key names the variant, or from the bare name.
#[macro_export]
macro_rules! tagged {
    ($choice:ident by $tag:literal { $($name:literal => $variant:ident $(($settings:ty))?),+ $(,)? }) => {
        impl<'de> $crate::serde::Deserialize<'de> for $choice {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct Choice;
                impl<'de> $crate::serde::de::Visitor<'de> for Choice {
                    type Value = $choice;
                    fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                        $($crate::write_variant(f, $name, $crate::tagged!(@keys $($settings)?))?;)+
                        Ok(())
                    }
                    fn visit_enum<A: $crate::serde::de::EnumAccess<'de>>(self, access: A) -> Result<$choice, A::Error> {
                        let (name, variant) = access.variant::<String>()?;
                        match name.as_str() {
                            $($name => $crate::tagged!(@read variant, $choice, $variant $(, $settings)?),)+
                            _ => Err($crate::serde::de::Error::unknown_variant(&name, &[$($name),+])),
                        }
                    }
                }
                from.deserialize_enum(concat!("tag:", $tag), &[$($name),+], Choice)
            }
        }
    };
    (@keys $settings:ty) => { $crate::keys::<$settings>() };
    (@keys) => { &[] };
    (@read $access:ident, $choice:ident, $variant:ident, $settings:ty) => {
        $crate::serde::de::VariantAccess::newtype_variant::<$settings>($access).map($choice::$variant)
    };
    (@read $access:ident, $choice:ident, $variant:ident) => {
        $crate::serde::de::VariantAccess::unit_variant($access).map(|()| $choice::$variant)
    };
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
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only its keys are read")]
    struct Codel {
        target: u8,
        interval: u8,
    }

    #[derive(Debug)]
    #[expect(dead_code, reason = "only its keys are read")]
    enum Discipline {
        DropTail,
        Codel(Codel),
    }
    tagged!(Discipline by "kind" { "drop-tail" => DropTail, "codel" => Codel(Codel) });

    #[test]
    fn a_struct_has_keys_and_a_choice_has_none() {
        assert_eq!(keys::<Codel>(), ["target", "interval"]);
        assert!(keys::<Discipline>().is_empty());
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
