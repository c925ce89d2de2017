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
