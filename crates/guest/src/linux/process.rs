//! The processes of a guest.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::statvfs;
use rustix::process::Pid;

use crate::error::{Cause, GuestError};
use crate::linux::spawn::{End, Process, Program, was_asked_to_end};

/// Log of the kernel, in the folder of a guest.
const LOG: &str = "kernel.log";
/// Bytes of the log that are searched for a cause.
const LOG_MAX: usize = 1 << 16;
/// How often it is looked whether a process has ended that was killed.
const REAP_PERIOD: Duration = Duration::from_millis(2);
/// The memory of a guest in MiB. Its file is sparse. The limits of TCP do not depend on it, because they are set.
const MEMORY_MIB: u32 = 1024;
/// The folder in which a User Mode Linux keeps its memory, and the minimum of free bytes there: 46 MB were used.
const MEMORY_FOLDER: &str = "/dev/shm";
const MEMORY_NEEDED: u64 = 60_000_000;

/// Parameters of a guest's start.
#[derive(Clone, Debug)]
pub(crate) struct Start<'a> {
    /// The kernel.
    pub(crate) kernel: &'a Path,
    /// A folder for this process, which contains its sockets.
    pub(crate) folder: &'a Path,
    /// Seed of its random numbers.
    pub(crate) seed: u64,
    /// Number of network interfaces.
    pub(crate) nics: u16,
    /// Whether the driver is interrupted when a frame has left, and frees it then.
    pub(crate) scattered: bool,
}

/// A guest's processes, which end with this value.
#[derive(Debug)]
pub(crate) struct Processes {
    kernel: Process,
    log: PathBuf,
}

impl Processes {
    /// Starts a kernel. Everything that could make two runs differ is fixed: the addresses of its memory, its command
    /// line, its environment and its seed.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(crate) fn start(start: &Start<'_>) -> Result<Self, GuestError> {
        let wrong = |what: &str, error: io::Error| {
            GuestError::missing(format!("{what}: {error}"), "the guest needs a temporary folder")
        };
        if statvfs(MEMORY_FOLDER).is_ok_and(|free| free.f_bavail * free.f_frsize < MEMORY_NEEDED) {
            return Err(no_space(&format!("{MEMORY_FOLDER} is full")));
        }
        let log = start.folder.join(LOG);
        let output = File::create(&log).map_err(|error| wrong("the kernel's log", error))?;
        // The path of the program is on the kernel's stack: it is the same for every kernel.
        std::os::unix::fs::symlink(start.kernel, start.folder.join("linux"))
            .map_err(|error| wrong("the kernel", error))?;
        let program = Program {
            path: "./linux",
            arguments: &arguments(start),
            environment: &[
                format!("AIRLANE_SEED={:#018x}", start.seed),
                // With restartable sequences, glibc would write into memory that the kernel's helper has unmapped.
                "GLIBC_TUNABLES=glibc.pthread.rseq=0".to_owned(),
            ],
            folder: start.folder.as_os_str(),
            output: &output,
        };
        let kernel = Process::start(&program).map_err(|error| {
            let help = "airlane kernel list shows the kernels; airlane kernel build builds one";
            GuestError::missing(format!("{} cannot be started: {error}", start.kernel.display()), help)
        })?;
        Ok(Self { kernel, log })
    }

    /// The process of the kernel.
    pub(crate) const fn kernel(&self) -> Pid {
        self.kernel.pid()
    }

    /// Why the guest does not go on, from its end and its log. `silent` is the time for which it sent nothing, and
    /// what was awaited.
    pub(crate) fn diagnose(&self, at: &str, silent: Option<(Duration, &str)>) -> GuestError {
        self.reason(at, silent, was_asked_to_end(self.kernel.pid()))
    }

    /// The reason of an error at a kernel for which it is known whether a signal has asked it to end.
    fn reason(&self, at: &str, silent: Option<(Duration, &str)>, asked_to_end: bool) -> GuestError {
        let log = self.log_text();
        let ended = (0..100).find_map(|_| {
            let end = self.kernel.end();
            if end.is_none() && silent.is_none() {
                std::thread::sleep(REAP_PERIOD);
            }
            end
        });
        if let Some(panic) = line_with(&log, "Kernel panic") {
            return GuestError::failed(format!("the guest kernel panicked {at}: {panic}"), tail(&log));
        }
        if let Some(line) = line_with(&log, "ptrace").filter(|line| !line.ends_with("OK")) {
            let help = "User Mode Linux traces its programs with ptrace(2): allow it (kernel.yama.ptrace_scope \
                        below 3; seccomp and containers with CAP_SYS_PTRACE)";
            return GuestError::missing(format!("the guest kernel cannot use ptrace: {line}"), help);
        }
        if let Some(line) = line_with(&log, "noexec") {
            let help = "mount -o remount,exec /dev/shm: a guest keeps its memory there, with its programs";
            return GuestError::missing(format!("the guest kernel cannot use {MEMORY_FOLDER}: {line}"), help);
        }
        if let Some(line) = line_with(&log, "No space left").or_else(|| line_with(&log, "not enough space")) {
            return no_space(&line);
        }
        let Some(end) = ended else {
            let activity = activity(self.kernel.pid().as_raw_nonzero().get());
            if asked_to_end {
                let what = format!("the guest kernel was asked to end {at}, by SIGTERM or SIGINT");
                return GuestError::failed(what, tail(&log));
            }
            let Some((silence, awaited)) = silent else {
                let what = format!("the guest kernel ended {at}: it has closed its connection ({activity})");
                return GuestError::failed(what, tail(&log));
            };
            return GuestError::failed(
                format!(
                    "the guest kernel hangs {at}: it did nothing for {} s of real time ({activity}, awaited: {awaited})",
                    silence.as_secs_f64(),
                ),
                "a loop that reads no clock never ends in virtual time; AIRLANE_KERNEL_WATCHDOG sets the seconds",
            );
        };
        match end {
            End::Killed(libc::SIGBUS) => no_space("the guest kernel was stopped by SIGBUS"),
            End::Killed(signal) => GuestError::failed(
                format!("the guest kernel was killed {at}, by {}", named(signal)),
                tail(&log),
            ),
            End::Exited(code) => {
                GuestError::failed(format!("the guest kernel halted {at}, with exit code {code}"), tail(&log))
            }
            End::Unknown => GuestError::failed(format!("the guest kernel halted {at}"), tail(&log)),
        }
    }

    /// The reason of an error at a kernel that has not connected.
    pub(crate) fn diagnose_start(&self, silent: Option<(Duration, &str)>) -> GuestError {
        let error = self.reason("at its start", silent, false); // it may not have its handlers yet
        if error.cause == Cause::Missing {
            return error;
        }
        let again = "airlane kernel build --force builds the kernel again, if its files are damaged";
        let log = tail(&self.log_text());
        let help = if log.is_empty() { again.to_owned() } else { format!("{again}; {log}") };
        GuestError { help, ..error }
    }

    fn log_text(&self) -> String {
        let bytes = fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(LOG_MAX)..]).into_owned()
    }
}

/// The command line of a kernel.
fn arguments(start: &Start<'_>) -> Vec<String> {
    let fixed = [
        "initrd=initrd",
        "uml_dir=./",
        "umid=guest",
        "con=null",
        "con0=null,fd:1",
        "ssl=null",
        "loglevel=4",
        "norandmaps",
        // A frame has left when it was sent: an interrupt would tell the driver nothing.
        if start.scattered { "virtio_net.napi_tx=1" } else { "virtio_net.napi_tx=0" },
        "time-travel=ext:1:time",
    ];
    let memory = format!("mem={MEMORY_MIB}M");
    let nics = (0..start.nics).map(|nic| format!("virtio_uml.device=n{nic}:1"));
    std::iter::once(memory).chain(fixed.map(str::to_owned)).chain(nics).collect()
}

fn no_space(line: &str) -> GuestError {
    let help = "a guest keeps its memory in a file in /dev/shm: free some space there (about 60 MB each)";
    GuestError::missing(format!("there is no space for the memory of the guest: {line}"), help)
}

/// The activity of a kernel, which is the first process of its group, and of the programs in it, in words.
fn activity(kernel: i32) -> String {
    let folders = fs::read_dir("/proc").into_iter().flatten().flatten();
    let stats =
        folders.filter_map(|folder| Stat::read(&fs::read_to_string(folder.path().join("stat")).ok()?));
    let mut own = "it has ended";
    let mut computes = 0;
    for stat in stats.filter(|stat| stat.group == kernel) {
        match stat.state {
            state if stat.process == kernel => own = state_words(state),
            'R' => computes += 1,
            _ => {} // programs wait for the kernel, which traces them
        }
    }
    if computes > 0 { format!("{own}, and a program of it computes") } else { own.to_owned() }
}

/// A part of `/proc/PID/stat` (proc(5)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    process: i32,
    state: char,
    group: i32,
}

impl Stat {
    fn read(text: &str) -> Option<Self> {
        // The name of the program is in parentheses, and may contain any character.
        let (process, rest) = text.split_once(" (")?;
        let (_, rest) = rest.rsplit_once(") ")?;
        let mut words = rest.split(' ');
        let state = words.next()?.chars().next()?;
        let group = words.nth(1)?.parse().ok()?;
        Some(Self { process: process.parse().ok()?, state, group })
    }
}

/// The state of a kernel's process, as proc(5) names it.
fn state_words(state: char) -> &'static str {
    match state {
        'T' | 't' => "its process is stopped by a signal or a debugger",
        'R' => "its process computes",
        'D' => "its process waits for a device of this machine",
        'Z' | 'X' => "its process has ended",
        _ => "its process sleeps",
    }
}

/// A signal that ends processes, by its name.
fn named(signal: i32) -> String {
    match signal {
        libc::SIGKILL => "SIGKILL".to_owned(),
        libc::SIGSEGV => "SIGSEGV".to_owned(),
        libc::SIGABRT => "SIGABRT".to_owned(),
        libc::SIGTERM => "SIGTERM".to_owned(),
        other => format!("signal {other}"),
    }
}

fn line_with(log: &str, what: &str) -> Option<String> {
    log.lines().find(|line| line.contains(what)).map(|line| line.trim().to_owned())
}

/// The last lines of a log.
fn tail(log: &str) -> String {
    let lines: Vec<_> = log.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines[lines.len().saturating_sub(3)..].join(" / ");
    if last.is_empty() { last } else { format!("its log ends with: {last}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_whatever_the_name_of_the_program() {
        let stat = Stat { process: 17, state: 'T', group: 12 };
        assert_eq!(Stat::read("17 (a) R (b) T 3 12 12 0 -1"), Some(stat));
        assert_eq!(Stat::read("17 (a"), None);
        let own = Stat::read(&fs::read_to_string("/proc/self/stat").unwrap()).unwrap();
        assert_eq!(own.process as u32, std::process::id());
    }
}
