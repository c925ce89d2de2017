//! Controllers written in Python: the only calls from a run into the interpreter. This module has those of TCP and QUIC,
//! and what they share with those of calls (`rate_controllers`).
//!
//! A controller is called once per acknowledgment, or once per round trip, depending on `every` of its class,
//! and at losses and timeouts. The interpreter lock is held only during the call. Between calls the window is
//! in Rust, which sets and reads the attribute `cwnd`, in segments, and reads `pacing_mbps`.

use std::cell::OnceCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use airlane_scenario::Extensions;
use airlane_scenario::controller::{
    MakeController, OwnController, OwnControllers, Script, ScriptAck, ScriptEvent, ScriptRequest,
    ScriptedController, SegmentWindow,
};
use airlane_scenario::rate_controller::Duration;
use pyo3::exceptions::{PyAttributeError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyType};

use crate::{path_schedulers, rate_controllers};

/// The result of one acknowledgment, or of all acknowledgments of a round trip.
#[pyclass(frozen, get_all, module = "airlane._native")]
pub(crate) struct Ack {
    /// The arrival time, in seconds of the run.
    now_s: f64,
    /// Newly delivered segments.
    delivered: u32,
    /// True if the window may grow: data was acknowledged in order, and there is no loss recovery.
    may_grow: bool,
    /// True if the window limited the sender.
    window_limited: bool,
    /// Segments sent and not acknowledged.
    outstanding: u32,
    /// Round trip in ms, or the minimum of a round trip's acknowledgments; None without a sample.
    rtt_ms: Option<f64>,
    /// Smoothed round trip in ms.
    srtt_ms: f64,
}

/// The start of a loss episode.
#[pyclass(frozen, get_all, module = "airlane._native")]
pub(crate) struct Loss {
    /// When it was detected.
    now_s: f64,
    /// Segments in flight.
    in_flight: u32,
    /// True if a discriminator classifies the loss as independent of load.
    random: bool,
}

/// The retransmission timer expired.
#[pyclass(frozen, get_all, module = "airlane._native")]
pub(crate) struct Timeout {
    /// The time.
    now_s: f64,
    /// The window to restart from, in segments.
    restart: u32,
    /// True if the window was not already reduced for these segments in flight.
    new_episode: bool,
}

/// The data that runs and interpreter share about one class.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) class: Py<PyAny>,
    calls: AtomicU64,
    nanoseconds: AtomicU64,
    failure: Mutex<Option<PyErr>>,
    cancel: Arc<AtomicBool>,
    pub(crate) inside: Arc<Inside>,
}

impl Shared {
    /// Stores the first failure and ends all runs. Failures after a cancellation are results of the
    /// interrupts.
    pub(crate) fn fail(&self, error: PyErr) {
        if !self.cancel.swap(true, Ordering::Relaxed) {
            self.failure.lock().expect("nobody panics while it is held").get_or_insert(error);
        }
    }

    /// Makes a call with the interpreter, and counts it and its time. `None` if it failed.
    pub(crate) fn measure<T>(&self, call: impl FnOnce(Python<'_>) -> PyResult<T>) -> Option<T> {
        #[expect(clippy::disallowed_types, reason = "measures what the call costs; no result depends on it")]
        let began = std::time::Instant::now();
        let came = Python::attach(call);
        self.calls.fetch_add(1, Ordering::Relaxed);
        let spent = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.fetch_add(spent, Ordering::Relaxed);
        came.map_err(|error| self.fail(error)).ok()
    }
}

/// Threads that are in a call into a controller, with the interpreter's identifiers.
#[derive(Debug, Default)]
pub(crate) struct Inside(Mutex<Vec<u64>>);

impl Inside {
    /// Makes a call into a controller.
    pub(crate) fn call<T>(&self, py: Python<'_>, call: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
        thread_local!(static NAME: OnceCell<u64> = const { OnceCell::new() });
        let name = NAME.with(|name| -> PyResult<u64> {
            if let Some(name) = name.get() {
                return Ok(*name);
            }
            let found = py.import("threading")?.call_method0("get_ident")?.extract()?;
            Ok(*name.get_or_init(|| found))
        })?;
        self.threads().push(name);
        let came = call();
        let mut threads = self.threads();
        let place = threads.iter().position(|&inside| inside == name).expect("was put there");
        threads.swap_remove(place);
        came
    }

    fn threads(&self) -> MutexGuard<'_, Vec<u64>> {
        self.0.lock().expect("nobody panics while it is held")
    }
}

/// The watch that ends calls into controllers, if there is one.
pub(crate) struct Watch<'py> {
    by: Option<Bound<'py, PyAny>>,
    inside: Arc<Inside>,
}

impl Watch<'_> {
    /// True if no call is in progress, or there is no watch.
    pub(crate) fn is_idle(&self) -> bool {
        self.by.is_none() || self.inside.threads().is_empty()
    }

    /// Interrupts the calls in progress.
    pub(crate) fn interrupt(&self) -> PyResult<()> {
        self.tell("interrupt")
    }

    /// Abandons the calls in progress.
    pub(crate) fn leave(&self) -> PyResult<()> {
        self.tell("leave")
    }

    fn tell(&self, method: &str) -> PyResult<()> {
        let threads = self.inside.threads().clone();
        self.by.as_ref().map_or(Ok(()), |by| by.call_method1(method, (threads,)).map(drop))
    }
}

/// The classes passed to `run`.
pub(crate) struct PythonControllers {
    classes: Vec<(String, Kind, Arc<Shared>)>,
    inside: Arc<Inside>,
}

/// The flows that a class is for, and when it is called.
#[derive(Clone, Copy)]
enum Kind {
    /// Flows over TCP and QUIC: once per round trip, or per acknowledgment.
    Transport { per_round: bool },
    /// Calls: at an interval besides their feedback, if there is one.
    Call(Option<Duration>),
    /// Flows over Multipath TCP, whose segments it schedules.
    Paths,
}

impl Kind {
    fn of(name: &Bound<'_, PyAny>, class: &Bound<'_, PyAny>) -> PyResult<Self> {
        let module = class.py().import("airlane.control")?;
        let derives = |base: &str| -> PyResult<bool> {
            let base = module.getattr(base)?;
            Ok(class.cast::<PyType>().is_ok_and(|class| class.is_subclass(&base).unwrap_or(false)))
        };
        if derives("CallController")? {
            return rate_controllers::interval(name, class).map(Self::Call);
        }
        if derives("PathScheduler")? {
            return Ok(Self::Paths);
        }
        let every = class.getattr("every")?;
        let word = every.extract::<String>();
        match word.as_deref() {
            Ok("ack") => Ok(Self::Transport { per_round: false }),
            Ok("round") => Ok(Self::Transport { per_round: true }),
            _ => {
                let shown = word.map_or_else(|_| format!("{every:?}"), |word| format!("{word:?}"));
                let message = format!("{name}.every is {shown}; it must be \"ack\" or \"round\"");
                Err(PyValueError::new_err(message))
            }
        }
    }
}

impl PythonControllers {
    /// Reads the settings of the classes; `cancel` ends the runs when one of them raises.
    pub(crate) fn new(classes: Option<&Bound<'_, PyDict>>, cancel: &Arc<AtomicBool>) -> PyResult<Self> {
        let mut found = Vec::new();
        let inside = Arc::<Inside>::default();
        for (name, class) in classes.into_iter().flatten() {
            let kind = Kind::of(&name, &class)?;
            let shared = Shared {
                class: class.unbind(),
                calls: AtomicU64::new(0),
                nanoseconds: AtomicU64::new(0),
                failure: Mutex::new(None),
                cancel: Arc::clone(cancel),
                inside: Arc::clone(&inside),
            };
            found.push((name.extract()?, kind, Arc::new(shared)));
        }
        Ok(Self { classes: found, inside })
    }

    /// The factories of controllers of these classes, by name.
    pub(crate) fn extensions(&self) -> Extensions {
        let mut own = Extensions::default();
        for (name, kind, shared) in &self.classes {
            let shared = Arc::clone(shared);
            match *kind {
                Kind::Transport { per_round } => {
                    let maker = OwnControllers(Arc::new(Maker { shared, per_round }));
                    own.controllers.insert(name.clone(), maker);
                }
                Kind::Call(interval) => {
                    let maker = rate_controllers::makers(shared, interval);
                    own.rate_controllers.insert(name.clone(), maker);
                }
                Kind::Paths => {
                    own.path_schedulers.insert(name.clone(), path_schedulers::maker(shared));
                }
            }
        }
        own
    }

    /// The watch for calls into these controllers.
    pub(crate) fn watch<'py>(&self, by: Option<Bound<'py, PyAny>>) -> Watch<'py> {
        Watch { by, inside: Arc::clone(&self.inside) }
    }

    /// Raises the exception of a controller, if there was one.
    pub(crate) fn raise_failure(&self) -> PyResult<()> {
        let take = |shared: &Arc<Shared>| shared.failure.lock().expect("all runs have ended").take();
        self.classes.iter().find_map(|(_, _, shared)| take(shared)).map_or(Ok(()), Err)
    }

    /// Writes calls and seconds by name.
    pub(crate) fn report(&self, costs: &Bound<'_, PyDict>) -> PyResult<()> {
        for (name, _, shared) in &self.classes {
            let seconds = shared.nanoseconds.load(Ordering::Relaxed) as f64 * 1e-9;
            costs.set_item(name, (shared.calls.load(Ordering::Relaxed), seconds))?;
        }
        Ok(())
    }
}

#[derive(Debug)]
struct Maker {
    shared: Arc<Shared>,
    per_round: bool,
}

impl MakeController for Maker {
    fn make(&self, window: &SegmentWindow) -> Box<dyn OwnController> {
        let object = Python::attach(|py| {
            let arguments = (window.segment_size(), window.segments);
            let made = self.shared.inside.call(py, || self.shared.class.call1(py, arguments));
            made.map_err(|error| self.shared.fail(error)).ok()
        });
        let shared = Arc::clone(&self.shared);
        let script = object.map(|object| Box::new(PythonScript { object, shared }) as Box<dyn Script>);
        Box::new(ScriptedController::new(script, self.per_round, window))
    }
}

/// The attributes of an object after a call of a method. `arguments` are those of the `__init__` of its base class.
pub(crate) struct Numbers<'a, 'py> {
    pub(crate) object: &'a Bound<'py, PyAny>,
    pub(crate) method: &'static str,
    pub(crate) arguments: &'static str,
}

impl Numbers<'_, '_> {
    /// The number in an attribute; `None` if it is Python's `None`.
    pub(crate) fn get(&self, name: &Bound<'_, PyString>) -> PyResult<Option<f64>> {
        let Self { object, method, arguments } = self;
        let value = object.getattr(name).map_err(|error| {
            if error.is_instance_of::<PyAttributeError>(object.py()) {
                let help = format!("its __init__ must call super().__init__({arguments})");
                return PyTypeError::new_err(format!("the object has no attribute {name}: {help}"));
            }
            error
        })?;
        match value.extract::<Option<f64>>() {
            Ok(Some(given)) if !given.is_finite() || given < 0.0 => Err(PyValueError::new_err(format!(
                "after {method}, {name} is {}; it must be finite and not negative",
                value.repr()?
            ))),
            Ok(given) => Ok(given),
            Err(_) => {
                Err(PyTypeError::new_err(format!("after {method}, {name} is {value:?}; it must be a number")))
            }
        }
    }

    /// The number in an attribute that must not be `None`.
    pub(crate) fn required(&self, name: &Bound<'_, PyString>) -> PyResult<f64> {
        let method = self.method;
        self.get(name)?.ok_or_else(|| {
            PyTypeError::new_err(format!("after {method}, {name} is None; it must be a number"))
        })
    }
}

/// The object of one connection. Once it has failed, the runs are about to end.
#[derive(Debug)]
struct PythonScript {
    object: Py<PyAny>,
    shared: Arc<Shared>,
}

impl PythonScript {
    /// Calls the method, after updating the object's window if it was changed elsewhere.
    fn ask(&self, py: Python<'_>, behind: Option<u32>, event: ScriptEvent) -> PyResult<ScriptRequest> {
        let object = self.object.bind(py);
        if let Some(segments) = behind {
            object.setattr(intern!(py, "cwnd"), f64::from(segments))?;
        }
        let (method, argument) = in_python(py, event)?;
        self.shared.inside.call(py, || object.call_method1(method, (argument,)))?;
        let numbers = Numbers { object, method, arguments: "segment_size, cwnd" };
        let cwnd = numbers.required(intern!(py, "cwnd"))?;
        Ok(ScriptRequest { cwnd, pacing_mbps: numbers.get(intern!(py, "pacing_mbps"))? })
    }
}

/// The method for an event, and its argument.
fn in_python(py: Python<'_>, event: ScriptEvent) -> PyResult<(&'static str, Py<PyAny>)> {
    Ok(match event {
        ScriptEvent::Ack(ScriptAck {
            now,
            delivered,
            may_grow,
            window_limited,
            outstanding,
            rtt_ms,
            srtt_ms,
        }) => {
            let now_s = now.as_secs_f64();
            let ack = Ack { now_s, delivered, may_grow, window_limited, outstanding, rtt_ms, srtt_ms };
            ("on_ack", Py::new(py, ack)?.into_any())
        }
        ScriptEvent::Loss { now, in_flight, random } => {
            ("on_loss", Py::new(py, Loss { now_s: now.as_secs_f64(), in_flight, random })?.into_any())
        }
        ScriptEvent::Timeout { now, restart, new_episode } => (
            "on_timeout",
            Py::new(py, Timeout { now_s: now.as_secs_f64(), restart, new_episode })?.into_any(),
        ),
        ScriptEvent::Undo(before) => ("on_undo", f64::from(before).into_pyobject(py)?.into_any().unbind()),
    })
}

impl Script for PythonScript {
    fn call(&mut self, behind: Option<u32>, event: ScriptEvent) -> Option<ScriptRequest> {
        self.shared.measure(|py| self.ask(py, behind, event))
    }

    fn resize(&mut self, segment_size: u32, segments: u32) {
        let set = |py: Python<'_>| -> PyResult<()> {
            let object = self.object.bind(py);
            object.setattr(intern!(py, "segment_size"), segment_size)?;
            object.setattr(intern!(py, "cwnd"), f64::from(segments))
        };
        if let Err(error) = Python::attach(set) {
            self.shared.fail(error);
        }
    }

    fn copy(&self) -> Option<Box<dyn Script>> {
        let object = Python::attach(|py| {
            let copy = || py.import("copy")?.call_method1("deepcopy", (&self.object,));
            let copied = self.shared.inside.call(py, copy);
            copied.map_err(|error| self.shared.fail(error)).ok().map(Bound::unbind)
        })?;
        Some(Box::new(Self { object, shared: Arc::clone(&self.shared) }))
    }
}
