//! QUIC (RFC 9000, RFC 9002) in virtual time: quinn-proto, driven like every other endpoint.
//!
//! A [`QuicEndpoint`] is one end of one connection. It reads no clock and opens no socket: datagrams and
//! timeouts arrive with a [`airlane_core::Cx`], through which it also sends datagrams, with the exact bytes
//! of quinn. These parts are ours:
//!
//! - the clock: quinn measures time in [`std::time::Instant`], of which only differences matter, so virtual
//!   time is added to one instant that is constant during the process;
//! - the congestion controllers of `airlane-transport`, which quinn calls through an adapter.
//!   quinn's own controllers are not available;
//! - a handshake that exchanges transport parameters and authenticates nothing: packets have the sizes of
//!   AES-GCM and are in clear text. Certificates, whose length depends on their issuer, are not included: the
//!   server's first flight fits into one datagram. TLS 1.3 by rustls is available instead, with all its
//!   random numbers from a named stream;
//! - connection ids, tokens and the generator that quinn draws from, all seeded by named streams.
//!
//! The rest is quinn's: pacing (always on, 1.25 windows per round trip; a stricter pacer can be added), loss
//! detection by packet and time threshold, probe timeouts, which do not reduce the window, and path MTU
//! discovery.

mod congestion;
mod crypto;
mod endpoint;
mod flight;
mod handshake;
mod identity;
mod marks;
mod model;
mod multipath;
mod pacer;
#[cfg_attr(target_family = "wasm", path = "qlog_absent.rs")]
mod qlog;
#[cfg(not(target_family = "wasm"))]
mod real_time;
mod reassembly;
mod setup;
mod shared;
#[cfg(test)]
mod tests;
mod time;
mod timeouts;
mod tls;

pub use endpoint::{Identifier, QuicEndpoint, QuicEvent, Readable};
pub use multipath::{MultipathConfig, MultipathEndpoint, MultipathScheduler, PathSetup};
pub use pacer::QuicPacing;
pub use qlog::{QlogError, QlogFiles};
pub use quinn_proto::{Dir, StreamId};
#[cfg(not(target_family = "wasm"))]
pub use real_time::{Clock, DomainState, SenderState, Senders, Totals, WaitingStream, Wake, before};
pub use setup::{QuicConfig, QuicCrypto, Role, transport};
pub use timeouts::QuicTimeouts;
