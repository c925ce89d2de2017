//! IPv4 (RFC 791) and IPv6 (RFC 8200) headers. Every bit is kept: reserved ones, options, extension headers.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::error::take;
use crate::{Error, Layer};

/// Protocol numbers (IANA "Assigned Internet Protocol Numbers").
pub mod protocol {
    /// ICMP for IPv4.
    pub const ICMP: u8 = 1;
    /// TCP.
    pub const TCP: u8 = 6;
    /// UDP.
    pub const UDP: u8 = 17;
    /// DCCP.
    pub const DCCP: u8 = 33;
    /// ICMP for IPv6.
    pub const ICMPV6: u8 = 58;
    /// SCTP.
    pub const SCTP: u8 = 132;
    /// UDP-Lite.
    pub const UDP_LITE: u8 = 136;

    /// IPv6 hop-by-hop options.
    pub const HOP_BY_HOP: u8 = 0;
    /// IPv6 routing header.
    pub const ROUTING: u8 = 43;
    /// IPv6 fragment header.
    pub const FRAGMENT: u8 = 44;
    /// Authentication header.
    pub const AUTHENTICATION: u8 = 51;
    /// IPv6 destination options.
    pub const DESTINATION: u8 = 60;
    /// IPv6 mobility header.
    pub const MOBILITY: u8 = 135;
    /// Host identity protocol.
    pub const HIP: u8 = 139;
    /// Shim6.
    pub const SHIM6: u8 = 140;
}

/// An IPv4 header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4<'a> {
    /// The differentiated services code point and the ECN field (RFC 2474 §3, RFC 3168 §5): the second byte.
    pub traffic_class: u8,
    /// Bytes of the packet, with this header.
    pub total_length: u16,
    /// The identification field.
    pub identification: u16,
    /// The three flags, in the upper bits, and the fragment offset.
    pub fragment: u16,
    /// Time to live.
    pub time_to_live: u8,
    /// Number of the protocol behind the header.
    pub protocol: u8,
    /// The header checksum, as found.
    pub checksum: u16,
    /// The source address.
    pub source: Ipv4Addr,
    /// The destination address.
    pub destination: Ipv4Addr,
    /// The options with their padding: 0 to 40 bytes, a multiple of four.
    pub options: &'a [u8],
}

impl<'a> Ipv4<'a> {
    /// The header without options.
    pub const LEN_MIN: usize = 20;
    /// Don't fragment, in [`Self::fragment`].
    pub const DONT_FRAGMENT: u16 = 0x4000;
    /// More fragments, in [`Self::fragment`].
    pub const MORE_FRAGMENTS: u16 = 0x2000;

    /// A header of a host that does not fragment: identification 0, DF, without options, lengths and checksum.
    #[must_use]
    pub const fn between(source: Ipv4Addr, destination: Ipv4Addr) -> Self {
        Self {
            traffic_class: 0,
            total_length: 0,
            identification: 0,
            fragment: Self::DONT_FRAGMENT,
            time_to_live: crate::TIME_TO_LIVE,
            protocol: 0,
            checksum: 0,
            source,
            destination,
            options: &[],
        }
    }

    /// Bytes of the header.
    #[must_use]
    pub const fn header_len(&self) -> usize {
        Self::LEN_MIN + self.options.len()
    }

    /// True for a fragment that is not a whole packet.
    #[must_use]
    pub const fn is_fragment(&self) -> bool {
        self.fragment & (Self::MORE_FRAGMENTS | 0x1fff) != 0
    }

    /// Reads the header; the second value is the rest of the packet. Bytes behind the packet are not returned. A
    /// packet that is not `whole` may end early.
    fn parse(bytes: &'a [u8], whole: bool) -> Result<(Self, &'a [u8]), Error> {
        let fixed = take(bytes, Self::LEN_MIN, Layer::Ipv4)?;
        let header_len = usize::from(fixed[0] & 0x0f) * 4;
        if header_len < Self::LEN_MIN {
            return Err(Error::HeaderLength(Layer::Ipv4, header_len));
        }
        let options = &take(bytes, header_len, Layer::Ipv4)?[Self::LEN_MIN..];
        let total = usize::from(word(fixed, 2));
        if total < header_len || whole && total > bytes.len() {
            return Err(Error::Length { layer: Layer::Ipv4, stated: total, found: bytes.len() });
        }
        let header = Self {
            traffic_class: fixed[1],
            total_length: word(fixed, 2),
            identification: word(fixed, 4),
            fragment: word(fixed, 6),
            time_to_live: fixed[8],
            protocol: fixed[9],
            checksum: word(fixed, 10),
            source: Ipv4Addr::from(u32::from_be_bytes(array(fixed, 12))),
            destination: Ipv4Addr::from(u32::from_be_bytes(array(fixed, 16))),
            options,
        };
        Ok((header, &bytes[header_len..total.min(bytes.len())]))
    }

    /// Appends the header as it is, without computing anything.
    ///
    /// # Errors
    /// If the options have more than 40 bytes, or not a multiple of four.
    pub fn emit(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        let options = self.options.len();
        if options > 40 || !options.is_multiple_of(4) {
            return Err(Error::TooLong(Layer::Ipv4, options));
        }
        let mut fixed = [0; Self::LEN_MIN];
        fixed[0] = 0x40 | (self.header_len() / 4) as u8;
        fixed[1] = self.traffic_class;
        fixed[2..4].copy_from_slice(&self.total_length.to_be_bytes());
        fixed[4..6].copy_from_slice(&self.identification.to_be_bytes());
        fixed[6..8].copy_from_slice(&self.fragment.to_be_bytes());
        fixed[8] = self.time_to_live;
        fixed[9] = self.protocol;
        fixed[10..12].copy_from_slice(&self.checksum.to_be_bytes());
        fixed[12..16].copy_from_slice(&self.source.octets());
        fixed[16..20].copy_from_slice(&self.destination.octets());
        out.extend_from_slice(&fixed);
        out.extend_from_slice(self.options);
        Ok(())
    }
}

/// An IPv6 header with its extension headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv6<'a> {
    /// The traffic class: code point and ECN field.
    pub traffic_class: u8,
    /// The flow label, 20 bits.
    pub flow_label: u32,
    /// Bytes behind the fixed header.
    pub payload_length: u16,
    /// The first next-header field.
    pub next_header: u8,
    /// Hop limit.
    pub hop_limit: u8,
    /// The source address.
    pub source: Ipv6Addr,
    /// The destination address.
    pub destination: Ipv6Addr,
    /// The extension headers, as found.
    pub extensions: &'a [u8],
    /// Number of the protocol behind the extension headers.
    pub protocol: u8,
    /// The offset and flags of the fragment header, as in its third and fourth byte.
    pub fragment: Option<u16>,
}

impl<'a> Ipv6<'a> {
    /// The fixed header.
    pub const LEN_MIN: usize = 40;

    /// Bytes of the header with its extension headers.
    #[must_use]
    pub const fn header_len(&self) -> usize {
        Self::LEN_MIN + self.extensions.len()
    }

    /// True for a fragment that is not a whole packet; an atomic fragment (RFC 6946 §3) is whole.
    #[must_use]
    pub const fn is_fragment(&self) -> bool {
        matches!(self.fragment, Some(fragment) if fragment & 0xfff9 != 0)
    }

    fn parse(bytes: &'a [u8], whole: bool) -> Result<(Self, &'a [u8]), Error> {
        let fixed = take(bytes, Self::LEN_MIN, Layer::Ipv6)?;
        let payload = usize::from(word(fixed, 4));
        let end = Self::LEN_MIN + if whole { payload } else { payload.min(bytes.len() - Self::LEN_MIN) };
        let Some(rest) = bytes.get(Self::LEN_MIN..end) else {
            return Err(Error::Length {
                layer: Layer::Ipv6,
                stated: payload,
                found: bytes.len() - Self::LEN_MIN,
            });
        };
        let mut header = Self {
            traffic_class: fixed[0] << 4 | fixed[1] >> 4,
            flow_label: u32::from_be_bytes(array(fixed, 0)) & 0x000f_ffff,
            payload_length: word(fixed, 4),
            next_header: fixed[6],
            hop_limit: fixed[7],
            source: Ipv6Addr::from(u128::from_be_bytes(array(fixed, 8))),
            destination: Ipv6Addr::from(u128::from_be_bytes(array(fixed, 24))),
            extensions: &[],
            protocol: fixed[6],
            fragment: None,
        };
        let mut walk = Extensions { next: fixed[6], first: true, rest };
        while let Some(extension) = walk.step()? {
            if extension.kind == protocol::FRAGMENT {
                let fragment = word(extension.bytes, 2);
                header.fragment = Some(fragment);
                if fragment >> 3 != 0 {
                    break; // what follows is the middle of something
                }
            }
        }
        header.extensions = &rest[..rest.len() - walk.rest.len()];
        header.protocol = walk.next;
        Ok((header, walk.rest))
    }

    /// The extension headers in their order.
    pub fn extension_headers(&self) -> impl Iterator<Item = Extension<'a>> + use<'a> {
        let mut walk = Extensions { next: self.next_header, first: true, rest: self.extensions };
        core::iter::from_fn(move || if walk.rest.is_empty() { None } else { walk.step().ok().flatten() })
    }

    /// True if a routing header has segments left (RFC 8200 §4.4): the destination is not the final one.
    #[must_use]
    pub fn segments_left(&self) -> bool {
        self.extension_headers().any(|header| header.kind == protocol::ROUTING && header.bytes[3] != 0)
    }

    /// Appends the header and its extension headers as they are.
    ///
    /// # Errors
    /// If the flow label has more than 20 bits.
    pub fn emit(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        if self.flow_label > 0x000f_ffff {
            return Err(Error::TooLong(Layer::Ipv6, 4));
        }
        let mut fixed = [0; Self::LEN_MIN];
        let first = 6 << 28 | u32::from(self.traffic_class) << 20 | self.flow_label;
        fixed[..4].copy_from_slice(&first.to_be_bytes());
        fixed[4..6].copy_from_slice(&self.payload_length.to_be_bytes());
        fixed[6] = self.next_header;
        fixed[7] = self.hop_limit;
        fixed[8..24].copy_from_slice(&self.source.octets());
        fixed[24..40].copy_from_slice(&self.destination.octets());
        out.extend_from_slice(&fixed);
        out.extend_from_slice(self.extensions);
        Ok(())
    }
}

/// An IPv6 extension header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extension<'a> {
    /// Number of the header, from the header before it.
    pub kind: u8,
    /// All bytes of the header.
    pub bytes: &'a [u8],
}

/// A walk along the extension headers.
pub(crate) struct Extensions<'a> {
    /// Number of the header or protocol at the beginning of `rest`.
    pub(crate) next: u8,
    pub(crate) first: bool,
    pub(crate) rest: &'a [u8],
}

impl<'a> Extensions<'a> {
    /// The next extension header; `None` before another protocol. As in Linux (`ipv6_ext_hdr` in net/ipv6/exthdrs_core.c), the
    /// headers of mobility, HIP and shim6 are other protocols: nothing follows them in practice.
    pub(crate) fn step(&mut self) -> Result<Option<Extension<'a>>, Error> {
        let kind = self.next;
        let unit = |bytes: &[u8]| bytes.get(1).copied().map(usize::from);
        let length = match kind {
            protocol::HOP_BY_HOP if !self.first => return Err(Error::HopByHopNotFirst),
            // RFC 8200 §4.3, §4.4, §4.6
            protocol::HOP_BY_HOP | protocol::ROUTING | protocol::DESTINATION => {
                unit(self.rest).map_or(8, |n| 8 + 8 * n)
            }
            protocol::FRAGMENT => 8, // RFC 8200 §4.5
            protocol::AUTHENTICATION => unit(self.rest).map_or(8, |n| 8 + 4 * n), // RFC 4302 §2.2
            _ => return Ok(None),
        };
        let bytes = take(self.rest, length, Layer::Ipv6Extension)?;
        self.next = bytes[0];
        self.first = false;
        self.rest = &self.rest[length..];
        Ok(Some(Extension { kind, bytes }))
    }
}

/// The header of either version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ip<'a> {
    /// IPv4.
    V4(Ipv4<'a>),
    /// IPv6.
    V6(Ipv6<'a>),
}

impl<'a> Ip<'a> {
    /// Reads the header; the second value is the rest of the packet.
    ///
    /// # Errors
    /// If the bytes do not begin with a header of IPv4 or IPv6, or end before the packet does.
    pub fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), Error> {
        Self::parse_any(bytes, true)
    }

    /// Reads the header of the beginning of a packet, such as in an ICMP error: the packet may end early behind its
    /// header.
    ///
    /// # Errors
    /// If the bytes do not begin with a header of IPv4 or IPv6.
    pub fn parse_quoted(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), Error> {
        Self::parse_any(bytes, false)
    }

    fn parse_any(bytes: &'a [u8], whole: bool) -> Result<(Self, &'a [u8]), Error> {
        match bytes.first().ok_or(Error::Empty)? >> 4 {
            4 => Ipv4::parse(bytes, whole).map(|(header, rest)| (Self::V4(header), rest)),
            6 => Ipv6::parse(bytes, whole).map(|(header, rest)| (Self::V6(header), rest)),
            version => Err(Error::Version(Layer::Ipv4, version)),
        }
    }

    /// Bytes of the header with options and extension headers.
    #[must_use]
    pub const fn header_len(&self) -> usize {
        match self {
            Self::V4(header) => header.header_len(),
            Self::V6(header) => header.header_len(),
        }
    }

    /// Source and destination.
    #[must_use]
    pub const fn addresses(&self) -> (IpAddr, IpAddr) {
        match self {
            Self::V4(header) => (IpAddr::V4(header.source), IpAddr::V4(header.destination)),
            Self::V6(header) => (IpAddr::V6(header.source), IpAddr::V6(header.destination)),
        }
    }

    /// The protocol behind the header.
    #[must_use]
    pub const fn protocol(&self) -> u8 {
        match self {
            Self::V4(header) => header.protocol,
            Self::V6(header) => header.protocol,
        }
    }

    /// Code point and ECN field.
    #[must_use]
    pub const fn traffic_class(&self) -> u8 {
        match self {
            Self::V4(header) => header.traffic_class,
            Self::V6(header) => header.traffic_class,
        }
    }

    /// True for a fragment that is not a whole packet.
    #[must_use]
    pub const fn is_fragment(&self) -> bool {
        match self {
            Self::V4(header) => header.is_fragment(),
            Self::V6(header) => header.is_fragment(),
        }
    }

    /// Appends the header as it is.
    ///
    /// # Errors
    /// If a value does not fit into its field.
    pub fn emit(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        match self {
            Self::V4(header) => header.emit(out),
            Self::V6(header) => header.emit(out),
        }
    }
}

/// The 16-bit word at a position that exists.
pub(crate) fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(array(bytes, at))
}

/// The bytes at a position that exists.
pub(crate) fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("a range of this length")
}
