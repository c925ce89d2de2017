//! Queue disciplines: which packets a queue drops or marks, and when.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tagged;
use crate::quantity::{Share, Size, Time};

/// Queue discipline: which packets are dropped or marked, and when. Every kind also drops packets that do not
/// fit into the queue.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Aqm {
    /// Drops only packets that do not fit into the queue.
    DropTail,
    /// Random early detection (Floyd and Jacobson 1993).
    Red(Red),
    /// Controlled delay (RFC 8289).
    Codel(Codel),
    /// Flow queueing with CoDel (RFC 8290).
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
    /// Average queue length in packets above which packets are dropped at random.
    pub min_packets: u32,
    /// Average queue length in packets at which the drop probability reaches max_probability.
    pub max_packets: u32,
    /// Weight of a new sample in the average queue length.
    pub weight: f64,
    /// Drop probability at max_packets.
    pub max_probability: Share,
    /// Whether the drop probability increases linearly above max_packets, to 1 at twice max_packets. If
    /// false, it is 1 above max_packets.
    pub gentle: bool,
    /// Transmission time of a typical packet. The average decreases at this rate while the queue is empty.
    pub packet_time: Time,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
}

/// Settings of CoDel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Codel {
    /// Acceptable standing queueing delay.
    pub target: Time,
    /// How long the delay must exceed `target` before the first drop.
    pub interval: Time,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
}

/// Settings of FQ-CoDel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FqCodel {
    /// Acceptable standing queueing delay of a flow.
    pub target: Time,
    /// How long the delay must exceed `target` before the first drop.
    pub interval: Time,
    /// Bytes that a flow may send in one round of the scheduler.
    pub quantum: Size,
    /// Maximum number of packets in all queues together, in addition to the limit in bytes.
    pub packets: u32,
    /// Number of queues. Flows are assigned to queues by a hash.
    pub queues: u32,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
}

/// Settings of PIE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pie {
    /// Target queueing delay.
    pub target: Time,
    /// Interval between updates of the drop probability.
    pub update: Time,
    /// Maximum length of a burst that passes without drops after a period without congestion.
    pub max_burst: Time,
    /// Weight of the difference between the delay and the target, per second.
    pub alpha: f64,
    /// Weight of the change of the delay since the last update, per second.
    pub beta: f64,
    /// Drop probability above which ECN-capable packets are also dropped.
    pub ecn_threshold: Share,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
}
