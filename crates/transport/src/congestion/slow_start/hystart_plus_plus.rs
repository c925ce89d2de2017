//! HyStart++ (RFC 9406): a rise of the round trip turns slow start into conservative slow start (CSS), whose
//! growth is a quarter. It ends slow start after five rounds, or goes back to slow start if the rise was jitter.
//!
//! It applies to the first slow start of a connection alone (RFC 9406 §4.3). Open points, as neqo
//! (`neqo-transport/src/cc/hystart.rs`, 80ca01ee) has them: the end of a round is tested after the sample that ends it
//! has counted; an acknowledgment that takes CSS back to slow start may enter CSS again.

use airlane_core::Duration;

use super::super::AckSample;

/// RFC 9406 §4.3, MIN_RTT_THRESH.
const RTT_THRESHOLD_MIN: Duration = Duration::from_millis(4);
/// MAX_RTT_THRESH.
const RTT_THRESHOLD_MAX: Duration = Duration::from_millis(16);
/// MIN_RTT_DIVISOR.
const RTT_DIVISOR: u64 = 8;
/// N_RTT_SAMPLE.
const SAMPLES: u32 = 8;
/// CSS_GROWTH_DIVISOR.
const CSS_GROWTH_DIVISOR: u32 = 4;
/// CSS_ROUNDS.
const CSS_ROUNDS: u32 = 5;
/// L without pacing, in segments.
const UNPACED_LIMIT: u32 = 8;

/// The state of the first slow start.
#[derive(Clone, Debug)]
pub(in super::super) struct HyStartPlusPlus {
    /// Segments by which one acknowledgment may grow the window.
    limit: u32,
    /// windowEnd.
    round_end: u64,
    /// lastRoundMinRTT and currentRoundMinRTT.
    last_min: Option<Duration>,
    current_min: Option<Duration>,
    samples: u32,
    /// cssBaselineMinRtt, in CSS.
    baseline: Option<Duration>,
    css_rounds: u32,
    /// Acknowledged segments in CSS that have not grown the window yet.
    carry: u32,
}

impl HyStartPlusPlus {
    /// The state at the start of a connection.
    pub(in super::super) const fn new(paced: bool) -> Self {
        Self {
            limit: if paced { u32::MAX } else { UNPACED_LIMIT },
            round_end: 0,
            last_min: None,
            current_min: None,
            samples: 0,
            baseline: None,
            css_rounds: 0,
            carry: 0,
        }
    }

    /// Segments by which an acknowledgment of `delivered` segments grows the window (RFC 9406 §4.2).
    pub(in super::super) fn growth(&mut self, delivered: u32) -> u32 {
        let counted = delivered.min(self.limit);
        if self.baseline.is_none() {
            return counted;
        }
        let counted = counted + self.carry;
        self.carry = counted % CSS_GROWTH_DIVISOR;
        counted / CSS_GROWTH_DIVISOR
    }

    /// An acknowledgment in slow start or CSS. True if slow start ends here.
    pub(in super::super) fn ends(&mut self, ack: &AckSample) -> bool {
        if let Some(rtt) = ack.rtt {
            self.current_min = Some(self.current_min.map_or(rtt, |min| min.min(rtt)));
            self.samples += 1;
            self.judge();
        }
        if ack.acked_to <= self.round_end {
            return false;
        }
        self.round_end = ack.sent_to;
        self.last_min = self.current_min.take();
        self.samples = 0;
        if self.baseline.is_some() {
            self.css_rounds += 1;
        }
        self.css_rounds >= CSS_ROUNDS
    }

    /// RFC 9406 §4.2: enters CSS, or leaves it for slow start.
    fn judge(&mut self) {
        let Some(current) = self.current_min.filter(|_| self.samples >= SAMPLES) else { return };
        if self.baseline.is_some_and(|baseline| current < baseline) {
            self.baseline = None;
            self.css_rounds = 0;
            self.carry = 0;
        }
        if self.baseline.is_none() && self.last_min.is_some_and(|last| current >= last + threshold(last)) {
            self.baseline = Some(current);
        }
    }
}

/// RttThresh: the rise of a round's minimum that enters CSS.
fn threshold(last_min: Duration) -> Duration {
    (last_min / RTT_DIVISOR).clamp(RTT_THRESHOLD_MIN, RTT_THRESHOLD_MAX)
}

#[cfg(test)]
mod tests {
    use airlane_core::Instant;

    use super::*;

    fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    /// Rounds of ten segments of one byte, one acknowledgment each.
    struct Path {
        hystart: HyStartPlusPlus,
        acked: u64,
    }

    impl Path {
        fn new() -> Self {
            Self { hystart: HyStartPlusPlus::new(true), acked: 0 }
        }

        /// An acknowledgment with ten segments in flight behind it. True if slow start ends.
        fn ack(&mut self, rtt: Duration) -> bool {
            self.acked += 1;
            self.hystart.ends(&AckSample {
                now: Instant::ZERO,
                delivered_segments: 1,
                may_grow: true,
                window_limited: true,
                max_outstanding_segments: 10,
                outstanding_segments: 10,
                rtt: Some(rtt),
                srtt: rtt,
                acked_to: self.acked,
                sent_to: self.acked + 9,
            })
        }

        /// Acknowledgments until a round has ended.
        fn round(&mut self, rtt: Duration) -> bool {
            let end = self.hystart.round_end;
            loop {
                if self.ack(rtt) {
                    return true;
                }
                if self.hystart.round_end != end {
                    return false;
                }
            }
        }

        fn in_css(&self) -> bool {
            self.hystart.baseline.is_some()
        }
    }

    /// max(4 ms, min(lastRoundMinRTT / 8, 16 ms)), RFC 9406 §4.2.
    #[test]
    fn thresholds() {
        let rows = [
            (1, 4_000),
            (4, 4_000),
            (8, 4_000),
            (20, 4_000),
            (40, 5_000),
            (60, 7_500),
            (100, 12_500),
            (128, 16_000),
            (300, 16_000),
        ];
        for (last_ms, expected_us) in rows {
            assert_eq!(threshold(us(last_ms * 1000)), us(expected_us), "{last_ms} ms");
        }
    }

    /// At 40 ms the threshold is 5 ms. The eighth sample of a round decides, not the seventh.
    #[test]
    fn a_rise_by_the_threshold_enters_css_after_eight_samples() {
        let mut path = Path::new();
        path.round(us(40_000));
        path.round(us(40_000));
        for _ in 0..7 {
            path.ack(us(45_000));
        }
        assert!(!path.in_css());
        path.ack(us(45_000));
        assert!(path.in_css());
        // A microsecond less is no rise.
        let mut path = Path::new();
        path.round(us(40_000));
        path.round(us(40_000));
        path.round(us(44_999));
        assert!(!path.in_css());
    }

    /// One sample of a round without a rise keeps slow start.
    #[test]
    fn the_minimum_of_a_round_counts() {
        let mut path = Path::new();
        path.round(us(40_000));
        path.round(us(40_000));
        path.ack(us(41_000));
        path.round(us(60_000));
        assert!(!path.in_css());
    }

    /// RFC 9406 §4.2: the round in which CSS begins is the first of five.
    #[test]
    fn five_rounds_of_css_end_slow_start() {
        let mut path = Path::new();
        path.round(us(40_000));
        path.round(us(40_000));
        for round in 1..=5 {
            assert_eq!(path.round(us(50_000)), round == 5, "round {round} of CSS");
            assert!(path.in_css());
        }
    }

    #[test]
    fn a_round_trip_below_the_baseline_resumes_slow_start() {
        let mut path = Path::new();
        path.round(us(40_000));
        path.round(us(40_000));
        path.round(us(50_000));
        assert!(path.in_css());
        for _ in 0..8 {
            assert!(path.in_css());
            path.ack(us(49_999));
        }
        assert!(!path.in_css());
        // The count begins again: five rounds from the next rise.
        path.round(us(40_000));
        for round in 1..=5 {
            assert_eq!(path.round(us(50_000)), round == 5, "round {round} of CSS");
        }
    }

    /// min(N, L) in slow start, a quarter of it in CSS, without loss of remainders.
    #[test]
    fn growth() {
        let mut unpaced = HyStartPlusPlus::new(false);
        assert_eq!((unpaced.growth(3), unpaced.growth(20)), (3, 8));
        unpaced.baseline = Some(us(1));
        let css: Vec<u32> = (0..5).map(|_| unpaced.growth(2)).collect();
        assert_eq!(css, [0, 1, 0, 1, 0]);
        assert_eq!(unpaced.growth(100), 2); // (8 + 2) / 4
        assert_eq!(HyStartPlusPlus::new(true).growth(100), 100);
    }
}
