//! The receiving side of acknowledged mode (TS 36.322 v17.0 §5.1.3.2, §5.2.3).

use airlane_core::ring::Ring;
use airlane_core::{Instant, PacketRef};

use super::super::header;
use super::super::store::{Ranges, SduStore};
use super::super::{DataPdu, StatusPdu};
use super::AmConfig;
use super::status::Reports;
use crate::rlc::window::{Missing, OPEN_END};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Missing,
    Partial,
    Complete,
}

/// An AMD PDU in the reception buffer.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// Start of its data field in the stream; unknown while it is missing.
    from: u64,
    /// Length of its data field; 0 while unknown.
    len: u32,
    state: State,
    /// It polled, and VR(MS) delays the STATUS PDU.
    polled: bool,
}

impl Slot {
    fn end(&self) -> u64 {
        self.from + u64::from(self.len)
    }
}

/// Memory is reserved for this many segments when the first poll is handled.
const RECEIVED_RESERVED: usize = 64;

/// Bytes of the stream that were received in segments of one AMD PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Received {
    sn: u32,
    from: u64,
    to: u64,
}

/// The receiving side.
#[derive(Debug)]
pub(crate) struct Receiver {
    config: AmConfig,
    /// VR(R): the first sequence number that has not been received completely.
    first_missing: u32,
    /// VR(MS): the highest ACK_SN that a STATUS PDU may have.
    status_limit: u32,
    /// From VR(R) to VR(H), which is one past the highest sequence number of which anything was
    /// received.
    slots: Ring<Slot>,
    /// The received parts of incomplete PDUs, in the order of the stream.
    received: Vec<Received>,
    /// Slots that are not complete.
    incomplete: u32,
    /// VR(X), and when t-Reordering expires; `FAR_FUTURE` while it does not run.
    reordering_sn: u32,
    reordering_until: Instant,
    /// A STATUS PDU is due, but not before t-StatusProhibit has expired.
    triggered: bool,
    prohibited_until: Instant,
    /// When the bearer must be informed that a STATUS PDU is possible; `FAR_FUTURE` if none is due.
    wake_at: Instant,
}

impl Receiver {
    pub(crate) fn new(config: &AmConfig) -> Self {
        Self {
            config: *config,
            first_missing: 0,
            status_limit: 0,
            slots: Ring::new(config.reserved()),
            received: Vec::new(),
            incomplete: 0,
            reordering_sn: 0,
            reordering_until: Instant::FAR_FUTURE,
            triggered: false,
            prohibited_until: Instant::ZERO,
            wake_at: Instant::FAR_FUTURE,
        }
    }

    /// VR(R).
    pub(crate) fn first_missing(&self) -> u32 {
        self.first_missing
    }

    /// Adds the ranges of the stream that were received beyond a gap.
    pub(crate) fn add_received(&self, ranges: &mut Ranges) {
        for (sn, slot) in (self.first_missing..).zip(self.slots.iter()) {
            match slot.state {
                State::Missing => {}
                State::Complete => ranges.add(slot.from, slot.end()),
                State::Partial => {
                    let pieces = self.received.iter().filter(|r| r.sn == sn);
                    pieces.for_each(|piece| ranges.add(piece.from, piece.to));
                }
            }
        }
    }

    /// Re-establishment (TS 36.322 v17.0 §5.4): no PDUs, no timers. Sequence numbers continue with
    /// the transmitter's next, since only their differences matter; a PDU that was on the air
    /// before then counts as old.
    pub(crate) fn reestablish(&mut self, next_sn: u32) {
        self.first_missing = next_sn;
        self.status_limit = next_sn;
        self.slots.clear();
        self.received.clear();
        self.incomplete = 0;
        self.reordering_until = Instant::FAR_FUTURE;
        self.triggered = false;
        self.prohibited_until = Instant::ZERO;
        self.wake_at = Instant::FAR_FUTURE;
    }

    /// When t-Reordering expires, or t-StatusProhibit if it delays a STATUS PDU.
    #[inline]
    pub(crate) fn next_timeout(&self) -> Instant {
        self.reordering_until.min(self.wake_at)
    }

    /// Receives a data PDU. SDUs that are complete and in order are delivered.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        now: Instant,
        sdus: &mut SduStore,
        pdu: &DataPdu,
        deliver: &mut Vec<PacketRef>,
    ) {
        if pdu.sn == self.first_missing && self.slots.is_empty() && !pdu.segment {
            // Nothing is missing, so VR(MS) = VR(H) = VR(R) and t-Reordering does not run.
            self.first_missing += 1;
            self.status_limit = self.first_missing;
            sdus.deliver_until(pdu.end(), deliver);
            if pdu.poll {
                self.trigger(now);
            }
            return;
        }
        self.receive_out_of_order(now, sdus, pdu, deliver);
    }

    /// TS 36.322 v17.0 §5.1.3.2.2, §5.1.3.2.3.
    fn receive_out_of_order(
        &mut self,
        now: Instant,
        sdus: &mut SduStore,
        pdu: &DataPdu,
        deliver: &mut Vec<PacketRef>,
    ) {
        if pdu.poll && pdu.sn < self.status_limit {
            self.trigger(now); // §5.2.3, also for a PDU that is discarded
        }
        let Some(index) = pdu.sn.checked_sub(self.first_missing) else {
            return;
        };
        let index = index as usize;
        assert!(index < self.config.window(), "the transmitter keeps to the window");
        if index >= self.slots.len() {
            self.incomplete += (index + 1 - self.slots.len()) as u32;
            self.slots.extend_to(index + 1);
        }
        self.slots[index].polled |= pdu.poll;
        self.place(index, pdu);
        self.advance_status_limit(now);
        let mut position = None;
        while let Some(slot) = self.slots.front().filter(|slot| slot.state == State::Complete) {
            position = Some(slot.end());
            self.slots.pop_front();
            self.first_missing += 1;
        }
        if let Some(position) = position {
            sdus.deliver_until(position, deliver);
        }
        // VR(X) cannot be above the window: it was VR(H) once.
        if self.reordering_sn <= self.first_missing {
            self.reordering_until = Instant::FAR_FUTURE;
        }
        if self.reordering_until == Instant::FAR_FUTURE && !self.slots.is_empty() {
            self.start_reordering(now);
        }
    }

    /// Stores a PDU, or a segment of one, in its slot.
    fn place(&mut self, index: usize, pdu: &DataPdu) {
        let slot = &mut self.slots[index];
        if slot.state == State::Complete {
            return;
        }
        slot.from = pdu.from - u64::from(pdu.offset);
        if !pdu.segment || pdu.last {
            slot.len = pdu.offset + pdu.len;
        }
        let slot = *slot;
        let complete = if pdu.segment {
            let (from, to) = self.merge(Received { sn: pdu.sn, from: pdu.from, to: pdu.end() });
            slot.len > 0 && (from, to) == (slot.from, slot.end())
        } else {
            true
        };
        if complete {
            if slot.state == State::Partial || pdu.segment {
                self.received.retain(|r| r.sn != pdu.sn);
            }
            self.incomplete -= 1;
            self.slots[index].state = State::Complete;
        } else {
            self.slots[index].state = State::Partial;
        }
    }

    /// Joins a received part with the adjacent ones of the same PDU, and returns the joint range.
    fn merge(&mut self, new: Received) -> (u64, u64) {
        let low = self.received.partition_point(|r| (r.sn, r.to) < (new.sn, new.from));
        let touching = self.received[low..].iter().take_while(|r| r.sn == new.sn && r.from <= new.to);
        let (mut joined, mut count) = (new, 0);
        for r in touching {
            joined = Received { sn: new.sn, from: joined.from.min(r.from), to: joined.to.max(r.to) };
            count += 1;
        }
        if count == 0 {
            self.received.insert(low, joined);
        } else {
            self.received[low] = joined;
            self.received.drain(low + 1..low + count);
        }
        (joined.from, joined.to)
    }

    /// Moves VR(MS) over complete PDUs; a poll that it passes is answered.
    fn advance_status_limit(&mut self, now: Instant) {
        let mut polled = false;
        while let Some(slot) = self.slots.get((self.status_limit - self.first_missing) as usize) {
            if slot.state != State::Complete {
                break;
            }
            polled |= slot.polled;
            self.status_limit += 1;
        }
        if polled {
            self.trigger(now);
        }
    }

    fn start_reordering(&mut self, now: Instant) {
        self.reordering_sn = self.highest();
        self.reordering_until = now.saturating_add(self.config.t_reordering);
    }

    /// VR(H).
    fn highest(&self) -> u32 {
        self.first_missing + self.slots.len() as u32
    }

    /// t-Reordering has expired (TS 36.322 v17.0 §5.1.3.2.4), or t-StatusProhibit.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if self.reordering_until <= now {
            self.reordering_until = Instant::FAR_FUTURE;
            self.status_limit = self.status_limit.max(self.reordering_sn);
            self.advance_status_limit(now);
            if self.highest() > self.status_limit {
                self.start_reordering(now);
            }
            self.trigger(now);
        }
        if self.wake_at <= now {
            self.wake_at = Instant::FAR_FUTURE;
        }
    }

    #[inline]
    fn trigger(&mut self, now: Instant) {
        if self.received.capacity() == 0 {
            // Reserved here, so that a loss after warm-up does not allocate.
            self.received.reserve(RECEIVED_RESERVED);
            self.slots.warm_up();
        }
        self.triggered = true;
        if now < self.prohibited_until {
            self.wake_at = self.prohibited_until;
        }
    }

    /// The maximum size of the STATUS PDU that may be sent now; 0 if there is none.
    #[inline]
    pub(crate) fn status_estimate(&self, now: Instant) -> u32 {
        if !self.triggered || now < self.prohibited_until {
            return 0;
        }
        // A PDU of which k parts were received can have k + 1 missing parts.
        let pieces = self.received.len() as u32;
        header::status(self.config.sn_bits, self.incomplete + pieces, 2 * pieces)
    }

    /// Writes a STATUS PDU of at most `space` bytes, if one is due (TS 36.322 v17.0 §5.2.3).
    #[inline]
    pub(crate) fn status(&mut self, now: Instant, space: u32, reports: &mut Reports) -> Option<StatusPdu> {
        if !self.triggered || now < self.prohibited_until || space < header::status(self.config.sn_bits, 0, 0)
        {
            return None;
        }
        self.triggered = false;
        self.wake_at = Instant::FAR_FUTURE;
        self.prohibited_until = now.saturating_add(self.config.t_status_prohibit);
        Some(self.write_status(space, reports))
    }

    /// Lists the missing ranges below VR(MS) that fit. ACK_SN is the next sequence number that is
    /// missing and not listed.
    fn write_status(&self, space: u32, reports: &mut Reports) -> StatusPdu {
        reports.begin();
        let mut with_offsets = 0;
        let mut list = |reports: &mut Reports, nack: Missing| {
            let grown = with_offsets + u32::from(nack.is_partial());
            let fits = header::status(self.config.sn_bits, reports.listed() + 1, grown) <= space;
            if fits {
                with_offsets = grown;
                reports.add(nack);
            }
            fits
        };
        let mut ack_sn = self.status_limit;
        for (sn, slot) in (self.first_missing..self.status_limit).zip(self.slots.iter()) {
            let before = reports.listed();
            let listed = match slot.state {
                State::Complete => true,
                State::Missing => list(reports, Missing::whole(sn)),
                State::Partial => {
                    let listed = self.gaps(sn, slot).all(|nack| list(reports, nack));
                    // Without room for one pair of offsets, the only way to request anything is to
                    // request the whole PDU.
                    if !listed && reports.listed() == 0 {
                        list(reports, Missing::whole(sn));
                    }
                    listed
                }
            };
            if !listed {
                ack_sn = if reports.listed() > before { sn + 1 } else { sn };
                break;
            }
        }
        let nacks = reports.listed();
        reports.finish(ack_sn, header::status(self.config.sn_bits, nacks, with_offsets))
    }

    /// The missing ranges of an incomplete PDU.
    fn gaps<'a>(&'a self, sn: u32, slot: &'a Slot) -> impl Iterator<Item = Missing> + 'a {
        let low = self.received.partition_point(|r| r.sn < sn);
        let pieces = self.received[low..].iter().take_while(move |r| r.sn == sn);
        let offset = |at: u64| u32::try_from(at - slot.from).expect("within a PDU");
        let ends = core::iter::once(slot.from).chain(pieces.clone().map(|r| r.to));
        let starts = pieces.map(|r| Some(r.from)).chain(core::iter::once(None));
        ends.zip(starts).filter_map(move |(from, to)| {
            let nack = match to {
                Some(to) => Missing { sn, from: offset(from), to: offset(to) },
                None if slot.len > 0 => Missing { sn, from: offset(from), to: slot.len },
                None => Missing { sn, from: offset(from), to: OPEN_END },
            };
            (nack.from < nack.to).then_some(nack)
        })
    }
}
