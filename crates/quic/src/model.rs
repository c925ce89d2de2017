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
    /// The application had no data to send. Flow control of the peer is no such limit: a rate measured then is as valid
    /// as any (draft-cheng-iccrg-delivery-rate-estimation-02 §3.4; Linux, `tcp_rate_check_app_limited`).
    app_limited: bool,
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

/// The use of the window in the last round, as the TCP sender has it (RFC 7661 §4.1; Linux, `tcp_cwnd_validate`): the
/// window was the limit if it was full after any datagram of the round, although pacing or the next acknowledgment leave
/// room in it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WindowUse {
    limited: bool,
    /// Most bytes in flight in the round, and the position in all that is sent at which it ends.
    in_flight_max: u64,
    until: u64,
}

impl WindowUse {
    /// A datagram was sent, or none could be: the window is `full` with these bytes in flight. All before `settled` is
    /// acknowledged or lost, and `sent` bytes are sent.
    pub(crate) const fn note(&mut self, full: bool, in_flight: u64, (settled, sent): (u64, u64)) {
        if full || settled >= self.until || (!self.limited && in_flight > self.in_flight_max) {
            *self = Self { limited: full, in_flight_max: in_flight, until: sent };
        }
    }

    pub(crate) const fn is_limited(&self) -> bool {
        self.limited
    }
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
    pub(crate) fn on_end_acks(&mut self, rtt: Duration, prior_in_flight: u32, app_limited: bool) {
        self.min_rtt = self.min_rtt.min(rtt);
        self.pending = Pending { prior_in_flight, app_limited, rtt: Some(rtt) };
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
        if pending.app_limited {
            self.rate.mark_app_limited(totals.in_flight);
        }
        self.rate.begin();
        let prior_in_flight = pending.prior_in_flight.max(totals.in_flight);
        Some(DeliverySample {
            newly_delivered,
            newly_lost,
            prior_in_flight,
            rtt: pending.rtt,
            rate,
            ..self.totals(totals)
        })
    }

    /// The packets delivered and lost so far, for a change of phase.
    pub(crate) const fn totals(&self, totals: &Totals) -> DeliverySample {
        let Totals { now, in_flight, window_limited, srtt, next_send_at, phase } = *totals;
        let prior_in_flight = in_flight;
        let state =
            SenderState { now, in_flight, prior_in_flight, window_limited, srtt, next_send_at, phase };
        self.rate.totals(&state)
    }
}

/// The current state of the sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Totals {
    pub(crate) now: Instant,
    pub(crate) in_flight: u32,
    pub(crate) window_limited: bool,
    pub(crate) srtt: Duration,
    pub(crate) next_send_at: Instant,
    pub(crate) phase: Phase,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Datagrams of 1000 bytes and a window of four. The fourth fills it; an acknowledgment of two then leaves room, which
    /// pacing fills only later. The window limits the sender until all that was sent when it was full is settled.
    #[test]
    fn a_window_that_was_full_limits_the_round() {
        let mut usage = WindowUse::default();
        let sent = |usage: &mut WindowUse, in_flight: u64, settled: u64, sent: u64| {
            usage.note(in_flight >= 4000, in_flight, (settled, sent));
            usage.is_limited()
        };
        let first: Vec<bool> = (1..=4).map(|n| sent(&mut usage, n * 1000, 0, n * 1000)).collect();
        assert_eq!(first, [false, false, false, true]);
        assert!(sent(&mut usage, 3000, 2000, 5000), "two are settled, and one more is sent");
        assert!(!sent(&mut usage, 2000, 4000, 6000), "the round is over");
        assert!(!sent(&mut usage, 3000, 4000, 7000));
        assert!(sent(&mut usage, 4000, 4000, 8000));
    }
}
