//! Processing of acknowledgments.

use airlane_core::{Bytes, Duration, Event, Instant, Topic};

use super::{Ack, DUPLICATE_THRESHOLD, MAX_REORDERING, Sender};
use crate::accurate::Feedback;
use crate::config::{LossDetection, RttSampling};
use crate::congestion::{AckSample, Arrival, MarkSample, ObeysCodes};
use crate::header::Io;
use crate::recovery::Phase;
use crate::sack::{Blocks, SackOutcome};
use crate::scoreboard::{EVER_RETRANSMITTED, RETRANSMITTED, SACKED};

/// The results of one ACK.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outcome {
    /// The cumulative ACK advanced.
    pub(super) advanced: bool,
    /// The ACK acknowledged data (not only known information).
    pub(super) data_acked: bool,
    /// The ACK counts as a duplicate (RFC 5681 §2).
    pub(super) duplicate: bool,
    /// Segments newly SACKed, and whether there was a D-SACK.
    pub(super) sacked: u32,
    pub(super) dsack: bool,
    /// The ACK covers a segment sent once from before the recovery point.
    pub(super) original_delivered: bool,
    /// Segments delivered by it, cumulatively or selectively.
    pub(super) delivered: u32,
    /// Payload of the delivered segments.
    pub(super) delivered_bytes: u32,
    /// Segments detected as lost while it was processed.
    pub(super) lost: u32,
    /// A retransmission was detected as lost.
    pub(super) retransmission_lost: bool,
    /// The timer must be restarted.
    pub(super) restart_timer: bool,
    /// Round trip of the segment delivered last, if sent once.
    pub(super) rtt: Option<Duration>,
}

/// The data to send when the window is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resend {
    Nothing,
    Lost,
    /// F-RTO needs new data (RFC 5682 §3.1 step 2b).
    New,
}

/// Send times of the segments that the cumulative ACK covers.
#[derive(Clone, Copy, Debug, Default)]
struct Acked {
    first_sent_at: Option<Instant>,
    last_sent_at: Option<Instant>,
    retransmission: bool,
    segments: u32,
    newly_delivered: u32,
    bytes: u32,
    reordered_from: Option<u64>,
    original_delivered: bool,
}

impl Sender {
    /// Processes an acknowledgment and sends the segments that it allows.
    pub(crate) fn on_ack(&mut self, io: &mut Io<'_, '_>, ack: &Ack<'_>) {
        debug_assert!(ack.ack <= self.nxt, "the end drops what acknowledges what was never sent");
        if let Some(code) = ack.code {
            self.obey(io, code);
        }
        if self.phase == Phase::Open
            && ack.sack.is_empty()
            && ack.ack > self.una
            && self.board.is_plain()
            && self.probe.is_none()
            && self.short_way
        {
            self.on_plain_ack(io, ack);
        } else if self.board.is_empty() {
            self.on_ack_of_nothing(io, ack);
        } else {
            self.on_full_ack(io, ack);
        }
    }

    /// Handles a code of the receiver. It has no effect during loss recovery, which has its own reduction.
    #[cold]
    fn obey(&mut self, io: &mut Io<'_, '_>, code: u8) {
        if self.phase.reduces() {
            return;
        }
        if let Some(congestion_window) = self.controller.on_code(code)
            && io.cx.wants(Topic::ReceiverCode)
        {
            io.cx.emit(&Event::CodeApplied { flow: io.path.flow, code, congestion_window });
        }
    }

    /// An ACK while nothing is outstanding: of an end that only receives, or a window update.
    #[inline(always)]
    fn on_ack_of_nothing(&mut self, io: &mut Io<'_, '_>, ack: &Ack<'_>) {
        self.update_window(ack);
        if self.marks.is_some() {
            self.with_marks(io, ack, &Outcome::default());
        }
        self.window_probes_in_row = 0;
        if self.has_unsent() {
            self.transmit(io);
        }
        self.report_state(io);
    }

    /// Adds the reports of accurate ECN to an acknowledgment: a law that needs the number of marks receives it here;
    /// other laws count a mark as a mark. Reports that may be older than the last one are not read (RFC 9768 §3.2.2.2).
    fn with_marks<'a>(&mut self, io: &mut Io<'_, '_>, ack: &Ack<'a>, outcome: &Outcome) -> Ack<'a> {
        let mut ack = *ack;
        let (Some(reader), Some((ace, option))) = (&mut self.marks, ack.accurate) else { return ack };
        if !(outcome.advanced || outcome.sacked > 0 || ack.newer) {
            reader.on_unread(outcome.delivered, outcome.delivered_bytes);
            return ack;
        }
        // The SYN does not count, and no handshake packet is ECN-capable.
        let sent = io.stats.segments_sent - io.stats.handshake_retransmissions - 1;
        let others = sent - io.stats.data_segments_sent + io.stats.retransmissions;
        reader.check_first(ace, sent);
        let marks = reader.on_feedback(&Feedback {
            ace,
            option,
            delivered: outcome.delivered,
            delivered_bytes: outcome.delivered_bytes,
            segment_size: self.options.segment_size,
            others,
        });
        io.stats.marks_reported += u64::from(marks.packets);
        if self.controller.needs().marks {
            let sample = self.mark_sample(io.now(), outcome, (marks.packets, marks.bytes));
            self.controller.on_marks(&sample);
        } else {
            ack.congestion_echoed = marks.packets > 0;
        }
        ack
    }

    /// An acknowledgment that reports this many marked packets and bytes.
    fn mark_sample(&self, now: Instant, outcome: &Outcome, (packets, bytes): (u32, u32)) -> MarkSample {
        MarkSample {
            now,
            delivered_segments: outcome.delivered,
            marked_segments: packets,
            delivered_bytes: Bytes(u64::from(outcome.delivered_bytes)),
            marked_bytes: Bytes(u64::from(bytes)),
            srtt: self.rtt.srtt(),
            acked_to: self.una,
            sent_to: self.nxt,
            recovering: self.phase.reduces(),
        }
    }

    /// Every step of [`Self::on_ack`].
    #[inline(never)]
    fn on_full_ack(&mut self, io: &mut Io<'_, '_>, ack: &Ack<'_>) {
        let mut outcome = Outcome::default();
        let in_flight = self.in_flight();
        if let Some(delivery) = &mut self.delivery {
            delivery.begin_ack(in_flight);
        }
        let window_moved = self.update_window(ack);
        let prior_una = self.una;
        // The highest SACKed position before this ACK: only such data can have overtaken what the ACK covers
        // (RFC 8985 §6.2 step 3).
        let prior_highest = self.board.highest_sacked();
        let mut sacked = SackOutcome::default();
        if !ack.sack.is_empty() {
            sacked = self.process_sack(io, ack);
        }
        if ack.ack > self.una {
            outcome.advanced = true;
            self.timeouts_in_row = 0;
        }
        self.window_probes_in_row = 0;
        let acked = self.take_acked(io, ack, prior_highest);
        if let Some(from) = acked.reordered_from {
            self.raise_reordering(io, from);
        }
        self.gather(&mut outcome, &acked, &sacked, window_moved, ack);
        self.sample_rtt(io, ack, &acked, &sacked, &mut outcome);
        if ack.ack >= prior_una {
            self.controller.on_arrival(&Arrival { now: io.now(), acked_to: self.una, rtt: outcome.rtt });
        }
        self.rack.adapt_window(self.una, self.nxt);
        let ack = &self.with_marks(io, ack, &outcome);
        if self.options.ecn && self.controller.needs().marks {
            let echoed =
                if ack.congestion_echoed { (outcome.delivered, outcome.delivered_bytes) } else { (0, 0) };
            let sample = self.mark_sample(io.now(), &outcome, echoed);
            self.controller.on_echo(&sample);
        }
        let mut resend = Resend::Nothing;
        if let Some(probe) = self.probe {
            self.on_probe_ack(io, ack, probe, &outcome);
        }
        let amiss = outcome.sacked > 0 || outcome.dsack || outcome.duplicate;
        if self.phase != Phase::Open || amiss || ack.congestion_echoed {
            resend = self.on_alert(io, prior_una, ack, &mut outcome);
        }
        if outcome.restart_timer {
            self.restart_timer(io.now());
        }
        self.drive_window(io.now(), &outcome);
        self.resend(io, resend);
        self.transmit(io);
        if self.writer.is_some() {
            self.write_more(io);
        }
        self.report_state(io);
    }

    /// The common case of [`Self::on_ack`]: the state is normal, and the ACK advances. The same
    /// steps, without those that have no effect then.
    #[inline(always)]
    fn on_plain_ack(&mut self, io: &mut Io<'_, '_>, ack: &Ack<'_>) {
        let now = io.now();
        self.update_window(ack);
        self.timeouts_in_row = 0;
        self.window_probes_in_row = 0;
        let (mut first, mut last, mut delivered) = (None, None, 0);
        while !self.board.is_empty() {
            let s = self.board.get(self.board.head());
            if s.end() > ack.ack {
                if s.start < ack.ack {
                    self.board.trim_head(ack.ack);
                }
                break;
            }
            let s = self.board.pop();
            io.stats.bytes_acked += Bytes(u64::from(s.payload()));
            first = first.or(Some(s.sent_at));
            last = Some((s.sent_at, s.end()));
            delivered += 1;
        }
        self.una = ack.ack;
        self.delivered += u64::from(delivered);
        if let (Some(first), Some((sent_at, end))) = (first, last) {
            self.rack.on_delivered(now, sent_at, end, false, Duration::ZERO);
            let rtt = now.saturating_since(sent_at);
            self.min_rtt.sample(now, rtt);
            self.take_sample(io, now.saturating_since(first), false);
            self.restart_timer(now);
            if self.controller.needs().arrivals {
                self.controller.on_arrival(&Arrival { now, acked_to: self.una, rtt: Some(rtt) });
            }
            self.grow_window(now, delivered, Some(rtt), true);
        }
        self.rack.adapt_window(self.una, self.nxt);
        self.transmit(io);
        if self.writer.is_some() {
            self.write_more(io);
        }
        self.report_state(io);
    }

    /// RFC 9293 §3.10.7.4: newer segments update the window; as in Linux, among equal ones the wider window
    /// counts, and a window of zero.
    #[inline]
    fn update_window(&mut self, ack: &Ack<'_>) -> bool {
        self.update_window_from(ack.segment_start, ack.ack, ack.window)
    }

    #[inline]
    fn update_window_from(&mut self, segment_start: u64, ack: u64, window: u64) -> bool {
        if ack < self.una {
            return false;
        }
        let (start, acked) = self.window_from;
        let end = ack + window;
        if ack > acked
            || segment_start > start
            || (segment_start == start && (end > self.window_end || window == 0))
        {
            let moved = end - ack != self.window_end.saturating_sub(acked);
            self.window_from = (segment_start, ack);
            self.window_end = end;
            if window > self.max_offered {
                self.max_offered = window;
                self.segment_max = super::bound_to_half(self.options.segment_size, window);
            }
            return moved;
        }
        false
    }

    /// True if this end has sent no data, and sends none until its application writes: an ACK without marks and codes
    /// only changes its window.
    #[inline]
    pub(crate) fn only_receives(&self) -> bool {
        self.supply.written <= 1 && !self.supply.closed && self.board.is_empty()
    }

    /// [`Self::on_ack`] of such an end.
    #[inline]
    pub(crate) fn on_ack_of_receiver(&mut self, segment_start: u64, ack: u64, window: u64) {
        self.update_window_from(segment_start, ack, window);
        self.window_probes_in_row = 0;
    }

    fn process_sack(&mut self, io: &mut Io<'_, '_>, ack: &Ack<'_>) -> SackOutcome {
        let now = io.now();
        let mut out = SackOutcome::default();
        let mut reordered_from = None;
        let blocks = Blocks::from_wire(ack.sack, io.negotiated.local_initial, self.una);
        let (dsack, blocks) = blocks.split_dsack(ack.ack);
        if let Some(block) = dsack.filter(|block| block.right <= self.nxt) {
            out.dsack = true;
            io.stats.dsack_received += 1;
            self.on_dsack(block.left, block.right);
        }
        let fresh = self.sack_cache.new_ranges(blocks, self.una, self.nxt);
        let min_rtt = self.min_rtt.get();
        for range in fresh.as_slice() {
            let mut number = self.board.find(range.left);
            while self.board.contains(number) {
                let s = *self.board.get(number);
                if s.end() > range.right {
                    break;
                }
                number += 1;
                if s.is(SACKED) || s.start < range.left {
                    continue;
                }
                self.rack.on_delivered(now, s.sent_at, s.end(), s.is(EVER_RETRANSMITTED), min_rtt);
                if !s.is(EVER_RETRANSMITTED) {
                    if s.start < self.board.highest_sacked() {
                        reordered_from.get_or_insert(s.start); // the ranges are in ascending order
                    }
                    out.original_delivered |= s.end() <= self.recovery_point;
                    out.first_sent_at.get_or_insert(s.sent_at);
                    out.last_sent_at = Some(s.sent_at);
                }
                if let Some(delivery) = &mut self.delivery
                    && let Some(transmission) = delivery.on_delivered(number - 1, &s)
                {
                    self.controller.on_transmission_delivered(transmission);
                }
                if let Some(domains) = &mut self.domains {
                    domains.on_delivered(&s);
                }
                self.board.mark_sacked(number - 1);
                out.sacked += 1;
                out.bytes += s.payload();
            }
        }
        // After a timeout that was not spurious all first transmissions count as lost: they are no evidence.
        if let Some(from) = reordered_from.filter(|_| self.phase != Phase::Loss || self.undo.marker.is_some())
        {
            self.raise_reordering(io, from);
        }
        out
    }

    fn on_dsack(&mut self, left: u64, right: u64) {
        if self.undo.marker.is_some_and(|m| right > m) {
            let segments = (right - left).div_ceil(u64::from(self.options.segment_size)) as u32;
            self.undo.on_dsack(segments.max(1));
        }
        let of_probe = self.probe.is_some_and(|p| p.end == right);
        if !of_probe {
            self.rack.on_dsack();
        }
        if left >= self.una && right <= self.nxt && !self.board.is_empty() {
            let number = self.board.find(left);
            if self.board.contains(number) && self.board.get(number).is(SACKED) {
                self.board.clear_retransmitted(number);
            }
        }
    }

    /// Removes the segments that the cumulative ACK covers. `prior_highest` is the highest SACKed position
    /// before it.
    fn take_acked(&mut self, io: &mut Io<'_, '_>, ack: &Ack<'_>, prior_highest: u64) -> Acked {
        let mut acked = Acked::default();
        if ack.ack <= self.una {
            return acked;
        }
        let now = io.now();
        let min_rtt = self.min_rtt.get();
        while !self.board.is_empty() {
            let s = *self.board.get(self.board.head());
            if s.end() > ack.ack {
                if s.start < ack.ack {
                    self.board.trim_head(ack.ack);
                }
                break;
            }
            if let Some(delivery) = &mut self.delivery
                && let Some(transmission) = delivery.on_delivered(self.board.head(), &s)
            {
                self.controller.on_transmission_delivered(transmission);
            }
            if let Some(domains) = self.domains.as_mut().filter(|_| !s.is(SACKED)) {
                domains.on_delivered(&s);
            }
            self.board.pop();
            acked.segments += 1;
            io.stats.bytes_acked += Bytes(u64::from(s.payload()));
            if s.is(EVER_RETRANSMITTED) {
                acked.retransmission |= s.is(RETRANSMITTED);
            } else if !s.is(SACKED) {
                acked.first_sent_at.get_or_insert(s.sent_at);
                acked.last_sent_at = Some(s.sent_at);
                if prior_highest > s.start {
                    acked.reordered_from.get_or_insert(s.start);
                }
                acked.original_delivered |= s.end() <= self.recovery_point;
            }
            if !s.is(SACKED) {
                acked.newly_delivered += 1;
                acked.bytes += s.payload();
                if self.options.loss_detection == LossDetection::RackTlp {
                    // If the echo is older than a retransmission, the retransmission was not the
                    // one that arrived.
                    let spurious = s.is(EVER_RETRANSMITTED)
                        && ack.echo.is_some_and(|e| {
                            (e.wrapping_sub(crate::header::timestamp(s.sent_at)) as i32) < 0
                        });
                    if !spurious {
                        self.rack.on_delivered(now, s.sent_at, s.end(), s.is(EVER_RETRANSMITTED), min_rtt);
                    }
                }
            }
        }
        self.una = ack.ack;
        if self.duplicates > 0 {
            // The ACK covers the retransmitted segment and the segments of the duplicates.
            self.duplicates = self.duplicates.saturating_sub(acked.segments.saturating_sub(1));
            acked.newly_delivered =
                acked.newly_delivered.saturating_sub(acked.segments.saturating_sub(1)).max(1);
        }
        acked
    }

    fn gather(
        &mut self,
        outcome: &mut Outcome,
        acked: &Acked,
        sacked: &SackOutcome,
        window_moved: bool,
        ack: &Ack<'_>,
    ) {
        outcome.data_acked = acked.segments > 0;
        outcome.sacked = sacked.sacked;
        outcome.dsack = sacked.dsack;
        outcome.original_delivered = acked.original_delivered || sacked.original_delivered;
        outcome.restart_timer = acked.segments > 0;
        // RFC 5681 §2 with RFC 6675 §2: nothing new acknowledged, no data, no window update.
        outcome.duplicate =
            !outcome.data_acked && !ack.with_data && !window_moved && ack.ack == self.una && !outcome.dsack;
        outcome.delivered = acked.newly_delivered + sacked.sacked;
        outcome.delivered_bytes = acked.bytes + sacked.bytes;
        let counts = !self.options.sack && self.una > self.recovered_to;
        if outcome.duplicate && counts && self.duplicates < self.board.outstanding() {
            self.duplicates += 1;
            outcome.delivered += 1;
        }
        self.delivered += u64::from(outcome.delivered);
        if let Some(delivery) = &mut self.delivery {
            delivery.rate.set_being_delivered(outcome.delivered);
        }
    }

    /// RFC 6298 §3, §4: chooses the round-trip samples that count.
    fn sample_rtt(
        &mut self,
        io: &mut Io<'_, '_>,
        ack: &Ack<'_>,
        acked: &Acked,
        sacked: &SackOutcome,
        outcome: &mut Outcome,
    ) {
        let now = io.now();
        let since = |at: Option<Instant>| at.map(|t| now.saturating_since(t));
        let mut whole = None; // from the first segment acknowledged: contains the ACK delay
        if !acked.retransmission {
            whole = since(acked.first_sent_at);
            outcome.rtt = since(acked.last_sent_at);
        }
        if self.options.rtt_from_sack && sacked.first_sent_at.is_some() {
            outcome.rtt = since(sacked.last_sent_at);
            whole = whole.or(since(sacked.first_sent_at));
        }
        if whole.is_none()
            && outcome.data_acked
            && let Some(echo) = ack.echo.filter(|e| *e != 0)
        {
            // RFC 7323 §4.1: with a timestamp, retransmissions give samples too.
            let ms = crate::header::timestamp(now).wrapping_sub(echo);
            let echoed = Duration::from_millis(u64::from(ms.clamp(1, 0x7fff_ffff)));
            whole = Some(echoed);
            outcome.rtt = Some(echoed);
        }
        if let Some(rtt) = outcome.rtt {
            self.min_rtt.sample(now, rtt);
        }
        // A SACK of data sent after the last transmission of the head must not delay the timeout.
        if self.options.rtt_from_sack
            && !outcome.restart_timer
            && let Some(rtt) = whole
            && !self.board.is_empty()
        {
            let head_age = now.saturating_since(self.board.get(self.board.head()).sent_at);
            outcome.restart_timer = sacked.first_sent_at.is_some() && rtt > head_age;
        }
        if let Some(rtt) = whole {
            self.take_sample(io, rtt, acked.retransmission);
        } else if self.options.rtt_sampling == RttSampling::OncePerWindow && acked.retransmission {
            self.timed = None;
        }
    }

    /// A round trip from any ACK; the configuration decides whether it counts.
    fn take_sample(&mut self, io: &mut Io<'_, '_>, each_ack: Duration, retransmission: bool) {
        let now = io.now();
        let rtt = match self.options.rtt_sampling {
            RttSampling::EachAck => {
                self.rtt.sample(each_ack, self.una, self.nxt);
                each_ack
            }
            RttSampling::FrozenAfter(at) => {
                if now < at {
                    self.rtt.sample(each_ack, self.una, self.nxt);
                }
                each_ack
            }
            RttSampling::OncePerWindow => {
                let Some(rtt) = self.timed_sample(now, retransmission) else { return };
                self.rtt.sample(rtt, self.una, self.nxt);
                rtt
            }
        };
        self.rto = self.rtt.rto();
        self.backoff = 0;
        io.stats.rtt_samples += 1;
        io.stats.rtt_sum += rtt;
        io.stats.rtt_min = Some(io.stats.rtt_min.map_or(rtt, |m| m.min(rtt)));
        if io.cx.wants(Topic::RttSample) {
            io.cx.emit(&Event::RttSample { flow: io.path.flow, rtt, srtt: self.rtt.srtt(), rto: self.rto });
        }
    }

    /// The sample of one timed segment at a time, given up if anything was retransmitted (Karn's rule).
    fn timed_sample(&mut self, now: Instant, retransmission: bool) -> Option<Duration> {
        let (end, sent_at) = self.timed?;
        if self.una < end {
            return None;
        }
        self.timed = None;
        (!retransmission).then(|| now.saturating_since(sent_at))
    }

    /// Data from this position on was overtaken: increases the reordering degree and enables RACK's
    /// reordering window (RFC 8985 §6.2 step 3).
    #[cold]
    pub(super) fn raise_reordering(&mut self, io: &mut Io<'_, '_>, from: u64) {
        let highest = self.board.highest_sacked().max(self.una);
        if from >= highest {
            return;
        }
        let degree = (highest - from).div_ceil(u64::from(self.options.segment_size));
        if degree > u64::from(self.reordering) {
            self.reordering = (degree.min(u64::from(MAX_REORDERING))) as u32;
        }
        io.stats.reordering_seen += 1;
        self.rack.on_reordering();
    }

    /// Window growth, or reduction in recovery.
    fn drive_window(&mut self, now: Instant, outcome: &Outcome) {
        if self.delivery.is_some() && self.model_path(now, outcome) {
            return;
        }
        if self.domains.is_some() {
            self.drive_domains(now, outcome);
            return;
        }
        if self.phase.reduces() {
            let clean = outcome.advanced && outcome.lost == 0;
            let in_flight = self.in_flight();
            let ssthresh = self.controller.ssthresh_segments();
            self.reduction.on_ack(outcome.delivered, clean, in_flight, ssthresh);
        }
        let may_grow = !self.phase.reduces()
            && (outcome.data_acked || (self.reordering > DUPLICATE_THRESHOLD && outcome.sacked > 0));
        self.grow_window(now, outcome.delivered, outcome.rtt, may_grow);
        if self.delivery.is_some() {
            self.follow_window();
        }
    }

    #[inline]
    fn grow_window(&mut self, now: Instant, delivered: u32, rtt: Option<Duration>, may_grow: bool) {
        let sample = AckSample {
            now,
            delivered_segments: delivered.min(self.options.growth_max),
            may_grow: may_grow && delivered > 0,
            window_limited: self.window_use.limited,
            max_outstanding_segments: self.window_use.max_outstanding,
            outstanding_segments: self.board.outstanding(),
            rtt,
            srtt: self.rtt.srtt(),
            acked_to: self.una,
            sent_to: self.nxt,
        };
        self.controller.on_ack(&sample);
    }
}
