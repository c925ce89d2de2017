//! Proportional fair over candidates that stand from slot to slot.
//!
//! The key of a UE that waits does not change: its rate without fading, or else the upper bound of its rate
//! on an RBG, over its past throughput, whose weight is common to all UEs. The highest keys are found by a
//! tournament, so that a UE that waits costs nothing. The result is that of a comparison of all candidates.

use super::average::PastThroughput;
use super::contest::{Contenders, Contest, decide};
use super::tournament::Tournament;
use super::{Demand, RbgSet};
use crate::mac::phy::FORMATS;

/// Bytes of an RBG in each kind of slots: the rate of a UE without fading, or else the upper bound.
pub(crate) type Rates = [u16; FORMATS];

/// The UEs with data that a slot can serve.
#[derive(Debug)]
pub(super) struct StandingCandidates {
    /// `None` for a UE that is no candidate.
    rates: Vec<Option<Rates>>,
    /// Number of candidates.
    count: usize,
    /// The keys in each kind of slots.
    keys: [Tournament; FORMATS],
}

/// A slot that is shared by candidates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedSlot {
    /// Slots since the start of the run.
    pub(crate) number: u64,
    /// Its kind.
    pub(crate) format: usize,
    /// There is no fading.
    pub(crate) flat: bool,
}

impl StandingCandidates {
    pub(super) fn new(ues: usize) -> Self {
        Self { rates: vec![None; ues], count: 0, keys: core::array::from_fn(|_| Tournament::new(ues)) }
    }

    pub(super) fn add_ue(&mut self) {
        self.rates.push(None);
        self.keys.iter_mut().for_each(|keys| keys.grow_to(self.rates.len()));
    }

    /// Number of candidates.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// A UE is a candidate with these rates, or none.
    pub(super) fn set(&mut self, past: &PastThroughput, ue: u32, rates: Option<Rates>) {
        let before = core::mem::replace(&mut self.rates[ue as usize], rates);
        self.count = self.count + usize::from(rates.is_some()) - usize::from(before.is_some());
        self.set_keys(past, ue);
    }

    fn set_keys(&mut self, past: &PastThroughput, ue: u32) {
        let rates = self.rates[ue as usize].unwrap_or_default();
        let metric = metric(past, ue);
        for (keys, rate) in self.keys.iter_mut().zip(rates) {
            keys.set(ue, f64::from(rate) * metric);
        }
    }

    /// All averages have changed.
    pub(super) fn set_all_keys(&mut self, past: &PastThroughput) {
        (0..self.rates.len() as u32).for_each(|ue| self.set_keys(past, ue));
    }

    /// Assigns the free RBGs. `demand_of` makes the demand of a UE, with its rates. The demands are those that
    /// were evaluated, by ascending UE.
    pub(super) fn share(
        &mut self,
        past: &PastThroughput,
        slot: SharedSlot,
        demands: &mut Vec<Demand>,
        free: RbgSet,
        demand_of: impl FnMut(u32) -> Demand,
    ) {
        let mut left = Unevaluated { past, keys: &mut self.keys[slot.format], demands, demand_of };
        if slot.flat {
            left.in_turn(free);
        } else if self.count == 1 {
            if let Some(place) = left.next(|_, _| false) {
                left.demands[place].take(free);
            }
        } else {
            decide(&mut left, Contest::new(free), free);
        }
        // The served UEs will be looked at again. The others have the keys that they had.
        let waiting = demands.iter().filter(|demand| demand.given == 0);
        waiting.for_each(|demand| self.set_keys(past, demand.ue));
    }
}

/// The weight of the rate of a UE.
fn metric(past: &PastThroughput, ue: u32) -> f64 {
    1.0 / past.weighted(ue)
}

/// The candidates of a slot, and the demands of those that have been evaluated.
struct Unevaluated<'a, F> {
    past: &'a PastThroughput,
    /// The keys of the others.
    keys: &'a mut Tournament,
    demands: &'a mut Vec<Demand>,
    demand_of: F,
}

impl<F: FnMut(u32) -> Demand> Unevaluated<'_, F> {
    /// Without fading one ranking applies to all RBGs: the UE with the highest key gets as many as it needs, then
    /// the next UE.
    fn in_turn(&mut self, mut free: RbgSet) {
        while free != 0
            && let Some(place) = self.next(|_, _| false)
        {
            let demand = &mut self.demands[place];
            demand.take(free);
            free &= !demand.given;
        }
    }
}

impl<F: FnMut(u32) -> Demand> Contenders for Unevaluated<'_, F> {
    fn demands(&mut self) -> &mut [Demand] {
        self.demands
    }

    fn place(&self, number: usize) -> usize {
        self.demands.partition_point(|demand| (demand.ue as usize) < number)
    }

    fn number(&self, place: usize) -> usize {
        self.demands[place].ue as usize
    }

    fn next(&mut self, is_useless: impl FnOnce(f64, usize) -> bool) -> Option<usize> {
        let (most, ue) = self.keys.first()?;
        if is_useless(most, ue as usize) {
            return None;
        }
        self.keys.set(ue, 0.0);
        let mut demand = (self.demand_of)(ue);
        demand.metric = metric(self.past, ue);
        let place = self.place(ue as usize);
        self.demands.insert(place, demand);
        Some(place)
    }
}

#[cfg(test)]
mod tests;
