//! BLEST (Ferlin, Alay, Mehani, Boreli: "BLEST: Blocking Estimation-based MPTCP Scheduler for Heterogeneous Networks",
//! IFIP Networking 2016), with the constants and the order of `mptcp_blest.c` at commit 4e10ec52 of
//! github.com/multipath-tcp/mptcp.

use airlane_core::{Duration, Instant};

use super::{Scheduler, SchedulerData, SchedulerPath, fastest, fastest_available};

/// The factor λ of the data that the fast subflow sends, in thousandths: at the start, and its bounds.
const LAMBDA: u64 = 1_200;
const LAMBDA_MAX: u64 = 1_300;
const LAMBDA_MIN: u64 = 1_000;
/// λ falls by this much in a round trip, or rises if the window prevented that data was sent.
const LAMBDA_FALL: u64 = 10;
const LAMBDA_RISE: u64 = 40;
/// Round trips of slow start that are counted at most.
const ROUNDS_MAX: u64 = 16;

/// The bounds of the smoothed round-trip time of a subflow so far.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    min: Duration,
    max: Duration,
}

#[derive(Debug)]
pub(super) struct Blest {
    lambda: u64,
    /// When λ changed last.
    changed_at: Instant,
    was_blocked: bool,
    bounds: Vec<Bounds>,
}

impl Default for Blest {
    fn default() -> Self {
        Self { lambda: LAMBDA, changed_at: Instant::ZERO, was_blocked: false, bounds: vec![] }
    }
}

impl Blest {
    fn observe(&mut self, paths: &[SchedulerPath]) {
        let unknown = Bounds { min: Duration::from_nanos(u64::MAX), max: Duration::ZERO };
        self.bounds.resize(paths.len(), unknown);
        for (bounds, path) in self.bounds.iter_mut().zip(paths).filter(|(_, path)| path.usable) {
            bounds.min = bounds.min.min(path.sender.srtt);
            bounds.max = bounds.max.max(path.sender.srtt);
        }
    }

    /// `blestsched_update_lambda`, once in the smallest round trip of the slow subflow.
    fn adapt(&mut self, now: Instant, slow: usize) {
        if now.saturating_since(self.changed_at) < self.bounds[slow].min {
            return;
        }
        self.lambda = match self.was_blocked {
            true => (self.lambda + LAMBDA_RISE).min(LAMBDA_MAX),
            false => (self.lambda - LAMBDA_FALL).max(LAMBDA_MIN),
        };
        self.was_blocked = false;
        self.changed_at = now;
    }

    /// How long a segment takes on a subflow until it is acknowledged (`blestsched_estimate_linger_time`).
    fn linger(&self, index: usize, path: &SchedulerPath) -> Duration {
        let Bounds { min, max } = self.bounds[index];
        let (in_flight, window) = (u64::from(path.sender.in_flight) + 1, u64::from(path.sender.window));
        let estimate = match in_flight >= window {
            true => max,
            false => min + Duration::from_nanos((max - min).as_nanos() * in_flight / window.max(1)),
        };
        estimate.max(path.sender.srtt)
    }

    /// The bytes that a subflow sends in this time, with Reno (`blestsched_estimate_bytes`).
    fn bytes_in(&self, time: Duration, index: usize, path: &SchedulerPath) -> u64 {
        let Bounds { min, max } = self.bounds[index];
        let mean = (min.as_nanos() + max.as_nanos()) / 2;
        let rounds = time.as_nanos().checked_div(mean).map_or(1, |rounds| rounds + 1);
        let window = u64::from(path.sender.window);
        let segments = if path.sender.ssthresh == u32::MAX {
            window * ((1 << rounds.min(ROUNDS_MAX)) - 1)
        } else {
            let window = window.max(u64::from(path.sender.ssthresh) + 1);
            (window + (rounds - 1) / 2) * rounds
        };
        segments * u64::from(path.sender.segment) * self.lambda / 1_000
    }
}

impl Scheduler for Blest {
    fn select(&mut self, paths: &[SchedulerPath], data: &SchedulerData) -> Option<usize> {
        self.observe(paths);
        let (fast, chosen) = (fastest(paths)?, fastest_available(paths)?);
        if chosen == fast {
            return Some(chosen);
        }
        self.adapt(data.now, chosen);
        let slow = &paths[chosen];
        let of_fast = self.bytes_in(self.linger(chosen, slow), fast, &paths[fast]);
        let of_slow = data.segment.get() + slow.sender.outstanding.get();
        (of_fast <= data.window.get().saturating_sub(of_slow)).then_some(chosen)
    }

    fn on_blocked(&mut self) {
        self.was_blocked = true;
    }
}
