//! The radio channel: shadowing, fading, blockage, bursts. Path loss is in `path_loss`.

use airlane_core::{Direction, Duration};
use airlane_radio::blockage::{BlockageLaw, Crossings, Screen};
use airlane_radio::fading::DelayLine;
use airlane_radio::layers::LineOfSight;
use airlane_radio::{BurstLaw, Profile};
use airlane_ran::config::{ChannelConfig, FadingConfig, LinkRules, ShadowingConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PathLoss, tagged};
use crate::quantity::{Frequency, Gain, Metres, Share, Speed, Time};

/// Propagation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Channel {
    /// Path loss.
    pub path_loss: PathLoss,
    /// Shadowing.
    pub shadowing: Shadowing,
    /// Small-scale fading.
    pub fading: Fading,
    /// Bursts of interference, independent at each UE and eNB.
    pub bursts: Bursts,
    /// Blockage of the direct path between a UE and a site.
    pub blockage: Blockage,
    /// Path of a raster with the additional loss of each place in dB, such as that of buildings or trees, relative to the
    /// scenario file: an ESRI ASCII grid in the metres of positions. A UE has the loss of its place towards all cells, and
    /// 0 dB in places without a value. By default, there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clutter_loss_map: Option<String>,
    /// Minimum of the loss between a cell and a UE, with path loss, shadowing, walls and antenna gains. By default,
    /// there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum_coupling_loss: Option<Gain>,
    /// Whether line of sight (TR 38.901 and TR 36.873) and shadowing are fields over the plane that all UEs share
    /// (TR 38.901 clause 7.6.3). By default, each UE has its own shadowing, and one draw towards each site decides
    /// about its lines of sight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spatial_consistency: Option<bool>,
    /// Geographical wrap-around of a hexagonal grid: each UE receives the nearest copy of each site. `[layout]` sets it
    /// with `wrap_around`. By default, there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrap_around: Option<WrapAround>,
    /// For large networks: a UE has channels with this number of cells of each carrier, the strongest where it is; they
    /// are chosen again when it has moved. The other cells interfere in the downlink with their mean power, and not in the
    /// uplink. By default, a UE has channels with all cells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strongest_cells: Option<u32>,
}

/// A hexagonal grid of sites that repeats itself over the plane.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WrapAround {
    /// Position of the centre site.
    pub centre: [Metres; 2],
    /// Number of rings of sites around the centre site.
    pub rings: u32,
    /// Distance between neighbouring sites. The first neighbour is in the direction of the first coordinate.
    pub inter_site_distance: Metres,
}

/// Shadowing: additional loss from buildings and hills.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Shadowing {
    /// No shadowing.
    None,
    /// Log-normal shadowing, correlated in space.
    LogNormal(LogNormal),
}
tagged!(Shadowing by "kind" { "none" => None, "log-normal" => LogNormal(LogNormal) });

/// Settings of log-normal shadowing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogNormal {
    /// Standard deviation. By default, this is the value of the path-loss model, if it defines one.
    pub deviation: Option<Gain>,
    /// Distance at which the correlation is 1/e. By default, this is the value of the path-loss model, if it
    /// defines one.
    pub correlation_distance: Option<Metres>,
    /// Correlation between sites at a UE. Cells at one position are one site.
    pub site_correlation: Share,
}

/// Small-scale fading: the multipath profiles of TS 36.104 Annex B.2 or of TR 38.901 clause 7.7.2, or simpler.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "model", rename_all = "lowercase")]
pub enum Fading {
    /// No fading.
    None,
    /// Rayleigh, equal over the band.
    Flat(Multipath),
    /// Extended pedestrian A.
    Epa(Multipath),
    /// Extended vehicular A.
    Eva(Multipath),
    /// Extended typical urban.
    Etu(Multipath),
    /// Tapped delay line A of TR 38.901: no line of sight.
    #[serde(rename = "tdl-a")]
    TdlA(TappedDelayLine),
    /// Tapped delay line B: no line of sight.
    #[serde(rename = "tdl-b")]
    TdlB(TappedDelayLine),
    /// Tapped delay line C: no line of sight.
    #[serde(rename = "tdl-c")]
    TdlC(TappedDelayLine),
    /// Tapped delay line D: a line of sight whose power is 9.0 dB above that of all other paths.
    #[serde(rename = "tdl-d")]
    TdlD(TappedDelayLine),
    /// Tapped delay line E: a line of sight whose power is 9.3 dB above that of all other paths.
    #[serde(rename = "tdl-e")]
    TdlE(TappedDelayLine),
}
tagged!(Fading by "model" {
    "none" => None,
    "flat" => Flat(Multipath),
    "epa" => Epa(Multipath),
    "eva" => Eva(Multipath),
    "etu" => Etu(Multipath),
    "tdl-a" => TdlA(TappedDelayLine),
    "tdl-b" => TdlB(TappedDelayLine),
    "tdl-c" => TdlC(TappedDelayLine),
    "tdl-d" => TdlD(TappedDelayLine),
    "tdl-e" => TdlE(TappedDelayLine),
});

impl Fading {
    /// Speed of the UE in the fading model.
    #[must_use]
    pub fn speed(&self) -> Option<Speed> {
        match self {
            Self::None => None,
            Self::Flat(it) | Self::Epa(it) | Self::Eva(it) | Self::Etu(it) => Some(it.speed),
            Self::TdlA(it) | Self::TdlB(it) | Self::TdlC(it) | Self::TdlD(it) | Self::TdlE(it) => {
                Some(it.speed)
            }
        }
    }
}

/// Settings of small-scale fading.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Multipath {
    /// Speed of the UE in the fading model, which determines the Doppler spread.
    pub speed: Speed,
    /// Distance between neighbouring resource blocks at which the profile is sampled. By default, it is their width
    /// in the cell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prb_spacing: Option<Frequency>,
}

/// Settings of a tapped delay line of TR 38.901.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TappedDelayLine {
    /// Root mean square delay spread, from 1 ns to 10 us, to which the profile is scaled (TR 38.901 clause 7.7.3).
    pub delay_spread: Time,
    /// Speed of the UE in the fading model, which determines the Doppler spread.
    pub speed: Speed,
}

/// Blockage of the direct path.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Blockage {
    /// No blockage.
    None,
    /// People and vehicles cross the path: screens whose edges diffract, with the formula and the sizes of model B of
    /// TR 38.901 clause 7.6.4.2. All other paths of the channel are not blocked.
    Screens(Screens),
}
tagged!(Blockage by "kind" { "none" => None, "screens" => Screens(Screens) });

/// Settings of blockage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Screens {
    /// Mean time between two people who cross the path; 0 s for none. A person is 0.3 m wide and 1.7 m high.
    pub people_interval: Time,
    /// Speed of people.
    pub people_speed: Speed,
    /// Least and greatest distance from the UE at which people cross.
    pub people_distance: [Metres; 2],
    /// Mean time between two vehicles that cross the path; 0 s for none. A vehicle is 4.8 m long and 1.4 m high.
    pub vehicle_interval: Time,
    /// Speed of vehicles.
    pub vehicle_speed: Speed,
    /// Least and greatest distance from the UE at which vehicles cross.
    pub vehicle_distance: [Metres; 2],
    /// Power of the direct path over that of all other paths, which limits the depth of blockage.
    pub direct_power: Gain,
}

/// Bursts of interference.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Bursts {
    /// No bursts.
    None,
    /// Good and bad periods of exponentially distributed length (Gilbert 1960, Elliott 1963). In bad periods
    /// the SINR is lower. HARQ and RLC handle the blocks that fail.
    GilbertElliott(GilbertElliott),
}
tagged!(Bursts by "kind" { "none" => None, "gilbert-elliott" => GilbertElliott(GilbertElliott) });

/// Settings of bursts of interference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GilbertElliott {
    /// Mean time between two bursts.
    pub good: Time,
    /// Mean length of a burst.
    pub bad: Time,
    /// Decrease of the SINR at a UE during a burst.
    pub depth: Gain,
    /// Decrease of the SINR at an eNB during a burst. 0 dB means no bursts at eNBs.
    pub uplink_depth: Gain,
}

impl Channel {
    /// The configuration of the channel.
    pub fn config(&self) -> ChannelConfig {
        ChannelConfig {
            path_loss: self.path_loss.config(),
            shadowing: self.shadowing.config(),
            fading: self.fading.config(),
            bursts: self.bursts.config(Direction::Downlink),
            uplink_bursts: self.bursts.config(Direction::Uplink),
            blockage: self.blockage.config(),
            clutter_loss_map: None, // read where the network is built
            links: self.link_rules(),
        }
    }

    /// The rules of the links between cells and UEs.
    fn link_rules(&self) -> LinkRules {
        let random = match &self.path_loss {
            PathLoss::Tr36873(law) => law.random_environment_height,
            PathLoss::Tr38901(law) => law.random_environment_height,
            PathLoss::Friis
            | PathLoss::LogDistance(_)
            | PathLoss::Cost231Hata(_)
            | PathLoss::Tr25814
            | PathLoss::Tr36814(_) => None,
        };
        let wrap_around = self.wrap_around.as_ref().map(|wrap| {
            // As the sites of a layout: the first neighbour is in the direction of the first coordinate.
            let apart_m = wrap.inter_site_distance.0;
            let axes = [[apart_m, 0.0], [apart_m / 2.0, apart_m * 3.0_f64.sqrt() / 2.0]];
            airlane_radio::WrapAround::hexagonal(wrap.centre.map(|at| at.0), axes, wrap.rings)
        });
        LinkRules {
            wrap_around,
            minimum_coupling_loss: self.minimum_coupling_loss.map(|loss| loss.0),
            spatial_consistency: self.spatial_consistency.unwrap_or(false),
            random_environment_height: random.unwrap_or(false),
            strongest_cells: self.strongest_cells.map(|cells| cells as usize),
        }
    }
}

impl Shadowing {
    /// Shadowing; `None` without.
    fn config(&self) -> Option<ShadowingConfig> {
        match self {
            Self::None => None,
            Self::LogNormal(law) => Some(ShadowingConfig {
                deviation: law.deviation.map(|gain| gain.0),
                correlation_m: law.correlation_distance.map(|length| length.0),
                site_correlation: law.site_correlation.0,
            }),
        }
    }
}

impl Fading {
    /// Whether the paths of a fading model include a line of sight.
    pub const fn sight(&self) -> LineOfSight {
        match self {
            Self::TdlD(_) | Self::TdlE(_) => LineOfSight::Tdl,
            Self::None
            | Self::Flat(_)
            | Self::Epa(_)
            | Self::Eva(_)
            | Self::Etu(_)
            | Self::TdlA(_)
            | Self::TdlB(_)
            | Self::TdlC(_) => LineOfSight::None,
        }
    }

    /// Fading; `None` without.
    fn config(&self) -> Option<FadingConfig> {
        let older = |profile, multipath: &Multipath| (profile, multipath.prb_spacing);
        let newer = |line, set: &TappedDelayLine| (Profile::Tdl(line, set.delay_spread.0), None);
        let (profile, prb_spacing) = match self {
            Self::None => return None,
            Self::Flat(set) => older(Profile::Flat, set),
            Self::Epa(set) => older(Profile::Epa, set),
            Self::Eva(set) => older(Profile::Eva, set),
            Self::Etu(set) => older(Profile::Etu, set),
            Self::TdlA(set) => newer(DelayLine::A, set),
            Self::TdlB(set) => newer(DelayLine::B, set),
            Self::TdlC(set) => newer(DelayLine::C, set),
            Self::TdlD(set) => newer(DelayLine::D, set),
            Self::TdlE(set) => newer(DelayLine::E, set),
        };
        Some(FadingConfig {
            profile,
            speed_mps: self.speed()?.metres_per_second(),
            prb_spacing_hz: prb_spacing.map(|spacing| spacing.0),
        })
    }
}

impl Blockage {
    /// Blockage; `None` if no blocker crosses.
    fn config(&self) -> Option<BlockageLaw> {
        let Self::Screens(set) = self else { return None };
        let kind = |screen, interval: Time, speed: Speed, [near, far]: [Metres; 2]| {
            (interval.0 > Duration::ZERO).then(|| Crossings {
                screen,
                interval: interval.0,
                speed_m_s: speed.metres_per_second(),
                distance_m: (near.0, far.0),
            })
        };
        let people = kind(Screen::HUMAN, set.people_interval, set.people_speed, set.people_distance);
        let vehicles = kind(Screen::VEHICLE, set.vehicle_interval, set.vehicle_speed, set.vehicle_distance);
        let crossings: Vec<_> = people.into_iter().chain(vehicles).collect();
        (!crossings.is_empty()).then(|| BlockageLaw { crossings, direct: set.direct_power.0.linear() })
    }
}

impl Bursts {
    /// Bursts; `None` if their depth is zero.
    fn config(&self, direction: Direction) -> Option<BurstLaw> {
        match self {
            Self::None => None,
            Self::GilbertElliott(law) => {
                let depth = match direction {
                    Direction::Downlink => law.depth.0,
                    Direction::Uplink => law.uplink_depth.0,
                };
                (depth.0 > 0.0).then_some(BurstLaw { good: law.good.0, bad: law.bad.0, depth })
            }
        }
    }
}
