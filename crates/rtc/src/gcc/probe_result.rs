//! The result of a probe: the lower of the rates of sending and of arrival, and a little less if the link was saturated.
//!
//! libwebrtc f3ae3eb, `probe_bitrate_estimator.cc`.

use std::collections::VecDeque;

use airlane_core::{BitRate, Bytes, Instant};

use super::rate::{over, scaled};
use super::settings::ProbeResultSettings;
use crate::{Probe, ProbeId};

/// The probes that are remembered: each waits for its packets for about a second, and few are sent in that time.
const REMEMBERED: usize = 32;

/// Estimates rates from the packets of probes.
#[derive(Clone, Debug)]
pub(super) struct ProbeResults {
    settings: ProbeResultSettings,
    clusters: VecDeque<Cluster>,
    result: Option<BitRate>,
}

/// A probe and what has arrived of it.
#[derive(Clone, Debug)]
struct Cluster {
    probe: Probe,
    arrived: Option<Arrived>,
}

#[derive(Clone, Copy, Debug)]
struct Arrived {
    packets: u32,
    bytes: Bytes,
    first_sent: Instant,
    last_sent: Instant,
    last_sent_size: Bytes,
    first_arrived: Instant,
    first_arrived_size: Bytes,
    last_arrived: Instant,
}

/// A packet of a probe that arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProbePacket {
    /// The probe.
    pub(super) probe: ProbeId,
    /// When it was sent.
    pub(super) sent: Instant,
    /// When it arrived.
    pub(super) arrived: Instant,
    /// Its size.
    pub(super) size: Bytes,
}

impl ProbeResults {
    pub(super) const fn new(settings: ProbeResultSettings) -> Self {
        Self { settings, clusters: VecDeque::new(), result: None }
    }

    /// This probe is sent.
    pub(super) fn expect(&mut self, probe: Probe) {
        if self.clusters.len() == REMEMBERED {
            self.clusters.pop_front();
        }
        self.clusters.push_back(Cluster { probe, arrived: None });
    }

    /// The latest result since the last call.
    pub(super) const fn take(&mut self) -> Option<BitRate> {
        self.result.take()
    }

    /// Takes a packet, in the order of arrival.
    pub(super) fn add(&mut self, packet: ProbePacket) {
        let history = self.settings.history;
        self.clusters.retain(|cluster| {
            cluster.arrived.is_none_or(|arrived| packet.arrived <= arrived.last_arrived + history)
        });
        let Some(cluster) = self.clusters.iter_mut().find(|cluster| cluster.probe.id == packet.probe) else {
            return;
        };
        cluster.add(packet);
        if let Some(rate) = cluster.rate(&self.settings) {
            self.result = Some(rate);
        }
    }
}

impl Cluster {
    fn add(&mut self, packet: ProbePacket) {
        let Some(arrived) = &mut self.arrived else {
            self.arrived = Some(Arrived {
                packets: 1,
                bytes: packet.size,
                first_sent: packet.sent,
                last_sent: packet.sent,
                last_sent_size: packet.size,
                first_arrived: packet.arrived,
                first_arrived_size: packet.size,
                last_arrived: packet.arrived,
            });
            return;
        };
        arrived.packets += 1;
        arrived.bytes.0 += packet.size.0;
        arrived.first_sent = arrived.first_sent.min(packet.sent);
        if packet.sent > arrived.last_sent {
            arrived.last_sent = packet.sent;
            arrived.last_sent_size = packet.size;
        }
        if packet.arrived < arrived.first_arrived {
            arrived.first_arrived = packet.arrived;
            arrived.first_arrived_size = packet.size;
        }
        arrived.last_arrived = arrived.last_arrived.max(packet.arrived);
    }

    /// The result, if enough has arrived.
    fn rate(&self, settings: &ProbeResultSettings) -> Option<BitRate> {
        let arrived = self.arrived?;
        let packets = (f64::from(self.probe.packets) * settings.packets) as u32;
        let bytes = Bytes((self.probe.bytes.0 as f64 * settings.bytes).round() as u64);
        if arrived.packets < packets || arrived.bytes < bytes {
            return None;
        }
        let sending = arrived.last_sent.saturating_since(arrived.first_sent);
        let arriving = arrived.last_arrived.saturating_since(arrived.first_arrived);
        if [sending, arriving].iter().any(|span| span.is_zero() || *span > settings.interval_max) {
            return None;
        }
        // The last packet is sent after the interval, and the first has arrived before it.
        let sent = over(arrived.bytes.saturating_sub(arrived.last_sent_size), sending);
        let received = over(arrived.bytes.saturating_sub(arrived.first_arrived_size), arriving);
        if received.0 as f64 > settings.ratio_max * sent.0 as f64 {
            return None;
        }
        if (received.0 as f64) < settings.unsaturated * sent.0 as f64 {
            return Some(scaled(received, settings.utilization));
        }
        Some(sent.min(received))
    }
}
