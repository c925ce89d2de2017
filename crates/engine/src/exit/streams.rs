//! The byte streams of the TCP connections that arrive at an exit, as their receivers outside can read them.

use std::collections::BTreeMap;

use airlane_core::{Bytes, Header, Packet, SocketPair, TcpFlags};

/// Connections whose bytes are followed, at most; further ones are not.
const CONNECTIONS_MAX: usize = 10_000;
/// Ranges of a connection that have arrived out of order, at most; the oldest is forgotten.
const RANGES_MAX: usize = 10_000;

/// The byte streams of connections, by their sockets.
#[derive(Debug, Default)]
pub(super) struct Streams(BTreeMap<SocketPair, Stream>);

/// Payload bytes of a packet: those that are next in order through it, and those that had not arrived before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrived {
    pub(super) in_order: Bytes,
    pub(super) fresh: Option<Bytes>,
}

/// The arrived parts of a byte stream, by positions that count from its SYN.
#[derive(Debug)]
struct Stream {
    /// The sequence number at position 0.
    initial: u32,
    /// All bytes before have arrived.
    in_order: u64,
    /// Ranges behind it that have arrived, which neither touch nor overlap: begin and end.
    ranges: BTreeMap<u64, u64>,
}

impl Streams {
    /// A packet arrives.
    pub(super) fn arrive(&mut self, packet: &Packet) -> Arrived {
        let payload = u64::from(packet.payload.len());
        let unknown = Arrived { in_order: Bytes(payload), fresh: None };
        let Header::Tcp(header) = packet.header else { return unknown };
        if header.flags.has(TcpFlags::SYN) {
            if self.0.len() < CONNECTIONS_MAX || self.0.contains_key(&packet.sockets) {
                let stream = Stream::new(header.sequence.wrapping_add(1));
                // A repeated SYN begins nothing new.
                let known = self.0.entry(packet.sockets).or_insert_with(|| Stream::new(stream.initial));
                if known.initial != stream.initial {
                    *known = stream;
                }
            }
            return Arrived { in_order: Bytes(0), fresh: Some(Bytes(0)) };
        }
        match self.0.get_mut(&packet.sockets) {
            Some(stream) => stream.arrive(header.sequence, payload),
            None => unknown,
        }
    }
}

impl Stream {
    const fn new(initial: u32) -> Self {
        Self { initial, in_order: 0, ranges: BTreeMap::new() }
    }

    fn arrive(&mut self, sequence: u32, length: u64) -> Arrived {
        // The position nearest to the next byte in order (RFC 9293 §3.4).
        let expected = self.initial.wrapping_add(self.in_order as u32);
        let distance = i64::from(sequence.wrapping_sub(expected) as i32);
        let Some(from) = self.in_order.checked_add_signed(distance) else {
            return Arrived { in_order: Bytes(0), fresh: Some(Bytes(0)) };
        };
        let (mut begin, mut end) = (from.max(self.in_order), from + length);
        if end <= self.in_order {
            return Arrived { in_order: Bytes(0), fresh: Some(Bytes(0)) };
        }
        let mut fresh = end - begin;
        while let Some((&other, &until)) = self.ranges.range(..=end).next_back()
            && until >= begin
        {
            fresh -= until.min(end).saturating_sub(other.max(begin)).min(fresh);
            (begin, end) = (begin.min(other), end.max(until));
            self.ranges.remove(&other);
        }
        if begin > self.in_order {
            self.ranges.insert(begin, end);
            if self.ranges.len() > RANGES_MAX {
                self.ranges.pop_first();
            }
            return Arrived { in_order: Bytes(0), fresh: Some(Bytes(fresh)) };
        }
        let in_order = end - self.in_order;
        self.in_order = end;
        Arrived { in_order: Bytes(in_order), fresh: Some(Bytes(fresh)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrived(in_order: u64, fresh: u64) -> Arrived {
        Arrived { in_order: Bytes(in_order), fresh: Some(Bytes(fresh)) }
    }

    #[test]
    fn a_gap_delays_what_is_behind_it() {
        // The sequence numbers wrap within the stream.
        let mut stream = Stream::new(u32::MAX - 99);
        assert_eq!(stream.arrive(u32::MAX - 99, 100), arrived(100, 100));
        assert_eq!(stream.arrive(100, 100), arrived(0, 100)); // 0 to 99 are missing
        assert_eq!(stream.arrive(300, 100), arrived(0, 100));
        assert_eq!(stream.arrive(150, 200), arrived(0, 100)); // 200 to 299 are new
        assert_eq!(stream.arrive(0, 100), arrived(400, 100));
        assert!(stream.ranges.is_empty());
    }

    #[test]
    fn repeated_bytes_are_not_fresh() {
        let mut stream = Stream::new(1);
        assert_eq!(stream.arrive(1, 50), arrived(50, 50));
        assert_eq!(stream.arrive(1, 50), arrived(0, 0));
        assert_eq!(stream.arrive(41, 20), arrived(10, 10));
        assert_eq!(stream.arrive(101, 10), arrived(0, 10));
        assert_eq!(stream.arrive(101, 10), arrived(0, 0));
    }
}
