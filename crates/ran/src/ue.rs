//! A UE in the RAN: what it has once, whatever the number of its links.

use airlane_core::{Bytes, CellId, Direction, Duration, Instant, RrcState, UeId};
use airlane_radio::Mobility;

use crate::bearers::Bearers;
use crate::config::CellConfig;
use crate::dual::DualConnectivityKind;
use crate::link::Links;
use crate::mac::bwp::Part;
use crate::mac::drx::{Drx, DrxConfig};
use crate::mac::gaps::{Gaps, Listening, PlannedBlock};
use crate::mac::sleep::Phase;
use crate::numerology::Numerology;
use crate::slot::{CellSlot, UeSet};

impl Phase {
    /// The cycles of a UE in a cell, if there are any, and when they begin. `None` if the UE listens all the time in any
    /// phase, and its energy is not counted.
    pub(crate) fn drx(
        self,
        cell: &CellConfig,
        identity: u64,
        gaps: Option<&Gaps>,
    ) -> Option<(Option<DrxConfig>, Duration)> {
        let offset_of = |drx: DrxConfig| {
            let offset = drx.offset(identity);
            gaps.map_or(offset, |gaps| gaps.move_on_duration(cell, &drx, offset))
        };
        let of_cell = || (cell.drx, cell.drx.map_or(Duration::ZERO, offset_of));
        let Some(connection) = &cell.connection else {
            return (cell.drx.is_some() || cell.meters_energy).then(of_cell);
        };
        Some(match self {
            Self::Connected => of_cell(),
            Self::Connecting => (None, Duration::ZERO),
            Self::Released => (Some(connection.paging_drx()), connection.paging_offset(identity)),
        })
    }
}

/// The cell groups of a UE with a secondary node are a UE each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Membership {
    /// A UE without a secondary node.
    Alone,
    /// The master cell group.
    Master(DualConnectivityKind),
    /// The secondary cell group.
    Secondary(DualConnectivityKind),
}

/// A UE.
#[derive(Debug)]
pub(crate) struct Ue {
    pub(crate) id: UeId,
    pub(crate) membership: Membership,
    /// False once it was removed.
    pub(crate) is_present: bool,
    pub(crate) bearers: Bearers,
    pub(crate) mobility: Mobility,
    pub(crate) links: Links,
    /// What decides when it listens.
    pub(crate) phase: Phase,
    /// Discontinuous reception; `None` for a UE that listens all the time.
    pub(crate) drx: Option<Box<Drx>>,
    /// Measurement gaps; `None` for a UE without.
    pub(crate) gaps: Option<Box<Gaps>>,
    /// A number that decides when the UE listens: its share of DRX offsets and paging occasions.
    pub(crate) identity: u64,
    /// When the network looks at it again because it will listen; [`Instant::FAR_FUTURE`] if nothing waits for that.
    pub(crate) alarm: Instant,
}

impl Ue {
    /// The primary cell.
    #[inline]
    pub(crate) fn cell(&self) -> CellId {
        self.links.primary().cell
    }

    /// Whether it is handed over: the secondary cell group of a UE is not.
    pub(crate) fn is_handed_over(&self) -> bool {
        !matches!(self.membership, Membership::Secondary(_))
    }

    /// The state of its connection in a cell.
    pub(crate) fn rrc_state(&self, cell: &CellConfig) -> RrcState {
        let released = cell.connection.as_ref().map_or(RrcState::Connected, |connection| connection.released);
        match self.phase {
            Phase::Connected => RrcState::Connected,
            Phase::Connecting => RrcState::Connecting,
            Phase::Released => released,
        }
    }

    /// DRX starts again, by the settings of a cell: its MAC was reset, or it is another cell.
    pub(crate) fn reset_drx(&mut self, cell: &CellConfig, now: Instant) {
        let Some((config, offset)) = self.phase.drx(cell, self.identity, self.gaps.as_deref()) else {
            self.drx = None;
            return;
        };
        match &mut self.drx {
            Some(drx) => drx.reconfigure(config, offset, self.phase, now),
            None => self.drx = Some(Box::new(Drx::new(config, offset, self.phase, now))),
        }
        self.set_parts();
    }

    /// The time on the default bandwidth part is counted, if the UE has one.
    pub(crate) fn set_parts(&mut self) {
        if let Some(drx) = &mut self.drx {
            drx.set_parts(self.links.primary().bwp.is_some());
        }
    }

    /// The earliest time from now on at which the UE listens to PDCCH.
    #[inline]
    pub(crate) fn listens_from(&self, now: Instant) -> Instant {
        self.drx.as_ref().map_or(now, |drx| drx.next_active(now))
    }

    /// The UE has received a PDCCH of this cell with an assignment or a grant.
    pub(crate) fn on_assignment(&mut self, cell: CellId, now: Instant) {
        let link = self.links.with_mut(cell);
        link.on_assignment(now);
        if let (Some(bwp), Some(drx)) = (&link.bwp, &mut self.drx) {
            drx.leave_default(bwp.away());
        }
    }

    /// Whether the UE should be switched from its default part to the carrier of this cell: much data waits, or a block has
    /// to be repeated that does not fit into the default part.
    fn wants_carrier(&self, cell: CellId, now: Instant) -> bool {
        let link = self.links.with(cell);
        let Some(bwp) = link.bwp.as_ref().filter(|bwp| bwp.part(now) == Part::Default) else { return false };
        link.is_in_use()
            && (bwp.is_much(self.backlog(Direction::Downlink, now))
                || (link.is_sent_to() && bwp.is_much(Bytes(self.links.known_backlog())))
                || link.downlink.harq.busy().any(|process| bwp.is_wide(process.rbgs))
                || link.uplink.harq.busy().any(|process| process.prbs > bwp.pusch))
    }

    /// What decides when it listens.
    #[inline]
    pub(crate) fn listening(&self) -> Listening<'_> {
        Listening { drx: self.drx.as_deref(), gaps: self.gaps.as_deref() }
    }

    /// Whether the UE takes part in a block of a cell that serves it: it listens, and no gap is in the way.
    #[inline]
    pub(crate) fn takes_part_in(&self, cell: CellId, block: PlannedBlock<'_>) -> bool {
        let scell = || self.links.with(cell).scell.as_deref();
        self.listens_from(block.pdcch) <= block.pdcch
            && self.gaps.as_ref().is_none_or(|gaps| gaps.leave(block, scell()))
    }

    /// Whether no gap keeps the UE from sending in a slot of a cell with this numerology.
    #[inline]
    pub(crate) fn may_send(&self, numerology: &Numerology, slot: u64) -> bool {
        self.gaps.as_ref().is_none_or(|gaps| gaps.let_send(numerology, slot))
    }

    /// Bytes waiting in the direction, including control.
    #[inline]
    pub(crate) fn backlog(&self, direction: Direction, now: Instant) -> Bytes {
        self.bearers.backlog(direction, now)
    }

    /// Whether bytes wait in the direction.
    #[inline]
    pub(crate) fn has_backlog(&self, direction: Direction, now: Instant) -> bool {
        self.bearers.has_backlog(direction, now)
    }
}

impl<U: UeSet + ?Sized> CellSlot<'_, U> {
    /// A UE with bandwidth parts will send its feedback for a downlink block in this slot. A block of a secondary cell is
    /// over with its slot: its feedback is on the primary cell.
    #[inline]
    pub(crate) fn note_feedback(&mut self, ue: u32, on_air: u64) {
        let numerology = &self.cell.numerology;
        let links = &mut self.ues[ue as usize].links;
        let is_primary = links.is_primary(self.id);
        if let Some(bwp) = &mut links.with_mut(self.id).bwp {
            let last = if is_primary { numerology.acknowledged_in(on_air) } else { on_air };
            bwp.on_answer(numerology.start_of(last + 1));
        }
    }

    /// Switches a UE to the carrier if it should be and nothing is expected of it, by a DCI with an assignment in this
    /// direction.
    pub(crate) fn choose_part(&mut self, index: u32, direction: Direction) {
        let (id, now) = (self.id, self.now);
        let ue = &mut self.ues[index as usize];
        let is_wanted = ue.wants_carrier(id, now);
        let listens = ue.listens_from(now) <= now
            && ue.gaps.as_ref().is_none_or(|gaps| gaps.let_receive(&self.cell.numerology, self.number));
        let Some(bwp) = &mut ue.links.with_mut(id).bwp else { return };
        bwp.waits = is_wanted;
        if !is_wanted || !listens || !bwp.is_quiet(now) {
            return;
        }
        let over = now + bwp.delay();
        let missed = self.misses_control(index);
        let numerology = &self.cell.numerology;
        let Ue { links, drx, .. } = &mut self.ues[index as usize];
        let Some(bwp) = &mut links.with_mut(id).bwp else { return };
        if missed {
            let answer = numerology.acknowledged_in(numerology.slot_from(over));
            return bwp.on_missed(numerology.start_of(answer + 1));
        }
        bwp.switch(now, direction);
        if let Some(drx) = drx {
            drx.leave_default(bwp.away());
            drx.on_new_transmission(now + numerology.slot);
        }
    }
}
