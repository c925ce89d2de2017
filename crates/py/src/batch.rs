//! Many runs at once, without holding the interpreter lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use airlane_assembly::{CaptureError, RunOutput as Output};
use airlane_guest::{Cause, GuestError, GuestFacts};
use airlane_record::Table;
use airlane_scenario::{Extensions, Resolved as Scenario, ScenarioError};
use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::controllers::{PythonControllers, Watch};
use crate::resolved::Resolved;
use crate::{columns, guest_error, scenario_error};

/// How often the calling thread checks for signals.
const SIGNAL_PERIOD: Duration = Duration::from_millis(100);

/// Runs end within this time after cancellation, unless a call into a controller continues.
const END_PERIOD: Duration = Duration::from_millis(200);
/// How often such a call is interrupted, and the maximum number of interrupts. A call that then continues is
/// abandoned: an interrupt does not reach a call that sleeps.
const INTERRUPT_PERIOD: Duration = Duration::from_millis(50);
const INTERRUPTS: u32 = 8;

/// The output of one run.
#[pyclass(frozen, module = "airlane._native")]
pub(crate) struct RunOutput {
    /// Table by name; a table is a list of (column name, kind, data).
    #[pyo3(get)]
    tables: Py<PyDict>,
    /// Facts about the run, as a JSON object.
    #[pyo3(get)]
    meta: String,
}

/// Why a run failed.
enum Failure {
    Scenario(ScenarioError),
    Capture(CaptureError),
    Guest(GuestError),
}

type Outcome = Result<Done, Failure>;

/// A run that has ended: its output, the seconds of its loop, and facts about its guests, if it had any.
type Done = (Output, f64, Option<GuestFacts>);

/// A run to make.
struct Job {
    scenario: Arc<Scenario>,
    seed: u64,
    /// The prefix of its capture files.
    captures: Option<String>,
}

/// Runs each (resolved scenario, seed) and returns the outputs in the order of the jobs. Jobs take the threads first: a run
/// has several only if there are several for each job. With `on_output`, it gets each output when its job ends, with the
/// index of the job, and nothing is returned: outputs of many jobs need not be in memory together. `on_rows` gets rows of
/// long tables during the runs, with the index of the job, as a dictionary like that of [`RunOutput`]; its output has the
/// others. `on_done` is called with the index of each job that ends, `on_progress` ten
/// times a second with the sum of the simulated shares of all jobs. `captures` gives the prefix of the capture
/// files of each job; without it nothing is captured. `controllers` maps the names of users' own controllers in scenarios to
/// classes. The cost of the calls into them is put into `costs`, by name: number of calls, and seconds.
/// `watch` ends calls into controllers that continue after a signal: its method `interrupt` gets the threads
/// that are in such a call, and `leave` those whose call did not end.
#[pyfunction]
#[pyo3(signature = (jobs, threads, on_done = None, captures = None, controllers = None, costs = None, watch = None, on_progress = None, on_output = None, on_rows = None))]
#[expect(clippy::too_many_arguments, reason = "Python calls it with names")]
pub(crate) fn run(
    py: Python<'_>,
    jobs: Vec<(Py<Resolved>, u64)>,
    threads: usize,
    on_done: Option<Py<PyAny>>,
    captures: Option<Vec<String>>,
    controllers: Option<Bound<'_, PyDict>>,
    costs: Option<Bound<'_, PyDict>>,
    watch: Option<Bound<'_, PyAny>>,
    on_progress: Option<Py<PyAny>>,
    on_output: Option<Py<PyAny>>,
    on_rows: Option<Py<PyAny>>,
) -> PyResult<Vec<RunOutput>> {
    let jobs = read(jobs, captures).map_err(|e| scenario_error(py, &e))?;
    let cancel = Arc::new(AtomicBool::new(false));
    let own = PythonControllers::new(controllers.as_ref(), &cancel)?;
    let on_news = |news: News| {
        let (index, outcome) = match news {
            News::Rows(index, name, table) => {
                let rows = columns::tables(py, &[(name, table)])?;
                return on_rows
                    .as_ref()
                    .map_or(Ok(()), |callback| callback.call1(py, (index, rows)).map(drop));
            }
            News::Ended(index, outcome) => (index, outcome),
        };
        if let (Some(callback), Some(outcome)) = (&on_output, outcome) {
            callback.call1(py, (index, to_python(py, *outcome)?))?;
        }
        match &on_done {
            Some(callback) => callback.call1(py, (index,)).map(drop),
            None => Ok(()),
        }
    };
    let simulated = Arc::new(Simulated::default());
    let on_period = || match &on_progress {
        Some(callback) => callback.call1(py, (simulated.runs(),)).map(drop),
        None => Ok(()),
    };
    let parts = own.extensions();
    let stopping = (Arc::clone(&cancel), Arc::clone(&simulated));
    let passed_on = PassedOn { outputs: on_output.is_some(), rows: on_rows.is_some() };
    let work = begin(jobs, threads, stopping, (parts, passed_on));
    let listened = listen(py, work.news, &cancel, (on_news, on_period));
    cancel.fetch_or(listened.is_err(), Ordering::Relaxed);
    let outcomes = end(py, work.thread, &cancel, &own.watch(watch))?;
    listened?;
    own.raise_failure()?;
    let Some(mut outcomes) = outcomes else {
        return Err(PyRuntimeError::new_err("a run has failed, and a call into a controller does not end"));
    };
    if let Some(failed) = outcomes.iter().position(|outcome| matches!(outcome, Some(Err(_)))) {
        let outcome = outcomes.swap_remove(failed).expect("it is a failure");
        return to_python(py, outcome).map(|output| vec![output]);
    }
    if let Some(costs) = costs {
        own.report(&costs)?;
    }
    if on_output.is_some() {
        return Ok(Vec::new());
    }
    let left_out = "a job is left out only after a cancellation, which is an error above";
    outcomes.into_iter().map(|outcome| to_python(py, outcome.expect(left_out))).collect()
}

/// The output of a run for Python, or the exception of its failure.
fn to_python(py: Python<'_>, outcome: Outcome) -> PyResult<RunOutput> {
    let (output, wall_s, guests) = outcome.map_err(|failure| failure.raise(py))?;
    let mut meta = serde_json::to_value(&output.meta).expect("the facts are numbers and names");
    meta["wall_s"] = wall_s.into();
    if let Some(guests) = guests {
        meta["kernel"] = serde_json::to_value(&guests).expect("the facts are numbers and names");
    }
    let tables = columns::tables(py, &output.tables)?.unbind();
    Ok(RunOutput { tables, meta: meta.to_string() })
}

/// The jobs: each scenario with its seed and the prefix of its capture files.
fn read(
    scenarios: Vec<(Py<Resolved>, u64)>,
    captures: Option<Vec<String>>,
) -> Result<Vec<Job>, ScenarioError> {
    let mut captures = captures.unwrap_or_default().into_iter();
    let job = |(resolved, seed): (Py<Resolved>, u64)| {
        let scenario = resolved.get().scenario();
        scenario.with_flows()?;
        Ok(Job { scenario, seed, captures: captures.next() })
    };
    scenarios.into_iter().map(job).collect()
}

/// The simulated share, over all jobs.
#[derive(Default)]
struct Simulated {
    /// In millionths of a run.
    parts: AtomicU64,
}

impl Simulated {
    const WHOLE: f64 = 1e6;

    fn runs(&self) -> f64 {
        self.parts.load(Ordering::Relaxed) as f64 / Self::WHOLE
    }

    /// Receives the share of one run repeatedly.
    fn of_one_run(&self) -> impl FnMut(f64) {
        let mut counted = 0;
        move |share| {
            let parts = (share * Self::WHOLE) as u64;
            self.parts.fetch_add(parts.saturating_sub(counted), Ordering::Relaxed);
            counted = parts.max(counted);
        }
    }
}

/// Runs under way on other threads.
struct Work {
    thread: JoinHandle<Vec<Option<Outcome>>>,
    /// Disconnected when all jobs have ended.
    news: mpsc::Receiver<News>,
}

/// News of a job, by its index.
enum News {
    /// Rows of a table.
    Rows(usize, &'static str, Table),
    /// It has ended; with its output, if outputs are passed on as they come.
    Ended(usize, Option<Box<Outcome>>),
}

/// Parts of the outputs that are passed on as they come.
#[derive(Clone, Copy)]
struct PassedOn {
    outputs: bool,
    rows: bool,
}

/// News that wait for Python; more make the runs wait.
const WAITING: usize = 8;
/// Number of rows of a table from which on they are passed on; choice, 10 to 20 MB.
const MANY_ROWS: usize = 100_000;

/// Runs the jobs on other threads, which may outlive the caller.
fn begin(
    jobs: Vec<Job>,
    threads: usize,
    (cancel, simulated): (Arc<AtomicBool>, Arc<Simulated>),
    (own, passed_on): (Extensions, PassedOn),
) -> Work {
    let (sender, news) = mpsc::sync_channel(WAITING);
    let thread = thread::spawn(move || {
        let of_each = threads / jobs.len().max(1);
        let send = |news: News| {
            // The receiver is dropped only when `cancel` is about to be set.
            let _ = sender.send(news);
        };
        let run = |index: usize| {
            let send_rows = |name, table| send(News::Rows(index, name, table));
            let rows: Option<&RowsTo<'_>> = if passed_on.rows { Some(&send_rows) } else { None };
            if own.is_empty() {
                return one(&jobs[index], &own, &cancel, (&simulated, of_each, rows));
            }
            // The thread state of the interpreter exists for the whole run, not for each call; it belongs to one thread.
            Python::attach(|py| py.detach(|| one(&jobs[index], &own, &cancel, (&simulated, 1, rows))))
        };
        let job = |index| {
            let outcome = run(index);
            if !passed_on.outputs {
                // A failure is reported without the runs that are under way; one that is passed on, by its receiver.
                cancel.fetch_or(matches!(outcome, Some(Err(_))), Ordering::Relaxed);
                return outcome;
            }
            send(News::Ended(index, outcome.map(Box::new)));
            None
        };
        let tell = |index| {
            if !passed_on.outputs {
                send(News::Ended(index, None));
            }
        };
        let outcomes = airlane_engine::parallel(jobs.len(), threads, &cancel, job, tell);
        outcomes.into_iter().map(Option::flatten).collect()
    });
    Work { thread, news }
}

/// Waits for the runs to end. After a cancellation, calls into controllers that continue are interrupted;
/// `None` if some continue nevertheless.
fn end(
    py: Python<'_>,
    work: JoinHandle<Vec<Option<Outcome>>>,
    cancel: &AtomicBool,
    watch: &Watch<'_>,
) -> PyResult<Option<Vec<Option<Outcome>>>> {
    let mut waited = Duration::ZERO;
    let mut interrupts = 0;
    while cancel.load(Ordering::Relaxed) && !work.is_finished() {
        const STEP: Duration = Duration::from_millis(5);
        py.detach(|| thread::sleep(STEP));
        waited += STEP;
        if waited < END_PERIOD + INTERRUPT_PERIOD * interrupts || watch.is_idle() {
            continue;
        }
        if interrupts == INTERRUPTS {
            watch.leave()?;
            return Ok(None);
        }
        watch.interrupt()?;
        interrupts += 1;
    }
    let outcomes = py.detach(|| work.join());
    Ok(Some(outcomes.unwrap_or_else(|panic| std::panic::resume_unwind(panic))))
}

/// Reports the news of jobs until all have ended, the runs were cancelled, or Python requests the end.
fn listen(
    py: Python<'_>,
    mut receiver: mpsc::Receiver<News>,
    cancel: &AtomicBool,
    (on_news, on_period): (impl Fn(News) -> PyResult<()>, impl Fn() -> PyResult<()>),
) -> PyResult<()> {
    loop {
        let heard;
        (receiver, heard) = py.detach(move || {
            let heard = receiver.recv_timeout(SIGNAL_PERIOD);
            (receiver, heard)
        });
        py.check_signals()?;
        match heard {
            Ok(news) => on_news(news)?,
            Err(RecvTimeoutError::Timeout) if cancel.load(Ordering::Relaxed) => return Ok(()),
            Err(RecvTimeoutError::Timeout) => on_period()?,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

/// Receives rows of a table.
type RowsTo<'a> = dyn Fn(&'static str, Table) + Sync + 'a;

/// One run on at most this many threads, and the seconds of its loop; `None` if it was cancelled. `rows` receives those of
/// long tables, unless kernels are the ends of flows.
fn one(
    Job { scenario, seed, captures }: &Job,
    own: &Extensions,
    cancel: &AtomicBool,
    (simulated, threads, rows): (&Simulated, usize, Option<&RowsTo<'_>>),
) -> Option<Outcome> {
    let mut built = match airlane_assembly::build_with(scenario, *seed, own) {
        Ok(built) => built,
        Err(e) => return Some(Err(Failure::Scenario(e))),
    };
    if let Some(prefix) = captures
        && let Err(e) = built.capture_to(prefix)
    {
        return Some(Err(Failure::Capture(e)));
    }
    #[expect(clippy::disallowed_types, reason = "measures the run from outside; no result depends on it")]
    let start = std::time::Instant::now();
    let mut guests = None;
    let ended = if built.kernel_flows().is_empty() {
        built.use_threads(threads);
        match rows {
            Some(rows) => built.run_and_pass_on(cancel, simulated.of_one_run(), (MANY_ROWS, rows)),
            None => built.run_and_tell(cancel, simulated.of_one_run()),
        }
    } else {
        match airlane_guest::run(&mut built, *seed, cancel, simulated.of_one_run()) {
            Ok(facts) => guests = Some(facts),
            Err(error) if error.cause == Cause::Cancelled => {}
            Err(error) => return Some(Err(Failure::Guest(error))),
        }
        guests.is_some()
    };
    let captured = built.end_capture();
    let wall_s = start.elapsed().as_secs_f64();
    if let Err(e) = captured {
        return Some(Err(Failure::Capture(e)));
    }
    ended.then(|| Ok((built.finish(), wall_s, guests)))
}

impl Failure {
    fn raise(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Scenario(error) => scenario_error(py, &error),
            Self::Guest(error) => guest_error(py, &error),
            // With three arguments, Python determines the subclass of `OSError` and the file.
            Self::Capture(CaptureError { path, error }) => match error.raw_os_error() {
                Some(number) => PyOSError::new_err((number, error.to_string(), path.into_os_string())),
                None => PyOSError::new_err(format!("{}: {error}", path.display())),
            },
        }
    }
}
