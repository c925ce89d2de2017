//! Links next to the mobile network: accesses of UEs without a radio model.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::{Rate, Share, Size, Time};

/// A link between servers and hosts next to the mobile network, or next to `[internet]` in a wired network: the stand-in for
/// Wi-Fi or another access. All UEs that name it in `access` share it, and each has an address of its own there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccessLink {
    /// Name of the link.
    pub name: String,
    /// Downlink rate.
    pub rate: Rate,
    /// Uplink rate.
    pub uplink_rate: Rate,
    /// Propagation delay of either direction, from the servers to the hosts.
    pub delay: Time,
    /// Size of the downlink queue.
    pub queue: Size,
    /// Size of the uplink queue.
    pub uplink_queue: Size,
    /// Random loss on the downlink, of packets with payload.
    pub loss: Share,
    /// File of delivery opportunities in Mahimahi's format, which replaces the downlink rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// The same for the uplink.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uplink_trace: Option<String>,
    /// Intervals in which hosts are in coverage of the link; packets are lost outside of them, and no host is notified. By
    /// default, coverage is permanent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Vec<Interval>>,
}

/// An interval of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// Start.
    pub from: Time,
    /// End. By default, this is the end of the run.
    pub until: Option<Time>,
}
