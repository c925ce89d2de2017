//! UDP (RFC 768), ICMP (RFC 792) and ICMPv6 (RFC 4443).

use crate::error::take;
use crate::ip::{array, word};
use crate::{Error, Layer, Tcp};

/// A UDP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Udp {
    /// The source port.
    pub source_port: u16,
    /// The destination port.
    pub destination_port: u16,
    /// Bytes of the datagram with this header. A packet may have more bytes behind the datagram.
    pub length: u16,
    /// The checksum, as found; 0 for none.
    pub checksum: u16,
}

impl Udp {
    /// Bytes of the header.
    pub const LEN: usize = 8;

    /// Reads the header; the second value is everything behind it.
    ///
    /// # Errors
    /// If the bytes end inside of the header, or the stated length is below 8 or above the bytes.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Error> {
        Self::parse_begin(bytes, bytes.len())
    }

    /// Reads the header of a packet of which only the beginning may be there; `whole` is its length from this header
    /// on.
    pub(crate) fn parse_begin(bytes: &[u8], whole: usize) -> Result<(Self, &[u8]), Error> {
        let fixed = take(bytes, Self::LEN, Layer::Udp)?;
        let length = word(fixed, 4);
        if usize::from(length) < Self::LEN || usize::from(length) > whole {
            let (stated, found) = (usize::from(length), whole);
            return Err(Error::Length { layer: Layer::Udp, stated, found });
        }
        let header = Self {
            source_port: word(fixed, 0),
            destination_port: word(fixed, 2),
            length,
            checksum: word(fixed, 6),
        };
        Ok((header, &bytes[Self::LEN..]))
    }

    /// Appends the header as it is.
    pub fn emit(&self, out: &mut Vec<u8>) {
        for field in [self.source_port, self.destination_port, self.length, self.checksum] {
            out.extend_from_slice(&field.to_be_bytes());
        }
    }
}

/// The first eight bytes of a message of ICMP or ICMPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Icmp {
    /// The type.
    pub kind: u8,
    /// The code.
    pub code: u8,
    /// The checksum, as found.
    pub checksum: u16,
    /// The second word; its meaning depends on the type.
    pub rest: [u8; 4],
}

/// An echo message or its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// Whether this is the reply.
    pub reply: bool,
    /// The identifier.
    pub identifier: u16,
    /// The sequence number.
    pub sequence: u16,
}

impl Icmp {
    /// Bytes of the header.
    pub const LEN: usize = 8;

    /// Reads the header; the second value is the rest of the message.
    ///
    /// # Errors
    /// If the message has fewer than eight bytes.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Error> {
        let fixed = take(bytes, Self::LEN, Layer::Icmp)?;
        let header = Self { kind: fixed[0], code: fixed[1], checksum: word(fixed, 2), rest: array(fixed, 4) };
        Ok((header, &bytes[Self::LEN..]))
    }

    /// The header of an echo message, with a checksum of 0.
    #[must_use]
    pub const fn echo_message(echo: Echo, v6: bool) -> Self {
        // RFC 792 and RFC 4443 §4.1, §4.2.
        let kind = match (v6, echo.reply) {
            (false, false) => 8,
            (false, true) => 0,
            (true, false) => 128,
            (true, true) => 129,
        };
        let (id, seq) = (echo.identifier.to_be_bytes(), echo.sequence.to_be_bytes());
        Self { kind, code: 0, checksum: 0, rest: [id[0], id[1], seq[0], seq[1]] }
    }

    /// The echo message or reply that this is, if it is one.
    #[must_use]
    pub const fn echo(&self, v6: bool) -> Option<Echo> {
        let reply = match (v6, self.kind) {
            (false, 8) | (true, 128) => false,
            (false, 0) | (true, 129) => true,
            _ => return None,
        };
        let [a, b, c, d] = self.rest;
        Some(Echo { reply, identifier: u16::from_be_bytes([a, b]), sequence: u16::from_be_bytes([c, d]) })
    }

    /// True for an error message, which quotes the packet that it is about behind its header: destination
    /// unreachable, source quench, redirect, time exceeded, parameter problem (RFC 792); any type below 128
    /// (RFC 4443 §2.1).
    #[must_use]
    pub const fn is_error(&self, v6: bool) -> bool {
        if v6 { self.kind < 128 } else { matches!(self.kind, 3 | 4 | 5 | 11 | 12) }
    }

    /// Appends the header as it is.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.kind, self.code]);
        out.extend_from_slice(&self.checksum.to_be_bytes());
        out.extend_from_slice(&self.rest);
    }
}

/// The header behind that of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport<'a> {
    /// TCP.
    Tcp(Tcp<'a>),
    /// UDP.
    Udp(Udp),
    /// ICMP behind IPv4, ICMPv6 behind IPv6.
    Icmp(Icmp),
    /// Another protocol, or a fragment: all of it is payload.
    Other,
}

impl Transport<'_> {
    /// Bytes of the header.
    #[must_use]
    pub const fn header_len(&self) -> usize {
        match self {
            Self::Tcp(header) => header.header_len(),
            Self::Udp(_) => Udp::LEN,
            Self::Icmp(_) => Icmp::LEN,
            Self::Other => 0,
        }
    }

    /// Appends the header as it is.
    ///
    /// # Errors
    /// If TCP options do not fit.
    pub fn emit(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        match self {
            Self::Tcp(header) => header.emit(out)?,
            Self::Udp(header) => header.emit(out),
            Self::Icmp(header) => header.emit(out),
            Self::Other => {}
        }
        Ok(())
    }
}
