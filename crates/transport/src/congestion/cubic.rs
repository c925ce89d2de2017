//! CUBIC (RFC 9438) with HyStart, in Linux's variant.
//!
//! The window follows W(t) = C (t - K)^3 + W_max after a loss, never slower than the
//! Reno-friendly estimate W_est. As in Linux, growth is expressed as "one segment per `n`
//! segments delivered", recomputed at most every 1/32 s or when the window moved, with the time
//! in units of 1/1024 s, and the arithmetic is in integers.
//!
//! Its HyStart ([`slow_start`](super::slow_start)) has the smallest round trip of the curve, without the samples of the
//! first second of an epoch.
//!
//! Departures from RFC 9438, all Linux's: W_est starts from the reduced window and always grows by
//! 3(1-β)/(1+β) (§4.3 switches to 1 at W_max); β is 717/1024; C is 410/1024; the reduction uses the
//! window instead of the flight size (§4.6); a timeout resets W_max (§4.8); growth is at most one
//! segment per two delivered; the curve runs on while the application limits the sender (§5.8), and only idle time
//! is excluded. [`CubicEpoch::Rfc9438`] is the RFC's behaviour in the last of these.
//!
//! [`CubicVariant::Picoquic2020`] is picoquic's `cubic.c` of 2020. Its differences: a separate Reno window
//! that starts from half the window at each loss and grows by one segment per window; fast convergence by β;
//! W_max is kept after a timeout; a spurious loss also restores the curve.

use airlane_core::{Bytes, CubicCurve, Duration, Instant};

use super::controller::Law;
use super::slow_start::HyStart;
use super::{
    AckSample, CongestionController, Controller, LossCause, LossEpisode, Needs, Restart, SegmentWindow,
    Snapshot, TimeoutEpisode,
};

const SCALE: u64 = 1024;
/// RFC 9438 §5, C = 0.4, in 1/1024 segments per s³.
const C: u64 = 410;
/// RFC 8511 §3.1: beta_ecn = 0.85 for CUBIC.
const ABE_BETA_1024: u64 = 870;
/// Growth before the first loss: a twentieth of the window per delivered window.
const MAX_DELIVERED_PER_STEP_UNKNOWN: u32 = 20;
/// The variant of CUBIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CubicVariant {
    /// RFC 9438 as in Linux.
    Rfc9438,
    /// picoquic of 2020.
    Picoquic2020,
}

/// The time that the curve does not count (RFC 9438 §5.8: periods in which the window was not updated because of an
/// application limit).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CubicEpoch {
    /// Linux: idle time, in which nothing is in flight (`cubictcp_cwnd_event_tx_start`).
    Linux,
    /// The time in which the sender does not use its window, and idle time.
    Rfc9438,
}

/// Parameters of CUBIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CubicConfig {
    /// The variant.
    pub variant: CubicVariant,
    /// The window after a loss in 1/1024 of the window before, from 1 to 1023 (RFC 9438 §4.6, β).
    pub beta_1024: u32,
    /// The time that the curve does not count.
    pub epoch: CubicEpoch,
}

impl CubicConfig {
    /// β = 0.7, rounded as in Linux.
    pub const RFC9438: Self =
        Self { variant: CubicVariant::Rfc9438, beta_1024: 717, epoch: CubicEpoch::Linux };
    /// β = 7/8 (`picoquic_cubic_reset`).
    pub const PICOQUIC_2020: Self =
        Self { variant: CubicVariant::Picoquic2020, beta_1024: 896, epoch: CubicEpoch::Linux };
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Cubic {
    config: CubicConfig,
    curve: Curve,
    /// The curve before the last loss, for a variant that restores it.
    before: Curve,
    hystart: Option<HyStart>,
    /// Minimum round trip.
    delay_min: Option<Duration>,
    /// Marks reduce the window less than losses (RFC 8511).
    abe: bool,
    /// Since when the window has not been used, if the curve does not count that time.
    unused_since: Option<Instant>,
}

/// The cubic function of the current epoch.
#[derive(Clone, Debug)]
struct Curve {
    config: CubicConfig,
    /// RFC 9438 §4.3: segments delivered per segment of growth of W_est in a window of one, (1+β)/(3(1-β)), in
    /// eighths.
    friendly_eighths: u64,
    /// Delivered segments per segment of growth.
    per_segment: u32,
    /// W_max; zero while unknown.
    w_max: u32,
    /// The window before the last loss, for the variant that compares with it.
    w_last: u32,
    /// Initial W_est of the next epoch.
    w_est_first: u32,
    /// Start of the epoch; `None` after a loss until the next ACK.
    epoch: Option<Instant>,
    /// The plateau of this epoch.
    origin: u32,
    /// K in 1/1024 s.
    k: u64,
    /// Delivered segments since W_est last grew.
    delivered: u32,
    /// W_est.
    w_est: u32,
    /// Time and window for which `per_segment` was computed.
    computed_at: Instant,
    computed_for: u32,
}

impl Cubic {
    /// A controller in its initial state. If the sender paces, trains of ACKs are longer by up to a round
    /// trip.
    #[must_use]
    pub fn new(config: CubicConfig, hystart: bool, paced: bool) -> Self {
        let hystart = hystart.then_some(HyStart::new(paced));
        Self {
            config,
            curve: Curve::new(config),
            before: Curve::new(config),
            hystart,
            delay_min: None,
            abe: false,
            unused_since: None,
        }
    }

    /// An acknowledgment whose window was used, or was not.
    fn note_use(&mut self, now: Instant, used: bool) {
        if self.config.epoch == CubicEpoch::Linux {
            return;
        }
        if !used {
            self.unused_since.get_or_insert(now);
        } else if let Some(since) = self.unused_since.take() {
            self.curve.exclude(since, now);
        }
    }

    /// Delays are measured on another path from now on: resets them.
    pub(super) fn forget_delay(&mut self) {
        self.delay_min = None;
        if let Some(hystart) = &mut self.hystart {
            hystart.forget_delay();
        }
    }

    /// The controller with the smaller reduction at marks of RFC 8511, or without.
    #[must_use]
    pub fn with_abe(self, abe: bool) -> Self {
        Self { abe, ..self }
    }

    /// True in the first second after the epoch began, in which delays are not considered (Linux, `bictcp_acked`).
    pub(super) fn epoch_is_young(&self, now: Instant) -> bool {
        self.curve.epoch.is_some_and(|epoch| now.saturating_since(epoch) < Duration::from_secs(1))
    }

    fn on_delay(&mut self, window: &mut SegmentWindow, rtt: Duration, ack: &AckSample) {
        // Samples right after a loss are affected by the draining queue.
        if self.epoch_is_young(ack.now) {
            return;
        }
        let delay_min = self.delay_min.map_or(rtt, |d| d.min(rtt));
        self.delay_min = Some(delay_min);
        let Some(hystart) = &mut self.hystart else { return };
        if hystart.ends(window, rtt, delay_min, ack) {
            window.ssthresh = window.segments;
        }
    }
}

/// The curve of a window, which only CUBIC has.
pub trait CubicWindow {
    /// The curve in bytes; `None` before the first loss, and with other laws.
    #[must_use]
    fn cubic_curve(&self) -> Option<CubicCurve>;
}

impl CubicWindow for Controller {
    fn cubic_curve(&self) -> Option<CubicCurve> {
        let Law::Cubic(Cubic { curve, .. }) = &self.law else { return None };
        let segment_size = u64::from(self.window.segment_size());
        (curve.w_max > 0).then(|| CubicCurve {
            w_max: Bytes(u64::from(curve.w_max) * segment_size),
            k: curve.epoch.map(|_| Duration::from_nanos(curve.k * 1_000_000_000 / 1024)),
        })
    }
}

impl Curve {
    const fn new(config: CubicConfig) -> Self {
        let beta = config.beta_1024 as u64;
        Self {
            config,
            friendly_eighths: 8 * (SCALE + beta) / 3 / (SCALE - beta),
            per_segment: 0,
            w_max: 0,
            w_last: 0,
            w_est_first: 0,
            epoch: None,
            origin: 0,
            k: 0,
            delivered: 0,
            w_est: 0,
            computed_at: Instant::ZERO,
            computed_for: 0,
        }
    }

    /// Excludes a time from the curve (RFC 9438 §5.8). An epoch that began during it begins at its end.
    fn exclude(&mut self, from: Instant, to: Instant) {
        if let Some(epoch) = &mut self.epoch {
            *epoch = (*epoch + to.saturating_since(from)).min(to);
        }
    }

    /// RFC 9438 §4.2 to §4.5: the number of delivered segments per segment of growth.
    fn update(&mut self, now: Instant, window: u32, delivered: u32, delay_min: Duration) -> u32 {
        self.delivered += delivered;
        let stale = now.saturating_since(self.computed_at) > Duration::from_nanos(1_000_000_000 / 32);
        if self.epoch.is_some() && window == self.computed_for && !stale {
            return self.per_segment;
        }
        // Within one millisecond (Linux's jiffy) the cubic part is constant; only W_est is updated.
        let same_tick = self.computed_at.as_nanos() / 1_000_000 == now.as_nanos() / 1_000_000;
        if self.epoch.is_none() || !same_tick {
            self.follow_curve(now, window, delivered, delay_min);
        }
        self.be_friendly(window);
        self.per_segment = self.per_segment.max(2); // at most 1.5 times per round trip, §4.2
        self.per_segment
    }

    fn follow_curve(&mut self, now: Instant, window: u32, delivered: u32, delay_min: Duration) {
        self.computed_at = now;
        self.computed_for = window;
        let epoch = *self.epoch.get_or_insert_with(|| {
            self.delivered = delivered;
            self.w_est = if self.w_est_first == 0 { window } else { self.w_est_first };
            self.origin = self.w_max.max(window);
            // K = cbrt((W_max - cwnd) / C), RFC 9438 §4.2, in 1/1024 s.
            let distance = f64::from(self.origin - window);
            self.k = (libm::cbrt(distance * SCALE as f64 / C as f64) * 1024.0) as u64;
            now
        });
        // The target is the curve's value one round trip from now, §4.2.
        let elapsed_ms = ((now - epoch) + delay_min).as_nanos().div_ceil(1_000_000);
        let t = elapsed_ms * 1024 / 1000;
        let offset = t.abs_diff(self.k);
        let cube = u128::from(offset) * u128::from(offset) * u128::from(offset);
        let delta = ((cube * u128::from(C)) >> 40).min(u128::from(u32::MAX / 4)) as u32;
        let target = if t < self.k { self.origin.saturating_sub(delta) } else { self.origin + delta };
        self.per_segment = if target > window { window / (target - window) } else { 100 * window };
        if self.w_max == 0 {
            self.per_segment = self.per_segment.min(MAX_DELIVERED_PER_STEP_UNKNOWN);
        }
    }

    /// RFC 9438 §4.3: never slower than Reno with the same average.
    fn be_friendly(&mut self, window: u32) {
        let per_step = match self.config.variant {
            CubicVariant::Rfc9438 => ((u64::from(window) * self.friendly_eighths) >> 3) as u32,
            CubicVariant::Picoquic2020 => self.w_est,
        };
        if per_step > 0 && self.delivered > per_step {
            let steps = (self.delivered - 1) / per_step;
            self.delivered -= steps * per_step;
            self.w_est += steps;
        }
        if self.w_est > window {
            self.per_segment = self.per_segment.min(window / (self.w_est - window));
        }
    }

    /// RFC 9438 §4.6, §4.7: the threshold after a loss; updates W_max.
    fn on_loss(&mut self, window: u32) -> u32 {
        self.epoch = None;
        let beta = u64::from(self.config.beta_1024);
        let scaled = |by: u64| (u64::from(window) * by / SCALE) as u32;
        match self.config.variant {
            CubicVariant::Rfc9438 => {
                self.w_max = if window < self.w_max { scaled(SCALE + beta) / 2 } else { window }; // fast convergence
                scaled(beta)
            }
            CubicVariant::Picoquic2020 => {
                self.w_max = if window < self.w_last { scaled(beta) } else { window };
                self.w_last = window;
                self.w_est_first = window / 2;
                // W_cubic(0) = β W_max, or the Reno window if that is larger.
                ((u64::from(self.w_max) * beta / SCALE) as u32).max(window / 2)
            }
        }
    }
}

impl CongestionController for Cubic {
    fn needs(&self) -> Needs {
        Needs::NOTHING
    }

    fn on_restart(&mut self, _: &mut SegmentWindow, restart: &Restart) {
        // Idle time does not advance the position on the curve (RFC 9438 §5.8).
        if self.unused_since.is_none() {
            self.curve.exclude(restart.last_sent_at, restart.now);
        }
    }

    fn on_ack(&mut self, window: &mut SegmentWindow, ack: &AckSample) {
        if let Some(rtt) = ack.rtt {
            self.on_delay(window, rtt, ack);
        }
        if !ack.may_grow {
            return;
        }
        let used = window.used_by(ack);
        self.note_use(ack.now, used);
        if !used {
            return;
        }
        let mut delivered = ack.delivered_segments;
        if window.in_slow_start() {
            delivered = window.slow_start(delivered);
            if delivered == 0 {
                return;
            }
        }
        let delay_min = self.delay_min.unwrap_or(Duration::ZERO);
        let per_segment = self.curve.update(ack.now, window.segments, delivered, delay_min);
        window.additive_increase(per_segment, delivered);
    }

    /// The window is the plateau.
    fn on_slow_start_exit(&mut self, window: &SegmentWindow) {
        if self.config.variant == CubicVariant::Picoquic2020 {
            let plateau = window.segments;
            self.curve =
                Curve { w_max: plateau, w_last: plateau, w_est_first: plateau, ..Curve::new(self.config) };
        }
    }

    fn threshold(&mut self, window: &SegmentWindow) -> u32 {
        if self.config.variant == CubicVariant::Picoquic2020 {
            self.before = self.curve.clone();
        }
        self.curve.on_loss(window.segments)
    }

    fn on_ecn(&mut self, window: &mut SegmentWindow, episode: &LossEpisode) {
        if self.abe && !window.in_slow_start() {
            // W_max and the end of the epoch are those of a loss.
            self.threshold(window);
            window.reduce_to((u64::from(window.segments) * ABE_BETA_1024 / SCALE) as u32);
        } else {
            self.on_loss(window, episode, LossCause::Congestion);
        }
    }

    fn on_timeout(&mut self, window: &mut SegmentWindow, timeout: &TimeoutEpisode) {
        if timeout.new_episode {
            window.reduce_to(self.threshold(window));
        }
        window.restart_from(timeout.restart_segments);
        if self.config.variant == CubicVariant::Rfc9438 {
            self.curve = Curve::new(self.config);
        }
        self.delay_min = None;
        if let Some(hystart) = &mut self.hystart {
            hystart.restart(timeout.now, timeout.sent_to);
        }
    }

    fn on_undo(&mut self, window: &mut SegmentWindow, snapshot: &Snapshot) {
        window.undo(snapshot);
        if self.config.variant == CubicVariant::Picoquic2020 {
            self.curve = self.before.clone();
        }
    }
}
