//! The connection of a packet from outside within the flow of its UE.
//!
//! All connections of a UE share one flow. Queues that separate connections, and middleboxes, distinguish them by the
//! [`SocketPair`] of each packet, which is set here from its ports.

use std::collections::{BTreeMap, VecDeque};

use airlane_core::{Direction, Duration, Header, Instant, Packet, SocketPair};
use airlane_wire::{Class, FiveTuple, FragmentId, Ipv6, classify, protocol};

use crate::ends::EndId;

/// Maximum number of fragmented packets whose later fragments are expected.
const FRAGMENTS_MAX: usize = 1024;
/// How long they are expected: as long as Linux keeps them (`IP_FRAG_TIME`, include/net/ip.h).
const FRAGMENT_LIFETIME: Duration = Duration::from_secs(30);

/// The bit of [`SocketPair::server`] that is set in IPv6. A packet that a middlebox made for a connection then has its
/// version, too, and connections with equal ports differ.
const V6: u16 = 0x8000;

/// The value of [`SocketPair::server`] for a connection with this other end.
#[must_use]
pub const fn peer_number(peer: EndId, v6: bool) -> u16 {
    peer.index() as u16 | if v6 { V6 } else { 0 }
}

/// The other end of a connection, the server or another UE, and whether it uses IPv6.
#[must_use]
pub const fn peer(sockets: SocketPair) -> (EndId, bool) {
    (EndId::from_index((sockets.server & !V6) as usize), sockets.server & V6 != 0)
}

/// Finds the connections of packets. Times must not decrease.
#[derive(Debug, Default)]
pub struct Sockets {
    /// The connections of packets of which the first fragment was seen.
    fragments: BTreeMap<FragmentId, SocketPair>,
    expected: VecDeque<(Instant, FragmentId)>,
}

impl Sockets {
    /// The connection of a packet whose headers were read. Most packets have their ports at a known place.
    pub fn of_packet(
        &mut self,
        packet: &Packet,
        bytes: &[u8],
        direction: Direction,
        now: Instant,
    ) -> SocketPair {
        let transport = match (bytes[0] >> 4, &packet.header) {
            (4, Header::Tcp(_) | Header::Udp(_)) => usize::from(bytes[0] & 0x0f) * 4,
            (6, Header::Tcp(_)) if bytes[6] == protocol::TCP => Ipv6::LEN_MIN,
            (6, Header::Udp(_)) if bytes[6] == protocol::UDP => Ipv6::LEN_MIN,
            _ => return self.of(bytes, direction, now),
        };
        let port = |at| u16::from_be_bytes([bytes[transport + at], bytes[transport + at + 1]]);
        match direction {
            Direction::Downlink => SocketPair { server: 0, server_port: port(0), ue_port: port(2) },
            Direction::Uplink => SocketPair { server: 0, server_port: port(2), ue_port: port(0) },
        }
    }

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
    use airlane_core::{FlowId, PacketPool};
    use airlane_wire::outside::{self, Arrival};
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
    fn the_ports_of_a_read_packet_are_those_of_its_class() {
        let mut pool = PacketPool::default();
        let v6 = |next: u8, behind: &[u8]| {
            let mut bytes = vec![0x60, 0, 0, 0, 0, behind.len() as u8, next, 64];
            bytes.extend(Ends::v6(EndId::Server).octets());
            bytes.extend(Ends::v6(EndId::Ue(0)).octets());
            bytes.extend_from_slice(behind);
            bytes
        };
        let udp = [0, 53, 15, 160, 0, 12, 0, 0, 1, 2, 3, 4];
        let tcp = [1, 187, 200, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0x10, 0, 0, 0, 0, 0, 0];
        let with_options = [&[17, 0, 0, 0, 0, 0, 0, 0][..], &udp].concat(); // a destination option header
        let mut with_ip_options = datagram(0);
        with_ip_options.splice(20..20, [1, 1, 1, 1]);
        (with_ip_options[0], with_ip_options[3]) = (0x46, 36);
        let packets = [
            datagram(0),
            datagram(Ipv4::MORE_FRAGMENTS),
            datagram(100),
            with_ip_options,
            v6(17, &udp),
            v6(6, &tcp),
            v6(60, &with_options),
            v6(17, &udp[..6]),
        ];
        for bytes in packets {
            for direction in [Direction::Downlink, Direction::Uplink] {
                let arrival = Arrival { flow: FlowId(0), direction, now: Instant::ZERO };
                let packet = outside::packet(&mut pool, &bytes, arrival).unwrap();
                let [mut one, mut other] = [Sockets::default(), Sockets::default()];
                let fast = one.of_packet(&packet, &bytes, direction, Instant::ZERO);
                assert_eq!(fast, other.of(&bytes, direction, Instant::ZERO), "{bytes:02x?}");
            }
        }
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
