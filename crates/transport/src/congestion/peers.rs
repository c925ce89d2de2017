//! Discriminators that use only round trips and acknowledgments, from the literature with which MELD is
//! compared. Both are reconstructions: their papers are not available, only descriptions in other papers.

use airlane_core::{Duration, Instant};

use super::vegas::micros;
use super::veno::SAMPLES_NEEDED;
use super::{Arrival, LossCause, LossDiscriminator, LossEpisode, Needs};

/// NCPLD: a loss is random if the round trip is below that at the knee of the path, where throughput over delay is
/// greatest (N. K. G. Samaraweera, "Non-congestion packet loss detection for TCP error recovery using wireless
/// links", IEE Proc.-Commun. 146(4), 1999; the knee as in R. Jain, "A delay-based approach for congestion avoidance",
/// ACM CCR 19(5), 1989).
///
/// The knee is determined once per round trip, over all rounds so far: the bytes acknowledged in the round,
/// divided by its duration and by the mean of its round trips.
#[derive(Clone, Copy, Debug, Default)]
pub struct KneeTest {
    newest: u64,
    /// The current round: its start in time and in the stream, and its round trips so far.
    round: Option<Round>,
    /// Power and mean round trip of the best round.
    knee: Option<(Power, u64)>,
}

#[derive(Clone, Copy, Debug)]
struct Round {
    since: Instant,
    from: u64,
    rtt_sum: u64,
    rtts: u64,
}

/// Bytes over microseconds squared.
#[derive(Clone, Copy, Debug)]
struct Power {
    bytes: u64,
    span_squared: u128,
}

impl Power {
    fn exceeds(self, other: Self) -> bool {
        u128::from(self.bytes) * other.span_squared > u128::from(other.bytes) * self.span_squared
    }
}

impl Round {
    /// The result, if the round is over.
    fn end(&self, now: Instant, acked_to: u64) -> Option<(Power, u64)> {
        let mean = self.rtt_sum / self.rtts.max(1);
        let length = now.saturating_since(self.since);
        if self.rtts == 0 || length < Duration::from_micros(mean) {
            return None;
        }
        let span_squared = u128::from(micros(length)) * u128::from(mean);
        Some((Power { bytes: acked_to.saturating_sub(self.from), span_squared }, mean))
    }
}

impl LossDiscriminator for KneeTest {
    fn needs(&self) -> Needs {
        Needs::ARRIVALS
    }

    fn on_arrival(&mut self, arrival: &Arrival) {
        let Some(rtt) = arrival.rtt.map(micros) else { return };
        self.newest = rtt;
        let begins = Round { since: arrival.now, from: arrival.acked_to, rtt_sum: 0, rtts: 0 };
        let round = self.round.get_or_insert(begins);
        if let Some((power, mean)) = round.end(arrival.now, arrival.acked_to) {
            if self.knee.is_none_or(|(best, _)| power.exceeds(best)) {
                self.knee = Some((power, mean));
            }
            *round = begins;
        }
        round.rtt_sum += rtt;
        round.rtts += 1;
    }

    fn classify(&mut self, episode: &LossEpisode) -> LossCause {
        match self.knee {
            Some((_, knee)) if !episode.marked && self.newest < knee => LossCause::Random,
            _ => LossCause::Congestion,
        }
    }
}

/// LDA_EQ: a loss is one of congestion if the queue is above a share of its maximum, both estimated from
/// round trips: (rtt - min) / (max - min) (M. Park, S. Chung, "Analyzing effect of loss differentiation
/// algorithms on improving TCP performance", ICACT 2010, which calls it the estimated rate of queue usage).
#[derive(Clone, Copy, Debug)]
pub struct UsageTest {
    /// In thousandths.
    threshold: u32,
    newest: u64,
    min: u64,
    max: u64,
    samples: u32,
}

impl UsageTest {
    /// A test with this threshold, in thousandths.
    #[must_use]
    pub const fn new(threshold: u32) -> Self {
        Self { threshold, newest: 0, min: u64::MAX, max: 0, samples: 0 }
    }
}

impl LossDiscriminator for UsageTest {
    fn needs(&self) -> Needs {
        Needs::ARRIVALS
    }

    fn on_arrival(&mut self, arrival: &Arrival) {
        let Some(rtt) = arrival.rtt.map(micros) else { return };
        self.newest = rtt;
        (self.min, self.max) = (self.min.min(rtt), self.max.max(rtt));
        self.samples = self.samples.saturating_add(1);
    }

    fn classify(&mut self, episode: &LossEpisode) -> LossCause {
        if episode.marked || self.samples < SAMPLES_NEEDED {
            return LossCause::Congestion;
        }
        let (used, range) = (self.newest - self.min, self.max - self.min);
        let full = u128::from(used) * 1000 > u128::from(range) * u128::from(self.threshold);
        if full { LossCause::Congestion } else { LossCause::Random }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrival(ms: u64, rtt_ms: u64, acked_to: u64) -> Arrival {
        Arrival { now: Instant::from_millis(ms), acked_to, rtt: Some(Duration::from_millis(rtt_ms)) }
    }

    fn lost(ms: u64, marked: bool) -> LossEpisode {
        LossEpisode {
            now: Instant::from_millis(ms),
            in_flight_segments: 9,
            window_segments: 9,
            marked,
            lost_segments: 1,
            newest_lost: 0,
        }
    }

    /// A path of 40 ms that carries 1000 bytes per millisecond: a window of 20 kB takes 40 ms, one of 40 kB
    /// also, one of 80 kB takes 80 ms. Power is greatest at 40 kB.
    #[test]
    fn the_knee_is_where_a_larger_window_only_waits() {
        let mut knee = KneeTest::default();
        assert_eq!(knee.classify(&lost(0, false)), LossCause::Congestion);
        let (mut at, mut acked) = (0, 0);
        for (window, rtt) in [(20_000, 40), (40_000, 41), (80_000, 80), (120_000, 120)] {
            for _ in 0..10 {
                for _ in 0..10 {
                    at += rtt / 10;
                    acked += window / 10;
                    knee.on_arrival(&arrival(at, rtt, acked));
                }
            }
        }
        assert_eq!(knee.classify(&lost(at, false)), LossCause::Congestion);
        knee.on_arrival(&arrival(at + 1, 40, acked));
        assert_eq!(knee.classify(&lost(at + 1, false)), LossCause::Random);
        assert_eq!(knee.classify(&lost(at + 1, true)), LossCause::Congestion);
        knee.on_arrival(&arrival(at + 2, 42, acked));
        assert_eq!(knee.classify(&lost(at + 2, false)), LossCause::Congestion);
    }

    #[test]
    fn a_queue_that_is_half_full_is_congestion_above_half() {
        let mut usage = UsageTest::new(500);
        for (at, rtt) in [(0, 40), (1, 140)] {
            usage.on_arrival(&arrival(at, rtt, 0));
            assert_eq!(usage.classify(&lost(at, false)), LossCause::Congestion, "too few samples");
        }
        for (rtt, cause) in [(90, LossCause::Random), (91, LossCause::Congestion), (40, LossCause::Random)] {
            usage.on_arrival(&arrival(2, rtt, 0));
            assert_eq!(usage.classify(&lost(2, false)), cause, "{rtt}");
            assert_eq!(usage.classify(&lost(2, true)), LossCause::Congestion);
        }
    }
}
