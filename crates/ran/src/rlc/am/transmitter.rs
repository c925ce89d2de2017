//! The transmitting side of acknowledged mode (TS 36.322 v17.0 §5.1.3.1, §5.2.1, §5.2.2).

use std::collections::VecDeque;

use airlane_core::ring::Ring;
use airlane_core::{Cx, Instant};

use super::super::header;
use super::super::source::Source;
use super::super::store::Layout;
use super::super::{DataPdu, Pdu, StatusPdu};
use super::AmConfig;
use super::status::{OPEN_END, Report, Reports};

/// An AMD PDU that was sent and is still in the window.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// First byte in the stream, and length, of its data field.
    from: u64,
    len: u32,
    /// Size of its header when it is sent as a whole.
    header: u16,
    /// How often it was considered for retransmission: RETX_COUNT + 1, or 0.
    considered: u8,
    /// Positively acknowledged.
    acknowledged: bool,
    /// At least a part of it is in the retransmission queue.
    pending: bool,
}

impl Slot {
    fn end(&self) -> u64 {
        self.from + u64::from(self.len)
    }
}

/// Memory is reserved for this many parts of PDUs with the first STATUS PDU.
const AGAIN_RESERVED: usize = 128;

/// Bytes of the stream for retransmission, all of one AMD PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Again {
    sn: u32,
    from: u64,
    to: u64,
}

/// The transmitting side.
#[derive(Debug)]
pub(crate) struct Transmitter {
    config: AmConfig,
    header: u32,
    segment_header: u32,
    /// VT(A): the first sequence number that is not acknowledged.
    first: u32,
    /// From VT(A) to VT(S).
    slots: Ring<Slot>,
    /// The retransmission queue, in the order of the stream, and a spare one.
    again: VecDeque<Again>,
    spare: VecDeque<Again>,
    /// The size of the PDUs for the retransmission queue.
    again_bytes: u64,
    /// POLL_SN, and when t-PollRetransmit expires; `FAR_FUTURE` while it does not run.
    poll_sn: u32,
    poll_until: Instant,
    /// A poll is due with the next PDU.
    poll_due: bool,
    pdus_without_poll: u32,
    bytes_without_poll: u64,
    failures: u64,
}

impl Transmitter {
    pub(crate) fn new(config: &AmConfig) -> Self {
        Self {
            config: *config,
            header: header::acknowledged(config.sn_bits),
            segment_header: header::segment(config.sn_bits),
            first: 0,
            slots: Ring::new(config.reserved()),
            again: VecDeque::new(),
            spare: VecDeque::new(),
            again_bytes: 0,
            poll_sn: 0,
            poll_until: Instant::FAR_FUTURE,
            poll_due: false,
            pdus_without_poll: 0,
            bytes_without_poll: 0,
            failures: 0,
        }
    }

    /// The fixed part of a header.
    pub(crate) fn header(&self) -> u32 {
        self.header
    }

    /// When t-PollRetransmit expires.
    #[inline]
    pub(crate) fn next_timeout(&self) -> Instant {
        self.poll_until
    }

    /// True if the window is full: no new PDU before VT(A) moves.
    #[inline]
    pub(crate) fn is_stalled(&self) -> bool {
        self.slots.len() >= self.config.window()
    }

    /// The size of the PDUs for the retransmission queue.
    #[inline]
    pub(crate) fn retransmission_estimate(&self) -> u64 {
        self.again_bytes
    }

    /// How often a PDU reached maxRetxThreshold.
    pub(crate) fn failures(&self) -> u64 {
        self.failures
    }

    /// One PDU of at most `space` bytes: retransmissions before new data.
    #[inline]
    pub(crate) fn transmit(&mut self, cx: &mut Cx<'_>, source: &mut Source, space: u32) -> Option<Pdu> {
        let mut pdu = if let Some(&again) = self.again.front() {
            self.retransmit(source, again, space)?
        } else {
            self.transmit_new(cx, source, space)?
        };
        let empty = self.again.is_empty() && source.is_empty();
        if self.poll_due || empty || self.is_stalled() {
            pdu.poll = true;
            self.poll_due = false;
            self.pdus_without_poll = 0;
            self.bytes_without_poll = 0;
            self.poll_sn = self.next() - 1;
            self.poll_until = cx.now.saturating_add(self.config.t_poll_retransmit);
        }
        Some(Pdu::Data(pdu))
    }

    #[inline]
    fn transmit_new(&mut self, cx: &mut Cx<'_>, source: &mut Source, space: u32) -> Option<DataPdu> {
        if self.is_stalled() {
            return None;
        }
        let (from, sn) = (source.position(), self.next());
        let filled = source.fill(cx, space, self.header)?;
        self.slots.push_back(Slot {
            from,
            len: filled.len,
            header: u16::try_from(filled.header).expect("a header is shorter than 64 KiB"),
            considered: 0,
            acknowledged: false,
            pending: false,
        });
        // TS 36.322 v17.0 §5.2.2.1.
        self.pdus_without_poll += 1;
        self.bytes_without_poll += u64::from(filled.len);
        self.poll_due |= self.config.poll_pdu.is_some_and(|limit| self.pdus_without_poll >= limit)
            || self.config.poll_byte.is_some_and(|limit| self.bytes_without_poll >= limit.get());
        let size = filled.header + filled.len;
        Some(DataPdu { from, len: filled.len, sn, size, ..DataPdu::default() })
    }

    /// Retransmits the front of the retransmission queue, or as much of it as fits (TS 36.322 v17.0
    /// §5.2.1).
    fn retransmit(&mut self, source: &Source, again: Again, space: u32) -> Option<DataPdu> {
        let slot = *self.slot(again.sn);
        let whole = u32::from(slot.header) + slot.len;
        if (again.from, again.to) == (slot.from, slot.end()) && whole <= space {
            self.sent_again(again.to);
            return Some(DataPdu {
                from: slot.from,
                len: slot.len,
                sn: again.sn,
                size: whole,
                ..DataPdu::default()
            });
        }
        let mut layout = Layout::new(space, self.segment_header);
        source.sdus.lay_out(again.from, again.to, &mut layout);
        let filled = layout.finish()?;
        let end = again.from + u64::from(filled.len);
        self.sent_again(end);
        Some(DataPdu {
            from: again.from,
            len: filled.len,
            sn: again.sn,
            size: filled.header + filled.len,
            offset: (again.from - slot.from) as u32,
            segment: true,
            last: end == slot.end(),
            poll: false,
        })
    }

    /// The front of the retransmission queue was sent up to `end`.
    fn sent_again(&mut self, end: u64) {
        let front = self.again.pop_front().expect("it was sent");
        self.again_bytes -= self.cost(&front);
        if end < front.to {
            let rest = Again { from: end, ..front };
            self.again_bytes += self.cost(&rest);
            self.again.push_front(rest);
        } else if self.again.front().is_none_or(|next| next.sn != front.sn) {
            self.slot_mut(front.sn).pending = false;
        }
    }

    /// The maximum size of the PDU that carries it.
    fn cost(&self, again: &Again) -> u64 {
        let slot = self.slot(again.sn);
        let extra =
            if again.to - again.from == u64::from(slot.len) { 0 } else { self.segment_header - self.header };
        again.to - again.from + u64::from(slot.header) + u64::from(extra)
    }

    /// Receives a STATUS PDU (TS 36.322 v17.0 §5.2.1, §5.2.2.2, §5.1.3.1.1).
    pub(crate) fn receive_status(&mut self, source: &mut Source, pdu: StatusPdu, reports: &Reports) {
        let Some(report) = reports.get(pdu) else { return };
        assert!(report.ack_sn <= self.next(), "acknowledged what was never sent");
        if self.poll_sn < report.ack_sn {
            self.poll_until = Instant::FAR_FUTURE;
        }
        if self.spare.capacity() == 0 {
            self.spare.reserve(AGAIN_RESERVED);
            self.again.reserve(AGAIN_RESERVED);
        }
        self.acknowledge(&report);
        if !report.is_clear() || !self.again.is_empty() {
            self.schedule(&report);
        }
        while self.slots.front().is_some_and(|slot| slot.acknowledged) {
            self.slots.pop_front();
            self.first += 1;
        }
        let confirmed = self.slots.front().map_or(source.position(), |slot| slot.from);
        source.sdus.release_until(confirmed);
        if source.is_bounded() {
            let sent = source.position();
            source.sdus.update_confirmed_beyond(|from, to| self.has_confirmed(from, to, sent));
        }
    }

    /// Acknowledges the PDUs that the report does not list as missing.
    fn acknowledge(&mut self, report: &Report<'_>) {
        let mut nacks = report.nacks().map(|nack| nack.sn).peekable();
        for sn in self.first..report.ack_sn {
            while nacks.next_if(|&nack| nack < sn).is_some() {}
            if nacks.peek() != Some(&sn) {
                self.slot_mut(sn).acknowledged = true;
            }
        }
    }

    /// Merges the missing ranges of the report into the retransmission queue, and removes what it
    /// acknowledges.
    fn schedule(&mut self, report: &Report<'_>) {
        let mut merged = core::mem::take(&mut self.spare);
        let mut old = core::mem::take(&mut self.again);
        let mut considered = None;
        let first = self.first;
        for nack in report.nacks().filter(|nack| nack.sn >= first) {
            let slot = *self.slot(nack.sn);
            let to = if nack.to == OPEN_END { slot.len } else { nack.to };
            if slot.acknowledged || nack.from >= to {
                continue;
            }
            if !slot.pending && considered != Some(nack.sn) {
                self.consider(nack.sn);
            }
            considered = Some(nack.sn);
            let new =
                Again { sn: nack.sn, from: slot.from + u64::from(nack.from), to: slot.from + u64::from(to) };
            while old.front().is_some_and(|o| (o.sn, o.from) <= (new.sn, new.from)) {
                append(&mut merged, old.pop_front().expect("just seen"));
            }
            append(&mut merged, new);
        }
        for o in old.drain(..) {
            append(&mut merged, o);
        }
        self.spare = old;
        merged.retain(|m| !self.slot(m.sn).acknowledged);
        self.again_bytes = merged.iter().map(|m| self.cost(m)).sum();
        for m in &merged {
            self.slots[(m.sn - self.first) as usize].pending = true;
        }
        self.again = merged;
    }

    /// TS 36.322 v17.0 §5.2.1: counts RETX_COUNT, and informs the upper layers at the threshold.
    fn consider(&mut self, sn: u32) {
        let threshold = self.config.max_retx;
        let slot = self.slot_mut(sn);
        let count = slot.considered;
        slot.considered = count.saturating_add(1);
        self.failures += u64::from(count == threshold);
    }

    /// t-PollRetransmit has expired (TS 36.322 v17.0 §5.2.2.3): polls again, with a PDU that was
    /// sent before if there is nothing else to carry the poll.
    pub(crate) fn handle_timeout(&mut self, now: Instant, source: &Source) {
        // A PDU without a poll was to be followed by SDUs that were then discarded; the missing
        // poll is sent here.
        let forsaken = self.poll_until == Instant::FAR_FUTURE
            && source.is_empty()
            && self.again.is_empty()
            && !self.slots.is_empty();
        if self.poll_until > now && !forsaken {
            return;
        }
        self.poll_until = Instant::FAR_FUTURE;
        self.poll_due = true;
        let nothing_new = source.is_empty() || self.is_stalled();
        if self.again.is_empty() && nothing_new && !self.slots.is_empty() {
            let last = self.next() - 1;
            let sn = if self.slot(last).acknowledged { self.first } else { last };
            self.consider(sn);
            let slot = self.slot_mut(sn);
            slot.pending = true;
            let again = Again { sn, from: slot.from, to: slot.end() };
            self.again_bytes += self.cost(&again);
            self.again.push_back(again);
        }
    }

    /// True if all of `[from, to)` has been sent and acknowledged.
    pub(crate) fn has_confirmed(&self, from: u64, to: u64, sent: u64) -> bool {
        let first = self.slots.partition_point(|slot| slot.end() <= from);
        to <= sent && self.slots.iter_from(first).take_while(|slot| slot.from < to).all(|s| s.acknowledged)
    }

    /// The start in the stream of the PDUs from this sequence number on, which is in the window or
    /// is the next to be assigned.
    pub(crate) fn start_of(&self, sn: u32, source: &Source) -> u64 {
        if sn == self.next() { source.position() } else { self.slot(sn).from }
    }

    /// Re-establishment (TS 36.322 v17.0 §5.4): no PDUs, no timers. Returns the next sequence
    /// number, with which the receiver starts.
    pub(crate) fn reestablish(&mut self) -> u32 {
        self.first = self.next();
        self.slots.clear();
        self.again.clear();
        self.again_bytes = 0;
        self.poll_until = Instant::FAR_FUTURE;
        self.poll_due = false;
        self.pdus_without_poll = 0;
        self.bytes_without_poll = 0;
        self.first
    }

    /// VT(S).
    #[inline]
    fn next(&self) -> u32 {
        self.first + self.slots.len() as u32
    }

    #[inline]
    fn slot(&self, sn: u32) -> &Slot {
        &self.slots[(sn - self.first) as usize]
    }

    #[inline]
    fn slot_mut(&mut self, sn: u32) -> &mut Slot {
        &mut self.slots[(sn - self.first) as usize]
    }
}

/// Appends to a queue in the order of the stream, joining overlapping ranges.
fn append(queue: &mut VecDeque<Again>, next: Again) {
    match queue.back_mut() {
        Some(back) if back.sn == next.sn && next.from <= back.to => back.to = back.to.max(next.to),
        _ => queue.push_back(next),
    }
}
