//! The Python module `airlane._native`: converts and forwards, without decisions of its own.
//!
//! During runs the interpreter lock is released: the runs have their own threads, and the calling
//! thread wakes a few times per second to report finished runs to Python and to check for signals.
//! Ctrl-C ends every run after its current event.
//!
//! Tables are passed as columns of little-endian bytes, which pyarrow wraps without a copy.

mod batch;
mod channel;
mod columns;
mod controllers;
mod link;
#[cfg(target_os = "linux")]
mod live;
mod packetdrill;
mod path_schedulers;
mod radio;
mod rate_controllers;
mod resolved;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use airlane_core::Direction;
use airlane_radio::tables::{MAX_PRB, Mcs};
use airlane_record::{Recorder, RecorderParameters};
use airlane_scenario::Scenario;

use crate::resolved::Resolved;

pyo3::create_exception!(
    airlane._native,
    ScenarioError,
    PyValueError,
    "A mistake in a scenario, with `file`, `line`, `key`, `value` and, as `help`, what would be right."
);

pyo3::create_exception!(
    airlane._native,
    GuestError,
    PyRuntimeError,
    "A guest kernel that is missing or failed; `failed` is true if it failed while it ran."
);

/// The exception for an error of a guest kernel.
fn guest_error(py: Python<'_>, error: &airlane_guest::GuestError) -> PyErr {
    let exception = GuestError::new_err(error.to_string());
    let failed = error.cause == airlane_guest::Cause::Failed;
    exception.value(py).setattr("failed", failed).err().unwrap_or(exception)
}

/// The exception for an error in a scenario.
fn scenario_error(py: Python<'_>, error: &airlane_scenario::ScenarioError) -> PyErr {
    let exception = ScenarioError::new_err(error.to_string());
    let object = exception.value(py);
    let attributes = || {
        object.setattr("file", &*error.file)?;
        object.setattr("line", error.line)?;
        object.setattr("key", &*error.key)?;
        object.setattr("value", &*error.value)?;
        object.setattr("help", &*error.help)
    };
    attributes().err().unwrap_or(exception)
}

/// The version of the compiled core.
#[pyfunction]
const fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// The JSON Schema of the scenario format.
#[pyfunction]
fn schema() -> String {
    airlane_scenario::schema()
}

/// The tables of a run without flows: their columns, with what these mean, are those of every run.
#[pyfunction]
fn columns_of_runs(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    columns::tables(py, &Recorder::new(RecorderParameters::of_no_flow()).finish())
}

/// Resolves a scenario. `overrides_json` is an object: values by dotted path.
#[pyfunction]
#[pyo3(signature = (text, file_name, overrides_json = "{}"))]
fn parse(py: Python<'_>, text: &str, file_name: &str, overrides_json: &str) -> PyResult<Resolved> {
    let overrides: serde_json::Map<String, serde_json::Value> = serde_json::from_str(overrides_json)
        .map_err(|e| PyValueError::new_err(format!("overrides are not a JSON object: {e}")))?;
    let resolve = || {
        let mut scenario = Scenario::parse(text, file_name)?;
        for (path, value) in &overrides {
            scenario.set(path, value)?;
        }
        scenario.resolve()
    };
    resolve().map(Resolved::from).map_err(|e| scenario_error(py, &e))
}

/// Bits of a downlink transport block (TS 36.213 tables 7.1.7.1-1 and 7.1.7.2.1-1).
#[pyfunction]
fn tbs_bits(mcs: u8, n_prb: usize) -> PyResult<u32> {
    if mcs > 28 || n_prb > MAX_PRB {
        return Err(PyValueError::new_err(format!(
            "expected MCS 0 to 28 and 0 to {MAX_PRB} PRBs, not {mcs} and {n_prb}"
        )));
    }
    Ok(Mcs::new(mcs).transport_block_bits(n_prb, Direction::Downlink))
}

/// The compiled core of airlane.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(columns_of_runs, module)?)?;
    module.add_function(wrap_pyfunction!(parse, module)?)?;
    module.add_function(wrap_pyfunction!(tbs_bits, module)?)?;
    #[cfg(target_os = "linux")]
    {
        module.add_function(wrap_pyfunction!(live::live, module)?)?;
        module.add_function(wrap_pyfunction!(live::replay, module)?)?;
        module.add("LiveError", module.py().get_type::<live::LiveError>())?;
    }
    module.add_function(wrap_pyfunction!(packetdrill::play_script, module)?)?;
    module.add_function(wrap_pyfunction!(radio::cqi, module)?)?;
    module.add_function(wrap_pyfunction!(radio::mcs_of_cqi, module)?)?;
    module.add_function(wrap_pyfunction!(radio::snr_at_error_rate, module)?)?;
    module.add_function(wrap_pyfunction!(radio::gap_to_fit, module)?)?;
    module.add_function(wrap_pyfunction!(radio::fading_gains, module)?)?;
    module.add_function(wrap_pyfunction!(radio::nr_transport_block_bits, module)?)?;
    module.add_function(wrap_pyfunction!(link::nr_thresholds, module)?)?;
    module.add_function(wrap_pyfunction!(link::nr_block, module)?)?;
    module.add_function(wrap_pyfunction!(link::layer_information, module)?)?;
    module.add_function(wrap_pyfunction!(channel::channel_loss, module)?)?;
    module.add_function(wrap_pyfunction!(channel::channel_line_of_sight, module)?)?;
    module.add_function(wrap_pyfunction!(channel::channel_wall, module)?)?;
    module.add_function(wrap_pyfunction!(channel::sidelink_loss, module)?)?;
    module.add_function(wrap_pyfunction!(channel::channel_calibration, module)?)?;
    module.add_function(wrap_pyfunction!(channel::channel_full_calibration, module)?)?;
    module.add_function(wrap_pyfunction!(batch::run, module)?)?;
    module.add_class::<Resolved>()?;
    module.add_class::<batch::RunOutput>()?;
    module.add_class::<controllers::Ack>()?;
    module.add_class::<controllers::Loss>()?;
    module.add_class::<controllers::Timeout>()?;
    module.add_class::<path_schedulers::Subflow>()?;
    module.add_class::<path_schedulers::Unsent>()?;
    module.add_class::<rate_controllers::Feedback>()?;
    module.add_class::<rate_controllers::PacketReport>()?;
    module.add("GuestError", module.py().get_type::<GuestError>())?;
    module.add("ScenarioError", module.py().get_type::<ScenarioError>())
}
