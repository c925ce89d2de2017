//! CoDel's decision to drop (RFC 8289), independent of any queue.
//!
//! [`Controller`] owns no packets. The owner of the queue removes the packet at its head, passes
//! the packet's sojourn time and the bytes behind it, and obeys the verdict. The same code
//! therefore serves a link, an RLC transmit queue, and any other queue.
//!
//! ```
//! use airlane_core::{Bytes, Duration, Instant};
//! use airlane_net::codel::{Controller, Parameters, Verdict};
//!
//! let mut codel = Controller::new(Parameters::default());
//! // 10 ms in the queue, 30 kB behind it: above the target, but for the first time.
//! let verdict = codel.decide(Instant::from_millis(10), Duration::from_millis(10), Bytes(30_000));
//! assert_eq!(verdict, Verdict::Pass);
//! ```
//!
//! The pseudocode of RFC 8289 §5 loops inside `dequeue`; here one call judges one packet. The
//! result is the same: a packet that is judged immediately after a drop is the one that the loop
//! would have fetched. [`crate::fq_codel`] has separate queues for flows.

use airlane_core::{Bytes, Duration, Instant};

/// Parameters of CoDel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// The standing delay that is acceptable.
    pub target: Duration,
    /// How long the delay must stay above the target before the first drop; a worst-case
    /// round-trip time.
    pub interval: Duration,
    /// A backlog of this many bytes or fewer is not a standing queue: one full packet.
    pub max_packet: Bytes,
    /// Whether the queue marks ECN-capable packets instead of dropping them.
    pub ecn: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(5),     // RFC 8289 §5.3 (TARGET)
            interval: Duration::from_millis(100), // RFC 8289 §5.3 (INTERVAL)
            max_packet: Bytes(1514), // RFC 8289 §5.3 (maxpacket): the interface's MTU, here Ethernet's with its header
            ecn: false,
        }
    }
}

/// The decision about a packet that was removed from the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Send it.
    Pass,
    /// Drop it (or mark it, if it is ECN-capable) and, if it was dropped, judge the next one now.
    Drop,
}

/// The state variables of RFC 8289 §5.2.
#[derive(Clone, Debug)]
pub struct Controller {
    parameters: Parameters,
    /// The time at which a drop becomes permissible, if the delay is above the target.
    first_above: Option<Instant>,
    /// Time of the next drop.
    drop_next: Instant,
    /// Drops since the dropping state was entered.
    count: u32,
    /// `count` when the dropping state was last entered.
    last_count: u32,
    dropping: bool,
    /// A packet was dropped in the dropping state. `drop_next` is set when the packet behind it has
    /// been judged.
    reschedule: bool,
}

/// Intervals after the last drop within which the previous drop rate is used again (RFC 8289 §5.5).
const REMEMBERED_INTERVALS: u64 = 16;

impl Controller {
    /// A controller in its initial state.
    #[must_use]
    pub const fn new(parameters: Parameters) -> Self {
        Self {
            parameters,
            first_above: None,
            drop_next: Instant::ZERO,
            count: 0,
            last_count: 0,
            dropping: false,
            reschedule: false,
        }
    }

    /// The parameters of the controller.
    #[must_use]
    pub const fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// True in the dropping state.
    #[must_use]
    pub const fn is_dropping(&self) -> bool {
        self.dropping
    }

    /// Judges the packet that has just been removed from the queue: `sojourn` is the time it spent
    /// there, `backlog` the bytes behind it.
    pub fn decide(&mut self, now: Instant, sojourn: Duration, backlog: Bytes) -> Verdict {
        let may_drop = self.may_drop(now, sojourn, backlog);
        if self.dropping {
            self.decide_while_dropping(now, may_drop)
        } else if may_drop {
            self.enter(now);
            Verdict::Drop
        } else {
            Verdict::Pass
        }
    }

    /// To be called when the queue was empty at a dequeue.
    pub fn on_empty(&mut self) {
        self.first_above = None;
        self.dropping = false;
        self.reschedule = false;
    }

    /// RFC 8289 §5.6, `dodequeue`: has the delay been above the target for an interval?
    fn may_drop(&mut self, now: Instant, sojourn: Duration, backlog: Bytes) -> bool {
        if sojourn < self.parameters.target || backlog <= self.parameters.max_packet {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            None => {
                self.first_above = Some(now + self.parameters.interval);
                false
            }
            Some(at) => now >= at,
        }
    }

    /// RFC 8289 §5.5, first branch of `dequeue`.
    fn decide_while_dropping(&mut self, now: Instant, may_drop: bool) -> Verdict {
        let reschedule = core::mem::take(&mut self.reschedule);
        if !may_drop {
            self.dropping = false;
            return Verdict::Pass;
        }
        if reschedule {
            self.drop_next = self.control_law(self.drop_next);
        }
        if now < self.drop_next {
            return Verdict::Pass;
        }
        self.count = self.count.saturating_add(1);
        self.reschedule = true;
        Verdict::Drop
    }

    /// RFC 8289 §5.5, second branch of `dequeue`: start from the drop rate that last controlled the
    /// queue, if that was recently.
    fn enter(&mut self, now: Instant) {
        let delta = self.count - self.last_count;
        let recent = now.saturating_since(self.drop_next) < self.parameters.interval * REMEMBERED_INTERVALS;
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.last_count = self.count;
        self.drop_next = self.control_law(now);
        self.dropping = true;
    }

    /// RFC 8289 §5.6: `t + interval / sqrt(count)`, in integers: `sqrt(interval^2 / count)`.
    fn control_law(&self, t: Instant) -> Instant {
        let interval = u128::from(self.parameters.interval.as_nanos());
        let step = (interval * interval / u128::from(self.count.max(1))).isqrt();
        t + Duration::from_nanos(u64::try_from(step).expect("not longer than the interval"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STANDING: Duration = Duration::from_millis(20);
    const DEEP: Bytes = Bytes(100_000);

    /// Judges one packet per millisecond with the same sojourn and collects the times of drops. A
    /// drop is followed at once by the judgement of the next packet, as in a queue.
    fn drops(codel: &mut Controller, from_ms: u64, to_ms: u64, sojourn: Duration) -> Vec<u64> {
        let mut dropped = Vec::new();
        for ms in from_ms..to_ms {
            while codel.decide(Instant::from_millis(ms), sojourn, DEEP) == Verdict::Drop {
                dropped.push(ms);
            }
        }
        dropped
    }

    #[test]
    fn drops_follow_the_inverse_square_root() {
        // First above at 0, so the first drop may come at 100 ms. Then, with count 1, 2, 3, ... the
        // next ones are due 100/sqrt(1) = 100, 100/sqrt(2) = 70.71, 57.74, 50, 44.72 ms later: 200,
        // 270.71, 328.45, 378.45, 423.17; packets are judged only at full milliseconds.
        let mut codel = Controller::new(Parameters::default());
        assert_eq!(drops(&mut codel, 0, 430, STANDING), [100, 200, 271, 329, 379, 424]);
    }

    #[test]
    fn a_delay_below_target_ends_it_and_the_rate_is_remembered() {
        let mut codel = Controller::new(Parameters::default());
        assert_eq!(drops(&mut codel, 0, 430, STANDING).len(), 6);
        assert!(codel.is_dropping());
        assert!(drops(&mut codel, 430, 431, Duration::from_millis(4)).is_empty());
        assert!(!codel.is_dropping());
        // Above again at 431, so 531 is the first drop. count was 6, last_count 1: delta 5 is
        // remembered (drop_next is less than 1.6 s ago), and 100/sqrt(5) = 44.72 ms later the next:
        // 575.72, with count 6 then 40.82 more: 616.54.
        assert_eq!(drops(&mut codel, 431, 640, STANDING), [531, 576, 617]);
    }

    #[test]
    fn the_rate_is_forgotten_after_sixteen_intervals() {
        let mut codel = Controller::new(Parameters::default());
        assert_eq!(drops(&mut codel, 0, 430, STANDING).len(), 6);
        assert!(drops(&mut codel, 430, 2_500, Duration::from_millis(1)).is_empty());
        // Starts again with count 1: 2500 + 100, then 100 ms later.
        assert_eq!(drops(&mut codel, 2_500, 2_750, STANDING), [2_600, 2_700]);
    }

    #[test]
    fn one_packet_behind_is_no_standing_queue() {
        let mut codel = Controller::new(Parameters::default());
        for ms in 0..1_000 {
            let verdict = codel.decide(Instant::from_millis(ms), STANDING, Bytes(1_514));
            assert_eq!(verdict, Verdict::Pass);
        }
    }

    #[test]
    fn an_empty_queue_starts_the_interval_anew() {
        let mut codel = Controller::new(Parameters::default());
        assert!(drops(&mut codel, 0, 99, STANDING).is_empty());
        codel.on_empty();
        assert!(drops(&mut codel, 99, 199, STANDING).is_empty());
        assert_eq!(drops(&mut codel, 199, 200, STANDING), [199]);
    }
}
