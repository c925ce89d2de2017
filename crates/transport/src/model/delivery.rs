//! Samples of the delivery rate (draft-cheng-iccrg-delivery-rate-estimation-02).
//!
//! Each packet stores the delivered amount when it was sent, and the acknowledgment that delivers it compares.
//! The rate uses the longer of the sending and the acknowledging interval. The sender stores the
//! [notes](SendNote), TCP by segment, QUIC by packet.

use airlane_core::{Duration, Instant};

use crate::congestion::{DeliverySample, LostSegment, RateSample};
use crate::recovery::Phase;

/// The data stored for a packet when it is sent (§3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendNote {
    delivered_at: Instant,
    first_sent_at: Instant,
    delivered: u64,
    lost: u64,
    in_flight: u32,
    app_limited: bool,
}

/// A packet that an acknowledgment delivers.
#[derive(Clone, Copy, Debug)]
pub struct DeliveredPacket {
    /// Last send time of the packet.
    pub sent_at: Instant,
    /// Place of the packet among those sent at this time: the end of a segment in TCP's stream, the number of a QUIC
    /// packet.
    pub order: u64,
    /// True if it was sent more than once, which only TCP does.
    pub retransmission: bool,
}

/// The state of a sender that its samples contain.
#[derive(Clone, Copy, Debug)]
pub struct SenderState {
    /// The time.
    pub now: Instant,
    /// Packets in flight now.
    pub in_flight: u32,
    /// Packets in flight before the current acknowledgment.
    pub prior_in_flight: u32,
    /// True if the window limited the sender in the last round.
    pub window_limited: bool,
    /// Smoothed round-trip time.
    pub srtt: Duration,
    /// When the next packet may leave.
    pub next_send_at: Instant,
    /// The state of loss recovery.
    pub phase: Phase,
}

/// The newest packet that the current acknowledgment delivers.
#[derive(Clone, Copy, Debug)]
struct Newest {
    packet: DeliveredPacket,
    note: SendNote,
}

/// The history of sending, delivery and loss.
#[derive(Debug)]
pub struct DeliveryRate {
    /// Packets delivered and lost since the start of the connection, including the first of the handshake.
    delivered: u64,
    lost: u64,
    delivered_at: Instant,
    first_sent_at: Instant,
    /// Samples are limited by the application until this many are delivered; zero for no limit.
    app_limited_until: u64,
    // The acknowledgment being processed.
    newest: Option<Newest>,
    prior_lost: u64,
    /// Packets that it delivers, which are counted at its end.
    being_delivered: u32,
}

impl DeliveryRate {
    /// The history of a connection that begins now.
    #[must_use]
    pub const fn new(now: Instant) -> Self {
        Self {
            delivered: 1,
            lost: 0,
            delivered_at: now,
            first_sent_at: now,
            app_limited_until: 0,
            newest: None,
            prior_lost: 0,
            being_delivered: 0,
        }
    }

    /// The handshake is complete.
    pub const fn on_established(&mut self, now: Instant) {
        self.delivered_at = now;
    }

    /// A packet is sent. `was_empty` is true if none was outstanding before; `in_flight` includes it.
    pub const fn on_sent(&mut self, now: Instant, was_empty: bool, in_flight: u32) -> SendNote {
        if was_empty {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        SendNote {
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            delivered: self.delivered,
            lost: self.lost,
            in_flight,
            app_limited: self.app_limited_until > 0,
        }
    }

    /// Starts the processing of an acknowledgment and the losses that it shows.
    pub const fn begin(&mut self) {
        self.newest = None;
        self.prior_lost = self.lost;
    }

    /// A packet was delivered (§3.3): the rate is that of the most recently sent one.
    pub fn on_delivered(&mut self, packet: DeliveredPacket, note: SendNote) {
        let place = |packet: &DeliveredPacket| (packet.sent_at, packet.order);
        if self.newest.as_ref().is_none_or(|newest| place(&packet) > place(&newest.packet)) {
            self.first_sent_at = packet.sent_at;
            self.newest = Some(Newest { packet, note });
        }
    }

    /// The current acknowledgment delivers this many packets.
    pub const fn set_being_delivered(&mut self, packets: u32) {
        self.being_delivered = packets;
    }

    /// Packets delivered by the current acknowledgment.
    #[must_use]
    pub const fn being_delivered(&self) -> u32 {
        self.being_delivered
    }

    /// Packets lost since [`Self::begin`].
    #[must_use]
    pub const fn newly_lost(&self) -> u32 {
        (self.lost - self.prior_lost) as u32
    }

    /// The sample of the acknowledgment, if it gives one (§3.3). Intervals below the minimum round trip are
    /// those of a spurious retransmission; `min_rtt` is [`Duration::MAX`] before the first.
    pub fn sample(&mut self, now: Instant, min_rtt: Duration) -> Option<RateSample> {
        let delivered = core::mem::take(&mut self.being_delivered);
        self.delivered += u64::from(delivered);
        if self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        if delivered > 0 {
            self.delivered_at = now;
        }
        let Newest { packet, note } = self.newest?;
        let send_elapsed = packet.sent_at.saturating_since(note.first_sent_at);
        let interval = send_elapsed.max(now.saturating_since(note.delivered_at));
        let valid = min_rtt == Duration::MAX || interval >= min_rtt;
        (valid && !interval.is_zero()).then_some(RateSample {
            delivered: self.delivered - note.delivered,
            interval,
            prior_delivered: note.delivered,
            app_limited: note.app_limited,
            lost: self.lost - note.lost,
            in_flight_when_sent: note.in_flight,
            retransmission: packet.retransmission,
        })
    }

    /// A packet with this number is declared lost.
    pub fn on_lost(&mut self, now: Instant, number: u64, note: &SendNote) -> LostSegment {
        self.lost += 1;
        LostSegment {
            now,
            number,
            in_flight_when_sent: note.in_flight,
            delivered_when_sent: note.delivered,
            lost: self.lost - note.lost,
            delivered: self.delivered + u64::from(self.being_delivered),
            app_limited: note.app_limited,
        }
    }

    /// The sender has, or asks to send, less data than the path can carry (§3.4).
    pub fn mark_app_limited(&mut self, in_flight: u32) {
        self.app_limited_until = (self.delivered + u64::from(in_flight)).max(1);
    }

    /// True until the packets in flight at the last mark are delivered.
    #[must_use]
    pub const fn is_app_limited(&self) -> bool {
        self.app_limited_until > 0
    }

    /// When the last packet was delivered.
    #[must_use]
    pub const fn delivered_at(&self) -> Instant {
        self.delivered_at
    }

    /// The packets delivered and lost so far, without a rate.
    #[must_use]
    pub const fn totals(&self, state: &SenderState) -> DeliverySample {
        DeliverySample {
            now: state.now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            lost: self.lost,
            newly_delivered: 0,
            newly_lost: 0,
            in_flight: state.in_flight,
            prior_in_flight: state.prior_in_flight,
            window_limited: state.window_limited,
            rtt: None,
            srtt: state.srtt,
            next_send_at: state.next_send_at,
            phase: state.phase,
            rate: None,
        }
    }
}
