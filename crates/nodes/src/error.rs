//! Errors of a node.

use core::fmt;

/// Why a node cannot begin or go on, with a remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeError {
    /// The step that was not possible, with the reason of the system.
    pub what: String,
    /// A remedy; may be empty.
    pub help: String,
}

impl NodeError {
    /// An error with a remedy.
    pub fn new(what: impl Into<String>, help: impl Into<String>) -> Self {
        Self { what: what.into(), help: help.into() }
    }
}

impl fmt::Display for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if self.help.is_empty() { Ok(()) } else { write!(f, "; {}", self.help) }
    }
}

impl core::error::Error for NodeError {}
