//! Real Linux kernels as the ends of flows, in virtual time.
//!
//! A kernel is a User Mode Linux: a process, whose clock and network interfaces are served from outside. The simulation
//! and the guests take turns, so that each event happens at its virtual time, and the same scenario and seed give the
//! same packets.
//!
//! ```text
//!   simulation ◄── inject, take ── driver ── turns, frames ──► guest: a network namespace for each end of a flow
//! ```
//!
//! [`protocol`] is what guests say, without sockets and processes. The driver in [`run()`] is the only part that knows
//! the simulation. The guests themselves need Linux on x86-64.

mod error;
mod jobs;
pub mod kernels;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[expect(
    unsafe_code,
    reason = "the start of a process, and the calls for the time slice: each says why it is sound"
)]
mod linux;
pub mod protocol;
mod run;
mod script;

pub use error::{Cause, GuestError};
pub use run::{GuestCounts, GuestFacts, run};
pub use script::play_script;
