//! Packets as bytes on the wire: IPv4 (RFC 791), TCP (RFC 9293), UDP (RFC 768) or ICMP (RFC 792), and the
//! tunnel of S1-U (TS 29.281), with all checksums over the whole packet, even if only a part is stored.
//!
//! Data of simulated applications is zero; a datagram begins with its number, eight bytes in network
//! order, as far as they fit. The identifier of an echo message is the number of its flow, and sequence
//! numbers start at 1, as those of ping(8). Packets have DF set and identification 0 (RFC 6864 §4.1). The
//! time to live is constant, because the model has no routers that decrement it.

use airlane_core::{Ecn, Header, IcmpEcho, Packet, Payload, TcpFlags, TcpHeader, TcpSynOptions};
use etherparse::{
    IcmpEchoHeader, Icmpv4Header, Icmpv4Type, IpEcn, IpNumber, Ipv4Header, TcpOptionElement, TcpOptions,
    UdpHeader,
};

/// The time to live of hosts: Linux's default.
const TIME_TO_LIVE: u8 = 64;
/// The port of GTP-U (TS 29.281 v17.4 §4.4.2.3).
const GTP_PORT: u16 = 2152;
/// The mandatory part of a GTP-U header (TS 29.281 v17.4 §5.1).
const GTP_HEADER: u16 = 8;
/// Version 1, protocol type GTP, no options (TS 29.281 v17.4 §5.1).
const GTP_FLAGS: u8 = 0b0011_0000;
/// Message type G-PDU (TS 29.281 v17.4 §6.1).
const GTP_G_PDU: u8 = 255;
/// The second of the option kinds for experiments (RFC 4727 §5).
const EXPERIMENT: u8 = 254;
/// The experiment identifier of codes (RFC 6994 §3.1), "ARWA": ours, not registered.
const CODE_EXID: [u8; 4] = *b"ARWA";
const UDP_HEADER: usize = 8;
/// Of an echo message (RFC 792).
const ICMP_HEADER: usize = 8;
/// The largest IP packet.
const PACKET_MAX: usize = 65_535;

/// A host and port at either end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(crate) source: [u8; 4],
    pub(crate) source_port: u16,
    pub(crate) destination: [u8; 4],
    pub(crate) destination_port: u16,
}

impl Ends {
    pub(crate) const fn reversed(self) -> Self {
        Self {
            source: self.destination,
            source_port: self.destination_port,
            destination: self.source,
            destination_port: self.source_port,
        }
    }
}

/// The ends of a tunnel, and its identifier at the far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tunnel {
    pub(crate) source: [u8; 4],
    pub(crate) destination: [u8; 4],
    pub(crate) identifier: u32,
}

/// Builds packets, one at a time.
#[derive(Debug)]
pub(crate) struct Wire {
    /// The stored part of the packet.
    kept: Vec<u8>,
    payload: Vec<u8>,
}

impl Wire {
    pub(crate) fn new() -> Self {
        Self { kept: Vec::with_capacity(PACKET_MAX), payload: Vec::with_capacity(PACKET_MAX) }
    }

    /// The first `snaplen` bytes of a packet, and its whole length.
    pub(crate) fn packet(
        &mut self,
        packet: &Packet,
        ends: Ends,
        tunnel: Option<Tunnel>,
        snaplen: usize,
    ) -> (&[u8], u32) {
        self.fill_payload(packet);
        self.kept.clear();
        let transport = match &packet.header {
            Header::Tcp(tcp) => usize::try_from(tcp.wire_len()).expect("at most 60 bytes"),
            Header::Udp(_) => UDP_HEADER,
            Header::Icmp(_) => ICMP_HEADER,
            Header::Signalling => unreachable!("only packets of flows are captured"),
        };
        let inner = Ipv4Header::MIN_LEN + transport + self.payload.len();
        if let Some(tunnel) = tunnel {
            self.enter(tunnel, inner);
        }
        let before = self.kept.len();
        self.ip(ends, packet, inner);
        match &packet.header {
            Header::Tcp(tcp) => self.tcp(ends, tcp),
            Header::Udp(_) => self.udp(ends),
            Header::Icmp(echo) => self.icmp(packet.flow.0, *echo),
            Header::Signalling => unreachable!("see above"),
        }
        assert_eq!(self.kept.len() - before + self.payload.len(), inner, "a header of another length");
        let whole = before + inner;
        assert_eq!(whole as u64, packet.size.get(), "the packet is as long as the model says");
        let room = snaplen.saturating_sub(self.kept.len()).min(self.payload.len());
        self.kept.extend_from_slice(&self.payload[..room]);
        self.kept.truncate(snaplen);
        (&self.kept, u32::try_from(whole).expect("a packet has fewer than 2^32 bytes"))
    }

    fn fill_payload(&mut self, packet: &Packet) {
        self.payload.clear();
        match &packet.payload {
            Payload::Bytes(bytes) => self.payload.extend_from_slice(bytes),
            Payload::Length(length) => {
                self.payload.resize(*length as usize, 0);
                if let Header::Udp(udp) = &packet.header {
                    let serial = udp.serial.to_be_bytes();
                    let fits = serial.len().min(self.payload.len());
                    self.payload[..fits].copy_from_slice(&serial[..fits]);
                }
            }
        }
    }

    fn ip(&mut self, ends: Ends, packet: &Packet, whole: usize) {
        let mut ip = Ipv4Header {
            total_len: total_length(whole),
            ecn: match packet.ecn {
                Ecn::NotCapable => IpEcn::ZERO,
                Ecn::Capable1 => IpEcn::ONE,
                Ecn::Capable0 => IpEcn::TWO,
                Ecn::CongestionExperienced => IpEcn::THREE,
            },
            dont_fragment: true,
            time_to_live: TIME_TO_LIVE,
            protocol: match packet.header {
                Header::Tcp(_) => IpNumber::TCP,
                Header::Udp(_) => IpNumber::UDP,
                Header::Icmp(_) => IpNumber::ICMP,
                Header::Signalling => unreachable!("see above"),
            },
            source: ends.source,
            destination: ends.destination,
            ..Ipv4Header::default()
        };
        ip.header_checksum = ip.calc_header_checksum();
        self.kept.extend_from_slice(&ip.to_bytes());
    }

    fn tcp(&mut self, ends: Ends, header: &TcpHeader) {
        let flag = |bit| header.flags.has(bit);
        let mut tcp = etherparse::TcpHeader {
            source_port: ends.source_port,
            destination_port: ends.destination_port,
            sequence_number: header.sequence,
            acknowledgment_number: header.acknowledgment,
            fin: flag(TcpFlags::FIN),
            syn: flag(TcpFlags::SYN),
            rst: flag(TcpFlags::RST),
            psh: flag(TcpFlags::PSH),
            ack: flag(TcpFlags::ACK),
            ece: flag(TcpFlags::ECE),
            cwr: flag(TcpFlags::CWR),
            window_size: header.window,
            ..etherparse::TcpHeader::default()
        };
        tcp.set_options_raw(&option_bytes(header)).expect("the options fit into 40 bytes");
        tcp.checksum = tcp
            .calc_checksum_ipv4_raw(ends.source, ends.destination, &self.payload)
            .expect("a segment fits into an IP packet");
        self.kept.extend_from_slice(&tcp.to_bytes());
    }

    fn udp(&mut self, ends: Ends) {
        let length =
            u16::try_from(UDP_HEADER + self.payload.len()).expect("a datagram fits into an IP packet");
        let mut udp = UdpHeader {
            source_port: ends.source_port,
            destination_port: ends.destination_port,
            length,
            checksum: 0,
        };
        udp.checksum = udp
            .calc_checksum_ipv4_raw(ends.source, ends.destination, &self.payload)
            .expect("a datagram fits into an IP packet");
        self.kept.extend_from_slice(&udp.to_bytes());
    }

    /// Adds an ICMP header. The sequence number is the low 16 bits of the count, as in ping(8).
    fn icmp(&mut self, flow: u32, echo: IcmpEcho) {
        let id = u16::try_from(flow + 1).expect("at most 10,000 flows");
        let header = IcmpEchoHeader { id, seq: (echo.serial + 1) as u16 };
        let kind = if echo.reply { Icmpv4Type::EchoReply(header) } else { Icmpv4Type::EchoRequest(header) };
        self.kept.extend_from_slice(&Icmpv4Header::with_checksum(kind, &self.payload).to_bytes());
    }

    /// Adds the headers of the tunnel around a packet of `inner` bytes.
    fn enter(&mut self, tunnel: Tunnel, inner: usize) {
        let gtp = usize::from(GTP_HEADER) + inner;
        let mut ip = Ipv4Header {
            total_len: total_length(Ipv4Header::MIN_LEN + UDP_HEADER + gtp),
            time_to_live: TIME_TO_LIVE,
            protocol: IpNumber::UDP,
            source: tunnel.source,
            destination: tunnel.destination,
            ..Ipv4Header::default()
        };
        ip.header_checksum = ip.calc_header_checksum();
        self.kept.extend_from_slice(&ip.to_bytes());
        let udp = UdpHeader {
            source_port: GTP_PORT,
            destination_port: GTP_PORT,
            length: total_length(UDP_HEADER + gtp),
            checksum: 0, // none; RFC 768 allows this over IPv4, and core networks usually do it
        };
        self.kept.extend_from_slice(&udp.to_bytes());
        self.kept.extend_from_slice(&[GTP_FLAGS, GTP_G_PDU]);
        self.kept.extend_from_slice(&total_length(inner).to_be_bytes());
        self.kept.extend_from_slice(&tunnel.identifier.to_be_bytes());
    }
}

/// A length field; 0 for larger packets, as in captures with segmentation offload.
fn total_length(bytes: usize) -> u16 {
    u16::try_from(bytes).unwrap_or(0)
}

/// All options. The code of an ARWA receiver, and the permission of codes, are in an experimental
/// option (RFC 4727, RFC 6994) at the end.
fn option_bytes(header: &TcpHeader) -> Vec<u8> {
    const NOP: u8 = 1;
    let known = TcpOptions::try_from_elements(&options(header)).expect("the options fit into 40 bytes");
    let mut bytes = known.as_slice().to_vec();
    if header.flags.has(TcpFlags::SYN) && header.syn.codes_permitted {
        bytes.extend([NOP, NOP, EXPERIMENT, 6]);
        bytes.extend(CODE_EXID);
    }
    if let Some(code) = header.receiver_code {
        bytes.extend([NOP, EXPERIMENT, 7]);
        bytes.extend(CODE_EXID);
        bytes.push(code);
    }
    bytes
}

/// The standard options in the order of Linux, padded as in [`TcpHeader::wire_len`].
fn options(header: &TcpHeader) -> Vec<TcpOptionElement> {
    use TcpOptionElement::{
        MaximumSegmentSize, Noop, SelectiveAcknowledgement, SelectiveAcknowledgementPermitted, Timestamp,
        WindowScale,
    };
    let mut options = Vec::with_capacity(8);
    let syn = if header.flags.has(TcpFlags::SYN) { header.syn } else { TcpSynOptions::default() };
    options.extend(syn.mss.map(MaximumSegmentSize));
    match (syn.sack_permitted, header.timestamps.is_some()) {
        (true, true) => options.push(SelectiveAcknowledgementPermitted),
        (true, false) => options.extend([Noop, Noop, SelectiveAcknowledgementPermitted]),
        (false, true) => options.extend([Noop, Noop]),
        (false, false) => {}
    }
    options.extend(header.timestamps.map(|t| Timestamp(t.value, t.echo_reply)));
    if let Some(scale) = syn.window_scale {
        options.extend([Noop, WindowScale(scale)]);
    }
    if let [first, more @ ..] = header.sack.as_slice() {
        let edges = |block: &airlane_core::SackBlock| (block.left, block.right);
        let more = core::array::from_fn(|i| more.get(i).map(edges));
        options.extend([Noop, Noop, SelectiveAcknowledgement(edges(first), more)]);
    }
    options
}
