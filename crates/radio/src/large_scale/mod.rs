//! The large-scale channel of 3GPP: path loss, line of sight, shadowing and building entry of TR 38.901 (UMa, UMi
//! street canyon, RMa, indoor office; 0.5 to 100 GHz) and of TR 36.873 (3D-UMa, 3D-UMi; 2 to 6 GHz).
//!
//! Formulas and constants are those of transcriptions of the reports that agree with each other:
//! `pathloss_reference.py` of Simu5G's tests (TR 36.873 v12.7.0, TR 38.901 v16.1.0), `h38901Channel` of MathWorks' 5G
//! Toolbox, the path-loss models of ns-3, the page on TR 38.901 in SEAMCAT's manual (A.17.21), and the `.conf` files of
//! QuaDRiGa 2.8.1. Tables 7.4.1-1 to 7.4.3-3 were also compared with the transcription of TR 38.901 v19.4.0 in
//! github.com/MehdiZD97/3gpp-tr-library. They differ in one constant: glass that reflects infrared has 23 + 0.3 f dB
//! here and 25.4 + 0.11 f dB there.
//!
//! Not included: indoor factory (InF), the rural scenario of TR 36.873, entry into cars (TR 38.901 clause 7.4.3.2),
//! and oxygen absorption.
//!
//! ```
//! use airlane_radio::RadioPath;
//! use airlane_radio::large_scale::{ChannelReport, ChannelScenario, LargeScale};
//!
//! let model = LargeScale::new(ChannelReport::Tr38901, ChannelScenario::UrbanMacro, 3.5e9);
//! let path = RadioPath {
//!     ground_m: 200.0, distance_m: (200.0_f64 * 200.0 + 23.5 * 23.5).sqrt(),
//!     site_height_m: 25.0, ue_height_m: 1.5, line_of_sight: true,
//! };
//! // 28 + 22 lg 201.38 + 20 lg 3.5 = 28 + 50.69 + 10.88 dB.
//! assert!((model.loss(&path, 1.0).0 - 89.57).abs() < 0.01);
//! ```

mod formulas;
mod penetration;
pub mod sidelink;

use airlane_core::{Decibel, Stream};

pub use penetration::{BuildingEntry, BuildingType};

use crate::path_loss::{Heights, RadioPath};

/// The report whose parameters apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelReport {
    /// TR 36.873 v12.7.0, for LTE. UMa and UMi only; the others are those of TR 38.901.
    Tr36873,
    /// TR 38.900 v14.0.0 (June 2016), on which the calibration of August 2016 rests. Of the large-scale parameters
    /// only UMa with line of sight differs from TR 38.901: it begins with free space.
    Tr38900,
    /// TR 38.901 v16.1.0.
    Tr38901,
}

/// A scenario of TR 38.901 clause 7.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelScenario {
    /// UMa: antennas at 25 m, above the roofs.
    UrbanMacro,
    /// UMi street canyon: antennas at 10 m, below the roofs.
    UrbanMicro,
    /// RMa: antennas at 35 m in open country; buildings of 5 m, streets of 20 m.
    RuralMacro,
    /// InH, mixed office: antennas at 3 m.
    MixedOffice,
    /// InH, open office: antennas at 3 m.
    OpenOffice,
}

/// The large-scale channel between isotropic antennas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LargeScale {
    /// The report.
    pub report: ChannelReport,
    /// The scenario.
    pub scenario: ChannelScenario,
    /// Carrier frequency in GHz.
    pub carrier_ghz: f64,
    /// True for the optional formula without line of sight of TR 38.901 Table 7.4.1-1, for UMa, UMi and InH. For InH it
    /// is not below the loss with line of sight.
    pub optional_nlos: bool,
}

/// Effective environment height in metres wherever it is not random (TR 38.901 Table 7.4.1-1, note 1).
pub const ENVIRONMENT_HEIGHT_M: f64 = 1.0;

impl LargeScale {
    /// The channel of a scenario at a carrier in Hz, with the usual formulas without line of sight.
    #[must_use]
    pub fn new(report: ChannelReport, scenario: ChannelScenario, carrier_hz: f64) -> Self {
        Self { report, scenario, carrier_ghz: carrier_hz / 1e9, optional_nlos: false }
    }

    /// Path loss outdoors or, for InH, inside (TR 38.901 Table 7.4.1-1, TR 36.873 Table 7.2-1).
    /// `environment_height_m` is used by UMa and UMi. Distances are not limited to the range of the tables (from
    /// 10 m along the ground; InH from 1 m), but a 3D distance below 1 m counts as 1 m.
    #[must_use]
    pub fn loss(&self, path: &RadioPath, environment_height_m: f64) -> Decibel {
        let path = &RadioPath { distance_m: path.distance_m.max(1.0), ..*path };
        let los = formulas::line_of_sight(self, path, environment_height_m);
        if path.line_of_sight {
            return Decibel(los);
        }
        match formulas::optional(self, path) {
            // The table gives the optional formulas of UMa and UMi without the maximum.
            Some(loss) if !self.is_office() => Decibel(loss),
            Some(loss) => Decibel(loss.max(los)),
            None => Decibel(formulas::no_line_of_sight(self, path).max(los)),
        }
    }

    /// Probability of a line of sight (TR 38.901 Table 7.4.2-1, TR 36.873 Table 7.2-2). `outdoor_m` is the part of
    /// the distance along the ground that is outdoors; for InH, the whole distance.
    #[must_use]
    pub fn line_of_sight_probability(&self, outdoor_m: f64, ue_height_m: f64) -> f64 {
        let d = outdoor_m;
        let street =
            |scale: f64| if d <= 18.0 { 1.0 } else { 18.0 / d + libm::exp(-d / scale) * (1.0 - 18.0 / d) };
        match self.scenario {
            ChannelScenario::UrbanMacro => (street(63.0) * (1.0 + high_floors(d, ue_height_m))).min(1.0),
            ChannelScenario::UrbanMicro => street(36.0),
            ChannelScenario::RuralMacro => libm::exp(-(d - 10.0).max(0.0) / 1000.0),
            ChannelScenario::MixedOffice => office(d, [1.2, 6.5], [4.7, 32.6], 0.32),
            ChannelScenario::OpenOffice => office(d, [5.0, 49.0], [70.8, 211.7], 0.54),
        }
    }

    /// Draws the effective environment height in metres of one link (TR 38.901 Table 7.4.1-1, note 1): 1 m, and in
    /// UMa for UEs on high floors also a multiple of 3 m from 12 m to 1.5 m below the UE.
    pub fn environment_height_m(&self, ground_m: f64, ue_height_m: f64, stream: &mut Stream) -> f64 {
        if self.scenario != ChannelScenario::UrbanMacro {
            return ENVIRONMENT_HEIGHT_M;
        }
        // Two draws whatever their use, so that a link's later draws do not depend on its height.
        let draws = [stream.uniform(), stream.uniform()];
        self.environment_height_of(ground_m, ue_height_m, draws)
    }

    /// The effective environment height for two numbers that were drawn from 0 to 1, for a UE that moves.
    #[must_use]
    pub fn environment_height_of(&self, ground_m: f64, ue_height_m: f64, [chance, step]: [f64; 2]) -> f64 {
        if self.scenario != ChannelScenario::UrbanMacro {
            return ENVIRONMENT_HEIGHT_M;
        }
        let choices = ((ue_height_m - 1.5 - 12.0) / 3.0).floor() + 1.0;
        if choices < 1.0 || chance < 1.0 / (1.0 + high_floors(ground_m, ue_height_m)) {
            return ENVIRONMENT_HEIGHT_M;
        }
        12.0 + 3.0 * (step * choices).floor()
    }

    /// Standard deviation of the shadowing, and the distance in metres at which its correlation is 1/e (TR 38.901
    /// Tables 7.4.1-1 and 7.5-6, TR 36.873 Table 7.3-6). Shadowing towards different sites is independent
    /// (TR 38.901 clause 7.5, step 4). `indoor` selects the column O2I; offices have none.
    #[must_use]
    pub fn shadowing(&self, path: &RadioPath, indoor: bool) -> (Decibel, f64) {
        use ChannelScenario::{MixedOffice, OpenOffice, RuralMacro, UrbanMacro, UrbanMicro};
        let lte = self.report == ChannelReport::Tr36873;
        let (sigma, correlation_m) = match (self.scenario, indoor, path.line_of_sight) {
            (UrbanMacro | UrbanMicro, true, _) => (7.0, 7.0),
            (UrbanMacro, false, true) => (4.0, 37.0),
            (UrbanMacro, false, false) => (if self.optional_nlos { 7.8 } else { 6.0 }, 50.0),
            (UrbanMicro, false, true) => (if lte { 3.0 } else { 4.0 }, 10.0),
            (UrbanMicro, false, false) => (self.micro_sigma_nlos(), 13.0),
            (RuralMacro, true, _) => (8.0, 120.0),
            (RuralMacro, false, true) => (self.rural_sigma_los(path), 37.0),
            (RuralMacro, false, false) => (8.0, 120.0),
            (MixedOffice | OpenOffice, _, true) => (3.0, 10.0),
            (MixedOffice | OpenOffice, _, false) => (if self.optional_nlos { 8.29 } else { 8.03 }, 6.0),
        };
        (Decibel(sigma), correlation_m)
    }

    /// Distance in metres at which the correlation of the state of the line of sight is 1/e (TR 38.901 Table
    /// 7.6.3.1-2).
    #[must_use]
    pub const fn sight_correlation_m(&self) -> f64 {
        match self.scenario {
            ChannelScenario::UrbanMacro | ChannelScenario::UrbanMicro => 50.0,
            ChannelScenario::RuralMacro => 60.0,
            ChannelScenario::MixedOffice | ChannelScenario::OpenOffice => 10.0,
        }
    }

    /// The heights of the last column of TR 38.901 Table 7.4.1-1; `None` for offices, which have none.
    #[must_use]
    pub fn heights(&self) -> Option<Heights> {
        match self.scenario {
            ChannelScenario::UrbanMacro => Some(Heights { site_m: 25.0..=25.0, ue_m: 1.5..=22.5 }),
            ChannelScenario::UrbanMicro => Some(Heights { site_m: 10.0..=10.0, ue_m: 1.5..=22.5 }),
            ChannelScenario::RuralMacro => Some(Heights { site_m: 10.0..=150.0, ue_m: 1.0..=10.0 }),
            ChannelScenario::MixedOffice | ChannelScenario::OpenOffice => None,
        }
    }

    fn micro_sigma_nlos(&self) -> f64 {
        match (self.report, self.optional_nlos) {
            (_, true) => 8.2,
            (ChannelReport::Tr36873, false) => 4.0,
            (ChannelReport::Tr38900 | ChannelReport::Tr38901, false) => 7.82,
        }
    }

    fn rural_sigma_los(&self, path: &RadioPath) -> f64 {
        if path.ground_m <= formulas::rural_break_point_m(self, path) { 4.0 } else { 6.0 }
    }

    fn is_office(&self) -> bool {
        matches!(self.scenario, ChannelScenario::MixedOffice | ChannelScenario::OpenOffice)
    }
}

/// C(d, h) of TR 38.901 Table 7.4.2-1: how much more probable a line of sight is for UEs above 13 m. The table ends
/// at 23 m.
fn high_floors(ground_m: f64, ue_height_m: f64) -> f64 {
    if ue_height_m <= 13.0 || ground_m <= 18.0 {
        return 0.0;
    }
    let height = libm::pow((ue_height_m.min(23.0) - 13.0) / 10.0, 1.5);
    let hundreds = ground_m / 100.0;
    height * 1.25 * hundreds * hundreds * hundreds * libm::exp(-ground_m / 150.0)
}

/// Offices of TR 38.901 Table 7.4.2-1: certain up to the first distance, then two exponential parts.
fn office(d: f64, from_m: [f64; 2], scale_m: [f64; 2], far_share: f64) -> f64 {
    if d <= from_m[0] {
        1.0
    } else if d <= from_m[1] {
        libm::exp(-(d - from_m[0]) / scale_m[0])
    } else {
        far_share * libm::exp(-(d - from_m[1]) / scale_m[1])
    }
}

#[cfg(test)]
mod tests;
