//! What a user is told about a scenario that cannot be run.

use core::fmt;

/// Characters of a message that are printed, of its beginning and its end: it may repeat what the file
/// says, in the middle.
const MESSAGE_MAX: [usize; 2] = [300, 100];

/// A mistake in a scenario: where it is, what stands there, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// The file, as the caller named it.
    pub file: Box<str>,
    /// Line in the file, counted from 1; `None` for what no line says, such as an override.
    pub line: Option<u32>,
    /// Dotted path of the key, such as `cell.0.rlc.buffer`.
    pub key: Box<str>,
    /// The value that stands there, as it would be written; empty for a missing key.
    pub value: Box<str>,
    /// What is wrong.
    pub message: Box<str>,
    /// What would be right.
    pub help: Box<str>,
}

impl ScenarioError {
    /// A mistake at a key, not yet placed in a file.
    pub(crate) fn new(
        key: impl Into<Box<str>>,
        message: impl Into<Box<str>>,
        help: impl Into<Box<str>>,
    ) -> Self {
        Self {
            file: Box::default(),
            line: None,
            key: key.into(),
            value: Box::default(),
            message: message.into(),
            help: help.into(),
        }
    }

    /// The same mistake, seen from the table or list that has it under this key.
    pub(crate) fn below(mut self, key: &str) -> Self {
        self.key = if self.key.is_empty() { key.into() } else { format!("{key}.{}", self.key).into() };
        self
    }

    /// The same mistake, in this file.
    pub(crate) fn in_file(mut self, file: &str) -> Self {
        self.file = file.into();
        self
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if !self.file.is_empty() {
            f.write_str(": ")?;
        }
        if !self.key.is_empty() {
            f.write_str(&self.key)?;
            if !self.value.is_empty() {
                write!(f, " = {}", self.value)?;
            }
            f.write_str(": ")?;
        }
        let [begin, end] = MESSAGE_MAX;
        match self.message.chars().count() {
            count if count > begin + end => {
                f.write_str(&self.message.chars().take(begin).collect::<String>())?;
                f.write_str("...")?;
                f.write_str(&self.message.chars().skip(count - end).collect::<String>())?;
            }
            _ => f.write_str(&self.message)?,
        }
        if !self.help.is_empty() {
            write!(f, "; {}", self.help)?;
        }
        Ok(())
    }
}

impl core::error::Error for ScenarioError {}
