//! Live runs.

use airlane_live::{LiveConfig, LiveError as Error};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns;

pyo3::create_exception!(
    airlane._native,
    LiveError,
    pyo3::exceptions::PyException,
    "A live run cannot begin or go on; the text says why, and what would help."
);

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
