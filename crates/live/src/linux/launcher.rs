//! The first process of the PID namespace. It starts applications on request, and when it ends, the kernel
//! ends all others.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, kill, signal, sigprocmask};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use crate::linux::clock::now_ns;
use crate::linux::namespace::NetworkNamespace;
use crate::linux::process;
use crate::linux::socket::{Messages, Received};
use crate::linux::tcp_info::{Dump, Row};

/// How often children are waited for.
const PERIOD_MS: u16 = 10;
/// How often the state of TCP sockets is read, in nanoseconds.
const OBSERVED_NS: u64 = 100_000_000;
/// The largest number of sockets in a message, which keeps it far below the buffer of the parent's socket.
const ROWS_MAX: usize = 100;

/// A request of the parent process.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Request {
    /// Start an application; the message carries its input, output and errors.
    Start {
        /// Chosen by the parent.
        id: u32,
        /// 0 for the server's side, then the UEs in their order.
        end: usize,
        argv: Vec<String>,
        env: BTreeMap<String, String>,
        cwd: String,
        /// Whether the process gets a group of its own, which `Signal` then reaches as a whole.
        group: bool,
    },
    /// Send a signal to an application.
    Signal { id: u32, signal: i32 },
    /// Is a program listening at this end?
    Listens { end: usize },
}

/// A message to the parent process.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Answer<'a> {
    Started {
        id: u32,
        pid: i32,
    },
    Failed {
        id: u32,
        error: &'a str,
    },
    Exited {
        id: u32,
        code: Option<i32>,
        signal: Option<i32>,
    },
    Listens {
        end: usize,
        yes: bool,
    },
    /// The TCP connections of an end.
    Sockets {
        end: usize,
        /// On the host's monotonic clock.
        monotonic_ns: u64,
        rows: &'a [Row],
    },
    /// Connections whose rows the parent did not take in time.
    SocketsLost {
        rows: u64,
    },
    /// The kernel does not tell the state of TCP connections.
    Unobserved {
        error: &'a str,
    },
    /// The cell process ended, by itself or not.
    CellEnded {
        code: Option<i32>,
        signal: Option<i32>,
    },
}

/// Serves the parent until it or the cell process has ended. Returns the exit code.
pub(crate) fn serve(mut parent: Messages, networks: &[NetworkNamespace], cell: Pid) -> i32 {
    let mut applications: BTreeMap<i32, (u32, bool)> = BTreeMap::new();
    let mut observer = Observer::default();
    loop {
        let mut fds = [PollFd::new(parent.fd(), PollFlags::POLLIN)];
        let _ = poll(&mut fds, PollTimeout::from(PERIOD_MS));
        loop {
            match parent.receive() {
                Ok(Received::Message(request, fds)) => {
                    if let Request::Start { end, .. } = &request {
                        observer.begin(*end, networks, &parent);
                    }
                    if obey(request, fds, networks, &parent, &mut applications).is_err() {
                        return 1;
                    }
                }
                Ok(Received::Nothing) => break,
                Ok(Received::End) | Err(_) => return 1,
            }
        }
        while let Some((pid, code, signal)) = ended() {
            if pid == cell {
                let _ = parent.send(&Answer::CellEnded { code, signal });
                return code.or(signal.map(|signal| 128 + signal)).unwrap_or(1);
            }
            if let Some((id, _)) = applications.remove(&pid.as_raw()) {
                let _ = parent.send(&Answer::Exited { id, code, signal });
            }
        }
        observer.observe(&parent);
    }
}

/// Reads the state of TCP connections at all ends at which an application was started.
#[derive(Default)]
struct Observer {
    dumps: BTreeMap<usize, Dump>,
    /// Host time of the next reading.
    due_ns: u64,
    /// Rows that the parent did not take.
    lost: u64,
}

impl Observer {
    fn begin(&mut self, end: usize, networks: &[NetworkNamespace], parent: &Messages) {
        let Some(network) = networks.get(end) else { return };
        if self.dumps.contains_key(&end) {
            return;
        }
        match network.enter().and_then(|()| Dump::open()) {
            Ok(dump) => drop(self.dumps.insert(end, dump)),
            Err(error) => tell(parent, &error),
        }
    }

    fn observe(&mut self, parent: &Messages) {
        let now = now_ns();
        if now < self.due_ns {
            return;
        }
        self.due_ns = now + OBSERVED_NS;
        let lost = &mut self.lost;
        self.dumps.retain(|&end, dump| {
            let monotonic_ns = now_ns();
            let rows = match dump.connections() {
                Ok(rows) => rows,
                Err(error) => {
                    tell(parent, &error);
                    return false;
                }
            };
            for rows in rows.chunks(ROWS_MAX) {
                if !matches!(parent.send(&Answer::Sockets { end, monotonic_ns, rows }), Ok(true)) {
                    *lost += rows.len() as u64;
                }
            }
            true
        });
        if self.lost > 0 && matches!(parent.send(&Answer::SocketsLost { rows: self.lost }), Ok(true)) {
            self.lost = 0;
        }
    }
}

fn tell(parent: &Messages, error: &io::Error) {
    let _ = parent.send(&Answer::Unobserved { error: &error.to_string() });
}

/// A child that has ended: its exit code, or the signal that killed it.
fn ended() -> Option<(Pid, Option<i32>, Option<i32>)> {
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(pid, code)) => return Some((pid, Some(code), None)),
            Ok(WaitStatus::Signaled(pid, signal, _)) => return Some((pid, None, Some(signal as i32))),
            Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return None,
            Ok(_) | Err(_) => {}
        }
    }
}

fn obey(
    request: Request,
    fds: Vec<OwnedFd>,
    networks: &[NetworkNamespace],
    parent: &Messages,
    applications: &mut BTreeMap<i32, (u32, bool)>,
) -> io::Result<()> {
    match request {
        Request::Start { id, end, argv, env, cwd, group } => {
            let started = networks
                .get(end)
                .ok_or_else(|| io::Error::other(format!("there is no end {end}")))
                .and_then(|network| start(network, &argv, env, &cwd, (fds, group)));
            match started {
                Ok(pid) => {
                    applications.insert(pid, (id, group));
                    parent.send(&Answer::Started { id, pid })?;
                }
                Err(error) => {
                    parent.send(&Answer::Failed { id, error: &error.to_string() })?;
                }
            }
        }
        Request::Signal { id, signal: number } => {
            let of_id = applications.iter().find(|(_, (one, _))| *one == id);
            if let (Some((&pid, &(_, group))), Ok(signal)) = (of_id, Signal::try_from(number)) {
                let _ = kill(Pid::from_raw(if group { -pid } else { pid }), signal);
            }
        }
        Request::Listens { end } => {
            let yes = networks.get(end).is_some_and(|network| network.enter().is_ok() && anybody_listens());
            parent.send(&Answer::Listens { end, yes })?;
        }
    }
    Ok(())
}

/// Starts an application in a network namespace.
fn start(
    network: &NetworkNamespace,
    argv: &[String],
    env: BTreeMap<String, String>,
    cwd: &str,
    (fds, group): (Vec<OwnedFd>, bool),
) -> io::Result<i32> {
    let [program, arguments @ ..] = argv else { return Err(io::Error::other("no command")) };
    let [input, output, errors] =
        <[OwnedFd; 3]>::try_from(fds).map_err(|_| io::Error::other("expected three file descriptors"))?;
    // Children inherit the network namespace of this thread, which has no other use for it.
    network.enter()?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(env).current_dir(cwd);
    command.stdin(Stdio::from(input)).stdout(Stdio::from(output)).stderr(Stdio::from(errors));
    if group {
        command.process_group(0);
    }
    // SAFETY: the function makes system calls that are allowed between fork and exec, and allocates nothing.
    unsafe { command.pre_exec(default_signals) };
    Ok(command.spawn()?.id() as i32)
}

/// Applications do not inherit which signals this process ignores.
fn default_signals() -> io::Result<()> {
    for ignored in process::IGNORED {
        // SAFETY: the default action is no handler of this program.
        unsafe { signal(ignored, SigHandler::SigDfl) }?;
    }
    Ok(sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)?)
}

/// Whether a TCP socket listens, or a UDP socket is bound, in the network namespace of this thread.
fn anybody_listens() -> bool {
    const LISTEN: &str = "0A";
    const UNCONNECTED: &str = "07";
    let state = |file: &str, wanted: &str| {
        let text = fs::read_to_string(format!("/proc/thread-self/net/{file}")).unwrap_or_default();
        text.lines().skip(1).any(|line| line.split_whitespace().nth(3) == Some(wanted))
    };
    state("tcp", LISTEN) || state("tcp6", LISTEN) || state("udp", UNCONNECTED) || state("udp6", UNCONNECTED)
}
