//! Builds segments: the typed header of a packet from the state of both halves.

use core::num::NonZeroU8;

use airlane_core::{
    Bytes, Cx, Ecn, Event, Header, Instant, Payload, TcpFlags, TcpHeader, TcpTimestamps, Topic,
};

use crate::accurate::OPTION_BYTES;
use crate::ecn::EcnFeedback;
use crate::path::Path;
use crate::receiver::Receiver;
use crate::sequence;
use crate::stats::TcpStats;
use crate::window::Code;

/// The result of the handshake.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Negotiated {
    /// Our initial sequence number and the peer's.
    pub(crate) local_initial: u32,
    pub(crate) remote_initial: u32,
    pub(crate) timestamps: bool,
    pub(crate) sack: bool,
    pub(crate) ecn: EcnFeedback,
    /// With classic ECN, this end follows DCTCP: it echoes each mark, and all its packets after the handshake are
    /// ECN-capable (RFC 8257 §3.2; Linux `TCP_CONG_NEEDS_ECN`).
    pub(crate) exact_echo: bool,
    /// Both ends support codes.
    pub(crate) codes: bool,
    /// Window scale of the windows we announce, and of those the peer announces.
    pub(crate) local_scale: u8,
    pub(crate) remote_scale: u8,
    /// Payload of a full segment that we send, with the AccECN option if this end sends it.
    pub(crate) segment_size: u32,
    /// Maximum payload without the AccECN option.
    pub(crate) bare_segment_size: u32,
}

/// The timestamp clock: milliseconds (RFC 7323 §5.4 allows 1 ms to 1 s).
pub(crate) const fn timestamp(now: Instant) -> u32 {
    (now.as_nanos() / 1_000_000) as u32
}

/// Bytes of options that a TCP header has room for.
const OPTIONS_MAX: u32 = 40;

/// A segment to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outgoing {
    /// First position of the segment.
    pub(crate) start: u64,
    pub(crate) payload: u32,
    pub(crate) flags: u16,
    pub(crate) retransmission: bool,
    /// ECN field of the segment, if a segment of its kind may be ECN-capable.
    pub(crate) capable: Ecn,
}

/// The environment that a half of an endpoint needs to send.
pub(crate) struct Io<'a, 'c> {
    pub(crate) cx: &'a mut Cx<'c>,
    pub(crate) path: &'a Path,
    pub(crate) negotiated: &'a Negotiated,
    pub(crate) receiver: &'a mut Receiver,
    pub(crate) stats: &'a mut TcpStats,
}

impl Io<'_, '_> {
    #[inline]
    pub(crate) fn now(&self) -> Instant {
        self.cx.now
    }

    /// Sends one segment of an established connection. `capable` is the ECN field of a packet that may be
    /// ECN-capable.
    pub(crate) fn send(&mut self, outgoing: &Outgoing) {
        let &Outgoing { start, payload, mut flags, retransmission, capable } = outgoing;
        let n = self.negotiated;
        // A code would make a full segment larger than the MTU: it waits for an ACK without data.
        let bare = payload == 0 && flags & TcpFlags::FIN == 0;
        let code = if n.codes && bare { self.receiver.take_code() } else { None };
        if let Some(code) = code {
            self.report_code(code);
        }
        let mut ack = self.receiver.acknowledge(code.is_some());
        let mut ecn = Ecn::NotCapable;
        let mut accurate_ecn = None;
        match n.ecn {
            EcnFeedback::None => {}
            EcnFeedback::Classic => {
                if self.receiver.echoes_congestion() {
                    flags |= TcpFlags::ECE;
                }
                // RFC 3168 §6.1.4, §6.1.5: ACKs and retransmissions are not ECN-capable.
                if (payload > 0 && !retransmission) || n.exact_echo {
                    ecn = capable;
                }
            }
            EcnFeedback::Accurate => {
                let mut room =
                    OPTIONS_MAX - if n.timestamps { 12 } else { 0 } - if code.is_some() { 8 } else { 0 };
                if payload + OPTION_BYTES > n.bare_segment_size {
                    room = 0; // a segment that was made before the peer's first option
                }
                let (ace, option) = self.receiver.report_marks(bare, room, &mut ack);
                (flags, accurate_ecn, ecn) = (flags | ace, option, capable);
            }
        }
        self.stats.segments_sent += 1;
        if payload > 0 || flags & TcpFlags::FIN != 0 {
            self.stats.data_segments_sent += 1;
            self.stats.retransmissions += u64::from(retransmission);
        }
        let now = timestamp(self.cx.now);
        let write = |header: &mut TcpHeader| {
            header.sequence = sequence::wire(start, n.local_initial);
            header.acknowledgment = sequence::wire(ack.next, n.remote_initial);
            header.window = (ack.window >> n.local_scale) as u16;
            header.flags = TcpFlags(flags | TcpFlags::ACK);
            if n.timestamps {
                header.timestamps = Some(TcpTimestamps { value: now, echo_reply: ack.ts_recent });
            }
            if !ack.sack.is_empty() {
                header.sack = ack.sack;
            }
            header.receiver_code = code.and_then(|code| NonZeroU8::new(code.value));
            if accurate_ecn.is_some() {
                header.accurate_ecn = accurate_ecn;
            }
        };
        send_written(self.cx, self.path, payload, (ecn, retransmission), write);
    }

    #[cold]
    fn report_code(&mut self, code: Code) {
        if self.cx.wants(Topic::ReceiverCode) {
            self.cx.emit(&Event::CodeSent { flow: self.path.flow, case: code.case, code: code.value });
        }
    }
}

/// Sends a segment without payload and reports it.
pub(crate) fn send_packet(
    cx: &mut Cx<'_>,
    path: &Path,
    header: TcpHeader,
    (ecn, retransmission): (Ecn, bool),
) {
    send_written(cx, path, 0, (ecn, retransmission), |place| *place = header);
}

/// Sends a segment whose header is written at its place, and reports it.
#[inline(always)]
fn send_written(
    cx: &mut Cx<'_>,
    path: &Path,
    payload: u32,
    (ecn, retransmission): (Ecn, bool),
    write: impl FnOnce(&mut TcpHeader),
) {
    let now = cx.now;
    let packet = cx.pool.insert_with(|packet| {
        packet.header = Header::Tcp(TcpHeader::default());
        if let Header::Tcp(header) = &mut packet.header {
            write(header);
            packet.size = Bytes(u64::from(20 + header.wire_len() + payload));
        }
        packet.payload = Payload::Length(payload);
        (packet.flow, packet.direction, packet.sockets) = (path.flow, path.direction, path.sockets);
        (packet.ecn, packet.sent_at) = (ecn, now);
    });
    if cx.wants(Topic::Sent) {
        cx.probe.observe(cx.now, &Event::Sent { packet: cx.pool.get(&packet), retransmission });
    }
    cx.send(0, packet);
}
