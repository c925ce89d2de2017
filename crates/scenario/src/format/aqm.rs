//! What queues drop or mark, and when.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tagged;
use crate::quantity::{Share, Size, Time};

/// What a queue drops or marks, and when. Each kind also drops what no longer fits.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Aqm {
    /// Nothing but what no longer fits.
    DropTail,
    /// Random early detection (Floyd and Jacobson 1993).
    Red(Red),
    /// Controlled delay (RFC 8289).
    Codel(Codel),
    /// Flow queues under controlled delay (RFC 8290).
    FqCodel(FqCodel),
    /// Proportional integral controller enhanced (RFC 8033).
    Pie(Pie),
}
tagged!(Aqm by "kind" {
    "drop-tail" => DropTail,
    "red" => Red(Red),
    "codel" => Codel(Codel),
    "fq-codel" => FqCodel(FqCodel),
    "pie" => Pie(Pie),
});

/// Settings of RED.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Red {
    /// Average length in packets from which on some are dropped.
    pub min_packets: u32,
    /// Average length in packets at which the share dropped reaches max_probability.
    pub max_packets: u32,
    /// What a new length counts in the average.
    pub weight: f64,
    /// Drop probability at max_packets.
    pub max_probability: Share,
    /// Whether the probability grows on above max_packets, to 1 at twice as many, or jumps to 1.
    pub gentle: bool,
    /// How long a typical packet takes to leave: by this the average falls while nothing waits.
    pub packet_time: Time,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
}

/// Settings of CoDel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Codel {
    /// The standing delay that is acceptable.
    pub target: Time,
    /// How long it must be exceeded before the first drop.
    pub interval: Time,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
}

/// Settings of FQ-CoDel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FqCodel {
    /// The standing delay of a flow that is acceptable.
    pub target: Time,
    /// How long it must be exceeded before the first drop.
    pub interval: Time,
    /// What a flow may send in a turn.
    pub quantum: Size,
    /// Packets of all flows that may wait, besides the queue's limit in bytes.
    pub packets: u32,
    /// Queues over which flows are hashed.
    pub queues: u32,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
}

/// Settings of PIE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pie {
    /// The delay that it aims at.
    pub target: Time,
    /// How often the drop probability is updated.
    pub update: Time,
    /// How long a burst is let through after a time without congestion.
    pub max_burst: Time,
    /// Weight of the distance from the target, per second.
    pub alpha: f64,
    /// Weight of the change since the last update, per second.
    pub beta: f64,
    /// Drop probability above which ECN-capable packets are dropped too.
    pub ecn_threshold: Share,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
}
