//! Writes every byte of a run's tables to standard output, to compare builds.
//!
//! Reads a resolved scenario (JSON) from standard input; the only argument is the seed. For each column it
//! writes one line with table, name and number of bytes, and then the bytes: numbers little-endian, names
//! terminated by a line feed.

use std::io::{Read, Write};

use airlane_record::Column;
use airlane_scenario::{Resolved, run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seed = std::env::args().nth(1).ok_or("name a seed")?.parse()?;
    let mut json = String::new();
    std::io::stdin().read_to_string(&mut json)?;
    let output = run(&Resolved::from_json(&json)?, seed)?;
    let mut out = std::io::stdout().lock();
    for (table, columns) in &output.tables {
        for (name, column) in &columns.columns {
            let bytes = bytes(column);
            writeln!(out, "{table} {name} {}", bytes.len())?;
            out.write_all(&bytes)?;
        }
    }
    Ok(())
}

fn bytes(column: &Column) -> Vec<u8> {
    match column {
        Column::F64(values) => values.iter().flat_map(|x| x.to_le_bytes()).collect(),
        Column::I64(values) => values.iter().flat_map(|x| x.to_le_bytes()).collect(),
        Column::Bool(values) => values.iter().map(|&b| u8::from(b)).collect(),
        Column::Text(values) => values.iter().flat_map(|text| [text.as_bytes(), b"\n"].concat()).collect(),
        Column::Labels { of, .. } => of.iter().flat_map(|label| label.to_le_bytes()).collect(),
    }
}
