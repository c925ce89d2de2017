//! Pipes through which data moves from socket to socket without being copied.

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use nix::fcntl::{FcntlArg, OFlag, SpliceFFlags, fcntl, splice};
use nix::unistd::pipe2;
use prometheus_client::metrics::gauge::Gauge;

/// Unused pipes of a worker that stay open.
const FREE_MAX: usize = 64;

/// A pipe.
#[derive(Debug)]
pub(super) struct Pipe {
    read: OwnedFd,
    write: OwnedFd,
    capacity: usize,
}

impl Pipe {
    fn new(capacity: usize) -> io::Result<Self> {
        let (read, write) = pipe2(OFlag::O_NONBLOCK | OFlag::O_CLOEXEC)?;
        // Beyond `fs.pipe-user-pages-soft`, the kernel refuses. The pipe then keeps its smaller capacity.
        let capacity = i32::try_from(capacity).expect("bounded by `Config::check`");
        let capacity = match fcntl(&write, FcntlArg::F_SETPIPE_SZ(capacity)) {
            Ok(capacity) => capacity,
            Err(_) => fcntl(&write, FcntlArg::F_GETPIPE_SZ)?,
        };
        Ok(Self { read, write, capacity: usize::try_from(capacity).unwrap_or_default() })
    }

    /// The bytes that it can hold.
    pub(super) const fn capacity(&self) -> usize {
        self.capacity
    }

    /// Moves data from a socket into this pipe, which must be empty. Neither 0 nor `WouldBlock` means that
    /// the socket has no data.
    pub(super) fn fill(&self, from: impl AsFd) -> io::Result<usize> {
        let flags = SpliceFFlags::SPLICE_F_NONBLOCK | SpliceFFlags::SPLICE_F_MOVE;
        Ok(splice(from, None, &self.write, None, self.capacity, flags)?)
    }

    /// Moves data from this pipe, which has `length` bytes, into a socket.
    pub(super) fn drain(&self, to: impl AsFd, length: usize) -> io::Result<usize> {
        let flags = SpliceFFlags::SPLICE_F_NONBLOCK | SpliceFFlags::SPLICE_F_MOVE;
        Ok(splice(&self.read, None, to, None, length, flags)?)
    }
}

/// The pipes of a worker.
#[derive(Debug)]
pub(super) struct Pool {
    free: RefCell<Vec<Pipe>>,
    used: Cell<usize>,
    /// Used pipes of all workers, for the metrics.
    gauge: Gauge,
    max: usize,
    capacity: usize,
}

impl Pool {
    pub(super) fn new(max: usize, capacity: usize, gauge: Gauge) -> Self {
        Self { free: RefCell::default(), used: Cell::new(0), gauge, max, capacity }
    }

    /// An empty pipe; `None` if all are in use, or no file descriptor is left.
    pub(super) fn take(&self) -> Option<Pipe> {
        if self.used.get() >= self.max {
            return None;
        }
        let free = self.free.borrow_mut().pop();
        let pipe = free.or_else(|| Pipe::new(self.capacity).ok())?;
        self.used.set(self.used.get() + 1);
        self.gauge.inc();
        Some(pipe)
    }

    /// Takes back a pipe that is empty.
    pub(super) fn put(&self, pipe: Pipe) {
        self.used.set(self.used.get() - 1);
        self.gauge.dec();
        let mut free = self.free.borrow_mut();
        if free.len() < FREE_MAX {
            free.push(pipe);
        }
    }

    /// Closes a pipe with the data in it.
    pub(super) fn discard(&self, pipe: Pipe) {
        self.used.set(self.used.get() - 1);
        self.gauge.dec();
        drop(pipe);
    }
}
