//! Multi-domain congestion control over QUIC: the reports of a PEP about the packets that have passed it, for
//! a sender with two windows (`airlane_transport::congestion::Mdcc`).
//!
//! The rules are those of the TCP sender. A packet that the PEP has seen clocks the internet window. A packet
//! that the client acknowledges clocks the radio window, and also the internet window if no report has named
//! it. A loss belongs to the internet domain unless the PEP has seen the packet. Each domain reduces its
//! window once per round trip. If a PEP is silent for a probe timeout, the internet window uses the round
//! trips of the client.
//!
//! Only the windows use the PEP: quinn accepts losses only from the client's acknowledgments, so there is no
//! PEP-NACK. Reports contain identifiers that can only be computed from the packet and the key of the flow.
//! An identifier that is not in flight belongs to a packet that has been acknowledged since, or is invalid;
//! it has no effect.

use airlane_core::{Duration, Instant};
use airlane_transport::congestion::Domain;

use crate::flight::Flying;

/// Gain of the smoothed round trip (RFC 6298 §2.3).
const SRTT_GAIN: u64 = 8;

/// The state of the two domains.
#[derive(Debug, Default)]
pub(crate) struct Domains {
    /// Smoothed round trip to the PEP; zero before the first.
    pub(crate) srtt: Duration,
    /// When a report last named a packet in flight; `None` if the PEP is silent.
    pub(crate) heard_at: Option<Instant>,
    internet: Half,
    ran: Half,
    /// Packets of the current acknowledgment that no report has named.
    unreported: u32,
}

/// The state of one domain.
#[derive(Debug, Default)]
pub(crate) struct Half {
    /// Time of the last reduction of its window.
    reduced_at: Option<Instant>,
    /// Send time of the newest packet that it has lost.
    lost_sent_at: Option<Instant>,
    /// Delivered bytes that may increase its window.
    delivered: u64,
}

impl Half {
    /// True for a packet sent since the last reduction (RFC 9002 §7.3.2).
    fn is_current(&self, sent_at: Instant) -> bool {
        self.reduced_at.is_none_or(|at| sent_at > at)
    }
}

impl Domains {
    pub(crate) const fn half(&mut self, domain: Domain) -> &mut Half {
        match domain {
            Domain::Internet => &mut self.internet,
            Domain::Ran => &mut self.ran,
        }
    }

    /// The client has received the packet.
    pub(crate) fn on_acked(&mut self, packet: &Flying) {
        self.ran.delivered += if self.ran.is_current(packet.sent_at) { packet.bytes } else { 0 };
        if !packet.seen {
            self.unreported += 1;
            self.internet.delivered +=
                if self.internet.is_current(packet.sent_at) { packet.bytes } else { 0 };
        }
    }

    /// The PEP has seen a packet that is in flight.
    pub(crate) fn on_seen(&mut self, packet: &Flying) {
        self.internet.delivered += if self.internet.is_current(packet.sent_at) { packet.bytes } else { 0 };
    }

    pub(crate) fn on_lost(&mut self, packet: &Flying) {
        let half = if packet.seen { &mut self.ran } else { &mut self.internet };
        half.lost_sent_at = half.lost_sent_at.max(Some(packet.sent_at));
    }

    /// True if the domain reduces its window now: it has lost a packet since its last reduction.
    pub(crate) fn reduces(&mut self, domain: Domain, now: Instant) -> bool {
        let half = self.half(domain);
        let reduces = half.lost_sent_at.take().is_some_and(|sent_at| half.is_current(sent_at));
        if reduces {
            half.reduced_at = Some(now);
        }
        reduces
    }

    /// Both windows were reduced.
    pub(crate) fn on_reduced(&mut self, now: Instant) {
        for half in [&mut self.internet, &mut self.ran] {
            half.reduced_at = Some(now);
            half.lost_sent_at = None;
        }
    }

    /// Whole segments delivered since the last call.
    pub(crate) fn take_delivered(&mut self, domain: Domain, segment: u64) -> u32 {
        let half = self.half(domain);
        let segments = half.delivered / segment;
        half.delivered %= segment;
        segments as u32
    }

    /// A report named packets in flight. Returns true if the PEP had been silent.
    pub(crate) fn hear(&mut self, now: Instant, rtt: Duration) -> bool {
        let ns = if self.srtt.is_zero() {
            rtt.as_nanos()
        } else {
            self.srtt.as_nanos() - self.srtt.as_nanos() / SRTT_GAIN + rtt.as_nanos() / SRTT_GAIN
        };
        self.srtt = Duration::from_nanos(ns);
        self.heard_at.replace(now).is_none()
    }

    /// The client has acknowledged packets. Returns true if the PEP has fallen silent: it has named neither
    /// these packets nor others for this time.
    pub(crate) fn falls_silent(&mut self, now: Instant, after: Duration) -> bool {
        let unreported = core::mem::take(&mut self.unreported);
        let silent = self.heard_at.is_none_or(|at| now.saturating_since(at) > after);
        unreported > 0 && silent && self.heard_at.take().is_some()
    }
}
