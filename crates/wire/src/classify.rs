//! The flow of a packet, from its bytes: addresses, ports and protocol of either IP version, without allocation.
//!
//! An echo message has its identifier in place of both ports. An ICMP error belongs to the flow of the packet that it
//! quotes (RFC 792, RFC 4443 §3), which travelled in the opposite direction. A fragment other than the first has no
//! ports; [`crate::FlowTable`] finds its flow.

use core::net::IpAddr;

use crate::ip::word;
use crate::{Error, Icmp, Ip, protocol};

/// The identity of a connection, as seen in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FiveTuple {
    /// The protocol number.
    pub protocol: u8,
    /// The source address.
    pub source: IpAddr,
    /// The destination address.
    pub destination: IpAddr,
    /// The source port; the identifier of an echo message; 0 for a protocol without ports.
    pub source_port: u16,
    /// The destination port; the identifier of an echo message; 0 for a protocol without ports.
    pub destination_port: u16,
}

impl FiveTuple {
    /// The connection in the opposite direction.
    #[must_use]
    pub const fn reversed(self) -> Self {
        Self {
            protocol: self.protocol,
            source: self.destination,
            destination: self.source,
            source_port: self.destination_port,
            destination_port: self.source_port,
        }
    }
}

/// The identity of a fragmented packet (RFC 791 §3.2, RFC 8200 §4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FragmentId {
    /// The source address.
    pub source: IpAddr,
    /// The destination address.
    pub destination: IpAddr,
    /// The protocol, for IPv4 only.
    pub protocol: u8,
    /// The identification.
    pub identification: u32,
}

/// The flow of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A whole packet.
    Whole(FiveTuple),
    /// The first fragment of a packet.
    FirstFragment(FiveTuple, FragmentId),
    /// Another fragment.
    Fragment(FragmentId),
    /// An ICMP error; the tuple is that of the quoted packet.
    Quotes(FiveTuple),
}

/// The class of a packet.
///
/// # Errors
/// If the bytes do not begin with a whole IP packet, or the ports are missing. An ICMP error whose quotation cannot
/// be read is a whole packet of ICMP.
pub fn classify(bytes: &[u8]) -> Result<Class, Error> {
    let (ip, rest) = Ip::parse(bytes)?;
    let number = ip.protocol();
    let v6 = matches!(ip, Ip::V6(_));
    let fragment = fragment(&ip);
    if let Some((id, offset)) = fragment {
        return if offset > 0 {
            Ok(Class::Fragment(id))
        } else {
            Ok(Class::FirstFragment(tuple(&ip, rest)?, id))
        };
    }
    if number == if v6 { protocol::ICMPV6 } else { protocol::ICMP } {
        let (icmp, quoted) = Icmp::parse(rest)?;
        if icmp.is_error(v6)
            && let Ok((ip, rest)) = Ip::parse_quoted(quoted)
            && fragment_offset(&ip) == 0
            && let Ok(tuple) = tuple(&ip, rest)
        {
            return Ok(Class::Quotes(tuple));
        }
    }
    tuple(&ip, rest).map(Class::Whole)
}

fn fragment_offset(ip: &Ip<'_>) -> u16 {
    match ip {
        Ip::V4(header) => header.fragment & 0x1fff,
        Ip::V6(header) => header.fragment.unwrap_or(0) >> 3,
    }
}

fn fragment(ip: &Ip<'_>) -> Option<(FragmentId, u16)> {
    if !ip.is_fragment() {
        return None;
    }
    let (source, destination) = ip.addresses();
    let (protocol, identification) = match ip {
        Ip::V4(header) => (header.protocol, u32::from(header.identification)),
        Ip::V6(header) => {
            let header = header.extension_headers().find(|header| header.kind == protocol::FRAGMENT)?;
            (0, u32::from(word(header.bytes, 4)) << 16 | u32::from(word(header.bytes, 6)))
        }
    };
    Some((FragmentId { source, destination, protocol, identification }, fragment_offset(ip)))
}

/// The tuple of a packet or first fragment.
fn tuple(ip: &Ip<'_>, rest: &[u8]) -> Result<FiveTuple, Error> {
    let (source, destination) = ip.addresses();
    let number = ip.protocol();
    let v6 = matches!(ip, Ip::V6(_));
    let (source_port, destination_port) = match number {
        // DCCP (RFC 4340 §5.1), SCTP (RFC 9260 §3.1) and UDP-Lite (RFC 3828 §3.1) have the ports of UDP.
        protocol::TCP | protocol::UDP | protocol::DCCP | protocol::SCTP | protocol::UDP_LITE => {
            let ports = crate::error::take(rest, 4, crate::Layer::Ports)?;
            (word(ports, 0), word(ports, 2))
        }
        protocol::ICMP | protocol::ICMPV6 => match Icmp::parse(rest)?.0.echo(v6) {
            Some(echo) if v6 == (number == protocol::ICMPV6) => (echo.identifier, echo.identifier),
            _ => (0, 0),
        },
        _ => (0, 0),
    };
    Ok(FiveTuple { protocol: number, source, destination, source_port, destination_port })
}
