//! Drives nodes in virtual time: the clock, the timers, the wires, and many runs at once.
//!
//! A [`Network`] is built from nodes and wires, turned into a [`Simulation`] and run up to an
//! instant. A run shares no state with any other run and gives the same result on any thread.
//! Events are timers, totally ordered by `(at, node)`; since a node has one timer, no third key is
//! needed.
//!
//! Not included: a real clock, and sockets.

mod network;
mod parallel;
mod simulation;
pub mod wheel;

pub use network::Network;
pub use parallel::parallel;
pub use simulation::{Conservation, Counters, Simulation};
