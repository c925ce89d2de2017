//! GCC on paths of one link: the targets of another implementation, and bounds of others.

mod bounds;
mod conditions;
#[path = "../support/csv.rs"]
mod csv;
mod link;
mod port;
mod tcp;

use airlane_core::{BitRate, Instant};
use airlane_rtc::{Bounds, Gcc, GccSettings};

/// The bounds of RFC 8867 for video.
fn video() -> Bounds {
    Bounds { min: BitRate(150_000), start: BitRate(300_000), max: BitRate(1_500_000) }
}

/// GCC whose target is its estimate: no congestion window lowers it.
fn gcc(bounds: Bounds) -> Gcc {
    Gcc::new(bounds, GccSettings::default().without_congestion_window(), Instant::ZERO)
}
