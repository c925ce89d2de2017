//! HTTP/3 (RFC 9114) over QUIC: one connection to a server, a stream for each request, in bytes that a peer of another make
//! would understand.
//!
//! A request is read from its stream, not from a [`Dialogue`](crate::dialogue::Dialogue): what QUIC carries are bytes. Heads are
//! field sections of QPACK (RFC 9204) without a dynamic table, in the sizes that the page gives. Urgencies (RFC 9218) become
//! priorities of streams at the server's QUIC: of what there is to send, the most urgent goes first, whole, and within an
//! urgency what was asked for first.
//!
//! Left out: server push, trailers, GOAWAY, and requests in the handshake's first flight (0-RTT).

mod client;
mod fields;
mod frames;
mod server;

use airlane_quic::{Dir, QuicEndpoint, StreamId};

pub use client::HttpOverQuic;
pub use server::QuicHttpServer;

/// What the handshake agrees on (RFC 9114 §3.1).
const APPLICATION: &str = "h3";
/// The streams of which each end has one, before all others.
const FIRST: i32 = i32::MAX;

/// Opens the streams that each end says first what it is by.
fn open(endpoint: &mut QuicEndpoint) {
    for bytes in frames::opening() {
        // A peer of ours allows a hundred, and has room for a packet on each.
        if let Some(stream) = endpoint.open_one_way() {
            endpoint.set_priority(stream, FIRST);
            endpoint.write_bytes(stream, &bytes);
        }
    }
}

/// Reads a stream on which nothing is asked for or answered: settings, of which neither end has a use, and a table without
/// room. Returns how many bytes.
fn listen(endpoint: &mut QuicEndpoint, stream: StreamId) -> u64 {
    endpoint.read(stream).bytes
}

/// True for a stream on which something is asked for (RFC 9000 §2.1).
fn is_request(stream: StreamId) -> bool {
    stream.dir() == Dir::Bi
}
