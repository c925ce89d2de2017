//! A UE in the RAN: what it has once, whatever the number of its links.

use airlane_core::{Bytes, CellId, Direction, Instant, UeId};
use airlane_radio::Mobility;

use crate::bearers::Bearers;
use crate::link::Links;

/// A UE.
#[derive(Debug)]
pub(crate) struct Ue {
    pub(crate) id: UeId,
    /// False once it was removed.
    pub(crate) is_present: bool,
    pub(crate) bearers: Bearers,
    pub(crate) mobility: Mobility,
    pub(crate) links: Links,
}

impl Ue {
    /// The primary cell.
    #[inline]
    pub(crate) fn cell(&self) -> CellId {
        self.links.primary().cell
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
