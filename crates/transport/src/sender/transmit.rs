//! Transmission of new data and retransmission of lost data.

use airlane_core::{Instant, TcpFlags};

use super::ack::Resend;
use super::{Sender, bound_to_half};
use crate::accurate::{MarkCounter, OPTION_BYTES};
use crate::config::RttSampling;
use crate::congestion::Restart;
use crate::header::{Io, timestamp};
use crate::recovery::Phase;
use crate::scoreboard::{FIN, PUSHED, Segment};
use crate::timer::TimerKind;

impl Sender {
    /// First position that must not be sent yet: the end of the written data (and the FIN), or of
    /// the send buffer.
    #[inline]
    pub(super) fn supply_end(&self) -> u64 {
        let end = self.supply.written.saturating_add(u64::from(self.supply.closed));
        end.min(self.una.saturating_add(self.options.send_buffer))
    }

    #[inline]
    pub(super) fn has_unsent(&self) -> bool {
        self.nxt < self.supply_end()
    }

    /// The next segment, up to `end`: its length in positions and whether it carries the FIN.
    #[inline]
    pub(super) fn next_segment(&self, end: u64) -> Option<(u32, bool)> {
        if self.nxt >= end {
            return None;
        }
        let payload = (self.supply.written.min(end) - self.nxt.min(self.supply.written))
            .min(u64::from(self.segment_max)) as u32;
        let fin = self.supply.closed
            && end > self.supply.written
            && self.nxt + u64::from(payload) == self.supply.written
            // A FIN takes a position in the window (RFC 9293 §3.4), and waits for it if the data before it
            // can be sent without.
            && (payload == 0 || self.supply.written < self.window_end);
        Some((payload + u32::from(fin), fin))
    }

    /// True if there is a next segment and the peer has room for it.
    pub(super) fn next_fits(&self, end: u64) -> bool {
        self.next_segment(end).is_some_and(|(len, _)| self.nxt + u64::from(len) <= self.window_end)
    }

    /// First position that must not be sent now, apart from the congestion window: a segment that is not
    /// full waits for an earlier one (Nagle's algorithm after Minshall, if enabled).
    #[inline]
    pub(super) fn sendable_end(&self) -> u64 {
        let end = self.supply_end();
        let segment = u64::from(self.segment_max);
        if (self.options.corked || self.supply.more) && !self.supply.closed && end > self.nxt {
            return end - (end - self.nxt) % segment;
        }
        if self.options.nagle && !self.supply.closed && self.una < self.small_end && end > self.nxt {
            return end - (end - self.nxt) % segment;
        }
        end
    }

    /// A segment is sent while nothing is in flight.
    pub(super) fn tell_restart(&mut self, now: Instant) {
        self.controller.on_restart(&Restart {
            now,
            last_sent_at: self.last_sent_at,
            sent_to: self.nxt,
            app_limited: self.delivery.as_ref().is_some_and(|d| d.rate.is_app_limited()),
            srtt: self.rtt.srtt(),
        });
        if let Some(delivery) = self.delivery.as_mut().filter(|_| self.controller.needs().path_model) {
            delivery.set_rate(self.controller.pacing_rate());
        }
    }

    /// A segment has room for the AccECN option if this end sends it (Linux `tcp_current_mss`).
    fn leave_room(&mut self, io: &Io<'_, '_>) {
        let sends = io.receiver.counter().is_some_and(MarkCounter::sends_options);
        let size = io.negotiated.bare_segment_size - if sends { OPTION_BYTES } else { 0 };
        if size != self.options.segment_size {
            self.options.segment_size = size;
            self.segment_max = bound_to_half(size, self.max_offered);
        }
    }

    /// Sends new data as far as the windows allow.
    pub(crate) fn transmit(&mut self, io: &mut Io<'_, '_>) {
        self.supply.fresh = false;
        if self.marks.is_some() {
            self.leave_room(io);
        }
        if self.writer.is_some() {
            self.begin_to_write();
        }
        if self.delivery.is_some() {
            self.transmit_paced(io);
            return;
        }
        let mut sent = 0;
        if self.board.is_empty() && self.has_unsent() {
            self.restart_after_idle(io.now());
        }
        let window = self.window();
        let mut in_flight = self.in_flight();
        let outstanding_before = self.board.outstanding();
        let end = self.sendable_end();
        if in_flight == 0 && self.next_fits(end) {
            self.tell_restart(io.now());
        }
        if self.options.gso {
            let size = self.segments_at_once();
            let room = window.saturating_sub(in_flight);
            let waits;
            (sent, waits) = self.transmit_joined(io, end, size, (room, room));
            in_flight = if waits { window } else { in_flight + sent };
        }
        while in_flight < window
            && let Some((len, fin)) = self.next_segment(end)
        {
            if self.nxt + u64::from(len) > self.window_end {
                break;
            }
            self.send_new(io, len, fin);
            in_flight += 1;
            sent += 1;
        }
        self.after_transmit(io.now(), sent, in_flight, window, outstanding_before);
    }

    /// Updates the state after this many segments were sent, including zero.
    #[inline(always)]
    pub(super) fn after_transmit(
        &mut self,
        now: Instant,
        sent: u32,
        in_flight: u32,
        window: u32,
        before: u32,
    ) {
        self.supply.more = false;
        if sent > 0 || (in_flight >= window && self.has_unsent()) {
            self.validate_window(now, in_flight >= window);
        }
        if sent > 0 {
            self.after_new_data(now, sent, before);
        } else if self.board.is_empty() && self.has_unsent() && self.timer.kind().is_none() {
            // Nothing outstanding and no room: only a probe can detect that the window opens (RFC
            // 9293 §3.8.6.1).
            self.timer.set(TimerKind::WindowProbe, now, self.rto.max(self.options.rto_min));
        }
    }

    #[inline(always)]
    fn after_new_data(&mut self, now: Instant, sent: u32, outstanding_before: u32) {
        if self.phase.reduces() {
            self.reduction.sent += sent;
        }
        let shortened = self.timer.is(TimerKind::LossProbe);
        if !self.schedule_probe(now, false) && (outstanding_before == 0 || shortened) {
            self.rearm(now);
        }
    }

    pub(super) fn send_new(&mut self, io: &mut Io<'_, '_>, len: u32, fin: bool) {
        let now = io.now();
        let start = self.nxt;
        let payload = len - u32::from(fin);
        self.last_sent_at = now;
        let pushed = match &mut self.writer {
            Some(writer) => writer.takes_push(start + u64::from(payload)),
            None => payload > 0 && start + u64::from(payload) == self.supply.pushed,
        } | (self.place == PUSHED);
        let state = if fin { FIN } else { 0 } | if pushed { PUSHED } else { 0 } | self.place;
        self.board.push(Segment { start, sent_at: now, len, state });
        if self.delivery.is_some() {
            self.note_sent(self.board.tail() - 1, now, true);
        }
        self.nxt += u64::from(len);
        if payload < self.segment_max {
            self.small_end = self.nxt;
        }
        if self.options.rtt_sampling == RttSampling::OncePerWindow && self.timed.is_none() {
            self.timed = Some((self.nxt, now));
        }
        let mut flags = core::mem::take(&mut self.next_flags);
        if fin {
            flags |= TcpFlags::FIN;
        }
        if pushed {
            flags |= TcpFlags::PSH; // RFC 9293 §3.9.1.2: the end of what was written
        }
        self.send(io, start, payload, flags, false);
    }

    /// A probe with new data ignores the congestion window.
    pub(super) fn transmit_one_as_probe(&mut self, io: &mut Io<'_, '_>) -> bool {
        let end = self.supply_end();
        if !self.next_fits(end) {
            return false;
        }
        if let Some((len, fin)) = self.next_segment(end) {
            self.send_new(io, len, fin);
        }
        true
    }

    pub(super) fn resend(&mut self, io: &mut Io<'_, '_>, resend: Resend) {
        match resend {
            Resend::Nothing => {}
            Resend::Lost => self.retransmit_lost(io),
            Resend::New => {
                self.transmit(io);
                if self.nxt <= self.recovery_point {
                    self.frto = false; // no new data was sent
                    self.retransmit_lost(io);
                }
            }
        }
    }

    /// Sends lost segments again, oldest first, as far as the window allows.
    pub(super) fn retransmit_lost(&mut self, io: &mut Io<'_, '_>) {
        let mut head_went = false;
        while self.in_flight() < self.window()
            && let Some(number) = self.board.next_to_retransmit()
        {
            if self.is_paced(io.now()) {
                break;
            }
            head_went |= number == self.board.head();
            self.retransmit(io, number);
            if self.phase == Phase::Recovery {
                self.reduction.sent += 1;
            }
        }
        if head_went && !self.timer.is(TimerKind::Reordering) {
            self.timer.set(TimerKind::Retransmission, io.now(), self.rto);
        }
    }

    pub(super) fn retransmit(&mut self, io: &mut Io<'_, '_>, number: u64) {
        let now = io.now();
        if self.in_flight() == 0 {
            self.tell_restart(now);
        }
        self.board.on_retransmit(number, now);
        self.undo.on_retransmit(timestamp(now));
        self.send_again(io, number);
    }

    /// Repeats the last segment as a probe.
    pub(super) fn probe_with_last(&mut self, io: &mut Io<'_, '_>) {
        let last = self.board.tail() - 1;
        self.board.on_probe(last, io.now());
        self.send_again(io, last);
    }

    fn send_again(&mut self, io: &mut Io<'_, '_>, number: u64) {
        self.note_sent(number, io.now(), false);
        let s = *self.board.get(number);
        self.timed = None; // Karn's rule
        self.last_sent_at = io.now();
        let flags = if s.is(FIN) { TcpFlags::FIN } else { 0 } | if s.is(PUSHED) { TcpFlags::PSH } else { 0 };
        self.send(io, s.start, s.payload(), flags, true);
    }

    /// Whether the window was the limit (RFC 7661 §4.1, as in Linux).
    #[inline(always)]
    fn validate_window(&mut self, now: Instant, limited: bool) {
        let outstanding = self.board.outstanding();
        let usage = &mut self.window_use;
        if self.una >= usage.until || limited || (!usage.limited && outstanding > usage.max_outstanding) {
            usage.limited = limited;
            usage.max_outstanding = outstanding;
            usage.until = self.nxt;
            if let Some(domains) = &mut self.domains {
                domains.on_window_use(&self.controller, self.board.beyond_pep());
            }
        }
        let window = self.controller.window_segments();
        let slow_start = window < self.controller.ssthresh_segments();
        if usage.limited || (slow_start && window < 2 * usage.max_outstanding) {
            usage.used = 0;
            usage.in_use_at = now;
            return;
        }
        usage.used = usage.used.max(outstanding);
        if self.options.slow_start_after_idle && now.saturating_since(usage.in_use_at) >= self.rto {
            self.decay_window(now);
        }
    }

    /// RFC 7661 §4.4: reduces the unused part of the window by half in each timeout.
    fn decay_window(&mut self, now: Instant) {
        let endless = self.supply.written == u64::MAX || self.writer.is_some();
        let starved_by_buffer = endless && self.window_end > self.nxt;
        if self.phase == Phase::Open && !starved_by_buffer {
            let window = self.controller.window_segments();
            let used = self.window_use.used.max(self.options.initial_window_segments);
            if used < window {
                let ssthresh = self.kept_ssthresh();
                self.controller.on_window_validation(u32::midpoint(window, used), ssthresh);
            }
            self.window_use.used = 0;
        }
        self.window_use.in_use_at = now;
    }

    /// RFC 5681 §4.1: after an idle time the window halves once per timeout down to the
    /// initial window.
    pub(super) fn restart_after_idle(&mut self, now: Instant) {
        let mut idle = now.saturating_since(self.last_sent_at);
        if !self.options.slow_start_after_idle || idle <= self.rto || self.phase != Phase::Open {
            return;
        }
        let ssthresh = self.kept_ssthresh();
        let mut window = self.controller.window_segments();
        let floor = self.options.initial_window_segments.min(window);
        while idle > self.rto && window > floor {
            idle = idle.saturating_sub(self.rto);
            window /= 2;
        }
        self.controller.on_window_validation(window.max(floor), ssthresh);
        self.window_use.in_use_at = now;
        self.window_use.used = 0;
    }

    /// RFC 7661 §4.2: the threshold after a window was reduced by validation.
    fn kept_ssthresh(&self) -> u32 {
        self.controller.window().kept_ssthresh()
    }
}
