//! Downlink scheduler policies: who gets which RBG.
//!
//! A policy ranks UEs. HARQ retransmissions are on the grid before it is asked, and the MAC
//! builds the blocks afterwards. A UE leaves the contest once what it got covers its backlog.

use super::grid::{RbgSet, ResourceGrid, each};
use crate::config::SchedulerKind;

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

    fn satisfied(&self) -> bool {
        self.covered >= self.backlog
    }

    fn give(&mut self, rbg: u16) {
        self.given |= 1 << rbg;
        self.covered += u32::from(self.rbg_bytes[usize::from(rbg)]);
    }
}

/// A scheduler policy and its memory.
#[derive(Debug)]
pub(crate) enum Scheduler {
    ProportionalFair(ProportionalFair),
    RoundRobin(RoundRobin),
}

impl Scheduler {
    pub(crate) fn new(kind: SchedulerKind, ues: usize) -> Self {
        match kind {
            SchedulerKind::ProportionalFair { window } => {
                Self::ProportionalFair(ProportionalFair::new(window, ues))
            }
            SchedulerKind::RoundRobin => Self::RoundRobin(RoundRobin::default()),
        }
    }

    /// Deals the free RBGs of the grid out. `demands` is sorted by UE.
    pub(crate) fn schedule(&mut self, slot: u64, demands: &mut [Demand], grid: &mut ResourceGrid) {
        if demands.is_empty() {
            return;
        }
        match self {
            Self::ProportionalFair(pf) => pf.schedule(slot, demands, grid),
            Self::RoundRobin(rr) => rr.schedule(demands, grid),
        }
        for demand in demands.iter() {
            grid.take(demand.given);
        }
    }

    /// A UE was served so many bytes in this slot.
    pub(crate) fn served(&mut self, ue: u32, bytes: u64) {
        if let Self::ProportionalFair(pf) = self {
            pf.served(ue, bytes);
        }
    }
}

/// Proportional fair: each RBG goes to the UE with the highest ratio of the rate it could have
/// there to the rate it has had, averaged over an exponential window (Jalali, Padovani and
/// Pankaj, VTC 2000-Spring; per RBG as in Sesia, Toufik and Baker, "LTE", §12.3.3).
///
/// The average is T ← (1 − 1/W)·T + (1/W)·R each slot. Instead of ageing every T each slot, a
/// served UE's R is weighted up by (1 − 1/W)^−slot: the ratios of any two averages, which is all
/// that a ranking looks at, are the same.
#[derive(Debug)]
pub(crate) struct ProportionalFair {
    window: f64,
    average: Vec<f64>,
    weight: f64,
    slot: u64,
}

impl ProportionalFair {
    fn new(window: u32, ues: usize) -> Self {
        Self { window: f64::from(window.max(2)), average: vec![1.0; ues], weight: 1.0, slot: 0 }
    }

    fn age_to(&mut self, slot: u64) {
        let growth = self.window / (self.window - 1.0);
        let slots = slot.saturating_sub(self.slot);
        self.slot = slot;
        if slots == 1 {
            self.weight *= growth;
        } else {
            self.weight *= libm::pow(growth, (slots.min(1 << 20)) as f64);
        }
        if self.weight > 1e100 {
            for average in &mut self.average {
                // The floor is one byte per slot, far below any rate that ranks.
                *average = (*average / self.weight).max(1e-3);
            }
            self.weight = 1.0;
        }
    }

    fn served(&mut self, ue: u32, bytes: u64) {
        self.average[ue as usize] += self.weight * bytes as f64 / self.window;
    }

    fn schedule(&mut self, slot: u64, demands: &mut [Demand], grid: &ResourceGrid) {
        self.age_to(slot);
        for demand in demands.iter_mut() {
            demand.metric = 1.0 / self.average[demand.ue as usize];
        }
        let mut free = grid.free();
        if demands.iter().all(|d| d.flat) {
            Self::schedule_flat(demands, &mut free);
        } else {
            Self::schedule_selective(demands, free);
        }
    }

    /// Without fading one ranking holds for all RBGs.
    fn schedule_flat(demands: &mut [Demand], free: &mut RbgSet) {
        while *free != 0 {
            let best = best_of(demands, |d| f64::from(d.rbg_bytes[0]) * d.metric);
            let Some(best) = best else { return };
            for rbg in each(*free) {
                if demands[best].satisfied() {
                    break;
                }
                demands[best].give(rbg);
                *free &= !(1 << rbg);
            }
        }
    }

    fn schedule_selective(demands: &mut [Demand], free: RbgSet) {
        for rbg in each(free) {
            let rate = |d: &Demand| f64::from(d.rbg_bytes[usize::from(rbg)]) * d.metric;
            let Some(best) = best_of(demands, rate) else { continue };
            demands[best].give(rbg);
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

/// Round robin: the free RBGs are dealt out evenly, beginning after the UE served last.
#[derive(Debug, Default)]
pub(crate) struct RoundRobin {
    next_ue: u32,
}

impl RoundRobin {
    fn schedule(&mut self, demands: &mut [Demand], grid: &ResourceGrid) {
        let n = demands.len();
        let first = demands.iter().position(|d| d.ue >= self.next_ue).unwrap_or(0);
        let mut free = grid.free();
        let mut left = n;
        for k in 0..n {
            let demand = &mut demands[(first + k) % n];
            let share = (free.count_ones() as usize).div_ceil(left);
            left -= 1;
            for rbg in each(free).take(share) {
                if demand.satisfied() || demand.rbg_bytes[usize::from(rbg)] == 0 {
                    break;
                }
                demand.give(rbg);
                free &= !(1 << rbg);
            }
            if demand.given != 0 {
                self.next_ue = demand.ue + 1;
            }
            if free == 0 {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demands(n: u32, bytes: u16) -> Vec<Demand> {
        (0..n).map(|ue| Demand::new(ue, 1_000_000, true, [bytes; MAX_RBGS])).collect()
    }

    #[test]
    fn proportional_fair_serves_equals_in_turn() {
        let mut pf = Scheduler::new(SchedulerKind::ProportionalFair { window: 99 }, 4);
        let mut served = [0; 4];
        for slot in 0..40 {
            let mut d = demands(4, 377);
            let mut grid = ResourceGrid::new(100);
            pf.schedule(slot, &mut d, &mut grid);
            assert_eq!(grid.free(), 0);
            let who: Vec<_> = d.iter().filter(|d| d.given != 0).collect();
            assert_eq!(who.len(), 1, "equal sub-bands go to one UE in a slot");
            served[who[0].ue as usize] += 1;
            pf.served(who[0].ue, 9422);
        }
        assert_eq!(served, [10; 4]);
    }

    #[test]
    fn proportional_fair_gives_each_rbg_to_whom_it_serves_best() {
        let mut pf = Scheduler::new(SchedulerKind::ProportionalFair { window: 99 }, 2);
        let (mut a, mut b) = ([100; MAX_RBGS], [100; MAX_RBGS]);
        a[..3].fill(200);
        b[3..].fill(200);
        let mut d = vec![Demand::new(0, 1 << 20, false, a), Demand::new(1, 1 << 20, false, b)];
        let mut grid = ResourceGrid::new(6);
        pf.schedule(0, &mut d, &mut grid);
        assert_eq!((d[0].given, d[1].given), (0b000_111, 0b111_000));
    }

    #[test]
    fn what_one_ue_does_not_need_goes_to_the_next() {
        for kind in [SchedulerKind::ProportionalFair { window: 99 }, SchedulerKind::RoundRobin] {
            let mut scheduler = Scheduler::new(kind, 2);
            let mut d = demands(2, 100);
            d[0].backlog = 150;
            d[1].backlog = 1 << 20;
            let mut grid = ResourceGrid::new(100);
            scheduler.schedule(0, &mut d, &mut grid);
            assert_eq!(d[0].given.count_ones(), 2, "{kind:?}");
            assert_eq!(d[1].given.count_ones(), 23, "{kind:?}");
        }
    }

    #[test]
    fn round_robin_deals_evenly_and_goes_on_where_it_stopped() {
        let mut rr = Scheduler::new(SchedulerKind::RoundRobin, 60);
        let mut served = [0; 60];
        for slot in 0..12 {
            let mut d = demands(60, 10);
            let mut grid = ResourceGrid::new(100);
            rr.schedule(slot, &mut d, &mut grid);
            for d in d.iter().filter(|d| d.given != 0) {
                served[d.ue as usize] += d.given.count_ones();
            }
        }
        // 12 slots of 25 RBGs among 60 UEs: five each.
        assert_eq!(served, [5; 60]);
    }
}
