//! Interference in the uplink: what the PUSCH of a UE adds at other sites, and its averages. Types instead of closures,
//! because the compiler need not compile a closure for the selected vector instructions.

use core::ops::Range;

use pulp::{Simd, WithSimd};

use super::{NEGLIGIBLE, RISE_WINDOW, Site};

/// Adds the power of a UE on these PRBs at the sites that receive it.
pub(super) struct Raise<'a> {
    pub(super) sites: &'a mut [Site],
    /// The cell of the UE, and the other cells on its carrier.
    pub(super) cell: usize,
    pub(super) rivals: &'a [usize],
    /// The power of the UE at each other cell with full power over the band.
    pub(super) levels: &'a [f32],
    /// The factor to it.
    pub(super) factor: f32,
    pub(super) prbs: Range<usize>,
}

impl WithSimd for Raise<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { sites, cell, rivals, levels, factor, prbs } = self;
        for &other in rivals {
            let level = factor * levels[other - usize::from(other > cell)];
            if level >= NEGLIGIBLE {
                for rise in &mut sites[other].rise[prbs.clone()] {
                    *rise += level;
                }
            }
        }
    }
}

/// The latest interference enters the average.
pub(super) struct Average<'a> {
    pub(super) site: &'a mut Site,
    /// The factor of the average, and that of slots in which nothing was sent.
    pub(super) stays: f32,
    pub(super) faded: f32,
}

impl WithSimd for Average<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { site, stays, faded } = self;
        for (mean, rise) in site.mean_rise.iter_mut().zip(&mut site.rise) {
            *mean = (stays * *mean + *rise / RISE_WINDOW) * faded;
            *rise = 0.0;
        }
    }
}
