//! Recovery: entry, exit, undo.

use airlane_core::{Bytes, Event, Instant, TcpFlags, Topic};

use super::ack::{Outcome, Resend};
use super::{Ack, DUPLICATE_THRESHOLD, Probe, Sender, TIMER_SLACK};
use crate::config::LossDetection;
use crate::congestion::{LossCause, LossEpisode, MultiDomain, PhaseChange, Snapshot};
use crate::header::Io;
use crate::rack::ReorderingBounds;
use crate::recovery::{Phase, RateReduction};
use crate::scoreboard::SACKED;
use crate::timer::TimerKind;

impl Sender {
    /// An ACK outside of normal operation: one of the phases is active, or a segment was SACKed.
    pub(super) fn on_alert(
        &mut self,
        io: &mut Io<'_, '_>,
        prior_una: u64,
        ack: &Ack<'_>,
        out: &mut Outcome,
    ) -> Resend {
        if self.peer_reneged() {
            self.on_timeout_recovery(io);
            return Resend::Lost;
        }
        if ack.congestion_echoed {
            self.undo.snapshot = Snapshot::default(); // a mark is never spurious: nothing is restored
        }
        if self.phase == Phase::Open {
            self.undo.first_retransmission_ts = None;
        } else if self.una >= self.recovery_point && self.phase == Phase::Recovery {
            self.leave_recovery(io, ack);
        } else if self.una > self.recovery_point && self.phase == Phase::Reduction {
            // Beyond the point, so that the peer has seen CWR.
            self.end_reduction();
            self.enter(Phase::Open);
        }
        match self.phase {
            Phase::Recovery => {
                if out.advanced && self.undo_partially(io, ack, prior_una) == Some(Resend::Nothing) {
                    return Resend::Nothing;
                }
                if self.phase == Phase::Recovery && self.undo.all_were_duplicates() {
                    self.undo_reduction(false);
                    io.stats.recoveries_undone += 1;
                    self.rack.on_recovery_exit(true);
                    self.settle();
                }
                self.find_losses(io, out);
                if self.phase == Phase::Recovery {
                    return Resend::Lost;
                }
            }
            Phase::Loss => {
                let resend = self.on_ack_in_loss(io, ack, out);
                self.find_losses(io, out);
                if self.phase == Phase::Loss && !out.retransmission_lost {
                    return resend;
                }
            }
            Phase::Open | Phase::Disorder | Phase::Reduction => {
                if self.undo.all_were_duplicates() {
                    self.undo_reduction(false);
                    io.stats.recoveries_undone += 1;
                    self.rack.on_recovery_exit(true);
                }
                self.find_losses(io, out);
            }
        }
        if self.board.lost() == 0 {
            if ack.congestion_echoed && self.phase < Phase::Reduction {
                self.reduce_for_mark(io);
            }
            if self.phase != Phase::Reduction {
                self.settle();
            }
            return Resend::Nothing;
        }
        self.enter_recovery(io, ack.congestion_echoed);
        Resend::Lost
    }

    /// The peer has reneged on SACKs: its ACK is below a SACKed segment (RFC 2018 §8).
    fn peer_reneged(&self) -> bool {
        !self.board.is_empty() && self.board.get(self.board.head()).is(SACKED)
    }

    /// Recovery enters a phase; informs the controller.
    pub(super) fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        let delivery = self.delivery_now();
        self.controller.on_phase(&PhaseChange { phase, sent_to: self.nxt, delivery });
    }

    /// Enters Open or Disorder, depending on the scoreboard.
    fn settle(&mut self) {
        let sent_again = self.board.head_was_retransmitted() || self.board.retransmitted() > 0;
        if !sent_again {
            self.undo.first_retransmission_ts = None;
        }
        let amiss = sent_again || self.out_of_order() > 0 || self.board.lost() > 0;
        let phase = if amiss { Phase::Disorder } else { Phase::Open };
        if self.phase != phase {
            self.enter(phase);
            self.recovery_point = self.nxt;
        }
    }

    /// RFC 8985 §6 or RFC 6675 §4.
    fn find_losses(&mut self, io: &mut Io<'_, '_>, out: &mut Outcome) {
        if self.board.is_empty() {
            return;
        }
        let retransmitted = self.board.retransmitted();
        let before = io.stats.segments_lost;
        match self.options.loss_detection {
            LossDetection::RackTlp => {
                if self.find_losses_by_time(io, false) {
                    out.restart_timer = false;
                }
            }
            LossDetection::Rfc6675 => self.find_losses_by_count(io, out),
        }
        out.lost += (io.stats.segments_lost - before) as u32;
        out.retransmission_lost |= self.board.retransmitted() < retransmitted;
    }

    /// Runs RACK; true if its timer was armed.
    pub(super) fn find_losses_by_time(&mut self, io: &mut Io<'_, '_>, timer: bool) -> bool {
        let bounds = ReorderingBounds {
            min_rtt: self.min_rtt.get(),
            srtt: self.rtt.srtt(),
            in_recovery: self.phase >= Phase::Recovery,
            threshold_reached: self.board.sacked() >= self.reordering,
        };
        let now = io.now();
        let mut lost = 0_u32;
        let mut numbers = core::mem::take(&mut self.lost_numbers);
        let notes = self.delivery.is_some() || self.domains.is_some();
        let wait = self.rack.detect(&mut self.board, now, &bounds, timer, &mut |number| {
            lost += 1;
            if notes {
                numbers.push(number);
            }
        });
        for number in numbers.drain(..) {
            self.note_lost(now, number);
        }
        self.lost_numbers = numbers;
        self.report_lost(io, lost);
        if let Some(wait) = wait {
            self.timer.set(TimerKind::Reordering, now, wait + TIMER_SLACK);
        }
        wait.is_some()
    }

    pub(super) fn report_lost(&self, io: &mut Io<'_, '_>, segments: u32) {
        io.stats.segments_lost += u64::from(segments);
        if io.cx.wants(Topic::SegmentLost) {
            for _ in 0..segments {
                let bytes = Bytes(u64::from(self.options.segment_size));
                io.cx.emit(&Event::SegmentLost { flow: io.path.flow, bytes });
            }
        }
    }

    /// RFC 6675 §4 `IsLost`: three SACKed segments above. Without SACK: the head, at the third
    /// duplicate ACK (RFC 5681 §3.2) and at each partial ACK (RFC 6582 §3.2 step 3).
    fn find_losses_by_count(&mut self, io: &mut Io<'_, '_>, out: &Outcome) {
        let mut lost = 0;
        if self.options.sack {
            let mut number = self.board.tail();
            let mut above = 0;
            while number > self.board.head() && above < DUPLICATE_THRESHOLD && above < self.board.sacked() {
                number -= 1;
                above += u32::from(self.board.get(number).is(SACKED));
            }
            if above >= DUPLICATE_THRESHOLD {
                for n in self.board.first_flight_from.max(self.board.head())..number {
                    let s = *self.board.get(n);
                    if !s.is(crate::scoreboard::EVER_RETRANSMITTED) && self.board.mark_lost(n) {
                        lost += 1;
                        self.note_lost(io.now(), n);
                    }
                }
                self.board.first_flight_from = self.board.first_flight_from.max(number);
            }
        } else {
            let partial = self.phase == Phase::Recovery && out.advanced && self.una < self.recovery_point;
            if (self.duplicates >= DUPLICATE_THRESHOLD && self.phase < Phase::Recovery) || partial {
                let head = self.board.head();
                if self.board.mark_lost(head) {
                    lost += 1;
                    self.note_lost(io.now(), head);
                }
            }
        }
        self.report_lost(io, lost);
    }

    pub(super) fn loss_episode(&self, now: Instant, marked: bool) -> LossEpisode {
        LossEpisode {
            now,
            in_flight_segments: self.in_flight(),
            window_segments: self.controller.window_segments(),
            marked,
            lost_segments: self.board.lost(),
            newest_lost: self.board.head() + u64::from(self.board.lost().saturating_sub(1)),
        }
    }

    /// Reports the classification of a loss to observers; `sent_at` is the send time of the segment that
    /// determined it.
    pub(super) fn report_judged(
        &self,
        io: &mut Io<'_, '_>,
        sent_at: Instant,
        timeout: bool,
        cause: LossCause,
    ) {
        if io.cx.wants(Topic::LossJudged) {
            let (flow, verdict) = (io.path.flow, cause.verdict());
            io.cx.emit(&Event::LossJudged { flow, sent_at, timeout, verdict });
        }
    }

    /// RFC 3168 §6.1.2: an ECN mark counts as a loss, once per round trip.
    fn reduce_for_mark(&mut self, io: &mut Io<'_, '_>) {
        self.undo.marker = None;
        self.recovery_point = self.nxt;
        self.probe = None;
        self.reduction = RateReduction::begin(self.options.rate_reduction, self.controller.window_segments());
        let episode = self.loss_episode(io.now(), true);
        self.controller.on_ecn(&episode);
        self.tell_peer_of_reduction();
        self.enter(Phase::Reduction);
        io.stats.ecn_reductions += 1;
    }

    /// The next new segment carries CWR (RFC 3168 §6.1.2).
    pub(super) fn tell_peer_of_reduction(&mut self) {
        if self.options.ecn {
            self.next_flags = TcpFlags::CWR;
        }
    }

    /// A loss is certain. A loss together with a mark, or during a reduction, is not undone.
    pub(super) fn enter_recovery(&mut self, io: &mut Io<'_, '_>, marked: bool) {
        let reducing = self.phase == Phase::Reduction;
        let snapshot = if marked || reducing { Snapshot::default() } else { self.controller.snapshot() };
        let mut under_way = self.board.retransmitted();
        under_way += u32::from(self.probe.is_some_and(|p| p.retransmission));
        self.undo.begin(self.una, snapshot, under_way);
        if reducing {
            self.controller.on_loss_while_reducing(self.reduction.window);
        } else {
            self.recovery_point = self.nxt;
            self.probe = None;
            self.reduction =
                RateReduction::begin(self.options.rate_reduction, self.controller.window_segments());
            if self.domains.is_some() {
                self.controller.on_episode();
                self.reduce_domains(io.now());
                self.tell_peer_of_reduction();
            } else {
                let episode = self.loss_episode(io.now(), marked);
                let cause = self.controller.on_loss(&episode);
                self.report_judged(io, self.board.newest_lost(), false, cause);
                if cause == LossCause::Congestion {
                    self.tell_peer_of_reduction();
                }
            }
        }
        self.enter(Phase::Recovery);
        io.stats.recoveries += 1;
    }

    /// All data that was outstanding at the start of recovery is acknowledged.
    fn leave_recovery(&mut self, io: &mut Io<'_, '_>, ack: &Ack<'_>) {
        self.remember_recovery();
        let spurious = self.undo.all_were_duplicates() || self.undo.original_echoed(ack.echo);
        self.enter(Phase::Open);
        if spurious {
            self.undo_reduction(false);
            io.stats.recoveries_undone += 1;
        } else {
            self.end_reduction();
        }
        self.rack.on_recovery_exit(false);
    }

    /// Unnecessary retransmissions cause duplicate ACKs, which are no sign of a loss (RFC 6582 §3.2 step 2).
    fn remember_recovery(&mut self) {
        self.duplicates = 0;
        if self.options.careful {
            self.recovered_to = self.recovery_point;
        }
    }

    /// The controller continues with the window at the end of the reduction.
    fn end_reduction(&mut self) {
        self.controller.on_recovery_exit();
        let ssthresh = self.controller.ssthresh_segments();
        let window = self.reduction.final_window(ssthresh);
        if window < ssthresh {
            self.controller.on_window_validation(window, ssthresh);
        }
    }

    /// A partial ACK caused by an original, not by a retransmission (RFC 4015).
    fn undo_partially(&mut self, io: &mut Io<'_, '_>, ack: &Ack<'_>, prior_una: u64) -> Option<Resend> {
        if !self.undo.original_echoed(ack.echo) {
            return None;
        }
        self.raise_reordering(io, prior_una);
        if self.board.retransmitted() > 0 {
            return Some(Resend::Nothing);
        }
        self.undo_reduction(true);
        io.stats.recoveries_undone += 1;
        self.enter(Phase::Open);
        self.settle();
        None
    }

    /// Restores the window before the reduction.
    fn undo_reduction(&mut self, and_losses: bool) {
        if and_losses {
            self.board.unmark_lost();
        }
        let snapshot = self.undo.snapshot;
        self.controller.on_undo(&snapshot);
        if let Some(domains) = &mut self.domains {
            domains.windows.on_undo();
        }
        self.undo.marker = None;
        self.rack.examine_again();
        if self.phase == Phase::Recovery {
            self.phase = Phase::Disorder;
        }
    }

    /// After a timeout: F-RTO, Eifel, or slow start through the lost segments.
    fn on_ack_in_loss(&mut self, io: &mut Io<'_, '_>, ack: &Ack<'_>, out: &Outcome) -> Resend {
        let recovered = self.una >= self.recovery_point;
        let echoed = self.undo.original_echoed(ack.echo) || self.undo.all_were_duplicates();
        if out.advanced && echoed {
            self.undo_timeout(io);
            return Resend::Nothing;
        }
        if self.frto {
            // RFC 5682 §3.1 step 3b: data sent once was delivered, so the timeout was spurious.
            if out.original_delivered {
                self.undo_timeout(io);
                return Resend::Nothing;
            }
            if self.nxt > self.recovery_point {
                if out.sacked > 0 || out.duplicate {
                    self.frto = false; // step 3a: the loss was real
                }
            } else if out.advanced && !recovered {
                // Step 2b: send new data, if there is any and the window allows it.
                self.recovery_point = self.nxt;
                if self.has_unsent() && self.window_end > self.nxt {
                    return Resend::New;
                }
                self.frto = false;
            }
        }
        if recovered {
            // Step 2a, and the end of an ordinary recovery after a timeout.
            if self.undo.all_were_duplicates() {
                self.undo_reduction(false);
            }
            self.enter(Phase::Open);
            self.remember_recovery();
            self.rack.on_recovery_exit(false);
            return Resend::Nothing;
        }
        if !self.options.sack && out.advanced {
            self.board.mark_lost(self.board.head());
        }
        Resend::Lost
    }

    fn undo_timeout(&mut self, io: &mut Io<'_, '_>) {
        self.undo_reduction(true);
        self.enter(Phase::Open);
        self.frto = false;
        self.timeouts_in_row = 0;
        io.stats.timeouts_undone += 1;
        io.cx.emit(&Event::TimeoutUndone {
            flow: io.path.flow,
            congestion_window: self.controller.congestion_window(),
        });
        self.settle();
    }

    /// RFC 8985 §7.4: evaluates the answer to a probe.
    pub(super) fn on_probe_ack(&mut self, io: &mut Io<'_, '_>, ack: &Ack<'_>, probe: Probe, out: &Outcome) {
        if ack.ack < probe.end {
            return;
        }
        if !probe.retransmission || out.dsack {
            self.probe = None; // new data, or both copies arrived: there was no loss
        } else if ack.ack > probe.end {
            // Only the probe repaired the loss: it counts (§7.4.2).
            self.probe = None;
            let episode = self.loss_episode(io.now(), ack.congestion_echoed);
            self.undo.marker = None;
            let cause = self.controller.on_loss(&episode);
            self.report_judged(io, probe.sent_before, false, cause);
            self.controller.on_recovery_exit();
            if cause == LossCause::Congestion {
                self.tell_peer_of_reduction();
            }
            self.settle();
        } else if !out.advanced && out.sacked == 0 && out.duplicate {
            self.probe = None; // a duplicate ACK: original and probe arrived
        }
    }
}
