//! Handover: measurements of UEs, and the duration of each step.

use airlane_ran::bearer;
use airlane_ran::rrc::handover::HandoverConfig;
use airlane_ran::rrc::measurement::{EventA3, MeasurementConfig};
use airlane_ran::rrc::quality::{self, QualityRule, Reported};
use airlane_ran::rrc::radio_link::RadioLinkConfig;
use airlane_ran::rrc::random_access;
use airlane_ran::x2::{FRESH_LIMIT, X2Config};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tagged;
use crate::quantity::{Gain, Share, Time};

/// How UEs are handed over from cell to cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Handover {
    /// What happens to packets that were sent and not confirmed.
    pub mode: HandoverMode,
    /// Rule by which a UE is handed over.
    pub algorithm: HandoverAlgorithm,
    /// a3-Offset: how much better than the serving cell a neighbour must be (event A3). From -15 dB to 15 dB
    /// in steps of 0.5 dB.
    pub a3_offset: Gain,
    /// Hysteresis: added to the offset to enter event A3, subtracted to leave it. From 0 dB to 15 dB in steps
    /// of 0.5 dB.
    pub hysteresis: Gain,
    /// timeToTrigger: how long the condition of event A3 must hold.
    pub time_to_trigger: Time,
    /// Layer 3 filter coefficient: the weight of a new sample is 2^(-l3_filter/4).
    pub l3_filter: u8,
    /// Interval between layer 1 samples.
    pub measurement_period: Time,
    /// reportInterval: interval between repeated reports of event A3 while the neighbour stays better.
    pub report_interval: Time,
    /// Delay from a measurement report to its reception at the eNB.
    pub report_delay: Time,
    /// Processing time of a HANDOVER REQUEST in the target eNB, in addition to the delay of X2.
    pub preparation: Time,
    /// Delay from the target's response to the reception of the handover command at the UE.
    pub command_delay: Time,
    /// Delay from the handover command to the end of random access at the target. If `random_access` is
    /// `occasions`, to its beginning.
    pub interruption: Time,
    /// Random access at the target.
    pub random_access: RandomAccess,
    /// Whether radio link failures and re-establishments of the RRC connection are modelled.
    pub radio_link_failure: bool,
    /// N310: number of consecutive out-of-sync indications that start T310.
    pub n310: u8,
    /// N311: number of consecutive in-sync indications that stop T310.
    pub n311: u8,
    /// T310: time from N310 out-of-sync indications to radio link failure.
    pub t310: Time,
    /// T304: maximum duration of a handover. It must be longer than `interruption` with random access, and than
    /// a round trip over X2.
    pub t304: Time,
    /// T311: how long a UE searches for a cell to re-establish its connection.
    pub t311: Time,
    /// T301: how long a UE waits for the response of that cell.
    pub t301: Time,
    /// Duration of one search for a cell. It must not be longer than `t311`.
    pub cell_search: Time,
}

/// Rule by which a UE is handed over.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum HandoverAlgorithm {
    /// Event A3: the RSRP of a neighbour is better than that of the serving cell. The keys are `a3_offset`,
    /// `hysteresis`, `time_to_trigger` and `report_interval`.
    A3Rsrp,
    /// Events A2 and A4, as ns-3's A2A4RsrqHandoverAlgorithm: the RSRQ of the serving cell is below a threshold,
    /// and the best neighbour is better.
    A2A4Rsrq(A2A4Rsrq),
}
tagged!(HandoverAlgorithm by "kind" { "a3-rsrp" => A3Rsrp, "a2-a4-rsrq" => A2A4Rsrq(A2A4Rsrq) });

/// Handover by RSRQ. Values are reported values: 0 below -19.5 dB, then steps of 0.5 dB, 34 from -3 dB on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct A2A4Rsrq {
    /// A UE is handed over only while the RSRQ of its serving cell is below this value; of 30, -5 dB.
    #[schemars(range(max = 34))]
    pub serving_threshold: u8,
    /// How much greater than the value of the serving cell the value of the best neighbour must be.
    #[schemars(range(max = 34))]
    pub neighbour_offset: u8,
    /// Resource elements that count in RSSI, the denominator of RSRQ.
    pub rssi: Rssi,
}

/// Resource elements that count in RSSI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rssi {
    /// All elements of the measured symbols (TS 36.214 section 5.1.3): RSRQ decreases with the load of the cells.
    All,
    /// The elements of the reference signals of one antenna port, as in ns-3: RSRQ does not depend on load.
    ReferenceSignals,
}

/// Random access at the target of a handover.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum RandomAccess {
    /// Its duration is constant and a part of `interruption`.
    Included,
    /// The UE waits for an occasion of the PRACH, then for the response.
    Occasions(Occasions),
}
tagged!(RandomAccess by "kind" { "included" => Included, "occasions" => Occasions(Occasions) });

/// Random access that waits for occasions of the PRACH. The frames of the target begin at any time relative to
/// the handover, so the wait for the first occasion has a uniform distribution over `period`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Occasions {
    /// Time from an occasion of the PRACH to the next.
    pub period: Time,
    /// Time from the beginning of a preamble that is answered until the target has the UE's
    /// RRCConnectionReconfigurationComplete (LTE) or RRCReconfigurationComplete (NR).
    pub completion: Time,
    /// Time from the beginning of a preamble without a response until the UE may send the next, in the first
    /// occasion from then on.
    pub retry: Time,
}

/// What happens to packets at a handover.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HandoverMode {
    /// RLC AM: unconfirmed packets are forwarded and sent again.
    Lossless,
    /// RLC AM: packets that were sent and not confirmed are dropped. The other packets are forwarded.
    Seamless,
    /// RLC UM: packets that were sent are dropped. The other packets are forwarded.
    SeamlessUm,
}

/// The X2 link between any two cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct X2 {
    /// Delay of either direction.
    pub delay: Time,
    /// Maximum additional delay of a forwarded packet, uniformly distributed: packets can overtake each other.
    pub jitter: Time,
    /// Random loss of forwarded packets.
    pub loss: Share,
}

impl Handover {
    /// The measurement configuration.
    pub fn measurements(&self) -> MeasurementConfig {
        MeasurementConfig {
            period: self.measurement_period.0,
            filter_coefficient: self.l3_filter,
            event: EventA3 {
                offset: self.a3_offset.0,
                hysteresis: self.hysteresis.0,
                time_to_trigger: self.time_to_trigger.0,
            },
            report_interval: self.report_interval.0,
            quality: match &self.algorithm {
                HandoverAlgorithm::A3Rsrp => None,
                HandoverAlgorithm::A2A4Rsrq(rule) => Some(QualityRule {
                    serving_threshold: Reported(rule.serving_threshold),
                    neighbour_offset: rule.neighbour_offset,
                    rssi: match rule.rssi {
                        Rssi::All => quality::Rssi::AllElements,
                        Rssi::ReferenceSignals => quality::Rssi::ReferenceSignals,
                    },
                }),
            },
        }
    }

    /// The handover configuration, with these links between cells.
    pub fn config(&self, x2: &X2) -> HandoverConfig {
        HandoverConfig {
            mode: self.mode.config(),
            x2: X2Config { delay: x2.delay.0, jitter: x2.jitter.0, loss: x2.loss.0, fresh: FRESH_LIMIT },
            report: self.report_delay.0,
            preparation: self.preparation.0,
            command: self.command_delay.0,
            interruption: self.interruption.0,
            occasions: match &self.random_access {
                RandomAccess::Included => None,
                RandomAccess::Occasions(one) => Some(random_access::Occasions {
                    period: one.period.0,
                    completion: one.completion.0,
                    retry: one.retry.0,
                }),
            },
            radio_link: self.radio_link_failure.then(|| RadioLinkConfig {
                n310: self.n310,
                n311: self.n311,
                t310: self.t310.0,
                t304: self.t304.0,
                t311: self.t311.0,
                t301: self.t301.0,
                search: self.cell_search.0,
                ..RadioLinkConfig::default()
            }),
        }
    }
}

impl HandoverMode {
    /// The mode of `airlane_ran`.
    pub const fn config(self) -> bearer::HandoverMode {
        match self {
            Self::Lossless => bearer::HandoverMode::Lossless,
            Self::Seamless => bearer::HandoverMode::Seamless,
            Self::SeamlessUm => bearer::HandoverMode::SeamlessUm,
        }
    }
}
