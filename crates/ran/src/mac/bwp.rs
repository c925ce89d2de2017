//! Bandwidth parts (BWPs) of a UE in a cell of NR: the whole carrier, and a narrow default part (TS 38.213 v18 §12, TS
//! 38.321 v18 §5.15.1; both read as converted texts).
//!
//! A UE begins on the default part. If much data waits for it, or at it, the cell sends a DCI that names the carrier; the
//! first assignment in the new part is in this DCI. From its slot on, the UE neither receives nor sends until the switch is
//! over. Each PDCCH for the UE on the carrier restarts the bwp-InactivityTimer, which is decremented at the end of each
//! subframe without one, in FR2 of each half of a subframe. When it expires, the UE switches back, which takes as long.
//!
//! The state is three instants, so that it costs nothing while nothing happens: the part of a UE follows from the time of
//! the question.
//!
//! The cell waits with the DCI until all feedback and all granted blocks of the UE are over, and meanwhile assigns it
//! nothing. A UE whose block of the carrier has to be repeated on the default part is switched back to the carrier.
//!
//! Simplifications: parts of both directions are switched together, as unpaired spectrum requires; with FDD they could be
//! switched separately. The default part is the lowest resource blocks of the carrier. Its resource block groups are those
//! of the carrier, although a narrow part would have smaller ones (TS 38.214 table 5.1.2.2.1-1), and what a part leaves of
//! its last group stays empty. Its PUCCH has as many resource blocks as that of the carrier. The cell knows the part of a
//! UE, also after a PDCCH that the UE has missed; when the DCI itself is missed, it is sent again after the feedback that it
//! asked for. The primary cell of a UE with several carriers has no parts: its PUCCH has the feedback of all of them.

use airlane_core::{Bytes, Direction, Duration, Instant};

use super::grid::{RbgSet, ResourceGrid};
use crate::config::CellConfig;
use crate::numerology::{Duplex, Numerology};

/// The bandwidth parts of the UEs of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BandwidthParts {
    /// Physical resource blocks of the default part; fewer than those of the carrier, and more than those of PUCCH.
    pub resource_blocks: u16,
    /// The cell switches a UE to the carrier when more bytes than this wait in either direction, as far as it knows.
    pub activate_above: Bytes,
    /// bwp-InactivityTimer: a multiple of a subframe, in FR2 of half a subframe.
    pub inactivity_timer: Duration,
    /// bwp-SwitchingDelay.
    pub switching_delay: SwitchingDelay,
}

/// The capability of a UE that says how long it needs for a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchingDelay {
    /// Type 1.
    Type1,
    /// Type 2.
    Type2,
}

impl SwitchingDelay {
    /// Slots of a switch by DCI or timer, with this subcarrier spacing (TS 38.133 table 8.6.2-1, read in a quotation).
    #[must_use]
    pub const fn slots(self, subcarrier_spacing_hz: u32) -> u64 {
        match (self, subcarrier_spacing_hz / 15_000) {
            (Self::Type1, 0..=1) => 1,
            (Self::Type1, 2..=3) => 2,
            (Self::Type1, 4..=7) => 3,
            (Self::Type1, _) => 6,
            (Self::Type2, 0..=1) => 3,
            (Self::Type2, 2..=3) => 5,
            (Self::Type2, 4..=7) => 9,
            (Self::Type2, _) => 18,
        }
    }
}

/// From this carrier on: FR2 (TS 38.101-1 table 5.1-1).
const FR2_HZ: f64 = 24.25e9;

/// The interval at whose end the timer is decremented: a subframe, in FR2 half of one (TS 38.213 v18 §12).
#[must_use]
pub fn timer_unit(downlink_hz: f64) -> Duration {
    if downlink_hz < FR2_HZ { Duration::from_millis(1) } else { Duration::from_micros(500) }
}

/// Timing of a cell in slots.
#[derive(Clone, Copy, Debug)]
pub struct AnswerTimes {
    /// From an assignment to its PDSCH, at least.
    pub k0: u64,
    /// From a PDSCH to its feedback, at least.
    pub k1: u64,
    /// From a grant to its PUSCH, at least.
    pub k2: u64,
    /// From the slot of feedback until the cell has read it.
    pub processing: u64,
    /// A switch.
    pub delay: u64,
}

impl AnswerTimes {
    /// The most slots from the begin of a PDCCH to the end of what the UE sends because of it. A timer that is not shorter
    /// does not expire before.
    #[must_use]
    pub fn longest(&self, duplex: Duplex) -> u64 {
        let next_downlink = |from: u64| (from..).find(|slot| duplex.downlink_symbols(*slot) > 0);
        let of = |slot: u64| {
            let pdsch = next_downlink(slot + self.k0.max(self.delay)).unwrap_or(slot);
            let feedback = duplex.next_uplink(pdsch + self.k1) + self.processing;
            feedback.max(duplex.next_uplink(slot + self.k2.max(self.delay))) + 1 - slot
        };
        (0..duplex.period()).map(of).max().unwrap_or_default()
    }
}

/// The part of a UE at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The default part.
    Default,
    /// None: the UE switches.
    Switching,
    /// The carrier.
    Carrier,
}

/// The bandwidth parts of a UE in a cell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bwp {
    config: BandwidthParts,
    /// The groups of the default part, and the resource blocks of the last one that are outside.
    rbgs: RbgSet,
    outside: u16,
    /// Resource blocks of the default part that PUCCH leaves.
    pub(crate) pusch: u16,
    delay: Duration,
    unit: Duration,
    /// Slots from an assignment and from a grant to their blocks, at least.
    ahead: [Duration; 2],
    /// When the switch to the carrier is over, when its timer expires, and when the switch back is over.
    from: Instant,
    expires: Instant,
    default_from: Instant,
    /// Since the DCI of that switch.
    commanded: Instant,
    /// The end of what the UE sends because of earlier PDCCHs.
    answered: Instant,
    /// It waits for that, and then for a switch to the carrier.
    pub(crate) waits: bool,
    /// The direction of the assignment in the DCI, which has not been made.
    first: Option<Direction>,
}

impl Bwp {
    /// Those of a UE that begins in a cell.
    pub(crate) fn of(cell: &CellConfig) -> Option<Box<Self>> {
        let config = cell.bandwidth_parts?;
        let Numerology { rbg, slot, subcarrier_spacing_hz, .. } = cell.numerology;
        let (prbs, pucch) = (config.resource_blocks, cell.mac.uplink.pucch_resource_blocks);
        assert!((pucch + 1..cell.resource_blocks).contains(&prbs), "{prbs} PRBs are no part of the carrier");
        let rbgs: RbgSet = (1 << prbs.div_ceil(rbg.size(cell.resource_blocks))) - 1;
        let ahead = [cell.mac.downlink_latency - 1, cell.mac.grant_to_pusch];
        let never = Instant::ZERO;
        Some(Box::new(Self {
            config,
            rbgs,
            outside: ResourceGrid::new(cell.resource_blocks, rbg).prbs_in(rbgs) - prbs,
            pusch: prbs - pucch,
            delay: slot * config.switching_delay.slots(subcarrier_spacing_hz),
            unit: timer_unit(cell.downlink_hz),
            ahead: ahead.map(|slots| slot * u64::from(slots)),
            from: never,
            expires: never,
            default_from: never,
            commanded: never,
            answered: never,
            waits: false,
            first: None,
        }))
    }

    /// The part at a time, from the latest DCI for a switch on.
    pub(crate) fn part(&self, at: Instant) -> Part {
        if at >= self.default_from {
            Part::Default
        } else if at >= self.from && at < self.expires {
            Part::Carrier
        } else {
            Part::Switching
        }
    }

    /// Whether the UE can send at a time.
    pub(crate) fn may_send(&self, at: Instant) -> bool {
        self.part(at) != Part::Switching
    }

    /// The part of an assignment of the PDCCH that begins at this time; [`Part::Switching`] if there is none. The
    /// assignment in the DCI of a switch is decided as late as one without a switch would be.
    pub(crate) fn assigned(&self, direction: Direction, pdcch: Instant) -> Part {
        match self.part(pdcch) {
            Part::Switching
                if self.first == Some(direction)
                    && pdcch < self.from
                    && pdcch + self.ahead[direction as usize] >= self.from =>
            {
                Part::Carrier
            }
            Part::Default if self.waits => Part::Switching,
            part => part,
        }
    }

    /// The groups that may be assigned in the downlink by the PDCCH that begins at this time.
    pub(crate) fn usable_rbgs(&self, pdcch: Instant) -> RbgSet {
        match self.assigned(Direction::Downlink, pdcch) {
            Part::Carrier => RbgSet::MAX,
            Part::Default => self.rbgs,
            Part::Switching => 0,
        }
    }

    /// The resource blocks of the groups of an assignment, which are `all` on the carrier.
    pub(crate) fn prbs_of(&self, rbgs: RbgSet, all: u16, pdcch: Instant) -> u16 {
        let last = self.rbgs & !(self.rbgs >> 1);
        let is_cut = rbgs & last != 0 && self.assigned(Direction::Downlink, pdcch) == Part::Default;
        if is_cut { all - self.outside } else { all }
    }

    /// Resource blocks of the default part.
    pub(crate) fn prbs(&self) -> u16 {
        self.config.resource_blocks
    }

    /// The number of groups of the default part, if a report that was measured at this time has no others and is used on the
    /// carrier.
    pub(crate) fn reported_rbgs(&self, measured: Instant) -> Option<usize> {
        (measured < self.from).then(|| self.rbgs.count_ones() as usize)
    }

    /// Whether a downlink block on so many groups does not fit into the default part.
    pub(crate) fn is_wide(&self, rbgs: RbgSet) -> bool {
        rbgs.count_ones() > self.rbgs.count_ones()
    }

    /// Whether so much data is a reason to switch.
    pub(crate) fn is_much(&self, waiting: Bytes) -> bool {
        waiting > self.config.activate_above
    }

    /// Whether nothing is expected of the UE any more.
    pub(crate) fn is_quiet(&self, now: Instant) -> bool {
        self.answered <= now
    }

    /// The UE sends something that ends at this time, because of a PDCCH.
    pub(crate) fn on_answer(&mut self, end: Instant) {
        self.answered = self.answered.max(end);
    }

    /// The UE has received a PDCCH with an assignment or a grant.
    pub(crate) fn on_pdcch(&mut self, now: Instant) {
        self.first = None;
        if self.part(now) == Part::Carrier {
            self.restart(now);
        }
    }

    /// The timer starts in the interval that contains this time, which does not count.
    fn restart(&mut self, now: Instant) {
        let unit = self.unit.as_nanos();
        let end = Instant::from_nanos((now.as_nanos() / unit + 1) * unit);
        self.expires = end + self.config.inactivity_timer;
        self.default_from = self.expires + self.delay;
    }

    /// The UE has received the DCI that switches it to the carrier, with an assignment of this direction.
    pub(crate) fn switch(&mut self, now: Instant, direction: Direction) {
        (self.commanded, self.from) = (now, now + self.delay);
        (self.first, self.waits) = (Some(direction), false);
        self.restart(now);
    }

    /// The UE has missed that DCI, and the cell will know at this time.
    pub(crate) fn on_missed(&mut self, known: Instant) {
        (self.from, self.expires, self.default_from) = (known, known, known);
        (self.first, self.waits) = (None, false);
    }

    /// From the latest DCI to the end of the switch back: when the UE is not on the default part.
    pub(crate) fn away(&self) -> (Instant, Instant) {
        (self.commanded, self.default_from)
    }

    /// The duration of a switch.
    pub(crate) fn delay(&self) -> Duration {
        self.delay
    }
}
