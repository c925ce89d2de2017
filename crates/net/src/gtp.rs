//! GTP-U: what the tunnel between gateway and eNB adds to a packet (TS 29.281 v17.4).
//!
//! Left out: tunnel endpoint identifiers (ports are wired), echo requests, extension headers.

use airlane_core::{Bytes, Packet};

/// Outer IPv4 header (20 bytes, RFC 791 §3.1), UDP header (8 bytes, RFC 768) and the mandatory
/// part of the GTP-U header (8 bytes, TS 29.281 v17.4 §5.1).
pub const OVERHEAD: Bytes = Bytes(20 + 8 + 8);

/// A packet enters a tunnel.
pub fn encapsulate(packet: &mut Packet) {
    packet.size += OVERHEAD;
}

/// A packet leaves a tunnel.
///
/// # Panics
/// If it was in none.
pub fn decapsulate(packet: &mut Packet) {
    assert!(packet.size > OVERHEAD, "a packet of {} was in no tunnel", packet.size);
    packet.size -= OVERHEAD;
}
