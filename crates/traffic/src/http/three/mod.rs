//! HTTP/3 (RFC 9114) over QUIC: one connection per server, one stream per request, in bytes that other
//! implementations can decode.
//!
//! A request is read from its stream, not from a [`Dialogue`](crate::dialogue::Dialogue), because QUIC
//! carries real bytes. Headers are field sections of QPACK (RFC 9204) without a dynamic table, with the sizes
//! given by the page. Urgencies (RFC 9218) are mapped to stream priorities of the server's QUIC: the most
//! urgent response is sent first, as a whole, and equal ones in the order of their requests.
//!
//! Not included: server push, trailers, GOAWAY, and requests in the first flight of the handshake
//! (0-RTT).

mod client;
mod fields;
mod frames;
mod server;

use airlane_quic::{Dir, QuicEndpoint, StreamId};

pub use client::HttpOverQuic;
pub use server::QuicHttpServer;

/// The application protocol that the handshake negotiates (RFC 9114 §3.1).
const APPLICATION: &str = "h3";
/// The priority of the control streams, above all others.
const FIRST: i32 = i32::MAX;

/// Opens the control streams of an end.
fn open(endpoint: &mut QuicEndpoint) {
    for bytes in frames::opening() {
        // The peer allows a hundred, and has room for a packet on each.
        if let Some(stream) = endpoint.open_one_way() {
            endpoint.set_priority(stream, FIRST);
            endpoint.write_bytes(stream, &bytes);
        }
    }
}

/// Reads a control stream: settings, which neither end uses, and QPACK streams without content. Returns the
/// number of bytes.
fn listen(endpoint: &mut QuicEndpoint, stream: StreamId) -> u64 {
    endpoint.read(stream).bytes
}

/// True for a stream with a request (RFC 9000 §2.1).
fn is_request(stream: StreamId) -> bool {
    stream.dir() == Dir::Bi
}
