//! Real applications through a simulated network, in real time.
//!
//! This is the only crate that reads a clock and opens devices.

pub mod cell;
pub mod ends;
pub mod flight;
pub mod icmp;
pub mod lateness;
pub mod sockets;
