//! Assigns each RBG to the UE with the highest metric there, without evaluating UEs that cannot win.

use std::collections::BinaryHeap;

use pulp::{Arch, Simd, WithSimd};

use super::{Demand, MAX_RBGS, best_of};
use crate::mac::grid::{RbgSet, each};

/// The demands that have not been evaluated: the bits of an upper bound of the metric, which is positive,
/// followed by the complement of their place. The highest bound comes first, and of equal ones the first
/// demand.
pub(super) type Waiting = BinaryHeap<u128>;

/// The demands of a slot, some of which have not been evaluated. They are compared by numbers: of equal ones, the
/// first wins.
pub(super) trait Contenders {
    /// Those that have been evaluated have rates.
    fn demands(&mut self) -> &mut [Demand];

    /// The place of the demand with this number.
    fn place(&self, number: usize) -> usize;

    /// The number of the demand at this place.
    fn number(&self, place: usize) -> usize;

    /// Evaluates the demand with the highest bound of its metric, and returns its place. `is_useless` is asked
    /// before, with the bound and the number: whether it cannot win.
    fn next(&mut self, is_useless: impl FnOnce(f64, usize) -> bool) -> Option<usize>;
}

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
    decide(&mut AllDemands { waiting, demands, rates_of }, contest, free);
}

/// Evaluates those that can win, and gives each RBG to the best.
pub(super) fn decide(contenders: &mut impl Contenders, mut contest: Contest, free: RbgSet) {
    while let Some(place) = contenders.next(|most, number| contest.is_lost(most, number)) {
        let number = contenders.number(place);
        contest.enter(&contenders.demands()[place], number);
    }
    for rbg in each(free) {
        let Some(best) = contest.best(rbg) else { continue };
        let place = contenders.place(best);
        let best = &mut contenders.demands()[place];
        if best.satisfied() {
            give_to_next(contenders, rbg);
        } else {
            best.give(rbg);
        }
    }
}

/// The best UE has all it needs. Some of those that come next may not have been evaluated.
fn give_to_next(contenders: &mut impl Contenders, rbg: u16) {
    let metric = |demand: &Demand| demand.rate(rbg) * demand.metric;
    let holder = best_of(contenders.demands(), metric);
    let mut holder = holder.map(|place| (metric(&contenders.demands()[place]), contenders.number(place)));
    let beaten = |(most, number): (f64, usize), holder: Option<(f64, usize)>| {
        holder.is_some_and(|(high, at)| most < high || (most == high && number > at))
    };
    while let Some(place) = contenders.next(|most, number| beaten((most, number), holder)) {
        let challenger = (metric(&contenders.demands()[place]), contenders.number(place));
        if challenger.0 > 0.0 && !beaten(challenger, holder) {
            holder = Some(challenger);
        }
    }
    if let Some((_, number)) = holder {
        let place = contenders.place(number);
        contenders.demands()[place].give(rbg);
    }
}

/// All demands of a slot. Their numbers are their places.
struct AllDemands<'a, F> {
    waiting: &'a mut Waiting,
    demands: &'a mut [Demand],
    rates_of: F,
}

impl<F: FnMut(&mut Demand)> Contenders for AllDemands<'_, F> {
    fn demands(&mut self) -> &mut [Demand] {
        self.demands
    }

    fn place(&self, number: usize) -> usize {
        number
    }

    fn number(&self, place: usize) -> usize {
        place
    }

    fn next(&mut self, is_useless: impl FnOnce(f64, usize) -> bool) -> Option<usize> {
        let &first = self.waiting.peek()?;
        let (most, place) = (f64::from_bits((first >> 32) as u64), !(first as u32) as usize);
        if is_useless(most, place) {
            return None;
        }
        self.waiting.pop();
        (self.rates_of)(&mut self.demands[place]);
        Some(place)
    }
}

/// The comparison for all free RBGs together.
pub(super) struct Contest {
    /// The highest metric so far, and the number of the first demand that has it, -1 for none; RBGs that
    /// are not free have no winner. Numbers have the width of metrics, so that both fit in one vector.
    high: [f64; MAX_RBGS],
    best: [f64; MAX_RBGS],
    /// The minimum of `high`.
    least: f64,
    /// Number of vectors that contain all free RBGs.
    vectors: usize,
    /// The widest vectors of this machine; the comparisons are the same in any.
    arch: Arch,
}

impl Contest {
    pub(super) fn new(free: RbgSet) -> Self {
        let high = core::array::from_fn(|rbg| if free >> rbg & 1 == 1 { 0.0 } else { f64::INFINITY });
        let least = if free == 0 { f64::INFINITY } else { 0.0 };
        let vectors = (RbgSet::BITS - free.leading_zeros()).div_ceil(LANES as u32) as usize;
        Self { high, best: [-1.0; MAX_RBGS], least, vectors, arch: Arch::new() }
    }

    fn enter(&mut self, demand: &Demand, number: usize) {
        self.arch.dispatch(Entry { contest: self, demand, number: number as f64 });
    }

    /// Whether a metric of at most `most` wins no RBG with this number.
    fn is_lost(&self, most: f64, number: usize) -> bool {
        most < self.least || (most == self.least && self.best.iter().all(|&best| best < number as f64))
    }

    fn best(&self, rbg: u16) -> Option<usize> {
        Some(self.best[usize::from(rbg)]).filter(|&number| number >= 0.0).map(|number| number as u32 as usize)
    }
}

/// One more demand in the comparison.
struct Entry<'a> {
    contest: &'a mut Contest,
    demand: &'a Demand,
    number: f64,
}

impl WithSimd for Entry<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Contest { high, best, least, vectors, .. } = self.contest;
        let (high, best) = (S::as_mut_simd_f64s(high).0.iter_mut(), S::as_mut_simd_f64s(best).0.iter_mut());
        let mut places = high.zip(best);
        let (weight, number) = (simd.splat_f64s(self.demand.metric), simd.splat_f64s(self.number));
        let mut lowest = simd.splat_f64s(f64::INFINITY);
        for rates in self.demand.rbg_bytes.as_chunks::<LANES>().0.iter().take(*vectors) {
            let rates = [rates[0], rates[1], rates[2], rates[3]].map(f64::from);
            for (rates, (high, best)) in S::as_simd_f64s(&rates).0.iter().zip(&mut places) {
                let metric = simd.mul_f64s(*rates, weight);
                let first = simd.and_m64s(simd.equal_f64s(metric, *high), simd.less_than_f64s(number, *best));
                let better = simd.or_m64s(simd.greater_than_f64s(metric, *high), first);
                *high = simd.select_f64s(better, metric, *high);
                *best = simd.select_f64s(better, number, *best);
                lowest = simd.min_f64s(*high, lowest);
            }
        }
        *least = simd.reduce_min_f64s(lowest);
    }
}

/// RBGs per vector; [`MAX_RBGS`] is a multiple.
const LANES: usize = 4;
