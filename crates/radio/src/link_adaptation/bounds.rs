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
    /// A sum above this certainly passes.
    sure: [i16; 7],
    /// A sum up to this certainly fails.
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

/// A number per group.
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

    /// Whether the bounds were made for groups of this size.
    pub(super) fn fit(&self, sinr: &[f32], points: usize) -> bool {
        points == self.points && points <= MOST && sinr.len() > points && sinr.len() <= GROUPS * points
    }

    /// The CQI of each sub-band, the last of which may have fewer points.
    pub(super) fn cqi(&self, ladders: &Ladders, sinr: &[f32], points: usize, out: &mut [Cqi]) {
        let (least, most) = self.levels(sinr, points);
        for (cqi, &level) in out.iter_mut().zip(&least) {
            *cqi = Cqi::new(level as u8 & 15);
        }
        let full = sinr.len() / points;
        let differing = least.iter().zip(&most).take(full).enumerate();
        let open = differing.filter(|(_, (least, most))| least != most).map(|(place, _)| place);
        for place in open.chain(full..out.len()) {
            let group = &sinr[place * points..sinr.len().min((place + 1) * points)];
            out[place] = ladders.cqi(mutual_information::mean(group));
        }
    }

    /// The number of sub-bands that the bounds do not decide.
    #[cfg(test)]
    pub(super) fn undecided(&self, sinr: &[f32], points: usize) -> usize {
        let (least, most) = self.levels(sinr, points);
        (0..sinr.len() / points).filter(|&g| least[g] != most[g]).count()
    }

    /// The lowest and the highest possible CQI of each group.
    fn levels(&self, sinr: &[f32], points: usize) -> (Lanes, Lanes) {
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
                *level &= -i16::from(units > last);
            }
            for &threshold in &thresholds[..steps.raising] {
                for (level, &units) in level.iter_mut().zip(units) {
                    *level += i16::from(units > threshold);
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
    type Output = (Lanes, Lanes);

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> (Lanes, Lanes) {
        let units = coarse::sums(self.sinr, self.points);
        let least = self.bounds.level(&units, |steps| &steps.sure);
        (least, self.bounds.level(&units, |steps| &steps.possible))
    }
}

impl Steps {
    fn new(ladder: &Ladder, points: i16, slack: i16) -> Self {
        let mut this =
            Self { sure: [i16::MAX; 7], possible: [i16::MAX; 7], steps: ladder.steps, raising: ladder.steps };
        for (step, &need) in ladder.needs[..ladder.steps].iter().enumerate() {
            // One more unit on either side is much larger than the rounding error of `f32` sums.
            let units = need * UNITS * f32::from(points);
            this.sure[step] = units as i16 + 1;
            this.possible[step] = units as i16 - 2 - points * slack;
        }
        if ladder.steps > 0 && ladder.reached[ladder.steps] == ladder.reached[ladder.steps - 1] {
            this.raising -= 1;
        }
        this
    }
}
