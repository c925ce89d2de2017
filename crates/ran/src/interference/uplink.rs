//! Interference in the uplink: what the PUSCH of a UE adds at other sites, and its averages. Types instead of closures,
//! because the compiler need not compile a closure for the selected vector instructions.

use core::ops::Range;

use pulp::{Simd, WithSimd};

use super::{CellChannels, NEGLIGIBLE, RISE_WINDOW, Site};

/// Adds the power of a UE on these PRBs at the sites that receive it.
pub(super) struct Raise<'a> {
    pub(super) sites: &'a mut [Site],
    /// By cell: whether it is another one on the carrier of the UE.
    pub(super) rivals: &'a [bool],
    /// The channels to the other cells in reach, and the power of the UE at each with full power over the band.
    pub(super) channels: &'a [CellChannels],
    pub(super) levels: &'a [f32],
    /// The factor to it.
    pub(super) factor: f32,
    pub(super) prbs: Range<usize>,
}

impl WithSimd for Raise<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { sites, rivals, channels, levels, factor, prbs } = self;
        for (link, level) in channels.iter().zip(levels) {
            let level = factor * level;
            if level >= NEGLIGIBLE && rivals[link.cell.index()] {
                for rise in &mut sites[link.cell.index()].rise[prbs.clone()] {
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
