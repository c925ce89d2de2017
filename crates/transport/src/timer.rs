//! The sender's one timer: retransmission, loss probe, reordering or window probe, never two
//! at once.

use airlane_core::{Duration, Instant};

/// What the timer stands for.
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

/// The timer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timer {
    kind: Option<TimerKind>,
    at: Instant,
    span: Duration,
}

impl Timer {
    pub(crate) const fn idle() -> Self {
        Self { kind: None, at: Instant::FAR_FUTURE, span: Duration::ZERO }
    }
    pub(crate) fn set(&mut self, kind: TimerKind, now: Instant, span: Duration) {
        *self = Self { kind: Some(kind), at: now.saturating_add(span), span };
    }
    pub(crate) fn clear(&mut self) {
        *self = Self::idle();
    }
    pub(crate) fn is(&self, kind: TimerKind) -> bool {
        self.kind == Some(kind)
    }
    pub(crate) fn kind(&self) -> Option<TimerKind> {
        self.kind
    }
    /// When it fires; [`Instant::FAR_FUTURE`] while idle.
    pub(crate) fn at(&self) -> Instant {
        self.at
    }
    /// The span it was armed with.
    pub(crate) fn span(&self) -> Duration {
        self.span
    }
}
