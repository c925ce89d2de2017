//! A file of settings as written: tables, arrays and values, each with its line.
//!
//! TOML files, JSON overrides and resolved JSON are all converted to this tree. Defaults are merged into it and typed
//! settings are deserialized from it, so every error can name the line.

use toml::de::{DeTable, DeValue};

use crate::error::SettingsError;

/// More nesting than any scenario needs; the limit bounds the stack.
const DEPTH_MAX: u32 = 32;

/// Maximum number of printed characters of a value.
const WRITTEN_MAX: usize = 80;

/// The line of overrides.
pub const OVERRIDE: u32 = u32::MAX;

/// A value and its line.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The value.
    pub value: Value,
    /// Line in the file from 1; [`OVERRIDE`]; or 0 for presets.
    pub line: u32,
}

/// The values in a file of settings.
#[derive(Clone, Debug)]
pub enum Value {
    /// `null` of JSON.
    Null,
    /// A boolean.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// Another number.
    Float(f64),
    /// A string.
    Text(String),
    /// A list.
    Array(Vec<Tree>),
    /// A table.
    Table(Table),
}

/// Keys in the order of the file.
pub type Table = Vec<(String, Tree)>;

impl Tree {
    /// A value that is in no file.
    #[must_use]
    pub fn unplaced(value: Value) -> Self {
        Self { value, line: 0 }
    }

    /// The entry of a table.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Tree> {
        match &self.value {
            Value::Table(table) => table.iter().find(|(k, _)| k == key).map(|(_, v)| v),
            _ => None,
        }
    }

    /// The entry of a table, mutable.
    #[must_use]
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Tree> {
        match &mut self.value {
            Value::Table(table) => table.iter_mut().find(|(k, _)| k == key).map(|(_, v)| v),
            _ => None,
        }
    }

    /// True for null and for a list or table without entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match &self.value {
            Value::Null => true,
            Value::Array(items) => items.is_empty(),
            Value::Table(entries) => entries.is_empty(),
            _ => false,
        }
    }

    /// The text, if it is one.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value as a user would write it, shortened if it is long.
    #[must_use]
    pub fn written(&self) -> String {
        let mut full = String::new();
        self.write_to(&mut full);
        if full.chars().count() <= WRITTEN_MAX {
            return full;
        }
        let head: String = full.chars().take(WRITTEN_MAX - 3).collect();
        head + "..."
    }

    /// Appends it to a text, until the text is longer than the printed length.
    fn write_to(&self, text: &mut String) {
        match &self.value {
            Value::Null => text.push_str("null"),
            Value::Bool(b) => *text += &b.to_string(),
            Value::Integer(i) => *text += &i.to_string(),
            Value::Float(x) => *text += &format!("{x:?}"),
            Value::Text(s) => *text += &format!("{s:?}"),
            Value::Array(items) => {
                text.push('[');
                for (i, item) in items.iter().enumerate() {
                    if text.chars().count() > WRITTEN_MAX {
                        return;
                    }
                    text.push_str(if i == 0 { "" } else { ", " });
                    item.write_to(text);
                }
                text.push(']');
            }
            Value::Table(entries) => {
                text.push_str("{ ");
                let own = entries.iter().filter(|(_, value)| value.line != 0);
                for (i, (key, value)) in own.enumerate() {
                    if text.chars().count() > WRITTEN_MAX {
                        return;
                    }
                    *text += &format!("{}{key} = ", if i == 0 { "" } else { ", " });
                    value.write_to(text);
                }
                text.push_str(" }");
            }
        }
    }

    /// The line, if there is one.
    #[must_use]
    pub fn line_in_file(&self) -> Option<u32> {
        Some(self.line).filter(|line| *line != 0 && *line != OVERRIDE)
    }

    /// Its type, with its article.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match &self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "a boolean",
            Value::Integer(_) | Value::Float(_) => "a number",
            Value::Text(_) => "a string",
            Value::Array(_) => "a list",
            Value::Table(_) => "a table",
        }
    }

    /// Parses a TOML document.
    ///
    /// # Errors
    /// If it is not TOML, or has a value that no setting has.
    pub fn from_toml(text: &str) -> Result<Self, SettingsError> {
        let lines = Lines::of(text);
        let document = DeTable::parse(text).map_err(|e| {
            let mut error = SettingsError::new("", format!("invalid TOML: {}", e.message()), "");
            error.line = e.span().map(|span| lines.at(span.start));
            error
        })?;
        let table = table_from_toml(document.get_ref(), &lines, 0)?;
        Ok(Self { value: Value::Table(table), line: 1 })
    }

    /// Converts a JSON value, as an override.
    #[must_use]
    pub fn from_json(json: &serde_json::Value) -> Self {
        use serde_json::Value as Json;
        let value = match json {
            Json::Null => Value::Null,
            Json::Bool(b) => Value::Bool(*b),
            Json::Number(n) => match n.as_i64() {
                Some(i) => Value::Integer(i),
                None => Value::Float(n.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(s) => Value::Text(s.clone()),
            Json::Array(items) => Value::Array(items.iter().map(Self::from_json).collect()),
            Json::Object(entries) => {
                Value::Table(entries.iter().map(|(k, v)| (k.clone(), Self::from_json(v))).collect())
            }
        };
        Self { value, line: OVERRIDE }
    }
}

fn table_from_toml(table: &DeTable<'_>, lines: &Lines, depth: u32) -> Result<Table, SettingsError> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    let mut out = Vec::with_capacity(entries.len());
    for (key, value) in entries {
        let line = lines.at(key.span().start);
        let key = key.get_ref().to_string();
        let value = value_from_toml(value.get_ref(), line, lines, depth + 1).map_err(|e| e.below(&key))?;
        out.push((key, Tree { value, line }));
    }
    Ok(out)
}

fn value_from_toml(
    value: &DeValue<'_>,
    line: u32,
    lines: &Lines,
    depth: u32,
) -> Result<Value, SettingsError> {
    let fail = |value: &str, message: &str, help: &str| {
        let mut error = SettingsError::new("", message, help);
        error.value = value.into();
        error.line = Some(line);
        error
    };
    if depth > DEPTH_MAX {
        return Err(fail("", "the tables are nested too deeply", "a scenario needs only a few levels"));
    }
    Ok(match value {
        DeValue::String(s) => Value::Text(s.to_string()),
        DeValue::Integer(i) => {
            let parsed = i64::from_str_radix(i.as_str(), i.radix());
            Value::Integer(
                parsed.map_err(|_| fail(i.as_str(), "the number is too large", "it must be below 2^63"))?,
            )
        }
        DeValue::Float(x) => Value::Float(x.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(b) => Value::Bool(*b),
        DeValue::Datetime(d) => {
            let help = "write a time as a string with a unit, such as \"30 s\"";
            return Err(fail(&d.to_string(), "a date is not allowed", help));
        }
        DeValue::Array(items) => {
            let mut out = Vec::with_capacity(items.len());
            for (i, item) in items.iter().enumerate() {
                let line = lines.at(item.span().start);
                let value = value_from_toml(item.get_ref(), line, lines, depth + 1);
                out.push(Tree { value: value.map_err(|e| e.below(&i.to_string()))?, line });
            }
            Value::Array(out)
        }
        DeValue::Table(table) => Value::Table(table_from_toml(table, lines, depth)?),
    })
}

/// The offsets at which lines begin.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        Self(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i + 1).collect())
    }
    /// The line of a byte offset, from 1.
    fn at(&self, offset: usize) -> u32 {
        self.0.partition_point(|start| *start <= offset) as u32 + 1
    }
}
