//! Notifications on their way to callbacks: a bounded queue per subscription, and workers per host, so that a slow or
//! dead host delays no other.
//!
//! The subscriptions of a host that have notifications wait in turn. A host begins with one worker; after the first
//! success it may have `callbacks.concurrent`. After a failure it has one again, which pauses before the next attempt.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use hyper::Uri;
use hyper::body::Bytes;
use tokio::sync::Notify;

use super::callback::{Failure, Sender};
use super::metrics::Metrics;
use super::settings::Callbacks;
use crate::common::time;

/// A notification that waits.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub(super) body: Bytes,
    /// Time at which the service learnt of the event.
    pub(super) since: Instant,
}

/// The notifications of one subscription.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    state: Mutex<OutboxState>,
    /// For a WebSocket: there is something, or the subscription has ended.
    pub(super) changed: Notify,
    /// Whether the WebSocket is open.
    pub(super) is_open: AtomicBool,
}

#[derive(Debug, Default)]
struct OutboxState {
    waiting: VecDeque<Waiting>,
    /// In the turn of its host, or with a worker.
    scheduled: bool,
    attempts: u8,
    ended: bool,
}

impl Outbox {
    fn lock(&self) -> MutexGuard<'_, OutboxState> {
        self.state.lock().expect("no panic while it is locked")
    }

    /// Adds a notification. Returns whether the oldest one was dropped for it.
    fn push(&self, one: Waiting, most: usize) -> bool {
        let mut state = self.lock();
        if state.ended {
            return false;
        }
        let full = state.waiting.len() >= most;
        if full {
            state.waiting.pop_front();
            state.attempts = 0;
        }
        state.waiting.push_back(one);
        full
    }

    /// Removes the oldest notification.
    pub(super) fn take(&self) -> Option<Waiting> {
        self.lock().waiting.pop_front()
    }

    /// The subscription has ended: what waits is not sent.
    pub(super) fn end(&self) {
        let mut state = self.lock();
        state.ended = true;
        state.waiting.clear();
        drop(state);
        self.changed.notify_one();
    }

    /// Whether the subscription has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.lock().ended
    }
}

/// A subscription's way to its callback.
#[derive(Clone, Debug)]
pub(super) struct Route {
    pub(super) uri: Uri,
    pub(super) outbox: Arc<Outbox>,
}

/// The callbacks of one host and port.
#[derive(Debug, Default)]
struct Host {
    ready: VecDeque<Route>,
    workers: u16,
    workers_max: u16,
    failures: u32,
}

/// Delivers notifications.
#[derive(Clone)]
pub(super) struct Delivery {
    shared: Arc<Shared>,
}

struct Shared {
    sender: Sender,
    settings: Callbacks,
    metrics: Metrics,
    hosts: Mutex<BTreeMap<String, Host>>,
}

impl Delivery {
    pub(super) fn new(sender: Sender, settings: Callbacks, metrics: Metrics) -> Self {
        Self { shared: Arc::new(Shared { sender, settings, metrics, hosts: Mutex::default() }) }
    }

    /// The client, which knows allowed callbacks.
    pub(super) fn sender(&self) -> &Sender {
        &self.shared.sender
    }

    /// Puts a notification into the outbox of a subscription with a WebSocket.
    pub(super) fn keep(&self, outbox: &Outbox, one: Waiting) {
        self.push(outbox, one);
        outbox.changed.notify_one();
    }

    /// Sends a notification to a callback when its turn comes.
    pub(super) fn post(&self, route: &Route, one: Waiting) {
        self.push(&route.outbox, one);
        let mut state = route.outbox.lock();
        if state.scheduled || state.ended {
            return;
        }
        state.scheduled = true;
        drop(state);
        if !self.schedule(route.clone()) {
            // The bound of hosts.
            let mut state = route.outbox.lock();
            state.scheduled = false;
            let lost = state.waiting.len() as u64;
            state.waiting.clear();
            self.shared.metrics.dropped.inc_by(lost);
        }
    }

    fn push(&self, outbox: &Outbox, one: Waiting) {
        if outbox.push(one, self.shared.settings.queue.into()) {
            self.shared.metrics.dropped.inc();
        }
    }

    /// Puts a subscription into the turn of its host. False if there are too many hosts.
    fn schedule(&self, route: Route) -> bool {
        let name = route.uri.authority().map(ToString::to_string).unwrap_or_default();
        let mut hosts = self.shared.lock();
        if !hosts.contains_key(&name) && hosts.len() >= self.shared.settings.hosts as usize {
            return false;
        }
        let host = hosts.entry(name.clone()).or_insert_with(|| Host { workers_max: 1, ..Host::default() });
        host.ready.push_back(route);
        if host.workers < host.workers_max {
            host.workers += 1;
            tokio::spawn(work(self.clone(), name));
        }
        true
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Host>> {
        self.hosts.lock().expect("no panic while it is locked")
    }

    /// The next subscription of a host; `None` ends the worker. A host without work is forgotten when it is well.
    fn next(&self, name: &str) -> Option<Route> {
        let mut hosts = self.lock();
        let host = hosts.get_mut(name)?;
        if host.workers <= host.workers_max
            && let Some(route) = host.ready.pop_front()
        {
            return Some(route);
        }
        host.workers -= 1;
        if host.workers == 0 && host.ready.is_empty() {
            hosts.remove(name);
        }
        None
    }

    /// Notes the result for a host. Returns the pause before the next attempt.
    fn note(&self, name: &str, well: bool) -> Option<Duration> {
        let mut hosts = self.lock();
        let host = hosts.get_mut(name)?;
        if well {
            (host.failures, host.workers_max) = (0, self.settings.concurrent);
            return None;
        }
        let pause = time(self.settings.backoff).saturating_mul(1 << host.failures.min(20));
        host.failures = host.failures.saturating_add(1);
        host.workers_max = 1;
        Some(pause.min(time(self.settings.backoff_max)))
    }

    /// More workers, after a success.
    fn spare(&self, name: &str) -> bool {
        let mut hosts = self.lock();
        let Some(host) = hosts.get_mut(name) else { return false };
        let spare = host.workers < host.workers_max && !host.ready.is_empty();
        host.workers += u16::from(spare);
        spare
    }
}

/// Sends what the subscriptions of a host have, one notification of each in turn.
async fn work(delivery: Delivery, name: String) {
    let shared = &delivery.shared;
    while let Some(route) = shared.next(&name) {
        let front = route.outbox.lock().waiting.front().cloned();
        let mut pause = None;
        if let Some(one) = &front {
            let result = shared.sender.send(&route.uri, one.body.clone()).await;
            shared.finish(&route, one, result);
            // A refusal is an answer: the host is well.
            pause = shared.note(&name, result != Err(Failure::ForNow));
        }
        if shared.spare(&name) {
            tokio::spawn(boxed(delivery.clone(), name.clone()));
        }
        if let Some(pause) = pause {
            tokio::time::sleep(pause).await;
        }
        let mut state = route.outbox.lock();
        state.scheduled = !state.waiting.is_empty();
        let again = state.scheduled;
        drop(state);
        if again && let Some(host) = shared.lock().get_mut(&name) {
            host.ready.push_back(route);
        }
    }
}

/// A worker that a worker starts. Its type must not contain itself.
fn boxed(delivery: Delivery, name: String) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(work(delivery, name))
}

impl Shared {
    /// Removes a notification that was delivered or is given up.
    fn finish(&self, route: &Route, one: &Waiting, result: Result<(), Failure>) {
        let mut state = route.outbox.lock();
        state.attempts += 1;
        let done = match result {
            Ok(()) => {
                self.metrics.sent.inc();
                self.metrics.delay.observe(one.since.elapsed().as_secs_f64());
                true
            }
            Err(Failure::ForGood) => true,
            Err(Failure::ForNow) => state.attempts >= self.settings.attempts,
        };
        if !done {
            return;
        }
        state.attempts = 0;
        // The notification may have been dropped for a newer one meanwhile.
        if state.waiting.front().is_some_and(|front| front.since == one.since && front.body == one.body) {
            state.waiting.pop_front();
        }
        if result.is_err() {
            self.metrics.failed.inc();
        }
    }
}
