//! Evidence that a loss is the radio network's, apart from the word of a PEP.
//!
//! A PEP that sends false reports can call each loss a loss behind it. The internet window would then never be
//! reduced. A sender that looks for evidence classifies a loss as the radio network's only if
//!
//! - the round trip to the PEP is at most `tolerance` above its minimum, so that there is no queue before the PEP,
//! - and the rest of the round trip to the client is more than `tolerance` above its minimum, so that there is one
//!   behind it.
//!
//! Without a queue on either side, as at a random loss, one round trip in [`UNEXPLAINED_PER_RADIO`] is classified as the
//! radio network's, and the others as the internet's.
//!
//! The delay that a message states, which would shorten the round trip to the PEP, counts up to `tolerance` only. A
//! PEP that reports segments before it has seen them can still hide a queue before it.

use airlane_core::Duration;

/// Round trips to the PEP whose minimum counts: a single one may be that of a burst.
const RECENT: usize = 8;
/// The radio network is assumed to have lost in one of this many round trips with unexplained losses.
const UNEXPLAINED_PER_RADIO: u32 = 4;

/// The round trips on both sides of a PEP.
#[derive(Clone, Copy, Debug)]
pub struct Evidence {
    tolerance: Duration,
    recent: [Duration; RECENT],
    pep_floor: Duration,
    /// Latest round trip of the path behind the PEP; `None` before the first.
    radio_latest: Option<Duration>,
    radio_floor: Duration,
    taken: usize,
    unexplained: u32,
}

impl Evidence {
    /// No round trip yet.
    #[must_use]
    pub const fn new(tolerance: Duration) -> Self {
        Self {
            tolerance,
            recent: [Duration::MAX; RECENT],
            pep_floor: Duration::MAX,
            radio_latest: None,
            radio_floor: Duration::MAX,
            taken: 0,
            unexplained: 0,
        }
    }

    /// A report arrived `elapsed` after its newest packet was sent, and states that it was made `delay` after it.
    pub fn on_report(&mut self, elapsed: Duration, delay: Duration) {
        let rtt = elapsed.saturating_sub(delay.min(self.tolerance));
        self.recent[self.taken % RECENT] = rtt;
        self.taken += 1;
        self.pep_floor = self.pep_floor.min(rtt);
    }

    /// A round trip to the client.
    pub fn on_client(&mut self, rtt: Duration) {
        if self.taken == 0 {
            return;
        }
        let radio = rtt.saturating_sub(self.recent[(self.taken - 1) % RECENT]);
        self.radio_latest = Some(radio);
        self.radio_floor = self.radio_floor.min(radio);
    }

    /// True if a loss that the PEP calls the radio network's is one. Called once for a round trip.
    pub fn is_radio(&mut self) -> bool {
        let least = self.recent.into_iter().min().expect("there are eight");
        if self.taken > 0 && least.saturating_sub(self.pep_floor) > self.tolerance {
            return false;
        }
        if self.radio_latest.is_some_and(|latest| latest.saturating_sub(self.radio_floor) > self.tolerance) {
            return true;
        }
        self.unexplained += 1;
        self.unexplained % UNEXPLAINED_PER_RADIO == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLERANCE: Duration = Duration::from_millis(4);

    /// After round trips of 10 ms to the PEP and 30 ms to the client, and then of these.
    fn after(pep_ms: u64, client_ms: u64, delay_ms: u64) -> Evidence {
        let mut evidence = Evidence::new(TOLERANCE);
        let mut take = |pep: u64, client: u64, delay: u64| {
            evidence.on_report(Duration::from_millis(pep), Duration::from_millis(delay));
            evidence.on_client(Duration::from_millis(client));
        };
        take(10, 30, 0);
        (0..RECENT).for_each(|_| take(pep_ms, client_ms, delay_ms));
        evidence
    }

    fn answers(mut evidence: Evidence) -> [bool; 8] {
        core::array::from_fn(|_| evidence.is_radio())
    }

    #[test]
    fn a_queue_behind_the_pep_is_evidence() {
        assert_eq!(answers(after(10, 60, 0)), [true; 8]);
        // 4 ms of queue before the PEP are within the tolerance, 5 ms are not.
        assert_eq!(answers(after(14, 64, 0)), [true; 8]);
        assert_eq!(answers(after(15, 65, 0)), [false; 8]);
    }

    #[test]
    fn a_queue_before_the_pep_is_evidence_against_it() {
        assert_eq!(answers(after(40, 60, 0)), [false; 8]);
        // The message states a delay of 30 ms, of which 4 ms count.
        assert_eq!(answers(after(40, 60, 30)), [false; 8]);
    }

    #[test]
    fn without_a_queue_one_of_four_is_believed() {
        let expected = [true, false, false, false, true, false, false, false];
        assert_eq!(answers(after(10, 30, 0)), expected);
        // Before the first report there is no evidence either.
        assert_eq!(answers(Evidence::new(TOLERANCE)), expected);
    }

    #[test]
    fn a_single_long_round_trip_to_the_pep_is_no_queue() {
        let mut evidence = after(10, 60, 0);
        evidence.on_report(Duration::from_millis(50), Duration::ZERO);
        assert!(evidence.is_radio());
    }
}
