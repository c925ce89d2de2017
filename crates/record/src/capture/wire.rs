//! The bytes of captured packets: those of `airlane-wire`, with the tunnel of S1-U (TS 29.281) around them.
//!
//! Identifiers of echo messages are the number of their flow. The time to live is constant, because the model has
//! no routers that decrement it.

use core::net::Ipv4Addr;

use airlane_core::Packet;
use airlane_wire::{Ends, GtpU, Ipv4, Udp, checksum, emit, length_field, protocol};

/// The largest IP packet.
const PACKET_MAX: usize = 65_535;
/// The headers of a tunnel.
const TUNNEL: usize = Ipv4::LEN_MIN + Udp::LEN + GtpU::LEN_MIN;

/// The ends of a tunnel, and its identifier at the far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tunnel {
    pub(crate) source: Ipv4Addr,
    pub(crate) destination: Ipv4Addr,
    pub(crate) identifier: u32,
}

/// Builds packets, one at a time.
#[derive(Debug)]
pub(crate) struct Wire {
    /// The stored part of the packet.
    kept: Vec<u8>,
}

impl Wire {
    pub(crate) fn new() -> Self {
        Self { kept: Vec::with_capacity(PACKET_MAX) }
    }

    /// The first `snaplen` bytes of a packet, and its whole length.
    pub(crate) fn packet(
        &mut self,
        packet: &Packet,
        ends: Ends,
        tunnel: Option<Tunnel>,
        snaplen: usize,
    ) -> (&[u8], u32) {
        let whole = packet.size.get() as usize;
        self.kept.clear();
        if let Some(tunnel) = tunnel {
            tunnel.emit(whole - TUNNEL, &mut self.kept);
        }
        let around = self.kept.len();
        let inner = emit(packet, &ends, snaplen.saturating_sub(around), &mut self.kept)
            .expect("packets of flows have a wire form");
        assert_eq!(around + inner, whole, "the packet is as long as the model says");
        self.kept.truncate(snaplen);
        (&self.kept, u32::try_from(whole).expect("a packet has fewer than 2^32 bytes"))
    }
}

impl Tunnel {
    /// Appends the headers around a packet of `inner` bytes.
    fn emit(&self, inner: usize, out: &mut Vec<u8>) {
        let ip = Ipv4 {
            total_length: length_field(TUNNEL + inner),
            protocol: protocol::UDP,
            ..Ipv4::between(self.source, self.destination)
        };
        ip.emit(out).expect("no options");
        checksum::fill_header(&mut out[..Ipv4::LEN_MIN]);
        let udp = Udp {
            source_port: GtpU::PORT,
            destination_port: GtpU::PORT,
            length: length_field(Udp::LEN + GtpU::LEN_MIN + inner),
            checksum: 0, // none; RFC 768 allows this over IPv4, and core networks usually do it
        };
        udp.emit(out);
        GtpU::g_pdu(self.identifier, inner).emit(out);
    }
}
