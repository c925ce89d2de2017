//! Checks of the rules of queues.

use airlane_core::{Bytes, Duration};

use super::{Checked, Place};
use crate::format::{Aqm, Codel, FqCodel, Pie, Red};
use crate::quantity::{Size, Time};

/// The least quantum: FQ-CoDel goes round its queues until one of them has earned a packet.
const QUANTUM_MIN: Size = Size(Bytes(64));
/// The shortest period of PIE; updates that were missed are made up for one by one.
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
    at.require(ordered, "max_packets", "not above min_packets", "above min_packets, such as three times it")?;
    let weight = red.weight > 0.0 && red.weight <= 1.0;
    at.require(weight, "weight", "no weight of an average", "above 0, at most 1")?;
    let probability = red.max_probability.0 > 0.0;
    at.require(probability, "max_probability", "nothing would ever be dropped", "above 0 %")?;
    at.positive(red.packet_time, "packet_time")
}

fn codel(target: Time, interval: Time, at: &Place<'_>) -> Checked {
    at.positive(target, "target")?;
    at.require(
        target < interval,
        "interval",
        "not above the target",
        "a worst-case round trip, above the target",
    )
}

fn fq_codel(fq: &FqCodel, at: &Place<'_>) -> Checked {
    codel(fq.target, fq.interval, at)?;
    at.at_least(fq.quantum, QUANTUM_MIN, "quantum", "too small for a turn")?;
    at.require(fq.packets > 0, "packets", "no packet may wait", "1 or more")?;
    let queues = (1..=65_536).contains(&fq.queues);
    at.require(queues, "queues", "no number of queues", "from 1 to 65536")
}

fn pie(pie: &Pie, at: &Place<'_>) -> Checked {
    at.positive(pie.target, "target")?;
    let help = format!("at least {UPDATE_MIN}");
    at.require(pie.update >= UPDATE_MIN, "update", "too short a period", &help)?;
    for (gain, key) in [(pie.alpha, "alpha"), (pie.beta, "beta")] {
        let ok = (0.0..=1000.0).contains(&gain);
        at.require(ok, key, "no gain of the controller", "from 0 to 1000 per second")?;
    }
    Ok(())
}
