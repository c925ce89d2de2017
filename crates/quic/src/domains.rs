//! Multi-domain congestion control over QUIC: what a PEP says of the packets that have passed it, worked into a sender
//! whose windows are two (`airlane_transport::congestion::Mdcc`).
//!
//! The rules are those of the TCP sender: a packet that the PEP has seen clocks the window of the internet, one that
//! the client acknowledges that of the radio, and that of the internet too if no report has named it; a loss belongs to
//! the internet unless the PEP has seen the packet; each domain reduces once per round trip. A PEP that is silent for
//! a probe timeout leaves the round trips of the internet window to the client.
//!
//! Only the windows use the PEP: quinn takes no word of a loss from anybody but the client, so there is no PEP-NACK.
//! What is reported are identifiers that only who has the packet and the key of the flow can compute. One that is not
//! in flight is of a packet that has been acknowledged since, or is made up; neither does anything.

use airlane_core::{Duration, Instant};
use airlane_transport::congestion::Domain;

use crate::flight::Flying;

/// Gain of the smoothed round trip (RFC 6298 §2.3).
const SRTT_GAIN: u64 = 8;

/// What is known of the two domains.
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

/// What is known of one domain.
#[derive(Debug, Default)]
pub(crate) struct Half {
    /// When its window was last reduced.
    reduced_at: Option<Instant>,
    /// When the newest packet that it has lost was sent.
    lost_sent_at: Option<Instant>,
    /// Bytes delivered that may open its window.
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

    /// The client has the packet.
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

    /// Whether the domain reduces its window now: it has lost something since its last reduction.
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

    /// Whole segments that have been delivered since it was asked last.
    pub(crate) fn take_delivered(&mut self, domain: Domain, segment: u64) -> u32 {
        let half = self.half(domain);
        let segments = half.delivered / segment;
        half.delivered %= segment;
        segments as u32
    }

    /// A report named packets that are in flight. True if the PEP had been silent.
    pub(crate) fn hear(&mut self, now: Instant, rtt: Duration) -> bool {
        let ns = if self.srtt.is_zero() {
            rtt.as_nanos()
        } else {
            self.srtt.as_nanos() - self.srtt.as_nanos() / SRTT_GAIN + rtt.as_nanos() / SRTT_GAIN
        };
        self.srtt = Duration::from_nanos(ns);
        self.heard_at.replace(now).is_none()
    }

    /// The client has acknowledged something. True if the PEP has fallen silent: it has not named the packets, and
    /// nothing else for this long.
    pub(crate) fn falls_silent(&mut self, now: Instant, after: Duration) -> bool {
        let unreported = core::mem::take(&mut self.unreported);
        let silent = self.heard_at.is_none_or(|at| now.saturating_since(at) > after);
        unreported > 0 && silent && self.heard_at.take().is_some()
    }
}
