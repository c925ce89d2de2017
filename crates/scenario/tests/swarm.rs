//! Random scenarios from a seed: whatever the format allows must run, lose nothing unaccounted
//! and repeat. None of these few has a flow that must receive something; more of them run by
//! `cargo run --release -p airlane-scenario --example swarm -- --count 20000 --seed 1`.

#[path = "swarm/generate.rs"]
mod generate;

/// Scenarios per test run.
const SCENARIOS: u64 = 200;

#[test]
fn whatever_the_format_allows_runs() {
    let (mut within_reach, mut alive, mut without_excuse) = (0, 0, 0);
    for seed in 0..SCENARIOS {
        let outcome = generate::attempt(seed).unwrap_or_else(|text| {
            panic!(
                "{text}\nrepeat with: cargo run --release -p airlane-scenario --example swarm -- --seed {seed}"
            )
        });
        within_reach += u32::from(outcome.within_reach);
        alive += u32::from(outcome.within_reach && outcome.alive);
        without_excuse += outcome.without_excuse;
    }
    // A cell of 6 resource blocks with a buffer of one packet may carry little, but most carry a lot.
    assert!(
        5 * alive > 4 * within_reach && 3 * u64::from(within_reach) > 2 * SCENARIOS,
        "{alive} of {within_reach} runs with a UE within reach delivered anything to speak of \
         ({without_excuse} flows without an excuse received something)"
    );
}
