//! The SDUs of one direction that have been sent in part or completely, as one stream of bytes.

use airlane_core::PacketRef;
use airlane_core::ring::Ring;

use super::header::{LENGTH_INDICATOR_MAX, length_indicators};
use crate::pdcp::reception::Reception;

/// One SDU (with its PDCP header) and its position in the stream.
#[derive(Debug, Default)]
struct Entry {
    /// `None` once the packet was delivered or discarded.
    packet: Option<PacketRef>,
    /// PDCP header and SDU.
    len: u32,
    /// COUNT (TS 36.323 v17.0 §6.3.5), or [`CONTROL`].
    count: u32,
    /// Its first byte.
    start: u64,
}

/// Replaces the COUNT if the SDU of RLC is a control PDU of PDCP: a status report.
pub(crate) const CONTROL: u32 = u32::MAX;

impl Entry {
    fn end(&self) -> u64 {
        self.start + u64::from(self.len)
    }
}

/// SDUs in the order of their COUNT, as a stream without gaps. An SDU is added when its first byte
/// is about to be sent, so SDUs dropped before are not part of the stream.
///
/// Both ends use it. The transmitter appends at the back. The receiver removes packets in the
/// middle, at the position of its reassembly. Entries at the front are removed when neither end
/// needs them.
#[derive(Debug)]
pub(crate) struct SduStore {
    entries: Ring<Entry>,
    /// Entries before this one have no packet.
    open: usize,
    /// Next_PDCP_TX_SN with its hyper frame number (TS 36.323 v17.0 §7.1).
    next_count: u32,
    /// Where the next SDU will start.
    end: u64,
    /// Packets held.
    held: usize,
    /// Bytes of SDUs that are confirmed although an earlier one is not.
    confirmed_beyond: u64,
    /// PDCP at the receiver, which reorders after a re-establishment.
    pub(crate) reception: Reception,
}

/// Memory is reserved for this many SDUs of a bearer that carries data. In acknowledged mode an SDU stays
/// until a STATUS PDU confirms it: for t-Reordering and t-StatusProhibit (50 ms each in a typical
/// network) and the HARQ transmissions (32 ms); at seven SDUs per slot (20 MHz, one layer) these are 924.
/// The queue before them holds 375 SDUs of 1400 bytes in 512 KiB. The size of a ring is a power of two.
const RESERVED: usize = 2048;

impl Default for SduStore {
    fn default() -> Self {
        Self {
            entries: Ring::new(RESERVED),
            open: 0,
            next_count: 0,
            end: 0,
            held: 0,
            confirmed_beyond: 0,
            reception: Reception::default(),
        }
    }
}

impl SduStore {
    /// Appends an SDU and gives it the next COUNT.
    #[inline]
    pub(crate) fn push(&mut self, packet: PacketRef, len: u32) {
        let count = self.next_count;
        self.next_count += 1;
        self.entries.push_back(Entry { packet: Some(packet), len, count, start: self.end });
        self.end += u64::from(len);
        self.held += 1;
    }

    /// Appends an SDU that already has a COUNT, without a packet if the receiver has it.
    pub(crate) fn push_numbered(&mut self, packet: Option<PacketRef>, len: u32, count: u32) {
        self.held += usize::from(packet.is_some());
        self.entries.push_back(Entry { packet, len, count, start: self.end });
        self.end += u64::from(len);
    }

    /// The COUNT of the SDU whose transmission begins next.
    pub(crate) fn next_count(&self) -> u32 {
        self.next_count
    }

    /// Sets the COUNT of the SDU whose transmission begins next.
    pub(crate) fn set_next_count(&mut self, count: u32) {
        self.next_count = count;
    }

    /// The COUNT that the receiver awaits, unless it is reordering.
    pub(crate) fn first_undelivered(&self) -> Option<u32> {
        self.entries.iter_from(self.open).map(|e| e.count).find(|&count| count != CONTROL)
    }

    /// Bytes of SDUs that have a COUNT and are not confirmed.
    #[inline]
    pub(crate) fn unconfirmed(&self) -> u64 {
        self.entries.front().map_or(0, |front| self.end - front.start) - self.confirmed_beyond
    }

    /// Finds the SDUs that are confirmed although an earlier one is not.
    pub(crate) fn update_confirmed_beyond(&mut self, is_confirmed: impl Fn(u64, u64) -> bool) {
        let confirmed = self.entries.iter().filter(|e| is_confirmed(e.start, e.end()));
        self.confirmed_beyond = confirmed.map(|e| u64::from(e.len)).sum();
    }

    /// Removes all SDUs in the order of the stream: whether each has been delivered, and the SDU
    /// with its position. The stream continues after them.
    pub(crate) fn drain(&mut self, out: &mut Vec<Drained>) {
        let open = core::mem::take(&mut self.open);
        while let Some(entry) = self.entries.pop_front() {
            let (from, to) = (entry.start, entry.end());
            out.push(Drained { count: entry.count, from, to, packet: entry.packet });
        }
        debug_assert!(out.iter().take(open).all(|sdu| sdu.packet.is_none()), "delivered with its packet");
        self.held = 0;
        self.confirmed_beyond = 0;
    }

    /// The end of the stream.
    #[inline]
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Packets held, including those that PDCP holds until it can deliver them in order.
    pub(crate) fn held(&self) -> usize {
        self.held + self.reception.held()
    }

    /// Delivers the SDUs that end at or before `position`, through PDCP if it is reordering. Their
    /// entries stay.
    #[inline]
    pub(crate) fn deliver_until(&mut self, position: u64, deliver: &mut Vec<PacketRef>) {
        while let Some(entry) = self.entries.get_mut(self.open) {
            if entry.end() > position {
                return;
            }
            self.open += 1;
            let (packet, count) = (entry.packet.take(), entry.count);
            self.held -= usize::from(packet.is_some());
            if self.reception.is_sorting() {
                self.reception.receive(count, packet, deliver);
            } else if let Some(packet) = packet {
                deliver.push(packet);
            }
        }
    }

    /// Removes the oldest packet that is still held, if its SDU ends at or before `position`. Its
    /// entry stays.
    #[inline]
    pub(crate) fn take_until(&mut self, position: u64) -> Option<PacketRef> {
        while let Some(entry) = self.entries.get_mut(self.open) {
            if entry.end() > position {
                return None;
            }
            self.open += 1;
            if let Some(packet) = entry.packet.take() {
                self.held -= 1;
                return Some(packet);
            }
        }
        None
    }

    /// Removes the packet of the SDU that contains the bytes before and at `position`, if it is
    /// still held.
    pub(crate) fn take_across(&mut self, position: u64) -> Option<PacketRef> {
        let entry = self.entries.get_mut(self.open)?;
        if entry.start >= position || entry.end() <= position {
            return None;
        }
        let packet = entry.packet.take();
        self.held -= usize::from(packet.is_some());
        packet
    }

    /// Removes the packet of the SDU that begins at `from`, in any order, and the entries at the
    /// front without packets.
    #[inline]
    pub(crate) fn take_at(&mut self, from: u64) -> Option<PacketRef> {
        let index = self.entries.partition_point(|e| e.end() <= from);
        let packet = self.entries.get_mut(index).filter(|e| e.start == from)?.packet.take()?;
        self.held -= 1;
        self.release_taken();
        Some(packet)
    }

    /// The index of the SDU that begins at `from`, if its entry is still there. PDUs mostly arrive in the order of the
    /// stream, so the first entry is compared first.
    #[inline]
    pub(crate) fn index_at(&self, from: u64) -> Option<usize> {
        if self.entries.front()?.start == from {
            return Some(0);
        }
        let index = self.entries.partition_point(|e| e.start < from);
        self.entries.get(index).is_some_and(|e| e.start == from).then_some(index)
    }

    /// Removes the packet of an SDU, in any order, and returns its COUNT with it. Its entry stays.
    #[inline]
    pub(crate) fn take(&mut self, index: usize) -> (u32, Option<PacketRef>) {
        let entry = self.entries.get_mut(index).expect("an SDU in the window of its transmitter");
        let packet = entry.packet.take();
        self.held -= usize::from(packet.is_some());
        (entry.count, packet)
    }

    /// Removes the entries at the front without packets.
    #[inline]
    pub(crate) fn release_taken(&mut self) {
        while self.entries.front().is_some_and(|e| e.packet.is_none()) {
            self.entries.skip_front();
        }
    }

    /// Removes the first entry, whose packet must have been removed.
    #[inline]
    pub(crate) fn release_front(&mut self) {
        debug_assert!(
            self.entries.front().is_some_and(|e| e.packet.is_none()),
            "confirmed what has not come"
        );
        self.entries.skip_front();
    }

    /// Removes the first SDU if its COUNT is below `count`, with its packet if it has one.
    pub(crate) fn pop_below(&mut self, count: u32) -> Option<Option<PacketRef>> {
        self.entries.front().filter(|e| e.count < count)?;
        let packet = self.entries.pop_front()?.packet;
        self.held -= usize::from(packet.is_some());
        Some(packet)
    }

    /// Every entry: COUNT, start and end in the stream, packet.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, u64, u64, Option<&PacketRef>)> {
        let sdus = self.entries.iter().filter(|e| e.count != CONTROL);
        sdus.map(|e| (e.count, e.start, e.end(), e.packet.as_ref()))
    }

    /// Adds the stream from `from` to `to` to a PDU, as much of it as fits.
    pub(crate) fn lay_out(&self, from: u64, to: u64, layout: &mut Layout) {
        let (mut index, mut at) = (self.entries.partition_point(|e| e.end() <= from), from);
        while at < to && layout.room() > 0 {
            let end = self.entries[index].end().min(to);
            layout.add(u32::try_from(end - at).expect("no longer than an SDU"));
            (index, at) = (index + 1, end);
        }
    }

    /// Removes the entries of SDUs that end at or before `position`; their packets must have been
    /// removed.
    #[inline]
    pub(crate) fn release_until(&mut self, position: u64) {
        while self.open > 0 && self.entries.front().is_some_and(|entry| entry.end() <= position) {
            self.entries.skip_front();
            self.open -= 1;
        }
    }
}

/// An SDU that was removed from the stream.
#[derive(Debug)]
pub(crate) struct Drained {
    /// COUNT, or [`CONTROL`].
    pub(crate) count: u32,
    /// Its first byte, and the end.
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// `None` once the packet was delivered or discarded.
    pub(crate) packet: Option<PacketRef>,
}

/// The ranges of the stream that a receiver has, added in ascending order.
#[derive(Debug)]
pub(crate) struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    /// All below `position`.
    pub(crate) fn until(position: u64) -> Self {
        Self(vec![(0, position)])
    }

    /// Adds `[from, to)`.
    pub(crate) fn add(&mut self, from: u64, to: u64) {
        let last = self.0.last_mut().expect("there is one from the start");
        debug_assert!(last.1 <= from, "ranges out of order");
        if last.1 == from {
            last.1 = to;
        } else {
            self.0.push((from, to));
        }
    }

    /// True if all of `[from, to)` is included.
    pub(crate) fn cover(&self, from: u64, to: u64) -> bool {
        let index = self.0.partition_point(|range| range.1 < to);
        self.0.get(index).is_some_and(|range| range.0 <= from)
    }
}

/// The content of one PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Filled {
    /// Bytes of the data field.
    pub(crate) len: u32,
    /// Bytes of the header: fixed part and length indicators.
    pub(crate) header: u32,
}

/// Fits data field elements (SDUs, or parts of them at both ends) into a PDU of `space` bytes.
#[derive(Debug)]
pub(crate) struct Layout {
    space: u32,
    fixed: u32,
    filled: Filled,
    elements: u32,
    closed: bool,
}

impl Layout {
    /// An empty PDU.
    #[inline]
    pub(crate) fn new(space: u32, fixed: u32) -> Self {
        Self { space, fixed, filled: Filled { len: 0, header: fixed }, elements: 0, closed: false }
    }

    /// Bytes that one more element could have; every element except the last needs a length indicator.
    #[inline]
    pub(crate) fn room(&self) -> u32 {
        if self.closed {
            return 0;
        }
        self.space.saturating_sub(self.fixed + length_indicators(self.elements) + self.filled.len)
    }

    /// Adds an element, cut to the remaining room (which is not zero).
    #[inline]
    pub(crate) fn add(&mut self, element: u32) {
        let take = element.min(self.room());
        debug_assert!(take > 0, "an empty data field element");
        self.filled.header = self.fixed + length_indicators(self.elements);
        self.filled.len += take;
        self.elements += 1;
        self.closed = take < element || take > LENGTH_INDICATOR_MAX;
    }

    /// The result, or `None` if nothing fitted.
    #[inline]
    pub(crate) fn finish(self) -> Option<Filled> {
        (self.elements > 0).then_some(self.filled)
    }
}
