//! Path loss: its models and their settings.

use airlane_core::Decibel;
use airlane_radio::large_scale::{ChannelReport, ChannelScenario};
use airlane_radio::path_loss::{self, Surroundings};
use airlane_ran::config::PathLossModel;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tagged;
use crate::quantity::{Gain, Metres};

/// Path loss.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum PathLoss {
    /// Free space.
    Friis,
    /// Log-distance path loss.
    LogDistance(LogDistance),
    /// COST-231 Hata, valid from 1.5 to 2 GHz and from 1 to 20 km. At shorter distances, the loss is at least
    /// that of free space.
    #[serde(rename = "cost231-hata")]
    Cost231Hata(Cost231Hata),
    /// Macro cell of 3GPP TR 25.814: 128.1 dB + 37.6 dB log10(km), independent of the carrier frequency.
    #[serde(rename = "tr25.814")]
    Tr25814,
    /// The cells of 3GPP TR 36.814, with and without line of sight.
    #[serde(rename = "tr36.814")]
    Tr36814(Tr36814),
    /// 3D-UMa and 3D-UMi of 3GPP TR 36.873, with and without line of sight.
    #[serde(rename = "tr36.873")]
    Tr36873(Tr36873),
    /// The scenarios of 3GPP TR 38.901, with and without line of sight.
    #[serde(rename = "tr38.901")]
    Tr38901(Tr38901),
}
tagged!(PathLoss by "kind" {
    "friis" => Friis,
    "log-distance" => LogDistance(LogDistance),
    "cost231-hata" => Cost231Hata(Cost231Hata),
    "tr25.814" => Tr25814,
    "tr36.814" => Tr36814(Tr36814),
    "tr36.873" => Tr36873(Tr36873),
    "tr38.901" => Tr38901(Tr38901),
});

/// Settings of log-distance path loss.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogDistance {
    /// Path-loss exponent.
    pub exponent: f64,
    /// Reference distance.
    pub reference_distance: Metres,
    /// Loss at the reference distance.
    pub reference_loss: Gain,
}

/// Settings of COST-231 Hata.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cost231Hata {
    /// Type of built-up area.
    pub city: City,
}

/// Type of built-up area.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum City {
    /// Suburbs and medium-sized cities.
    Suburban,
    /// Metropolitan centres: 3 dB more.
    Metropolitan,
}

/// Settings of the cells of TR 36.814.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tr36814 {
    /// Scenario of the report.
    pub scene: Scene,
    /// Street width.
    pub street_width: Metres,
    /// Mean building height.
    pub building_height: Metres,
}

/// A scenario of TR 36.814 Table B.1.2.1-1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scene {
    /// Urban macro: antennas above the roofs.
    Uma,
    /// Urban micro: antennas below the roofs, 10 m high.
    Umi,
    /// Rural macro.
    Rma,
}

/// Settings of the scenarios of TR 36.873.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tr36873 {
    /// Scenario of the report.
    pub scene: UrbanScene,
    /// Scene `uma`: whether the environment height of links to high floors is drawn. By default, it is 1 m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub random_environment_height: Option<bool>,
}

/// A scenario of TR 36.873 Table 7.2-1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UrbanScene {
    /// 3D-UMa: antennas above the roofs, 25 m high.
    Uma,
    /// 3D-UMi: antennas below the roofs, 10 m high.
    Umi,
}

/// Settings of the scenarios of TR 38.901.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tr38901 {
    /// Scenario of the report.
    pub scene: ChannelScene,
    /// Without line of sight, use the optional formula of the report. Scene `rma` has none.
    pub optional_nlos: bool,
    /// Scene `uma`: whether the environment height of links to high floors is drawn. By default, it is 1 m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub random_environment_height: Option<bool>,
}

/// A scenario of TR 38.901 Table 7.4.1-1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChannelScene {
    /// Urban macro: antennas above the roofs, 25 m high.
    Uma,
    /// Urban micro, street canyon: antennas below the roofs, 10 m high.
    Umi,
    /// Rural macro.
    Rma,
    /// Indoor, mixed office.
    InhMixed,
    /// Indoor, open office.
    InhOpen,
}

impl PathLoss {
    /// The path-loss model.
    pub fn config(&self) -> PathLossModel {
        match self {
            Self::Friis => PathLossModel::Friis,
            Self::LogDistance(law) => PathLossModel::LogDistance {
                exponent: law.exponent,
                reference_m: law.reference_distance.0,
                reference_loss: Decibel(law.reference_loss.0.0),
            },
            Self::Cost231Hata(law) => PathLossModel::Cost231Hata {
                city: match law.city {
                    City::Suburban => path_loss::City::Suburban,
                    City::Metropolitan => path_loss::City::Metropolitan,
                },
            },
            Self::Tr25814 => PathLossModel::Macro25814,
            Self::Tr36814(law) => PathLossModel::Macro36814 {
                surroundings: Surroundings {
                    scene: match law.scene {
                        Scene::Uma => path_loss::Scene::UrbanMacro,
                        Scene::Umi => path_loss::Scene::UrbanMicro,
                        Scene::Rma => path_loss::Scene::RuralMacro,
                    },
                    street_width_m: law.street_width.0,
                    building_height_m: law.building_height.0,
                },
            },
            Self::Tr36873(law) => PathLossModel::LargeScale {
                report: ChannelReport::Tr36873,
                scenario: match law.scene {
                    UrbanScene::Uma => ChannelScenario::UrbanMacro,
                    UrbanScene::Umi => ChannelScenario::UrbanMicro,
                },
                optional_nlos: false,
            },
            Self::Tr38901(law) => PathLossModel::LargeScale {
                report: ChannelReport::Tr38901,
                scenario: match law.scene {
                    ChannelScene::Uma => ChannelScenario::UrbanMacro,
                    ChannelScene::Umi => ChannelScenario::UrbanMicro,
                    ChannelScene::Rma => ChannelScenario::RuralMacro,
                    ChannelScene::InhMixed => ChannelScenario::MixedOffice,
                    ChannelScene::InhOpen => ChannelScenario::OpenOffice,
                },
                optional_nlos: law.optional_nlos,
            },
        }
    }
}
