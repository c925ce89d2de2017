//! The open connections with their senders, and the thread that calls senders when their own timers are due.
//!
//! Timers of tokio count whole milliseconds, which is too coarse for pacing. The thread sleeps to the time itself.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::Instant;

use airlane_core::Duration;
use airlane_quic::{QuicConfig, Senders};

/// A connection.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) number: u64,
    pub(super) senders: Arc<Senders>,
    connection: OnceLock<quinn::Connection>,
    send_window: u64,
}

impl Line {
    /// The handshake is complete.
    pub(super) fn connected(&self, connection: quinn::Connection) {
        // This function is called once for a connection.
        let _ = self.connection.set(connection);
    }

    /// Whether the path of the connection leads to this address.
    pub(super) fn leads_to(&self, ue: Ipv4Addr) -> bool {
        let address = self.connection.get().map(|connection| connection.remote_address().ip().to_canonical());
        address == Some(IpAddr::V4(ue))
    }

    /// A timer of the sender is due.
    fn fire(&self) {
        self.senders.expire();
        self.let_send();
    }

    /// A PEP has seen datagrams with these identifiers; the newest passed `delay` before its report.
    pub(super) fn seen(&self, identifiers: &[u64], delay: Duration) {
        self.senders.on_seen(identifiers, delay);
        self.let_send();
    }

    fn let_send(&self) {
        if let Some(connection) = self.connection.get() {
            // Setting the same value has one effect: quinn tries to send.
            connection.set_send_window(self.send_window);
        }
    }
}

#[derive(Debug, Default)]
struct State {
    lines: BTreeMap<u64, Weak<Line>>,
    due: BinaryHeap<Reverse<(Instant, u64)>>,
    count: u64,
    ended: bool,
}

/// All open connections.
#[derive(Debug, Default)]
pub(super) struct Lines {
    state: Mutex<State>,
    earlier: Condvar,
}

impl Lines {
    /// No connection yet, with the thread of the collection. [`Self::end`] ends the thread.
    pub(super) fn start() -> io::Result<Arc<Self>> {
        let lines = Arc::new(Self::default());
        let own = lines.clone();
        thread::Builder::new().name("quic-timers".to_owned()).spawn(move || own.follow_clock())?;
        Ok(lines)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new connection, whose controllers have this configuration.
    pub(super) fn open(self: &Arc<Self>, config: QuicConfig, send_window: u64) -> Arc<Line> {
        let mut state = self.lock();
        let number = state.count;
        state.count += 1;
        let lines = Arc::downgrade(self);
        let wake = move |at| {
            if let Some(lines) = lines.upgrade() {
                lines.wake(number, at);
            }
        };
        let senders = Senders::new(config, Instant::now, Box::new(wake));
        let line = Arc::new(Line { number, senders, connection: OnceLock::new(), send_window });
        state.lines.insert(number, Arc::downgrade(&line));
        line
    }

    /// The connection is over.
    pub(super) fn close(&self, line: &Line) {
        self.lock().lines.remove(&line.number);
    }

    /// Ends the thread.
    pub(super) fn end(&self) {
        self.lock().ended = true;
        self.earlier.notify_all();
    }

    fn wake(&self, number: u64, at: Instant) {
        let mut state = self.lock();
        let is_first = state.due.peek().is_none_or(|Reverse((first, _))| at < *first);
        state.due.push(Reverse((at, number)));
        drop(state);
        if is_first {
            self.earlier.notify_all();
        }
    }

    fn follow_clock(&self) {
        let mut state = self.lock();
        while !state.ended {
            let now = Instant::now();
            match state.due.peek() {
                Some(Reverse((at, number))) if *at <= now => {
                    let line = state.lines.get(number).and_then(Weak::upgrade);
                    state.due.pop();
                    drop(state);
                    if let Some(line) = line {
                        line.fire();
                    }
                    state = self.lock();
                }
                Some(Reverse((at, _))) => {
                    let wait = at.saturating_duration_since(now);
                    state =
                        self.earlier.wait_timeout(state, wait).map_or_else(|e| e.into_inner().0, |ok| ok.0);
                }
                None => state = self.earlier.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}
