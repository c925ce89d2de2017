//! Copa (V. Arun and H. Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet", NSDI 2018).
//!
//! The target rate is 1/(δ d) segments per second, where d is the delay in the queue: the standing round trip less
//! the minimum. Below the target the window grows by v/(δ window) segments per acknowledged segment, above it shrinks
//! by as much; the velocity v doubles each round trip while the window keeps its direction. The sender paces at twice
//! the window per standing round trip. A flow then keeps about 1/δ segments in the queue, and empties it once in five
//! round trips.
//!
//! With mode switching, a queue that has not been nearly empty for four smoothed round trips belongs to flows that
//! fill it: 1/δ then grows by one each round trip, and halves at a loss.
//!
//! Where the authors' code (venkatarun95/genericCC 18299d6e, `markoviancc.cc`, `rtt-window.cc`, `estimators.cc`) and
//! facebook/mvfst (`quic/congestion_control/Copa.cpp`, 00e67c1b) differ, this law has:
//!
//! - of the authors: the standing round trip as the minimum over half a smoothed one, the minimum over the longer of
//!   10 s and twenty minima, the test for the mode, slow start by a segment for each acknowledged one, a velocity of
//!   at most δ windows, 0.7 of the window where more than 30 % of the segments of two round trips are lost, and a
//!   window of at least two segments;
//! - of mvfst: the direction is that of the window over a smoothed round trip, the velocity doubles from the third
//!   repetition of a direction on, and falls to 1 as soon as the window turns.
//!
//! In neither: a window of which the sender uses less than half does not grow (RFC 9002 §7.8).

mod rtt_filters;
#[cfg(test)]
mod tests;

use airlane_core::{BitRate, Duration, Instant};

use self::rtt_filters::RttFilters;
use super::fractional_window::FractionalWindow;
use super::{
    AckSample, CongestionController, DeliverySample, LossCause, LossEpisode, Needs, SegmentWindow, Snapshot,
    TimeoutEpisode,
};

/// Minimum window in segments (`update_intersend_time`).
const WINDOW_MIN: f64 = 2.0;
/// Repetitions of a direction from which on the velocity doubles (mvfst, `checkAndUpdateDirection`).
const SAME_DIRECTIONS: u32 = 3;
/// The share of losses that reduces the window, and to what (`ReduceOnLoss`, `onACK`).
const LOSS_MAX: f64 = 0.3;
const LOSS_FACTOR: f64 = 0.7;
/// Segments of a sample of losses at least.
const LOSS_SCOPE: u32 = 20;
/// Windows per standing round trip at which the sender paces.
const PACING_GAIN: f64 = 2.0;

/// Parameters of Copa.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopaConfig {
    /// δ of the default mode, in thousandths.
    pub delta_permille: u32,
    /// Whether δ changes next to flows that fill the queue.
    pub mode_switching: bool,
}

impl CopaConfig {
    /// δ = 0.5, with mode switching.
    pub const PAPER: Self = Self { delta_permille: 500, mode_switching: true };
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Copa {
    config: CopaConfig,
    rtt: RttFilters,
    exact: FractionalWindow,
    slow_start: bool,
    delta: f64,
    velocity: f64,
    /// Time and window at the start of this round trip.
    recorded: Option<(Instant, f64)>,
    /// The direction of the last round trip: true for up; and how often it has been repeated.
    upwards: Option<bool>,
    same: u32,
    /// Last changes of δ.
    delta_grew_at: Instant,
    delta_shrank_at: Instant,
    /// Segments lost and all of them since `losses_from`.
    losses: (u32, u32),
    losses_from: Instant,
    /// Bytes per second.
    pacing_rate: f64,
    before_timeout: f64,
}

impl Copa {
    /// A controller in its initial state.
    #[must_use]
    pub fn new(config: CopaConfig, window: &SegmentWindow) -> Self {
        Self {
            config,
            rtt: RttFilters::default(),
            exact: FractionalWindow::new(window),
            slow_start: true,
            delta: f64::from(config.delta_permille) / 1e3,
            velocity: 1.0,
            recorded: None,
            upwards: None,
            same: 0,
            delta_grew_at: Instant::ZERO,
            delta_shrank_at: Instant::ZERO,
            losses: (0, 0),
            losses_from: Instant::ZERO,
            pacing_rate: 0.0,
            before_timeout: 0.0,
        }
    }

    /// δ of the current mode, in 1 per segment of queue.
    fn adapt_delta(&mut self, now: Instant, rtt: Duration, lost: bool) {
        if !self.config.mode_switching {
            return;
        }
        let default = f64::from(self.config.delta_permille) / 1e3;
        if self.rtt.is_nearly_empty() {
            if self.delta_shrank_at == Instant::ZERO || self.delta_shrank_at + rtt < now {
                self.delta = default;
                self.delta_grew_at = now;
            }
        } else if lost && self.delta_shrank_at + rtt < now {
            self.delta *= 2.0;
            self.delta_shrank_at = now;
        } else if self.delta_grew_at + rtt < now {
            self.delta = 1.0 / (1.0 / self.delta + 1.0);
            self.delta_grew_at = now;
        }
        self.delta = self.delta.min(default);
    }

    /// The window at the target rate, in segments; infinite without a queue.
    fn target(&self, standing: Duration) -> f64 {
        let queue = standing.saturating_sub(self.rtt.minimum());
        if queue.is_zero() {
            return f64::INFINITY;
        }
        standing.as_secs_f64() / (queue.as_secs_f64() * self.delta)
    }

    /// The velocity, from the direction of the window in the round trip that ends.
    fn turn(&mut self, now: Instant, srtt: Duration) {
        let Some((began, was)) = self.recorded else {
            self.recorded = Some((now, self.exact.segments));
            return;
        };
        if now.saturating_since(began) < srtt {
            return;
        }
        let upwards = Some(self.exact.segments > was);
        if upwards == self.upwards {
            self.same += 1;
            if self.same >= SAME_DIRECTIONS {
                self.velocity *= 2.0;
            }
        } else {
            self.begin_direction(upwards);
        }
        self.recorded = Some((now, self.exact.segments));
    }

    fn begin_direction(&mut self, upwards: Option<bool>) {
        self.upwards = upwards;
        self.velocity = 1.0;
        self.same = 0;
    }

    /// Changes the window for delivered segments.
    fn steer(&mut self, sample: &DeliverySample, standing: Duration) {
        let delivered = f64::from(sample.newly_delivered);
        let below = self.exact.segments <= self.target(standing);
        let used = 2 * u64::from(sample.prior_in_flight) >= u64::from(self.exact.last_set())
            || sample.window_limited;
        if self.slow_start {
            if below {
                self.exact.segments += if used { delivered } else { 0.0 };
                return;
            }
            self.slow_start = false;
        }
        self.turn(sample.now, sample.srtt);
        if self.velocity > 1.0 && self.upwards != Some(below) {
            self.begin_direction(Some(below));
            self.recorded = Some((sample.now, self.exact.segments));
        }
        self.velocity = self.velocity.min(self.exact.segments * self.delta).max(1.0);
        let step = self.velocity * delivered / (self.delta * self.exact.segments);
        if !below {
            self.exact.segments -= step;
        } else if used {
            self.exact.segments += step;
        }
    }

    /// Reduces the window if the share of lost segments in two round trips is above [`LOSS_MAX`].
    fn count_losses(&mut self, sample: &DeliverySample, rtt: Duration) {
        self.losses.0 += sample.newly_lost;
        self.losses.1 += sample.newly_delivered + sample.newly_lost;
        let (lost, all) = self.losses;
        if all <= LOSS_SCOPE || sample.now.saturating_since(self.losses_from) <= rtt * 2 {
            return;
        }
        self.losses = (0, 0);
        self.losses_from = sample.now;
        if f64::from(lost) > LOSS_MAX * f64::from(all) {
            self.exact.segments *= LOSS_FACTOR;
        }
    }

    /// Sets window and rate.
    fn apply(&mut self, window: &mut SegmentWindow, standing: Duration) {
        self.exact.segments = self.exact.segments.max(WINDOW_MIN);
        self.exact.set_whole(window);
        let segment = f64::from(window.segment_size());
        self.pacing_rate = PACING_GAIN * self.exact.segments * segment / standing.as_secs_f64().max(1e-6);
    }
}

impl CongestionController for Copa {
    fn needs(&self) -> Needs {
        Needs::PATH_MODEL
    }

    fn on_established(&mut self, window: &SegmentWindow, now: Instant, rtt: Option<Duration>) {
        if let Some(rtt) = rtt.filter(|rtt| !rtt.is_zero()) {
            self.rtt.add(now, rtt, rtt);
            let mut first = *window;
            self.apply(&mut first, rtt);
        }
    }

    fn on_ack(&mut self, _: &mut SegmentWindow, _: &AckSample) {}

    fn on_delivery(&mut self, window: &mut SegmentWindow, sample: &DeliverySample) {
        self.exact.follow(window);
        if let Some(rtt) = sample.rtt.filter(|rtt| !rtt.is_zero()) {
            self.rtt.add(sample.now, rtt, sample.srtt);
        }
        let Some(standing) = self.rtt.standing() else { return };
        let latest = sample.rtt.unwrap_or(standing);
        self.adapt_delta(sample.now, latest, sample.newly_lost > 0);
        if sample.newly_delivered > 0 {
            self.steer(sample, standing);
        }
        self.count_losses(sample, latest);
        self.apply(window, standing);
    }

    fn threshold(&mut self, window: &SegmentWindow) -> u32 {
        window.segments
    }

    fn on_loss(&mut self, _: &mut SegmentWindow, _: &LossEpisode, _: LossCause) {}

    fn on_recovery_exit(&mut self, _: &mut SegmentWindow) {}

    /// mvfst: the minimum window at persistent congestion. The authors' code has no response.
    fn on_timeout(&mut self, window: &mut SegmentWindow, timeout: &TimeoutEpisode) {
        if timeout.new_episode {
            self.before_timeout = self.exact.segments;
        }
        window.restart_from(timeout.restart_segments);
        self.exact = FractionalWindow::new(window);
        self.exact.segments = self.exact.segments.max(WINDOW_MIN);
        self.begin_direction(None);
        self.recorded = None;
    }

    fn on_undo(&mut self, window: &mut SegmentWindow, _: &Snapshot) {
        self.exact.segments = self.exact.segments.max(self.before_timeout);
        self.exact.set_whole(window);
    }

    fn on_segment_size(&mut self, window: &SegmentWindow) {
        self.exact = FractionalWindow::new(window);
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        (self.pacing_rate > 0.0).then_some(BitRate((self.pacing_rate * 8.0) as u64))
    }
}
