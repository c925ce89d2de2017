//! TCP Westwood+: after a loss the window is the estimated bandwidth of the path times its minimum
//! round trip (L. A. Grieco and S. Mascolo, "Performance Evaluation and Comparison of Westwood+, New
//! Reno, and Vegas TCP Congestion Control", ACM CCR 34(2), 2004).
//!
//! The bandwidth is the number of bytes acknowledged in an interval of a round trip, at least 50
//! ms, through a low-pass filter of two equal stages. Duplicate ACKs count one segment each, which
//! is subtracted from the cumulative ACK that covers them.
//!
//! In Linux's variant: times are whole milliseconds and the bandwidth is in whole bytes per
//! millisecond; the minimum round trip is reset after a timeout; the threshold is Reno's until the
//! end of recovery, and only then that of the estimate.

use airlane_core::{Duration, Instant};

use super::{AckSample, Arrival, CongestionController, Needs, SegmentWindow, TimeoutEpisode};

/// Grieco and Mascolo 2004 §2: the minimum interval of a bandwidth sample, here 50 ms.
const WINDOW_MIN_MS: u64 = 50;
/// The round trip before the first sample: too long to end an interval.
const INITIAL_RTT_MS: u64 = 20_000;

/// The controller.
#[derive(Clone, Debug)]
pub struct Westwood {
    /// Bandwidth after the first and the second stage of the filter, in bytes per millisecond.
    first_stage: u64,
    bandwidth: u64,
    /// Bytes acknowledged since `sampled_at`.
    acked_bytes: u64,
    /// Time of the last sample of the bandwidth in milliseconds; at first that of the establishment of the connection.
    sampled_at_ms: u64,
    /// Latest and minimum round trip in milliseconds; the minimum restarts when it is `None`.
    rtt_ms: u64,
    rtt_min_ms: Option<u64>,
    /// Acknowledged stream position; `None` before the first ACK, which counts as one segment for
    /// any size.
    acked_to: Option<u64>,
    /// Bytes counted for duplicate ACKs that no cumulative ACK has covered yet.
    counted_ahead: u64,
}

impl Westwood {
    /// A controller in its initial state.
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

    /// Ends an interval of the bandwidth estimate if it is long enough.
    fn sample_bandwidth(&mut self, now: Instant) {
        let now_ms = milliseconds(now);
        let span = now_ms - self.sampled_at_ms;
        if span <= self.rtt_ms.max(WINDOW_MIN_MS) {
            return;
        }
        let sample = self.acked_bytes / span;
        // Grieco and Mascolo 2004 §2: a low-pass filter with weight 7/8 on the past.
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

    /// The capacity of the path in segments: bandwidth times minimum round trip.
    fn pipe(&self, window: &SegmentWindow) -> u32 {
        let rtt_min = self.rtt_min_ms.unwrap_or(self.rtt_ms);
        let segments = self.bandwidth * rtt_min / u64::from(window.segment_size());
        (segments as u32).max(SegmentWindow::MIN_SSTHRESH)
    }
}

/// The current time in milliseconds.
const fn milliseconds(now: Instant) -> u64 {
    now.as_nanos() / 1_000_000
}

impl CongestionController for Westwood {
    fn needs(&self) -> Needs {
        Needs::ARRIVALS
    }

    fn on_established(&mut self, _: &SegmentWindow, now: Instant, _: Option<Duration>) {
        self.sampled_at_ms = milliseconds(now);
    }

    fn on_arrival(&mut self, segment_size: u32, arrival: &Arrival) {
        // Linux 6.12 processes the round trip of an ACK (pkts_acked) before it counts the ACK
        // (in_ack_event).
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
