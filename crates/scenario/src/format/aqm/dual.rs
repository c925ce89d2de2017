//! Settings of DualPI2.

use airlane_net::dualpi2;
use airlane_settings::{Checked, Place};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check_controller;
use crate::quantity::{Share, Time};

/// Settings of DualPI2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dualpi2 {
    /// Largest round-trip time at which the controller must be stable. Sets the target, update, alpha and
    /// beta that are not given, as Linux's `tc` does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rtt: Option<Time>,
    /// Typical round-trip time, which is then the target; without it, a sixth of max_rtt. Needs max_rtt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub typical_rtt: Option<Time>,
    /// Target queueing delay of the controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Time>,
    /// Interval between updates of the base probability.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update: Option<Time>,
    /// Weight of the difference between the delay and the target, per second, for one update.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// Weight of the change of the delay since the last update, per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beta: Option<f64>,
    /// Factor between the base probability and the probability of marks in the L4S queue (k). Classic packets
    /// are dropped or marked with the square of the base probability.
    pub coupling: f64,
    /// Which packets enter the L4S queue.
    pub classifier: Classifier,
    /// Delay of the L4S queue above which its packets are marked.
    pub threshold: Time,
    /// Range above threshold over which the probability of marks increases from 0 to 1. With "0 ms" it is a
    /// step. Not used with delay = "predicted".
    pub ramp: Time,
    /// The delay marks a packet only if the L4S queue has more packets than this, with the packet itself.
    pub min_packets: u32,
    /// Measure of the delay of the L4S queue.
    pub delay: L4sDelay,
    /// Time over which the rate of a prediction is measured.
    pub window: Time,
    /// Which queue is served while both have packets.
    pub scheduler: DualScheduler,
    /// Share of the classic queue under weighted round robin while both queues have packets.
    pub classic_share: Share,
    /// Time by which packets of the L4S queue count as older in a time-shifted FIFO.
    pub shift: Time,
    /// What happens while marks alone cannot control the L4S queue.
    pub overload: DualOverload,
    /// Maximum number of packets in both queues together, in addition to the limit in bytes.
    pub packets: u32,
}

/// Which packets enter the L4S queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Classifier {
    /// Packets with ECT(1) or CE.
    Ect1,
    /// All ECN-capable packets.
    AnyEct,
}

/// The delay of the L4S queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum L4sDelay {
    /// The time that a packet has waited when it leaves.
    Sojourn,
    /// The time that a packet that arrives will probably wait: the backlog over the rate at which the queue
    /// was served, as L4Span predicts it (arXiv 2510.02682). The standard deviation of this rate takes the
    /// place of the ramp.
    Predicted,
}

/// Which queue is served while both have packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DualScheduler {
    /// Both, with classic_share for the classic queue.
    WeightedRoundRobin,
    /// The one whose oldest packet is older; packets of the L4S queue count as older by shift.
    TimeShiftedFifo,
}

/// What happens while marks alone cannot control the L4S queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DualOverload {
    /// Packets of both queues are dropped with the square of the base probability.
    Drop,
    /// Packets of the L4S queue are dropped only when the queues are full.
    Overflow,
}

impl Dualpi2 {
    /// The parameters of the discipline.
    pub(super) fn parameters(&self) -> dualpi2::Parameters {
        dualpi2::Parameters {
            gains: self.gains(),
            coupling: self.coupling,
            threshold: self.threshold.0,
            ramp: self.ramp.0,
            min_packets: self.min_packets as usize,
            delay: match self.delay {
                L4sDelay::Sojourn => dualpi2::Delay::Sojourn,
                L4sDelay::Predicted => dualpi2::Delay::Predicted { window: self.window.0 },
            },
            scheduler: match self.scheduler {
                DualScheduler::WeightedRoundRobin => {
                    dualpi2::Scheduler::WeightedRoundRobin { classic: self.classic_share.0 }
                }
                DualScheduler::TimeShiftedFifo => dualpi2::Scheduler::TimeShiftedFifo { shift: self.shift.0 },
            },
            overload: match self.overload {
                DualOverload::Drop => dualpi2::Overload::Drop,
                DualOverload::Overflow => dualpi2::Overload::Overflow,
            },
            packets: self.packets as usize,
            any_ect: self.classifier == Classifier::AnyEct,
        }
    }

    /// The controller: what is given, the rest from the round-trip times, or the defaults.
    fn gains(&self) -> dualpi2::Gains {
        let derived = match self.max_rtt {
            Some(max) => dualpi2::Gains::for_round_trips(max.0, self.typical_rtt.map(|typical| typical.0)),
            None => dualpi2::Gains::default(),
        };
        dualpi2::Gains {
            target: self.target.map_or(derived.target, |target| target.0),
            update: self.update.map_or(derived.update, |update| update.0),
            alpha: self.alpha.unwrap_or(derived.alpha),
            beta: self.beta.unwrap_or(derived.beta),
        }
    }

    /// Checks the settings.
    pub(super) fn check(&self, at: &Place<'_>) -> Checked {
        self.check_round_trips(at)?;
        let dualpi2::Gains { target, update, alpha, beta } = self.gains();
        at.positive(Time(target), "target")?;
        check_controller(Time(update), [alpha, beta], at)?;
        let coupling = (0.1..=100.0).contains(&self.coupling);
        at.require(coupling, "coupling", "out of range", "it must be from 0.1 to 100")?;
        at.require(self.packets > 0, "packets", "the queues would hold no packet", "it must be 1 or more")?;
        if self.delay == L4sDelay::Predicted {
            at.positive(self.threshold, "threshold")?;
            let window = self.window >= WINDOW_MIN;
            let help = format!("it must be at least {WINDOW_MIN}");
            at.require(window, "window", "too short to measure a rate", &help)?;
        }
        Ok(())
    }

    fn check_round_trips(&self, at: &Place<'_>) -> Checked {
        let Some(typical) = self.typical_rtt else {
            return self.max_rtt.map_or(Ok(()), |max| check_max(max, at));
        };
        at.positive(typical, "typical_rtt")?;
        let help = "give `max_rtt` too";
        let Some(max) = self.max_rtt else { return at.fail("typical_rtt", "`max_rtt` is missing", help) };
        check_max(max, at)?;
        let help = format!("it must be at most {max}, `max_rtt`");
        at.require(typical <= max, "typical_rtt", "above `max_rtt`", &help)
    }
}

/// The minimum window of a prediction: eight samples of a slot of LTE.
const WINDOW_MIN: Time = Time(airlane_core::Duration::from_millis(8));
/// The minimum of `max_rtt`; the update period is a third or less.
const MAX_RTT_MIN: Time = Time(airlane_core::Duration::from_millis(6));

fn check_max(max: Time, at: &Place<'_>) -> Checked {
    at.require(max >= MAX_RTT_MIN, "max_rtt", "too short", &format!("it must be at least {MAX_RTT_MIN}"))
}
