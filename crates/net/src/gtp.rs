//! GTP-U: the overhead of the tunnel between gateway and eNB (TS 29.281 v17.4).
//!
//! Not included: tunnel endpoint identifiers (ports are wired), echo requests, extension headers.

use airlane_core::{Bytes, Packet};

/// Outer IPv4 header (20 bytes, RFC 791 §3.1), UDP header (8 bytes, RFC 768) and the mandatory
/// part of the GTP-U header (8 bytes, TS 29.281 v17.4 §5.1).
pub const OVERHEAD: Bytes = Bytes(20 + 8 + 8);

/// Adds the headers at the entry of a tunnel.
pub fn encapsulate(packet: &mut Packet) {
    packet.size += OVERHEAD;
}

/// Removes the headers at the end of a tunnel.
///
/// # Panics
/// If the packet is not larger than the headers.
pub fn decapsulate(packet: &mut Packet) {
    assert!(packet.size > OVERHEAD, "a packet of {} was in no tunnel", packet.size);
    packet.size -= OVERHEAD;
}
