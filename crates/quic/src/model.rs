//! The inputs of a model-based controller in addition to acknowledgments: samples of the delivery rate and each
//! lost packet.
//!
//! The sample of an acknowledgment is computed when its losses are also known, which quinn reports after it.

use airlane_core::{Duration, Instant};
use airlane_transport::congestion::{DeliverySample, LostSegment, Phase};
use airlane_transport::model::{DeliveredPacket, DeliveryRate, SendNote, SenderState};

use crate::flight::Flying;

/// The acknowledgment that is being processed.
#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    prior_in_flight: u32,
    limit: Limit,
    rtt: Option<Duration>,
}

/// The data that a sender has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Supply {
    /// The application has no more.
    Nothing,
    /// The application has more, but the peer's flow control or the send window has no room for it.
    Blocked,
    /// quinn has data, which waits for the window or for pacing.
    Sendable,
}

/// The limit of the data in flight when an acknowledgment arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Limit {
    /// The application had no data to send.
    Application,
    /// The peer had no room for it. A rate measured then is as valid as any: only a sender without data is
    /// application-limited (draft-cheng-iccrg-delivery-rate-estimation-02 §3.4; Linux, `tcp_rate_check_app_limited`).
    Receiver,
    /// The pacing rate.
    #[default]
    Rate,
    /// The window.
    Window,
}

/// The history of sending, delivery and loss.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) rate: DeliveryRate,
    /// Minimum of the connection (RFC 9002 §5.2), where Linux's TCP forgets it after five minutes.
    min_rtt: Duration,
    pending: Pending,
}

impl Model {
    pub(crate) fn new() -> Self {
        let rate = DeliveryRate::new(Instant::ZERO);
        Self { rate, min_rtt: Duration::MAX, pending: Pending::default() }
    }

    pub(crate) const fn on_sent(&mut self, now: Instant, in_flight: u32) -> SendNote {
        self.rate.on_sent(now, in_flight == 0, in_flight + 1)
    }

    pub(crate) fn on_acked(&mut self, packet: &Flying) {
        self.rate.set_being_delivered(self.rate.being_delivered() + 1);
        // In QUIC, no packet is sent twice.
        let delivered =
            DeliveredPacket { sent_at: packet.sent_at, order: packet.serial, retransmission: false };
        self.rate.on_delivered(delivered, packet.note);
    }

    /// All packets of an acknowledgment have been processed.
    pub(crate) fn on_end_acks(&mut self, rtt: Duration, prior_in_flight: u32, limit: Limit) {
        self.min_rtt = self.min_rtt.min(rtt);
        self.pending = Pending { prior_in_flight, limit, rtt: Some(rtt) };
    }

    pub(crate) fn on_lost(&mut self, now: Instant, packet: &Flying) -> LostSegment {
        self.rate.on_lost(now, packet.serial, &packet.note)
    }

    /// The sample of the acknowledgments and losses since the last call, if there were any (§3.3).
    pub(crate) fn sample(&mut self, totals: &Totals) -> Option<DeliverySample> {
        let pending = core::mem::take(&mut self.pending);
        let [newly_delivered, newly_lost] = [self.rate.being_delivered(), self.rate.newly_lost()];
        if newly_delivered == 0 && newly_lost == 0 {
            return None;
        }
        let rate = self.rate.sample(totals.now, self.min_rtt);
        if pending.limit == Limit::Application && pending.rtt.is_some() {
            self.rate.mark_app_limited(totals.in_flight);
        }
        self.rate.begin();
        let prior_in_flight = pending.prior_in_flight.max(totals.in_flight);
        let window_limited = pending.limit == Limit::Window;
        Some(DeliverySample {
            newly_delivered,
            newly_lost,
            prior_in_flight,
            window_limited,
            rtt: pending.rtt,
            rate,
            ..self.totals(totals)
        })
    }

    /// The packets delivered and lost so far, for a change of phase.
    pub(crate) const fn totals(&self, totals: &Totals) -> DeliverySample {
        let Totals { now, in_flight, srtt, next_send_at, phase } = *totals;
        let prior_in_flight = in_flight;
        let state =
            SenderState { now, in_flight, prior_in_flight, window_limited: false, srtt, next_send_at, phase };
        self.rate.totals(&state)
    }
}

/// The current state of the sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Totals {
    pub(crate) now: Instant,
    pub(crate) in_flight: u32,
    pub(crate) srtt: Duration,
    pub(crate) next_send_at: Instant,
    pub(crate) phase: Phase,
}
