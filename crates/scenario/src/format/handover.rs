//! Handover: what UEs measure, and how long each step takes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::{Gain, Time};

/// How UEs are handed over from cell to cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Handover {
    /// What becomes of packets that were sent and not confirmed.
    pub mode: HandoverMode,
    /// By how much a neighbour has to be better than the serving cell (event A3): -15 dB to 15 dB in
    /// steps of 0.5 dB.
    pub a3_offset: Gain,
    /// What is added to that to enter, and taken off to leave: 0 dB to 15 dB in steps of 0.5 dB.
    pub hysteresis: Gain,
    /// How long it has to be so.
    pub time_to_trigger: Time,
    /// Layer 3 filter: a new sample weighs 2^(-l3_filter/4).
    pub l3_filter: u8,
    /// How often layer 1 gives a sample.
    pub measurement_period: Time,
    /// How soon a report is repeated while the neighbour stays better.
    pub report_interval: Time,
    /// From a measurement report until the eNB has it.
    pub report_delay: Time,
    /// What the target takes to answer a HANDOVER REQUEST, beside the delay of X2.
    pub preparation: Time,
    /// From the target's answer until the UE has its order.
    pub command_delay: Time,
    /// From then until the UE has done random access to the target.
    pub interruption: Time,
    /// Whether a UE can lose its radio link, and has to have its connection re-established.
    pub radio_link_failure: bool,
    /// Out-of-sync indications in a row that start T310.
    pub n310: u8,
    /// In-sync indications in a row that stop it.
    pub n311: u8,
    /// How long a link may stay bad.
    pub t310: Time,
    /// How long a handover may take. It is longer than the interruption and than X2 there and back.
    pub t304: Time,
    /// How long a UE looks for a cell that re-establishes its connection.
    pub t311: Time,
}

/// What becomes of packets at a handover.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HandoverMode {
    /// RLC AM: what is not confirmed is forwarded and sent again.
    Lossless,
    /// RLC AM: what was sent and is not confirmed is dropped, the rest is forwarded.
    Seamless,
    /// RLC UM: the same.
    SeamlessUm,
}

/// The link between any two cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct X2 {
    /// Delay of either direction.
    pub delay: Time,
}
