//! The socket at which a live run offers its radio information to one service at a time.
//!
//! The service sends a line with the intervals that it wants ([`Every`]), and gets a line for each [`Message`]. Neither
//! reading nor writing waits, and a service that does not read is cut off: it must not delay the network.

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use airlane_core::{Duration, Instant};
use nix::sys::stat::{Mode, umask};

use crate::LiveError;
use crate::cell::Cell;
use crate::radio::{Every, Facts, Message};

/// How often connections and requests are accepted.
const LOOK: Duration = Duration::from_millis(10);
/// The longest request.
const REQUEST_MAX: usize = 256;
/// Bytes that wait for a service until it is cut off.
const WAITING_MAX: usize = 8 << 20;
/// The intervals while there is no service.
pub(crate) const ALONE: Every =
    Every { period: Duration::from_secs(1).as_nanos(), measure: Duration::from_secs(1).as_nanos() };

/// The socket.
pub(crate) struct RadioSocket {
    path: PathBuf,
    listener: UnixListener,
    facts: Facts,
    service: Option<Service>,
    look_at: Instant,
}

/// The connection to the service.
struct Service {
    stream: UnixStream,
    request: Vec<u8>,
    /// Whether the request is complete.
    asked: bool,
    waiting: Vec<u8>,
}

impl RadioSocket {
    /// Opens the socket, which only the own user may use.
    ///
    /// # Errors
    /// If it cannot be opened, or another run has it.
    pub(crate) fn open(path: &str, facts: Facts) -> Result<Self, LiveError> {
        let path = PathBuf::from(path);
        let failed = |e: io::Error| {
            let what = format!("--rnis {}: cannot open the socket: {e}", path.display());
            let help = match e.kind() {
                ErrorKind::InvalidInput => "choose a path of at most 107 bytes",
                ErrorKind::AddrInUse => "another run offers its information there, or it is no socket",
                _ => "choose a file in a folder in which you may write",
            };
            LiveError::new(what, help)
        };
        let listener = match bind(&path) {
            // A run that was killed leaves its socket.
            Err(e) if e.kind() == ErrorKind::AddrInUse && is_without_listener(&path) => {
                fs::remove_file(&path).and_then(|()| bind(&path))
            }
            bound => bound,
        };
        let listener = listener.map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Self { path, listener, facts, service: None, look_at: Instant::ZERO })
    }

    /// The run begins at this time, in ns since the beginning of 1970.
    pub(crate) const fn begin(&mut self, epoch: u64) {
        self.facts.epoch = epoch;
    }

    /// Sends the reports that are ready, and from time to time takes connections and requests.
    pub(crate) fn serve(&mut self, cell: &mut Cell, now: Instant) {
        let mut is_new = false;
        while let Some(report) = cell.take_report() {
            is_new = true;
            if let Some(service) = self.service.as_mut().filter(|one| one.asked) {
                service.say(&Message::Report(report));
            }
        }
        let look = now >= self.look_at;
        if look {
            self.look_at = now + LOOK;
            self.read(cell);
            if self.accept() {
                self.read(cell);
            }
        }
        if (is_new || look) && self.service.as_mut().is_some_and(|one| one.write().is_err()) {
            self.end_service(cell);
        }
    }

    /// Whether there is a new service.
    fn accept(&mut self) -> bool {
        let mut is_new = false;
        while let Ok((stream, _)) = self.listener.accept() {
            if stream.set_nonblocking(true).is_err() {
                continue;
            }
            let mut service = Service { stream, request: vec![], asked: false, waiting: vec![] };
            if self.service.is_some() {
                service.say(&Message::Busy);
                let _ = service.write();
            } else {
                self.service = Some(service);
                is_new = true;
            }
        }
        is_new
    }

    fn read(&mut self, cell: &mut Cell) {
        let Some(service) = &mut self.service else { return };
        match service.read() {
            Ok(Some(every)) => {
                cell.inform_every(every);
                service.say(&Message::Begin(self.facts.clone()));
            }
            Ok(None) => {}
            Err(_) => self.end_service(cell),
        }
    }

    fn end_service(&mut self, cell: &mut Cell) {
        self.service = None;
        cell.inform_every(ALONE);
    }
}

impl Drop for RadioSocket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Service {
    /// The request, once, when it is complete.
    ///
    /// # Errors
    /// If the service has ended, or its request is none.
    fn read(&mut self) -> io::Result<Option<Every>> {
        let mut part = [0; REQUEST_MAX];
        loop {
            match self.stream.read(&mut part) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(length) => self.request.extend_from_slice(&part[..length]),
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
            if self.asked || self.request.len() > REQUEST_MAX {
                return Err(ErrorKind::InvalidData.into());
            }
        }
        if self.asked || !self.request.ends_with(b"\n") {
            return Ok(None);
        }
        let every: Every = serde_json::from_slice(&self.request)?;
        if !every.is_possible() {
            return Err(ErrorKind::InvalidData.into());
        }
        self.asked = true;
        self.request.clear();
        Ok(Some(every))
    }

    fn say(&mut self, message: &Message) {
        if serde_json::to_writer(&mut self.waiting, message).is_ok() {
            self.waiting.push(b'\n');
        }
    }

    /// Writes as much as the service takes.
    ///
    /// # Errors
    /// If the service has ended, or has not read for too long.
    fn write(&mut self) -> io::Result<()> {
        while !self.waiting.is_empty() {
            match self.stream.write(&self.waiting) {
                Ok(written) => drop(self.waiting.drain(..written)),
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        if self.waiting.len() > WAITING_MAX { Err(ErrorKind::WriteZero.into()) } else { Ok(()) }
    }
}

/// A socket with the mode 600.
fn bind(path: &Path) -> io::Result<UnixListener> {
    let before = umask(Mode::from_bits_truncate(0o177));
    let listener = UnixListener::bind(path);
    umask(before);
    listener
}

/// Whether a path is a socket without a listener.
fn is_without_listener(path: &Path) -> bool {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|one| one.file_type().is_socket());
    is_socket && UnixStream::connect(path).is_err_and(|e| e.kind() == ErrorKind::ConnectionRefused)
}

#[cfg(test)]
mod tests;
