//! The metrics of a PEP.

use airlane_live::packet_ring::RingCounts;
use airlane_middlebox::PepStatistics;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::watch::Counts;

/// Counts of a PEP, as others see them.
#[derive(Clone, Debug, Default)]
pub(super) struct Metrics {
    pub(super) interface: Gauge,
    pub(super) instance: Gauge,
    pub(super) connections: Gauge,
    pub(super) losses: Counter,
    pub(super) errors: Counter,
    packets: Counter,
    matched: Counter,
    drops: Counter,
    malformed: Counter,
    fragments: Counter,
    segments: Counter,
    unwatched: Counter,
    unremembered: Counter,
    messages: Counter,
    nacks: Counter,
    suppressed: Counter,
}

impl Metrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("pep");
        let mut gauge = |name, help: &str, one: &Gauge| registry.register(name, help, one.clone());
        gauge("interface", "1 if the interface is watched, 0 if it was lost", &self.interface);
        gauge("instance", "Instance of the messages", &self.instance);
        gauge("connections", "Observed connections", &self.connections);
        let mut counter = |name, help: &str, one: &Counter| registry.register(name, help, one.clone());
        counter("interface_losses", "Times that the interface was lost or down", &self.losses);
        counter("packets", "Packets that the filter in the kernel let through", &self.packets);
        counter("matched", "Packets that a rule asks for", &self.matched);
        counter("drops", "Packets for which the ring had no space", &self.drops);
        counter("malformed", "Packets without complete and consistent headers", &self.malformed);
        counter("fragments", "Fragments", &self.fragments);
        counter("segments", "Segments and datagrams with data from servers", &self.segments);
        counter("unwatched", "Those of connections for which there was no space", &self.unwatched);
        counter("unremembered", "Those behind more gaps than are stored", &self.unremembered);
        counter("messages", "Messages", &self.messages);
        counter("nacks", "Messages about a new hole", &self.nacks);
        counter("suppressed", "Messages above the maximum rate, which were not sent", &self.suppressed);
        counter("errors", "Messages that could not be sent", &self.errors);
    }

    /// Brings the counters up to date.
    pub(super) fn update(&self, counts: Counts, statistics: PepStatistics, ring: RingCounts) {
        let to = |counter: &Counter, value: u64| {
            counter.inc_by(value.saturating_sub(counter.get()));
        };
        to(&self.packets, counts.packets);
        to(&self.matched, counts.matched);
        to(&self.malformed, counts.malformed);
        to(&self.fragments, counts.fragments);
        to(&self.suppressed, counts.suppressed);
        to(&self.segments, statistics.segments);
        to(&self.unwatched, statistics.unwatched);
        to(&self.unremembered, statistics.unremembered);
        to(&self.messages, statistics.messages);
        to(&self.nacks, statistics.nacks);
        self.drops.inc_by(ring.drops.into());
    }
}
