//! What a transmitter draws new data from: the queue of untouched SDUs and the stream of those
//! that have been begun.

use airlane_core::{Cx, Instant};

use super::queue::TransmitQueue;
use super::store::{Filled, Layout, SduStore};

/// Untouched SDUs, begun SDUs, and how far the stream has been sent.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) queue: TransmitQueue,
    pub(crate) sdus: SduStore,
    /// The next byte to send for the first time.
    sent: u64,
    /// When the SDU that is being sent came into the queue.
    begun_since: Instant,
}

impl Source {
    pub(crate) fn new(queue: TransmitQueue) -> Self {
        Self { queue, sdus: SduStore::default(), sent: 0, begun_since: Instant::ZERO }
    }

    /// The next byte to send for the first time.
    #[inline]
    pub(crate) fn position(&self) -> u64 {
        self.sent
    }

    /// Bytes of the SDU that is being sent and not yet through.
    #[inline]
    pub(crate) fn begun(&self) -> u64 {
        self.sdus.end() - self.sent
    }

    /// Bytes not sent yet.
    #[inline]
    pub(crate) fn backlog(&self) -> u64 {
        self.queue.backlog() + self.begun()
    }

    /// True if there is nothing to send for the first time.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.begun() == 0 && self.queue.is_empty()
    }

    /// Since when the oldest byte that was never sent has been waiting.
    #[inline]
    pub(crate) fn head_since(&self) -> Option<Instant> {
        if self.begun() > 0 { Some(self.begun_since) } else { self.queue.head_since() }
    }

    /// The size of the one PDU that would carry all of it.
    #[inline]
    pub(crate) fn pdu_estimate(&self, fixed: u32) -> u64 {
        let elements = self.queue.len() as u64 + u64::from(self.begun() > 0);
        if elements == 0 {
            return 0;
        }
        let indicators = (3 * (elements - 1)).div_ceil(2); // as `length_indicators`, for any count
        self.backlog() + u64::from(fixed) + indicators
    }

    /// Fills a PDU of `space` bytes with new data; `None` if there is none or no room for a byte.
    #[inline]
    pub(crate) fn fill(&mut self, cx: &mut Cx<'_>, space: u32, fixed: u32) -> Option<Filled> {
        let mut layout = Layout::new(space, fixed);
        let mut rest = u32::try_from(self.begun()).expect("less than one SDU");
        while layout.room() > 0 {
            if rest == 0 {
                let Some(head) = self.queue.dequeue(cx) else { break };
                self.begun_since = head.since;
                self.sdus.push(head.packet, head.size);
                rest = head.size;
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
}
