//! The physical layer for the MAC: the reception of a block, and whether it decodes.

use core::ops::Range;
use std::sync::{Arc, OnceLock};

use airlane_core::{Direction, Stream};
use airlane_radio::{Amc, CodedBlock, Mcs};

use super::harq::HarqProcess;
use crate::config::CellConfig;

/// Coded blocks by MCS and PRBs, computed when first needed. They are the same in every cell: one table
/// stays in the cache, several would not.
#[derive(Debug)]
pub(crate) struct CodedBlocks {
    downlink: Vec<OnceLock<Block>>,
    uplink: Vec<OnceLock<Block>>,
    /// Number of places per MCS.
    sizes: usize,
}

#[derive(Debug)]
struct Block {
    coded: CodedBlock,
    /// [`CodedBlock::certain_from`].
    certain_from: f32,
}

impl CodedBlocks {
    /// For carriers of up to this many PRBs.
    pub(crate) fn new(prbs: u16) -> Self {
        let sizes = usize::from(prbs) + 1;
        let none = || (0..29 * sizes).map(|_| OnceLock::new()).collect();
        Self { downlink: none(), uplink: none(), sizes }
    }

    fn get(&self, mcs: Mcs, prbs: u16, direction: Direction) -> &Block {
        let blocks = match direction {
            Direction::Downlink => &self.downlink,
            Direction::Uplink => &self.uplink,
        };
        let prbs = usize::from(prbs);
        blocks[usize::from(mcs.index()) * self.sizes + prbs].get_or_init(|| {
            let coded = CodedBlock::new(mcs, direction, mcs.transport_block(prbs, direction));
            Block { coded, certain_from: coded.certain_from() }
        })
    }
}

/// Link adaptation, decoding and their scratch space, one per cell.
#[derive(Debug)]
pub(crate) struct Phy {
    downlink_amc: Amc,
    uplink_amc: Amc,
    blocks: Arc<CodedBlocks>,
    sinr: Vec<f32>,
    gathered: Vec<f32>,
}

impl Phy {
    pub(crate) fn new(cell: &CellConfig, blocks: Arc<CodedBlocks>) -> Self {
        let (prbs, mac) = (usize::from(cell.resource_blocks), &cell.mac);
        let rbg_size = usize::from(cell.numerology.rbg_size(cell.resource_blocks));
        let amc = |rule, direction| Amc::new(rule, direction, prbs, rbg_size);
        Self {
            downlink_amc: amc(mac.amc, Direction::Downlink),
            uplink_amc: amc(mac.uplink.amc, Direction::Uplink),
            blocks,
            sinr: vec![0.0; prbs],
            gathered: vec![0.0; prbs],
        }
    }

    /// Buffer for the SINR of each PRB.
    pub(crate) fn sinr_mut(&mut self) -> &mut [f32] {
        &mut self.sinr
    }

    /// Link adaptation, and the buffer for the SINR of each PRB.
    pub(crate) fn amc_and_sinr(&mut self, direction: Direction) -> (&Amc, &mut [f32]) {
        match direction {
            Direction::Downlink => (&self.downlink_amc, &mut self.sinr),
            Direction::Uplink => (&self.uplink_amc, &mut self.sinr),
        }
    }

    /// Receives a transmission with the same SINR on all PRBs. True if the block decodes.
    pub(crate) fn receive_flat(
        &mut self,
        direction: Direction,
        process: &mut HarqProcess,
        sinr: f32,
        draws: &mut Stream,
    ) -> bool {
        let block = &self.blocks.get(process.mcs, process.coded_prbs, direction).coded;
        process.soft.receive_flat(block, sinr);
        decodes(block, process, draws)
    }

    /// Receives a transmission on these PRBs, whose SINRs are in [`Phy::sinr_mut`]. True if the
    /// block decodes.
    pub(crate) fn receive(
        &mut self,
        direction: Direction,
        process: &mut HarqProcess,
        prbs: impl Iterator<Item = Range<usize>>,
        draws: &mut Stream,
    ) -> bool {
        let block = self.blocks.get(process.mcs, process.coded_prbs, direction);
        let (mut count, mut least) = (0, Least::default());
        for range in prbs {
            let from = &self.sinr[range];
            least.copy(from, &mut self.gathered[count..][..from.len()]);
            count += from.len();
        }
        // For many blocks the worst PRB is sufficient. Their soft information is not kept.
        if process.transmissions == 1 && least.value() >= block.certain_from {
            return true;
        }
        let block = &block.coded;
        process.soft.receive(block, &self.gathered[..count]);
        decodes(block, process, draws)
    }
}

/// The minimum of the copied values, for each of four lanes.
struct Least([f32; 4]);

impl Default for Least {
    fn default() -> Self {
        Self([f32::INFINITY; 4])
    }
}

impl Least {
    #[inline(always)]
    fn copy(&mut self, from: &[f32], to: &mut [f32]) {
        let (fours, rest) = from.as_chunks::<4>();
        let (places, places_of_rest) = to.as_chunks_mut::<4>();
        for (place, four) in places.iter_mut().zip(fours) {
            *place = *four;
            self.0.iter_mut().zip(four).for_each(|(least, &x)| *least = lower(*least, x));
        }
        for (lane, (place, &x)) in places_of_rest.iter_mut().zip(rest).enumerate().take(3) {
            *place = x;
            self.0[lane] = lower(self.0[lane], x);
        }
    }

    fn value(&self) -> f32 {
        lower(lower(self.0[0], self.0[1]), lower(self.0[2], self.0[3]))
    }
}

fn lower(a: f32, b: f32) -> f32 {
    if b < a { b } else { a }
}

fn decodes(block: &CodedBlock, process: &HarqProcess, draws: &mut Stream) -> bool {
    let error_rate = block.error_rate(&process.soft);
    error_rate <= 0.0 || !draws.chance(error_rate)
}
