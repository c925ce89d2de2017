//! The blocks and the carriers of a network.

use airlane_core::{
    Bytes, CarrierStep, CellId, Decibel, Direction, Event, Instant, Probe, Topic, TopicSet, UeId,
};

use super::power;

/// Sums the PRBs of each slot, by direction.
#[derive(Default)]
pub(super) struct GridMeter {
    pub(super) now: Instant,
    pub(super) uplink: u32,
    pub(super) uplink_most: u32,
    pub(super) downlink_mcs: Vec<u8>,
    pub(super) downlink_prbs: Vec<u16>,
    pub(super) uplink_mcs: Vec<u8>,
    pub(super) uplink_at: Vec<Instant>,
    pub(super) downlink_blocks: Vec<Block>,
    pub(super) uplink_blocks: Vec<power::UplinkBlock>,
    pub(super) headrooms: Vec<(Instant, Decibel)>,
    /// Blocks of the downlink by cell: when they were received, and their bytes.
    pub(super) downlink_cells: Vec<(Instant, CellId, Bytes)>,
    pub(super) carriers: Vec<(Instant, CellId, CarrierStep, u32)>,
}

/// The result of one transmission of a downlink block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) at: Instant,
    pub(super) ue: UeId,
    pub(super) process: u8,
    pub(super) attempt: u8,
    pub(super) decoded: bool,
}

impl Probe for GridMeter {
    fn topics(&self) -> TopicSet {
        TopicSet::NONE.with(Topic::TransportBlock).with(Topic::PowerHeadroom).with(Topic::Carrier)
    }
    fn observe(&mut self, now: Instant, event: &Event<'_>) {
        if let &Event::PowerHeadroom { headroom, .. } = event {
            return self.headrooms.push((now, headroom));
        }
        if let &Event::Carrier { cell, step, active, .. } = event {
            return self.carriers.push((now, cell, step, active));
        }
        let &Event::TransportBlock {
            cell, ue, direction, prbs, mcs, process, bytes, attempt, decoded, ..
        } = event
        else {
            return;
        };
        if now != self.now {
            (self.now, self.uplink) = (now, 0);
        }
        match direction {
            Direction::Downlink => {
                self.downlink_mcs.push(mcs);
                self.downlink_prbs.push(prbs);
                self.downlink_cells.push((now, cell, bytes));
                self.downlink_blocks.push(Block { at: now, ue, process, attempt, decoded });
            }
            Direction::Uplink => {
                self.uplink_blocks.extend(power::UplinkBlock::of(now, event));
                self.uplink_mcs.push(mcs);
                self.uplink_at.push(now);
                self.uplink += u32::from(prbs);
                self.uplink_most = self.uplink_most.max(self.uplink);
            }
        }
    }
}
