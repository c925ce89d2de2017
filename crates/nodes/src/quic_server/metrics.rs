//! The metrics of the node.

use airlane_quic::{SenderState, Totals};
use airlane_transport::model::DomainCounts;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::lines::Line;
use crate::places::Counters;
use crate::reports;

type Labels = Vec<(&'static str, String)>;

/// All metrics of the server. Metrics with the number of a connection exist while the connection is open.
#[derive(Clone, Debug, Default)]
pub(super) struct Metrics {
    pub(super) requests: Family<Labels, Counter>,
    pub(super) body_bytes: Counter,
    pub(super) quic: Counters,
    pub(super) https: Counters,
    pub(super) retries: Counter,
    pub(super) stalled: Counter,
    /// Sends that were cut off by the bound of addresses that are not validated.
    pub(super) amplification: Counter,
    pub(super) radio: RadioMetrics,
    /// Messages of PEPs.
    pub(super) pep: reports::Counts,
    domains: DomainMetrics,
    losses: Family<Labels, Counter>,
    timeouts: Counter,
    window: Family<Labels, Gauge>,
    in_flight: Family<Labels, Gauge>,
    own_losses: Family<Labels, Gauge>,
}

/// The metrics of radio information.
#[derive(Clone, Debug, Default)]
pub(super) struct RadioMetrics {
    pub(super) subscriptions: Gauge,
    pub(super) failures: Counter,
    pub(super) refused: Counter,
    pub(super) records: Counter,
    unused: Family<Labels, Counter>,
}

impl RadioMetrics {
    fn register(&self, registry: &mut Registry) {
        let of = |name: &str| format!("quic_server_rnis_{name}");
        registry.register(of("subscriptions"), "UEs with a subscription", self.subscriptions.clone());
        registry.register(of("failures"), "Subscriptions that failed", self.failures.clone());
        registry.register(of("refused"), "UEs above the bound", self.refused.clone());
        registry.register(of("records"), "Records for senders", self.records.clone());
        registry.register(of("unused"), "Notifications without effect, by reason", self.unused.clone());
    }

    /// Counts a notification that is not used.
    pub(super) fn unused(&self, reason: &'static str) {
        self.unused.get_or_create(&labels([("reason", reason)])).inc();
    }
}

/// The metrics of `mdcc`.
#[derive(Clone, Debug, Default)]
struct DomainMetrics {
    reductions: Family<Labels, Counter>,
    disbelieved: Counter,
    heard: Family<Labels, Gauge>,
    windows: Family<Labels, Gauge>,
}

/// The domains, with their numbers.
const fn domains<T: Copy>(internet: T, ran: T) -> [(&'static str, T); 2] {
    [("internet", internet), ("ran", ran)]
}

impl DomainMetrics {
    fn register(&self, registry: &mut Registry) {
        let of = |name: &str| format!("quic_server_{name}");
        registry.register(of("reductions"), "Reductions by losses, by domain", self.reductions.clone());
        registry.register(
            of("disbelieved"),
            "Losses behind a PEP without evidence",
            self.disbelieved.clone(),
        );
        registry.register(of("connection_heard"), "1 if a PEP is heard", self.heard.clone());
        registry.register(
            of("connection_domain_window_bytes"),
            "Window of each domain",
            self.windows.clone(),
        );
    }

    fn show(&self, line: &Line, now: DomainCounts, before: DomainCounts) {
        let Some(state) = line.senders.domains() else { return };
        self.heard.get_or_create(&own(line, [])).set(state.heard.into());
        self.disbelieved.inc_by(now.disbelieved - before.disbelieved);
        for (domain, more) in domains(now.internet - before.internet, now.ran - before.ran) {
            self.reductions.get_or_create(&labels([("domain", domain)])).inc_by(more);
        }
        for (domain, window) in domains(state.internet, state.ran) {
            self.windows.get_or_create(&own(line, [("domain", domain)])).set(gauge(window.get()));
        }
    }

    fn forget(&self, line: &Line) {
        self.heard.remove(&own(line, []));
        for (domain, ()) in domains((), ()) {
            self.windows.remove(&own(line, [("domain", domain)]));
        }
    }
}

/// The classes of losses, and their numbers.
const fn classes(totals: &Totals) -> [(&'static str, u64); 3] {
    [("congestion", totals.congestion), ("random", totals.random), ("unreported", totals.unreported)]
}

impl Metrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        let of = |name: &str| format!("quic_server_{name}");
        registry.register(of("requests"), "Responses, by protocol and status", self.requests.clone());
        registry.register(
            of("body_bytes"),
            "Bytes of bodies given to the transport",
            self.body_bytes.clone(),
        );
        registry.register(of("connections"), "Open QUIC connections", self.quic.open.clone());
        registry.register(
            of("connections_refused"),
            "QUIC connections above a bound",
            self.quic.refused.clone(),
        );
        registry.register(
            of("connections_displaced"),
            "QUIC connections ended for another client",
            self.quic.displaced.clone(),
        );
        registry.register(of("https_connections"), "Open TCP connections", self.https.open.clone());
        registry.register(
            of("https_connections_refused"),
            "TCP connections above a bound",
            self.https.refused.clone(),
        );
        registry.register(
            of("https_connections_displaced"),
            "TCP connections ended for another client",
            self.https.displaced.clone(),
        );
        registry.register(of("retries"), "Clients whose address was validated first", self.retries.clone());
        registry.register(
            of("amplification_dropped"),
            "Sends above three times what came from an address that is not validated",
            self.amplification.clone(),
        );
        registry.register(of("stalled"), "Responses that a client did not read", self.stalled.clone());
        registry.register(
            of("losses"),
            "Losses and timeouts that were classified, by class",
            self.losses.clone(),
        );
        registry.register(
            of("timeouts"),
            "Timeouts that were classified, part of the losses",
            self.timeouts.clone(),
        );
        self.radio.register(registry);
        self.pep.register(registry.sub_registry_with_prefix("quic_server_pep"));
        self.domains.register(registry);
        registry.register(of("connection_window_bytes"), "Congestion window", self.window.clone());
        registry.register(of("connection_in_flight_bytes"), "Bytes in flight", self.in_flight.clone());
        registry.register(of("connection_losses"), "Losses, by class", self.own_losses.clone());
    }

    pub(super) fn answered(&self, protocol: &str, status: u16) {
        let labels = vec![("protocol", protocol.to_owned()), ("status", status.to_string())];
        self.requests.get_or_create(&labels).inc();
    }

    /// Shows the state of a connection. `before` has what is already counted.
    pub(super) fn show(&self, line: &Line, before: &mut Totals) {
        let totals = line.senders.totals();
        for ((class, now), (_, before)) in classes(&totals).into_iter().zip(classes(before)) {
            self.losses.get_or_create(&labels([("class", class)])).inc_by(now - before);
            self.own_losses.get_or_create(&own(line, [("class", class)])).set(gauge(now));
        }
        self.timeouts.inc_by(totals.timeouts - before.timeouts);
        self.domains.show(line, totals.domains, before.domains);
        *before = totals;
        if let Some(SenderState { window, in_flight, .. }) = line.senders.state() {
            self.window.get_or_create(&own(line, [])).set(gauge(window.get()));
            self.in_flight.get_or_create(&own(line, [])).set(gauge(in_flight.get()));
        }
    }

    /// Forgets a connection.
    pub(super) fn forget(&self, line: &Line) {
        self.window.remove(&own(line, []));
        self.in_flight.remove(&own(line, []));
        self.domains.forget(line);
        for (class, _) in classes(&Totals::default()) {
            self.own_losses.remove(&own(line, [("class", class)]));
        }
    }
}

fn labels<const N: usize>(of: [(&'static str, &'static str); N]) -> Labels {
    of.into_iter().map(|(name, value)| (name, value.to_owned())).collect()
}

/// The number of a connection, and more labels.
fn own<const N: usize>(line: &Line, more: [(&'static str, &'static str); N]) -> Labels {
    let mut all = vec![("connection", line.number.to_string())];
    all.extend(labels(more));
    all
}

fn gauge(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
