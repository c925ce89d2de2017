//! Virtual time for a library that uses [`std::time::Instant`], in a browser `web_time::Instant`.

#![cfg_attr(
    not(target_family = "wasm"),
    expect(clippy::disallowed_types, reason = "the type is in quinn's interface; its clock is read once")
)]

use std::sync::LazyLock;

use airlane_core::{Duration, Instant};

#[cfg(not(target_family = "wasm"))]
pub(crate) type QuinnInstant = std::time::Instant;
#[cfg(target_family = "wasm")]
pub(crate) type QuinnInstant = web_time::Instant;

/// The start of every run. The type has no zero, so it is read from a clock once per process; only
/// differences to it are used.
static START: LazyLock<QuinnInstant> = LazyLock::new(QuinnInstant::now);

#[cfg(not(target_family = "wasm"))]
pub(crate) fn start() -> QuinnInstant {
    *START
}

pub(crate) fn to_quinn(at: Instant) -> QuinnInstant {
    *START + span_to_quinn(Duration::from_nanos(at.as_nanos()))
}

pub(crate) fn from_quinn(at: QuinnInstant) -> Instant {
    let since = at.saturating_duration_since(*START);
    Instant::ZERO + span_from_quinn(since)
}

/// Remembers the last conversion: quinn passes the time of a call to several methods and sends packets in bursts, and a
/// datagram that arrives is followed by a flush at the same time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LastTime(Option<(QuinnInstant, Instant)>);

impl LastTime {
    /// Stores a time in both forms.
    #[inline]
    pub(crate) const fn set(&mut self, at: QuinnInstant, time: Instant) {
        self.0 = Some((at, time));
    }

    /// [`from_quinn`] with the last result.
    #[inline]
    pub(crate) fn of(&mut self, at: QuinnInstant) -> Instant {
        if let Some((last, time)) = self.0
            && last == at
        {
            return time;
        }
        let time = from_quinn(at);
        self.set(at, time);
        time
    }

    /// [`to_quinn`] with the last result.
    #[inline]
    pub(crate) fn quinn_of(&mut self, time: Instant) -> QuinnInstant {
        if let Some((at, last)) = self.0
            && last == time
        {
            return at;
        }
        let at = to_quinn(time);
        self.set(at, time);
        at
    }
}

pub(crate) const fn span_to_quinn(span: Duration) -> std::time::Duration {
    std::time::Duration::from_nanos(span.as_nanos())
}

/// Spans longer than half a millennium become the maximum span.
pub(crate) fn span_from_quinn(span: std::time::Duration) -> Duration {
    u64::try_from(span.as_nanos()).map_or(Duration::MAX, Duration::from_nanos)
}
