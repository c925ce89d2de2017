//! The downlink resource grid of one slot: resource block groups (RBGs) and their assignment.
//!
//! Resource allocation type 0 (TS 36.213 §7.1.6.1): a UE gets whole RBGs, given by a bitmap.

use core::ops::Range;

use super::scheduler::MAX_RBGS;
use crate::numerology::RbgLayout;

/// A set of RBGs, bit `k` for RBG `k`.
pub(crate) type RbgSet = u32;

/// The RBG layout of a bandwidth, and which RBGs are still free in this slot.
#[derive(Clone, Debug)]
pub(crate) struct ResourceGrid {
    prbs: u16,
    rbg_size: u16,
    rbgs: u16,
    /// The RBGs that a slot may assign.
    usable: RbgSet,
    free: RbgSet,
}

impl ResourceGrid {
    pub(crate) fn new(prbs: u16, layout: RbgLayout) -> Self {
        let rbg_size = layout.size(prbs);
        let rbgs = prbs.div_ceil(rbg_size);
        assert!((1..=MAX_RBGS as u16).contains(&rbgs), "{prbs} PRBs in RBGs of {rbg_size} are too many RBGs");
        let usable = (1 << rbgs) - 1;
        Self { prbs, rbg_size, rbgs, usable, free: usable }
    }

    /// Leaves the last RBG idle if it is smaller than the others.
    pub(crate) fn without_partial_rbg(mut self) -> Self {
        self.usable = (1 << (self.prbs / self.rbg_size)) - 1;
        self.clear();
        self
    }

    /// Frees every RBG that may be used, for a new slot.
    pub(crate) fn clear(&mut self) {
        self.free = self.usable;
    }

    pub(crate) fn rbg_size(&self) -> u16 {
        self.rbg_size
    }

    /// Number of RBGs of the band.
    pub(crate) fn rbgs(&self) -> usize {
        usize::from(self.rbgs)
    }

    pub(crate) fn free(&self) -> RbgSet {
        self.free
    }

    /// Assigns RBGs. Each can be assigned once.
    pub(crate) fn take(&mut self, set: RbgSet) {
        assert!(set & !self.free == 0, "the downlink grid is oversold");
        self.free &= !set;
    }

    /// The first `count` free RBGs of a set, or all if there are fewer.
    pub(crate) fn first_free(&self, count: u32, among: RbgSet) -> RbgSet {
        let free = self.free & among;
        let mut rest = free;
        for _ in 0..count {
            rest &= rest.wrapping_sub(1);
        }
        free & !rest
    }

    /// Number of PRBs in a set of RBGs; the last RBG of the band may be smaller.
    pub(crate) fn prbs_in(&self, set: RbgSet) -> u16 {
        let last = self.rbgs - 1;
        let short = self.rbg_size * self.rbgs - self.prbs;
        let n = set.count_ones() as u16 * self.rbg_size;
        if set >> last & 1 == 1 { n - short } else { n }
    }

    /// The PRBs of a set of RBGs, lowest first: a range for each run of neighbours.
    pub(crate) fn runs(&self, mut set: RbgSet) -> impl Iterator<Item = Range<usize>> + Clone + use<> {
        let (size, prbs) = (u32::from(self.rbg_size), u32::from(self.prbs));
        core::iter::from_fn(move || {
            (set != 0).then(|| {
                let from = set.trailing_zeros();
                let to = from + (set >> from).trailing_ones();
                set &= RbgSet::MAX << to; // a band has fewer RBGs than a set has bits
                (from * size) as usize..(to * size).min(prbs) as usize
            })
        })
    }
}

/// The RBGs of a set, lowest first.
pub(crate) fn each(mut set: RbgSet) -> impl Iterator<Item = u16> + Clone {
    core::iter::from_fn(move || {
        (set != 0).then(|| {
            let rbg = set.trailing_zeros() as u16;
            set &= set - 1;
            rbg
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_follow_the_table() {
        // TS 36.213 §7.1.6.1: N_RBG = ceil(N_DL_RB / P).
        for (prbs, size, rbgs) in [(6, 1, 6), (15, 2, 8), (25, 2, 13), (50, 3, 17), (75, 4, 19), (100, 4, 25)]
        {
            let grid = ResourceGrid::new(prbs, RbgLayout::LTE);
            assert_eq!((grid.rbg_size(), grid.rbgs), (size, rbgs));
            assert_eq!(grid.prbs_in(grid.free()), prbs);
            let whole = |set| grid.runs(set).next();
            assert_eq!(whole(grid.free()), Some(0..usize::from(prbs)));
            assert_eq!(whole(1 << (rbgs - 1)), Some(usize::from((rbgs - 1) * size)..usize::from(prbs)));
        }
    }

    #[test]
    fn a_partial_rbg_can_stay_idle() {
        // The number of PRBs divided by the RBG size, without the remainder.
        for (prbs, used) in [(6, 6), (15, 14), (25, 24), (50, 48), (75, 72), (100, 100)] {
            let mut grid = ResourceGrid::new(prbs, RbgLayout::LTE).without_partial_rbg();
            assert_eq!(grid.prbs_in(grid.free()), used);
            grid.take(grid.free());
            grid.clear();
            assert_eq!(grid.prbs_in(grid.free()), used);
        }
    }

    #[test]
    fn neighbours_make_one_range() {
        let grid = ResourceGrid::new(100, RbgLayout::LTE);
        assert!(grid.runs(0b1011_0110).eq([4..12, 16..24, 28..32]));
        assert_eq!(grid.runs(0).count(), 0);
    }

    #[test]
    fn the_short_last_rbg_counts_what_it_has() {
        let grid = ResourceGrid::new(25, RbgLayout::LTE); // 12 RBGs of 2, one of 1
        assert_eq!(grid.prbs_in(1 << 12), 1);
        assert_eq!(grid.prbs_in(1 << 12 | 1), 3);
    }

    #[test]
    fn first_free_skips_what_is_taken() {
        let mut grid = ResourceGrid::new(6, RbgLayout::LTE);
        grid.take(0b000_101);
        assert_eq!(grid.first_free(2, RbgSet::MAX), 0b001_010);
        assert_eq!(grid.first_free(9, RbgSet::MAX), 0b111_010);
        assert_eq!(grid.first_free(2, 0b011_100), 0b011_000);
        assert_eq!(each(0b1010).collect::<Vec<_>>(), [1, 3]);
    }

    #[test]
    #[should_panic(expected = "oversold")]
    fn an_rbg_is_given_once() {
        let mut grid = ResourceGrid::new(6, RbgLayout::LTE);
        grid.take(1);
        grid.take(1);
    }
}
