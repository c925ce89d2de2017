//! The physical layer as the MAC needs it: what arrives of a block, and whether it decodes.

use core::ops::Range;

use airlane_core::{Direction, Stream};
use airlane_radio::{Amc, CodedBlock, Mcs};

use super::harq::HarqProcess;
use crate::config::MacConfig;

/// Link adaptation, decoding and their scratch space, one per cell.
#[derive(Debug)]
pub(crate) struct Phy {
    downlink_amc: Amc,
    uplink_amc: Amc,
    /// Coded blocks by MCS and PRBs, filled as they are met.
    downlink_blocks: Vec<Option<CodedBlock>>,
    uplink_blocks: Vec<Option<CodedBlock>>,
    prbs: usize,
    sinr: Vec<f32>,
    gathered: Vec<f32>,
}

impl Phy {
    pub(crate) fn new(prbs: u16, rbg_size: u16, mac: &MacConfig) -> Self {
        let (prbs, rbg_size) = (usize::from(prbs), usize::from(rbg_size));
        let amc = |rule, direction| Amc::new(rule, direction, prbs, rbg_size);
        Self {
            downlink_amc: amc(mac.amc, Direction::Downlink),
            uplink_amc: amc(mac.uplink.amc, Direction::Uplink),
            downlink_blocks: vec![None; 29 * (prbs + 1)],
            uplink_blocks: vec![None; 29 * (prbs + 1)],
            prbs,
            sinr: vec![0.0; prbs],
            gathered: Vec::with_capacity(prbs),
        }
    }

    /// Room for the SINR of each PRB.
    pub(crate) fn sinr_mut(&mut self) -> &mut [f32] {
        &mut self.sinr
    }

    /// Link adaptation beside room for the SINR of each PRB.
    pub(crate) fn amc_and_sinr(&mut self, direction: Direction) -> (&Amc, &mut [f32]) {
        match direction {
            Direction::Downlink => (&self.downlink_amc, &mut self.sinr),
            Direction::Uplink => (&self.uplink_amc, &mut self.sinr),
        }
    }

    fn block(&mut self, mcs: Mcs, prbs: u16, direction: Direction) -> CodedBlock {
        let blocks = match direction {
            Direction::Downlink => &mut self.downlink_blocks,
            Direction::Uplink => &mut self.uplink_blocks,
        };
        let place = usize::from(mcs.index()) * (self.prbs + 1) + usize::from(prbs);
        *blocks[place].get_or_insert_with(|| {
            CodedBlock::new(mcs, direction, mcs.transport_block(usize::from(prbs), direction))
        })
    }

    /// A transmission arrives with the same SINR everywhere. True if the block decodes.
    pub(crate) fn receive_flat(
        &mut self,
        direction: Direction,
        process: &mut HarqProcess,
        sinr: f32,
        draws: &mut Stream,
    ) -> bool {
        let block = self.block(process.mcs, process.coded_prbs, direction);
        process.soft.receive_flat(&block, sinr);
        decodes(&block, process, draws)
    }

    /// A transmission arrives on these PRBs, whose SINRs are in [`Phy::sinr_mut`]. True if the
    /// block decodes.
    pub(crate) fn receive(
        &mut self,
        direction: Direction,
        process: &mut HarqProcess,
        prbs: impl Iterator<Item = Range<usize>>,
        draws: &mut Stream,
    ) -> bool {
        let block = self.block(process.mcs, process.coded_prbs, direction);
        self.gathered.clear();
        for range in prbs {
            self.gathered.extend_from_slice(&self.sinr[range]);
        }
        process.soft.receive(&block, &self.gathered);
        decodes(&block, process, draws)
    }
}

fn decodes(block: &CodedBlock, process: &HarqProcess, draws: &mut Stream) -> bool {
    let error_rate = block.error_rate(&process.soft);
    error_rate <= 0.0 || !draws.chance(error_rate)
}
