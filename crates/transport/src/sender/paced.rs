//! Additional functions of a sender that paces or has a model-based controller.

use airlane_core::{Bytes, Instant};

use super::Sender;
use super::ack::Outcome;
use crate::congestion::{DeliverySample, Transmission};
use crate::header::Io;
use crate::model::{SenderState, window_rate};
use crate::recovery::Phase;
use crate::scoreboard::SEEN;

impl Sender {
    /// Pacing allows a segment: lost segments first, then new data.
    pub(super) fn on_paced(&mut self, io: &mut Io<'_, '_>) {
        self.timer.set_paced_until(Instant::FAR_FUTURE);
        if self.phase >= Phase::Recovery && self.board.lost() > self.board.retransmitted() {
            self.retransmit_lost(io);
        }
        self.transmit(io);
    }

    /// Sends new data as far as windows and pacing allow: [`Self::transmit`] for a sender that
    /// paces.
    #[cold]
    pub(super) fn transmit_paced(&mut self, io: &mut Io<'_, '_>) {
        let now = io.now();
        if self.board.is_empty() && self.has_unsent() {
            self.restart_after_idle(now);
        }
        let window = self.window();
        let mut in_flight = self.in_flight();
        let outstanding_before = self.board.outstanding();
        let end = self.sendable_end();
        if in_flight == 0 && self.next_fits(end) {
            self.tell_restart(now);
        }
        let joined = if self.options.gso { self.segments_at_once() } else { 0 };
        let quantum = self.controller.send_quantum().max(joined);
        let quota = self.delivery.as_ref().map_or(u32::MAX, |d| d.pacer.quota(now, quantum));
        let mut sent = 0;
        if joined > 0 {
            let room = window.saturating_sub(in_flight);
            let waits;
            (sent, waits) = self.transmit_joined(io, end, joined, (room, quota));
            in_flight = if waits { window } else { in_flight + sent };
        }
        while in_flight < window
            && sent < quota
            && self.next_fits(end)
            && let Some((len, fin)) = self.next_segment(end)
        {
            self.send_new(io, len, fin);
            in_flight += 1;
            sent += 1;
        }
        if in_flight < window && self.next_fits(end) {
            self.is_paced(now);
        }
        self.check_app_limited(window);
        self.after_transmit(now, sent, in_flight, window, outstanding_before);
    }

    /// True if pacing delays a segment; remembers the time when it may leave.
    #[inline]
    pub(super) fn is_paced(&mut self, now: Instant) -> bool {
        let Some(until) = self.delivery.as_ref().and_then(|d| d.pacer.blocked_until(now)) else {
            return false;
        };
        self.timer.set_paced_until(until);
        true
    }

    /// A segment was sent, as the board's last or again.
    #[cold]
    pub(super) fn note_sent(&mut self, number: u64, now: Instant, new: bool) {
        if let Some(delivery) = &mut self.delivery {
            let was_empty = new && self.board.outstanding() == 1;
            let in_flight = self.board.in_flight().saturating_sub(self.duplicates);
            if self.controller.needs().transmissions {
                let bytes = Bytes(u64::from(self.board.get(number).payload()));
                self.controller.on_sent(&Transmission { now, number: delivery.sent(), bytes });
                delivery.set_rate(self.controller.pacing_rate());
            }
            delivery.on_sent(&self.board, number, now, was_empty, in_flight);
        }
    }

    /// Checks whether there is no more data to send and the window is not the limit (delivery-rate draft §3.4).
    fn check_app_limited(&mut self, window: u32) {
        let in_flight = self.in_flight();
        let lost_again = self.board.lost() <= self.board.retransmitted();
        let idle = !self.has_unsent() && in_flight < window && lost_again;
        if let Some(delivery) = self.delivery.as_mut().filter(|_| idle) {
            delivery.rate.mark_app_limited(in_flight);
        }
    }

    /// Passes the sample of an ACK to a model-based controller. Returns false for other controllers.
    pub(super) fn model_path(&mut self, now: Instant, outcome: &Outcome) -> bool {
        let min_rtt = self.min_rtt.get();
        let Some(delivery) = &mut self.delivery else { return false };
        let rate = delivery.sample(now, outcome.delivered, min_rtt);
        if !self.controller.needs().path_model {
            return false;
        }
        let newly_lost = delivery.rate.newly_lost();
        let sample = DeliverySample {
            rate,
            newly_delivered: outcome.delivered,
            newly_lost,
            rtt: outcome.rtt,
            ..self.delivery_totals(now)
        };
        self.controller.on_delivery(&sample);
        let rate = self.controller.pacing_rate();
        let holds_back = self.controller.holds_back();
        if let Some(delivery) = &mut self.delivery {
            delivery.set_rate(rate);
            if holds_back {
                delivery.rate.mark_app_limited(sample.in_flight);
            }
        }
        self.reduction.window = self.controller.window_segments();
        true
    }

    /// A segment was declared lost.
    pub(super) fn note_lost(&mut self, now: Instant, number: u64) {
        if let Some(domains) = &mut self.domains {
            let segment = self.board.get(number);
            domains.windows.on_lost(segment.sent_at, segment.is(SEEN));
        }
        let Some(delivery) = &mut self.delivery else { return };
        let (lost, transmission) = delivery.on_lost(now, number);
        self.controller.on_segment_lost(&lost);
        self.controller.on_transmission_lost(transmission);
    }

    /// The segments delivered and lost so far.
    fn delivery_totals(&self, now: Instant) -> DeliverySample {
        let delivery = self.delivery.as_ref().expect("asked only of senders that have it");
        delivery.rate.totals(&SenderState {
            now,
            in_flight: self.in_flight(),
            prior_in_flight: delivery.prior_in_flight,
            window_limited: self.window_use.limited,
            srtt: self.rtt.srtt(),
            next_send_at: delivery.pacer.next_send_at(),
            phase: self.phase,
        })
    }

    /// The totals for a change of phase.
    pub(super) fn delivery_now(&self) -> Option<DeliverySample> {
        self.delivery.as_ref().map(|d| self.delivery_totals(d.rate.delivered_at()))
    }

    /// Sets the pacing rate of a window-based controller from its window, unless the controller
    /// gives a rate.
    pub(super) fn follow_window(&mut self) {
        let c = &self.controller;
        let rate = c.pacing_rate().or_else(|| {
            window_rate(
                c.window_segments(),
                c.ssthresh_segments(),
                self.board.outstanding(),
                self.options.segment_size,
                self.rtt.srtt(),
            )
        });
        if let Some(delivery) = &mut self.delivery {
            delivery.set_rate(rate);
        }
    }
}
