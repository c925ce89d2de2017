//! The scheduling of a run with guests: the thread of the run and its guests take turns of some microseconds.

use std::mem;

use rustix::thread::{CpuSet, gettid, sched_getaffinity, sched_setaffinity};

/// The shortest time slice that Linux admits (`sched_setattr(2)`, since 6.12).
const SLICE_NS: u64 = 100_000;

/// The thread and the guests that it starts are scheduled for short turns while this exists.
#[derive(Debug)]
pub(crate) struct Scheduling {
    cores: Option<CpuSet>,
    slice: bool,
}

impl Scheduling {
    /// Keeps to one of the cores that the thread may use, with a short time slice.
    ///
    /// Each message is a change between the thread and a guest, which is faster on one core. Threads that were started
    /// one after the other have different cores. With a slice of the usual length, each of these short turns has a later
    /// deadline than the other processes of its core, and waits until one of them has used up its own slice.
    pub(crate) fn begin() -> Self {
        let cores = sched_getaffinity(None).ok();
        if let Some(cores) = &cores {
            let turn = gettid().as_raw_nonzero().get().unsigned_abs() % cores.count().max(1);
            let mut allowed = (0..CpuSet::MAX_CPU).filter(|&core| cores.is_set(core));
            if let Some(core) = allowed.nth(turn as usize) {
                let mut one = CpuSet::new();
                one.set(core);
                let _ = sched_setaffinity(None, &one);
            }
        }
        Self { cores, slice: set_slice(SLICE_NS) }
    }
}

impl Drop for Scheduling {
    fn drop(&mut self) {
        if self.slice {
            let _ = set_slice(0); // the default
        }
        if let Some(cores) = &self.cores {
            let _ = sched_setaffinity(None, cores);
        }
    }
}

/// Sets the time slice of this thread, if it has one; older kernels ignore it. Processes that it starts inherit it.
fn set_slice(slice_ns: u64) -> bool {
    const SIZE: u32 = size_of::<libc::sched_attr>() as u32;
    // SAFETY: the structure consists of numbers, for which zero is a value.
    let mut attributes: libc::sched_attr = unsafe { mem::zeroed() };
    // SAFETY: the kernel writes at most `SIZE` bytes into the structure, which outlives the call.
    let read = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, SIZE, 0) };
    let policy = attributes.sched_policy as libc::c_int;
    if read != 0 || !matches!(policy, libc::SCHED_OTHER | libc::SCHED_BATCH) {
        return false;
    }
    attributes.size = SIZE;
    attributes.sched_runtime = slice_ns;
    // SAFETY: the kernel reads `SIZE` bytes of the structure.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) == 0 }
}
