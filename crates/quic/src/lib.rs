//! QUIC (RFC 9000, RFC 9002) in virtual time: quinn-proto, driven as every other endpoint is.
//!
//! A [`QuicEndpoint`] is one end of one connection. It reads no clock and opens no socket: datagrams and
//! timeouts come in with a [`airlane_core::Cx`], datagrams leave through the same, with the very bytes that
//! quinn made. What is ours around it:
//!
//! - the clock: quinn measures time in [`std::time::Instant`], of which only differences matter, so virtual
//!   time is added to one instant that stays the same for the life of the process;
//! - the congestion controllers of `airlane-transport`, which quinn asks through an adapter. Its own
//!   cannot be reached;
//! - a handshake that exchanges transport parameters and proves nothing: packets have the sizes that
//!   AES-GCM would give them and stand in clear text. Certificates, whose length depends on who issues
//!   them, are left out: the server's first flight fits into one datagram. TLS 1.3 by rustls takes its place if
//!   one likes, with all that it draws from a named stream;
//! - connection ids, tokens and the generator that quinn draws from, all seeded by named streams.
//!
//! What quinn does is quinn's: pacing (always on, 1.25 windows per round trip; a narrower bucket may stand before it), loss detection by packet
//! and time threshold, probe timeouts, which reduce no window, and path MTU discovery.

mod congestion;
mod crypto;
mod domains;
mod endpoint;
mod flight;
mod identity;
mod model;
mod pacer;
mod qlog;
mod setup;
#[cfg(test)]
mod tests;
mod time;
mod timeouts;
mod tls;

pub use endpoint::{Identifier, QuicEndpoint, QuicEvent, Readable};
pub use pacer::QuicPacing;
pub use qlog::{QlogError, QlogFiles};
pub use quinn_proto::{Dir, StreamId};
pub use setup::{QuicConfig, QuicCrypto, Role};
pub use timeouts::QuicTimeouts;
