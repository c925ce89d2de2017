//! Faults of a radio network information service, for experiments and tests.

use std::collections::BTreeMap;

use airlane_core::{Duration, FlowId, Instant, Stream};
use airlane_net::rni::UeRecord;

/// A fault of the service.
#[derive(Clone, Debug)]
pub enum RnisFault {
    /// The service sends nothing.
    Silent {
        /// The start.
        from: Instant,
        /// The end; [`Instant::FAR_FUTURE`] for none.
        until: Instant,
    },
    /// The notifications of the service are delayed.
    Late {
        /// The start.
        from: Instant,
        /// The delay.
        by: Duration,
    },
    /// A share of its notifications leaves after the next one.
    Reorders(f64),
    /// The notifications of the service name another UE.
    WrongUe {
        /// The start.
        from: Instant,
    },
    /// A share of its notifications is damaged.
    Nonsense(f64),
}

/// The state of a fault.
#[derive(Debug)]
pub(super) struct Faulty {
    fault: RnisFault,
    chance: Stream,
    /// Notifications that wait for the next one to the same server.
    kept: BTreeMap<FlowId, Vec<u8>>,
}

impl Faulty {
    pub(super) const fn new(fault: RnisFault, chance: Stream) -> Self {
        Self { fault, chance, kept: BTreeMap::new() }
    }

    pub(super) fn is_silent(&self, now: Instant) -> bool {
        matches!(self.fault, RnisFault::Silent { from, until } if from <= now && now < until)
    }

    /// The time when a notification made now leaves.
    pub(super) fn leaves_at(&self, now: Instant) -> Instant {
        match self.fault {
            RnisFault::Late { from, by } if from <= now => now.saturating_add(by),
            _ => now,
        }
    }

    /// The notification with the fault.
    pub(super) fn say(&mut self, now: Instant, record: &UeRecord, number: u32) -> Vec<u8> {
        match self.fault {
            RnisFault::WrongUe { from } if from <= now => {
                let [a, b, c, d] = record.ue;
                UeRecord { ue: [a, b, c, d ^ 0x80], ..*record }.encode(number)
            }
            RnisFault::Nonsense(share) if self.chance.chance(share) => {
                let mut bytes = record.encode(number);
                self.damage(&mut bytes);
                bytes
            }
            _ => record.encode(number),
        }
    }

    /// Truncates the bytes, changes some, makes a number too large, or replaces them.
    fn damage(&mut self, bytes: &mut Vec<u8>) {
        let length = bytes.len() as u64;
        match self.chance.below(4) {
            0 => bytes.truncate(self.chance.below(length) as usize),
            1 => {
                for _ in 0..=self.chance.below(8) {
                    let at = self.chance.below(length) as usize;
                    bytes[at] = self.chance.below(256) as u8;
                }
            }
            2 => {
                let text = String::from_utf8_lossy(bytes).replace("Bytes\":", "Bytes\":99999999999999999999");
                *bytes = text.into_bytes();
            }
            _ => {
                bytes.clear();
                (0..self.chance.below(600)).for_each(|_| bytes.push(self.chance.below(256) as u8));
            }
        }
    }

    /// The notifications that leave instead of one to this server, in order.
    pub(super) fn order(&mut self, flow: FlowId, bytes: Vec<u8>) -> impl Iterator<Item = Vec<u8>> {
        let mut leaving = [Some(bytes), None];
        if let RnisFault::Reorders(share) = self.fault {
            leaving[1] = self.kept.remove(&flow);
            if leaving[1].is_none() && self.chance.chance(share) {
                self.kept.insert(flow, leaving[0].take().expect("it was just put there"));
            }
        }
        leaving.into_iter().flatten()
    }
}
