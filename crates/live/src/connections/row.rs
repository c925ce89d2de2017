//! One connection.

use std::collections::VecDeque;

use airlane_core::{Direction, Duration, Ecn, Header, Instant, Packet, Payload, TcpFlags, TcpHeader};

use super::Key;
use super::delays::Delays;
use super::rtp::Rtp;

/// Maximum number of timestamps of a direction whose echo is expected.
const TIMESTAMPS_MAX: usize = 512;

/// A connection.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) key: Key,
    pub(super) first: Instant,
    pub(super) last: Instant,
    /// Downlink and uplink.
    pub(super) directions: [DirectionState; 2],
    /// Round-trip times.
    pub(super) rtt: Delays,
    pub(super) method: Method,
    /// Arrival time and direction of the SYN until it is answered.
    syn: Option<(Instant, Direction)>,
    /// From the SYN to its answer.
    pub(super) handshake: Option<Duration>,
    spin: Option<Spin>,
    pub(super) reset: bool,
}

/// How round-trip times are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// The round trip is not measured.
    None,
    /// By the SYN and its answer.
    Handshake,
    /// By timestamps and their echoes (RFC 7323 §3), as pping (Nichols) does: from the time at which the first packet
    /// with a timestamp and data enters, to the time at which its echo leaves next to it.
    Timestamps,
    /// By the spin bit of QUIC (RFC 9000 §17.4): the interval of its changes in packets that enter the downlink.
    Spin,
}

/// One direction of a connection.
#[derive(Debug, Default)]
pub(super) struct DirectionState {
    pub(super) entered: u64,
    pub(super) left: u64,
    /// Payload bytes that left, repeated ones included.
    pub(super) payload: u64,
    pub(super) delays: Delays,
    /// Packets that left with a mark of congestion.
    pub(super) marked: u64,
    pub(super) retransmissions: u64,
    pub(super) retransmitted: u64,
    /// The sequence number behind the highest one that entered.
    highest: Option<u32>,
    pub(super) fin: bool,
    pub(super) rtp: Rtp,
    /// Timestamps of packets with data, and when they entered first.
    timestamps: VecDeque<(u32, Instant)>,
}

/// The spin bit of a connection of QUIC.
#[derive(Clone, Copy, Debug, Default)]
struct Spin {
    value: bool,
    edge: Option<Instant>,
}

impl Row {
    /// The connection of which this packet is the first.
    pub(super) fn new(key: Key, at: Instant, packet: &Packet) -> Self {
        Self {
            key,
            first: at,
            last: at,
            directions: Default::default(),
            rtt: Delays::default(),
            method: Method::None,
            syn: None,
            handshake: None,
            spin: is_quic(packet).then(Spin::default),
            reset: false,
        }
    }

    pub(super) const fn is_quic(&self) -> bool {
        self.spin.is_some()
    }

    /// Whether it carries RTP; its other direction may carry RTCP only.
    pub(super) fn is_rtp(&self) -> bool {
        !self.is_quic() && self.directions.iter().any(|state| state.rtp.valid)
    }

    /// Whether the connection ended and this packet begins another one.
    pub(super) fn is_followed_by(&self, packet: &Packet) -> bool {
        let ended = self.reset || self.directions.iter().all(|state| state.fin);
        ended
            && matches!(packet.header, Header::Tcp(tcp)
                if tcp.flags.has(TcpFlags::SYN) && !tcp.flags.has(TcpFlags::ACK))
    }

    #[inline]
    pub(super) fn entered(&mut self, at: Instant, direction: Direction, packet: &Packet) {
        self.last = at;
        let state = &mut self.directions[direction as usize];
        state.entered += 1;
        match &packet.header {
            Header::Tcp(tcp) => {
                state.entered_tcp(at, tcp, packet.payload.len());
                if tcp.flags.0 & (TcpFlags::SYN | TcpFlags::RST) != 0 {
                    self.reset |= tcp.flags.has(TcpFlags::RST);
                    if tcp.flags.has(TcpFlags::SYN)
                        && !tcp.flags.has(TcpFlags::ACK)
                        && self.handshake.is_none()
                    {
                        self.syn.get_or_insert((at, direction));
                    }
                }
            }
            Header::Udp(_) => {
                match &packet.payload {
                    Payload::Bytes(bytes) if self.spin.is_none() => state.rtp.entered(bytes),
                    _ => {}
                }
                if direction == Direction::Downlink {
                    self.spin(at, packet);
                }
            }
            _ => {}
        }
    }

    /// A packet left. Its delay counts if it `travelled` from end to end, and no proxy has sent it.
    #[inline]
    pub(super) fn left(&mut self, at: Instant, direction: Direction, packet: &Packet, travelled: bool) {
        self.last = at;
        let state = &mut self.directions[direction as usize];
        state.left += 1;
        state.payload += u64::from(packet.payload.len());
        state.marked += u64::from(packet.ecn == Ecn::CongestionExperienced);
        if travelled {
            state.delays.record(at.saturating_since(packet.sent_at));
        }
        let Header::Tcp(tcp) = &packet.header else { return };
        if let Some((since, of)) = self.syn
            && of != direction
            && tcp.flags.has(TcpFlags::SYN | TcpFlags::ACK)
        {
            self.syn = None;
            self.handshake = Some(at - since);
            if self.method == Method::None {
                self.method = Method::Handshake;
            }
        }
        if let Some(timestamps) = tcp.timestamps
            && tcp.flags.has(TcpFlags::ACK)
            && let Some(since) = self.directions[direction.reversed() as usize].echoed(timestamps.echo_reply)
        {
            self.method = Method::Timestamps;
            self.rtt.record(at - since);
        }
    }

    fn spin(&mut self, at: Instant, packet: &Packet) {
        let (Some(spin), Payload::Bytes(bytes)) = (&mut self.spin, &packet.payload) else { return };
        let Some(&first) = bytes.first() else { return };
        // A short header: form bit 0, fixed bit 1 (RFC 9000 §17.3.1).
        if first & 0xc0 != 0x40 {
            return;
        }
        let value = first & 0x20 != 0;
        if value != spin.value {
            if let Some(edge) = spin.edge {
                self.rtt.record(at - edge);
                self.method = Method::Spin;
            }
            *spin = Spin { value, edge: Some(at) };
        }
    }
}

impl DirectionState {
    #[inline]
    fn entered_tcp(&mut self, at: Instant, tcp: &TcpHeader, payload: u32) {
        let length =
            payload + u32::from(tcp.flags.has(TcpFlags::SYN)) + u32::from(tcp.flags.has(TcpFlags::FIN));
        self.fin |= tcp.flags.has(TcpFlags::FIN);
        if length == 0 {
            return;
        }
        let end = tcp.sequence.wrapping_add(length);
        // Sequence numbers are compared modulo 2^32 (RFC 9293 §3.4).
        let fresh = self.highest.map_or(length, |highest| {
            let ahead = end.wrapping_sub(highest) as i32;
            (ahead.max(0) as u32).min(length)
        });
        if fresh > 0 {
            self.highest = Some(end);
        }
        if fresh < length {
            self.retransmissions += 1;
            self.retransmitted += u64::from((length - fresh).min(payload));
            return; // the echo of a repeated segment's timestamp may be late
        }
        if let Some(timestamps) = tcp.timestamps
            && self.timestamps.back().is_none_or(|(last, _)| *last != timestamps.value)
            && self.timestamps.len() < TIMESTAMPS_MAX
        {
            self.timestamps.push_back((timestamps.value, at));
        }
    }

    /// The time at which the packet with this timestamp entered, if it is its first echo. Older ones are not expected
    /// any more.
    #[inline]
    fn echoed(&mut self, echo: u32) -> Option<Instant> {
        while let Some(&(value, at)) = self.timestamps.front()
            && (echo.wrapping_sub(value) as i32) >= 0
        {
            self.timestamps.pop_front();
            if value == echo {
                return Some(at);
            }
        }
        None
    }
}

/// Whether a datagram begins a connection of QUIC: a long header (RFC 9000 §17.2) with a version.
fn is_quic(packet: &Packet) -> bool {
    match (&packet.header, &packet.payload) {
        (Header::Udp(_), Payload::Bytes(bytes)) => {
            matches!(bytes[..], [first, a, b, c, d, ..] if first & 0xc0 == 0xc0 && [a, b, c, d] != [0; 4])
        }
        _ => false,
    }
}
