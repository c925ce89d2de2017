//! A node while it runs: its threads, signals, and the way to its end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use prometheus_client::registry::Registry;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::error::NodeError;
use crate::{Node, admin, http1, logs};

/// State that a node shares with its driver: metrics, readiness, and the request to stop.
#[derive(Clone, Debug)]
pub struct Running {
    metrics: Arc<Mutex<Registry>>,
    ready: Arc<AtomicBool>,
    waits: Arc<Mutex<Option<String>>>,
    stop: watch::Receiver<bool>,
    begun: watch::Sender<Option<Arc<Registry>>>,
}

impl Running {
    fn new(stop: watch::Receiver<bool>) -> Self {
        Self {
            metrics: Arc::new(Mutex::new(Registry::with_prefix("airlane"))),
            ready: Arc::new(AtomicBool::new(false)),
            waits: Arc::default(),
            stop,
            begun: watch::Sender::new(None),
        }
    }

    /// Adds metrics. Only before [`Self::ready`].
    ///
    /// # Panics
    /// If another thread has panicked in this function.
    pub fn register(&self, add: impl FnOnce(&mut Registry)) {
        add(&mut self.metrics.lock().expect("no panic while it is locked"));
    }

    /// The node takes work now, and all its metrics are registered.
    ///
    /// # Panics
    /// If another thread has panicked in [`Self::register`].
    pub fn ready(&self) {
        let metrics = std::mem::take(&mut *self.metrics.lock().expect("no panic while it is locked"));
        self.ready.store(true, Ordering::Release);
        self.begun.send_replace(Some(Arc::new(metrics)));
    }

    /// The node waits for something, with the reason in words, or for nothing any more.
    ///
    /// # Panics
    /// If another thread has panicked in this function.
    pub fn wait_for(&self, reason: Option<String>) {
        *self.waits.lock().expect("no panic while it is locked") = reason;
    }

    /// Why the node takes no new work; `None` if it does.
    ///
    /// # Panics
    /// If another thread has panicked in [`Self::wait_for`].
    #[must_use]
    pub fn unready(&self) -> Option<String> {
        if !self.ready.load(Ordering::Acquire) {
            return Some("it has not begun".to_owned());
        }
        if *self.stop.borrow() {
            return Some("it is stopping".to_owned());
        }
        self.waits.lock().expect("no panic while it is locked").clone()
    }

    /// Resolves when the node shall take no new work, and end the work that has begun.
    pub async fn stopping(&self) {
        let mut stop = self.stop.clone();
        // An error means that the driver has ended, which is the same request.
        let _ = stop.wait_for(|stop| *stop).await;
    }
}

/// How a node has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// After the work that had begun.
    Drained,
    /// By a second signal, or at the end of the time for draining.
    Interrupted,
}

/// Runs a node until SIGTERM or SIGINT, and then until its work has ended.
///
/// # Errors
/// If it cannot begin, or cannot go on.
pub fn run(mut node: Box<dyn Node>) -> Result<Ended, NodeError> {
    let common = node.common().clone();
    logs::begin(common.log);
    node.prepare()?;
    let mut threads = tokio::runtime::Builder::new_multi_thread();
    threads.enable_all().thread_name("airlane-node");
    match node.runtime_threads() {
        0 => {}
        some => {
            threads.worker_threads(some.into());
        }
    }
    let runtime = threads.build().map_err(|e| NodeError::new(format!("cannot start threads: {e}"), ""))?;
    let ended = runtime.block_on(conduct(node));
    runtime.shutdown_background();
    ended
}

/// Runs the node and its admin server, and passes signals on.
async fn conduct(node: Box<dyn Node>) -> Result<Ended, NodeError> {
    let common = node.common().clone();
    let (stop, stopping) = watch::channel(false);
    let running = Running::new(stopping);
    let listener = match common.admin {
        Some(address) => Some(http1::listen("admin", address.0).await?),
        None => None,
    };
    let mut signals =
        Signals::new().map_err(|e| NodeError::new(format!("cannot receive signals: {e}"), ""))?;
    let mut work = tokio::spawn(node.serve(running.clone()));
    if let Some(listener) = listener {
        let running = running.clone();
        tokio::spawn(async move {
            let mut begun = running.begun.subscribe();
            let Ok(metrics) = begun.wait_for(Option::is_some).await.map(|one| one.clone()) else { return };
            admin::serve(listener, metrics.expect("waited for"), running).await;
        });
    }
    tokio::select! {
        result = &mut work => return ended(result).map(|()| Ended::Drained),
        name = signals.next() => tracing::info!(signal = name, "stopping: no new work"),
    }
    let _ = stop.send(true);
    tokio::select! {
        result = timeout(std::time::Duration::from_nanos(common.drain.0.as_nanos()), &mut work) => match result {
            Ok(result) => ended(result).map(|()| Ended::Drained),
            Err(_) => {
                tracing::warn!(drain = %common.drain, "work that had begun is cut off");
                Ok(Ended::Interrupted)
            }
        },
        name = signals.next() => {
            tracing::warn!(signal = name, "work that had begun is cut off");
            Ok(Ended::Interrupted)
        }
    }
}

/// The result of the task of a node. A panic of a node is an error.
fn ended(result: Result<Result<(), NodeError>, tokio::task::JoinError>) -> Result<(), NodeError> {
    result.unwrap_or_else(|e| {
        Err(NodeError::new(format!("the node failed: {e}"), "this is a bug; please report it"))
    })
}

/// The signals that end a node.
struct Signals {
    term: Signal,
    int: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self { term: signal(SignalKind::terminate())?, int: signal(SignalKind::interrupt())? })
    }

    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.term.recv() => "SIGTERM",
            _ = self.int.recv() => "SIGINT",
        }
    }
}
