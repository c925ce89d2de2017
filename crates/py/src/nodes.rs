//! Real nodes.

use airlane_nodes::{Ended, Node};
use pyo3::prelude::*;

use crate::scenario_error;

pyo3::create_exception!(
    airlane._native,
    NodeError,
    pyo3::exceptions::PyException,
    "A node cannot begin or go on; the text says why, and what would help."
);

fn read(py: Python<'_>, kind: &str, text: &str, file: &str) -> PyResult<Box<dyn Node>> {
    airlane_nodes::read(kind, text, file).map_err(|e| scenario_error(py, &e))
}

/// The requirements of a node, each with its state on this machine: a list as JSON.
#[pyfunction]
pub(crate) fn node_check(py: Python<'_>, kind: &str, text: &str, file: &str) -> PyResult<String> {
    let requirements = read(py, kind, text, file)?.requirements();
    Ok(serde_json::to_string(&requirements).expect("requirements are texts"))
}

/// The rules, routes and parameters that lead packets to a node, as a shell script.
#[pyfunction]
pub(crate) fn node_setup(py: Python<'_>, kind: &str, text: &str, file: &str) -> PyResult<String> {
    Ok(read(py, kind, text, file)?.setup().to_string())
}

/// Runs a node until SIGTERM or SIGINT. Returns whether the work that had begun could end.
#[pyfunction]
pub(crate) fn node_run(py: Python<'_>, kind: &str, text: &str, file: &str) -> PyResult<bool> {
    let node = read(py, kind, text, file)?;
    let ended = py.detach(|| airlane_nodes::run(node)).map_err(|e| NodeError::new_err(e.to_string()))?;
    Ok(ended == Ended::Drained)
}
