//! A sender that quinn and the endpoint share.
//!
//! Inputs of the endpoint other than packets (our own timeouts, reports about the path) reach the sender without quinn.

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use airlane_core::{Bytes, Stream};
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller as QuinnController, ControllerFactory, ControllerMetrics};

use crate::congestion::Sender;
use crate::model::Supply;
use crate::setup::QuicConfig;
use crate::time::{QuinnInstant, span_from_quinn};

/// quinn's controller, and the endpoint's access to it.
#[derive(Clone)]
pub(crate) struct Shared(Arc<Cell>);

struct Cell {
    sender: Mutex<Sender>,
    /// The window that quinn was given last, until it may have changed: quinn asks twice for each datagram. Written
    /// while the sender is locked.
    window: AtomicU64,
    /// True if quinn has nothing left to send and was not asked.
    nothing_to_send: AtomicBool,
    /// Number of streams whose application has data for which there is no room, in the peer's flow control or in the
    /// send window. quinn has none of that data: it calls the sender limited by its application.
    waiting_streams: Arc<AtomicU32>,
}

/// [`Cell::window`] after a change.
const UNKNOWN: u64 = u64::MAX;

/// A window above `u32::MAX` bytes switches quinn's pacer off (`Pacer::delay`).
const WITHOUT_PACING: u64 = 1 << 33;

impl Shared {
    /// The sender of a connection whose first datagrams have this payload, and that reads the number of its waiting
    /// streams from `waiting`.
    pub(crate) fn new(
        config: &QuicConfig,
        payload: u16,
        stream: Stream,
        waiting_streams: Arc<AtomicU32>,
    ) -> Self {
        let sender = Mutex::new(Sender::new(config, payload, stream));
        Self(Arc::new(Cell {
            sender,
            window: AtomicU64::new(UNKNOWN),
            nothing_to_send: AtomicBool::new(false),
            waiting_streams,
        }))
    }

    /// For calls that may change the window.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Sender> {
        let sender = self.lock_with_window();
        self.0.window.store(UNKNOWN, Ordering::Relaxed);
        sender
    }

    /// quinn has nothing left to send, but was not asked: with the next acknowledgment it will not report that the
    /// application limits the sender.
    pub(crate) fn has_nothing_to_send(&self) {
        self.0.nothing_to_send.store(true, Ordering::Relaxed);
    }

    /// quinn is asked for datagrams, and remembers whether there are any.
    pub(crate) fn is_asked(&self) {
        self.0.nothing_to_send.store(false, Ordering::Relaxed);
    }

    /// Counts the datagram that quinn announced last as sent, if it is `in_flight`. To be called after each datagram: quinn
    /// announces all, also those with nothing but ACK frames, which congestion control and pacing do not limit (RFC 9002
    /// §7, §7.7), and does not say so. False if none is counted; quinn announces no probe of the path MTU.
    pub(crate) fn count_announced(&self, in_flight: bool) -> bool {
        let mut sender = self.lock_with_window();
        let Some((now, bytes)) = sender.announced.take().filter(|_| in_flight) else { return false };
        if !sender.keeps_window() {
            self.0.window.store(UNKNOWN, Ordering::Relaxed);
        }
        sender.on_sent(now, bytes);
        true
    }

    /// The data that the sender has, if quinn has none or some.
    fn supply(&self, quinn_has_nothing: bool) -> Supply {
        if !quinn_has_nothing && !self.0.nothing_to_send.load(Ordering::Relaxed) {
            Supply::Sendable
        } else if self.0.waiting_streams.load(Ordering::Relaxed) > 0 {
            Supply::Blocked
        } else {
            Supply::Nothing
        }
    }

    /// Locks the sender for calls that do not change the window.
    fn lock_with_window(&self) -> MutexGuard<'_, Sender> {
        self.0.sender.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Creates the controller of quinn's only path.
pub(crate) struct Factory(pub(crate) Shared);

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, _: QuinnInstant, payload: u16) -> Box<dyn QuinnController> {
        assert_eq!(self.0.lock().segment(), u64::from(payload), "datagrams are as large at first as was set");
        Box::new(self.0.clone())
    }
}

impl QuinnController for Shared {
    fn on_sent(&mut self, now: QuinnInstant, bytes: u64, _: u64) {
        let mut sender = self.lock_with_window();
        let now = sender.call_time.of(now);
        sender.announced = Some((now, bytes));
    }

    fn on_ack(&mut self, now: QuinnInstant, sent: QuinnInstant, bytes: u64, _: bool, rtt: &RttEstimator) {
        let mut sender = self.lock();
        let (now, sent) = (sender.call_time.of(now), sender.send_time.of(sent));
        sender.on_ack(now, sent, bytes, span_from_quinn(rtt.get()));
    }

    fn on_end_acks(&mut self, now: QuinnInstant, in_flight: u64, app_limited: bool, _: Option<u64>) {
        let mut sender = self.lock();
        let now = sender.call_time.of(now);
        sender.on_end_acks(now, in_flight, self.supply(app_limited));
    }

    fn on_congestion_event(&mut self, now: QuinnInstant, sent: QuinnInstant, persistent: bool, bytes: u64) {
        let mut sender = self.lock();
        let (now, sent) = (sender.call_time.of(now), sender.send_time.of(sent));
        sender.on_congestion_event(now, sent, persistent, bytes);
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.lock().on_segment_size(mtu);
    }

    /// One byte more than the window: quinn sends only while the sum of bytes in flight and the
    /// datagram is below this value; RFC 9002 §7 lets it reach the window. A sender that paces at its controller's rate
    /// answers without a number if the window has room: quinn's pacer, which follows the window, would delay its
    /// datagrams again.
    fn window(&self) -> u64 {
        let known = self.0.window.load(Ordering::Relaxed);
        if known != UNKNOWN {
            return known;
        }
        let sender = self.lock_with_window();
        let window = if sender.waits_until().is_some() {
            0
        } else if sender.paces_alone() && sender.has_room() {
            WITHOUT_PACING
        } else {
            sender.window().get() + 1
        };
        if sender.keeps_window() {
            self.0.window.store(window, Ordering::Relaxed);
        }
        window
    }

    fn metrics(&self) -> ControllerMetrics {
        let (congestion_window, ssthresh, _) = self.lock().state();
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = congestion_window.get();
        metrics.ssthresh = ssthresh.map(Bytes::get);
        metrics
    }

    /// For another path, which does not exist: addresses do not change.
    fn clone_box(&self) -> Box<dyn QuinnController> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        let sender = self.lock();
        u64::from(sender.initial_window) * sender.segment()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
