//! The default scheduler of Linux 6.12 (`mptcp_subflow_get_send` in `net/mptcp/protocol.c`).
//!
//! The subflow whose queue will be sent first gets the next burst: its queue has the bytes that are not acknowledged, and a
//! mean of its pacing rates divides them. If its window has no room, the data wait, also if another has room. In the kernel a
//! burst may wait in the queue of the subflow instead, while others send what follows.

use super::{Scheduler, SchedulerData, SchedulerPath, candidates};
use crate::SubflowState;

/// Bytes of a burst (`MPTCP_SEND_BURST_SIZE`: 65,536 without headers of TCP and IPv6 and their options).
const BURST: u64 = 65_428;

#[derive(Debug, Default)]
pub(super) struct Linux {
    /// The subflow of the last segment.
    last: usize,
    /// Bytes that are left of its burst.
    left: u64,
    /// Mean pacing rate of each subflow in bytes per second; 0 before its first burst.
    rates: Vec<u64>,
}

/// The pacing rate in bytes per second (`tcp_update_pacing_rate` in `net/ipv4/tcp_input.c`): the window in each round trip,
/// times 2 in the first half of slow start, and times 1.2 after it.
fn pacing_rate(sender: &SubflowState) -> u64 {
    let percent = if sender.window < sender.ssthresh / 2 { 200 } else { 120 };
    let window = u128::from(sender.window.max(sender.in_flight)) * u128::from(sender.segment);
    let nanos = u128::from(sender.srtt.as_nanos().max(1));
    u64::try_from(window * percent * 10_000_000 / nanos).unwrap_or(u64::MAX).max(1)
}

impl Scheduler for Linux {
    fn select(&mut self, paths: &[SchedulerPath], data: &SchedulerData) -> Option<usize> {
        self.rates.resize(paths.len(), 0);
        let goes_on = self.left > 0 && candidates(paths).any(|(index, _)| index == self.last);
        if !goes_on {
            let mean = |index: usize, sender: &SubflowState| match self.rates[index] {
                0 => pacing_rate(sender),
                rate => rate,
            };
            let linger = |index: usize, sender: &SubflowState| {
                (u128::from(sender.outstanding.get()) << 32) / u128::from(mean(index, sender))
            };
            let (index, path) = candidates(paths).min_by_key(|(index, path)| linger(*index, &path.sender))?;
            if !path.is_available() {
                return None;
            }
            let (queued, now) = (path.sender.outstanding.get(), pacing_rate(&path.sender));
            let before = mean(index, &path.sender);
            let sum = u128::from(before) * u128::from(queued) + u128::from(now) * u128::from(BURST);
            self.rates[index] = u64::try_from(sum / u128::from(queued + BURST)).unwrap_or(u64::MAX);
            (self.last, self.left) = (index, BURST);
        }
        if !paths[self.last].is_available() {
            return None;
        }
        self.left = self.left.saturating_sub(data.segment.get());
        Some(self.last)
    }
}
