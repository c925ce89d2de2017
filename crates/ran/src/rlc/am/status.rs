//! What STATUS PDUs say (TS 36.322 v17.0 §6.2.1.6).

use super::super::StatusPdu;

/// The end of a PDU whose length the receiver does not know (SOend with all bits set,
/// TS 36.322 v17.0 §6.2.2.19).
pub(super) const OPEN_END: u32 = u32::MAX;

/// NACK_SN with the bytes that are missing: SOstart, and one past SOend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// What one STATUS PDU says.
#[derive(Clone, Debug, Default)]
pub(super) struct Report {
    serial: u32,
    /// ACK_SN: all below has come, except what is listed.
    pub(super) ack_sn: u32,
    /// In the order of sequence numbers and bytes.
    pub(super) nacks: Vec<Nack>,
}

/// How many STATUS PDUs of one receiver can be on the air. At one per millisecond at most and
/// no more than four HARQ transmissions 8 ms apart, 32 are.
const ON_AIR: u32 = 64;

/// The reports of the STATUS PDUs that may still arrive.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    ring: Vec<Report>,
    next_serial: u32,
}

impl Reports {
    /// A cleared place for the next report.
    pub(super) fn begin(&mut self) -> &mut Report {
        let index = (self.next_serial % ON_AIR) as usize;
        if index == self.ring.len() {
            self.ring.push(Report::default());
        }
        let report = &mut self.ring[index];
        report.serial = self.next_serial;
        report.nacks.clear();
        report
    }

    /// Sends the report that was begun.
    pub(super) fn finish(&mut self, size: u32) -> StatusPdu {
        let serial = self.next_serial;
        self.next_serial += 1;
        StatusPdu { serial, size }
    }

    /// What a STATUS PDU says. One that was overtaken by [`ON_AIR`] others says nothing any more.
    pub(super) fn get(&self, pdu: StatusPdu) -> Option<&Report> {
        self.ring.get((pdu.serial % ON_AIR) as usize).filter(|report| report.serial == pdu.serial)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_until_its_place_is_needed() {
        let mut reports = Reports::default();
        let pdus: Vec<StatusPdu> = (0..=ON_AIR)
            .map(|n| {
                reports.begin().ack_sn = n;
                reports.finish(2)
            })
            .collect();
        assert!(reports.get(pdus[0]).is_none());
        for n in 1..=ON_AIR {
            assert_eq!(reports.get(pdus[n as usize]).map(|r| r.ack_sn), Some(n));
        }
    }
}
