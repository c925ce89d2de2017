//! LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus-06), for traffic that yields to all other.
//!
//! The delay in the queue is the least of the last round trips less the base, the least of the last minutes. Below the
//! target of 60 ms the window grows by GAIN segments each round trip, above it shrinks in proportion to the window
//! and to the excess, by half at most. GAIN is at most 1, and less at short round trips, so that the flow is slower than
//! NewReno there. Slow start is slower by GAIN too; the first ends at three quarters of the target. From time to time the
//! window is two segments for two round trips, so that the base is seen again (a periodic slowdown): at most a tenth of
//! the time.
//!
//! The draft was read as other implementations quote it (arxodeus/utp-go 76a10197), not in full.
//! Open points: four round trips of the current delay, and ten minutes of the base, as in RFC 6817 §4.2; the ramp after
//! a slowdown grows by GAIN as the first slow start does (utp-go leaves GAIN out there); a timeout is as in NewReno.

#[cfg(test)]
mod tests;

use airlane_core::{Duration, Instant};

use super::fractional_window::FractionalWindow;
use super::{AckSample, CongestionController, Needs, SegmentWindow};

/// TARGET (§4.2).
const TARGET: Duration = Duration::from_millis(60);
/// The largest divisor of GAIN (§4.2).
const DIVISOR_MAX: u64 = 16;
/// Round trips of which the least is the current delay (RFC 6817 §4.2, CURRENT_FILTER).
const CURRENT_SAMPLES: usize = 4;
/// Minutes of which the least is the base (RFC 6817 §4.2, BASE_HISTORY).
const BASE_MINUTES: usize = 10;
const MINUTE: Duration = Duration::from_secs(60);
/// Round trips between the first slow start and the first slowdown, and of a slowdown (§4.4).
const SLOWDOWN_RTTS: u64 = 2;
/// The window of a slowdown (§4.4).
const SLOWDOWN_WINDOW: u32 = 2;
/// The time from the end of a slowdown and its slow start to the next slowdown, as a multiple of their duration (§4.4).
const SLOWDOWN_INTERVAL: u64 = 9;

/// The phase of periodic slowdowns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slowdown {
    /// The first slow start.
    Before,
    /// Between slowdowns; with the time of the next.
    Waits(Instant),
    /// In a slowdown; with the time of its begin, and the time until which the window is kept.
    Holds(Instant, Instant),
    /// In the slow start after a slowdown; with the time of that slowdown's begin.
    Ramps(Instant),
}

/// The controller.
#[derive(Clone, Debug)]
pub struct LedbatPlusPlus {
    /// The least round trip of each of the last minutes, the newest first, and when that began.
    base: [Option<Duration>; BASE_MINUTES],
    minute: Instant,
    current: [Option<Duration>; CURRENT_SAMPLES],
    taken: usize,
    exact: FractionalWindow,
    slowdown: Slowdown,
}

impl LedbatPlusPlus {
    /// A controller in its initial state.
    #[must_use]
    pub fn new(window: &SegmentWindow) -> Self {
        Self {
            base: [None; BASE_MINUTES],
            minute: Instant::ZERO,
            current: [None; CURRENT_SAMPLES],
            taken: 0,
            exact: FractionalWindow::new(window),
            slowdown: Slowdown::Before,
        }
    }

    fn on_rtt(&mut self, now: Instant, rtt: Duration) {
        if now.saturating_since(self.minute) >= MINUTE {
            self.base.rotate_right(1);
            self.base[0] = None;
            self.minute = now;
        }
        self.base[0] = Some(self.base[0].map_or(rtt, |least| least.min(rtt)));
        self.current[self.taken % CURRENT_SAMPLES] = Some(rtt);
        self.taken += 1;
    }

    fn base(&self) -> Duration {
        self.base.iter().flatten().min().copied().unwrap_or(Duration::ZERO)
    }

    /// The delay in the queue.
    fn delay(&self) -> Duration {
        let current = self.current.iter().flatten().min().copied().unwrap_or(Duration::ZERO);
        current.saturating_sub(self.base())
    }

    /// The change of the window in a round trip without loss (§4.2, §4.3), in segments.
    fn step(&self) -> f64 {
        let gain = gain(self.base());
        let delay = self.delay();
        if delay < TARGET {
            return gain;
        }
        let excess = delay.as_secs_f64() / TARGET.as_secs_f64() - 1.0;
        (gain - self.exact.segments * excess).max(-self.exact.segments / 2.0)
    }

    /// Begins, keeps or ends a slowdown.
    fn slow_down(&mut self, window: &mut SegmentWindow, now: Instant, srtt: Duration) {
        match self.slowdown {
            Slowdown::Before if window.ssthresh != u32::MAX => {
                self.slowdown = Slowdown::Waits(now + srtt * SLOWDOWN_RTTS);
            }
            Slowdown::Waits(at) if now >= at => {
                window.ssthresh = (self.exact.segments as u32).max(SLOWDOWN_WINDOW);
                self.exact.segments = f64::from(SLOWDOWN_WINDOW);
                self.slowdown = Slowdown::Holds(now, now + srtt * SLOWDOWN_RTTS);
            }
            Slowdown::Holds(began, until) if now >= until => self.slowdown = Slowdown::Ramps(began),
            Slowdown::Ramps(began) if !window.in_slow_start() => {
                let took = now.saturating_since(began);
                self.slowdown = Slowdown::Waits(now + took * SLOWDOWN_INTERVAL);
            }
            _ => {}
        }
    }

    fn grow(&mut self, window: &mut SegmentWindow, ack: &AckSample) {
        let delivered = f64::from(ack.delivered_segments);
        let used = window.used_by(ack);
        if window.in_slow_start() {
            if used {
                let threshold = f64::from(window.ssthresh);
                self.exact.segments = (self.exact.segments + delivered * gain(self.base())).min(threshold);
            }
            if self.slowdown == Slowdown::Before && self.delay() * 4 > TARGET * 3 {
                window.ssthresh = self.exact.segments as u32;
            }
            return;
        }
        let step = self.step();
        if step < 0.0 || used {
            self.exact.segments += step * delivered / self.exact.segments;
        }
    }
}

/// GAIN = 1 / min(16, ceil(2 TARGET / base)), §4.2.
fn gain(base: Duration) -> f64 {
    let divisor = (2 * TARGET.as_nanos()).div_ceil(base.as_nanos().max(1));
    1.0 / divisor.min(DIVISOR_MAX) as f64
}

impl CongestionController for LedbatPlusPlus {
    fn needs(&self) -> Needs {
        Needs::NOTHING
    }

    fn on_ack(&mut self, window: &mut SegmentWindow, ack: &AckSample) {
        self.exact.follow(window);
        if let Some(rtt) = ack.rtt {
            self.on_rtt(ack.now, rtt);
        }
        self.slow_down(window, ack.now, ack.srtt);
        if ack.may_grow && !matches!(self.slowdown, Slowdown::Holds(..)) {
            self.grow(window, ack);
        }
        self.exact.segments = self.exact.segments.max(f64::from(SegmentWindow::MIN_SSTHRESH));
        self.exact.set_whole(window);
        if !window.in_slow_start() {
            // The window may shrink below the threshold without slow start.
            window.ssthresh = window.ssthresh.min(window.segments);
        }
    }

    fn threshold(&mut self, window: &SegmentWindow) -> u32 {
        window.segments / 2
    }
}
