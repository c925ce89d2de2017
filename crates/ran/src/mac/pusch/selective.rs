//! Frequency-selective scheduling of a UE that cannot reach full power on a single PRB: it gets the PRBs with the best
//! channel.
//!
//! Such a UE is granted few PRBs of a band. The sounding knows the SINR of each of them, so that the cell can grant those
//! on which the UE is received best. Otherwise a wide carrier would be worse for this UE than a narrow one: the narrow band
//! as a whole fades, which HARQ and the MCS follow, while the mean of a wide band hardly does. A PUSCH is contiguous
//! (uplink resource allocation of type 0 in LTE and type 1 in NR), and PUCCH occupies the edges of the band.

use core::ops::Range;

use airlane_radio::mutual_information;

use super::{Adaptation, PuschBlock, Sounding, effective_sinrs};
use crate::config::{CellConfig, UplinkAccess};

/// The PRBs between those of PUCCH, if the cell schedules selectively: it adapts to the power of its UEs, and no PRBs are
/// reserved for configured grants. `most` are those of the lowest PRBs that the UE may use.
pub(super) fn selectable_prbs(cell: &CellConfig, most: u16) -> Option<Range<u16>> {
    let uplink = &cell.mac.uplink;
    if uplink.headroom.is_none() || matches!(uplink.access, UplinkAccess::ConfiguredGrant { .. }) {
        return None;
    }
    let lowest = uplink.pucch_resource_blocks / 2;
    let end = cell.resource_blocks - (uplink.pucch_resource_blocks - lowest);
    Some(lowest..end.min(lowest.saturating_add(most)))
}

impl Sounding {
    /// The first of `prbs` contiguous PRBs that are free and have the highest sum of SINR.
    fn best_start(&mut self, prbs: u16, is_free: impl Fn(&Range<u16>) -> bool) -> Option<u16> {
        if self.sums.is_empty() {
            self.sums.push(0.0);
            self.sums.extend(self.sinr.iter().scan(0.0, |sum, sinr| {
                *sum += sinr;
                Some(*sum)
            }));
        }
        let mut best = None;
        for first in self.selectable.start..(self.selectable.end + 1).saturating_sub(prbs) {
            let range = first..first + prbs;
            let sum = self.sums[usize::from(range.end)] - self.sums[usize::from(first)];
            if best.is_none_or(|(_, most)| sum > most) && is_free(&range) {
                best = Some((first, sum));
            }
        }
        best.map(|(first, _)| first)
    }
}

impl Adaptation<'_> {
    /// Whether the cell selects the PRBs of the UE: it has less than full power on one PRB.
    fn is_selective(&self) -> bool {
        !self.ue.sounding.selectable.is_empty() && self.is_limited(1)
    }

    /// The first of the best PRBs, if the cell selects them.
    pub(super) fn start_of(&mut self, prbs: u16) -> Option<u16> {
        if !self.is_selective() {
            return None;
        }
        let sounding = &mut self.ue.sounding;
        let known = sounding.starts[usize::from(prbs)];
        if known.is_none() {
            sounding.starts[usize::from(prbs)] = sounding.best_start(prbs, |_| true);
        }
        sounding.starts[usize::from(prbs)]
    }

    /// The effective SINR in each modulation on the PRBs from `start` on; without a start, on as many of the whole band.
    pub(super) fn levels_on(&mut self, prbs: u16, start: Option<u16>) -> [f32; 4] {
        let factor = self.factor(prbs);
        let Some(first) = start else { return self.levels(factor) };
        let (first, prbs) = (usize::from(first), usize::from(prbs));
        let [mean] = mutual_information::means_scaled(&self.ue.sounding.sinr[first..first + prbs], [factor]);
        effective_sinrs(mean)
    }

    /// The block on PRBs that are free: the best of them, if the selected ones are not. `None` if there is no room for
    /// it, or if the lowest MCS does not meet the target there.
    pub(super) fn on_free_prbs(
        &mut self,
        block: PuschBlock,
        is_free: impl Fn(&Range<u16>) -> bool,
    ) -> Option<PuschBlock> {
        if block.selected_prbs().is_none_or(|prbs| is_free(&prbs)) {
            return Some(block);
        }
        let start = Some(self.ue.sounding.best_start(block.prbs, is_free)?);
        if block.is_beyond_reach {
            return Some(PuschBlock { start, ..block });
        }
        let levels = self.levels_on(block.prbs, start);
        let index = self.blocks.uplink_index(block.layers, block.prbs, &levels);
        let mcs = self.corrected(index, block.mcs)?;
        Some(PuschBlock { mcs, start, size: self.blocks.uplink(block.layers, mcs, block.prbs), ..block })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_contiguous_prbs_that_are_free() {
        // The edges belong to PUCCH.
        let of = |sinr: Vec<f32>| Sounding { sinr, selectable: 1..7, ..Sounding::default() };
        let mut sounding = of(vec![9.0, 1.0, 5.0, 2.0, 4.0, 4.0, 1.0, 9.0]);
        let mut best = |prbs: u16| sounding.best_start(prbs, |_| true);
        // Sums of pairs: 6, 7, 6, 8, 5.
        assert_eq!([1, 2, 6, 7].map(&mut best), [Some(2), Some(4), Some(1), None]);
        let mut beside = |prbs: u16, taken: Range<u16>| {
            sounding.best_start(prbs, |range| range.end <= taken.start || taken.end <= range.start)
        };
        assert_eq!(beside(2, 5..6), Some(2));
        assert_eq!(beside(2, 2..5), Some(5));
        assert_eq!(beside(3, 3..4), Some(4));
        assert_eq!(beside(4, 3..4), None);
        // Of equal ones the lowest.
        assert_eq!(of(vec![2.0; 8]).best_start(3, |_| true), Some(1));
    }
}
