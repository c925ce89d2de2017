//! The reference window, as far as the draft and libwebrtc agree about it.

use std::collections::VecDeque;

use airlane_core::{Bytes, Duration, Instant};

use super::ScreamSettings;
use super::settings::{OVERHEAD_MIN, VIRTUAL_RTT};
use crate::smooth::{ratio, times};

/// The least part of an increase, and of an L4S reduction, that is left near the inflection point. Draft, "Reference
/// Window Reduction" and "Reference Window Increase".
const NEAR_INFLECTION_LEAST: f64 = 0.25;
/// The least value of the distance from the inflection point (`scl_t`). Draft, "Reference Window Reduction".
const DISTANCE_LEAST: f64 = 0.1;

/// `ref_wnd` and its inflection point: its size when congestion was first noticed.
#[derive(Clone, Debug)]
pub(super) struct ReferenceWindow {
    bytes: f64,
    inflection: f64,
    inflection_may_move: bool,
    least: f64,
    mss: f64,
    inflection_factor: f64,
    multiplicative_increase: f64,
    post_congestion_rtts: f64,
    overhead_most: f64,
    head_room: f64,
    congested_at: Option<Instant>,
    reduced_at: Option<Instant>,
    peak: PeakInFlight,
}

impl ReferenceWindow {
    pub(super) fn new(settings: &ScreamSettings) -> Self {
        Self {
            bytes: settings.min_window.get() as f64,
            // `ref_wnd_i` (1). Draft, "Reference Window Update".
            inflection: 1.0,
            inflection_may_move: true,
            least: settings.min_window.get() as f64,
            mss: settings.mss.get() as f64,
            inflection_factor: settings.inflection_factor,
            multiplicative_increase: settings.multiplicative_increase,
            post_congestion_rtts: settings.post_congestion_rtts,
            overhead_most: settings.overhead_most,
            head_room: settings.head_room,
            congested_at: None,
            reduced_at: None,
            peak: PeakInFlight::default(),
        }
    }

    pub(super) const fn bytes(&self) -> f64 {
        self.bytes
    }

    /// Sets the window, which is never below its minimum.
    pub(super) const fn set(&mut self, bytes: f64) {
        self.bytes = bytes.max(self.least);
    }

    /// `ref_wnd_ratio`: the MSS as a part of the window, at most 1.
    pub(super) fn mss_part(&self) -> f64 {
        (self.mss / self.bytes).min(1.0)
    }

    /// `scl_t`: the distance from the inflection point, from 0.1 to 1.
    pub(super) fn distance(&self) -> f64 {
        let distance = self.inflection_factor * (self.bytes - self.inflection) / self.inflection;
        (distance * distance).clamp(DISTANCE_LEAST, 1.0)
    }

    /// The part of an increase or of a reduction that is left at this distance from the inflection point.
    pub(super) const fn near_inflection(distance: f64) -> f64 {
        distance.max(NEAR_INFLECTION_LEAST)
    }

    /// The factor of the increase that makes it multiplicative, at least 1: more, the longer ago congestion was.
    pub(super) fn multiplicative(&self, now: Instant, smoothed_rtt: Duration, distance: f64) -> f64 {
        let since_congestion = self.congested_at.map_or(1.0, |at| {
            let whole = times(smoothed_rtt.max(VIRTUAL_RTT), self.post_congestion_rtts);
            ratio(now.saturating_since(at), whole).min(1.0)
        });
        1.0 + self.multiplicative_increase * self.bytes / self.mss * since_congestion * distance
    }

    /// Notes the inflection point of the first reduction after an increase.
    pub(super) const fn mark_inflection(&mut self, bytes: f64) {
        if self.inflection_may_move {
            self.inflection = bytes;
            self.inflection_may_move = false;
        }
    }

    /// Lets the next reduction note an inflection point.
    pub(super) const fn release_inflection(&mut self) {
        self.inflection_may_move = true;
    }

    /// Congestion was noticed, whether the window is reduced or not.
    pub(super) const fn note_congestion(&mut self, now: Instant) {
        self.congested_at = Some(now);
    }

    /// The window was reduced, and no other reduction follows for a while.
    pub(super) const fn note_reduction(&mut self, now: Instant) {
        self.reduced_at = Some(now);
    }

    /// True if the last reduction was long enough ago. Draft, "Congestion Detection".
    pub(super) fn may_reduce(&self, now: Instant, smoothed_rtt: Duration) -> bool {
        self.reduced_at.is_none_or(|at| now.saturating_since(at) >= smoothed_rtt.min(VIRTUAL_RTT))
    }

    /// True if the window was not reduced for `rtts` round trips.
    pub(super) fn unreduced_for(&self, now: Instant, smoothed_rtt: Duration, rtts: f64) -> bool {
        self.reduced_at.is_none_or(|at| now.saturating_since(at) > times(smoothed_rtt.max(VIRTUAL_RTT), rtts))
    }

    /// `max_allowed_t`: how large the bytes in flight let the window become.
    pub(super) fn allowed(&self) -> f64 {
        self.mss + self.peak.most() * self.head_room
    }

    /// The bytes in flight, noted when a packet is sent and when a report arrives.
    pub(super) fn note_in_flight(&mut self, in_flight: u64) {
        self.peak.current = self.peak.current.max(in_flight);
    }

    /// Begins a new round trip of the bytes in flight if the last has ended.
    pub(super) fn end_round(&mut self, now: Instant, smoothed_rtt: Duration) {
        if now.saturating_since(self.peak.since) >= smoothed_rtt.max(VIRTUAL_RTT) {
            self.peak.end(now);
        }
    }

    /// Bounds the window by the bytes in flight of the last rounds, and by `enough`: more does not serve a source that has
    /// reached its highest rate. Draft, "Reference Window Increase"; the details are in EricssonResearch/scream c8f84c3,
    /// `ScreamV2Tx.cpp`, `updateCwnd`.
    pub(super) fn limit_to_history(&mut self, enough: f64) {
        let most = self.peak.history.iter().copied().max().unwrap_or(0).max(self.peak.current);
        if !self.peak.history.is_empty() {
            self.set(self.bytes.min(enough.max(most as f64)));
        }
    }

    /// The most bytes in flight of the round trip before this one.
    pub(super) fn previous_peak(&self) -> f64 {
        self.peak.previous() as f64
    }

    /// The bytes that may be in flight; `steady` is 1 if the queue delay does not vary, and 0 if it does. Draft, "Send Window
    /// Calculation".
    pub(super) fn send_window(&self, steady: f64) -> Bytes {
        Bytes((self.bytes * (OVERHEAD_MIN + (self.overhead_most - OVERHEAD_MIN) * steady)) as u64)
    }
}

/// How many rounds are remembered (EricssonResearch/scream c8f84c3, `ScreamTx.h`, `kMaxBytesInFlightHistSize`).
const ROUNDS: usize = 20;

/// The most bytes in flight of this round trip and of those before.
#[derive(Clone, Debug, Default)]
struct PeakInFlight {
    current: u64,
    history: VecDeque<u64>,
    since: Instant,
}

impl PeakInFlight {
    fn end(&mut self, now: Instant) {
        self.history.push_back(self.current);
        if self.history.len() > ROUNDS {
            self.history.pop_front();
        }
        (self.current, self.since) = (0, now);
    }

    fn previous(&self) -> u64 {
        self.history.back().copied().unwrap_or(0)
    }

    fn most(&self) -> f64 {
        self.current.max(self.previous()) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(bytes: f64) -> ReferenceWindow {
        let mut window = ReferenceWindow::new(&ScreamSettings::draft());
        window.set(bytes);
        window
    }

    #[test]
    fn changes_are_small_within_an_eighth_of_the_inflection_point() {
        let mut window = window(20_000.0);
        assert!((window.distance() - 1.0).abs() < 1e-12, "no inflection point is known");
        window.mark_inflection(20_000.0);
        // (8 * 1/16)^2 = 0.25 and (8 * 1/8)^2 = 1.
        for (bytes, distance) in [(20_000.0, 0.1), (21_250.0, 0.25), (18_750.0, 0.25), (22_500.0, 1.0)] {
            window.set(bytes);
            assert!((window.distance() - distance).abs() < 1e-12, "{bytes}");
        }
    }

    #[test]
    fn the_inflection_point_moves_once_between_increases() {
        let mut window = window(20_000.0);
        window.mark_inflection(20_000.0);
        window.mark_inflection(10_000.0);
        assert!((window.distance() - 0.1).abs() < 1e-12);
        window.release_inflection();
        window.mark_inflection(10_000.0);
        assert!((window.distance() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_increase_becomes_multiplicative_within_a_hundred_round_trips() {
        let mut window = window(50_000.0);
        let rtt = Duration::from_millis(100);
        window.note_congestion(Instant::ZERO);
        // 0.02 * 50000 / 1000 = 1 more than additive, in full after 10 s.
        for (ms, factor) in [(0, 1.0), (5_000, 1.5), (10_000, 2.0), (20_000, 2.0)] {
            let multiplicative = window.multiplicative(Instant::from_millis(ms), rtt, 1.0);
            assert!((multiplicative - factor).abs() < 1e-9, "{ms} ms");
        }
    }

    #[test]
    fn the_window_is_reduced_at_most_once_in_25_ms() {
        let mut window = window(50_000.0);
        let rtt = Duration::from_millis(100);
        assert!(window.may_reduce(Instant::ZERO, rtt));
        window.note_reduction(Instant::from_millis(7));
        assert!(!window.may_reduce(Instant::from_millis(31), rtt));
        assert!(window.may_reduce(Instant::from_millis(32), rtt));
    }

    #[test]
    fn the_bytes_in_flight_of_two_round_trips_bound_the_window() {
        let mut window = window(50_000.0);
        let rtt = Duration::from_millis(40);
        window.note_in_flight(4_000);
        window.end_round(Instant::from_millis(40), rtt);
        window.note_in_flight(2_000);
        assert!((window.allowed() - 7_000.0).abs() < 1e-9);
        window.end_round(Instant::from_millis(79), rtt);
        assert!((window.allowed() - 7_000.0).abs() < 1e-9, "the second round trip goes on");
        window.end_round(Instant::from_millis(80), rtt);
        assert!((window.allowed() - 4_000.0).abs() < 1e-9);
    }
}
