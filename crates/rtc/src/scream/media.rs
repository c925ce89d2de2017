//! The target for the media, and the pacer. Draft, "Media Rate Control" and "Packet Pacing".

use std::collections::VecDeque;

use airlane_core::{BitRate, Bytes, Duration, Instant};

use super::window::ReferenceWindow;
use crate::smooth::{ewma, ratio};

/// `PACKET_OVERHEAD`.
const PACKET_OVERHEAD: f64 = 20.0;
/// `frame_period` before two frames were seen.
const FIRST_FRAME_PERIOD: Duration = Duration::from_millis(20);
/// The weight of a new interval between frames (EricssonResearch/scream c8f84c3, `ScreamV2TxStream.cpp`).
const FRAME_PERIOD_GAIN: f64 = 0.9;
/// `RATE_ADJUST_GAIN` and the bound of the factor.
const RATE_ADJUST_GAIN: f64 = 1.0 / 16.0;
const RATE_ADJUST_MOST: f64 = 0.5;
/// `FRAME_SIZE_DEV_ALPHA` and the bound of the deviation.
const FRAME_SIZE_GAIN: f64 = 1.0 / 64.0;
const FRAME_SIZE_MOST: f64 = 0.2;
/// The part of the MSS in the window from which on the target is reduced, and by how much at most.
const SMALL_WINDOW_FROM: f64 = 0.1;
const SMALL_WINDOW_MOST: f64 = 0.2;
/// `RATE_PACE_MIN`.
const PACE_LEAST: f64 = 50_000.0;
/// `RELAXED_PACING_LIMIT_LOW`.
const RELAXED_FROM: f64 = 0.8;

/// The part of the target that is left when the window holds few packets. libwebrtc has the same (`UpdateTargetRate`).
pub(super) fn small_window_scale(window: &ReferenceWindow) -> f64 {
    1.0 - (window.mss_part() - SMALL_WINDOW_FROM).clamp(0.0, SMALL_WINDOW_MOST)
}

/// The rate for the media in bits per second, without bounds. Window and round-trip time exceed it by `margin`.
pub(super) fn media_rate(window: &ReferenceWindow, mss: Bytes, rtt: Duration, margin: f64) -> f64 {
    let mss = mss.get() as f64;
    let scale = small_window_scale(window) * mss / (mss + PACKET_OVERHEAD) / margin;
    scale * 8.0 * window.bytes() / rtt.as_secs_f64().max(1e-3)
}

/// The rate of the pacer, which is relaxed near the highest target.
pub(super) fn pacing_rate(target: BitRate, most: BitRate, headroom: f64, relaxed_most: f64) -> BitRate {
    let rate = (target.bits_per_second() as f64).max(PACE_LEAST) * headroom;
    let nominal = target.bits_per_second() as f64 / most.bits_per_second().max(1) as f64;
    let relaxed = ((nominal - RELAXED_FROM) / (1.0 - RELAXED_FROM)).min(1.0);
    BitRate((rate / (1.0 - relaxed).clamp(1.0 / relaxed_most, 1.0)) as u64)
}

/// The media that waits in the sender's pacer, and how its frames differ from the target.
#[derive(Clone, Debug, Default)]
pub(super) struct MediaQueue {
    /// Bytes and when they came.
    waiting: VecDeque<(Instant, u64)>,
    bytes: u64,
    frame: Option<(Instant, Duration)>,
    rate_adjust: f64,
    frame_size_deviation: f64,
}

impl MediaQueue {
    /// The sum of `rate_adjust_factor` and `frame_size_dev`, which is added to the divisor of the target.
    pub(super) const fn margin(&self) -> f64 {
        self.rate_adjust + self.frame_size_deviation
    }

    /// `frame_period`.
    pub(super) fn frame_period(&self) -> Duration {
        self.frame.map_or(FIRST_FRAME_PERIOD, |(_, period)| period)
    }

    /// The bytes that wait have changed. The first that came is the first that leaves.
    pub(super) fn on_queue(&mut self, now: Instant, waiting: Bytes) {
        let waiting = waiting.get();
        if let Some(more) = waiting.checked_sub(self.bytes).filter(|more| *more > 0) {
            self.waiting.push_back((now, more));
        }
        let mut left = self.bytes.saturating_sub(waiting);
        while left > 0 {
            let Some((_, first)) = self.waiting.front_mut() else { break };
            let gone = left.min(*first);
            *first -= gone;
            left -= gone;
            if *first == 0 {
                self.waiting.pop_front();
            }
        }
        self.bytes = waiting;
    }

    /// A frame of video comes, and the queue does not yet contain it. Its size has all headers, as the target does.
    pub(super) fn on_frame(&mut self, now: Instant, wire_size: Bytes, target: BitRate) {
        let period = self.frame.map_or(FIRST_FRAME_PERIOD, |(last, period)| {
            ewma(period, now.saturating_since(last), FRAME_PERIOD_GAIN)
        });
        self.frame = Some((now, period));
        let delay = self.waiting.front().map_or(Duration::ZERO, |(since, _)| now.saturating_since(*since));
        let error = ratio(delay, period) - 0.25;
        self.rate_adjust = (self.rate_adjust + error * RATE_ADJUST_GAIN).clamp(0.0, RATE_ADJUST_MOST);
        let nominal = target.bytes_in(period).get().max(1) as f64;
        let deviation = ((wire_size.get() as f64 - nominal) / nominal).max(0.0);
        self.frame_size_deviation = ((1.0 - FRAME_SIZE_GAIN) * self.frame_size_deviation
            + FRAME_SIZE_GAIN * deviation)
            .min(FRAME_SIZE_MOST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ScreamSettings;

    const FRAME: u64 = 33;

    /// Frames of `size` bytes at 30 per second for 1 Mbit/s; each leaves the queue after `wait_ms`.
    fn queue(size: u64, wait_ms: u64, frames: u64) -> MediaQueue {
        let mut queue = MediaQueue::default();
        let size = Bytes(size);
        let mut events: Vec<(u64, bool)> =
            (0..frames).flat_map(|frame| [(FRAME * frame, true), (FRAME * frame + wait_ms, false)]).collect();
        events.sort_unstable();
        let mut waiting = Bytes::ZERO;
        for (ms, comes) in events {
            let now = Instant::from_millis(ms);
            if comes {
                queue.on_frame(now, size, BitRate(1_000_000));
                waiting = Bytes(waiting.get() + size.get());
            } else {
                waiting = waiting.saturating_sub(size);
            }
            queue.on_queue(now, waiting);
        }
        queue
    }

    #[test]
    fn media_that_waits_for_longer_than_a_quarter_of_a_frame_reduces_the_target() {
        assert!(queue(2400, 5, 200).margin().abs() < 1e-12);
        // The oldest bytes wait for 33 ms when the next frame comes: an error of 1 - 1/4 in each frame.
        let waiting = queue(2400, 40, 5).margin();
        assert!((waiting - 4.0 * 0.75 / 16.0).abs() < 0.01, "{waiting}");
        assert!((queue(2400, 40, 200).margin() - 0.5).abs() < 1e-12);
    }

    #[test]
    fn frames_above_the_target_reduce_it() {
        // 1 Mbit/s for 33 ms are 4125 bytes; frames of 4537 are 10 % more.
        let margin = queue(4537, 5, 600).margin();
        assert!((margin - 0.1).abs() < 0.005, "{margin}");
    }

    #[test]
    fn the_rate_follows_from_window_and_round_trip() {
        let settings = ScreamSettings::draft();
        let mut window = ReferenceWindow::new(&settings);
        window.set(12_000.0);
        let rtt = Duration::from_millis(100);
        let rate = media_rate(&window, settings.mss, rtt, 1.2);
        assert!((rate - 960_000.0 / 1.02 / 1.2).abs() < 1.0, "{rate}");
        window.set(5_000.0);
        let rate = media_rate(&window, settings.mss, rtt, 1.3);
        assert!((rate - 400_000.0 * 0.9 / 1.02 / 1.3).abs() < 1.0, "{rate}");
    }

    #[test]
    fn pacing_is_relaxed_near_the_highest_target() {
        let most = BitRate(1_000_000);
        let paced = |kbps: u64| pacing_rate(BitRate(kbps * 1000), most, 1.5, 4.0).bits_per_second();
        assert_eq!(paced(10), 75_000);
        assert_eq!(paced(800), 1_200_000);
        assert!((paced(900) as i64 - 2_700_000).abs() < 10, "half relaxed: {}", paced(900));
        assert_eq!(paced(1000), 6_000_000);
    }
}
