//! The observations of the estimate by loss: bytes sent and lost, in intervals of at least 250 ms.
//!
//! libwebrtc f3ae3eb, `loss_based_bwe_v2.cc`.

use std::collections::BTreeMap;

use airlane_core::{BitRate, Bytes, Instant};

use super::loss_settings::LossSettings;
use super::rate::over;
use crate::PacketReport;

/// Packets that were sent one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observation {
    number: u64,
    /// The rate at which they were sent.
    pub(super) rate: BitRate,
    /// The sum of their sizes.
    pub(super) size: Bytes,
    /// The size of those that were lost.
    pub(super) lost: Bytes,
}

/// The latest observations.
#[derive(Clone, Debug)]
pub(super) struct Observations {
    window: usize,
    /// The observation with number n is at n modulo the window.
    ring: Vec<Observation>,
    count: u64,
    /// Of reports that are too short for an observation: sizes of what was lost, and of all.
    lost: BTreeMap<u64, Bytes>,
    size: Bytes,
    /// When the last packet of the latest observation was sent.
    last_sent: Option<Instant>,
    /// Weights by age, for the likelihood and for the average.
    weights: Vec<f64>,
    average_weights: Vec<f64>,
}

impl Observations {
    pub(super) fn new(settings: &LossSettings) -> Self {
        let weights = |factor: f64| (0..settings.window).map(|age| libm::pow(factor, age as f64)).collect();
        Self {
            window: settings.window,
            ring: Vec::with_capacity(settings.window),
            count: 0,
            lost: BTreeMap::new(),
            size: Bytes::ZERO,
            last_sent: None,
            weights: weights(settings.temporal_weight),
            average_weights: weights(settings.average_weight),
        }
    }

    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    pub(super) const fn last_sent(&self) -> Option<Instant> {
        self.last_sent
    }

    /// The observations with their weights.
    pub(super) fn weighted(&self) -> impl Iterator<Item = (f64, &Observation)> {
        self.ring.iter().map(|one| (self.weights[self.age(one)], one))
    }

    fn age(&self, one: &Observation) -> usize {
        (self.count - 1 - one.number) as usize
    }

    /// Takes a report; returns whether it completes an observation.
    pub(super) fn add(&mut self, settings: &LossSettings, packets: &[PacketReport]) -> bool {
        let times = packets.iter().map(|packet| packet.sent.at);
        let (Some(first), Some(last)) = (times.clone().min(), times.max()) else { return false };
        for packet in packets {
            if packet.arrived.is_some() {
                self.lost.remove(&packet.sent.sequence);
            } else {
                self.lost.insert(packet.sent.sequence, packet.sent.size);
            }
            self.size.0 += packet.sent.size.0;
        }
        let start = *self.last_sent.get_or_insert(first);
        let duration = last.saturating_since(start);
        if duration.is_zero() || duration < settings.observation_min {
            return false;
        }
        self.last_sent = Some(last);
        let observation = Observation {
            number: self.count,
            rate: over(self.size, duration),
            size: self.size,
            lost: Bytes(self.lost.values().map(|size| size.0).sum()),
        };
        let place = (self.count % self.window as u64) as usize;
        if place < self.ring.len() {
            self.ring[place] = observation;
        } else {
            self.ring.push(observation);
        }
        self.count += 1;
        self.lost.clear();
        self.size = Bytes::ZERO;
        true
    }

    /// The share of bytes that were lost, without the observations with the least and the greatest loss.
    pub(super) fn average_loss(&self, settings: &LossSettings) -> f64 {
        let (mut size, mut lost) = (0, 0);
        let mut least = Extreme { loss: 1.0, ..Extreme::default() };
        let mut greatest = Extreme::default();
        for one in &self.ring {
            let weight = self.average_weights[self.age(one)];
            let weighted = |bytes: Bytes| (bytes.0 as f64 * weight).round() as i64;
            let of = Extreme {
                loss: if one.size == Bytes::ZERO { 0.0 } else { one.lost.0 as f64 / one.size.0 as f64 },
                size: weighted(one.size),
                lost: weighted(one.lost),
                rate: one.rate,
            };
            size += of.size;
            lost += of.lost;
            if self.count <= 3 {
                continue;
            }
            if of.loss > greatest.loss {
                greatest = of;
            }
            if of.loss < least.loss {
                least = of;
            }
        }
        let removed = greatest.size + least.size;
        // When much more was sent than usual, the greatest loss is no accident.
        if self.median_rate() * settings.median_factor <= greatest.rate.0 as f64 || size == removed {
            return lost as f64 / size as f64;
        }
        (lost - least.lost - greatest.lost) as f64 / (size - removed) as f64
    }

    /// The median of the rates at which something was sent, in bit/s.
    fn median_rate(&self) -> f64 {
        let mut rates: Vec<u64> = self.ring.iter().map(|one| one.rate.0).filter(|rate| *rate > 0).collect();
        rates.sort_unstable();
        let middle = rates.len() / 2;
        match rates.len() {
            0 => 0.0,
            even if even % 2 == 0 => ((rates[middle - 1] + rates[middle]) / 2) as f64,
            _ => rates[middle] as f64,
        }
    }
}

/// The observation with the least or the greatest loss, its sizes weighted.
#[derive(Clone, Copy, Debug, Default)]
struct Extreme {
    loss: f64,
    size: i64,
    lost: i64,
    rate: BitRate,
}
