//! HyStart (S. Ha and I. Rhee, "Taming the elephants: New TCP slow start", Computer Networks 55(9), 2011) in the
//! variant of Linux's `tcp_cubic.c`.
//!
//! It leaves slow start when the ACK train of a round grows longer than half the smallest round trip, or when a
//! round's smallest delay exceeds it by an eighth (4 to 16 ms). [`HyStartPlusPlus`](super::HyStartPlusPlus) is the
//! variant of RFC 9406.

use airlane_core::{Duration, Instant};

use super::super::{AckSample, SegmentWindow};

/// HyStart is not used below this window (`hystart_low_window`).
const LOW_WINDOW: u32 = 16;
/// ACKs closer than this belong to one train (`hystart_ack_delta_us`).
const TRAIN_GAP: Duration = Duration::from_millis(2);
/// Number of samples in a round before its delay is used (`HYSTART_MIN_SAMPLES`).
const SAMPLES: u32 = 8;
/// `HYSTART_DELAY_MIN` and `HYSTART_DELAY_MAX`.
const DELAY_MIN: Duration = Duration::from_millis(4);
const DELAY_MAX: Duration = Duration::from_millis(16);
/// Linux adds the time of four maximal bursts at the pacing rate to the train threshold, at most 1 ms
/// (`hystart_ack_delay`).
const TRAIN_CUSHION_MAX: Duration = Duration::from_millis(1);
const TRAIN_CUSHION_BYTES: u64 = 4 * 65536;

/// The state of a slow start.
#[derive(Clone, Debug)]
pub(in super::super) struct HyStart {
    /// True if the sender paces.
    paced: bool,
    found: bool,
    round_began: Instant,
    round_end: u64,
    last_ack: Instant,
    round_min: Duration,
    samples: u32,
}

impl HyStart {
    /// The state at the start of a connection. If the sender paces, trains of ACKs are longer by up to a round trip.
    pub(in super::super) const fn new(paced: bool) -> Self {
        Self {
            paced,
            found: false,
            round_began: Instant::ZERO,
            round_end: 0,
            last_ack: Instant::ZERO,
            round_min: Duration::MAX,
            samples: 0,
        }
    }

    /// A new slow start begins.
    pub(in super::super) fn restart(&mut self, now: Instant, sent_to: u64) {
        self.found = false;
        self.begin_round(now, sent_to);
    }

    /// Delays are measured on another path from now on.
    pub(in super::super) fn forget_delay(&mut self) {
        self.round_end = 0;
        self.round_min = Duration::MAX;
        self.samples = 0;
    }

    /// A sample of the round trip. True if slow start ends here. `delay_min` is the smallest sample, this one included.
    pub(in super::super) fn ends(
        &mut self,
        window: &SegmentWindow,
        rtt: Duration,
        delay_min: Duration,
        ack: &AckSample,
    ) -> bool {
        if self.found || !window.in_slow_start() {
            return false;
        }
        if ack.acked_to > self.round_end {
            self.begin_round(ack.now, ack.sent_to);
        }
        if window.segments < LOW_WINDOW {
            return false;
        }
        let cushion = train_cushion(window, ack);
        if ack.now.saturating_since(self.last_ack) <= TRAIN_GAP {
            self.last_ack = ack.now;
            // Linux halves the threshold only without pacing (`hystart_update`).
            let longest = if self.paced { delay_min + cushion } else { (delay_min + cushion) / 2 };
            if ack.now - self.round_began > longest {
                self.found = true;
            }
        }
        self.round_min = self.round_min.min(rtt);
        if self.samples < SAMPLES {
            self.samples += 1;
        } else {
            let rise = (delay_min / 8).clamp(DELAY_MIN, DELAY_MAX);
            if self.round_min > delay_min + rise {
                self.found = true;
            }
        }
        self.found
    }

    fn begin_round(&mut self, now: Instant, sent_to: u64) {
        self.round_began = now;
        self.last_ack = now;
        self.round_end = sent_to;
        self.round_min = Duration::MAX;
        self.samples = 0;
    }
}

/// The time that pacing at Linux's rate (twice the window per round trip in slow start, 1.2 times
/// above half the threshold) may have delayed an ACK train.
fn train_cushion(window: &SegmentWindow, ack: &AckSample) -> Duration {
    let in_flight = u64::from(window.segments.max(ack.outstanding_segments));
    let percent = if window.segments < window.ssthresh / 2 { 200 } else { 120 };
    let rate_x_srtt = in_flight * u64::from(window.segment_size()) * percent / 100;
    let ns =
        u128::from(TRAIN_CUSHION_BYTES) * u128::from(ack.srtt.as_nanos()) / u128::from(rate_x_srtt.max(1));
    Duration::from_nanos(ns.min(u128::from(TRAIN_CUSHION_MAX.as_nanos())) as u64)
}
