//! A position in a HAR file: its key, for errors, and lenient access to its value.
//!
//! HAR 1.2 gives -1 for a size or duration that is unknown or does not apply. Recorders also write other
//! negative numbers, numbers as text (WebPageTest), `null`, or leave members out; each of these is read as an
//! unknown value.

use airlane_settings::{Tree, Value};

use crate::ScenarioError;
use crate::pages::BYTES_MAX;

pub(super) type Read<T> = Result<T, ScenarioError>;

/// A position in the file.
#[derive(Clone, Debug)]
pub(super) struct At<'a> {
    file: &'a str,
    key: String,
    tree: Option<&'a Tree>,
}

impl<'a> At<'a> {
    /// The whole file.
    pub(super) fn root(file: &'a str, tree: &'a Tree) -> Self {
        Self { file, key: String::new(), tree: Some(tree) }
    }

    pub(super) fn error(&self, message: impl Into<Box<str>>, help: impl Into<Box<str>>) -> ScenarioError {
        let mut error = ScenarioError::new(self.key.as_str(), message, help).in_file(self.file);
        error.value = self.tree.map(Tree::written).unwrap_or_default().into();
        error
    }

    pub(super) fn wrong<T>(&self, message: impl Into<Box<str>>, help: impl Into<Box<str>>) -> Read<T> {
        Err(self.error(message, help))
    }

    fn needs<T>(&self, what: &str) -> Read<T> {
        match self.tree {
            None => self.wrong("the field is missing", format!("HAR 1.2 needs {what} here")),
            Some(tree) => {
                self.wrong(format!("wrong type: found {}", tree.kind()), format!("HAR 1.2 needs {what} here"))
            }
        }
    }

    pub(super) fn under(&self, key: &str) -> Self {
        let key_path = if self.key.is_empty() { key.to_owned() } else { format!("{}.{key}", self.key) };
        Self { file: self.file, key: key_path, tree: self.tree.and_then(|tree| tree.get(key)) }
    }

    pub(super) fn list(&self) -> Read<Vec<Self>> {
        let Some(Tree { value: Value::Array(items), .. }) = self.tree else { return self.needs("a list") };
        let item =
            |(index, tree)| Self { file: self.file, key: format!("{}.{index}", self.key), tree: Some(tree) };
        Ok(items.iter().enumerate().map(item).collect())
    }

    /// The members of a list; none if it is no list.
    pub(super) fn items(&self) -> Vec<Self> {
        self.list().unwrap_or_default()
    }

    pub(super) fn text(&self) -> Read<&'a str> {
        match self.tree.and_then(Tree::text) {
            Some(text) => Ok(text),
            None => self.needs("a string"),
        }
    }

    /// The text; `None` if it is no text or empty.
    pub(super) fn words(&self) -> Option<&'a str> {
        self.tree.and_then(Tree::text).filter(|text| !text.is_empty())
    }

    /// True for `true` and for a text that is not empty.
    pub(super) fn is_set(&self) -> bool {
        self.words().is_some() || matches!(self.tree, Some(Tree { value: Value::Bool(true), .. }))
    }

    /// True if there is a value here.
    pub(super) const fn is_present(&self) -> bool {
        self.tree.is_some()
    }

    /// True unless this is an object with members or a list with items.
    pub(super) fn is_empty(&self) -> bool {
        self.tree.is_none_or(Tree::is_empty)
    }

    /// The finite number, also if it is written as text.
    pub(super) fn number(&self) -> Option<f64> {
        match self.tree.map(|tree| &tree.value) {
            Some(Value::Integer(i)) => Some(*i as f64),
            Some(Value::Float(x)) => Some(*x),
            Some(Value::Text(text)) => text.trim().parse().ok(),
            _ => None,
        }
        .filter(|x: &f64| x.is_finite())
    }

    /// A number of bytes; `None` if it is unknown.
    pub(super) fn bytes(&self) -> Read<Option<u64>> {
        let Some(number) = self.number().filter(|x| *x >= 0.0) else { return Ok(None) };
        if number > BYTES_MAX as f64 {
            return self.wrong("out of range", format!("an object has at most {BYTES_MAX} bytes"));
        }
        Ok(Some(number as u64))
    }

    /// Milliseconds; zero if there was no such phase.
    pub(super) fn phase_ms(&self) -> f64 {
        self.number().map_or(0.0, |ms| ms.clamp(0.0, PHASE_MAX_MS))
    }
}

/// Longer than any recording: eleven days.
const PHASE_MAX_MS: f64 = 1e9;
