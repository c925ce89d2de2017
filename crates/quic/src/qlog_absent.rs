//! No qlog, for platforms without files, such as a browser.

use std::io;
use std::path::PathBuf;

/// A qlog file that could not be written.
#[derive(Debug)]
pub struct QlogError {
    /// The file.
    pub path: PathBuf,
    /// The reason.
    pub error: io::Error,
}

/// The qlog files of a run's flows; none is ever written.
#[derive(Debug, Default)]
pub struct QlogFiles {}

impl QlogFiles {
    /// Does nothing.
    pub const fn write_to(&self, _: &str) {}

    /// Always false.
    #[must_use]
    pub const fn has_failed(&self) -> bool {
        false
    }

    /// Writes nothing.
    ///
    /// # Errors
    /// Never fails.
    pub const fn finish(&self) -> Result<(), QlogError> {
        Ok(())
    }
}
