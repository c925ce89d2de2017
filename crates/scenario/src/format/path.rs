//! The path between server and UE: internet, backhaul, and the radio channel.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Aqm, tagged};
use crate::quantity::{Frequency, Gain, Metres, Rate, Share, Size, Speed, Time};

/// The link between the server and the mobile core, or, in a wired network, the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Internet {
    /// Whether all flows share one link. If false, each flow has its own server and link.
    pub shared: bool,
    /// Downlink rate.
    pub rate: Rate,
    /// Uplink rate.
    pub uplink_rate: Rate,
    /// Propagation delay of either direction.
    pub delay: Time,
    /// Size of the downlink queue.
    pub queue: Size,
    /// Size of the uplink queue.
    pub uplink_queue: Size,
    /// Queue discipline of either direction.
    pub aqm: Aqm,
    /// Random loss on the downlink, of packets with payload.
    pub loss: Share,
    /// Mean number of consecutive lost packets (Gilbert model, 1960: every packet is lost in the bad state
    /// and none in the good one). By default, losses are independent.
    pub loss_burst: Option<f64>,
    /// Initial state of a separate splitmix64 generator for the losses, so that another program can lose the
    /// same packets. By default, losses follow from the seed of the run.
    pub loss_seed: Option<u64>,
    /// Changes of the downlink rate.
    pub rate_steps: Vec<RateStep>,
    /// Changes of the random loss. Losses after the first change are independent. By default, there are no
    /// changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_steps: Option<Vec<LossStep>>,
    /// Token bucket policer before the downlink queue. By default, there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policer: Option<Policer>,
    /// Times at which downlink packets are delayed, so that later packets overtake them. By default, there
    /// are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detours: Option<Vec<Detour>>,
    /// Pauses of the downlink. Packets wait and are not lost.
    pub hold: Vec<Hold>,
    /// File of delivery opportunities in Mahimahi's format, which replaces the downlink rate. Each line is
    /// the millisecond at which a packet of 1500 bytes may leave.
    pub trace: Option<String>,
    /// The same for the uplink: a file of delivery opportunities that replaces `uplink_rate`; none for that rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uplink_trace: Option<String>,
}

/// A change of the rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateStep {
    /// Time of the change.
    pub at: Time,
    /// Rate after the change.
    pub rate: Rate,
}

/// A change of the random loss.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LossStep {
    /// Time of the change.
    pub at: Time,
    /// Percentage of lost packets after the change.
    pub loss: Share,
}

/// A token bucket.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Policer {
    /// Token rate.
    pub rate: Rate,
    /// Bucket size. The bucket is full at the start of the run.
    pub burst: Size,
}

/// A temporary additional delay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Detour {
    /// Start, at the far end of the link.
    pub at: Time,
    /// Duration.
    pub duration: Time,
    /// Additional delay.
    pub extra: Time,
}

/// A pause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// Start.
    pub at: Time,
    /// Duration.
    pub duration: Time,
}

/// The path between the mobile core and the cells (S1-U): one link, or several in series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Backhaul {
    /// Whether all cells share one link. If false, each cell has its own.
    pub shared: bool,
    /// Rate of either direction.
    pub rate: Rate,
    /// Propagation delay of either direction.
    pub delay: Time,
    /// Size of the queue of either direction.
    pub queue: Size,
    /// Queue discipline of either direction.
    pub aqm: Aqm,
    /// Links in series with a router between each two, from the core to the cells. The keys above are the
    /// defaults of each link. List shared links before links of single cells. By default, there is one link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hop: Option<Vec<Hop>>,
}

/// One of the links between the mobile core and the cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hop {
    /// Whether all cells share this link. If false, each cell has its own.
    pub shared: bool,
    /// Rate of either direction.
    pub rate: Rate,
    /// Propagation delay of either direction.
    pub delay: Time,
    /// Size of the queue of either direction.
    pub queue: Size,
    /// Queue discipline of either direction.
    pub aqm: Aqm,
}

impl Backhaul {
    /// The links in series from the core to the cells.
    #[must_use]
    pub fn hops(&self) -> Vec<Hop> {
        let Self { shared, rate, delay, queue, aqm, hop } = self.clone();
        hop.unwrap_or_else(|| vec![Hop { shared, rate, delay, queue, aqm }])
    }
}

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
