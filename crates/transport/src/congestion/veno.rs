//! TCP Veno: distinguishes random loss from congestion by Vegas' estimate of the queue (C. P. Fu
//! and S. C. Liew, "TCP Veno: TCP Enhancement for Transmission Over Wireless Access Networks", IEEE
//! JSAC 21(2), 2003).
//!
//! With fewer than beta = 3 segments in the queue a loss is classified as random and reduces the
//! window by a fifth instead of a half; with more segments the window grows only every other round
//! trip.
//!
//! In Linux's variant: the queue is estimated at each ACK, in half segments, from that ACK's own
//! round trip; outside of the open phase and before the third sample the window grows as Reno's.

use super::vegas::micros;
use super::{AckSample, Arrival, CongestionController, Needs, Phase, PhaseChange, Restart, SegmentWindow};

/// Fu and Liew 2003 §III: beta = 3 segments, in halves.
pub(super) const BETA_HALVES: u64 = 6;
/// Minimum number of samples for a decision.
pub(super) const SAMPLES_NEEDED: u32 = 3;

/// Half segments in the queue, from the minimum round trip and another one (Fu and Liew 2003
/// §III-A: N = window (rtt - base) / rtt).
pub(super) fn waiting_halves(window_segments: u32, base: u64, rtt: u64) -> u64 {
    let halves = 2 * u64::from(window_segments);
    halves - halves * base / rtt
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Veno {
    /// False outside of the open phase.
    active: bool,
    /// Minimum round trip so far, and since the last ACK that counted, in microseconds.
    base: Option<u64>,
    recent_min: Option<u64>,
    samples: u32,
    /// Half segments in the queue.
    waiting_halves: u64,
    /// In congestion: whether the window may grow in this round.
    granted: bool,
}

impl Veno {
    /// A controller in its initial state.
    #[must_use]
    pub const fn new() -> Self {
        Self { active: true, base: None, recent_min: None, samples: 0, waiting_halves: 0, granted: true }
    }

    fn estimate_queue(&mut self, window: &SegmentWindow) {
        self.waiting_halves = match (self.base, self.recent_min) {
            (Some(base), Some(rtt)) => waiting_halves(window.segments, base, rtt),
            _ => 2 * u64::from(window.segments), // no sample shows that the path is empty
        };
    }

    /// Congestion avoidance: growth every round trip, or every other one.
    fn avoid(&mut self, window: &mut SegmentWindow, delivered: u32) {
        if self.waiting_halves < BETA_HALVES {
            window.additive_increase(window.segments, delivered);
            return;
        }
        if window.counted < window.segments {
            window.counted += delivered;
            return;
        }
        window.segments += u32::from(self.granted);
        window.counted = 0;
        self.granted = !self.granted;
    }
}

impl CongestionController for Veno {
    fn needs(&self) -> Needs {
        Needs::ARRIVALS
    }

    fn on_restart(&mut self, _: &mut SegmentWindow, _: &Restart) {
        self.base = None; // the path may have changed
        self.granted = true;
        self.active = true;
        self.recent_min = None;
    }

    fn on_arrival(&mut self, _: u32, arrival: &Arrival) {
        if let Some(rtt) = arrival.rtt {
            let rtt = micros(rtt);
            self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
            self.recent_min = Some(self.recent_min.map_or(rtt, |min| min.min(rtt)));
            self.samples = self.samples.saturating_add(1);
        }
    }

    fn on_phase(&mut self, _: &SegmentWindow, change: &PhaseChange) {
        self.active = change.phase == Phase::Open;
        if self.active {
            self.recent_min = None;
        }
    }

    fn on_ack(&mut self, window: &mut SegmentWindow, ack: &AckSample) {
        if !self.active {
            window.grow_as_reno(ack);
            return;
        }
        if !ack.may_grow || !window.used_by(ack) {
            return;
        }
        if self.samples < SAMPLES_NEEDED {
            window.grow_as_reno(ack);
        } else {
            self.estimate_queue(window);
            let mut delivered = ack.delivered_segments;
            if window.in_slow_start() {
                delivered = window.slow_start(delivered);
            }
            if delivered > 0 {
                self.avoid(window, delivered);
            }
        }
        self.recent_min = None;
    }

    fn threshold(&mut self, window: &SegmentWindow) -> u32 {
        // Fu and Liew 2003 §III-B: a random loss, or congestion.
        if self.waiting_halves < BETA_HALVES { window.segments * 4 / 5 } else { window.segments / 2 }
    }
}

impl Default for Veno {
    fn default() -> Self {
        Self::new()
    }
}
