//! Resolved scenarios for Python: each is read and checked once, and Python holds it by a handle.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, OnceLock};

use airlane_scenario::{Files, Resolved as Scenario};
use pyo3::prelude::*;

use crate::scenario_error;

/// A resolved scenario. Two are equal if all their values are.
#[pyclass(frozen, module = "airlane._native")]
pub(crate) struct Resolved {
    scenario: Arc<Scenario>,
    json: OnceLock<String>,
    hash: OnceLock<u64>,
}

impl From<Scenario> for Resolved {
    fn from(scenario: Scenario) -> Self {
        Self { scenario: Arc::new(scenario), json: OnceLock::new(), hash: OnceLock::new() }
    }
}

impl Resolved {
    pub(crate) fn scenario(&self) -> Arc<Scenario> {
        Arc::clone(&self.scenario)
    }
}

#[pymethods]
impl Resolved {
    /// Reads the JSON of a resolved scenario, as results and flight records store it.
    #[staticmethod]
    fn from_json(py: Python<'_>, text: &str) -> PyResult<Self> {
        Scenario::from_json(text).map(Self::from).map_err(|e| scenario_error(py, &e))
    }

    /// Every value as JSON.
    #[getter]
    fn json(&self) -> &str {
        self.json.get_or_init(|| self.scenario.to_json())
    }

    /// The files that a run reads.
    fn files(&self) -> Vec<String> {
        self.scenario.files().into_iter().map(str::to_owned).collect()
    }

    /// Notes of the readers of recordings and movements on what they skipped or assumed, a line for each file.
    fn file_notes(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.scenario.notes(&Files::Disk).map_err(|e| scenario_error(py, &e))
    }

    /// The names of the kernels that a run needs.
    fn kernels(&self) -> Vec<String> {
        self.scenario.kernels().into_iter().map(str::to_owned).collect()
    }

    /// The names of the flows, as in results.
    fn flow_names(&self) -> Vec<String> {
        self.scenario.flow_names()
    }

    /// The names of the UEs, as in results; `host` in a wired network.
    fn ue_names(&self) -> Vec<String> {
        self.scenario.ue_names()
    }

    fn __eq__(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.scenario, &other.scenario) || self.json() == other.json()
    }

    fn __hash__(&self) -> u64 {
        *self.hash.get_or_init(|| {
            let mut hasher = DefaultHasher::new();
            self.json().hash(&mut hasher);
            hasher.finish()
        })
    }

    /// For copies and for other processes.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((slf.get_type().getattr("from_json")?, (slf.get().json().to_owned(),)))
    }
}
