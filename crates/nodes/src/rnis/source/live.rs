//! A live run in another process: `airlane live --rnis SOCKET`.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use airlane_live::radio::{Every, Facts, Message, Report, VERSION};

use super::{Lost, Source};

/// The pause before the next attempt to reach a run.
const AGAIN: Duration = Duration::from_millis(200);
/// The longest line: a record has at most some hundred bytes, and a network at most 10,000 UEs.
const LINE_MAX: u64 = 8 << 20;

/// The connection to the run.
pub(super) struct Live {
    path: PathBuf,
    run: Option<BufReader<UnixStream>>,
    line: Vec<u8>,
}

/// Whether a run can have its socket there.
pub(super) fn check(path: &Path) -> Result<(), String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or_else(|| Path::new("."));
    if folder.is_dir() { Ok(()) } else { Err(format!("{} is no folder; create it", folder.display())) }
}

impl Live {
    pub(super) const fn new(path: PathBuf) -> Self {
        Self { path, run: None, line: vec![] }
    }

    fn lost(&self, why: impl core::fmt::Display) -> Lost {
        Lost { why: format!("source.live = {}: {why}", self.path.display()), again: Some(AGAIN) }
    }

    fn read(&mut self) -> Result<Message, Lost> {
        let ended = || "the run has ended".to_owned();
        let Some(run) = &mut self.run else { return Err(self.lost(ended())) };
        self.line.clear();
        let read = run.take(LINE_MAX).read_until(b'\n', &mut self.line);
        let message = match read {
            Ok(_) if self.line.is_empty() => Err(ended()),
            Ok(_) if !self.line.ends_with(b"\n") => Err("it has stopped within a message".to_owned()),
            Ok(_) => serde_json::from_slice(&self.line).map_err(|e| format!("it is no live run: {e}")),
            Err(e) => Err(e.to_string()),
        };
        message.map_err(|why| {
            self.run = None;
            self.lost(why)
        })
    }
}

impl Source for Live {
    fn begin(&mut self, every: Every) -> Result<Facts, Lost> {
        let connected = UnixStream::connect(&self.path).and_then(|mut stream| {
            let mut request = serde_json::to_vec(&every)?;
            request.push(b'\n');
            stream.write_all(&request)?;
            Ok(stream)
        });
        let stream = connected.map_err(|e| match e.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
                self.lost("no run is there; start one with airlane live --rnis")
            }
            _ => self.lost(e),
        })?;
        self.run = Some(BufReader::new(stream));
        match self.read()? {
            Message::Begin(facts) if facts.version == VERSION => Ok(facts),
            Message::Begin(facts) => {
                let why = format!("the run speaks version {}, this node {VERSION}", facts.version);
                Err(self.lost(why))
            }
            Message::Busy => Err(self.lost("the run has another service")),
            Message::Report(_) => Err(self.lost("a report before the beginning")),
        }
    }

    fn next(&mut self) -> Result<Report, Lost> {
        match self.read()? {
            Message::Report(report) => Ok(report),
            Message::Begin(_) | Message::Busy => Err(self.lost("a second beginning")),
        }
    }
}
