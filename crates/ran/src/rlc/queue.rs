//! The transmit queue of one direction: SDUs of which nothing has been sent yet.
//!
//! This is where a cell's standing queue lives, so it is where active queue management acts. An
//! SDU gets its COUNT when its first byte is about to be sent, so any discipline may stand here:
//! one that drops at the head, and one that lets an SDU overtake another.

use airlane_core::{Bytes, Cx, Duration, Instant, PacketRef, Stream};
use airlane_net::queue::{Aqm, Discipline, Limit, QueueDiscipline, Waiting};

use crate::pdcp::PdcpConfig;

/// A byte-limited queue under a discipline. PDCP headers count as if they were there already.
#[derive(Debug)]
pub(crate) struct TransmitQueue {
    discipline: Discipline,
    discard: Option<Duration>,
    /// PDCP header.
    header: u32,
}

impl TransmitQueue {
    /// An empty queue. `stream` gives the random stream of its own to a discipline that draws.
    pub(crate) fn new(limit: Bytes, aqm: &Aqm, pdcp: &PdcpConfig, stream: impl FnOnce() -> Stream) -> Self {
        let limit = Limit::bytes(limit).with_overhead(pdcp.header());
        let discipline = Discipline::new(aqm, limit, stream);
        Self { discipline, discard: pdcp.discard, header: pdcp.header() }
    }

    /// What a packet counts: its own bytes and the PDCP header.
    pub(crate) fn size_of(&self, packet: Bytes) -> u32 {
        u32::try_from(packet.get()).expect("an IP packet has fewer than 2^32 bytes") + self.header
    }

    /// Takes a packet in; drops what the limit does not allow. `ahead` are bytes that are not in
    /// the queue any more and count as well.
    #[inline]
    pub(crate) fn enqueue(&mut self, cx: &mut Cx<'_>, packet: PacketRef, ahead: u64) {
        self.discipline.enqueue(cx, packet, Bytes(ahead));
    }

    /// Takes the next packet that is to be sent; on the way to it, drops what has to go.
    #[inline]
    pub(crate) fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Waiting> {
        self.discipline.dequeue(cx)
    }

    /// Drops what the PDCP discardTimer has run out for (TS 36.323 v17.0 §5.4).
    pub(crate) fn expire(&mut self, cx: &mut Cx<'_>) {
        if let Some(discard) = self.discard
            && self.expires_at() <= cx.now
        {
            self.discipline.expire(cx, cx.now - discard);
        }
    }

    /// When the discardTimer of the oldest packet runs out.
    #[inline]
    pub(crate) fn expires_at(&self) -> Instant {
        match self.discard {
            Some(discard) => {
                self.discipline.oldest().map_or(Instant::FAR_FUTURE, |since| since.saturating_add(discard))
            }
            None => Instant::FAR_FUTURE,
        }
    }

    /// Takes out what waits, in the order in which it would be sent.
    pub(crate) fn drain(&mut self, cx: &mut Cx<'_>, mut take: impl FnMut(Waiting)) {
        while let Some(waiting) = self.discipline.dequeue(cx) {
            take(waiting);
        }
    }

    /// When the packet came that has been waiting longest.
    #[inline]
    pub(crate) fn head_since(&self) -> Option<Instant> {
        self.discipline.oldest()
    }

    /// Bytes waiting, PDCP headers included.
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
