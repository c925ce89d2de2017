//! The abrupt end of a connection (RFC 9293 §3.5.2, §3.5.3, §3.10.5).

use airlane_core::{Cx, Ecn, Event, Instant, TcpFlags, TcpHeader, TcpTimestamps, Topic};

use super::{ConnectionState, Handshake, TcpEndpoint};
use crate::header::{send_packet, timestamp};
use crate::sequence;

/// The state of a connection that the peer's RST has ended, as far as a host reports the difference to its
/// application (Linux `tcp_reset`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetIn {
    /// SYN-SENT: the connection is refused (ECONNREFUSED).
    SynSent,
    /// SYN-RECEIVED: the end listens again, and the application does not learn of it.
    SynReceived,
    /// CLOSE-WAIT: the peer had ended its data (EPIPE).
    CloseWait,
    /// Any other state (ECONNRESET).
    Other,
}

impl TcpEndpoint {
    /// In which state the peer's RST ended the last connection, if it did.
    #[must_use]
    pub const fn ended_by_reset(&self) -> Option<ResetIn> {
        self.ended_by_reset
    }

    /// An acceptable RST. A connection that was opened passively and is not established returns to LISTEN (RFC 9293
    /// §3.10.7.4, SYN-RECEIVED).
    pub(super) fn on_reset(&mut self) {
        if self.state == ConnectionState::SynReceived {
            self.ended_by_reset = Some(ResetIn::SynReceived);
            return self.listen_again();
        }
        let waits = self.halves.as_ref().is_some_and(|h| h.receiver.has_fin() && !h.sender.is_closed());
        self.ended_by_reset = Some(if waits { ResetIn::CloseWait } else { ResetIn::Other });
        self.end(ConnectionState::Reset);
    }

    /// The application aborts the connection: a RST informs the peer, if the peer knows the
    /// connection. Unsent and unread data is lost.
    pub fn abort(&mut self, cx: &mut Cx<'_>) {
        match self.state {
            ConnectionState::Closed | ConnectionState::Reset | ConnectionState::TimedOut => return,
            ConnectionState::Listen | ConnectionState::SynSent => {}
            ConnectionState::SynReceived | ConnectionState::Established => {
                if let Some(h) = &mut self.halves {
                    let ack = h.receiver.acknowledge(false);
                    let stamp = TcpTimestamps { value: timestamp(cx.now), echo_reply: ack.ts_recent };
                    let header = TcpHeader {
                        sequence: sequence::wire(h.sender.nxt(), h.negotiated.local_initial),
                        acknowledgment: sequence::wire(ack.next, h.negotiated.remote_initial),
                        flags: TcpFlags(TcpFlags::RST | TcpFlags::ACK),
                        timestamps: h.negotiated.timestamps.then_some(stamp), // RFC 7323 §3.2: SHOULD
                        ..TcpHeader::default()
                    };
                    self.stats.segments_sent += 1;
                    send_packet(cx, &self.path, header, (Ecn::NotCapable, false));
                }
            }
        }
        self.end(ConnectionState::Reset);
    }

    /// A RST in answer to our SYN is valid if it acknowledges the SYN (RFC 9293 §3.10.7.3).
    pub(super) fn on_reset_in_syn_sent(&mut self, header: &TcpHeader) {
        let acked = sequence::position(header.acknowledgment, self.config.initial_sequence, 1);
        if header.flags.has(TcpFlags::ACK) && acked == 1 {
            self.ended_by_reset = Some(ResetIn::SynSent);
            self.end(ConnectionState::Reset);
        }
    }

    /// Any segment of a closed connection except a RST is answered with a RST (RFC 9293 §3.10.7.1).
    #[cold]
    pub(super) fn refuse(&mut self, cx: &mut Cx<'_>, header: &TcpHeader, payload: u32) {
        if let Some(header) = refusal(header, payload) {
            self.stats.segments_sent += 1;
            send_packet(cx, &self.path, header, (Ecn::NotCapable, false));
        }
    }

    /// The peer has not answered for too long: gives up without informing the peer (RFC 9293 §3.8.3).
    #[cold]
    pub(super) fn give_up(&mut self, cx: &mut Cx<'_>) {
        self.end(ConnectionState::TimedOut);
        if cx.wants(Topic::FlowCompleted) {
            cx.emit(&Event::FlowGaveUp { flow: self.path.flow });
        }
    }

    /// A listening end continues to listen (Linux forgets the request).
    pub(super) fn give_up_handshake(&mut self, cx: &mut Cx<'_>) {
        if self.state == ConnectionState::SynSent {
            return self.give_up(cx);
        }
        self.listen_again();
    }

    /// The end of a connection that was opened passively and was not established.
    fn listen_again(&mut self) {
        self.halves = None;
        self.handshake = Handshake { rto: self.config.rto_initial, ..Handshake::IDLE };
        self.state = ConnectionState::Listen;
    }

    /// Ends the connection and discards its unread data.
    pub(super) fn end(&mut self, state: ConnectionState) {
        self.stats = self.stats();
        self.halves = None;
        self.handshake.at = Instant::FAR_FUTURE;
        self.state = state;
    }
}

/// A host's answer to a segment, with this many bytes of payload, of a connection that does not exist;
/// none to a RST (RFC 9293 §3.10.7.1).
#[must_use]
pub fn refusal(header: &TcpHeader, payload: u32) -> Option<TcpHeader> {
    let flags = header.flags;
    if flags.has(TcpFlags::RST) {
        return None;
    }
    if flags.has(TcpFlags::ACK) {
        let flags = TcpFlags(TcpFlags::RST);
        return Some(TcpHeader { sequence: header.acknowledgment, flags, ..TcpHeader::default() });
    }
    let taken = payload + u32::from(flags.has(TcpFlags::SYN)) + u32::from(flags.has(TcpFlags::FIN));
    Some(TcpHeader {
        acknowledgment: header.sequence.wrapping_add(taken),
        flags: TcpFlags(TcpFlags::RST | TcpFlags::ACK),
        ..TcpHeader::default()
    })
}
