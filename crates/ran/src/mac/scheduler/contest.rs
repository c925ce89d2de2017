//! Assigns each RBG to the UE with the highest metric there, without evaluating UEs that cannot win.

use std::collections::BinaryHeap;

use pulp::{Arch, Simd, WithSimd};

use super::{Demand, MAX_RBGS, best_of};
use crate::mac::grid::{RbgSet, each};

/// The demands that have not been evaluated: the bits of an upper bound of the metric, which is positive,
/// followed by the complement of their place. The highest bound comes first, and of equal ones the first
/// demand.
pub(super) type Waiting = BinaryHeap<u128>;

/// Each RBG goes to the UE with the highest positive metric there, the first of equal ones. The metric is
/// the UE's rate on the RBG times its weight, which is in `metric`.
pub(super) fn by_rbg(
    waiting: &mut Waiting,
    demands: &mut [Demand],
    free: RbgSet,
    mut rates_of: impl FnMut(&mut Demand),
) {
    if let [only] = demands {
        rates_of(only);
        return only.take(free);
    }
    let mut contest = Contest::new(free);
    let mut unseen = core::mem::take(waiting).into_vec();
    unseen.clear();
    for (place, demand) in demands.iter().enumerate() {
        let most = f64::from(demand.most) * demand.metric;
        if demand.has_rates {
            contest.enter(demand, place);
        } else if most > 0.0 {
            unseen.push(u128::from(most.to_bits()) << 32 | u128::from(!(place as u32)));
        }
    }
    *waiting = Waiting::from(unseen);
    while let Some(place) = next(waiting, |most, place| contest.is_lost(most, place)) {
        rates_of(&mut demands[place]);
        contest.enter(&demands[place], place);
    }
    for rbg in each(free) {
        let Some(best) = contest.best(rbg) else { continue };
        if !demands[best].satisfied() {
            demands[best].give(rbg);
            continue;
        }
        // The best UE has all it needs. Some of those that come next may not have been evaluated.
        let metric = |demand: &Demand| demand.rate(rbg) * demand.metric;
        let holder = best_of(demands, metric);
        let mut holder = holder.map(|place| (metric(&demands[place]), place));
        let beaten = |(most, place): (f64, usize), holder: Option<(f64, usize)>| {
            holder.is_some_and(|(high, at)| most < high || (most == high && place > at))
        };
        while let Some(place) = next(waiting, |most, place| beaten((most, place), holder)) {
            rates_of(&mut demands[place]);
            let challenger = (metric(&demands[place]), place);
            if challenger.0 > 0.0 && !beaten(challenger, holder) {
                holder = Some(challenger);
            }
        }
        if let Some((_, place)) = holder {
            demands[place].give(rbg);
        }
    }
}

/// Removes the demand with the highest bound, unless even this bound cannot win.
fn next(waiting: &mut Waiting, is_useless: impl FnOnce(f64, usize) -> bool) -> Option<usize> {
    let &first = waiting.peek()?;
    let (most, place) = (f64::from_bits((first >> 32) as u64), !(first as u32) as usize);
    if is_useless(most, place) {
        return None;
    }
    waiting.pop();
    Some(place)
}

/// The comparison for all free RBGs together.
struct Contest {
    /// The highest metric so far, and the place of the first demand that has it, -1 for none; RBGs that
    /// are not free have no winner. Places have the width of metrics, so that both fit in one vector.
    high: [f64; MAX_RBGS],
    best: [f64; MAX_RBGS],
    /// The minimum of `high`.
    least: f64,
    /// The widest vectors of this machine; the comparisons are the same in any.
    arch: Arch,
}

impl Contest {
    fn new(free: RbgSet) -> Self {
        let high = core::array::from_fn(|rbg| if free >> rbg & 1 == 1 { 0.0 } else { f64::INFINITY });
        let least = if free == 0 { f64::INFINITY } else { 0.0 };
        Self { high, best: [-1.0; MAX_RBGS], least, arch: Arch::new() }
    }

    fn enter(&mut self, demand: &Demand, place: usize) {
        self.arch.dispatch(Entry { contest: self, demand, place: place as f64 });
    }

    /// Whether a metric of at most `most` wins no RBG from this place.
    fn is_lost(&self, most: f64, place: usize) -> bool {
        most < self.least || (most == self.least && self.best.iter().all(|&best| best < place as f64))
    }

    fn best(&self, rbg: u16) -> Option<usize> {
        Some(self.best[usize::from(rbg)]).filter(|&place| place >= 0.0).map(|place| place as usize)
    }
}

/// One more demand in the comparison.
struct Entry<'a> {
    contest: &'a mut Contest,
    demand: &'a Demand,
    place: f64,
}

impl WithSimd for Entry<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Contest { high, best, least, .. } = self.contest;
        let (rates, _) = self.demand.rbg_bytes.as_chunks::<LANES>();
        let (high, best) = (high.as_chunks_mut::<LANES>().0, best.as_chunks_mut::<LANES>().0);
        let mut lowest = [f64::INFINITY; LANES];
        for ((rates, high), best) in rates.iter().zip(high).zip(best) {
            for lane in 0..LANES {
                let metric = f64::from(rates[lane]) * self.demand.metric;
                let better = (metric > high[lane]) | ((metric == high[lane]) & (self.place < best[lane]));
                high[lane] = if better { metric } else { high[lane] };
                best[lane] = if better { self.place } else { best[lane] };
                lowest[lane] = if high[lane] < lowest[lane] { high[lane] } else { lowest[lane] };
            }
        }
        *least = lowest.into_iter().fold(f64::INFINITY, f64::min);
    }
}

/// RBGs per vector; [`MAX_RBGS`] is a multiple.
const LANES: usize = 4;
