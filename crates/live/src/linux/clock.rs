//! The host's clock, and settings of a process that must wake up in time.

use nix::libc;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::mman::{MlockAllFlags, mlockall};
use nix::sys::prctl;
use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage};
use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;

use crate::LiveError;

/// The priority of the cell process with `--fifo`: above ordinary processes, below the kernel's own threads.
const PRIORITY: libc::c_int = 40;

/// Nanoseconds since a fixed point. Changes of the wall clock do not affect it (`CLOCK_MONOTONIC`).
pub(crate) fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("every Linux has this clock");
    time.num_nanoseconds() as u64
}

/// Nanoseconds since the beginning of 1970.
pub(crate) fn since_1970_ns() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_REALTIME).expect("every Linux has this clock");
    time.num_nanoseconds() as u64
}

/// Processor time that this process has used, in seconds.
pub(crate) fn processor_s() -> f64 {
    getrusage(UsageWho::RUSAGE_SELF).map_or(f64::NAN, |usage| {
        (usage.user_time().num_microseconds() + usage.system_time().num_microseconds()) as f64 / 1e6
    })
}

/// Settings of the cell process.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Priority {
    /// SCHED_FIFO.
    pub(crate) fifo: bool,
    /// The core on which it runs.
    pub(crate) core: Option<usize>,
}

/// Asks the scheduler for the shortest time slices. Since Linux 6.12, a process with short slices waits less for
/// one with long ones (`sched_runtime` in sched_setattr(2)). Older kernels ignore it.
fn ask_for_short_slices() {
    const SLICE_NS: u64 = 100_000;
    // SAFETY: reads a number of this process.
    let nice = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
    let attributes = libc::sched_attr {
        size: size_of::<libc::sched_attr>() as u32,
        sched_policy: libc::SCHED_OTHER as u32,
        sched_flags: 0,
        sched_nice: nice,
        sched_priority: 0,
        sched_runtime: SLICE_NS,
        sched_deadline: 0,
        sched_period: 0,
    };
    // SAFETY: the kernel reads as many bytes as `size` says, during the call only.
    let _ = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}

/// Asks for punctual wake-ups. Memory is locked where the system allows it.
///
/// # Errors
/// If the system refuses a setting of the user.
pub(crate) fn be_punctual(priority: Priority) -> Result<(), LiveError> {
    // Without this call, the kernel may delay a wake-up by 50 µs (prctl(2)).
    let _ = prctl::set_timerslack(1);
    ask_for_short_slices();
    let unlimited = getrlimit(Resource::RLIMIT_MEMLOCK).is_ok_and(|(soft, _)| soft == libc::RLIM_INFINITY);
    if unlimited || nix::unistd::geteuid().is_root() {
        let _ = mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE);
    }
    if let Some(core) = priority.core {
        let mut set = CpuSet::new();
        let pinned = set.set(core).and_then(|()| sched_setaffinity(Pid::from_raw(0), &set));
        pinned.map_err(|e| LiveError::new(format!("cannot run on core {core}: {e}"), "see nproc"))?;
    }
    if priority.fifo {
        let parameters = libc::sched_param { sched_priority: PRIORITY };
        // SAFETY: the kernel reads the parameters that the pointer names during the call only.
        let set = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
        if set != 0 {
            let help = format!(
                "be root, or allow it: `{} - rtprio {PRIORITY}` in /etc/security/limits.conf, and log in again",
                nix::unistd::User::from_uid(nix::unistd::getuid())
                    .ok()
                    .flatten()
                    .map_or_else(|| "USER".to_owned(), |user| user.name)
            );
            let error = std::io::Error::last_os_error();
            return Err(LiveError::new(format!("--fifo: cannot use SCHED_FIFO: {error}"), help));
        }
    }
    Ok(())
}
