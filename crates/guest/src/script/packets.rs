//! Segments of scripts as packets, and back.

use core::net::Ipv4Addr;

use airlane_core::{Direction, Ecn, FlowId, Header, Instant, Packet, Payload, TcpFlags, TcpHeader, ip_bytes};
use airlane_wire::{Ends, IpPacket, Transport, emit, outside};

/// The addresses and ports of packetdrill: the host under test, and its peer.
pub(super) const LOCAL: Ipv4Addr = Ipv4Addr::new(192, 168, 0, 1);
pub(super) const REMOTE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// The port that a script binds, and the one to which it connects.
pub(super) const PORT: u16 = 8080;
/// Largest packet for which the guest's network driver has buffers.
const ARRIVING_MAX: u32 = 1500;

/// The ports of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ports {
    pub(super) local: u16,
    pub(super) remote: u16,
}

/// A segment that the guest has sent.
#[derive(Clone, Debug)]
pub(super) struct FromGuest {
    pub(super) ports: Ports,
    pub(super) header: TcpHeader,
    pub(super) payload: u32,
    pub(super) ecn: Ecn,
}

/// Reads a packet of the guest; `None` if it is no segment of TCP.
pub(super) fn read(bytes: &[u8]) -> Option<FromGuest> {
    let packet = IpPacket::parse(bytes).ok()?;
    let Transport::Tcp(tcp) = packet.transport else { return None };
    Some(FromGuest {
        ports: Ports { local: tcp.source_port, remote: tcp.destination_port },
        header: outside::typed_tcp(&tcp),
        payload: packet.payload.len() as u32,
        ecn: ip_bytes::ecn(bytes).unwrap_or_default(),
    })
}

/// The packets of a segment that arrives. One that is larger than a packet consists of several, which a network card or
/// the host joins: `size` is their payload.
pub(super) fn packets(
    header: &TcpHeader,
    ecn: Ecn,
    payload: u32,
    ports: Ports,
    size: Option<u32>,
) -> Vec<Vec<u8>> {
    let room = ARRIVING_MAX - 20 - header.wire_len();
    let size = size.unwrap_or(room).clamp(1, room);
    let ends = Ends {
        source: REMOTE.into(),
        source_port: ports.remote,
        destination: LOCAL.into(),
        destination_port: ports.local,
    };
    let mut found = Vec::new();
    let mut at = 0;
    loop {
        let length = size.min(payload - at);
        let last = at + length == payload;
        let mut part = *header;
        part.sequence = header.sequence.wrapping_add(at);
        if !last {
            part.flags = TcpFlags(header.flags.0 & !(TcpFlags::PSH | TcpFlags::FIN));
        }
        let content = Payload::Length(length);
        let mut packet = Packet::new(FlowId(0), Direction::Uplink, Header::Tcp(part), content, Instant::ZERO);
        packet.set_ecn(ecn);
        let mut bytes = Vec::new();
        emit(&packet, &ends, usize::MAX, &mut bytes).expect("the options were checked to fit");
        found.push(bytes);
        at += length;
        if last {
            return found;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_segment_is_divided_and_its_end_is_in_the_last_part() {
        let flags = TcpFlags(TcpFlags::ACK | TcpFlags::PSH | TcpFlags::FIN);
        let header = TcpHeader { sequence: u32::MAX, flags, ..TcpHeader::default() };
        let ports = Ports { local: PORT, remote: 40_000 };
        let all = packets(&header, Ecn::Capable0, 2500, ports, Some(1000));
        let parts: Vec<_> = all.iter().map(|bytes| read(bytes).unwrap()).collect();
        let found: Vec<_> = parts.iter().map(|p| (p.header.sequence, p.payload, p.header.flags.0)).collect();
        assert_eq!(
            found,
            [(u32::MAX, 1000, TcpFlags::ACK), (999, 1000, TcpFlags::ACK), (1999, 500, flags.0)]
        );
        assert!(parts.iter().all(|p| p.ecn == Ecn::Capable0));
        assert_eq!(parts[0].ports, Ports { local: 40_000, remote: PORT }); // read as if the peer had sent it
        assert_eq!(packets(&header, Ecn::NotCapable, 3000, ports, None).len(), 3); // 1460 bytes each
        assert_eq!(packets(&header, Ecn::NotCapable, 0, ports, None).len(), 1);
    }
}
