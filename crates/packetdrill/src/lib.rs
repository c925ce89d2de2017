//! An interpreter of packetdrill's scripts that plays them against this project's TCP in virtual time.
//!
//! A script in the language of [packetdrill](https://github.com/google/packetdrill) states, with times, the
//! system calls of an application, the segments that arrive, and the segments that the host must send. Here
//! the host is a [`TcpEndpoint`](airlane_transport::TcpEndpoint) for each connection, and the clock is
//! virtual: no kernel, no root, and milliseconds for a script.
//!
//! ```
//! use airlane_packetdrill::{Options, Verdict, play};
//!
//! let script = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
//!     +0 bind(3, ..., ...) = 0
//!     +0 listen(3, 1) = 0
//!     +0 < S 0:0(0) win 32792 <mss 1000,sackOK>
//!     +0 > S. 0:0(0) ack 1 <...>";
//! let report = play(script, &|_| None, &Options::default());
//! assert_eq!(report.verdict, Verdict::Pass);
//! ```
//!
//! A script fails if the host does something else than the script states. It is not applicable if it needs
//! something that is not modelled, or is not understood: the report then says what. Offloads are no part of TCP: a stated
//! segment of several times the segment size means the segments that the network card makes of it, and
//! its PSH flag is not compared, because Linux sets it on each segment that is larger than one.

#![forbid(unsafe_code)]

mod calls;
mod compare;
mod expression;
mod host;
mod lexer;
mod machine;
mod multipath;
mod names;
mod numbering;
mod parser;
mod runner;
mod script;
mod shell;
mod stack;
mod zero_copy;

use airlane_core::{Duration, Instant};
use serde::Serialize;

use machine::Machine;
pub use multipath::{DataNumber, Multipath};
pub use numbering::Numbering;
pub use script::{Call, EcnField, Script, Segment, SegmentOption, Value};
pub use shell::Settings;
pub use stack::{Answer, Device, Sent, Stack};

/// Scripts begin at this time of the simulated host, so that its clock for timestamps is not zero.
const START: Instant = Instant::from_millis(1_000_000);

/// The result of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Everything happened as stated.
    Pass,
    /// The host did something else.
    Fail,
    /// The script needs something that is not modelled, has a name that is not known, or cannot be read: TCP was not
    /// judged.
    NotApplicable,
}

/// The result of a script, with the line and the reason if it did not pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The result.
    #[serde(rename = "result")]
    pub verdict: Verdict,
    /// The line of the script, from 1.
    pub line: Option<usize>,
    /// The expected event and the actual one, or the function that is not modelled.
    pub reason: Option<String>,
    /// The lines that the script has printed.
    pub printed: Vec<String>,
}

/// How scripts are played.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// IPv6 instead of IPv4: headers are 20 bytes longer.
    pub ipv6: bool,
    /// By how much an event may be earlier or later than stated. As in packetdrill, an eighth of the time
    /// since the previous event is allowed if that is more.
    pub tolerance: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { ipv6: false, tolerance: Duration::from_millis(4) }
    }
}

/// A mistake in a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mistake {
    pub(crate) line: usize,
    pub(crate) text: String,
    /// The script is understood, but states a number that no host can send: it fails.
    pub(crate) impossible: bool,
}

impl Mistake {
    pub(crate) const fn new(line: usize, text: String) -> Self {
        Self { line, text, impossible: false }
    }

    pub(crate) const fn impossible(line: usize, text: String) -> Self {
        Self { line, text, impossible: true }
    }
}

/// Why a script ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The host did something else than stated.
    Differs(String),
    /// The script needs this, which is not modelled.
    Foreign(String),
}

impl Report {
    fn new(result: Result<(), (usize, End)>, printed: Vec<String>) -> Self {
        let (verdict, place) = match result {
            Ok(()) => (Verdict::Pass, None),
            Err((line, End::Differs(reason))) => (Verdict::Fail, Some((line, reason))),
            Err((line, End::Foreign(reason))) => (Verdict::NotApplicable, Some((line, reason))),
        };
        let (line, reason) = place.unzip();
        Self { verdict, line, reason, printed }
    }
}

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    /// If it has a mistake: its report.
    pub fn read(text: &str) -> Result<Self, Report> {
        parser::parse(text).map_err(|mistake| {
            let end = if mistake.impossible {
                End::Differs(mistake.text)
            } else {
                End::Foreign(format!("the script cannot be read: {}", mistake.text))
            };
            Report::new(Err((mistake.line, end)), Vec::new())
        })
    }

    /// The network device that the script asks for.
    ///
    /// # Errors
    /// If its settings are wrong or not known: its report.
    pub fn device(&self, options: &Options) -> Result<Device, Report> {
        let (device, _) = runner::settings(self, options).map_err(|end| Report::new(Err(end), Vec::new()))?;
        Ok(device)
    }

    /// Plays the script on a TCP. `file` reads a file in the folder of the script, such as `./defaults.sh`.
    pub fn play<S: Stack>(
        &self,
        stack: &mut S,
        file: &dyn Fn(&str) -> Option<String>,
        options: &Options,
    ) -> Report {
        let mut printed = Vec::new();
        let result = runner::settings(self, options)
            .and_then(|(_, comparing)| runner::run(self, stack, comparing, file, &mut printed));
        Report::new(result, printed)
    }
}

/// Plays a script on the simulated TCP. `file` reads a file in the folder of the script, such as `./defaults.sh`.
#[must_use]
pub fn play(text: &str, file: &dyn Fn(&str) -> Option<String>, options: &Options) -> Report {
    let ready = Script::read(text).and_then(|script| Ok((script.device(options)?, script)));
    match ready {
        Ok((device, script)) => script.play(&mut Machine::new(START, device), file, options),
        Err(report) => report,
    }
}

#[cfg(test)]
mod tests;
