//! The reports of a PEP, for a sender with a window for each part of the path.
//!
//! A segment that the PEP has reported clocks the window of the internet domain. A segment that the client
//! acknowledges clocks that of the radio domain, and also that of the internet domain if the PEP has not
//! reported it, since it must have passed there. If reports are lost or the PEP fails, both windows
//! therefore still have a clock. When a PEP falls silent, the internet window has no round-trip samples
//! for one retransmission timeout (RFC 6298), and then uses those of the client.
//!
//! A loss belongs to the internet domain unless the PEP has seen the segment. A segment that was seen,
//! lost, sent again and lost again counts for the radio domain both times. Each domain reduces its
//! window once per round trip, that is, for segments sent after its last reduction (RFC 9002 §7.3.2).
//!
//! A report is authentic when it arrives here, but may be false. Claims about data that was never sent
//! prove this, and all later reports are rejected. Other false reports can at most move losses from one
//! domain to the other, or cause retransmissions within the window: every segment in flight counts
//! against the radio window, which only the client's acknowledgments open.

use airlane_core::{Duration, Event, Instant, SackBlock, Topic};

use super::Sender;
use super::ack::Outcome;
use crate::congestion::{AckSample, Controller, Domain, InflightScope};
use crate::header::Io;
use crate::pep::PepReport;
use crate::recovery::Phase;
use crate::scoreboard::{EVER_RETRANSMITTED, LOST, SACKED, SEEN, Segment};
use crate::sequence;

/// Gain of the smoothed round trip (RFC 6298 §2.3).
const SRTT_GAIN: u64 = 8;

/// The state of the two domains.
#[derive(Debug)]
pub(crate) struct Domains {
    scope: InflightScope,
    /// All positions before this were seen by the PEP.
    seen_to: u64,
    /// Smoothed round trip to the PEP; zero before the first.
    srtt: Duration,
    /// Time of the last accepted report; `None` if the PEP is silent.
    heard_at: Option<Instant>,
    /// True after an impossible claim.
    distrusted: bool,
    internet: Half,
    ran: Half,
    /// Segments delivered by the current acknowledgment that no report has named.
    unreported: u32,
}

/// The state of one domain.
#[derive(Debug, Default)]
struct Half {
    /// Time of the last reduction of its window.
    reduced_at: Option<Instant>,
    /// Send time of the newest segment that it has lost.
    lost_sent_at: Option<Instant>,
    /// Segments delivered by the current acknowledgment that may increase its window.
    delivered: u32,
    /// True if its window limited the sender in the last round.
    limits: bool,
}

impl Half {
    /// True for a segment sent since the last reduction (RFC 9002 §7.3.2).
    fn is_current(&self, sent_at: Instant) -> bool {
        self.reduced_at.is_none_or(|at| sent_at > at)
    }
}

impl Domains {
    pub(crate) fn new(scope: InflightScope) -> Self {
        Self {
            scope,
            seen_to: 0,
            srtt: Duration::ZERO,
            heard_at: None,
            distrusted: false,
            internet: Half::default(),
            ran: Half::default(),
            unreported: 0,
        }
    }

    fn half(&mut self, domain: Domain) -> &mut Half {
        match domain {
            Domain::Internet => &mut self.internet,
            Domain::Ran => &mut self.ran,
        }
    }

    /// The client has received the segment.
    pub(super) fn on_delivered(&mut self, segment: &Segment) {
        self.ran.delivered += u32::from(self.ran.is_current(segment.sent_at));
        if !segment.is(SEEN) {
            self.unreported += 1;
            self.internet.delivered += u32::from(self.internet.is_current(segment.sent_at));
        }
    }

    /// The segment is lost; its PEP state is still unchanged.
    pub(super) fn on_lost(&mut self, segment: &Segment) {
        let domain = if segment.is(SEEN) { Domain::Ran } else { Domain::Internet };
        let half = self.half(domain);
        half.lost_sent_at = half.lost_sent_at.max(Some(segment.sent_at));
    }

    /// Updates the use of the windows.
    pub(super) fn on_window_use(&mut self, controller: &Controller, beyond_pep: u32) {
        let Some(mdcc) = controller.domains() else { return };
        let internet = mdcc.window_of(Domain::Internet).segments;
        let ran = mdcc.window_of(Domain::Ran).segments;
        let reach = match self.scope {
            InflightScope::EndToEnd => internet,
            InflightScope::PerDomain => internet.saturating_add(beyond_pep),
        };
        self.internet.limits = reach <= ran;
        self.ran.limits = ran <= reach;
    }

    pub(super) fn on_timeout(&mut self, now: Instant) {
        for half in [&mut self.internet, &mut self.ran] {
            half.reduced_at = Some(now);
            half.lost_sent_at = None;
        }
    }

    pub(super) fn on_undo(&mut self) {
        for half in [&mut self.internet, &mut self.ran] {
            half.reduced_at = None;
            half.lost_sent_at = None;
        }
    }

    fn sample_rtt(&mut self, rtt: Duration) {
        let ns = if self.srtt.is_zero() {
            rtt.as_nanos()
        } else {
            self.srtt.as_nanos() - self.srtt.as_nanos() / SRTT_GAIN + rtt.as_nanos() / SRTT_GAIN
        };
        self.srtt = Duration::from_nanos(ns);
    }
}

/// The results of a report.
#[derive(Clone, Copy, Debug, Default)]
struct News {
    /// Segments newly seen that may increase the window.
    seen: u32,
    rtt: Option<Duration>,
    lost: u32,
}

impl Sender {
    /// The effective window if the data seen by the PEP does not count against the internet window.
    pub(super) fn window_of_domains(&self, window: u32) -> u32 {
        match self.controller.domains() {
            Some(mdcc) if mdcc.inflight_scope() == InflightScope::PerDomain => {
                let internet = mdcc.window_of(Domain::Internet).segments;
                window.min(internet.saturating_add(self.board.beyond_pep()))
            }
            _ => window,
        }
    }

    /// Reduces the window of each domain that has lost a segment since its last reduction.
    pub(super) fn reduce_domains(&mut self, now: Instant) {
        let Some(domains) = &mut self.domains else { return };
        for domain in Domain::ALL {
            let half = domains.half(domain);
            if half.lost_sent_at.take().is_some_and(|sent_at| half.is_current(sent_at)) {
                half.reduced_at = Some(now);
                self.controller.on_domain_loss(domain);
            }
        }
    }

    /// Processes an acknowledgment of the client for both domains.
    pub(super) fn drive_domains(&mut self, now: Instant, outcome: &Outcome) {
        if self.phase >= Phase::Recovery {
            self.reduce_domains(now);
        }
        let Some(domains) = &mut self.domains else { return };
        let unreported = core::mem::take(&mut domains.unreported);
        let silent = domains.heard_at.is_none_or(|at| now.saturating_since(at) > self.rto);
        if unreported > 0 && silent && domains.heard_at.take().is_some() {
            self.controller.on_clock_change();
        }
        for (domain, rtt) in [
            (Domain::Internet, outcome.rtt.filter(|_| domains.heard_at.is_none())),
            (Domain::Ran, outcome.rtt),
        ] {
            let Some(domains) = &mut self.domains else { return };
            let delivered = core::mem::take(&mut domains.half(domain).delivered);
            if delivered > 0 || rtt.is_some() {
                self.grow_domain(now, domain, delivered, rtt);
            }
        }
        if self.phase.reduces() {
            let clean = outcome.advanced && outcome.lost == 0;
            let target = self.controller.window_segments();
            self.reduction.on_ack(outcome.delivered, clean, self.in_flight(), target);
        }
        if self.delivery.is_some() {
            self.follow_window();
        }
    }

    fn grow_domain(&mut self, now: Instant, domain: Domain, delivered: u32, rtt: Option<Duration>) {
        let Some(domains) = &mut self.domains else { return };
        let heard = domains.heard_at.is_some() && domain == Domain::Internet;
        let sample = AckSample {
            now,
            delivered_segments: delivered.min(self.options.growth_max),
            may_grow: delivered > 0,
            window_limited: self.window_use.limited && domains.half(domain).limits,
            max_outstanding_segments: self.window_use.max_outstanding,
            outstanding_segments: self.board.outstanding(),
            rtt,
            srtt: if heard { domains.srtt } else { self.rtt.srtt() },
            acked_to: if heard { domains.seen_to } else { self.una },
            sent_to: self.nxt,
        };
        self.controller.on_domain_ack(domain, &sample);
    }

    /// Processes a report of a PEP.
    pub(crate) fn on_pep_report(&mut self, io: &mut Io<'_, '_>, report: &PepReport<'_>) {
        let Some(domains) = &mut self.domains else { return };
        let position = |wire| sequence::position(wire, io.negotiated.local_initial, self.una);
        let blocks = || report.ranges.iter().chain(report.holes).chain([&report.newest]);
        let claims_unsent = position(report.cumulative) > self.nxt
            || blocks().any(|block| position(block.right) > self.nxt || position(block.left) > self.nxt);
        if domains.distrusted || claims_unsent {
            if !domains.distrusted && domains.heard_at.take().is_some() {
                self.controller.on_clock_change();
            }
            domains.distrusted = true;
            io.stats.pep_reports_refused += 1;
            return;
        }
        io.stats.pep_reports += 1;
        if domains.heard_at.replace(io.now()).is_none() {
            self.controller.on_clock_change();
        }
        if self.board.is_empty() {
            return;
        }
        let mut news = News::default();
        self.take_seen(io, report, &mut news);
        if news.seen > 0 || news.rtt.is_some() {
            self.grow_domain(io.now(), Domain::Internet, news.seen, news.rtt);
        }
        for hole in report.holes {
            self.take_hole(io, *hole, &mut news);
        }
        if news.lost > 0 {
            self.on_pep_loss(io, news.lost);
        }
        self.transmit(io);
        self.report_state(io);
    }

    /// Marks the segments that the PEP has seen.
    fn take_seen(&mut self, io: &Io<'_, '_>, report: &PepReport<'_>, news: &mut News) {
        let una = self.una;
        let position = |wire| sequence::position(wire, io.negotiated.local_initial, una);
        let (first, cumulative) = (position(report.first), position(report.cumulative));
        let seen_to = self.domains.as_ref().map_or(0, |d| d.seen_to).max(una);
        let left = if first <= seen_to { seen_to } else { first };
        self.see(left, cumulative, news);
        if first <= seen_to
            && let Some(domains) = &mut self.domains
        {
            domains.seen_to = domains.seen_to.max(cumulative);
        }
        for range in report.ranges {
            self.see(position(range.left), position(range.right), news);
        }
        self.sample_pep_rtt(io, report, position(report.newest.left), news);
        self.see(position(report.newest.left), position(report.newest.right), news);
    }

    /// A sample from the newest segment, if it was sent once and has just passed.
    fn sample_pep_rtt(&mut self, io: &Io<'_, '_>, report: &PepReport<'_>, newest: u64, news: &mut News) {
        if newest < self.una {
            return;
        }
        let number = self.board.find(newest);
        if !self.board.contains(number) {
            return;
        }
        let s = self.board.get(number);
        if s.is(EVER_RETRANSMITTED) || s.start > newest {
            return; // Karn's rule (RFC 6298 §3)
        }
        let rtt = io.now().saturating_since(s.sent_at).saturating_sub(report.delay);
        news.rtt = Some(rtt);
        if let Some(domains) = &mut self.domains {
            domains.sample_rtt(rtt);
        }
    }

    /// The whole segments within `[left, right)` have passed the PEP.
    fn see(&mut self, left: u64, right: u64, news: &mut News) {
        let left = left.max(self.una);
        if left >= right || self.board.is_empty() {
            return;
        }
        let mut number = self.board.find(left);
        while self.board.contains(number) {
            let s = *self.board.get(number);
            if s.end() > right {
                break;
            }
            if s.start >= left && !s.is(SEEN) {
                self.board.mark_seen(number);
                let current = self.domains.as_ref().is_some_and(|d| d.internet.is_current(s.sent_at));
                // SACKed segments were counted when they were SACKed.
                news.seen += u32::from(current && !s.is(SACKED));
            }
            number += 1;
        }
    }

    /// The PEP misses `[left, right)`: segments of it that were sent once are lost.
    fn take_hole(&mut self, io: &Io<'_, '_>, hole: SackBlock, news: &mut News) {
        let position = |wire| sequence::position(wire, io.negotiated.local_initial, self.una);
        let (left, right) = (position(hole.left).max(self.una), position(hole.right));
        if left >= right || self.board.is_empty() {
            return;
        }
        let mut number = self.board.find(left);
        while self.board.contains(number) {
            let s = *self.board.get(number);
            if s.end() > right {
                break;
            }
            let missing = !s.is(SEEN | SACKED | LOST | EVER_RETRANSMITTED);
            if s.start >= left && missing && self.board.mark_lost(number) {
                news.lost += 1;
                self.note_lost(io.now(), number);
            }
            number += 1;
        }
    }

    /// A PEP-NACK has declared segments lost: retransmits them, as after an acknowledgment that shows a
    /// loss.
    fn on_pep_loss(&mut self, io: &mut Io<'_, '_>, lost: u32) {
        io.stats.pep_losses += u64::from(lost);
        self.report_lost(io, lost);
        match self.phase {
            Phase::Open | Phase::Disorder | Phase::Reduction => self.enter_recovery(io, false),
            Phase::Recovery | Phase::Loss => self.reduce_domains(io.now()),
        }
        if self.phase.reduces() {
            let target = self.controller.window_segments();
            self.reduction.on_ack(0, false, self.in_flight(), target);
        }
        self.retransmit_lost(io);
    }

    /// Reports both windows; called only for [`Topic::FlowState`].
    pub(super) fn report_domains(&self, io: &mut Io<'_, '_>) {
        let (Some(mdcc), Some(domains)) = (self.controller.domains(), &self.domains) else { return };
        if io.cx.wants(Topic::Pep) {
            let flow = io.path.flow;
            io.cx.emit(&Event::DomainState {
                flow,
                internet: mdcc.window_of(Domain::Internet).bytes(),
                ran: mdcc.window_of(Domain::Ran).bytes(),
                pep_srtt: domains.srtt,
            });
        }
    }
}
