//! CQIs that have schemes of their own, where they are determined without interpolation.
//!
//! As in [`super::bounds`], [`coarse`] gives a lower and an upper bound of the information. A CQI whose need the
//! lower bound reaches is certainly possible, and one whose need the upper bound does not reach certainly is not. If
//! the highest CQIs by both bounds are equal, this is the CQI. Otherwise the information is interpolated.

use pulp::{Arch, Simd, WithSimd};

use super::steps::Steps;
use crate::mutual_information::{
    self,
    coarse::{self, GROUPS, MANY, SLACK_OF_MANY, UNITS_OF_MANY},
};
use crate::tables::Cqi;

/// The needs of the CQIs for groups of this many points, in units of the information of a whole group.
#[derive(Clone, Debug)]
pub(super) struct StepBounds {
    /// The steps, which decide where the bounds do not.
    pub(super) steps: Steps,
    points: usize,
    /// By CQI from 1 on: the modulation in which it is counted, the sum that is certainly enough, and the least that
    /// may be enough.
    needs: [(usize, u32, u32); 15],
    /// The widest vectors of this machine; results do not depend on it.
    arch: Arch,
}

impl StepBounds {
    pub(super) fn new(steps: Steps, points: usize) -> Self {
        let size = points as f64;
        // The bound of the rounding error of a sum of `f32`, each at most 8 bits, in units; and whole units.
        let rounding = size * size * 8.0 * f64::from(UNITS_OF_MANY) * f64::from(f32::EPSILON) + 2.0;
        let needs = steps.needs().map(|(need, modulation)| {
            let units = f64::from(need) * f64::from(UNITS_OF_MANY) * size;
            let slack = f64::from(SLACK_OF_MANY[modulation]) * size;
            (modulation, (units + rounding) as u32 + 1, (units - slack - rounding).max(0.0) as u32)
        });
        Self { steps, points, needs, arch: Arch::new() }
    }

    /// Whether sub-bands of this size can be bounded.
    pub(super) fn fit(&self, sinr: &[f32], points: usize) -> bool {
        points == self.points && points <= MANY && sinr.len() >= points && sinr.len() <= GROUPS * points
    }

    /// The CQI of each sub-band of `points`, the last of which may have fewer.
    pub(super) fn subbands(&self, sinr: &[f32], points: usize, out: &mut [Cqi]) {
        let (least, most, full) = if self.fit(sinr, points) {
            let (least, most) = self.arch.dispatch(Levels { bounds: self, sinr });
            (least, most, sinr.len() / points)
        } else {
            ([0; GROUPS], [0; GROUPS], 0)
        };
        for (place, (cqi, group)) in out.iter_mut().zip(sinr.chunks(points)).enumerate() {
            *cqi = if place < full && least[place] == most[place] {
                Cqi::new(least[place] as u8 & 15)
            } else {
                self.steps.cqi(mutual_information::mean(group))
            };
        }
    }

    /// The CQI of all points together.
    pub(super) fn wideband(&self, sinr: &[f32]) -> Cqi {
        if sinr.len() == self.points {
            let units = self.arch.dispatch(Sum(sinr));
            let highest = |needs: [(usize, u32); 15]| {
                needs
                    .iter()
                    .rposition(|&(modulation, need)| units[modulation & 3] >= need)
                    .map_or(0, |i| i + 1)
            };
            let least = highest(self.needs.map(|(modulation, sure, _)| (modulation, sure)));
            if least == highest(self.needs.map(|(modulation, _, possible)| (modulation, possible))) {
                return Cqi::new(least as u8 & 15);
            }
        }
        self.steps.cqi(mutual_information::mean(sinr))
    }

    /// The number of sub-bands that the bounds do not decide.
    #[cfg(test)]
    pub(super) fn undecided(&self, sinr: &[f32]) -> usize {
        let (least, most) = self.arch.dispatch(Levels { bounds: self, sinr });
        (0..sinr.len() / self.points).filter(|&place| least[place] != most[place]).count()
    }

    /// The highest CQI of each group according to these needs.
    #[inline(always)]
    fn level(&self, units: &coarse::UnitsOfMany, need: impl Fn(&(usize, u32, u32)) -> u32) -> Lanes {
        let mut level = [0; GROUPS];
        for (needs, cqi) in self.needs.iter().zip(1..) {
            let need = need(needs).min(i16::MAX as u32) as i16;
            for (level, &units) in level.iter_mut().zip(&units[needs.0 & 3]) {
                *level = if units >= need { cqi } else { *level };
            }
        }
        level
    }
}

/// One number per group.
type Lanes = [i16; GROUPS];

/// The lowest and the highest possible CQI of each group, in a form that the compiler must compile for the selected
/// vector instructions.
struct Levels<'a> {
    bounds: &'a StepBounds,
    sinr: &'a [f32],
}

impl WithSimd for Levels<'_> {
    type Output = (Lanes, Lanes);

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> (Lanes, Lanes) {
        let units = coarse::sums_of_many(self.sinr, self.bounds.points);
        (self.bounds.level(&units, |needs| needs.1), self.bounds.level(&units, |needs| needs.2))
    }
}

/// The units of all points.
struct Sum<'a>(&'a [f32]);

impl WithSimd for Sum<'_> {
    type Output = [u32; 4];

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> [u32; 4] {
        coarse::sum_of_all(self.0)
    }
}
