//! TCP Westwood+: after a loss the window is what the path has been seen to deliver, bandwidth times
//! smallest round trip (L. A. Grieco and S. Mascolo, "Performance Evaluation and Comparison of
//! Westwood+, New Reno, and Vegas TCP Congestion Control", ACM CCR 34(2), 2004).
//!
//! The bandwidth is the bytes acknowledged in a window of a round trip, at least 50 ms, through a
//! low-pass filter of two equal stages. Duplicate ACKs count one segment each, and what they
//! counted is taken off the cumulative ACK that covers them.
//!
//! As Linux has it: times are whole milliseconds and the bandwidth whole bytes per millisecond;
//! the minimum of the round trip begins anew after a timeout; the threshold is Reno's until
//! recovery is over, and only then what the estimate gives.

use airlane_core::{Duration, Instant};

use super::{AckSample, Arrival, CongestionController, SegmentWindow, TimeoutEpisode};

/// Grieco and Mascolo 2004 §2: the shortest window of a bandwidth sample, here 50 ms.
const WINDOW_MIN_MS: u64 = 50;
/// What stands for the round trip before the first sample: too long to end a window.
const INITIAL_RTT_MS: u64 = 20_000;

/// The controller.
#[derive(Clone, Debug)]
pub struct Westwood {
    /// Bandwidth after the first and the second stage of the filter, in bytes per millisecond.
    first_stage: u64,
    bandwidth: u64,
    /// Bytes acknowledged since `sampled_at`.
    acked_bytes: u64,
    /// When the last sample of the bandwidth was taken, in milliseconds; at first when the
    /// connection was established.
    sampled_at_ms: u64,
    /// Latest and smallest round trip in milliseconds; the smallest begins anew when `None`.
    rtt_ms: u64,
    rtt_min_ms: Option<u64>,
    /// Stream position acknowledged; `None` before the first ACK, which counts as one segment
    /// whatever it covers.
    acked_to: Option<u64>,
    /// Bytes that duplicate ACKs stood for and no cumulative ACK has covered.
    counted_ahead: u64,
}

impl Westwood {
    /// A controller that has seen nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            first_stage: 0,
            bandwidth: 0,
            acked_bytes: 0,
            sampled_at_ms: 0,
            rtt_ms: INITIAL_RTT_MS,
            rtt_min_ms: None,
            acked_to: None,
            counted_ahead: 0,
        }
    }

    /// Ends a window of the bandwidth if it is long enough.
    fn sample_bandwidth(&mut self, now: Instant) {
        let now_ms = milliseconds(now);
        let span = now_ms - self.sampled_at_ms;
        if span <= self.rtt_ms.max(WINDOW_MIN_MS) {
            return;
        }
        let sample = self.acked_bytes / span;
        // Grieco and Mascolo 2004 §2: a low-pass filter, weight 7/8 on the past.
        let filter = |past: u64, value: u64| (7 * past + value) / 8;
        if self.first_stage == 0 && self.bandwidth == 0 {
            self.first_stage = sample;
            self.bandwidth = sample;
        } else {
            self.first_stage = filter(self.first_stage, sample);
            self.bandwidth = filter(self.bandwidth, self.first_stage);
        }
        self.acked_bytes = 0;
        self.sampled_at_ms = now_ms;
    }

    /// Bytes that an ACK adds (Grieco and Mascolo 2004 §2, the procedure for counting ACKs).
    fn count(&mut self, segment: u64, acked_to: u64) -> u64 {
        let before = self.acked_to.replace(acked_to).unwrap_or(acked_to);
        let mut bytes = acked_to - before;
        if bytes == 0 {
            self.counted_ahead += segment;
            return segment;
        }
        if bytes > segment {
            if self.counted_ahead >= bytes {
                self.counted_ahead -= bytes;
                bytes = segment;
            } else {
                bytes -= self.counted_ahead;
                self.counted_ahead = 0;
            }
        }
        bytes
    }

    /// What the path holds, in segments: bandwidth times smallest round trip.
    fn pipe(&self, window: &SegmentWindow) -> u32 {
        let rtt_min = self.rtt_min_ms.unwrap_or(self.rtt_ms);
        let segments = self.bandwidth * rtt_min / u64::from(window.segment_size());
        (segments as u32).max(SegmentWindow::MIN_SSTHRESH)
    }
}

/// The clock that the controller reads.
const fn milliseconds(now: Instant) -> u64 {
    now.as_nanos() / 1_000_000
}

impl CongestionController for Westwood {
    fn on_established(&mut self, _: &SegmentWindow, now: Instant, _: Option<Duration>) {
        self.sampled_at_ms = milliseconds(now);
    }

    fn on_arrival(&mut self, segment_size: u32, arrival: &Arrival) {
        // Linux 6.12 learns the round trip of an ACK (pkts_acked) before it counts the ACK (in_ack_event).
        if let Some(rtt) = arrival.rtt {
            self.rtt_ms = rtt.as_nanos().div_ceil(1_000_000);
        }
        self.sample_bandwidth(arrival.now);
        self.acked_bytes += self.count(u64::from(segment_size), arrival.acked_to);
        self.rtt_min_ms = Some(self.rtt_min_ms.map_or(self.rtt_ms, |min| min.min(self.rtt_ms)));
    }

    fn on_ack(&mut self, window: &mut SegmentWindow, ack: &AckSample) {
        window.grow_as_reno(ack);
    }

    fn threshold(&mut self, window: &SegmentWindow) -> u32 {
        window.segments / 2 // as Reno, while recovery lasts
    }

    fn on_recovery_exit(&mut self, window: &mut SegmentWindow) {
        window.ssthresh = self.pipe(window);
        window.segments = window.ssthresh;
    }

    fn on_timeout(&mut self, window: &mut SegmentWindow, timeout: &TimeoutEpisode) {
        if timeout.new_episode {
            window.reduce_to(self.pipe(window));
            self.rtt_min_ms = None;
        }
        window.restart_from(timeout.restart_segments);
    }
}

impl Default for Westwood {
    fn default() -> Self {
        Self::new()
    }
}
