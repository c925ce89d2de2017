//! A UE in the RAN: what it has once, whatever the number of its links.

use airlane_core::{Bytes, CellId, Direction, Duration, Instant, RrcState, UeId};
use airlane_radio::Mobility;

use crate::bearers::Bearers;
use crate::config::CellConfig;
use crate::link::Links;
use crate::mac::drx::{Drx, DrxConfig};
use crate::mac::gaps::{Gaps, Listening, PlannedBlock};
use crate::mac::sleep::Phase;
use crate::numerology::Numerology;

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
    Master,
    /// The secondary cell group.
    Secondary,
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
        self.membership != Membership::Secondary
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
    }

    /// The earliest time from now on at which the UE listens to PDCCH.
    #[inline]
    pub(crate) fn listens_from(&self, now: Instant) -> Instant {
        self.drx.as_ref().map_or(now, |drx| drx.next_active(now))
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
