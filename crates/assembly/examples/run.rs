//! Runs a scenario file without Python, for profilers:
//! `cargo run --release -p airlane-assembly --example run -- scenarios/lte-download.toml [SEED [THREADS]]`. A file whose
//! name ends in `.json` is a resolved scenario.

use std::sync::atomic::AtomicBool;

use airlane_assembly::build;
use airlane_record::Column;
use airlane_scenario::{Resolved, Scenario};

/// Number of printed rows of a table.
const ROWS: usize = 4;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("name a scenario file")?;
    let seed = arguments.next().map_or(Ok(1), |seed| seed.parse())?;
    let threads = arguments.next().map_or(Ok(1), |threads| threads.parse())?;
    let text = std::fs::read_to_string(&file)?;
    let scenario = match file.ends_with(".json") {
        true => Resolved::from_json(&text)?,
        false => Scenario::parse(&text, &file)?.resolve()?,
    };
    let mut built = build(&scenario, seed)?;
    built.use_threads(threads);
    #[expect(clippy::disallowed_types, reason = "measures the run from outside")]
    let start = std::time::Instant::now();
    built.run(&AtomicBool::new(false));
    let wall_s = start.elapsed().as_secs_f64();
    let output = built.finish();
    for (name, table) in &output.tables {
        println!("{name}: {} rows", table.rows());
        for (name, column) in table.columns.iter().filter(|_| table.rows() > 0 && !name.ends_with("series")) {
            println!("  {name}: {}", head(column));
        }
    }
    println!("{:?}\n{wall_s} s, {:.0} times real time", output.meta, output.meta.sim_s / wall_s);
    Ok(())
}

fn head(column: &Column) -> String {
    match column {
        Column::F64(values) => format!("{:?}", &values[..values.len().min(ROWS)]),
        Column::I64(values) => format!("{:?}", &values[..values.len().min(ROWS)]),
        Column::Bool(values) => format!("{:?}", &values[..values.len().min(ROWS)]),
        Column::Text(values) => format!("{:?}", &values[..values.len().min(ROWS)]),
        Column::Labels { of, .. } => format!("{:?}", &of[..of.len().min(ROWS)]),
    }
}
