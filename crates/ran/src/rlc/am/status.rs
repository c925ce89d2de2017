//! The content of STATUS PDUs (TS 36.322 v17.0 §6.2.1.6).

use airlane_core::ring::Ring;

use super::super::StatusPdu;

/// The end of a PDU whose length the receiver does not know (SOend with all bits set,
/// TS 36.322 v17.0 §6.2.2.19).
pub(super) const OPEN_END: u32 = u32::MAX;

/// NACK_SN with the missing bytes: SOstart, and one past SOend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Nack {
    pub(super) sn: u32,
    pub(super) from: u32,
    pub(super) to: u32,
}

impl Nack {
    /// The whole PDU is missing.
    pub(super) fn whole(sn: u32) -> Self {
        Self { sn, from: 0, to: OPEN_END }
    }

    /// True if it needs SOstart and SOend.
    pub(super) fn is_partial(&self) -> bool {
        (self.from, self.to) != (0, OPEN_END)
    }
}

/// The content of one STATUS PDU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report<'a> {
    /// ACK_SN: all PDUs below it were received, except those listed.
    pub(super) ack_sn: u32,
    listed: &'a Ring<Nack>,
    /// Start and end of its entries in the list.
    from: usize,
    to: usize,
}

impl<'a> Report<'a> {
    /// The missing ranges, in the order of sequence numbers and bytes.
    pub(super) fn nacks(&self) -> impl Iterator<Item = &'a Nack> + Clone + use<'a> {
        self.listed.iter_from(self.from).take(self.to - self.from)
    }

    /// True if nothing is listed as missing.
    pub(super) fn is_clear(&self) -> bool {
        self.from == self.to
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

/// The reports of the STATUS PDUs that may still arrive.
#[derive(Debug)]
pub(crate) struct Reports {
    heads: Ring<Head>,
    /// Their entries, one report after the other.
    listed: Ring<Nack>,
    /// The serial number of the next report.
    next_serial: u32,
    /// The report that is being written.
    open: Head,
}

impl Default for Reports {
    fn default() -> Self {
        let (heads, listed) = (Ring::new(ON_AIR), Ring::new(NACKS_RESERVED));
        Self { heads, listed, next_serial: 0, open: Head::default() }
    }
}

impl Reports {
    /// Begins the next report, replacing the oldest.
    pub(super) fn begin(&mut self) {
        self.listed.warm_up();
        if self.heads.len() == ON_AIR {
            let oldest = self.heads.pop_front().expect("as many as can be on the air");
            for _ in 0..oldest.nacks {
                self.listed.pop_front();
            }
        }
        self.open = Head::default();
    }

    /// Adds a missing range.
    pub(super) fn add(&mut self, nack: Nack) {
        self.open.nacks += 1;
        self.listed.push_back(nack);
    }

    /// Number of entries of the report so far.
    pub(super) fn listed(&self) -> u32 {
        self.open.nacks
    }

    /// Sends the report that was begun.
    pub(super) fn finish(&mut self, ack_sn: u32, size: u32) -> StatusPdu {
        self.heads.push_back(Head { ack_sn, ..self.open });
        let serial = self.next_serial;
        self.next_serial += 1;
        StatusPdu { serial, size }
    }

    /// The content of a STATUS PDU; `None` once [`ON_AIR`] later ones were sent.
    pub(super) fn get(&self, pdu: StatusPdu) -> Option<Report<'_>> {
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
        let mut reports = Reports::default();
        let missing = |serial: u32| (0..serial % 4).map(move |k| Nack::whole(100 * serial + k));
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
            assert_eq!((report.ack_sn, report.is_clear()), (serial, serial % 4 == 0));
            assert!(report.nacks().copied().eq(missing(serial)));
        }
    }
}
