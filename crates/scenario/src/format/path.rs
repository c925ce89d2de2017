//! The way between server and UE: internet, backhaul, and the channel.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Aqm, tagged};
use crate::quantity::{Frequency, Gain, Metres, Rate, Share, Size, Speed, Time};

/// The link between the server and the mobile core, or, wired, the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Internet {
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
    /// What the downlink queue drops, and when.
    pub aqm: Aqm,
    /// Random loss on the downlink: the share of packets with payload.
    pub loss: Share,
    /// State at which a splitmix64 generator of its own begins to draw the loss, so that another
    /// program can lose the same packets; none to draw from the seed of the run.
    pub loss_seed: Option<u64>,
    /// Changes of the downlink rate.
    pub rate_steps: Vec<RateStep>,
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

/// A pause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// When it begins.
    pub at: Time,
    /// How long it lasts.
    pub duration: Time,
}

/// The link between the mobile core and the cells (S1-U).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Backhaul {
    /// Rate of either direction.
    pub rate: Rate,
    /// Delay of either direction, beside serialisation.
    pub delay: Time,
    /// Bytes that may wait for either direction.
    pub queue: Size,
}

/// Propagation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Channel {
    /// Loss over distance.
    pub path_loss: PathLoss,
    /// Small-scale fading.
    pub fading: Fading,
}

/// Loss over distance.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum PathLoss {
    /// Free space.
    Friis,
    /// A power of the distance.
    LogDistance(LogDistance),
}
tagged!(PathLoss by "kind" { "friis" => Friis, "log-distance" => LogDistance(LogDistance) });

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
