//! Our controllers under a quinn that another program drives, with the clock of that program.
//!
//! [`Senders`] creates the sender of each path of a connection for quinn, and passes it what quinn does not know:
//! radio information, and the expiry of timers that are not quinn's. quinn calls the same sender as in virtual time.
//! There, the endpoint prepares the sender before it asks quinn for datagrams. Here, [`Timed`] does so when quinn asks
//! for the window, which it does before each datagram.

use std::any::Any;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use airlane_core::{Bytes, Duration, Instant};
use airlane_transport::congestion::{LossCause, RadioInformation};
use airlane_transport::model::DomainCounts;
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller as QuinnController, ControllerFactory, ControllerMetrics};

use crate::setup::QuicConfig;
use crate::shared::Shared;
use crate::time::{self, QuinnInstant, from_quinn, to_quinn};

/// Reads the clock of the program.
pub type Clock = fn() -> QuinnInstant;
/// Takes the time at which [`Senders::expire`] shall be called. An earlier time replaces a later one.
pub type Wake = Box<dyn Fn(QuinnInstant) + Send + Sync>;

/// The senders of one connection: one for each path that it has had.
pub struct Senders {
    config: QuicConfig,
    clock: Clock,
    wake: Wake,
    paths: Mutex<Paths>,
    waiting_streams: Arc<AtomicU32>,
}

/// A stream whose application has data that the connection has not taken yet, until this is dropped.
#[derive(Debug)]
pub struct WaitingStream(Arc<AtomicU32>);

impl Drop for WaitingStream {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Default)]
struct Paths {
    /// Number of paths so far.
    count: u64,
    newest: Option<Shared>,
    totals: Totals,
    /// The time that the program was last asked for because of a sender's own timer.
    asked: Option<Instant>,
}

/// The numbers of losses of a connection, by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Losses attributed to congestion: each reduces the window at most once a round trip.
    pub congestion: u64,
    /// Losses attributed to the radio and reported to the controller.
    pub random: u64,
    /// Losses attributed to the radio and not reported to the controller.
    pub unreported: u64,
    /// Timeouts that were classified; they are part of the three numbers above.
    pub timeouts: u64,
    /// Radio information that the sender was given.
    pub informed: u64,
    /// Counts of the two domains of a path with a PEP.
    pub domains: DomainCounts,
}

/// The state of a connection's sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderState {
    /// Congestion window.
    pub window: Bytes,
    /// Slow-start threshold; `None` while unset.
    pub ssthresh: Option<Bytes>,
    /// Bytes in flight.
    pub in_flight: Bytes,
}

/// The two domains of a path with a PEP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DomainState {
    /// The window of the internet.
    pub internet: Bytes,
    /// The window of the radio access network.
    pub ran: Bytes,
    /// True if a PEP clocks the window of the internet.
    pub heard: bool,
}

impl core::fmt::Debug for Senders {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Senders").field("congestion", &self.config.congestion).finish_non_exhaustive()
    }
}

impl Senders {
    /// The senders of a new connection. Only the controller, its discriminator, pacing, timeouts and the initial
    /// window are taken from `config`.
    #[must_use]
    pub fn new(config: QuicConfig, clock: Clock, wake: Wake) -> Arc<Self> {
        // Instants before the first call would not be distinguishable.
        let _ = time::start();
        Arc::new(Self { config, clock, wake, paths: Mutex::default(), waiting_streams: Arc::default() })
    }

    fn lock(&self) -> MutexGuard<'_, Paths> {
        self.paths.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The present, as controllers count it.
    #[must_use]
    pub fn now(&self) -> Instant {
        from_quinn((self.clock)())
    }

    /// To be called before each write, and kept until it has ended: a connection that has nothing to send is limited by
    /// its application only if no write waits for the peer's flow control.
    #[must_use]
    pub fn begin_write(&self) -> WaitingStream {
        self.waiting_streams.fetch_add(1, Ordering::Relaxed);
        WaitingStream(Arc::clone(&self.waiting_streams))
    }

    /// Passes the base station's information about the UE to the controller of the present path. A measurement older
    /// than the newest known one is ignored.
    pub fn on_radio_information(&self, information: &RadioInformation) {
        let mut paths = self.lock();
        paths.totals.informed += 1;
        if let Some(sender) = &paths.newest {
            sender.lock().controller.on_radio_information(information);
        }
    }

    /// quinn has made a datagram with this identifier at a PEP. False if it announced no packet with it, as for probes
    /// of the path MTU. The program calls this before quinn makes the next one.
    pub fn name(&self, identifier: u64) -> bool {
        let sender = self.lock().newest.clone();
        sender.is_some_and(|sender| sender.lock().name_unnamed(identifier))
    }

    /// A PEP has seen datagrams with these identifiers; the newest passed `delay` before its report. The program then
    /// lets quinn send.
    pub fn on_seen(&self, identifiers: &[u64], delay: Duration) {
        let Some(sender) = self.lock().newest.clone() else { return };
        let now = self.now();
        let mut own = sender.lock();
        own.on_seen(now, identifiers, delay);
        own.settle(now);
    }

    /// Handles a timer that is due, and asks for the next call. The program then lets quinn send.
    pub fn expire(&self) {
        let Some(sender) = self.lock().newest.clone() else { return };
        let now = self.now();
        let mut own = sender.lock();
        if own.next_timeout().is_some_and(|at| at <= now) {
            own.on_timeout(now);
        }
        let next = own.next_timeout();
        drop(own);
        self.arm(next, now);
    }

    /// Asks for a call when a sender's own timer is due, unless one is asked for that comes before: that one asks
    /// again. So there is one request at a time, although each packet moves the timer.
    fn arm(&self, at: Option<Instant>, now: Instant) {
        let Some(at) = at else { return };
        let mut paths = self.lock();
        if paths.asked.is_none_or(|asked| at < asked || asked <= now) {
            paths.asked = Some(at);
            drop(paths);
            self.call_at(Some(at));
        }
    }

    fn call_at(&self, at: Option<Instant>) {
        if let Some(at) = at {
            (self.wake)(to_quinn(at));
        }
    }

    /// The window of the present path; `None` before the first packet.
    #[must_use]
    pub fn state(&self) -> Option<SenderState> {
        let sender = self.lock().newest.clone()?;
        let (window, ssthresh, in_flight) = sender.lock().state();
        Some(SenderState { window, ssthresh, in_flight })
    }

    /// The domains of the present path, for a controller with a window for each.
    #[must_use]
    pub fn domains(&self) -> Option<DomainState> {
        let sender = self.lock().newest.clone()?;
        let (state, _) = sender.lock().domains()?;
        Some(state)
    }

    /// The numbers since the beginning of the connection.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let mut paths = self.lock();
        let Some(sender) = paths.newest.clone() else { return paths.totals };
        let mut sender = sender.lock();
        paths.totals.add(&sender.take_judged());
        let present = sender.domains().map(|(_, counts)| counts).unwrap_or_default();
        Totals { domains: paths.totals.domains + present, ..paths.totals }
    }
}

impl Totals {
    fn add(&mut self, judged: &[crate::congestion::Judged]) {
        for one in judged {
            self.timeouts += u64::from(one.timeout);
            *match one.cause {
                LossCause::Congestion => &mut self.congestion,
                LossCause::Random => &mut self.random,
                LossCause::Unreported => &mut self.unreported,
            } += 1;
        }
    }
}

impl ControllerFactory for Senders {
    /// The sender of a new path: its window and its estimates begin again (RFC 9000 §9.4), and information about the
    /// UE of the path before is not passed on.
    fn build(self: Arc<Self>, _: QuinnInstant, payload: u16) -> Box<dyn QuinnController> {
        let sender = {
            let mut paths = self.lock();
            let stream = self.config.seeds.stream(&format!("path/{}/congestion", paths.count));
            let sender = Shared::new(&self.config, payload, stream, Arc::clone(&self.waiting_streams));
            paths.count += 1;
            if let Some(before) = paths.newest.replace(sender.clone()) {
                let mut before = before.lock();
                paths.totals.add(&before.take_judged());
                paths.totals.domains += before.domains().map(|(_, counts)| counts).unwrap_or_default();
            }
            sender
        };
        Box::new(Timed { sender, owner: self, prepared: Arc::default() })
    }
}

/// A sender that is prepared for sending when quinn asks for its window.
#[derive(Clone)]
struct Timed {
    sender: Shared,
    owner: Arc<Senders>,
    prepared: Arc<Mutex<Prepared>>,
}

/// The state that [`Timed`] has prepared for the next datagrams.
#[derive(Debug, Default)]
struct Prepared {
    /// True if the sender's state is that after the last acknowledgments and losses.
    settled: bool,
    /// The time until which pacing delays data, if it does.
    waits_until: Option<Instant>,
}

impl Timed {
    fn prepared(&self) -> MutexGuard<'_, Prepared> {
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Acknowledgments or losses have arrived.
    fn unsettle(&self) {
        self.prepared().settled = false;
    }

    fn arm(&self) {
        let at = self.sender.lock().next_timeout();
        if at.is_some() {
            self.owner.arm(at, self.owner.now());
        }
    }
}

impl QuinnController for Timed {
    fn on_sent(&mut self, now: QuinnInstant, bytes: u64, last: u64) {
        self.sender.on_sent(now, bytes, last);
        // The frames of the datagram are unknown here.
        self.sender.count_announced(true);
        self.arm();
    }

    fn on_ack(
        &mut self,
        now: QuinnInstant,
        sent: QuinnInstant,
        bytes: u64,
        limited: bool,
        rtt: &RttEstimator,
    ) {
        self.sender.on_ack(now, sent, bytes, limited, rtt);
    }

    fn on_end_acks(&mut self, now: QuinnInstant, in_flight: u64, limited: bool, largest: Option<u64>) {
        self.sender.on_end_acks(now, in_flight, limited, largest);
        self.unsettle();
        self.arm();
    }

    fn on_congestion_event(&mut self, now: QuinnInstant, sent: QuinnInstant, persistent: bool, bytes: u64) {
        self.sender.on_congestion_event(now, sent, persistent, bytes);
        self.unsettle();
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.sender.on_mtu_update(mtu);
        self.unsettle();
    }

    fn window(&self) -> u64 {
        let now = self.owner.now();
        let mut prepared = self.prepared();
        let mut sender = self.sender.lock();
        let may_leave = sender.waits_until().is_some_and(|until| until <= now);
        if !core::mem::replace(&mut prepared.settled, true) || may_leave {
            sender.settle(now);
        }
        let blocked = sender.waits_until();
        drop(sender);
        let asked = core::mem::replace(&mut prepared.waits_until, blocked);
        drop(prepared);
        if blocked != asked {
            self.owner.call_at(blocked);
        }
        self.sender.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.sender.metrics()
    }

    /// For the same path with another port (RFC 9000 §9.4): the state stays.
    fn clone_box(&self) -> Box<dyn QuinnController> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.sender.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// A time before the present by a span, as controllers count it; [`Instant::ZERO`] if that is before the first.
#[must_use]
pub fn before(now: Instant, span: Duration) -> Instant {
    Instant::ZERO + now.saturating_since(Instant::ZERO).saturating_sub(span)
}

#[cfg(test)]
mod tests {
    use airlane_core::Seeds;

    use super::*;

    /// However often the timer moves, requests do not multiply: each that is due asks for one more at most.
    #[test]
    fn one_request_for_the_timer_is_open_at_a_time() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let asked = Arc::new(Mutex::new(vec![]));
        let log = asked.clone();
        let wake = Box::new(move |time| log.lock().unwrap().push(from_quinn(time)));
        let senders = Senders::new(QuicConfig::quinn(Seeds::new(1)), time::start, wake);
        for (now, timer) in [
            (0, Some(100)),   // asked
            (50, Some(150)),  // the request for 100 comes before
            (100, Some(150)), // that one is due: asked
            (110, Some(120)), // earlier: asked
            (120, None),      // due, but nothing waits
            (130, Some(300)), // asked
            (150, Some(320)), // the old request: the one for 300 is open
        ] {
            senders.arm(timer.map(at), at(now));
        }
        assert_eq!(*asked.lock().unwrap(), [100, 150, 120, 300].map(at));
    }

    /// The flight of a sender is made of quinn's calls, one for each datagram.
    #[test]
    fn datagrams_are_announced_one_by_one() {
        let config = QuicConfig::quinn(Seeds::new(1));
        let senders = Senders::new(config.clone(), time::start, Box::new(|_| {}));
        let text = format!("{:?}", crate::transport(&config, senders));
        assert!(text.contains("enable_segmentation_offload: false"), "{text}");
    }
}
