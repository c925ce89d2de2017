//! Many random scenarios:
//! `cargo run --release -p airlane-assembly --example swarm -- --count 20000 --seed 1`.
//!
//! Scenario `n` has seed `n`, starting with `--seed`. The first failure (a panic, a packet that is
//! not accounted for, a run that does not repeat) is printed with the command that repeats it.

#[path = "../tests/swarm/generate.rs"]
mod generate;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str, default: u64| {
        let at = arguments.iter().position(|argument| argument == name);
        at.map_or(Some(default), |at| arguments.get(at + 1)?.parse().ok())
    };
    let (Some(first), Some(count)) = (value("--seed", 1), value("--count", 1)) else {
        eprintln!("usage: swarm [--seed FIRST] [--count SCENARIOS]");
        return ExitCode::from(2);
    };
    #[expect(clippy::disallowed_types, reason = "measures the runs from outside")]
    let begun = std::time::Instant::now();
    let (mut within_reach, mut alive, mut without_excuse) = (0_u64, 0_u64, 0);
    let (mut handovers, mut written, mut longest, mut granted) = (0, 0, (0, 0), 0);
    for seed in first..first + count {
        match generate::attempt(seed) {
            Ok(outcome) => {
                within_reach += u64::from(outcome.within_reach);
                alive += u64::from(outcome.within_reach && outcome.alive);
                without_excuse += outcome.without_excuse;
                handovers += outcome.handovers;
                written += outcome.written;
                longest = generate::longer(longest, outcome.longest_wait);
                granted += outcome.granted;
            }
            Err(text) => {
                println!("{text}\nscenario {seed} fails; repeat with:");
                println!("cargo run --release -p airlane-assembly --example swarm -- --seed {seed}");
                return ExitCode::FAILURE;
            }
        }
        if (seed - first + 1).is_multiple_of(1000) {
            eprintln!("{} done, {:.0} s", seed - first + 1, begun.elapsed().as_secs_f64());
        }
    }
    println!(
        "{count} scenarios from seed {first}, each run twice: all hold; of {within_reach} with a UE within \
         reach {alive} delivered more than 100 packets; {without_excuse} flows without an excuse received \
         something; {handovers} handovers were completed and {written} bytes of captures written; a block \
         waited {} ms for its next transmission at most, and {} ms longer than the round trip at most; {granted} \
         blocks that were expected to fail had no more resource blocks than the reported power allows; {:.0} s",
        longest.0,
        longest.1,
        begun.elapsed().as_secs_f64()
    );
    ExitCode::SUCCESS
}
