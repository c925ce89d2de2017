//! The reports of a PEP, for a sender with a window for each domain of the path: [`Domains`] with TCP's
//! sequence space.
//!
//! While the PEP is silent for one retransmission timeout (RFC 6298), the round trips of the client apply.
//!
//! A report is authentic when it arrives here, but may be false. Claims about data that was never sent
//! prove this, and all later reports are rejected. Other false reports can at most move losses from one
//! domain to the other, or cause retransmissions within the window: every segment in flight counts
//! against the radio window, which only the client's acknowledgments open, unless `slow_start` has another
//! clock. `wired_queue` bounds the first.

use airlane_core::{Duration, Event, Instant, SackBlock, Topic};

use super::Sender;
use super::ack::Outcome;
use crate::congestion::{AckSample, Controller, Domain, InflightScope, MdccConfig, MultiDomain};
use crate::header::Io;
use crate::model::Domains;
use crate::pep::PepReport;
use crate::recovery::Phase;
use crate::scoreboard::{EVER_RETRANSMITTED, LOST, SACKED, SEEN, Segment};
use crate::sequence;

/// The reports of the PEP, and their effects on both windows.
#[derive(Debug, Default)]
pub(crate) struct DomainReports {
    /// The two domains; amounts are segments.
    pub(super) windows: Domains,
    /// Position before which the PEP has seen all bytes.
    seen_to: u64,
    /// True after an impossible claim.
    distrusted: bool,
    /// Whether the windows of the internet and the radio domain limited the sender in the last round.
    limits: [bool; 2],
}

impl DomainReports {
    /// Before the first report, with the configuration of the controller.
    pub(super) fn new(mdcc: &MdccConfig) -> Self {
        Self { windows: Domains::new(mdcc), ..Self::default() }
    }

    /// The client has received the segment.
    pub(super) fn on_delivered(&mut self, segment: &Segment) {
        self.windows.on_delivered(segment.sent_at, 1, segment.is(SEEN));
    }

    /// Updates the use of the windows.
    pub(super) fn on_window_use(&mut self, controller: &Controller, beyond_pep: u32) {
        if let Some(mdcc) = controller.domains() {
            self.limits = Domain::ALL.map(|domain| mdcc.limits(domain, beyond_pep));
        }
    }
}

/// The results of a report.
#[derive(Clone, Copy, Debug, Default)]
struct ReportOutcome {
    rtt: Option<Duration>,
    lost: u32,
}

impl Sender {
    /// The effective window if the data seen by the PEP does not count against the internet window.
    pub(super) fn window_of_domains(&self, window: u32) -> u32 {
        match self.controller.domains() {
            Some(mdcc) if mdcc.config().inflight_scope == InflightScope::PerDomain => {
                let internet = mdcc.window_of(Domain::Internet).segments;
                window.min(internet.saturating_add(self.board.beyond_pep()))
            }
            _ => window,
        }
    }

    /// Reduces the window of each domain that has lost a segment since its last reduction.
    pub(super) fn reduce_domains(&mut self, now: Instant) {
        if let Some(domains) = &mut self.domains {
            domains.windows.reduce(now, &mut self.controller);
        }
    }

    /// Processes an acknowledgment of the client for both domains.
    pub(super) fn drive_domains(&mut self, now: Instant, outcome: &Outcome) {
        if let (Some(domains), Some(rtt)) = (&mut self.domains, outcome.rtt) {
            domains.windows.on_client_rtt(rtt);
        }
        if self.phase >= Phase::Recovery {
            self.reduce_domains(now);
        }
        let Some(domains) = &mut self.domains else { return };
        domains.windows.on_acknowledgment(now, self.rto, &mut self.controller);
        let own = outcome.rtt.filter(|_| !domains.windows.hears_pep());
        self.grow_domain(now, Domain::Internet, own);
        self.grow_domain(now, Domain::Ran, outcome.rtt);
        if self.phase.reduces() {
            let clean = outcome.advanced && outcome.lost == 0;
            let target = self.controller.window_segments();
            self.reduction.on_ack(outcome.delivered, clean, self.in_flight(), target);
        }
        if self.delivery.is_some() {
            self.follow_window();
        }
    }

    fn grow_domain(&mut self, now: Instant, domain: Domain, rtt: Option<Duration>) {
        let Some(domains) = &mut self.domains else { return };
        let delivered = domains.windows.take_delivered(domain, 1);
        if delivered == 0 && rtt.is_none() {
            return;
        }
        let heard = domains.windows.hears_pep() && domain == Domain::Internet;
        let sample = AckSample {
            now,
            delivered_segments: delivered.min(self.options.growth_max),
            may_grow: delivered > 0,
            window_limited: self.window_use.limited && domains.limits[domain as usize],
            max_outstanding_segments: self.window_use.max_outstanding,
            outstanding_segments: self.board.outstanding(),
            rtt,
            srtt: if heard { domains.windows.srtt() } else { self.rtt.srtt() },
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
            if !domains.distrusted {
                domains.windows.on_silence(&mut self.controller);
            }
            domains.distrusted = true;
            io.stats.pep_reports_refused += 1;
            return;
        }
        io.stats.pep_reports += 1;
        domains.windows.on_report(io.now(), &mut self.controller);
        if self.board.is_empty() {
            return;
        }
        let mut outcome = ReportOutcome::default();
        self.take_seen(io, report, &mut outcome);
        self.grow_domain(io.now(), Domain::Internet, outcome.rtt);
        for hole in report.holes {
            self.take_hole(io, *hole, &mut outcome);
        }
        if outcome.lost > 0 {
            self.on_pep_loss(io, outcome.lost);
        }
        self.transmit(io);
        self.report_state(io);
    }

    /// Marks the segments that the PEP has seen.
    fn take_seen(&mut self, io: &Io<'_, '_>, report: &PepReport<'_>, outcome: &mut ReportOutcome) {
        let una = self.una;
        let position = |wire| sequence::position(wire, io.negotiated.local_initial, una);
        let (first, cumulative) = (position(report.first), position(report.cumulative));
        let seen_to = self.domains.as_ref().map_or(0, |d| d.seen_to).max(una);
        let left = if first <= seen_to { seen_to } else { first };
        self.see(left, cumulative);
        if first <= seen_to
            && let Some(domains) = &mut self.domains
        {
            domains.seen_to = domains.seen_to.max(cumulative);
        }
        for range in report.ranges {
            self.see(position(range.left), position(range.right));
        }
        self.sample_pep_rtt(io, report, position(report.newest.left), outcome);
        self.see(position(report.newest.left), position(report.newest.right));
    }

    /// A sample from the newest segment, if it was sent once and has just passed.
    fn sample_pep_rtt(
        &mut self,
        io: &Io<'_, '_>,
        report: &PepReport<'_>,
        newest: u64,
        outcome: &mut ReportOutcome,
    ) {
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
        let elapsed = io.now().saturating_since(s.sent_at);
        if let Some(domains) = &mut self.domains {
            outcome.rtt = Some(domains.windows.on_rtt(elapsed, report.delay));
        }
    }

    /// The whole segments within `[left, right)` have passed the PEP.
    fn see(&mut self, left: u64, right: u64) {
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
                // SACKed segments were counted when they were SACKed.
                if let Some(domains) = self.domains.as_mut().filter(|_| !s.is(SACKED)) {
                    domains.windows.on_seen(s.sent_at, 1);
                }
            }
            number += 1;
        }
    }

    /// The PEP misses `[left, right)`: segments of it that were sent once are lost.
    fn take_hole(&mut self, io: &Io<'_, '_>, hole: SackBlock, outcome: &mut ReportOutcome) {
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
                outcome.lost += 1;
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
                pep_srtt: domains.windows.srtt(),
            });
        }
    }
}
