//! The Internet checksum (RFC 1071), the pseudo headers of TCP, UDP and ICMPv6 (RFC 9293 §3.1, RFC 8200
//! §8.1), and checksums that another party began (virtio `csum_start`, `csum_offset`).
//!
//! Parsing does not look at checksums: a packet from a device with checksum offload has none yet.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::{Error, Ip, IpPacket, Transport, protocol};

/// A one's complement sum of 16-bit words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum(u64);

impl Sum {
    /// Adds bytes that begin at an even position. An odd last byte is followed by a zero, so it must be the last
    /// of all.
    #[must_use]
    pub fn with(self, bytes: &[u8]) -> Self {
        let mut sum = self.0;
        let mut words = bytes.chunks_exact(4);
        for word in &mut words {
            // 2^32 additions fit: more bytes than a packet has.
            sum += u64::from(u32::from_be_bytes(word.try_into().expect("four bytes")));
        }
        for pair in words.remainder().chunks(2) {
            sum += u64::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
        }
        Self(sum)
    }

    /// Adds one 16-bit word.
    #[must_use]
    pub const fn with_word(self, word: u16) -> Self {
        Self(self.0 + word as u64)
    }

    /// Adds the pseudo header of a message of `length` bytes. It is the same sum for both versions of IP except
    /// for the addresses (RFC 9293 §3.1, RFC 8200 §8.1).
    #[must_use]
    pub fn with_pseudo_header(
        self,
        source: IpAddr,
        destination: IpAddr,
        protocol: u8,
        length: usize,
    ) -> Self {
        let addresses = match (source, destination) {
            (IpAddr::V4(a), IpAddr::V4(b)) => self.with(&a.octets()).with(&b.octets()),
            (a, b) => self.with(&as_v6(a).octets()).with(&as_v6(b).octets()),
        };
        Self(addresses.0 + u64::from(protocol) + length as u64)
    }

    /// The sum in 16 bits.
    #[must_use]
    pub const fn folded(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    /// The checksum: the complement of the sum.
    #[must_use]
    pub const fn checksum(self) -> u16 {
        !self.folded()
    }
}

fn as_v6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V6(address) => address,
        IpAddr::V4(address) => Ipv4Addr::to_ipv6_mapped(&address),
    }
}

/// A checksum compared with the bytes that it covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The checksum matches.
    Correct,
    /// The checksum does not match: damage, or a checksum that was left to the hardware.
    Wrong,
    /// There is no checksum, or none that can be computed from these bytes (a fragment, another protocol, a routing
    /// header whose segments are not finished).
    Absent,
}

impl Verdict {
    const fn of(matches: bool) -> Self {
        if matches { Self::Correct } else { Self::Wrong }
    }
}

/// The checksum of an IPv4 header; [`Verdict::Absent`] for IPv6, which has none.
#[must_use]
pub fn verify_header(bytes: &[u8]) -> Verdict {
    match IpPacket::parse(bytes) {
        Ok(IpPacket { ip: Ip::V4(header), .. }) => {
            Verdict::of(Sum::default().with(&bytes[..header.header_len()]).folded() == 0xffff)
        }
        _ => Verdict::Absent,
    }
}

/// The checksum of TCP, UDP, ICMP or ICMPv6.
#[must_use]
pub fn verify_transport(bytes: &[u8]) -> Verdict {
    let Some(place) = place(bytes) else { return Verdict::Absent };
    let message = &bytes[place.start..place.end];
    let field = [message[place.offset], message[place.offset + 1]];
    if place.protocol == protocol::UDP && field == [0, 0] {
        return Verdict::Absent; // RFC 768: the sender computed none
    }
    Verdict::of(place.pseudo.with(message).folded() == 0xffff)
}

/// Computes all checksums of a packet again: of the IPv4 header, and of TCP, UDP, ICMP or ICMPv6 if the packet
/// is no fragment.
///
/// # Errors
/// If the bytes are no packet; then they stay unchanged.
pub fn fill(bytes: &mut [u8]) -> Result<(), Error> {
    let packet = IpPacket::parse(bytes)?;
    let header_len = packet.ip.header_len();
    if matches!(packet.ip, Ip::V4(_)) {
        fill_header(&mut bytes[..header_len]);
    }
    if let Some(place) = place(bytes) {
        let at = place.start + place.offset;
        bytes[at..at + 2].fill(0);
        let sum = place.pseudo.with(&bytes[place.start..place.end]);
        store(bytes, at, sum, place.protocol == protocol::UDP);
    }
    Ok(())
}

/// Computes the checksum of an IPv4 header of exactly these bytes.
///
/// # Panics
/// If there are fewer than 12 bytes.
pub fn fill_header(header: &mut [u8]) {
    header[10..12].fill(0);
    let checksum = Sum::default().with(header).checksum();
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
}

/// Finishes a checksum that the other side of a virtio device left undone: the field at `start + offset`
/// contains the sum of the pseudo header, and the checksum covers all bytes from `start` on (virtio, "Packet
/// Transmission" of a network device: `VIRTIO_NET_HDR_F_NEEDS_CSUM`). A result of 0 is stored as 0xffff, for any protocol, as
/// in Linux (`skb_checksum_help` in net/core/dev.c).
///
/// # Errors
/// If the field is not within the bytes.
pub fn complete(bytes: &mut [u8], start: usize, offset: usize) -> Result<(), Error> {
    let at = start.checked_add(offset).filter(|at| at.checked_add(2).is_some_and(|end| end <= bytes.len()));
    let Some(at) = at else {
        let needed = start.saturating_add(offset).saturating_add(2);
        return Err(Error::Truncated { layer: crate::Layer::Checksum, needed, found: bytes.len() });
    };
    let sum = Sum::default().with(&bytes[start..]);
    store(bytes, at, sum, true);
    Ok(())
}

/// The opposite of [`complete`]: puts the sum of the pseudo header into the field, and returns `start` and
/// `offset`. `None` for a packet without a transport checksum.
pub fn leave_undone(bytes: &mut [u8]) -> Option<(usize, usize)> {
    let place = place(bytes)?;
    let at = place.start + place.offset;
    bytes[at..at + 2].copy_from_slice(&place.pseudo.folded().to_be_bytes());
    Some((place.start, place.offset))
}

fn store(bytes: &mut [u8], at: usize, sum: Sum, zero_means_none: bool) {
    let checksum = match sum.checksum() {
        0 if zero_means_none => 0xffff,
        checksum => checksum,
    };
    bytes[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
}

/// The place of the checksum of a message, and the bytes that it covers.
struct Place {
    protocol: u8,
    /// The message within the packet.
    start: usize,
    end: usize,
    /// The field within the message.
    offset: usize,
    pseudo: Sum,
}

fn place(bytes: &[u8]) -> Option<Place> {
    let packet = IpPacket::parse(bytes).ok()?;
    let start = packet.ip.header_len();
    let mut end = start + packet.transport.header_len() + packet.payload.len();
    let number = packet.ip.protocol();
    if let Ip::V6(header) = packet.ip
        && header.segments_left()
    {
        return None; // the pseudo header has the final destination (RFC 8200 §8.1)
    }
    let offset = match packet.transport {
        Transport::Tcp(_) => 16,
        Transport::Udp(udp) => {
            end = start + usize::from(udp.length); // bytes behind a datagram are not covered (RFC 768)
            6
        }
        Transport::Icmp(_) => 2,
        Transport::Other => return None,
    };
    let pseudo = match packet.transport {
        Transport::Icmp(_) if number == protocol::ICMP => Sum::default(), // RFC 792: the message alone
        _ => {
            let (source, destination) = packet.ip.addresses();
            Sum::default().with_pseudo_header(source, destination, number, end - start)
        }
    };
    Some(Place { protocol: number, start, end, offset, pseudo })
}
