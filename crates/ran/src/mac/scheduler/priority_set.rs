//! Priority set scheduling: first a target bit rate for all UEs, then the channel.
//!
//! G. Monghal, K. I. Pedersen, I. Z. Kovács, P. E. Mogensen, "QoS oriented time and frequency
//! domain packet schedulers for the UTRAN long term evolution", VTC 2008-Spring, §III. UEs below
//! the target come first, in ascending order of their throughput; UEs above it follow by
//! proportional fairness. The first ones of this list enter the frequency domain, where each RBG
//! goes to the highest metric. The metric of a UE below the target has a larger weight.
//!
//! Not included: a target per bearer. The carrier-to-interference ratio of the CoI/A metric is
//! replaced by the rate of the sub-band.

use airlane_core::Duration;

use super::Demand;
use super::average::PastThroughput;
use crate::config::{FrequencyMetric, PrioritySetConfig};

/// Priority set scheduling.
#[derive(Debug)]
pub(crate) struct PrioritySet {
    config: PrioritySetConfig,
    /// The target in bytes per slot.
    target: f64,
    past: PastThroughput,
    /// Throughput averaged over the slots in which the UE was in the frequency domain, in bytes per
    /// slot: the PFsch metric of the paper.
    scheduled: Vec<f64>,
    /// The UEs in the frequency domain in this slot.
    chosen: Vec<u32>,
    /// (below the target, metric, place among the demands)
    ranking: Vec<(bool, f64, u32)>,
}

impl PrioritySet {
    pub(super) fn new(config: PrioritySetConfig, ues: usize, slot: Duration) -> Self {
        // 8 bits in a byte.
        let target = config.target.0 as f64 / (8e9 / slot.as_nanos() as f64);
        Self {
            target,
            config,
            past: PastThroughput::new(config.window, ues),
            scheduled: vec![1.0; ues],
            chosen: Vec::with_capacity(ues),
            ranking: Vec::with_capacity(ues),
        }
    }

    pub(super) fn served(&mut self, ue: u32, bytes: u64) {
        self.past.served(ue, bytes);
        self.scheduled[ue as usize] += bytes as f64 / self.window();
    }

    pub(super) fn add_ue(&mut self) {
        self.past.add_ue();
        self.scheduled.push(1.0);
    }

    pub(super) fn forget(&mut self, ue: u32) {
        self.past.forget(ue);
        self.scheduled[ue as usize] = 1.0;
    }

    fn window(&self) -> f64 {
        f64::from(self.config.window)
    }

    /// Weights the rates of the UEs that enter the frequency domain; the others get nothing.
    pub(super) fn rank(&mut self, slot: u64, demands: &mut [Demand]) {
        self.past.age_to(slot);
        self.time_domain(demands);
        let (target, decay) = (self.target, 1.0 - 1.0 / self.window());
        for demand in demands.iter_mut() {
            demand.metric = 0.0;
        }
        for &place in &self.chosen {
            let demand = &mut demands[place as usize];
            let weight = (target / self.past.bytes_per_slot(demand.ue)).max(1.0);
            let scheduled = &mut self.scheduled[demand.ue as usize];
            *scheduled = (*scheduled * decay).max(1e-3);
            demand.metric = match self.config.metric {
                FrequencyMetric::ProportionalFairScheduled => weight / *scheduled,
                FrequencyMetric::CarrierToAverage => weight / demand.band_rate().max(1e-9),
            };
        }
    }

    /// Chooses the UEs that enter the frequency domain: those below the target, lowest throughput
    /// first; then the others by proportional fairness.
    fn time_domain(&mut self, demands: &[Demand]) {
        let target = self.target;
        self.ranking.clear();
        for (place, demand) in demands.iter().enumerate() {
            let (rate, past) = (demand.band_rate(), self.past.bytes_per_slot(demand.ue));
            if rate > 0.0 {
                let below = past < target;
                let metric = if below { 1.0 / past } else { rate / past };
                self.ranking.push((below, metric, place as u32));
            }
        }
        let first = |a: &(bool, f64, u32), b: &(bool, f64, u32)| {
            b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2))
        };
        self.ranking.sort_unstable_by(first);
        let multiplexed = match self.config.multiplexed {
            0 => (self.ranking.len() / 2).max(1),
            n => usize::from(n),
        };
        self.chosen.clear();
        self.chosen.extend(self.ranking.iter().take(multiplexed).map(|&(.., place)| place));
    }
}
