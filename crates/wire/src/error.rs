//! Why bytes are no packet.

use core::fmt;

/// A part of a packet, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// The IPv4 header.
    Ipv4,
    /// The IPv6 header.
    Ipv6,
    /// An IPv6 extension header.
    Ipv6Extension,
    /// The TCP header.
    Tcp,
    /// The options of a TCP header.
    TcpOptions,
    /// The UDP header.
    Udp,
    /// The header of an ICMP or ICMPv6 message.
    Icmp,
    /// The ports of a transport header.
    Ports,
    /// The field of a checksum that another party began.
    Checksum,
    /// The GTP-U header.
    GtpU,
}

impl Layer {
    /// The layer's name in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ipv4 => "IPv4 header",
            Self::Ipv6 => "IPv6 header",
            Self::Ipv6Extension => "IPv6 extension header",
            Self::Tcp => "TCP header",
            Self::TcpOptions => "TCP options",
            Self::Udp => "UDP header",
            Self::Icmp => "ICMP header",
            Self::Ports => "ports",
            Self::Checksum => "checksum field",
            Self::GtpU => "GTP-U header",
        }
    }
}

/// The cause for which bytes were rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Error {
    /// No bytes at all.
    Empty,
    /// A version that this layer does not have; for IP neither 4 nor 6.
    Version(Layer, u8),
    /// The bytes end inside of a header.
    Truncated {
        /// The header.
        layer: Layer,
        /// Bytes that it needs.
        needed: usize,
        /// Bytes that there are.
        found: usize,
    },
    /// The length of a header, as it states it, is below its minimum or not a whole number of units.
    HeaderLength(Layer, usize),
    /// The length of the packet, as a header states it, is shorter than the header, or longer than the bytes.
    Length {
        /// The header.
        layer: Layer,
        /// The stated length in bytes.
        stated: usize,
        /// Bytes that there are.
        found: usize,
    },
    /// A hop-by-hop header that is not the first extension header (RFC 8200 §4.1).
    HopByHopNotFirst,
    /// An option whose length is 0 or 1, or longer than the rest of the options.
    OptionLength {
        /// The kind of the option.
        kind: u8,
        /// Stated length of the option; 0 if there is none.
        length: u8,
    },
    /// A packet of this protocol, or a fragment, cannot be cut into segments.
    NotSegmentable(u8),
    /// A packet without a wire form: a message between nodes of the network.
    NoWireForm,
    /// A value cannot be written into a header of this layer: it has too many bytes.
    TooLong(Layer, usize),
}

impl Error {
    /// The cause without its numbers, for counters.
    #[must_use]
    pub fn cause(&self) -> (Option<Layer>, &'static str) {
        match *self {
            Self::Empty => (None, "empty"),
            Self::Version(layer, _) => (Some(layer), "version"),
            Self::Truncated { layer, .. } => (Some(layer), "truncated"),
            Self::HeaderLength(layer, _) => (Some(layer), "header length"),
            Self::Length { layer, .. } => (Some(layer), "length"),
            Self::HopByHopNotFirst => (Some(Layer::Ipv6Extension), "hop-by-hop not first"),
            Self::OptionLength { .. } => (Some(Layer::TcpOptions), "option length"),
            Self::NotSegmentable(_) => (None, "not segmentable"),
            Self::NoWireForm => (None, "no wire form"),
            Self::TooLong(layer, _) => (Some(layer), "too long"),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Empty => f.write_str("no bytes"),
            Self::Version(layer, version) => write!(f, "{}: version {version}", layer.name()),
            Self::Truncated { layer, needed, found } => {
                write!(f, "{}: needs {needed} bytes, found {found}", layer.name())
            }
            Self::HeaderLength(layer, length) => {
                write!(f, "{}: states {length} bytes of header", layer.name())
            }
            Self::Length { layer, stated, found } => {
                write!(f, "{}: states a length of {stated} bytes, found {found}", layer.name())
            }
            Self::HopByHopNotFirst => f.write_str("IPv6 extension header: hop-by-hop options are not first"),
            Self::OptionLength { kind, length } => {
                write!(f, "TCP options: option of kind {kind} states a length of {length} bytes")
            }
            Self::NotSegmentable(protocol) => {
                write!(f, "a fragment, or a packet of protocol {protocol}, cannot be cut into segments")
            }
            Self::NoWireForm => f.write_str("a message between nodes of the network has no wire form"),
            Self::TooLong(layer, length) => write!(f, "{}: {length} bytes do not fit", layer.name()),
        }
    }
}

impl core::error::Error for Error {}

/// The first `needed` bytes.
pub(crate) fn take(bytes: &[u8], needed: usize, layer: Layer) -> Result<&[u8], Error> {
    bytes.get(..needed).ok_or(Error::Truncated { layer, needed, found: bytes.len() })
}
