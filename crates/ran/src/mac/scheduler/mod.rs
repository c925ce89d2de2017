//! Downlink scheduler policies: who gets which RBG.
//!
//! A policy ranks UEs. HARQ retransmissions are on the grid before it is asked, and the MAC
//! builds the blocks afterwards. A UE leaves the contest once what it got covers its backlog.
//!
//! What a UE's sub-bands carry is told when a policy asks, since a CQI report that nobody looks at need not
//! be made: where each RBG goes to the highest metric, a UE is not looked at whose metric would be lower if
//! it had the best CQI.

mod average;
mod contest;
mod priority_set;
mod round_robin;
#[cfg(test)]
mod tests;

use super::grid::{RbgSet, ResourceGrid, each};
use crate::config::{Domain, SchedulerKind};
use average::PastThroughput;
use contest::{Waiting, by_rbg};
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
    /// Bytes that one RBG carries at most.
    most: u16,
    /// Bytes that one RBG carries, per sub-band, once told.
    rbg_bytes: [u16; MAX_RBGS],
    told: bool,
    /// What the policy gave it.
    pub(crate) given: RbgSet,
    metric: f64,
    covered: u32,
}

impl Demand {
    /// Of a UE whose RBGs carry `most` bytes each at most; what they carry is still to be told.
    pub(crate) fn new(ue: u32, backlog: u32, flat: bool, most: u16) -> Self {
        let rbg_bytes = [0; MAX_RBGS];
        Self { ue, backlog, flat, most, rbg_bytes, told: false, given: 0, metric: 0.0, covered: 0 }
    }

    /// Bytes that one RBG carries, per sub-band.
    pub(crate) fn tell(&mut self, rbg_bytes: [u16; MAX_RBGS]) {
        (self.rbg_bytes, self.told) = (rbg_bytes, true);
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

    /// Gives it of these RBGs what is of use to it and as many as it needs.
    fn take(&mut self, free: RbgSet) {
        if self.flat {
            return self.take_alike(free);
        }
        for rbg in each(free) {
            if self.satisfied() {
                break;
            }
            if self.rbg_bytes[usize::from(rbg)] != 0 {
                self.give(rbg);
            }
        }
    }

    /// The same where all carry as much.
    fn take_alike(&mut self, free: RbgSet) {
        let each = u32::from(self.rbg_bytes[0]);
        if each == 0 {
            return;
        }
        let count = self.backlog.saturating_sub(self.covered).div_ceil(each).min(free.count_ones());
        let mut rest = free;
        for _ in 0..count {
            rest &= rest - 1;
        }
        self.given |= free & !rest;
        self.covered += count * each;
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
pub(crate) struct Scheduler {
    policy: Policy,
    /// Room for those that are still to be looked at.
    waiting: Waiting,
}

#[derive(Debug)]
enum Policy {
    ProportionalFair(PastThroughput),
    RoundRobin(RoundRobin),
    MaximumThroughput(Domain),
    BlindEqualThroughput(Domain, PastThroughput),
    ThroughputToAverage,
    PrioritySet(PrioritySet),
}

impl Scheduler {
    pub(crate) fn new(kind: SchedulerKind, ues: usize) -> Self {
        let policy = match kind {
            SchedulerKind::ProportionalFair { window } => {
                Policy::ProportionalFair(PastThroughput::new(window, ues))
            }
            SchedulerKind::RoundRobin => Policy::RoundRobin(RoundRobin::default()),
            SchedulerKind::MaximumThroughput { domain } => Policy::MaximumThroughput(domain),
            SchedulerKind::BlindEqualThroughput { domain, window } => {
                Policy::BlindEqualThroughput(domain, PastThroughput::new(window, ues))
            }
            SchedulerKind::ThroughputToAverage => Policy::ThroughputToAverage,
            SchedulerKind::PrioritySet(config) => Policy::PrioritySet(PrioritySet::new(config, ues)),
        };
        Self { policy, waiting: Waiting::with_capacity(ues) }
    }

    /// Deals the free RBGs of the grid out. `demands` is sorted by UE; `tell` is called for those whose
    /// [`Demand::tell`] is needed.
    pub(crate) fn schedule(
        &mut self,
        slot: u64,
        demands: &mut [Demand],
        grid: &mut ResourceGrid,
        mut tell: impl FnMut(&mut Demand),
    ) {
        if demands.is_empty() {
            return;
        }
        let (free, waiting) = (grid.free(), &mut self.waiting);
        match &mut self.policy {
            Policy::ProportionalFair(past) => {
                past.age_to(slot);
                rank(demands, |d| 1.0 / past.weighted(d.ue));
                // Per RBG as in Sesia, Toufik and Baker, "LTE", §12.3.3. Without fading one ranking holds
                // for all RBGs, and the best UE gets as many as it needs.
                if demands.iter().all(|d| d.flat) {
                    demands.iter_mut().for_each(&mut tell);
                    by_ue(demands, free, |d| f64::from(d.rbg_bytes[0]) * d.metric);
                } else {
                    by_rbg(waiting, demands, free, tell);
                }
            }
            Policy::RoundRobin(rr) => rr.schedule(demands, free, tell),
            Policy::MaximumThroughput(Domain::Frequency) => {
                rank(demands, |_| 1.0);
                by_rbg(waiting, demands, free, tell);
            }
            Policy::MaximumThroughput(Domain::Time) => {
                demands.iter_mut().for_each(tell);
                by_ue(demands, free, Demand::band_rate);
            }
            Policy::BlindEqualThroughput(domain, past) => {
                demands.iter_mut().for_each(tell);
                past.age_to(slot);
                rank(demands, |d| 1.0 / past.weighted(d.ue));
                match domain {
                    Domain::Frequency => equalise(past, demands, free),
                    Domain::Time => by_ue(demands, free, |d| d.metric),
                }
            }
            Policy::ThroughputToAverage => {
                demands.iter_mut().for_each(&mut tell);
                rank(demands, |d| 1.0 / d.band_rate().max(1e-9));
                by_rbg(waiting, demands, free, tell);
            }
            Policy::PrioritySet(pss) => {
                demands.iter_mut().for_each(&mut tell);
                pss.rank(slot, demands);
                by_rbg(waiting, demands, free, tell);
            }
        }
        for demand in demands.iter() {
            grid.take(demand.given);
        }
    }

    /// A UE was served so many bytes in this slot.
    pub(crate) fn served(&mut self, ue: u32, bytes: u64) {
        match &mut self.policy {
            Policy::ProportionalFair(past) | Policy::BlindEqualThroughput(_, past) => past.served(ue, bytes),
            Policy::PrioritySet(pss) => pss.served(ue, bytes),
            Policy::RoundRobin(_) | Policy::MaximumThroughput(_) | Policy::ThroughputToAverage => {}
        }
    }

    /// A UE leaves the cell: what it has had here counts no more (UE CONTEXT RELEASE, TS 36.300 v17.0
    /// §10.1.2.1.1).
    pub(crate) fn forget(&mut self, ue: u32) {
        match &mut self.policy {
            Policy::ProportionalFair(past) | Policy::BlindEqualThroughput(_, past) => past.forget(ue),
            Policy::PrioritySet(pss) => pss.forget(ue),
            Policy::RoundRobin(_) | Policy::MaximumThroughput(_) | Policy::ThroughputToAverage => {}
        }
    }
}

/// The weight of a UE's rate in its metric, or the metric.
fn rank(demands: &mut [Demand], metric: impl Fn(&Demand) -> f64) {
    for demand in demands.iter_mut() {
        demand.metric = metric(demand);
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
        demand.take(free);
        free &= !demand.given;
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
