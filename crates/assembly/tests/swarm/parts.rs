//! Runs of a scenario, at once or in parts.

use airlane_assembly::{Meta, build_with};
use airlane_core::{Instant, Seeds};
use airlane_record::Table;
use airlane_scenario::Resolved;

/// The output of one run of a scenario.
pub(super) struct Left {
    pub(super) meta: Meta,
    pub(super) tables: Vec<(&'static str, Table)>,
    /// Each file it wrote.
    pub(super) files: Vec<(std::ffi::OsString, Vec<u8>)>,
}

/// Runs a scenario, with its files in a temporary folder; up to each of these times first, if there are any.
pub(super) fn run(resolved: &Resolved, seed: u64, threads: usize, stops: &[Instant]) -> Left {
    let folder = std::env::temp_dir().join(format!("airlane-swarm-{}-{seed}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut built = build_with(resolved, seed, &super::own::own()).unwrap();
    built.use_threads_from(0, threads);
    built.capture_to(&format!("{}/", folder.display())).unwrap();
    if stops.is_empty() {
        assert!(built.run(&std::sync::atomic::AtomicBool::new(false)), "it ran to its end");
    }
    stops.iter().for_each(|&stop| built.advance(stop));
    built.end_capture().unwrap();
    let output = built.finish();
    let written = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap());
    let mut files: Vec<_> =
        written.map(|entry| (entry.file_name(), std::fs::read(entry.path()).unwrap())).collect();
    files.sort();
    std::fs::remove_dir_all(&folder).unwrap();
    Left { meta: output.meta, tables: output.tables, files }
}

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
