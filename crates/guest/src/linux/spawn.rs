//! The start of a kernel's process.
//!
//! The child is made by the system call itself and not by `fork(3)`, which `std::process::Command` calls for a child
//! with steps of its own. A run is usually in a process of Python, with threads of the user and of libraries, some of
//! which have handlers for `fork(3)` (`pthread_atfork(3)`): that of OpenBLAS ends its threads, also while another
//! thread waits for their part of a matrix product, which then never ends; those of Arrow and jemalloc take all locks
//! of these libraries, and work in the child before its program starts. None of that is needed here: the child makes
//! a few system calls, and is the kernel.

use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::ptr;

use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process, kill_process_group, waitid, waitpid,
};

/// The first descriptor that is none of the three standard streams.
const FIRST_FREE: RawFd = 3;

/// A program, and what its process has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program<'a> {
    /// Path of the program relative to the folder; also its name.
    pub(crate) path: &'a str,
    pub(crate) arguments: &'a [String],
    pub(crate) environment: &'a [String],
    /// Working folder of the program.
    pub(crate) folder: &'a OsStr,
    /// Receives its output and its errors. Its input is empty.
    pub(crate) output: &'a File,
}

/// A process, which leads a process group. All processes of the group end with this value.
#[derive(Debug)]
pub(crate) struct Process {
    pid: Pid,
}

/// How a process has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The process ended with an exit code.
    Exited(i32),
    /// By a signal.
    Killed(i32),
    /// Unknown, because this process ignores SIGCHLD.
    Unknown,
}

/// The parts of a [`Program`] as system calls take them. Nothing is allocated between the child's start and its program.
struct Prepared {
    path: CString,
    folder: CString,
    /// Pointers to the strings, up to a null pointer; with the strings that they point to.
    arguments: (Vec<*const libc::c_char>, Vec<CString>),
    environment: (Vec<*const libc::c_char>, Vec<CString>),
    input: OwnedFd,
    output: OwnedFd,
    errors: OwnedFd,
    parent: libc::pid_t,
}

impl Process {
    /// Starts a program. It is killed when this thread ends, and the addresses of its memory are not randomised.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(crate) fn start(program: &Program<'_>) -> io::Result<Self> {
        let prepared = Prepared::new(program)?;
        let (mut failure, report) = io::pipe()?;
        let report = fcntl_dupfd_cloexec(report, FIRST_FREE)?;
        // SAFETY: without CLONE_VM the child has a copy of this memory, as after fork(2), with this thread alone. It
        // makes system calls with data that was prepared, takes no lock, allocates nothing, and does not return.
        let pid = unsafe {
            let pid = libc::syscall(libc::SYS_clone, libc::c_long::from(libc::SIGCHLD), 0, 0, 0, 0);
            if pid == 0 {
                prepared.execute();
                let error = Errno::from_io_error(&io::Error::last_os_error()).map_or(0, Errno::raw_os_error);
                let bytes = error.to_ne_bytes();
                libc::write(report.as_raw_fd(), bytes.as_ptr().cast(), bytes.len());
                libc::_exit(127);
            }
            pid
        };
        if pid < 0 {
            return Err(io::Error::last_os_error());
        }
        drop(report);
        let pid = Pid::from_raw(pid as libc::pid_t).expect("it is not that of the child");
        let process = Self { pid };
        // The pipe ends without a byte when the program starts, because the descriptor is closed then.
        let mut error = [0; size_of::<i32>()];
        match failure.read_exact(&mut error) {
            Ok(()) => Err(io::Error::from_raw_os_error(i32::from_ne_bytes(error))),
            Err(_) => Ok(process),
        }
    }

    /// How the process ended; `None` while it runs.
    pub(crate) fn end(&self) -> Option<End> {
        end(self.pid)
    }

    /// The number of the process and of its group.
    pub(crate) const fn pid(&self) -> Pid {
        self.pid
    }
}

/// How a child has ended; `None` while it runs.
pub(crate) fn end(pid: Pid) -> Option<End> {
    // The process stays as a zombie, so that no other process gets its number.
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    match waitid(WaitId::Pid(pid), options) {
        Ok(found) => found.map(|status| match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => End::Exited(code),
            (_, Some(signal)) => End::Killed(signal),
            (None, None) => End::Unknown,
        }),
        Err(Errno::CHILD) => Some(End::Unknown),
        Err(_) => None,
    }
}

/// Whether SIGTERM or SIGINT has asked a running kernel to end. User Mode Linux catches each once: its handler
/// halts the kernel, and the next such signal ends the process.
pub(crate) fn was_asked_to_end(pid: Pid) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"));
    status.is_ok_and(|status| caught(&status).is_some_and(|caught| caught & ENDING != ENDING))
}

/// Both in a set of signals, whose lowest bit is signal 1.
const ENDING: u64 = 1 << (libc::SIGTERM - 1) | 1 << (libc::SIGINT - 1);

/// The signals with a handler, from `/proc/PID/status` (proc(5)).
fn caught(status: &str) -> Option<u64> {
    let set = status.lines().find_map(|line| line.strip_prefix("SigCgt:"))?;
    u64::from_str_radix(set.trim(), 16).ok()
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = kill_process_group(self.pid, Signal::KILL);
        // Before it has a group of its own.
        let _ = kill_process(self.pid, Signal::KILL);
        while matches!(waitpid(Some(self.pid), WaitOptions::empty()), Err(Errno::INTR)) {}
    }
}

impl Prepared {
    fn new(program: &Program<'_>) -> io::Result<Self> {
        let null = File::open("/dev/null")?;
        // A descriptor that is a standard stream already would be closed with the start of the program.
        let descriptor = |file: &File| fcntl_dupfd_cloexec(file.as_fd(), FIRST_FREE);
        let path = CString::new(program.path)?;
        let arguments = std::iter::once(program.path).chain(program.arguments.iter().map(String::as_str));
        Ok(Self {
            arguments: strings(arguments)?,
            environment: strings(program.environment.iter().map(String::as_str))?,
            path,
            folder: CString::new(program.folder.as_bytes())?,
            input: descriptor(&null)?,
            output: descriptor(program.output)?,
            errors: descriptor(program.output)?,
            parent: rustix::process::getpid().as_raw_nonzero().get(),
        })
    }

    /// The program takes the place of this process. Returns if a system call failed, with its error in `errno`.
    ///
    /// # Safety
    /// The process is the child, with one thread.
    unsafe fn execute(&self) {
        let streams = [&self.input, &self.output, &self.errors].map(AsRawFd::as_raw_fd);
        // SAFETY: these are system calls with numbers, and with strings and lists that live as long as `self`. The
        // set of signals consists of numbers, for which zero is a value.
        unsafe {
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
                return;
            }
            if libc::getppid() != self.parent {
                libc::_exit(127); // the parent has ended before this
            }
            let none: libc::sigset_t = std::mem::zeroed();
            let ready = libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) >= 0
                && libc::setpgid(0, 0) == 0
                && libc::chdir(self.folder.as_ptr()) == 0
                && (0..).zip(streams).all(|(number, stream)| libc::dup2(stream, number) >= 0)
                // Python ignores the first, a shell the others in the background, and another program may block any.
                && [libc::SIGPIPE, libc::SIGINT, libc::SIGTERM]
                    .iter()
                    .all(|&number| libc::signal(number, libc::SIG_DFL) != libc::SIG_ERR)
                && libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut()) == 0;
            if ready {
                libc::execve(self.path.as_ptr(), self.arguments.0.as_ptr(), self.environment.0.as_ptr());
            }
        }
    }
}

/// Strings as lists of C: pointers, the last of which is null.
fn strings<'a>(all: impl Iterator<Item = &'a str>) -> io::Result<(Vec<*const libc::c_char>, Vec<CString>)> {
    let all = all.map(CString::new).collect::<Result<Vec<_>, _>>()?;
    let pointers = all.iter().map(|one: &CString| CStr::as_ptr(one)).chain([ptr::null()]).collect();
    Ok((pointers, all))
}

#[cfg(test)]
mod tests;
