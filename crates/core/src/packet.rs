//! Packets: typed headers and a payload that is a length or bytes, kept in a pool ([`crate::PacketPool`]) and
//! moved by handle.
//!
//! A packet from outside has its bytes too: its headers as they came, with the typed view that queues, middleboxes
//! and captures read, and its payload. Packets of simulated hosts have no header bytes.

use core::num::{NonZeroU8, NonZeroU32};

use crate::{Bytes, CellId, FlowId, Instant, MptcpOption, ip_bytes};

/// Which way a packet travels through the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// From the core network to the UE (or from server to host on a wired path).
    #[default]
    Downlink,
    /// From the UE towards the core network.
    Uplink,
}

impl Direction {
    /// The opposite direction.
    #[must_use]
    pub const fn reversed(self) -> Self {
        match self {
            Self::Downlink => Self::Uplink,
            Self::Uplink => Self::Downlink,
        }
    }
}

/// The ECN field (RFC 3168 §5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotCapable,
    /// ECT(0).
    Capable0,
    /// ECT(1).
    Capable1,
    /// Congestion experienced.
    CongestionExperienced,
}

/// TCP control bits (RFC 9293 §3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpFlags(pub u16);

impl TcpFlags {
    /// No more data from the sender.
    pub const FIN: u16 = 0x01;
    /// Synchronise sequence numbers.
    pub const SYN: u16 = 0x02;
    /// Reset the connection.
    pub const RST: u16 = 0x04;
    /// Push.
    pub const PSH: u16 = 0x08;
    /// The acknowledgment field is significant.
    pub const ACK: u16 = 0x10;
    /// ECN echo (RFC 3168 §6.1).
    pub const ECE: u16 = 0x40;
    /// Congestion window reduced (RFC 3168 §6.1).
    pub const CWR: u16 = 0x80;
    /// Accurate ECN (RFC 9768 §3.1).
    pub const AE: u16 = 0x100;
    /// The three flags that a connection with accurate ECN reads as one field (RFC 9768 §3.2.2).
    pub const ACE: u16 = Self::AE | Self::CWR | Self::ECE;

    /// True if every bit of `bits` is set.
    #[must_use]
    pub const fn has(self, bits: u16) -> bool {
        self.0 & bits == bits
    }

    /// The ACE field: AE, CWR and ECE as a number of three bits.
    #[must_use]
    pub const fn ace(self) -> u8 {
        (self.0 >> 6 & 7) as u8
    }

    /// The flags of a value of the ACE field, of which the three lowest bits count.
    #[must_use]
    pub const fn of_ace(ace: u32) -> u16 {
        ((ace & 7) << 6) as u16
    }
}

/// A SACK block: `[left, right)` in sequence space (RFC 2018 §3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(Rust, packed)] // so that a header fits into its part of a packet
pub struct SackBlock {
    /// First sequence number of the block.
    pub left: u32,
    /// The sequence number just after the block.
    pub right: u32,
}

/// Up to four SACK blocks; three fit together with timestamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackList {
    blocks: [SackBlock; 4],
    len: u8,
}

impl SackList {
    /// Adds a block, or returns false if all four places are taken.
    pub fn push(&mut self, block: SackBlock) -> bool {
        let free = usize::from(self.len) < self.blocks.len();
        if free {
            self.blocks[usize::from(self.len)] = block;
            self.len += 1;
        }
        free
    }
    /// Keeps the first `count` blocks.
    pub fn truncate(&mut self, count: usize) {
        self.len = self.len.min(count as u8);
    }
    /// The blocks in the order of the option.
    #[must_use]
    pub fn as_slice(&self) -> &[SackBlock] {
        &self.blocks[..usize::from(self.len)]
    }
    /// True without a block.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// The timestamps option (RFC 7323 §3), in the sender's own units of one millisecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(Rust, packed)] // as above
pub struct TcpTimestamps {
    /// TSval.
    pub value: u32,
    /// TSecr.
    pub echo_reply: u32,
}

/// A maximum segment size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(Rust, packed)] // as above
pub struct Mss(pub u16);

/// Options carried by a SYN only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpSynOptions {
    /// Maximum segment size (RFC 9293 §3.7.1).
    pub mss: Option<Mss>,
    /// Window scale shift (RFC 7323 §2).
    pub window_scale: Option<u8>,
    /// SACK permitted (RFC 2018 §2).
    pub sack_permitted: bool,
    /// Codes of an ARWA receiver permitted.
    pub codes_permitted: bool,
}

/// The order of the fields of an AccECN option, and how many it has (RFC 9768 §3.2.3, table 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum AccEcnForm {
    #[default]
    Order0Empty,
    Order0One,
    Order0Two,
    Order0Three,
    Order1Empty,
    Order1One,
    Order1Two,
    Order1Three,
}

/// An AccECN option (RFC 9768 §3.2.3): the 24 lowest bits of up to three counters of received bytes, by the ECN
/// field of their packets. Order 0 is ECT(0), CE, ECT(1); order 1 is ECT(1), CE, ECT(0).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccEcnOption {
    fields: [[u8; 3]; 3],
    form: AccEcnForm,
}

impl AccEcnOption {
    /// Option kinds (RFC 9768 §7): order 0 and order 1.
    pub const KINDS: [u8; 2] = [172, 174];

    /// An option of this order with the first fields of that order; of more than three fields the first three.
    #[must_use]
    pub fn new(order: u8, counters: &[u32]) -> Self {
        use AccEcnForm as F;
        let mut fields = [[0; 3]; 3];
        for (field, counter) in fields.iter_mut().zip(counters) {
            field.copy_from_slice(&counter.to_be_bytes()[1..]);
        }
        let form = match (order, counters.len()) {
            (0, 0) => F::Order0Empty,
            (0, 1) => F::Order0One,
            (0, 2) => F::Order0Two,
            (0, _) => F::Order0Three,
            (_, 0) => F::Order1Empty,
            (_, 1) => F::Order1One,
            (_, 2) => F::Order1Two,
            (_, _) => F::Order1Three,
        };
        Self { fields, form }
    }

    /// Order of the counters: 0 or 1.
    #[must_use]
    pub const fn order(&self) -> u8 {
        self.form as u8 / 4
    }

    /// The number of its fields.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.form as usize % 4
    }

    /// The fields as on the wire.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.fields.as_flattened()[..3 * self.count()]
    }

    /// The counter of packets with this ECN field, if the option has it.
    #[must_use]
    pub fn counter(&self, ecn: Ecn) -> Option<u32> {
        let place = match (ecn, self.order()) {
            (Ecn::NotCapable, _) => return None,
            (Ecn::CongestionExperienced, _) => 1,
            (Ecn::Capable0, 0) | (Ecn::Capable1, 1) => 0,
            (Ecn::Capable0 | Ecn::Capable1, _) => 2,
        };
        let [a, b, c] = *self.fields[..self.count()].get(place)?;
        Some(u32::from_be_bytes([0, a, b, c]))
    }

    /// Bytes on the wire, padded to 32-bit words.
    #[must_use]
    pub const fn padded_len(&self) -> u32 {
        Self::padded_len_of(self.count())
    }

    /// Bytes on the wire of an option with this many fields, padded to 32-bit words.
    #[must_use]
    pub const fn padded_len_of(count: usize) -> u32 {
        (2 + 3 * count as u32).next_multiple_of(4)
    }
}

/// A TCP header (RFC 9293 §3.1) with the options that airlane supports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpHeader {
    /// Sequence number of the first payload byte (or of the SYN).
    pub sequence: u32,
    /// Acknowledgment number.
    pub acknowledgment: u32,
    /// The window field as on the wire, that is, before scaling.
    pub window: u16,
    /// Control bits.
    pub flags: TcpFlags,
    /// Timestamps option.
    pub timestamps: Option<TcpTimestamps>,
    /// SACK option.
    pub sack: SackList,
    /// The code of an ARWA receiver about the path, 1 to 120, in an experimental option (RFC 6994).
    pub receiver_code: Option<NonZeroU8>,
    /// AccECN option.
    pub accurate_ecn: Option<AccEcnOption>,
    /// Options of a SYN.
    pub syn: TcpSynOptions,
}

impl TcpHeader {
    /// Size of the header and options on the wire, padded to 32-bit words as in Linux.
    #[inline]
    #[must_use]
    pub fn wire_len(&self) -> u32 {
        let mut options = 0;
        if self.timestamps.is_some() {
            options += 12; // two NOPs and ten bytes, RFC 7323 appendix A
        }
        if !self.sack.is_empty() {
            options += 4 + 8 * self.sack.as_slice().len() as u32; // RFC 2018 §3, with two NOPs
        }
        if self.receiver_code.is_some() {
            options += 8; // kind, length, four bytes of ExID and the code (RFC 6994 §3), with a NOP
        }
        if let Some(option) = &self.accurate_ecn {
            options += option.padded_len();
        }
        if self.flags.has(TcpFlags::SYN) {
            options += if self.syn.codes_permitted { 8 } else { 0 }; // the same without a code, two NOPs
            options += if self.syn.mss.is_some() { 4 } else { 0 };
            options += if self.syn.window_scale.is_some() { 4 } else { 0 };
            // SACK-permitted takes the place of the two NOPs before the timestamps.
            options += if self.syn.sack_permitted && self.timestamps.is_none() { 4 } else { 0 };
        }
        20 + options
    }
}

/// A UDP header (RFC 768) and the application's own sequence number behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UdpHeader {
    /// Counts the datagrams of the flow.
    pub serial: u64,
}

/// The header of an ICMP echo message or its reply (RFC 792). The identifier follows from the flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IcmpEcho {
    /// Whether this is the reply.
    pub reply: bool,
    /// Counts the echo messages of the flow; a reply repeats it.
    pub serial: u64,
}

/// The transport header of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// TCP.
    Tcp(TcpHeader),
    /// UDP, and the protocol that it carries.
    Udp(UdpHeader),
    /// ICMP: echo messages only.
    Icmp(IcmpEcho),
    /// Another protocol behind IP, or a transport header without a typed view (a fragment, an ICMP error): all of
    /// it is payload. Only packets from outside have it.
    Other {
        /// The protocol number (IANA "Assigned Internet Protocol Numbers").
        protocol: u8,
    },
    /// A message between nodes of the network itself. It belongs to no flow; its payload is the message.
    Signalling,
}

/// The payload of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// A number of bytes whose content is not simulated.
    Length(u32),
    /// Real bytes, for protocols that are implemented down to the wire.
    Bytes(Box<[u8]>),
}

impl Payload {
    /// Payload bytes.
    #[must_use]
    pub fn len(&self) -> u32 {
        match self {
            Self::Length(n) => *n,
            Self::Bytes(b) => b.len() as u32,
        }
    }

    /// True without payload.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Which connection of its flow a packet belongs to: the pair of sockets that identifies it (RFC 9293 §4),
/// without the UE's address, which follows from the flow. It is the same in both directions: the UE's socket
/// is the destination on the downlink and the source on the uplink. All zero is the connection of a flow that
/// has only one; its ports are those of the flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SocketPair {
    /// The address: an index into the servers of the flow's application.
    pub server: u16,
    /// Port at the server.
    pub server_port: u16,
    /// Port at the UE, or the host of a wired network.
    pub ue_port: u16,
}

/// An IP packet.
///
/// It has two lines of the cache, and begins at the first of such a pair.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(align(128))]
pub struct Packet {
    /// The flow it belongs to.
    pub flow: FlowId,
    /// The connection within the flow.
    pub sockets: SocketPair,
    /// Direction of the packet.
    pub direction: Direction,
    /// ECN field.
    pub ecn: Ecn,
    /// The number of the cell at the end of its tunnel, from 1 on. It takes four bytes less than an `Option<CellId>`,
    /// so that `outside` does not make packets larger.
    tunnel: Option<NonZeroU32>,
    /// IP header, transport header and payload. A tunnel adds its headers at its entry and removes
    /// them at its exit.
    pub size: Bytes,
    /// Time at which the sender emitted the packet.
    pub sent_at: Instant,
    /// Headers that few packets have next to the typed view, so that the others are no larger.
    pub(crate) headers: Option<Box<HeaderBytes>>,
    /// Payload.
    pub payload: Payload,
    /// Transport header.
    pub header: Header,
}

impl Packet {
    /// Empty, to be filled in.
    pub(crate) const BLANK: Self = Self {
        flow: FlowId(0),
        sockets: SocketPair { server: 0, server_port: 0, ue_port: 0 },
        direction: Direction::Downlink,
        ecn: Ecn::NotCapable,
        tunnel: None,
        size: Bytes::ZERO,
        sent_at: Instant::ZERO,
        headers: None,
        payload: Payload::Length(0),
        header: Header::Signalling,
    };

    /// An IPv4 packet of this header and payload; its size is their sum.
    #[inline(always)]
    #[must_use]
    pub fn new(flow: FlowId, direction: Direction, header: Header, payload: Payload, now: Instant) -> Self {
        let transport = match &header {
            Header::Tcp(tcp) => tcp.wire_len(),
            Header::Udp(_) | Header::Icmp(_) => 8,
            Header::Other { .. } | Header::Signalling => 0, // the creator adds the headers that carry it
        };
        let size = Bytes(u64::from(20 + transport + payload.len()));
        Self {
            flow,
            sockets: SocketPair::default(),
            direction,
            ecn: Ecn::NotCapable,
            size,
            sent_at: now,
            tunnel: None,
            headers: None,
            header,
            payload,
        }
    }

    /// The headers as bytes, of a packet from outside.
    #[must_use]
    pub fn outside(&self) -> Option<&HeaderBytes> {
        self.headers.as_deref().filter(|headers| headers.len > 0)
    }

    fn outside_mut(&mut self) -> Option<&mut HeaderBytes> {
        self.headers.as_deref_mut().filter(|headers| headers.len > 0)
    }

    /// Makes it a packet from outside, with these headers.
    pub fn set_outside(&mut self, headers: Box<HeaderBytes>) {
        self.headers = Some(headers);
    }

    /// The option of Multipath TCP, if the packet is a segment with one.
    #[must_use]
    pub fn mptcp(&self) -> Option<&MptcpOption> {
        self.headers.as_deref().and_then(|headers| headers.mptcp.as_ref())
    }

    /// Gives a segment of a simulated host an option of Multipath TCP. Its size does not change.
    pub fn set_mptcp(&mut self, option: MptcpOption) {
        self.headers = Some(Box::new(HeaderBytes { mptcp: Some(option), ..HeaderBytes::default() }));
    }

    /// The place of the first byte of its payload in the data of a connection over several paths, from 0, where the ends
    /// are outside and the driver has read it from the packet's bytes.
    #[must_use]
    pub fn data_position(&self) -> Option<u64> {
        self.headers.as_deref().and_then(|headers| headers.data_position)
    }

    /// Notes that place with a packet from outside.
    pub fn set_data_position(&mut self, position: u64) {
        if let Some(headers) = self.outside_mut() {
            headers.data_position = Some(position);
        }
    }

    /// Removes the option of Multipath TCP, as a middlebox does; the packet becomes smaller.
    pub fn strip_mptcp(&mut self) {
        let option = self.headers.as_deref_mut().and_then(|headers| headers.mptcp.take());
        if let Some(option) = option {
            self.size = Bytes(self.size.get() - u64::from(option.padded_len()));
        }
    }

    /// The cell to which the gateway sent it last, that is, the end of its tunnel where cells share a link.
    #[must_use]
    pub fn tunnel(&self) -> Option<CellId> {
        self.tunnel.map(|number| CellId(number.get() - 1))
    }

    /// Sends it into the tunnel to a cell.
    pub fn set_tunnel(&mut self, cell: CellId) {
        self.tunnel = NonZeroU32::new(cell.0.wrapping_add(1));
    }

    /// Sets the ECN field, also in the bytes of a packet from outside.
    #[inline]
    pub fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
        if let Some(headers) = self.outside_mut() {
            ip_bytes::set_ecn(headers.as_mut_slice(), ecn);
        }
    }

    /// Sets the differentiated services code point of a packet from outside; others have none.
    pub fn set_code_point(&mut self, code_point: u8) {
        if let Some(headers) = self.outside_mut() {
            ip_bytes::set_code_point(headers.as_mut_slice(), code_point);
        }
    }

    /// Decrements the hop limit of a packet from outside, as a router does. Returns false if the packet has to be
    /// dropped. Packets of simulated hosts have no hop limit.
    #[must_use]
    pub fn decrement_hop_limit(&mut self) -> bool {
        self.outside_mut().is_none_or(|headers| ip_bytes::decrement_hop_limit(headers.as_mut_slice()))
    }
}

/// The headers of a packet from outside: IP with options or extension headers, and the transport header. A segment of
/// Multipath TCP between simulated hosts has an option in the place of bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct HeaderBytes {
    len: u8,
    bytes: [u8; Self::MAX],
    pub(crate) mptcp: Option<MptcpOption>,
    pub(crate) data_position: Option<u64>,
}

impl HeaderBytes {
    /// Room for the largest headers of IPv4 and TCP (120 bytes), and for those of IPv6 and TCP with 91 bytes of
    /// extension headers.
    pub const MAX: usize = 191;

    /// The bytes.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// The bytes, mutable.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.bytes[..usize::from(self.len)]
    }

    /// Replaces the bytes. Returns false, and changes nothing, if there are too many.
    #[must_use]
    pub fn set(&mut self, headers: &[u8]) -> bool {
        let fits = headers.len() <= Self::MAX;
        if fits {
            self.bytes[..headers.len()].copy_from_slice(headers);
            self.len = headers.len() as u8;
        }
        fits
    }
}

impl Default for HeaderBytes {
    fn default() -> Self {
        Self { len: 0, bytes: [0; Self::MAX], mptcp: None, data_position: None }
    }
}

impl core::fmt::Debug for HeaderBytes {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:02x?}", self.as_slice())
    }
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum DropCause {
    /// A queue was full.
    QueueFull,
    /// Active queue management dropped it.
    QueueManagement,
    /// A link's random loss.
    RandomLoss,
    /// The radio lost it and no retransmission recovered it (RLC UM, or HARQ attempts exhausted).
    Radio,
    /// A timer discarded it (PDCP discardTimer, RLC).
    Discarded,
    /// Dropped at a handover.
    Handover,
    /// No such flow or connection.
    NoRoute,
    /// The endpoint had no room for it or could not use it.
    Endpoint,
}

impl DropCause {
    /// How many causes there are.
    pub const COUNT: usize = 8;
    /// Each cause, in the order of its number.
    pub const ALL: [Self; Self::COUNT] = [
        Self::QueueFull,
        Self::QueueManagement,
        Self::RandomLoss,
        Self::Radio,
        Self::Discarded,
        Self::Handover,
        Self::NoRoute,
        Self::Endpoint,
    ];
    /// Each cause with its name in results.
    pub const NAMES: [&'static str; Self::COUNT] = [
        "queue_full",
        "queue_management",
        "random_loss",
        "radio",
        "discarded",
        "handover",
        "no_route",
        "endpoint",
    ];
}

#[cfg(test)]
mod tests {
    use core::mem::offset_of;

    use super::*;

    /// Two lines of the cache.
    #[test]
    fn a_packet_has_128_bytes() {
        assert_eq!((size_of::<Packet>(), size_of::<Option<Packet>>(), align_of::<Packet>()), (128, 128, 128));
        assert_eq!((size_of::<Header>(), size_of::<Payload>()), (72, 16));
        // `PacketPool::fetch` reads these.
        let read = [offset_of!(Packet, flow), offset_of!(Packet, sent_at), offset_of!(Packet, header)];
        assert!(read.iter().any(|at| at / 64 == 0) && read.iter().any(|at| at / 64 == 1), "{read:?}");
    }

    /// RFC 9768 figure 4 and table 5: ECT(0), CE, ECT(1) in order 0, and the reverse in order 1.
    #[test]
    fn an_accecn_option_has_the_fields_of_its_order() {
        let (e0b, ceb, e1b) = (0x01_02_03, 0x0a_0b_0c, 0xff_00_01);
        let zero = AccEcnOption::new(0, &[e0b, ceb, e1b]);
        let one = AccEcnOption::new(1, &[e1b, ceb, e0b]);
        for (option, bytes) in
            [(zero, [1, 2, 3, 10, 11, 12, 255, 0, 1]), (one, [255, 0, 1, 10, 11, 12, 1, 2, 3])]
        {
            assert_eq!((option.bytes(), option.padded_len()), (&bytes[..], 12));
            let read = [Ecn::NotCapable, Ecn::Capable0, Ecn::CongestionExperienced, Ecn::Capable1];
            assert_eq!(read.map(|ecn| option.counter(ecn)), [None, Some(e0b), Some(ceb), Some(e1b)]);
        }
        let short = AccEcnOption::new(1, &[e1b, ceb]);
        assert_eq!((short.order(), short.counter(Ecn::Capable0), short.padded_len()), (1, None, 8));
        let sizes = [0, 1, 2, 3].map(AccEcnOption::padded_len_of);
        assert_eq!((sizes, AccEcnOption::default().order()), ([4, 8, 8, 12], 0));
        assert_eq!((TcpFlags(TcpFlags::of_ace(13)).ace(), TcpFlags::of_ace(4)), (5, TcpFlags::AE));
    }

    #[test]
    fn header_sizes_are_those_on_the_wire() {
        let mut tcp = TcpHeader { timestamps: Some(TcpTimestamps::default()), ..TcpHeader::default() };
        assert_eq!(tcp.wire_len(), 32);
        tcp.sack.push(SackBlock { left: 1, right: 2 });
        assert_eq!(tcp.wire_len(), 44);
        let syn = TcpHeader {
            flags: TcpFlags(TcpFlags::SYN),
            timestamps: Some(TcpTimestamps::default()),
            syn: TcpSynOptions {
                mss: Some(Mss(1460)),
                window_scale: Some(7),
                sack_permitted: true,
                codes_permitted: false,
            },
            ..TcpHeader::default()
        };
        assert_eq!(syn.wire_len(), 40); // what Linux sends: a 60-byte SYN with its IP header
        let asks = TcpSynOptions { codes_permitted: true, ..syn.syn };
        assert_eq!(TcpHeader { syn: asks, ..syn }.wire_len(), 48);
        assert_eq!(TcpHeader { receiver_code: NonZeroU8::new(70), ..tcp }.wire_len(), 52);
        let (header, payload) = (Header::Udp(UdpHeader::default()), Payload::Length(1400));
        let packet = Packet::new(FlowId(0), Direction::Downlink, header, payload, Instant::ZERO);
        assert_eq!(packet.size, Bytes(1428));
        let echo = Header::Icmp(IcmpEcho::default());
        let ping = Packet::new(FlowId(0), Direction::Uplink, echo, Payload::Length(56), Instant::ZERO);
        assert_eq!(ping.size, Bytes(84)); // what ping(8) of Linux sends: "56(84) bytes of data"
    }
}
