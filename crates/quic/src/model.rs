//! The inputs of a model-based controller in addition to acknowledgments: the delivery rate
//! (draft-cheng-iccrg-delivery-rate-estimation-02), each lost packet, and pacing at its own rate.
//!
//! The sample of an acknowledgment is computed when its losses are also known, which quinn reports after it.
//! Pacing is that of the TCP sender: while a packet must wait, quinn sees a window of zero, which holds back
//! data and nothing else.

use airlane_core::{BitRate, Bytes, Duration, Instant};
use airlane_transport::congestion::{DeliverySample, LostSegment, Phase, RateSample};

use crate::flight::Flying;

/// Number of packets that leave unpaced, as over TCP.
const UNPACED: u64 = 10;

/// The data stored for a packet when it is sent (§3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Note {
    delivered_at: Instant,
    first_sent_at: Instant,
    delivered: u64,
    lost: u64,
    in_flight: u32,
    app_limited: bool,
}

/// An acknowledgment that is being processed.
#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    newest: Option<Flying>,
    delivered: u32,
    lost: u32,
    prior_in_flight: u32,
    limit: Limit,
    rtt: Option<Duration>,
}

/// What limited the data in flight when an acknowledgment arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Limit {
    /// The application had no data to send.
    Application,
    /// The pacing rate.
    #[default]
    Rate,
    /// The window.
    Window,
}

/// The history of sending, delivery and loss, and the time when the next packet may leave.
#[derive(Debug)]
pub(crate) struct Model {
    /// Packets delivered and lost since the start of the connection, including the first of the
    /// handshake.
    delivered: u64,
    lost: u64,
    delivered_at: Instant,
    first_sent_at: Instant,
    min_rtt: Duration,
    /// Samples are limited by the application until this many are delivered; zero for no limit.
    app_limited_until: u64,
    pending: Pending,
    rate: Option<BitRate>,
    next_send_at: Instant,
    sent: u64,
    /// Number of packets that may leave at this instant.
    burst: u32,
}

impl Model {
    pub(crate) const fn new() -> Self {
        Self {
            delivered: 1,
            lost: 0,
            delivered_at: Instant::ZERO,
            first_sent_at: Instant::ZERO,
            min_rtt: Duration::MAX,
            app_limited_until: 0,
            pending: Pending {
                newest: None,
                delivered: 0,
                lost: 0,
                prior_in_flight: 0,
                limit: Limit::Rate,
                rtt: None,
            },
            rate: None,
            next_send_at: Instant::ZERO,
            sent: 0,
            burst: 0,
        }
    }

    pub(crate) const fn set_rate(&mut self, rate: Option<BitRate>) {
        self.rate = rate;
    }

    /// Allows data from now on, `quantum` packets at once, unless pacing delays it.
    pub(crate) fn open(&mut self, now: Instant, quantum: u32) {
        let unpaced = UNPACED.saturating_sub(self.sent) as u32;
        self.burst = if self.next_send_at > now { 0 } else { quantum.max(unpaced).max(1) };
    }

    /// The time until which data must wait, if it must.
    pub(crate) fn waits_until(&self) -> Option<Instant> {
        (self.burst == 0).then_some(self.next_send_at)
    }

    /// A packet leaves; the next one waits for its transmission time at the pacing rate.
    pub(crate) fn on_sent(&mut self, now: Instant, bytes: u64, in_flight: u32) -> Note {
        if in_flight == 0 {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        self.sent += 1;
        self.burst = self.burst.saturating_sub(1);
        let before = self.next_send_at;
        self.next_send_at = before.max(now);
        if let Some(rate) = self.rate.filter(|rate| self.sent >= UNPACED && rate.bits_per_second() > 0) {
            let gap = rate.transmission_time(Bytes(bytes));
            let late = self.next_send_at.saturating_since(before);
            self.next_send_at += gap.saturating_sub(late.min(gap / 2));
        }
        Note {
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            delivered: self.delivered,
            lost: self.lost,
            in_flight: in_flight + 1,
            app_limited: self.app_limited_until > 0,
        }
    }

    pub(crate) fn on_acked(&mut self, packet: Flying) {
        self.pending.delivered += 1;
        if self.pending.newest.is_none_or(|newest| packet.serial > newest.serial) {
            self.pending.newest = Some(packet);
        }
    }

    /// All packets of an acknowledgment have been processed.
    pub(crate) fn on_end_acks(&mut self, rtt: Duration, prior_in_flight: u32, limit: Limit) {
        self.min_rtt = self.min_rtt.min(rtt);
        self.pending.rtt = Some(rtt);
        self.pending.prior_in_flight = prior_in_flight;
        self.pending.limit = limit;
    }

    pub(crate) fn on_lost(&mut self, now: Instant, packet: &Flying) -> LostSegment {
        self.lost += 1;
        self.pending.lost += 1;
        LostSegment {
            now,
            number: packet.serial,
            in_flight_when_sent: packet.note.in_flight,
            lost: self.lost - packet.note.lost,
            delivered: self.delivered + u64::from(self.pending.delivered),
            app_limited: packet.note.app_limited,
        }
    }

    /// The sample of the acknowledgments and losses since the last call, if there were any (§3.3).
    pub(crate) fn sample(&mut self, totals: &Totals) -> Option<DeliverySample> {
        let pending = core::mem::take(&mut self.pending);
        if pending.delivered == 0 && pending.lost == 0 {
            return None;
        }
        self.delivered += u64::from(pending.delivered);
        if self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let rate = pending.newest.and_then(|newest| self.rate_of(&newest, totals.now));
        if pending.delivered > 0 {
            self.delivered_at = totals.now;
        }
        if pending.limit == Limit::Application && pending.rtt.is_some() {
            self.mark_app_limited(totals.in_flight);
        }
        let prior_in_flight = pending.prior_in_flight.max(totals.in_flight);
        Some(DeliverySample {
            newly_delivered: pending.delivered,
            newly_lost: pending.lost,
            prior_in_flight,
            window_limited: pending.limit == Limit::Window,
            rtt: pending.rtt,
            rate,
            ..self.totals(totals)
        })
    }

    /// Intervals below the minimum round trip are invalid.
    fn rate_of(&mut self, newest: &Flying, now: Instant) -> Option<RateSample> {
        let note = newest.note;
        self.first_sent_at = newest.sent_at;
        let send_elapsed = newest.sent_at.saturating_since(note.first_sent_at);
        let interval = send_elapsed.max(now.saturating_since(note.delivered_at));
        (interval >= self.min_rtt && !interval.is_zero()).then_some(RateSample {
            delivered: self.delivered - note.delivered,
            interval,
            prior_delivered: note.delivered,
            app_limited: note.app_limited,
            lost: self.lost - note.lost,
            in_flight_when_sent: note.in_flight,
            retransmission: false, // in QUIC, no packet is sent twice
        })
    }

    /// The sender has, or wants to send, less data than the path can carry (§3.4).
    pub(crate) fn mark_app_limited(&mut self, in_flight: u32) {
        self.app_limited_until = (self.delivered + u64::from(in_flight)).max(1);
    }

    /// The packets delivered and lost so far, for a change of phase.
    pub(crate) const fn totals(&self, totals: &Totals) -> DeliverySample {
        DeliverySample {
            now: totals.now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            lost: self.lost,
            newly_delivered: 0,
            newly_lost: 0,
            in_flight: totals.in_flight,
            prior_in_flight: totals.in_flight,
            window_limited: false,
            rtt: None,
            srtt: totals.srtt,
            next_send_at: self.next_send_at,
            phase: totals.phase,
            rate: None,
        }
    }
}

/// The current state of the sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Totals {
    pub(crate) now: Instant,
    pub(crate) in_flight: u32,
    pub(crate) srtt: Duration,
    pub(crate) phase: Phase,
}
