//! Packets from outside: their bytes, with the typed view that queues, middleboxes, endpoints and captures
//! read.
//!
//! [`crate::emit()`] gives the same bytes again, with the changes that were made on the way: ECN, code point, hop limit.

use core::num::NonZeroU8;

use airlane_core::{
    AccEcnOption, Bytes, Direction, FlowId, Header, IcmpEcho, Instant, Mss, Packet, PacketPool, Payload,
    SackList, TcpFlags, TcpHeader, TcpSynOptions, TcpTimestamps, UdpHeader, ip_bytes,
};

use crate::emit::{CODE_EXID, EXPERIMENT};
use crate::{Error, HeaderBytes, Icmp, Ip, IpPacket, Ipv6, Tcp, TcpOption, Transport, Udp};

/// The control bits of RFC 9293 §3.1, and AE (RFC 9768 §3.1), the bit before them.
const CONTROL_BITS: u16 = 0x01ff;

/// Properties of a packet from outside that its bytes do not contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The flow to which it was found to belong.
    pub flow: FlowId,
    /// Direction of the packet.
    pub direction: Direction,
    /// Time of the arrival.
    pub now: Instant,
}

/// A packet of these bytes. A transport header that is wrong, unknown or of a fragment becomes
/// [`Header::Other`]: routers forward such packets too. Bytes behind the packet are left out. Its buffers come from
/// the pool, to which [`PacketPool::recycle`] gives them back.
///
/// # Errors
/// If the bytes do not begin with a whole IP packet.
pub fn packet(pool: &mut PacketPool, bytes: &[u8], arrival: Arrival) -> Result<Packet, Error> {
    let (ip, whole, header, mut front) = match IpPacket::parse(bytes) {
        Ok(packet) => {
            let header = typed(&packet);
            let of_transport =
                if matches!(header, Header::Other { .. }) { 0 } else { packet.transport.header_len() };
            (packet.ip, packet.len(), header, packet.ip.header_len() + of_transport)
        }
        Err(_) => {
            let (ip, behind) = Ip::parse(bytes)?;
            let header = Header::Other { protocol: ip.protocol() };
            (ip, ip.header_len() + behind.len(), header, ip.header_len())
        }
    };
    let (header, headers) = {
        let mut headers = pool.header_buffer();
        if headers.set(&bytes[..front]) {
            (header, headers)
        } else {
            // Only extension headers can be so long: they become payload.
            let Ip::V6(v6) = ip else { return Err(Error::TooLong(crate::Layer::Ipv4, front)) };
            front = Ipv6::LEN_MIN;
            assert!(headers.set(&bytes[..front]), "{front} of {} bytes", HeaderBytes::MAX);
            (Header::Other { protocol: v6.next_header }, headers)
        }
    };
    let content = &bytes[front..whole];
    // A buffer that becomes an empty payload would lose its memory.
    let mut buffer = if content.is_empty() { Vec::new() } else { pool.buffer() };
    buffer.extend_from_slice(content);
    let payload = Payload::Bytes(buffer.into());
    let mut packet = Packet::new(arrival.flow, arrival.direction, header, payload, arrival.now);
    packet.size = Bytes(whole as u64);
    packet.ecn = ip_bytes::ecn(headers.as_slice()).unwrap_or_default();
    packet.set_outside(headers);
    Ok(packet)
}

/// The typed view of a packet's transport header.
#[must_use]
pub fn typed(packet: &IpPacket<'_>) -> Header {
    let v6 = matches!(packet.ip, Ip::V6(_));
    match packet.transport {
        Transport::Tcp(tcp) => Header::Tcp(typed_tcp(&tcp)),
        // A datagram that is shorter than its packet would give its reader bytes that are not its own.
        Transport::Udp(udp) if usize::from(udp.length) == Udp::LEN + packet.payload.len() => {
            Header::Udp(UdpHeader::default())
        }
        Transport::Icmp(icmp) => {
            typed_echo(&icmp, v6).unwrap_or(Header::Other { protocol: packet.ip.protocol() })
        }
        Transport::Udp(_) | Transport::Other => Header::Other { protocol: packet.ip.protocol() },
    }
}

/// The typed view of an echo message. Its sequence number is the low 16 bits of a count from 1 on, as in ping(8).
fn typed_echo(icmp: &Icmp, v6: bool) -> Option<Header> {
    let echo = icmp.echo(v6)?;
    let serial = u64::from(echo.sequence.wrapping_sub(1));
    Some(Header::Icmp(IcmpEcho { reply: echo.reply, serial }))
}

/// The typed view of a TCP header. Options of a SYN are ignored in other segments (RFC 9293 §3.7.1, RFC 7323 §2.2,
/// RFC 2018 §2), options behind a wrong one are ignored, and of several of a kind the last one counts.
#[must_use]
pub fn typed_tcp(tcp: &Tcp<'_>) -> TcpHeader {
    let mut header = TcpHeader {
        sequence: tcp.sequence,
        acknowledgment: tcp.acknowledgment,
        window: tcp.window,
        flags: TcpFlags(tcp.flags & CONTROL_BITS),
        ..TcpHeader::default()
    };
    let mut syn = TcpSynOptions::default();
    for option in tcp.options().map_while(Result::ok) {
        match option {
            TcpOption::Mss(mss) => syn.mss = Some(Mss(mss)),
            TcpOption::WindowScale(shift) => syn.window_scale = Some(shift),
            TcpOption::SackPermitted => syn.sack_permitted = true,
            TcpOption::Timestamps(value, echo_reply) => {
                header.timestamps = Some(TcpTimestamps { value, echo_reply })
            }
            TcpOption::Sack(_) => {
                header.sack = SackList::default();
                for block in option.sack_blocks() {
                    header.sack.push(block);
                }
            }
            TcpOption::Experiment(EXPERIMENT, first, rest) if first.to_be_bytes() == CODE_EXID[..2] => {
                match rest {
                    [b'W', b'A'] => syn.codes_permitted = true,
                    [b'W', b'A', code] => header.receiver_code = NonZeroU8::new(*code),
                    _ => {}
                }
            }
            TcpOption::Other(kind, fields) if AccEcnOption::KINDS.contains(&kind) => {
                header.accurate_ecn = Some(typed_accurate_ecn(kind, fields));
            }
            TcpOption::End(_) | TcpOption::Nop | TcpOption::Experiment(..) | TcpOption::Other(..) => {}
        }
    }
    if header.flags.has(TcpFlags::SYN) {
        header.syn = syn;
    }
    header
}

/// The whole fields of an AccECN option; the rest of an option with another length is padding (RFC 9768 §3.2.3).
fn typed_accurate_ecn(kind: u8, fields: &[u8]) -> AccEcnOption {
    let mut counters = [0; 3];
    let mut count = 0;
    for (counter, field) in counters.iter_mut().zip(fields.chunks_exact(3)) {
        *counter = u32::from_be_bytes([0, field[0], field[1], field[2]]);
        count += 1;
    }
    AccEcnOption::new(u8::from(kind != AccEcnOption::KINDS[0]), &counters[..count])
}
