//! The way between server and UE: internet, backhaul, and the channel.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Aqm, tagged};
use crate::quantity::{Frequency, Gain, Metres, Rate, Share, Size, Speed, Time};

/// The link between the server and the mobile core, or, wired, the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Internet {
    /// Whether one link leads to all servers, or each flow has a server with a link of its own.
    pub shared: bool,
    /// Downlink rate.
    pub rate: Rate,
    /// Uplink rate.
    pub uplink_rate: Rate,
    /// Delay of either direction, beside serialisation.
    pub delay: Time,
    /// Bytes that may wait for the downlink.
    pub queue: Size,
    /// Bytes that may wait for the uplink.
    pub uplink_queue: Size,
    /// What the queue of either direction drops or marks, and when.
    pub aqm: Aqm,
    /// Random loss on the downlink: the share of packets with payload.
    pub loss: Share,
    /// Mean number of packets that are lost one after the other (Gilbert 1960, each packet lost in the bad
    /// state and none in the good one); none for losses that know nothing of each other.
    pub loss_burst: Option<f64>,
    /// State at which a splitmix64 generator of its own begins to draw the loss, so that another
    /// program can lose the same packets; none to draw from the seed of the run.
    pub loss_seed: Option<u64>,
    /// Changes of the downlink rate.
    pub rate_steps: Vec<RateStep>,
    /// Changes of the random loss, from which on losses know nothing of each other; none for no changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_steps: Option<Vec<LossStep>>,
    /// A token bucket before the downlink's queue, which drops what it has no tokens for; none for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policer: Option<Policer>,
    /// Times at which packets of the downlink take a longer way, so that later ones overtake them; none for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detours: Option<Vec<Detour>>,
    /// Pauses of the downlink: nothing is lost by them, it waits.
    pub hold: Vec<Hold>,
    /// A file of delivery opportunities that replaces the downlink rate, in Mahimahi's format: one
    /// line per 1500-byte packet, the millisecond at which it may leave.
    pub trace: Option<String>,
}

/// A change of the rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateStep {
    /// When.
    pub at: Time,
    /// The rate from then on.
    pub rate: Rate,
}

/// A change of the random loss.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LossStep {
    /// When.
    pub at: Time,
    /// The share of packets that are lost from then on.
    pub loss: Share,
}

/// A token bucket.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Policer {
    /// How fast it fills.
    pub rate: Rate,
    /// How much it holds; it is full when the run begins.
    pub burst: Size,
}

/// A longer way for a while.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Detour {
    /// When it begins to count, at the far end of the link.
    pub at: Time,
    /// How long it counts.
    pub duration: Time,
    /// How much longer it takes.
    pub extra: Time,
}

/// A pause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// When it begins.
    pub at: Time,
    /// How long it lasts.
    pub duration: Time,
}

/// The path between the mobile core and the cells (S1-U): one link, or several in series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Backhaul {
    /// Whether one link leads to all cells, or each has its own.
    pub shared: bool,
    /// Rate of either direction.
    pub rate: Rate,
    /// Delay of either direction, beside serialisation.
    pub delay: Time,
    /// Bytes that may wait for either direction.
    pub queue: Size,
    /// What the queue of either direction drops or marks, and when.
    pub aqm: Aqm,
    /// Links in series with a router between each two, from the core to the cells; what one leaves out is as
    /// the keys above say. None for one link. Links of all cells stand before links of each cell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hop: Option<Vec<Hop>>,
}

/// One of the links between the mobile core and the cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hop {
    /// Whether this link leads to all cells, or each has its own.
    pub shared: bool,
    /// Rate of either direction.
    pub rate: Rate,
    /// Delay of either direction, beside serialisation.
    pub delay: Time,
    /// Bytes that may wait for either direction.
    pub queue: Size,
    /// What the queue of either direction drops or marks, and when.
    pub aqm: Aqm,
}

impl Backhaul {
    /// The links from the core to the cells, one after the other.
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
    /// Loss over distance.
    pub path_loss: PathLoss,
    /// What buildings and hills add to it.
    pub shadowing: Shadowing,
    /// Small-scale fading.
    pub fading: Fading,
    /// Bursts of interference, at each UE and each eNB its own.
    pub bursts: Bursts,
}

/// Loss over distance.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum PathLoss {
    /// Free space.
    Friis,
    /// A power of the distance.
    LogDistance(LogDistance),
    /// COST-231 Hata: made for 1.5 to 2 GHz and 1 to 20 km, nearer not below free space.
    #[serde(rename = "cost231-hata")]
    Cost231Hata(Cost231Hata),
    /// The macro cell of 3GPP TR 25.814, 128.1 dB + 37.6 dB log10(km), whatever the carrier.
    #[serde(rename = "tr25.814")]
    Tr25814,
    /// The cells of 3GPP TR 36.814, with and without line of sight.
    #[serde(rename = "tr36.814")]
    Tr36814(Tr36814),
}
tagged!(PathLoss by "kind" {
    "friis" => Friis,
    "log-distance" => LogDistance(LogDistance),
    "cost231-hata" => Cost231Hata(Cost231Hata),
    "tr25.814" => Tr25814,
    "tr36.814" => Tr36814(Tr36814),
});

/// Loss as a power of the distance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogDistance {
    /// Path-loss exponent.
    pub exponent: f64,
    /// Where the reference loss holds.
    pub reference_distance: Metres,
    /// Loss there.
    pub reference_loss: Gain,
}

/// Settings of COST-231 Hata.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cost231Hata {
    /// How densely it is built up.
    pub city: City,
}

/// How densely it is built up.
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
    /// Which of them.
    pub scene: Scene,
    /// Width of streets.
    pub street_width: Metres,
    /// Mean height of buildings.
    pub building_height: Metres,
}

/// A scene of TR 36.814 Table B.1.2.1-1.
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

/// What buildings and hills add to the path loss.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Shadowing {
    /// Nothing.
    None,
    /// A Gaussian number of dB, alike at places near each other.
    LogNormal(LogNormal),
}
tagged!(Shadowing by "kind" { "none" => None, "log-normal" => LogNormal(LogNormal) });

/// Settings of log-normal shadowing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogNormal {
    /// Standard deviation; none for that of the path-loss model, if it has one.
    pub deviation: Option<Gain>,
    /// Distance at which the correlation has fallen to 1/e; none for that of the path-loss model,
    /// if it has one.
    pub correlation_distance: Option<Metres>,
    /// Correlation between the sites that a UE hears. Cells at one position are one site.
    pub site_correlation: Share,
}

/// Small-scale fading: the tap-delay profiles of TS 36.104 Annex B.2, or simpler.
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
}
tagged!(Fading by "model" {
    "none" => None, "flat" => Flat(Multipath), "epa" => Epa(Multipath), "eva" => Eva(Multipath), "etu" => Etu(Multipath),
});

/// Settings of small-scale fading.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Multipath {
    /// Speed of the UE as the fading sees it: it makes the Doppler spread.
    pub speed: Speed,
    /// Distance between neighbouring resource blocks at which the profile is sampled.
    pub prb_spacing: Frequency,
}

/// Bursts of interference.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Bursts {
    /// None.
    None,
    /// Good and bad times that last exponentially (Gilbert 1960, Elliott 1963), told apart by SINR: what
    /// becomes of a block that is hit, HARQ and RLC decide.
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
    /// How far SINR falls in one at a UE.
    pub depth: Gain,
    /// How far SINR falls in one at an eNB; 0 dB if it hears none.
    pub uplink_depth: Gain,
}
