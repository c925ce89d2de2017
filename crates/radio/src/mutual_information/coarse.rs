//! Bounds of the information for many PRBs at once.
//!
//! A CQI only depends on which side of a threshold the information of a sub-band is, and for most
//! sub-bands this does not need an interpolated value. Here a PRB counts with the lower edge of its
//! bin of 1/64 octave (0.07 dB), in whole units of 1/1365 bit, with the three modulations of LTE packed
//! in one word: a load and an addition per PRB. The sum is never above the interpolated one, and at
//! most [`SLACK`] per PRB below it. Groups of many PRBs are counted in units of 1/255 bit, in all four
//! modulations. [`super::sum`] is more precise.

use super::table::TABLE;
use super::{HIGHEST, INDEX_BITS, LOWEST, LOWEST_OCTAVE, OCTAVES};

/// Units per bit of information: four PRBs of 6 bits fit into an `i16`.
pub(crate) const UNITS: f32 = 1365.0;

/// Maximum number of PRBs in one sum.
pub(crate) const MOST: usize = 4;

/// Units per bit of information for groups of many PRBs: 16 PRBs of 8 bits fit into an `i16`.
pub(crate) const UNITS_OF_MANY: f32 = 255.0;

/// Maximum number of PRBs in a group of many.
pub(crate) const MANY: usize = 16;

/// Number of mantissa bits in the index: 64 bins per octave.
const BIN_BITS: u32 = 6;
const SHIFT: u32 = 23 - BIN_BITS;
const BINS: usize = OCTAVES << BIN_BITS;
const FIRST_BIN: u32 = ((LOWEST_OCTAVE + 127) as u32) << BIN_BITS;
/// A power of two, so that a mask replaces the bounds check.
const PLACES: usize = BINS.next_power_of_two();

/// The units of each modulation, in 16 bits each, by bin.
static FLOOR: [u64; PLACES] = floors(3, UNITS);

/// `FLOOR` for groups of many PRBs, in all modulations.
static FLOOR_OF_MANY: [u64; PLACES] = floors(4, UNITS_OF_MANY);

/// The maximum deficit of the sum in units per PRB, by modulation.
pub(crate) static SLACK: [i16; 4] = slack(3, UNITS);

/// `SLACK` for groups of many PRBs.
pub(crate) static SLACK_OF_MANY: [i16; 4] = slack(4, UNITS_OF_MANY);

/// The interpolated information at the lower edge of a bin.
const fn at_edge(bin: usize, modulation: usize) -> f32 {
    let within = BIN_BITS - INDEX_BITS;
    let left = bin >> within;
    let low = TABLE.0[left][modulation];
    let part = bin & ((1 << within) - 1);
    if part == 0 {
        return low;
    }
    low + part as f32 / (1 << within) as f32 * (TABLE.0[left + 1][modulation] - low)
}

const fn floors(modulations: usize, units: f32) -> [u64; PLACES] {
    let mut floors = [0; PLACES];
    let mut bin = 0;
    while bin < BINS {
        let mut modulation = 0;
        while modulation < modulations {
            floors[bin] |= ((at_edge(bin, modulation) * units) as u64) << (16 * modulation);
            modulation += 1;
        }
        bin += 1;
    }
    floors
}

const fn slack(modulations: usize, units: f32) -> [i16; 4] {
    let mut slack = [0; 4];
    let mut modulation = 0;
    while modulation < modulations {
        let mut bin = 0;
        while bin < BINS {
            let floor = (at_edge(bin, modulation) * units) as i16;
            let short = (at_edge(bin + 1, modulation) * units) as i16 + 1 - floor;
            if short > slack[modulation] {
                slack[modulation] = short;
            }
            bin += 1;
        }
        modulation += 1;
    }
    slack
}

/// Groups that are summed together.
pub(crate) const GROUPS: usize = 32;

/// Units of each group, for each modulation.
pub(crate) type Units = [[i16; GROUPS]; 3];

/// Sums groups of `points` linear SINRs, at most [`GROUPS`] of at most [`MOST`].
#[inline(always)]
pub(crate) fn sums(sinr: &[f32], points: usize) -> Units {
    // A separate pass over a plain slice, which the compiler vectorizes to four lanes.
    let mut bins = [0_u32; GROUPS * MOST];
    put_bins(sinr, &mut bins);
    let bins = &bins[..sinr.len()];
    match points {
        2 => sums_of::<2>(bins),
        3 => sums_of::<3>(bins),
        4 => sums_of::<4>(bins),
        _ => sums_of::<1>(bins),
    }
}

/// Sums groups of `POINTS` bins.
#[inline(always)]
fn sums_of<const POINTS: usize>(bins: &[u32]) -> Units {
    let mut units = [[0; GROUPS]; 3];
    let [qpsk, qam16, qam64] = &mut units;
    let places = qpsk.iter_mut().zip(qam16).zip(qam64);
    for (((a, b), c), group) in places.zip(bins.as_chunks::<POINTS>().0) {
        let sum: u64 = group.iter().map(|&bin| FLOOR[bin as usize & (PLACES - 1)]).sum();
        (*a, *b, *c) = (sum as i16, (sum >> 16) as i16, (sum >> 32) as i16);
    }
    units
}

/// Writes the bin of each linear SINR.
#[inline(always)]
fn put_bins(sinr: &[f32], bins: &mut [u32]) {
    for (bin, &x) in bins.iter_mut().zip(sinr) {
        // NaN would count as the lowest value, as in `position`.
        let above = if x > LOWEST { x } else { LOWEST };
        *bin = ((if above < HIGHEST { above } else { HIGHEST }).to_bits() >> SHIFT) - FIRST_BIN;
    }
}

/// The units of at most [`MANY`] linear SINRs, of each modulation in 16 bits.
#[inline(always)]
fn sum_of_many(sinr: &[f32]) -> u64 {
    let mut bins = [0; MANY];
    put_bins(sinr, &mut bins);
    bins[..sinr.len().min(MANY)].iter().map(|&bin| FLOOR_OF_MANY[bin as usize & (PLACES - 1)]).sum()
}

/// Units of each group of many PRBs, for each modulation.
pub(crate) type UnitsOfMany = [[i16; GROUPS]; 4];

/// Sums groups of `points` linear SINRs, at most [`GROUPS`] of at most [`MANY`]; without a last group of fewer.
#[inline(always)]
pub(crate) fn sums_of_many(sinr: &[f32], points: usize) -> UnitsOfMany {
    let mut units = [[0; GROUPS]; 4];
    for (place, group) in sinr.chunks_exact(points).enumerate().take(GROUPS) {
        // A constant length, so that the compiler unrolls the loops.
        let sum = match group.first_chunk::<MANY>().filter(|_| points == MANY) {
            Some(group) => sum_of_many(group),
            None => sum_of_many(group),
        };
        for (modulation, units) in units.iter_mut().enumerate() {
            units[place] = (sum >> (16 * modulation)) as i16;
        }
    }
    units
}

/// Units of any number of linear SINRs, for each modulation.
#[inline(always)]
pub(crate) fn sum_of_all(sinr: &[f32]) -> [u32; 4] {
    let mut units = [0; 4];
    let mut add = |sum: u64| {
        for (modulation, units) in units.iter_mut().enumerate() {
            *units += (sum >> (16 * modulation)) as u32 & 0xffff;
        }
    };
    let (groups, rest) = sinr.as_chunks::<MANY>();
    groups.iter().for_each(|group| add(sum_of_many(group)));
    add(sum_of_many(rest));
    units
}
