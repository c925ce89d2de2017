//! The control regions of other cells at a UE, and the SINR that they leave.

use pulp::{Arch, Simd, WithSimd};

use super::noise::{LANES, PLACES};

/// The other cells' control regions that a UE receives at a moment.
pub(crate) struct Control<'n> {
    /// The cells whose links fade, and their mean power; the gains of each RBG by cell.
    pub(super) fading: &'n [(usize, f32)],
    pub(super) gains: &'n [[f32; PLACES]],
    /// The sum of the powers of all other links.
    pub(super) flat: f32,
    /// RBGs of the band, and PRBs of each.
    pub(super) rbgs: usize,
    pub(super) rbg_size: usize,
    pub(super) arch: Arch,
}

impl Control<'_> {
    /// The SINR at the middle PRB of each RBG, for a band with these gains (if there is fading) and this
    /// mean SINR without interference; and the least of them.
    pub(crate) fn sinr_by_rbg<'s>(
        &self,
        gains: Option<&[f32]>,
        mean: f32,
        seen: &'s mut [f32; PLACES],
    ) -> (&'s [f32], f32) {
        // The places beyond the band are not the least.
        *seen = [f32::INFINITY; PLACES];
        match (gains, self.rbg_size) {
            (None, _) => seen[..self.rbgs].fill(1.0),
            (Some(gains), 1) => put_middles::<1>(gains, seen),
            (Some(gains), 2) => put_middles::<2>(gains, seen),
            (Some(gains), 3) => put_middles::<3>(gains, seen),
            (Some(gains), 4) => put_middles::<4>(gains, seen),
            (Some(gains), 8) => put_middles::<8>(gains, seen),
            (Some(gains), 16) => put_middles::<16>(gains, seen),
            (_, size) => unreachable!("RBGs of {size} PRBs"),
        }
        let least = self.arch.dispatch(Weaken { control: self, mean, seen });
        (&seen[..self.rbgs], least)
    }
}

/// Scales gains to this mean, and divides them by noise and interference on the RBGs: those that fade, in their order,
/// and then the others. Returns the least.
struct Weaken<'a, 'n> {
    control: &'a Control<'n>,
    mean: f32,
    seen: &'a mut [f32; PLACES],
}

impl WithSimd for Weaken<'_, '_> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        let Control { fading, gains, flat, rbgs, .. } = *self.control;
        let (mean, flat, alone) = (simd.splat_f32s(self.mean), simd.splat_f32s(flat), simd.splat_f32s(1.0));
        let vectors = rbgs.div_ceil(LANES) * (LANES / S::F32_LANES);
        let mut least = simd.splat_f32s(f32::INFINITY);
        for (vector, seen) in S::as_mut_simd_f32s(self.seen).0.iter_mut().enumerate().take(vectors) {
            let mut noise = alone;
            for &(cell, level) in fading {
                let gains = S::as_simd_f32s(&gains[cell]).0[vector];
                noise = simd.add_f32s(noise, simd.mul_f32s(simd.splat_f32s(level), gains));
            }
            *seen = simd.div_f32s(simd.mul_f32s(*seen, mean), simd.add_f32s(noise, flat));
            least = simd.min_f32s(*seen, least);
        }
        simd.reduce_min_f32s(least)
    }
}

/// The element in the middle of each group; for a smaller last group, at the place of a full
/// group's middle, or the last.
fn put_middles<const SIZE: usize>(sinr: &[f32], middles: &mut [f32; PLACES]) {
    let (groups, rest) = sinr.as_chunks::<SIZE>();
    let (fours, singles) = groups.as_chunks::<4>();
    let places = middles.as_chunks_mut::<4>().0.iter_mut();
    for (middles, groups) in places.zip(fours) {
        *middles = core::array::from_fn(|group| groups[group][SIZE / 2]);
    }
    for (middle, group) in middles.iter_mut().skip(4 * fours.len()).zip(singles) {
        *middle = group[SIZE / 2];
    }
    if let Some(last) = rest.len().checked_sub(1) {
        middles[groups.len()] = rest[last.min(SIZE / 2)];
    }
}
