//! The other cells that the UEs of a cell receive: those on its carrier, while their radios are on.
//!
//! Reception is often computed later than it happened: a CQI report is created when a scheduler requests it.
//! A radio that was switched off or on since then must not change it, so earlier states are kept.

use airlane_core::{Duration, Instant};

use crate::mac::grid::RbgSet;

/// The cells that the UEs of one cell receive, now and in the recent past.
#[derive(Debug)]
pub(super) struct Rivals {
    /// All RBGs for a cell whose downlink is on the same carrier; none for another cell, for this one and
    /// for the unused entries at the end.
    same_carrier: Vec<RbgSet>,
    /// `same_carrier` without the cells whose radio is off.
    latest: Vec<RbgSet>,
    /// Start of `latest`.
    since: Instant,
    /// Earlier states, each with its end; in ascending order.
    earlier: Vec<(Instant, Vec<RbgSet>)>,
    /// The largest age of a state that can still be needed.
    kept: Duration,
}

impl Rivals {
    /// The state with all radios on.
    pub(super) fn new(same_carrier: Vec<RbgSet>, kept: Duration) -> Self {
        let latest = same_carrier.clone();
        Self { same_carrier, latest, since: Instant::ZERO, earlier: Vec::new(), kept }
    }

    /// Switches the radio of a cell off, or on again.
    pub(super) fn switch(&mut self, now: Instant, cell: usize, on: bool) {
        let kept = self.kept;
        self.earlier.retain(|(until, _)| *until + kept >= now);
        self.earlier.push((now, self.latest.clone()));
        self.since = now;
        self.latest[cell] = if on { self.same_carrier[cell] } else { 0 };
    }

    /// The state in a slot that begins at `at`, and the start of that state.
    #[inline]
    pub(super) fn at(&self, at: Instant) -> (Instant, &[RbgSet]) {
        if at >= self.since { (self.since, &self.latest) } else { self.before(at) }
    }

    #[cold]
    fn before(&self, at: Instant) -> (Instant, &[RbgSet]) {
        let place = self.earlier.partition_point(|(until, _)| *until <= at);
        let since = if place == 0 { Instant::ZERO } else { self.earlier[place - 1].0 };
        (since, &self.earlier[place].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn what_held_at_an_instant_is_answered_later_too() {
        let all = RbgSet::MAX;
        let mut rivals = Rivals::new(vec![0, all, all], Duration::from_millis(20));
        rivals.switch(ms(10), 1, false);
        rivals.switch(ms(15), 2, false);
        rivals.switch(ms(20), 1, true);
        let states =
            [(9, 0, [0, all, all]), (10, 10, [0, 0, all]), (15, 15, [0, 0, 0]), (20, 20, [0, all, 0])];
        for (at, since, heard) in states {
            assert_eq!(rivals.at(ms(at)), (ms(since), &heard[..]), "at {at} ms");
        }
        // States that ended more than 20 ms ago are removed; one that ended exactly 20 ms ago is
        // still there.
        rivals.switch(ms(35), 2, true);
        assert_eq!(rivals.earlier.len(), 3);
        assert_eq!(rivals.at(ms(14)), (ms(0), &[0, 0, all][..]));
        assert_eq!(rivals.at(ms(36)), (ms(35), &[0, all, all][..]));
    }
}
