//! A worker: a thread with its own listening sockets, timers and pipes. A connection stays in its worker.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{io, mem};

use tokio::io::Interest;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use super::config::WhenFull;
use super::legs::{self, Leg};
use super::memory::Buffers;
use super::metrics::Cause;
use super::pipe::Pool;
use super::relay::{Pair, Relay, Watched};
use super::transfer::SCRATCH;
use super::{Admission, Proxy};

/// First and longest pause when no connection can be accepted.
const PAUSE_MIN: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// The state that the connections of a thread share.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) proxy: Arc<Proxy>,
    pub(super) pool: Pool,
    pub(super) scratch: RefCell<Vec<u8>>,
    watched: RefCell<Vec<Weak<Watched>>>,
    /// Number of connections, and a signal when there is none.
    running: Cell<usize>,
    none: Notify,
    /// Whether a connection has met a lack of file descriptors or memory.
    exhausted: Cell<bool>,
}

/// A listening socket for connections from a side.
#[derive(Debug)]
pub(super) struct Listening {
    pub(super) leg: Leg,
    pub(super) socket: std::net::TcpListener,
}

/// Runs a worker until `stop` and the end of its connections, or until `stop` is dropped. `listens` is dropped
/// when its listening sockets are closed.
pub(super) fn run(
    proxy: Arc<Proxy>,
    pool: Pool,
    listening: Vec<Listening>,
    listens: mpsc::Sender<Infallible>,
    stop: watch::Receiver<bool>,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let worker = Rc::new(Worker {
        proxy,
        pool,
        scratch: RefCell::new(vec![0; SCRATCH]),
        watched: RefCell::default(),
        running: Cell::new(0),
        none: Notify::new(),
        exhausted: Cell::new(false),
    });
    LocalSet::new().block_on(&runtime, worker.serve(listening, listens, stop))
}

impl Worker {
    /// Lets the sweep know of a connection.
    pub(super) fn watch(&self, connection: Weak<Watched>) {
        self.watched.borrow_mut().push(connection);
    }

    async fn serve(
        self: Rc<Self>,
        listening: Vec<Listening>,
        listens: mpsc::Sender<Infallible>,
        mut stop: watch::Receiver<bool>,
    ) -> io::Result<()> {
        spawn_local(Rc::clone(&self).sweep());
        let mut accepting = vec![];
        for one in listening {
            let listener = TcpListener::from_std(one.socket)?;
            accepting.push(spawn_local(Rc::clone(&self).accept(one.leg, listener, stop.clone())));
        }
        if stop.wait_for(|stop| *stop).await.is_err() {
            return Ok(());
        }
        let ended = async {
            for one in accepting {
                // An error is a panic, which the runtime has reported.
                let _ = one.await;
            }
            drop(listens);
            while self.running.get() > 0 {
                self.none.notified().await;
            }
        };
        tokio::select! {
            () = ended => {}
            // The driver waits no longer. Open connections end with a RST.
            _ = stop.wait_for(|stop| !*stop) => {}
        }
        Ok(())
    }

    /// Accepts connections from a side until the stop, and then those that the kernel has accepted already.
    async fn accept(self: Rc<Self>, leg: Leg, listener: TcpListener, mut stop: watch::Receiver<bool>) {
        let mut pause = PAUSE_MIN;
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = stop.wait_for(|stop| *stop) => break,
            };
            let failed = match accepted {
                Ok((near, address)) => {
                    if !self.admitted(leg, near, address, &stop).await {
                        return;
                    }
                    if !self.exhausted.take() {
                        pause = PAUSE_MIN;
                        continue;
                    }
                    io::Error::from_raw_os_error(nix::libc::EMFILE)
                }
                // The connection ended while it waited to be accepted (accept(2)).
                Err(e) if is_of_connection(&e) => continue,
                Err(e) => e,
            };
            self.proxy.metrics.paused("exhausted");
            tracing::warn!(side = leg.name(), reason = %failed, pause = ?pause, "no connection is accepted");
            sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
        // The number of connections has an upper limit, because new ones could hold up the stop.
        let Ok(listener) = listener.into_std() else { return };
        for _ in 0..legs::BACKLOG {
            let (near, address) = match listener.accept() {
                Ok((near, address)) => (TcpStream::from_std(near), address),
                Err(e) if is_of_connection(&e) => continue,
                Err(_) => return,
            };
            let Ok(near) = near else { return };
            if !self.admitted(leg, near, address, &stop).await {
                return;
            }
        }
    }

    /// Begins to serve an accepted connection. False if the node stops before there is a place for it.
    async fn admitted(
        self: &Rc<Self>,
        leg: Leg,
        near: TcpStream,
        address: SocketAddr,
        stop: &watch::Receiver<bool>,
    ) -> bool {
        let Some(place) = self.admit(address, stop).await else { return false };
        self.running.set(self.running.get() + 1);
        spawn_local(Rc::clone(self).connection(leg, near, address, place));
        true
    }

    /// Admits a connection. It may wait for a place; then all connections behind it wait, too. `None` if the node stops
    /// meanwhile.
    async fn admit(
        &self,
        client: SocketAddr,
        stop: &watch::Receiver<bool>,
    ) -> Option<Result<Admission, Cause>> {
        let mut is_first = true;
        loop {
            match self.proxy.admit(client.ip()) {
                Err(Cause::Full | Cause::Memory) if self.proxy.limits.when_full == WhenFull::Wait => {}
                other => return Some(other),
            }
            if *stop.borrow() {
                return None;
            }
            if mem::take(&mut is_first) {
                self.proxy.metrics.paused("full");
            }
            sleep(PAUSE_MIN).await;
        }
    }

    /// Serves a connection from its acceptance to its end.
    async fn connection(
        self: Rc<Self>,
        leg: Leg,
        near: TcpStream,
        address: SocketAddr,
        admitted: Result<Admission, Cause>,
    ) {
        let _leave = Leave(&self);
        let metrics = &self.proxy.metrics;
        metrics.leg(leg).accepted.inc();
        let made = match admitted {
            Ok(admission) => self.pair(leg, near, address).await.map(|pair| (admission, pair)),
            Err(cause) => Err(cause),
        };
        let (Admission { place, memory }, pair) = match made {
            Ok(made) => made,
            Err(cause) => {
                metrics.ended(cause);
                tracing::debug!(near = %address, side = leg.name(), cause = cause.name(), "not connected");
                return;
            }
        };
        let result = Relay::new(pair, memory, Rc::clone(&self)).await;
        match result {
            Ok(()) => {
                metrics.completed.inc();
            }
            Err(cause) => {
                metrics.ended(cause);
                tracing::debug!(near = %address, side = leg.name(), cause = cause.name(), "cut");
            }
        }
        drop(place);
    }

    /// Both sockets of a connection, with their first buffers.
    async fn pair(&self, near_leg: Leg, near: TcpStream, address: SocketAddr) -> Result<Pair, Cause> {
        let sizes = |leg: Leg| *self.proxy.sizes(leg);
        let near_buffers = Buffers::begin(&near, sizes(near_leg)).map_err(|e| self.why_not(&e))?;
        let far = self.connect(near_leg, &near, address).await?;
        let far_buffers = Buffers::begin(&far, sizes(near_leg.other())).map_err(|e| self.why_not(&e))?;
        Ok(Pair { near_leg, near, near_buffers, far, far_buffers })
    }

    /// Connects to the far end.
    async fn connect(&self, leg: Leg, near: &TcpStream, address: SocketAddr) -> Result<TcpStream, Cause> {
        let far = near.local_addr().map_err(|_| Cause::Abandoned)?;
        if self.proxy.is_own(far) {
            return Err(Cause::NotIntercepted);
        }
        self.proxy.metrics.connecting.inc();
        let _connecting = Connecting(self);
        let socket = legs::connect(self.proxy.leg(leg.other()), address, far);
        let socket = socket.and_then(TcpStream::from_std).map_err(|e| self.why_not(&e))?;
        let limit = Duration::from_nanos(self.proxy.limits.connect_timeout.0.as_nanos());
        tokio::select! {
            answered = timeout(limit, socket.writable()) => match answered {
                Err(_) => return Err(Cause::ConnectTimeout),
                Ok(Err(e)) => return Err(self.why_not(&e)),
                Ok(Ok(())) => {}
            },
            _ = near.ready(Interest::ERROR) => return Err(Cause::Abandoned),
        }
        match socket.take_error() {
            Ok(None) => Ok(socket),
            Ok(Some(e)) | Err(e) => Err(self.why_not(&e)),
        }
    }

    /// Why there is no connection to the far end.
    fn why_not(&self, e: &io::Error) -> Cause {
        use io::ErrorKind;
        match e.kind() {
            ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset => Cause::Refused,
            ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => Cause::Unreachable,
            ErrorKind::TimedOut => Cause::ConnectTimeout,
            ErrorKind::AddrInUse | ErrorKind::AddrNotAvailable => Cause::AddressInUse,
            _ if is_exhaustion(e) => {
                self.exhausted.set(true);
                Cause::Exhausted
            }
            _ => {
                tracing::warn!(reason = %e, "cannot connect to a far end");
                Cause::Other
            }
        }
    }

    /// Looks regularly for connections whose time is over.
    async fn sweep(self: Rc<Self>) {
        let mut tick = interval(self.proxy.tick);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tick.tick().await;
            let now = Instant::now();
            self.watched.borrow_mut().retain(|one| {
                let Some(one) = one.upgrade() else { return false };
                one.sweep(now, &self);
                true
            });
            self.relieve();
        }
    }

    /// Ends connections, those with the most memory first, if the buffers have more than `memory`. The sizes of buffers
    /// are bounded by reservations; but the kernel may exceed each by a packet, and counts it with its overhead.
    fn relieve(&self) {
        let used = u64::try_from(self.proxy.metrics.memory.get()).unwrap_or(0);
        let Some(mut excess) = used.checked_sub(self.proxy.limits.memory.0.get()).filter(|&n| n > 0) else {
            return;
        };
        let mut connections: Vec<_> = self.watched.borrow().iter().filter_map(Weak::upgrade).collect();
        connections.sort_by_key(|one| Reverse(one.memory()));
        for one in connections {
            if excess == 0 || one.memory() == 0 {
                break;
            }
            excess = excess.saturating_sub(one.memory());
            one.end();
        }
    }
}

/// Whether `accept` reports an error of the connection, rather than of the machine.
fn is_of_connection(e: &io::Error) -> bool {
    use io::ErrorKind;
    matches!(
        e.kind(),
        ErrorKind::ConnectionAborted
            | ErrorKind::ConnectionReset
            | ErrorKind::Interrupted
            | ErrorKind::WouldBlock
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::NetworkDown
    )
}

/// Whether the machine lacks file descriptors or memory.
fn is_exhaustion(e: &io::Error) -> bool {
    use nix::libc::{EMFILE, ENFILE, ENOBUFS, ENOMEM};
    matches!(e.raw_os_error(), Some(EMFILE | ENFILE | ENOBUFS | ENOMEM))
}

/// Counts a connection off at its end.
struct Leave<'a>(&'a Worker);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.0.running.set(self.0.running.get() - 1);
        if self.0.running.get() == 0 {
            self.0.none.notify_one();
        }
    }
}

/// Counts a connection off when its far end has answered, or when it failed.
struct Connecting<'a>(&'a Worker);

impl Drop for Connecting<'_> {
    fn drop(&mut self) {
        self.0.proxy.metrics.connecting.dec();
    }
}
