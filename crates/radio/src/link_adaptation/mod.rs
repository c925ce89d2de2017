//! From SINRs to CQI: the highest scheme that meets the error target.
//!
//! There are two rules. *Mutual information*: find the highest MCS such that this MCS and all lower
//! ones meet the error target, for a transport block that fills the reported group of PRBs. The CQI
//! is the highest one with lower efficiency than that MCS (as in ns-3.37 `lte-amc.cc`: strictly
//! lower, except at the top). In NR each CQI has a scheme of its own, and the CQI is the highest one
//! whose scheme meets the error target (TS 38.214 §5.2.2.1). *Shannon gap*: the efficiency is
//! `log2(1 + SINR / Γ)`, `Γ = −ln(5 BER) / 1.5` (G. Piro, N. Baldo, M. Miozzo, "An LTE module for the
//! ns-3 network simulator", SIMUTools 2011), and the CQI is the highest one with lower efficiency.
//!
//! No error rate is computed per CQI. The SNR at which each MCS meets the target is computed once
//! and converted to the information per symbol at that SNR. The mean information of the group is
//! then compared with this ladder of thresholds. Sub-bands are first compared by means of bounds
//! (`bounds`), and individually only if the bounds do not decide.
//!
//! Not included: rank and precoding indicators, and the differential encoding of CQIs on air.
//!
//! ```
//! use airlane_core::Direction::Downlink;
//! use airlane_radio::link_tables::LTE;
//! use airlane_radio::{Amc, AmcRule, Cqi};
//!
//! let amc = Amc::new(&LTE, AmcRule::MUTUAL_INFORMATION, Downlink, 100, 4);
//! let mut cqi = [Cqi::OUT_OF_RANGE; 25];
//! amc.subband_cqi(&[100.0; 100], 4, &mut cqi); // 20 dB everywhere
//! assert_eq!(cqi, [Cqi::new(15); 25]);
//! ```

mod bounds;
mod step_bounds;
mod steps;

use airlane_core::Direction;

use crate::link_tables::{Allocation, LinkTables};
use crate::mutual_information::{self, Lanes};
use crate::tables::{Cqi, Mcs, Modulation};
use bounds::Bounds;
use step_bounds::StepBounds;
use steps::Steps;

/// How a CQI is derived from SINRs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AmcRule {
    /// The highest MCS whose transport block meets this error target.
    MutualInformation {
        /// Maximum block error rate of a first transmission; 0.1 in TS 36.213 v8.8.0 §7.2.3. CQIs with schemes of
        /// their own have the error target of their table.
        target_error_rate: f64,
    },
    /// The Shannon bound with the gap for this bit error rate.
    ShannonGap {
        /// Bit error rate.
        bit_error_rate: f64,
    },
}

impl AmcRule {
    /// The error target of TS 36.213 v8.8.0 §7.2.3.
    pub const MUTUAL_INFORMATION: Self = Self::MutualInformation { target_error_rate: 0.1 };
    /// `piro`: the bit error rate of ns-3.37 `lte-amc.cc`, attribute `Ber`.
    pub const PIRO: Self = Self::ShannonGap { bit_error_rate: 5e-5 };

    /// The linear SINR at which the bound allows this efficiency in bits per symbol; `None` for another rule.
    #[must_use]
    pub fn shannon_sinr(self, efficiency: f64) -> Option<f32> {
        let Self::ShannonGap { bit_error_rate } = self else { return None };
        let gamma = -libm::log(5.0 * bit_error_rate) / 1.5;
        Some((gamma * (libm::exp2(efficiency) - 1.0)) as f32)
    }
}

/// Adaptive modulation and coding: derives CQIs from SINRs.
#[derive(Clone, Debug)]
pub struct Amc {
    rule: Rule,
}

#[derive(Clone, Debug)]
enum Rule {
    MutualInformation {
        wideband: Ladders,
        subband: Box<Ladders>,
        /// Decides for most sub-bands.
        bounds: Box<Bounds>,
    },
    /// Linear SINR thresholds of CQI 1 to 15.
    ShannonGap([f32; 15]),
    /// Mutual information, with tables in which each CQI has a scheme of its own.
    OwnSchemes { wideband: Box<StepBounds>, subband: Box<StepBounds> },
}

impl Amc {
    /// For a carrier of `n_prb` PRBs with sub-bands of `rbg_size` PRBs. Transport blocks of both
    /// sizes are used, in a whole slot.
    #[must_use]
    pub fn new(
        tables: &dyn LinkTables,
        rule: AmcRule,
        direction: Direction,
        n_prb: usize,
        rbg_size: usize,
    ) -> Self {
        let rule = match rule {
            AmcRule::MutualInformation { .. } if Steps::new(tables, direction, 1).is_some() => {
                let steps = |prbs| {
                    let steps = Steps::new(tables, direction, prbs).expect("the tables have schemes");
                    Box::new(StepBounds::new(steps, prbs))
                };
                Rule::OwnSchemes { wideband: steps(n_prb), subband: steps(rbg_size) }
            }
            AmcRule::MutualInformation { target_error_rate } => {
                let subband = Ladders::new(tables, direction, rbg_size, target_error_rate);
                Rule::MutualInformation {
                    wideband: Ladders::new(tables, direction, n_prb, target_error_rate),
                    bounds: Box::new(Bounds::new(&subband, rbg_size)),
                    subband: Box::new(subband),
                }
            }
            AmcRule::ShannonGap { bit_error_rate } => {
                Rule::ShannonGap(shannon_thresholds(tables, AmcRule::ShannonGap { bit_error_rate }))
            }
        };
        Self { rule }
    }

    /// The CQI of the whole carrier from the linear SINRs of its PRBs (or of the same number of
    /// points, evenly spaced over it).
    #[must_use]
    pub fn wideband_cqi(&self, sinr: &[f32]) -> Cqi {
        match &self.rule {
            Rule::MutualInformation { wideband, .. } => wideband.cqi(mutual_information::mean(sinr)),
            Rule::ShannonGap(thresholds) => mean_cqi(thresholds, sinr),
            Rule::OwnSchemes { wideband, .. } => wideband.wideband(sinr),
        }
    }

    /// The CQI of each sub-band. Every sub-band has `points` of the linear SINRs, the last one the
    /// rest. `out` has one place per sub-band.
    pub fn subband_cqi(&self, sinr: &[f32], points: usize, out: &mut [Cqi]) {
        assert_eq!(sinr.len().div_ceil(points), out.len(), "one CQI per sub-band");
        match &self.rule {
            Rule::MutualInformation { subband, bounds, .. } => {
                if bounds.fit(sinr, points) {
                    bounds.cqi(subband, sinr, points, out);
                } else {
                    for (group, cqi) in sinr.chunks(points).zip(out) {
                        *cqi = subband.cqi(mutual_information::mean(group));
                    }
                }
            }
            Rule::ShannonGap(thresholds) => {
                for (group, cqi) in sinr.chunks(points).zip(out) {
                    *cqi = mean_cqi(thresholds, group);
                }
            }
            Rule::OwnSchemes { subband, .. } => subband.subbands(sinr, points, out),
        }
    }

    /// Both reports for the cost of the sub-bands: writes the CQIs of the sub-bands and returns the wideband CQI.
    pub fn report(&self, sinr: &[f32], points: usize, out: &mut [Cqi]) -> Cqi {
        match &self.rule {
            Rule::MutualInformation { wideband, subband, .. } => {
                assert_eq!(sinr.len().div_ceil(points), out.len(), "one CQI per sub-band");
                let mut all = [0.0; 4];
                for (group, cqi) in sinr.chunks(points).zip(out) {
                    let sum = mutual_information::sum(group);
                    let scale = 1.0 / group.len() as f32;
                    *cqi = subband.cqi(sum.map(|x| x * scale));
                    all.iter_mut().zip(sum).for_each(|(a, s)| *a += s);
                }
                let scale = 1.0 / sinr.len().max(1) as f32;
                wideband.cqi(all.map(|x| x * scale))
            }
            Rule::ShannonGap(_) | Rule::OwnSchemes { .. } => {
                self.subband_cqi(sinr, points, out);
                self.wideband_cqi(sinr)
            }
        }
    }
}

/// The thresholds of one modulation, in ascending order.
#[derive(Clone, Copy, Debug)]
struct Ladder {
    /// Information per symbol in bits that each step needs; infinite in unused places.
    needs: [f32; 7],
    /// Steps in use.
    steps: usize,
    /// The CQI after this many steps.
    reached: [Cqi; 8],
}

/// The thresholds of the three modulations, for one transport block size.
#[derive(Clone, Debug)]
struct Ladders([Ladder; 3]);

/// The MCS that must meet the target for this CQI to be reported: the lowest one of higher
/// efficiency than the CQI, or the highest MCS for the highest CQI (ns-3.37 `lte-amc.cc`).
fn witness(tables: &dyn LinkTables, cqi: Cqi) -> Mcs {
    if cqi == Cqi::MAX { tables.highest_mcs() } else { Mcs::new(tables.mcs_of(cqi).index() + 1) }
}

impl Ladders {
    fn new(tables: &dyn LinkTables, direction: Direction, n_prb: usize, target_error_rate: f64) -> Self {
        let allocation = Allocation { prbs: n_prb as u16, symbols: 14, layers: 1 };
        let mut reached = Cqi::OUT_OF_RANGE;
        Self(Modulation::LTE.map(|modulation| {
            let mut ladder = Ladder { needs: [f32::INFINITY; 7], steps: 0, reached: [reached; 8] };
            let mut need = 0.0_f32;
            let mut pending = false;
            let schemes = (0..=tables.highest_mcs().index()).map(Mcs::new);
            for mcs in schemes.filter(|mcs| tables.modulation(*mcs, direction) == modulation) {
                let size = tables.transport_block(mcs, allocation, direction);
                let block = tables.coded_block(mcs, size, direction);
                let sinr = block.sinr_for(target_error_rate);
                // An MCS counts only if all below it pass too.
                need = need.max(mutual_information::at(modulation, sinr).mean as f32);
                pending = true;
                let before = reached;
                while reached < Cqi::MAX && mcs == witness(tables, Cqi::new(reached.index() + 1)) {
                    reached = Cqi::new(reached.index() + 1);
                }
                if reached > before {
                    ladder.push(need, reached);
                    pending = false;
                }
            }
            if pending {
                // The last MCS of this modulation does not determine a CQI, but the next modulation
                // is tried only if it passes.
                ladder.push(need, reached);
            }
            ladder
        }))
    }

    /// The CQI at this mean information per symbol: that of the first modulation whose steps are
    /// not all passed. All three are counted before one is chosen: neighbouring sub-bands differ,
    /// and a branch misprediction costs more than counting.
    #[inline]
    fn cqi(&self, mean: Lanes) -> Cqi {
        let [a, b, c] = &self.0;
        let passed = [a.passed(mean[0]), b.passed(mean[1]), c.passed(mean[2])];
        let last = if passed[1] < b.steps { b.reached[passed[1]] } else { c.reached[passed[2]] };
        if passed[0] < a.steps { a.reached[passed[0]] } else { last }
    }
}

impl Ladder {
    /// The number of steps that this information passes, 0 to 7.
    #[inline]
    fn passed(&self, information: f32) -> usize {
        // A binary search in three steps, by arithmetic instead of branches.
        let mut passed = usize::from(information >= self.needs[3]) * 4;
        passed += usize::from(information >= self.needs[passed + 1]) * 2;
        passed + usize::from(information >= self.needs[passed])
    }

    fn push(&mut self, need: f32, reached: Cqi) {
        self.needs[self.steps] = need;
        self.steps += 1;
        self.reached[self.steps..].fill(reached);
    }
}

/// The linear SINR whose Shannon-gap efficiency exceeds that of each CQI.
fn shannon_thresholds(tables: &dyn LinkTables, rule: AmcRule) -> [f32; 15] {
    // The efficiency of a CQI is that of its MCS, rounded as in R1-081483.
    core::array::from_fn(|i| {
        let efficiency = tables.efficiency(tables.mcs_of(Cqi::new(i as u8 + 1)));
        rule.shannon_sinr(efficiency).expect("the rule is a Shannon gap")
    })
}

/// The mean of the points' CQIs, rounded down; ns-3.37 `lte-ue-phy.cc` reports this for a group.
fn mean_cqi(thresholds: &[f32; 15], sinr: &[f32]) -> Cqi {
    let mut sum = 0;
    // Loops instead of closures, which need not be inlined: the inner one is unrolled.
    for &x in sinr {
        for &threshold in thresholds {
            sum += u32::from(x > threshold);
        }
    }
    Cqi::new((sum / sinr.len().max(1) as u32) as u8)
}

#[cfg(test)]
mod tests;
