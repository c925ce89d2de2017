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
#[cfg(test)]
mod tests;
mod window;

pub use cubic::Cubic;
pub use newreno::NewReno;
pub use window::SegmentWindow;

use airlane_core::{BitRate, Bytes, Duration, Instant};

/// Which controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionKind {
    /// RFC 5681 and RFC 6582.
    NewReno,
    /// RFC 9438.
    Cubic,
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
    /// True if nothing was outstanding before it.
    pub was_idle: bool,
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
pub trait CongestionController {
    /// A new segment was sent.
    fn on_sent(&mut self, sent: &SentSample);
    /// An acknowledgment arrived.
    fn on_ack(&mut self, ack: &AckSample);
    /// An episode of loss begins: sets the threshold. The window itself follows in
    /// [`Self::on_recovery_exit`]; in between, recovery decides what is sent.
    fn on_loss(&mut self, episode: &LossEpisode);
    /// The episode is over: the window is the threshold.
    fn on_recovery_exit(&mut self, now: Instant);
    /// The retransmission timer expired.
    fn on_timeout(&mut self, timeout: &TimeoutEpisode);
    /// What to restore if the loss about to be reported turns out spurious.
    fn snapshot(&self) -> Snapshot;
    /// The loss was spurious (F-RTO, Eifel, D-SACK).
    fn on_undo(&mut self, snapshot: &Snapshot);
    /// The sender did not use its window for a while, or was idle: validate it downwards
    /// (RFC 7661, RFC 5681 §4.1).
    fn on_window_validation(&mut self, window_segments: u32, ssthresh_segments: u32);
    /// The congestion window.
    fn congestion_window(&self) -> Bytes;
    /// The slow-start threshold; `None` while unset.
    fn ssthresh(&self) -> Option<Bytes>;
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
}

macro_rules! each {
    ($self:expr, $c:ident => $call:expr) => {
        match $self {
            Controller::NewReno($c) => $call,
            Controller::Cubic($c) => $call,
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
        }
    }

    /// The window in segments.
    #[inline]
    #[must_use]
    pub fn window_segments(&self) -> u32 {
        each!(self, c => c.window().segments)
    }

    /// The threshold in segments; `u32::MAX` while unset.
    #[inline]
    #[must_use]
    pub fn ssthresh_segments(&self) -> u32 {
        each!(self, c => c.window().ssthresh)
    }
}

impl CongestionController for Controller {
    #[inline]
    fn on_sent(&mut self, sent: &SentSample) {
        each!(self, c => c.on_sent(sent));
    }
    #[inline]
    fn on_ack(&mut self, ack: &AckSample) {
        each!(self, c => c.on_ack(ack));
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
    fn congestion_window(&self) -> Bytes {
        each!(self, c => c.congestion_window())
    }
    fn ssthresh(&self) -> Option<Bytes> {
        each!(self, c => c.ssthresh())
    }
    fn pacing_rate(&self) -> Option<BitRate> {
        each!(self, c => c.pacing_rate())
    }
}
