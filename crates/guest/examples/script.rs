//! Plays scripts of packetdrill on a guest kernel: `cargo run -p airlane-guest --example script -- KERNEL FILE …`.

use std::path::Path;

use airlane_guest::play_script;
use airlane_packetdrill::{Options, Verdict};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let kernel = arguments.next().unwrap_or_default();
    for name in arguments {
        let path = Path::new(&name);
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) => {
                eprintln!("{name}: {error}");
                std::process::exit(2);
            }
        };
        let beside = |file: &str| std::fs::read_to_string(path.parent()?.join(file)).ok();
        match play_script(&kernel, &text, &beside, &Options::default()) {
            Ok(report) => {
                let word = match report.verdict {
                    Verdict::Pass => "pass",
                    Verdict::Fail => "fail",
                    Verdict::NotApplicable => "not applicable",
                };
                let line = report.line.map_or_else(String::new, |line| format!(":{line}"));
                println!("{word:15} {name}{line} {}", report.reason.unwrap_or_default());
            }
            Err(error) => {
                eprintln!("{name}: {error}");
                std::process::exit(2);
            }
        }
    }
}
