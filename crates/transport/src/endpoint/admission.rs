//! The acceptability of segments (RFC 9293 §3.10.7.4, RFC 7323 §5, RFC 5961), checked in the order of Linux.

use airlane_core::{Cx, Duration, TcpFlags, TcpHeader};

use super::{Halves, TcpEndpoint};
use crate::sequence;

/// At most one answer to an unacceptable segment without data in this time (Linux `tcp_invalid_ratelimit`;
/// RFC 5961 §7 requires a limit).
const ANSWER_EVERY: Duration = Duration::from_millis(500);

/// The treatment of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// The segment is processed.
    Take,
    /// The segment is dropped silently.
    Drop,
    /// The segment is dropped and answered with an acknowledgment of the current state (RFC 9293 §3.10.7.4: "not
    /// acceptable").
    Unacceptable,
    /// Like `Unacceptable`, because the segment may be an attack (RFC 5961).
    Challenge,
    /// The segment ends the connection.
    Reset,
}

/// A segment's position.
#[derive(Clone, Copy, Debug)]
struct Place {
    start: u64,
    end: u64,
    /// True if it is before the SYN.
    foreign: bool,
}

impl Halves {
    fn place(&self, header: &TcpHeader, payload: u32) -> Place {
        let (initial, near) = (self.negotiated.remote_initial, self.receiver.next());
        let start = sequence::position(header.sequence, initial, near);
        let taken =
            payload + u32::from(header.flags.has(TcpFlags::FIN)) + u32::from(header.flags.has(TcpFlags::SYN));
        let foreign = sequence::precedes(header.sequence, initial, near);
        Place { start, end: start + u64::from(taken), foreign }
    }

    fn verdict(&self, header: &TcpHeader, place: Place) -> Verdict {
        let flags = header.flags;
        let (rst, syn) = (flags.has(TcpFlags::RST), flags.has(TcpFlags::SYN));
        // RFC 7323 §5.3 R1; the timestamp of a RST is not checked (§5.2).
        if !rst && self.is_stale(header, place) {
            return if syn { Verdict::Challenge } else { Verdict::Unacceptable };
        }
        // RFC 9293 §3.10.7.4, first: the sequence number.
        let outside =
            place.foreign || place.end < self.receiver.acked() || place.start > self.receiver.edge();
        if outside {
            return match (rst, syn) {
                (true, _) if self.resets(place) => Verdict::Reset,
                (true, _) => Verdict::Drop,
                (false, true) => Verdict::Challenge,
                (false, false) => Verdict::Unacceptable,
            };
        }
        if rst {
            return if self.resets(place) { Verdict::Reset } else { Verdict::Challenge };
        }
        if syn {
            return Verdict::Challenge; // RFC 5961 §4.2
        }
        if !flags.has(TcpFlags::ACK) {
            return Verdict::Drop; // RFC 9293 §3.10.7.4, fifth
        }
        if self.acknowledges_what_it_may(header) {
            Verdict::Take
        } else if self.acknowledges_unsent(header) && !self.sender.is_closed() && !self.receiver.has_fin() {
            Verdict::Drop // Linux answers only on a connection that is closing; RFC 9293 §3.10.7.4 always
        } else {
            Verdict::Challenge
        }
    }

    /// RFC 7323 §5.3: older than the newest timestamp, except for a duplicate ACK that was overtaken by data
    /// (Linux `tcp_disordered_ack`), which has no new information.
    fn is_stale(&self, header: &TcpHeader, place: Place) -> bool {
        let stamp = header.timestamps.filter(|_| self.negotiated.timestamps);
        let stale = stamp.is_some_and(|stamp| self.receiver.is_stale(stamp.value));
        let in_place = place.start == place.end && place.start == self.receiver.next();
        let acknowledgment = sequence::wire(self.sender.una(), self.negotiated.local_initial);
        let window = u64::from(header.window) << self.negotiated.remote_scale;
        let repeats =
            header.acknowledgment == acknowledgment && self.sender.una() + window <= self.sender.window_end();
        stale && !(in_place && repeats && header.flags.has(TcpFlags::ACK))
    }

    /// RFC 5961 §3.2: a RST counts if it has exactly the number that is expected next. As in Linux, the
    /// number of a received FIN and the end of the last received segment count too: the peer may have no
    /// newer information.
    fn resets(&self, place: Place) -> bool {
        let next = self.receiver.next();
        let of_fin = self.receiver.has_fin() && place.start + 1 == next;
        let of_last = self.receiver.highest_held() == Some(place.start);
        !place.foreign && (place.start == next || of_fin || of_last)
    }

    /// True if a segment acknowledges what was not sent.
    fn acknowledges_unsent(&self, header: &TcpHeader) -> bool {
        let (initial, una) = (self.negotiated.local_initial, self.sender.una());
        let foreign = sequence::precedes(header.acknowledgment, initial, una);
        !foreign && sequence::position(header.acknowledgment, initial, una) > self.sender.nxt()
    }

    /// RFC 5961 §5.2: from a window below what is acknowledged to what was sent.
    fn acknowledges_what_it_may(&self, header: &TcpHeader) -> bool {
        let (initial, una) = (self.negotiated.local_initial, self.sender.una());
        let acknowledged = sequence::position(header.acknowledgment, initial, una);
        let foreign = sequence::precedes(header.acknowledgment, initial, una);
        let oldest = una - self.sender.max_offered().min(una);
        !foreign && (oldest..=self.sender.nxt()).contains(&acknowledged)
    }
}

impl TcpEndpoint {
    /// False if the whole content of a segment is rejected, including parts that were received before.
    #[must_use]
    pub fn believes(&self, header: &TcpHeader) -> bool {
        self.takes(header, u32::from(u16::MAX))
    }

    /// True if a segment with this many bytes of payload is processed.
    pub(super) fn takes(&self, header: &TcpHeader, payload: u32) -> bool {
        self.halves.as_ref().is_some_and(|h| h.verdict(header, h.place(header, payload)) == Verdict::Take)
    }

    /// The verdict on a segment with any unusual property, including the answer to it.
    #[cold]
    pub(super) fn admits(&mut self, cx: &mut Cx<'_>, header: &TcpHeader, payload: u32) -> bool {
        let Some(h) = &mut self.halves else { return false };
        let place = h.place(header, payload);
        match h.verdict(header, place) {
            Verdict::Take => return true,
            Verdict::Drop => {}
            Verdict::Reset => self.on_reset(),
            Verdict::Challenge => self.answer(cx),
            Verdict::Unacceptable if place.end > place.start => {
                // Answers to data cannot cause an ACK loop, so they are not limited.
                if !place.foreign {
                    h.receiver.on_unacceptable(place.start, place.end);
                }
                self.send_ack(cx);
            }
            Verdict::Unacceptable => self.answer(cx),
        }
        false
    }

    /// Sends an acknowledgment of the current state, unless one was sent recently.
    fn answer(&mut self, cx: &mut Cx<'_>) {
        if cx.now < self.answers_from {
            return;
        }
        self.answers_from = cx.now + ANSWER_EVERY;
        self.stats.challenge_acks += 1;
        self.send_ack(cx);
    }

    pub(super) fn send_ack(&mut self, cx: &mut Cx<'_>) {
        if let Some(halves) = &mut self.halves {
            let (sender, mut io) = halves.io(cx, &self.path, &mut self.stats);
            sender.send_ack(&mut io);
        }
    }

    /// An acknowledgment of something other than our SYN in SYN-SENT: it belongs to a connection that this
    /// end has forgotten. A RST closes it at the peer (RFC 9293 §3.10.7.3, §3.5.1), and the SYN is repeated
    /// at once if it is the first (Linux).
    #[cold]
    pub(super) fn on_wrong_ack_in_syn_sent(&mut self, cx: &mut Cx<'_>, header: &TcpHeader, payload: u32) {
        if header.flags.has(TcpFlags::RST) {
            return;
        }
        self.refuse(cx, header, payload);
        if self.handshake.retransmissions == 0 {
            self.handshake.at = self.handshake.at.min(cx.now + Duration::from_millis(2)); // TCP_TIMEOUT_MIN
        }
    }
}
