//! The delay of the bytes of TCP connections: from their first transmission by one end until the other end can
//! read them in order. A split proxy may be between the two ends: its own packets are not observed.
//!
//! Positions in a stream are counted at both ends, from the first payload on, so that the ends may have
//! different sequence numbers. A segment is measured when its last byte can be read. The delay therefore
//! includes retransmissions, and the time that bytes wait for earlier ones (RFC 9293 §3.10.7.4) or in a proxy.

use airlane_core::ring::Ring;
use airlane_core::{Bytes, Duration, Header, Instant, Packet, SocketPair, TcpFlags};

/// Segments for which the first connection of a flow reserves memory: the window of 75 Mbit/s and 320 ms. The
/// other connections of a flow, which may be many, reserve none.
const RESERVED: usize = 2048;

/// No pair of sockets.
const NO_SOCKETS: u64 = u64::MAX;

/// The connections of one flow, in one direction.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    /// The connection of the previous packet; the packets of a flow mostly belong to the same one.
    current: Connection,
    others: Vec<Connection>,
}

#[derive(Debug)]
struct Connection {
    /// Its sockets as one number, or [`NO_SOCKETS`] before the first packet of the flow.
    sockets: u64,
    /// The sequence number behind the last byte sent.
    next: u32,
    /// Bytes sent, and bytes that the other end can read.
    sent: u64,
    readable: u64,
    /// Segments that cannot be read completely: the position of their end, and when they were first sent.
    segments: Ring<(u64, Instant)>,
}

impl Streams {
    /// One end sent a packet with payload.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Instant, packet: &Packet, retransmission: bool) {
        let Header::Tcp(header) = &packet.header else { return };
        let one = &mut self.current;
        // Mostly it continues the stream. The other cases are a call at the end, so that this path saves no registers.
        let (length, continues) = (packet.payload.len(), one.next == header.sequence);
        let sent = one.sent + u64::from(length);
        if continues
            && one.sockets == number_of(packet.sockets)
            && !header.flags.has(TcpFlags::SYN)
            && one.segments.push_within((sent, now))
        {
            one.next = one.next.wrapping_add(length);
            one.sent = sent;
            return;
        }
        self.on_any_sent(now, packet, retransmission);
    }

    #[inline(never)]
    fn on_any_sent(&mut self, now: Instant, packet: &Packet, retransmission: bool) {
        let Header::Tcp(header) = packet.header else { return };
        let start = header.sequence.wrapping_add(u32::from(header.flags.has(TcpFlags::SYN)));
        let sockets = number_of(packet.sockets);
        let is_new = !self.find(sockets);
        if is_new {
            self.begin(sockets);
        }
        let one = &mut self.current;
        if one.next != start && (is_new || !retransmission) {
            one.restart(start); // another connection of the same sockets
        }
        // Of two sequence numbers of a window, the later one is less than 2^31 ahead (RFC 9293 §3.4).
        let fresh = start.wrapping_add(packet.payload.len()).wrapping_sub(one.next);
        if fresh != 0 && fresh < 1 << 31 {
            one.add(now, fresh);
        }
    }

    /// Makes the connection of these sockets the current one. False if there is none.
    fn find(&mut self, sockets: u64) -> bool {
        if self.current.sockets == sockets {
            return true;
        }
        // The youngest first: older connections have mostly ended.
        let Some(index) = self.others.iter().rposition(|one| one.sockets == sockets) else {
            return false;
        };
        core::mem::swap(&mut self.current, &mut self.others[index]);
        true
    }

    /// Begins the first connection of these sockets.
    #[cold]
    fn begin(&mut self, sockets: u64) {
        let is_first = self.current.sockets == NO_SOCKETS;
        let reserve = if is_first { RESERVED } else { 0 };
        let segments = Ring::new(reserve);
        let one = Connection { sockets, segments, ..Connection::default() };
        let before = core::mem::replace(&mut self.current, one);
        if !is_first {
            self.others.push(before);
        }
    }

    /// This packet made bytes readable at the other end. True if they are exactly one segment, which was first sent
    /// when the packet was: the delay of the segment is that of the packet. Otherwise the caller must call
    /// [`Self::on_readable`].
    #[inline]
    pub(crate) fn on_next_readable(&mut self, packet: &Packet, in_order: Bytes) -> bool {
        let one = &mut self.current;
        let readable = one.readable + in_order.get();
        let is_next = one.sockets == number_of(packet.sockets)
            && one.segments.front().is_some_and(|&segment| segment == (readable, packet.sent_at));
        if is_next {
            one.readable = readable;
            one.segments.skip_front();
        }
        is_next
    }

    /// Bytes became readable at the other end. Calls `measured` with the delay of each segment that is
    /// complete with them.
    pub(crate) fn on_readable(
        &mut self,
        now: Instant,
        packet: &Packet,
        in_order: Bytes,
        mut measured: impl FnMut(Duration),
    ) {
        if !self.find(number_of(packet.sockets)) {
            return;
        }
        let one = &mut self.current;
        one.readable += in_order.get();
        while let Some(&(end, sent_at)) = one.segments.front()
            && end <= one.readable
        {
            one.segments.skip_front();
            measured(now - sent_at);
        }
    }
}

/// Sockets as one number, which is compared faster.
#[inline]
fn number_of(SocketPair { server, server_port, ue_port }: SocketPair) -> u64 {
    u64::from(server) | u64::from(server_port) << 16 | u64::from(ue_port) << 32
}

impl Default for Connection {
    fn default() -> Self {
        Self { sockets: NO_SOCKETS, next: 0, sent: 0, readable: 0, segments: Ring::new(0) }
    }
}

impl Connection {
    /// Begins a stream whose first byte has this sequence number.
    fn restart(&mut self, start: u32) {
        (self.next, self.sent, self.readable) = (start, 0, 0);
        self.segments.clear();
    }

    /// Adds bytes that had not been sent before.
    fn add(&mut self, now: Instant, fresh: u32) {
        self.next = self.next.wrapping_add(fresh);
        self.sent += u64::from(fresh);
        self.segments.push_back((self.sent, now));
    }
}

#[cfg(test)]
mod tests {
    use airlane_core::{Direction, FlowId, Payload, TcpHeader};

    use super::*;

    fn ms(at: u64) -> Instant {
        Instant::from_millis(at)
    }

    /// A segment of 1000 bytes that begins at this sequence number.
    fn segment(sequence: u32, ue_port: u16) -> Packet {
        let header = Header::Tcp(TcpHeader { sequence, ..TcpHeader::default() });
        let mut packet =
            Packet::new(FlowId(0), Direction::Downlink, header, Payload::Length(1000), Instant::ZERO);
        packet.sockets.ue_port = ue_port;
        packet
    }

    fn readable(streams: &mut Streams, at: u64, port: u16, bytes: u64) -> Vec<u64> {
        let mut delays = vec![];
        streams.on_readable(ms(at), &segment(7, port), Bytes(bytes), |delay| {
            delays.push(delay.as_nanos() / 1_000_000);
        });
        delays
    }

    #[test]
    fn a_retransmission_counts_from_the_first_transmission() {
        let mut streams = Streams::default();
        streams.on_sent(ms(0), &segment(u32::MAX - 499, 1), false); // the sequence numbers wrap
        streams.on_sent(ms(1), &segment(500, 1), false);
        streams.on_sent(ms(200), &segment(u32::MAX - 499, 1), true);
        assert_eq!(readable(&mut streams, 100, 1, 0), [] as [u64; 0], "the second waits for the first");
        assert_eq!(readable(&mut streams, 300, 1, 2000), [300, 299]);
    }

    #[test]
    fn a_segment_is_measured_with_its_last_byte() {
        let mut streams = Streams::default();
        streams.on_sent(ms(0), &segment(0, 1), false);
        streams.on_sent(ms(10), &segment(1000, 1), false);
        // The other end has smaller segments, as behind a proxy.
        assert_eq!(readable(&mut streams, 50, 1, 999), [] as [u64; 0]);
        assert_eq!(readable(&mut streams, 60, 1, 2), [60]);
        assert_eq!(readable(&mut streams, 70, 1, 999), [60]);
        assert_eq!(readable(&mut streams, 80, 1, 1), [] as [u64; 0], "nothing else was sent");
    }

    #[test]
    fn connections_have_streams_of_their_own() {
        let mut streams = Streams::default();
        streams.on_sent(ms(0), &segment(0, 1), false);
        streams.on_sent(ms(10), &segment(70_000, 2), false);
        assert_eq!(readable(&mut streams, 50, 2, 1000), [40]);
        assert_eq!(readable(&mut streams, 60, 1, 1000), [60]);
        assert_eq!(readable(&mut streams, 60, 3, 1000), [] as [u64; 0], "nothing was sent there");
        // The sockets of the second are used again, by a connection with other sequence numbers.
        streams.on_sent(ms(100), &segment(5, 2), false);
        assert_eq!(readable(&mut streams, 120, 2, 1000), [20]);
    }
}
