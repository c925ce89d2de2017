//! The place of a value, for rules that types cannot express.

use airlane_core::Duration;

use crate::error::SettingsError;
use crate::quantity::{Metres, Size, Time};
use crate::tree::{OVERRIDE, Tree, Value};

/// The result of a check.
pub type Checked = Result<(), SettingsError>;

/// A key, and the tree with its line and value.
pub struct Place<'a> {
    tree: &'a Tree,
    key: String,
}

impl<'a> Place<'a> {
    /// The whole file.
    #[must_use]
    pub const fn root(tree: &'a Tree) -> Self {
        Self { tree, key: String::new() }
    }

    /// The dotted path of this place.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// A key below this one.
    #[must_use]
    pub fn under(&self, key: &str) -> Self {
        let key = if self.key.is_empty() { key.to_owned() } else { format!("{}.{key}", self.key) };
        Self { tree: self.tree, key }
    }

    /// An entry of the list at this place.
    #[must_use]
    pub fn entry(&self, index: usize) -> Self {
        self.under(&index.to_string())
    }

    /// The error for this key.
    ///
    /// # Errors
    /// Always.
    pub fn wrong(&self, message: impl Into<Box<str>>, help: impl Into<Box<str>>) -> Checked {
        let mut error = SettingsError::new(self.key.as_str(), message, help);
        let mut tree = Some(self.tree);
        for step in self.key.split('.') {
            error.line = tree.map(|t| t.line).filter(|line| *line != 0).or(error.line);
            tree = tree.and_then(|t| match (&t.value, step.parse::<usize>()) {
                (Value::Array(items), Ok(index)) => items.get(index),
                _ => t.get(step),
            });
        }
        if let Some(tree) = tree {
            error.value = tree.written().into();
            error.line = Some(tree.line).filter(|line| *line != 0).or(error.line);
        }
        error.line = error.line.filter(|line| *line != OVERRIDE);
        Err(error)
    }

    /// The error for a key below this one.
    ///
    /// # Errors
    /// Always.
    pub fn fail(&self, key: &str, message: impl Into<Box<str>>, help: impl Into<Box<str>>) -> Checked {
        self.under(key).wrong(message, help)
    }

    /// A rule for a key below this one.
    ///
    /// # Errors
    /// If it is broken.
    pub fn require(&self, ok: bool, key: &str, message: &str, help: &str) -> Checked {
        if ok { Ok(()) } else { self.fail(key, message, help) }
    }

    /// A rule for this key.
    ///
    /// # Errors
    /// If it is broken.
    pub fn require_here(&self, ok: bool, message: &str, help: &str) -> Checked {
        if ok { Ok(()) } else { self.wrong(message, help) }
    }

    /// A time must not be zero.
    ///
    /// # Errors
    /// If it is broken.
    pub fn positive(&self, time: Time, key: &str) -> Checked {
        self.require(time.0 > Duration::ZERO, key, "zero is not allowed", "it must be above 0 s")
    }

    /// A distance must not be negative.
    ///
    /// # Errors
    /// If it is broken.
    pub fn distance(&self, length: Metres, key: &str) -> Checked {
        self.require(length.0 >= 0.0, key, "a distance cannot be negative", "it must be 0 m or more")
    }

    /// A size must not be below the least one.
    ///
    /// # Errors
    /// If it is broken.
    pub fn at_least(&self, size: Size, least: Size, key: &str, message: &str) -> Checked {
        self.require(size >= least, key, message, &format!("it must be at least {least}"))
    }
}
