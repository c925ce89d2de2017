//! When a frame is decoded and shown: the timing of libwebrtc's receiver (`modules/video_coding/timing/timing.cc` and
//! `video/timing/timestamp_extrapolator.cc` at f3ae3eb).
//!
//! A frame is shown at the arrival time that is expected for its media time, and the current delay later. The delay follows
//! the jitter estimate. The clocks of a simulation have the same rate, so the expected arrival is the mean difference between
//! arrival and media time, where libwebrtc estimates the rate of the sender's clock, too. Decoding takes no time.

use airlane_core::{Duration, Instant};

use super::jitter::JitterEstimator;
use crate::wire::Unwrapper;

/// From the release of a frame to the decoder until it is on the display (`kDefaultRenderDelay`).
const RENDER_DELAY: Duration = Duration::from_millis(10);
/// The longest playout delay (`timing.h`, `max_playout_delay`).
const DELAY_MAX: Duration = Duration::from_secs(10);
/// The detector of changes of the delay: threshold, drift and largest error, in steps of 1/90 ms
/// (`timestamp_extrapolator.h`).
const ALARM: f64 = 60e3;
const DRIFT: f64 = 6_600.0;
const ERROR_MAX: f64 = 7_000.0;
/// Frames until the detector is used (`kStartUpFilterDelayInPackets`).
const STARTUP: u32 = 2;
/// Time without a frame after which all is forgotten (`hard_reset_timeout`).
const TIMEOUT: Duration = Duration::from_secs(10);
/// Steps of the clock of video per second.
const CLOCK: f64 = 90_000.0;

/// The expected arrival of frames.
#[derive(Clone, Debug, Default)]
struct ExpectedArrival {
    times: Unwrapper<32>,
    /// The mean of arrival less media time in steps, and the frames in it.
    offset: f64,
    weight: f64,
    frames: u32,
    /// Accumulated deviations above and below.
    deviations: [f64; 2],
    before: Option<(Instant, u64)>,
}

impl ExpectedArrival {
    fn update(&mut self, now: Instant, timestamp: u32) {
        if self.before.is_some_and(|(at, _)| now.saturating_since(at) > TIMEOUT) {
            *self = Self { times: self.times, ..Self::default() };
        }
        let time = self.times.extend(u64::from(timestamp));
        let reordered = self.before.is_some_and(|(_, before)| time < before);
        let difference = steps(now) - time as f64;
        let residual = self.offset - difference;
        if self.frames == 0 {
            self.offset = difference;
        } else if self.changes(residual) && self.frames >= STARTUP {
            self.weight = 0.0;
        }
        self.before = Some((now, self.before.map_or(time, |(_, before)| before.max(time))));
        if reordered {
            return;
        }
        self.weight += 1.0;
        self.frames = (self.frames + 1).min(STARTUP);
        self.offset += (difference - self.offset) / self.weight;
    }

    /// Whether the delay has changed (CUSUM test).
    fn changes(&mut self, residual: f64) -> bool {
        let error = residual.clamp(-ERROR_MAX, ERROR_MAX);
        let [above, below] = &mut self.deviations;
        *above = (*above + error - DRIFT).max(0.0);
        *below = (*below + error + DRIFT).min(0.0);
        let alarm = *above > ALARM || *below < -ALARM;
        if alarm {
            self.deviations = [0.0; 2];
        }
        alarm
    }

    fn of(&self, timestamp: u32) -> Instant {
        let time = self.times.peek(u64::from(timestamp)) as f64;
        Instant::ZERO + Duration::from_secs_f64(((time + self.offset) / CLOCK).max(0.0))
    }
}

fn steps(at: Instant) -> f64 {
    at.as_nanos() as f64 * (CLOCK / 1e9)
}

/// The timing of a receiver.
#[derive(Clone, Debug)]
pub(super) struct Playout {
    expected: ExpectedArrival,
    jitter: JitterEstimator,
    current: Duration,
    target: Duration,
    /// Arrival and media time of the frame before.
    before: Option<(Instant, u64)>,
    times: Unwrapper<32>,
}

impl Playout {
    pub(super) fn new() -> Self {
        Self {
            expected: ExpectedArrival::default(),
            jitter: JitterEstimator::new(),
            current: Duration::ZERO,
            target: RENDER_DELAY,
            before: None,
            times: Unwrapper::default(),
        }
    }

    /// A frame is complete.
    pub(super) fn on_complete(&mut self, now: Instant, timestamp: u32, retransmitted: bool) {
        if !retransmitted {
            self.expected.update(now, timestamp);
        }
    }

    /// The time at which a frame must be on the display.
    pub(super) fn shown_at(&self, timestamp: u32) -> Instant {
        self.expected.of(timestamp) + self.current.min(DELAY_MAX)
    }

    /// The time at which it must be released to the decoder.
    pub(super) fn released_at(&self, timestamp: u32) -> Instant {
        let shown = self.shown_at(timestamp);
        Instant::from_nanos(shown.as_nanos().saturating_sub(RENDER_DELAY.as_nanos()))
    }

    /// A frame is released: its last packet arrived at `arrived`.
    pub(super) fn on_release(&mut self, now: Instant, frame: &super::frames::PartialFrame, rtt: Duration) {
        let shown_at = self.shown_at(frame.timestamp);
        if frame.retransmitted {
            return self.jitter.on_retransmitted(now);
        }
        let time = self.times.extend(u64::from(frame.timestamp));
        let variation = match self.before {
            None => Some(0.0),
            Some((at, before)) if time > before => {
                let [arrival, media] = [steps(frame.last_at) - steps(at), (time - before) as f64];
                Some((arrival - media) / 90.0)
            }
            Some(_) => None,
        };
        if let Some(variation) = variation {
            self.before = Some((frame.last_at, time));
            self.jitter.update(now, variation, frame.bytes as f64);
        }
        let jitter = self.jitter.estimate(now, rtt);
        self.target = jitter + RENDER_DELAY;
        if self.current.is_zero() {
            self.current = jitter;
        }
        // The delay grows as far as the frame is late.
        if now + RENDER_DELAY >= shown_at {
            self.current = (self.current + (now + RENDER_DELAY - shown_at)).min(self.target);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::frames::{Frames, VideoArrival};
    use super::*;
    use crate::wire::{RtpHeader, VideoPayload};

    /// Frame `number` of 30 per second, which arrives at this time: when it is shown.
    fn play(playout: &mut Playout, number: u64, arrival: Instant) -> Instant {
        let header = RtpHeader {
            payload_type: 96,
            marker: true,
            sequence: 0,
            timestamp: 3_000 * number as u32,
            ssrc: 1,
            transport_sequence: 0,
            padding: 0,
            csrc: None,
        };
        let payload = VideoPayload { picture: 0, begins: true, key: true, len: 1_000 };
        let mut frames = Frames::default();
        frames.insert(arrival, &VideoArrival { number: 0, header, payload, retransmitted: false });
        let (frame, _) = frames.decode(0);
        playout.on_complete(arrival, frame.timestamp, false);
        let released = playout.released_at(frame.timestamp).max(arrival);
        playout.on_release(released, &frame, Duration::from_millis(50));
        playout.shown_at(frame.timestamp).max(arrival)
    }

    /// 40 ms of path: after 40 ms, and the least target (1 ms of noise, 10 ms of the operating system, 10 ms to render) later.
    #[test]
    fn steady_frames_are_shown_after_the_least_delay() {
        let mut playout = Playout::new();
        let captured = |i: u64| Instant::from_nanos(i * 100_000_000 / 3);
        let delays: Vec<f64> = (0..300)
            .map(|i| {
                let arrival = captured(i) + Duration::from_millis(40);
                (play(&mut playout, i, arrival) - captured(i)).as_millis_f64()
            })
            .collect();
        let last = delays[299];
        assert!((55.0..63.0).contains(&last), "{last}");
        assert!((delays[280] - last).abs() < 1.0);
    }

    /// Arrivals 0 and 60 ms late in turn: the buffer makes the display even.
    #[test]
    fn jitter_is_removed() {
        let mut playout = Playout::new();
        let captured = |i: u64| Instant::from_nanos(i * 100_000_000 / 3);
        let late = |i: u64| Duration::from_millis(if i.is_multiple_of(2) { 40 } else { 100 });
        let shown: Vec<_> = (0..600).map(|i| play(&mut playout, i, captured(i) + late(i))).collect();
        let intervals: Vec<f64> =
            shown[300..].windows(2).map(|pair| (pair[1] - pair[0]).as_millis_f64()).collect();
        let [least, most] =
            [intervals.iter().copied().fold(1e9, f64::min), intervals.iter().copied().fold(0.0, f64::max)];
        assert!(least > 28.0 && most < 39.0, "{least} to {most}");
    }
}
