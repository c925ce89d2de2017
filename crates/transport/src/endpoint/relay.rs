//! Functions for a relay that forwards bytes between two connections, for one end of each.
//!
//! Offsets count the bytes of a stream from zero, independent of the sequence numbers.

use airlane_core::{Instant, TcpFlags, TcpHeader, TcpTimestamps};

use super::TcpEndpoint;
use crate::header::timestamp;
use crate::sequence;

impl TcpEndpoint {
    /// From now on the peer is offered no byte from `offset` on, whatever the receive window allows. An
    /// earlier offer remains valid (RFC 9293 §3.8.6.2.2: a receiver does not shrink its window).
    #[inline]
    pub fn offer_up_to(&mut self, offset: u64) {
        self.offer_end = offset;
        if let Some(h) = &mut self.halves {
            h.receiver.offer_up_to(offset.saturating_add(1));
        }
    }

    /// The offset behind the last byte that the peer may send: the end of the offer, or the end of the
    /// stream if its FIN has been received. Zero before the peer's SYN.
    #[inline]
    #[must_use]
    pub fn offered_to(&self) -> u64 {
        self.halves.as_ref().map_or(0, |h| h.receiver.offered_end() - 1)
    }

    /// The offset behind the last byte that would be accepted if it arrived now, which may be more than was
    /// offered.
    #[must_use]
    pub fn accepted_to(&self) -> u64 {
        self.halves.as_ref().map_or(0, |h| h.receiver.accepted_end() - 1)
    }

    /// The offset behind the last byte received in order.
    #[inline]
    #[must_use]
    pub fn received_to(&self) -> u64 {
        self.halves.as_ref().map_or(0, |h| h.receiver.total_read() + h.receiver.readable())
    }

    /// The offset behind the last byte that the peer has acknowledged.
    #[inline]
    #[must_use]
    pub fn acknowledged_to(&self) -> u64 {
        self.halves.as_ref().map_or(0, |h| h.sender.data_acknowledged_to())
    }

    /// The offset of the first payload byte of a segment received from the peer.
    #[must_use]
    pub fn offset_received(&self, header: &TcpHeader) -> u64 {
        let Some(h) = &self.halves else { return 0 };
        sequence::position(header.sequence, h.negotiated.remote_initial, h.receiver.next()).saturating_sub(1)
    }

    /// The offset of the first payload byte of a segment sent by this end.
    #[must_use]
    pub fn offset_sent(&self, header: &TcpHeader) -> u64 {
        let Some(h) = &self.halves else { return 0 };
        sequence::position(header.sequence, h.negotiated.local_initial, h.sender.nxt()).saturating_sub(1)
    }

    /// True if the application has closed its direction.
    #[inline]
    #[must_use]
    pub const fn is_closing(&self) -> bool {
        self.requests.close
    }
}

/// The end of a connection that has closed in order, with only its sequence numbers: TIME-WAIT (RFC
/// 9293 §3.6.1).
#[derive(Clone, Copy, Debug)]
pub struct ClosedEnd {
    last: TcpHeader,
}

impl TcpEndpoint {
    /// The state to keep once it is [`super::ConnectionState::Closed`].
    #[must_use]
    pub fn into_closed(mut self, now: Instant) -> Option<ClosedEnd> {
        let h = self.halves.as_mut()?;
        let ack = h.receiver.acknowledge(false);
        let n = &h.negotiated;
        let stamp = TcpTimestamps { value: timestamp(now), echo_reply: ack.ts_recent };
        let last = TcpHeader {
            sequence: sequence::wire(h.sender.nxt(), n.local_initial),
            acknowledgment: sequence::wire(ack.next, n.remote_initial),
            window: (ack.window >> n.local_scale) as u16,
            flags: TcpFlags(TcpFlags::ACK),
            timestamps: n.timestamps.then_some(stamp),
            ..TcpHeader::default()
        };
        Some(ClosedEnd { last })
    }
}

impl ClosedEnd {
    /// The answer to a segment with this many bytes of payload: the last acknowledgment, which its sender
    /// has not received.
    #[must_use]
    pub fn answer(&self, now: Instant, header: &TcpHeader, payload: u32) -> Option<TcpHeader> {
        let silent = TcpFlags::RST | TcpFlags::SYN;
        let asks = payload > 0 || header.flags.has(TcpFlags::FIN);
        if header.flags.0 & silent != 0 || !asks {
            return None;
        }
        let timestamps = self.last.timestamps.map(|old| TcpTimestamps { value: timestamp(now), ..old });
        Some(TcpHeader { timestamps, ..self.last })
    }

    /// True if a SYN starts a new connection, with sequence numbers or a timestamp beyond those of
    /// the old one (RFC 9293 §3.6.1, RFC 6191 §2).
    #[must_use]
    pub fn may_begin_anew(&self, syn: &TcpHeader) -> bool {
        let newer = |a: u32, b: u32| (a.wrapping_sub(b) as i32) > 0;
        match (syn.timestamps, self.last.timestamps) {
            (Some(new), Some(old)) => newer(new.value, old.echo_reply),
            _ => newer(syn.sequence, self.last.acknowledgment),
        }
    }
}
