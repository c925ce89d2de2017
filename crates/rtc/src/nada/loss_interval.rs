//! The average interval between loss events, in packets. RFC 5348 section 5.
//!
//! RFC 5348 takes the interval since the last loss event into the average if that makes it larger. NADA compares that same
//! interval with seven averages (RFC 8698 section 4.2, `MULTILOSS`): as it has a sixth of the weight, it would never be
//! that long, and one loss would count for the rest of the call. So the average here is that of complete intervals.

use std::collections::VecDeque;

use airlane_core::{Duration, Instant};

/// The weights of the last intervals, the newest first (RFC 5348 section 5.4).
const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

/// The intervals between loss events.
#[derive(Clone, Debug, Default)]
pub(super) struct LossIntervals {
    /// Packets since the first loss of the last event.
    current: u64,
    /// Complete intervals, the newest first. The first has no event before it.
    complete: VecDeque<u64>,
    /// The departure of the first packet that the last event lost.
    event: Option<Instant>,
}

impl LossIntervals {
    /// A packet has arrived.
    pub(super) const fn arrived(&mut self) {
        self.current += 1;
    }

    /// A packet is lost. Losses within a round trip of the first are one event (RFC 5348 section 5.2).
    pub(super) fn lost(&mut self, sent: Instant, round_trip: Duration) {
        let same = self.event.is_some_and(|first| sent.saturating_since(first) <= round_trip);
        if !same {
            self.complete.push_front(self.current);
            self.complete.truncate(WEIGHTS.len());
            self.current = 0;
            self.event = Some(sent);
        }
        self.current += 1;
    }

    /// Packets since the last loss event, and the average interval between events; `None` before the first event.
    pub(super) fn since_and_average(&self) -> Option<(f64, f64)> {
        self.event?;
        let weighted = self.complete.iter().zip(WEIGHTS).map(|(interval, weight)| *interval as f64 * weight);
        let weights: f64 = WEIGHTS.iter().take(self.complete.len()).sum();
        Some((self.current as f64, weighted.sum::<f64>() / weights))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn intervals(lengths: &[u64]) -> LossIntervals {
        let mut intervals = LossIntervals::default();
        let mut sent = Instant::ZERO;
        for length in lengths {
            for _ in 1..*length {
                intervals.arrived();
                sent += Duration::from_millis(20);
            }
            sent += RTT;
            intervals.lost(sent, RTT);
        }
        intervals
    }

    #[test]
    fn without_a_loss_there_is_no_interval() {
        let mut intervals = LossIntervals::default();
        intervals.arrived();
        assert_eq!(intervals.since_and_average(), None);
    }

    #[test]
    fn equal_intervals_have_their_length_as_average() {
        let (since, average) = intervals(&[101; 12]).since_and_average().expect("there were losses");
        // The first interval is one packet shorter, as no loss begins it; it is forgotten.
        assert!((since - 1.0).abs() < 1e-12 && (average - 101.0).abs() < 1e-9, "{since} {average}");
    }

    #[test]
    fn older_intervals_weigh_less() {
        let average = |lengths: &[u64]| intervals(lengths).since_and_average().expect("there were losses").1;
        // The oldest of eight has 0.2 of a weight of 6, the newest 1.
        let old = average(&[101, 201, 101, 101, 101, 101, 101, 101, 101]);
        assert!((old - (101.0 + 100.0 * 0.2 / 6.0)).abs() < 1e-9, "{old}");
        let new = average(&[101, 101, 101, 101, 101, 101, 101, 101, 201]);
        assert!((new - (101.0 + 100.0 / 6.0)).abs() < 1e-9, "{new}");
    }

    #[test]
    fn losses_of_a_round_trip_are_one_event() {
        let mut intervals = intervals(&[51; 12]);
        let last = intervals.event.expect("there were losses");
        intervals.lost(last + RTT, RTT);
        assert_eq!(intervals.current, 2);
        intervals.lost(last + RTT + Duration::from_millis(1), RTT);
        assert_eq!(intervals.current, 1);
    }
}
