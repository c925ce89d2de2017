//! A run whose flows have ends in guests.
//!
//! The driver is conservative: the side with the earliest event continues, and the simulation is first at the same
//! time. A guest runs up to the next event of the simulation, and no further. Its packets enter the simulation at their
//! times, while it is blocked, and the limit of its turn moves with the events that follow from them.

use std::sync::atomic::AtomicBool;

use airlane_assembly::Built;
use serde::Serialize;

use crate::GuestError;

/// Counts of what passed between a guest and the simulation. They repeat exactly.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GuestCounts {
    /// The name of its kernel.
    pub kernel: String,
    /// The release of its kernel.
    pub release: String,
    /// Turns.
    pub turns: u64,
    /// Messages of its clock.
    pub clock_messages: u64,
    /// Notifications about packets that it had sent.
    pub kicks: u64,
    /// Interrupts.
    pub interrupts: u64,
    /// Frames from it, with the reports of its agent.
    pub sent: u64,
    /// Frames to it.
    pub received: u64,
}

/// Facts about the guests of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GuestFacts {
    /// The guests.
    pub guests: Vec<GuestCounts>,
    /// The output of programs: the name of the flow, its end, and the text.
    pub output: Vec<(String, &'static str, String)>,
    /// Times from requests to the last bytes of their replies, in milliseconds: the name of the flow, and its replies.
    pub replies_ms: Vec<(String, Vec<f64>)>,
    /// How programs have ended: the name of the flow, its end, and the exit code.
    pub exits: Vec<(String, &'static str, i32)>,
}

/// Runs to the end, with guests as the ends of the flows that have a kernel. `seed` is the seed of the run, and
/// `progress` receives the simulated share from time to time.
///
/// # Errors
/// If a guest cannot be started or fails, or `cancel` became true.
pub fn run(
    built: &mut Built,
    seed: u64,
    cancel: &AtomicBool,
    progress: impl FnMut(f64),
) -> Result<GuestFacts, GuestError> {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    return driver::drive(built, seed, cancel, progress);
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    {
        let _ = (built, seed, cancel, progress);
        Err(GuestError::missing("transport = \"kernel\" needs Linux on x86-64", "use transport = \"tcp\""))
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod driver;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod paths;
