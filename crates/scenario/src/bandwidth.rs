//! Converts the channel bandwidth of a cell to resource blocks, before presets fill in the rest.

use serde::Deserialize;

use crate::de::read;
use crate::error::ScenarioError;
use crate::quantity::Frequency;
use crate::tree::{OVERRIDE, Table, Tree, Value};

/// Channel bandwidths of LTE in Hz and their resource blocks (TS 36.104 table 5.6-1).
const CHANNELS: [(f64, i64); 6] = [(1.4e6, 6), (3e6, 15), (5e6, 25), (10e6, 50), (15e6, 75), (20e6, 100)];

const BANDWIDTH: &str = "bandwidth";
const RESOURCE_BLOCKS: &str = "resource_blocks";

/// The only key that is read in advance.
#[derive(Deserialize)]
struct Written {
    bandwidth: Frequency,
}

/// Replaces the bandwidth of each cell that has one by resource blocks.
///
/// # Errors
/// If it is not a bandwidth of LTE, or if the resource blocks are also given.
pub(crate) fn replace(scenario: &mut Tree) -> Result<(), ScenarioError> {
    let Some(Tree { value: Value::Array(cells), .. }) = scenario.get_mut("cell") else { return Ok(()) };
    for (index, cell) in cells.iter_mut().enumerate() {
        if let Value::Table(table) = &mut cell.value {
            of_cell(table).map_err(|e| e.below(&index.to_string()).below("cell"))?;
        }
    }
    Ok(())
}

fn of_cell(cell: &mut Table) -> Result<(), ScenarioError> {
    let position = |cell: &Table, key: &str| cell.iter().position(|(other, _)| other == key);
    let Some(index) = position(cell, BANDWIDTH) else { return Ok(()) };
    let (key, written) = cell.remove(index);
    if let Some(other) = position(cell, RESOURCE_BLOCKS) {
        // An override has precedence over the file.
        match (cell[other].1.line == OVERRIDE, written.line == OVERRIDE) {
            (true, false) => return Ok(()),
            (false, true) => drop(cell.remove(other)),
            _ => {
                let help = format!("leave out one of `{BANDWIDTH}` and `{RESOURCE_BLOCKS}`");
                return Err(wrong(&written, "it cannot be combined with resource_blocks", &help));
            }
        }
    }
    let line = written.line;
    let section = Tree { value: Value::Table(vec![(key, written.clone())]), line };
    let Written { bandwidth } = read(&section)?;
    let Some((_, blocks)) = CHANNELS.iter().find(|(hz, _)| (hz - bandwidth.0).abs() < 1.0) else {
        let help =
            "\"1.4 MHz\", \"3 MHz\", \"5 MHz\", \"10 MHz\", \"15 MHz\" or \"20 MHz\" (TS 36.104 table 5.6-1)";
        return Err(wrong(&written, "not an LTE bandwidth", help));
    };
    cell.push((RESOURCE_BLOCKS.to_owned(), Tree { value: Value::Integer(*blocks), line }));
    Ok(())
}

fn wrong(written: &Tree, message: &str, help: &str) -> ScenarioError {
    let mut error = ScenarioError::new(BANDWIDTH, message, help);
    error.value = written.written().into();
    error.line = written.line_in_file();
    error
}
