//! Downlink scheduler policies: the assignment of RBGs to UEs.
//!
//! A policy ranks UEs. HARQ retransmissions are on the grid before the policy is called, and the
//! MAC builds the blocks afterwards. A UE gets no more RBGs once its RBGs cover its backlog.
//!
//! The rates of a UE's sub-bands are computed when a policy requests them, since an unused CQI report need
//! not be computed. Where each RBG goes to the highest metric, a UE is skipped if its metric would be too
//! low even with the best CQI. Proportional fair in a cell alone on its carrier does not even look at UEs that wait
//! ([`standing`]).

mod average;
mod contest;
mod own;
mod priority_set;
mod qos;
mod round_robin;
mod standing;
#[cfg(test)]
mod tests;
mod tournament;

use airlane_core::{Bytes, UeId};

use super::grid::{RbgSet, ResourceGrid, each};
use crate::config::{SchedulerDomain, SchedulerKind};
use crate::qos::BearerDemand;
use average::PastThroughput;
use contest::{Waiting, by_rbg};
use priority_set::PrioritySet;
use qos::QosPolicy;
use round_robin::RoundRobin;
use standing::StandingCandidates;

pub(crate) use standing::{Rates, SharedSlot};

pub use own::{Candidates, MakeScheduler, OwnScheduler, SchedulerCell, SchedulerPolicy};

/// Maximum number of sub-bands (110 PRBs in RBGs of 4).
pub(crate) const MAX_RBGS: usize = 28;

/// The demand of a UE with data, for a policy.
#[derive(Clone, Debug)]
pub(crate) struct Demand {
    /// The UE's index in its network; also its index in the policy's state.
    pub(crate) ue: u32,
    /// Bytes waiting, headers included.
    pub(crate) backlog: u32,
    /// All sub-bands have the same rate: there is no fading.
    pub(crate) flat: bool,
    /// Upper bound of the bytes of one RBG.
    most: u16,
    /// Bytes of one RBG, per sub-band, once set by [`Demand::set_rates`].
    rbg_bytes: [u16; MAX_RBGS],
    has_rates: bool,
    /// The RBGs of its bandwidth part; those outside have no bytes.
    usable: RbgSet,
    /// The RBGs that the policy assigned to it.
    pub(crate) given: RbgSet,
    metric: f64,
    covered: u32,
    /// The range of its bearers in the list of those of all demands, if the policy has one.
    pub(crate) bearers: (u32, u32),
    /// Bytes that guaranteed bit rates cover.
    guaranteed: u32,
}

impl Demand {
    /// For a UE whose RBGs carry at most `most` bytes each; the actual bytes are set later.
    pub(crate) fn new(ue: u32, backlog: Bytes, flat: bool, most: u16) -> Self {
        let (rbg_bytes, backlog) = ([0; MAX_RBGS], backlog.get().min(1 << 30) as u32);
        let (bearers, guaranteed) = ((0, 0), 0);
        let (has_rates, usable, given, metric, covered) = (false, RbgSet::MAX, 0, 0.0, 0);
        Self {
            ue,
            backlog,
            flat,
            most,
            rbg_bytes,
            has_rates,
            usable,
            given,
            metric,
            covered,
            bearers,
            guaranteed,
        }
    }

    /// It may get these RBGs alone, the first one of the band among them.
    pub(crate) fn on_part(self, usable: RbgSet) -> Self {
        Self { usable, ..self }
    }

    /// Its bearers with data, in the list of those of all demands.
    fn bearers_in<'a>(&self, all: &'a [BearerDemand]) -> &'a [BearerDemand] {
        &all[self.bearers.0 as usize..self.bearers.1 as usize]
    }

    /// Sets the bytes of one RBG, per sub-band.
    pub(crate) fn set_rates(&mut self, mut rbg_bytes: [u16; MAX_RBGS]) {
        if self.usable != RbgSet::MAX {
            each(!self.usable)
                .take_while(|rbg| usize::from(*rbg) < MAX_RBGS)
                .for_each(|rbg| rbg_bytes[usize::from(rbg)] = 0);
        }
        (self.rbg_bytes, self.has_rates) = (rbg_bytes, true);
    }

    /// Bytes of this RBG.
    fn rate(&self, rbg: u16) -> f64 {
        f64::from(self.rbg_bytes[usize::from(rbg)])
    }

    /// Rate of the whole band, on a scale that the UEs of a cell share: either all of them fade or none.
    fn band_rate(&self) -> f64 {
        if self.flat {
            return f64::from(self.rbg_bytes[0]);
        }
        // Places beyond the band's last RBG are zero.
        f64::from(self.rbg_bytes.iter().map(|&b| u32::from(b)).sum::<u32>())
    }

    const fn satisfied(&self) -> bool {
        self.covered >= self.backlog
    }

    /// Assigns those of these RBGs that are usable, as many as it needs.
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

    /// [`Self::take`] where all RBGs have the same rate.
    fn take_alike(&mut self, free: RbgSet) {
        let each = u32::from(self.rbg_bytes[0]);
        if each == 0 {
            return;
        }
        let free = free & self.usable;
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

/// A scheduler policy and its state.
///
/// All policies except round robin, priority set and QoS are one of two ways to divide a slot, each with
/// a metric: [`by_rbg`] in the frequency domain, [`by_ue`] in the time domain. Metrics are those of
/// F. Capozzi, G. Piro, L. A. Grieco, G. Boggia, P. Camarda, "Downlink packet scheduling in LTE
/// cellular networks: key design issues and a survey", IEEE Communications Surveys & Tutorials
/// 15(2), 2013, §III, where `r` is the rate that a UE could have and `T` its past throughput:
///
/// - maximum throughput: `r`
/// - blind equal throughput: `1/T`
/// - proportional fair: `r/T` (A. Jalali, R. Padovani, R. Pankaj, VTC 2000-Spring)
/// - throughput to average: `r` on the RBG over `r` on the whole band
#[derive(Debug)]
pub(crate) struct Scheduler {
    policy: Policy,
    /// Scratch space for the demands that have not been evaluated.
    waiting: Waiting,
    /// For proportional fair, if candidates stand from slot to slot.
    standing: Option<StandingCandidates>,
    /// The bearers of the demands, for a policy that sees them.
    bearers: Vec<BearerDemand>,
}

#[derive(Debug)]
enum Policy {
    ProportionalFair(PastThroughput),
    RoundRobin(RoundRobin),
    MaximumThroughput(SchedulerDomain),
    BlindEqualThroughput(SchedulerDomain, PastThroughput),
    ThroughputToAverage,
    PrioritySet(PrioritySet),
    Qos(QosPolicy),
    Own(Box<dyn SchedulerPolicy>),
}

impl Scheduler {
    /// For a cell in a network of this many UEs.
    pub(crate) fn new(kind: &SchedulerKind, ues: usize, cell: &SchedulerCell) -> Self {
        let slot = cell.slot;
        let policy = match *kind {
            SchedulerKind::ProportionalFair { window } => {
                Policy::ProportionalFair(PastThroughput::new(window, ues))
            }
            SchedulerKind::RoundRobin => Policy::RoundRobin(RoundRobin::default()),
            SchedulerKind::MaximumThroughput { domain } => Policy::MaximumThroughput(domain),
            SchedulerKind::BlindEqualThroughput { domain, window } => {
                Policy::BlindEqualThroughput(domain, PastThroughput::new(window, ues))
            }
            SchedulerKind::ThroughputToAverage => Policy::ThroughputToAverage,
            SchedulerKind::PrioritySet(config) => Policy::PrioritySet(PrioritySet::new(config, ues, slot)),
            SchedulerKind::Qos { window } => Policy::Qos(QosPolicy::new(window, ues, slot)),
            SchedulerKind::Own(ref own) => Policy::Own(own.0.make(cell)),
        };
        Self { policy, waiting: Waiting::with_capacity(ues), standing: None, bearers: Vec::new() }
    }

    /// The list of the bearers of the demands, emptied for those of another slot; `None` if the policy does not see them.
    pub(crate) fn begin_bearers(&mut self) -> Option<&mut Vec<BearerDemand>> {
        self.bearers.clear();
        matches!(self.policy, Policy::Qos(_) | Policy::Own(_)).then_some(&mut self.bearers)
    }

    /// From now on candidates of proportional fair stand from slot to slot, in a network of this many UEs: they are set
    /// by [`Self::set_candidate`]. Returns false for other policies.
    pub(crate) fn keep_candidates(&mut self, ues: usize) -> bool {
        self.standing = match self.policy {
            Policy::ProportionalFair(_) => Some(StandingCandidates::new(ues)),
            Policy::RoundRobin(_)
            | Policy::MaximumThroughput(_)
            | Policy::BlindEqualThroughput(..)
            | Policy::ThroughputToAverage
            | Policy::PrioritySet(_)
            | Policy::Qos(_)
            | Policy::Own(_) => None,
        };
        self.standing.is_some()
    }

    /// A UE is a candidate with these rates from now on, or none. To be called again after it was served.
    pub(crate) fn set_candidate(&mut self, ue: u32, rates: Option<Rates>) {
        if let (Policy::ProportionalFair(past), Some(standing)) = (&self.policy, &mut self.standing) {
            standing.set(past, ue, rates);
        }
    }

    /// [`Self::schedule`] among the candidates that stand. `demand_of` makes the demand of a UE, with its rates;
    /// `demands` gets those that were evaluated.
    pub(crate) fn schedule_standing(
        &mut self,
        slot: SharedSlot,
        demands: &mut Vec<Demand>,
        grid: &mut ResourceGrid,
        demand_of: impl FnMut(u32) -> Demand,
    ) {
        demands.clear();
        let (Policy::ProportionalFair(past), Some(standing)) = (&mut self.policy, &mut self.standing) else {
            unreachable!("only candidates of proportional fair stand")
        };
        if standing.count() == 0 {
            return;
        }
        if past.age_to(slot.number) {
            standing.set_all_keys(past);
        }
        standing.share(past, slot, demands, grid.free(), demand_of);
        for demand in demands.iter() {
            grid.take(demand.given);
        }
    }

    /// Assigns the free RBGs of the grid. `demands` is sorted by UE; `rates_of` is called for those whose
    /// [`Demand::set_rates`] is needed.
    pub(crate) fn schedule(
        &mut self,
        slot: u64,
        demands: &mut [Demand],
        grid: &mut ResourceGrid,
        mut rates_of: impl FnMut(&mut Demand),
    ) {
        if demands.is_empty() {
            return;
        }
        let (free, waiting) = (grid.free(), &mut self.waiting);
        match &mut self.policy {
            Policy::ProportionalFair(past) => {
                past.age_to(slot);
                rank(demands, |d| 1.0 / past.weighted(d.ue));
                // Per RBG as in Sesia, Toufik and Baker, "LTE", §12.3.3. Without fading one ranking
                // applies to all RBGs, and the best UE gets as many as it needs.
                if demands.iter().all(|d| d.flat) {
                    demands.iter_mut().for_each(&mut rates_of);
                    by_ue(demands, free, |d| f64::from(d.rbg_bytes[0]) * d.metric);
                } else {
                    by_rbg(waiting, demands, free, rates_of);
                }
            }
            Policy::RoundRobin(rr) => rr.schedule(demands, free, rates_of),
            Policy::MaximumThroughput(SchedulerDomain::Frequency) => {
                rank(demands, |_| 1.0);
                by_rbg(waiting, demands, free, rates_of);
            }
            Policy::MaximumThroughput(SchedulerDomain::Time) => {
                demands.iter_mut().for_each(rates_of);
                by_ue(demands, free, Demand::band_rate);
            }
            Policy::BlindEqualThroughput(domain, past) => {
                demands.iter_mut().for_each(rates_of);
                past.age_to(slot);
                rank(demands, |d| 1.0 / past.weighted(d.ue));
                match domain {
                    SchedulerDomain::Frequency => equalise(past, demands, free),
                    SchedulerDomain::Time => by_ue(demands, free, |d| d.metric),
                }
            }
            Policy::ThroughputToAverage => {
                demands.iter_mut().for_each(&mut rates_of);
                rank(demands, |d| 1.0 / d.band_rate().max(1e-9));
                by_rbg(waiting, demands, free, rates_of);
            }
            Policy::PrioritySet(pss) => {
                demands.iter_mut().for_each(&mut rates_of);
                pss.rank(slot, demands);
                by_rbg(waiting, demands, free, rates_of);
            }
            Policy::Qos(qos) => {
                demands.iter_mut().for_each(rates_of);
                qos.schedule(slot, demands, &self.bearers, free, waiting);
            }
            Policy::Own(own) => {
                demands.iter_mut().for_each(rates_of);
                own.schedule(&mut Candidates { slot, demands, free, bearers: &self.bearers });
            }
        }
        for demand in demands.iter() {
            grid.take(demand.given);
        }
    }

    /// A UE was served this many bytes in this slot.
    pub(crate) fn served(&mut self, ue: u32, bytes: u64) {
        match &mut self.policy {
            Policy::ProportionalFair(past) | Policy::BlindEqualThroughput(_, past) => past.served(ue, bytes),
            Policy::PrioritySet(pss) => pss.served(ue, bytes),
            Policy::Qos(qos) => qos.past.served(ue, bytes),
            Policy::Own(own) => own.served(UeId(ue), Bytes(bytes)),
            Policy::RoundRobin(_) | Policy::MaximumThroughput(_) | Policy::ThroughputToAverage => {}
        }
    }

    /// A UE was added to the network.
    pub(crate) fn add_ue(&mut self) {
        if let Some(standing) = &mut self.standing {
            standing.add_ue();
        }
        match &mut self.policy {
            Policy::ProportionalFair(past) | Policy::BlindEqualThroughput(_, past) => past.add_ue(),
            Policy::PrioritySet(pss) => pss.add_ue(),
            Policy::Qos(qos) => qos.past.add_ue(),
            Policy::RoundRobin(_)
            | Policy::MaximumThroughput(_)
            | Policy::ThroughputToAverage
            | Policy::Own(_) => {}
        }
    }

    /// A UE leaves the cell: its past throughput here is deleted (UE CONTEXT RELEASE, TS 36.300 v17.0
    /// §10.1.2.1.1).
    pub(crate) fn forget(&mut self, ue: u32) {
        self.set_candidate(ue, None);
        match &mut self.policy {
            Policy::ProportionalFair(past) | Policy::BlindEqualThroughput(_, past) => past.forget(ue),
            Policy::PrioritySet(pss) => pss.forget(ue),
            Policy::Qos(qos) => qos.past.forget(ue),
            Policy::Own(own) => own.forget(UeId(ue)),
            Policy::RoundRobin(_) | Policy::MaximumThroughput(_) | Policy::ThroughputToAverage => {}
        }
    }
}

/// Sets the weight of a UE's rate in its metric, or the metric.
fn rank(demands: &mut [Demand], metric: impl Fn(&Demand) -> f64) {
    for demand in demands.iter_mut() {
        demand.metric = metric(demand);
    }
}

/// The UE with the highest metric gets every RBG that it can use and needs, then the next UE.
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
            demand.covered = demand.backlog; // no usable RBG is left: it gets no more
        }
    }
}

/// Blind equal throughput in the frequency domain: each RBG goes to the UE with the lowest
/// throughput, including what it got in this slot.
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

/// The unsatisfied demand with the highest positive metric, the first of equal ones.
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
