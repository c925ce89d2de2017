//! Checks of queue disciplines.

use airlane_core::{Bytes, Duration};

use super::{Checked, Place};
use crate::format::{Aqm, Codel, FqCodel, Pie, Red};
use crate::quantity::{Size, Time};

/// The minimum quantum: FQ-CoDel repeats its round until a queue has enough credit for a packet.
const QUANTUM_MIN: Size = Size(Bytes(64));
/// The minimum period of PIE; missed updates are computed one by one.
const UPDATE_MIN: Time = Time(Duration::from_millis(1));

pub(super) fn aqm(aqm: &Aqm, at: &Place<'_>) -> Checked {
    match aqm {
        Aqm::DropTail => Ok(()),
        Aqm::Red(rule) => red(rule, at),
        Aqm::Codel(Codel { target, interval, .. }) => codel(*target, *interval, at),
        Aqm::FqCodel(rule) => fq_codel(rule, at),
        Aqm::Pie(rule) => pie(rule, at),
    }
}

fn red(red: &Red, at: &Place<'_>) -> Checked {
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

fn codel(target: Time, interval: Time, at: &Place<'_>) -> Checked {
    at.positive(target, "target")?;
    at.require(
        target < interval,
        "interval",
        "not above `target`",
        "it must be above `target`: the longest expected round-trip time",
    )
}

fn fq_codel(fq: &FqCodel, at: &Place<'_>) -> Checked {
    codel(fq.target, fq.interval, at)?;
    at.at_least(fq.quantum, QUANTUM_MIN, "quantum", "too small")?;
    at.require(fq.packets > 0, "packets", "the queue would hold no packet", "it must be 1 or more")?;
    let queues = (1..=65_536).contains(&fq.queues);
    at.require(queues, "queues", "out of range", "it must be from 1 to 65536")
}

fn pie(pie: &Pie, at: &Place<'_>) -> Checked {
    at.positive(pie.target, "target")?;
    let help = format!("it must be at least {UPDATE_MIN}");
    at.require(pie.update >= UPDATE_MIN, "update", "the period is too short", &help)?;
    for (gain, key) in [(pie.alpha, "alpha"), (pie.beta, "beta")] {
        let ok = (0.0..=1000.0).contains(&gain);
        at.require(ok, key, "out of range", "it must be from 0 to 1000 per second")?;
    }
    Ok(())
}
