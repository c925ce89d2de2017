//! A bundled scenario that is driven in 10,000 steps of random length gives the same bytes as in one run to its end,
//! where links in series are one node.
//!
//! Runs last 3 s each. `AIRLANE_MIRROR=full cargo test --release -p airlane-assembly --test all mirror` takes
//! each scenario's own duration.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use airlane_assembly::{Meta, RunOutput, build};
use airlane_core::{Instant, Seeds};
use airlane_engine::parallel;
use airlane_scenario::{Resolved, Scenario};

const STEPS: usize = 10_000;
const SHORT: &str = "3 s";

fn scenarios() -> Vec<(String, Resolved)> {
    let full = std::env::var("AIRLANE_MIRROR").is_ok_and(|value| value == "full");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "toml"));
    let load = |path: std::path::PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let mut scenario = Scenario::parse(&text, path.to_str().unwrap()).unwrap();
        for (key, value) in [("output.ran_log", true), ("run.ue_series", true), ("output.losses", true)] {
            let mut with = scenario.clone();
            with.set(key, &value.into()).unwrap();
            if with.resolve().is_ok() {
                scenario = with; // a wired scenario has no UEs
            }
        }
        let resolved = scenario.resolve().unwrap();
        let mut short = scenario.clone();
        for key in ["run.duration", "run.warmup"] {
            short.set(key, &(if key == "run.duration" { SHORT } else { "1 s" }).into()).unwrap();
        }
        // Where something is meant for a later time, the shorter run is refused.
        let resolved = if full { resolved } else { short.resolve().unwrap_or(resolved) };
        (path.file_stem().unwrap().to_str().unwrap().to_owned(), resolved)
    };
    let mut found: Vec<_> = files.map(load).collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

/// The output without the counters of the engine: a run to its end fuses links, and has fewer events.
fn bytes(output: &RunOutput) -> Vec<u8> {
    let meta = Meta { events: 0, timers: 0, hops: 0, ..output.meta.clone() };
    let mut bytes = format!("{meta:?}").into_bytes();
    for (name, table) in &output.tables {
        table.write_bytes(name, &mut bytes).unwrap();
    }
    bytes
}

fn in_one_step(scenario: &Resolved) -> RunOutput {
    let mut built = build(scenario, 1).unwrap();
    assert!(built.run(&AtomicBool::new(false)));
    built.finish()
}

fn in_steps(scenario: &Resolved, name: &str) -> RunOutput {
    let mut built = build(scenario, 1).unwrap();
    let end = scenario.run.duration.0.as_nanos();
    let mut stream = Seeds::new(7).stream(name);
    // Uniform in the run, with steps that end at the beginning of a slot and steps of length zero.
    let mut ends: Vec<_> = (0..STEPS - 1)
        .map(|step| match step % 10 {
            0 => stream.below(end / 1_000_000) * 1_000_000,
            _ => stream.below(end),
        })
        .collect();
    ends.push(end);
    ends.sort_unstable();
    for at in ends {
        built.advance(Instant::from_nanos(at));
    }
    built.finish()
}

#[test]
fn ten_thousand_steps_are_the_same_run() {
    let scenarios = scenarios();
    assert!(scenarios.len() >= 29, "only {} scenarios", scenarios.len());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let same = |index: usize| {
        let (name, scenario) = &scenarios[index];
        let (whole, steps) = (bytes(&in_one_step(scenario)), bytes(&in_steps(scenario, name)));
        (whole.len(), whole == steps)
    };
    let results = parallel(scenarios.len(), threads, &AtomicBool::new(false), same, |_| ());
    let mut differing = vec![];
    for ((name, scenario), result) in scenarios.iter().zip(results) {
        let (bytes, same) = result.unwrap();
        println!(
            "{name}: {} s, {bytes} bytes, {}",
            scenario.run.duration.0.as_secs_f64(),
            if same { "same" } else { "DIFFERENT" }
        );
        if !same {
            differing.push(name);
        }
    }
    assert!(differing.is_empty(), "other bytes in {STEPS} steps than in one: {differing:?}");
}
