//! Links next to the mobile network: accesses of UEs without a radio model.

use airlane_net::Stripped;
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
    /// How long after the beginning and the end of an interval of `coverage` hosts are notified of it. Then a connection
    /// over Multipath TCP removes the subflow there and its address, or opens a new subflow. Shorter gaps are not noticed. By
    /// default, hosts are not notified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<Time>,
    /// How long before the end of an interval of `coverage` hosts are warned, as by a weak signal. Then a connection over
    /// Multipath TCP makes the subflow there a backup. Needs `notice`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<Time>,
    /// The segments from which a middlebox on the link removes the options of Multipath TCP, in both directions. By default,
    /// there is no such middlebox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strip: Option<Strip>,
}

/// Segments without the options of Multipath TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Strip {
    /// Segments with the flag SYN.
    Syn,
    /// Segments with payload.
    Data,
    /// All segments.
    All,
}

impl Strip {
    /// The same for the middlebox.
    #[must_use]
    pub const fn stripped(self) -> Stripped {
        match self {
            Self::Syn => Stripped::Syn,
            Self::Data => Stripped::Data,
            Self::All => Stripped::All,
        }
    }
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
