//! Scripts of packetdrill.

use std::path::Path;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use airlane_core::Duration;
use airlane_packetdrill::{Options, play};

/// Plays a script on the simulated TCP, or on the guest kernel of this name; files that it names are read from `folder`.
/// Returns the result, line and reason as JSON.
#[pyfunction]
#[pyo3(signature = (text, folder, ipv6, tolerance_us, kernel=None))]
pub(crate) fn play_script(
    py: Python<'_>,
    text: &str,
    folder: &str,
    ipv6: bool,
    tolerance_us: u64,
    kernel: Option<&str>,
) -> PyResult<String> {
    let beside = |name: &str| std::fs::read_to_string(Path::new(folder).join(name)).ok();
    let options = Options { ipv6, tolerance: Duration::from_micros(tolerance_us) };
    let report = py.detach(|| match kernel {
        None => Ok(play(text, &beside, &options)),
        Some(kernel) => airlane_guest::play_script(kernel, text, &beside, &options),
    });
    let report = report.map_err(|error| crate::guest_error(py, &error))?;
    serde_json::to_string(&report).map_err(|e| PyRuntimeError::new_err(e.to_string()))
}
