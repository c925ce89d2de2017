//! The transmitting window of acknowledged mode, which LTE and NR have in common: acknowledgment, retransmission and
//! polls (TS 36.322 v17.0 §5.2.1, §5.2.2; TS 38.322 v18.2.0 §5.3.2, §5.3.3).
//!
//! A unit of the window has one sequence number: an AMD PDU in LTE, an SDU in NR.

use std::collections::VecDeque;

use airlane_core::ring::Ring;
use airlane_core::{Bytes, Duration, Instant};

/// The end of a unit whose length the receiver does not know: SOend with all bits set (TS 36.322 v17.0 §6.2.2.19, TS
/// 38.322 v18.2.0 §6.2.3.15).
pub(crate) const OPEN_END: u32 = u32::MAX;

/// Bytes of one unit that are missing at the receiver: from SOstart to one past SOend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Missing {
    pub(crate) sn: u32,
    pub(crate) from: u32,
    pub(crate) to: u32,
}

impl Missing {
    /// The whole unit.
    pub(crate) const fn whole(sn: u32) -> Self {
        Self { sn, from: 0, to: OPEN_END }
    }

    /// True if it needs SOstart and SOend.
    pub(crate) fn is_partial(&self) -> bool {
        (self.from, self.to) != (0, OPEN_END)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Sent,
    /// At least a part of it is in the retransmission buffer.
    Pending,
    Acknowledged,
}

/// A unit that was sent, at least in part, and is still in the window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unit {
    /// Its first byte in the stream, and its length.
    pub(crate) from: u64,
    pub(crate) len: u32,
    /// Size of its header when it is sent as a whole, where this differs from unit to unit.
    pub(crate) header: u16,
    /// How often it was considered for retransmission: RETX_COUNT + 1, or 0.
    considered: u8,
    state: State,
}

impl Unit {
    /// A unit of `len` bytes, from this byte of the stream on.
    pub(crate) fn new(from: u64, len: u32, header: u16) -> Self {
        Self { from, len, header, ..Self::default() }
    }

    fn end(&self) -> u64 {
        self.from + u64::from(self.len)
    }

    /// Bytes that were sent at least once, if the stream was sent up to `position`.
    fn sent(&self, position: u64) -> u32 {
        u32::try_from(position - self.from).map_or(self.len, |sent| sent.min(self.len))
    }
}

/// The maximum size of the PDU that retransmits a part of a unit.
pub(crate) trait PartSize {
    fn part_size(&self, unit: &Unit, part: &Missing) -> u64;
}

/// Parameters of a window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowConfig {
    /// AM_Window_Size.
    pub(crate) size: usize,
    /// Memory is reserved for this many units.
    pub(crate) reserved: usize,
    pub(crate) t_poll_retransmit: Duration,
    pub(crate) poll_pdu: Option<u32>,
    pub(crate) poll_byte: Option<Bytes>,
    pub(crate) max_retx: u8,
}

/// Memory is reserved for this many parts with the first STATUS PDU.
const PARTS_RESERVED: usize = 128;

/// The window, with the retransmission buffer and the state of polls.
#[derive(Debug)]
pub(crate) struct Window<S> {
    config: WindowConfig,
    sizes: S,
    /// The first sequence number that is not acknowledged: VT(A), TX_Next_Ack.
    first: u32,
    units: Ring<Unit>,
    /// The retransmission buffer, in the order of the stream, and a spare one.
    again: VecDeque<Missing>,
    spare: VecDeque<Missing>,
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

impl<S: PartSize> Window<S> {
    pub(crate) fn new(config: WindowConfig, sizes: S) -> Self {
        Self {
            config,
            sizes,
            first: 0,
            units: Ring::new(config.reserved),
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

    #[inline]
    pub(crate) fn sizes(&self) -> &S {
        &self.sizes
    }

    /// The first sequence number that is not acknowledged.
    #[inline]
    pub(crate) fn first(&self) -> u32 {
        self.first
    }

    /// One past the last sequence number in the window.
    #[inline]
    pub(crate) fn next(&self) -> u32 {
        self.first + self.units.len() as u32
    }

    #[inline]
    pub(crate) fn unit(&self, sn: u32) -> &Unit {
        &self.units[(sn - self.first) as usize]
    }

    #[inline]
    fn unit_mut(&mut self, sn: u32) -> &mut Unit {
        &mut self.units[(sn - self.first) as usize]
    }

    /// The first unit that is not acknowledged.
    #[inline]
    pub(crate) fn front(&self) -> Option<&Unit> {
        self.units.front()
    }

    /// True if no new unit may be sent before the first one is acknowledged.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.units.len() >= self.config.size
    }

    /// When t-PollRetransmit expires.
    #[inline]
    pub(crate) fn next_timeout(&self) -> Instant {
        self.poll_until
    }

    /// The part to retransmit next.
    #[inline]
    pub(crate) fn next_part(&self) -> Option<Missing> {
        self.again.front().copied()
    }

    /// Number of parts to retransmit, and the size of their PDUs.
    #[inline]
    pub(crate) fn to_retransmit(&self) -> (usize, u64) {
        (self.again.len(), self.again_bytes)
    }

    /// How often a unit reached maxRetxThreshold.
    pub(crate) fn failures(&self) -> u64 {
        self.failures
    }

    /// Takes up a unit whose transmission begins.
    #[inline]
    pub(crate) fn push(&mut self, unit: Unit) {
        self.units.push_back(unit);
    }

    /// A PDU with this much new data is sent: counts it, and polls after pollPDU and pollByte.
    #[inline]
    pub(crate) fn count(&mut self, len: u32) {
        self.pdus_without_poll += 1;
        self.bytes_without_poll += u64::from(len);
        self.poll_due |= self.config.poll_pdu.is_some_and(|limit| self.pdus_without_poll >= limit)
            || self.config.poll_byte.is_some_and(|limit| self.bytes_without_poll >= limit.get());
    }

    /// Whether the PDU that is sent now polls: if a poll is due, or if nothing can be sent after it.
    #[inline]
    pub(crate) fn poll(&mut self, now: Instant, is_source_empty: bool, is_stalled: bool) -> bool {
        let is_empty = self.again.is_empty() && is_source_empty;
        let polls = self.poll_due || is_empty || is_stalled;
        if polls {
            self.poll_due = false;
            self.pdus_without_poll = 0;
            self.bytes_without_poll = 0;
            self.poll_sn = self.next() - 1;
            self.poll_until = now.saturating_add(self.config.t_poll_retransmit);
        }
        polls
    }

    /// The part to retransmit next was sent up to `end`.
    pub(crate) fn retransmitted(&mut self, end: u32) {
        let front = self.again.pop_front().expect("it was sent");
        self.again_bytes -= self.part_size(&front);
        if end < front.to {
            let rest = Missing { from: end, ..front };
            self.again_bytes += self.part_size(&rest);
            self.again.push_front(rest);
        } else if self.again.front().is_none_or(|next| next.sn != front.sn) {
            self.unit_mut(front.sn).state = State::Sent;
        }
    }

    fn part_size(&self, part: &Missing) -> u64 {
        self.sizes.part_size(self.unit(part.sn), part)
    }

    /// Receives a report that lists `missing` below `ack_sn`; the stream was sent up to `position`. Calls `release` for
    /// each unit that leaves the window.
    pub(crate) fn receive_report(
        &mut self,
        ack_sn: u32,
        missing: impl Iterator<Item = Missing> + Clone,
        position: u64,
        mut release: impl FnMut(),
    ) {
        assert!(ack_sn <= self.next(), "acknowledged what was never sent");
        if self.poll_sn < ack_sn {
            self.poll_until = Instant::FAR_FUTURE;
        }
        if self.spare.capacity() == 0 {
            self.spare.reserve(PARTS_RESERVED);
            self.again.reserve(PARTS_RESERVED);
        }
        let is_clear = missing.clone().next().is_none();
        if !is_clear || !self.again.is_empty() {
            self.acknowledge(ack_sn, missing.clone());
            self.schedule(missing, position);
        }
        // A clear report acknowledges all below ACK_SN.
        while self.units.front().is_some_and(|unit| unit.state == State::Acknowledged)
            || is_clear && self.first < ack_sn
        {
            self.units.pop_front();
            self.first += 1;
            release();
        }
    }

    /// Acknowledges the units that the report does not list as missing.
    fn acknowledge(&mut self, ack_sn: u32, missing: impl Iterator<Item = Missing>) {
        let mut missing = missing.map(|part| part.sn).peekable();
        for sn in self.first..ack_sn {
            while missing.next_if(|&listed| listed < sn).is_some() {}
            if missing.peek() != Some(&sn) {
                self.unit_mut(sn).state = State::Acknowledged;
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
            let unit = *self.unit(part.sn);
            // Bytes that were never sent are not lost.
            let to = part.to.min(unit.sent(position));
            if unit.state == State::Acknowledged || part.from >= to {
                continue;
            }
            if unit.state != State::Pending && considered != Some(part.sn) {
                self.consider(part.sn);
            }
            considered = Some(part.sn);
            let new = Missing { to, ..part };
            while old.front().is_some_and(|o| (o.sn, o.from) <= (new.sn, new.from)) {
                append(&mut merged, old.pop_front().expect("just seen"));
            }
            append(&mut merged, new);
        }
        for o in old.drain(..) {
            append(&mut merged, o);
        }
        self.spare = old;
        merged.retain(|part| self.unit(part.sn).state != State::Acknowledged);
        self.again_bytes = merged.iter().map(|part| self.part_size(part)).sum();
        for part in &merged {
            self.units[(part.sn - self.first) as usize].state = State::Pending;
        }
        self.again = merged;
    }

    /// Counts RETX_COUNT, and informs the upper layers at the threshold.
    fn consider(&mut self, sn: u32) {
        let threshold = self.config.max_retx;
        let unit = self.unit_mut(sn);
        let count = unit.considered;
        unit.considered = count.saturating_add(1);
        self.failures += u64::from(count == threshold);
    }

    /// t-PollRetransmit has expired: polls again, with a unit that was sent before if there is nothing else to carry
    /// the poll (TS 36.322 v17.0 §5.2.2.3, TS 38.322 v18.2.0 §5.3.3.4).
    pub(crate) fn handle_timeout(&mut self, now: Instant, is_source_empty: bool, is_stalled: bool) {
        let waits = !self.units.is_empty() && self.again.is_empty();
        // A PDU without a poll was to be followed by SDUs that were then discarded; the missing poll is sent here.
        let forsaken = waits && is_source_empty && self.poll_until == Instant::FAR_FUTURE;
        if self.poll_until > now && !forsaken {
            return;
        }
        self.poll_until = Instant::FAR_FUTURE;
        self.poll_due = true;
        if waits && (is_source_empty || is_stalled) {
            let last = self.next() - 1;
            let sn = if self.unit(last).state == State::Acknowledged { self.first } else { last };
            self.consider(sn);
            let unit = self.unit_mut(sn);
            unit.state = State::Pending;
            let part = Missing { sn, from: 0, to: unit.len };
            self.again_bytes += self.part_size(&part);
            self.again.push_back(part);
        }
    }

    /// True if all of `[from, to)` of the stream has been sent, up to `sent`, and acknowledged.
    pub(crate) fn has_confirmed(&self, from: u64, to: u64, sent: u64) -> bool {
        let first = self.units.partition_point(|unit| unit.end() <= from);
        let mut units = self.units.iter_from(first).take_while(|unit| unit.from < to);
        to <= sent && units.all(|unit| unit.state == State::Acknowledged)
    }

    /// Re-establishment (TS 36.322 v17.0 §5.4, TS 38.322 v18.2.0 §5.1.2): no units, no timers. Returns the next
    /// sequence number, with which the receiver starts.
    pub(crate) fn reestablish(&mut self) -> u32 {
        self.first = self.next();
        self.units.clear();
        self.again.clear();
        self.again_bytes = 0;
        self.poll_until = Instant::FAR_FUTURE;
        self.poll_due = false;
        self.pdus_without_poll = 0;
        self.bytes_without_poll = 0;
        self.first
    }
}

/// Appends to a buffer in the order of the stream, joining overlapping parts.
fn append(buffer: &mut VecDeque<Missing>, next: Missing) {
    match buffer.back_mut() {
        Some(back) if back.sn == next.sn && next.from <= back.to => back.to = back.to.max(next.to),
        _ => buffer.push_back(next),
    }
}
