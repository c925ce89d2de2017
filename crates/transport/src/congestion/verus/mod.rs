//! Verus (Zaki, Pötsch, Chen, Subramanian and Görg, "Adaptive Congestion Control for Unpredictable Cellular Networks",
//! SIGCOMM 2015): the sender learns which delay follows from which window, and moves a set point of the delay on that curve.
//!
//! In each epoch of 5 ms the set point falls by 2 ms where the delay is above six times its minimum, falls by 1 ms where the
//! delay has risen, and else rises by 2 ms. The window is that of the set point on the curve, which is fitted again each
//! second. With W for the window, F for the packets in flight and n epochs in a round trip, W + F (2 − n) / (n − 1) packets
//! are sent in the epoch. A loss reduces the window to 0.7 of that with which the packet was sent; until a packet with no
//! larger window arrives, the window grows by a packet in each round trip, and the curve learns nothing.
//!
//! The source is the authors' code, yzaki/verus 4b1bbf04, `src/verus_server.cpp`; the paper was not read. As there, the
//! newest delay has a weight of 0.8 in the mean of the maximum delay.
//!
//! *Departures.* An epoch is noticed at the next acknowledgment or packet. Its packets are paced over it, at least one each
//! 5 ms, and are limited by the number in flight at which the formula has none left. Losses and timeouts are those of TCP and
//! QUIC, where the code waits 150 ms for a missing packet and five delays, at most 1 s, for an acknowledgment. A connection
//! begins with its initial window. An acknowledgment for several packets gives one delay. A window of which less than half is
//! in use does not grow (RFC 9002 §7.8), and without data in flight there are no epochs. The curve exists from the end of slow
//! start on, and has at most 100 nodes.

mod profile;
mod sent;
mod spline;
#[cfg(test)]
mod tests;

use airlane_core::{BitRate, Duration, Instant};

use self::profile::{Curve, Measured};
use self::sent::SentWindows;
use super::{
    AckSample, CongestionController, DeliverySample, LossCause, LossEpisode, Needs, Restart, SegmentWindow,
    Snapshot, TimeoutEpisode, Transmission,
};

// `verus.hpp`, in milliseconds where no unit is named.
/// `EPOCH`.
const EPOCH: Duration = Duration::from_millis(5);
const EPOCH_MS: f64 = 5.0;
/// `DELTA1` and `DELTA2`.
const STEP_DOWN: f64 = 1.0;
const STEP: f64 = 2.0;
/// `VERUS_R`.
const RATIO_MAX: f64 = 6.0;
/// `VERUS_M_DECREASE`.
const LOSS_FACTOR: f64 = 0.7;
/// `SS_EXIT_THRESHOLD`.
const SLOW_START_DELAY_MAX: f64 = 500.0;
/// `CURVE_TIMER`.
const CURVE_PERIOD: Duration = Duration::from_secs(1);

// `verus_server.cpp`.
/// Weights of the values before in the mean delay and in that of the maximum delay.
const DELAY_KEPT: f64 = 0.875;
const MAXIMUM_KEPT: f64 = 0.2;
/// A rise of the delay.
const RISE_MIN: f64 = 1e-4;
/// The step by which the minimum delay grows where the last packet in flight is above the ratio.
const MINIMUM_STEP: f64 = 10.0;
/// The window from which on a loss ends slow start, and the least window from which on the curve is forgotten then.
const SLOW_START_LOSS_WINDOW: f64 = 20.0;
const FORGOTTEN_MIN: u32 = 100;
/// After a longer pause without acknowledgments no more epochs are made up for (choice).
const EPOCHS_MAX: u32 = 200;

/// The delays in milliseconds.
#[derive(Clone, Copy, Debug)]
struct Delays {
    /// Of the epoch; `None` before the first packet in it.
    epoch_max: Option<f64>,
    /// The mean of the maxima of the epochs.
    maximum: Option<f64>,
    mean: f64,
    minimum: f64,
    latest_at: Instant,
}

impl Delays {
    const NONE: Self =
        Self { epoch_max: None, maximum: None, mean: 0.0, minimum: 1000.0, latest_at: Instant::ZERO };

    fn add(&mut self, now: Instant, delay: f64) {
        self.epoch_max = Some(self.epoch_max.map_or(delay, |most| most.max(delay)));
        self.mean = DELAY_KEPT * self.mean + (1.0 - DELAY_KEPT) * delay;
        self.minimum = self.minimum.min(delay);
        self.latest_at = now;
    }

    /// Ends an epoch. Returns the mean of the maxima before it, and by how much its maximum is above it.
    fn end_epoch(&mut self, now: Instant) -> (f64, f64) {
        let silence = now.saturating_since(self.latest_at).as_secs_f64() * 1e3;
        let newest =
            self.epoch_max.take().unwrap_or_else(|| self.maximum.map_or(silence, |mean| mean.max(silence)));
        let before = self.maximum.unwrap_or(newest);
        self.maximum = Some(MAXIMUM_KEPT * before + (1.0 - MAXIMUM_KEPT) * newest);
        (before, newest - before)
    }

    /// Epochs in a round trip.
    fn epochs(&self) -> f64 {
        libm::ceil(self.mean / EPOCH_MS)
    }
}

/// The phase of a connection.
#[derive(Clone, Debug)]
enum Mode {
    SlowStart,
    /// With the curve, the times of its next fit and of the next end of an epoch.
    Steady {
        curve: Curve,
        fit_at: Instant,
        epoch_at: Instant,
    },
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Verus {
    mode: Mode,
    /// The window in packets.
    window: f64,
    /// The delay that is aimed at, in milliseconds.
    set_point: f64,
    delays: Delays,
    measured: Measured,
    sent: SentWindows,
    in_flight: u32,
    /// Packets of this epoch.
    budget: f64,
    /// Nothing is sent in this epoch.
    holds: bool,
    /// Bytes per second; `None` in slow start, which follows acknowledgments.
    rate: Option<f64>,
    /// After a loss, until a packet with a window no larger than now arrives; and the same after a delay that ended slow
    /// start.
    after_loss: bool,
    after_delay: bool,
    /// Numbers of the newest packet that this acknowledgment delivers, and of the oldest that it shows to be lost.
    delivered: Option<u64>,
    lost: Option<u64>,
}

impl Verus {
    /// A controller in its initial state.
    #[must_use]
    pub fn new(window: &SegmentWindow) -> Self {
        Self {
            mode: Mode::SlowStart,
            window: f64::from(window.segments),
            set_point: 0.0,
            delays: Delays::NONE,
            measured: Measured::default(),
            sent: SentWindows::default(),
            in_flight: 0,
            budget: 0.0,
            holds: false,
            rate: None,
            after_loss: false,
            after_delay: false,
            delivered: None,
            lost: None,
        }
    }

    const fn in_slow_start(&self) -> bool {
        matches!(self.mode, Mode::SlowStart)
    }

    /// `restartSlowStart`: forgets all, also of the packets in flight.
    fn restart(&mut self) {
        *self = Self { in_flight: self.in_flight, ..Self::new(&SegmentWindow::new(1, 1)) };
    }

    /// Ends slow start with a first curve.
    fn end_slow_start(&mut self, now: Instant) {
        let Some(curve) = self.measured.curve() else { return self.restart() };
        self.set_point = curve.delay(self.window).max(self.delays.minimum);
        self.mode = Mode::Steady { curve, fit_at: now + CURVE_PERIOD, epoch_at: now + EPOCH };
        self.budget = self.packets();
    }

    /// A delay of a packet that was sent with this window, and the number of packets that arrived with it.
    fn on_delay(&mut self, now: Instant, delay: f64, sent_with: u32, arrived: u32) {
        if self.in_slow_start() && delay > SLOW_START_DELAY_MAX {
            self.window = (LOSS_FACTOR * f64::from(sent_with)).max(1.0);
            (self.after_loss, self.after_delay) = (true, true);
            self.end_slow_start(now);
        }
        if self.after_loss && f64::from(sent_with) <= self.window {
            (self.after_loss, self.after_delay) = (false, false);
            self.delays.epoch_max = None;
        }
        self.delays.add(now, delay);
        if self.after_loss {
            self.window += f64::from(arrived) / self.window;
            if let Mode::Steady { curve, .. } = &self.mode {
                self.set_point = self.set_point.min(curve.delay(self.window));
            }
        } else {
            self.measured.add(sent_with, delay);
        }
    }

    /// A packet that was sent with this window is lost.
    fn on_lost(&mut self, now: Instant, sent_with: u32) {
        if !self.after_loss {
            self.after_loss = true;
            self.window = self.window.min(LOSS_FACTOR * f64::from(sent_with)).max(1.0);
            if let Mode::Steady { curve, .. } = &self.mode {
                self.set_point = curve.delay(self.window);
            }
        }
        if self.in_slow_start() && self.window > SLOW_START_LOSS_WINDOW {
            self.measured.truncate(sent_with.max(FORGOTTEN_MIN));
            self.end_slow_start(now);
        }
    }

    /// Ends the epochs up to now.
    fn end_epochs(&mut self, now: Instant) {
        for _ in 0..EPOCHS_MAX {
            let Mode::Steady { epoch_at, .. } = &mut self.mode else { return };
            let at = *epoch_at;
            if at > now {
                return;
            }
            *epoch_at = at + EPOCH;
            self.end_epoch(at);
        }
        if let Mode::Steady { epoch_at, .. } = &mut self.mode {
            *epoch_at = now + EPOCH;
        }
    }

    fn end_epoch(&mut self, now: Instant) {
        let (maximum, rise) = self.delays.end_epoch(now);
        self.holds = false;
        if maximum / self.delays.minimum > RATIO_MAX {
            self.recede();
        } else if rise > RISE_MIN {
            self.set_point = (self.set_point - STEP_DOWN).max(self.delays.minimum);
        } else if f64::from(self.in_flight) * 2.0 >= self.window {
            self.set_point += STEP;
        }
        let Mode::Steady { curve, fit_at, .. } = &mut self.mode else { return };
        if *fit_at <= now {
            *fit_at = now + CURVE_PERIOD;
            match self.measured.curve() {
                Some(fitted) => *curve = fitted,
                None => return self.restart(),
            }
        }
        match curve.window(self.set_point) {
            Some(window) => self.window = window.max(1.0),
            None => return self.restart(),
        }
        self.budget = self.packets();
    }

    /// The delay is above the ratio.
    fn recede(&mut self) {
        if self.after_delay {
            return;
        }
        let minimum = self.delays.minimum;
        self.set_point = (self.set_point - STEP).max(minimum);
        if self.set_point > minimum {
            return;
        }
        if self.in_flight < 2 {
            self.delays.minimum += MINIMUM_STEP;
        } else {
            self.holds = true;
        }
    }

    /// The packets of an epoch (`calcSi`).
    fn packets(&self) -> f64 {
        let (n, in_flight) = (self.delays.epochs(), f64::from(self.in_flight));
        let packets =
            if n > 1.0 { self.window + in_flight * (2.0 - n) / (n - 1.0) } else { self.window - in_flight };
        libm::floor(packets.max(0.0))
    }

    /// The packets in flight after which an epoch has none.
    fn in_flight_max(&self) -> f64 {
        let n = self.delays.epochs();
        if self.holds {
            f64::from(self.in_flight)
        } else if self.in_slow_start() || n <= 1.0 {
            self.window
        } else if n <= 2.0 {
            f64::from(self.in_flight) + self.budget
        } else {
            libm::floor((self.window - 1.0) * (n - 1.0) / (n - 2.0)) + 1.0
        }
    }

    fn apply(&mut self, window: &mut SegmentWindow) {
        window.segments = self.in_flight_max().max(1.0) as u32;
        let bytes = self.budget.max(1.0) * f64::from(window.segment_size());
        self.rate = (!self.in_slow_start()).then_some(bytes / EPOCH.as_secs_f64());
    }
}

impl CongestionController for Verus {
    fn needs(&self) -> Needs {
        Needs { transmissions: true, ..Needs::PATH_MODEL }
    }

    fn on_restart(&mut self, _: &mut SegmentWindow, restart: &Restart) {
        self.in_flight = 0;
        self.delays.latest_at = restart.now;
        self.delays.epoch_max = None;
        if let Mode::Steady { epoch_at, .. } = &mut self.mode {
            *epoch_at = restart.now + EPOCH;
        }
    }

    fn on_sent(&mut self, window: &mut SegmentWindow, packet: &Transmission) {
        self.end_epochs(packet.now);
        self.sent.on_sent(packet.number, self.window as u32);
        self.in_flight += 1;
        self.apply(window);
    }

    fn on_transmission_delivered(&mut self, number: u64) {
        self.delivered = Some(self.delivered.map_or(number, |newest| newest.max(number)));
    }

    fn on_transmission_lost(&mut self, number: u64) {
        self.lost = Some(self.lost.map_or(number, |oldest| oldest.min(number)));
    }

    fn on_ack(&mut self, _: &mut SegmentWindow, _: &AckSample) {}

    fn on_delivery(&mut self, window: &mut SegmentWindow, sample: &DeliverySample) {
        self.in_flight = sample.prior_in_flight;
        self.end_epochs(sample.now);
        let used = sample.window_limited || 2 * sample.prior_in_flight >= window.segments;
        self.in_flight = sample.in_flight;
        let lost = self.lost.take().and_then(|number| self.sent.window(number));
        if let Some(number) = self.delivered.take() {
            let sent_with = self.sent.window(number);
            if let (Some(rtt), Some(sent_with)) = (sample.rtt, sent_with) {
                self.on_delay(sample.now, rtt.as_secs_f64() * 1e3, sent_with, sample.newly_delivered);
            }
            if sent_with.is_some() && self.in_slow_start() && used {
                self.window += f64::from(sample.newly_delivered);
            }
            self.sent.forget_before(number.saturating_sub(u64::from(sample.in_flight)));
        }
        if let Some(sent_with) = lost {
            self.on_lost(sample.now, sent_with);
        }
        self.apply(window);
    }

    fn threshold(&mut self, window: &SegmentWindow) -> u32 {
        window.segments
    }

    /// A mark is a loss of a packet that was sent with this window (RFC 3168 §5).
    fn on_loss(&mut self, window: &mut SegmentWindow, loss: &LossEpisode, _: LossCause) {
        if loss.marked {
            self.on_lost(loss.now, loss.window_segments);
            self.apply(window);
        }
    }

    fn on_recovery_exit(&mut self, _: &mut SegmentWindow) {}

    /// `TimeoutHandler`, with the window of loss recovery until the next acknowledgment.
    fn on_timeout(&mut self, window: &mut SegmentWindow, timeout: &TimeoutEpisode) {
        self.lost = None;
        if self.in_slow_start() {
            self.window = 1.0;
            self.end_slow_start(timeout.now);
        } else {
            self.after_loss = true;
        }
        self.in_flight = 0;
        self.set_point = self.delays.minimum;
        window.restart_from(timeout.restart_segments);
    }

    fn on_undo(&mut self, window: &mut SegmentWindow, _: &Snapshot) {
        self.apply(window);
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        self.rate.map(|rate| BitRate((rate * 8.0) as u64))
    }
}
