//! ECF, "earliest completion first" (Lim, Nahum, Towsley, Gibbens: "ECF: An MPTCP Path Scheduler to Manage Heterogeneous
//! Paths", CoNEXT 2017), with the constants and the order of `mptcp_ecf.c` at commit 55634041 of
//! github.com/multipath-tcp/mptcp.

use super::{Scheduler, SchedulerData, SchedulerPath, fastest, fastest_available};

/// 1 / β: the hysteresis of a segment that waits already.
const BETA_INVERSE: u128 = 4;

#[derive(Debug, Default)]
pub(super) struct Ecf {
    /// The last segment that a slower subflow could have sent waited for the fastest one.
    waits: bool,
}

impl Scheduler for Ecf {
    fn select(&mut self, paths: &[SchedulerPath], data: &SchedulerData) -> Option<usize> {
        let (fast, chosen) = (fastest(paths)?, fastest_available(paths)?);
        if chosen == fast {
            return Some(chosen);
        }
        let [fast, slow] = [fast, chosen].map(|index| paths[index].sender);
        let window = |window: u32| u128::from(window) * u128::from(slow.segment);
        let [of_fast, of_slow] = [window(fast.window), window(slow.window)];
        let rtt = |rtt: airlane_core::Duration| u128::from(rtt.as_nanos());
        let delta = rtt(fast.deviation.max(slow.deviation));
        let unsent = u128::from(data.unsent.get());
        // The fastest subflow completes the data in one more round trip than it needs windows.
        let left = rtt(fast.srtt) * (unsent.max(of_fast) + of_fast);
        let right = of_fast * (rtt(slow.srtt) + delta);
        if BETA_INVERSE * left < (BETA_INVERSE + u128::from(self.waits)) * right {
            if rtt(slow.srtt) * unsent.max(of_slow) >= of_slow * (2 * rtt(fast.srtt) + delta) {
                self.waits = true;
                return None;
            }
        } else {
            self.waits = false;
        }
        Some(chosen)
    }
}
