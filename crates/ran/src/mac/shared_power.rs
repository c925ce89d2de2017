//! The power of a UE that sends to several cells at once (carrier aggregation in the uplink).
//!
//! The PUSCHs of all cells together have P_CMAX at most. If they would need more, that of the primary cell (PCell) keeps its
//! power, and those of secondary cells (SCells) have what is left, in their order. (TS 38.213 §7.5, read in a transcription:
//! of transmissions with the same priority, those of the primary cell come first. TS 36.213 §5.1.1.1, unverified: PUSCHs
//! without control information are scaled, in favour of the one that has some; here that is the one of the PCell, although
//! not each of them has control information.) Power that the PUSCHs of an SCell had counted on is reduced for its whole
//! length, also if the other PUSCH is shorter.
//!
//! The cells have one base station, which knows their grants, and the power that these need from power headroom reports. An
//! SCell grants a PUSCH within the power that its base station expects to be left by the other cells; the standards leave
//! that to it. So a UE that needs all its power for the PCell sends to it alone: power control gives a PRB of the PCell its
//! power, whatever is left for others. Cells decide in the order of their numbers:
//! if an SCell decides before its PCell, or has other slots, it expects the PCell to grant what it granted last.
//!
//! Each cell has a power headroom report of its own in its blocks: the headroom of one cell is not reduced by the others
//! (TS 36.213 §5.1.1.2, TS 38.213 §7.7.1). A UE reports those of all cells together (TS 36.321 §6.1.3.6a, TS 38.321
//! §6.1.3.9; unverified).

use core::ops::Range;

use airlane_core::{CellId, Duration, Instant};

use super::scell::Scell;
use crate::config::CellConfig;
use crate::link::{Links, UplinkState};

/// An SCell grants no PUSCH with less than this share of the power of the UE, and rounds what is left down to a multiple of it,
/// so that it seldom has to adapt to another power; choice.
const STEP: f32 = 1.0 / 16.0;
/// From the end of a PUSCH until it may be forgotten: the longest slot, at whose end a PUSCH of another cell is received.
const KEPT: Duration = Duration::from_millis(1);
/// Below this share of its power a UE sends nothing: a SINR of zero has no logarithm.
const LEAST: f32 = 1e-6;

/// A PUSCH of a UE that is granted, on the air, or just over.
#[derive(Clone, Debug)]
struct Pusch {
    cell: CellId,
    time: Range<Instant>,
    /// Share of the power of the UE, 0 to 1: by the grant, until it is sent.
    power: f32,
}

/// The PUSCHs of a UE.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedPower {
    pusch: Vec<Pusch>,
    /// The power of the latest grant of the PCell.
    primary: f32,
}

impl SharedPower {
    /// The UE has, or sends, a PUSCH of this power.
    fn set(&mut self, now: Instant, cell: CellId, time: Range<Instant>, power: f32) {
        match self.pusch.iter_mut().find(|pusch| pusch.cell == cell && pusch.time.start == time.start) {
            Some(pusch) => pusch.power = power,
            None => {
                self.pusch.retain(|pusch| pusch.time.end + KEPT >= now);
                self.pusch.push(Pusch { cell, time, power });
            }
        }
    }

    /// A PUSCH is not sent.
    pub(crate) fn cancel(&mut self, cell: CellId, start: Instant) {
        self.pusch.retain(|pusch| pusch.cell != cell || pusch.time.start != start);
    }

    /// The PUSCHs of a cell are not sent.
    pub(crate) fn forget(&mut self, cell: CellId) {
        self.pusch.retain(|pusch| pusch.cell != cell);
    }

    /// The highest power of a PUSCH of a cell at any time of a period.
    fn of(&self, cell: CellId, time: &Range<Instant>) -> f32 {
        let overlaps = |pusch: &&Pusch| pusch.time.start < time.end && time.start < pusch.time.end;
        let of_cell = self.pusch.iter().filter(|pusch| pusch.cell == cell);
        of_cell.filter(overlaps).map(|pusch| pusch.power).fold(0.0, f32::max)
    }
}

/// The time of a slot.
pub(crate) fn time_of(cell: &CellConfig, slot: u64) -> Range<Instant> {
    cell.numerology.start_of(slot)..cell.numerology.start_of(slot + 1)
}

/// The share of its power that a UE is expected to need for a PUSCH on this many PRBs, 0 to 1.
fn expected(cell: &CellConfig, uplink: &UplinkState, prbs: u16) -> f32 {
    let factor = uplink.known_power.factor.unwrap_or(1.0);
    (factor * f32::from(prbs) / f32::from(cell.resource_blocks)).min(1.0)
}

impl Links {
    /// A cell has granted a PUSCH on this many PRBs in a slot.
    #[inline]
    pub(crate) fn plan_pusch(&mut self, now: Instant, id: CellId, cell: &CellConfig, slot: u64, prbs: u16) {
        if self.send_to_several() {
            let power = expected(cell, &self.with(id).uplink, prbs);
            if self.is_primary(id) {
                self.power.primary = power;
            }
            self.power.set(now, id, time_of(cell, slot), power);
        }
    }

    /// A PUSCH on this many PRBs is sent in a slot, at this SINR of the band at full power.
    #[inline]
    pub(crate) fn note_pusch(&mut self, id: CellId, cell: &CellConfig, slot: u64, mean: f32, prbs: u16) {
        if self.send_to_several() {
            let (time, left) = (time_of(cell, slot), self.power_left(id, cell, slot));
            let factor = self.with_mut(id).uplink.power.factor(mean, prbs, left);
            let power = factor * f32::from(prbs) / f32::from(cell.resource_blocks);
            self.power.set(time.start, id, time, power);
        }
    }

    /// The share of its power that the UE has for a PUSCH of a cell in a slot.
    #[inline]
    pub(crate) fn power_left(&self, id: CellId, cell: &CellConfig, slot: u64) -> f32 {
        if !self.send_to_several() || self.is_primary(id) {
            return 1.0;
        }
        let time = time_of(cell, slot);
        let primary = self.power.of(self.primary().cell, &time);
        let before =
            self.secondary().iter().take_while(|link| link.cell != id).filter(|link| link.is_in_use());
        let used = before.map(|link| self.power.of(link.cell, &time)).fold(primary, |sum, one| sum + one);
        (1.0 - used).max(LEAST)
    }

    /// The share of the power of the UE that a cell may count on for a PUSCH in a slot; 0 if it should grant none.
    #[inline]
    pub(crate) fn power_to_grant(&self, id: CellId, cell: &CellConfig, slot: u64) -> f32 {
        if !self.send_to_several() || self.is_primary(id) {
            return 1.0;
        }
        let time = time_of(cell, slot);
        let scells = self.secondary().iter().filter(|link| link.is_in_use() && link.cell != id);
        let of_scells: f32 = scells.map(|link| self.power.of(link.cell, &time)).sum();
        let of_pcell = self.expected_of_primary(id, cell, &time);
        let steps = ((1.0 - of_pcell - of_scells) / STEP) as u8; // saturates, and rounds towards zero
        f32::from(steps) * STEP
    }

    /// The share of the power of the UE that its primary cell needs at any time of a period, as cell `id` expects it.
    fn expected_of_primary(&self, id: CellId, cell: &CellConfig, time: &Range<Instant>) -> f32 {
        let granted = self.power.of(self.primary().cell, time);
        let Some(Scell { pcell, .. }) = self.with(id).scell.as_deref() else { return granted };
        let has_decided = self.primary().cell < id && *pcell == cell.numerology;
        let first = pcell.duplex.next_uplink(time.start.as_nanos() / pcell.slot.as_nanos());
        if has_decided || pcell.start_of(first) >= time.end {
            granted
        } else {
            granted.max(self.power.primary)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_count_where_they_overlap() {
        let at = |us: u64| Instant::ZERO + Duration::from_micros(us);
        let mut power = SharedPower::default();
        let (one, other) = (CellId(0), CellId(1));
        power.set(at(0), one, at(1_000)..at(1_500), 0.25);
        power.set(at(0), one, at(1_500)..at(2_000), 0.5);
        power.set(at(0), other, at(1_000)..at(2_000), 0.75);
        assert_eq!(power.of(one, &(at(1_000)..at(1_500))), 0.25);
        assert_eq!(power.of(one, &(at(1_000)..at(2_000))), 0.5);
        assert_eq!(power.of(one, &(at(2_000)..at(3_000))), 0.0);
        power.set(at(1_500), one, at(1_500)..at(2_000), 1.0);
        assert_eq!(power.of(one, &(at(1_999)..at(2_000))), 1.0);
        power.cancel(one, at(1_500));
        assert_eq!(power.of(one, &(at(1_000)..at(2_000))), 0.25);
        // A millisecond after its end, what was sent first is forgotten with the next PUSCH.
        power.set(at(2_501), other, at(2_501)..at(3_501), 0.1);
        assert_eq!([power.of(one, &(at(0)..at(9_000))), power.of(other, &(at(0)..at(9_000)))], [0.0, 0.75]);
        power.forget(other);
        assert!(power.pusch.is_empty());
    }
}
