//! The CQI where each CQI has a scheme of its own (TS 38.214 §5.2.2.1).

use airlane_core::Direction;

use crate::link_tables::{Allocation, LinkTables};
use crate::mutual_information::{self, Lanes};
use crate::tables::Cqi;

/// Symbols of the slot of a reference block.
const SYMBOLS: u8 = 14;

/// The information that each CQI needs, for one number of PRBs.
#[derive(Clone, Debug)]
pub(super) struct Steps {
    /// Information per symbol in bits, and the modulation in which it is counted, of CQI 1 to 15.
    needs: [(f32, usize); 15],
}

impl Steps {
    /// The steps of blocks on this many PRBs; `None` if the CQIs of the tables have no schemes.
    pub(super) fn new(tables: &dyn LinkTables, direction: Direction, n_prb: usize) -> Option<Self> {
        let allocation = Allocation { prbs: n_prb as u16, symbols: SYMBOLS, layers: 1 };
        let mut needs = [(f32::INFINITY, 0); 15];
        for (need, cqi) in needs.iter_mut().zip(1..) {
            let reference = tables.reference(Cqi::new(cqi), allocation, direction)?;
            let modulation = reference.block.modulation();
            let sinr = reference.block.sinr_for(reference.error_rate);
            *need = (mutual_information::at(modulation, sinr).mean as f32, modulation.index());
        }
        Some(Self { needs })
    }

    /// The needs of CQI 1 to 15: information per symbol in bits, and the index of the modulation in which it is counted.
    pub(super) const fn needs(&self) -> [(f32, usize); 15] {
        self.needs
    }

    /// The highest CQI whose scheme meets its target at this mean information per symbol.
    #[inline]
    pub(super) fn cqi(&self, mean: Lanes) -> Cqi {
        let mut cqi = 0;
        for (&(need, modulation), index) in self.needs.iter().zip(1..) {
            cqi = if mean[modulation & 3] >= need { index } else { cqi };
        }
        Cqi::new(cqi)
    }
}
