//! Two seconds through a cell, in two seconds.

#![expect(clippy::disallowed_types, reason = "the clock that drives the simulation")]

use std::time::Instant;

use airlane_core::Duration;
use real_clock::{AfterStall, HostClock, session};

struct Monotonic(Instant);

impl HostClock for Monotonic {
    fn now_ns(&mut self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }
    fn wait_until(&mut self, ns: u64) {
        std::thread::sleep(std::time::Duration::from_nanos(ns.saturating_sub(self.now_ns())));
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let report = session(&mut Monotonic(Instant::now()), Duration::from_secs(2), AfterStall::Replay)?;
    for delay in &report.delays {
        println!("{:.3} ms", delay.as_millis_f64());
    }
    println!("{} stalls of more than 5 ms", report.stalls.len());
    Ok(())
}
