//! Rows of long tables that are passed on during a run.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use airlane_assembly::{build, run};
use airlane_record::Table;
use airlane_scenario::{Resolved, Scenario};

/// A bundled scenario of two seconds with all long tables.
fn load(name: &str) -> Resolved {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    let mut scenario = Scenario::parse(&text, path.to_str().unwrap()).unwrap();
    scenario.set("run.duration", &"2 s".into()).unwrap();
    scenario.set("run.warmup", &"0 s".into()).unwrap();
    for log in ["ran_log", "deliveries"] {
        scenario.set(&format!("output.{log}"), &true.into()).unwrap();
    }
    scenario.set("run.ue_series", &true.into()).unwrap();
    scenario.resolve().unwrap_or_else(|e| panic!("{e}"))
}

/// The bytes of the columns, by table and column.
fn append(bytes: &mut BTreeMap<(&'static str, String), Vec<u8>>, name: &'static str, table: &Table) {
    for (column, values) in &table.columns {
        bytes.entry((name, column.clone())).or_default().extend(values.to_bytes());
    }
}

#[test]
fn rows_that_are_passed_on_and_those_at_the_end_are_those_of_a_run_without() {
    const ALL: &[&str] = &["flow_series", "cell_series", "ue_series", "ran_log", "deliveries"];
    for (file, least, long) in [
        ("x2-handover.toml", 1, ALL),
        ("lte-20ue.toml", 1, ALL),
        ("nr-2cc.toml", 1_000, &["ran_log"]),
        ("phones-asleep.toml", 3, &["ue_series"]),
    ] {
        let scenario = load(file);
        let mut whole = BTreeMap::new();
        for (name, table) in &run(&scenario, 5).unwrap().tables {
            append(&mut whole, name, table);
        }
        let (mut parts, mut passed_on) = (BTreeMap::new(), BTreeMap::<_, usize>::new());
        let mut built = build(&scenario, 5).unwrap();
        let ended = built.run_and_pass_on(
            &AtomicBool::new(false),
            |_| (),
            (least, |name, table| {
                assert!(table.rows() >= least, "{file}: {} rows of {name}", table.rows());
                *passed_on.entry(name).or_default() += 1;
                append(&mut parts, name, &table);
            }),
        );
        assert!(ended);
        for (name, table) in &built.finish().tables {
            append(&mut parts, name, table);
        }
        assert_eq!(parts.keys().collect::<Vec<_>>(), whole.keys().collect::<Vec<_>>(), "{file}");
        for (place, bytes) in &whole {
            assert!(parts[place] == *bytes, "{file}: {place:?} differs");
        }
        for name in long {
            assert!(passed_on.get(name).is_some_and(|&times| times > 1), "{file}: {name}");
        }
    }
}
