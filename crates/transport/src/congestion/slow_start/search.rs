//! SEARCH (draft-chung-ccwg-search-09): slow start ends when the bytes acknowledged in a window of time are fewer by
//! a share than the bytes sent in the same window one round trip earlier, which they acknowledge.
//!
//! The window is 3.5 initial round trips long, in ten bins. The law is that of draft version 9 as implemented in
//! neqo (`neqo-transport/src/cc/search.rs`, 02755daa). The draft interpolates with the bin after the one that it
//! means; this file, as neqo, with the bin before. It applies to the first slow start of a connection.
//!
//! Departures from the draft: the window is kept when slow start ends, as in neqo (the draft reduces it towards an
//! estimate of the bandwidth-delay product); counters are not scaled down to 16 bits.

use airlane_core::{Duration, Instant};

use super::super::AckSample;

/// WINDOW_SIZE in initial round trips, as a fraction: 3.5.
const WINDOW_SIZE: (u64, u64) = (35, 10);
/// W, the bins of a window.
const WINDOW_BINS: usize = 10;
/// EXTRA_BINS: how far the round trip may grow.
const EXTRA_BINS: usize = 15;
/// THRESH, the share by which fewer are acknowledged.
const THRESHOLD: f64 = 0.26;
/// Counters at the ends of the last bins.
const BINS: usize = WINDOW_BINS + EXTRA_BINS + 1;

/// The state of the first slow start.
#[derive(Clone, Debug)]
pub(in super::super) struct Search {
    /// Length of a bin; `None` before the first sample of the round trip.
    bin: Option<Duration>,
    /// End of the current bin.
    bin_end: Instant,
    /// Number of the last closed bin.
    index: usize,
    /// Stream positions acknowledged and sent at the end of each bin, a ring.
    acked: [u64; BINS],
    sent: [u64; BINS],
}

impl Search {
    /// The state at the start of a connection.
    pub(in super::super) const fn new() -> Self {
        Self { bin: None, bin_end: Instant::ZERO, index: 0, acked: [0; BINS], sent: [0; BINS] }
    }

    /// An acknowledgment in slow start. True if slow start ends here.
    pub(in super::super) fn ends(&mut self, ack: &AckSample) -> bool {
        let Some(rtt) = ack.rtt.filter(|rtt| !rtt.is_zero()) else { return false };
        let Some(bin) = self.bin else {
            self.begin(rtt, ack);
            return false;
        };
        if ack.now <= self.bin_end || !self.close(bin, ack) {
            return false;
        }
        self.difference(bin, rtt).is_some_and(|difference| difference >= THRESHOLD)
    }

    /// The first bin begins.
    fn begin(&mut self, rtt: Duration, ack: &AckSample) {
        let (numerator, denominator) = WINDOW_SIZE;
        let bin = Duration::from_nanos(rtt.as_nanos() * numerator / denominator / WINDOW_BINS as u64);
        if bin.is_zero() {
            return;
        }
        *self = Self { bin: Some(bin), bin_end: ack.now + bin, ..Self::new() };
        (self.acked[0], self.sent[0]) = (ack.acked_to, ack.sent_to);
    }

    /// Closes the bins that have ended. False, and everything begins again, if they are more than a window: the
    /// application had nothing to send, and the path may have changed (the draft's option for missed bins).
    fn close(&mut self, bin: Duration, ack: &AckSample) -> bool {
        let ended = (ack.now.saturating_since(self.bin_end).as_nanos() / bin.as_nanos() + 1) as usize;
        if ended > WINDOW_BINS {
            *self = Self::new();
            return false;
        }
        let before = self.index % BINS;
        let (acked, sent) = (self.acked[before], self.sent[before]);
        for skipped in 1..ended {
            let at = (self.index + skipped) % BINS;
            (self.acked[at], self.sent[at]) = (acked, sent);
        }
        self.index += ended;
        self.bin_end += bin * ended as u64;
        let at = self.index % BINS;
        (self.acked[at], self.sent[at]) = (ack.acked_to, ack.sent_to);
        true
    }

    /// The normalized difference between the bytes sent in the window one round trip ago and the bytes acknowledged
    /// in the last one; `None` if bins are missing for it.
    fn difference(&self, bin: Duration, rtt: Duration) -> Option<f64> {
        let (back, fraction) = bins_back(bin, rtt);
        if back >= EXTRA_BINS || self.index <= back + WINDOW_BINS {
            return None;
        }
        let previous = self.index - back;
        let acked = span(&self.acked, self.index);
        let sent = span(&self.sent, previous - 1) * fraction + span(&self.sent, previous) * (1.0 - fraction);
        (sent > 0.0).then(|| ((sent - acked) / sent).max(0.0))
    }
}

/// Bytes of the window that ends with bin `to`.
fn span(counter: &[u64; BINS], to: usize) -> f64 {
    (counter[to % BINS] - counter[(to - WINDOW_BINS) % BINS]) as f64
}

/// Whole bins in a round trip, and the rest as a share of a bin.
fn bins_back(bin: Duration, rtt: Duration) -> (usize, f64) {
    let (rtt, bin) = (rtt.as_nanos(), bin.as_nanos());
    ((rtt / bin) as usize, (rtt % bin) as f64 / bin as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn sample(now: Instant, rtt: Duration, acked_to: u64, sent_to: u64) -> AckSample {
        AckSample {
            now,
            delivered_segments: 1,
            may_grow: true,
            window_limited: true,
            max_outstanding_segments: 10,
            outstanding_segments: 10,
            rtt: Some(rtt),
            srtt: rtt,
            acked_to,
            sent_to,
        }
    }

    /// neqo `cc/tests/search.rs`: bins of 35 ms at 100 ms; a round trip is two of them and 85 % of a third; 600 ms are
    /// 17, which is inflated.
    #[test]
    fn bins() {
        let mut search = Search::new();
        search.begin(RTT, &sample(Instant::from_millis(1), RTT, 1, 1));
        let bin = search.bin.unwrap();
        assert_eq!(bin, Duration::from_millis(35));
        let (back, fraction) = bins_back(bin, RTT);
        assert_eq!((back, (fraction * 100.0) as u32), (2, 85));
        assert_eq!(bins_back(bin, Duration::from_millis(600)).0, 17);
        search.index = 40;
        assert!(search.difference(bin, Duration::from_millis(600)).is_none());
    }

    /// Rounds in which the rate of an ideal sender doubles, before those at capacity.
    const DOUBLING: f64 = 10.0;

    /// Bytes acknowledged to an ideal sender until `t` round trips: the rate doubles each round trip up to the capacity.
    fn acked(t: f64) -> f64 {
        let round = t.floor().min(DOUBLING);
        (libm::exp2(round) - 1.0 + (t - round) * libm::exp2(round)) * 1000.0
    }

    /// Without bins: the difference `after` round trips after the end of the first round at capacity.
    fn closed_form(after: f64) -> f64 {
        let t = DOUBLING + 1.0 + after;
        let window = |to: f64| acked(to) - acked(to - 3.5);
        1.0 - window(t) / (2.0 * window(t - 1.0))
    }

    /// The ideal sender, paced at twice the rate of its acknowledgments. Returns when the difference reaches
    /// `threshold`, and the differences at the ends of bins.
    fn ideal(threshold: f64) -> (f64, Vec<(f64, f64)>) {
        let mut search = Search::new();
        let mut seen = Vec::new();
        // Acknowledgments a thousandth of a round trip apart.
        for step in 0..20_000u64 {
            let t = step as f64 / 1000.0;
            let now = Instant::from_nanos(step * RTT.as_nanos() / 1000);
            let index = search.index;
            search.ends(&sample(now, RTT, acked(t) as u64, (2.0 * acked(t)) as u64));
            let Some(bin) = search.bin.filter(|_| search.index != index) else { continue };
            let after = t - DOUBLING - 1.0;
            if let Some(difference) = search.difference(bin, RTT) {
                seen.push((after, difference));
                if difference >= threshold {
                    return (after, seen);
                }
            }
        }
        unreachable!("the difference tends to a half")
    }

    /// With the rates 1, 1/2, 1/4, ... of the rounds, a window of 3.5 has 0.25 + 1 + 1/2 + 1/4 + 0.25/8 bytes a quarter
    /// of a round after the first at capacity, and had 0.25 + 1/2 + 1/4 + 1/8 + 0.25/16 one round before, twice that
    /// sent: 1 - 2.03125 / 2.28125 = 0.1096.
    #[test]
    fn an_ideal_sender_follows_the_closed_form() {
        let rows = [
            (0.0, 0.0),
            (0.25, 0.1096),
            (0.75, 0.2353),
            (1.25, 0.3077),
            (1.5, 0.3333),
            (2.0, 0.3810),
            (2.5, 0.4167),
            (3.0, 0.4615),
        ];
        for (after, expected) in rows {
            assert!((closed_form(after) - expected).abs() < 1e-4, "{after} round trips");
        }
        let (_, seen) = ideal(0.49);
        assert!(seen.iter().filter(|(after, _)| *after > 0.0).count() >= 8);
        for (after, difference) in seen.iter().filter(|(after, _)| *after > -3.0) {
            let expected = closed_form(*after);
            assert!((difference - expected).abs() <= 0.03, "{after}: {difference:.4}, not {expected:.4}");
        }
    }

    /// 0.26 is reached 0.895 round trips after capacity, later by up to a bin of 0.35.
    #[test]
    fn an_ideal_sender_leaves_within_a_round_trip_and_a_bin() {
        let (after, _) = ideal(THRESHOLD);
        assert!((0.895..=0.895 + 0.35).contains(&after), "{after}");
        let (after, _) = ideal(0.35);
        assert!(after <= 2.1, "{after}");
    }

    /// Doubling without end never ends slow start.
    #[test]
    fn doubling_goes_on() {
        let mut search = Search::new();
        for step in 0..2_000u64 {
            let t = step as f64 / 100.0;
            let acked = libm::exp2(t) * 1000.0;
            let now = Instant::from_nanos(step * RTT.as_nanos() / 100);
            assert!(!search.ends(&sample(now, RTT, acked as u64, (2.0 * acked) as u64)));
        }
    }

    /// A pause of more than a window begins again, with the round trip of then.
    #[test]
    fn a_pause_begins_again() {
        let mut search = Search::new();
        let at = Instant::from_millis;
        search.ends(&sample(at(100), RTT, 10, 20));
        search.ends(&sample(at(140), RTT, 20, 40));
        assert_eq!(search.index, 1);
        search.ends(&sample(at(600), RTT, 30, 60)); // (600 - 170) / 35 + 1 = 13 bins
        assert!(search.bin.is_none());
        search.ends(&sample(at(700), RTT * 2, 40, 80));
        assert_eq!(search.bin, Some(Duration::from_millis(70)));
    }
}
