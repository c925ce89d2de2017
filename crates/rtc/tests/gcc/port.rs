//! The same targets as a port of libwebrtc, on the same paths, to the bit.

use std::collections::BTreeMap;

use airlane_core::Duration;
use airlane_rtc::Bounds;

use crate::conditions::Condition;
use crate::csv::rows;
use crate::link::{NoTraffic, Run};
use crate::{conditions, gcc, video};

const TARGETS: &str = include_str!("../data/goog_cc.csv");

#[test]
fn targets_are_those_of_the_port() {
    let mut expected: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for mut row in rows(TARGETS).skip(1) {
        let target = row[2].parse().expect("a rate");
        expected.entry(row.swap_remove(0)).or_default().push(target);
    }
    let paths = conditions::all();
    assert_eq!(paths.len(), expected.len());
    for Condition { name, path, max } in paths {
        let targets = &expected[name];
        let mut controller = gcc(Bounds { max, ..video() });
        let mut run = Run::new(path, &mut controller);
        for (second, target) in targets.iter().enumerate() {
            let steps = run.advance(Duration::from_secs(1), &mut NoTraffic);
            let ours = steps[steps.len() - 1].target.0;
            assert_eq!(ours, *target, "{name}, after {} s, in bit/s", second + 1);
        }
    }
}
