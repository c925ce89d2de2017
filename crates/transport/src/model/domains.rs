//! The two domains of a path with a PEP, for a sender with a window for each
//! ([`Mdcc`](crate::congestion::Mdcc)).
//!
//! A packet that the PEP has reported clocks the window of the internet domain. A packet that the client
//! acknowledges clocks that of the radio domain, and also that of the internet domain if the PEP has not
//! reported it, since it must have passed there. If reports are lost or the PEP fails, both windows therefore
//! still have a clock. When a PEP falls silent, the internet window has no round-trip samples for one timeout
//! of the sender, and then uses those of the client.
//!
//! A loss belongs to the internet domain unless the PEP has seen the packet. A segment that was seen, lost,
//! sent again and lost again counts for the radio domain both times. Each domain reduces its window once per
//! round trip, that is, for packets sent after its last reduction (RFC 9002 §7.3.2).
//!
//! With [`MdccConfig::wired_queue`](crate::congestion::MdccConfig::wired_queue), a loss of a packet that the PEP has
//! seen needs evidence ([`Evidence`]). Without it, the loss belongs to the internet domain.
//!
//! Amounts are in the unit that the sender counts: segments in TCP, bytes in QUIC, whose packets differ in
//! size.

use core::ops::{Add, AddAssign};

use airlane_core::{Duration, Instant};

use super::evidence::Evidence;
use crate::congestion::{Controller, Domain, InflightScope, MdccConfig, MultiDomain};

/// Gain of the smoothed round trip (RFC 6298 §2.3).
const SRTT_GAIN: u64 = 8;

/// The state of the two domains.
#[derive(Debug, Default)]
pub struct Domains {
    /// Smoothed round trip to the PEP; zero before the first.
    srtt: Duration,
    /// Time of the last accepted report; `None` if the PEP is silent.
    heard_at: Option<Instant>,
    internet: Half,
    ran: Half,
    /// Packets delivered by the current acknowledgment that no report has named.
    unreported: u32,
    /// `None`: each report is believed.
    evidence: Option<Evidence>,
    /// The whole path is one domain, the radio network's.
    one_domain: bool,
    counts: DomainCounts,
}

/// Counts of the two domains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DomainCounts {
    /// Reductions of the internet window by losses.
    pub internet: u64,
    /// Reductions of the window of the radio access network by losses.
    pub ran: u64,
    /// Round trips with losses behind the PEP without evidence, which count for the internet.
    pub disbelieved: u64,
}

impl Add for DomainCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            internet: self.internet + other.internet,
            ran: self.ran + other.ran,
            disbelieved: self.disbelieved + other.disbelieved,
        }
    }
}

impl AddAssign for DomainCounts {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// The state of one domain.
#[derive(Debug, Default)]
struct Half {
    /// Time of the last reduction of its window.
    reduced_at: Option<Instant>,
    /// Send time of the newest packet that it has lost.
    lost_sent_at: Option<Instant>,
    /// The delivered amount that may increase its window.
    delivered: u64,
}

impl Half {
    /// Counts a packet sent since the last reduction (RFC 9002 §7.3.2).
    fn on_delivered(&mut self, sent_at: Instant, amount: u64) {
        if self.is_current(sent_at) {
            self.delivered += amount;
        }
    }

    fn is_current(&self, sent_at: Instant) -> bool {
        self.reduced_at.is_none_or(|at| sent_at > at)
    }
}

impl Domains {
    /// Before the first report, with the configuration of the controller.
    #[must_use]
    pub fn new(mdcc: &MdccConfig) -> Self {
        Self {
            evidence: mdcc.wired_queue.map(Evidence::new),
            one_domain: mdcc.inflight_scope == InflightScope::RanOnly,
            ..Self::default()
        }
    }

    const fn half(&mut self, domain: Domain) -> &mut Half {
        match domain {
            Domain::Internet => &mut self.internet,
            Domain::Ran => &mut self.ran,
        }
    }

    /// The client has received a packet, which the PEP may have seen.
    pub fn on_delivered(&mut self, sent_at: Instant, amount: u64, seen: bool) {
        self.ran.on_delivered(sent_at, amount);
        if !seen {
            self.unreported += 1;
            self.internet.on_delivered(sent_at, amount);
        }
    }

    /// The PEP has seen a packet that the client has not acknowledged.
    pub fn on_seen(&mut self, sent_at: Instant, amount: u64) {
        self.internet.on_delivered(sent_at, amount);
    }

    /// A packet is lost.
    pub fn on_lost(&mut self, sent_at: Instant, seen: bool) {
        let half = self.half(if seen || self.one_domain { Domain::Ran } else { Domain::Internet });
        half.lost_sent_at = half.lost_sent_at.max(Some(sent_at));
    }

    /// Reduces the window of each domain that has lost a packet since its last reduction.
    pub fn reduce(&mut self, now: Instant, controller: &mut Controller) {
        self.judge(now);
        for domain in Domain::ALL {
            let half = self.half(domain);
            if half.lost_sent_at.take().is_some_and(|sent_at| half.is_current(sent_at)) {
                half.reduced_at = Some(now);
                controller.on_domain_loss(domain);
                match domain {
                    Domain::Internet => self.counts.internet += 1,
                    Domain::Ran => self.counts.ran += 1,
                }
            }
        }
    }

    /// The counts so far.
    #[must_use]
    pub const fn counts(&self) -> DomainCounts {
        self.counts
    }

    /// Judges losses: without evidence, a loss behind the PEP is one of the internet. A decision holds for a round
    /// trip.
    fn judge(&mut self, now: Instant) {
        let Some(evidence) = &mut self.evidence else { return };
        let current = self.ran.lost_sent_at.is_some_and(|sent_at| self.ran.is_current(sent_at));
        if current && !evidence.is_radio() {
            let lost = self.ran.lost_sent_at.take();
            self.counts.disbelieved += 1;
            self.ran.reduced_at = Some(now);
            self.internet.lost_sent_at = self.internet.lost_sent_at.max(lost);
        }
    }

    /// Records that both windows were reduced.
    pub const fn on_reduced(&mut self, now: Instant) {
        self.set_reduced_at(Some(now));
    }

    /// Records that both windows were restored.
    pub const fn on_undo(&mut self) {
        self.set_reduced_at(None);
    }

    const fn set_reduced_at(&mut self, reduced_at: Option<Instant>) {
        self.internet.reduced_at = reduced_at;
        self.internet.lost_sent_at = None;
        self.ran.reduced_at = reduced_at;
        self.ran.lost_sent_at = None;
    }

    /// Whole segments of `segment` units that were delivered since the last call.
    pub const fn take_delivered(&mut self, domain: Domain, segment: u64) -> u32 {
        let half = self.half(domain);
        let segments = half.delivered / segment;
        half.delivered %= segment;
        segments as u32
    }

    /// Smoothed round trip to the PEP; zero before the first.
    #[must_use]
    pub const fn srtt(&self) -> Duration {
        self.srtt
    }

    /// A report arrived `elapsed` after its newest packet was sent, and was made `delay` after that packet passed.
    /// Returns the round trip to the PEP.
    pub fn on_rtt(&mut self, elapsed: Duration, delay: Duration) -> Duration {
        if let Some(evidence) = &mut self.evidence {
            evidence.on_report(elapsed, delay);
        }
        let rtt = elapsed.saturating_sub(delay);
        let ns = if self.srtt.is_zero() {
            rtt.as_nanos()
        } else {
            self.srtt.as_nanos() - self.srtt.as_nanos() / SRTT_GAIN + rtt.as_nanos() / SRTT_GAIN
        };
        self.srtt = Duration::from_nanos(ns);
        rtt
    }

    /// A round trip to the client.
    pub fn on_client_rtt(&mut self, rtt: Duration) {
        if let Some(evidence) = &mut self.evidence {
            evidence.on_client(rtt);
        }
    }

    /// True if the PEP clocks the internet window.
    #[must_use]
    pub const fn hears_pep(&self) -> bool {
        self.heard_at.is_some()
    }

    /// A report was accepted. Informs the controller if the PEP had been silent.
    pub fn on_report(&mut self, now: Instant, controller: &mut Controller) {
        if self.heard_at.replace(now).is_none() {
            controller.on_clock_change();
        }
    }

    /// The PEP is silent from now on. Informs the controller if the PEP was heard before.
    pub fn on_silence(&mut self, controller: &mut Controller) {
        if self.heard_at.take().is_some() {
            controller.on_clock_change();
        }
    }

    /// An acknowledgment of the client has been processed. The PEP is silent if it has named neither these
    /// packets nor others for this time.
    pub fn on_acknowledgment(&mut self, now: Instant, silent_after: Duration, controller: &mut Controller) {
        let unreported = core::mem::take(&mut self.unreported);
        let silent = self.heard_at.is_none_or(|at| now.saturating_since(at) > silent_after);
        if unreported > 0 && silent {
            self.on_silence(controller);
        }
    }
}
