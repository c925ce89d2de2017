//! Converts the channel bandwidth of a cell to resource blocks. In NR their number depends on the subcarrier spacing and
//! the carrier, which presets may have set.

use airlane_ran::numerology::nr::FrequencyRange;
use airlane_settings::{OVERRIDE, Table, Tree, Value, read};
use serde::Deserialize;

use crate::ScenarioError;
use crate::format::Radio;
use crate::quantity::Frequency;
use crate::technology::Technology;

/// Channel bandwidths of LTE in Hz and their resource blocks (TS 36.104 table 5.6-1).
const CHANNELS: [(f64, i64); 6] = [(1.4e6, 6), (3e6, 15), (5e6, 25), (10e6, 50), (15e6, 75), (20e6, 100)];

/// Resource blocks of a cell that the check rejects.
const ANY: i64 = 11;

const BANDWIDTH: &str = "bandwidth";
const RESOURCE_BLOCKS: &str = "resource_blocks";

/// The key of a cell of LTE that determines its resource blocks.
#[derive(Deserialize)]
struct Written {
    bandwidth: Frequency,
}

/// The keys of a cell of NR that determine its resource blocks.
#[derive(Deserialize)]
struct NrCarrier {
    bandwidth: Frequency,
    frequency: Frequency,
    radio: Radio,
}

/// Replaces the bandwidth of each cell that has one by resource blocks, after presets have filled in the rest.
///
/// # Errors
/// If it is not a bandwidth of the technology, or if the resource blocks are also given.
pub(crate) fn replace(scenario: &mut Tree, network: &str) -> Result<(), ScenarioError> {
    let Some(Tree { value: Value::Array(cells), .. }) = scenario.get_mut("cell") else { return Ok(()) };
    for (index, cell) in cells.iter_mut().enumerate() {
        let technology = Technology::of_cell(cell, network);
        if let Value::Table(table) = &mut cell.value {
            of_cell(table, technology).map_err(|e| e.below(&index.to_string()).below("cell"))?;
        }
    }
    Ok(())
}

fn of_cell(cell: &mut Table, technology: Technology) -> Result<(), ScenarioError> {
    let position = |cell: &Table, key: &str| cell.iter().position(|(other, _)| other == key);
    let Some(index) = position(cell, BANDWIDTH) else { return Ok(()) };
    let (_, written) = cell.remove(index);
    if let Some(other) = position(cell, RESOURCE_BLOCKS) {
        // An override has precedence over the file, and the file over a preset.
        match (cell[other].1.line, written.line) {
            (_, 0) => return Ok(()),
            (OVERRIDE, line) if line != OVERRIDE => return Ok(()),
            (0, _) => drop(cell.remove(other)),
            (line, OVERRIDE) if line != OVERRIDE => drop(cell.remove(other)),
            _ => {
                let help = format!("leave out one of `{BANDWIDTH}` and `{RESOURCE_BLOCKS}`");
                return Err(wrong(&written, "it cannot be combined with resource_blocks", &help));
            }
        }
    }
    let blocks = match technology {
        Technology::Lte => of_lte(&written)?,
        Technology::Nr => of_nr(cell, &written)?,
    };
    cell.push((RESOURCE_BLOCKS.to_owned(), Tree { value: Value::Integer(blocks), line: written.line }));
    Ok(())
}

/// The resource blocks of a bandwidth of LTE.
fn of_lte(written: &Tree) -> Result<i64, ScenarioError> {
    let Written { bandwidth } = read(&section(vec![(BANDWIDTH.to_owned(), written.clone())], written.line))?;
    let found = CHANNELS.iter().find(|(hz, _)| (hz - bandwidth.0).abs() < 1.0);
    found.map(|(_, blocks)| *blocks).ok_or_else(|| {
        let help =
            "\"1.4 MHz\", \"3 MHz\", \"5 MHz\", \"10 MHz\", \"15 MHz\" or \"20 MHz\" (TS 36.104 table 5.6-1)";
        wrong(written, "not an LTE bandwidth", help)
    })
}

/// The resource blocks of a bandwidth of NR.
fn of_nr(cell: &Table, written: &Tree) -> Result<i64, ScenarioError> {
    let needed = cell.iter().filter(|(key, _)| ["frequency", "radio"].contains(&key.as_str())).cloned();
    let keys = needed.chain([(BANDWIDTH.to_owned(), written.clone())]).collect();
    let NrCarrier { bandwidth, frequency, radio } = read(&section(keys, 0))?;
    let numerology = match &radio {
        Radio::Nr(nr) => nr.subcarrier_spacing.numerology(),
        Radio::Lte => unreachable!("a cell of NR"),
    };
    // A carrier or a spacing that NR does not have is reported by the check of the cell, with any bandwidth.
    let Some(range) = FrequencyRange::of(frequency.0) else { return Ok(ANY) };
    let channels = range.channels(numerology);
    let found = channels.iter().find(|(mhz, _)| (f64::from(*mhz) * 1e6 - bandwidth.0).abs() < 1.0);
    if channels.is_empty() {
        return Ok(ANY);
    }
    found.map(|(_, blocks)| i64::from(*blocks)).ok_or_else(|| {
        let spacing = 15 << numerology;
        let known: Vec<_> = channels.iter().map(|(mhz, _)| mhz.to_string()).collect();
        let table = match range {
            FrequencyRange::One => "TS 38.101-1 table 5.3.2-1",
            FrequencyRange::Two => "TS 38.101-2 table 5.3.2-1",
        };
        let message = format!("not a bandwidth of NR at {frequency} with {spacing} kHz");
        wrong(written, &message, &format!("it must be one of {} MHz ({table})", known.join(", ")))
    })
}

fn section(keys: Table, line: u32) -> Tree {
    Tree { value: Value::Table(keys), line }
}

fn wrong(written: &Tree, message: &str, help: &str) -> ScenarioError {
    let mut error = ScenarioError::new(BANDWIDTH, message, help);
    error.value = written.written().into();
    error.line = written.line_in_file();
    error
}
