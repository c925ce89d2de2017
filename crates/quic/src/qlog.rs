//! Files of qlog (draft-ietf-quic-qlog-main-schema, JSON text sequences), one for each end of a flow.
//!
//! quinn writes their content: packets sent and received, packets lost, and the metrics of recovery,
//! timed from the start of the run. Files are created only if a path is set.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quinn_proto::{QlogConfig, QlogStream};

use crate::time;

/// A file of qlog that could not be written.
#[derive(Debug)]
pub struct QlogError {
    /// The file.
    pub path: PathBuf,
    /// The cause.
    pub error: io::Error,
}

/// The files to which the flows of a run write their events.
#[derive(Debug, Default)]
pub struct QlogFiles {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The prefix of the files' names; without it nothing is written.
    prefix: Option<String>,
    open: Vec<(PathBuf, Arc<Mutex<BufWriter<File>>>)>,
    failed: Option<QlogError>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl QlogFiles {
    /// Writes into files whose names begin with `prefix` from now on.
    pub fn write_to(&self, prefix: &str) {
        locked(&self.state).prefix = Some(prefix.to_owned());
    }

    /// True once a file could not be written.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        locked(&self.state).failed.is_some()
    }

    /// Writes the buffered data.
    ///
    /// # Errors
    /// If anything could not be written, now or before.
    pub fn finish(&self) -> Result<(), QlogError> {
        let mut state = locked(&self.state);
        if let Some(failed) = state.failed.take() {
            return Err(failed);
        }
        for (path, file) in std::mem::take(&mut state.open) {
            locked(&file).flush().map_err(|error| QlogError { path, error })?;
        }
        Ok(())
    }

    /// A stream for the events of the end with this name, if qlog is enabled.
    pub(crate) fn stream(self: &Arc<Self>, name: &str) -> Option<QlogStream> {
        let mut state = locked(&self.state);
        let path = PathBuf::from(format!("{}{}.sqlog", state.prefix.as_ref()?, file_name(name)));
        let file = match File::create(&path) {
            Ok(file) => Arc::new(Mutex::new(BufWriter::with_capacity(1 << 16, file))),
            Err(error) => {
                state.failed.get_or_insert(QlogError { path, error });
                return None;
            }
        };
        state.open.push((path.clone(), Arc::clone(&file)));
        drop(state);
        let mut config = QlogConfig::default();
        config.writer(Box::new(Writer { path, file, files: Arc::clone(self) }));
        config.title(Some(name.to_owned())).start_time(time::start());
        config.into_stream()
    }
}

/// A flow's name may contain characters that a file's name may not. They are percent-encoded (RFC 3986
/// section 2.1), so that no two flows share a file.
fn file_name(name: &str) -> String {
    let mut file_name = String::with_capacity(name.len());
    for c in name.chars() {
        if c.is_alphanumeric() || "-_.".contains(c) {
            file_name.push(c);
        } else {
            let mut bytes = [0; 4];
            file_name.extend(c.encode_utf8(&mut bytes).bytes().map(|byte| format!("%{byte:02X}")));
        }
    }
    file_name
}

/// The writer for quinn, which does not report failures: the first one is stored.
struct Writer {
    path: PathBuf,
    file: Arc<Mutex<BufWriter<File>>>,
    files: Arc<QlogFiles>,
}

impl Writer {
    fn keep<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|error| {
            let kind = error.kind();
            let failed = QlogError { path: self.path.clone(), error };
            locked(&self.files.state).failed.get_or_insert(failed);
            kind.into()
        })
    }
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = locked(&self.file).write(bytes);
        self.keep(written)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(()) // the end of the run flushes
    }
}
