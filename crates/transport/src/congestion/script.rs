//! A controller written as a script: a user's class in Python or JavaScript.
//!
//! The script is called once per acknowledgment, or once per round trip, and at losses and timeouts. Between the calls
//! its window is here. The script requests a window in segments, and optionally a pacing rate.

use airlane_core::{BitRate, Instant};

use super::{
    AckSample, CongestionController, LossCause, LossEpisode, Needs, OwnController, SegmentWindow, Snapshot,
    TimeoutEpisode,
};

/// The largest window of a script, in segments.
const WINDOW_MAX: f64 = 1e7;
/// The lowest and the highest pacing rate, in Mbit/s.
const PACING_MBPS: [f64; 2] = [0.001, 1e6];

/// An event that a script handles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ScriptEvent {
    /// The result of one acknowledgment, or of all acknowledgments of a round trip.
    Ack(ScriptAck),
    /// The start of a loss episode.
    Loss {
        /// Time of the detection.
        now: Instant,
        /// Segments in flight.
        in_flight: u32,
        /// A discriminator classifies the loss as independent of load.
        random: bool,
    },
    /// The retransmission timer expired.
    Timeout {
        /// The time.
        now: Instant,
        /// The window to restart from, in segments.
        restart: u32,
        /// The window was not already reduced for these segments in flight.
        new_episode: bool,
    },
    /// The last loss or timeout was spurious; the window before it, in segments.
    Undo(u32),
}

/// The result of one acknowledgment, or of all acknowledgments of a round trip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScriptAck {
    /// The arrival time.
    pub now: Instant,
    /// Newly delivered segments.
    pub delivered: u32,
    /// The window may grow: data was acknowledged in order, and there is no loss recovery.
    pub may_grow: bool,
    /// The window limited the sender.
    pub window_limited: bool,
    /// Segments sent and not acknowledged.
    pub outstanding: u32,
    /// Round trip in ms, or the minimum of a round trip's acknowledgments; `None` without a sample.
    pub rtt_ms: Option<f64>,
    /// Smoothed round trip in ms.
    pub srtt_ms: f64,
}

/// The request of a script after a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScriptRequest {
    /// The window in segments.
    pub cwnd: f64,
    /// The pacing rate in Mbit/s; `None` for the rate that follows from the window.
    pub pacing_mbps: Option<f64>,
}

/// The script's object for one connection.
pub trait Script: core::fmt::Debug + Send + Sync {
    /// Passes an event, after updating the object's window to `behind` if it was changed elsewhere. `None` if the
    /// script failed; it is then not called again.
    fn call(&mut self, behind: Option<u32>, event: ScriptEvent) -> Option<ScriptRequest>;

    /// The size of segments has changed, and with it the number of segments in the window. Updates the object,
    /// without a call of a method.
    fn resize(&mut self, segment_size: u32, segments: u32);

    /// A copy; `None` if the object cannot be copied.
    fn copy(&self) -> Option<Box<dyn Script>>;
}

/// The acknowledgments since the last call of a controller that is called once per round trip.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    /// Stream position whose acknowledgment ends the round trip.
    until: u64,
    delivered: u32,
    may_grow: bool,
    window_limited: bool,
    rtt_ms: Option<f64>,
}

/// The controller of a connection.
#[derive(Debug)]
pub struct ScriptedController {
    /// `None` once it has failed.
    script: Option<Box<dyn Script>>,
    per_round: bool,
    /// The window that the script has, in whole segments, and the size of a segment.
    given: u32,
    segment_size: u32,
    /// The pacing rate it requests; `None` for the rate that follows from its window.
    pacing: Option<BitRate>,
    /// True during loss recovery: its request applies afterwards.
    repairing: bool,
    round: Round,
}

impl ScriptedController {
    /// A controller that starts with this window. Without a script, it does not change the window.
    #[must_use]
    pub fn new(script: Option<Box<dyn Script>>, per_round: bool, window: &SegmentWindow) -> Self {
        Self {
            script,
            per_round,
            given: window.segments,
            segment_size: window.segment_size(),
            pacing: None,
            repairing: false,
            round: Round::default(),
        }
    }

    /// Calls the script and returns the requested window.
    fn call(&mut self, window: &SegmentWindow, event: ScriptEvent) -> Option<u32> {
        let script = self.script.as_mut()?;
        let behind = (!self.repairing && window.segments != self.given).then_some(window.segments);
        let Some(wanted) = script.call(behind, event) else {
            self.script = None;
            return None;
        };
        let [least, most] = PACING_MBPS;
        self.pacing = wanted.pacing_mbps.map(|mbps| BitRate((mbps.clamp(least, most) * 1e6) as u64));
        self.given = wanted.cwnd.clamp(1.0, WINDOW_MAX) as u32;
        Some(self.given)
    }

    /// Adds an acknowledgment to the round; returns the sum if the round is over.
    fn gather(&mut self, ack: &AckSample) -> Option<Round> {
        let rtt_ms = ack.rtt.map(|rtt| rtt.as_secs_f64() * 1e3);
        let round = &mut self.round;
        round.delivered += ack.delivered_segments;
        round.may_grow |= ack.may_grow;
        round.window_limited |= ack.window_limited;
        round.rtt_ms = match (round.rtt_ms, rtt_ms) {
            (Some(least), Some(new)) => Some(least.min(new)),
            (least, new) => least.or(new),
        };
        let over = !self.per_round || ack.acked_to >= round.until;
        over.then(|| core::mem::replace(round, Round { until: ack.sent_to, ..Round::default() }))
    }
}

impl CongestionController for ScriptedController {
    fn needs(&self) -> Needs {
        Needs::NOTHING
    }

    fn on_ack(&mut self, window: &mut SegmentWindow, ack: &AckSample) {
        let Some(round) = self.gather(ack) else { return };
        let event = ScriptEvent::Ack(ScriptAck {
            now: ack.now,
            delivered: round.delivered,
            may_grow: round.may_grow,
            window_limited: round.window_limited,
            outstanding: ack.outstanding_segments,
            rtt_ms: round.rtt_ms,
            srtt_ms: ack.srtt.as_secs_f64() * 1e3,
        });
        if let (Some(segments), false) = (self.call(window, event), self.repairing) {
            window.segments = segments;
        }
    }

    fn threshold(&mut self, _: &SegmentWindow) -> u32 {
        self.given
    }

    /// During loss recovery, the script's window is its request and not the actual window.
    fn on_segment_size(&mut self, window: &SegmentWindow) {
        let before = core::mem::replace(&mut self.segment_size, window.segment_size());
        let scaled = u64::from(self.given) * u64::from(before) / u64::from(self.segment_size);
        self.given = if self.repairing { (scaled as u32).max(1) } else { window.segments };
        if let Some(script) = &mut self.script {
            script.resize(self.segment_size, self.given);
        }
    }

    fn on_loss(&mut self, window: &mut SegmentWindow, episode: &LossEpisode, cause: LossCause) {
        let (now, in_flight) = (episode.now, episode.in_flight_segments);
        let event = ScriptEvent::Loss { now, in_flight, random: cause == LossCause::Random };
        if let Some(segments) = self.call(window, event) {
            window.reduce_to(segments);
            self.repairing = true;
        }
    }

    fn on_recovery_exit(&mut self, window: &mut SegmentWindow) {
        self.repairing = false;
        window.segments = self.given;
    }

    fn on_timeout(&mut self, window: &mut SegmentWindow, timeout: &TimeoutEpisode) {
        let TimeoutEpisode { now, restart_segments: restart, new_episode, .. } = *timeout;
        window.reduce_to(window.segments / 2);
        // During loss recovery, the script's window is its request, not yet the actual window.
        if let Some(segments) = self.call(window, ScriptEvent::Timeout { now, restart, new_episode }) {
            window.restart_from(segments);
        }
        self.repairing = false;
    }

    fn on_undo(&mut self, window: &mut SegmentWindow, snapshot: &Snapshot) {
        window.undo(snapshot);
        self.repairing = false;
        if let Some(segments) = self.call(window, ScriptEvent::Undo(window.segments)) {
            window.segments = segments;
        }
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        self.pacing
    }
}

impl OwnController for ScriptedController {
    fn clone_box(&self) -> Box<dyn OwnController> {
        let script = self.script.as_ref().and_then(|script| script.copy());
        Box::new(Self { script, ..*self })
    }
}
