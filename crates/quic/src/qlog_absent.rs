//! Where there are no files, as in a browser, nothing writes qlog.

use std::io;
use std::path::PathBuf;

/// A file of qlog that could not be written.
#[derive(Debug)]
pub struct QlogError {
    /// The file.
    pub path: PathBuf,
    /// Why not.
    pub error: io::Error,
}

/// Where the flows of a run would write what happens to them.
#[derive(Debug, Default)]
pub struct QlogFiles {}

impl QlogFiles {
    /// No file is written, whatever its name.
    pub const fn write_to(&self, _: &str) {}

    /// False: nothing is written.
    #[must_use]
    pub const fn has_failed(&self) -> bool {
        false
    }

    /// Writes nothing.
    ///
    /// # Errors
    /// Never.
    pub const fn finish(&self) -> Result<(), QlogError> {
        Ok(())
    }
}
