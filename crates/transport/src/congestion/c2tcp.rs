//! C2TCP, cellular controlled delay (Abbasloo, Xu and Chao, "C2TCP: A Flexible Cellular TCP to Meet Stringent Delay
//! Requirements", IEEE JSAC 37(4), 2019; first in IFIP Networking 2018): CoDel's rule at a sender with CUBIC.
//!
//! The set point is α times the minimum round trip. An acknowledgment with a round trip up to the set point is good: the
//! window grows by set point / round trip for each window of acknowledgments, in addition to CUBIC's growth. If the round
//! trip stays above for an interval, which is as long as the set point, the window becomes one segment, with CUBIC's
//! threshold. While the round trip stays above, this repeats, the nth time after interval / √n.
//!
//! The application has a target of the mean round trip. Twice a second it moves α: α (1 − 2 (mean − target) / mean)
//! above the target, and α (1 + (target − mean) / (2 mean)) below.
//!
//! The source is the authors' code, Soheil-ab/c2tcp 4b5b2413: the kernel patch `linux-4-13-1-orca-c2tcp-0521.patch`
//! (`c2tcp_pkts_acked`, called at the end of `bictcp_acked`) and the application `server-standalone.cc`; the papers were
//! not read. Times are whole milliseconds, as there. The first second after CUBIC's epoch began has no such
//! acknowledgments, because `bictcp_acked` ends before.
//!
//! *Departures.* The square root is exact, where the code has a step of Newton's method. A window that is not used does not
//! grow (RFC 9002 §7.8); the code checks this for CUBIC's growth only. Nothing happens in loss recovery, where the
//! kernel's rate reduction would overwrite it. The times at which the application moves α are those of acknowledgments.

use airlane_core::{Duration, Instant};

use super::{
    AckSample, CongestionController, Cubic, LossCause, LossEpisode, Needs, Restart, SegmentWindow, Snapshot,
    TimeoutEpisode,
};

/// α in 1/100: at first (`run-sample.sh`: `init_alpha`) and its limits (`define.h`: `TARGET_RATIO_MIN`, `_MAX`).
const ALPHA_INITIAL: u64 = 150;
const ALPHA_MIN: u64 = 100;
const ALPHA_MAX: u64 = 1000;
/// The time between changes of α (`run-sample.sh`: `tuning_period`).
const TUNING_PERIOD: Duration = Duration::from_millis(500);
/// The target in minimum round trips, if the application has none (`server-standalone.cc`: `minrtt_ms*2`).
const TARGET_FACTOR: u64 = 2;

/// Parameters of C2TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct C2tcpConfig {
    /// The target of the mean round trip; `None` for twice the minimum.
    pub target: Option<Duration>,
}

impl C2tcpConfig {
    /// Without a target of the application.
    pub const CODE: Self = Self { target: None };
}

/// Acknowledgments above the set point, since one that was not.
#[derive(Clone, Copy, Debug)]
struct Above {
    /// When the window is next reduced.
    next: Instant,
    /// Number of reductions, plus one.
    count: u32,
}

/// The controller.
#[derive(Clone, Debug)]
pub struct C2tcp {
    cubic: Cubic,
    /// α in 1/100.
    alpha: u64,
    /// In milliseconds; the target is set when α is first moved.
    target: Option<u64>,
    rtt_min: Option<Duration>,
    above: Option<Above>,
    /// Sum and number of the round trips since α was moved, and when it is moved next.
    rtts: (Duration, u64),
    tuning_at: Option<Instant>,
}

impl C2tcp {
    /// A controller in its initial state, with this CUBIC.
    #[must_use]
    pub fn new(config: C2tcpConfig, cubic: Cubic) -> Self {
        Self {
            cubic,
            alpha: ALPHA_INITIAL,
            target: config.target.map(whole_ms),
            rtt_min: None,
            above: None,
            rtts: (Duration::ZERO, 0),
            tuning_at: None,
        }
    }

    /// A round trip of an acknowledgment.
    fn on_rtt(&mut self, window: &mut SegmentWindow, ack: &AckSample, rtt: Duration) {
        self.tune(ack.now);
        let minimum = self.rtt_min.map_or(rtt, |minimum| minimum.min(rtt));
        self.rtt_min = Some(minimum);
        self.rtts = (self.rtts.0 + rtt, self.rtts.1 + 1);
        let set_point = whole_ms(minimum) * self.alpha / 100;
        if whole_ms(rtt) <= set_point {
            self.above = None;
            if window.used_by(ack) {
                let growth = set_point / whole_ms(rtt).max(1);
                window.additive_increase(window.segments, growth as u32);
            }
            return;
        }
        let interval = Duration::from_millis(set_point);
        match &mut self.above {
            None => self.above = Some(Above { next: ack.now + interval, count: 1 }),
            Some(above) if ack.now > above.next => {
                let spacing = interval.as_nanos() as f64 / libm::sqrt(f64::from(above.count));
                *above =
                    Above { next: ack.now + Duration::from_nanos(spacing as u64), count: above.count + 1 };
                let threshold = self.cubic.threshold(window);
                window.reduce_to(threshold);
                window.restart_from(1);
            }
            Some(_) => {}
        }
    }

    /// The application moves α.
    fn tune(&mut self, now: Instant) {
        let due = *self.tuning_at.get_or_insert(now + TUNING_PERIOD);
        let (Some(minimum), (sum, number @ 1..)) = (self.rtt_min, self.rtts) else { return };
        if now < due {
            return;
        }
        self.tuning_at = Some(now + TUNING_PERIOD);
        self.rtts = (Duration::ZERO, 0);
        let target = *self.target.get_or_insert(whole_ms(minimum) * TARGET_FACTOR);
        self.alpha = tuned(self.alpha, whole_ms(sum / number), target);
    }
}

/// α after a time with this mean round trip, in milliseconds.
fn tuned(alpha: u64, mean: u64, target: u64) -> u64 {
    if mean == 0 || mean == target {
        alpha
    } else if mean > target {
        alpha.saturating_sub(2 * (mean - target) * alpha / mean).max(ALPHA_MIN)
    } else {
        (alpha + (target - mean) * (alpha / 2) / mean).min(ALPHA_MAX)
    }
}

fn whole_ms(time: Duration) -> u64 {
    time.as_nanos() / 1_000_000
}

impl CongestionController for C2tcp {
    fn needs(&self) -> Needs {
        self.cubic.needs()
    }

    fn on_restart(&mut self, window: &mut SegmentWindow, restart: &Restart) {
        self.cubic.on_restart(window, restart);
    }

    fn on_ack(&mut self, window: &mut SegmentWindow, ack: &AckSample) {
        if let Some(rtt) = ack.rtt
            && ack.may_grow
            && !self.cubic.epoch_is_young(ack.now)
        {
            self.on_rtt(window, ack, rtt);
        }
        self.cubic.on_ack(window, ack);
    }

    fn on_slow_start_exit(&mut self, window: &SegmentWindow) {
        self.cubic.on_slow_start_exit(window);
    }

    fn threshold(&mut self, window: &SegmentWindow) -> u32 {
        self.cubic.threshold(window)
    }

    fn on_loss(&mut self, window: &mut SegmentWindow, episode: &LossEpisode, cause: LossCause) {
        self.cubic.on_loss(window, episode, cause);
    }

    fn on_ecn(&mut self, window: &mut SegmentWindow, episode: &LossEpisode) {
        self.cubic.on_ecn(window, episode);
    }

    fn on_timeout(&mut self, window: &mut SegmentWindow, timeout: &TimeoutEpisode) {
        self.cubic.on_timeout(window, timeout);
    }

    fn on_undo(&mut self, window: &mut SegmentWindow, snapshot: &Snapshot) {
        self.cubic.on_undo(window, snapshot);
    }
}

#[cfg(test)]
mod tests;
