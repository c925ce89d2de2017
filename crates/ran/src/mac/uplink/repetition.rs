//! Retransmissions in the uplink.
//!
//! A synchronous retransmission has the resource blocks of the first transmission, one round trip later. If a measurement
//! gap is in the way of its PDCCH or its PUSCH, the UE does not send it: with a gap at the time of the feedback, it takes the
//! block as acknowledged, and keeps it (TS 36.321 §5.4.2.2, read in the comments of an implementation). The eNB asks for it by
//! PDCCH one or several round trips later, if there are enough resource blocks besides those of the retransmissions that
//! are due then. If there are not, it grants no new blocks, so that there soon are. Only transmissions that the UE sends count.

use airlane_core::Direction;

use super::super::drx::ProcessId;
use super::super::gaps::PlannedBlock;
use super::{Grant, UplinkMac};
use crate::numerology::UplinkHarq;
use crate::slot::{CellSlot, UeSet};

/// A PUSCH in this slot, granted now.
pub(super) fn planned<'a, U: UeSet + ?Sized>(slot: &CellSlot<'a, U>, pusch: u64) -> PlannedBlock<'a> {
    let (cell, pdcch) = (slot.cell, slot.now);
    PlannedBlock { cell, direction: Direction::Uplink, pdcch, slot: pusch }
}

impl UplinkMac {
    /// Grants the retransmissions of a slot that may be sent in slot `earliest`: with TDD, the grant can be decided
    /// longer ahead than necessary. Returns the number of PRBs that are left.
    pub(super) fn grant_retransmissions<U: UeSet + ?Sized>(
        &mut self,
        slot: &mut CellSlot<'_, U>,
        earliest: u64,
        pusch: u64,
        mut left: u16,
    ) -> u16 {
        let uplink = slot.cell.numerology.harq.uplink;
        let mut at = 0;
        while let Some(grant) = self.retransmissions.get(at).copied().filter(|grant| grant.slot <= earliest) {
            match uplink {
                UplinkHarq::Synchronous if self.is_in_gap(slot, grant, pusch) => {
                    self.retransmissions.remove(at);
                    self.suspended.push_back(grant);
                    continue;
                }
                UplinkHarq::Synchronous => {
                    assert!(
                        grant.slot == pusch && grant.block.prbs <= left,
                        "a retransmission lost its PRBs"
                    );
                }
                // A UE sends one block in a slot.
                UplinkHarq::Asynchronous
                    if grant.block.prbs > left
                        || self.is_granted(grant.ue, pusch)
                        || !slot.ues[grant.ue as usize].takes_part_in(slot.id, planned(slot, pusch))
                        || self.room_of_part(slot, grant.ue, pusch) < grant.block.prbs
                        || slot.ues[grant.ue as usize].links.power_to_grant(slot.id, slot.cell, pusch)
                            == 0.0
                        || grant.block.selected_prbs().is_some_and(|prbs| self.is_taken(&prbs, pusch)) =>
                {
                    at += 1; // it keeps its place
                    continue;
                }
                UplinkHarq::Asynchronous => {}
            }
            self.retransmissions.remove(at);
            left -= grant.block.prbs;
            self.repeat(slot, Grant { slot: pusch, ..grant });
        }
        if self.suspended.is_empty() { left } else { self.grant_suspended(slot, pusch, left) }
    }

    /// Whether a gap is in the way of a synchronous retransmission.
    #[inline]
    fn is_in_gap<U: UeSet + ?Sized>(&self, slot: &CellSlot<'_, U>, grant: Grant, pusch: u64) -> bool {
        let ue = &slot.ues[grant.ue as usize];
        let scell = || ue.links.with(slot.id).scell.as_deref();
        ue.gaps.as_ref().is_some_and(|gaps| !gaps.leave(planned(slot, pusch), scell()))
    }

    /// Grants the suspended retransmissions of the process of a slot for which there is room; the others wait for the
    /// next round trip. Returns the number of PRBs that are left for new blocks.
    #[cold]
    fn grant_suspended<U: UeSet + ?Sized>(
        &mut self,
        slot: &mut CellSlot<'_, U>,
        pusch: u64,
        mut left: u16,
    ) -> u16 {
        let round_trip = u64::from(slot.cell.mac.uplink_round_trip);
        let (mut at, mut is_short) = (0, false);
        while let Some(grant) = self.suspended.get(at).copied() {
            if grant.slot > pusch {
                at += 1;
                continue;
            }
            debug_assert_eq!(grant.slot, pusch, "a retransmission has missed its slot");
            let fits = grant.block.prbs <= left && !self.is_granted(grant.ue, pusch);
            let is_in_gap = self.is_in_gap(slot, grant, pusch);
            if !fits || is_in_gap {
                is_short |= !is_in_gap;
                self.suspended[at].slot += round_trip;
                at += 1;
                continue;
            }
            self.suspended.remove(at);
            left -= grant.block.prbs;
            self.repeat(slot, grant);
        }
        if is_short { 0 } else { left }
    }

    /// Grants a retransmission.
    fn repeat<U: UeSet + ?Sized>(&mut self, slot: &mut CellSlot<'_, U>, grant: Grant) {
        let now = slot.now;
        let id = slot.id;
        let ue = &mut slot.ues[grant.ue as usize];
        if let Some(drx) = &mut ue.drx {
            drx.on_retransmission(ProcessId::uplink(id, grant.process), now);
        }
        if slot.cell.numerology.harq.uplink == UplinkHarq::Asynchronous {
            ue.on_assignment(id, now);
        }
        let links = &mut ue.links;
        links.with_mut(id).on_answer(slot.cell.numerology.start_of(grant.slot + 1));
        links.plan_pusch(now, id, slot.cell, grant.slot, grant.block.prbs);
        self.add_grant(grant);
    }
}
