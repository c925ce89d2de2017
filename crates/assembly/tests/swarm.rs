//! Random scenarios from a seed: every valid scenario must run, account for every packet and
//! repeat, and flows without an excuse must receive something. More of them run with `cargo run
//! --release -p airlane-assembly --example swarm -- --count 20000 --seed 1`.

use std::collections::BTreeSet;

#[path = "swarm/coverage.rs"]
mod coverage;
#[path = "swarm/generate.rs"]
mod generate;

/// Scenarios per test run.
const SCENARIOS: u64 = 200;
/// Scenarios that found a fault among many others: five configured grants in a band of 11 resource blocks, a UE that is
/// handed over again before all SDUs that X2 delays have arrived, and a DRX command for a UE that waits for grants.
const FOUND: [u64; 4] = [1_199, 15_782, 308_042, 700_490];
/// Number of scenarios in which each key of the format has to occur.
const DRAWN: u64 = 1_000;

/// The keys that random scenarios never contain, and the reason.
const NOT_DRAWN: [(&str, &str); 6] = [
    ("Point.heading", "its UE would move; crates/scenario/tests/all/maps.rs"),
    ("Point.speed", "its UE would move; crates/scenario/tests/all/maps.rs"),
    (
        "Tcp.classic_fallback",
        "of a connection of a split proxy, whose controller and ECN are drawn one by one",
    ),
    ("Tcp.ecn_max_rtt", "of a connection of a split proxy, whose controller and ECN are drawn one by one"),
    ("Tcp.mdcc", "of a connection of a split proxy, beside which no PEP may stand"),
    ("Tcp.write_size", "of a connection of a split proxy, which writes what it reads"),
];

#[test]
fn whatever_the_format_allows_runs() {
    let (mut within_reach, mut alive) = (0, 0);
    let (mut without_excuse, mut handovers, mut written) = (0, 0, 0);
    let (mut longest, mut granted) = ((0, 0), 0);
    for seed in (0..SCENARIOS).chain(FOUND) {
        let outcome = generate::attempt(seed).unwrap_or_else(|text| {
            panic!(
                "{text}\nrepeat with: cargo run --release -p airlane-assembly --example swarm -- --seed {seed}"
            )
        });
        within_reach += u32::from(outcome.within_reach);
        alive += u32::from(outcome.within_reach && outcome.alive);
        without_excuse += outcome.without_excuse;
        handovers += outcome.handovers;
        written += outcome.written;
        longest = generate::longer(longest, outcome.longest_wait);
        granted += outcome.granted;
    }
    println!(
        "{without_excuse} flows without an excuse received something; {handovers} handovers; {written} bytes \
         of captures; {} ms at most between transmissions of a block, {} ms more than a round trip",
        longest.0, longest.1
    );
    assert!(granted > 1_000, "only {granted} grants of the lowest MCS");
    assert!(longest.1 > 0, "no retransmission met a blank subframe");
    assert!(without_excuse > 0, "no flow of {SCENARIOS} scenarios had to receive anything");
    assert!(handovers > 10 && written > 1_000_000, "{handovers} handovers, {written} bytes of captures");
    // A cell of 6 resource blocks with a buffer of one packet may carry little, but most cells carry
    // a lot.
    assert!(
        5 * alive > 4 * within_reach && 3 * u64::from(within_reach) > 2 * SCENARIOS,
        "{alive} of {within_reach} runs with a UE within reach delivered anything to speak of"
    );
}

/// The ends of a flow that are sockets of a kernel, for which one has to be built: tests/test_kernel.py.
fn needs_a_kernel(name: &str) -> bool {
    ["Transport = kernel", "Transport.kernel.", "KernelEnds = ", "KernelMptcp.", "Requests.", "Exec."]
        .iter()
        .any(|begin| name.starts_with(begin))
}

/// Keys of maps, which need files: crates/scenario/tests/all/maps.rs, and the scenario `city`.
fn needs_a_map(name: &str) -> bool {
    let of_traces = ["Mobility.trace.geographic", "Mobility.trace.origin"];
    let of_points = ["Placement.points.file", "Placement.points.origin"];
    let begins = ["Layout = map", "Layout.map.", "Origin."].iter().any(|begin| name.starts_with(begin));
    begins || of_traces.contains(&name) || of_points.contains(&name)
}

#[test]
fn each_key_of_the_format_is_drawn() {
    let format = coverage::Format::new();
    let (names, mut drawn) = (format.names(), BTreeSet::new());
    for seed in 0..DRAWN {
        format.written(&generate::drawn(seed), &mut drawn);
    }
    let unknown: Vec<_> = drawn.difference(&names).collect();
    assert!(unknown.is_empty(), "written, and not in the schema as it is read here: {unknown:?}");
    // The keys of QUIC are drawn where it has one path: QUIC over several paths has the same, of which it draws a few.
    let over_one_path = |name: &str| {
        name.strip_prefix("Quic.").is_some_and(|key| drawn.contains(&format!("Transport.quic.{key}")))
    };
    let expected = NOT_DRAWN.map(|(name, _)| name.to_owned()).into();
    let missing: BTreeSet<_> = names
        .difference(&drawn)
        .filter(|name| !needs_a_kernel(name) && !needs_a_map(name) && !over_one_path(name))
        .cloned()
        .collect();
    assert_eq!(
        missing, expected,
        "not written in {DRAWN} scenarios, against what is known not to be: draw it, or say why not"
    );
}
