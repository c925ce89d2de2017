//! Noise and interference by resource block group, and their effect on the SINR of a band.

use pulp::{Simd, WithSimd};

use crate::mac::grid::{RbgSet, each};
use crate::mac::scheduler::MAX_RBGS;

/// Noise and interference on each resource block group, relative to the noise.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Noise {
    pub(super) rbgs: [f32; PLACES],
    rbg_size: usize,
    /// Number of RBGs of the band.
    count: usize,
    /// Number of vectors for them.
    vectors: usize,
}

/// Linear SINR of each PRB without interference: `by_prb` times `scale`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScaledSinr<'a> {
    pub(crate) by_prb: &'a [f32],
    pub(crate) scale: f32,
}

impl Noise {
    /// Noise without interference.
    pub(super) fn alone(rbgs: usize, rbg_size: usize) -> Self {
        Self { rbgs: [1.0; PLACES], rbg_size, count: rbgs, vectors: rbgs.div_ceil(LANES) }
    }

    /// Mean over the band.
    pub(crate) fn mean(&self) -> f32 {
        self.rbgs[..self.count].iter().sum::<f32>() / self.count as f32
    }

    /// Mean over some RBGs.
    pub(crate) fn mean_on(&self, rbgs: RbgSet) -> f32 {
        let sum: f32 = each(rbgs).map(|rbg| self.rbgs[usize::from(rbg)]).sum();
        sum / rbgs.count_ones().max(1) as f32
    }

    /// Writes the interference-free SINR of some RBGs divided by the noise, one PRB after another without gaps. Returns
    /// the number of PRBs, and the least SINR.
    pub(crate) fn gather(&self, rbgs: RbgSet, sinr: ScaledSinr<'_>, to: &mut [f32]) -> (usize, f32) {
        match self.rbg_size {
            1 => self.gather_groups::<1>(rbgs, sinr, to),
            2 => self.gather_groups::<2>(rbgs, sinr, to),
            3 => self.gather_groups::<3>(rbgs, sinr, to),
            4 => self.gather_groups::<4>(rbgs, sinr, to),
            8 => self.gather_groups::<8>(rbgs, sinr, to),
            16 => self.gather_groups::<16>(rbgs, sinr, to),
            size => unreachable!("RBGs of {size} PRBs"),
        }
    }

    #[inline(always)]
    fn gather_groups<const SIZE: usize>(
        &self,
        rbgs: RbgSet,
        sinr: ScaledSinr<'_>,
        to: &mut [f32],
    ) -> (usize, f32) {
        let ScaledSinr { by_prb, scale } = sinr;
        let (groups, last) = by_prb.as_chunks::<SIZE>();
        let (mut count, mut least) = (0, [f32::INFINITY; SIZE]);
        for rbg in each(rbgs).map(usize::from) {
            let share = 1.0 / self.rbgs[rbg];
            match (groups.get(rbg), to[count..].first_chunk_mut::<SIZE>()) {
                (Some(group), Some(to)) => {
                    for prb in 0..SIZE {
                        to[prb] = group[prb] * scale * share;
                        least[prb] = lower(least[prb], to[prb]);
                    }
                    count += SIZE;
                }
                // The last RBG of the band may be smaller.
                _ => {
                    for (to, sinr) in to[count..].iter_mut().zip(last) {
                        *to = sinr * scale * share;
                        least[0] = lower(least[0], *to);
                    }
                    count += last.len();
                }
            }
        }
        (count, least.into_iter().fold(f32::INFINITY, lower))
    }

    /// Divides the interference-free SINR of the band.
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
            8 => scale::<8>(sinr, &shares),
            16 => scale::<16>(sinr, &shares),
            size => unreachable!("RBGs of {size} PRBs"),
        }
    }
}

fn lower(a: f32, b: f32) -> f32 {
    if b < a { b } else { a }
}

/// Places for RBGs, in whole vectors; those beyond the band are undefined.
pub(crate) const PLACES: usize = MAX_RBGS.next_multiple_of(LANES);

/// RBGs, or cells, per vector of the widest kind.
pub(super) const LANES: usize = 8;

/// The power of each cell in reach at a receiver: mean power, and its RBGs. The loops over cells and RBGs use explicit
/// vectors, since the compiler vectorizes too few of them.
#[derive(Debug)]
pub(super) struct Heard {
    pub(super) levels: Vec<f32>,
    rbgs: Vec<RbgSet>,
    /// The levels of those with the same power on all wanted RBGs.
    flat: Vec<f32>,
    /// The other cells that are received, ascending.
    pub(super) uneven: Vec<Uneven>,
    /// The power of the cells out of reach, on all RBGs.
    pub(super) far: f32,
}

/// A cell whose power differs between the wanted RBGs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Uneven {
    pub(super) cell: u16,
    rbgs: RbgSet,
    pub(super) level: f32,
}

impl Heard {
    /// For this many places, which fill whole vectors.
    pub(super) fn new(places: usize) -> Self {
        Self {
            levels: vec![0.0; places],
            rbgs: vec![0; places],
            flat: vec![0.0; places],
            uneven: Vec::with_capacity(places),
            far: 0.0,
        }
    }

    /// Distinguishes the cells with the same power on all wanted RBGs, and less than `counts`, from the others.
    #[inline(always)]
    fn separate<S: Simd>(&mut self, simd: S, wanted: RbgSet, counts: f32) {
        let Self { levels, rbgs, flat, uneven, .. } = self;
        let (all, silence, fading) = (simd.splat_u32s(wanted), simd.splat_f32s(0.0), simd.splat_f32s(counts));
        let places = S::as_simd_f32s(&PLACE_BITS).0[0];
        let cells = S::as_simd_u32s(rbgs).0.iter().zip(S::as_simd_f32s(levels).0);
        uneven.clear();
        for (vector, (flat, (&sent, &level))) in S::as_mut_simd_f32s(flat).0.iter_mut().zip(cells).enumerate()
        {
            let alike = simd.select_f32s(simd.equal_u32s(sent, all), level, silence);
            *flat = simd.select_f32s(simd.greater_than_or_equal_f32s(level, fading), silence, alike);
            let differing = simd.select_f32s(simd.equal_f32s(level, *flat), silence, places);
            // The sum of different powers of two is exact in any order; added to 2^23, it is in the last bits.
            let mut differing = (simd.reduce_sum_f32s(differing) + 8_388_608.0).to_bits() & 0xff;
            while differing != 0 {
                let cell = vector * S::F32_LANES + differing.trailing_zeros() as usize;
                uneven.push(Uneven { cell: cell as u16, rbgs: rbgs[cell], level: levels[cell] });
                differing &= differing - 1;
            }
        }
    }
}

/// The bit of each place of a vector.
const PLACE_BITS: [f32; LANES] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];

/// Finds the cells that are received on wanted RBGs. Returns the sum of noise and these cells.
pub(super) struct Listen<'a> {
    pub(super) heard: &'a mut Heard,
    /// By cell.
    pub(super) levels: &'a [f32],
    /// The RBGs of each cell, and all RBGs for the cells that are relevant.
    pub(super) sent: &'a [RbgSet],
    pub(super) rivals: &'a [RbgSet],
    pub(super) wanted: RbgSet,
    /// The share of the sum from which an interferer may fade.
    pub(super) share: f32,
}

impl WithSimd for Listen<'_> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        let Self { heard, levels, sent, rivals, wanted, share } = self;
        let (nothing, silence, all) = (simd.splat_u32s(0), simd.splat_f32s(0.0), simd.splat_u32s(wanted));
        let cells =
            S::as_simd_u32s(sent).0.iter().zip(S::as_simd_u32s(rivals).0).zip(S::as_simd_f32s(levels).0);
        let places = S::as_mut_simd_u32s(&mut heard.rbgs).0.iter_mut();
        for ((rbgs, level), ((&sent, &rivals), &mean)) in
            places.zip(S::as_mut_simd_f32s(&mut heard.levels).0).zip(cells)
        {
            *rbgs = simd.and_u32s(simd.and_u32s(sent, rivals), all);
            *level = simd.select_f32s(simd.equal_u32s(*rbgs, nothing), silence, mean);
        }
        let total = heard.levels.iter().fold(1.0 + heard.far, |total, level| total + level);
        heard.separate(simd, wanted, share * total);
        total
    }
}

/// Adds the power of other cells, in their order.
pub(super) struct AddUp<'a, F> {
    pub(super) noise: &'a mut Noise,
    pub(super) heard: &'a mut Heard,
    /// A level that is the same on all of these is added to all RBGs; the other RBGs are undefined.
    pub(super) wanted: RbgSet,
    /// The gain of each RBG of an uneven cell with this level, if it fades.
    pub(super) fades: F,
}

impl<'g, F: Fn(usize, f32) -> Option<&'g [f32; PLACES]>> WithSimd for AddUp<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { noise, heard, wanted, fades } = self;
        let Heard { flat, uneven, far, .. } = heard;
        let silence = simd.splat_f32s(0.0);
        let (vectors, sums) = (noise.vectors * LANES, S::as_mut_simd_f32s(&mut noise.rbgs).0);
        let (vectors, bits) = (vectors / S::F32_LANES, S::as_simd_u32s(&BITS).0);
        for &Uneven { cell, rbgs, level } in uneven.iter() {
            let gains = fades(usize::from(cell), level);
            if gains.is_none() && rbgs == wanted {
                flat[usize::from(cell)] = level;
                continue;
            }
            // The other RBGs get zero, which is cheaper than skipping them.
            let (rbgs, level) = (simd.splat_u32s(rbgs), simd.splat_f32s(level));
            let gains = gains.map(|gains| S::as_simd_f32s(gains).0);
            for vector in 0..vectors {
                let power = gains.map_or(level, |gains| simd.mul_f32s(level, gains[vector]));
                let is_in = simd.equal_u32s(simd.and_u32s(rbgs, bits[vector]), bits[vector]);
                let power = simd.select_f32s(is_in, power, silence);
                sums[vector] = simd.add_f32s(sums[vector], power);
            }
        }
        let flat = simd.splat_f32s(flat.iter().fold(*far, |sum, level| sum + level));
        for sum in &mut sums[..vectors] {
            *sum = simd.add_f32s(*sum, flat);
        }
    }
}

/// Adds interferers that are received on the whole band: those that fade, in their order, and then the
/// others.
pub(super) struct AddAll<'a, F> {
    pub(super) noise: &'a mut Noise,
    /// The gains of each fading one, and its level.
    pub(super) fading: F,
    pub(super) flat: f32,
}

impl<'g, F: Iterator<Item = (&'g [f32; PLACES], f32)>> WithSimd for AddAll<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { noise, fading, flat } = self;
        let vectors = noise.vectors * LANES / S::F32_LANES;
        let sums = &mut S::as_mut_simd_f32s(&mut noise.rbgs).0[..vectors];
        for (gains, level) in fading {
            let level = simd.splat_f32s(level);
            for (sum, gains) in sums.iter_mut().zip(S::as_simd_f32s(gains).0) {
                *sum = simd.add_f32s(*sum, simd.mul_f32s(level, *gains));
            }
        }
        let flat = simd.splat_f32s(flat);
        for sum in sums {
            *sum = simd.add_f32s(*sum, flat);
        }
    }
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

/// Multiplies each group by its factor; the last may be smaller.
fn scale<const SIZE: usize>(sinr: &mut [f32], shares: &[f32; PLACES]) {
    let (groups, rest) = sinr.as_chunks_mut::<SIZE>();
    let full = groups.len();
    for (group, share) in groups.iter_mut().zip(shares) {
        group.iter_mut().for_each(|sinr| *sinr *= share);
    }
    rest.iter_mut().for_each(|sinr| *sinr *= shares[full]);
}
