//! The path between server and UE: internet, backhaul, and the radio channel.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Aqm;
use crate::quantity::{Rate, Share, Size, Time};

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
    /// Changes of the uplink rate. By default, there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uplink_rate_steps: Option<Vec<RateStep>>,
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
