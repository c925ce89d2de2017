//! Queue disciplines: from the format to those of `airlane_net`.

use airlane_core::Bytes;
use airlane_net::{Aqm, codel, fq_codel, pie, red};

use crate::format;

/// A full packet: a queue of at most this size is not a standing queue (RFC 8289 §4.2).
const MAX_PACKET: Bytes = Bytes(1500);

/// The discipline of a queue.
pub(crate) fn aqm(aqm: &format::Aqm) -> Aqm {
    match aqm {
        format::Aqm::DropTail => Aqm::DropTail,
        format::Aqm::Red(red) => Aqm::Red(red::Parameters {
            min_threshold: f64::from(red.min_packets),
            max_threshold: f64::from(red.max_packets),
            weight: red.weight,
            max_probability: red.max_probability.0,
            gentle: red.gentle,
            packet_time: red.packet_time.0,
            ecn: red.ecn,
        }),
        format::Aqm::Codel(codel) => Aqm::CoDel(codel::Parameters {
            target: codel.target.0,
            interval: codel.interval.0,
            max_packet: MAX_PACKET,
            ecn: codel.ecn,
        }),
        format::Aqm::FqCodel(fq) => Aqm::FqCoDel(fq_codel::Parameters {
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
        format::Aqm::Pie(pie) => Aqm::Pie(pie::Parameters {
            target: pie.target.0,
            update: pie.update.0,
            max_burst: pie.max_burst.0,
            alpha: pie.alpha,
            beta: pie.beta,
            ecn_threshold: pie.ecn_threshold.0,
            ecn: pie.ecn,
        }),
    }
}
