//! A connection with both ends.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::io;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, Instant};

use airlane_live::options::{buffer_memory, unacknowledged};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

use super::growth::BufferGrowth;
use super::legs::{self, Leg};
use super::memory::{Buffers, Kind, Reservation};
use super::metrics::Cause;
use super::progress::Progress;
use super::transfer::{End, Failure, Sockets, Tools, Transfer};
use super::worker::Worker;
use crate::common;

/// First and longest time until the next look whether all is acknowledged, after both directions have ended.
const CHECK_MIN: Duration = Duration::from_millis(5);
const CHECK_MAX: Duration = Duration::from_millis(500);

/// The state of a connection for the sweep of its worker.
#[derive(Debug)]
pub(super) struct Watched {
    /// Time of the last delivery of data.
    last: Cell<Instant>,
    phase: Cell<Phase>,
    /// Whether data was delivered since the last look, or buffers are larger than at first.
    has_moved: Cell<bool>,
    /// Bytes in its buffers and pipes at the last look.
    memory: Cell<u64>,
    /// Whether the sweep asks the connection to look at its sockets.
    look: Cell<bool>,
    /// Whether the connection has to end because the memory is used up.
    must_end: Cell<bool>,
    waker: RefCell<Waker>,
}

/// The event for which a connection waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// New data.
    Idle,
    /// A receiver that takes data, or acknowledges it.
    Waiting,
    /// New data in one direction; the other has ended.
    HalfClosed,
}

impl Watched {
    fn new() -> Self {
        Self {
            last: Cell::new(Instant::now()),
            phase: Cell::new(Phase::Idle),
            has_moved: Cell::new(false),
            memory: Cell::new(0),
            look: Cell::new(false),
            must_end: Cell::new(false),
            waker: RefCell::new(Waker::noop().clone()),
        }
    }

    pub(super) fn memory(&self) -> u64 {
        self.memory.get()
    }

    /// Ends the connection because the memory is used up.
    pub(super) fn end(&self) {
        self.must_end.set(true);
        self.wake();
    }

    fn wake(&self) {
        self.look.set(true);
        self.waker.borrow().wake_by_ref();
    }

    /// Wakes the connection if its time is over, its memory has to be counted, or an error of a socket may be
    /// unseen: a socket of which the proxy does not read now cannot wake it.
    pub(super) fn sweep(&self, now: Instant, worker: &Worker) {
        let counts = self.has_moved.get() || self.memory.get() > 0;
        if counts || self.phase.get() != Phase::Idle || self.is_late(now, worker).is_some() {
            self.wake();
        }
    }

    /// Whether the connection was without data for too long. [`Progress`] has the time of data that waits.
    fn is_late(&self, now: Instant, worker: &Worker) -> Option<Cause> {
        let limits = &worker.proxy.limits;
        let (limit, cause) = match self.phase.get() {
            Phase::Idle => (limits.idle_timeout, Cause::IdleTimeout),
            Phase::Waiting => return None,
            Phase::HalfClosed => (limits.half_closed_timeout, Cause::HalfClosedTimeout),
        };
        (now.saturating_duration_since(self.last.get()) >= common::time(limit)).then_some(cause)
    }
}

/// A direction with its progress.
#[derive(Debug)]
struct Direction {
    transfer: Transfer,
    progress: Progress,
    growth: BufferGrowth,
}

/// A connection with both ends. It resolves when both directions have ended and all is acknowledged.
#[derive(Debug)]
pub(super) struct Relay {
    near_leg: Leg,
    near: TcpStream,
    far: TcpStream,
    near_buffers: Buffers,
    far_buffers: Buffers,
    reservation: Reservation,
    /// From the near end to the far end, and back.
    up: Direction,
    down: Direction,
    worker: Rc<Worker>,
    watched: Rc<Watched>,
    /// The next look whether all is acknowledged, once both directions have ended.
    check: Option<Pin<Box<Sleep>>>,
    check_after: Duration,
}

/// Both sockets of a new connection.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) near_leg: Leg,
    pub(super) near: TcpStream,
    pub(super) near_buffers: Buffers,
    pub(super) far: TcpStream,
    pub(super) far_buffers: Buffers,
}

impl Relay {
    pub(super) fn new(pair: Pair, reservation: Reservation, worker: Rc<Worker>) -> Self {
        let watched = Rc::new(Watched::new());
        worker.watch(Rc::downgrade(&watched));
        worker.proxy.metrics.open.inc();
        let now = Instant::now();
        let direction = || Direction {
            transfer: Transfer::new(),
            progress: Progress::new(now, worker.proxy.stall_rule),
            growth: BufferGrowth::new(now),
        };
        let (up, down) = (direction(), direction());
        let Pair { near_leg, near, near_buffers, far, far_buffers } = pair;
        Self {
            near_leg,
            near,
            far,
            near_buffers,
            far_buffers,
            reservation,
            up,
            down,
            worker,
            watched,
            check: None,
            check_after: CHECK_MIN,
        }
    }

    /// Moves data in both directions. The first failure ends both (rule 2 of [`transfer`](super::transfer)): the other direction
    /// is not polled after it.
    fn poll_directions(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Cause>> {
        let worker = Rc::clone(&self.worker);
        let mut scratch = worker.scratch.borrow_mut();
        let mut tools = Tools { pool: &worker.pool, scratch: &mut scratch };
        let mut has_moved = false;
        for leg in [self.near_leg, self.near_leg.other()] {
            let is_up = leg == self.near_leg;
            let (direction, is_from_closed) = if is_up {
                (&mut self.up, self.down.transfer.has_ended())
            } else {
                (&mut self.down, self.up.transfer.has_ended())
            };
            let (from, to) =
                if is_up { (&mut self.near, &mut self.far) } else { (&mut self.far, &mut self.near) };
            let transfer = &mut direction.transfer;
            let before = (transfer.moved(), transfer.has_ended());
            let polled = transfer.poll(cx, Sockets { from, to, is_from_closed }, &mut tools);
            let metrics = worker.proxy.metrics.leg(leg);
            let moved = transfer.moved() - before.0;
            if moved > 0 {
                metrics.relayed.inc_by(moved);
            }
            if transfer.has_ended() && !before.1 {
                metrics.half_closed.inc();
            }
            has_moved |= moved > 0 || transfer.has_ended() != before.1;
            if let Poll::Ready(Err(Failure { end, error })) = polled {
                let failed = if end == End::From { leg } else { leg.other() };
                let socket = if failed == self.near_leg { &self.near } else { &self.far };
                return Poll::Ready(Err(cause_of(failed, &first_error(socket, error))));
            }
        }
        if has_moved {
            self.watched.last.set(Instant::now());
            self.watched.has_moved.set(true);
            self.grow();
        }
        if self.have_ended() { Poll::Ready(Ok(())) } else { Poll::Pending }
    }

    fn have_ended(&self) -> bool {
        self.up.transfer.has_ended() && self.down.transfer.has_ended()
    }

    /// Gives larger buffers to a direction that needs them.
    fn grow(&mut self) {
        let now = Instant::now();
        let reservation = &mut self.reservation;
        let (up, down) = (&mut self.up, &mut self.down);
        let (near, far) = ((&self.near, &mut self.near_buffers), (&self.far, &mut self.far_buffers));
        if let Some(sizes) = up.growth.sizes(now, up.transfer.moved(), near.0, far.0) {
            // The call fails if the socket has ended, which the next call on it reports.
            let _ = near.1.grow(near.0, Kind::Receive, sizes.receive, reservation);
            let _ = far.1.grow(far.0, Kind::Send, sizes.send, reservation);
        }
        if let Some(sizes) = down.growth.sizes(now, down.transfer.moved(), far.0, near.0) {
            let _ = far.1.grow(far.0, Kind::Receive, sizes.receive, reservation);
            let _ = near.1.grow(near.0, Kind::Send, sizes.send, reservation);
        }
    }

    /// Counts the memory, and gives back what is not needed.
    fn weigh(&mut self) {
        // Without the option, only the bytes in the proxy itself count.
        let of = |socket: &TcpStream| buffer_memory(socket.as_fd()).unwrap_or_default();
        let (near, far) = (of(&self.near), of(&self.far));
        let own = self.up.transfer.memory() + self.down.transfer.memory();
        let memory = own + near.received + near.to_send + far.received + far.to_send;
        let before = self.watched.memory.replace(memory);
        self.worker.proxy.metrics.memory.inc_by(memory as i64 - before as i64);
        let (up, down) =
            (self.up.growth.since_look(&self.up.transfer), self.down.growth.since_look(&self.down.transfer));
        let reservation = &mut self.reservation;
        // Bytes that were moved since the last look count as used: the next ones need as much.
        for (socket, buffers, used, received, sent) in [
            (&self.near, &mut self.near_buffers, near, up, down),
            (&self.far, &mut self.far_buffers, far, down, up),
        ] {
            let _ = buffers.shrink(socket, Kind::Receive, used.received.max(received), reservation);
            let _ = buffers.shrink(socket, Kind::Send, used.to_send.max(sent), reservation);
        }
    }

    /// Looks for errors of the sockets, at the memory, and whether the time is over.
    fn look(&mut self) -> Result<(), Cause> {
        self.weigh();
        self.watched.has_moved.set(self.near_buffers.has_grown() || self.far_buffers.has_grown());
        for (leg, socket) in [(self.near_leg, &self.near), (self.near_leg.other(), &self.far)] {
            match socket.take_error() {
                Ok(None) => {}
                Ok(Some(e)) | Err(e) => return Err(cause_of(leg, &e)),
            }
        }
        if self.watched.must_end.get() {
            return Err(Cause::MemoryUsedUp);
        }
        let now = Instant::now();
        let (up, down) = (queued(&self.far), queued(&self.near));
        let rule = self.worker.proxy.stall_rule;
        for (direction, queued) in [(&mut self.up, up), (&mut self.down, down)] {
            let (transfer, progress) = (&direction.transfer, &mut direction.progress);
            let before = progress.acknowledged();
            let read = transfer.moved() + transfer.waiting() as u64;
            if progress.look(now, read, transfer.moved().saturating_sub(queued), rule) {
                return Err(Cause::StallTimeout);
            }
            if progress.acknowledged() != before {
                self.watched.last.set(now);
            }
        }
        self.watched.phase.set(self.phase(up + down));
        self.watched.is_late(now, &self.worker).map_or(Ok(()), Err)
    }

    /// The event for which it waits, with this number of bytes in the send queues of both sockets.
    fn phase(&self, queued: u64) -> Phase {
        let (up, down) = (&self.up.transfer, &self.down.transfer);
        if up.is_waiting() || down.is_waiting() || queued > 0 || self.have_ended() {
            Phase::Waiting
        } else if up.has_ended() || down.has_ended() {
            Phase::HalfClosed
        } else {
            Phase::Idle
        }
    }

    /// After both directions have ended, waits until both ends have acknowledged all data. Until then, the connection has
    /// its place and counts, as its data does.
    fn poll_acknowledged(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        // The FIN counts as one byte. Without data, the kernel can finish by itself.
        while queued(&self.near).max(queued(&self.far)) > 1 {
            let after = self.check_after;
            let check = self.check.get_or_insert_with(|| Box::pin(sleep(after)));
            ready!(check.as_mut().poll(cx));
            self.check = None;
            self.check_after = (after * 2).min(CHECK_MAX);
        }
        Poll::Ready(())
    }
}

/// Bytes in the send queue of a socket, and of a socket that has ended, none.
fn queued(socket: &TcpStream) -> u64 {
    unacknowledged(socket.as_fd()).unwrap_or(0)
}

/// The error with which a socket has ended, if a call only reports that it has ended.
fn first_error(socket: &TcpStream, error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::NotConnected | io::ErrorKind::BrokenPipe => {
            socket.take_error().ok().flatten().unwrap_or(error)
        }
        _ => error,
    }
}

/// Why a socket of a side has failed.
fn cause_of(leg: Leg, e: &io::Error) -> Cause {
    match e.kind() {
        io::ErrorKind::ConnectionReset
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::NotConnected => match leg {
            Leg::Ran => Cause::ResetRan,
            Leg::Core => Cause::ResetCore,
        },
        _ => Cause::PeerTimeout,
    }
}

impl Future for Relay {
    type Output = Result<(), Cause>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if !this.have_ended()
            && let Poll::Ready(Err(cause)) = this.poll_directions(cx)
        {
            return Poll::Ready(Err(cause));
        }
        if this.watched.look.take()
            && let Err(cause) = this.look()
        {
            return Poll::Ready(Err(cause));
        }
        if this.have_ended() && this.poll_acknowledged(cx).is_ready() {
            legs::close_in_order(&this.near);
            legs::close_in_order(&this.far);
            return Poll::Ready(Ok(()));
        }
        // Data in the kernel counts at the next look.
        let is_waiting = this.watched.phase.get() == Phase::Waiting;
        this.watched.phase.set(this.phase(is_waiting.into()));
        if !this.watched.waker.borrow().will_wake(cx.waker()) {
            this.watched.waker.replace(cx.waker().clone());
        }
        Poll::Pending
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let metrics = &self.worker.proxy.metrics;
        self.up.transfer.give_back(&self.worker.pool);
        self.down.transfer.give_back(&self.worker.pool);
        metrics.open.dec();
        metrics.memory.dec_by(self.watched.memory.get() as i64);
        if self.up.transfer.has_ended() {
            metrics.leg(self.near_leg).half_closed.dec();
        }
        if self.down.transfer.has_ended() {
            metrics.leg(self.near_leg.other()).half_closed.dec();
        }
    }
}
