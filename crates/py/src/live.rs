//! Live runs.

use std::fs::File;
use std::io::BufReader;

use airlane_live::ends::{EndId, end_of_host};
use airlane_live::flight::{self, Print, Reader, Recorded};
use airlane_live::{LiveConfig, LiveError as Error};
use airlane_scenario::{Resolved, ScenarioError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;

use crate::columns;

pyo3::create_exception!(
    airlane._native,
    LiveError,
    pyo3::exceptions::PyException,
    "A live run cannot begin or go on; the text says why, and what would help."
);

/// Repeats the flight record of a live run in virtual time: a report as JSON. `ends` are the real UEs, the flows of
/// theirs that were kept, and the numbers of ends that were outside.
#[pyfunction]
pub(crate) fn replay(
    py: Python<'_>,
    scenario: &str,
    seed: u64,
    ends: (Vec<String>, Vec<String>, Vec<usize>),
    path: &str,
) -> PyResult<String> {
    let (real, keep, open) = ends;
    let repeated = || {
        let error = |e: ScenarioError| Error::new(e.to_string(), "");
        let (resolved, real) =
            Resolved::from_json(scenario).and_then(|one| one.for_real(&real, &keep)).map_err(error)?;
        let file = File::open(path).map_err(|e| Error::new(format!("cannot open {path}: {e}"), ""))?;
        let reader = Reader::new(BufReader::new(file));
        let reader = reader.map_err(|e| Error::new(format!("{path} is no flight record: {e}"), ""))?;
        if reader.ues() != real.len() {
            let what = format!("{path} has {} UEs, and the manifest {}", reader.ues(), real.len());
            return Err(Error::new(what, "it belongs to another run"));
        }
        let open: Vec<EndId> = open.into_iter().filter_map(|number| end_of_host(&real, number)).collect();
        flight::replay(&resolved, seed, &real, &open, reader).map_err(error)
    };
    let report = py.detach(repeated).map_err(|e| LiveError::new_err(e.to_string()))?;
    let print = |print: Option<Print>| print.map(|one| format!("{one:?}"));
    let difference = report.first_difference.map(|one| {
        json!({
            "end": one.end.index(),
            "index": one.index,
            "expected": print(one.expected),
            "got": print(one.got),
        })
    });
    let recorded = match &report.recorded {
        Recorded::Whole => "whole".to_owned(),
        Recorded::Limited => "limited".to_owned(),
        Recorded::Damaged(error) => {
            let what = format!("{path} is damaged: {error}");
            let before = match report.first_difference {
                None => format!("{} packets before that left as recorded", report.left),
                Some(_) => "the packets before that are not those of the run".to_owned(),
            };
            return Err(LiveError::new_err(format!("{what}; {before}, which shows nothing of the rest")));
        }
    };
    Ok(json!({
        "entered": report.entered,
        "left": report.left,
        "equal": report.equal,
        "first_difference": difference,
        "recorded": recorded,
        "sim_s": report.end.as_secs_f64(),
    })
    .to_string())
}

/// Makes a live run, in a process of its own with one thread: tables, summary (JSON), and facts (JSON).
#[pyfunction]
pub(crate) fn live<'py>(py: Python<'py>, config: &str) -> PyResult<(Bound<'py, PyDict>, String, String)> {
    let raise = |error: Error| LiveError::new_err(error.to_string());
    let config: LiveConfig = serde_json::from_str(config)
        .map_err(|e| raise(Error::new(format!("wrong settings of a live run: {e}"), "")))?;
    let output = airlane_live::run(&config).map_err(raise)?;
    let json = |value: Result<String, serde_json::Error>| value.expect("facts are numbers and names");
    let (meta, live) = (serde_json::to_string(&output.meta), serde_json::to_string(&output.live));
    Ok((columns::tables(py, &output.tables)?, json(meta), json(live)))
}
