//! The retransmission timer.

use airlane_core::{Duration, Event, Instant, Topic};

use super::{Probe, Sender, TIMER_SLACK};
use crate::config::LossDetection;
use crate::congestion::{LossCause, TimeoutEpisode};
use crate::header::Io;
use crate::recovery::Phase;
use crate::timer::TimerKind;

/// The duration of this many timeouts (Linux `tcp_model_timeout` from `TCP_RTO_MIN`).
fn patience(retries: u32, rto_max: Duration) -> Duration {
    let base = Duration::from_millis(200);
    let doublings = (rto_max.as_millis() / base.as_millis()).max(1).ilog2();
    let rising = base * ((2_u64 << retries.min(doublings)) - 1);
    rising + rto_max * u64::from(retries.saturating_sub(doublings))
}

impl Sender {
    /// Handles the timers that are due.
    pub(crate) fn on_timer(&mut self, io: &mut Io<'_, '_>) {
        if self.timer.paced_until() <= io.now() {
            self.on_paced(io);
        }
        if self.timer.at() > io.now() {
            return;
        }
        match self.timer.kind() {
            Some(TimerKind::Retransmission) => self.on_retransmission_timeout(io),
            Some(TimerKind::LossProbe) => self.send_loss_probe(io),
            Some(TimerKind::Reordering) => self.on_reordering_timeout(io),
            Some(TimerKind::WindowProbe) => self.send_window_probe(io),
            None => return,
        }
        self.report_state(io);
    }

    /// RFC 6298 §5.4 to §5.7.
    fn on_retransmission_timeout(&mut self, io: &mut Io<'_, '_>) {
        if self.board.is_empty() {
            self.timer.clear();
            return;
        }
        if self.has_waited_too_long(io.now()) {
            self.silence.given_up = true;
            self.timer.clear();
            return;
        }
        self.backoff += 1;
        if io.cx.wants(Topic::Timeout) {
            io.cx.emit(&Event::Timeout {
                flow: io.path.flow,
                rto: self.timer.span(),
                congestion_window: self.bytes(self.window()),
                in_flight: self.bytes(self.in_flight()),
                backoff: self.backoff,
                in_recovery: self.phase >= Phase::Recovery,
            });
        }
        io.stats.timeouts += 1;
        self.on_timeout_recovery(io);
        self.timeouts_in_row += 1;
        self.retransmit(io, self.board.head());
        self.rto = (self.rto * 2).min(self.options.rto_max); // RFC 6298 §5.5
        self.timer.set(TimerKind::Retransmission, io.now(), self.rto);
    }

    /// RFC 9293 §3.8.3 R2 as in Linux (`retransmits_timed_out`): since the first of the consecutive timeouts,
    /// the time has passed that the configured number takes, starting from 200 ms and doubling up to the
    /// ceiling.
    fn has_waited_too_long(&mut self, now: Instant) -> bool {
        if self.timeouts_in_row == 0 {
            self.silence.since = now;
        }
        now.saturating_since(self.silence.since) >= patience(self.options.retries, self.options.rto_max)
    }

    /// All segments that were sent long enough ago count as lost, and the window restarts (RFC 5681
    /// §3.1).
    pub(super) fn on_timeout_recovery(&mut self, io: &mut Io<'_, '_>) {
        let now = io.now();
        let fresh = self.phase < Phase::Recovery;
        let (episode, head_sent_at) =
            (self.loss_episode(now, false), self.board.get(self.board.head()).sent_at);
        if self.board.get(self.board.head()).is(crate::scoreboard::SACKED) {
            self.board.renege();
            self.sack_cache.forget();
        }
        self.duplicates = 0;
        let mut lost = 0;
        for number in self.board.head()..self.board.tail() {
            let recent = number != self.board.head()
                && self.options.loss_detection == LossDetection::RackTlp
                && self.rack.is_recent(now, self.board.get(number).sent_at);
            if !recent && self.board.mark_lost(number) {
                lost += 1;
                self.note_lost(now, number);
            }
        }
        self.report_lost(io, lost);
        let new_episode = self.phase <= Phase::Disorder
            || self.una >= self.recovery_point
            || (self.phase == Phase::Loss && self.timeouts_in_row == 0);
        if new_episode {
            let snapshot = self.controller.snapshot();
            self.undo.begin(self.una, snapshot, self.board.retransmitted());
        }
        let judges = self.domains.is_none() && !self.controller.needs().path_model;
        let cause = if judges { self.controller.cause_of_timeout(&episode) } else { LossCause::Congestion };
        self.report_judged(io, head_sent_at, true, cause);
        if cause == LossCause::Congestion {
            self.controller.on_timeout(&TimeoutEpisode {
                now,
                new_episode,
                restart_segments: self.in_flight() + 1,
                acked_to: self.una,
                sent_to: self.nxt,
            });
        }
        if let Some(domains) = &mut self.domains {
            domains.windows.on_reduced(now);
        }
        if fresh && self.out_of_order() >= super::DUPLICATE_THRESHOLD {
            self.reordering = self.reordering.min(super::DUPLICATE_THRESHOLD);
        }
        if cause == LossCause::Congestion {
            self.enter(Phase::Loss);
            self.tell_peer_of_reduction();
        } else {
            self.phase = Phase::Loss; // lost segments are sent again, and the controller is not informed
        }
        self.recovery_point = self.nxt;
        self.probe = None;
        // RFC 5682 §3.1 step 1, unless an earlier recovery is still in progress.
        self.frto = self.options.frto && (fresh || self.timeouts_in_row > 0);
    }

    /// RFC 8985 §7.3: new data if there is any, otherwise the last segment again.
    fn send_loss_probe(&mut self, io: &mut Io<'_, '_>) {
        if self.probe.is_none() && !self.board.is_empty() {
            let sent_before = self.board.get(self.board.tail() - 1).sent_at;
            let sent = self.transmit_one_as_probe(io);
            if !sent {
                self.probe_with_last(io);
            }
            self.probe = Some(Probe { end: self.nxt, retransmission: !sent, sent_before });
            io.stats.loss_probes += 1;
            self.timer.clear(); // the timeout starts from now
        }
        self.rearm(io.now());
    }

    /// RFC 8985 §6.3.
    fn on_reordering_timeout(&mut self, io: &mut Io<'_, '_>) {
        self.timer.clear();
        let before = self.in_flight();
        self.find_losses_by_time(io, true);
        if self.in_flight() != before {
            if self.phase != Phase::Recovery {
                self.enter_recovery(io, false);
            }
            if self.controller.needs().path_model {
                self.reduction.window = self.controller.window_segments();
            } else if self.domains.is_some() {
                self.reduce_domains(io.now());
                self.reduction.on_ack(1, false, self.in_flight(), self.controller.window_segments());
            } else {
                let ssthresh = self.controller.ssthresh_segments();
                self.reduction.on_ack(1, false, self.in_flight(), ssthresh);
            }
        }
        self.retransmit_lost(io);
        if !self.timer.is(TimerKind::Retransmission) && !self.timer.is(TimerKind::Reordering) {
            self.rearm(io.now());
        }
    }

    /// RFC 9293 §3.8.6.1: probes whether the window has opened.
    fn send_window_probe(&mut self, io: &mut Io<'_, '_>) {
        if !self.board.is_empty() || !self.has_unsent() {
            self.timer.clear();
            return;
        }
        // Some room, but not enough for a whole segment, existed for this long: sends what fits (RFC 9293 §3.8.6.2.1).
        if let Some((len, fin)) = self.next_segment(self.supply_end().min(self.window_end)) {
            self.supply.pushed = self.nxt + u64::from(len - u32::from(fin)); // tcp_write_wakeup sets PSH
            self.send_new(io, len, fin);
            self.timer.clear();
            return self.rearm(io.now());
        }
        if self.window_probes_in_row >= self.options.retries {
            self.silence.given_up = true;
            return self.timer.clear();
        }
        self.window_probes_in_row += 1;
        io.stats.window_probes += 1;
        // An old sequence number without data: the peer must answer with its window.
        self.send(io, self.una - 1, 0, 0, false);
        let wait = self.rto.max(self.options.rto_min) * (1_u64 << self.window_probes_in_row.min(10));
        self.timer.set(TimerKind::WindowProbe, io.now(), wait.min(self.options.rto_max));
    }

    /// Arms the loss probe, or the timeout if no probe is allowed.
    #[inline]
    pub(super) fn restart_timer(&mut self, now: Instant) {
        if !self.schedule_probe(now, true) {
            self.rearm(now);
        }
    }

    /// Arms the retransmission timeout. If the timer ran for another purpose, only the rest of the
    /// timeout is left.
    pub(super) fn rearm(&mut self, now: Instant) {
        if self.board.is_empty() {
            self.timer.clear();
            return;
        }
        let span = if self.timer.is(TimerKind::LossProbe) || self.timer.is(TimerKind::Reordering) {
            self.timeout_remaining(now).max(Duration::from_millis(1))
        } else {
            self.rto
        };
        self.timer.set(TimerKind::Retransmission, now, span);
    }

    fn timeout_remaining(&self, now: Instant) -> Duration {
        let head = self.board.get(self.board.head());
        (head.sent_at.saturating_add(self.rto)).saturating_since(now)
    }

    /// RFC 8985 §7.2. `advancing` is true if the timeout itself would start now.
    #[inline]
    pub(super) fn schedule_probe(&mut self, now: Instant, advancing: bool) -> bool {
        if self.options.loss_detection != LossDetection::RackTlp
            || !matches!(self.phase, Phase::Open | Phase::Reduction)
            || self.board.is_empty()
        {
            return false;
        }
        let mut span = self.rto;
        if self.rtt.has_sample() {
            // A single segment may wait for a delayed ACK.
            let extra = if self.board.outstanding() == 1 { self.options.rto_min } else { TIMER_SLACK };
            span = self.rtt.srtt() * 2 + extra;
        }
        let remaining = if advancing { self.rto } else { self.timeout_remaining(now) };
        if !remaining.is_zero() {
            span = span.min(remaining);
        }
        self.timer.set(TimerKind::LossProbe, now, span);
        true
    }
}
