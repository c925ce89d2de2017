//! Drives nodes in virtual time: the clock, the timers, the wires, and many runs at once.
//!
//! A [`Network`] is built from nodes and wires, turned into a [`Simulation`] and run up to an
//! instant. A run shares no state with any other run and gives the same result on any thread.
//! Events are timers, totally ordered by `(at, node)`; since a node has one timer, no third key is
//! needed.
//!
//! A program with other inputs and another clock embeds a [`Simulation`]: it advances it to the time
//! of its clock ([`Pace`]), injects packets, and takes those that leave through an [`Exit`].
//!
//! Not included: a real clock, and sockets.

mod exit;
mod network;
mod pace;
mod parallel;
mod simulation;
pub mod wheel;

pub use exit::{Departure, Exit};
pub use network::Network;
pub use pace::{Late, Pace};
pub use parallel::parallel;
pub use simulation::{Conservation, Counters, InUse, Simulation};
