//! The clusters of a link: delays, powers and angles of TR 38.901 clause 7.5, steps 4 to 8, and of TR 36.873
//! clause 7.3. From them come the delay and angle spreads of the calibrations, and the gain of an antenna towards
//! a UE that it reaches by many ways. No scenario uses them: fading there is of tapped delay lines.
//!
//! Parameters as in [`crate::large_scale`]: transcriptions of the reports that agree with each other. Those of
//! TR 36.873 and TR 38.901 are in the `.conf` files of QuaDRiGa 2.8.1 and in ns-3's channel model, those of
//! TR 38.900 v14 in the first release of ns-3's mmWave module; the zenith of departure of TR 36.873 is that of the
//! Vienna LTE-A simulator. The coupling of rays (step 8) is random between the azimuth and the zenith of
//! departure, the only pair that has an effect here.
//!
//! Not included: the phases of the rays and channel coefficients (steps 10 to 12). The power of a link is the mean
//! over the phases.

mod columns;
mod draw;
mod readings;
mod spread;

use airlane_core::Stream;

use crate::large_scale::{ChannelReport, ChannelScenario, LargeScale};
use crate::path_loss::RadioPath;
use columns::{ASA, ASD, Column, DS, K, PARAMETERS, SF, ZSA, ZSD};

pub use draw::{Ray, Rays};
pub use readings::{Reading, Readings};

/// The links of a scenario.
#[derive(Clone, Debug)]
pub struct ClusterModel {
    report: ChannelReport,
    scenario: ChannelScenario,
    carrier_ghz: f64,
    readings: Readings,
    /// Conditions with line of sight, without, and into a building.
    conditions: [Condition; 3],
}

/// Parameters of a condition, with the root of their correlation matrix.
#[derive(Clone, Debug)]
struct Condition {
    column: Column,
    root: [[f64; PARAMETERS]; PARAMETERS],
}

/// Geometry and state of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClusterLink {
    /// Distances, heights, and whether the part outdoors has a line of sight.
    pub path: RadioPath,
    /// Whether the UE is in a building and the site outside.
    pub indoor: bool,
    /// Direction from the site to the UE in degrees from the x axis.
    pub bearing_deg: f64,
    /// Part of the distance along the ground that is outdoors, metres.
    pub outdoor_m: f64,
}

/// Large-scale parameters of a link (TR 38.901 clause 7.5, step 4).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkParameters {
    /// Shadowing in its standard deviations: less loss where it is positive.
    pub shadowing: f64,
    /// K factor in dB, with line of sight outdoors.
    pub k_db: Option<f64>,
    /// Delay spread in seconds.
    pub delay_s: f64,
    /// Azimuth spread of departure, at most 104 degrees.
    pub departure_deg: f64,
    /// Azimuth spread of arrival, at most 104 degrees.
    pub arrival_deg: f64,
    /// Zenith spread of departure, at most 52 degrees.
    pub zenith_departure_deg: f64,
    /// Zenith spread of arrival, at most 52 degrees.
    pub zenith_arrival_deg: f64,
}

/// Spreads of a link without antenna patterns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spreads {
    /// Root mean square of the delay in nanoseconds.
    pub delay_ns: f64,
    /// Azimuth of departure in degrees.
    pub departure_deg: f64,
    /// Azimuth of arrival in degrees.
    pub arrival_deg: f64,
    /// Zenith of departure in degrees.
    pub zenith_departure_deg: f64,
    /// Zenith of arrival in degrees.
    pub zenith_arrival_deg: f64,
}

/// Greatest azimuth and zenith spreads in degrees (TR 38.901 clause 7.5, step 4).
const LIMITS_DEG: [f64; 2] = [104.0, 52.0];

impl ClusterModel {
    /// The clusters of the links of a large-scale channel. Without `correlated_shadowing`, which the reports demand,
    /// the shadowing is independent of the spreads and of the K factor.
    #[must_use]
    pub fn new(channel: &LargeScale, correlated_shadowing: bool) -> Self {
        let LargeScale { report, scenario, carrier_ghz, .. } = *channel;
        let condition = |line_of_sight, indoor| {
            let column = columns::column(report, scenario, carrier_ghz, line_of_sight, indoor);
            let of_shadowing = |&&(i, j, _): &&(usize, usize, f64)| i == SF || j == SF;
            let kept =
                column.correlations.iter().filter(|entry| correlated_shadowing || !of_shadowing(entry));
            let root = root(kept.copied());
            Condition { column, root }
        };
        let conditions = [condition(true, false), condition(false, false), condition(true, true)];
        Self { report, scenario, carrier_ghz, readings: Readings::default(), conditions }
    }

    /// The model with other readings of the report.
    #[must_use]
    pub fn with_readings(mut self, readings: Readings) -> Self {
        self.readings = readings;
        self
    }

    fn condition(&self, link: &ClusterLink) -> &Condition {
        let index = if link.indoor { 2 } else { usize::from(!link.path.line_of_sight) };
        &self.conditions[index]
    }

    /// lg of the zenith spread of departure in degrees, and the offset of the zenith of departure in degrees.
    fn zenith_departure(&self, link: &ClusterLink) -> (columns::Normal, f64) {
        let of_outdoor_part = self.readings.has(Reading::ZenithOfOutdoorPart);
        let ground_m = if of_outdoor_part { link.outdoor_m } else { link.path.ground_m };
        columns::zenith_departure(self.report, self.scenario, self.carrier_ghz, link, ground_m)
    }

    /// Draws the large-scale parameters of a link.
    pub fn parameters(&self, link: &ClusterLink, stream: &mut Stream) -> LinkParameters {
        let Condition { column, root } = self.condition(link);
        let independent: [f64; PARAMETERS] = core::array::from_fn(|_| stream.normal());
        let correlated = |row: usize| root[row].iter().zip(&independent).map(|(r, x)| r * x).sum::<f64>();
        let spread = |row: usize, (mean, sigma): (f64, f64)| libm::exp10(mean + sigma * correlated(row));
        let (zenith, _) = self.zenith_departure(link);
        let [azimuth_limit, zenith_limit] = LIMITS_DEG;
        LinkParameters {
            shadowing: if self.readings.has(Reading::ShadowingAsLoss) { -1.0 } else { 1.0 } * correlated(SF),
            k_db: column.k_db.map(|(mean, sigma)| mean + sigma * correlated(K)),
            delay_s: spread(DS, column.delay),
            departure_deg: spread(ASD, column.departure).min(azimuth_limit),
            arrival_deg: spread(ASA, column.arrival).min(azimuth_limit),
            zenith_departure_deg: spread(ZSD, zenith).min(zenith_limit),
            zenith_arrival_deg: spread(ZSA, column.zenith_arrival).min(zenith_limit),
        }
    }

    /// Power that a pair of cross-polarized antennas at the UE receives from a polarized antenna, in the mean of
    /// the two, as a share of what an antenna of the same polarization receives without scattering: of a ray of a
    /// cluster, and of the line of sight. The cross-polarization ratio has its expectation.
    #[must_use]
    pub fn polarized_shares(&self, link: &ClusterLink) -> [f64; 2] {
        let (mean, sigma) = self.condition(link).column.xpr_db;
        let neper = core::f64::consts::LN_10 / 10.0;
        let crossed = libm::exp(-mean * neper + sigma * sigma * neper * neper / 2.0);
        [(1.0 + crossed) / 2.0, 0.5]
    }
}

/// The lower triangular root of the correlation matrix (Cholesky).
fn root(correlations: impl Iterator<Item = (usize, usize, f64)>) -> [[f64; PARAMETERS]; PARAMETERS] {
    let mut matrix = [[0.0; PARAMETERS]; PARAMETERS];
    (0..PARAMETERS).for_each(|i| matrix[i][i] = 1.0);
    for (i, j, coefficient) in correlations {
        matrix[i][j] = coefficient;
        matrix[j][i] = coefficient;
    }
    let mut root = [[0.0; PARAMETERS]; PARAMETERS];
    for i in 0..PARAMETERS {
        for j in 0..=i {
            let known: f64 = (0..j).map(|k| root[i][k] * root[j][k]).sum();
            root[i][j] = if i == j {
                let rest = matrix[i][i] - known;
                assert!(rest > -1e-9, "a correlation matrix is positive");
                libm::sqrt(rest.max(0.0))
            } else if root[j][j] > 1e-9 {
                (matrix[i][j] - known) / root[j][j]
            } else {
                0.0
            };
        }
    }
    root
}

#[cfg(test)]
mod tests;
