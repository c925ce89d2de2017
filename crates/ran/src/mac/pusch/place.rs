//! The PRBs of a UE that cannot reach full power on a single PRB: those with the best channel.
//!
//! Such a UE is granted few PRBs of a band. The sounding knows the SINR of each of them, so that the cell can grant those
//! on which the UE is received best. Otherwise a wide carrier would be worse for this UE than a narrow one: the narrow band
//! as a whole fades, which HARQ and the MCS follow, while the mean of a wide band hardly does. A PUSCH is contiguous
//! (uplink resource allocation of type 0 in LTE and type 1 in NR), and PUCCH occupies the edges of the band.

use core::ops::Range;

use airlane_radio::{Modulation, mutual_information};

use super::{Adaptation, PuschBlock};
use crate::config::CellConfig;

/// The PRBs between those of PUCCH.
pub(super) fn pusch_region(cell: &CellConfig) -> Range<u16> {
    let pucch = cell.mac.uplink.pucch_resource_blocks;
    let lowest = pucch / 2;
    lowest..cell.resource_blocks - (pucch - lowest)
}

/// The first of `prbs` contiguous PRBs within `region` that have the highest sum of SINR and include none that is taken.
fn best(sinr: &[f32], region: Range<u16>, prbs: u16, taken: &[Range<u16>]) -> Option<u16> {
    let sum = |first: u16| sinr[usize::from(first)..usize::from(first + prbs)].iter().sum::<f32>();
    let is_free = |first: &u16| taken.iter().all(|taken| taken.end <= *first || first + prbs <= taken.start);
    let firsts = region.start..(region.end + 1).saturating_sub(prbs);
    let mut best = None;
    for first in firsts.filter(is_free) {
        let sum = sum(first);
        if best.is_none_or(|(_, most)| sum > most) {
            best = Some((first, sum));
        }
    }
    best.map(|(first, _)| first)
}

impl Adaptation<'_> {
    /// Whether the PRBs of the UE are chosen by their channel: it has less than full power on one PRB.
    fn is_placed(&self) -> bool {
        !self.ue.sounding.choice.is_empty() && self.is_limited(1)
    }

    /// The first of the best PRBs, if the PRBs of the UE are chosen.
    pub(super) fn place_of(&mut self, prbs: u16) -> Option<u16> {
        if !self.is_placed() {
            return None;
        }
        let sounding = &mut self.ue.sounding;
        let known = &mut sounding.places[usize::from(prbs)];
        if known.is_none() {
            *known = best(&sounding.sinr, sounding.choice.clone(), prbs, &[]);
        }
        *known
    }

    /// The effective SINR in each modulation on these PRBs; if their place is `None`, on as many of the whole band.
    pub(super) fn levels_on(&mut self, prbs: u16, place: Option<u16>) -> [f32; 4] {
        let factor = self.factor(prbs);
        let Some(first) = place else { return self.levels(factor) };
        let (first, prbs) = (usize::from(first), usize::from(prbs));
        let sinr = &mut self.scratch[..prbs];
        sinr.iter_mut().zip(&self.ue.sounding.sinr[first..]).for_each(|(to, from)| *to = from * factor);
        let mean = mutual_information::mean(sinr);
        Modulation::ALL.map(|modulation| mutual_information::sinr_of(modulation, mean[modulation.index()]))
    }

    /// [`super::beside`]
    pub(super) fn beside(&mut self, block: PuschBlock, taken: &[Range<u16>]) -> Option<PuschBlock> {
        let sounding = &self.ue.sounding;
        let place = Some(best(&sounding.sinr, sounding.choice.clone(), block.prbs, taken)?);
        if block.is_beyond_reach {
            return Some(PuschBlock { place, ..block });
        }
        let levels = self.levels_on(block.prbs, place);
        let index = self.blocks.uplink_index(block.layers, block.prbs, &levels);
        let mcs = self.corrected(index, block.mcs)?;
        Some(PuschBlock { mcs, place, size: self.blocks.uplink(block.layers, mcs, block.prbs), ..block })
    }
}

#[cfg(test)]
mod tests {
    use core::ops::Range;

    use super::best;

    #[test]
    fn the_best_contiguous_prbs_that_are_free() {
        let sinr = [9.0, 1.0, 5.0, 2.0, 4.0, 4.0, 1.0, 9.0];
        let beside = |prbs: u16, taken: Range<u16>| best(&sinr, 1..7, prbs, core::slice::from_ref(&taken));
        // The edges belong to PUCCH.
        assert_eq!(best(&sinr, 1..7, 1, &[]), Some(2));
        // Sums of pairs: 6, 7, 6, 8, 5.
        assert_eq!(best(&sinr, 1..7, 2, &[]), Some(4));
        assert_eq!(beside(2, 5..6), Some(2));
        assert_eq!(beside(2, 2..5), Some(5));
        assert_eq!(best(&sinr, 1..7, 6, &[]), Some(1));
        assert_eq!(best(&sinr, 1..7, 7, &[]), None);
        assert_eq!(beside(3, 3..4), Some(4));
        assert_eq!(beside(4, 3..4), None);
        // Of equal ones the lowest.
        assert_eq!(best(&[2.0; 8], 1..7, 3, &[]), Some(1));
    }
}
