//! QUIC over several paths (draft-ietf-quic-multipath-21) in virtual time: noq-proto, the fork of quinn-proto that has it.
//!
//! A [`MultipathEndpoint`] is one end of one connection, as [`crate::QuicEndpoint`] is over one path. These parts are ours:
//!
//! - the clock, the handshake in clear text, connection ids, tokens and the seed of noq's random numbers, as over one path;
//! - a congestion controller of `airlane-transport` for each path;
//! - the management of paths: the client opens one over each access when the handshake is confirmed, again when noq has
//!   given it up or the access is back, and closes it when its host learns that the access has ended;
//! - schedulers in addition to noq's own;
//! - reports about the data that paths carry, which are read from the datagrams.
//!
//! The rest is noq's: path validation, path status, packet numbers, loss detection and pacing of each path, keep-alives, and
//! the end of a path from which nothing comes.

mod crypto;
mod data;
mod endpoint;
mod frames;
mod paths;
mod reports;
mod scheduler;
mod sender;
mod setup;
#[cfg(test)]
mod tests;

pub use endpoint::MultipathEndpoint;
pub use scheduler::MultipathScheduler;
pub use setup::{MultipathConfig, PathSetup};
