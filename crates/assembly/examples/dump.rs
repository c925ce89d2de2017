//! Writes every byte of a run's tables to standard output, to compare builds.
//!
//! Reads a resolved scenario (JSON) from standard input; the only argument is the seed. For each column it
//! writes one line with table, name and number of bytes, and then the bytes: numbers little-endian, names
//! terminated by a line feed.

use std::io::Read;

use airlane_assembly::run;

use airlane_scenario::Resolved;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seed = std::env::args().nth(1).ok_or("name a seed")?.parse()?;
    let mut json = String::new();
    std::io::stdin().read_to_string(&mut json)?;
    let output = run(&Resolved::from_json(&json)?, seed)?;
    let mut out = std::io::stdout().lock();
    for (name, table) in &output.tables {
        table.write_bytes(name, &mut out)?;
    }
    Ok(())
}
