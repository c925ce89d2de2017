//! Runs a scenario with guest kernels, and prints what passed between them and how long it took.
//!
//! ```text
//! cargo run --release -p airlane-guest --example scenario -- SCENARIO.toml SEED [CAPTURE-PREFIX]
//! ```

use std::error::Error;
use std::sync::atomic::AtomicBool;

use airlane_assembly::build;

use airlane_scenario::Scenario;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, seed, capture @ ..] = arguments.as_slice() else {
        return Err("expected SCENARIO.toml SEED [CAPTURE-PREFIX]".into());
    };
    let scenario = Scenario::parse(&std::fs::read_to_string(file)?, file)?.resolve()?;
    let seed: u64 = seed.parse()?;
    let mut built = build(&scenario, seed)?;
    if let Some(prefix) = capture.first() {
        built.capture_to(prefix)?;
    }
    #[expect(clippy::disallowed_types, reason = "measures the run from outside; no result depends on it")]
    let begin = std::time::Instant::now();
    let facts = airlane_guest::run(&mut built, seed, &AtomicBool::new(false), |_| ())?;
    let wall_s = begin.elapsed().as_secs_f64();
    built.end_capture()?;
    let sim_s = built.now().as_secs_f64();
    println!("{}", serde_json::to_string_pretty(&facts)?);
    println!("{sim_s} virtual s in {wall_s:.2} s: {:.2} per s", sim_s / wall_s);
    for guest in &facts.guests {
        let frames = guest.sent + guest.received;
        println!("{:.1} us for each of {frames} frames", wall_s * 1e6 / frames as f64);
    }
    for (name, table) in built.finish().tables {
        if name == "flows" {
            println!("{table:#?}");
        }
    }
    Ok(())
}
