//! ABC, accel-brake control (Goyal, Agarwal, Netravali, Alizadeh and Balakrishnan, "ABC: A Simple Explicit Congestion
//! Controller for Wireless Networks", NSDI 2020), for paths whose bottleneck has ABC's marks.
//!
//! The window grows by a segment for each delivered one without a mark (accelerate) and shrinks by one for each with a
//! mark (brake); the routers choose the share of brakes (`airlane_net::abc`). It also grows by a segment for each
//! window delivered, so that flows come to equal shares. Losses do not change it.
//!
//! For a bottleneck that is no ABC router, the sender has a second window, of CUBIC, and uses the smaller one. Both are
//! then at most twice the data in flight and five segments.
//!
//! The source is the authors' code: `tcp_abc.c` and, with the second window, `tcp_abccubic.c` in
//! prateshg/ABC-NSDI2020 b1693cbb; the papers were not read.
//!
//! *Feedback* is the number of marks of accurate ECN or of QUIC, where that code has the echo of DCTCP. A connection
//! without it has CUBIC's window alone (the authors': Reno).
//!
//! *Departures.* Delivered segments count, where the code counts acknowledgments for the growth of a segment for each
//! window: with delayed acknowledgments it grows half as fast there. The data in flight is that before the
//! acknowledgment, so that one that covers many segments does not reduce the window. A timeout reduces CUBIC's window as
//! CUBIC does, and the code leaves it.

#[cfg(test)]
mod tests;

use airlane_core::{BitRate, Duration, Instant};

use super::{
    AckSample, CongestionController, Cubic, DeliverySample, LossCause, LossEpisode, MarkSample, Needs, Phase,
    Restart, SegmentWindow, Snapshot, TimeoutEpisode,
};

/// Brakes do not reduce the window below this (`abc_in_ack`).
const WINDOW_MIN: u32 = 5;
/// The windows are at most this many times the segments in flight, and this many segments more (`bictcp_cong_avoid`).
const IN_FLIGHT_FACTOR: u32 = 2;
const IN_FLIGHT_MORE: u32 = 5;
/// Windows per round trip at which the sender paces (`abc_pkts_acked`: 2900 bytes for each segment of 1448).
const PACING_GAIN: f64 = 2.0;

/// Parameters of ABC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbcConfig {
    /// Whether the sender has a second window, of CUBIC, for other bottlenecks.
    pub fallback: bool,
}

impl AbcConfig {
    /// With the second window.
    pub const PAPER: Self = Self { fallback: true };
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Abc {
    config: AbcConfig,
    /// ABC's window in segments, and those delivered since it last grew by one for a window.
    segments: u32,
    counted: u32,
    /// Marks since the last delivery; `None` before the first report.
    marked: Option<u32>,
    /// The second window and its law, and that window before its last reduction.
    other: SegmentWindow,
    cubic: Cubic,
    before: Snapshot,
    /// Segments sent, for the rounds of its HyStart.
    sent: u64,
    /// Bytes per second.
    pacing_rate: f64,
}

impl Abc {
    /// A controller in its initial state. `cubic` is the law of the second window.
    #[must_use]
    pub fn new(config: AbcConfig, window: &SegmentWindow, cubic: Cubic) -> Self {
        Self {
            config,
            segments: window.segments,
            counted: 0,
            marked: None,
            other: *window,
            cubic,
            before: window.snapshot(),
            sent: 0,
            pacing_rate: 0.0,
        }
    }

    /// The smaller of the windows in use, in segments.
    fn smaller(&self) -> u32 {
        match (self.marked.is_some(), self.config.fallback) {
            (false, _) => self.other.segments,
            (true, false) => self.segments,
            (true, true) => self.segments.min(self.other.segments),
        }
    }

    /// Segments were delivered, of which some were marked.
    fn steer(&mut self, delivered: u32, marked: u32) {
        self.counted += delivered;
        if self.counted > self.segments {
            self.counted -= self.segments;
            self.segments += 1;
        }
        let (brakes, accelerates) = (marked.min(delivered), delivered.saturating_sub(marked));
        self.segments = self.segments.saturating_add(accelerates);
        if self.segments > WINDOW_MIN + brakes {
            self.segments -= brakes;
        }
    }

    /// The second window grows as CUBIC's.
    fn grow_other(&mut self, sample: &DeliverySample) {
        self.sent = sample.delivered + u64::from(sample.in_flight);
        let ack = AckSample {
            now: sample.now,
            delivered_segments: sample.newly_delivered,
            may_grow: sample.newly_delivered > 0 && sample.phase < Phase::Recovery,
            window_limited: sample.window_limited,
            max_outstanding_segments: sample.prior_in_flight,
            outstanding_segments: sample.in_flight,
            rtt: sample.rtt,
            srtt: sample.srtt,
            acked_to: sample.delivered,
            sent_to: self.sent,
        };
        self.cubic.on_ack(&mut self.other, &ack);
    }

    /// Limits both windows by the data in flight.
    fn limit(&mut self, in_flight: u32) {
        let most = in_flight.saturating_mul(IN_FLIGHT_FACTOR).saturating_add(IN_FLIGHT_MORE);
        self.segments = self.segments.min(most);
        self.other.segments = self.other.segments.min(most);
    }

    fn set_pacing_rate(&mut self, window: &SegmentWindow, rtt: Duration) {
        if !rtt.is_zero() {
            self.pacing_rate = PACING_GAIN * window.bytes().get() as f64 / rtt.as_secs_f64();
        }
    }
}

impl CongestionController for Abc {
    fn needs(&self) -> Needs {
        Needs { marks: true, ..Needs::PATH_MODEL }
    }

    fn on_established(&mut self, window: &SegmentWindow, _: Instant, rtt: Option<Duration>) {
        self.set_pacing_rate(window, rtt.unwrap_or(Duration::ZERO));
    }

    fn on_restart(&mut self, _: &mut SegmentWindow, restart: &Restart) {
        self.cubic.on_restart(&mut self.other, restart);
    }

    fn on_ack(&mut self, _: &mut SegmentWindow, _: &AckSample) {}

    fn on_marks(&mut self, _: &mut SegmentWindow, sample: &MarkSample) {
        self.marked = Some(self.marked.unwrap_or(0) + sample.marked_segments);
    }

    fn on_delivery(&mut self, window: &mut SegmentWindow, sample: &DeliverySample) {
        if sample.newly_delivered > 0 {
            if let Some(marked) = self.marked.as_mut().map(core::mem::take) {
                self.steer(sample.newly_delivered, marked);
            }
            self.grow_other(sample);
            if self.config.fallback {
                self.limit(sample.prior_in_flight.max(sample.in_flight));
            }
        }
        window.segments = self.smaller();
        if let Some(rtt) = sample.rtt {
            self.set_pacing_rate(window, rtt);
        }
    }

    fn threshold(&mut self, window: &SegmentWindow) -> u32 {
        window.segments
    }

    fn on_loss(&mut self, window: &mut SegmentWindow, episode: &LossEpisode, cause: LossCause) {
        if cause == LossCause::Congestion {
            self.before = self.other.snapshot();
            self.cubic.on_loss(&mut self.other, episode, cause);
            self.other.segments = self.other.ssthresh;
            window.segments = self.smaller();
        }
    }

    /// Classic feedback: a queue that is none of ABC's.
    fn on_ecn(&mut self, window: &mut SegmentWindow, episode: &LossEpisode) {
        self.cubic.on_ecn(&mut self.other, episode);
        self.other.segments = self.other.ssthresh;
        window.segments = self.smaller();
    }

    fn on_recovery_exit(&mut self, _: &mut SegmentWindow) {}

    fn on_timeout(&mut self, window: &mut SegmentWindow, timeout: &TimeoutEpisode) {
        if timeout.new_episode {
            self.before = self.other.snapshot();
        }
        let timeout = TimeoutEpisode { sent_to: self.sent, ..*timeout };
        self.cubic.on_timeout(&mut self.other, &timeout);
        window.restart_from(timeout.restart_segments);
    }

    fn on_undo(&mut self, window: &mut SegmentWindow, _: &Snapshot) {
        let before = self.before;
        self.cubic.on_undo(&mut self.other, &before);
        window.segments = self.smaller();
    }

    fn on_segment_size(&mut self, window: &SegmentWindow) {
        let (from, to) = (self.other.segment_size(), window.segment_size());
        let scaled = u64::from(self.segments) * u64::from(from) / u64::from(to);
        self.segments = (scaled as u32).max(SegmentWindow::MIN_SSTHRESH);
        self.counted = 0;
        self.other.resize_segments(to);
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        (self.pacing_rate > 0.0).then_some(BitRate((self.pacing_rate * 8.0) as u64))
    }
}
