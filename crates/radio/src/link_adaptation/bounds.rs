//! The CQI of many sub-bands at once, where it is determined without interpolation.
//!
//! [`coarse`] gives a lower and an upper bound of the information of a sub-band. A step of a
//! [`Ladder`] is certainly passed if the lower bound reaches it, and certainly not passed if the
//! upper bound does not. The CQI increases with each step, so if both bounds give the same CQI,
//! this is the CQI. Otherwise, for about one sub-band in twenty, the ladder itself decides. The
//! results are the same.

use pulp::{Arch, Simd, WithSimd};

use super::{Ladder, Ladders};
use crate::mutual_information::{
    self,
    coarse::{self, GROUPS, MOST, SLACK, UNITS},
};
use crate::tables::Cqi;

/// The steps of one modulation, in units of the information of a whole group.
#[derive(Clone, Copy, Debug)]
struct Steps {
    /// A sum of at least this certainly passes.
    sure: [i16; 7],
    /// A sum below this certainly fails.
    possible: [i16; 7],
    steps: usize,
    /// Steps that increase the CQI: all, or all but the last.
    raising: usize,
}

/// The ladders of full groups of this many points.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    points: usize,
    modulations: [Steps; 3],
    /// The widest vectors of this machine; results do not depend on it.
    arch: Arch,
}

/// One number per group.
type Lanes = [i16; GROUPS];

impl Bounds {
    /// For groups of `points`; if these are more than [`MOST`], it fits no groups.
    pub(super) fn new(ladders: &Ladders, points: usize) -> Self {
        let mut slack = SLACK.iter();
        let modulations = ladders.0.map(|ladder| {
            let slack = *slack.next().expect("a slack for each modulation");
            Steps::new(&ladder, points.min(MOST) as i16, slack)
        });
        Self { points, modulations, arch: Arch::new() }
    }

    /// Whether it was made for groups of this size.
    pub(super) fn fit(&self, sinr: &[f32], points: usize) -> bool {
        points == self.points && points <= MOST && sinr.len() > points && sinr.len() <= GROUPS * points
    }

    /// The CQI of each sub-band, the last of which may have fewer points.
    pub(super) fn cqi(&self, ladders: &Ladders, sinr: &[f32], points: usize, out: &mut [Cqi]) {
        let (least, mut open) = self.levels(sinr, points);
        for (cqi, &level) in out.iter_mut().zip(&least) {
            *cqi = Cqi::new(level as u8 & 15);
        }
        let full = sinr.len() / points;
        open &= (1 << full) - 1;
        if full < out.len() {
            open |= 1 << full;
        }
        while open != 0 {
            let g = open.trailing_zeros() as usize;
            let group = &sinr[g * points..sinr.len().min((g + 1) * points)];
            out[g] = ladders.cqi(mutual_information::mean(group));
            open &= open - 1;
        }
    }

    /// The number of sub-bands that the bounds do not decide.
    #[cfg(test)]
    pub(super) fn undecided(&self, sinr: &[f32], points: usize) -> usize {
        let (_, open) = self.levels(sinr, points);
        (0..sinr.len() / points).filter(|&g| open >> g & 1 == 1).count()
    }

    /// The lowest possible CQI of each group, and one bit for each group whose CQI may be higher.
    fn levels(&self, sinr: &[f32], points: usize) -> (Lanes, u64) {
        self.arch.dispatch(Levels { bounds: self, sinr, points })
    }

    /// The CQI of each group according to these thresholds.
    #[inline(always)]
    fn level(&self, units: &coarse::Units, of: impl Fn(&Steps) -> &[i16; 7]) -> Lanes {
        // A denser modulation counts only if all steps of the sparser one are passed.
        let mut level = [0; GROUPS];
        for (steps, units) in self.modulations.iter().zip(units).rev() {
            let thresholds = &of(steps)[..steps.steps];
            let Some(&last) = thresholds.last() else { continue };
            for (level, &units) in level.iter_mut().zip(units) {
                *level &= -i16::from(units >= last);
            }
            for &threshold in &thresholds[..steps.raising] {
                for (level, &units) in level.iter_mut().zip(units) {
                    *level += i16::from(units >= threshold);
                }
            }
        }
        level
    }
}

/// [`Bounds::levels`] in a form that the compiler must compile for the selected vector instructions.
struct Levels<'a> {
    bounds: &'a Bounds,
    sinr: &'a [f32],
    points: usize,
}

impl WithSimd for Levels<'_> {
    type Output = (Lanes, u64);

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> (Lanes, u64) {
        let units = coarse::sums(self.sinr, self.points);
        let least = self.bounds.level(&units, |steps| &steps.sure);
        let most = self.bounds.level(&units, |steps| &steps.possible);
        let mut differs = [0; GROUPS];
        for (differs, (least, most)) in differs.iter_mut().zip(least.iter().zip(&most)) {
            *differs = u8::from(least != most);
        }
        (least, bits_of(&differs))
    }
}

/// A bit for each byte of zero or one.
#[inline(always)]
fn bits_of(bytes: &[u8; GROUPS]) -> u64 {
    let mut bits = 0;
    for (place, eight) in bytes.as_chunks().0.iter().enumerate() {
        // The factor moves bit 8 i to bit 56 + i; no two of its products are at the same place.
        let moved = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080);
        bits |= (moved >> 56) << (8 * place);
    }
    bits
}

impl Steps {
    fn new(ladder: &Ladder, points: i16, slack: i16) -> Self {
        let mut this =
            Self { sure: [i16::MAX; 7], possible: [i16::MAX; 7], steps: ladder.steps, raising: ladder.steps };
        for (step, &need) in ladder.needs[..ladder.steps].iter().enumerate() {
            // One more unit on either side is much larger than the rounding error of `f32` sums.
            let units = need * UNITS * f32::from(points);
            this.sure[step] = units as i16 + 2;
            this.possible[step] = (units as i16 - 1 - points * slack).max(0);
        }
        if ladder.steps > 0 && ladder.reached[ladder.steps] == ladder.reached[ladder.steps - 1] {
            this.raising -= 1;
        }
        this
    }
}
