//! The transmit queue of one direction: SDUs of which nothing has been sent yet.
//!
//! This is where a cell's standing queue lives, so it is where active queue management acts: at
//! its head, when the first byte of an SDU is about to be sent.

use std::collections::VecDeque;

use airlane_core::{Bytes, Cx, DropCause, Duration, Instant, PacketRef};
use airlane_net::codel;

use crate::pdcp::PdcpConfig;

/// What acts on the transmit queue besides its byte limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aqm {
    /// Nothing: the limit drops what does not fit.
    DropTail,
    /// CoDel (RFC 8289) drops at the head.
    CoDel(codel::Parameters),
}

#[derive(Debug)]
enum Discipline {
    DropTail,
    CoDel(codel::Controller),
}

/// An SDU in the queue.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) packet: PacketRef,
    /// PDCP header and SDU.
    pub(crate) len: u32,
    pub(crate) queued_at: Instant,
}

/// A byte-limited queue under a discipline. Whatever its discipline, it offers this: `enqueue`,
/// `dequeue` (which may drop on the way), and what is known without touching a packet.
#[derive(Debug)]
pub(crate) struct TransmitQueue {
    waiting: VecDeque<Waiting>,
    backlog: u64,
    limit: u64,
    pdcp_header: u32,
    discard: Option<Duration>,
    discipline: Discipline,
}

impl TransmitQueue {
    pub(crate) fn new(limit: Bytes, aqm: Aqm, pdcp: &PdcpConfig) -> Self {
        Self {
            waiting: VecDeque::new(),
            backlog: 0,
            limit: limit.get(),
            pdcp_header: pdcp.header(),
            discard: pdcp.discard,
            discipline: match aqm {
                Aqm::DropTail => Discipline::DropTail,
                Aqm::CoDel(parameters) => Discipline::CoDel(codel::Controller::new(parameters)),
            },
        }
    }

    /// Takes a packet in, or drops it if the limit would be exceeded. `begun` are the bytes of
    /// an SDU that is being sent and not yet through: they count as well.
    #[inline]
    pub(crate) fn enqueue(&mut self, cx: &mut Cx<'_>, packet: PacketRef, begun: u64) {
        let sdu = cx.pool.get_mut(&packet);
        let len = sdu.size.get() + u64::from(self.pdcp_header);
        if self.backlog + begun + len > self.limit {
            cx.discard(packet, DropCause::QueueFull);
            return;
        }
        sdu.queued_at = cx.now;
        self.backlog += len;
        let len = u32::try_from(len).expect("an IP packet is shorter than 64 KiB");
        self.waiting.push_back(Waiting { packet, len, queued_at: cx.now });
    }

    /// Takes the next packet that is to be sent; on the way to it, drops what has to go.
    #[inline]
    pub(crate) fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Waiting> {
        loop {
            let Some(head) = self.waiting.pop_front() else {
                if let Discipline::CoDel(codel) = &mut self.discipline {
                    codel.on_empty();
                }
                return None;
            };
            self.backlog -= u64::from(head.len);
            let sojourn = cx.now - head.queued_at;
            if let Discipline::CoDel(codel) = &mut self.discipline
                && codel.decide(cx.now, sojourn, Bytes(self.backlog)) == codel::Verdict::Drop
            {
                cx.discard(head.packet, DropCause::QueueManagement);
                continue;
            }
            return Some(head);
        }
    }

    /// Drops what the PDCP discardTimer has run out for (TS 36.323 v17.0 §5.4).
    pub(crate) fn expire(&mut self, cx: &mut Cx<'_>) {
        while self.expires_at() <= cx.now {
            let head = self.waiting.pop_front().expect("only a packet expires");
            self.backlog -= u64::from(head.len);
            cx.discard(head.packet, DropCause::Discarded);
        }
    }

    /// When the discardTimer of the head runs out.
    #[inline]
    pub(crate) fn expires_at(&self) -> Instant {
        match (self.discard, self.waiting.front()) {
            (Some(discard), Some(head)) => head.queued_at.saturating_add(discard),
            _ => Instant::FAR_FUTURE,
        }
    }

    /// When the packet at the head came.
    #[inline]
    pub(crate) fn head_since(&self) -> Option<Instant> {
        self.waiting.front().map(|head| head.queued_at)
    }

    /// Bytes waiting, PDCP headers included.
    #[inline]
    pub(crate) fn backlog(&self) -> u64 {
        self.backlog
    }

    /// Packets waiting.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// True if nothing waits.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}
