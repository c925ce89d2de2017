//! The QoS policy: guaranteed bit rates first, then weighted delays.
//!
//! A slot is divided in two steps.
//!
//! 1. Bytes that guaranteed bit rates cover, by the token buckets of their bearers, in the order of the priority levels of
//!    their classes, and of equal levels those first whose oldest packet has used most of its delay budget. Each UE gets its
//!    best RBGs. Where not all can be met, the lower priority level is met first (TS 23.501 §5.7.3.3, TS 23.203 §6.1.7.2).
//! 2. All other bytes: each RBG goes to the UE with the highest `γ·W·r/R`, where `r` is its rate there and `R` its past
//!    throughput. This is M-LWDF, modified largest weighted delay first (M. Andrews, K. Kumaran, K. Ramanan, A. Stolyar, P.
//!    Whiting, R. Vijayakumar, "Providing quality of service over a shared wireless link", IEEE Communications Magazine
//!    39(2), 2001): `W` is the waiting time of the oldest packet, and `γ` an arbitrary positive constant of a flow (US patent
//!    6,590,890), for which the authors suggest −log(δ)/T with the share δ of packets that may be later than T. δ is 2 % for
//!    all classes, so that it cancels, and T is the delay budget. The factor 100 − priority level, which is that of
//!    `NrMacSchedulerUeInfoQos` in 5G-LENA, divides what is left between classes with the same budget.
//!
//! A UE with several bearers has the largest of their weights; logical channel prioritization divides its block.
//!
//! With full drop-tail queues of equal size W is inversely proportional to the rate, so that the rates of two UEs with
//! equal channels are as the square roots of their constants.

use airlane_core::Duration;

use super::average::PastThroughput;
use super::contest::{Waiting, by_rbg};
use super::{Demand, RbgSet};
use crate::mac::grid::each;
use crate::qos::BearerDemand;

/// The QoS policy.
#[derive(Debug)]
pub(crate) struct QosPolicy {
    pub(super) past: PastThroughput,
    /// The least waiting time: a slot, in seconds.
    slot_s: f64,
    /// Scratch space.
    guarantees: Vec<Guarantee>,
}

/// The bytes of a bearer that its guaranteed bit rate covers.
#[derive(Clone, Copy, Debug)]
struct Guarantee {
    priority: u8,
    /// The share of its delay budget that its oldest packet has used.
    used: f64,
    /// The place of its UE among the demands.
    place: u32,
    bytes: u32,
}

impl QosPolicy {
    pub(super) fn new(window: u32, ues: usize, slot: Duration) -> Self {
        let past = PastThroughput::new(window, ues);
        Self { past, slot_s: slot.as_secs_f64(), guarantees: Vec::with_capacity(ues) }
    }

    /// Assigns the free RBGs to demands that have their rates. `bearers` has the bearers of all demands.
    pub(super) fn schedule(
        &mut self,
        slot: u64,
        demands: &mut [Demand],
        bearers: &[BearerDemand],
        free: RbgSet,
        waiting: &mut Waiting,
    ) {
        self.past.age_to(slot);
        let free = self.guarantee(demands, bearers, free);
        for demand in demands.iter_mut() {
            let weights = demand.bearers_in(bearers).iter().map(|bearer| self.weight(bearer));
            demand.metric = weights.fold(0.0, f64::max) / self.past.weighted(demand.ue);
        }
        by_rbg(waiting, demands, free, |_| ());
    }

    /// Assigns RBGs for guaranteed bit rates. Returns those that are left.
    fn guarantee(&mut self, demands: &mut [Demand], bearers: &[BearerDemand], mut free: RbgSet) -> RbgSet {
        self.guarantees.clear();
        for (place, demand) in (0..).zip(demands.iter()) {
            let guaranteed = demand.bearers_in(bearers).iter().filter(|one| one.guaranteed.get() > 0);
            self.guarantees.extend(guaranteed.map(|one| Guarantee {
                priority: one.class.priority,
                used: one.waited.as_secs_f64() / one.class.delay_budget.as_secs_f64(),
                place,
                bytes: one.guaranteed.get().min(1 << 30) as u32,
            }));
        }
        self.guarantees.sort_by(|a, b| {
            let by_delay = b.used.total_cmp(&a.used);
            a.priority.cmp(&b.priority).then(by_delay).then(a.place.cmp(&b.place))
        });
        for one in &self.guarantees {
            let demand = &mut demands[one.place as usize];
            let target = demand.backlog.min(demand.guaranteed.saturating_add(one.bytes));
            demand.guaranteed = target;
            free = take_best(demand, free, target);
        }
        free
    }

    /// The weight of the rate of a bearer.
    fn weight(&self, bearer: &BearerDemand) -> f64 {
        let waited = bearer.waited.as_secs_f64().max(self.slot_s);
        f64::from(100 - bearer.class.priority) * waited / bearer.class.delay_budget.as_secs_f64()
    }
}

/// Gives a UE its best free RBGs, the first of equal ones, until they carry this many bytes. Returns those that are left.
fn take_best(demand: &mut Demand, mut free: RbgSet, bytes: u32) -> RbgSet {
    while demand.covered < bytes {
        let key = |rbg: &u16| (demand.rbg_bytes[usize::from(*rbg)], core::cmp::Reverse(*rbg));
        let Some(best) = each(free).max_by_key(key) else { break };
        if demand.rbg_bytes[usize::from(best)] == 0 {
            break;
        }
        demand.give(best);
        free &= !(1 << best);
    }
    free
}

#[cfg(test)]
mod tests;
