//! Why a run with a guest kernel cannot begin or go on.

use core::fmt;

/// The cause, which decides about the exit code of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Something is missing that the user can provide: a kernel, a right, memory.
    Missing,
    /// The guest failed while it ran.
    Failed,
    /// The run was cancelled.
    Cancelled,
}

/// An error with a remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestError {
    /// The cause.
    pub cause: Cause,
    /// Description of the error.
    pub what: String,
    /// A remedy; may be empty.
    pub help: String,
}

impl GuestError {
    /// Something that the user can provide is missing.
    pub fn missing(what: impl Into<String>, help: impl Into<String>) -> Self {
        Self { cause: Cause::Missing, what: what.into(), help: help.into() }
    }

    /// The guest failed.
    pub fn failed(what: impl Into<String>, help: impl Into<String>) -> Self {
        Self { cause: Cause::Failed, what: what.into(), help: help.into() }
    }

    /// The run was cancelled.
    #[must_use]
    pub fn cancelled() -> Self {
        Self { cause: Cause::Cancelled, what: "the run was cancelled".to_owned(), help: String::new() }
    }
}

impl fmt::Display for GuestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if self.help.is_empty() { Ok(()) } else { write!(f, "; {}", self.help) }
    }
}

impl core::error::Error for GuestError {}
