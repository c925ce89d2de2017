//! Dynamic receive window adjustment: the receiver keeps the queue of the path short by the window that
//! it offers.
//!
//! H. Jiang, Y. Wang, K. Lee and I. Rhee, "Tackling bufferbloat in 3G/4G networks", IMC 2012, Algorithm 1
//! (also IEEE Trans. Mobile Computing 15(11), 2016). Once in a round trip, when the application reads:
//!
//! ```text
//! cwnd_est = α cwnd_est + (1 − α) data received since the last time
//! rwnd     = λ (RTT_min / RTT_est) cwnd_est
//! ```
//!
//! with λ = 3 and α = 7/8 by default. `RTT_est` is the mean of the round trips from timestamps since the last
//! update, `RTT_min` the minimum of those means, and the first `cwnd_est` the amount received in the first
//! round trip.
//!
//! The paper leaves the minimum window open. Here a window is never below a configurable floor, in segments.
//! With a floor of 0 the original rule applies: it can offer less than a segment, and the sender then waits
//! for its persist timer.

use airlane_core::{Bytes, Duration, Instant};

use super::{Arrival, Buffer, Read, ReceiveWindow};
use crate::config::ReceiveBuffer;

/// The unit of λ and α.
const SCALE: u128 = 1_000_000;

/// Parameters of a DRWA receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrwaReceiver {
    /// The buffer, which is offered until the end of the first round trip.
    pub buffer: ReceiveBuffer,
    /// Minimum window in segments; 0 for none.
    pub floor_segments: u32,
    /// λ, the ratio of the offer to the window of an empty path, in millionths.
    pub lambda_millionths: u64,
    /// α, the weight of the previous estimate, in millionths; below 1,000,000.
    pub alpha_millionths: u32,
}

impl DrwaReceiver {
    /// λ = 3 and α = 7/8, as in the paper.
    pub const PAPER: (u64, u32) = (3_000_000, 875_000);
}

/// The policy.
#[derive(Clone, Copy, Debug)]
pub struct DrwaWindow {
    buffer: Buffer,
    floor: u64,
    lambda: u128,
    alpha: u128,
    /// Round trips since the last update: their sum, their number, and the echo of the last one.
    rtt_sum: Duration,
    rtt_samples: u32,
    last_echo: Option<u32>,
    rtt_est: Duration,
    rtt_min: Duration,
    /// Bytes read until the last update, and its time.
    read_to: u64,
    updated_at: Instant,
    /// Estimate of the sender's window; `None` before the end of the first round trip.
    window_est: Option<u64>,
    offer: u64,
}

impl DrwaWindow {
    /// For segments of `segment_size`.
    #[must_use]
    pub fn new(config: DrwaReceiver, segment_size: Bytes) -> Self {
        Self {
            buffer: Buffer::new(config.buffer, segment_size),
            floor: u64::from(config.floor_segments) * segment_size.get(),
            lambda: u128::from(config.lambda_millionths),
            alpha: u128::from(config.alpha_millionths),
            rtt_sum: Duration::ZERO,
            rtt_samples: 0,
            last_echo: None,
            rtt_est: Duration::ZERO,
            rtt_min: Duration::ZERO,
            read_to: 0,
            updated_at: Instant::ZERO,
            window_est: None,
            offer: u64::MAX,
        }
    }

    /// Takes a sample for each of our segments that the peer answers; further segments that answer the same one have no
    /// new information.
    fn measure(&mut self, arrival: &Arrival) {
        let Some(echo) = arrival.echo.filter(|_| arrival.echo != self.last_echo) else { return };
        self.last_echo = Some(echo);
        let ms = (crate::header::timestamp(arrival.now)).wrapping_sub(echo).clamp(1, 0x7fff_ffff);
        self.on_round_trip(Duration::from_millis(u64::from(ms)));
    }

    /// A measured round trip. Timestamps give one themselves in `on_data`; this is for a receiver that
    /// measures elsewhere.
    pub fn on_round_trip(&mut self, sample: Duration) {
        self.rtt_sum += sample;
        self.rtt_samples += 1;
        if self.rtt_est.is_zero() {
            self.rtt_est = sample; // the duration of the first round
        }
    }

    fn update(&mut self, read: &Read) {
        if self.rtt_samples > 0 {
            self.rtt_est = self.rtt_sum / u64::from(self.rtt_samples);
            (self.rtt_sum, self.rtt_samples) = (Duration::ZERO, 0);
        }
        if self.rtt_min.is_zero() || self.rtt_est < self.rtt_min {
            self.rtt_min = self.rtt_est;
        }
        let received = read.total - self.read_to;
        let estimate = match self.window_est {
            None => received,
            Some(window) => {
                let weighted = u128::from(window) * self.alpha + u128::from(received) * (SCALE - self.alpha);
                u64::try_from(weighted / SCALE).expect("a mean of two that fit")
            }
        };
        self.window_est = Some(estimate);
        let offer = self.lambda * u128::from(estimate) * u128::from(self.rtt_min.as_nanos())
            / (SCALE * u128::from(self.rtt_est.as_nanos()));
        self.offer = u64::try_from(offer).unwrap_or(u64::MAX).max(self.floor);
        (self.read_to, self.updated_at) = (read.total, read.now);
    }
}

impl ReceiveWindow for DrwaWindow {
    fn on_established(&mut self, now: Instant) {
        self.buffer.on_established(now);
        self.updated_at = now;
    }

    fn on_data(&mut self, arrival: &Arrival, held: Bytes) -> bool {
        self.measure(arrival);
        self.buffer.on_data(arrival, held)
    }

    fn on_read(&mut self, read: &Read) {
        self.buffer.on_read(read);
        if self.last_echo.is_none() {
            self.rtt_est = read.rtt; // without timestamps: the time for a window of data
        }
        if !self.rtt_est.is_zero() && read.now.saturating_since(self.updated_at) >= self.rtt_est {
            self.update(read);
        }
    }

    fn first_offer(&self, segment: Bytes) -> Bytes {
        self.buffer.first_offer(segment).min(Bytes(self.offer))
    }

    fn advertise(&self, held: Bytes) -> Bytes {
        self.buffer.advertise(held).min(Bytes(self.offer))
    }

    fn ceiling(&self) -> Bytes {
        self.buffer.ceiling()
    }
}

#[cfg(test)]
mod tests;
