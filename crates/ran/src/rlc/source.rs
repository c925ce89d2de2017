//! The source of a transmitter's new data: SDUs that have to be sent again after a
//! re-establishment, the queue of untouched SDUs, and the stream of SDUs whose transmission has
//! begun.

use std::collections::VecDeque;

use airlane_core::{Cx, Instant, PacketRef};

use super::nr::header::Headers;
use super::queue::TransmitQueue;
use super::store::{CONTROL, Filled, Layout, SduStore};
use crate::bearers::DEFAULT_BEARER;
use crate::pdcp::{NumberedSdu, RetransmissionQueue};

/// The bound of the retransmission queue, which an SDU must meet to get its COUNT.
#[derive(Clone, Copy, Debug)]
struct Gate {
    /// Bytes; [`RetransmissionQueue::UNLIMITED`] for none.
    limit: u64,
    shares_buffer: bool,
    holds_waiting: bool,
    /// The largest SDU so far. While an SDU of this size would not fit, none is admitted, so that
    /// the bound applies to any order of the discipline.
    largest: u32,
}

/// An SDU to be sent again with its previous COUNT.
#[derive(Debug)]
struct Again {
    count: u32,
    size: u32,
    packet: Option<PacketRef>,
    since: Instant,
}

/// The content of a PDU of NR: an SDU, or a segment of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Its first byte in the stream.
    pub(crate) from: u64,
    /// Bytes of the data field, and of the header.
    pub(crate) len: u32,
    pub(crate) header: u32,
    /// It begins, or ends, with the SDU.
    pub(crate) first: bool,
    pub(crate) last: bool,
    /// Bytes of the SDU that were unsent before.
    pub(crate) rest: u32,
}

/// SDUs to be sent again, untouched SDUs, begun SDUs, and the position in the stream.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) queue: TransmitQueue,
    pub(crate) sdus: SduStore,
    /// The next byte to send for the first time.
    sent: u64,
    /// When the SDU that is being sent entered the queue.
    begun_since: Instant,
    gate: Gate,
    /// SDUs that had a COUNT before a re-establishment and were not confirmed, in the order of
    /// COUNT, behind a control PDU of PDCP.
    again: VecDeque<Again>,
    again_bytes: u64,
    sn_bits: u8,
}

impl Source {
    pub(crate) fn new(queue: TransmitQueue, bound: Option<RetransmissionQueue>, sn_bits: u8) -> Self {
        let gate = match bound {
            Some(queue) => Gate {
                limit: queue.limit.get(),
                // An SDU that waits for its first byte and has a COUNT moves from one queue to the
                // other without a further check; the limits of both add up then.
                shares_buffer: queue.shares_buffer || queue.holds_waiting,
                holds_waiting: queue.holds_waiting,
                largest: 0,
            },
            None => Gate {
                limit: RetransmissionQueue::UNLIMITED.get(),
                shares_buffer: false,
                holds_waiting: false,
                largest: 0,
            },
        };
        Self {
            queue,
            sdus: SduStore::default(),
            sent: 0,
            begun_since: Instant::ZERO,
            gate,
            again: VecDeque::new(),
            again_bytes: 0,
            sn_bits,
        }
    }

    /// Adds an SDU. Returns true if this closes the gate for SDUs that already wait.
    #[inline]
    pub(crate) fn submit(&mut self, cx: &mut Cx<'_>, packet: PacketRef) -> bool {
        if self.is_bounded() {
            return self.submit_bounded(cx, packet);
        }
        let begun = self.begun();
        self.queue.enqueue(cx, packet, begun);
        false
    }

    /// Bytes of SDUs that are certain to be stored whenever they arrive, if no others do.
    #[inline]
    pub(crate) fn certain_room(&self) -> u64 {
        let room = if self.is_bounded() { None } else { self.queue.certain_room() };
        room.map_or(0, |room| room.get().saturating_sub(self.begun()))
    }

    fn submit_bounded(&mut self, cx: &mut Cx<'_>, packet: PacketRef) -> bool {
        let size = self.queue.size_of(cx.pool.get(&packet).size);
        let closing = size > self.gate.largest;
        self.gate.largest = self.gate.largest.max(size);
        let ahead = if self.gate.shares_buffer { self.unconfirmed() } else { self.begun() };
        self.queue.enqueue(cx, packet, ahead);
        closing
    }

    /// True if the retransmission queue has a bound.
    #[inline]
    pub(crate) fn is_bounded(&self) -> bool {
        self.gate.limit != RetransmissionQueue::UNLIMITED.get()
    }

    /// Bits of PDCP's sequence numbers.
    pub(crate) fn sn_bits(&self) -> u8 {
        self.sn_bits
    }

    /// Bytes of SDUs that have a COUNT and are not confirmed.
    #[inline]
    pub(crate) fn unconfirmed(&self) -> u64 {
        self.sdus.unconfirmed() + self.again_bytes
    }

    /// Bytes of waiting SDUs that the retransmission queue holds in addition to unconfirmed ones.
    pub(crate) fn held_of_waiting(&self) -> u64 {
        if self.gate.holds_waiting { self.gate.limit.saturating_sub(self.unconfirmed()) } else { 0 }
    }

    /// Bytes of waiting SDUs whose transmission may begin now.
    #[inline]
    fn admissible(&self) -> u64 {
        if self.is_bounded() { self.admissible_bounded() } else { self.queue.backlog() }
    }

    fn admissible_bounded(&self) -> u64 {
        let (unconfirmed, largest) = (self.unconfirmed(), u64::from(self.gate.largest));
        if unconfirmed > 0 && unconfirmed + largest > self.gate.limit {
            return 0;
        }
        // In SDUs of the largest size; more of smaller ones would fit.
        let places = self.gate.limit.saturating_sub(unconfirmed).checked_div(largest).unwrap_or(0).max(1);
        self.queue.backlog().min(places * largest)
    }

    /// The next byte to send for the first time.
    #[inline]
    pub(crate) fn position(&self) -> u64 {
        self.sent
    }

    /// Unsent bytes of the SDU that is being sent.
    #[inline]
    pub(crate) fn begun(&self) -> u64 {
        self.sdus.end() - self.sent
    }

    /// Bytes not sent since the last re-establishment.
    #[inline]
    pub(crate) fn backlog(&self) -> u64 {
        self.queue.backlog() + self.begun() + self.again_bytes
    }

    /// True if there is no data for a first transmission.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.begun() == 0 && self.again_bytes == 0 && self.admissible() == 0
    }

    /// The arrival time of the oldest byte that was never sent.
    #[inline]
    pub(crate) fn head_since(&self) -> Option<Instant> {
        if self.begun() > 0 {
            return Some(self.begun_since);
        }
        self.again.front().map(|again| again.since).or_else(|| self.queue.head_since())
    }

    /// The size of the one PDU that would carry everything.
    #[inline]
    pub(crate) fn pdu_estimate(&self, fixed: u32) -> u64 {
        let (begun, admissible) = (self.begun(), self.admissible());
        let waiting = match self.is_bounded() {
            // Not all waiting SDUs: the smallest number that contains this many bytes.
            true => admissible.div_ceil(u64::from(self.gate.largest.max(1))),
            false => self.queue.len() as u64,
        };
        let elements = waiting + self.again.len() as u64 + u64::from(begun > 0);
        if elements == 0 {
            return 0;
        }
        let indicators = (3 * (elements - 1)).div_ceil(2); // as `length_indicators`, for any count
        admissible + begun + self.again_bytes + u64::from(fixed) + indicators
    }

    /// Fills a PDU of `space` bytes with new data; `None` if there is none or no room for a byte.
    #[inline]
    pub(crate) fn fill(&mut self, cx: &mut Cx<'_>, space: u32, fixed: u32) -> Option<Filled> {
        let mut layout = Layout::new(space, fixed);
        let mut rest = u32::try_from(self.begun()).expect("less than one SDU");
        while layout.room() > 0 {
            if rest == 0 {
                let Some(size) = self.begin_next(cx) else { break };
                rest = size;
            }
            layout.add(rest);
            rest = 0;
        }
        let filled = layout.finish()?;
        self.sent += u64::from(filled.len);
        debug_assert!(self.sent <= self.sdus.end(), "sent what was never there");
        debug_assert!(filled.header + filled.len <= space, "a PDU larger than its grant");
        Some(filled)
    }

    /// Takes the next SDU for a PDU of its own and returns its size; `None` if there is none or it
    /// exceeds `space` bytes.
    #[inline]
    pub(crate) fn fill_whole(&mut self, cx: &mut Cx<'_>, space: u32) -> Option<u32> {
        let len = match self.begun() {
            0 if space > 0 => self.begin_next(cx)?,
            begun => u32::try_from(begun).expect("less than one SDU"),
        };
        (0 < len && len <= space).then(|| {
            self.sent += u64::from(len);
            len
        })
    }

    /// Takes the next SDU, or the rest of the one that has begun, for a PDU of its own (TS 38.322 v18.2.0 §5.2.2.1.1,
    /// §5.2.3.1.1), segmented if it exceeds `space` bytes with its header; `None` if there is none or no room for a
    /// byte.
    #[inline]
    pub(crate) fn fill_part(&mut self, cx: &mut Cx<'_>, space: u32, headers: Headers) -> Option<Part> {
        let (from, begun) = (self.sent, self.begun());
        let (rest, first) = match begun {
            0 if space > headers.first => (self.begin_next(cx)?, true),
            0 => return None,
            begun => (u32::try_from(begun).expect("less than one SDU"), false),
        };
        let header = match first {
            true if rest + headers.whole <= space => headers.whole,
            true => headers.first,
            false => headers.rest,
        };
        let len = rest.min(space.saturating_sub(header));
        self.sent += u64::from(len);
        (len > 0).then_some(Part { from, len, header, first, last: len == rest, rest })
    }

    /// The size of the PDUs that would carry everything, each with one SDU and with `overhead` bytes of the MAC.
    #[inline]
    pub(crate) fn parts_estimate(&self, headers: Headers, overhead: u32) -> u64 {
        let admissible = self.admissible();
        let waiting = match self.is_bounded() {
            true => admissible.div_ceil(u64::from(self.gate.largest.max(1))),
            false => self.queue.len() as u64,
        };
        let sdus = waiting + self.again.len() as u64;
        let each = u64::from(headers.whole + overhead);
        admissible + self.again_bytes + sdus * each + self.begun_estimate(headers, overhead)
    }

    /// The size of the PDU that would carry the rest of an SDU of which a part was sent.
    #[inline]
    pub(crate) fn begun_estimate(&self, headers: Headers, overhead: u32) -> u64 {
        match self.begun() {
            0 => 0,
            begun => begun + u64::from(headers.rest + overhead),
        }
    }

    /// Number of waiting SDUs, including the one that has begun.
    #[inline]
    pub(crate) fn waiting(&self) -> u64 {
        self.queue.len() as u64 + u64::from(self.begun() > 0)
    }

    /// Appends the next SDU to the stream.
    #[inline]
    fn begin_next(&mut self, cx: &mut Cx<'_>) -> Option<u32> {
        if self.again_bytes > 0 {
            return self.begin_again();
        }
        if self.is_bounded() && self.admissible() == 0 {
            return None;
        }
        let head = self.queue.dequeue(cx)?;
        self.begun_since = head.since;
        self.sdus.push(head.packet, head.size);
        debug_assert!(
            !self.is_bounded()
                || self.unconfirmed() <= self.gate.limit
                || self.unconfirmed() == u64::from(head.size),
            "the retransmission queue is over its bound"
        );
        Some(head.size)
    }

    #[cold]
    fn begin_again(&mut self) -> Option<u32> {
        let next = self.again.pop_front()?;
        self.again_bytes -= u64::from(next.size);
        self.begun_since = next.since;
        self.sdus.push_numbered(next.packet, next.size, next.count);
        Some(next.size)
    }

    /// Packets held, at both ends.
    pub(crate) fn packets_held(&self) -> usize {
        let again = self.again.iter().filter(|again| again.packet.is_some()).count();
        self.queue.len() + self.sdus.held() + again
    }

    /// Number of SDUs to be sent again.
    pub(crate) fn again_len(&self) -> usize {
        self.again.len()
    }

    /// Inserts an SDU that has a COUNT at its place among those to be sent again.
    pub(crate) fn send_again(&mut self, now: Instant, count: u32, size: u32, packet: Option<PacketRef>) {
        let is_before = |other: &Again| other.count == CONTROL || other.count < count;
        let index = self.again.partition_point(is_before);
        self.again.insert(index, Again { count, size, packet, since: now });
        self.again_bytes += u64::from(size);
    }

    /// Sends a control PDU of PDCP before all else.
    pub(crate) fn send_control(&mut self, now: Instant, size: u32) {
        self.again.push_front(Again { count: CONTROL, size, packet: None, since: now });
        self.again_bytes += u64::from(size);
    }

    /// Removes the SDUs that were still to be sent again, without control PDUs.
    pub(crate) fn drain_again(&mut self, mut take: impl FnMut(u32, NumberedSdu)) {
        self.again_bytes = 0;
        for Again { count, size, packet, .. } in self.again.drain(..).filter(|a| a.count != CONTROL) {
            take(count, NumberedSdu { e_rab: DEFAULT_BEARER, count: Some(count), size, packet });
        }
    }

    /// Removes the SDUs that the receiver confirms, and returns their number. It also confirms SDUs that it has given up,
    /// whose packets are still here; they are appended to `given_up`.
    pub(crate) fn spare(&mut self, confirms: impl Fn(u32) -> bool, given_up: &mut Vec<PacketRef>) -> u64 {
        let before = self.again.len();
        let mut spared_bytes = 0;
        self.again.retain_mut(|again| {
            let spared = again.count != CONTROL && confirms(again.count);
            if spared {
                given_up.extend(again.packet.take());
                spared_bytes += u64::from(again.size);
            }
            !spared
        });
        self.again_bytes -= spared_bytes;
        (before - self.again.len()) as u64
    }

    /// The stream continues after the SDUs that were begun and removed.
    pub(crate) fn restart(&mut self) {
        self.sent = self.sdus.end();
    }
}
