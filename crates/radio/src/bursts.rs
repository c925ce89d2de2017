//! Bursts of interference at a receiver: a channel that is in a good or a bad state for exponentially
//! distributed times. In the bad state the SINR is reduced by a constant (E. N. Gilbert, "Capacity of
//! a burst-noise channel", Bell System Technical Journal 39(5), 1960; E. O. Elliott, ibid. 42(5),
//! 1963).
//!
//! In the Gilbert-Elliott model each state has a bit error probability. Here each state changes the SINR, and
//! link adaptation, error curves and HARQ process this SINR like any other: a burst that is shorter than the
//! retransmissions of a block delays the block, and only a longer one loses it.
//!
//! The state is a function of time and seed, independent of how often it is queried. Runs that are
//! compared under one seed therefore have the same bursts. Random numbers are drawn only by queries: two
//! for each cycle that has passed.
//!
//! ```
//! use airlane_core::{Decibel, Duration, Instant, Seeds};
//! use airlane_radio::bursts::{BurstLaw, Bursts};
//!
//! let law = BurstLaw {
//!     good: Duration::from_millis(90),
//!     bad: Duration::from_millis(10),
//!     depth: Decibel(20.0),
//! };
//! let mut bursts = Bursts::new(law, Duration::from_millis(20), Seeds::new(1).stream("ue/0/bursts"));
//! let gains: Vec<f32> = (0..10_000).map(|ms| bursts.gain(Instant::from_nanos(ms * 1_000_000))).collect();
//! let bad = gains.iter().filter(|gain| (**gain - 0.01).abs() < 1e-6).count();
//! assert!((600..1400).contains(&bad)); // a tenth of the time
//! ```

use std::collections::VecDeque;

use airlane_core::{Decibel, Duration, Instant, Stream};

/// Parameters of bursts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BurstLaw {
    /// Mean time between two bursts.
    pub good: Duration,
    /// Mean length of a burst.
    pub bad: Duration,
    /// The reduction of the SINR in a burst.
    pub depth: Decibel,
}

/// The bursts at one receiver.
#[derive(Clone, Debug)]
pub struct Bursts {
    law: BurstLaw,
    /// Ratio of the SINR in a burst to the SINR outside.
    factor: f32,
    stream: Stream,
    /// The state before the first of `changes`.
    bad: bool,
    /// The times of state changes, ascending; the last one is after all queried times.
    changes: VecDeque<Instant>,
    /// How far before the latest query a query may be.
    memory: Duration,
    latest: Instant,
}

impl Bursts {
    /// Bursts drawn from a stream. Queries may go back in time by `memory`.
    ///
    /// # Panics
    /// If a mean is shorter than a microsecond: simulating one hour would take minutes.
    #[must_use]
    pub fn new(law: BurstLaw, memory: Duration, mut stream: Stream) -> Self {
        let least = Duration::from_micros(1);
        assert!(law.good >= least && law.bad >= least, "bursts of no time: {law:?}");
        let (good, bad) = (law.good.as_secs_f64(), law.bad.as_secs_f64());
        let starts_bad = stream.uniform() < bad / (good + bad);
        let mut bursts = Self {
            law,
            factor: Decibel(-law.depth.0).linear() as f32,
            stream,
            bad: starts_bad,
            changes: VecDeque::with_capacity(8),
            memory,
            latest: Instant::ZERO,
        };
        let first = bursts.dwell(starts_bad);
        bursts.changes.push_back(Instant::ZERO + first);
        bursts
    }

    /// The factor of the SINR at this time; one outside of bursts.
    #[inline]
    pub fn gain(&mut self, at: Instant) -> f32 {
        if at > self.latest {
            self.advance(at);
        }
        let changed = self.changes.iter().take_while(|change| **change <= at).count();
        if self.bad == (changed % 2 == 0) { self.factor } else { 1.0 }
    }

    /// Draws until the last change is after `at`, and removes changes that can no longer be queried.
    fn advance(&mut self, at: Instant) {
        self.latest = at;
        while let Some(last) = self.changes.back().copied().filter(|last| *last <= at) {
            // The state after the last change.
            let bad = self.bad != (self.changes.len() % 2 == 1);
            let dwell = self.dwell(bad);
            self.changes.push_back(last + dwell);
            // The last one stays, because the next dwell time starts there.
            while self.changes.len() > 1 && self.changes[0] + self.memory < at {
                self.changes.pop_front();
                self.bad = !self.bad;
            }
        }
    }

    /// The dwell time of a state: at least a nanosecond, so that time advances.
    fn dwell(&mut self, bad: bool) -> Duration {
        let mean = if bad { self.law.bad } else { self.law.good };
        Duration::from_secs_f64(self.stream.exponential(mean.as_secs_f64())).max(Duration::from_nanos(1))
    }
}

#[cfg(test)]
mod tests {
    use airlane_core::Seeds;

    use super::*;

    const LAW: BurstLaw =
        BurstLaw { good: Duration::from_millis(40), bad: Duration::from_millis(10), depth: Decibel(30.0) };

    fn bursts(seed: u64) -> Bursts {
        remembering(seed, Duration::from_millis(100))
    }

    fn remembering(seed: u64, memory: Duration) -> Bursts {
        Bursts::new(LAW, memory, Seeds::new(seed).stream("bursts"))
    }

    fn at(us: u64) -> Instant {
        Instant::from_nanos(us * 1000)
    }

    #[test]
    fn who_asks_less_often_hears_the_same() {
        let (mut often, mut seldom) = (bursts(1), bursts(1));
        let all: Vec<f32> = (0..100_000).map(|i| often.gain(at(i * 100))).collect();
        // The same with the shortest memory.
        let mut forgetful = remembering(1, Duration::ZERO);
        for i in (0..100_000).step_by(977) {
            assert_eq!(seldom.gain(at(i * 100)), all[i as usize], "at {i}");
            assert_eq!(forgetful.gain(at(i * 100)), all[i as usize], "at {i}");
        }
    }

    #[test]
    fn questions_may_go_back() {
        let (mut forth, mut back) = (bursts(2), bursts(2));
        for ms in 100..20_000_u64 {
            let ahead = back.gain(at(ms * 1000));
            for earlier in [1, 7, 50, 99] {
                let then = at((ms - earlier) * 1000);
                assert_eq!(back.gain(then), forth.gain(then), "{earlier} ms before {ms} ms");
            }
            assert_eq!(ahead, forth.gain(at(ms * 1000)));
        }
    }

    #[test]
    fn dwell_times_are_those_of_the_law() {
        let mut bursts = bursts(3);
        let (mut spells, mut inside, mut was) = (0_u32, 0_u32, false);
        const STEPS: u64 = 2_000_000; // of 50 us
        for i in 0..STEPS {
            let bad = bursts.gain(at(i * 50)) < 1.0;
            inside += u32::from(bad);
            spells += u32::from(bad && !was);
            was = bad;
        }
        // 100 s: 2000 cycles expected (standard deviation about 37: that of the sum of two exponential
        // means over 50 ms is 41 ms), a fifth of the time bad.
        assert!((1815..=2185).contains(&spells), "{spells} bursts");
        let share = f64::from(inside) / STEPS as f64;
        assert!((0.18..=0.22).contains(&share), "a share of {share}");
    }

    #[test]
    fn the_depth_is_what_a_burst_takes() {
        let mut bursts = bursts(4);
        let gains: Vec<f32> = (0..1000).map(|ms| bursts.gain(at(ms * 1000))).collect();
        let least = gains.iter().copied().fold(1.0, f32::min);
        assert!((least - 1e-3).abs() < 1e-9, "{least}");
    }
}
