//! Bandwidth parts in the uplink ([`crate::mac::bwp`]).
//!
//! The PUSCHs of UEs on the default part share its resource blocks, and are below those of the others.

use airlane_core::{CellId, Direction};

use super::{Grant, UplinkMac, grants_in};
use crate::config::CellConfig;
use crate::mac::bwp::Part;
use crate::slot::{CellSlot, Slot, UeSet};

impl UplinkMac {
    /// Chooses the parts of UEs with data or with blocks to be repeated.
    #[cold]
    pub(super) fn choose_parts<U: UeSet + ?Sized>(&self, slot: &mut CellSlot<'_, U>) {
        let repeated = self.retransmissions.iter().map(|grant| grant.ue);
        for ue in self.active.iter().copied().chain(repeated) {
            slot.choose_part(ue, Direction::Uplink);
        }
    }

    /// Resource blocks of a slot that are granted on the default part.
    #[inline]
    pub(super) fn granted_on_default(
        &self,
        ues: &(impl UeSet + ?Sized),
        id: CellId,
        cell: &CellConfig,
        pusch: u64,
    ) -> u16 {
        if cell.bandwidth_parts.is_none() {
            return 0;
        }
        let at = cell.numerology.start_of(pusch);
        let is_on_default = |grant: &&Grant| ues[grant.ue as usize].links.with(id).is_on_default(at);
        grants_in(&self.grants, pusch).filter(is_on_default).map(|grant| grant.block.prbs).sum()
    }

    /// Resource blocks that a UE may be granted now in a slot, as far as its part is concerned.
    #[inline]
    pub(super) fn room_of_part<U: UeSet + ?Sized>(&self, slot: &CellSlot<'_, U>, ue: u32, pusch: u64) -> u16 {
        let Some(bwp) = &slot.ues[ue as usize].links.with(slot.id).bwp else { return u16::MAX };
        match bwp.assigned(Direction::Uplink, slot.now) {
            Part::Switching => 0,
            Part::Carrier => u16::MAX,
            Part::Default => {
                bwp.pusch.saturating_sub(self.granted_on_default(slot.ues, slot.id, slot.cell, pusch))
            }
        }
    }

    /// Whether a PUSCH that is sent now is on the default part. The UE does not switch.
    #[inline]
    pub(super) fn check_part(&self, slot: &Slot<'_, '_>, grant: &Grant) -> bool {
        let now = slot.cx.now;
        let link = slot.ues[grant.ue as usize].links.with(slot.id);
        let Some(bwp) = &link.bwp else { return false };
        let may_send = grant.missed || bwp.may_send(now);
        assert!(may_send, "UE {} sends at {now}, while it switches its bandwidth part", grant.ue);
        link.is_on_default(now)
    }
}
