//! A whole IP packet.

use crate::ip::protocol;
use crate::{Error, Icmp, Ip, Tcp, Transport, Udp};

/// An IP packet, borrowed from its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpPacket<'a> {
    /// The IP header.
    pub ip: Ip<'a>,
    /// The header behind it.
    pub transport: Transport<'a>,
    /// Everything behind the headers, to the end of the packet.
    pub payload: &'a [u8],
}

impl<'a> IpPacket<'a> {
    /// Reads a packet. Bytes behind the length that its header states, such as padding of a link layer, are
    /// ignored. Checksums are not looked at.
    ///
    /// # Errors
    /// If a header of IP, TCP, UDP or ICMP is not complete, or contradicts the bytes.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let (ip, rest) = Ip::parse(bytes)?;
        let (transport, payload) = match (ip.protocol(), &ip) {
            _ if ip.is_fragment() => (Transport::Other, rest),
            (protocol::TCP, _) => Tcp::parse(rest).map(|(tcp, payload)| (Transport::Tcp(tcp), payload))?,
            (protocol::UDP, _) => Udp::parse(rest).map(|(udp, payload)| (Transport::Udp(udp), payload))?,
            (protocol::ICMP, Ip::V4(_)) | (protocol::ICMPV6, Ip::V6(_)) => {
                Icmp::parse(rest).map(|(icmp, payload)| (Transport::Icmp(icmp), payload))?
            }
            _ => (Transport::Other, rest),
        };
        Ok(Self { ip, transport, payload })
    }

    /// Reads the headers of a packet of which only the beginning may be there. The second value is the length of
    /// its payload as the headers state it; [`Self::payload`] has the part of it that is there. Bytes behind a UDP
    /// datagram are not part of it.
    ///
    /// # Errors
    /// If a header of IP, TCP or UDP is not complete, or contradicts another one.
    pub fn parse_begin(bytes: &'a [u8]) -> Result<(Self, usize), Error> {
        let (ip, rest) = Ip::parse_quoted(bytes)?;
        let stated = match &ip {
            Ip::V4(v4) => usize::from(v4.total_length) - v4.header_len(),
            Ip::V6(v6) => usize::from(v6.payload_length) - v6.extensions.len(),
        };
        let (transport, payload, stated) = match ip.protocol() {
            _ if ip.is_fragment() => (Transport::Other, rest, stated),
            protocol::TCP => {
                let (tcp, payload) = Tcp::parse(rest)?;
                (Transport::Tcp(tcp), payload, stated - tcp.header_len())
            }
            protocol::UDP => {
                let (udp, payload) = Udp::parse_begin(rest, stated)?;
                let length = usize::from(udp.length) - Udp::LEN;
                (Transport::Udp(udp), &payload[..payload.len().min(length)], length)
            }
            _ => (Transport::Other, rest, stated),
        };
        Ok((Self { ip, transport, payload }, stated))
    }

    /// Bytes of the packet.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a packet has a header")]
    pub const fn len(&self) -> usize {
        self.ip.header_len() + self.transport.header_len() + self.payload.len()
    }

    /// Appends the packet: the bytes that it was read from.
    ///
    /// # Errors
    /// If a value of a header does not fit into its field. A packet that was read always fits.
    pub fn emit(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        self.ip.emit(out)?;
        self.transport.emit(out)?;
        out.extend_from_slice(self.payload);
        Ok(())
    }
}
