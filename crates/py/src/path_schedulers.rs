//! Schedulers of Multipath TCP written in Python: called for each segment of the data.

use std::sync::Arc;

use airlane_scenario::path_scheduler::{MakeScheduler, Scheduler, SchedulerData, SchedulerPath};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::controllers::Shared;

/// A subflow.
#[pyclass(frozen, get_all, module = "airlane._native")]
pub(crate) struct Subflow {
    /// Its number, from 0.
    index: usize,
    /// True if it can send a segment now.
    available: bool,
    /// True if its handshake is complete and no timeout suggests that its path has failed.
    usable: bool,
    /// True if it is a backup.
    backup: bool,
    /// Smoothed round trip in ms.
    srtt_ms: f64,
    /// Congestion window in segments.
    cwnd: u32,
    /// Segments in flight.
    in_flight: u32,
}

/// The data of a connection.
#[pyclass(frozen, get_all, module = "airlane._native")]
pub(crate) struct Unsent {
    /// The time, in seconds of the run.
    now_s: f64,
    /// Bytes of the segment that must be sent.
    segment: u64,
    /// Bytes that were written and not sent, with the segment; None if the application always has more.
    bytes: Option<u64>,
    /// The receive window of the peer in bytes.
    window: u64,
}

/// The factory of schedulers of a class.
pub(crate) fn maker(shared: Arc<Shared>) -> Arc<dyn MakeScheduler> {
    Arc::new(Maker { shared })
}

#[derive(Debug)]
struct Maker {
    shared: Arc<Shared>,
}

impl MakeScheduler for Maker {
    fn make(&self) -> Box<dyn Scheduler> {
        let shared = Arc::clone(&self.shared);
        let object = Python::attach(|py| {
            let made = shared.inside.call(py, || shared.class.call0(py));
            made.map_err(|error| shared.fail(error)).ok()
        });
        Box::new(PythonScheduler { object, shared })
    }
}

/// The object of one end of a connection. Once it has failed, the runs are about to end.
#[derive(Debug)]
struct PythonScheduler {
    object: Option<Py<PyAny>>,
    shared: Arc<Shared>,
}

impl PythonScheduler {
    fn ask(
        &self,
        py: Python<'_>,
        object: &Py<PyAny>,
        (paths, data): (&[SchedulerPath], &SchedulerData),
    ) -> PyResult<Option<usize>> {
        let subflow = |(index, path): (usize, &SchedulerPath)| Subflow {
            index,
            available: path.is_available(),
            usable: path.usable,
            backup: path.backup,
            srtt_ms: path.sender.srtt.as_secs_f64() * 1e3,
            cwnd: path.sender.window,
            in_flight: path.sender.in_flight,
        };
        let all = paths.iter().enumerate().map(subflow).map(|one| Py::new(py, one));
        let all = PyTuple::new(py, all.collect::<PyResult<Vec<_>>>()?)?;
        let bytes = data.unsent.get();
        let unsent = Unsent {
            now_s: data.now.as_secs_f64(),
            segment: data.segment.get(),
            bytes: (bytes < u64::MAX / 2).then_some(bytes),
            window: data.window.get(),
        };
        let method = intern!(py, "select");
        let given = self.shared.inside.call(py, || object.call_method1(py, method, (all, unsent)))?;
        let chosen = given.extract::<Option<usize>>(py).ok();
        let shown = given.bind(py).repr()?;
        chosen.filter(|index| index.is_none_or(|index| index < paths.len())).ok_or_else(|| {
            let highest = paths.len().saturating_sub(1);
            PyTypeError::new_err(format!(
                "select returned {shown}; it must be None, or a number of a subflow from 0 to {highest}"
            ))
        })
    }
}

impl Scheduler for PythonScheduler {
    fn select(&mut self, paths: &[SchedulerPath], data: &SchedulerData) -> Option<usize> {
        let object = self.object.as_ref()?;
        let came = self.shared.measure(|py| self.ask(py, object, (paths, data)));
        came.unwrap_or_else(|| {
            self.object = None;
            None
        })
    }
}
