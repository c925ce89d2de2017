//! The metrics of the node.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Bounds of the delay of notifications, in seconds.
const DELAYS: [f64; 12] = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0];

/// All of them.
#[derive(Clone, Debug)]
pub(super) struct Metrics {
    pub(super) requests: Family<Vec<(&'static str, String)>, Counter>,
    pub(super) connections: Gauge,
    pub(super) refused: Counter,
    pub(super) subscriptions: Gauge,
    pub(super) sent: Counter,
    pub(super) failed: Counter,
    pub(super) dropped: Counter,
    pub(super) delay: Histogram,
}

impl Metrics {
    pub(super) fn new() -> Self {
        Self {
            requests: Family::default(),
            connections: Gauge::default(),
            refused: Counter::default(),
            subscriptions: Gauge::default(),
            sent: Counter::default(),
            failed: Counter::default(),
            dropped: Counter::default(),
            delay: Histogram::new(DELAYS),
        }
    }

    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register("rnis_requests", "Requests, by status", self.requests.clone());
        registry.register("rnis_connections", "Open connections", self.connections.clone());
        registry.register("rnis_connections_refused", "Connections above a bound", self.refused.clone());
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
    }
}
