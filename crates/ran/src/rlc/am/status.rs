//! The content of STATUS PDUs (TS 36.322 v17.0 §6.2.1.6).

use airlane_core::ring::Ring;

use crate::rlc::StatusPdu;
use crate::rlc::window::Missing;

/// The content of one STATUS PDU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report<'a, N = Missing> {
    /// ACK_SN: all PDUs below it were received, except those listed.
    pub(crate) ack_sn: u32,
    listed: &'a Ring<N>,
    /// Start and end of its entries in the list.
    from: usize,
    to: usize,
}

impl<'a, N: Default> Report<'a, N> {
    /// The missing ranges, in the order of sequence numbers and bytes.
    pub(crate) fn nacks(&self) -> impl Iterator<Item = &'a N> + Clone + use<'a, N> {
        self.listed.iter_from(self.from).take(self.to - self.from)
    }
}

/// How many STATUS PDUs of one receiver can be on the air. There is at most one per millisecond,
/// with at most four HARQ transmissions 8 ms apart, so 32.
const ON_AIR: usize = 64;

/// Memory is reserved for this many missing ranges.
const NACKS_RESERVED: usize = 256;

/// A report without its entries.
#[derive(Clone, Copy, Debug, Default)]
struct Head {
    ack_sn: u32,
    nacks: u32,
}

/// The reports of the last `N` STATUS PDUs, which may still arrive.
#[derive(Debug)]
pub(crate) struct Reports<K = Missing, const N: usize = ON_AIR> {
    heads: Ring<Head>,
    /// Their entries, one report after the other.
    listed: Ring<K>,
    /// The serial number of the next report.
    next_serial: u32,
    /// The report that is being written.
    open: Head,
}

impl<K: Default, const N: usize> Default for Reports<K, N> {
    fn default() -> Self {
        let (heads, listed) = (Ring::new(N), Ring::new(NACKS_RESERVED));
        Self { heads, listed, next_serial: 0, open: Head::default() }
    }
}

impl<K: Default, const N: usize> Reports<K, N> {
    /// Begins the next report, replacing the oldest.
    pub(crate) fn begin(&mut self) {
        self.listed.warm_up();
        if self.heads.len() == N {
            let oldest = self.heads.pop_front().expect("as many as can be on the air");
            for _ in 0..oldest.nacks {
                self.listed.pop_front();
            }
        }
        self.open = Head::default();
    }

    /// Adds a missing range.
    pub(crate) fn add(&mut self, nack: K) {
        self.open.nacks += 1;
        self.listed.push_back(nack);
    }

    /// Number of entries of the report so far.
    pub(crate) fn listed(&self) -> u32 {
        self.open.nacks
    }

    /// Sends the report that was begun.
    pub(crate) fn finish(&mut self, ack_sn: u32, size: u32) -> StatusPdu {
        self.heads.push_back(Head { ack_sn, ..self.open });
        let serial = self.next_serial;
        self.next_serial += 1;
        StatusPdu { serial, size }
    }

    /// The content of a STATUS PDU; `None` once `N` later ones were sent.
    pub(crate) fn get(&self, pdu: StatusPdu) -> Option<Report<'_, K>> {
        let first = self.next_serial - self.heads.len() as u32;
        let index = pdu.serial.checked_sub(first)? as usize;
        let head = self.heads.get(index)?;
        let from = self.heads.iter().take(index).map(|before| before.nacks as usize).sum();
        Some(Report { ack_sn: head.ack_sn, listed: &self.listed, from, to: from + head.nacks as usize })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_until_its_place_is_needed() {
        let mut reports: Reports = Reports::default();
        let missing = |serial: u32| (0..serial % 4).map(move |k| Missing::whole(100 * serial + k));
        let pdus: Vec<StatusPdu> = (0..3 * ON_AIR as u32)
            .map(|serial| {
                reports.begin();
                missing(serial).for_each(|nack| reports.add(nack));
                assert_eq!(reports.listed(), serial % 4);
                reports.finish(serial, 2)
            })
            .collect();
        let (gone, kept) = pdus.split_at(2 * ON_AIR);
        assert!(gone.iter().all(|&pdu| reports.get(pdu).is_none()));
        for (serial, &pdu) in (2 * ON_AIR as u32..).zip(kept) {
            let report = reports.get(pdu).expect("one of the last");
            assert_eq!(report.ack_sn, serial);
            assert!(report.nacks().copied().eq(missing(serial)));
        }
    }
}
