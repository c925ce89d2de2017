//! Rate controllers of calls written in Python: called with each report of the receiver, and at an interval if their class
//! has one.

use std::sync::Arc;

use airlane_scenario::rate_controller::{
    CallParameters, Duration, Ecn, MakeRateController, OwnRateControllers, RateController, RateEvent,
    RateRequest, RateScript, ScriptedRateController,
};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::controllers::{Numbers, Shared};

/// The shortest and the longest interval of a timer, in ms. Choices: a call of a class costs microseconds.
const INTERVALS_MS: [f64; 2] = [1.0, 60_000.0];

/// A packet of a report.
#[pyclass(frozen, get_all, module = "airlane._native")]
pub(crate) struct PacketReport {
    /// Its number among all packets of the sender.
    sequence: u64,
    /// Its bytes with all headers.
    size: u64,
    /// When it left the sender, in seconds of the run.
    sent_s: f64,
    /// When it arrived, in seconds of the receiver's clock; None if it has not arrived.
    arrived_s: Option<f64>,
    /// True if it arrived with a congestion mark.
    marked: bool,
}

/// A report of the receiver.
#[pyclass(frozen, get_all, module = "airlane._native")]
pub(crate) struct Feedback {
    /// The time of its arrival, in seconds of the run.
    now_s: f64,
    /// The packets that it is about, by their numbers.
    packets: Py<PyTuple>,
    /// Bytes that were sent after the last packet that a report was about.
    in_flight: u64,
    /// The last round trip that RTCP has measured, in ms; None before the first.
    rtt_ms: Option<f64>,
}

/// The interval of the timer of a class.
pub(crate) fn interval(name: &Bound<'_, PyAny>, class: &Bound<'_, PyAny>) -> PyResult<Option<Duration>> {
    let value = class.getattr("timer_ms")?;
    let [least, most] = INTERVALS_MS;
    match value.extract::<Option<f64>>() {
        Ok(None) => Ok(None),
        Ok(Some(ms)) if (least..=most).contains(&ms) => Ok(Some(Duration::from_nanos((ms * 1e6) as u64))),
        _ => {
            let shown = value.repr()?;
            let message = format!("{name}.timer_ms is {shown}; it must be None, or from {least} to {most}");
            Err(PyValueError::new_err(message))
        }
    }
}

/// The factory of controllers of a class, with the interval of their timers.
pub(crate) fn makers(shared: Arc<Shared>, interval: Option<Duration>) -> OwnRateControllers {
    OwnRateControllers(Arc::new(Maker { shared, interval }))
}

/// Adds the names of the class and of its flow to an exception.
fn named(py: Python<'_>, error: PyErr, class: &Py<PyAny>, flow: &str) -> PyErr {
    let class = class.bind(py).getattr(intern!(py, "__name__"));
    let added = class.and_then(|class| error.add_note(py, format!("controller {class}, flow {flow}")));
    added.err().unwrap_or(error)
}

#[derive(Debug)]
struct Maker {
    shared: Arc<Shared>,
    interval: Option<Duration>,
}

impl MakeRateController for Maker {
    fn make(&self, call: &CallParameters<'_>) -> Box<dyn RateController> {
        let shared = Arc::clone(&self.shared);
        let object = Python::attach(|py| {
            let [min_mbps, start_mbps, max_mbps] = call.bounds.in_mbps();
            let made = shared.inside.call(py, || shared.class.call1(py, (min_mbps, start_mbps, max_mbps)));
            made.map_err(|error| shared.fail(named(py, error, &shared.class, call.flow))).ok()
        });
        let flow = call.flow.to_owned();
        let script =
            object.map(|object| Box::new(PythonScript { object, flow, shared }) as Box<dyn RateScript>);
        Box::new(ScriptedRateController::new(script, self.interval, call))
    }
}

/// The object of one sender. Once it has failed, the runs are about to end.
struct PythonScript {
    object: Py<PyAny>,
    flow: String,
    shared: Arc<Shared>,
}

impl PythonScript {
    /// Calls the method, after updating the object's target if it was beyond a bound.
    fn ask(&self, py: Python<'_>, bounded: Option<f64>, event: RateEvent<'_>) -> PyResult<RateRequest> {
        let object = self.object.bind(py);
        if let Some(target_mbps) = bounded {
            object.setattr(intern!(py, "target_mbps"), target_mbps)?;
        }
        let (method, argument) = in_python(py, event)?;
        self.shared.inside.call(py, || object.call_method1(method, (argument,)))?;
        let numbers = Numbers { object, method, arguments: "min_mbps, start_mbps, max_mbps" };
        let target_mbps = numbers.required(intern!(py, "target_mbps"))?;
        Ok(RateRequest { target_mbps, pacing_mbps: numbers.get(intern!(py, "pacing_mbps"))? })
    }
}

/// The method for an event, and its argument.
fn in_python(py: Python<'_>, event: RateEvent<'_>) -> PyResult<(&'static str, Py<PyAny>)> {
    Ok(match event {
        RateEvent::Feedback { now, feedback, rtt } => {
            let reports = feedback.packets.iter().map(|report| PacketReport {
                sequence: report.sent.sequence,
                size: report.sent.size.get(),
                sent_s: report.sent.at.as_secs_f64(),
                arrived_s: report.arrived.map(|at| at.as_secs_f64()),
                marked: report.ecn == Ecn::CongestionExperienced,
            });
            let reports = reports.map(|report| Py::new(py, report)).collect::<PyResult<Vec<_>>>()?;
            let argument = Feedback {
                now_s: now.as_secs_f64(),
                packets: PyTuple::new(py, reports)?.unbind(),
                in_flight: feedback.in_flight.get(),
                rtt_ms: rtt.map(|rtt| rtt.as_secs_f64() * 1e3),
            };
            ("on_feedback", Py::new(py, argument)?.into_any())
        }
        RateEvent::Timer { now } => ("on_timer", now.as_secs_f64().into_pyobject(py)?.into_any().unbind()),
    })
}

impl RateScript for PythonScript {
    fn call(&mut self, bounded: Option<f64>, event: RateEvent<'_>) -> Option<RateRequest> {
        self.shared.measure(|py| {
            self.ask(py, bounded, event).map_err(|error| named(py, error, &self.shared.class, &self.flow))
        })
    }
}
