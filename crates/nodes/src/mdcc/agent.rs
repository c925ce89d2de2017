//! The agent: writes the reports of PEPs into the maps of the program.

use std::collections::BTreeMap;

use airlane_core::{Duration, Instant};
use airlane_net::pep::Body;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::kernel::Loaded;
use super::settings::Settings;
use super::shared::{self, KEY};
use crate::reports::{self, Host};
use crate::{NodeError, Running, rights};

/// Maximum number of connections whose windows are among the metrics.
const SHOWN: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Domain {
    domain: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Window {
    connection: String,
    domain: &'static str,
}

/// Counts of the agent, and what the program shows.
#[derive(Debug, Default)]
struct Counts {
    messages: reports::Counts,
    connections: Gauge,
    heard: Gauge,
    distrusted: Gauge,
    reports: Gauge,
    reductions: Family<Domain, Gauge>,
    disbelieved: Gauge,
    windows: Family<Window, Gauge>,
}

impl Counts {
    fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("mdcc");
        self.messages.register(registry);
        registry.register("connections", "Connections under MD-CC", self.connections.clone());
        registry.register("heard", "Connections whose PEP is heard", self.heard.clone());
        registry.register(
            "distrusted",
            "Connections whose PEP claimed what was not sent",
            self.distrusted.clone(),
        );
        registry.register(
            "reports",
            "Reports that took effect, of the connections that there are",
            self.reports.clone(),
        );
        registry.register(
            "reductions",
            "Reductions of each window, of the connections that there are",
            self.reductions.clone(),
        );
        registry.register(
            "disbelieved",
            "Losses behind the PEP without evidence, of the connections that there are",
            self.disbelieved.clone(),
        );
        registry.register("window_segments", "Windows of the first connections", self.windows.clone());
    }

    /// Shows the state of all connections.
    fn show(&self, all: &[([u8; KEY], shared::Windows)]) {
        let count =
            |test: fn(&shared::Windows) -> bool| all.iter().filter(|(_, one)| test(one)).count() as i64;
        self.connections.set(all.len() as i64);
        self.heard.set(count(|one| one.heard));
        self.distrusted.set(count(|one| one.distrusted));
        self.reports.set(all.iter().map(|(_, one)| one.reports as i64).sum());
        let sum = |of: fn(&shared::Windows) -> u32| all.iter().map(|(_, one)| i64::from(of(one))).sum();
        self.reductions.get_or_create(&Domain { domain: "internet" }).set(sum(|one| one.internet_losses));
        self.reductions.get_or_create(&Domain { domain: "ran" }).set(sum(|one| one.ran_losses));
        self.disbelieved.set(sum(|one| one.disbelieved));
        self.windows.clear();
        for (key, one) in all.iter().take(SHOWN) {
            let Some((local, remote)) = shared::ends(key) else { continue };
            for (domain, segments) in [("internet", one.internet), ("ran", one.ran)] {
                let connection = format!("{local} {remote}");
                self.windows.get_or_create(&Window { connection, domain }).set(i64::from(segments));
            }
        }
    }
}

/// The program in the kernel, the socket and the secret, which need rights that the node then gives up.
pub(super) struct Opened {
    kernel: Loaded,
    reports: reports::Opened,
}

impl Opened {
    /// Opens the program, the socket and the secret, and gives the rights up.
    pub(super) fn open(settings: &Settings) -> Result<Self, NodeError> {
        let reports = settings.reception().open("listen")?;
        let kernel = Loaded::load(&shared::settings(
            settings.law.wired_queue.map(|time| time.0),
            settings.acks_per_increase(),
            settings.law.hystart,
        ))?;
        rights::give_up(settings.user.as_deref())?;
        Ok(Self { kernel, reports })
    }
}

/// Serves until the node is to stop.
pub(super) async fn serve(opened: Opened, settings: &Settings, running: Running) -> Result<(), NodeError> {
    let Opened { kernel, reports } = opened;
    let counts = Counts::default();
    running.register(|registry| counts.register(registry));
    let messages = counts.messages.clone();
    running.ready();
    tracing::info!(listen = %settings.listen.0, congestion_control = "mdcc", "ready");
    tokio::select! {
        () = running.stopping() => {}
        failed = reports.serve(Agent { counts, kernel, number: 0 }, messages) => failed?,
    }
    tracing::info!("new connections have another congestion control; those with mdcc continue without a PEP");
    Ok(())
}

/// The agent at work.
struct Agent {
    counts: Counts,
    kernel: Loaded,
    /// Counts reports of all connections, from 1.
    number: u32,
}

impl Host for Agent {
    type Connection = [u8; KEY];

    fn connections(&mut self) -> BTreeMap<[u8; KEY], u64> {
        let all = self.kernel.connections();
        self.counts.show(&all);
        all.iter().map(|(key, one)| (*key, one.began)).collect()
    }

    fn report(&mut self, arrived_at: Instant, key: &[u8; KEY], delay: Duration, body: &Body) -> bool {
        let Body::Tcp(report) = body else { return false };
        self.number = self.number.checked_add(1).unwrap_or(1);
        let arrived_at = arrived_at.saturating_since(Instant::ZERO);
        self.kernel.report(key, &shared::report(self.number, arrived_at, delay, report))
    }
}
