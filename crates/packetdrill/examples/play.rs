//! Plays scripts and prints a line for each: `cargo run -p airlane-packetdrill --example play -- FILE …`.

use std::path::Path;

use airlane_packetdrill::{Options, Verdict, play};

fn main() {
    let mut counts = [0; 3];
    for name in std::env::args().skip(1) {
        let path = Path::new(&name);
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) => {
                eprintln!("{name}: {error}");
                std::process::exit(2);
            }
        };
        let beside = |file: &str| std::fs::read_to_string(path.parent()?.join(file)).ok();
        let report = play(&text, &beside, &Options::default());
        let (index, word) = match report.verdict {
            Verdict::Pass => (0, "pass"),
            Verdict::Fail => (1, "fail"),
            Verdict::NotApplicable => (2, "not applicable"),
        };
        counts[index] += 1;
        let line = report.line.map_or_else(String::new, |line| format!(":{line}"));
        println!("{word:15} {name}{line} {}", report.reason.unwrap_or_default());
    }
    println!("pass {} fail {} not applicable {}", counts[0], counts[1], counts[2]);
}
