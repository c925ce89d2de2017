//! The same targets as a port of libwebrtc, on the same paths.

use std::collections::BTreeMap;

use airlane_core::Duration;
use airlane_rtc::Bounds;

use crate::conditions::Condition;
use crate::link::{NoTraffic, Run};
use crate::{conditions, gcc, rows, video};

const TARGETS: &str = include_str!("../data/goog_cc.csv");

/// The greatest difference in bit/s: the budget of ALR counts exact times and rates here, whole ms and kbit/s there.
const TOLERANCE: u64 = 200;

#[test]
fn targets_are_those_of_the_port() {
    let mut expected: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for row in rows(TARGETS) {
        expected.entry(row[0]).or_default().push(row[2].parse().expect("a rate"));
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
            assert!(
                ours.abs_diff(*target) <= TOLERANCE,
                "{name}, after {} s: {ours} bit/s, the port has {target}",
                second + 1
            );
        }
    }
}
