//! Congestion controllers: how much may be in flight.
//!
//! A controller is written once, for any transport that can fill an [`AckSample`]. Recovery
//! (proportional rate reduction, what to retransmit, whether a loss was real) belongs to the
//! transport; a controller is told that an episode of loss began, ended, or turned out
//! spurious. Windows are kept in whole segments, as Linux does, and shown in bytes.
//!
//! The closed set is [`Controller`], dispatched by `match` in the hot loop.

mod cubic;
mod newreno;
mod scalable;
#[cfg(test)]
mod tests;
mod vegas;
mod veno;
mod westwood;
mod window;

pub use cubic::Cubic;
pub use newreno::NewReno;
pub use scalable::Scalable;
pub use vegas::Vegas;
pub use veno::Veno;
pub use westwood::Westwood;
pub use window::SegmentWindow;

use airlane_core::{BitRate, Bytes, Duration, Instant};

pub use crate::recovery::Phase;

/// Which controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionKind {
    /// RFC 5681 and RFC 6582.
    NewReno,
    /// RFC 9438.
    Cubic,
    /// Scalable TCP (Kelly 2003).
    Scalable,
    /// TCP Vegas (Brakmo and Peterson 1995).
    Vegas,
    /// TCP Westwood+ (Grieco and Mascolo 2004).
    Westwood,
    /// TCP Veno (Fu and Liew 2003).
    Veno,
}

impl CongestionKind {
    /// Every kind, in the order in which they were written.
    pub const ALL: [Self; 6] =
        [Self::NewReno, Self::Cubic, Self::Scalable, Self::Vegas, Self::Westwood, Self::Veno];

    /// Its name in scenarios and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NewReno => "newreno",
            Self::Cubic => "cubic",
            Self::Scalable => "scalable",
            Self::Vegas => "vegas",
            Self::Westwood => "westwood",
            Self::Veno => "veno",
        }
    }
}

/// An acknowledgment as it arrives, before anything is concluded from it.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// When.
    pub now: Instant,
    /// Stream position acknowledged, the same as before for a duplicate.
    pub acked_to: u64,
    /// Round trip of the segment delivered last, if it was sent once.
    pub rtt: Option<Duration>,
}

/// What one acknowledgment brought.
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// When it arrived.
    pub now: Instant,
    /// Segments newly delivered, cumulatively or selectively.
    pub delivered_segments: u32,
    /// True if the window may grow: in-order data was acknowledged, no reduction is under way.
    pub may_grow: bool,
    /// True if the window was what limited the sender in the last round.
    pub window_limited: bool,
    /// Most segments outstanding in the last round, for growth in slow start.
    pub max_outstanding_segments: u32,
    /// Segments outstanding now (sent and not cumulatively acknowledged).
    pub outstanding_segments: u32,
    /// Round trip of the segment delivered last, if it was sent once.
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time.
    pub srtt: Duration,
    /// Stream position acknowledged.
    pub acked_to: u64,
    /// Stream position sent.
    pub sent_to: u64,
}

/// A packet that was sent.
#[derive(Clone, Copy, Debug)]
pub struct SentSample {
    /// When.
    pub now: Instant,
    /// When the packet before it was sent.
    pub last_sent_at: Instant,
    /// True if nothing was in flight before it.
    pub was_idle: bool,
    /// Stream position sent before it.
    pub sent_to: u64,
}

/// An episode of loss begins.
#[derive(Clone, Copy, Debug)]
pub struct LossEpisode {
    /// When it was detected.
    pub now: Instant,
    /// Segments in flight.
    pub in_flight_segments: u32,
}

/// The retransmission timer expired.
#[derive(Clone, Copy, Debug)]
pub struct TimeoutEpisode {
    /// When.
    pub now: Instant,
    /// True if the window was not already reduced for this flight of data.
    pub new_episode: bool,
    /// The window to restart from, in segments (RFC 5681 §3.1: one beyond what is in flight).
    pub restart_segments: u32,
    /// Stream position acknowledged.
    pub acked_to: u64,
    /// Stream position sent.
    pub sent_to: u64,
}

/// What an undo restores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Congestion window in segments.
    pub window_segments: u32,
    /// Slow-start threshold in segments.
    pub ssthresh_segments: u32,
}

/// A congestion controller.
///
/// What every window-based controller does alike is given here; a new one says how its window
/// grows ([`Self::on_ack`]) and where it goes after a loss ([`Self::threshold`]).
pub trait CongestionController {
    /// Window and threshold.
    fn window(&self) -> &SegmentWindow;
    /// Window and threshold, to change.
    fn window_mut(&mut self) -> &mut SegmentWindow;
    /// The handshake is complete; it took one round trip, `None` if that is not known.
    fn on_established(&mut self, _now: Instant, _rtt: Option<Duration>) {}
    /// A segment was sent: each new one, and an old one if nothing was in flight.
    fn on_sent(&mut self, _: &SentSample) {}
    /// An acknowledgment arrived; [`Self::on_phase`], [`Self::on_loss`] and
    /// [`Self::on_recovery_exit`] may follow, and then [`Self::on_ack`].
    fn on_arrival(&mut self, _: &Arrival) {}
    /// An acknowledgment was worked through.
    fn on_ack(&mut self, ack: &AckSample);
    /// Loss recovery enters a phase, having sent up to `sent_to`.
    fn on_phase(&mut self, _phase: Phase, _sent_to: u64) {}
    /// The threshold after a loss, in segments.
    fn threshold(&mut self) -> u32;
    /// An episode of loss begins: sets the threshold. The window itself follows in
    /// [`Self::on_recovery_exit`]; in between, recovery decides what is sent.
    fn on_loss(&mut self, _: &LossEpisode) {
        let threshold = self.threshold();
        self.window_mut().reduce_to(threshold);
    }
    /// The episode is over: the window is the threshold.
    fn on_recovery_exit(&mut self, _now: Instant) {
        let window = self.window_mut();
        window.segments = window.ssthresh;
    }
    /// The retransmission timer expired.
    fn on_timeout(&mut self, timeout: &TimeoutEpisode) {
        if timeout.new_episode {
            let threshold = self.threshold();
            self.window_mut().reduce_to(threshold);
        }
        self.window_mut().restart_from(timeout.restart_segments);
    }
    /// What to restore if the loss about to be reported turns out spurious.
    fn snapshot(&self) -> Snapshot {
        self.window().snapshot()
    }
    /// The loss was spurious (F-RTO, Eifel, D-SACK).
    fn on_undo(&mut self, snapshot: &Snapshot) {
        self.window_mut().undo(snapshot);
    }
    /// The sender did not use its window for a while, or was idle: validate it downwards
    /// (RFC 7661, RFC 5681 §4.1).
    fn on_window_validation(&mut self, window_segments: u32, ssthresh_segments: u32) {
        let window = self.window_mut();
        window.segments = window_segments;
        window.ssthresh = ssthresh_segments;
    }
    /// The congestion window.
    fn congestion_window(&self) -> Bytes {
        self.window().bytes()
    }
    /// The slow-start threshold; `None` while unset.
    fn ssthresh(&self) -> Option<Bytes> {
        self.window().ssthresh_bytes()
    }
    /// The rate at which to send, if the controller paces.
    fn pacing_rate(&self) -> Option<BitRate> {
        None
    }
}

/// The controllers we ship.
#[derive(Clone, Debug)]
pub enum Controller {
    /// NewReno.
    NewReno(NewReno),
    /// CUBIC.
    Cubic(Cubic),
    /// Scalable TCP.
    Scalable(Scalable),
    /// Vegas.
    Vegas(Vegas),
    /// Westwood+.
    Westwood(Westwood),
    /// Veno.
    Veno(Veno),
}

macro_rules! each {
    ($self:expr, $c:ident => $call:expr) => {
        match $self {
            Controller::NewReno($c) => $call,
            Controller::Cubic($c) => $call,
            Controller::Scalable($c) => $call,
            Controller::Vegas($c) => $call,
            Controller::Westwood($c) => $call,
            Controller::Veno($c) => $call,
        }
    };
}

impl Controller {
    /// A controller of this kind for segments of `segment_size` payload bytes.
    #[must_use]
    pub fn new(kind: CongestionKind, segment_size: u32, initial_window_segments: u32, hystart: bool) -> Self {
        let window = SegmentWindow::new(segment_size, initial_window_segments);
        match kind {
            CongestionKind::NewReno => Self::NewReno(NewReno::new(window)),
            CongestionKind::Cubic => Self::Cubic(Cubic::new(window, hystart)),
            CongestionKind::Scalable => Self::Scalable(Scalable::new(window)),
            CongestionKind::Vegas => Self::Vegas(Vegas::new(window)),
            CongestionKind::Westwood => Self::Westwood(Westwood::new(window)),
            CongestionKind::Veno => Self::Veno(Veno::new(window)),
        }
    }

    /// The window in segments.
    #[inline]
    #[must_use]
    pub fn window_segments(&self) -> u32 {
        self.window().segments
    }

    /// The threshold in segments; `u32::MAX` while unset.
    #[inline]
    #[must_use]
    pub fn ssthresh_segments(&self) -> u32 {
        self.window().ssthresh
    }
}

impl CongestionController for Controller {
    #[inline]
    fn window(&self) -> &SegmentWindow {
        each!(self, c => c.window())
    }
    #[inline]
    fn window_mut(&mut self) -> &mut SegmentWindow {
        each!(self, c => c.window_mut())
    }
    fn on_established(&mut self, now: Instant, rtt: Option<Duration>) {
        each!(self, c => c.on_established(now, rtt));
    }
    #[inline]
    fn on_sent(&mut self, sent: &SentSample) {
        each!(self, c => c.on_sent(sent));
    }
    #[inline]
    fn on_arrival(&mut self, arrival: &Arrival) {
        each!(self, c => c.on_arrival(arrival));
    }
    #[inline]
    fn on_ack(&mut self, ack: &AckSample) {
        each!(self, c => c.on_ack(ack));
    }
    fn on_phase(&mut self, phase: Phase, sent_to: u64) {
        each!(self, c => c.on_phase(phase, sent_to));
    }
    fn threshold(&mut self) -> u32 {
        each!(self, c => c.threshold())
    }
    fn on_loss(&mut self, episode: &LossEpisode) {
        each!(self, c => c.on_loss(episode));
    }
    fn on_recovery_exit(&mut self, now: Instant) {
        each!(self, c => c.on_recovery_exit(now));
    }
    fn on_timeout(&mut self, timeout: &TimeoutEpisode) {
        each!(self, c => c.on_timeout(timeout));
    }
    fn snapshot(&self) -> Snapshot {
        each!(self, c => c.snapshot())
    }
    fn on_undo(&mut self, snapshot: &Snapshot) {
        each!(self, c => c.on_undo(snapshot));
    }
    fn on_window_validation(&mut self, window_segments: u32, ssthresh_segments: u32) {
        each!(self, c => c.on_window_validation(window_segments, ssthresh_segments));
    }
    fn pacing_rate(&self) -> Option<BitRate> {
        each!(self, c => c.pacing_rate())
    }
}
