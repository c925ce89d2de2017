//! Our controllers behind quinn's `congestion::Controller`.
//!
//! quinn counts bytes and reports acknowledgments packet by packet, losses by the batch; ours count
//! segments and hear of each acknowledgment once. A segment is a full datagram. What a recovery period is
//! (RFC 9002 §7.3.2) is decided here, as TCP's sender decides it for TCP; reductions act at once (there is
//! no rate reduction in between).

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use airlane_core::{Bytes, Duration, Instant, Stream};
use airlane_transport::CongestionKind;
use airlane_transport::congestion::{
    AckSample, Arrival, Controller, LossCause, LossDiscrimination, LossEpisode, PathFeedback, Phase,
    PhaseChange, RadioInformation, Restart, SegmentWindow, TimeoutEpisode,
};
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller as QuinnController, ControllerFactory, ControllerMetrics};

use crate::time::{from_quinn, span_from_quinn};

#[expect(clippy::disallowed_types, reason = "the type is in quinn's interface")]
type QuinnInstant = std::time::Instant;

/// kMinimumWindow in datagrams (RFC 9002 §7.2).
const MINIMUM_WINDOW: u32 = 2;

/// What controller and endpoint tell each other past quinn, which owns the one and is owned by the other.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// Round trip of the newest packet of the last acknowledgment, until somebody takes it.
    pub(crate) rtt: Option<Duration>,
    /// True if losses were reported, until somebody asks.
    pub(crate) lost: bool,
    pub(crate) congestion_window: Bytes,
    pub(crate) ssthresh: Option<Bytes>,
    pub(crate) in_flight: Bytes,
    /// What the path and the base station said, for the controller.
    pub(crate) feedback: Vec<PathFeedback>,
    pub(crate) radio: Option<RadioInformation>,
}

pub(crate) fn locked(told: &Mutex<Told>) -> MutexGuard<'_, Told> {
    told.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a controller for each path of a connection, which here is one.
pub(crate) struct Factory {
    pub(crate) kind: CongestionKind,
    pub(crate) loss_discriminator: LossDiscrimination,
    pub(crate) hystart: bool,
    pub(crate) initial_window: u32,
    pub(crate) stream: Stream,
    pub(crate) told: Arc<Mutex<Told>>,
}

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, _: QuinnInstant, mtu: u16) -> Box<dyn QuinnController> {
        let window = SegmentWindow::new(u32::from(mtu), self.initial_window);
        let controller = Controller::new(self.kind, window, self.hystart, self.stream.clone())
            .discriminating(self.loss_discriminator)
            .paced();
        assert!(!controller.models_path(), "refused when the endpoint was set up");
        Box::new(Adapter {
            controller,
            initial_window: self.initial_window,
            established: false,
            batch: Batch::default(),
            carry: 0,
            recovery_from: None,
            in_recovery: false,
            last_sent_at: Instant::ZERO,
            sent: 0,
            settled: 0,
            delivered: 0,
            in_flight: 0,
            srtt: Duration::ZERO,
            told: Arc::clone(&self.told),
        })
    }
}

/// What the packets of one acknowledgment come to.
#[derive(Clone, Copy, Debug, Default)]
struct Batch {
    bytes: u64,
    /// Of these, sent after the last reduction: they let the window grow (RFC 9002 §7.3.2).
    growing: u64,
    newest_sent: Option<Instant>,
}

#[derive(Clone)]
struct Adapter {
    controller: Controller,
    initial_window: u32,
    established: bool,
    batch: Batch,
    /// Acknowledged bytes short of a segment.
    carry: u64,
    /// When the last recovery period began. What was sent until then belongs to it, also what is found
    /// lost after its end (RFC 9002 appendix B.2, congestion_recovery_start_time).
    recovery_from: Option<Instant>,
    in_recovery: bool,
    last_sent_at: Instant,
    /// Bytes sent; those of them that are acknowledged or lost, and those that are acknowledged.
    sent: u64,
    settled: u64,
    delivered: u64,
    in_flight: u64,
    srtt: Duration,
    told: Arc<Mutex<Told>>,
}

impl Adapter {
    fn segment(&self) -> u64 {
        u64::from(self.controller.window().segment_size())
    }

    /// Segments that these bytes are, the last of them not full.
    fn segments(&self, bytes: u64) -> u32 {
        bytes.div_ceil(self.segment()) as u32
    }

    fn tell(&self, rtt: Option<Duration>, lost: bool) {
        let mut told = locked(&self.told);
        told.congestion_window = self.controller.congestion_window();
        told.ssthresh = self.controller.ssthresh();
        told.in_flight = Bytes(self.in_flight);
        told.rtt = rtt.or(told.rtt);
        told.lost |= lost;
    }

    fn hear(&mut self) {
        let (feedback, radio) = {
            let mut told = locked(&self.told);
            (core::mem::take(&mut told.feedback), told.radio.take())
        };
        feedback.iter().for_each(|said| self.controller.on_feedback(said));
        radio.iter().for_each(|said| self.controller.on_radio_information(said));
    }

    fn enter(&mut self, phase: Phase) {
        self.controller.on_phase(&PhaseChange { phase, sent_to: self.sent, delivery: None });
    }

    fn on_loss(&mut self, now: Instant, marked: bool) {
        self.hear();
        let window_segments = self.controller.window_segments();
        let in_flight_segments = self.segments(self.in_flight);
        let episode = LossEpisode { now, in_flight_segments, window_segments, marked };
        let cause = if marked {
            self.controller.on_ecn(&episode);
            LossCause::Congestion
        } else {
            self.controller.on_loss(&episode)
        };
        // A loss that costs nothing begins no recovery: the next one of the same flight is judged anew.
        if cause == LossCause::Congestion {
            self.recovery_from = Some(now);
            self.in_recovery = true;
            self.enter(if marked { Phase::Reduction } else { Phase::Recovery });
            self.carry = 0;
        }
        self.controller.on_recovery_exit();
    }

    /// RFC 9002 §7.6.2.
    fn on_persistent_congestion(&mut self, now: Instant) {
        self.enter(Phase::Loss);
        self.controller.on_timeout(&TimeoutEpisode {
            now,
            new_episode: false,
            restart_segments: MINIMUM_WINDOW,
            acked_to: self.settled,
            sent_to: self.sent,
        });
        self.recovery_from = None;
        self.in_recovery = false;
        self.enter(Phase::Open);
    }
}

impl QuinnController for Adapter {
    fn on_sent(&mut self, now: QuinnInstant, bytes: u64, _: u64) {
        let now = from_quinn(now);
        if self.in_flight == 0 {
            self.controller.on_restart(&Restart {
                now,
                last_sent_at: self.last_sent_at,
                sent_to: self.sent,
                app_limited: false,
                srtt: self.srtt,
            });
        }
        self.last_sent_at = now;
        self.sent += bytes;
        self.in_flight += bytes;
        locked(&self.told).in_flight = Bytes(self.in_flight);
    }

    fn on_ack(&mut self, now: QuinnInstant, sent: QuinnInstant, bytes: u64, _: bool, rtt: &RttEstimator) {
        let sent = from_quinn(sent);
        if !self.established {
            self.established = true;
            let now = from_quinn(now);
            self.controller.on_established(now, Some(now.saturating_since(sent)));
        }
        self.batch.bytes += bytes;
        if self.recovery_from.is_none_or(|from| sent > from) {
            self.batch.growing += bytes;
            if core::mem::take(&mut self.in_recovery) {
                self.enter(Phase::Open); // a packet sent during recovery ends it, RFC 9002 §7.3.2
            }
        }
        self.batch.newest_sent = self.batch.newest_sent.max(Some(sent));
        self.srtt = span_from_quinn(rtt.get());
    }

    fn on_end_acks(&mut self, now: QuinnInstant, in_flight: u64, app_limited: bool, _: Option<u64>) {
        let batch = core::mem::take(&mut self.batch);
        let Some(sent) = batch.newest_sent else { return };
        let now = from_quinn(now);
        let rtt = Some(now.saturating_since(sent));
        let outstanding = self.segments(in_flight);
        let max_outstanding = self.segments(in_flight + batch.bytes);
        self.in_flight = in_flight;
        self.delivered += batch.bytes;
        self.settled = self.settled.max(self.sent.saturating_sub(in_flight));
        if self.controller.hears_arrivals() {
            self.controller.on_arrival(&Arrival { now, acked_to: self.delivered, rtt });
        }
        self.carry += batch.growing;
        let delivered_segments = (self.carry / self.segment()) as u32;
        self.carry %= self.segment();
        self.controller.on_ack(&AckSample {
            now,
            delivered_segments,
            may_grow: delivered_segments > 0,
            window_limited: !app_limited,
            max_outstanding_segments: max_outstanding,
            outstanding_segments: outstanding,
            rtt,
            srtt: self.srtt,
            acked_to: self.settled,
            sent_to: self.sent,
        });
        self.tell(rtt, false);
    }

    fn on_congestion_event(&mut self, now: QuinnInstant, sent: QuinnInstant, persistent: bool, bytes: u64) {
        let (now, sent) = (from_quinn(now), from_quinn(sent));
        self.in_flight = self.in_flight.saturating_sub(bytes);
        if self.recovery_from.is_none_or(|from| sent > from) {
            self.on_loss(now, bytes == 0);
        }
        if persistent {
            self.on_persistent_congestion(now);
        }
        self.tell(None, bytes > 0);
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.controller.on_segment_size(u32::from(mtu));
        self.carry %= self.segment();
    }

    /// One byte more than the window: quinn sends only while flight and datagram stay below this, where
    /// RFC 9002 §7 lets them reach it.
    fn window(&self) -> u64 {
        self.controller.congestion_window().get() + 1
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.controller.congestion_window().get();
        metrics.ssthresh = self.controller.ssthresh().map(Bytes::get);
        metrics
    }

    fn clone_box(&self) -> Box<dyn QuinnController> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        u64::from(self.initial_window) * self.segment()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
