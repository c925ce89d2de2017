//! Noise and interference by resource block group, and what they make of a band.

use pulp::{Simd, WithSimd};

use crate::mac::grid::RbgSet;
use crate::mac::scheduler::MAX_RBGS;

/// Noise and interference on each resource block group, over the noise alone.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Noise {
    pub(super) rbgs: [f32; PLACES],
    rbg_size: usize,
    /// Vectors that the band fills.
    vectors: usize,
}

impl Noise {
    /// Noise and nothing else.
    pub(super) fn alone(rbgs: usize, rbg_size: usize) -> Self {
        Self { rbgs: [1.0; PLACES], rbg_size, vectors: rbgs.div_ceil(LANES) }
    }

    /// The RBGs of the band, vector by vector.
    #[inline(always)]
    fn vectors_mut(&mut self) -> &mut [[f32; LANES]] {
        &mut self.rbgs.as_chunks_mut().0[..self.vectors]
    }

    /// Divides what the band would have without interference.
    pub(crate) fn weaken(&self, sinr: &mut [f32]) {
        let mut shares = [1.0; PLACES];
        let noise = &self.rbgs.as_chunks::<LANES>().0[..self.vectors];
        for (shares, noise) in shares.as_chunks_mut::<LANES>().0.iter_mut().zip(noise) {
            for lane in 0..LANES {
                shares[lane] = 1.0 / noise[lane];
            }
        }
        match self.rbg_size {
            1 => scale::<1>(sinr, &shares),
            2 => scale::<2>(sinr, &shares),
            3 => scale::<3>(sinr, &shares),
            4 => scale::<4>(sinr, &shares),
            size => unreachable!("RBGs of {size} PRBs"),
        }
    }

    /// The SINR at the middle PRB of each RBG, from what the band would have without interference.
    pub(crate) fn weakened_by_rbg<'a>(&self, sinr: &'a mut [f32]) -> &'a mut [f32] {
        let mut seen = match self.rbg_size {
            1 => middles::<1>(sinr),
            2 => middles::<2>(sinr),
            3 => middles::<3>(sinr),
            4 => middles::<4>(sinr),
            size => unreachable!("RBGs of {size} PRBs"),
        };
        seen.iter_mut().zip(&self.rbgs).for_each(|(seen, noise)| *seen /= noise);
        let rbgs = sinr.len().div_ceil(self.rbg_size);
        sinr[..rbgs].copy_from_slice(&seen[..rbgs]);
        &mut sinr[..rbgs]
    }
}

/// Places for RBGs, in whole vectors; those beyond the band may hold anything.
pub(crate) const PLACES: usize = MAX_RBGS.next_multiple_of(LANES);

/// RBGs side by side in the widest vectors.
const LANES: usize = 8;

/// Adds what is heard of others up, in their order.
pub(super) struct AddUp<'a, F> {
    pub(super) noise: &'a mut Noise,
    /// Link, mean power, and on which RBGs.
    pub(super) heard: &'a [(usize, f32, RbgSet)],
    /// What goes for all of these is added to all there is.
    pub(super) wanted: RbgSet,
    /// The gain of each RBG of a link of such a power, if that counts as fading.
    pub(super) fades: F,
}

impl<'g, F: Fn(usize, f32) -> Option<&'g [f32; PLACES]>> WithSimd for AddUp<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { noise, heard, wanted, fades } = self;
        let (sums, bits) = (noise.vectors_mut(), BITS.as_chunks::<LANES>().0);
        let mut flat = 0.0;
        for &(link, level, rbgs) in heard {
            let rbgs = if rbgs == wanted { RbgSet::MAX } else { rbgs };
            // The others get nothing, which costs less than to leave them out: a mask makes vectors.
            if let Some(gains) = fades(link, level) {
                for ((sums, bits), gains) in sums.iter_mut().zip(bits).zip(gains.as_chunks::<LANES>().0) {
                    for lane in 0..LANES {
                        sums[lane] += if_in(rbgs, bits[lane], level * gains[lane]);
                    }
                }
            } else if rbgs == RbgSet::MAX {
                flat += level;
            } else {
                for (sums, bits) in sums.iter_mut().zip(bits) {
                    for lane in 0..LANES {
                        sums[lane] += if_in(rbgs, bits[lane], level);
                    }
                }
            }
        }
        for sums in sums {
            for sum in sums {
                *sum += flat;
            }
        }
    }
}

/// A power where the bit is in the set, and nothing elsewhere.
#[inline(always)]
fn if_in(rbgs: RbgSet, bit: RbgSet, power: f32) -> f32 {
    f32::from_bits(power.to_bits() & if rbgs & bit == bit { u32::MAX } else { 0 })
}

/// The bit of each RBG in a set.
const BITS: [RbgSet; PLACES] = {
    let (mut bits, mut rbg) = ([0; PLACES], 0);
    while rbg < PLACES {
        bits[rbg] = 1 << rbg;
        rbg += 1;
    }
    bits
};

/// What stands in the middle of each group; of a smaller last one, as if it had all or last.
fn middles<const SIZE: usize>(sinr: &[f32]) -> [f32; MAX_RBGS] {
    let mut middles = [0.0; MAX_RBGS];
    let (groups, rest) = sinr.as_chunks::<SIZE>();
    for (middle, group) in middles.iter_mut().zip(groups) {
        *middle = group[SIZE / 2];
    }
    if let Some(last) = rest.len().checked_sub(1) {
        middles[groups.len()] = rest[last.min(SIZE / 2)];
    }
    middles
}

/// Multiplies each group by its share; the last may be smaller.
fn scale<const SIZE: usize>(sinr: &mut [f32], shares: &[f32; PLACES]) {
    let (groups, rest) = sinr.as_chunks_mut::<SIZE>();
    let full = groups.len();
    for (group, share) in groups.iter_mut().zip(shares) {
        group.iter_mut().for_each(|sinr| *sinr *= share);
    }
    rest.iter_mut().for_each(|sinr| *sinr *= shares[full]);
}
