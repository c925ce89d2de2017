//! Adaptive receiver-window adjustment, the receiver's half.
//!
//! N. D. Adesh and A. Renuka, "Adaptive Receiver-Window Adjustment for Delay Reduction in LTE Networks", J.
//! Computer Networks and Communications 2019, 3645717, Algorithm 1. The receiver measures the delay of each
//! segment. Every 30 ms, or after more than 15 segments, it compares their rate with the rate of the segment
//! of minimum delay. The next acknowledgment reports the deviation of the sender's window from the required
//! one: a code of 1 to 100 means that the window is too large, a code of 101 to 120 that it is too small,
//! and no code that it is right.
//!
//! ```text
//! DR = bytes / sum of delays;  P_d = 100 − 100 DR / DR_min      (DR_min: of the segment of least delay)
//! case 1   P_d ≥ 90         code = P_d − 30
//! case 2   P_d ≥ 30         code from P_d, 30 and 90
//! case 3   P_d < 20         code = 120 − P_d, from 101 to 120
//! ```
//!
//! With segments of one size `DR / DR_min` is `D_min` over the mean delay: case 1 is a mean of at least
//! ten times the minimum delay, case 2 of 1.43 times, case 3 of less than 1.25 times.
//!
//! The paper's listings are incomplete in our copy. Its text gives the cases, the thresholds, the ranges
//! of the codes and their inputs; where it leaves a choice, [`ArwaReceiver`] has a parameter. In the paper
//! a code is sent in the window field. A sender without support would interpret it as a window of 70
//! bytes, and window scaling would shift it. Here the code has its own option, which both ends must offer,
//! and the window field is unchanged.

use airlane_core::{Bytes, Duration, Instant};

use super::{Arrival, Buffer, Read, ReceiveWindow};
use crate::config::ReceiveBuffer;

/// Section 3.2: "every thirty milliseconds".
const PERIOD: Duration = Duration::from_millis(30);
/// Section 3.2: or when the number of segments is above this.
const SEGMENTS_MAX: u32 = 15;
/// Upper threshold, lower threshold and lowest value (section 3.2), in thousandths of a percent, as P_d.
const UPPER: i64 = 90_000;
const LOWER: i64 = 30_000;
const LOWEST: i64 = 20_000;
/// The resolution of the timestamps option.
const DELAY_MIN_NS: i64 = 1_000_000;

/// How the delay of a segment is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayMeasure {
    /// Our clock minus the sender's timestamp, as in the paper. The ratio of two such delays is valid
    /// only if both clocks agree.
    OneWay,
    /// The additional delay compared with the fastest segment, plus half the minimum round trip: the
    /// offset of the clocks cancels.
    Relative,
    /// The round trip from our own timestamps in the peer's echo.
    RoundTrip,
}

/// The code of case 2, of which the paper gives only the inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseTwo {
    /// `(P_d − 30) · 30 / (90 − 30)`, 0 to 30: well below case 1, as "conservatively" suggests.
    Scaled,
    /// `P_d − 30`, 0 to 60: continuous with case 1.
    Difference,
}

/// Which code is stored if a code was reduced because another was sent in the same 30 ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OldCode {
    /// The reduced code, following the order of the text in section 3.3.
    Lessened,
    /// The code before the reduction.
    Estimated,
}

/// Parameters of an ARWA receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArwaReceiver {
    /// The buffer that it offers ("the default receiver window").
    pub buffer: ReceiveBuffer,
    /// How the delay of a segment is measured.
    pub delay: DelayMeasure,
    /// How far our clock is ahead of the sender's, in nanoseconds.
    pub clock_offset_ns: i64,
    /// Whether short segments, which have a lower rate at the same delay, also count.
    pub short_segments: bool,
    /// The code of case 2.
    pub case_two: CaseTwo,
    /// Which code is stored if a code was reduced.
    pub old_code: OldCode,
    /// How long the segment of least delay is kept before another one is sought; `None` for the whole session.
    pub forget_after: Option<Duration>,
}

/// A receiver's code about the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// Case of the code, 1 to 3.
    pub case: u8,
    /// Value of the code, 1 to 120.
    pub value: u8,
}

/// The policy.
#[derive(Clone, Copy, Debug)]
pub struct ArwaWindow {
    config: ArwaReceiver,
    buffer: Buffer,
    clock: Delays,
    /// Largest payload so far.
    largest: u64,
    /// Delay and payload of the segment of minimum delay, and since when it is sought.
    least: Option<(u64, u64)>,
    least_since: Instant,
    /// Since the last estimate: payload, delays in ns, segments; and the time of that estimate.
    bytes: u64,
    delay_sum: u64,
    segments: u32,
    estimated_at: Instant,
    old: i64,
    code: Option<Code>,
}

/// The measurement of delays, and its state.
#[derive(Clone, Copy, Debug)]
struct Delays {
    measure: DelayMeasure,
    offset_ns: i64,
    last_echo: Option<u32>,
    /// Minimum difference of the clocks and minimum round trip, in ns.
    least_difference: i64,
    least_round_trip: i64,
}

impl Delays {
    /// The delay of a segment in ns; `None` if it cannot be measured.
    fn of(&mut self, arrival: &Arrival) -> Option<u64> {
        let now_ms = crate::header::timestamp(arrival.now);
        let since = |ms: u32| i64::from(now_ms.wrapping_sub(ms) as i32) * 1_000_000;
        let round_trip = arrival.echo.filter(|_| arrival.echo != self.last_echo).map(|echo| {
            self.last_echo = Some(echo);
            since(echo).max(DELAY_MIN_NS)
        });
        if let Some(rtt) = round_trip {
            self.least_round_trip = self.least_round_trip.min(rtt);
        }
        // The sender's timestamp is in milliseconds, our clock has its full resolution.
        let part = (arrival.now.as_nanos() % 1_000_000) as i64;
        let difference = arrival.timestamp.map(|ms| since(ms) + part + self.offset_ns);
        let delay = match self.measure {
            DelayMeasure::OneWay => difference?,
            DelayMeasure::Relative => {
                self.least_difference = self.least_difference.min(difference?);
                if self.least_round_trip == i64::MAX {
                    return None;
                }
                difference? - self.least_difference + self.least_round_trip / 2
            }
            DelayMeasure::RoundTrip => round_trip?,
        };
        Some(delay.max(DELAY_MIN_NS) as u64)
    }
}

impl ArwaWindow {
    /// For segments of `segment_size`.
    #[must_use]
    pub fn new(config: ArwaReceiver, segment_size: Bytes) -> Self {
        Self {
            config,
            buffer: Buffer::new(config.buffer, segment_size),
            clock: Delays {
                measure: config.delay,
                offset_ns: config.clock_offset_ns,
                last_echo: None,
                least_difference: i64::MAX,
                least_round_trip: i64::MAX,
            },
            largest: 0,
            least: None,
            least_since: Instant::ZERO,
            bytes: 0,
            delay_sum: 0,
            segments: 0,
            estimated_at: Instant::ZERO,
            old: 0,
            code: None,
        }
    }

    fn measure(&mut self, arrival: &Arrival) {
        let payload = arrival.bytes.get();
        if payload == 0 || (!self.config.short_segments && payload < self.largest) {
            return;
        }
        let Some(delay) = self.clock.of(arrival) else { return };
        if payload > self.largest {
            self.largest = payload;
            if !self.config.short_segments {
                // The segments measured before were not full segments.
                (self.least, self.bytes, self.delay_sum, self.segments) = (None, 0, 0, 0);
            }
        }
        self.forget(arrival.now);
        if self.least.is_none_or(|(least, _)| delay < least) {
            self.least = Some((delay, payload));
        }
        self.bytes += payload;
        self.delay_sum += delay;
        self.segments += 1;
        let elapsed = arrival.now.saturating_since(self.estimated_at);
        if elapsed >= PERIOD || self.segments > SEGMENTS_MAX {
            self.code = self.estimate(elapsed < PERIOD);
            (self.bytes, self.delay_sum, self.segments) = (0, 0, 0);
            self.estimated_at = arrival.now;
        }
    }

    /// Section 3.1, future work: a device that moves fast resets the minimum, because the delay without queues changes
    /// with its place.
    fn forget(&mut self, now: Instant) {
        if self.config.forget_after.is_some_and(|after| now.saturating_since(self.least_since) >= after) {
            (self.least, self.least_since) = (None, now);
        }
    }

    /// P_d in thousandths of a percent.
    fn difference(&self) -> i64 {
        let (delay, size) = self.least.expect("there is one once a segment was measured");
        let rate = u128::from(self.bytes) * u128::from(delay);
        let without_congestion = u128::from(size) * u128::from(self.delay_sum);
        100_000 - (100_000 * rate / without_congestion) as i64
    }

    /// The code of the segments since the last estimate; `early` if that is less than a period ago.
    fn estimate(&mut self, early: bool) -> Option<Code> {
        let difference = self.difference();
        let (case, value) = if difference >= UPPER {
            (1, (difference - LOWER) / 1000)
        } else if difference >= LOWER {
            let above = difference - LOWER;
            let scaled = match self.config.case_two {
                CaseTwo::Scaled => above * LOWER / (UPPER - LOWER),
                CaseTwo::Difference => above,
            };
            (2, scaled / 1000)
        } else if difference < LOWEST {
            (3, ((120_000 - difference) / 1000).clamp(101, 120))
        } else {
            self.old = 0;
            return None;
        };
        let value = if case == 3 || !early {
            self.old = 0;
            value
        } else {
            self.lessen(value)
        };
        Some(Code { case, value: value.max(1) as u8 })
    }

    /// Section 3.3: of codes that follow each other within a period, the second and later ones are reduced
    /// to their excess over the previous one.
    fn lessen(&mut self, value: i64) -> i64 {
        let lessened = if value > self.old { value - self.old } else { value };
        self.old = match self.config.old_code {
            OldCode::Lessened => lessened,
            OldCode::Estimated => value,
        };
        lessened
    }
}

impl ReceiveWindow for ArwaWindow {
    fn on_established(&mut self, now: Instant) {
        self.buffer.on_established(now);
        (self.estimated_at, self.least_since) = (now, now);
    }

    fn on_data(&mut self, arrival: &Arrival, held: Bytes) -> bool {
        self.measure(arrival);
        self.buffer.on_data(arrival, held)
    }

    fn on_read(&mut self, read: &Read) {
        self.buffer.on_read(read);
    }

    fn first_offer(&self, segment: Bytes) -> Bytes {
        self.buffer.first_offer(segment)
    }

    fn advertise(&self, held: Bytes) -> Bytes {
        self.buffer.advertise(held)
    }

    fn ceiling(&self) -> Bytes {
        self.buffer.ceiling()
    }

    fn take_code(&mut self) -> Option<Code> {
        self.code.take()
    }
}

#[cfg(test)]
mod tests;
