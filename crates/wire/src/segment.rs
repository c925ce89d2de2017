//! Segmentation of packets that a host left to its device (TSO, USO), as Linux does it in software.
//!
//! TCP (`tcp_gso_segment` in net/ipv4/tcp_offload.c): sequence numbers continue; FIN and PSH stay on the last segment
//! only, CWR on the first only. The identification of IPv4 grows by one per segment (`inet_gso_segment` in
//! net/ipv4/af_inet.c). Lengths and checksums are computed for each segment. A UDP datagram without a checksum has
//! none in its segments either.
//!
//! Not included: tunnels, GRE, and CWR of AccECN (RFC 9768), which Linux keeps on all segments.

use crate::checksum::{Sum, fill_header};
use crate::emit::length_field;
use crate::{Error, Ip, IpPacket, Layer, Transport, protocol};

/// FIN and PSH, in the second byte of the flags.
const LAST_ONLY: u8 = 0x01 | 0x08;
/// CWR.
const FIRST_ONLY: u8 = 0x80;

/// The segments of a packet, one at a time.
#[derive(Clone, Copy, Debug)]
pub struct Segments<'a> {
    packet: IpPacket<'a>,
    bytes: &'a [u8],
    /// Payload bytes of a full segment.
    size: usize,
    /// Payload bytes that were cut off.
    done: usize,
    number: u16,
}

impl<'a> Segments<'a> {
    /// The segments of a TCP segment or UDP datagram with `size` bytes of payload each. A packet with fewer bytes
    /// has one segment.
    ///
    /// # Errors
    /// If the bytes are no such packet, or `size` is 0.
    pub fn new(bytes: &'a [u8], size: u16) -> Result<Self, Error> {
        let packet = IpPacket::parse(bytes)?;
        let layer = match packet.transport {
            Transport::Tcp(_) => Layer::Tcp,
            Transport::Udp(udp) => {
                let (stated, found) = (usize::from(udp.length), 8 + packet.payload.len());
                if stated != found {
                    return Err(Error::Length { layer: Layer::Udp, stated, found });
                }
                Layer::Udp
            }
            Transport::Icmp(_) | Transport::Other => return Err(Error::NotSegmentable(packet.ip.protocol())),
        };
        if size == 0 {
            return Err(Error::Length { layer, stated: 0, found: packet.payload.len() });
        }
        Ok(Self { packet, bytes, size: usize::from(size), done: 0, number: 0 })
    }

    /// Appends the next segment, with all checksums. Returns false after the last one.
    pub fn next_into(&mut self, out: &mut Vec<u8>) -> bool {
        let left = self.packet.payload.len() - self.done;
        if left == 0 && self.number > 0 {
            return false;
        }
        let (begin, transport_at) = (out.len(), self.packet.ip.header_len());
        let headers = transport_at + self.packet.transport.header_len();
        let length = left.min(self.size);
        out.extend_from_slice(&self.bytes[..headers]);
        out.extend_from_slice(&self.packet.payload[self.done..self.done + length]);
        let segment = &mut out[begin..];
        self.change_ip(segment);
        match self.packet.transport {
            Transport::Tcp(tcp) => {
                let tcp_bytes = &mut segment[transport_at..];
                let sequence = tcp.sequence.wrapping_add(self.done as u32);
                tcp_bytes[4..8].copy_from_slice(&sequence.to_be_bytes());
                if length < left {
                    tcp_bytes[13] &= !LAST_ONLY;
                }
                if self.number > 0 {
                    tcp_bytes[13] &= !FIRST_ONLY;
                }
                self.change_checksum(segment, protocol::TCP, 16);
            }
            Transport::Udp(udp) => {
                let datagram = length_field(segment.len() - transport_at);
                segment[transport_at + 4..transport_at + 6].copy_from_slice(&datagram.to_be_bytes());
                if udp.checksum != 0 {
                    self.change_checksum(segment, protocol::UDP, 6);
                }
            }
            Transport::Icmp(_) | Transport::Other => unreachable!("it is not segmentable"),
        }
        self.done += length;
        self.number = self.number.wrapping_add(1);
        true
    }

    fn change_ip(&self, segment: &mut [u8]) {
        let whole = segment.len();
        match self.packet.ip {
            Ip::V4(header) => {
                segment[2..4].copy_from_slice(&length_field(whole).to_be_bytes());
                let identification = header.identification.wrapping_add(self.number);
                segment[4..6].copy_from_slice(&identification.to_be_bytes());
                fill_header(&mut segment[..header.header_len()]);
            }
            Ip::V6(_) => segment[4..6].copy_from_slice(&length_field(whole - 40).to_be_bytes()),
        }
    }

    fn change_checksum(&self, segment: &mut [u8], number: u8, field: usize) {
        let at = self.packet.ip.header_len();
        let (source, destination) = self.packet.ip.addresses();
        let message = &mut segment[at..];
        message[field..field + 2].fill(0);
        let sum = Sum::default().with_pseudo_header(source, destination, number, message.len()).with(message);
        let checksum = match sum.checksum() {
            0 if number == protocol::UDP => 0xffff, // RFC 768
            checksum => checksum,
        };
        message[field..field + 2].copy_from_slice(&checksum.to_be_bytes());
    }
}
