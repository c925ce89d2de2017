//! TCP Vegas: keeps two to four segments of its own in the queue (L. Brakmo and L. Peterson, "TCP
//! Vegas: End to End Congestion Avoidance on a Global Internet", IEEE JSAC 13(8), 1995).
//!
//! Once per round trip the smallest round trip of that round says how many segments stand in the
//! queue: `window (rtt - base) / base`. Fewer than alpha, and the window grows by one; more than
//! beta, and it shrinks by one. Slow start ends when more than gamma wait.
//!
//! As Linux has it: slow start doubles every round, not every other one; the values for alpha and
//! beta are those of later work (2 and 4 where the paper's experiments used 1 and 3, or 2 and 4);
//! recovery is the transport's, without the paper's own fine-grained retransmission; and outside
//! of the open phase, or with fewer than three samples in a round, the window grows as Reno's.

use airlane_core::Duration;

use super::{AckSample, Arrival, CongestionController, Phase, SegmentWindow, SentSample};

/// Segments in the queue: grow below, shrink above (Brakmo and Peterson 1995 §5), and the bound
/// that ends slow start.
const ALPHA: u64 = 2;
const BETA: u64 = 4;
const GAMMA: u64 = 1;
/// Samples without which a round says nothing: one may be of a delayed ACK.
const SAMPLES_NEEDED: u32 = 3;

/// The controller.
#[derive(Clone, Debug)]
pub struct Vegas {
    window: SegmentWindow,
    /// False outside of the open phase.
    active: bool,
    /// Smallest round trip ever, and of this round, in microseconds.
    base: Option<u64>,
    round_min: Option<u64>,
    samples: u32,
    /// End of this round in stream positions.
    round_end: u64,
}

impl Vegas {
    /// Starts from this window.
    #[must_use]
    pub const fn new(window: SegmentWindow) -> Self {
        Self { window, active: true, base: None, round_min: None, samples: 0, round_end: 0 }
    }

    fn begin(&mut self, sent_to: u64) {
        self.active = true;
        self.round_end = sent_to;
        self.samples = 0;
        self.round_min = None;
    }

    /// The decision of a round (Brakmo and Peterson 1995 §5).
    fn decide(&mut self, base: u64, rtt: u64, delivered: u32) {
        let window = u64::from(self.window.segments);
        let waiting = window * (rtt - base) / base;
        if self.window.in_slow_start() {
            if waiting > GAMMA {
                // The rate that was achieved, times the empty path, rounded up.
                let target = (window * base / rtt) as u32 + 1;
                self.window.segments = self.window.segments.min(target);
                self.window.ssthresh = self.lowered();
            } else {
                self.window.slow_start(delivered);
            }
        } else if waiting > BETA {
            self.window.segments -= 1;
            self.window.ssthresh = self.lowered();
        } else if waiting < ALPHA {
            self.window.segments += 1;
        }
        self.window.segments = self.window.segments.max(SegmentWindow::MIN_SSTHRESH);
        self.window.ssthresh = self.window.kept_ssthresh();
    }

    /// Slow start must not begin again: the threshold follows the window down.
    fn lowered(&self) -> u32 {
        self.window.ssthresh.min(self.window.segments)
    }
}

/// Round trips in microseconds, never zero.
pub(super) fn micros(rtt: Duration) -> u64 {
    rtt.as_micros() + 1
}

impl CongestionController for Vegas {
    fn window(&self) -> &SegmentWindow {
        &self.window
    }
    fn window_mut(&mut self) -> &mut SegmentWindow {
        &mut self.window
    }

    fn on_sent(&mut self, sent: &SentSample) {
        if sent.was_idle {
            self.base = None; // the path may have changed
            self.begin(sent.sent_to);
        }
    }

    fn on_arrival(&mut self, arrival: &Arrival) {
        if let Some(rtt) = arrival.rtt {
            let rtt = micros(rtt);
            self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
            self.round_min = Some(self.round_min.map_or(rtt, |min| min.min(rtt)));
            self.samples += 1;
        }
    }

    fn on_phase(&mut self, phase: Phase, sent_to: u64) {
        if phase == Phase::Open {
            self.begin(sent_to);
        } else {
            self.active = false;
        }
    }

    fn on_ack(&mut self, ack: &AckSample) {
        if !ack.may_grow {
            return;
        }
        if !self.active {
            self.window.grow_as_reno(ack);
            return;
        }
        if ack.acked_to <= self.round_end {
            if self.window.in_slow_start() {
                self.window.slow_start(ack.delivered_segments);
            }
            return;
        }
        match (self.base, self.round_min) {
            (Some(base), Some(rtt)) if self.samples >= SAMPLES_NEEDED => {
                self.decide(base, rtt, ack.delivered_segments);
            }
            _ => self.window.grow_as_reno(ack),
        }
        self.begin(ack.sent_to);
    }

    fn threshold(&mut self) -> u32 {
        self.window.segments / 2 // as Reno
    }
}
