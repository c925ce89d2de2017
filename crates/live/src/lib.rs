//! Real applications through a simulated network, in real time.
//!
//! This is the only crate that opens devices. It and `airlane-guest` are the only ones with unsafe code.

pub mod cell;
pub mod connections;
pub mod ends;
mod error;
pub mod flight;
pub mod icmp;
pub mod lateness;
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "processes, devices and file descriptors: each use says why it is sound")]
mod linux;
pub mod radio;
pub mod sockets;

pub use error::LiveError;
#[cfg(target_os = "linux")]
pub use linux::cell_process::{Count, LiveFacts, LiveOutput};
#[cfg(target_os = "linux")]
pub use linux::options;
#[cfg(target_os = "linux")]
pub use linux::packet_ring;
#[cfg(target_os = "linux")]
pub use linux::process::{LiveConfig, run};
#[cfg(target_os = "linux")]
pub use linux::tcp_info;
