//! Random scenarios from a seed: whatever the format allows must run, lose nothing unaccounted
//! and repeat, and flows without an excuse must receive something. More of them run by
//! `cargo run --release -p airlane-scenario --example swarm -- --count 20000 --seed 1`.

#[path = "swarm/generate.rs"]
mod generate;

/// Scenarios per test run.
const SCENARIOS: u64 = 200;

#[test]
fn whatever_the_format_allows_runs() {
    let (mut within_reach, mut alive) = (0, 0);
    let (mut without_excuse, mut handovers, mut written) = (0, 0, 0);
    for seed in 0..SCENARIOS {
        let outcome = generate::attempt(seed).unwrap_or_else(|text| {
            panic!(
                "{text}\nrepeat with: cargo run --release -p airlane-scenario --example swarm -- --seed {seed}"
            )
        });
        within_reach += u32::from(outcome.within_reach);
        alive += u32::from(outcome.within_reach && outcome.alive);
        without_excuse += outcome.without_excuse;
        handovers += outcome.handovers;
        written += outcome.written;
    }
    println!(
        "{without_excuse} flows without an excuse received something; {handovers} handovers; {written} bytes \
         of captures"
    );
    assert!(without_excuse > 0, "no flow of {SCENARIOS} scenarios had to receive anything");
    assert!(handovers > 10 && written > 1_000_000, "{handovers} handovers, {written} bytes of captures");
    // A cell of 6 resource blocks with a buffer of one packet may carry little, but most carry a lot.
    assert!(
        5 * alive > 4 * within_reach && 3 * u64::from(within_reach) > 2 * SCENARIOS,
        "{alive} of {within_reach} runs with a UE within reach delivered anything to speak of"
    );
}
