//! The SDUs of one direction that have been sent in part or in full, as one stream of bytes.

use std::collections::VecDeque;

use airlane_core::PacketRef;

use super::header::{LENGTH_INDICATOR_MAX, length_indicators};

/// One SDU (with its PDCP header) and where it lies in the stream.
#[derive(Debug)]
struct Entry {
    /// Gone once the packet was delivered or discarded.
    packet: Option<PacketRef>,
    /// PDCP header and SDU.
    len: u32,
    /// Its first byte.
    start: u64,
}

impl Entry {
    fn end(&self) -> u64 {
        self.start + u64::from(self.len)
    }
}

/// SDUs in the order of their COUNT, joined to a stream without holes: an SDU enters when its
/// first byte is about to be sent, so whatever was dropped before has no place in it.
///
/// Both ends read it. The transmitter appends at the back; the receiver takes packets out of the
/// middle, where its reassembly stands; the front goes when nobody needs it any more.
#[derive(Debug, Default)]
pub(crate) struct SduStore {
    entries: VecDeque<Entry>,
    /// Entries before this one have no packet any more.
    open: usize,
    /// COUNT of the entry at the front (TS 36.323 v17.0 §6.3.5, without its bound).
    first_count: u64,
    /// Where the next SDU will start.
    end: u64,
    /// Packets inside.
    held: usize,
}

impl SduStore {
    /// Appends an SDU and gives it the next COUNT.
    #[inline]
    pub(crate) fn push(&mut self, packet: PacketRef, len: u32) {
        self.entries.push_back(Entry { packet: Some(packet), len, start: self.end });
        self.end += u64::from(len);
        self.held += 1;
    }

    /// The end of the stream.
    #[inline]
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Packets inside.
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// Takes the oldest packet that is still inside, if its SDU ends at or before `position`. Its
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

    /// Takes the packet of the SDU that lies across `position`, if it is still inside: a byte
    /// before and a byte at `position` are its own.
    pub(crate) fn take_across(&mut self, position: u64) -> Option<PacketRef> {
        let entry = self.entries.get_mut(self.open)?;
        if entry.start >= position || entry.end() <= position {
            return None;
        }
        let packet = entry.packet.take();
        self.held -= usize::from(packet.is_some());
        packet
    }

    /// Every SDU that is not forgotten: COUNT, start and end in the stream, packet.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64, u64, Option<&PacketRef>)> {
        let counts = self.first_count..;
        counts.zip(&self.entries).map(|(count, e)| (count, e.start, e.end(), e.packet.as_ref()))
    }

    /// Lays the stream from `from` to `to` into a PDU, as much of it as fits.
    pub(crate) fn lay_out(&self, from: u64, to: u64, layout: &mut Layout) {
        let (mut index, mut at) = (self.entries.partition_point(|e| e.end() <= from), from);
        while at < to && layout.room() > 0 {
            let end = self.entries[index].end().min(to);
            layout.add(u32::try_from(end - at).expect("no longer than an SDU"));
            (index, at) = (index + 1, end);
        }
    }

    /// Forgets the SDUs that end at or before `position`; their packets are gone already.
    #[inline]
    pub(crate) fn release_until(&mut self, position: u64) {
        while self.open > 0 && self.entries.front().is_some_and(|entry| entry.end() <= position) {
            self.entries.pop_front();
            self.open -= 1;
            self.first_count += 1;
        }
    }
}

/// How much of the stream goes into one PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Filled {
    /// Bytes of the data field.
    pub(crate) len: u32,
    /// Bytes of the header: fixed part and length indicators.
    pub(crate) header: u32,
}

/// Lays data field elements (SDUs, or parts of them at both ends) into a PDU of `space` bytes.
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

    /// Bytes that one more element could have; every element but the last needs a length
    /// indicator.
    #[inline]
    pub(crate) fn room(&self) -> u32 {
        if self.closed {
            return 0;
        }
        self.space.saturating_sub(self.fixed + length_indicators(self.elements) + self.filled.len)
    }

    /// Adds an element, cut to the room that is left (which is not zero).
    #[inline]
    pub(crate) fn add(&mut self, element: u32) {
        let take = element.min(self.room());
        debug_assert!(take > 0, "an empty data field element");
        self.filled.header = self.fixed + length_indicators(self.elements);
        self.filled.len += take;
        self.elements += 1;
        self.closed = take < element || take > LENGTH_INDICATOR_MAX;
    }

    /// What came of it, or `None` if nothing fitted.
    #[inline]
    pub(crate) fn finish(self) -> Option<Filled> {
        (self.elements > 0).then_some(self.filled)
    }
}
