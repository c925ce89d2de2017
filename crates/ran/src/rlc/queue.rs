//! The transmit queue of one direction: SDUs of which nothing has been sent yet.
//!
//! The standing queue of a cell is here, so active queue management acts here. An SDU gets its
//! COUNT when its first byte is about to be sent, so any discipline may be used, also one that
//! drops at the head or lets an SDU overtake another.

use airlane_core::{Bytes, Cx, Duration, Instant, PacketRef, Stream, Topic};
use airlane_net::queue::{Aqm, Discipline, Limit, QueueDiscipline, Waiting};

use crate::pdcp::PdcpConfig;

/// A byte-limited queue with a discipline. PDCP headers are counted although they are added later.
#[derive(Debug)]
pub(crate) struct TransmitQueue {
    discipline: Discipline,
    discard: Option<Duration>,
    /// Headers of PDCP and SDAP.
    header: u32,
}

impl TransmitQueue {
    /// An empty queue of SDUs with `sdap` bytes of SDAP headers. `stream` creates the random stream of a discipline
    /// that draws.
    pub(crate) fn new(
        limit: Bytes,
        aqm: &Aqm,
        pdcp: &PdcpConfig,
        sdap: u32,
        stream: impl FnOnce() -> Stream,
    ) -> Self {
        let header = pdcp.header() + sdap;
        let limit = Limit::bytes(limit).with_overhead(header);
        let discipline = Discipline::new(aqm, limit, stream);
        Self { discipline, discard: pdcp.discard, header }
    }

    /// The bytes that a packet counts: its own, and the headers of PDCP and SDAP.
    #[inline]
    pub(crate) fn size_of(&self, packet: Bytes) -> u32 {
        u32::try_from(packet.get()).expect("an IP packet has fewer than 2^32 bytes") + self.header
    }

    /// Adds a packet; drops packets that exceed the limit. `ahead` are bytes that have left the
    /// queue but still count.
    #[inline]
    pub(crate) fn enqueue(&mut self, cx: &mut Cx<'_>, packet: PacketRef, ahead: u64) {
        if cx.wants(Topic::SduDelivered) {
            cx.pool.note_entry(&packet, cx.now);
        }
        self.discipline.enqueue(cx, packet, Bytes(ahead));
    }

    /// [`Discipline::certain_room`].
    #[inline]
    pub(crate) fn certain_room(&self) -> Option<Bytes> {
        self.discipline.certain_room()
    }

    /// [`Discipline::store`].
    #[inline]
    pub(crate) fn store(&mut self, arrived: Waiting) {
        self.discipline.store(arrived);
    }

    /// Removes the next packet to be sent; may drop others first.
    #[inline]
    pub(crate) fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Waiting> {
        self.discipline.dequeue(cx)
    }

    /// True if the marks of the queue depend on the capacity of the link.
    pub(crate) fn needs_capacity(&self) -> bool {
        matches!(self.discipline, Discipline::Abc(_))
    }

    /// The link could have this rate from `now` on, in bytes per second.
    pub(crate) fn report_capacity(&mut self, now: Instant, rate: f64) {
        if let Discipline::Abc(abc) = &mut self.discipline {
            abc.report_capacity(now, rate);
        }
    }

    /// Drops the packets whose PDCP discardTimer has expired (TS 36.323 v17.0 §5.4).
    pub(crate) fn expire(&mut self, cx: &mut Cx<'_>) {
        if let Some(discard) = self.discard
            && self.expires_at() <= cx.now
        {
            self.discipline.expire(cx, cx.now - discard);
        }
    }

    /// When the discardTimer of the oldest packet expires.
    #[inline]
    pub(crate) fn expires_at(&self) -> Instant {
        match self.discard {
            Some(discard) => self.oldest_expires_at(discard),
            None => Instant::FAR_FUTURE,
        }
    }

    /// A function of its own, so that blocks of a bearer without a timer save no registers for it.
    #[inline(never)]
    fn oldest_expires_at(&self, discard: Duration) -> Instant {
        self.discipline.oldest().map_or(Instant::FAR_FUTURE, |since| since.saturating_add(discard))
    }

    /// Removes all packets, in the order in which they would be sent.
    pub(crate) fn drain(&mut self, cx: &mut Cx<'_>, mut take: impl FnMut(Waiting)) {
        while let Some(waiting) = self.discipline.dequeue(cx) {
            take(waiting);
        }
    }

    /// The arrival time of the packet that has waited longest.
    #[inline]
    pub(crate) fn head_since(&self) -> Option<Instant> {
        self.discipline.oldest()
    }

    /// Bytes waiting, including PDCP headers.
    #[inline]
    pub(crate) fn backlog(&self) -> u64 {
        self.discipline.backlog().bytes.get()
    }

    /// Packets waiting.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.discipline.backlog().packets
    }
}
