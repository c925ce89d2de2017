//! Hybrid ARQ: the blocks that wait for feedback (TS 36.321 §5.3.2, §5.4.2).

use airlane_core::Bytes;
use airlane_radio::{HarqSoftState, Mcs};

use super::grid::RbgSet;
use crate::rlc::Pdu;

/// HARQ processes of a UE in one direction (FDD, TS 36.213 §7: 8).
pub(crate) const PROCESSES: usize = 8;

/// Initial capacity of a block in PDUs.
const PDUS: usize = 4;

/// Maximum number of transport blocks of a process, one per layer.
const LAYERS: usize = 2;

/// A HARQ process of one layer: a transport block from its first transmission until it is acknowledged or
/// given up.
#[derive(Debug, Default)]
pub(crate) struct HarqProcess {
    /// The PDUs of the block. The process keeps the memory.
    pub(crate) pdus: Vec<Pdu>,
    /// Modulation and coding scheme of the first transmission.
    pub(crate) mcs: Mcs,
    /// Size of the block.
    pub(crate) size: Bytes,
    /// Number of PRBs for which it was coded.
    pub(crate) coded_prbs: u16,
    /// PRBs of the latest transmission.
    pub(crate) prbs: u16,
    /// Their RBGs, downlink only.
    pub(crate) rbgs: RbgSet,
    /// Transmissions so far.
    pub(crate) transmissions: u8,
    /// The gain of its SINR on the layers that are used, downlink only.
    pub(crate) gain: f32,
    /// Its PRBs are those of the other layer's block.
    pub(crate) shares_prbs: bool,
    /// The UE missed the assignment of the latest transmission.
    pub(crate) missed: bool,
    /// The receiver's soft information about the block.
    pub(crate) soft: HarqSoftState,
}

/// The processes of a UE in one direction: those of the first layer, then those of the second.
#[derive(Debug, Default)]
pub(crate) struct HarqEntity {
    pub(crate) processes: [HarqProcess; LAYERS * PROCESSES],
    busy: u16,
}

impl HarqEntity {
    /// The lowest process that is free on both layers.
    pub(crate) fn free_process(&self) -> Option<u8> {
        let id = ((self.busy | self.busy >> PROCESSES) as u8).trailing_ones();
        (id < PROCESSES as u32).then_some(id as u8)
    }

    pub(crate) fn is_free(&self, id: u8) -> bool {
        self.busy >> id & 1 == 0
    }

    pub(crate) fn any_busy(&self) -> bool {
        self.busy != 0
    }

    /// Takes a free process for a new block.
    pub(crate) fn start(&mut self, id: u8) -> &mut HarqProcess {
        assert!(self.is_free(id), "HARQ process {id} is taken twice");
        self.busy |= 1 << id;
        if self.processes[usize::from(id)].pdus.capacity() == 0 {
            // All at the first block, since the last process may not be needed for a long time and
            // must not allocate later.
            self.processes.iter_mut().for_each(|process| process.pdus.reserve(PDUS));
        }
        let process = &mut self.processes[usize::from(id)];
        process.pdus.clear();
        process.transmissions = 0;
        process.missed = false;
        process.shares_prbs = false;
        process.soft = HarqSoftState::default();
        process
    }

    /// Frees every process: the UE leaves the cell with the other end (TS 36.321 §5.9).
    pub(crate) fn flush(&mut self) {
        self.busy = 0;
    }

    /// Frees a process: its block is acknowledged or given up.
    pub(crate) fn release(&mut self, id: u8) {
        assert!(!self.is_free(id), "HARQ process {id} is freed twice");
        self.busy &= !(1 << id);
    }
}

/// The same process on the other layer.
pub(crate) fn on_other_layer(id: u8) -> u8 {
    id ^ PROCESSES as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_eight_processes_and_no_ninth() {
        let mut entity = HarqEntity::default();
        for id in 0..8 {
            assert_eq!(entity.free_process(), Some(id));
            entity.start(id);
        }
        assert_eq!(entity.free_process(), None);
        entity.release(3);
        assert_eq!(entity.free_process(), Some(3));
    }

    #[test]
    fn a_process_is_free_when_both_its_blocks_are() {
        let mut entity = HarqEntity::default();
        entity.start(0);
        entity.start(on_other_layer(0));
        entity.release(0);
        assert_eq!(entity.free_process(), Some(1));
        entity.release(on_other_layer(0));
        assert_eq!(entity.free_process(), Some(0));
    }
}
