//! An error of the user, with its place and the remedy.

use core::fmt;

/// Numbers of printed characters at the beginning and the end of a message, whose middle may repeat
/// text of the file.
const MESSAGE_MAX: [usize; 2] = [300, 100];

/// An error in a file of settings: its place, its text, and the correct form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError {
    /// The file, as the caller named it.
    pub file: Box<str>,
    /// Line in the file, counted from 1; `None` for text without a line, such as an override.
    pub line: Option<u32>,
    /// Dotted path of the key, such as `cell.0.rlc.buffer`.
    pub key: Box<str>,
    /// The value at this place, as it would be written; empty for a missing key.
    pub value: Box<str>,
    /// The error.
    pub message: Box<str>,
    /// The correct form.
    pub help: Box<str>,
}

impl SettingsError {
    /// An error for a key, without a file.
    #[must_use]
    pub fn new(key: impl Into<Box<str>>, message: impl Into<Box<str>>, help: impl Into<Box<str>>) -> Self {
        Self {
            file: Box::default(),
            line: None,
            key: key.into(),
            value: Box::default(),
            message: message.into(),
            help: help.into(),
        }
    }

    /// The same error, with the path extended by the table or list that contains it under this key.
    #[must_use]
    pub fn below(mut self, key: &str) -> Self {
        self.key = if self.key.is_empty() { key.into() } else { format!("{key}.{}", self.key).into() };
        self
    }

    /// The same error, with this file.
    #[must_use]
    pub fn in_file(mut self, file: &str) -> Self {
        self.file = file.into();
        self
    }
}

impl fmt::Display for SettingsError {
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

impl core::error::Error for SettingsError {}
