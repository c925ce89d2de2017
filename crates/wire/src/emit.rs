//! The bytes of a simulated packet: headers from its typed view, between addresses that the caller chooses.
//!
//! Data of simulated applications is zero; a datagram begins with its number, eight bytes in network order, as
//! far as they fit. IPv4 packets have DF set and identification 0 (RFC 6864 §4.1). Options of TCP are in the
//! order and padding of Linux.

use core::net::IpAddr;

use airlane_core::{
    AccEcnOption, Header, IcmpEcho, MptcpOption, Mss, Packet, Payload, TcpFlags, TcpHeader, TcpSynOptions,
    ip_bytes,
};

use crate::checksum::{Sum, fill_header};
use crate::{Echo, Error, Icmp, Ip, Ipv4, Ipv6, Layer, Tcp, TcpOption, Udp, mptcp, protocol};

/// The time to live of hosts: Linux's default.
pub const TIME_TO_LIVE: u8 = 64;
/// The second of the option kinds for experiments (RFC 4727 §5).
pub(crate) const EXPERIMENT: u8 = 254;
/// The experiment identifier of an ARWA receiver's codes (RFC 6994 §3.1): "ARWA", ours, not registered.
pub(crate) const CODE_EXID: [u8; 4] = *b"ARWA";

/// Source and destination of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ends {
    /// The source address.
    pub source: IpAddr,
    /// The source port; the identifier of an echo message, in both directions.
    pub source_port: u16,
    /// The destination address, of the same version.
    pub destination: IpAddr,
    /// The destination port; not used by echo messages.
    pub destination_port: u16,
}

impl Ends {
    /// The ends of the opposite direction.
    #[must_use]
    pub const fn reversed(self) -> Self {
        Self {
            source: self.destination,
            source_port: self.destination_port,
            destination: self.source,
            destination_port: self.source_port,
        }
    }
}

/// Appends a packet, but at most `limit` bytes of it, and returns its whole length. A packet from outside has its
/// own bytes, and `ends` are not used; checksums of others cover all of the packet.
/// A length field is 0 if the packet is larger than it can say, as in captures with segmentation offload.
///
/// # Errors
/// If the header has no wire form: that of a message between nodes of the network, or one whose options have
/// more than 40 bytes. Nothing is appended then.
pub fn emit(packet: &Packet, ends: &Ends, limit: usize, out: &mut Vec<u8>) -> Result<usize, Error> {
    if let Some(headers) = packet.outside() {
        return Ok(as_it_came(headers.as_slice(), &packet.payload, limit, out));
    }
    let begin = out.len();
    let multipath = packet.mptcp().copied();
    let transport = match &packet.header {
        Header::Tcp(tcp) => (tcp.wire_len() + multipath.map_or(0, |option| option.padded_len())) as usize,
        Header::Udp(_) => Udp::LEN,
        Header::Icmp(_) => Icmp::LEN,
        Header::Other { .. } | Header::Signalling => return Err(Error::NoWireForm),
    };
    if transport > Tcp::LEN_MIN + Tcp::OPTIONS_MAX {
        return Err(Error::TooLong(Layer::TcpOptions, transport - Tcp::LEN_MIN));
    }
    let payload = packet.payload.len() as usize;
    ip_header(packet, ends, transport + payload, out)?;
    let start = out.len();
    let serial = serial(packet);
    let content = match &packet.payload {
        Payload::Bytes(bytes) => &bytes[..],
        Payload::Length(_) => &serial[..serial.len().min(payload)],
    };
    let v6 = ends.source.is_ipv6();
    let (number, field) = match &packet.header {
        Header::Tcp(tcp) => {
            tcp_header(tcp, multipath.as_ref(), ends, out);
            (protocol::TCP, 16)
        }
        Header::Udp(_) => {
            let (source_port, destination_port) = (ends.source_port, ends.destination_port);
            let length = length_field(transport + payload);
            Udp { source_port, destination_port, length, checksum: 0 }.emit(out);
            (protocol::UDP, 6)
        }
        Header::Icmp(echo) => {
            Icmp::echo_message(wire_echo(*echo, ends.source_port), v6).emit(out);
            (if v6 { protocol::ICMPV6 } else { protocol::ICMP }, 2)
        }
        Header::Other { .. } | Header::Signalling => unreachable!("it has returned above"),
    };
    debug_assert_eq!(out.len() - start, transport, "the typed header knows its length");
    let mut sum = Sum::default().with(&out[start..]).with(content);
    if number != protocol::ICMP {
        sum = sum.with_pseudo_header(ends.source, ends.destination, number, transport + payload);
    }
    let checksum = match sum.checksum() {
        0 if number == protocol::UDP => 0xffff, // RFC 768
        checksum => checksum,
    };
    out[start + field..start + field + 2].copy_from_slice(&checksum.to_be_bytes());
    let whole = out.len() - begin + payload;
    let end = begin + whole.min(limit);
    if end > out.len() {
        let room = end - out.len();
        out.extend_from_slice(&content[..content.len().min(room)]);
        out.resize(end, 0);
    }
    out.truncate(end);
    Ok(whole)
}

/// The bytes of a packet from outside.
fn as_it_came(headers: &[u8], payload: &Payload, limit: usize, out: &mut Vec<u8>) -> usize {
    let whole = headers.len() + payload.len() as usize;
    let begin = out.len();
    out.extend_from_slice(&headers[..headers.len().min(limit)]);
    if let Payload::Bytes(bytes) = payload {
        out.extend_from_slice(&bytes[..bytes.len().min(limit.saturating_sub(headers.len()))]);
    }
    out.resize(begin + whole.min(limit), 0); // a payload that was taken out reads as zeros
    whole
}

/// The first bytes of a datagram whose content is not simulated.
fn serial(packet: &Packet) -> [u8; 8] {
    match &packet.header {
        Header::Udp(udp) => udp.serial.to_be_bytes(),
        _ => [0; 8],
    }
}

/// A length field; 0 for larger packets.
pub fn length_field(bytes: usize) -> u16 {
    u16::try_from(bytes).unwrap_or(0)
}

fn ip_header(packet: &Packet, ends: &Ends, behind: usize, out: &mut Vec<u8>) -> Result<(), Error> {
    let number = |v6| match packet.header {
        Header::Tcp(_) => protocol::TCP,
        Header::Udp(_) => protocol::UDP,
        Header::Icmp(_) if v6 => protocol::ICMPV6,
        Header::Icmp(_) | Header::Other { .. } | Header::Signalling => protocol::ICMP,
    };
    match (ends.source, ends.destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let header = Ipv4 {
                traffic_class: ip_bytes::ecn_bits(packet.ecn),
                total_length: length_field(Ipv4::LEN_MIN + behind),
                protocol: number(false),
                ..Ipv4::between(source, destination)
            };
            let begin = out.len();
            header.emit(out)?;
            fill_header(&mut out[begin..]);
            Ok(())
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => Ip::V6(Ipv6 {
            traffic_class: ip_bytes::ecn_bits(packet.ecn),
            flow_label: 0,
            payload_length: length_field(behind),
            next_header: number(true),
            hop_limit: TIME_TO_LIVE,
            source,
            destination,
            extensions: &[],
            protocol: number(true),
            fragment: None,
        })
        .emit(out),
        (_, IpAddr::V4(_)) => Err(Error::Version(Layer::Ipv4, 6)),
        (_, IpAddr::V6(_)) => Err(Error::Version(Layer::Ipv6, 4)),
    }
}

/// An echo message of a flow; the sequence number is the low 16 bits of the count from 1 on, as in ping(8).
const fn wire_echo(echo: IcmpEcho, identifier: u16) -> Echo {
    Echo { reply: echo.reply, identifier, sequence: (echo.serial as u16).wrapping_add(1) }
}

fn tcp_header(header: &TcpHeader, multipath: Option<&MptcpOption>, ends: &Ends, out: &mut Vec<u8>) {
    let begin = out.len();
    let fixed = Tcp {
        source_port: ends.source_port,
        destination_port: ends.destination_port,
        sequence: header.sequence,
        acknowledgment: header.acknowledgment,
        flags: header.flags.0,
        window: header.window,
        checksum: 0,
        urgent: 0,
        options: &[],
    };
    fixed.emit(out).expect("no options");
    options(header, out);
    if let Some(option) = multipath {
        mptcp::emit(option, out);
    }
    let length = (((out.len() - begin) / 4) as u8) << 4;
    out[begin + 12] = length | (out[begin + 12] & 0x0f); // the lowest bit is AE
}

/// The options in the order of Linux, padded as in [`TcpHeader::wire_len`]. The code of an ARWA receiver, and the
/// permission of codes, are in an experimental option (RFC 4727, RFC 6994) at the end.
fn options(header: &TcpHeader, out: &mut Vec<u8>) {
    let nops = |count: usize, out: &mut Vec<u8>| (0..count).for_each(|_| TcpOption::Nop.emit(out));
    let is_syn = header.flags.has(TcpFlags::SYN);
    let syn = if is_syn { header.syn } else { TcpSynOptions::default() };
    if let Some(Mss(mss)) = syn.mss {
        TcpOption::Mss(mss).emit(out);
    }
    if let Some(t) = header.timestamps {
        if syn.sack_permitted {
            TcpOption::SackPermitted.emit(out);
        } else {
            nops(2, out);
        }
        TcpOption::Timestamps(t.value, t.echo_reply).emit(out);
    }
    if let Some(option) = &header.accurate_ecn {
        let kind = AccEcnOption::KINDS[usize::from(option.order())];
        TcpOption::Other(kind, option.bytes()).emit(out);
        nops(option.padded_len() as usize - (2 + option.bytes().len()), out);
    }
    if syn.sack_permitted && header.timestamps.is_none() {
        nops(2, out);
        TcpOption::SackPermitted.emit(out);
    }
    if let Some(shift) = syn.window_scale {
        nops(1, out);
        TcpOption::WindowScale(shift).emit(out);
    }
    if !header.sack.is_empty() {
        nops(2, out);
        let mut edges = [0; 32];
        let blocks = header.sack.as_slice();
        for (block, place) in blocks.iter().zip(edges.chunks_exact_mut(8)) {
            place[..4].copy_from_slice(&block.left.to_be_bytes());
            place[4..].copy_from_slice(&block.right.to_be_bytes());
        }
        TcpOption::Sack(&edges[..8 * blocks.len()]).emit(out);
    }
    if is_syn && header.syn.codes_permitted {
        nops(2, out);
        TcpOption::Other(EXPERIMENT, &CODE_EXID).emit(out);
    }
    if let Some(code) = header.receiver_code {
        nops(1, out);
        let [a, b, c, d] = CODE_EXID;
        TcpOption::Other(EXPERIMENT, &[a, b, c, d, code.get()]).emit(out);
    }
}
