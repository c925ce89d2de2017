//! The sender of a path, which noq and the endpoint share.

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use airlane_core::{Bytes, Instant};
use noq_proto::RttEstimator;
use noq_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};

use crate::QuicConfig;
use crate::congestion::Sender;
use crate::model::Supply;
use crate::time::{QuinnInstant, span_from_quinn};

/// A rate in bytes per second at which nothing waits. noq's pacer also holds back acknowledgments, which then leave on another
/// path with another round trip; RFC 9002 §7.7 lets packets with nothing else pass. The end that only acknowledges has this rate.
const UNPACED: u64 = 1 << 40;

/// noq's controller of a path, and the endpoint's access to it.
#[derive(Clone)]
pub(super) struct PathSender(Arc<Cell>);

struct Cell {
    sender: Mutex<Sender>,
    /// Whether the scheduler lets noq send new data on this path.
    is_chosen: AtomicBool,
    /// Whether the application has data for which there is no room.
    waiting: Arc<AtomicU32>,
    /// Whether this end sends the data of the transfer.
    sends_data: bool,
}

impl core::fmt::Debug for PathSender {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let (window, _, in_flight) = self.lock().state();
        f.debug_struct("PathSender").field("window", &window).field("in_flight", &in_flight).finish()
    }
}

impl PathSender {
    pub(super) fn lock(&self) -> MutexGuard<'_, Sender> {
        self.0.sender.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The scheduler lets noq send new data on this path, or does not.
    pub(super) fn choose(&self, is_chosen: bool) {
        self.0.is_chosen.store(is_chosen, Ordering::Relaxed);
    }

    /// The sender behind a controller of noq.
    ///
    /// # Panics
    /// If [`Factory`] has not made it.
    pub(super) fn of(controller: &dyn Controller) -> Self {
        *controller.clone_box().into_any().downcast().expect("all controllers are of this type")
    }

    fn is_chosen(&self) -> bool {
        self.0.is_chosen.load(Ordering::Relaxed)
    }

    /// The data that the sender has. noq calls a path limited by its window on which the scheduler lets nothing leave.
    fn supply(&self, noq_has_nothing: bool, sender: &Sender) -> Supply {
        if !noq_has_nothing && (self.is_chosen() || !sender.has_room()) {
            Supply::Sendable
        } else if self.0.waiting.load(Ordering::Relaxed) > 0 {
            Supply::Blocked
        } else {
            Supply::Nothing
        }
    }
}

/// Makes the senders of a connection, each with a random stream of its own.
pub(super) struct Factory {
    config: QuicConfig,
    /// The prefix of the connection's random streams.
    place: String,
    waiting: Arc<AtomicU32>,
    made: AtomicU64,
}

impl Factory {
    pub(super) const fn new(config: QuicConfig, place: String, waiting: Arc<AtomicU32>) -> Self {
        Self { config, place, waiting, made: AtomicU64::new(0) }
    }
}

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, _: QuinnInstant, payload: u16) -> Box<dyn Controller> {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let stream = self.config.seeds.stream(&format!("{}/congestion/{number}", self.place));
        let sender = Mutex::new(Sender::new(&self.config, payload, stream));
        let waiting = Arc::clone(&self.waiting);
        let (is_chosen, sends_data) = (AtomicBool::new(true), self.config.sends_data);
        Box::new(PathSender(Arc::new(Cell { sender, is_chosen, waiting, sends_data })))
    }
}

impl Controller for PathSender {
    fn on_packet_sent(&mut self, now: QuinnInstant, bytes: u16, _: u64) {
        let mut sender = self.lock();
        let now = sender.call_time.of(now);
        sender.on_sent(now, u64::from(bytes));
    }

    fn on_ack(
        &mut self,
        now: QuinnInstant,
        sent: QuinnInstant,
        bytes: u64,
        _: u64,
        _: bool,
        rtt: &RttEstimator,
    ) {
        let mut sender = self.lock();
        let (now, sent) = (sender.call_time.of(now), sender.send_time.of(sent));
        sender.on_ack(now, sent, bytes, span_from_quinn(rtt.get()));
    }

    fn on_end_acks(&mut self, now: QuinnInstant, in_flight: u64, app_limited: bool, _: Option<u64>) {
        let mut sender = self.lock();
        let now = sender.call_time.of(now);
        let supply = self.supply(app_limited, &sender);
        sender.on_end_acks(now, in_flight, supply);
    }

    fn on_congestion_event(
        &mut self,
        now: QuinnInstant,
        sent: QuinnInstant,
        persistent: bool,
        _: bool,
        bytes: u64,
        _: u64,
    ) {
        let mut sender = self.lock();
        let (now, sent) = (sender.call_time.of(now), sender.send_time.of(sent));
        sender.on_congestion_event(now, sent, persistent, bytes);
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.lock().on_segment_size(mtu);
    }

    /// Zero where nothing may leave: the scheduler has chosen another path, or a pacer of the controller waits.
    fn window(&self) -> u64 {
        let sender = self.lock();
        if !self.is_chosen() || sender.waits_until().is_some() { 0 } else { sender.window().get() }
    }

    fn metrics(&self) -> ControllerMetrics {
        let (window, ssthresh, _) = self.lock().state();
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = window.get().max(1);
        metrics.ssthresh = ssthresh.map(Bytes::get);
        metrics.pacing_rate = (!self.0.sends_data).then_some(UNPACED);
        metrics
    }

    /// The same sender: clients here do not migrate a path.
    fn clone_box(&self) -> Box<dyn Controller> {
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

/// When a sender needs a call: its pacer lets data leave.
pub(super) fn next_call(sender: &PathSender) -> Instant {
    sender.lock().paced_until().unwrap_or(Instant::FAR_FUTURE)
}
