//! The sender's one timer: retransmission, loss probe, reordering or window probe, never two
//! at once.

use airlane_core::{Duration, Instant};

/// The purpose of the timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimerKind {
    /// Retransmission timeout (RFC 6298 §5).
    Retransmission,
    /// Tail loss probe (RFC 8985 §7.2).
    LossProbe,
    /// RACK's reordering window (RFC 8985 §6.2 step 5).
    Reordering,
    /// Zero-window probe (RFC 9293 §3.8.6.1).
    WindowProbe,
}

/// The timer, and the time when pacing allows the next segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timer {
    kind: Option<TimerKind>,
    at: Instant,
    span: Duration,
    paced_until: Instant,
    /// The earlier of both.
    wake: Instant,
}

impl Timer {
    pub(crate) const fn idle() -> Self {
        Self {
            kind: None,
            at: Instant::FAR_FUTURE,
            span: Duration::ZERO,
            paced_until: Instant::FAR_FUTURE,
            wake: Instant::FAR_FUTURE,
        }
    }
    pub(crate) fn set(&mut self, kind: TimerKind, now: Instant, span: Duration) {
        self.kind = Some(kind);
        self.at = now.saturating_add(span);
        self.span = span;
        self.wake = self.at.min(self.paced_until);
    }
    pub(crate) fn clear(&mut self) {
        self.kind = None;
        self.at = Instant::FAR_FUTURE;
        self.span = Duration::ZERO;
        self.wake = self.paced_until;
    }
    /// Pacing delays a segment until then; [`Instant::FAR_FUTURE`] for none.
    pub(crate) fn set_paced_until(&mut self, at: Instant) {
        self.paced_until = at;
        self.wake = self.at.min(at);
    }
    pub(crate) fn is(&self, kind: TimerKind) -> bool {
        self.kind == Some(kind)
    }
    pub(crate) fn kind(&self) -> Option<TimerKind> {
        self.kind
    }
    /// The time at which the timer fires; [`Instant::FAR_FUTURE`] while idle.
    pub(crate) fn at(&self) -> Instant {
        self.at
    }
    /// The time at which pacing allows the next segment; [`Instant::FAR_FUTURE`] if none waits.
    pub(crate) fn paced_until(&self) -> Instant {
        self.paced_until
    }
    /// The next action: of the timer or of pacing.
    pub(crate) fn wake(&self) -> Instant {
        self.wake
    }
    /// The span with which it was armed.
    pub(crate) fn span(&self) -> Duration {
        self.span
    }
}
