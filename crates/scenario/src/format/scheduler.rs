//! The scheduler of a cell: its policies and their settings.

use airlane_ran::config::{self, PrioritySetConfig, SchedulerKind};
use airlane_ran::scheduler::OwnScheduler;
use airlane_settings::{Checked, Place};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tagged;
use crate::quantity::Rate;

/// The scheduler of the MAC.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind")]
pub enum Scheduler {
    /// Proportional fair.
    #[serde(rename = "pf")]
    ProportionalFair(ProportionalFair),
    /// Round robin.
    #[serde(rename = "rr")]
    RoundRobin,
    /// Maximum throughput.
    #[serde(rename = "mt")]
    MaximumThroughput(MaximumThroughput),
    /// Blind equal throughput.
    #[serde(rename = "bet")]
    BlindEqualThroughput(BlindEqualThroughput),
    /// Throughput to average.
    #[serde(rename = "tta")]
    ThroughputToAverage,
    /// Priority set.
    #[serde(rename = "pss")]
    PrioritySet(PrioritySet),
    /// QoS: guaranteed bit rates first, then weighted delays.
    #[serde(rename = "qos")]
    Qos(QosScheduler),
    /// Your own policy, from Rust.
    #[serde(rename = "own")]
    Own(OwnPolicy),
}
tagged!(Scheduler by "kind" {
    "pf" => ProportionalFair(ProportionalFair),
    "rr" => RoundRobin,
    "mt" => MaximumThroughput(MaximumThroughput),
    "bet" => BlindEqualThroughput(BlindEqualThroughput),
    "tta" => ThroughputToAverage,
    "pss" => PrioritySet(PrioritySet),
    "qos" => Qos(QosScheduler),
    "own" => Own(OwnPolicy),
});

impl Scheduler {
    /// The policy; `own` finds a policy of the user by its name.
    pub fn kind(&self, own: impl Fn(&str) -> OwnScheduler) -> SchedulerKind {
        match self {
            Self::ProportionalFair(pf) => SchedulerKind::ProportionalFair { window: pf.window },
            Self::RoundRobin => SchedulerKind::RoundRobin,
            Self::MaximumThroughput(mt) => SchedulerKind::MaximumThroughput { domain: mt.domain.of_mac() },
            Self::BlindEqualThroughput(bet) => {
                SchedulerKind::BlindEqualThroughput { domain: bet.domain.of_mac(), window: bet.window }
            }
            Self::ThroughputToAverage => SchedulerKind::ThroughputToAverage,
            Self::PrioritySet(pss) => SchedulerKind::PrioritySet(PrioritySetConfig {
                window: pss.window,
                target: pss.target.0,
                multiplexed: pss.multiplexed.unwrap_or(0),
                metric: match pss.metric {
                    FrequencyMetric::PfSch => config::FrequencyMetric::ProportionalFairScheduled,
                    FrequencyMetric::CoIta => config::FrequencyMetric::CarrierToAverage,
                },
            }),
            Self::Qos(qos) => SchedulerKind::Qos { window: qos.window },
            Self::Own(policy) => SchedulerKind::Own(own(&policy.policy)),
        }
    }

    /// The rules of the keys of a scheduler.
    pub(crate) fn check(&self, at: &Place<'_>) -> Checked {
        if let Self::PrioritySet(pss) = self {
            let help = "it must be 1 or more; leave it out for half of the UEs";
            at.require(pss.multiplexed != Some(0), "multiplexed", "no UE would be scheduled", help)?;
        }
        let ok = self.window().is_none_or(|window| (2..=1_000_000).contains(&window));
        at.require(ok, "window", "out of range", "it must be from 2 to 1000000 slots")
    }

    /// The averaging window in slots, if the policy has one.
    const fn window(&self) -> Option<u32> {
        match self {
            Self::ProportionalFair(ProportionalFair { window })
            | Self::BlindEqualThroughput(BlindEqualThroughput { window, .. })
            | Self::PrioritySet(PrioritySet { window, .. })
            | Self::Qos(QosScheduler { window }) => Some(*window),
            Self::RoundRobin | Self::MaximumThroughput(_) | Self::ThroughputToAverage | Self::Own(_) => None,
        }
    }
}

/// Settings of the proportional-fair scheduler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProportionalFair {
    /// Number of slots of 1 ms over which the past throughput is averaged.
    pub window: u32,
}

/// Settings of the maximum-throughput scheduler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MaximumThroughput {
    /// How the resource blocks of a slot are allocated.
    pub domain: SchedulerDomain,
}

/// Settings of the scheduler of blind equal throughput.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BlindEqualThroughput {
    /// How the resource blocks of a slot are allocated.
    pub domain: SchedulerDomain,
    /// Number of slots of 1 ms over which the past throughput is averaged.
    pub window: u32,
}

/// How a scheduler allocates the resource blocks of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SchedulerDomain {
    /// Each resource block group is allocated separately.
    Frequency,
    /// One UE after another, each with as many resource blocks as it needs.
    Time,
}

/// Settings of the priority-set scheduler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrioritySet {
    /// Number of slots of 1 ms over which the past throughput is averaged.
    pub window: u32,
    /// Target bit rate of each UE, including headers.
    pub target: Rate,
    /// Maximum number of UEs in a slot. By default, this is half of the UEs with queued data.
    pub multiplexed: Option<u16>,
    /// Metric of the frequency-domain allocation.
    pub metric: FrequencyMetric,
}

/// How the priority-set scheduler ranks UEs on a group of resource blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FrequencyMetric {
    /// By proportional fairness over the slots in which the UE was a candidate.
    PfSch,
    /// By the channel quality there, relative to the mean over the band.
    CoIta,
}

/// Settings of the QoS scheduler: bytes within guaranteed bit rates come first, in the order of the priority levels of their
/// QoS classes; all others are divided by modified largest weighted delay first (Andrews et al., IEEE Communications Magazine
/// 39(2), 2001).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QosScheduler {
    /// Number of slots of 1 ms over which the past throughput is averaged.
    pub window: u32,
}

/// Your own policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnPolicy {
    /// Its name, by which a program in Rust passes it to the run.
    pub policy: String,
}

impl SchedulerDomain {
    const fn of_mac(self) -> config::SchedulerDomain {
        match self {
            Self::Frequency => config::SchedulerDomain::Frequency,
            Self::Time => config::SchedulerDomain::Time,
        }
    }
}
