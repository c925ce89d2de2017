//! Hybrid ARQ: the blocks that wait for feedback (TS 36.321 §5.3.2, §5.4.2).

use airlane_core::Bytes;
use airlane_radio::{HarqSoftState, Mcs};

use super::grid::RbgSet;
use super::phy::SlotFormat;
use crate::bearers::MacPdu;

/// Initial capacity of a block in PDUs.
const PDUS: usize = 4;

/// Maximum number of transport blocks of a process, one per layer.
const LAYERS: u8 = 2;

/// Maximum number of processes of a UE in one direction (TS 38.214 §5.1).
const MOST_PROCESSES: u8 = 32;

/// A HARQ process of one layer: a transport block from its first transmission until it is acknowledged or
/// given up.
#[derive(Debug, Default)]
pub(crate) struct HarqProcess {
    /// The PDUs of the block. The process keeps the memory.
    pub(crate) pdus: MacPdu,
    /// Modulation and coding scheme of the first transmission.
    pub(crate) mcs: Mcs,
    /// That scheme before the correction of the outer loop, downlink only.
    pub(crate) uncorrected: Mcs,
    /// Size of the block.
    pub(crate) size: Bytes,
    /// Number of PRBs for which it was coded.
    pub(crate) coded_prbs: u16,
    /// Layers on which it is sent.
    pub(crate) layers: u8,
    /// The kind of slot for which it was coded, downlink only.
    pub(crate) format: SlotFormat,
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
    /// The block has the DRX command, downlink only.
    pub(crate) drx_command: bool,
    /// The block has the activation command of SCells, downlink only.
    pub(crate) activation_command: bool,
    /// The receiver's soft information about the block.
    pub(crate) soft: HarqSoftState,
}

/// The processes of a UE in one direction: those of the first layer, then those of the second.
#[derive(Debug)]
pub(crate) struct HarqEntity {
    /// Empty until the first block.
    pub(crate) processes: Vec<HarqProcess>,
    /// Processes of a layer.
    count: u8,
    busy: u64,
}

impl HarqEntity {
    /// With this many processes on each layer.
    pub(crate) fn new(count: u8) -> Self {
        assert!((1..=MOST_PROCESSES).contains(&count), "{count} HARQ processes");
        Self { processes: Vec::new(), count, busy: 0 }
    }

    /// The lowest process that is free on both layers.
    pub(crate) fn free_process(&self) -> Option<u8> {
        let id = (self.busy | self.busy >> self.count).trailing_ones();
        (id < u32::from(self.count)).then_some(id as u8)
    }

    pub(crate) fn is_free(&self, id: u8) -> bool {
        self.busy >> id & 1 == 0
    }

    pub(crate) fn any_busy(&self) -> bool {
        self.busy != 0
    }

    /// The processes that are not free.
    pub(crate) fn busy(&self) -> impl Iterator<Item = &HarqProcess> {
        (0..).zip(&self.processes).filter(|(id, _)| !self.is_free(*id)).map(|(_, process)| process)
    }

    /// Takes a free process for a new block.
    pub(crate) fn start(&mut self, id: u8) -> &mut HarqProcess {
        assert!(self.is_free(id), "HARQ process {id} is taken twice");
        self.busy |= 1 << id;
        if self.processes.is_empty() {
            // All at the first block, since the last process may not be needed for a long time and
            // must not allocate later.
            let process = || HarqProcess { pdus: MacPdu::with_capacity(PDUS), ..HarqProcess::default() };
            self.processes.extend((0..LAYERS * self.count).map(|_| process()));
        }
        let process = &mut self.processes[usize::from(id)];
        process.pdus.clear();
        process.transmissions = 0;
        process.missed = false;
        process.shares_prbs = false;
        process.activation_command = false;
        process.soft = HarqSoftState::default();
        process
    }

    /// Frees every process: the UE leaves the cell with the other end (TS 36.321 §5.9). From now on it has this
    /// many on each layer.
    pub(crate) fn flush(&mut self, count: u8) {
        if count == self.count {
            self.busy = 0;
        } else {
            *self = Self::new(count);
        }
    }

    /// Frees a process: its block is acknowledged or given up.
    pub(crate) fn release(&mut self, id: u8) {
        assert!(!self.is_free(id), "HARQ process {id} is freed twice");
        self.busy &= !(1 << id);
    }
}

/// The process that the block of the other layer has, in a cell with this many processes.
pub(crate) fn on_other_layer(id: u8, processes: u8) -> u8 {
    if id < processes { id + processes } else { id - processes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_eight_processes_and_no_ninth() {
        let mut entity = HarqEntity::new(8);
        for id in 0..8 {
            assert_eq!(entity.free_process(), Some(id));
            entity.start(id);
        }
        assert_eq!(entity.free_process(), None);
        entity.release(3);
        assert_eq!(entity.free_process(), Some(3));
    }

    #[test]
    fn there_may_be_thirty_two_on_each_layer() {
        let mut entity = HarqEntity::new(32);
        for id in 0..32 {
            assert_eq!(entity.free_process(), Some(id));
            entity.start(id);
            entity.start(on_other_layer(id, 32));
        }
        assert_eq!(entity.free_process(), None);
        entity.release(31);
        entity.release(63);
        assert_eq!(entity.free_process(), Some(31));
    }

    #[test]
    fn a_process_is_free_when_both_its_blocks_are() {
        let mut entity = HarqEntity::new(8);
        entity.start(0);
        entity.start(on_other_layer(0, 8));
        entity.release(0);
        assert_eq!(entity.free_process(), Some(1));
        entity.release(on_other_layer(0, 8));
        assert_eq!(entity.free_process(), Some(0));
    }
}
