//! Virtual time for a library that uses [`std::time::Instant`].

#![expect(clippy::disallowed_types, reason = "the type is in quinn's interface; its clock is read once")]

use std::sync::LazyLock;
use std::time::Instant as StdInstant;

use airlane_core::{Duration, Instant};

/// The start of every run. The type has no zero, so it is read from a clock once per process; only
/// differences to it are used.
static START: LazyLock<StdInstant> = LazyLock::new(StdInstant::now);

pub(crate) fn start() -> StdInstant {
    *START
}

pub(crate) fn to_quinn(at: Instant) -> StdInstant {
    *START + span_to_quinn(Duration::from_nanos(at.as_nanos()))
}

pub(crate) fn from_quinn(at: StdInstant) -> Instant {
    let since = at.saturating_duration_since(*START);
    Instant::ZERO + span_from_quinn(since)
}

pub(crate) const fn span_to_quinn(span: Duration) -> std::time::Duration {
    std::time::Duration::from_nanos(span.as_nanos())
}

/// Spans longer than half a millennium become the maximum span.
pub(crate) fn span_from_quinn(span: std::time::Duration) -> Duration {
    u64::try_from(span.as_nanos()).map_or(Duration::MAX, Duration::from_nanos)
}
