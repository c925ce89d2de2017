//! The packets that are under way, and their owners' handles.
//!
//! A [`PacketRef`] is neither `Clone` nor `Copy`: its holder owns the packet. A packet ends in
//! exactly two ways, [`PacketPool::consume`] (delivered) or [`PacketPool::discard`] (dropped,
//! counted by cause), so `inserted = consumed + discarded + live` holds at every instant.

use crate::{DropCause, Header, HeaderBytes, Instant, Packet, Payload};

/// The owner's handle of a packet in a [`PacketPool`].
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a packet is consumed, discarded or passed on, never forgotten"]
pub struct PacketRef(u32);

/// All packets that are under way in a run.
#[derive(Debug, Default)]
pub struct PacketPool {
    slots: Vec<Option<Packet>>,
    free: Vec<u32>,
    /// Times at which packets entered the transmit queue of a bearer, by slot; for observers.
    entered: Vec<Instant>,
    /// COUNTs of packets in a PDCP entity with several legs, and when they entered it, by slot.
    numbered: Vec<(u32, Instant)>,
    /// Payload buffers for reuse.
    spare: Vec<Vec<u8>>,
    /// Datagrams for reuse, by the lowest bits of their length. Those of a list have one length.
    spare_datagrams: [Vec<Box<[u8]>>; Self::LENGTHS],
    /// Header buffers for reuse. Boxes, because packets have them so.
    #[expect(clippy::vec_box, reason = "the box moves into a packet")]
    spare_headers: Vec<Box<HeaderBytes>>,
    inserted: u64,
    consumed: u64,
    discarded: [u64; DropCause::COUNT],
}

impl PacketPool {
    /// Maximum number of buffers that are kept for reuse.
    const SPARE_MAX: usize = 256;
    /// Number of lists of datagrams: full datagrams of a few connections and acknowledgments with a few ranges.
    const LENGTHS: usize = 16;

    /// A pool with room for `capacity` packets before it has to grow.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self { slots: Vec::with_capacity(capacity), free: Vec::with_capacity(capacity), ..Self::default() }
    }

    /// Adds a packet and returns its handle to the owner.
    #[inline]
    pub fn insert(&mut self, packet: Packet) -> PacketRef {
        let index = self.free_slot();
        // A free slot is empty. Without `forget`, the compiler adds code that drops its content.
        core::mem::forget(self.slots[index as usize].replace(packet));
        PacketRef(index)
    }

    /// [`Self::insert`] of a packet that is written at its place. To move a packet that has just been assembled
    /// elsewhere, the processor waits until all its parts have been written there.
    #[inline(always)]
    pub fn insert_with(&mut self, write: impl FnOnce(&mut Packet)) -> PacketRef {
        let index = self.free_slot();
        let slot = &mut self.slots[index as usize];
        core::mem::forget(slot.replace(Packet::BLANK)); // as in `insert`
        if let Some(packet) = slot {
            write(packet);
        }
        PacketRef(index)
    }

    /// A slot for a packet that enters.
    #[inline(always)]
    fn free_slot(&mut self) -> u32 {
        self.inserted += 1;
        self.free.pop().unwrap_or_else(|| self.grow())
    }

    /// Adds a slot.
    #[cold]
    fn grow(&mut self) -> u32 {
        let index = u32::try_from(self.slots.len()).expect("fewer than 2^32 packets under way");
        self.slots.push(None);
        // So that releasing every packet never allocates.
        self.free.reserve(self.slots.capacity() - self.free.len());
        index
    }

    /// The packet behind a handle.
    #[inline]
    #[must_use]
    pub fn get(&self, packet: &PacketRef) -> &Packet {
        self.slots[packet.0 as usize].as_ref().expect("a handle outlives its packet only by a bug")
    }

    /// Prefetches packets that may have left the processor's caches. The caller then uses them one after the other, and
    /// would wait for the memory each time; here all are fetched together.
    #[inline(never)]
    pub fn fetch(&self, packets: &[PacketRef]) {
        let of = |packet: &PacketRef| match &self.slots[packet.0 as usize] {
            Some(p) => p.flow.0 ^ p.sent_at.as_nanos() as u32 ^ u32::from(matches!(p.header, Header::Tcp(_))),
            None => 0,
        };
        core::hint::black_box(packets.iter().fold(0, |all, packet| all ^ of(packet)));
    }

    /// [`Self::fetch`] of one packet, which is used soon, but not next.
    #[inline(always)]
    pub fn fetch_one(&self, packet: &PacketRef) {
        if let Some(Some(packet)) = self.slots.get(packet.0 as usize) {
            core::hint::black_box(packet.flow.0);
        }
    }

    /// The packet behind a handle, mutable.
    #[inline]
    pub fn get_mut(&mut self, packet: &PacketRef) -> &mut Packet {
        self.slots[packet.0 as usize].as_mut().expect("a handle outlives its packet only by a bug")
    }

    /// Notes when a packet enters the transmit queue of a bearer.
    pub fn note_entry(&mut self, packet: &PacketRef, at: Instant) {
        let slot = packet.0 as usize;
        if self.entered.len() <= slot {
            self.entered.resize(self.slots.len(), Instant::ZERO);
        }
        self.entered[slot] = at;
    }

    /// The latest time of [`Self::note_entry`]; without one, when the packet was sent.
    #[must_use]
    pub fn entered_at(&self, packet: &PacketRef) -> Instant {
        let noted = self.entered.get(packet.0 as usize).copied().unwrap_or_default();
        noted.max(self.get(packet).sent_at) // an earlier one is of an earlier packet
    }

    /// Notes the COUNT that a PDCP entity with several legs gives to a packet, and when the packet entered it.
    pub fn note_count(&mut self, packet: &PacketRef, count: u32, entered: Instant) {
        let slot = packet.0 as usize;
        if self.numbered.len() <= slot {
            self.numbered.resize(self.slots.len(), (0, Instant::ZERO));
        }
        self.numbered[slot] = (count, entered);
    }

    /// The latest values of [`Self::note_count`].
    ///
    /// # Panics
    /// If there are none.
    #[must_use]
    pub fn count_of(&self, packet: &PacketRef) -> (u32, Instant) {
        self.numbered[packet.0 as usize]
    }

    /// An empty buffer for a payload; a reused one if available.
    #[must_use]
    pub fn buffer(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }

    /// An ended datagram of this length, with any content, if there is one.
    #[inline]
    pub fn spare_datagram(&mut self, length: usize) -> Option<Box<[u8]>> {
        let spares = &mut self.spare_datagrams[length % Self::LENGTHS];
        if spares.last()?.len() == length { spares.pop() } else { None }
    }

    /// Keeps a datagram whose bytes are no longer needed for reuse by one of the same length.
    #[inline]
    pub fn keep_datagram(&mut self, datagram: Box<[u8]>) {
        let spares = &mut self.spare_datagrams[datagram.len() % Self::LENGTHS];
        if spares.last().is_some_and(|spare| spare.len() != datagram.len()) {
            spares.clear();
        }
        if spares.len() < Self::SPARE_MAX {
            spares.push(datagram);
        }
    }

    /// A buffer for headers, with any content; a reused one if available.
    #[must_use]
    pub fn header_buffer(&mut self) -> Box<HeaderBytes> {
        self.spare_headers.pop().unwrap_or_default()
    }

    /// Keeps the buffers of a finished packet for reuse.
    #[inline]
    pub fn recycle(&mut self, packet: Packet) {
        if let Some(mut headers) = packet.headers
            && self.spare_headers.len() < Self::SPARE_MAX
        {
            (headers.mptcp, headers.data_position) = (None, None);
            self.spare_headers.push(headers);
        }
        if let Payload::Bytes(bytes) = packet.payload
            && !bytes.is_empty()
            && self.spare.len() < Self::SPARE_MAX
        {
            let mut buffer = bytes.into_vec();
            buffer.clear();
            self.spare.push(buffer);
        }
    }

    /// Ends a delivered packet whose content is no longer needed.
    #[inline]
    pub fn retire(&mut self, packet: PacketRef) {
        self.consumed += 1;
        let ended = &mut self.slots[packet.0 as usize];
        assert!(ended.is_some(), "a handle outlives its packet only by a bug");
        *ended = None;
        self.free.push(packet.0);
    }

    /// Removes a delivered packet.
    pub fn consume(&mut self, packet: PacketRef) -> Packet {
        self.consumed += 1;
        self.take(packet)
    }

    /// Removes a dropped packet and counts the cause.
    pub fn discard(&mut self, packet: PacketRef, cause: DropCause) -> Packet {
        self.discarded[cause as usize] += 1;
        self.take(packet)
    }

    fn take(&mut self, packet: PacketRef) -> Packet {
        self.free.push(packet.0);
        self.slots[packet.0 as usize].take().expect("a handle outlives its packet only by a bug")
    }

    /// Packets under way.
    #[must_use]
    pub fn live(&self) -> usize {
        self.slots.len() - self.free.len()
    }
    /// Packets ever inserted.
    #[must_use]
    pub fn inserted(&self) -> u64 {
        self.inserted
    }
    /// Packets delivered.
    #[must_use]
    pub fn consumed(&self) -> u64 {
        self.consumed
    }
    /// Packets dropped for this cause.
    #[must_use]
    pub fn discarded(&self, cause: DropCause) -> u64 {
        self.discarded[cause as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Direction, FlowId, UdpHeader};

    fn packet(n: u32) -> Packet {
        Packet::new(
            FlowId(0),
            Direction::Downlink,
            Header::Udp(UdpHeader::default()),
            Payload::Length(n),
            Instant::ZERO,
        )
    }

    #[test]
    fn in_equals_delivered_plus_dropped_plus_live() {
        let mut pool = PacketPool::with_capacity(2);
        let (a, b, c) = (pool.insert(packet(1)), pool.insert(packet(2)), pool.insert(packet(3)));
        assert_eq!(pool.consume(b).payload.len(), 2);
        assert_eq!(pool.discard(a, DropCause::QueueFull).payload.len(), 1);
        let d = pool.insert(packet(4));
        assert_eq!(pool.get(&c).payload.len(), 3);
        assert_eq!(pool.get(&d).payload.len(), 4);
        assert_eq!(pool.inserted(), 4);
        assert_eq!(pool.consumed() + pool.discarded(DropCause::QueueFull) + pool.live() as u64, 4);
        let _ = (pool.consume(c), pool.consume(d));
        assert_eq!(pool.live(), 0);
    }

    #[test]
    fn the_entry_into_a_bearer_is_that_of_the_packet_in_the_slot() {
        let (mut pool, ms) = (PacketPool::with_capacity(1), Instant::from_millis);
        let sent = |at| {
            let header = Header::Udp(UdpHeader::default());
            Packet::new(FlowId(0), Direction::Downlink, header, Payload::Length(1), at)
        };
        let first = pool.insert(sent(ms(1)));
        assert_eq!(pool.entered_at(&first), ms(1));
        pool.note_entry(&first, ms(3));
        assert_eq!(pool.entered_at(&first), ms(3));
        let _ = pool.consume(first);
        let second = pool.insert(sent(ms(5)));
        assert_eq!(pool.entered_at(&second), ms(5));
        let _ = pool.consume(second);
    }

    #[test]
    fn datagrams_are_reused_for_others_of_their_length() {
        let mut pool = PacketPool::default();
        pool.keep_datagram([1; 20].into());
        pool.keep_datagram([2; 21].into());
        assert_eq!(pool.spare_datagram(20).as_deref(), Some(&[1; 20][..]));
        assert_eq!((pool.spare_datagram(20), pool.spare_datagram(37)), (None, None));
        pool.keep_datagram([3; 37].into()); // takes the place of the one with 21 bytes
        assert_eq!((pool.spare_datagram(21), pool.spare_datagram(37)), (None, Some([3; 37].into())));
    }
}
