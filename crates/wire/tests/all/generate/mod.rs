//! Random packets for tests and fuzzing: valid ones, built from their structure, and damaged ones.

#![allow(dead_code, reason = "each test uses a part")]

use airlane_core::{Seeds, Stream};
use airlane_wire::{
    GtpU, Icmp, Ip, IpPacket, Ipv4, Ipv6, Optional, Tcp, TcpOption, Transport, Udp, checksum, protocol,
};

/// A source of packets.
pub(crate) struct Generator {
    stream: Stream,
}

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        Self { stream: Seeds::new(seed).stream("wire") }
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.stream.below(n as u64) as usize
    }

    pub(crate) fn chance(&mut self, p: f64) -> bool {
        self.stream.chance(p)
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.stream.bits()
    }

    /// Random bytes.
    pub(crate) fn noise(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.stream.bits() as u8).collect()
    }

    /// A number whose ends are more frequent than its middle.
    fn edge16(&mut self) -> u16 {
        match self.below(6) {
            0 => 0,
            1 => u16::MAX,
            _ => self.stream.bits() as u16,
        }
    }

    fn payload(&mut self) -> Vec<u8> {
        let length = match self.below(8) {
            0 => 0,
            1 => 1,
            2 => 1_440 + self.below(40),
            3 if self.chance(0.02) => 60_000 + self.below(5_000),
            _ => self.below(200),
        };
        self.noise(length)
    }

    /// Whole TCP options in random order, with padding of any kind.
    pub(crate) fn tcp_options(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        for _ in 0..self.below(7) {
            let mut one = Vec::new();
            let blocks = 8 * (1 + self.below(4));
            let (data, sack) = (self.below(7), self.noise(blocks));
            let other = self.noise(data);
            let (a, b) = (self.stream.bits() as u32, self.stream.bits() as u32);
            let option = match self.below(11) {
                0 => TcpOption::Mss(self.edge16()),
                1 => TcpOption::WindowScale(a as u8),
                2 => TcpOption::SackPermitted,
                3 => TcpOption::Sack(&sack),
                4 => TcpOption::Timestamps(a, b),
                5 => TcpOption::Experiment(253 + (a & 1) as u8, b as u16, &other),
                6 => TcpOption::Other(if a & 1 == 0 { 172 } else { 174 }, &sack[..3 * (b as usize % 3)]), // AccECN
                7 => TcpOption::Other(2 + (a % 250) as u8, &other),
                _ => TcpOption::Nop,
            };
            option.emit(&mut one);
            if out.len() + one.len() <= Tcp::OPTIONS_MAX {
                out.extend(one);
            }
        }
        let missing = out.len().next_multiple_of(4) - out.len();
        let padding = match self.below(3) {
            0 => vec![1; missing],
            1 => vec![0; missing],
            // An end of the list with rubbish behind it.
            _ => core::iter::once(0).chain(self.noise(3)).take(missing).collect(),
        };
        out.extend(padding);
        out
    }

    /// Extension headers, the first next-header field, and the offset field of a fragment header.
    fn extensions(&mut self, last: u8) -> (u8, Vec<u8>, Option<u16>) {
        let mut kinds = Vec::new();
        if self.chance(0.2) {
            kinds.push(protocol::HOP_BY_HOP);
        }
        for _ in 0..self.below(4).saturating_sub(1) {
            let all = [60, 43, 60, 43, 51];
            kinds.push(all[self.below(all.len())]);
        }
        let mut fragment = None;
        if self.chance(0.1) {
            kinds.push(protocol::FRAGMENT);
            fragment = Some(if self.chance(0.3) { 0 } else { self.edge16() });
        }
        let mut out = Vec::new();
        for (i, &kind) in kinds.iter().enumerate() {
            let next = kinds.get(i + 1).copied().unwrap_or(last);
            let units = self.below(4);
            let rest = match kind {
                protocol::FRAGMENT => {
                    let [a, b] = fragment.expect("it was drawn").to_be_bytes();
                    let id = self.noise(4);
                    [vec![self.stream.bits() as u8, a, b], id].concat()
                }
                protocol::AUTHENTICATION => {
                    [vec![1 + units as u8], self.noise(2 + 4 * (2 + units + 1) - 4)].concat()
                }
                // An experimental type (RFC 4727 §3.3) without segments left, or one PadN option (RFC 8200 §4.2).
                protocol::ROUTING => [vec![units as u8, 253, 0], self.noise(4 + 8 * units)].concat(),
                _ => [vec![units as u8, 1, (4 + 8 * units) as u8], vec![0; 4 + 8 * units]].concat(),
            };
            out.push(next);
            out.extend(rest);
        }
        (kinds.first().copied().unwrap_or(last), out, fragment)
    }

    /// A valid packet. Its checksums are correct, unless `checksums` is false.
    pub(crate) fn packet(&mut self, checksums: bool) -> Vec<u8> {
        let v6 = self.chance(0.4);
        let (mut options, payload) = (self.tcp_options(), self.payload());
        let icmp = if v6 { protocol::ICMPV6 } else { protocol::ICMP };
        let number = [protocol::TCP, protocol::TCP, protocol::UDP, icmp, 47, 132][self.below(6)];
        if number != protocol::TCP {
            options.clear();
        }
        let transport = match number {
            protocol::TCP => Transport::Tcp(Tcp {
                source_port: self.edge16(),
                destination_port: self.edge16(),
                sequence: self.bits() as u32,
                acknowledgment: self.bits() as u32,
                flags: self.edge16() & 0x0fff,
                window: self.edge16(),
                checksum: self.edge16(),
                urgent: self.edge16(),
                options: &options,
            }),
            protocol::UDP => Transport::Udp(Udp {
                source_port: self.edge16(),
                destination_port: self.edge16(),
                length: (8 + if self.chance(0.1) { self.below(payload.len() + 1) } else { payload.len() })
                    as u16,
                checksum: self.edge16(),
            }),
            _ if number == icmp => {
                let kinds = [0, 8, 3, 11, 128, 129, 1, 2];
                let kind = kinds[self.below(kinds.len())];
                Transport::Icmp(Icmp {
                    kind,
                    code: self.bits() as u8,
                    checksum: 7,
                    rest: [1, 2, 3, self.bits() as u8],
                })
            }
            _ => Transport::Other,
        };
        let mut bytes =
            if v6 { self.v6(number, transport, &payload) } else { self.v4(number, transport, &payload) };
        if checksums {
            checksum::fill(&mut bytes).expect("a valid packet");
        }
        bytes
    }

    fn v4(&mut self, protocol: u8, transport: Transport<'_>, payload: &[u8]) -> Vec<u8> {
        let words = if self.chance(0.2) { self.below(11) } else { 0 };
        // Router alert (RFC 2113 §2.1), no operation, or the end of the list.
        let each = [[148, 4, 0, 0], [1, 1, 1, 1], [1, 1, 1, 0]];
        let options: Vec<u8> = (0..words).flat_map(|_| each[self.below(3)]).collect();
        let total = Ipv4::LEN_MIN + options.len() + transport.header_len() + payload.len();
        let header = Ipv4 {
            traffic_class: self.bits() as u8,
            total_length: u16::try_from(total).expect("payloads leave room for headers"),
            identification: self.edge16(),
            fragment: if self.chance(0.1) { self.edge16() } else { (self.bits() as u16) & 0xc000 },
            time_to_live: self.bits() as u8,
            protocol,
            checksum: self.edge16(),
            source: (self.bits() as u32).into(),
            destination: (self.bits() as u32).into(),
            options: &options,
        };
        let mut out = Vec::new();
        IpPacket { ip: Ip::V4(header), transport, payload }.emit(&mut out).expect("all values fit");
        out
    }

    fn v6(&mut self, protocol: u8, transport: Transport<'_>, payload: &[u8]) -> Vec<u8> {
        let (next_header, extensions, fragment) = self.extensions(protocol);
        let wide = |high: u64, low: u64| (u128::from(high) << 64 | u128::from(low)).into();
        let header = Ipv6 {
            traffic_class: self.bits() as u8,
            flow_label: self.bits() as u32 & 0x000f_ffff,
            payload_length: u16::try_from(extensions.len() + transport.header_len() + payload.len())
                .expect("payloads leave room for headers"),
            next_header,
            hop_limit: self.bits() as u8,
            source: wide(self.bits(), self.bits()),
            destination: wide(self.bits(), self.bits()),
            extensions: &extensions,
            protocol,
            fragment,
        };
        let mut out = Vec::new();
        IpPacket { ip: Ip::V6(header), transport, payload }.emit(&mut out).expect("all values fit");
        out
    }

    /// A G-PDU around these bytes, with or without optional fields and extension headers.
    pub(crate) fn tunnelled(&mut self, inner: &[u8]) -> Vec<u8> {
        let mut header = GtpU::g_pdu(self.bits() as u32, 0);
        let mut extensions = Vec::new();
        if self.chance(0.5) {
            header.flags |= (1 + self.below(7) as u8) | (self.bits() as u8 & 0x08);
            let mut next_extension = self.bits() as u8; // without E: a spare value
            if header.flags & 4 != 0 {
                let count = self.below(4);
                next_extension = if count == 0 { 0 } else { 0xc0 };
                for i in 0..count {
                    let units = 1 + self.below(3);
                    extensions.push(units as u8);
                    extensions.extend(self.noise(4 * units - 2));
                    extensions.push(if i + 1 == count { 0 } else { 0x85 });
                }
            }
            header.optional =
                Some(Optional { sequence: self.edge16(), n_pdu: self.bits() as u8, next_extension });
        }
        header.extensions = &extensions;
        header.length = u16::try_from(header.header_len() - GtpU::LEN_MIN + inner.len()).unwrap_or(0);
        let mut out = Vec::new();
        header.emit(&mut out);
        out.extend_from_slice(if header.length == 0 { &[] } else { inner });
        out
    }

    /// Damages a packet: flipped bits, values at the limits of fields, missing and additional bytes. Half of the
    /// time the length of the IP header is made right again, so that what is behind it is read.
    pub(crate) fn damage(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(4) {
            self.damage_once(bytes);
        }
        if self.chance(0.5) && bytes.len() >= 40 {
            let length = bytes.len() as u16;
            match bytes[0] >> 4 {
                4 => bytes[2..4].copy_from_slice(&length.to_be_bytes()),
                _ => bytes[4..6].copy_from_slice(&(length - 40).to_be_bytes()),
            }
        }
    }

    fn damage_once(&mut self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let front = self.below(bytes.len().min(80));
        match self.below(10) {
            0..3 => bytes[front] ^= 1 << self.below(8),
            3 => bytes[front] = [0, 1, 0xff, 0x7f, 0x80][self.below(5)],
            4 | 5 => bytes[front] = self.bits() as u8,
            6 => bytes.truncate(self.below(bytes.len() + 1)),
            7 => bytes.truncate(front),
            8 => {
                let more = self.below(40);
                bytes.extend(self.noise(more));
            }
            _ => {
                let piece = self.below(8).min(bytes.len() - front);
                bytes.drain(front..front + piece);
            }
        }
    }
}
