//! The connection of a packet from outside within the flow of its UE.
//!
//! All connections of a UE share one flow. Queues that separate connections, and middleboxes, distinguish them by the
//! [`SocketPair`] of each packet, which is set here from its ports.

use std::collections::{BTreeMap, VecDeque};

use airlane_core::{Direction, Duration, Instant, SocketPair};
use airlane_wire::{Class, FiveTuple, FragmentId, classify};

/// Maximum number of fragmented packets whose later fragments are expected.
const FRAGMENTS_MAX: usize = 1024;
/// How long they are expected: as long as Linux keeps them (`net.ipv4.ipfrag_time`, unverified).
const FRAGMENT_LIFETIME: Duration = Duration::from_secs(30);

/// Finds the connections of packets. Times must not decrease.
#[derive(Debug, Default)]
pub struct Sockets {
    /// The connections of packets of which the first fragment was seen.
    fragments: BTreeMap<FragmentId, SocketPair>,
    expected: VecDeque<(Instant, FragmentId)>,
}

impl Sockets {
    /// The connection of a packet that travels in this direction. An echo message has its identifier in place of both
    /// ports; an ICMP error belongs to the connection of the packet that it quotes, and a fragment to that of the
    /// first one. Other packets belong to the connection without ports.
    pub fn of(&mut self, bytes: &[u8], direction: Direction, now: Instant) -> SocketPair {
        match classify(bytes) {
            Ok(Class::Whole(tuple)) => pair(&tuple, direction),
            Ok(Class::Quotes(tuple)) => pair(&tuple, direction.reversed()),
            Ok(Class::FirstFragment(tuple, id)) => {
                let pair = pair(&tuple, direction);
                self.expect(id, pair, now);
                pair
            }
            Ok(Class::Fragment(id)) => {
                self.expire(now);
                self.fragments.get(&id).copied().unwrap_or_default()
            }
            Err(_) => SocketPair::default(),
        }
    }

    fn expect(&mut self, id: FragmentId, pair: SocketPair, now: Instant) {
        self.expire(now);
        if self.fragments.insert(id, pair).is_some() {
            return; // it keeps its first time, so that the queue stays in order
        }
        self.expected.push_back((now, id));
        if self.expected.len() > FRAGMENTS_MAX
            && let Some((_, oldest)) = self.expected.pop_front()
        {
            self.fragments.remove(&oldest);
        }
    }

    fn expire(&mut self, now: Instant) {
        while let Some(&(at, id)) = self.expected.front()
            && now.saturating_since(at) >= FRAGMENT_LIFETIME
        {
            self.expected.pop_front();
            self.fragments.remove(&id);
        }
    }
}

/// The sockets of a tuple: the UE has the destination port on the downlink, and the source port on the uplink.
const fn pair(tuple: &FiveTuple, direction: Direction) -> SocketPair {
    match direction {
        Direction::Downlink => {
            SocketPair { server: 0, server_port: tuple.source_port, ue_port: tuple.destination_port }
        }
        Direction::Uplink => {
            SocketPair { server: 0, server_port: tuple.destination_port, ue_port: tuple.source_port }
        }
    }
}

#[cfg(test)]
mod tests {
    use airlane_wire::{Echo, Icmp, Ip, Ipv4, Udp};

    use super::*;
    use crate::ends::{EndId, Ends, SERVER_V4};

    /// A datagram of the server's port 53 to the UE's port 4000, or a fragment of one.
    fn datagram(fragment: u16) -> Vec<u8> {
        let header = Ipv4 {
            total_length: 32,
            identification: 7,
            fragment,
            protocol: 17,
            ..Ipv4::between(SERVER_V4, Ends::v4(EndId::Ue(0)))
        };
        let mut bytes = vec![];
        Ip::V4(header).emit(&mut bytes).unwrap();
        Udp { source_port: 53, destination_port: 4_000, length: 12, checksum: 0 }.emit(&mut bytes);
        bytes.extend_from_slice(&[1, 2, 3, 4]);
        bytes
    }

    fn icmp(icmp: Icmp, behind: &[u8]) -> Vec<u8> {
        let length = 28 + behind.len() as u16;
        let header = Ipv4::between(Ends::v4(EndId::Ue(0)), SERVER_V4);
        let mut bytes = vec![];
        Ip::V4(Ipv4 { total_length: length, protocol: 1, ..header }).emit(&mut bytes).unwrap();
        icmp.emit(&mut bytes);
        bytes.extend_from_slice(behind);
        bytes
    }

    #[test]
    fn both_directions_and_errors_have_the_same_sockets() {
        let mut sockets = Sockets::default();
        let pair = SocketPair { server: 0, server_port: 53, ue_port: 4_000 };
        let down = datagram(0);
        assert_eq!(sockets.of(&down, Direction::Downlink, Instant::ZERO), pair);
        // The UE answers with an error that quotes it.
        let unreachable = Icmp { kind: 3, code: 3, checksum: 0, rest: [0; 4] };
        assert_eq!(sockets.of(&icmp(unreachable, &down), Direction::Uplink, Instant::ZERO), pair);
        let echo = Icmp::echo_message(Echo { reply: false, identifier: 99, sequence: 1 }, false);
        let pair = SocketPair { server: 0, server_port: 99, ue_port: 99 };
        assert_eq!(sockets.of(&icmp(echo, &[]), Direction::Uplink, Instant::ZERO), pair);
        assert_eq!(sockets.of(&[0x45], Direction::Uplink, Instant::ZERO), SocketPair::default());
    }

    #[test]
    fn a_later_fragment_has_the_sockets_of_the_first_for_30_s() {
        let mut sockets = Sockets::default();
        let later = |sockets: &mut Sockets, s: u64| {
            sockets.of(&datagram(100), Direction::Downlink, Instant::from_millis(s * 1_000))
        };
        assert_eq!(later(&mut sockets, 0), SocketPair::default());
        sockets.of(&datagram(Ipv4::MORE_FRAGMENTS), Direction::Downlink, Instant::from_millis(1_000));
        assert_eq!(later(&mut sockets, 2).ue_port, 4_000);
        assert_eq!(later(&mut sockets, 30).ue_port, 4_000);
        assert_eq!(later(&mut sockets, 31), SocketPair::default());
    }

    #[test]
    fn a_flood_of_first_fragments_is_bounded() {
        let mut sockets = Sockets::default();
        for identification in 0..2_000_u16 {
            let mut bytes = datagram(Ipv4::MORE_FRAGMENTS);
            bytes[4..6].copy_from_slice(&identification.to_be_bytes());
            sockets.of(&bytes, Direction::Downlink, Instant::ZERO);
        }
        assert_eq!((sockets.fragments.len(), sockets.expected.len()), (FRAGMENTS_MAX, FRAGMENTS_MAX));
    }
}
