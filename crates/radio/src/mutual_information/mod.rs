//! The information per symbol as a function of the SINR, and its inverse.
//!
//! The mean (BICM capacity) and variance of the information density of Gray-mapped QPSK, 16QAM, 64QAM
//! and 256QAM in white Gaussian noise. [`exact()`] integrates; `TABLE` has the result at 16 points per
//! octave; a test integrates every entry again.
//!
//! The hot path is [`sum`]: the exponent and the leading mantissa bits of a SINR are the index into
//! the table, the rest of the mantissa interpolates, and all modulations are computed in one
//! pass, without a logarithm or a branch.
//!
//! The effective SINR of several PRBs is defined by the mean mutual information per received bit:
//! K. Sayana, J. Zhuang, K. Stewart, "Link performance abstraction based on mean mutual information
//! per bit (MMIB) of the LLR channel", IEEE C802.16m-07/097, 2007.
//!
//! ```
//! use airlane_radio::{Modulation, mutual_information};
//!
//! let flat = mutual_information::mean(&[100.0; 4])[Modulation::Qam64.index()];
//! let back = mutual_information::sinr_of(Modulation::Qam64, flat);
//! assert!((back - 100.0).abs() < 0.01);
//! ```

pub(crate) mod coarse;
mod exact;
mod table;

use core::hint::black_box;

pub use exact::{SymbolInformation, exact};
use pulp::{Arch, Simd, WithSimd};
use table::{TABLE, VARIANCE};

use crate::tables::Modulation;

/// Exponent of the lowest SINR in the table: 2^-8 (−24.1 dB); lower values count as this one.
const LOWEST_OCTAVE: i32 = -8;
/// Number of octaves in the table: up to 2^12 (36.1 dB), where 256QAM is less than 1e-7 bit
/// below its maximum.
const OCTAVES: usize = 20;
/// Number of mantissa bits in the index: 16 points per octave.
const INDEX_BITS: u32 = 4;
const FRACTION_BITS: u32 = 23 - INDEX_BITS;
const ENTRIES: usize = (OCTAVES << INDEX_BITS) + 1;
/// `f32::to_bits` of the lowest SINR, shifted to table positions.
const FIRST: u32 = ((LOWEST_OCTAVE + 127) as u32) << INDEX_BITS;
const LOWEST: f32 = f32::from_bits(FIRST << FRACTION_BITS);
/// The largest SINR below the last entry, so that `position` always has a right neighbour.
const HIGHEST: f32 = f32::from_bits(((FIRST + ENTRIES as u32 - 1) << FRACTION_BITS) - 1);

/// A value per modulation in the order of [`Modulation::ALL`], in one vector register.
pub type Lanes = [f32; 4];

/// Linear SINR of table entry `i`.
#[must_use]
pub fn entry_sinr(i: usize) -> f32 {
    f32::from_bits((FIRST + i as u32) << FRACTION_BITS)
}

/// Number of table entries.
#[must_use]
pub const fn entries() -> usize {
    ENTRIES
}

/// Table position of a linear SINR: the entry below it, and the fraction of the distance to the next.
#[inline]
fn position(sinr: f32) -> (usize, f32) {
    let (i, fraction) = place(sinr);
    ((i as usize).min(ENTRIES - 2), fraction)
}

/// `position` without the bound on the number of entries for the compiler.
#[inline]
fn place(sinr: f32) -> (u32, f32) {
    // Written so that NaN would count as the lowest value and not as the highest.
    let above = if sinr > LOWEST { sinr } else { LOWEST };
    let bits = if above < HIGHEST { above } else { HIGHEST }.to_bits();
    let fraction =
        (bits & ((1 << FRACTION_BITS) - 1)) as i32 as f32 * (1.0 / (1_u32 << FRACTION_BITS) as f32);
    ((bits >> FRACTION_BITS) - FIRST, fraction)
}

/// Each entry with its distance to the next; the number is a power of two, so that a mask replaces
/// the bounds check.
#[repr(align(64))]
struct Spans([[Lanes; 2]; PLACES]);

const PLACES: usize = ENTRIES.next_power_of_two();

static SPANS: Spans = spans();

const fn spans() -> Spans {
    let mut spans = [[[0.0; 4]; 2]; PLACES];
    let mut i = 0;
    while i < ENTRIES - 1 {
        let mut lane = 0;
        while lane < 4 {
            let left = TABLE.0[i][lane];
            spans[i][0][lane] = left;
            spans[i][1][lane] = TABLE.0[i + 1][lane] - left;
            lane += 1;
        }
        i += 1;
    }
    Spans(spans)
}

/// The entries of one modulation, and their distances to the next.
struct SpansOf {
    left: [f32; PLACES],
    span: [f32; PLACES],
}

static SPANS_OF: [SpansOf; 4] = [spans_of(0), spans_of(1), spans_of(2), spans_of(3)];

const fn spans_of(modulation: usize) -> SpansOf {
    let (all, mut i) = (spans(), 0);
    let mut of = SpansOf { left: [0.0; PLACES], span: [0.0; PLACES] };
    while i < PLACES {
        (of.left[i], of.span[i]) = (all.0[i][0][modulation], all.0[i][1][modulation]);
        i += 1;
    }
    of
}

impl SpansOf {
    #[inline(always)]
    fn at(&self, entry: u32, fraction: f32) -> f32 {
        let entry = entry as usize & (PLACES - 1);
        self.left[entry] + fraction * self.span[entry]
    }
}

/// The summed information of one symbol at each of these linear SINRs, in bits, for every
/// modulation.
#[must_use]
#[inline]
pub fn sum(sinr: &[f32]) -> Lanes {
    let mut total = [0.0; 4];
    if sinr.len() <= FEW {
        for (i, fraction) in sinr.iter().map(|&x| position(x)) {
            add(&mut total, i as u32, fraction);
        }
        return total;
    }
    each_place(sinr, |i, fraction| add(&mut total, i, fraction));
    total
}

/// The position of each of many SINRs. Several positions are computed first, because the compiler
/// vectorizes passes over arrays to four lanes.
#[inline(always)]
fn each_place(sinr: &[f32], mut act: impl FnMut(u32, f32)) {
    let (chunks, rest) = sinr.as_chunks::<SOME>();
    for chunk in chunks {
        let (entries, fractions) = places(chunk);
        for (&i, &fraction) in entries.iter().zip(&fractions) {
            act(i, fraction);
        }
    }
    for &x in rest {
        let (i, fraction) = place(x);
        act(i, fraction);
    }
}

#[inline(always)]
fn places(sinr: &[f32; SOME]) -> ([u32; SOME], [f32; SOME]) {
    let (mut entries, mut fractions) = ([0; SOME], [0.0; SOME]);
    for ((i, fraction), &x) in entries.iter_mut().zip(&mut fractions).zip(sinr) {
        (*i, *fraction) = place(x);
    }
    (entries, fractions)
}

/// Below this number SINRs are summed one by one.
const FEW: usize = 8;
/// Number of SINRs whose positions are computed together.
const SOME: usize = 8;

/// The mean information of one symbol over these linear SINRs, in bits; zero if there are none.
#[must_use]
#[inline]
pub fn mean(sinr: &[f32]) -> Lanes {
    let scale = 1.0 / sinr.len().max(1) as f32;
    sum(sinr).map(|x| x * scale)
}

/// [`mean`] of these SINRs times each of some factors.
#[must_use]
pub fn means_scaled<const N: usize>(sinr: &[f32], factors: [f32; N]) -> [Lanes; N] {
    let scale = 1.0 / sinr.len().max(1) as f32;
    Arch::new().dispatch(ScaledSums { sinr, factors }).map(|total| total.map(|x| x * scale))
}

/// The summed information in every modulation, at each factor: their sums do not wait for each other. A type
/// instead of a closure, as [`SumOf`].
struct ScaledSums<'a, const N: usize> {
    sinr: &'a [f32],
    factors: [f32; N],
}

impl<const N: usize> WithSimd for ScaledSums<'_, N> {
    type Output = [Lanes; N];

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> [Lanes; N] {
        let Self { sinr, factors } = self;
        let (chunks, rest) = sinr.as_chunks::<SOME>();
        let mut totals = [[0.0; 4]; N];
        for chunk in chunks {
            let mut placed = [([0; SOME], [0.0; SOME]); N];
            for (placed, factor) in placed.iter_mut().zip(factors) {
                let mut scaled = *chunk;
                for x in &mut scaled {
                    *x *= factor;
                }
                *placed = places(&scaled);
            }
            let placed = black_box(placed); // as in `SumOf`
            for lane in 0..SOME {
                for (total, (entries, fractions)) in totals.iter_mut().zip(&placed) {
                    add(total, entries[lane], fractions[lane]);
                }
            }
        }
        for &x in rest {
            for (total, factor) in totals.iter_mut().zip(factors) {
                let (entry, fraction) = place(x * factor);
                add(total, entry, fraction);
            }
        }
        totals
    }
}

/// Adds the information at a position, in every modulation.
#[inline(always)]
fn add(total: &mut Lanes, entry: u32, fraction: f32) {
    let [left, span] = &SPANS.0[entry as usize & (PLACES - 1)];
    for lane in 0..4 {
        total[lane] += left[lane] + fraction * span[lane];
    }
}

/// The mean for one modulation only.
#[must_use]
pub fn mean_of(modulation: Modulation, sinr: &[f32]) -> f32 {
    let total = Arch::new().dispatch(SumOf { spans: &SPANS_OF[modulation.index()], sinr });
    total * (1.0 / sinr.len().max(1) as f32)
}

/// The summed information, in one modulation. A type instead of a closure, because the compiler need not
/// compile a closure for the selected vector instructions.
struct SumOf<'a> {
    spans: &'static SpansOf,
    sinr: &'a [f32],
}

impl WithSimd for SumOf<'_> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f32 {
        let (chunks, rest) = self.sinr.as_chunks::<SOME>();
        let mut total = 0.0;
        for chunk in chunks {
            // Through memory: the compiler would take the vectors apart with more instructions.
            let (entries, fractions) = black_box(places(chunk));
            for lane in 0..SOME {
                total += self.spans.at(entries[lane], fractions[lane]);
            }
        }
        for &x in rest {
            let (entry, fraction) = place(x);
            total += self.spans.at(entry, fraction);
        }
        total
    }
}

/// Information of one symbol at a linear SINR, interpolated in the tables.
#[must_use]
#[inline]
pub fn at(modulation: Modulation, sinr: f32) -> SymbolInformation {
    let (i, fraction) = position(sinr);
    let m = modulation.index();
    let between = |left: f32, right: f32| f64::from(left + fraction * (right - left));
    SymbolInformation {
        mean: between(TABLE.0[i][m], TABLE.0[i + 1][m]),
        variance: between(VARIANCE[i][m], VARIANCE[i + 1][m]),
    }
}

/// Number of steps of information by which [`GUIDE`] finds entries.
const STEPS: usize = 128;

/// By modulation, the number of entries in the steps below each step. If an information is in one step
/// and an entry in a lower one, the entry is the smaller of the two.
static GUIDE: [[u16; STEPS + 1]; 4] = guide();

const fn guide() -> [[u16; STEPS + 1]; 4] {
    let mut guide = [[0; STEPS + 1]; 4];
    let mut m = 0;
    while m < 4 {
        let (mut step, mut i) = (0, 0);
        while step <= STEPS {
            while i < ENTRIES && step_of(TABLE.0[i][m], m) < step {
                i += 1;
            }
            guide[m][step] = i as u16;
            step += 1;
        }
        m += 1;
    }
    guide
}

/// The step of an information in a modulation, of 2, 4, 6 or 8 bits a symbol.
const fn step_of(information: f32, modulation: usize) -> usize {
    let step = (information * (STEPS as f32 / (2 * modulation + 2) as f32)) as usize;
    if step < STEPS { step } else { STEPS - 1 }
}

/// The linear SINR at which one symbol carries `information` bits: the inverse of [`at`], within
/// the range of the tables.
#[must_use]
pub fn sinr_of(modulation: Modulation, information: f32) -> f32 {
    let m = modulation.index();
    let step = step_of(information, m);
    let (from, to) = (usize::from(GUIDE[m][step]), usize::from(GUIDE[m][step + 1]));
    let right = from + TABLE.0[from..to].partition_point(|entry| entry[m] < information);
    let right = right.clamp(1, ENTRIES - 1);
    let (low, high) = (TABLE.0[right - 1][m], TABLE.0[right][m]);
    // At saturation, neighbouring entries may be equal in f32.
    let fraction = if high > low { ((information - low) / (high - low)).clamp(0.0, 1.0) } else { 0.0 };
    let base = FIRST as usize + right - 1;
    f32::from_bits(
        ((base as u32) << FRACTION_BITS) + (fraction * ((1_u32 << FRACTION_BITS) - 1) as f32) as u32,
    )
}

#[cfg(test)]
mod tests;
