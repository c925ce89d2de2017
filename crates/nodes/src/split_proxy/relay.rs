//! A connection with both ends.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::io;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use airlane_live::options::buffer_memory;
use tokio::net::TcpStream;

use super::legs::{self, Leg};
use super::metrics::Cause;
use super::way::{End, Tools, Way};
use super::worker::Worker;

/// The state of a connection for the sweep of its worker.
#[derive(Debug)]
pub(super) struct Watched {
    /// When data was delivered last.
    last: Cell<Instant>,
    phase: Cell<Phase>,
    /// Whether data was delivered since the last look.
    has_moved: Cell<bool>,
    /// Bytes in its buffers and pipes at the last look.
    memory: Cell<u64>,
    /// Whether the sweep asks the connection to look at its sockets.
    look: Cell<bool>,
    waker: RefCell<Waker>,
}

/// The event for which a connection waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// New data.
    Idle,
    /// A receiver that takes data.
    Stalled,
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
            waker: RefCell::new(Waker::noop().clone()),
        }
    }

    /// Wakes the connection if its time is over, its memory has to be counted, or an error of a socket may be
    /// unseen: a socket of which the proxy does not read now cannot wake it.
    pub(super) fn sweep(&self, now: Instant, worker: &Worker) {
        let counts = self.has_moved.get() || self.memory.get() > 0;
        if counts || self.phase.get() != Phase::Idle || self.is_late(now, worker).is_some() {
            self.look.set(true);
            self.waker.borrow().wake_by_ref();
        }
    }

    fn is_late(&self, now: Instant, worker: &Worker) -> Option<Cause> {
        let limits = &worker.proxy.limits;
        let (limit, cause) = match self.phase.get() {
            Phase::Idle => (limits.idle_timeout, Cause::IdleTimeout),
            Phase::Stalled => (limits.stall_timeout, Cause::StallTimeout),
            Phase::HalfClosed => (limits.half_closed_timeout, Cause::HalfClosedTimeout),
        };
        let limit = Duration::from_nanos(limit.0.as_nanos());
        (now.saturating_duration_since(self.last.get()) >= limit).then_some(cause)
    }
}

/// A connection with both ends. It resolves when both directions have ended.
#[derive(Debug)]
pub(super) struct Relay {
    near_leg: Leg,
    near: TcpStream,
    far: TcpStream,
    /// From the near end to the far end, and back.
    up: Way,
    down: Way,
    worker: Rc<Worker>,
    watched: Rc<Watched>,
}

impl Relay {
    pub(super) fn new(near_leg: Leg, near: TcpStream, far: TcpStream, worker: Rc<Worker>) -> Self {
        let watched = Rc::new(Watched::new());
        worker.watch(Rc::downgrade(&watched));
        worker.proxy.metrics.open.inc();
        Self { near_leg, near, far, up: Way::new(), down: Way::new(), worker, watched }
    }

    /// Moves data in both directions.
    fn poll_ways(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Cause>> {
        let metrics = &self.worker.proxy.metrics;
        let mut scratch = self.worker.scratch.borrow_mut();
        let mut tools = Tools { pool: &self.worker.pool, scratch: &mut scratch };
        let mut moved = [0, 0];
        let ended_before = (self.up.has_ended(), self.down.has_ended());
        let up = self.up.poll(cx, (&mut self.near, &mut self.far), &mut tools, &mut moved[0]);
        let down = self.down.poll(cx, (&mut self.far, &mut self.near), &mut tools, &mut moved[1]);
        if moved[0] > 0 {
            metrics.leg(self.near_leg).relayed.inc_by(moved[0]);
        }
        if moved[1] > 0 {
            metrics.leg(self.near_leg.other()).relayed.inc_by(moved[1]);
        }
        let ended = (self.up.has_ended(), self.down.has_ended());
        if ended.0 && !ended_before.0 {
            metrics.leg(self.near_leg).half_closed.inc();
        }
        if ended.1 && !ended_before.1 {
            metrics.leg(self.near_leg.other()).half_closed.inc();
        }
        if moved != [0, 0] || ended != ended_before {
            self.watched.last.set(Instant::now());
            self.watched.has_moved.set(true);
        }
        let failed = |leg: Leg, e: &io::Error| cause_of(leg, e);
        if let Poll::Ready(Err((end, e))) = &up {
            return Poll::Ready(Err(failed(
                if *end == End::From { self.near_leg } else { self.near_leg.other() },
                e,
            )));
        }
        if let Poll::Ready(Err((end, e))) = &down {
            return Poll::Ready(Err(failed(
                if *end == End::From { self.near_leg.other() } else { self.near_leg },
                e,
            )));
        }
        if ended == (true, true) { Poll::Ready(Ok(())) } else { Poll::Pending }
    }

    /// Counts the memory.
    fn weigh(&self) {
        // Without the option, only what is in the proxy itself counts.
        let of = |socket: &TcpStream| buffer_memory(socket.as_fd()).unwrap_or(0);
        let own = (self.up.waiting() + self.down.waiting()) as u64;
        let memory = own + of(&self.near) + of(&self.far);
        let before = self.watched.memory.replace(memory);
        self.worker.proxy.metrics.memory.inc_by(memory as i64 - before as i64);
    }

    /// Looks for errors of the sockets, and whether the time is over.
    fn look(&self) -> Result<(), Cause> {
        self.watched.has_moved.set(false);
        self.weigh();
        for (leg, socket) in [(self.near_leg, &self.near), (self.near_leg.other(), &self.far)] {
            match socket.take_error() {
                Ok(None) => {}
                Ok(Some(e)) | Err(e) => return Err(cause_of(leg, &e)),
            }
        }
        self.watched.is_late(Instant::now(), &self.worker).map_or(Ok(()), Err)
    }

    fn phase(&self) -> Phase {
        if self.up.is_waiting() || self.down.is_waiting() {
            Phase::Stalled
        } else if self.up.has_ended() || self.down.has_ended() {
            Phase::HalfClosed
        } else {
            Phase::Idle
        }
    }
}

/// Why a socket of a side has failed.
fn cause_of(leg: Leg, e: &io::Error) -> Cause {
    match e.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionAborted => {
            match leg {
                Leg::Ran => Cause::ResetRan,
                Leg::Core => Cause::ResetCore,
            }
        }
        _ => Cause::PeerTimeout,
    }
}

impl Future for Relay {
    type Output = Result<(), Cause>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let result = this.poll_ways(cx);
        if let Poll::Ready(result) = result {
            if result.is_ok() {
                legs::close_in_order(&this.near);
                legs::close_in_order(&this.far);
            }
            return Poll::Ready(result);
        }
        if this.watched.look.take()
            && let Err(cause) = this.look()
        {
            return Poll::Ready(Err(cause));
        }
        this.watched.phase.set(this.phase());
        if !this.watched.waker.borrow().will_wake(cx.waker()) {
            this.watched.waker.replace(cx.waker().clone());
        }
        Poll::Pending
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let metrics = &self.worker.proxy.metrics;
        self.up.give_back(&self.worker.pool);
        self.down.give_back(&self.worker.pool);
        metrics.open.dec();
        metrics.memory.dec_by(self.watched.memory.get() as i64);
        if self.up.has_ended() {
            metrics.leg(self.near_leg).half_closed.dec();
        }
        if self.down.has_ended() {
            metrics.leg(self.near_leg.other()).half_closed.dec();
        }
    }
}
