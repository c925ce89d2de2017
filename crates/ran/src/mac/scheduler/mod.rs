//! Downlink scheduler policies: who gets which RBG.
//!
//! A policy ranks UEs. HARQ retransmissions are on the grid before it is asked, and the MAC
//! builds the blocks afterwards. A UE leaves the contest once what it got covers its backlog.

mod average;
mod priority_set;
mod round_robin;
#[cfg(test)]
mod tests;

use pulp::{Arch, Simd, WithSimd};

use super::grid::{RbgSet, ResourceGrid, each};
use crate::config::{Domain, SchedulerKind};
use average::PastThroughput;
use priority_set::PrioritySet;
use round_robin::RoundRobin;

/// Sub-bands at most (110 PRBs in RBGs of 4).
pub(crate) const MAX_RBGS: usize = 28;

/// A UE that wants to send, as a policy sees it.
#[derive(Clone, Debug)]
pub(crate) struct Demand {
    /// The UE's index in its network; also its place in the policy's memory.
    pub(crate) ue: u32,
    /// Bytes waiting, headers included.
    pub(crate) backlog: u32,
    /// All sub-bands are alike: there is no fading.
    pub(crate) flat: bool,
    /// Bytes that one RBG carries, per sub-band.
    pub(crate) rbg_bytes: [u16; MAX_RBGS],
    /// What the policy gave it.
    pub(crate) given: RbgSet,
    metric: f64,
    covered: u32,
}

impl Demand {
    pub(crate) fn new(ue: u32, backlog: u32, flat: bool, rbg_bytes: [u16; MAX_RBGS]) -> Self {
        Self { ue, backlog, flat, rbg_bytes, given: 0, metric: 0.0, covered: 0 }
    }

    /// Bytes that this RBG would carry.
    fn rate(&self, rbg: u16) -> f64 {
        f64::from(self.rbg_bytes[usize::from(rbg)])
    }

    /// What the whole band would carry, on a scale that the UEs of a cell share: fading is there
    /// for all of them or for none.
    fn band_rate(&self) -> f64 {
        if self.flat {
            return f64::from(self.rbg_bytes[0]);
        }
        // Places beyond the band's last RBG are zero.
        f64::from(self.rbg_bytes.iter().map(|&b| u32::from(b)).sum::<u32>())
    }

    fn satisfied(&self) -> bool {
        self.covered >= self.backlog
    }

    fn give(&mut self, rbg: u16) {
        self.given |= 1 << rbg;
        self.covered += u32::from(self.rbg_bytes[usize::from(rbg)]);
    }
}

/// A scheduler policy and its memory.
///
/// The policies but round robin and priority set are one of two ways to share a slot out, each
/// with a metric: [`by_rbg`] in the frequency domain, [`by_ue`] in the time domain. Metrics after
/// F. Capozzi, G. Piro, L. A. Grieco, G. Boggia, P. Camarda, "Downlink packet scheduling in LTE
/// cellular networks: key design issues and a survey", IEEE Communications Surveys & Tutorials
/// 15(2), 2013, §III: with `r` the rate that a UE could have and `T` the rate that it has had,
///
/// - maximum throughput: `r`
/// - blind equal throughput: `1/T`
/// - proportional fair: `r/T` (A. Jalali, R. Padovani, R. Pankaj, VTC 2000-Spring)
/// - throughput to average: `r` on the RBG over `r` on the whole band
#[derive(Debug)]
pub(crate) enum Scheduler {
    ProportionalFair(PastThroughput),
    RoundRobin(RoundRobin),
    MaximumThroughput(Domain),
    BlindEqualThroughput(Domain, PastThroughput),
    ThroughputToAverage,
    PrioritySet(PrioritySet),
}

impl Scheduler {
    pub(crate) fn new(kind: SchedulerKind, ues: usize) -> Self {
        match kind {
            SchedulerKind::ProportionalFair { window } => {
                Self::ProportionalFair(PastThroughput::new(window, ues))
            }
            SchedulerKind::RoundRobin => Self::RoundRobin(RoundRobin::default()),
            SchedulerKind::MaximumThroughput { domain } => Self::MaximumThroughput(domain),
            SchedulerKind::BlindEqualThroughput { domain, window } => {
                Self::BlindEqualThroughput(domain, PastThroughput::new(window, ues))
            }
            SchedulerKind::ThroughputToAverage => Self::ThroughputToAverage,
            SchedulerKind::PrioritySet(config) => Self::PrioritySet(PrioritySet::new(config, ues)),
        }
    }

    /// Deals the free RBGs of the grid out. `demands` is sorted by UE.
    pub(crate) fn schedule(&mut self, slot: u64, demands: &mut [Demand], grid: &mut ResourceGrid) {
        if demands.is_empty() {
            return;
        }
        let free = grid.free();
        match self {
            Self::ProportionalFair(past) => proportional_fair(past, slot, demands, free),
            Self::RoundRobin(rr) => rr.schedule(demands, grid),
            Self::MaximumThroughput(Domain::Frequency) => by_rbg(demands, free, |_| 1.0),
            Self::MaximumThroughput(Domain::Time) => by_ue(demands, free, Demand::band_rate),
            Self::BlindEqualThroughput(domain, past) => {
                past.age_to(slot);
                rank(demands, |d| 1.0 / past.weighted(d.ue));
                match domain {
                    Domain::Frequency => equalise(past, demands, free),
                    Domain::Time => by_ue(demands, free, |d| d.metric),
                }
            }
            Self::ThroughputToAverage => {
                rank(demands, |d| 1.0 / d.band_rate().max(1e-9));
                by_rbg(demands, free, |d| d.metric);
            }
            Self::PrioritySet(pss) => pss.schedule(slot, demands, free),
        }
        for demand in demands.iter() {
            grid.take(demand.given);
        }
    }

    /// A UE was served so many bytes in this slot.
    pub(crate) fn served(&mut self, ue: u32, bytes: u64) {
        match self {
            Self::ProportionalFair(past) | Self::BlindEqualThroughput(_, past) => past.served(ue, bytes),
            Self::PrioritySet(pss) => pss.served(ue, bytes),
            Self::RoundRobin(_) | Self::MaximumThroughput(_) | Self::ThroughputToAverage => {}
        }
    }
}

/// Proportional fair, per RBG as in Sesia, Toufik and Baker, "LTE", §12.3.3. Without fading one
/// ranking holds for all RBGs, and the best UE gets as many as it needs.
fn proportional_fair(past: &mut PastThroughput, slot: u64, demands: &mut [Demand], free: RbgSet) {
    past.age_to(slot);
    rank(demands, |d| 1.0 / past.weighted(d.ue));
    if demands.iter().all(|d| d.flat) {
        by_ue(demands, free, |d| f64::from(d.rbg_bytes[0]) * d.metric);
    } else {
        by_rbg(demands, free, |d| d.metric);
    }
}

fn rank(demands: &mut [Demand], metric: impl Fn(&Demand) -> f64) {
    for demand in demands.iter_mut() {
        demand.metric = metric(demand);
    }
}

/// Each RBG goes to the UE of the highest metric there: what it would carry times its weight.
fn by_rbg(demands: &mut [Demand], free: RbgSet, weight: impl Fn(&Demand) -> f64) {
    let best = Arch::new().dispatch(Contest { demands, weight: &weight });
    for rbg in each(free) {
        let Some(best) = best[usize::from(rbg)].checked_sub(1) else { continue };
        if !demands[best as usize].satisfied() {
            demands[best as usize].give(rbg);
        } else if let Some(next) = best_of(demands, |d| d.rate(rbg) * weight(d)) {
            demands[next].give(rbg);
        }
    }
}

/// The contest for all RBGs side by side, among those that are not satisfied at its beginning: one
/// more than the first of the highest positive metric, or zero. Compiled for the widest vectors of
/// the machine; the comparisons are the same in any.
struct Contest<'a, W> {
    demands: &'a [Demand],
    weight: &'a W,
}

impl<W: Fn(&Demand) -> f64> WithSimd for Contest<'_, W> {
    type Output = [u64; MAX_RBGS];

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Self::Output {
        let (mut high, mut best) = ([0.0; MAX_RBGS], [0; MAX_RBGS]);
        for (demand, place) in self.demands.iter().zip(1..).filter(|(d, _)| !d.satisfied()) {
            let weight = (self.weight)(demand);
            for ((&bytes, high), best) in demand.rbg_bytes.iter().zip(&mut high).zip(&mut best) {
                let metric = f64::from(bytes) * weight;
                let better = metric > *high;
                *high = if better { metric } else { *high };
                *best = if better { place } else { *best };
            }
        }
        best
    }
}

/// The UE of the highest metric gets every RBG that it can use and needs, then the next.
fn by_ue(demands: &mut [Demand], mut free: RbgSet, metric: impl Fn(&Demand) -> f64) {
    for _ in 0..demands.len() {
        if free == 0 {
            return;
        }
        let best = best_of(demands, |d| if d.given == 0 { metric(d) } else { 0.0 });
        let Some(best) = best else { return };
        let demand = &mut demands[best];
        for rbg in each(free) {
            if demand.satisfied() {
                break;
            }
            if demand.rbg_bytes[usize::from(rbg)] != 0 {
                demand.give(rbg);
                free &= !(1 << rbg);
            }
        }
        if demand.given == 0 {
            demand.covered = demand.backlog; // Nothing left is of use to it: out of the contest.
        }
    }
}

/// Blind equal throughput in the frequency domain: each RBG goes to who has had least, what this
/// slot has given it so far included.
fn equalise(past: &PastThroughput, demands: &mut [Demand], free: RbgSet) {
    for rbg in each(free) {
        let usable = |d: &Demand| if d.rbg_bytes[usize::from(rbg)] == 0 { 0.0 } else { d.metric };
        if let Some(best) = best_of(demands, usable) {
            let demand = &mut demands[best];
            demand.give(rbg);
            demand.metric = 1.0 / (past.weighted(demand.ue) + past.share(u64::from(demand.covered)));
        }
    }
}

/// The unsatisfied demand of the highest positive metric, the first of equals.
fn best_of(demands: &[Demand], metric: impl Fn(&Demand) -> f64) -> Option<usize> {
    let mut best = None;
    let mut high = 0.0;
    for (i, demand) in demands.iter().enumerate() {
        let m = metric(demand);
        if m > high && !demand.satisfied() {
            high = m;
            best = Some(i);
        }
    }
    best
}
