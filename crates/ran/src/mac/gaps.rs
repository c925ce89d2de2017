//! Measurement gaps: times in which a UE receives other carriers, and nothing from its serving cells, and sends nothing
//! (TS 38.321 v19.2 §5.14; TS 36.321 and TS 36.133 §8.1.2.1, unverified).
//!
//! The cell knows the gaps of its UEs. It assigns no block whose PDCCH, whose slot or whose acknowledgment falls into one,
//! and grants no PUSCH whose PDCCH or whose slot does. Scheduling requests and CQI reports of a gap are left out
//! (TS 38.321 v19.2 §5.4.4, §5.14), and so are occasions of configured grants (§5.4.2.2). Synchronous retransmissions wait
//! for a later round trip ([`super::uplink`]).
//!
//! A gap begins in the frame with SFN mod T = floor(offset / 10), where T is the period in frames, and in the subframe
//! offset mod 10 of it (TS 36.331 and TS 38.331 §5.5.2.9, as OpenAirInterface's UE reads it): `offset` after the beginning of
//! each period. Frames are counted from time zero, in all cells.
//!
//! The uplink is ahead of the downlink by the timing advance, so that a gap extends into the slot behind it, in which the UE
//! does not send (TS 36.133 §8.1.2.1, TS 38.133 §9.1.2, unverified).
//!
//! The drxStartOffset of a UE is one whose on-durations are not lost to its gaps, if there is one.
//!
//! The network may configure gaps while the primary cell is weak alone: from event A2 to event A1 ([`crate::rrc::coverage`]).
//!
//! Random access is carried out in gaps, too (TS 38.321 v19.2 §5.1.4, §5.4.2.2): a UE has no gaps until it is connected.
//! Not modelled: mgta, gaps for one frequency range, and gaps of which the network does not know.

use airlane_core::{Dbm, Direction, Duration, Instant};

use super::downlink::acknowledgment_slot;
use super::drx::{Drx, DrxConfig};
use super::scell::Scell;
use crate::config::CellConfig;
use crate::numerology::Numerology;
use crate::rrc::coverage::{CoverageConfig, CoverageEvents};

/// From the message that configures gaps until the first one may begin: more than from the assignment of a block until its
/// acknowledgment (choice).
const SETTLED: Duration = Duration::from_millis(20);

/// A configuration of measurement gaps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GapConfig {
    /// Measurement gap repetition period (MGRP), in whole milliseconds.
    pub repetition: Duration,
    /// Measurement gap length (MGL), less than the period.
    pub length: Duration,
    /// gapOffset, less than the period; `None` for one that is drawn for each UE, of all whole milliseconds.
    pub offset: Option<Duration>,
    /// The network configures gaps while the primary cell is not received well; `None` for gaps all the time.
    pub coverage: Option<CoverageConfig>,
}

/// The measurement gaps of a UE.
#[derive(Debug)]
pub(crate) struct Gaps {
    repetition: Duration,
    length: Duration,
    offset: Duration,
    /// Whether the UE has them now.
    are_configured: bool,
    /// None begins before this time.
    begin: Instant,
    /// What configures them; `None` if the UE has them while it is connected.
    events: Option<CoverageEvents>,
}

/// What decides when a UE listens: neither, for a UE that listens all the time.
#[derive(Clone, Copy, Default)]
pub(crate) struct Listening<'a> {
    pub(crate) drx: Option<&'a Drx>,
    pub(crate) gaps: Option<&'a Gaps>,
}

/// A block that a cell may assign or grant.
#[derive(Clone, Copy)]
pub(crate) struct PlannedBlock<'a> {
    pub(crate) cell: &'a CellConfig,
    pub(crate) direction: Direction,
    /// When its PDCCH begins.
    pub(crate) pdcch: Instant,
    /// The slot of the cell in which it is sent.
    pub(crate) slot: u64,
}

impl Gaps {
    /// Gaps of a UE; `draw` gives a number below another one.
    pub(crate) fn new(config: &GapConfig, draw: impl FnOnce(u64) -> u64) -> Self {
        let GapConfig { repetition, length, offset, coverage } = *config;
        let offset = offset.unwrap_or_else(|| Duration::from_millis(draw(repetition.as_millis())));
        assert!(length < repetition && offset < repetition, "a gap ends before the next one");
        let events = coverage.map(CoverageEvents::new);
        Self { repetition, length, offset, are_configured: false, begin: Instant::ZERO, events }
    }

    /// The UE is connected to a cell, or not any more.
    pub(crate) fn set_connected(&mut self, now: Instant, is_connected: bool) {
        match &mut self.events {
            None => self.are_configured = is_connected,
            Some(events) => {
                self.are_configured = false;
                if is_connected { events.begin(now) } else { events.end() }
            }
        }
    }

    /// The events of a UE whose primary cell changes: its gaps end until it has arrived (TS 36.331 §5.5.6.1, unverified).
    pub(crate) fn change_cell(&mut self, now: Instant, has_arrived: bool) {
        if self.events.is_some() {
            self.set_connected(now, has_arrived);
        }
    }

    /// The events that configure gaps.
    pub(crate) fn events_mut(&mut self) -> Option<&mut CoverageEvents> {
        self.events.as_mut()
    }

    /// The UE has measured its primary cell.
    pub(crate) fn on_measured(&mut self, now: Instant, rsrp: Dbm) {
        if let Some(events) = &mut self.events {
            events.measure(now, rsrp, !self.are_configured);
        }
    }

    /// A message of RRC takes effect, if it is time.
    pub(crate) fn reconfigure(&mut self, now: Instant) {
        if self.events.as_mut().is_some_and(|events| events.changes(now)) {
            self.are_configured = !self.are_configured;
            self.begin = now + SETTLED;
        }
    }

    /// Whether a part of the time from `from` to before `until` is in a gap.
    fn overlap(&self, from: Instant, until: Instant) -> bool {
        let period = self.repetition.as_nanos();
        // Since the latest beginning of a gap.
        let since = (from.as_nanos() + period - self.offset.as_nanos()) % period;
        let counts = |begins: u64| begins >= self.begin.as_nanos() + period;
        let [from, until] = [from, until].map(|at| at.as_nanos() + period);
        self.are_configured
            && (since < self.length.as_nanos() && counts(from - since)
                || until - from + since > period && counts(from + period - since))
    }

    /// Whether the UE receives the whole slot.
    pub(crate) fn let_receive(&self, numerology: &Numerology, slot: u64) -> bool {
        !self.overlap(numerology.start_of(slot), numerology.start_of(slot + 1))
    }

    /// Whether the UE may send in the slot: no gap ends in the one before.
    pub(crate) fn let_send(&self, numerology: &Numerology, slot: u64) -> bool {
        !self.overlap(numerology.start_of(slot.saturating_sub(1)), numerology.start_of(slot + 1))
    }

    /// Whether the UE takes part in all that belongs to a block; with the state of the cell, if that is a secondary one.
    pub(crate) fn leave(&self, block: PlannedBlock<'_>, scell: Option<&Scell>) -> bool {
        let PlannedBlock { cell, pdcch, slot, .. } = block;
        let numerology = &cell.numerology;
        !self.overlap(pdcch, pdcch + numerology.slot)
            && match block.direction {
                Direction::Downlink => {
                    let (of, acknowledgment) = acknowledgment_slot(cell, scell, slot);
                    self.let_receive(numerology, slot) && self.let_send(of, acknowledgment)
                }
                Direction::Uplink => self.let_send(numerology, slot),
            }
    }
}

impl Gaps {
    /// The first drxStartOffset from this one on with which an on-duration in the cell has a slot for a block.
    pub(crate) fn move_on_duration(&self, cell: &CellConfig, drx: &DrxConfig, offset: Duration) -> Duration {
        let numerology = &cell.numerology;
        let configured = Self { are_configured: true, begin: Instant::ZERO, events: None, ..*self };
        let ahead = if cell.mac.assigned_ahead { u64::from(cell.mac.downlink_latency) - 1 } else { 0 };
        let has_room = |slot: u64| {
            let (pdcch, direction) = (numerology.start_of(slot), Direction::Downlink);
            numerology.duplex.downlink_symbols(slot) > 0
                && configured.leave(PlannedBlock { cell, direction, pdcch, slot: slot + ahead }, None)
        };
        let is_free = |offset: &Duration| {
            let from = Instant::ZERO + *offset;
            (numerology.slot_from(from)..numerology.slot_from(from + drx.on_duration)).any(has_room)
        };
        let cycle = drx.long_cycle.as_nanos();
        let later = |ms: u64| Duration::from_nanos((offset + Duration::from_millis(ms)).as_nanos() % cycle);
        (0..self.repetition.as_millis()).map(later).find(is_free).unwrap_or(offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::UplinkAccess;
    use crate::tests::network;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn gaps(offset: u64) -> Gaps {
        let offset = Some(ms(offset));
        let config = GapConfig { repetition: ms(40), length: ms(6), offset, coverage: None };
        let mut gaps = Gaps::new(&config, |_| unreachable!());
        gaps.set_connected(Instant::ZERO, true);
        gaps
    }

    /// gapOffset 14: subframes 4 to 9 of each frame with SFN mod 4 = 1.
    #[test]
    fn a_gap_begins_in_its_frame_and_subframe() {
        let lost: Vec<_> = (0..80).filter(|slot| !gaps(14).let_receive(&Numerology::LTE, *slot)).collect();
        assert_eq!(lost, [14, 15, 16, 17, 18, 19, 54, 55, 56, 57, 58, 59]);
        let unsent: Vec<_> = (0..40).filter(|slot| !gaps(14).let_send(&Numerology::LTE, *slot)).collect();
        assert_eq!(unsent, [14, 15, 16, 17, 18, 19, 20]);
        // gapOffset 37: into the next period.
        let lost: Vec<_> = (0..46).filter(|slot| !gaps(37).let_receive(&Numerology::LTE, *slot)).collect();
        assert_eq!(lost, [37, 38, 39, 40, 41, 42]);
    }

    /// A gap of 5.5 ms from 14 ms on in slots of 1 ms: the last one is lost in part.
    #[test]
    fn a_slot_that_is_in_a_gap_in_part_is_lost() {
        let gaps = Gaps { length: Duration::from_micros(5_500), ..gaps(14) };
        assert!(!gaps.let_receive(&Numerology::LTE, 19) && gaps.let_receive(&Numerology::LTE, 20));
        assert!(!gaps.let_send(&Numerology::LTE, 20) && gaps.let_send(&Numerology::LTE, 21));
        assert!(Gaps { are_configured: false, ..gaps }.let_receive(&Numerology::LTE, 14));
    }

    /// LTE, a gap in subframes 14 to 19: a block of subframe n is acknowledged in n + 4, which must not be 14 to 20. A PUSCH
    /// in n has its grant in n - 4, which must not be 14 to 19.
    #[test]
    fn a_gap_takes_ten_subframes_of_each_direction_in_lte() {
        let config = network(1, UplinkAccess::IdealBufferStatus { delay: 1 });
        let cell = &config.cells[0];
        let leave = |direction: Direction, pdcch: u64, slot: u64| {
            let pdcch = cell.numerology.start_of(pdcch);
            gaps(14).leave(PlannedBlock { cell, direction, pdcch, slot }, None)
        };
        let lost: Vec<_> = (4..40).filter(|slot| !leave(Direction::Downlink, *slot, *slot)).collect();
        assert_eq!(lost, Vec::from_iter(10..20));
        let lost: Vec<_> = (4..40).filter(|slot| !leave(Direction::Uplink, *slot - 4, *slot)).collect();
        assert_eq!(lost, Vec::from_iter(14..24));
    }

    /// Filtered by halves from -90 dBm, a cell at -130 dBm is below -101 dBm at once, and at -90 dBm again above -99 dBm at
    /// the second measurement. No gap begins in the first 20 ms: not that of 454 ms.
    #[test]
    fn gaps_are_configured_while_the_cell_is_weak() {
        let coverage = CoverageConfig {
            above: Dbm(-99.0),
            below: Dbm(-101.0),
            time_to_trigger: Duration::ZERO,
            preparation: ms(40),
        };
        let config =
            GapConfig { repetition: ms(40), length: ms(6), offset: Some(ms(14)), coverage: Some(coverage) };
        let mut gaps = Gaps::new(&config, |_| unreachable!());
        gaps.set_connected(Instant::ZERO, true);
        let mut lost = Vec::new();
        for slot in 0..2_000 {
            let now = Numerology::LTE.start_of(slot);
            if gaps.events_mut().is_some_and(|events| events.measures(now)) {
                let is_weak = (300..900).contains(&slot);
                gaps.on_measured(now, Dbm(if is_weak { -130.0 } else { -90.0 }));
            }
            gaps.reconfigure(now);
            if !gaps.let_receive(&Numerology::LTE, slot) {
                lost.push(slot);
            }
        }
        // Weak from the measurement at 400 ms on, and strong again from that at 1200 ms on.
        let all = (0..2_000).filter(|slot| (14..20).contains(&(slot % 40)));
        assert_eq!(lost, Vec::from_iter(all.filter(|slot| (460..1_240).contains(slot))));
    }
}
