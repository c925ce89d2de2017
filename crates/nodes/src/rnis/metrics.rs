//! The metrics of the node.

use std::sync::atomic::AtomicU64;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::places::Counters;

/// Bounds of the delay of notifications, in seconds.
const DELAYS: [f64; 12] = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0];

/// All metrics of the service.
#[derive(Clone, Debug)]
pub(super) struct Metrics {
    pub(super) requests: Family<Vec<(&'static str, String)>, Counter>,
    pub(super) connections: Counters,
    pub(super) subscriptions: Gauge,
    pub(super) sent: Counter,
    pub(super) failed: Counter,
    pub(super) dropped: Counter,
    pub(super) delay: Histogram,
    pub(super) source_up: Gauge,
    pub(super) source_begins: Counter,
    pub(super) source_stalls: Counter,
    pub(super) source_reports: Counter,
    pub(super) source_age: Gauge<f64, AtomicU64>,
}

impl Metrics {
    pub(super) fn new() -> Self {
        Self {
            requests: Family::default(),
            connections: Counters::default(),
            subscriptions: Gauge::default(),
            sent: Counter::default(),
            failed: Counter::default(),
            dropped: Counter::default(),
            delay: Histogram::new(DELAYS),
            source_up: Gauge::default(),
            source_begins: Counter::default(),
            source_stalls: Counter::default(),
            source_reports: Counter::default(),
            source_age: Gauge::default(),
        }
    }

    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register("rnis_requests", "Requests, by status", self.requests.clone());
        registry.register("rnis_connections", "Open connections", self.connections.open.clone());
        let refused = self.connections.refused.clone();
        registry.register("rnis_connections_refused", "Connections above a bound", refused);
        let displaced = self.connections.displaced.clone();
        registry.register("rnis_connections_displaced", "Connections ended for another client", displaced);
        registry.register("rnis_subscriptions", "Subscriptions", self.subscriptions.clone());
        registry.register("rnis_notifications_sent", "Notifications delivered", self.sent.clone());
        registry.register("rnis_notifications_failed", "Notifications given up", self.failed.clone());
        registry.register(
            "rnis_notifications_dropped",
            "Notifications dropped for newer ones",
            self.dropped.clone(),
        );
        registry.register(
            "rnis_notification_delay_seconds",
            "From an event to the response",
            self.delay.clone(),
        );
        registry.register("rnis_source_up", "1 while the source reports", self.source_up.clone());
        registry.register("rnis_source_begins", "Begins of the source", self.source_begins.clone());
        registry.register(
            "rnis_source_stalls",
            "Times without a report for too long",
            self.source_stalls.clone(),
        );
        registry.register("rnis_source_reports", "Reports of the source", self.source_reports.clone());
        registry.register(
            "rnis_source_age_seconds",
            "Since the last report of the source",
            self.source_age.clone(),
        );
    }
}
