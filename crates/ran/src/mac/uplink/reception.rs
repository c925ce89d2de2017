//! Whether the blocks of the uplink are decoded.

use airlane_core::Direction;

use super::{Grant, UplinkMac};
use crate::channel::BlockSinr;
use crate::layers::gain_of;
use crate::slot::{CellSlot, UeSet};
use crate::ue::Ue;

/// The result of the reception of a PUSCH.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outcome {
    pub(super) decoded: bool,
    /// The UE sent it with less power than the formula asks for.
    pub(super) is_limited: bool,
}

impl UplinkMac {
    /// Finds the outcomes of the PUSCHs that [`Self::receive`] will handle in this slot.
    pub(crate) fn judge_due<U: UeSet + ?Sized>(&mut self, slot: &mut CellSlot<'_, U>) {
        let due = self.due_blocks(slot.number);
        self.judged.extend(self.in_air.iter().take(due).map(|&pusch| judge(slot, pusch)));
    }

    /// Number of PUSCHs that end at the start of a slot.
    pub(crate) fn due_blocks(&self, slot: u64) -> usize {
        self.in_air.iter().take_while(|pusch| pusch.slot < slot).count()
    }
}

/// Finds the outcome of a PUSCH.
pub(super) fn judge<U: UeSet + ?Sized>(slot: &mut CellSlot<'_, U>, pusch: Grant) -> Outcome {
    let (cell, now) = (slot.cell, slot.now);
    let Ue { mobility, links, .. } = &mut slot.ues[pusch.ue as usize];
    let left = links.power_left(slot.id, cell, pusch.slot);
    let sent = now - cell.numerology.slot;
    let link = links.with_mut(slot.id);
    let of_part = link.part_prbs(cell, sent);
    let uplink = &mut link.uplink;
    let mean = uplink.channel.mean_sinr(now, mobility);
    let is_limited = uplink.power.is_limited(mean, pusch.block.prbs, left);
    let factor = uplink.power.factor(mean, pusch.block.prbs, left);
    let mean = mean * factor * uplink.channel.burst_gain(sent);
    let layers = gain_of(cell.uplink_layers.as_ref(), pusch.block.layers, mean);
    let sinr = BlockSinr { mean, layers };
    let process = &mut uplink.harq.processes[usize::from(pusch.process)];
    let draws = &mut uplink.draws;
    let decoded = if !slot.air.is_quiet() {
        let prbs = usize::from(pusch.first)..usize::from(pusch.first + pusch.block.prbs);
        let band = core::iter::once(prbs.clone());
        uplink.channel.sinr_on(sent, sinr, band, slot.phy.sinr_mut());
        slot.air.weaken_uplink(slot.id, prbs.clone(), slot.phy.sinr_mut());
        slot.phy.receive(Direction::Uplink, process, core::iter::once(prbs), draws)
    } else if uplink.channel.is_flat() {
        slot.phy.receive_flat(Direction::Uplink, process, mean * layers.steady, draws)
    } else {
        // A cell alone on its carrier uses the mean of the UE's part of the band instead of PRBs that it has not selected.
        let prbs = pusch.block.selected_prbs().unwrap_or(0..of_part);
        let prbs = core::iter::once(usize::from(prbs.start)..usize::from(prbs.end));
        uplink.channel.sinr_on(sent, sinr, prbs.clone(), slot.phy.sinr_mut());
        slot.phy.receive(Direction::Uplink, process, prbs, draws)
    };
    Outcome { decoded, is_limited }
}
