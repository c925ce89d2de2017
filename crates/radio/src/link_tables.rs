//! The tables of link adaptation as a value: what MCS and CQI mean, the size of a transport block, and the code
//! that protects it. A cell has one set of tables.
//!
//! [`LTE`] is one set; those of NR have settings ([`crate::nr::NrTables`]). The indices of both tables have four and
//! five bits in NR, too (TS 38.214 §5.1.3.1 and §5.2.2.1), so [`Mcs`] and [`Cqi`] are indices of any set.
//!
//! ```
//! use airlane_core::{Bytes, Direction};
//! use airlane_radio::link_tables::{Allocation, LTE, LinkTables};
//! use airlane_radio::{Cqi, Mcs};
//!
//! let whole_band = Allocation { prbs: 100, symbols: 14, layers: 1 };
//! assert_eq!(LTE.transport_block(Mcs::new(28), whole_band, Direction::Downlink), Bytes(9422));
//! assert_eq!(LTE.mcs_of(Cqi::new(15)), Mcs::new(28));
//! ```

use core::fmt::Debug;

use airlane_core::{Bytes, Direction};

use crate::bler::CodedBlock;
use crate::tables::{Cqi, Mcs, Modulation};

/// The resources of a transport block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Physical resource blocks.
    pub prbs: u16,
    /// OFDM symbols of the slot, with its control region; 14 for a whole slot.
    pub symbols: u8,
    /// Layers, 1 to 4. A block of LTE is on one.
    pub layers: u8,
}

/// A set of tables. The efficiency of an MCS must not be below that of a lower one.
pub trait LinkTables: Debug + Send + Sync {
    /// Name of the set, different from that of any other set.
    fn name(&self) -> &str;

    /// The highest MCS. The lowest is 0.
    fn highest_mcs(&self) -> Mcs;

    /// The widest carrier in PRBs.
    fn widest(&self) -> u16;

    /// The modulation of an MCS.
    fn modulation(&self, mcs: Mcs, direction: Direction) -> Modulation;

    /// Information bits per symbol of an MCS in the downlink.
    fn efficiency(&self, mcs: Mcs) -> f64;

    /// The MCS with the efficiency of a CQI.
    fn mcs_of(&self, cqi: Cqi) -> Mcs;

    /// The size of a transport block.
    fn transport_block(&self, mcs: Mcs, allocation: Allocation, direction: Direction) -> Bytes;

    /// A transport block of this size as input of the channel decoder: the error model.
    fn coded_block(&self, mcs: Mcs, transport_block: Bytes, direction: Direction) -> CodedBlock;

    /// The block that must meet an error target for this CQI to be reported. `None` for CQI 0, and where a CQI is
    /// defined by the MCS around it (as in ns-3's LTE).
    fn reference(&self, _cqi: Cqi, _allocation: Allocation, _direction: Direction) -> Option<Reference> {
        None
    }
}

/// The block to which a CQI refers, with the scheme of the CQI (TS 38.214 §5.2.2.1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reference {
    /// The block.
    pub block: CodedBlock,
    /// Maximum block error rate of the reference.
    pub error_rate: f64,
}

/// The tables of LTE, release 8 (TS 36.213 v8.8.0), with turbo codes. The size of a transport block does not depend
/// on the number of symbols.
#[derive(Clone, Copy, Debug)]
pub struct LteTables;

/// The tables of LTE.
pub static LTE: LteTables = LteTables;

impl LinkTables for LteTables {
    fn name(&self) -> &str {
        "lte"
    }

    fn highest_mcs(&self) -> Mcs {
        Mcs::MAX
    }

    fn widest(&self) -> u16 {
        crate::tables::MAX_PRB as u16
    }

    fn modulation(&self, mcs: Mcs, direction: Direction) -> Modulation {
        mcs.modulation(direction)
    }

    fn efficiency(&self, mcs: Mcs) -> f64 {
        mcs.spectral_efficiency()
    }

    fn mcs_of(&self, cqi: Cqi) -> Mcs {
        cqi.mcs()
    }

    fn transport_block(&self, mcs: Mcs, allocation: Allocation, direction: Direction) -> Bytes {
        mcs.transport_block(usize::from(allocation.prbs), direction)
    }

    fn coded_block(&self, mcs: Mcs, transport_block: Bytes, direction: Direction) -> CodedBlock {
        CodedBlock::new(mcs, direction, transport_block)
    }
}
