//! Retransmissions in the downlink.

use airlane_core::Topic;

use super::super::drx::ProcessId;
use super::super::grid::RbgSet;
use super::super::harq::on_other_layer;
use super::{DownlinkMac, Due, note_assignment};
use crate::slot::{CellSlot, UeSet};

/// The RBGs of a retransmission, and whether the UE misses their assignment.
struct Assignment {
    rbgs: RbgSet,
    missed: bool,
    /// The block of another layer has the same RBGs.
    shares_prbs: bool,
}

impl DownlinkMac {
    /// Sends the due retransmissions, in due order. Blocks that were first sent in one slot fit into one slot
    /// together, so each slot has room for the oldest of them. The later ones use the remaining room.
    pub(super) fn schedule_retransmissions<U: UeSet + ?Sized>(&mut self, slot: &mut CellSlot<'_, U>) {
        let mut at = 0;
        while let Some(due) = self.retransmissions.get(at).copied().filter(|due| due.slot <= slot.number) {
            if !slot.ues[due.ue as usize].takes_part_in(slot.id, self.planned(slot.cell)) {
                at += 1; // its UE sleeps, or has a gap
                continue;
            }
            let pdcch = self.pdcch(slot.cell);
            let link = slot.link(due.ue);
            let usable = link.usable_rbgs(pdcch);
            let process = &link.downlink.harq.processes[usize::from(due.process)];
            let wanted = process.rbgs.count_ones();
            // Asynchronous and adaptive (TS 36.321 §5.3.2): any free RBGs can be used, the previous
            // ones first.
            if process.format < self.format {
                at += 1; // coded for more symbols than this slot has: it keeps its place
                continue;
            }
            let rbgs = if process.rbgs & !(self.grid.free() & usable) == 0 {
                process.rbgs
            } else {
                self.grid.first_free(wanted, usable)
            };
            if rbgs.count_ones() < wanted {
                at += 1; // no room in this slot: it keeps its place
                continue;
            }
            self.grid.take(rbgs);
            self.retransmissions.remove(at);
            let missed = slot.misses_control(due.ue);
            self.send_again(slot, due, Assignment { rbgs, missed, shares_prbs: false });
            // The block of the other layer failed with it and is therefore behind it: one assignment repeats
            // both.
            let other = on_other_layer(due.process, slot.cell.numerology.harq.processes);
            let both = Due { process: other, ..due };
            if self.retransmissions.get(at) == Some(&both) {
                self.retransmissions.remove(at);
                self.send_again(slot, both, Assignment { rbgs, missed, shares_prbs: true });
            }
        }
    }

    fn send_again<U: UeSet + ?Sized>(&mut self, slot: &mut CellSlot<'_, U>, due: Due, assigned: Assignment) {
        let Assignment { rbgs, missed, shares_prbs } = assigned;
        self.sent |= rbgs;
        self.in_air.push_back(Due { slot: self.on_air + 1, ..due });
        let (id, now) = (slot.id, slot.now);
        let prbs = self.prbs_of(slot.cell, slot.ues[due.ue as usize].links.with(id), rbgs);
        if !missed {
            slot.ues[due.ue as usize].on_assignment(id, now);
        }
        slot.note_feedback(due.ue, self.on_air);
        let link = slot.link(due.ue);
        let process = &mut link.downlink.harq.processes[usize::from(due.process)];
        (process.rbgs, process.prbs) = (rbgs, prbs);
        (process.missed, process.shares_prbs) = (missed, shares_prbs);
        process.transmissions += 1;
        let size = process.size;
        if !shares_prbs {
            let repeated = u64::from(process.prbs);
            link.downlink.sent.prbs += repeated;
            link.downlink.sent.repeated_prbs += repeated;
        }
        if let Some(drx) = &mut slot.ues[due.ue as usize].drx {
            if !missed {
                drx.on_retransmission(ProcessId::downlink(slot.id, due.process), now);
            }
            if !shares_prbs {
                drx.receive(slot.cell.numerology.slot, size, now);
            }
        }
        if slot.topics.wants(Topic::Assigned) {
            self.use_reports(due.ue, slot.link(due.ue));
            note_assignment(slot, due.ue, due.process);
        }
    }
}
