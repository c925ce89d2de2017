//! A run gives the same bytes on one thread and on several.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use airlane_assembly::{RunOutput, build};
use airlane_scenario::{Resolved, Scenario};

/// Bundled scenarios whose cells work side by side, and a part of their durations.
const SEVERAL: [(&str, &str); 9] = [
    ("nr-urban-57", "0.5 s"),
    ("urban-19", "2.5 s"),
    ("splitproxy", "3 s"),
    ("arwa", "2 s"),
    ("arwa-cell", "2 s"),
    ("city", "1 s"),
    ("two-cells", "3 s"),
    ("x2-handover", "40 s"),
    ("ltetcp-handover", "44 s"),
];

fn bundled(name: &str) -> Scenario {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name).with_extension("toml");
    Scenario::parse(&std::fs::read_to_string(&file).unwrap(), file.to_str().unwrap()).unwrap()
}

/// The scenario with a log of each block, for this time.
fn logged(name: &str, duration: &str) -> Resolved {
    let mut scenario = bundled(name);
    for (key, value) in [("output.ran_log", true), ("run.ue_series", true), ("output.losses", true)] {
        scenario.set(key, &value.into()).unwrap();
    }
    for (key, value) in [("run.duration", duration), ("run.warmup", "0 s")] {
        scenario.set(key, &value.into()).unwrap();
    }
    scenario.resolve().unwrap()
}

/// The output, with each step divided among the threads, and the number of these steps.
fn on(threads: usize, scenario: &Resolved) -> (RunOutput, u64) {
    let mut built = build(scenario, 1).unwrap();
    built.use_threads_from(0, threads);
    assert_eq!(built.threads() > 1, threads > 1);
    assert!(built.run(&AtomicBool::new(false)));
    let steps = built.shared_steps();
    (built.finish(), steps)
}

fn bytes(output: &RunOutput) -> Vec<u8> {
    let mut bytes = format!("{:?}", output.meta).into_bytes();
    for (name, table) in &output.tables {
        table.write_bytes(name, &mut bytes).unwrap();
    }
    bytes
}

#[test]
fn a_scenario_with_several_cells_has_the_same_bytes_on_any_number_of_threads() {
    for (name, duration) in SEVERAL {
        let scenario = logged(name, duration);
        let (alone, none) = on(1, &scenario);
        assert_eq!(none, 0, "{name}");
        for threads in [2, 3, 8] {
            let (several, steps) = on(threads, &scenario);
            assert!(steps > 100, "{name}: only {steps} steps were divided");
            assert!(bytes(&several) == bytes(&alone), "{name} differs on {threads} threads");
        }
    }
}

#[test]
fn every_bundled_scenario_that_uses_threads_is_among_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let name = path.file_stem().unwrap().to_str().unwrap();
        let mut built = build(&bundled(name).resolve().unwrap(), 1).unwrap();
        built.use_threads(8);
        if built.threads() > 1 {
            found.push(name.to_owned());
        }
    }
    found.sort_unstable();
    let mut listed: Vec<_> = SEVERAL.iter().map(|(name, _)| *name).collect();
    listed.sort_unstable();
    assert_eq!(found, listed);
}

#[test]
fn small_steps_are_not_divided() {
    // Two cells with three UEs.
    let mut built = build(&logged("two-cells", "3 s"), 1).unwrap();
    built.use_threads(2);
    assert!(built.run(&AtomicBool::new(false)));
    assert_eq!((built.threads(), built.shared_steps()), (2, 0));
}

/// Whether a UE misses its assignment is decided where blocks are, side by side, before it is known that its block is too
/// small for what waits.
#[test]
fn assignments_for_nothing_are_the_same_on_any_number_of_threads() {
    let cell = |name: &str, x_m: u32| {
        format!(
            "[[cell]]\nname = \"{name}\"\nposition = [\"{x_m} m\", \"0 m\"]\nresource_blocks = 6\n\
             scheduler = \"tta\"\ntransmission_mode = \"tm3\"\ncontrol_errors = true\nrlc = {{ mode = \"am\" }}\n\
             mac = {{ cqi_report = \"subband\", cqi_reference = \"control-region\" }}\n"
        )
    };
    let rest = r#"network = "typical"
[channel]
path_loss = "tr25.814"
fading = { model = "etu", speed = "40 km/h" }
[run]
duration = "2 s"
ue_series = true
[[ue]]
name = "walker"
count = 6
placement = { kind = "disc", radius = "400 m" }
mobility = { kind = "random-walk", area = { from = ["-400 m", "-400 m"], to = ["400 m", "400 m"] }, speed = { min = "10 m/s", max = "30 m/s" } }
[[flow]]
to = "walker"
transport = "udp"
app = { kind = "cbr", rate = "1 Mbit/s", payload = "700 B" }
[output]
ran_log = true
"#;
    let text = format!("{rest}{}{}", cell("west", 0), cell("east", 600));
    let scenario = Scenario::parse(&text, "nothing.toml").unwrap().resolve().unwrap();
    let (alone, _) = on(1, &scenario);
    let (several, steps) = on(2, &scenario);
    assert!(steps > 100, "only {steps} steps were divided");
    assert!(bytes(&several) == bytes(&alone));
}
