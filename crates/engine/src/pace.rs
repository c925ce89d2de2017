//! A simulation that follows a clock of the host.
//!
//! The host's clock is the master: at each step the simulation advances to the time that the clock
//! shows, and inputs are injected there. A host that was stalled finds events whose time has passed.
//! It may *replay* them, each at its own virtual time, and their packets leave late. Or it may
//! *jump*: the stall is taken out of virtual time, which continues where it was.

use airlane_core::{Duration, Instant};

/// The host was later than its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Late {
    /// By how much the earliest event that is due has passed.
    pub by: Duration,
}

/// The relation between the host's clock and virtual time. This type reads no clock: each call is
/// given the time that the host's clock shows, in nanoseconds since any fixed point.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// The time on the host's clock showed at virtual time zero.
    origin: u64,
    bound: Duration,
}

impl Pace {
    /// Virtual time is `now` while the host's clock shows `host_ns`. An event that is later than
    /// `bound` is reported.
    ///
    /// # Panics
    /// If virtual time zero is before the zero of the host's clock.
    #[must_use]
    pub fn new(host_ns: u64, now: Instant, bound: Duration) -> Self {
        let origin = host_ns.checked_sub(now.as_nanos());
        Self { origin: origin.expect("the clock of the host began before the run"), bound }
    }

    /// The virtual time at this time of the host's clock; zero before the start.
    #[must_use]
    pub fn now(&self, host_ns: u64) -> Instant {
        Instant::from_nanos(host_ns.saturating_sub(self.origin))
    }

    /// The time on the host's clock at a virtual time: when to wake up for an event.
    #[must_use]
    pub fn host_ns(&self, at: Instant) -> u64 {
        self.origin.saturating_add(at.as_nanos())
    }

    /// The virtual time to advance to, if the next event is at `next`.
    ///
    /// # Errors
    /// If `next` has passed by more than the bound. The host then replays, by advancing to
    /// [`Self::now`] all the same, or calls [`Self::jump`].
    pub fn due(&self, host_ns: u64, next: Option<Instant>) -> Result<Instant, Late> {
        let now = self.now(host_ns);
        let by = next.map_or(Duration::ZERO, |next| now.saturating_since(next));
        if by > self.bound { Err(Late { by }) } else { Ok(now) }
    }

    /// Continues at virtual time `to`, usually the time of the next event, and returns the span that was taken out of
    /// virtual time; zero if `to` has not passed.
    pub fn jump(&mut self, host_ns: u64, to: Instant) -> Duration {
        let skipped = self.now(host_ns).saturating_since(to);
        self.origin += skipped.as_nanos();
        skipped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_beyond_the_bound_is_reported_and_can_be_taken_out_of_virtual_time() {
        let ms = Duration::from_millis;
        // The host's clock shows 7 s at virtual time 2 s: virtual zero is at 5 s.
        let mut pace = Pace::new(7_000_000_000, Instant::from_millis(2_000), ms(10));
        let next = Some(Instant::from_millis(2_001));
        assert_eq!(pace.due(7_000_500_000, next), Ok(Instant::from_nanos(2_000_500_000)));
        assert_eq!(pace.host_ns(Instant::from_millis(2_001)), 7_001_000_000);
        // 11 ms after the event is the last time within the bound, 2,011 ms.
        assert_eq!(pace.due(7_011_000_000, next), Ok(Instant::from_millis(2_011)));
        assert_eq!(pace.due(7_031_000_000, next), Err(Late { by: ms(30) }));
        assert_eq!(pace.due(7_031_000_000, None), Ok(Instant::from_millis(2_031)));
        // Virtual time continues at the event, 30 ms behind its old relation to the host's clock.
        assert_eq!(pace.jump(7_031_000_000, Instant::from_millis(2_001)), ms(30));
        assert_eq!(pace.now(7_031_000_000), Instant::from_millis(2_001));
        assert_eq!(pace.host_ns(Instant::from_millis(2_002)), 7_032_000_000);
        assert_eq!(pace.jump(7_031_000_000, Instant::from_millis(2_050)), Duration::ZERO);
    }
}
