//! Deserializes typed values from a [`Tree`], so that every error names its key, line and value.
//!
//! It implements two conventions of the format. An unknown key is an error that names the most
//! similar known key. A choice with settings, such as `app = { kind = "cbr", rate = "1 Mbit/s" }`,
//! is a table whose tag key (`kind`, `mode`, ...) names the variant; without settings the bare name
//! is sufficient, as in `path_loss = "friis"`. Types that are such choices announce their tag key
//! to [`serde::Deserializer::deserialize_enum`] as the name `tag:kind`; see
//! [`tagged!`](crate::tagged!).

use core::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeSeed, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use crate::choice::{keys_of, variants_with};
use crate::error::SettingsError;
use crate::tree::{OVERRIDE, Tree, Value};

/// Separates the message from the help in the text of a custom error.
pub(crate) const HELP: char = '\u{1e}';

/// The help if a table is found instead of a list of tables, a common mistake.
const TABLES: &str = "a list of tables: write the section in double brackets, or its value as [{ ... }]";

/// The help for a list of given length: all of these are positions.
const PLACE: &str = "two lengths, such as [\"100 m\", \"0 m\"]";

/// Prefix of an enum's name, followed by the key that names the variant.
const TAG_PREFIX: &str = "tag:";

/// Deserializes a `T` from the tree.
///
/// # Errors
/// The first error, with key, line, value and the correct form.
pub fn read<T: de::DeserializeOwned>(tree: &Tree) -> Result<T, SettingsError> {
    T::deserialize(Reader(tree)).map_err(|e| {
        let mut error = *e.0;
        error.line = error.line.filter(|line| *line != OVERRIDE);
        error
    })
}

/// An error that is passed upwards; each level adds its key in front.
pub(crate) struct ReadError(Box<SettingsError>);

impl ReadError {
    fn new(message: impl Into<Box<str>>, help: impl Into<Box<str>>) -> Self {
        Self(Box::new(SettingsError::new("", message, help)))
    }

    /// Adds the place: the innermost line is kept, the path grows outwards.
    fn at(mut self, key: &str, tree: &Tree) -> Self {
        let error = &mut self.0;
        if error.key.is_empty() {
            error.value = tree.written().into();
            error.key = key.into();
        } else {
            error.key = format!("{key}.{}", error.key).into();
        }
        if error.line.is_none() && tree.line != 0 {
            error.line = Some(tree.line);
        }
        self
    }
}

impl fmt::Debug for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
impl core::error::Error for ReadError {}

impl de::Error for ReadError {
    fn custom<T: fmt::Display>(text: T) -> Self {
        let text = text.to_string();
        let (message, help) = text.split_once(HELP).unwrap_or((&text, ""));
        Self::new(message, help)
    }

    fn invalid_type(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::new(format!("expected {expected}, found {found}"), "")
    }

    fn invalid_value(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        // Serde names the Rust type into which a number did not fit.
        let most = match expected.to_string().as_str() {
            "u8" => u64::from(u8::MAX),
            "u16" => u64::from(u16::MAX),
            "u32" => u64::from(u32::MAX),
            expected => return Self::new(format!("expected {expected}, found {found}"), ""),
        };
        Self::new("out of range", format!("it must be a whole number of at most {most}"))
    }

    fn missing_field(field: &'static str) -> Self {
        let error = SettingsError::new(field, format!("`{field}` is missing"), format!("add {field} = ..."));
        Self(Box::new(error))
    }
}

/// The help for an `unknown` name: the most similar of `known`.
#[must_use]
pub fn nearest_help(unknown: &str, known: &[&str]) -> String {
    let small = unknown.to_lowercase();
    let distance = |name: &str| strsim::damerau_levenshtein(&small, &name.to_lowercase());
    let list = known.join(", ");
    // With one wrong letter, a name of the same length is more likely than a shorter one.
    let key = |name: &&&str| {
        let distance = distance(name);
        let other_length = distance == 1 && name.len() != unknown.len();
        (distance, other_length, name.len())
    };
    match known.iter().min_by_key(key) {
        Some(best) if distance(best) <= unknown.len().max(best.len()) / 2 => {
            format!("did you mean `{best}`? Known: {list}")
        }
        Some(_) => format!("known: {list}"),
        None => "no key is allowed here".to_owned(),
    }
}

struct Reader<'a>(&'a Tree);

impl<'a> Reader<'a> {
    fn mismatch(&self, expected: &str) -> ReadError {
        ReadError::new(format!("wrong type: found {}", self.0.kind()), format!("expected {expected}"))
    }

    /// Deserializes a table as a struct with these fields.
    fn fields<'de, V: Visitor<'de>>(
        tree: &'a Tree,
        tag: Option<&'a str>,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let entries: &[(String, Tree)] = match &tree.value {
            Value::Table(entries) => entries,
            // A bare name represents a variant without settings.
            Value::Text(_) if tag.is_some() => &[],
            _ => return Err(Reader(tree).mismatch("a table, such as { key = ... }")),
        };
        for (key, value) in entries {
            let is_tag = tag == Some(key.as_str());
            if !is_tag && !known.contains(&key.as_str()) {
                let choice = tag.and_then(|tag| Some((tag, tree.get(tag)?.text()?)));
                let of = choice.map(|(tag, name)| format!(" for {tag} = \"{name}\"")).unwrap_or_default();
                let what = format!("unknown key `{key}`{of}");
                return Err(ReadError::new(what, nearest_help(key, known)).at(key, value));
            }
        }
        visitor.visit_map(Entries { entries: entries.iter(), tag, pending: None })
    }
}

impl<'de> de::Deserializer<'de> for Reader<'_> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match &self.0.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(b) => visitor.visit_bool(*b),
            Value::Integer(i) => visitor.visit_i64(*i),
            Value::Float(x) => visitor.visit_f64(*x),
            Value::Text(s) => visitor.visit_str(s),
            Value::Array(items) => visitor.visit_seq(Items { items: items.iter().enumerate() }),
            Value::Table(entries) => {
                visitor.visit_map(Entries { entries: entries.iter(), tag: None, pending: None })
            }
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match &self.0.value {
            Value::Bool(b) => visitor.visit_bool(*b),
            _ => Err(self.mismatch("true or false")),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match &self.0.value {
            Value::Text(s) => visitor.visit_str(s),
            _ => Err(self.mismatch("a string in quotes")),
        }
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match &self.0.value {
            Value::Integer(i) if *i >= 0 => visitor.visit_u64(*i as u64),
            Value::Integer(_) | Value::Float(_) => {
                Err(ReadError::new("out of range", "it must be a whole number of 0 or more"))
            }
            _ => Err(self.mismatch("a whole number of 0 or more")),
        }
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_u64(visitor)
    }
    fn deserialize_u16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_u64(visitor)
    }
    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_u64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match &self.0.value {
            Value::Integer(i) => visitor.visit_f64(*i as f64),
            Value::Float(x) if x.is_finite() => visitor.visit_f64(*x),
            _ => Err(self.mismatch("a finite number")),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match &self.0.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match &self.0.value {
            Value::Array(items) => visitor.visit_seq(Items { items: items.iter().enumerate() }),
            Value::Table(_) => Err(self.mismatch(TABLES)),
            _ => Err(self.mismatch(&format!("a list, such as [{}]", self.0.written()))),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, ReadError> {
        match &self.0.value {
            Value::Array(items) if items.len() == len => self.deserialize_seq(visitor),
            Value::Array(items) => {
                let message = format!("wrong length: found {}", counted(items.len()));
                Err(ReadError::new(message, format!("expected {PLACE}")))
            }
            _ => Err(self.mismatch(PLACE)),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        Self::fields(self.0, None, fields, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let tag = name.strip_prefix(TAG_PREFIX);
        let chosen = match (&self.0.value, tag) {
            (Value::Text(_), _) => self.0,
            // A choice with one setting, such as { frozen_after = "25 s" }.
            (Value::Table(entries), None) if entries.len() == 1 => {
                return one_setting(&entries[0], variants, visitor);
            }
            (Value::Table(_), Some(tag)) => self.0.get(tag).ok_or_else(|| {
                let error = SettingsError::new(tag, format!("`{tag}` is missing"), choices(variants));
                ReadError(Box::new(error))
            })?,
            _ => return Err(self.mismatch(&choices(variants))),
        };
        let own = !core::ptr::eq(chosen, self.0);
        let place = |e: ReadError| if own { e.at(tag.unwrap_or_default(), chosen) } else { e };
        let Some(variant) = chosen.text() else {
            return Err(place(Reader(chosen).mismatch(&choices(variants))));
        };
        if !variants.contains(&variant) {
            let what = format!("unknown value {variant:?}");
            return Err(place(ReadError::new(what, nearest_help(variant, variants))));
        }
        if let Some(tag) = tag {
            keys_of_others(self.0, (tag, variant), &visitor)?;
        }
        visitor.visit_enum(Chosen { variant, settings: Settings::Beside { tree: self.0, tag } })
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u128 f32 char str bytes byte_buf unit unit_struct newtype_struct
        tuple_struct map identifier ignored_any
    }
}

/// Rejects a key that the chosen variant does not have, if another variant has it. `expected` lists the keys of all
/// variants.
fn keys_of_others(
    tree: &Tree,
    (tag, chosen): (&str, &str),
    expected: &dyn de::Expected,
) -> Result<(), ReadError> {
    let Value::Table(entries) = &tree.value else { return Ok(()) };
    if entries.iter().all(|(key, _)| key == tag) {
        return Ok(());
    }
    let lines = expected.to_string();
    let own = keys_of(chosen, &lines);
    for (key, value) in entries.iter().filter(|(key, _)| key != tag && !own.contains(&key.as_str())) {
        let others = variants_with(key, &lines);
        if !others.is_empty() {
            let message = format!("not allowed with {tag} = {chosen:?}");
            let help = if let Some(within) = others.iter().find(|name| own.contains(name)) {
                format!("write it within `{within}`: {within} = {{ {key} = ... }}")
            } else {
                let quoted: Vec<_> = others.iter().map(|name| format!("{name:?}")).collect();
                format!("it needs {tag} = {}", either(&quoted))
            };
            return Err(ReadError::new(message, help).at(key, value));
        }
    }
    Ok(())
}

/// "1 entry", "3 entries".
fn counted(entries: usize) -> String {
    format!("{entries} {}", if entries == 1 { "entry" } else { "entries" })
}

/// "a, b or c".
fn either(names: &[String]) -> String {
    match names {
        [before @ .., last] if !before.is_empty() => format!("{} or {last}", before.join(", ")),
        _ => names.concat(),
    }
}

fn one_setting<'de, V: Visitor<'de>>(
    (key, value): &(String, Tree),
    variants: &[&str],
    visitor: V,
) -> Result<V::Value, ReadError> {
    if !variants.contains(&key.as_str()) {
        let error = ReadError::new(format!("unknown key `{key}`"), nearest_help(key, variants));
        return Err(error.at(key, value));
    }
    visitor.visit_enum(Chosen { variant: key, settings: Settings::Below { key, value } })
}

fn choices(variants: &[&str]) -> String {
    let quoted: Vec<_> = variants.iter().map(|v| format!("{v:?}")).collect();
    format!("one of {}", quoted.join(", "))
}

struct Entries<'a> {
    entries: core::slice::Iter<'a, (String, Tree)>,
    tag: Option<&'a str>,
    pending: Option<(&'a str, &'a Tree)>,
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = ReadError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ReadError> {
        for (key, value) in self.entries.by_ref() {
            if self.tag == Some(key.as_str()) {
                continue;
            }
            self.pending = Some((key, value));
            let name: StrDeserializer<'_, ReadError> = key.as_str().into_deserializer();
            return seed.deserialize(name).map(Some);
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, ReadError> {
        let (key, value) = self.pending.take().expect("serde asks for a value only after its key");
        seed.deserialize(Reader(value)).map_err(|e| e.at(key, value))
    }
}

struct Items<'a> {
    items: core::iter::Enumerate<core::slice::Iter<'a, Tree>>,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = ReadError;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, ReadError> {
        let Some((index, item)) = self.items.next() else { return Ok(None) };
        seed.deserialize(Reader(item)).map(Some).map_err(|e| e.at(&index.to_string(), item))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

struct Chosen<'a> {
    variant: &'a str,
    settings: Settings<'a>,
}

/// The place of a chosen variant's settings.
enum Settings<'a> {
    /// In the table that also has the tag.
    Beside { tree: &'a Tree, tag: Option<&'a str> },
    /// In the value of the key that names the variant.
    Below { key: &'a str, value: &'a Tree },
}

impl<'de, 'a> EnumAccess<'de> for Chosen<'a> {
    type Error = ReadError;
    type Variant = Settings<'a>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Settings<'a>), ReadError> {
        let name: StrDeserializer<'_, ReadError> = self.variant.into_deserializer();
        Ok((seed.deserialize(name)?, self.settings))
    }
}

impl<'de> VariantAccess<'de> for Settings<'_> {
    type Error = ReadError;

    fn unit_variant(self) -> Result<(), ReadError> {
        match self {
            // Any tag is possible: a bare name has no keys to remove.
            Self::Beside { tree, tag } => {
                Reader::fields(tree, tag.or(Some("")), &[], de::IgnoredAny).map(|_| ())
            }
            Self::Below { key, value } => {
                let error = ReadError::new(format!("`{key}` has no setting"), format!("write \"{key}\""));
                Err(error.at(key, value))
            }
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, ReadError> {
        match self {
            Self::Beside { tree, tag: Some(tag) } => seed.deserialize(Untagged { tree, tag }),
            Self::Beside { tree, tag: None } => {
                let name = tree.text().unwrap_or_default();
                Err(ReadError::new(format!("`{name}` needs a setting"), format!("write {{ {name} = ... }}")))
            }
            Self::Below { key, value } => seed.deserialize(Reader(value)).map_err(|e| e.at(key, value)),
        }
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, ReadError> {
        unreachable!("no choice of the format is a tuple")
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, ReadError> {
        unreachable!("the choices of the format keep their settings in structs of their own")
    }
}

/// Deserializes the struct of a variant from the table that also has the tag.
struct Untagged<'a> {
    tree: &'a Tree,
    tag: &'a str,
}

impl<'de> de::Deserializer<'de> for Untagged<'_> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        Reader(self.tree).deserialize_any(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        Reader::fields(self.tree, Some(self.tag), fields, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
