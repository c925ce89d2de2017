//! Whether the blocks of the downlink are decoded.

use core::ops::Range;

use airlane_core::{Direction, Instant, Stream};
use airlane_radio::layers::LayerGain;

use super::super::harq::HarqProcess;
use super::super::phy::Phy;
use super::{DownlinkMac, Due};
use crate::channel::{BlockSinr, Channel};
use crate::interference::{Moment, Noise, ScaledSinr};
use crate::link::ServingLink;
use crate::slot::{CellSlot, UeSet};
use crate::ue::Ue;

impl DownlinkMac {
    /// Decides whether the blocks are decoded that [`Self::receive`] will handle in this slot.
    pub(crate) fn judge_due<U: UeSet + ?Sized>(&mut self, slot: &mut CellSlot<'_, U>) {
        for place in 0..self.due_blocks(slot.number) {
            let decoded = self.judge(slot, self.in_air[place]);
            self.judged.push_back(decoded);
        }
    }

    /// Number of blocks whose reception ends at the start of a slot.
    pub(crate) fn due_blocks(&self, slot: u64) -> usize {
        self.in_air.iter().take_while(|due| due.slot <= slot).count()
    }

    /// Whether a block is decoded.
    pub(super) fn judge<U: UeSet + ?Sized>(&self, slot: &mut CellSlot<'_, U>, due: Due) -> bool {
        let (cell, now) = (slot.cell, slot.now);
        let Ue { mobility, links, .. } = &mut slot.ues[due.ue as usize];
        let ServingLink { neighbours, downlink: state, .. } = links.with_mut(slot.id);
        let process = &mut state.harq.processes[usize::from(due.process)];
        // The channel in the slot in which the block was on the air.
        let sent = now - cell.numerology.slot;
        let mean = state.channel.mean_sinr(now, mobility) * process.gain * state.channel.burst_gain(sent);
        let snapshot = slot.air.snapshot(now, neighbours, mobility);
        let moment = Moment { snapshot, fading: sent };
        !process.missed && {
            let noise = slot.air.data_noise(slot.id, slot.number - 1, process.rbgs, moment, neighbours);
            let seen = || mean / noise.map_or(1.0, |noise| noise.mean_on(process.rbgs));
            let layers = cell.layers.map_or(LayerGain::ONE, |of| of.gain(process.layers, seen()));
            if state.channel.is_flat() && noise.is_none() {
                let sinr = mean * layers.steady;
                slot.phy.receive_flat(Direction::Downlink, process, sinr, &mut state.draws)
            } else {
                let prbs = self.grid.runs(process.rbgs);
                let reception = Reception { sent, sinr: BlockSinr { mean, layers }, noise };
                reception.decode(slot.phy, process, &mut state.channel, &mut state.draws, prbs)
            }
        }
    }
}

/// A block at its receiver, with another SINR on each PRB.
struct Reception<'a> {
    /// When it was sent.
    sent: Instant,
    sinr: BlockSinr,
    noise: Option<&'a Noise>,
}

impl Reception<'_> {
    /// Whether the block decodes, which is on these PRBs.
    fn decode(
        &self,
        phy: &mut Phy,
        process: &mut HarqProcess,
        channel: &mut Channel,
        draws: &mut Stream,
        prbs: impl Iterator<Item = Range<usize>> + Clone,
    ) -> bool {
        let Self { sent, sinr, noise } = *self;
        if let (Some(noise), Some(scale)) = (noise, sinr.layers.scale(sinr.mean))
            && let Some(gains) = channel.gains_on(sent, prbs.clone())
        {
            return phy.receive_in(noise, Some(ScaledSinr { by_prb: gains, scale }), process, draws);
        }
        channel.sinr_on(sent, sinr, prbs.clone(), phy.sinr_mut());
        match noise {
            Some(noise) => phy.receive_in(noise, None, process, draws),
            None => phy.receive(Direction::Downlink, process, prbs, draws),
        }
    }
}
