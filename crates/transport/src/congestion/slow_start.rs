//! The end of slow start other than by a loss: algorithms that any law takes, and the rules of picoquic of 2020.
//!
//! An algorithm ([`SlowStartAlgorithm`]) receives each acknowledgment, may reduce the number of segments by which the law
//! grows the window, and ends slow start when it detects that the path is full.
//!
//! picoquic of 2020 (`cc_common.c`: `picoquic_hystart_test`, `picoquic_hystart_loss_test`) has rules of its own:
//!
//! - *By the round trip*: the minimum of the last seven samples is more than a quarter above the floor, seven
//!   times in succession. The floor is the lowest value that the maximum of seven samples has had. Samples
//!   are taken a millisecond apart. Only slow start before the first threshold ends in this way.
//! - *By loss*: a loss in slow start counts only if the smoothed share of lost packets ([`LossRate`]) exceeds a bound.
//!
//! Not included: picoquic's reduction of the window where the round trip exceeds 100 ms.

mod algorithm;
mod hystart;
mod hystart_plus_plus;
mod search;

use airlane_core::{Duration, Instant};

pub use self::algorithm::SlowStartAlgorithm;
pub(super) use self::algorithm::SlowStartWatch;
pub(super) use self::hystart::HyStart;
use self::hystart_plus_plus::HyStartPlusPlus;
use self::search::Search;
use super::LossEpisode;
use super::loss_rate::LossRate;

/// PICOQUIC_MIN_MAX_RTT_SCOPE.
const SAMPLES: usize = 7;
/// Samples a millisecond apart (`picoquic_hystart_test`).
const SAMPLE_GAP: Duration = Duration::from_millis(1);

/// The rules for the end of slow start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlowStartRules {
    /// The algorithm; `None` for that of the law.
    pub algorithm: Option<SlowStartAlgorithm>,
    /// Whether an increased round trip ends it, also next to an algorithm.
    pub rtt_exit: bool,
    /// The smoothed share of lost packets, in millionths, up to which losses in slow start do not count; 0 if
    /// each loss counts.
    pub loss_max_ppm: u32,
}

impl SlowStartRules {
    /// The algorithm of the law; each loss counts.
    pub const LAW: Self = Self { algorithm: None, rtt_exit: false, loss_max_ppm: 0 };
}

/// The state of the rules.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SlowStartEnd {
    rules: SlowStartRules,
    sampled_at: Option<Instant>,
    ring: [Duration; SAMPLES],
    taken: usize,
    /// The lowest maximum of the ring so far.
    floor: Option<Duration>,
    excesses: usize,
    losses: LossRate,
}

impl SlowStartEnd {
    pub(super) fn new(rules: SlowStartRules) -> Self {
        Self { rules, ..Self::default() }
    }

    /// True if a sample of the round trip may end slow start.
    #[inline]
    pub(super) const fn hears_rtt(&self) -> bool {
        self.rules.rtt_exit
    }

    /// Adds a sample of the round trip in slow start. True if it has increased too much.
    pub(super) fn on_rtt(&mut self, now: Instant, rtt: Duration) -> bool {
        if self.sampled_at.is_some_and(|at| now <= at + SAMPLE_GAP) {
            return false;
        }
        self.sampled_at = Some(now);
        self.ring[self.taken % SAMPLES] = rtt;
        self.taken += 1;
        if self.taken < SAMPLES {
            return false;
        }
        let (least, most) =
            self.ring.iter().fold((Duration::MAX, Duration::ZERO), |(a, b), s| (a.min(*s), b.max(*s)));
        let floor = self.floor.map_or(most, |floor| floor.min(most));
        self.floor = Some(floor);
        if least <= floor {
            self.excesses = 0;
        } else if least > floor + floor / 4 {
            self.excesses += 1;
        }
        self.excesses >= SAMPLES
    }

    /// Losses in slow start. True if they do not count.
    pub(super) fn tolerates(&mut self, episode: &LossEpisode) -> bool {
        if self.rules.loss_max_ppm == 0 || episode.marked {
            return false;
        }
        let lost = u64::from(episode.lost_segments.max(1));
        for number in (episode.newest_lost + 1).saturating_sub(lost)..=episode.newest_lost {
            self.losses.on_lost(number);
        }
        self.losses.share() * 1e6 <= f64::from(self.rules.loss_max_ppm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn exit_after(rtts: impl Iterator<Item = u64>) -> Option<usize> {
        let mut rule = SlowStartEnd::new(SlowStartRules { rtt_exit: true, ..SlowStartRules::LAW });
        rtts.enumerate()
            .find(|(i, rtt)| rule.on_rtt(at(2 * *i as u64), Duration::from_millis(*rtt)))
            .map(|(i, _)| i)
    }

    /// Seven samples at 40 ms make the floor. After six more, one sample of 40 is still in the ring. From the
    /// seventh on all samples are above it, which must be true seven times: the 7 + 7 + 6th sample, the 19th
    /// counted from 0.
    #[test]
    fn a_round_trip_a_quarter_up_ends_slow_start() {
        let risen = |to: u64| (0..100).map(move |i| if i < 7 { 40 } else { to });
        assert_eq!(exit_after(risen(51)), Some(19));
        assert_eq!(exit_after(risen(50)), None); // exactly a quarter, not more
        // One sample of 40 in seven keeps the minimum unchanged.
        assert_eq!(exit_after((0..100).map(|i| if i % 7 == 0 { 40 } else { 80 })), None);
        // Jitter that exists from the start is part of the floor.
        assert_eq!(exit_after((0..100).map(|i| if i % 2 == 0 { 40 } else { 80 })), None);
    }

    /// After n losses in a row the share is 16/31 (1 - (225/256)^n) ([`LossRate`]): 0.166 after three, 0.208 after four.
    #[test]
    fn a_fourth_loss_in_a_row_counts() {
        let mut rule = SlowStartEnd::new(SlowStartRules { loss_max_ppm: 200_000, ..SlowStartRules::LAW });
        let episode = |newest_lost, lost_segments| LossEpisode {
            now: at(0),
            in_flight_segments: 0,
            window_segments: 0,
            marked: false,
            newest_lost,
            lost_segments,
        };
        // One loss in 32 never reaches the bound: its fixed point is (1/16) / (1 - (15/16)^33) = 0.071.
        assert!((1..20).all(|i| rule.tolerates(&episode(32 * i, 1))));
        let mut fresh = SlowStartEnd::new(rule.rules);
        assert!(fresh.tolerates(&episode(102, 3)));
        assert!(!fresh.tolerates(&episode(103, 1)));
        assert!(!SlowStartEnd::new(rule.rules).tolerates(&episode(500, 4)));
        // A mark is not a loss; with a bound of 0 each loss counts.
        assert!(!SlowStartEnd::new(rule.rules).tolerates(&LossEpisode { marked: true, ..episode(500, 1) }));
        assert!(!SlowStartEnd::new(SlowStartRules::default()).tolerates(&episode(500, 1)));
    }
}
