//! Queue disciplines: which packets a queue drops or marks, and when. Their settings, the checks of these, and
//! from them to `airlane_net`.

use airlane_core::{Bytes, Duration};
use airlane_net::{abc, codel, fq_codel, pie, red};
use airlane_settings::{Checked, Place};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tagged;
use crate::quantity::{Share, Size, Time};

mod dual;
pub use dual::*;

/// A full packet: a queue of at most this size is not a standing queue (RFC 8289 §4.2).
const MAX_PACKET: Bytes = Bytes(1500);
/// The minimum quantum: FQ-CoDel repeats its round until a queue has enough credit for a packet.
const QUANTUM_MIN: Size = Size(Bytes(64));
/// The minimum period of PIE; missed updates are computed one by one.
const UPDATE_MIN: Time = Time(Duration::from_millis(1));

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
    /// Two coupled queues, for L4S and for classic traffic (RFC 9332).
    Dualpi2(Dualpi2),
    /// Marks of ABC, by which a flow with congestion = "abc" follows the capacity of the link (Goyal et al. 2020).
    Abc(Abc),
}
tagged!(Aqm by "kind" {
    "drop-tail" => DropTail,
    "red" => Red(Red),
    "codel" => Codel(Codel),
    "fq-codel" => FqCodel(FqCodel),
    "pie" => Pie(Pie),
    "dualpi2" => Dualpi2(Dualpi2),
    "abc" => Abc(Abc),
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

/// Settings of ABC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Abc {
    /// Queueing delay up to which the target rate is that of an empty queue.
    pub target: Time,
    /// The time in which the queue beyond `target` should leave. A longer time has smoother rates and longer queues.
    pub delta: Time,
    /// The share of the capacity that is the target rate of an empty queue.
    pub utilisation: Share,
}

impl Aqm {
    /// The discipline of a queue.
    pub fn discipline(&self) -> airlane_net::Aqm {
        match self {
            Self::DropTail => airlane_net::Aqm::DropTail,
            Self::Red(red) => airlane_net::Aqm::Red(red::Parameters {
                min_threshold: f64::from(red.min_packets),
                max_threshold: f64::from(red.max_packets),
                weight: red.weight,
                max_probability: red.max_probability.0,
                gentle: red.gentle,
                packet_time: red.packet_time.0,
                ecn: red.ecn,
            }),
            Self::Codel(codel) => airlane_net::Aqm::CoDel(codel::Parameters {
                target: codel.target.0,
                interval: codel.interval.0,
                max_packet: MAX_PACKET,
                ecn: codel.ecn,
            }),
            Self::FqCodel(fq) => airlane_net::Aqm::FqCoDel(fq_codel::Parameters {
                quantum: fq.quantum.0,
                packets: fq.packets as usize,
                queues: fq.queues,
                codel: codel::Parameters {
                    target: fq.target.0,
                    interval: fq.interval.0,
                    max_packet: MAX_PACKET,
                    ecn: fq.ecn,
                },
            }),
            Self::Pie(pie) => airlane_net::Aqm::Pie(pie::Parameters {
                target: pie.target.0,
                update: pie.update.0,
                max_burst: pie.max_burst.0,
                alpha: pie.alpha,
                beta: pie.beta,
                ecn_threshold: pie.ecn_threshold.0,
                ecn: pie.ecn,
            }),
            Self::Dualpi2(rule) => airlane_net::Aqm::DualPi2(rule.parameters()),
            Self::Abc(abc) => airlane_net::Aqm::Abc(abc::Parameters {
                target: abc.target.0,
                delta: abc.delta.0,
                utilisation: abc.utilisation.0,
            }),
        }
    }

    /// Checks the settings.
    pub(crate) fn check(&self, at: &Place<'_>) -> Checked {
        match self {
            Self::DropTail => Ok(()),
            Self::Red(rule) => check_red(rule, at),
            Self::Codel(Codel { target, interval, .. }) => check_codel(*target, *interval, at),
            Self::FqCodel(rule) => check_fq_codel(rule, at),
            Self::Pie(rule) => check_pie(rule, at),
            Self::Dualpi2(rule) => rule.check(at),
            Self::Abc(rule) => check_abc(rule, at),
        }
    }
}

fn check_red(red: &Red, at: &Place<'_>) -> Checked {
    let ordered = red.min_packets < red.max_packets;
    at.require(
        ordered,
        "max_packets",
        "not above min_packets",
        "it must be above min_packets, such as three times min_packets",
    )?;
    let weight = red.weight > 0.0 && red.weight <= 1.0;
    at.require(weight, "weight", "out of range", "it must be above 0 and at most 1")?;
    let probability = red.max_probability.0 > 0.0;
    at.require(probability, "max_probability", "RED would drop no packet", "it must be above 0 %")?;
    at.positive(red.packet_time, "packet_time")
}

fn check_codel(target: Time, interval: Time, at: &Place<'_>) -> Checked {
    at.positive(target, "target")?;
    at.require(
        target < interval,
        "interval",
        "not above `target`",
        "it must be above `target`: the longest expected round-trip time",
    )
}

fn check_fq_codel(fq: &FqCodel, at: &Place<'_>) -> Checked {
    check_codel(fq.target, fq.interval, at)?;
    at.at_least(fq.quantum, QUANTUM_MIN, "quantum", "too small")?;
    at.require(fq.packets > 0, "packets", "the queue would hold no packet", "it must be 1 or more")?;
    let queues = (1..=65_536).contains(&fq.queues);
    at.require(queues, "queues", "out of range", "it must be from 1 to 65536")
}

fn check_pie(pie: &Pie, at: &Place<'_>) -> Checked {
    at.positive(pie.target, "target")?;
    check_controller(pie.update, [pie.alpha, pie.beta], at)
}

fn check_abc(abc: &Abc, at: &Place<'_>) -> Checked {
    at.positive(abc.target, "target")?;
    at.positive(abc.delta, "delta")?;
    let some = abc.utilisation.0 > 0.0;
    at.require(some, "utilisation", "the target rate would be zero", "it must be above 0 %")
}

/// The update period and the gains, alpha and beta, of a proportional integral controller.
fn check_controller(update: Time, gains: [f64; 2], at: &Place<'_>) -> Checked {
    let help = format!("it must be at least {UPDATE_MIN}");
    at.require(update >= UPDATE_MIN, "update", "the period is too short", &help)?;
    for (gain, key) in gains.into_iter().zip(["alpha", "beta"]) {
        let ok = (0.0..=1000.0).contains(&gain);
        at.require(ok, key, "out of range", "it must be from 0 to 1000 per second")?;
    }
    Ok(())
}
