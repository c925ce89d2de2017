//! The content of STATUS PDUs (TS 38.322 v18.2.0 §6.2.2.5).

use crate::rlc::am::status::Reports;
use crate::rlc::nr::header;
use crate::rlc::window::{Missing, OPEN_END};

/// The largest NACK range: 8 bits (TS 38.322 v18.2.0 §6.2.3.17).
pub(super) const RANGE_MAX: u32 = 255;

/// NACK_SN with what is missing: from a byte of that SDU (SOstart) to one past a byte (SOend) of the last SDU of the
/// NACK range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Nack {
    pub(super) sn: u32,
    /// Number of SDUs: 1 without a NACK range.
    pub(super) count: u32,
    pub(super) from: u32,
    pub(super) to: u32,
}

impl Nack {
    const fn new(missing: Missing) -> Self {
        let Missing { sn, from, to } = missing;
        Self { sn, count: 1, from, to }
    }

    /// Bytes on the air.
    fn size(&self, sn_bits: u8) -> u32 {
        header::nack(sn_bits, (self.from, self.to) != (0, OPEN_END), self.count > 1)
    }

    /// With a further part, if it continues this one without a gap.
    fn extended(&self, next: Missing) -> Option<Self> {
        let continues = self.sn + self.count == next.sn && self.to == OPEN_END && next.from == 0;
        (continues && self.count < RANGE_MAX).then_some(Self { count: self.count + 1, to: next.to, ..*self })
    }

    /// The missing parts, SDU by SDU.
    pub(super) fn parts(self) -> impl Iterator<Item = Missing> + Clone {
        let last = self.sn + self.count - 1;
        (self.sn..=last).map(move |sn| Missing {
            sn,
            from: if sn == self.sn { self.from } else { 0 },
            to: if sn == last { self.to } else { OPEN_END },
        })
    }
}

/// How many STATUS PDUs of one receiver can be on the air. There is at most one per slot, at least 125 µs long, and
/// HARQ gives a block up within 32 ms.
pub(crate) const ON_AIR: usize = 256;

/// The reports of the STATUS PDUs that may still arrive.
pub(crate) type NrReports = Reports<Nack, ON_AIR>;

/// Writes a STATUS PDU of at most `space` bytes.
pub(super) struct Writer<F> {
    sn_bits: u8,
    space: u32,
    size: u32,
    open: Option<Nack>,
    listed: u32,
    add: F,
}

impl<F: FnMut(Nack)> Writer<F> {
    /// `add` receives each NACK_SN, in order.
    pub(super) fn new(sn_bits: u8, space: u32, add: F) -> Self {
        Self { sn_bits, space, size: header::STATUS, open: None, listed: 0, add }
    }

    /// Lists a missing part, if it fits.
    pub(super) fn list(&mut self, missing: Missing) -> bool {
        let joint = self.open.and_then(|open| Some((open.extended(missing)?, open.size(self.sn_bits))));
        let (nack, before) = joint.unwrap_or((Nack::new(missing), 0));
        let size = self.size - before + nack.size(self.sn_bits);
        if size > self.space {
            return false;
        }
        if before == 0 {
            self.flush();
        }
        self.size = size;
        self.open = Some(nack);
        self.listed += 1;
        true
    }

    /// Number of missing parts listed so far.
    pub(super) fn listed(&self) -> u32 {
        self.listed
    }

    fn flush(&mut self) {
        if let Some(open) = self.open.take() {
            (self.add)(open);
        }
    }

    /// Ends the list, and returns the size of the PDU.
    pub(super) fn finish(mut self) -> u32 {
        self.flush();
        self.size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(sn_bits: u8, space: u32, missing: &[Missing]) -> (Vec<Nack>, u32, usize) {
        let mut nacks = Vec::new();
        let mut writer = Writer::new(sn_bits, space, |nack| nacks.push(nack));
        let listed = missing.iter().take_while(|&&part| writer.list(part)).count();
        let size = writer.finish();
        (nacks, size, listed)
    }

    #[test]
    fn consecutive_parts_share_one_nack() {
        // The tail of 3, all of 4 and 5, and the head of 6: one NACK_SN with a range of 4 and offsets, 2 + 4 + 1 bytes.
        let missing = [
            Missing { sn: 3, from: 700, to: OPEN_END },
            Missing::whole(4),
            Missing::whole(5),
            Missing { sn: 6, from: 0, to: 20 },
            Missing { sn: 6, from: 40, to: 60 },
            Missing::whole(8),
        ];
        let (nacks, size, _) = written(12, 1000, &missing);
        let first = Nack { sn: 3, count: 4, from: 700, to: 20 };
        let second = Nack { sn: 6, count: 1, from: 40, to: 60 };
        assert_eq!(nacks, [first, second, Nack { sn: 8, count: 1, from: 0, to: OPEN_END }]);
        assert_eq!(size, 3 + 7 + 6 + 2);
        assert_eq!(nacks.into_iter().flat_map(Nack::parts).collect::<Vec<Missing>>(), missing);
    }

    #[test]
    fn a_range_ends_at_255_and_at_the_space() {
        let missing: Vec<Missing> = (0..600).map(Missing::whole).collect();
        let (nacks, size, _) = written(18, 1000, &missing);
        assert_eq!(nacks.iter().map(|nack| nack.count).collect::<Vec<u32>>(), [255, 255, 90]);
        assert_eq!(size, 3 + 3 * 4);
        assert_eq!(nacks.into_iter().flat_map(Nack::parts).collect::<Vec<Missing>>(), missing);
        // 3 + 3 bytes for the first; its range needs one more.
        assert_eq!(
            (written(18, 6, &missing).2, written(18, 7, &missing).2, written(18, 5, &missing).2),
            (1, 255, 0)
        );
    }
}
