//! TCP Vegas: keeps two to four segments of its own in the queue (L. Brakmo and L. Peterson, "TCP
//! Vegas: End to End Congestion Avoidance on a Global Internet", IEEE JSAC 13(8), 1995).
//!
//! Once per round trip the smallest round-trip sample of that round gives the number of segments in
//! the queue: `window (rtt - base) / base`. Below alpha the window grows by one; above beta it
//! shrinks by one. Slow start ends above gamma.
//!
//! In Linux's variant: slow start doubles every round, not every other one; alpha and beta have the
//! values of later work (2 and 4; the paper's experiments used 1 and 3, or 2 and 4); recovery is
//! that of the transport, without the paper's fine-grained retransmission; outside of the open
//! phase, or with fewer than three samples in a round, the window grows as Reno's.

use airlane_core::Duration;

use super::{AckSample, Arrival, CongestionController, Needs, Phase, PhaseChange, Restart, SegmentWindow};

/// Segments in the queue: the window grows below, shrinks above (Brakmo and Peterson 1995 §5); and
/// the bound that ends slow start.
const ALPHA: u64 = 2;
const BETA: u64 = 4;
const GAMMA: u64 = 1;
/// Minimum number of samples in a round: a single one may be of a delayed ACK.
const SAMPLES_NEEDED: u32 = 3;

/// The controller.
#[derive(Clone, Debug)]
pub struct Vegas {
    /// False outside of the open phase.
    active: bool,
    /// Minimum round trip so far, and of this round, in microseconds.
    base: Option<u64>,
    round_min: Option<u64>,
    samples: u32,
    /// End of this round in stream positions.
    round_end: u64,
}

impl Vegas {
    /// A controller in its initial state.
    #[must_use]
    pub const fn new() -> Self {
        Self { active: true, base: None, round_min: None, samples: 0, round_end: 0 }
    }

    fn begin(&mut self, sent_to: u64) {
        self.active = true;
        self.round_end = sent_to;
        self.samples = 0;
        self.round_min = None;
    }

    /// The decision of a round (Brakmo and Peterson 1995 §5).
    fn decide(window: &mut SegmentWindow, base: u64, rtt: u64, delivered: u32) {
        let segments = u64::from(window.segments);
        let waiting = segments * (rtt - base) / base;
        if window.in_slow_start() {
            if waiting > GAMMA {
                // The achieved rate times the round trip of the empty path, rounded up.
                let target = (segments * base / rtt) as u32 + 1;
                window.segments = window.segments.min(target);
                window.ssthresh = lowered(window);
            } else {
                window.slow_start(delivered);
            }
        } else if waiting > BETA {
            window.segments -= 1;
            window.ssthresh = lowered(window);
        } else if waiting < ALPHA {
            window.segments += 1;
        }
        window.segments = window.segments.max(SegmentWindow::MIN_SSTHRESH);
        window.ssthresh = window.kept_ssthresh();
    }
}

/// Slow start must not start again: the threshold follows the window down.
fn lowered(window: &SegmentWindow) -> u32 {
    window.ssthresh.min(window.segments)
}

/// Round trips in microseconds, never zero.
pub(super) fn micros(rtt: Duration) -> u64 {
    rtt.as_micros() + 1
}

impl CongestionController for Vegas {
    fn needs(&self) -> Needs {
        Needs::ARRIVALS
    }

    fn on_restart(&mut self, _: &mut SegmentWindow, restart: &Restart) {
        self.base = None; // the path may have changed
        self.begin(restart.sent_to);
    }

    fn on_arrival(&mut self, _: u32, arrival: &Arrival) {
        if let Some(rtt) = arrival.rtt {
            let rtt = micros(rtt);
            self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
            self.round_min = Some(self.round_min.map_or(rtt, |min| min.min(rtt)));
            self.samples += 1;
        }
    }

    fn on_phase(&mut self, _: &SegmentWindow, change: &PhaseChange) {
        if change.phase == Phase::Open {
            self.begin(change.sent_to);
        } else {
            self.active = false;
        }
    }

    fn on_ack(&mut self, window: &mut SegmentWindow, ack: &AckSample) {
        if !ack.may_grow {
            return;
        }
        if !self.active {
            window.grow_as_reno(ack);
            return;
        }
        if ack.acked_to <= self.round_end {
            if window.in_slow_start() {
                window.slow_start(ack.delivered_segments);
            }
            return;
        }
        match (self.base, self.round_min) {
            (Some(base), Some(rtt)) if self.samples >= SAMPLES_NEEDED => {
                Self::decide(window, base, rtt, ack.delivered_segments);
            }
            _ => window.grow_as_reno(ack),
        }
        self.begin(ack.sent_to);
    }

    fn threshold(&mut self, window: &SegmentWindow) -> u32 {
        window.segments / 2 // as Reno
    }
}

impl Default for Vegas {
    fn default() -> Self {
        Self::new()
    }
}
