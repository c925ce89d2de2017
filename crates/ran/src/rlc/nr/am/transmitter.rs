//! The transmitting side of acknowledged mode (TS 38.322 v18.2.0 §5.2.3.1, §5.3.2, §5.3.3).

use std::collections::VecDeque;

use airlane_core::ring::Ring;
use airlane_core::{Cx, Instant};

use super::AmConfig;
use super::status::{Missing, NrReports};
use crate::rlc::nr::header::{self, Headers};
use crate::rlc::source::Source;
use crate::rlc::{DataPdu, StatusPdu};

/// An SDU whose transmission has begun and that is still in the window.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// Its first byte in the stream, and its length.
    from: u64,
    len: u32,
    /// How often it was considered for retransmission: RETX_COUNT + 1, or 0.
    considered: u8,
    /// Positively acknowledged.
    acknowledged: bool,
    /// At least a part of it is in the retransmission buffer.
    pending: bool,
}

impl Slot {
    /// Bytes that were sent at least once.
    fn sent(&self, position: u64) -> u32 {
        u32::try_from(position - self.from).map_or(self.len, |sent| sent.min(self.len))
    }
}

/// Memory is reserved for this many parts of SDUs with the first STATUS PDU.
const AGAIN_RESERVED: usize = 128;

/// Bytes of one SDU for retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Again {
    sn: u32,
    from: u32,
    to: u32,
}

/// The transmitting side.
#[derive(Debug)]
pub(crate) struct Transmitter {
    config: AmConfig,
    headers: Headers,
    /// TX_Next_Ack: the first sequence number that is not acknowledged.
    first: u32,
    /// From TX_Next_Ack to TX_Next, with the SDU that is being segmented. The SDUs in the store are the same.
    slots: Ring<Slot>,
    /// The retransmission buffer, in the order of the stream, and a spare one.
    again: VecDeque<Again>,
    spare: VecDeque<Again>,
    /// The size of the PDUs for the retransmission buffer.
    again_bytes: u64,
    /// POLL_SN, and when t-PollRetransmit expires; `FAR_FUTURE` while it does not run.
    poll_sn: u32,
    poll_until: Instant,
    /// A poll is due with the next PDU.
    poll_due: bool,
    /// PDU_WITHOUT_POLL and BYTE_WITHOUT_POLL.
    pdus_without_poll: u32,
    bytes_without_poll: u64,
    failures: u64,
}

impl Transmitter {
    pub(crate) fn new(config: &AmConfig) -> Self {
        Self {
            config: *config,
            headers: header::acknowledged(config.sn_bits),
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

    pub(crate) fn headers(&self) -> Headers {
        self.headers
    }

    /// TX_Next_Ack, which is the sequence number of the first SDU in the store.
    #[inline]
    pub(crate) fn first(&self) -> u32 {
        self.first
    }

    /// When t-PollRetransmit expires.
    #[inline]
    pub(crate) fn next_timeout(&self) -> Instant {
        self.poll_until
    }

    /// True if the window is full: no new SDU before TX_Next_Ack moves. The rest of a segmented SDU may be sent.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.slots.len() >= self.config.window()
    }

    #[inline]
    fn is_stalled(&self, source: &Source) -> bool {
        self.is_full() && source.begun() == 0
    }

    /// The size of the PDUs for the retransmission buffer, with `overhead` bytes of the MAC for each.
    #[inline]
    pub(crate) fn retransmission_estimate(&self, overhead: u32) -> u64 {
        self.again_bytes + self.again.len() as u64 * u64::from(overhead)
    }

    /// How often an SDU reached maxRetxThreshold.
    pub(crate) fn failures(&self) -> u64 {
        self.failures
    }

    /// One PDU of at most `space` bytes: retransmissions before new data (§5.2.3.1.1).
    #[inline]
    pub(crate) fn transmit(&mut self, cx: &mut Cx<'_>, source: &mut Source, space: u32) -> Option<DataPdu> {
        let mut pdu = if let Some(&again) = self.again.front() {
            self.retransmit(again, space)?
        } else {
            self.transmit_new(cx, source, space)?
        };
        // §5.3.3.2.
        let empty = self.again.is_empty() && source.is_empty();
        if self.poll_due || empty || self.is_stalled(source) {
            pdu.poll = true;
            self.poll_due = false;
            self.pdus_without_poll = 0;
            self.bytes_without_poll = 0;
            self.poll_sn = self.next() - 1;
            self.poll_until = cx.now.saturating_add(self.config.t_poll_retransmit);
        }
        Some(pdu)
    }

    #[inline]
    fn transmit_new(&mut self, cx: &mut Cx<'_>, source: &mut Source, space: u32) -> Option<DataPdu> {
        if self.is_stalled(source) {
            return None;
        }
        let part = source.fill_part(cx, space, self.headers)?;
        if part.first {
            self.slots.push_back(Slot { from: part.from, len: part.rest, ..Slot::default() });
        }
        self.pdus_without_poll += 1;
        self.bytes_without_poll += u64::from(part.len);
        self.poll_due |= self.config.poll_pdu.is_some_and(|limit| self.pdus_without_poll >= limit)
            || self.config.poll_byte.is_some_and(|limit| self.bytes_without_poll >= limit.get());
        let sn = self.next() - 1;
        let size = part.header + part.len;
        let whole = DataPdu { from: part.from, len: part.len, sn, size, ..DataPdu::default() };
        if part.first && part.last {
            return Some(whole);
        }
        let offset = (part.from - self.slot(sn).from) as u32;
        Some(DataPdu { offset, segment: true, last: part.last, ..whole })
    }

    /// Retransmits the front of the retransmission buffer, or as much of it as fits (§5.3.2).
    fn retransmit(&mut self, again: Again, space: u32) -> Option<DataPdu> {
        let slot = *self.slot(again.sn);
        let is_whole = (again.from, again.to) == (0, slot.len) && slot.len + self.headers.whole <= space;
        let header = match again.from {
            0 if is_whole => self.headers.whole,
            0 => self.headers.first,
            _ => self.headers.rest,
        };
        let len = (again.to - again.from).min(space.saturating_sub(header));
        if len == 0 {
            return None;
        }
        let end = again.from + len;
        self.sent_again(end);
        Some(DataPdu {
            from: slot.from + u64::from(again.from),
            len,
            sn: again.sn,
            size: header + len,
            offset: again.from,
            segment: !is_whole,
            last: !is_whole && end == slot.len,
            poll: false,
        })
    }

    /// The front of the retransmission buffer was sent up to `end`.
    fn sent_again(&mut self, end: u32) {
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

    /// The size of the PDU that carries it.
    fn cost(&self, again: &Again) -> u64 {
        let header = if again.from == 0 { self.headers.first } else { self.headers.rest };
        u64::from(again.to - again.from + header)
    }

    /// Receives a STATUS PDU (§5.3.2, §5.3.3.3, §5.2.3.1.1).
    pub(crate) fn receive_status(&mut self, source: &mut Source, pdu: StatusPdu, reports: &NrReports) {
        let Some(report) = reports.get(pdu) else { return };
        let ack_sn = report.ack_sn;
        assert!(ack_sn <= self.next(), "acknowledged what was never sent");
        if self.poll_sn < ack_sn {
            self.poll_until = Instant::FAR_FUTURE;
        }
        if self.spare.capacity() == 0 {
            self.spare.reserve(AGAIN_RESERVED);
            self.again.reserve(AGAIN_RESERVED);
        }
        let missing = report.nacks().flat_map(|nack| nack.parts());
        if !report.is_clear() || !self.again.is_empty() {
            self.acknowledge(ack_sn, missing.clone());
            self.schedule(missing, source.position());
        }
        // A clear report acknowledges all below ACK_SN.
        while self.slots.front().is_some_and(|slot| slot.acknowledged)
            || report.is_clear() && self.first < ack_sn
        {
            self.slots.pop_front();
            self.first += 1;
            source.sdus.release_front();
        }
        if source.is_bounded() {
            let sent = source.position();
            source.sdus.update_confirmed_beyond(|from, to| self.has_confirmed(from, to, sent));
        }
    }

    /// Acknowledges the SDUs that the report does not list as missing.
    fn acknowledge(&mut self, ack_sn: u32, missing: impl Iterator<Item = Missing>) {
        let mut missing = missing.map(|part| part.sn).peekable();
        for sn in self.first..ack_sn {
            while missing.next_if(|&listed| listed < sn).is_some() {}
            if missing.peek() != Some(&sn) {
                self.slot_mut(sn).acknowledged = true;
            }
        }
    }

    /// Merges the missing parts into the retransmission buffer, and removes what is acknowledged.
    fn schedule(&mut self, missing: impl Iterator<Item = Missing>, position: u64) {
        let mut merged = core::mem::take(&mut self.spare);
        let mut old = core::mem::take(&mut self.again);
        let mut considered = None;
        let first = self.first;
        for part in missing.filter(|part| part.sn >= first) {
            let slot = *self.slot(part.sn);
            // Bytes that were never sent are not lost.
            let to = part.to.min(slot.sent(position));
            if slot.acknowledged || part.from >= to {
                continue;
            }
            if !slot.pending && considered != Some(part.sn) {
                self.consider(part.sn);
            }
            considered = Some(part.sn);
            let new = Again { sn: part.sn, from: part.from, to };
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

    /// §5.3.2: counts RETX_COUNT, and informs the upper layers at the threshold.
    fn consider(&mut self, sn: u32) {
        let threshold = self.config.max_retx;
        let slot = self.slot_mut(sn);
        let count = slot.considered;
        slot.considered = count.saturating_add(1);
        self.failures += u64::from(count == threshold);
    }

    /// t-PollRetransmit has expired (§5.3.3.4): polls again, with an SDU that was sent before if there is nothing else
    /// to carry the poll.
    pub(crate) fn handle_timeout(&mut self, now: Instant, source: &Source) {
        // A PDU without a poll was to be followed by SDUs that were then discarded; the missing poll is sent here.
        let forsaken = self.poll_until == Instant::FAR_FUTURE
            && source.is_empty()
            && self.again.is_empty()
            && !self.slots.is_empty();
        if self.poll_until > now && !forsaken {
            return;
        }
        self.poll_until = Instant::FAR_FUTURE;
        self.poll_due = true;
        let nothing_new = source.is_empty() || self.is_stalled(source);
        if self.again.is_empty() && nothing_new && !self.slots.is_empty() {
            let last = self.next() - 1;
            let sn = if self.slot(last).acknowledged { self.first } else { last };
            self.consider(sn);
            let slot = self.slot_mut(sn);
            slot.pending = true;
            let again = Again { sn, from: 0, to: slot.len };
            self.again_bytes += self.cost(&again);
            self.again.push_back(again);
        }
    }

    /// True if the SDU in this range of the stream has been sent and acknowledged.
    pub(crate) fn has_confirmed(&self, from: u64, to: u64, sent: u64) -> bool {
        let index = self.slots.partition_point(|slot| slot.from < from);
        to <= sent && self.slots.get(index).is_some_and(|slot| slot.acknowledged)
    }

    /// Re-establishment (TS 38.322 v18.2.0 §5.1.2): no SDUs, no timers. Returns the next sequence number, with which
    /// the receiver starts.
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

    /// One past the sequence number of the last SDU in the window: TX_Next, unless that SDU is being segmented.
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

/// Appends to a queue in the order of the stream, joining overlapping parts.
fn append(queue: &mut VecDeque<Again>, next: Again) {
    match queue.back_mut() {
        Some(back) if back.sn == next.sn && next.from <= back.to => back.to = back.to.max(next.to),
        _ => queue.push_back(next),
    }
}
