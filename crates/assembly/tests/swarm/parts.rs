//! Runs in parts.

use airlane_assembly::Meta;
use airlane_core::{Instant, Seeds};
use airlane_scenario::Resolved;

/// The ends of the parts in which a run is made; none for most seeds, which run to their end at once.
pub(super) fn stops(resolved: &Resolved, seed: u64) -> Vec<Instant> {
    let mut s = Seeds::new(seed).stream("swarm/stops");
    if !s.chance(0.2) {
        return vec![];
    }
    let end = resolved.run.duration.0.as_nanos();
    let mut stops: Vec<_> = (0..100).map(|_| s.below(end)).collect();
    stops.push(end);
    stops.sort_unstable();
    stops.into_iter().map(Instant::from_nanos).collect()
}

/// Without the counters of the engine: a run to its end has fewer events, since it fuses links.
pub(super) fn without_counters(meta: &Meta) -> Meta {
    Meta { events: 0, timers: 0, hops: 0, ..meta.clone() }
}
