//! The memory of connections: what the kernel may hold for them, and the bound on the sum.
//!
//! A connection has four buffers of the kernel. Each begins small and with a fixed size, which the kernel does not
//! exceed by more than a packet. A buffer grows while the path needs more, by reservations from [`Budget`], of which
//! half is for growth; so connections that grow leave room for new ones. Memory that a connection no longer needs is
//! given back. The sum of the reservations is never above `memory`.

use std::fs;
use std::io;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use airlane_live::options::{FixedBuffers, set_fixed_buffers, set_window_clamp};
use socket2::SockRef;
use tokio::net::TcpStream;

use super::config::LegConfig;
use super::transfer::SCRATCH;

/// First size of a buffer, with the overhead of the kernel. The ten segments of an initial window (RFC 6928) take 23
/// KiB at 2,304 bytes each, which is what Linux counts for a packet of 1,500 bytes in a buffer of half a page.
pub(super) const FIRST: u64 = 32 * 1024;
/// Factor between two sizes of a buffer.
const STEP: u64 = 4;
/// Part of the memory that pipes may have.
const PIPES_SHARE: u64 = 8;
/// `TCP_WINDOW_CLAMP` of sockets without one of their own. The kernel sets it from the size of the receive buffer at the
/// handshake, and when the overhead of packets changes (`tcp_measure_rcv_mss`), but not with `SO_RCVBUF`.
const NO_CLAMP: u32 = 1 << 30;

/// Reservation of a connection at its begin: four buffers, and the copies of each direction.
pub(super) fn first_reservation(ran: &Sizes, core: &Sizes) -> u64 {
    [ran, core].iter().map(|leg| leg.receive.first() + leg.send.first()).sum::<u64>() + 2 * SCRATCH as u64
}

/// Pipes that may be used, so that their capacity is a small part of the memory.
pub(super) fn pipes_allowed(pipes: u32, capacity: u64, memory: u64) -> u64 {
    u64::from(pipes).min(memory / PIPES_SHARE / capacity)
}

/// The sum of reservations, and its bound.
#[derive(Debug)]
pub(super) struct Budget {
    max: u64,
    reserved: AtomicU64,
    /// The part of `reserved` that is above the first reservations.
    grown: AtomicU64,
}

impl Budget {
    pub(super) fn new(max: u64) -> Self {
        Self { max, reserved: AtomicU64::new(0), grown: AtomicU64::new(0) }
    }

    /// Reserves the first buffers of a connection.
    pub(super) fn admit(self: &Arc<Self>, first: u64) -> Option<Reservation> {
        if !take(&self.reserved, first, self.max) {
            return None;
        }
        Some(Reservation { budget: Arc::clone(self), first, grown: 0 })
    }
}

/// Adds to a count that has a maximum.
fn take(count: &AtomicU64, more: u64, max: u64) -> bool {
    let added = |now: u64| now.checked_add(more).filter(|&sum| sum <= max);
    count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, added).is_ok()
}

/// The reservation of a connection, until it is dropped.
#[derive(Debug)]
pub(super) struct Reservation {
    budget: Arc<Budget>,
    first: u64,
    grown: u64,
}

impl Reservation {
    /// Reserves more. One step may take a quarter of what is left for growth, so that many connections share it.
    fn grow(&mut self, more: u64) -> bool {
        let budget = &self.budget;
        let left = (budget.max / 2).saturating_sub(budget.grown.load(Ordering::Relaxed));
        if more > left / 4 || !take(&budget.grown, more, budget.max / 2) {
            return false;
        }
        if !take(&budget.reserved, more, budget.max) {
            budget.grown.fetch_sub(more, Ordering::Relaxed);
            return false;
        }
        self.grown += more;
        true
    }

    fn give_back(&mut self, less: u64) {
        self.grown -= less;
        self.budget.grown.fetch_sub(less, Ordering::Relaxed);
        self.budget.reserved.fetch_sub(less, Ordering::Relaxed);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.grown.fetch_sub(self.grown, Ordering::Relaxed);
        self.budget.reserved.fetch_sub(self.first + self.grown, Ordering::Relaxed);
    }
}

/// The sizes that a kind of buffer of a side can have, with the overhead of the kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    /// The size that is set in the file.
    fixed: Option<u64>,
    /// The largest size that can be set (`net.core.rmem_max`, `net.core.wmem_max`).
    settable: u64,
    /// The largest size to which the kernel adapts it (`net.ipv4.tcp_rmem`, `net.ipv4.tcp_wmem`).
    adapted: u64,
}

impl Range {
    fn new(fixed: Option<u64>, max: u64, tcp: u64) -> Self {
        // The kernel doubles a size that is set, for its overhead (socket(7)).
        Self { fixed: fixed.map(|size| 2 * size.min(max)), settable: 2 * max, adapted: tcp }
    }

    fn first(&self) -> u64 {
        self.fixed.unwrap_or_else(|| FIRST.min(self.settable).min(self.adapted))
    }

    /// The next size. The last size is that of a buffer which the kernel adapts.
    fn above(&self, size: u64) -> u64 {
        let next = size * STEP;
        if size < self.settable && next.min(self.settable) < self.adapted {
            next.min(self.settable)
        } else {
            self.adapted.max(size)
        }
    }

    fn is_adapted(&self, size: u64) -> bool {
        size > self.settable
    }
}

/// The buffers of the sockets of a side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) receive: Range,
    pub(super) send: Range,
    /// Whether the file has a `window_clamp`.
    has_clamp: bool,
}

impl Sizes {
    pub(super) fn of(leg: &LegConfig) -> Self {
        // Defaults of Linux (SK_RMEM_MAX in net/sock.h; tcp(7)), where the kernel does not show them in a namespace.
        let core = |name: &str| last_number(&format!("/proc/sys/net/core/{name}")).unwrap_or(212_992);
        let tcp =
            |name: &str, else_: u64| last_number(&format!("/proc/sys/net/ipv4/{name}")).unwrap_or(else_);
        let fixed = |size: Option<airlane_settings::quantity::Size>| size.map(|size| size.0.get());
        Self {
            receive: Range::new(fixed(leg.receive_buffer), core("rmem_max"), tcp("tcp_rmem", 6 << 20)),
            send: Range::new(fixed(leg.send_buffer), core("wmem_max"), tcp("tcp_wmem", 4 << 20)),
            has_clamp: leg.window_clamp.is_some(),
        }
    }
}

fn last_number(file: &str) -> Option<u64> {
    fs::read_to_string(file).ok()?.split_whitespace().last()?.parse().ok()
}

/// The buffers of one socket.
#[derive(Debug)]
pub(super) struct Buffers {
    sizes: Sizes,
    receive: u64,
    send: u64,
}

/// Which buffer of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Receive,
    Send,
}

impl Buffers {
    /// Sets the first sizes. Not before the handshake: the scaling of the window follows from the size of the buffer.
    pub(super) fn begin(socket: &TcpStream, sizes: Sizes) -> io::Result<Self> {
        let buffers = Self { sizes, receive: sizes.receive.first(), send: sizes.send.first() };
        for kind in [Kind::Receive, Kind::Send] {
            if buffers.range(kind).fixed.is_none() {
                buffers.set(socket, kind)?;
            }
        }
        Ok(buffers)
    }

    pub(super) const fn size(&self, kind: Kind) -> u64 {
        match kind {
            Kind::Receive => self.receive,
            Kind::Send => self.send,
        }
    }

    fn range(&self, kind: Kind) -> &Range {
        match kind {
            Kind::Receive => &self.sizes.receive,
            Kind::Send => &self.sizes.send,
        }
    }

    /// Whether a buffer has grown.
    pub(super) fn has_grown(&self) -> bool {
        [Kind::Receive, Kind::Send].into_iter().any(|kind| self.size(kind) > self.range(kind).first())
    }

    /// Makes a buffer larger if `wanted` is above its size, and the budget allows it.
    pub(super) fn grow(
        &mut self,
        socket: &TcpStream,
        kind: Kind,
        wanted: u64,
        reservation: &mut Reservation,
    ) -> io::Result<()> {
        let (size, range) = (self.size(kind), *self.range(kind));
        let next = range.above(size);
        if range.fixed.is_some() || wanted <= size || next == size || !reservation.grow(next - size) {
            return Ok(());
        }
        self.resize(socket, kind, next)
    }

    /// Makes a buffer smaller that holds less than the next smaller size.
    pub(super) fn shrink(
        &mut self,
        socket: &TcpStream,
        kind: Kind,
        used: u64,
        reservation: &mut Reservation,
    ) -> io::Result<()> {
        let (size, range) = (self.size(kind), *self.range(kind));
        let less = (size.min(range.settable * STEP) / STEP).max(range.first());
        if range.fixed.is_some() || less >= size || used > less {
            return Ok(());
        }
        self.resize(socket, kind, less)?;
        reservation.give_back(size - less);
        Ok(())
    }

    fn resize(&mut self, socket: &TcpStream, kind: Kind, size: u64) -> io::Result<()> {
        match kind {
            Kind::Receive => self.receive = size,
            Kind::Send => self.send = size,
        }
        self.set(socket, kind)
    }

    fn set(&self, socket: &TcpStream, kind: Kind) -> io::Result<()> {
        self.set_size(socket, kind)?;
        if kind == Kind::Receive && !self.sizes.has_clamp {
            set_window_clamp(socket.as_fd(), NO_CLAMP)?;
        }
        Ok(())
    }

    fn set_size(&self, socket: &TcpStream, kind: Kind) -> io::Result<()> {
        let size = self.size(kind);
        if self.range(kind).is_adapted(size) {
            let of = |kind: Kind| {
                let range = self.range(kind);
                range.fixed.is_some() || !range.is_adapted(self.size(kind))
            };
            let fixed = FixedBuffers { receive: of(Kind::Receive), send: of(Kind::Send) };
            // A kernel without the option keeps the largest size that can be set.
            let _ = set_fixed_buffers(socket.as_fd(), fixed);
            return Ok(());
        }
        // Bounded by `settable`, which is twice a number of 32 bits.
        let half = usize::try_from(size / 2).unwrap_or(usize::MAX);
        match kind {
            Kind::Receive => SockRef::from(socket).set_recv_buffer_size(half),
            Kind::Send => SockRef::from(socket).set_send_buffer_size(half),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reservations_are_never_above_the_budget() {
        let budget = Arc::new(Budget::new(1000));
        let mut first = budget.admit(100).unwrap();
        // A quarter of 500.
        assert!(!first.grow(126));
        assert!(first.grow(125));
        let others: Vec<_> = std::iter::from_fn(|| budget.admit(100)).collect();
        assert_eq!(others.len(), 7, "775 are left");
        assert!(!first.grow(90), "there is room for growth, but none at all");
        drop(others);
        assert!(first.grow(90));
        first.give_back(100);
        drop(first);
        assert_eq!(budget.reserved.load(Ordering::Relaxed), 0);
        assert_eq!(budget.grown.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn growth_leaves_half_of_the_budget_to_new_connections() {
        let budget = Arc::new(Budget::new(1 << 20));
        let mut one = budget.admit(1024).unwrap();
        let mut rounds = 0;
        while one.grow(1024) {
            rounds += 1;
        }
        assert!(rounds <= 512);
        assert!(std::iter::from_fn(|| budget.admit(1024)).take(511).count() == 511);
    }

    #[test]
    fn a_buffer_grows_in_steps_to_what_the_kernel_adapts() {
        // rmem_max of Linux, and 6 MiB as the third number of tcp_rmem.
        let range = Range::new(None, 212_992, 6 << 20);
        let mut sizes = vec![range.first()];
        while range.above(*sizes.last().unwrap()) > *sizes.last().unwrap() {
            sizes.push(range.above(*sizes.last().unwrap()));
        }
        assert_eq!(sizes, [32_768, 131_072, 425_984, 6 << 20]);
        assert!(range.is_adapted(6 << 20) && !range.is_adapted(425_984));
        // More can be set than the kernel adapts to.
        let range = Range::new(None, 4 << 20, 4 << 20);
        assert_eq!([2 << 20, 4 << 20].map(|size| range.above(size)), [4 << 20; 2]);
        assert!(!range.is_adapted(4 << 20));
    }

    #[test]
    fn pipes_have_a_small_part_of_the_memory() {
        assert_eq!(pipes_allowed(1024, 256 << 10, 2 << 30), 1024);
        assert_eq!(pipes_allowed(1024, 256 << 10, 16 << 20), 8);
        assert_eq!(pipes_allowed(1024, 256 << 10, 1 << 20), 0);
    }
}
