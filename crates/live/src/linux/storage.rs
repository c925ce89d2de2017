//! Stores the flight record on a thread of its own: the cell process must not wait for a disk.

use std::fs::File;
use std::io::{self, Write};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use crate::LiveError;

/// A file that is written in the background. Its size, which bounds the memory of unwritten chunks, is bounded by
/// the recorder.
pub(crate) struct Storage {
    path: String,
    chunks: Sender<Vec<u8>>,
    thread: JoinHandle<io::Result<u64>>,
}

impl Storage {
    /// Creates the file.
    ///
    /// # Errors
    /// If it cannot be created.
    pub(crate) fn create(path: &str) -> Result<Self, LiveError> {
        let failed = |e: io::Error| LiveError::new(format!("cannot create {path}: {e}"), "");
        let mut file = File::create(path).map_err(failed)?;
        let (chunks, received) = mpsc::channel::<Vec<u8>>();
        let write = move || {
            received.iter().try_fold(0, |size, chunk| {
                file.write_all(&chunk)?;
                Ok(size + chunk.len() as u64)
            })
        };
        let thread = thread::Builder::new().spawn(write).map_err(failed)?;
        Ok(Self { path: path.to_owned(), chunks, thread })
    }

    /// Stores a chunk.
    pub(crate) fn store(&self, chunk: Vec<u8>) {
        // The thread ends early only with an error, which `finish` returns.
        let _ = self.chunks.send(chunk);
    }

    /// Waits until everything is written, and returns the size of the file.
    ///
    /// # Errors
    /// If a chunk could not be written.
    pub(crate) fn finish(self) -> Result<u64, LiveError> {
        drop(self.chunks);
        let written = self.thread.join().unwrap_or_else(|_| Err(io::Error::other("its thread failed")));
        written.map_err(|e| {
            LiveError::new(format!("cannot write {}: {e}", self.path), "free space on this disk")
        })
    }
}
